//! Tests that call the agent's logic as a driver would: two instances, `macro` (0) and `micro` (1), with a
//! conduit each way.

use super::*;
use crate::plan::{PlannedChannel, PlannedEnd, PlannedInstance, PlannedPort};
use ligament_catalogue::fault;
use ligament_model::Operator;
use ligament_wire::control::{PortDeclaration, Question, PROTOCOL};
use ligament_wire::steering::{Matter, Steer, Steers};

pub(super) const MACRO: EndpointId = EndpointId::new(0);
pub(super) const MICRO: EndpointId = EndpointId::new(1);
pub(super) const CALLER: Caller = Caller { user: 7, pid: 100 };

/// Returns the endpoints whose programs these actions start.
pub(super) fn started(actions: &[Action]) -> Vec<EndpointId> {
    let start = |action: &Action| match action {
        Action::Start { endpoint } => Some(*endpoint),
        _ => None,
    };
    actions.iter().filter_map(start).collect()
}

pub(super) fn plan() -> RunPlan {
    let port = |name: &str, operator: Operator| PlannedPort {
        name: name.into(),
        operator,
        sends: operator.sends(),
        vector: false,
        length: None,
        connected: true,
        resizable: true,
        implicit: false,
        array: None,
        clock: None,
    };
    let instance = |name: &str, ports: Vec<PlannedPort>| PlannedInstance {
        name: name.into(),
        ports: ports.into(),
        log_level: 1,
        ..PlannedInstance::default()
    };
    let end = |one: EndpointId, port| PlannedEnd { rank: one.leader(), port, slot: None };
    RunPlan {
        run: "test".into(),
        instances: vec![
            instance("macro", vec![port("out", Operator::OI), port("in", Operator::S)]),
            instance("micro", vec![port("init", Operator::FInit), port("final", Operator::OF)]),
        ],
        channels: vec![
            PlannedChannel {
                from: end(MACRO, 0),
                to: end(MICRO, 0),
                budget: 1000,
                ..PlannedChannel::default()
            },
            PlannedChannel {
                from: end(MICRO, 1),
                to: end(MACRO, 1),
                budget: 1000,
                ..PlannedChannel::default()
            },
        ],
        ..RunPlan::default()
    }
}

pub(super) fn socket(address: &str) -> SocketIdentity {
    SocketIdentity { user: 7, address: address.into() }
}

pub(super) fn core_of(plan: RunPlan) -> AgentCore {
    let mut number = 0;
    let ledger = MemoryLedger::new(1 << 20, "the test");
    let mut core = AgentCore::new(plan, ledger, socket("@test"), || {
        number += 1;
        format!("token-{number}")
    });
    core.begin();
    for one in EndpointId::first(core.endpoints.len()) {
        if core.endpoints[one.index()].started_by_agent {
            core.started(one, 100 + one.number());
        }
    }
    core
}

pub(super) fn hello(core: &AgentCore, endpoint: EndpointId) -> Request {
    let [_, (_, name), _] = core.environment(endpoint);
    let token = core.endpoints[endpoint.index()].token.clone();
    Request::Hello {
        protocol: PROTOCOL,
        instance: name,
        token,
        pid: 1,
        ports: None,
        language: "test".into(),
        light: false,
    }
}

/// Returns the number of the connection that an endpoint makes in these tests.
pub(super) fn link(endpoint: EndpointId) -> ConnectionId {
    ConnectionId::from(endpoint.number())
}

/// Connects an endpoint and registers it.
pub(super) fn join(core: &mut AgentCore, endpoint: EndpointId) -> Vec<Action> {
    let link = link(endpoint);
    assert!(core.connected(link, CALLER).is_empty());
    let hello = hello(core, endpoint);
    core.request(link, hello)
}

fn both() -> AgentCore {
    let mut core = core_of(plan());
    join(&mut core, MACRO);
    join(&mut core, MICRO);
    core
}

pub(super) fn refusal(actions: &[Action]) -> &str {
    match actions.iter().find(|action| matches!(action, Action::Answer { .. })) {
        Some(Action::Answer { notice: Notice::Refused { why }, .. }) => why,
        other => panic!("no refusal, but {other:?} in {actions:?}"),
    }
}

