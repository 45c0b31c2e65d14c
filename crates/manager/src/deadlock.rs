//! Finding out for certain that a run is deadlocked, from looks at its status pages; no I/O and no clock.
//!
//! One look proves little: the pages are read one after the other, and a message may lie in a ring, unnoticed. So
//! those that seem to be stuck are asked to look once more, in a numbered round, and to note the round on their page
//! if what they wait for has not come. If then every page shows the same wait as before the round and the round's
//! number, all of them were in these waits during the whole round. Whoever waits sends nothing and reads nothing, so
//! what each of them saw at its look was still true when the last of them had looked: nothing was under way, and
//! nobody was left to send. A process that is slow, stopped or in a debugger does not answer, and nothing is
//! concluded until it does. No time-out is involved.
//!
//! A thread beside one that waits may drop views, and so give memory back, and end. Where views are held, it is seen first
//! that no process that holds them has such a thread; only the round after that tells whether one has dropped them.
//!
//! Between domains messages and credit are also under way in carriers and on paths. So a knot through a conduit between
//! domains is certain only after a second round. Each domain tells what its carrier does after it has asked its own in
//! the round: when all carriers are quiet with the same counts after both, and as much has come as has gone, then nothing
//! was under way anywhere at the moment at which the second round began. Whoever looked after that, and found nothing,
//! will not find anything.

use crate::observation::{Observation, ObservedWait};
use crate::waits::{knots, lasting_waits, stuck_waits, AwaitedResource, Knot, RankWait};
use ligament_agent::AwaitedEvent;
use ligament_wire::{DomainId, RankId};
use std::collections::{HashMap, HashSet};

/// So many looks after a remedy come soon.
const URGENT_CHECK_COUNT: u32 = 10;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum DetectorAction {
    /// Ask these to look once more, in this round.
    Ask { round: u64, ranks: Vec<RankId> },
    /// Give a channel a larger budget, bytes.
    Grow { channel: u32, from: u64, to: u64 },
    /// The run is deadlocked.
    Deadlock(Deadlock),
    /// It is, unless a thread beside those that wait lets go of views and so gives memory back. Said once.
    Suspicion(Deadlock),
}

/// A deadlock.
#[derive(Debug, Clone, PartialEq)]
pub struct Deadlock {
    pub knot: Knot,
    /// Others that wait, directly or not, for somebody in a knot and for nobody else.
    pub behind: Vec<RankWait>,
    /// Full conduits in it: channel, its budget, and the budget that the sender would need; bytes.
    pub full: Vec<(u32, u64, u64)>,
    /// If somebody waits for memory: who holds views of messages, and bytes of these.
    pub held: Vec<(RankId, u64)>,
}

/// What the carrier of a domain does, as its agent has told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CarrierReport {
    /// The last round in which the agent had asked its instances before it looked at the carrier.
    pub round: u64,
    /// Whether nothing is under way.
    pub quiet: bool,
    /// Messages that went to other domains, and that came from there, ever.
    pub sent: u64,
    pub came: u64,
    /// What was told to other domains of what was received there, and what they told; bytes, wrapping.
    pub told: u64,
    pub credited: u64,
}

impl CarrierReport {
    fn counts(&self) -> [u64; 4] {
        [self.sent, self.came, self.told, self.credited]
    }
}

/// That all carriers were quiet after a round.
#[derive(Debug)]
struct QuietRound {
    round: u64,
    /// What each carrier had counted.
    counts: Vec<[u64; 4]>,
    /// In which wait each instance was; 0 for those that were not asked.
    asked: Vec<u64>,
}

/// Watches one run.
#[derive(Debug)]
pub struct DeadlockDetector {
    /// The sending and the receiving rank of each channel.
    ends: Vec<(RankId, RankId)>,
    budgets: Vec<u64>,
    /// The domain of each rank; none if there is one only.
    placement: Vec<DomainId>,
    quiet_round: Option<QuietRound>,
    /// Budgets that were grown: the channel, and by how much in all.
    grown: HashMap<u32, u64>,
    /// The epochs at the last look.
    before: Vec<u64>,
    round: u64,
    /// In which wait each was when the present round began; 0 for those that were not asked.
    asked: Vec<u64>,
    /// Whether the present round began after it was seen that no other thread can drop views.
    alone: bool,
    /// For how many more looks there may be news soon.
    urgent_checks_left: u32,
    /// The first of those in a knot that was suspected.
    suspected: Option<RankId>,
}

