//! Tests with two instances. `flow` has two ranks, `flow:0` and `flow:1`, each an endpoint of its own; `micro`
//! has one rank. Rank 0 sends to rank 1, rank 1 to `micro`, and `micro` to rank 0.

use super::tests::{core_of, hello, join, link, plan, refusal, socket, started, CALLER};
use super::*;
use crate::plan::{PlannedChannel, PlannedEnd};
use ligament_wire::control::{GridInfo, Question, Rank, Welcome, PROTOCOL};
use ligament_wire::tap::{Level, TapSelection, MAX_LEVELS};

const FIRST: EndpointId = EndpointId::new(0);
const SECOND: EndpointId = EndpointId::new(1);
const MICRO: EndpointId = EndpointId::new(2);

fn with_ranks() -> RunPlan {
    let mut plan = plan();
    plan.instances[0].name = "flow".into();
    plan.instances[0].ranks = Some(2);
    let end = |one: EndpointId, port| PlannedEnd { rank: one.leader(), port, slot: None };
    let channel = |from, to| PlannedChannel { from, to, budget: 1000, ..PlannedChannel::default() };
    plan.channels = vec![
        channel(end(FIRST, 0), end(SECOND, 1)),
        channel(end(SECOND, 0), end(MICRO, 0)),
        channel(end(MICRO, 1), end(FIRST, 1)),
    ];
    plan
}

fn all() -> AgentCore {
    let mut core = core_of(with_ranks());
    for one in [SECOND, MICRO, FIRST] {
        join(&mut core, one);
    }
    core
}

fn welcome(actions: &[Action]) -> &Welcome {
    match &actions[0] {
        Action::Answer { notice: Notice::Welcome(welcome), .. } => welcome,
        other => panic!("{other:?}"),
    }
}

fn ends(core: &mut AgentCore, one: EndpointId) -> Vec<Action> {
    core.request(link(one), Request::Finished);
    core.exited(one, Exit::Status(0))
}

#[test]
fn a_process_is_started_for_each_rank() {
    let mut core = AgentCore::new(with_ranks(), MemoryLedger::new(1, ""), socket(""), String::new);
    assert_eq!(started(&core.begin()), [FIRST, SECOND, MICRO]);
}

#[test]
fn a_rank_registers_by_its_own_token_and_learns_which_it_is() {
    let mut core = core_of(with_ranks());
    let [_, first, first_token] = core.environment(FIRST);
    let [_, second, second_token] = core.environment(SECOND);
    assert_eq!((first.1.as_str(), second.1.as_str()), ("flow", "flow"));
    assert_ne!(first_token, second_token);

    let actions = join(&mut core, SECOND);
    let told = welcome(&actions);
    assert_eq!((told.endpoint, told.rank), (SECOND, Some(Rank { number: 1, of: 2 })));
    assert_eq!((told.receives.len(), told.sends.len(), told.inboxes), (1, 1, 1));
    assert_eq!((told.receives[0].peer, told.receives[0].peer_port.as_str()), (FIRST, "flow:0.out"));
    assert_eq!((told.sends[0].peer, told.sends[0].peer_port.as_str()), (MICRO, "micro.init"));
    let registered = |rank: EndpointId| {
        let rank = rank.leader();
        Action::Report(AgentReport::Registered { rank, pid: CALLER.pid, language: "test".into() })
    };
    assert!(actions.contains(&registered(SECOND)), "{actions:?}");
    assert_eq!(core.rank(FIRST.leader()).0, InstancePhase::Started);

    core.connected(9, CALLER);
    let again = hello(&core, SECOND);
    assert!(refusal(&core.request(9, again)).contains("\"flow:1\" has registered already"));
    let actions = join(&mut core, FIRST);
    assert_eq!(welcome(&actions).rank, Some(Rank { number: 0, of: 2 }));
    assert!(actions.contains(&registered(FIRST)), "{actions:?}");
    let actions = join(&mut core, MICRO);
    assert_eq!(welcome(&actions).rank, None);
    assert_eq!(welcome(&actions).receives[0].peer_port, "flow:1.out");
}

