//! Tests that `stuck_waits` and `knots` find the ranks that their definitions name, for random graphs of waits;
//! and tests of the rules for lasting waits.

use ligament_agent::AwaitedEvent;
use ligament_manager::{
    knots, lasting_waits, stuck_waits, AwaitedResource, DeadlockDetector, DetectorAction, InstanceCounters,
    InstanceState, Observation, ObservedWait, RankWait, WaitEdge,
};
use ligament_wire::{EndpointId, RankId};
use proptest::prelude::*;

/// Finds the stuck ranks by their definition. A set of ranks is doomed if each member waits, and no member has
/// an edge to a rank outside of the set. Returns the union of all doomed sets, and the smallest doomed sets, as
/// bit masks.
fn by_definition(n: usize, waits: &[RankWait]) -> (u32, Vec<u32>) {
    let mut ways = vec![None; n];
    for wait in waits {
        ways[wait.rank.index()] = Some(wait.edges.iter().fold(0u32, |mask, way| mask | 1 << way.on.number()));
    }
    let doomed =
        |set: u32| (0..n).filter(|i| set & 1 << i != 0).all(|i| ways[i].is_some_and(|ways| ways & !set == 0));
    let all: Vec<u32> = (1..1u32 << n).filter(|&set| doomed(set)).collect();
    let innermost = all.iter().copied().filter(|&set| !all.iter().any(|&s| s != set && s & set == s)).collect();
    (all.iter().fold(0, |union, set| union | set), innermost)
}

fn mask(waits: &[RankWait]) -> u32 {
    waits.iter().fold(0, |mask, wait| mask | 1 << wait.rank.number())
}

const MAX_INSTANCES: usize = 9;