pub(super) fn join_with(
    core: &mut AgentCore,
    endpoint: EndpointId,
    ports: &[(&str, &str, bool)],
) -> Vec<Action> {
    let declared = ports.iter().map(|&(name, operator, vector)| PortDeclaration {
        name: name.into(),
        operator: operator.into(),
        vector,
    });
    let Request::Hello { protocol, instance: name, token, pid, language, light, .. } = hello(core, endpoint)
    else {
        unreachable!("hello makes a Hello")
    };
    let ports = Some(declared.collect());
    let link = link(endpoint);
    assert!(core.connected(link, CALLER).is_empty());
    core.request(link, Request::Hello { protocol, instance: name, token, pid, ports, language, light })
}

#[test]
fn vector_ports_may_be_joined_if_both_codes_declare_them_so() {
    let mut core = core_of(plan());
    join_with(&mut core, MACRO, &[("out", "o_i", true), ("in", "s", false)]);
    let actions = join_with(&mut core, MICRO, &[("init", "f_init", true), ("final", "o_f", false)]);
    let welcomed = actions.iter().find_map(|action| match action {
        Action::Answer { notice: Notice::Welcome(welcome), .. } => Some(welcome),
        _ => None,
    });
    let init = &welcomed.expect("it is welcomed").ports[0];
    assert_eq!((init.vector, init.length), (true, None));
}

#[test]
fn a_vector_port_that_is_joined_to_a_scalar_one_is_refused_when_the_second_code_registers() {
    let mut core = core_of(plan());
    join_with(&mut core, MACRO, &[("out", "o_i", true), ("in", "s", false)]);
    let actions = join_with(&mut core, MICRO, &[("init", "f_init", false), ("final", "o_f", false)]);
    let why = refusal(&actions);
    assert!(
        why.contains("micro.init declares a scalar port, but it is joined to a vector port of macro.out"),
        "{why}"
    );
}

#[test]
fn all_instances_are_started_at_once_and_those_by_hand_are_not() {
    let mut plan = plan();
    plan.instances[1].by_hand = true;
    let mut core = AgentCore::new(plan, MemoryLedger::new(1, ""), socket(""), String::new);
    assert_eq!(started(&core.begin()), [MACRO]);
}

#[test]
fn programs_count_as_awake_from_their_start_on_and_before_any_of_them_runs() {
    let mut plan = plan();
    let mut core = AgentCore::new(plan.clone(), MemoryLedger::new(1, ""), socket(""), String::new);
    let begun = core.begin();
    let awake = [MACRO, MICRO].map(|endpoint| Action::Awake { endpoint });
    assert_eq!(begun[..2], awake);
    assert_eq!(started(&begun), [MACRO, MICRO]);
    // The agent does not start an instance that is started by hand; the instance registers by itself.
    plan.instances[1].by_hand = true;
    let mut core = AgentCore::new(plan, MemoryLedger::new(1, ""), socket(""), String::new);
    assert!(!core.begin().contains(&Action::Awake { endpoint: MICRO }));
}

#[test]
fn a_welcome_has_memory_channels_and_settings() {
    let mut core = core_of(plan());
    let actions = join(&mut core, MICRO);
    let Action::Answer { link: 1, notice: Notice::Welcome(welcome), memory } = &actions[0] else {
        panic!("{actions:?}");
    };
    assert_eq!(*memory, [MemoryRegion::Board, MemoryRegion::Area(MICRO), MemoryRegion::Outbox(MICRO)]);
    assert_eq!((welcome.endpoint, welcome.channels, welcome.inboxes), (MICRO, 1, 1));
    assert_eq!(welcome.receives[0].peer_port, "macro.out");
    assert_eq!(welcome.sends[0].id, 1);
    assert!(
        matches!(&actions[1], Action::Report(AgentReport::Registered { rank, .. }) if *rank == MICRO.leader())
    );
}