#[test]
fn a_rank_that_fails_is_named_and_ends_the_other_and_the_run() {
    let mut core = all();
    let actions = core.exited(SECOND, Exit::Status(3));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    assert_eq!(failure.rank, Some(SECOND.leader()));
    for one in [FIRST, MICRO] {
        assert!(
            actions.contains(&Action::SignalProcess { endpoint: one, push: ProcessSignal::Terminate }),
            "{actions:?}"
        );
        let why = actions.iter().find_map(|action| match action {
            Action::Tell { endpoint, notice: Notice::RunEnds { why }, .. } if *endpoint == one => Some(why),
            _ => None,
        });
        assert_eq!(
            why.map(String::as_str),
            Some("flow:1 ended with exit status 3 (ligament explain exit-status)")
        );
    }
    assert!(!core.exited(FIRST, Exit::Signal(15)).contains(&Action::Over));
    assert!(core.exited(MICRO, Exit::Signal(15)).contains(&Action::Over));
}

#[test]
fn what_a_rank_says_is_told_of_that_rank() {
    let mut core = all();
    let line = Request::Log { level: 1, text: "hot".into(), of: None };
    let said = AgentReport::Said { rank: SECOND.leader(), level: 1, text: "hot".into() };
    assert_eq!(core.request(link(SECOND), line), [Action::Report(said)]);
    core.request(link(SECOND), Request::Failed { why: "too hot".into(), of: None });
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    let sentence = failure_sentence(failure, |rank| core.wiring().name(core.plan(), rank));
    assert_eq!(sentence.text(), "flow:1 reported an error: too hot");
}

#[test]
fn an_instance_is_over_when_all_of_its_ranks_have_ended_and_only_then() {
    let mut core = all();
    core.request(link(FIRST), Request::NewSlab { bytes: 1000 });
    let actions = ends(&mut core, FIRST);
    // Rank 1 may still read messages of rank 0, so their memory stays. Only `micro` sends to rank 0, so only
    // `micro` gets the notice.
    let ended = Notice::PeerEnded { endpoint: FIRST };
    let told = Action::Tell { link: link(MICRO), endpoint: MICRO, notice: ended, memory: vec![] };
    assert!(actions.contains(&told), "{actions:?}");
    assert!(!actions.contains(&Action::DropEndpoint { endpoint: FIRST }), "{actions:?}");
    assert_eq!(core.memory().used, 1000);
    ends(&mut core, MICRO);
    assert!(!core.is_done_here() && core.ending().is_none());
    let actions = ends(&mut core, SECOND);
    assert!(actions.contains(&Action::DropEndpoint { endpoint: FIRST }), "{actions:?}");
    assert_eq!((actions.last(), core.memory().used), (Some(&Action::Over), 0));
    assert_eq!(core.ending(), Some(&RunOutcome::Done));
}

#[test]
fn ranks_by_hand_take_part_one_after_the_other() {
    let mut plan = with_ranks();
    plan.instances[0].by_hand = true;
    let flow = ligament_wire::InstanceId::new(0);
    let mut core = core_of(plan);
    assert_eq!(core.joins_as(flow), Some(FIRST));
    join(&mut core, FIRST);
    assert_eq!(core.joins_as(flow), Some(SECOND));
    let actions = join(&mut core, SECOND);
    assert!(actions.contains(&Action::Watch { endpoint: SECOND, pid: CALLER.pid }));
    assert_eq!(core.joins_as(flow), None);
}

#[test]
fn ranks_in_another_domain_are_the_carriers() {
    use ligament_wire::DomainId;
    let here = DomainId::new(1);
    let mut core = core_of(with_ranks().in_domain(&[DomainId::HEAD, here], here));
    let actions = join(&mut core, FIRST);
    let carrier = welcome(&actions);
    assert_eq!((carrier.sends[0].id, carrier.receives[0].id, carrier.sends.len()), (1, 2, 1));
    let actions = join(&mut core, MICRO);
    let peers = welcome(&actions).sends.iter().chain(&welcome(&actions).receives);
    assert!(peers.map(|channel| channel.peer).all(|peer| peer == FIRST));
    assert_eq!(core.wiring().own_endpoints().collect::<Vec<_>>(), [MICRO]);
}

