//! Finding out for certain that a run is deadlocked, from looks at its status pages; no I/O and no clock.
//!
//! One look proves little: the pages are read one after the other, and a message may lie in a ring, unnoticed. So
//! those that seem to be stuck are asked to look once more, in a numbered round, and to note the round on their page
//! if what they wait for has not come. If then every page shows the same wait as before the round and the round's
//! number, all of them were in these waits during the whole round. Whoever waits sends nothing and reads nothing, so
//! what each of them saw at its look was still true when the last of them had looked: nothing was under way, and
//! nobody was left to send. A process that is slow, stopped or in a debugger does not answer, and nothing is
//! concluded until it does. No time-out is involved.

use crate::observation::Observation;
use crate::waits::{knots, lasting_waits, stuck, Knot, Lack, Wait};
use std::collections::{HashMap, HashSet};

/// Looks after an order that should come soon.
const PRESSING: u32 = 10;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Ask these to look once more, in this round.
    Ask { round: u64, instances: Vec<u32> },
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
    pub behind: Vec<Wait>,
    /// Full conduits in it: channel, its budget, and the budget that the sender would need; bytes.
    pub full: Vec<(u32, u64, u64)>,
    /// If somebody waits for memory: who holds views of messages, and bytes of these.
    pub held: Vec<(u32, u64)>,
}

/// Watches one run.
#[derive(Debug)]
pub struct Watch {
    /// The sending and the receiving instance of each channel.
    ends: Vec<(u32, u32)>,
    budgets: Vec<u64>,
    /// Budgets that were grown: the channel, and by how much in all.
    grown: HashMap<u32, u64>,
    /// The epochs at the last look.
    before: Vec<u64>,
    round: u64,
    /// In which wait each was when the present round began; 0 for those that were not asked.
    asked: Vec<u64>,
    /// For how many more looks there may be news soon.
    pressing: u32,
    /// The first of those in a knot that was suspected.
    suspected: Option<u32>,
}

impl Watch {
    /// A run whose channels lead from instance to instance with these budgets, bytes.
    pub fn new(channels: impl IntoIterator<Item = ((u32, u32), u64)>) -> Watch {
        let (ends, budgets) = channels.into_iter().unzip();
        Watch {
            ends,
            budgets,
            grown: HashMap::new(),
            before: Vec::new(),
            round: 0,
            asked: Vec::new(),
            pressing: 0,
            suspected: None,
        }
    }

    /// A look at all instances. `memory` is the limit in bytes for every budget, and for
    /// what all of them grow by together.
    pub fn look(&mut self, seen: &[Observation], memory: u64) -> Vec<Order> {
        let orders = self.judge(seen, memory).unwrap_or_else(|| self.ask(seen));
        self.before = seen.iter().map(|one| one.epoch).collect();
        self.pressing = if orders.is_empty() { self.pressing.saturating_sub(1) } else { PRESSING };
        orders
    }

    /// Whether the next look should come soon, because somebody was asked or given a larger budget.
    pub fn is_pressing(&self) -> bool {
        self.pressing > 0
    }

    fn stuck(&self, seen: &[Observation], counts: impl Fn(usize) -> bool, views_count: bool) -> Vec<Wait> {
        stuck(lasting_waits(seen, |channel| self.ends.get(channel as usize).copied(), counts, views_count))
    }

    /// Whether those that have looked once more in this round are stuck, and what follows from it.
    fn judge(&mut self, seen: &[Observation], memory: u64) -> Option<Vec<Order>> {
        let confirmed = |i: usize| {
            let wait = self.asked.get(i).copied().unwrap_or(0);
            wait != 0 && wait == seen[i].epoch && seen[i].looked == self.round
        };
        let certain = self.stuck(seen, confirmed, true);
        let found = knots(&certain);
        if found.is_empty() {
            let suspects = self.stuck(seen, confirmed, false);
            return self.suspect(&suspects, &knots(&suspects), seen);
        }
        let mut orders = Vec::new();
        for knot in &found {
            match self.grow(knot, memory) {
                Some(order) => orders.push(order),
                None => return Some(vec![Order::Deadlock(self.describe(knot, &found, &certain, seen))]),
            }
        }
        // They will move; what they said about these waits is of no use any more.
        self.asked.clear();
        Some(orders)
    }

    fn describe(&self, knot: &Knot, all: &[Knot], stuck: &[Wait], seen: &[Observation]) -> Deadlock {
        let inside: HashSet<u32> = all.iter().flat_map(|knot| &knot.waits).map(|wait| wait.instance).collect();
        let behind = stuck.iter().filter(|wait| !inside.contains(&wait.instance)).cloned().collect();
        let full = knot.waits.iter().filter_map(Wait::full);
        let full = full.map(|(channel, needs)| (channel, self.budgets[channel as usize], needs)).collect();
        let mut held = Vec::new();
        if stuck.iter().any(|wait| wait.lack == Lack::Memory) {
            let holding = (0u32..).zip(seen).filter(|(_, one)| !one.gone && one.counters.pinned_bytes > 0);
            held.extend(holding.map(|(i, one)| (i, one.counters.pinned_bytes)));
        }
        Deadlock { knot: knot.clone(), behind, full, held }
    }

    fn suspect(&mut self, stuck: &[Wait], found: &[Knot], seen: &[Observation]) -> Option<Vec<Order>> {
        let knot = found.first()?;
        let first = knot.waits[0].instance;
        let said = self.suspected.replace(first) == Some(first);
        (!said).then(|| vec![Order::Suspicion(self.describe(knot, found, stuck, seen))])
    }

    /// Grows the smallest budget of a full conduit in a knot (Parks, 1995), if memory allows.
    fn grow(&mut self, knot: &Knot, memory: u64) -> Option<Order> {
        let grown: u64 = self.grown.values().fold(0, |sum, &by| sum.saturating_add(by));
        let room = memory.saturating_sub(grown);
        let most = |channel: u32| self.budgets[channel as usize].saturating_add(room).min(memory);
        let full = knot.waits.iter().filter_map(Wait::full);
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
        Some(Order::Grow { channel, from, to })
    }

    /// Begins a round if some seem to be stuck that were not asked yet in the waits in which they are.
    fn ask(&mut self, seen: &[Observation]) -> Vec<Order> {
        // Who has moved since the last look is not worth asking.
        let rests = |i: usize| self.before.get(i) == Some(&seen[i].epoch);
        let instances: Vec<u32> = self.stuck(seen, rests, false).iter().map(|wait| wait.instance).collect();
        let was_asked = |&i: &u32| self.asked.get(i as usize) == Some(&seen[i as usize].epoch);
        if instances.iter().all(was_asked) {
            return Vec::new();
        }
        self.round += 1;
        self.asked = vec![0; seen.len()];
        for &i in &instances {
            self.asked[i as usize] = seen[i as usize].epoch;
        }
        vec![Order::Ask { round: self.round, instances }]
    }
}