#[test]
fn strangers_are_refused_and_the_run_goes_on() {
    let mut core = core_of(plan());
    assert!(refusal(&core.connected(50, Caller { user: 8, pid: 1 })).contains("user 8"));

    for (link, change) in (60..).zip(["token", "instance", "protocol"]) {
        core.connected(link, CALLER);
        let Request::Hello { mut protocol, mut instance, mut token, pid, ports, language, light } =
            hello(&core, MACRO)
        else {
            unreachable!()
        };
        match change {
            "token" => token.replace_range(0..1, "x"),
            "instance" => instance = "nobody".into(),
            _ => protocol += 1,
        }
        let actions =
            core.request(link, Request::Hello { protocol, instance, token, pid, ports, language, light });
        assert!(refusal(&actions).contains(change), "{actions:?}");
        assert!(actions.contains(&Action::Close { link }));
    }
    core.connected(70, CALLER);
    assert!(refusal(&core.request(70, Request::Finished)).contains("first message"));
    assert!(core.ending().is_none());
}

#[test]
fn an_instance_registers_once() {
    let mut core = core_of(plan());
    join(&mut core, MACRO);
    core.connected(9, CALLER);
    let again = hello(&core, MACRO);
    assert!(refusal(&core.request(9, again)).contains("registered already"));
}

#[test]
fn ports_that_do_not_fit_are_refused_and_end_the_run() {
    let mut core = core_of(plan());
    core.connected(0, CALLER);
    let Request::Hello { protocol, instance, token, pid, language, light, .. } = hello(&core, MACRO) else {
        unreachable!()
    };
    let actions = core.request(
        0,
        Request::Hello { protocol, instance, token, pid, ports: Some(Vec::new()), language, light },
    );
    assert!(refusal(&actions).contains("\"out\""));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert_eq!(failure.rank, Some(MACRO.leader()));
    assert!(actions.contains(&Action::SignalProcess { endpoint: MICRO, push: ProcessSignal::Terminate }));
}

#[test]
fn a_ring_is_told_to_its_reader_with_a_call_and_answered_without() {
    let mut core = both();
    let actions = core.request(0, Request::OpenRing { to: MICRO, offset: 4096, slots: 64 });
    let told = Notice::RingOpened { from: MACRO, offset: 4096, slots: 64, inbox: 0 };
    let opened = Notice::Opened { to: MICRO, inbox: 0, channels: 1, inboxes: 1 };
    assert_eq!(
        actions,
        [
            Action::Tell { link: 1, endpoint: MICRO, notice: told, memory: vec![MemoryRegion::Outbox(MACRO)] },
            Action::Answer { link: 0, notice: opened, memory: vec![MemoryRegion::Area(MICRO)] },
        ]
    );
}

#[test]
fn a_ring_to_one_that_has_not_started_waits_until_after_its_welcome() {
    let mut core = core_of(plan());
    join(&mut core, MACRO);
    let actions = core.request(0, Request::OpenRing { to: MICRO, offset: 0, slots: 64 });
    assert!(matches!(&actions[..], [Action::Answer { notice: Notice::Opened { .. }, .. }]));
    // The sender may even have ended before the receiver registers.
    core.request(0, Request::Finished);
    core.exited(MACRO, Exit::Status(0));
    let actions = join(&mut core, MICRO);
    assert!(matches!(&actions[0], Action::Answer { notice: Notice::Welcome(_), .. }));
    assert!(matches!(&actions[1], Action::Tell { notice: Notice::RingOpened { from: MACRO, .. }, .. }));
}

#[test]
fn what_was_sent_late_is_called_for_again() {
    let mut core = both();
    assert_eq!(core.sent_late(1), [Action::Call { endpoint: MICRO }]);
    core.connected(9, CALLER);
    assert!(core.sent_late(9).is_empty());
    core.closed(1);
    assert!(core.sent_late(1).is_empty());
}

#[test]
fn a_ring_along_no_conduit_is_an_error_of_its_maker() {
    let mut plan = plan();
    plan.channels.truncate(1);
    let mut core = core_of(plan);
    join(&mut core, MICRO);
    core.request(1, Request::OpenRing { to: MACRO, offset: 0, slots: 64 });
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert_eq!(failure.rank, Some(MICRO.leader()));
}