/// Makes the logic of a run in which one command starts both ranks of `flow`.
fn together() -> AgentCore {
    let mut plan = with_ranks();
    plan.instances[0].together = true;
    let mut number = 0;
    let mut core = AgentCore::new(plan, MemoryLedger::new(1 << 20, "the test"), socket("@test"), || {
        number += 1;
        format!("token-{number}")
    });
    assert_eq!(started(&core.begin()), [FIRST, MICRO]);
    core.started(FIRST, 100);
    core.started(MICRO, 102);
    core
}

#[test]
fn one_command_starts_all_ranks_and_each_adds_its_number_to_the_token() {
    let mut core = together();
    let [_, name, token] = core.environment(FIRST);
    assert_eq!((name.1.as_str(), token.1.as_str()), ("flow", "token-1:"));
    let hello_as = |rank: &str| Request::Hello {
        protocol: ligament_wire::control::PROTOCOL,
        instance: "flow".into(),
        token: format!("{}{rank}", token.1),
        pid: 7,
        ports: None,
        language: "test".into(),
        light: false,
    };
    let mut joins = |link, rank| {
        core.connected(link, CALLER);
        core.request(link, hello_as(rank))
    };
    let actions = joins(11, "1");
    assert_eq!(welcome(&actions).rank, Some(Rank { number: 1, of: 2 }));
    assert!(actions.contains(&Action::Watch { endpoint: SECOND, pid: CALLER.pid }));
    let actions = joins(10, "0");
    assert_eq!(welcome(&actions).rank, Some(Rank { number: 0, of: 2 }));
    assert!(actions.contains(&Action::WatchSpeaker { endpoint: FIRST, pid: CALLER.pid }));
    assert!(refusal(&joins(12, "1")).contains("\"flow:1\" has registered already"));
    assert!(refusal(&joins(13, "2")).contains("is not this run's"));
    assert!(refusal(&joins(14, "")).contains("is not this run's"));
}

#[test]
fn a_rank_that_never_came_is_named_when_the_command_has_ended() {
    let mut core = together();
    join(&mut core, FIRST);
    join(&mut core, MICRO);
    core.request(link(FIRST), Request::Finished);
    core.exited(FIRST, Exit::Status(0));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    assert_eq!(failure.rank, Some(SECOND.leader()));
    assert!(failure.what.text().contains("never registered"), "{}", failure.what);
    assert!(core.exited(MICRO, Exit::Signal(15)).contains(&Action::Over));
}

#[test]
fn the_first_rank_ends_with_its_own_process_and_its_instance_with_the_command() {
    let mut core = together();
    for one in [FIRST, SECOND, MICRO] {
        join(&mut core, one);
    }
    core.request(link(FIRST), Request::Finished);
    assert!(core.speaker_gone(FIRST).is_empty() && core.ending().is_none());
    ends(&mut core, MICRO);
    core.request(link(SECOND), Request::Finished);
    core.exited(SECOND, Exit::Unknown);
    assert!(core.ending().is_none() && !core.is_done_here());
    core.exited(FIRST, Exit::Status(3));
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    assert!(failure.what.text().contains("the command that started its ranks then ended with exit status 3"));

    let mut core = together();
    for one in [FIRST, SECOND, MICRO] {
        join(&mut core, one);
    }
    core.speaker_gone(FIRST);
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    assert_eq!(failure.rank, Some(FIRST.leader()));
}

/// Returns the endpoint that the run's failure names, and the failure's text.
fn named(core: &AgentCore) -> (EndpointId, String) {
    let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    (EndpointId::led_by(failure.rank.unwrap()), failure.what.text().to_owned())
}

