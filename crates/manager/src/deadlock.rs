//! Detection of deadlocks from observations of status pages; no I/O and no clock.
//!
//! One observation proves little: status pages are read one after the other, and a message may lie
//! unnoticed in a ring. So the manager asks the instances that seem stuck, in a numbered round, to check
//! their input once more. An instance that finds nothing notes the number of the round on its status page.
//! Suppose that every page then shows the same wait as before the round, with the round's number. Then all
//! of these instances were in these waits during the whole round. A waiting instance sends nothing and
//! reads nothing. So the result of each instance's check was still true when the last instance checked: no
//! message was under way, and no instance was left to send. A process that is slow, stopped or in a
//! debugger does not answer, and the manager concludes nothing until the process answers. No time-out is
//! involved.
//!
//! A second thread of a waiting instance may drop views of messages, which frees memory. So if views are
//! held, the manager declares a deadlock only after a round that began when no process with views had such
//! a thread.
//!
//! Between domains, messages and credit are also under way in carriers and on paths. So a knot through a
//! conduit between domains is certain only after a second round. In each round, the agent of a domain
//! reports the state of its carrier after the agent has asked its own instances. Suppose that all carriers
//! are quiet after both rounds, with the same counts, and that as much has arrived as was sent. Then
//! nothing was under way anywhere when the second round began. So an instance that checked after that and
//! found nothing will find nothing later.

use crate::observation::{Observation, ObservedWait};
use crate::waits::{knots, lasting_waits, stuck_waits, AwaitedResource, Knot, RankWait};
use ligament_agent::AwaitedEvent;
use ligament_wire::domains::CarrierLoad;
use ligament_wire::{DomainId, RankId};
use std::collections::{HashMap, HashSet};

/// Number of checks that are made at the shorter interval after an action.
const URGENT_CHECK_COUNT: u32 = 10;

/// An action that follows from a check.
#[derive(Debug, Clone, PartialEq)]
pub enum DetectorAction {
    /// Ask these ranks to check their input once more, in the round with this number.
    Ask { round: u64, ranks: Vec<RankId> },
    /// Enlarge the budget of a channel. Sizes in bytes.
    Grow { channel: u32, from: u64, to: u64 },
    /// The run is deadlocked.
    Deadlock(Deadlock),
    /// The run is deadlocked, unless another thread of a waiting instance drops views and so frees memory.
    /// This action is returned once for each knot.
    Suspicion(Deadlock),
}

/// A deadlock.
#[derive(Debug, Clone, PartialEq)]
pub struct Deadlock {
    pub knot: Knot,
    /// Waits of instances outside of knots. Each of them waits, directly or indirectly, only for instances
    /// in a knot.
    pub behind: Vec<RankWait>,
    /// Full channels in the knot.
    pub full: Vec<FullChannel>,
    /// If an instance waits for memory: the ranks that hold views of messages, each with the size of its
    /// views in bytes.
    pub held: Vec<(RankId, u64)>,
}

/// A channel on which a sender waits for room. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullChannel {
    pub channel: u32,
    pub budget: u64,
    /// Budget that the sender needs to continue.
    pub needs: u64,
}

/// The state of a domain's carrier, as its agent reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CarrierState {
    /// Last round in which the agent had asked its instances before the agent read the carrier's state.
    pub round: u64,
    pub load: CarrierLoad,
}

/// A round after which all carriers were quiet.
#[derive(Debug)]
struct QuietRound {
    round: u64,
    /// State of each carrier after the round.
    loads: Vec<CarrierLoad>,
    /// Epoch of the wait of each instance when the instance was asked; 0 for an instance that was not
    /// asked.
    asked: Vec<u64>,
}

/// Detects deadlocks of one run.
///
/// The manager calls [`DeadlockDetector::check`] with fresh observations. The manager calls again soon if
/// [`DeadlockDetector::is_urgent`] returns true. The manager carries out the returned actions: it asks
/// ranks, enlarges budgets, or ends the run. Later observations show the effects of the actions.
#[derive(Debug)]
pub struct DeadlockDetector {
    /// Sending and receiving rank of each channel.
    ends: Vec<(RankId, RankId)>,
    budgets: Vec<u64>,
    /// Domain of each rank. Empty if the run has one domain.
    placement: Vec<DomainId>,
    quiet_round: Option<QuietRound>,
    /// Total growth of each enlarged budget in bytes, by channel.
    grown: HashMap<u32, u64>,
    /// Epochs of all instances at the previous check.
    before: Vec<u64>,
    round: u64,
    /// Epoch of the wait of each instance when the present round began; 0 for an instance that was not
    /// asked.
    asked: Vec<u64>,
    /// True if the present round began after an observation in which no other thread could drop views.
    alone: bool,
    /// Number of further checks that are made at the shorter interval.
    urgent_checks_left: u32,
    /// First rank of the knot that was last suspected.
    suspected: Option<RankId>,
}

