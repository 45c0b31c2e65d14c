//! Compares the messages between the head and the agents with golden files of this version: one example of
//! each message and of each part of a message.
//!
//! A missing file is written if `LIGAMENT_WRITE_GOLDEN` is set. An existing file is never overwritten.

use ligament_catalogue::fault;
use ligament_wire::control::{
    to_bytes, ChannelSteps, CheckpointPlan, GridEdges, GridInfo, MomentRule, SteerableSetting,
};
use ligament_wire::domains::*;
use ligament_wire::status::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
use ligament_wire::steering::{Matter, ModelTime, ScheduledChange, Steer, Steers};
use ligament_wire::tap::{AxisCut, Level, TapSelection};
use ligament_wire::timeline::{Activity, Cause, CauseSum, TimelineDelta, TimelineInterval, TimelineTotals};
use ligament_wire::{DomainId, EndpointId, Exit, InstanceId, RankId};
use minicbor::{Decode, Encode};
use std::path::Path;

fn check<T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + std::fmt::Debug>(name: &str, said: &T) {
    let bytes = to_bytes(said);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/domains-v{VERSION}"));
    let path = folder.join(format!("{name}.bin"));
    if !path.exists() && std::env::var_os("LIGAMENT_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, &bytes).unwrap();
    }
    let golden = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        golden == bytes,
        "{name} is not as in version {VERSION} of what domains say; a change of it needs a new domains::VERSION"
    );
    assert_eq!(&from_bytes::<T>(&golden).unwrap(), said, "{name}");
}

fn set() -> Matter {
    Matter::Set { settings: vec![1, 2], restart: true }
}

fn plan() -> RunPlan {
    let port = Port {
        name: "out".into(),
        operator: "O_I".into(),
        sends: true,
        vector: true,
        length: Some(4),
        connected: true,
        resizable: true,
        implicit: false,
        array: None,
        clock: None,
    };
    let instance = Instance {
        name: "flow".into(),
        domain: DomainId::new(1),
        ports: 0,
        program: Some(0),
        resources: Resources::MpiProcesses(4, 2),
        shares: Some(InstanceId::new(0)),
        log_level: 2,
        by_hand: true,
        home: "instances/flow".into(),
        ranks: Some(4),
        nodes: Some(vec![("n1".into(), 3), ("n2".into(), 1)]),
        may_fail: None,
        clock: None,
        grid: Some(GridInfo {
            shape: vec![64, 32],
            blocks: vec![4, 1],
            edges: vec![GridEdges::Periodic, GridEdges::Mirrored],
            block: 0,
        }),
        is_saved: Some(true),
        resume: Some("/run/checkpoints/1/flow.checkpoint".into()),
        had_ended: Some(true),
    };
    let end = |rank| PlannedEnd { rank: RankId::new(rank), port: 0, slot: Some(1) };
    let steps = ChannelSteps { depth: 2, last: 1, repeats: 1, pads: 2, ..ChannelSteps::default() };
    let channel = PlannedChannel {
        from: end(0),
        to: end(1),
        budget: 1000,
        limit: Some(9000),
        steps: Some(steps),
        filters: Some(0),
        wants_of: Some(3),
    };
    let program = Program {
        name: "flow".into(),
        base_env: "login".into(),
        modules: Some(vec!["mpi".into()]),
        virtual_env: Some("/venv".into()),
        environment: vec![("A".into(), "1".into())],
        execution_model: "openmpi".into(),
        executable: Some("flow".into()),
        arguments: Some(vec!["-v".into()]),
        script: Some("flow".into()),
        file: Some("/model.ymmsl".into()),
        mpirun: Some("mpirun".into()),
    };
    RunPlan {
        run: "coupled".into(),
        instances: vec![instance],
        ports: vec![vec![port]],
        channels: vec![channel],
        programs: vec![program],
        settings: vec![1, 2, 3],
        memory: Some(1 << 30),
        pinned_limit: Some(1 << 20),
        timeline: true,
        filters: Some(vec!["{scale: 2.0}".into()]),
        schedule: Some(vec![(
            ScheduledChange { change: 1, at: ModelTime(2.5), matter: set() },
            vec![RankId::new(0)],
        )]),
        checkpoints: Some(CheckpointPlan {
            directory: "/run/checkpoints/.unfinished".into(),
            moments: vec![MomentRule::At(vec![ModelTime(1.5)])],
            at_end: true,
            resume: None,
            required: true,
        }),
    }
}