fn new_slab(core: &mut AgentCore, bytes: u64) -> u32 {
    match core.request(0, Request::NewSlab { bytes }).as_slice() {
        [Action::MakeSlab { endpoint: MACRO, slab, .. }] => *slab,
        other => panic!("{other:?}"),
    }
}

#[test]
fn slabs_are_counted_and_their_numbers_never_used_twice() {
    let mut core = both();
    assert_eq!(new_slab(&mut core, 1 << 19), 0);
    assert_eq!(new_slab(&mut core, 1 << 19), 1);
    let denied = core.request(0, Request::NewSlab { bytes: 1 });
    let [Action::Answer { notice: Notice::Denied { why }, .. }] = denied.as_slice() else { panic!() };
    assert!(why.contains("1.0 MiB (the test)"), "{why}");
    core.request(0, Request::DropSlab { slab: 0 });
    assert_eq!(new_slab(&mut core, 1 << 19), 2);
    core.slab_refused(0, MACRO, 2, &fault!(MEMORY_SPENT, "no"));
    assert_eq!(core.memory().used, 1 << 19);
    assert_eq!(new_slab(&mut core, 1), 3);
}

#[test]
fn a_dropped_slab_is_told_to_those_that_fetched_it() {
    let mut core = both();
    let slab = new_slab(&mut core, 4096);
    let kept = new_slab(&mut core, 4096);
    let fetched = core.request(1, Request::FetchSlab { of: MACRO, slab });
    let notice = Notice::Slab { of: MACRO, slab, bytes: 4096 };
    assert_eq!(fetched, [Action::Answer { link: 1, notice, memory: vec![MemoryRegion::Slab(MACRO, slab)] }]);
    let actions = core.request(0, Request::DropSlab { slab });
    let notice = Notice::SlabDropped { of: MACRO, slab };
    assert_eq!(
        actions,
        [
            Action::Tell { link: 1, endpoint: MICRO, notice, memory: vec![] },
            Action::DropSlab { endpoint: MACRO, slab },
        ]
    );
    let actions = core.request(0, Request::DropSlab { slab: kept });
    assert_eq!(actions, [Action::DropSlab { endpoint: MACRO, slab: kept }]);
    let gone = core.request(1, Request::FetchSlab { of: MACRO, slab });
    let notice = Notice::Slab { of: MACRO, slab, bytes: 0 };
    assert_eq!(gone, [Action::Answer { link: 1, notice, memory: vec![] }]);
}

#[test]
fn slabs_outlive_their_sender_until_its_receivers_are_gone() {
    let mut core = both();
    let slab = new_slab(&mut core, 4096);
    core.request(0, Request::Finished);
    let actions = core.exited(MACRO, Exit::Status(0));
    assert!(!actions.iter().any(|action| matches!(action, Action::DropEndpoint { .. })));
    let fetched = core.request(1, Request::FetchSlab { of: MACRO, slab });
    assert!(matches!(&fetched[..], [Action::Answer { memory, .. }] if !memory.is_empty()));
    core.request(1, Request::Finished);
    let actions = core.exited(MICRO, Exit::Status(0));
    assert!(actions.contains(&Action::DropEndpoint { endpoint: MACRO }));
    assert_eq!(core.memory().used, 0);
    assert_eq!(actions.last(), Some(&Action::Over));
    assert_eq!(core.ending(), Some(&RunOutcome::Done));
}

#[test]
fn a_clean_end_is_told_to_those_who_send_there() {
    let mut core = both();
    core.request(1, Request::Finished);
    let actions = core.exited(MICRO, Exit::Status(0));
    let notice = Notice::PeerEnded { endpoint: MICRO };
    assert!(actions.contains(&Action::Tell { link: 0, endpoint: MACRO, notice, memory: vec![] }));
    assert!(actions.contains(&Action::Asleep { endpoint: MICRO }));
    assert!(core.ending().is_none());
}