impl DeadlockDetector {
    /// A run whose channels lead from rank to rank with these budgets, bytes.
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

    /// The run spreads over several domains, and this is the domain of each rank.
    pub fn spread_over(&mut self, placement: Vec<DomainId>) {
        self.placement = placement;
    }

    /// A look at all instances, and at the carriers of all domains, if there are several. `memory` is the limit in bytes
    /// for every budget, and for what all of them grow by together.
    pub fn check(
        &mut self,
        seen: &[Observation],
        memory: u64,
        carriers: &[CarrierReport],
    ) -> Vec<DetectorAction> {
        let remedies = self.confirm_round(seen, memory, carriers).unwrap_or_else(|| self.begin_round(seen));
        self.before = seen.iter().map(|one| one.epoch).collect();
        self.urgent_checks_left =
            if remedies.is_empty() { self.urgent_checks_left.saturating_sub(1) } else { URGENT_CHECK_COUNT };
        remedies
    }

    /// Whether the next look should come soon, because somebody was asked or given a larger budget.
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

    /// Whether those that have looked once more in this round are stuck, and what follows from it.
    fn confirm_round(
        &mut self,
        seen: &[Observation],
        memory: u64,
        carriers: &[CarrierReport],
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
        // They will move; what they said about these waits is of no use any more.
        self.asked.clear();
        Some(remedies)
    }

    /// Whether nobody outside of the instance's own domain can end this wait.
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

    /// What was noted when all carriers were quiet after an earlier round, if they still are, and were all the while.
    fn quiet_since(&self, carriers: &[CarrierReport]) -> Option<&QuietRound> {
        let calm = self.quiet_round.as_ref().filter(|calm| calm.round < self.round)?;
        let same = calm.counts.iter().copied().eq(carriers.iter().map(CarrierReport::counts));
        (same && self.are_quiet(carriers)).then_some(calm)
    }

    /// Whether after the present round every carrier was quiet, and as much had come as had gone.
    fn are_quiet(&self, carriers: &[CarrierReport]) -> bool {
        let total = |of: fn(&CarrierReport) -> u64| carriers.iter().map(of).fold(0, u64::wrapping_add);
        carriers.iter().all(|carrier| carrier.quiet && carrier.round >= self.round)
            && total(|carrier| carrier.sent) == total(|carrier| carrier.came)
            && total(|carrier| carrier.told) == total(|carrier| carrier.credited)
    }

    /// All carriers are quiet; if they are so after another round, nothing is under way.
    fn ask_again(&mut self, carriers: &[CarrierReport]) -> Option<Vec<DetectorAction>> {
        if !self.are_quiet(carriers) {
            return None;
        }
        let counts = carriers.iter().map(CarrierReport::counts).collect();
        self.quiet_round = Some(QuietRound { round: self.round, counts, asked: self.asked.clone() });
        Some(vec![self.ask_the_same()])
    }

    /// Begins another round among those that were asked.
    fn ask_the_same(&mut self) -> DetectorAction {
        self.round += 1;
        let asked = RankId::first(self.asked.len()).zip(&self.asked).filter(|(_, &wait)| wait != 0);
        DetectorAction::Ask { round: self.round, ranks: asked.map(|(i, _)| i).collect() }
    }

    fn describe(&self, knot: &Knot, all: &[Knot], stuck: &[RankWait], seen: &[Observation]) -> Deadlock {
        let inside: HashSet<RankId> = all.iter().flat_map(|knot| &knot.waits).map(|wait| wait.rank).collect();
        let behind = stuck.iter().filter(|wait| !inside.contains(&wait.rank)).cloned().collect();
        let full = knot.waits.iter().filter_map(RankWait::full);
        let full = full.map(|(channel, needs)| (channel, self.budgets[channel as usize], needs)).collect();
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

    /// Grows the smallest budget of a full conduit in a knot (Parks, 1995), if memory allows.
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

    /// Begins a round if some seem to be stuck that were not asked yet in the waits in which they are.
    fn begin_round(&mut self, seen: &[Observation]) -> Vec<DetectorAction> {
        // Who has moved since the last look is not worth asking.
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

/// Whether somebody waits for memory, and somebody holds views of messages.
fn rests_on_views(stuck: &[RankWait], seen: &[Observation]) -> bool {
    stuck.iter().any(|wait| wait.resource == AwaitedResource::Memory)
        && seen.iter().any(|one| one.waits.as_ref().is_some_and(|waits| waits.holds))
}