impl DeadlockDetector {
    /// Makes a detector for a run. `channels` has the sending rank, the receiving rank, and the budget in
    /// bytes of each channel.
    pub fn new(channels: impl IntoIterator<Item = ((RankId, RankId), u64)>) -> DeadlockDetector {
        let (ends, budgets) = channels.into_iter().unzip();
        DeadlockDetector {
            ends,
            budgets,
            placement: Vec::new(),
            quiet_round: None,
            grown: HashMap::new(),
            before: Vec::new(),
            round: 0,
            asked: Vec::new(),
            alone: false,
            urgent_checks_left: 0,
            suspected: None,
        }
    }

    /// Declares that the run has several domains. `placement` has the domain of each rank.
    pub fn spread_over(&mut self, placement: Vec<DomainId>) {
        self.placement = placement;
    }

    /// Checks all instances for a deadlock. If the run has several domains, `carriers` has the state of
    /// each domain's carrier. `memory` is the limit, in bytes, of each budget and also of the total growth
    /// of all budgets.
    pub fn check(
        &mut self,
        seen: &[Observation],
        memory: u64,
        carriers: &[CarrierState],
    ) -> Vec<DetectorAction> {
        let remedies = self.confirm_round(seen, memory, carriers).unwrap_or_else(|| self.begin_round(seen));
        self.before = seen.iter().map(|one| one.epoch).collect();
        self.urgent_checks_left =
            if remedies.is_empty() { self.urgent_checks_left.saturating_sub(1) } else { URGENT_CHECK_COUNT };
        remedies
    }

    /// Returns true if the next check should follow soon, because ranks were asked or a budget was
    /// enlarged.
    pub fn is_urgent(&self) -> bool {
        self.urgent_checks_left > 0
    }

    fn stuck(&self, seen: &[Observation], counts: impl Fn(usize) -> bool, views_count: bool) -> Vec<RankWait> {
        stuck_waits(lasting_waits(
            seen,
            |channel| self.ends.get(channel as usize).copied(),
            counts,
            views_count,
        ))
    }

    /// Evaluates the present round: decides if the instances that have checked again are stuck. Returns
    /// `None` if the decision is not certain.
    fn confirm_round(
        &mut self,
        seen: &[Observation],
        memory: u64,
        carriers: &[CarrierState],
    ) -> Option<Vec<DetectorAction>> {
        let confirmed = |i: usize| {
            let wait = self.asked.get(i).copied().unwrap_or(0);
            wait != 0 && wait == seen[i].epoch && seen[i].looked == self.round
        };
        let calm = self.quiet_since(carriers);
        let nothing_came = |i: usize| {
            let within = seen[i].waits.as_ref().is_some_and(|waits| self.is_within_a_domain(i, waits));
            within || calm.is_some_and(|calm| calm.asked.get(i) == self.asked.get(i))
        };
        let certain = self.stuck(seen, |i| confirmed(i) && nothing_came(i), true);
        let found = knots(&certain);
        if found.is_empty() {
            if !knots(&self.stuck(seen, confirmed, true)).is_empty() {
                return self.ask_again(carriers);
            }
            let suspects = self.stuck(seen, confirmed, false);
            return self.suspect(&suspects, &knots(&suspects), seen);
        }
        let mut remedies = Vec::new();
        for knot in &found {
            match self.grow(knot, memory) {
                Some(remedy) => remedies.push(remedy),
                None if !self.alone && rests_on_views(&certain, seen) => {
                    self.alone = true;
                    return Some(vec![self.ask_the_same()]);
                }
                None => {
                    return Some(vec![DetectorAction::Deadlock(self.describe(knot, &found, &certain, seen))])
                }
            }
        }
        // The instances in the knots will continue, so their answers about these waits are obsolete.
        self.asked.clear();
        Some(remedies)
    }

    /// Returns true if only instances of the same domain can end this wait.
    fn is_within_a_domain(&self, rank: usize, waits: &ObservedWait) -> bool {
        let domain = |rank: RankId| self.placement.get(rank.index());
        let own = domain(RankId::at(rank));
        let ends = |channel: &u32| self.ends.get(*channel as usize);
        let within =
            |channel| ends(channel).is_some_and(|&(from, to)| domain(from) == own && domain(to) == own);
        match &waits.what {
            _ if self.placement.is_empty() => true,
            AwaitedEvent::Message { channels } => channels.iter().all(within),
            AwaitedEvent::Credit { channel, .. } => within(channel),
            AwaitedEvent::Slots { .. } | AwaitedEvent::Memory | AwaitedEvent::Steering { .. } => false,
        }
    }

    /// Returns the earlier round after which all carriers were quiet, if they have been quiet ever since.
    fn quiet_since(&self, carriers: &[CarrierState]) -> Option<&QuietRound> {
        let calm = self.quiet_round.as_ref().filter(|calm| calm.round < self.round)?;
        let same = calm.loads.iter().eq(carriers.iter().map(|carrier| &carrier.load));
        (same && self.are_quiet(carriers)).then_some(calm)
    }