#[test]
fn every_unclean_end_ends_the_run_with_its_own_reason() {
    for (finished, exit, words) in [
        (false, Exit::Status(3), "exit status 3"),
        (true, Exit::Status(3), "was done, but then ended with exit status 3"),
        (false, Exit::Status(0), "without saying that it is done"),
        (false, Exit::Signal(11), "SIGSEGV"),
        (true, Exit::Signal(9), "SIGKILL"),
    ] {
        let mut core = both();
        if finished {
            core.request(1, Request::Finished);
        }
        let actions = core.exited(MICRO, exit);
        let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{exit:?}") };
        assert!(failure.what.text().contains(words), "{}", failure.what);
        assert!(actions.contains(&Action::SignalProcess { endpoint: MACRO, push: ProcessSignal::Terminate }));
        let ends =
            |a: &Action| matches!(a, Action::Tell { endpoint: MACRO, notice: Notice::RunEnds { .. }, .. });
        assert!(actions.iter().any(ends) && actions.contains(&Action::StartGraceTimer));
        assert!(!actions.contains(&Action::Over));
    }
}

#[test]
fn one_that_ends_before_it_registers_is_a_failure_however_it_ends() {
    for (exit, words) in [
        (Exit::Status(0), "never registered"),
        (Exit::Status(127), "exit status 127 before it had registered"),
        (Exit::Signal(9), "SIGKILL"),
    ] {
        let mut core = core_of(plan());
        core.exited(MICRO, exit);
        let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{exit:?}") };
        assert!(failure.what.text().contains(words), "{}", failure.what);
    }
}

#[test]
fn what_a_launcher_lost_is_the_reason_and_not_how_it_ended_itself() {
    let mut core = both();
    core.launcher_lost_ranks(
        MICRO,
        vec![2],
        vec![],
        fault!(SIGNAL, "lost its rank 2, which was ended by signal 9"),
    );
    core.exited(MICRO, Exit::Status(137));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert!(failure.what.text().contains("rank 2") && !failure.what.text().contains("137"), "{}", failure.what);
    let mut core = both();
    core.rank_ended_cleanly(MICRO, 3);
    core.rank_ended_cleanly(MICRO, 1);
    core.exited(MICRO, Exit::Status(0));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert!(failure.what.text().starts_with("lost its rank 3,"), "{}", failure.what);
}

#[test]
fn an_instance_that_a_rank_has_left_is_ended_unless_it_is_done() {
    let mut core = both();
    assert_eq!(core.end_if_rank_ended_cleanly(MICRO), []);
    core.rank_ended_cleanly(MICRO, 0);
    assert_eq!(
        core.end_if_rank_ended_cleanly(MICRO),
        [Action::SignalProcess { endpoint: MICRO, push: ProcessSignal::Kill }]
    );
    core.request(1, Request::Finished);
    assert_eq!(core.end_if_rank_ended_cleanly(MICRO), []);
    core.exited(MICRO, Exit::Status(0));
    assert!(core.ending().is_none());
}

#[test]
fn the_first_reason_is_kept_and_consequences_are_not() {
    let mut core = both();
    core.request(1, Request::Failed { why: "too hot".into(), of: None });
    core.request(0, Request::Failed { why: "the other one was too hot".into(), of: None });
    let actions = core.exited(MACRO, Exit::Signal(15));
    assert!(!actions.contains(&Action::Over));
    let actions = core.exited(MICRO, Exit::Status(1));
    assert_eq!(actions.last(), Some(&Action::Over));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert_eq!(failure.rank, Some(MICRO.leader()));
    assert_eq!(failure.said.as_deref(), Some("too hot"));
    assert_eq!(failure.exit, Some(Exit::Status(1)));
}

#[test]
fn what_does_not_end_in_time_is_killed() {
    let mut core = both();
    core.exited(MICRO, Exit::Status(3));
    assert_eq!(core.grace_is_over(), [Action::SignalProcess { endpoint: MACRO, push: ProcessSignal::Kill }]);
    assert_eq!(core.exited(MACRO, Exit::Signal(9)).last(), Some(&Action::Over));
}