#[test]
fn what_agents_begin_with_has_the_bytes_of_its_version() {
    let input = Input { source: "/a".into(), name: "a".into(), bytes: 7, mode: 0o444 };
    let given = InputOfProcess { instance: InstanceId::new(0), input: 0, name: "a".into() };
    let domain =
        Domain { name: "n1".into(), host: "n1".into(), addresses: vec!["127.0.0.1:1".into()], streams: None };
    let begin = Begin {
        // The name of the file has the version, so that its bytes do not need it.
        version: 0,
        plan: plan(),
        domains: vec![domain],
        directory: "/run".into(),
        marker: "x".into(),
        model_directory: "/model".into(),
        output: 1000,
        inputs: vec![input],
        given: vec![given],
        resume_files: vec![
            ResumeFile { rank: RankId::new(0), path: None, bytes: 9 },
            ResumeFile { rank: RankId::new(0), path: Some("grid/1".into()), bytes: 0 },
        ],
    };
    check("begin", &FromHead::Begin(Box::new(begin)));
    for (name, resources) in [("threads", Resources::Threads(3)), ("nodes", Resources::MpiNodes(2, 3, 4))] {
        check(name, &resources);
    }
}

#[test]
fn a_part_of_a_file_of_a_checkpoint_has_the_bytes_of_its_version() {
    let whole = Some(FileSummary { sha256: [7; 32], mode: 0o600 });
    let part = FilePart { offset: 3, bytes: vec![1, 2], size: 5, whole };
    let piece = CheckpointPart { rank: RankId::new(2), moment: ModelTime(1.5), path: Some("a/b".into()), part };
    check("checkpoint", &FromAgent::Checkpoint(piece));
}

#[test]
fn what_an_agent_says_of_itself_and_its_ranks_has_the_bytes_of_its_version() {
    let join = Join {
        version: 0,
        ligament: "0.1.0".into(),
        host: "n1".into(),
        cores: 8,
        memory: 1 << 30,
        addresses: vec!["127.0.0.1:1".into()],
        pid: 7,
        scratch: "/tmp".into(),
        streams: None,
        node: None,
    };
    check("join", &FromAgent::Join(join));
    let cores = OwnCores { instance: InstanceId::new(1), cores: vec![2, 3] };
    check("cores", &FromAgent::Cores(vec![cores]));
    let rank = RankId::new(2);
    let failure = RunFailure {
        rank: Some(rank),
        what: fault!(EXIT_STATUS, "ended"),
        said: Some("too hot".into()),
        exit: Some(Exit::Signal(11)),
    };
    let reports = vec![
        AgentReport::Registered { rank, pid: 7, language: "C".into() },
        AgentReport::Exited { rank, exit: Exit::Status(3) },
        AgentReport::Said { rank, level: 1, text: "hot".into() },
        AgentReport::Remark { level: 2, text: "cold".into() },
        AgentReport::Ending(RunOutcome::Failed(failure)),
        AgentReport::Slots { rank, slots: vec![true, false] },
        AgentReport::Used { rank, asked: vec!["out".into()], sent: vec![(0, 1)], received: vec![(1, 2)] },
        AgentReport::Steers {
            rank,
            change: 1,
            answer: Steers::Accepts { last: Some(ModelTime(1.5)), next: None },
        },
        AgentReport::Steers { rank, change: 1, answer: Steers::Past { last: ModelTime(1.5) } },
        AgentReport::Steers { rank, change: 1, answer: Steers::Unsteered },
        AgentReport::Steers { rank, change: 1, answer: Steers::Halts { at: ModelTime(1.5) } },
        AgentReport::Steers { rank, change: 1, answer: Steers::Made },
        AgentReport::Steers { rank, change: 1, answer: Steers::Over },
        AgentReport::Steerable {
            rank,
            setting: SteerableSetting {
                name: "k".into(),
                min: Some(ModelTime(0.0)),
                max: None,
                unit: "m".into(),
                restart: true,
                kind: Some("float".into()),
            },
        },
        AgentReport::Sends { rank, ports: ["out".into()].into() },
        AgentReport::Declares { rank, ports: vec![("out".into(), "o_i".into())] },
    ];
    check("reports", &FromAgent::Reports(reports));
    let waits = WaitRecord {
        what: AwaitedEvent::Slots { endpoint: EndpointId::new(2) },
        since: 5,
        timed: true,
        holding: false,
    };
    let status = Status {
        state: EndpointActivity::Computing,
        waits: Some(waits),
        time: Some(1.5),
        started: 3,
        ..Status::default()
    };
    let phase = InstancePhase::Gone(Exit::Unknown);
    let view = InstanceView { phase, pid: Some(7), speaker: None, status: Some(status.clone()) };
    let row = RankRow { rank, view, inspection: ProcessInspection { stopped: true, ranks: None } };
    let sums = TimelineTotals::from_words([1; 10]);
    let cause = Cause { activity: Activity::AwaitsCredit, id: 1 };
    let interval = TimelineInterval { cause, begin: 1, end: 2, sums, missed: 1 };
    let sent = CauseSum { cause: Cause { activity: Activity::Sends, id: 1 }, ns: 2, count: 3 };
    let news = TimelineDelta { status, intervals: vec![interval], causes: vec![sent] };
    let lane = Lane { rank, news, over: true };
    let carried = CarrierLoad { quiet: true, sent: 1, came: 2, told: 3, credited: 4 };
    let snapshot = Snapshot {
        at: 1,
        round: 2,
        carried,
        memory_used: 3,
        memory_limit: 4,
        rows: vec![row],
        lanes: vec![lane],
        passages: None,
    };
    check("snapshot", &FromAgent::Snapshot(Box::new(snapshot)));
}