    /// Returns true if every carrier was quiet after the present round, and as much has arrived as was
    /// sent.
    fn are_quiet(&self, carriers: &[CarrierState]) -> bool {
        let loads = || carriers.iter().map(|carrier| carrier.load);
        let total = |of: fn(CarrierLoad) -> u64| loads().map(of).fold(0, u64::wrapping_add);
        carriers.iter().all(|carrier| carrier.load.quiet && carrier.round >= self.round)
            && total(|load| load.sent) == total(|load| load.came)
            && total(|load| load.told) == total(|load| load.credited)
    }

    /// Asks the same ranks once more if all carriers are quiet. If the carriers are still quiet after that
    /// round, nothing is under way.
    fn ask_again(&mut self, carriers: &[CarrierState]) -> Option<Vec<DetectorAction>> {
        if !self.are_quiet(carriers) {
            return None;
        }
        let loads = carriers.iter().map(|carrier| carrier.load).collect();
        self.quiet_round = Some(QuietRound { round: self.round, loads, asked: self.asked.clone() });
        Some(vec![self.ask_the_same()])
    }

    /// Begins another round with the same ranks.
    fn ask_the_same(&mut self) -> DetectorAction {
        self.round += 1;
        let asked = RankId::first(self.asked.len()).zip(&self.asked).filter(|(_, &wait)| wait != 0);
        DetectorAction::Ask { round: self.round, ranks: asked.map(|(i, _)| i).collect() }
    }

    fn describe(&self, knot: &Knot, all: &[Knot], stuck: &[RankWait], seen: &[Observation]) -> Deadlock {
        let inside: HashSet<RankId> = all.iter().flat_map(|knot| &knot.waits).map(|wait| wait.rank).collect();
        let behind = stuck.iter().filter(|wait| !inside.contains(&wait.rank)).cloned().collect();
        let full = knot.waits.iter().filter_map(RankWait::full);
        let full = full
            .map(|(channel, needs)| FullChannel { channel, budget: self.budgets[channel as usize], needs })
            .collect();
        let mut held = Vec::new();
        if stuck.iter().any(|wait| wait.resource == AwaitedResource::Memory) {
            let holding = RankId::first(seen.len())
                .zip(seen)
                .filter(|(_, one)| !one.gone && one.counters.pinned_bytes > 0);
            held.extend(holding.map(|(i, one)| (i, one.counters.pinned_bytes)));
        }
        Deadlock { knot: knot.clone(), behind, full, held }
    }

    fn suspect(
        &mut self,
        stuck: &[RankWait],
        found: &[Knot],
        seen: &[Observation],
    ) -> Option<Vec<DetectorAction>> {
        let knot = found.first()?;
        let first = knot.waits[0].rank;
        let said = self.suspected.replace(first) == Some(first);
        (!said).then(|| vec![DetectorAction::Suspicion(self.describe(knot, found, stuck, seen))])
    }

    /// Enlarges the smallest budget of a full conduit in a knot (Parks, 1995). Returns `None` if there is
    /// no such conduit or not enough memory.
    fn grow(&mut self, knot: &Knot, memory: u64) -> Option<DetectorAction> {
        let grown: u64 = self.grown.values().fold(0, |sum, &by| sum.saturating_add(by));
        let room = memory.saturating_sub(grown);
        let most = |channel: u32| self.budgets[channel as usize].saturating_add(room).min(memory);
        let full = knot.waits.iter().filter_map(RankWait::full);
        let (channel, needs) = full
            .filter(|&(channel, needs)| needs <= most(channel))
            .min_by_key(|&(channel, _)| self.budgets[channel as usize])?;
        let from = self.budgets[channel as usize];
        let to = from.saturating_mul(2).min(most(channel)).max(needs);
        if to <= from {
            return None;
        }
        self.budgets[channel as usize] = to;
        *self.grown.entry(channel).or_default() += to - from;
        Some(DetectorAction::Grow { channel, from, to })
    }

    /// Begins a round if instances seem stuck that have not been asked during their present waits.
    fn begin_round(&mut self, seen: &[Observation]) -> Vec<DetectorAction> {
        // An instance whose epoch has changed since the previous check is not stuck, so it is not asked.
        let rests = |i: usize| self.before.get(i) == Some(&seen[i].epoch);
        let ranks: Vec<RankId> = self.stuck(seen, rests, false).iter().map(|wait| wait.rank).collect();
        let was_asked = |one: &RankId| self.asked.get(one.index()) == Some(&seen[one.index()].epoch);
        if ranks.iter().all(was_asked) {
            return Vec::new();
        }
        self.round += 1;
        self.alone = false;
        self.asked = vec![0; seen.len()];
        for one in &ranks {
            self.asked[one.index()] = seen[one.index()].epoch;
        }
        vec![DetectorAction::Ask { round: self.round, ranks }]
    }
}

/// Returns true if an instance waits for memory while an instance holds views of messages.
fn rests_on_views(stuck: &[RankWait], seen: &[Observation]) -> bool {
    stuck.iter().any(|wait| wait.resource == AwaitedResource::Memory)
        && seen.iter().any(|one| one.waits.as_ref().is_some_and(|waits| waits.holds))
}