#[test]
fn a_process_started_by_hand_is_asked_to_end_and_not_killed() {
    let mut plan = plan();
    plan.instances[1].by_hand = true;
    let mut core = core_of(plan);
    join(&mut core, MACRO);
    let actions = join(&mut core, MICRO);
    assert!(actions.contains(&Action::Watch { endpoint: MICRO, pid: CALLER.pid }));
    let actions = core.stop(RunOutcome::Stopped);
    assert!(actions.contains(&Action::SignalProcess { endpoint: MICRO, push: ProcessSignal::Terminate }));
    core.exited(MACRO, Exit::Signal(15));
    assert_eq!(core.grace_is_over(), [Action::Over]);
    assert_eq!(core.ending(), Some(&RunOutcome::Stopped));
}

#[test]
fn a_client_needs_the_runs_token_and_may_stop_it() {
    let mut core = both();
    let client = |token: &str, question| Request::Client { protocol: PROTOCOL, token: token.into(), question };
    core.connected(5, CALLER);
    assert!(refusal(&core.request(5, client("wrong", Question::Status))).contains("token"));
    core.connected(6, CALLER);
    let token = core.token().to_owned();
    assert_eq!(
        core.request(6, client(&token, Question::Status)),
        [Action::Ask { link: 6, question: Question::Status }]
    );
    let join = Question::Join { instance: "micro".into() };
    assert!(refusal(&core.request(6, client(&token, join))).contains("--manual micro"));
    let actions = core.request(6, client(&token, Question::Stop));
    assert_eq!(actions[0], Action::Ask { link: 6, question: Question::Stop });
    assert_eq!(core.ending(), Some(&RunOutcome::Stopped));
}

#[test]
fn an_instance_that_cannot_be_started_ends_the_run() {
    let mut core = both();
    let actions = core.not_started(MICRO, &fault!(NOT_STARTABLE, "no such file"));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!() };
    assert_eq!(failure.what, fault!(NOT_STARTABLE, "could not be started: no such file"));
    assert!(actions.contains(&Action::SignalProcess { endpoint: MACRO, push: ProcessSignal::Terminate }));
}

#[test]
fn a_budget_is_told_to_its_sender_now_or_with_its_welcome() {
    let mut core = core_of(plan());
    assert!(core.set_budget(1, 4000).is_empty());
    let actions = join(&mut core, MICRO);
    let Action::Answer { notice: Notice::Welcome(welcome), .. } = &actions[0] else { panic!() };
    assert_eq!(welcome.sends[0].budget, 4000);
    let notice = Notice::Budget { channel: 1, bytes: 8000 };
    assert_eq!(core.set_budget(1, 8000), [Action::Tell { link: 1, endpoint: MICRO, notice, memory: vec![] }]);
}

#[test]
fn what_is_no_request_ends_the_run_only_if_an_instance_sent_it() {
    let mut core = both();
    core.connected(9, CALLER);
    assert_eq!(core.malformed_request(9, "noise".into()), [Action::Close { link: 9 }]);
    assert!(core.ending().is_none());
    core.malformed_request(0, "noise".into());
    assert!(matches!(core.ending(), Some(RunOutcome::Failed(_))));
}

#[test]
fn only_those_who_take_part_are_asked_to_look_again() {
    let mut core = core_of(plan());
    join(&mut core, MICRO);
    let notice = Notice::Look { round: 5 };
    let told = Action::Tell { link: 1, endpoint: MICRO, notice, memory: vec![] };
    assert_eq!(core.look_again(5, &[MACRO.leader(), MICRO.leader()]), [told]);
}

/// Makes the logic of a run in which both instances have registered, and `micro` may fail.
fn with_one_that_may_fail() -> AgentCore {
    let mut plan = plan();
    plan.instances[1].may_fail = true;
    let mut core = core_of(plan);
    join(&mut core, MACRO);
    join(&mut core, MICRO);
    core
}

