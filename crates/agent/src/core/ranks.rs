//! An instance with two ranks, `flow:0` and `flow:1`, each an endpoint of its own; and `micro`, which has none.
//! Rank 0 sends to rank 1, rank 1 to `micro`, and `micro` to rank 0.

use super::tests::{core_of, hello, join, link, plan, refusal, ME};
use super::*;
use crate::plan::{End, PlannedChannel};
use ligament_wire::control::{Rank, Welcome};

const FIRST: EndpointId = EndpointId::new(0);
const SECOND: EndpointId = EndpointId::new(1);
const MICRO: EndpointId = EndpointId::new(2);

fn with_ranks() -> Plan {
    let mut plan = plan();
    plan.instances[0].name = "flow".into();
    plan.instances[0].ranks = Some(2);
    let end = |one: EndpointId, port| End { rank: one.leader(), port, slot: None };
    let channel = |from, to| PlannedChannel { from, to, budget: 1000, limit: None };
    plan.channels = vec![
        channel(end(FIRST, 0), end(SECOND, 1)),
        channel(end(SECOND, 0), end(MICRO, 0)),
        channel(end(MICRO, 1), end(FIRST, 1)),
    ];
    plan
}

fn all() -> Core {
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

fn ends(core: &mut Core, one: EndpointId) -> Vec<Action> {
    core.request(link(one), Request::Finished);
    core.exited(one, Exit::Status(0))
}

#[test]
fn a_process_is_started_for_each_rank() {
    let mut core = Core::new(with_ranks(), Ledger::new(1, ""), 7, String::new(), String::new);
    let started = [FIRST, SECOND, MICRO].map(|endpoint| Action::Start { endpoint });
    assert_eq!(core.begin(), started);
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
        Action::Report(Report::Registered { rank, pid: ME.pid, language: "test".into() })
    };
    assert!(actions.contains(&registered(SECOND)), "{actions:?}");
    assert_eq!(core.rank(FIRST.leader()).0, Phase::Started);

    core.connected(9, ME);
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
    let Some(Outcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    assert_eq!(failure.rank, Some(SECOND.leader()));
    for one in [FIRST, MICRO] {
        assert!(actions.contains(&Action::Push { endpoint: one, push: Push::Terminate }), "{actions:?}");
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
    let said = Report::Said { rank: SECOND.leader(), level: 1, text: "hot".into() };
    assert_eq!(core.request(link(SECOND), line), [Action::Report(said)]);
    core.request(link(SECOND), Request::Failed { why: "too hot".into(), of: None });
    let Some(Outcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
    let sentence = failure.sentence(|rank| core.wiring().name(core.plan(), rank));
    assert_eq!(sentence.text(), "flow:1 reported an error: too hot");
}

#[test]
fn an_instance_is_over_when_all_of_its_ranks_have_ended_and_only_then() {
    let mut core = all();
    core.request(link(FIRST), Request::NewSlab { bytes: 1000 });
    let actions = ends(&mut core, FIRST);
    // Rank 1 may still read what rank 0 has sent; and it is `micro` that sends to rank 0.
    let ended = Notice::PeerEnded { endpoint: FIRST };
    let told = Action::Tell { link: link(MICRO), endpoint: MICRO, notice: ended, memory: vec![] };
    assert!(actions.contains(&told), "{actions:?}");
    assert!(!actions.contains(&Action::DropEndpoint { endpoint: FIRST }), "{actions:?}");
    assert_eq!(core.memory().0, 1000);
    ends(&mut core, MICRO);
    assert!(!core.is_done_here() && core.ending().is_none());
    let actions = ends(&mut core, SECOND);
    assert!(actions.contains(&Action::DropEndpoint { endpoint: FIRST }), "{actions:?}");
    assert_eq!((actions.last(), core.memory().0), (Some(&Action::Over), 0));
    assert_eq!(core.ending(), Some(&Outcome::Done));
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
    assert!(actions.contains(&Action::Watch { endpoint: SECOND, pid: ME.pid }));
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