#[test]
fn orders_have_the_bytes_of_their_version() {
    let steer = |steer| AgentOrder::Steer { ranks: vec![RankId::new(4)], steer };
    let orders = vec![
        AgentOrder::Budget { channel: 1, bytes: 2 },
        AgentOrder::Look { round: 3, ranks: vec![RankId::new(4)] },
        AgentOrder::End(RunOutcome::Interrupted),
        AgentOrder::Hurry,
        steer(Steer::Prepare { change: 1, at: Some(ModelTime(2.5)), matter: set() }),
        steer(Steer::Prepare { change: 1, at: None, matter: Matter::Halt }),
        steer(Steer::Commit { change: 1, at: ModelTime(2.5) }),
        steer(Steer::Withdraw { change: 1 }),
        steer(Steer::Move { change: 1, at: None }),
    ];
    check("orders", &FromHead::Orders(orders));
}

#[test]
fn what_is_said_of_taps_has_the_bytes_of_its_version() {
    let range = AxisCut::Range { from: Some(-2), to: None, step: 3 };
    let (cuts, levels) = (vec![AxisCut::At(1), range], vec![Level(0.5)]);
    let wanted = TapSelection { keys: vec!["u".into()], cuts, thin: 4, bars: 5, levels };
    let (instance, slot, room) = (InstanceId::new(1), Some(2), 1 << 20);
    let port = TapPort { instance, port: "out".into(), slot, wanted, room, rank: 3 };
    let order = |wish| FromHead::Tap(TapOrder { ticket: 7, wish });
    check("tap-begin", &order(TapWish::Begin(Box::new(port))));
    check("tap-ask", &order(TapWish::Ask(ModelTime(1.5))));
    check("tap-change", &order(TapWish::Change(ModelTime(f64::NEG_INFINITY))));
    check("tap-took", &order(TapWish::Took(1 << 18)));
    check("tap-end", &order(TapWish::End));
    let shows = |shows| FromAgent::Tapped(TapReply { ticket: 7, shows });
    let (timestamp, next_timestamp) = (ModelTime(1.5), Some(ModelTime(2.5)));
    let note = TapNote { outcome: 1, parts: 2, bytes: 3, timestamp, next_timestamp, slot, number: 4, cost: 9 };
    check("tap-begun", &shows(Shows::Begun));
    check("tap-piece", &shows(Shows::Piece { offset: 0, bytes: vec![1, 2, 3], note: Some(note) }));
    check("tap-over", &shows(Shows::Over("it is over".into())));
}