#[test]
fn the_run_goes_on_without_an_instance_that_may_fail_and_its_peers_are_told() {
    let mut core = with_one_that_may_fail();
    let actions = core.exited(MICRO, Exit::Signal(9));
    assert!(core.ending().is_none());
    for notice in [Notice::PeerLost { endpoint: MICRO }, Notice::PeerEnded { endpoint: MICRO }] {
        let told = Action::Tell { link: link(MACRO), endpoint: MACRO, notice, memory: vec![] };
        assert!(actions.contains(&told), "{actions:?}");
    }
    let said = |action: &Action| {
        matches!(action, Action::Report(AgentReport::Said { rank, text, .. })
            if *rank == MICRO.leader() && text.contains("SIGKILL") && text.contains("goes on without it"))
    };
    assert!(actions.iter().any(said), "{actions:?}");
    core.request(link(MACRO), Request::Finished);
    assert!(core.exited(MACRO, Exit::Status(0)).contains(&Action::Over));
    assert_eq!(core.ending(), Some(&RunOutcome::Done));
}

#[test]
fn an_error_that_is_reported_is_told_at_once_and_only_once() {
    let mut core = with_one_that_may_fail();
    let actions = core.request(link(MICRO), Request::Failed { why: "it diverges".into(), of: None });
    let said = |action: &Action| match action {
        Action::Report(AgentReport::Said { text, .. }) => text.contains("it diverges"),
        _ => false,
    };
    assert!(actions.iter().any(said), "{actions:?}");
    let is_lost = |action: &Action| matches!(action, Action::Tell { notice: Notice::PeerLost { .. }, .. });
    let is_ended = |action: &Action| matches!(action, Action::Tell { notice: Notice::PeerEnded { .. }, .. });
    assert!(actions.iter().any(is_lost), "{actions:?}");
    // The instance may still read messages until its process ends, and it has some time for that.
    assert!(
        !actions.iter().any(is_ended) && actions.contains(&Action::StartLingerTimer { endpoint: MICRO }),
        "{actions:?}"
    );
    assert_eq!(
        core.linger_time_is_over(MICRO),
        [Action::SignalProcess { endpoint: MICRO, push: ProcessSignal::Kill }]
    );
    let actions = core.exited(MICRO, Exit::Status(1));
    assert!(!actions.iter().any(is_lost) && core.ending().is_none(), "{actions:?}");
    assert!(actions.iter().any(is_ended) && core.linger_time_is_over(MICRO).is_empty(), "{actions:?}");
    // The run does not go on without `macro`, which may not fail.
    core.exited(MACRO, Exit::Status(1));
    assert!(matches!(core.ending(), Some(RunOutcome::Failed(failure)) if failure.rank == Some(MACRO.leader())));
}

#[test]
fn a_tap_is_made_for_a_port_that_sends_and_goes_with_its_client() {
    let mut core = both();
    let token = core.token().to_owned();
    let ask = |core: &mut AgentCore, link: ConnectionId, instance: &str, port: &str, room: u64| {
        core.connected(link, CALLER);
        let (instance, port, wanted) =
            (instance.into(), port.into(), ligament_wire::tap::TapSelection::default());
        let question = Question::Tap { instance, rank: 0, port, slot: None, wanted, room };
        core.request(link, Request::Client { protocol: PROTOCOL, token: token.clone(), question })
    };
    for (instance, port, room, why) in [
        ("nobody", "out", 1, "no instance"),
        ("macro", "nothing", 1, "there are"),
        ("macro", "out", u64::MAX, "room for"),
    ] {
        assert!(refusal(&ask(&mut core, 5, instance, port, room)).contains(why), "{instance} {port}");
    }
    let made = ask(&mut core, 6, "macro", "out", 64);
    let [Action::MakeTap { viewer: TapViewer::Client(6), to: 0, endpoint: MACRO, tap }] = &made[..] else {
        panic!("{made:?}")
    };
    assert_eq!((&*tap.port, tap.room), ("out", 64));
    // One connection views one port, and the number of taps of a process is limited.
    assert!(refusal(&ask(&mut core, 6, "macro", "out", 64)).contains("another"));
    for link in 7..70 {
        assert!(matches!(ask(&mut core, link, "macro", "out", 64)[..], [Action::MakeTap { .. }]), "{link}");
    }
    assert!(refusal(&ask(&mut core, 70, "macro", "out", 64)).contains("64 taps of a process"));
    // A client disconnects and makes room for another.
    let notice = Notice::Untap { tap: tap.tap };
    assert_eq!(core.closed(6), [Action::Tell { link: 0, endpoint: MACRO, notice, memory: vec![] }]);
    assert!(matches!(ask(&mut core, 70, "macro", "out", 64)[..], [Action::MakeTap { .. }]));
    // The instance ends. Its remaining viewers get a notice, and new viewers are refused.
    let over = core.exited(MACRO, Exit::Status(1));
    let told = over.iter().filter(|one| matches!(one, Action::Answer { notice: Notice::TapOver { .. }, .. }));
    assert_eq!(told.count(), 64);
    assert!(refusal(&ask(&mut core, 80, "macro", "out", 64)).contains("over"));
}