#[test]
fn a_rank_that_ends_well_before_it_registers_ends_the_run() {
    for launcher_ends in [false, true] {
        let mut core = together();
        join(&mut core, FIRST);
        join(&mut core, MICRO);
        core.request(link(FIRST), Request::Finished);
        core.rank_ended_cleanly(FIRST, 0);
        core.rank_ended_cleanly(FIRST, 7);
        assert_eq!(core.end_if_rank_ended_cleanly(FIRST), [], "who is done may end, and there is no rank 7");
        core.rank_ended_cleanly(FIRST, 1);
        if launcher_ends {
            core.exited(FIRST, Exit::Signal(9))
        } else {
            core.end_if_rank_ended_cleanly(FIRST)
        };
        let (who, what) = named(&core);
        assert_eq!(who, SECOND);
        assert!(what.starts_with("ended with exit status 0 and never registered"), "{what}");
    }
    let mut core = together();
    core.rank_ended_cleanly(FIRST, 1);
    join(&mut core, SECOND);
    assert_eq!(core.end_if_rank_ended_cleanly(FIRST), []);
    assert!(core.ending().is_none());
}

#[test]
fn the_rank_that_a_launcher_lost_is_named_and_not_those_that_went_with_it() {
    let why = || fault!(SIGNAL, "lost its rank 1, which was ended by signal 11");
    let mut core = together();
    core.launcher_lost_ranks(FIRST, vec![1], vec![], why());
    core.exited(FIRST, Exit::Signal(11));
    let (who, what) = named(&core);
    assert_eq!(who, SECOND);
    assert!(what.contains("SIGSEGV") && what.ends_with("before it had registered"), "{what}");

    // The end of rank 0 was seen first. But the launcher ended rank 0, because it had lost rank 1.
    let mut core = together();
    join(&mut core, FIRST);
    assert!(core.rank_process_ended(FIRST), "its launcher will tell more");
    assert!(core.ending().is_none());
    core.launcher_lost_ranks(FIRST, vec![1], vec![], why());
    core.exited(FIRST, Exit::Signal(11));
    assert_eq!(named(&core).0, SECOND);

    // Both ranks ended at the same moment, as far as the guard could see.
    let mut core = together();
    for one in [FIRST, SECOND] {
        join(&mut core, one);
    }
    assert!(core.rank_process_ended(SECOND) && core.rank_process_ended(FIRST));
    core.launcher_lost_ranks(FIRST, vec![0, 1], vec![], why());
    core.exited(FIRST, Exit::Signal(9));
    let (who, what) = named(&core);
    assert_eq!(who, SECOND);
    assert!(what.starts_with("was ended by signal SIGKILL"), "{what}");
    assert!(what.ends_with("; at the same moment ended ranks 0, 1"), "{what}");
}

#[test]
fn a_rank_that_its_launcher_reaped_is_named_and_not_those_that_the_launcher_ended_then() {
    let mut core = together();
    for one in [FIRST, SECOND] {
        join(&mut core, one);
    }
    assert!(core.rank_process_ended(SECOND) && core.rank_process_ended(FIRST));
    core.launcher_lost_ranks(FIRST, vec![0], vec![1], fault!(SIGNAL, "lost its rank 0"));
    core.exited(FIRST, Exit::Signal(9));
    let (who, what) = named(&core);
    assert_eq!(who, SECOND);
    assert!(what.starts_with("ended before it was done"), "{what}");
    assert!(what.ends_with("; at the same moment ended ranks 0, 1"), "{what}");
}

#[test]
fn a_rank_that_ends_well_too_early_is_named_and_not_those_that_its_launcher_ended() {
    let mut core = together();
    for one in [FIRST, SECOND] {
        join(&mut core, one);
    }
    core.rank_ended_cleanly(FIRST, 1);
    assert!(core.rank_process_ended(FIRST));
    core.launcher_lost_ranks(FIRST, vec![0], vec![], fault!(SIGNAL, "lost its rank 0"));
    core.exited(FIRST, Exit::Signal(9));
    let (who, what) = named(&core);
    assert_eq!(who, SECOND);
    assert!(what.starts_with("ended without saying that it is done"), "{what}");
}