fn graphs() -> impl Strategy<Value = (usize, Vec<RankWait>)> {
    (1..=MAX_INSTANCES).prop_flat_map(|n| {
        let ways = prop::collection::vec((0..n).prop_map(RankId::at), 1..4);
        let wait = prop::option::weighted(0.85, ways);
        prop::collection::vec(wait, n).prop_map(move |all| {
            let waits = all.into_iter().enumerate().filter_map(|(i, ways)| {
                let ways = ways?.into_iter().map(|on| WaitEdge { channel: Some(0), on }).collect();
                Some(RankWait {
                    rank: RankId::at(i),
                    resource: AwaitedResource::Message,
                    edges: ways,
                    seconds: 0.0,
                })
            });
            (n, waits.collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_stuck_and_what_is_a_knot_is_what_the_definition_says((n, waits) in graphs()) {
        let (union, mut innermost) = by_definition(n, &waits);
        let stuck = stuck_waits(waits);
        prop_assert_eq!(mask(&stuck), union);
        let mut found: Vec<u32> = knots(&stuck).iter().map(|knot| mask(&knot.waits)).collect();
        found.sort_unstable();
        innermost.sort_unstable();
        prop_assert_eq!(found, innermost);
    }
}

fn wait(who: u32, on: &[u32]) -> RankWait {
    let ways = on.iter().map(|&on| WaitEdge { channel: Some(who), on: RankId::new(on) }).collect();
    RankWait { rank: RankId::new(who), resource: AwaitedResource::Message, edges: ways, seconds: 1.0 }
}

fn members(waits: Vec<RankWait>) -> Vec<Vec<u32>> {
    let names = |knot: ligament_manager::Knot| knot.waits.iter().map(|wait| wait.rank.number()).collect();
    knots(&stuck_waits(waits)).into_iter().map(names).collect()
}

#[test]
fn a_knot_is_told_in_the_order_in_which_each_waits_for_the_next() {
    assert_eq!(members(vec![wait(0, &[1]), wait(1, &[4]), wait(4, &[2]), wait(2, &[1])]), [[1, 4, 2]]);
}

#[test]
fn a_ring_of_a_hundred_thousand_is_one_knot() {
    const RING_LENGTH: u32 = 100_000;
    assert_eq!(
        members((0..RING_LENGTH).map(|i| wait(i, &[(i + 1) % RING_LENGTH])).collect())[0].len(),
        RING_LENGTH as usize
    );
}

#[test]
fn a_chain_that_ends_at_one_who_computes_is_none() {
    assert!(stuck_waits(vec![wait(0, &[1]), wait(1, &[2])]).is_empty());
    assert!(stuck_waits(Vec::new()).is_empty());
}

fn seen(what: AwaitedEvent) -> Observation {
    let waits = Some(ObservedWait { what, seconds: 1.0, timed: false, holds: false, may_release: false });
    Observation {
        name: String::new(),
        component: 0,
        pid: None,
        gone: false,
        state: InstanceState::WaitingToReceive,
        waits,
        epoch: 1,
        looked: 0,
        stopped: false,
        ranks: None,
        model_time: None,
        counters: InstanceCounters::default(),
    }
}

/// Returns the sending and the receiving rank of a channel between two instances: channel 0 leads from the
/// first to the second instance, channel 1 back.
fn ends(channel: u32) -> Option<(RankId, RankId)> {
    let [first, second] = [0, 1].map(RankId::new);
    [(first, second), (second, first)].get(channel as usize).copied()
}

fn message(channel: u32) -> AwaitedEvent {
    AwaitedEvent::Message { channels: vec![channel] }
}

fn stuck_of(seen: &[Observation], views_count: bool) -> usize {
    stuck_waits(lasting_waits(seen, ends, |_| true, views_count)).len()
}

#[test]
fn a_wait_that_ends_by_itself_frees_those_that_wait_for_it() {
    let mut both = [seen(message(1)), seen(message(0))];
    assert_eq!(stuck_of(&both, true), 2);
    both[1].waits.as_mut().unwrap().timed = true;
    assert_eq!(stuck_of(&both, true), 0);
}

#[test]
fn one_that_waits_for_slots_is_served_by_a_receiver_that_waits() {
    assert_eq!(
        stuck_of(&[seen(AwaitedEvent::Slots { endpoint: EndpointId::new(1) }), seen(message(0))], true),
        0
    );
    assert_eq!(stuck_of(&[seen(AwaitedEvent::Credit { channel: 0, needs: 9 }), seen(message(0))], true), 2);
}

#[test]
fn memory_may_come_from_anybody_who_lives_and_from_a_thread_that_holds_views() {
    let mut three = [seen(AwaitedEvent::Memory), seen(message(0)), seen(message(0))];
    // The third instance waits on channel 0, but does not receive on it. Such a wait proves nothing.
    assert_eq!(stuck_of(&three, true), 0);
    three[2].gone = true;
    assert_eq!(stuck_of(&three, true), 2);
    three[1].waits.as_mut().unwrap().may_release = true;
    assert_eq!(stuck_of(&three, true), 0);
    assert_eq!(stuck_of(&three, false), 2);
}

/// Makes a detector that has finished its first round, and the observations of two instances: the first waits
/// for memory, and the second holds views and waits for the first.
fn short_of_memory() -> (DeadlockDetector, [Observation; 2]) {
    let budgets = [0, 1].map(|channel| (ends(channel).unwrap(), 1));
    let (mut watch, mut both) =
        (DeadlockDetector::new(budgets), [seen(AwaitedEvent::Memory), seen(message(0))]);
    both[1].waits.as_mut().unwrap().holds = true;
    assert_eq!(watch.check(&both, 1, &[]), []);
    let ranks = [0, 1].map(RankId::new).to_vec();
    assert_eq!(watch.check(&both, 1, &[]), [DetectorAction::Ask { round: 1, ranks }]);
    both.iter_mut().for_each(|one| one.looked = 1);
    (watch, both)
}

#[test]
fn a_thread_that_has_dropped_views_and_ended_may_have_ended_the_wait_for_memory() {
    let (mut watch, mut both) = short_of_memory();
    both[1].waits.as_mut().unwrap().may_release = true;
    assert!(matches!(&watch.check(&both, 1, &[])[..], [DetectorAction::Suspicion(_)]));
    // The thread has dropped its views and ended. Only another round can show that it has dropped them.
    both[1].waits.as_mut().unwrap().may_release = false;
    assert!(matches!(&watch.check(&both, 1, &[])[..], [DetectorAction::Ask { round: 2, .. }]));
    (both[0].waits, both[0].epoch) = (None, 2);
    assert_eq!(watch.check(&both, 1, &[]), []);
}

#[test]
fn where_no_other_thread_can_drop_views_a_wait_for_memory_is_a_deadlock_after_another_look() {
    let (mut watch, mut both) = short_of_memory();
    assert!(matches!(&watch.check(&both, 1, &[])[..], [DetectorAction::Ask { round: 2, .. }]));
    assert_eq!(watch.check(&both, 1, &[]), [], "they have not looked yet");
    both.iter_mut().for_each(|one| one.looked = 2);
    assert!(matches!(&watch.check(&both, 1, &[])[..], [DetectorAction::Deadlock(_)]));
}