#[test]
fn who_does_not_take_part_yet_is_to_be_tapped_later() {
    let mut core = core_of(plan());
    let token = core.token().to_owned();
    core.connected(5, CALLER);
    let wanted = ligament_wire::tap::TapSelection::default();
    let (instance, port) = ("macro".into(), "out".into());
    let question = Question::Tap { instance, rank: 0, port, slot: None, wanted, room: 1 };
    let actions = core.request(5, Request::Client { protocol: PROTOCOL, token, question });
    assert!(refusal(&actions).contains("tap-too-early"));
}

#[test]
fn who_has_never_steered_is_answered_for_at_a_halt_and_at_no_other_change() {
    let halt = |change| Steer::Prepare { change, at: None, matter: Matter::Halt };
    let asks = |actions: &[Action]| {
        let asks = actions.iter().filter_map(|action| match action {
            Action::AskWhetherSteers { endpoint, change, .. } => Some((*endpoint, *change)),
            _ => None,
        });
        asks.collect::<Vec<_>>()
    };
    let mut core = core_of(plan());
    join(&mut core, MACRO);
    let ranks = [MACRO.leader(), MICRO.leader()];
    assert_eq!(asks(&core.steer(&ranks, &halt(1))), [(MACRO, 1)]);
    // An endpoint that has not registered gets the halt right after its welcome, and is checked then.
    assert_eq!(asks(&join(&mut core, MICRO)), [(MICRO, 1)]);
    let answer = Steers::Accepts { last: None, next: None };
    let report = |rank, change| Action::Report(AgentReport::Steers { rank, change, answer: answer.clone() });
    assert_eq!(core.never_steered(MICRO, 1), [report(ranks[1], 1)]);
    // The answer to a change that was not sent to the endpoint is not reported.
    assert_eq!(core.never_steered(MICRO, 2), []);
    let set = Steer::Prepare { change: 2, at: None, matter: Matter::Set { settings: vec![1], restart: false } };
    assert_eq!(asks(&core.steer(&ranks, &set)), []);
}

#[test]
fn instances_are_found_by_their_names() {
    let core = core_of(plan());
    assert_eq!(core.instance_named("micro"), Some(InstanceId::at(1)));
    assert_eq!((core.instance_named("nobody"), core.instance_named("")), (None, None));
}

#[test]
fn one_that_is_refused_before_the_guard_has_said_that_it_runs_may_still_say_why() {
    let mut core = core_of(plan());
    core.endpoints[MACRO.index()].phase = InstancePhase::Waiting;
    core.endpoints[MACRO.index()].pid = None;
    let actions = join_with(&mut core, MACRO, &[("other", "O_I", false)]);
    assert!(refusal(&actions).contains("do not fit"), "{actions:?}");
    let is_pushed = |action: &Action| matches!(action, Action::SignalProcess { endpoint: MACRO, .. });
    assert!(!actions.iter().any(is_pushed) && core.ends_by_itself(MACRO), "{actions:?}");
    core.exited(MICRO, Exit::Signal(15));
    core.started(MACRO, 100);
    assert!(!core.is_done_here(), "it has not ended");
    assert!(core.exited(MACRO, Exit::Status(1)).contains(&Action::Over));
}