#[test]
fn what_a_launcher_lost_beside_its_ranks_is_the_first_reason_too() {
    let mut core = together();
    core.launcher_lost_ranks(FIRST, vec![], vec![], fault!(SIGNAL, "lost hydra_pmi_proxy"));
    core.exited(FIRST, Exit::Signal(9));
    assert_eq!(named(&core), (FIRST, "lost hydra_pmi_proxy".to_owned()));
}

#[test]
fn who_ended_first_is_named_if_the_launcher_does_not_know_better() {
    let mut core = together();
    for one in [FIRST, SECOND, MICRO] {
        join(&mut core, one);
    }
    core.request(link(MICRO), Request::Finished);
    assert!(!core.rank_process_ended(MICRO), "nobody brings it");
    assert!(core.rank_process_ended(SECOND));
    core.exited(FIRST, Exit::Status(137));
    let (who, what) = named(&core);
    assert_eq!(who, SECOND);
    assert!(what.starts_with("ended before it was done"), "{what}");
    core.exited(SECOND, Exit::Unknown);
    assert!(!core.rank_process_ended(SECOND), "its launcher is gone");
}

/// A client asks for a port of a rank of `flow`.
fn taps(core: &mut AgentCore, link: ConnectionId, (rank, port): (u32, &str), levels: usize) -> Vec<Action> {
    core.connected(link, CALLER);
    let (instance, port, token) = ("flow".into(), port.into(), core.token().to_owned());
    let wanted = TapSelection { levels: vec![Level(0.5); levels], ..TapSelection::default() };
    let question = Question::Tap { instance, rank, port, slot: None, wanted, room: 64 };
    core.request(link, Request::Client { protocol: PROTOCOL, token, question })
}

#[test]
fn a_field_of_a_block_is_tapped_when_it_has_been_published() {
    let mut plan = with_ranks();
    plan.instances[0].grid = Some(GridInfo { shape: vec![4], blocks: vec![2], edges: vec![], block: 0 });
    let mut core = core_of(plan);
    [FIRST, SECOND, MICRO].into_iter().for_each(|one| drop(join(&mut core, one)));
    assert!(refusal(&taps(&mut core, 11, (1, "u"), 1)).contains("\"flow:1\" has published no field yet"));
    let publishes = Request::Publishes { port: "u".into(), of: None };
    assert!(core.request(link(SECOND), publishes.clone()).is_empty());
    core.request(link(SECOND), publishes);
    assert_eq!(core.sending_ports(SECOND.leader()), Some(&["out".to_owned(), "u".to_owned()][..]));
    let made = taps(&mut core, 12, (1, "u"), MAX_LEVELS);
    let [Action::MakeTap { endpoint: SECOND, to, tap, .. }] = &made[..] else { panic!("{made:?}") };
    assert_eq!((*to, &*tap.port, tap.wanted.levels.len()), (link(SECOND), "u", MAX_LEVELS));
    assert_eq!(core.published_fields(SECOND.leader()), ["u"]);
    assert!(core.published_fields(FIRST.leader()).is_empty());
    // The other rank has published nothing, and this one has published no other field.
    assert!(refusal(&taps(&mut core, 13, (0, "u"), 1)).contains("tap-too-early"));
    assert!(refusal(&taps(&mut core, 14, (1, "v"), 1)).contains("there are: out, u"));
    assert!(refusal(&taps(&mut core, 15, (2, "u"), 1)).contains("no rank 2; the last one is 1"));
    assert!(refusal(&taps(&mut core, 16, (1, "u"), MAX_LEVELS + 1)).contains("levels"));
    // A rank that is no block publishes nothing.
    core.request(link(MICRO), Request::Publishes { port: "u".into(), of: None });
    assert_eq!(core.sending_ports(MICRO.leader()), Some(&["final".to_owned()][..]));
}
