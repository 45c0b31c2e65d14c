//! The manager's logic of one run: what happens and what is seen goes in, what to write and what to ask of the agent
//! comes out. It owns no file, no process and no clock, so that tests can drive it through anything.

use crate::deadlock::{self, CarrierReport, Deadlock, DeadlockDetector};
use crate::explain;
use crate::log::Level;
use crate::names::Names;
use crate::observation::{InstanceState, Observation};
use crate::record::{by_operator, InstanceRecord, PortsByOperator, RunRecord, RunState};
use crate::remarks::{unasked, unreceived, EndpointUsage};
use crate::summary::{component_of, format_bytes};
use ligament_agent::{
    terminal_text, AgentOrder, AgentReport, ChannelView, Exit, InstanceView, RunOutcome, RunPlan,
};
use ligament_catalogue::said;
use ligament_model::{Reference, Settings};
use ligament_wire::{DomainId, EndpointId, RankId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often to look for instances that wait for each other.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How soon to look whether those that were asked have looked too.
const URGENT_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// After so long (ns) the run ends if only instances are left that may fail, and work for nobody.
const OPTIONAL_END_GRACE_NS: u64 = 10_000_000_000;
/// Of so many instances nobody wants to read what each does once.
const MIN_INSTANCES_OF_LARGE_RUN: usize = 40;

/// The run's memory for messages, bytes.
#[derive(Debug, Clone, Copy)]
pub struct MessageMemory {
    pub used: u64,
    pub limit: u64,
}

/// The data that a look needs beside the instances.
pub struct RunContext<'a> {
    pub memory: MessageMemory,
    /// Of the carriers of all domains, if there are several.
    pub carriers: &'a [CarrierReport],
    /// The messages that have passed each channel; asked for only if there is a deadlock.
    pub channels: &'a dyn Fn() -> Vec<ChannelView>,
    /// ns of CLOCK_MONOTONIC.
    pub now: u64,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum ManagerAction {
    /// A line of the log, which whoever watches the run is told too if it is a warning or worse.
    Announce { level: Level, who: String, text: String },
    /// A line of the log alone: whoever watches is told at the end.
    Write { level: Level, who: String, text: String },
    /// The agent is to do this.
    Order(AgentOrder),
}

/// The manager of one run.
#[derive(Debug)]
pub struct Manager<N> {
    names: N,
    /// For each rank the endpoint that serves it.
    endpoints: Vec<EndpointId>,
    exits: Vec<Option<Exit>>,
    watch: DeadlockDetector,
    /// For each rank whether the run goes on without it.
    may_fail: Vec<bool>,
    /// The sending and the receiving rank of each channel.
    ends: Vec<(RankId, RankId)>,
    /// When it was first seen that only such ranks are left, and work for nobody: ns of CLOCK_MONOTONIC.
    optional_only_since: Option<u64>,
    /// What endpoints have used that are done.
    used: BTreeMap<EndpointId, EndpointUsage>,
    /// The ports that codes have declared and the model does not, as `RunRecord::declared_ports` has them.
    declared: BTreeMap<String, PortsByOperator>,
    /// The deadlock for which the run ends, if it does.
    deadlock: Option<Deadlock>,
    /// How the run ends, once it does.
    ending: Option<RunOutcome>,
}

impl<N: Names> Manager<N> {
    /// Of a run that has not begun.
    pub fn new(plan: &RunPlan, names: N) -> Manager<N> {
        let channels = &plan.channels;
        let channels = channels.iter().map(|one| ((one.from.rank, one.to.rank), one.budget));
        let wiring = plan.wiring();
        let endpoints: Vec<EndpointId> = wiring.ranks().all().map(|rank| wiring.endpoint_of(rank)).collect();
        Manager {
            names,
            exits: vec![None; endpoints.len()],
            may_fail: wiring.ranks().all().map(|rank| wiring.instance(plan, rank).may_fail).collect(),
            ends: plan.channels.iter().map(|one| (one.from.rank, one.to.rank)).collect(),
            optional_only_since: None,
            endpoints,
            watch: DeadlockDetector::new(channels),
            used: BTreeMap::new(),
            declared: BTreeMap::new(),
            deadlock: None,
            ending: None,
        }
    }

    /// What the parts of the run are called.
    pub fn names(&self) -> &N {
        &self.names
    }

    /// The level of what each instance does once.
    fn routine_level(&self) -> Level {
        if self.exits.len() > MIN_INSTANCES_OF_LARGE_RUN {
            Level::Debug
        } else {
            Level::Info
        }
    }

    /// The agent reports what has happened.
    pub fn report(&mut self, report: AgentReport) -> Option<ManagerAction> {
        Some(match report {
            AgentReport::Registered { rank, pid, language } => {
                let me = EndpointId::led_by(rank);
                let others = match self.endpoints.iter().filter(|&&endpoint| endpoint == me).count() {
                    0 | 1 => String::new(),
                    n => format!(", which runs {} others too", n - 1),
                };
                ManagerAction::Announce {
                    level: self.routine_level(),
                    who: self.names.rank(rank),
                    text: format!("registered ({language}, process {pid}{others})"),
                }
            }
            // Of those elsewhere the head's own agent is told.
            AgentReport::Slots { .. } => return None,
            // The host of the manager takes these to `steering`.
            AgentReport::Steers { .. } | AgentReport::Steerable { .. } | AgentReport::Sends { .. } => {
                return None
            }
            AgentReport::Declares { rank, ports } => {
                let component = component_of(&self.names.instance(rank)).to_owned();
                self.declared.entry(component).or_insert_with(|| by_operator(ports));
                return None;
            }
            AgentReport::Used { rank, asked, sent, received } => {
                let asked = asked.into_iter().collect();
                self.used.insert(EndpointId::led_by(rank), EndpointUsage { asked, sent, received });
                return None;
            }
            AgentReport::Exited { rank, exit } => {
                let me = EndpointId::led_by(rank);
                for (own, _) in self.exits.iter_mut().zip(&self.endpoints).filter(|(_, &one)| one == me) {
                    *own = Some(exit);
                }
                // Of a run that ends every instance is ended: only the first end can be news.
                let calm = exit.is_clean() || self.ending.is_some();
                let level = if calm { self.routine_level() } else { Level::Error };
                ManagerAction::Write { level, who: self.names.rank(rank), text: exit.to_string() }
            }
            AgentReport::Said { rank, level, text } => {
                let (level, who) = (Level::from_number(level), self.names.rank(rank));
                ManagerAction::Announce { level, who, text: terminal_text::clean(&text) }
            }
            AgentReport::Remark { level, text } => {
                ManagerAction::Announce { level: Level::from_number(level), who: "agent".to_owned(), text }
            }
            AgentReport::Ending(outcome) => {
                let (level, text) = match &outcome {
                    RunOutcome::Done => (Level::Info, None),
                    RunOutcome::Failed(failure) => {
                        (Level::Error, Some(failure.sentence(|i| self.names.rank(i)).to_string()))
                    }
                    RunOutcome::Stopped => (Level::Info, Some("it was stopped".to_owned())),
                    RunOutcome::Interrupted => (Level::Info, Some("it was interrupted".to_owned())),
                };
                self.ending.get_or_insert(outcome);
                ManagerAction::Write { level, who: "run".to_owned(), text: format!("the run ends: {}", text?) }
            }
        })
    }

    /// All instances as their agent sees them, at `now` (ns of CLOCK_MONOTONIC).
    pub fn observe(&self, instances: &[InstanceView], now: u64) -> Vec<Observation> {
        let one = |(rank, view): (RankId, &InstanceView)| {
            let mut seen = Observation::of(self.names.rank(rank), self.names.component(rank), view, now);
            if seen.state == InstanceState::Failed && self.was_stopped(rank) {
                seen.state = InstanceState::Stopped;
            }
            seen
        };
        RankId::first(instances.len()).zip(instances).map(one).collect()
    }

    /// Whether an instance whose process is gone was ended for the run's sake: the run ends, and not because of it.
    fn was_stopped(&self, rank: RankId) -> bool {
        match &self.ending {
            None | Some(RunOutcome::Done) => false,
            Some(RunOutcome::Failed(failure)) => failure.rank != Some(rank),
            Some(RunOutcome::Stopped | RunOutcome::Interrupted) => true,
        }
    }

    /// How long after a look the next one is due.
    pub fn next_check(&self) -> Duration {
        if self.watch.is_urgent() {
            URGENT_CHECK_INTERVAL
        } else {
            CHECK_INTERVAL
        }
    }

    /// The run spreads over several domains, and this is the domain of each rank.
    pub fn spread_over(&mut self, placement: &[DomainId]) {
        self.watch.spread_over(placement.to_vec());
    }

    /// A look at all instances: whether some wait for each other for good, and what to do about it.
    pub fn check(&mut self, seen: &[Observation], around: &RunContext<'_>) -> Vec<ManagerAction> {
        if self.ending.is_some() || self.deadlock.is_some() {
            return Vec::new();
        }
        if let Some(deeds) = self.end_optional_instances(seen, around.now) {
            return deeds;
        }
        let remedies = self.watch.check(seen, around.memory.limit, around.carriers);
        remedies.into_iter().flat_map(|remedy| self.carry_out(remedy, around)).collect()
    }

    /// When only instances are left that may fail, and whoever they worked for is gone, they have as much time to end as those
    /// of a run that is stopped: one that hangs shall not keep the run.
    fn end_optional_instances(&mut self, seen: &[Observation], now: u64) -> Option<Vec<ManagerAction>> {
        if !self.only_optional_instances_left(seen) {
            self.optional_only_since = None;
            return None;
        }
        // Looks come sooner while a deadlock is suspected, and later on a machine under load.
        let since = *self.optional_only_since.get_or_insert(now);
        if now.saturating_sub(since) < OPTIONAL_END_GRACE_NS {
            return None;
        }
        let left: Vec<&str> = seen.iter().filter(|one| !one.gone).map(|one| one.name.as_str()).collect();
        let text = format!("all others have ended, so the run ends without {}", left.join(", "));
        let (level, who) = (Level::Warning, "run".to_owned());
        Some(vec![
            ManagerAction::Announce { level, who, text },
            ManagerAction::Order(AgentOrder::End(RunOutcome::Done)),
        ])
    }

    /// Whether all that are left may fail and send to others, among them to one that may not fail, and has ended. One that
    /// sends to nobody may have something to do by itself.
    fn only_optional_instances_left(&self, seen: &[Observation]) -> bool {
        let is_left = |rank: RankId| seen.get(rank.index()).is_some_and(|one| !one.gone);
        let mut left = seen
            .iter()
            .zip(&self.may_fail)
            .filter(|(one, _)| !one.gone)
            .map(|(_, may_fail)| *may_fail)
            .peekable();
        if left.peek().is_none() || left.any(|may_fail| !may_fail) {
            return false;
        }
        let from_those = || self.ends.iter().filter(|(from, _)| is_left(*from));
        let senders: BTreeSet<RankId> = from_those().map(|(from, _)| *from).collect();
        // One that has reported an error has nothing to do any more, though its process be there.
        let has_failed = |rank: RankId| seen[rank.index()].state == InstanceState::Failed;
        let those = || RankId::first(seen.len()).filter(|&rank| is_left(rank));
        let all_send = those().all(|rank| senders.contains(&rank) || has_failed(rank));
        let for_nobody = from_those().any(|(_, to)| !is_left(*to) && !self.may_fail[to.index()]);
        all_send && (for_nobody || those().all(has_failed))
    }

    fn carry_out(&mut self, remedy: deadlock::DetectorAction, around: &RunContext<'_>) -> Vec<ManagerAction> {
        let say = |level, text| ManagerAction::Announce { level, who: "run".to_owned(), text };
        match remedy {
            deadlock::DetectorAction::Ask { round, ranks } => {
                vec![ManagerAction::Order(AgentOrder::Look { round, ranks })]
            }
            deadlock::DetectorAction::Grow { channel, from, to } => {
                let port = self.names.ends(channel).map(|((_, port), _)| port).unwrap_or_default();
                let text = said!(
                    BUDGET_GROWS,
                    "instances waited for each other because a conduit was full: the budget of {port} grows from {} \
                     to {}",
                    format_bytes(from as f64),
                    format_bytes(to as f64)
                );
                vec![say(Level::Info, text), ManagerAction::Order(AgentOrder::Budget { channel, bytes: to })]
            }
            deadlock::DetectorAction::Deadlock(found) => {
                let why = explain::reason(&found, around.memory, &(around.channels)(), &self.names);
                self.deadlock = Some(found);
                vec![ManagerAction::Order(AgentOrder::Fail(why))]
            }
            deadlock::DetectorAction::Suspicion(found) => {
                vec![say(Level::Warning, explain::suspicion(&found, around.memory, &self.names))]
            }
        }
    }

    /// The deadlock for which the run ends, if it does.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.deadlock.as_ref()
    }

    /// The instances for the record.
    pub fn records(&self, seen: &[Observation]) -> Vec<InstanceRecord> {
        let exit = |i: usize| self.exits[i].map(|exit| exit.to_string());
        seen.iter().enumerate().map(|(i, seen)| InstanceRecord::of(seen, exit(i), &self.names)).collect()
    }

    /// Writes into the record how the run stands.
    pub fn fill(&self, record: &mut RunRecord, seen: &[Observation]) {
        record.instances = self.records(seen);
        record.declared_ports.clone_from(&self.declared);
        record.deadlock = self.deadlock.iter().flat_map(|found| explain::records(found, &self.names)).collect();
    }

    /// Writes into the record of a run that is done what is worth a second look, if all have told what they used: the
    /// run's settings, of which it was `given` some by hand.
    pub fn remark(&self, record: &mut RunRecord, settings: &Settings, given: &[String]) {
        if record.state != RunState::Done || self.endpoints.iter().any(|one| !self.used.contains_key(one)) {
            return;
        }
        let used: Vec<&EndpointUsage> = self.used.values().collect();
        record.unreceived = unreceived(&used, &self.names);
        let ranks = RankId::first(self.endpoints.len());
        let named: Vec<Option<Reference>> =
            ranks.map(|one| Reference::new(&self.names.instance(one)).ok()).collect();
        let asked: Vec<_> = named
            .iter()
            .zip(&self.endpoints)
            .filter_map(|(name, endpoint)| Some((name.as_ref()?, &self.used.get(endpoint)?.asked)))
            .collect();
        record.unasked_settings = unasked(settings, given, &asked);
    }

    /// Writes into the record how the run has ended, and why; gives the last line of the log. How an instance's
    /// process ended may be known only now, so `outcome` may say more than what was reported.
    pub fn conclude(
        &self,
        record: &mut RunRecord,
        outcome: &RunOutcome,
        seen: &[Observation],
    ) -> ManagerAction {
        self.fill(record, seen);
        record.failed = match outcome {
            RunOutcome::Failed(failure) => failure.rank.map(|rank| self.names.rank(rank)),
            RunOutcome::Done | RunOutcome::Stopped | RunOutcome::Interrupted => None,
        };
        record.state = outcome.into();
        let why = match outcome {
            RunOutcome::Failed(failure) => {
                let why = failure.sentence(|rank| self.names.rank(rank));
                let exit = failure.exit.filter(|_| failure.said.is_some());
                Some(exit.map_or(why.clone(), |exit| why.told(|why| format!("{why} (its process: {exit})"))))
            }
            RunOutcome::Done | RunOutcome::Stopped | RunOutcome::Interrupted => None,
        };
        record.blame(why.as_ref());
        let (level, text) = match &record.reason {
            Some(why) => (Level::Error, format!("the run failed: {why}")),
            None => (Level::Info, format!("the run is {}", record.state.name())),
        };
        ManagerAction::Write { level, who: "run".to_owned(), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::InstanceCounters;
    use ligament_agent::plan::{PlannedChannel, PlannedEnd, PlannedInstance};

    struct NumberedNames;

    impl Names for NumberedNames {
        fn instance(&self, rank: RankId) -> String {
            rank.to_string()
        }

        fn rank(&self, rank: RankId) -> String {
            rank.to_string()
        }

        fn component(&self, _: RankId) -> u32 {
            0
        }

        fn ends(&self, _: u32) -> Option<((RankId, String), (RankId, String))> {
            None
        }

        fn conduit(&self, _: u32) -> Option<[u32; 4]> {
            None
        }
    }

    fn seen(gone: bool) -> Observation {
        Observation {
            name: "one".to_owned(),
            component: 0,
            pid: None,
            gone,
            state: if gone { InstanceState::Done } else { InstanceState::Computing },
            waits: None,
            epoch: 0,
            looked: 0,
            stopped: false,
            ranks: None,
            model_time: None,
            counters: InstanceCounters::default(),
        }
    }

    #[test]
    fn those_that_may_fail_and_work_for_nobody_have_ten_seconds_however_often_they_are_looked_at() {
        let end = |rank| PlannedEnd { rank: RankId::new(rank), port: 0, slot: None };
        let (from, to) = (end(0), end(1));
        let plan = RunPlan {
            instances: vec![
                PlannedInstance { may_fail: true, ..PlannedInstance::default() },
                PlannedInstance::default(),
            ],
            channels: vec![PlannedChannel { from, to, budget: 1, limit: None, steps: None, filters: None }],
            ..RunPlan::default()
        };
        let mut manager = Manager::new(&plan, NumberedNames);
        let mut ends = |receiver_gone: bool, milliseconds: u64| {
            let memory = MessageMemory { used: 0, limit: 1 };
            let deeds = {
                let (channels, now) = (&Vec::new as &dyn Fn() -> Vec<ChannelView>, milliseconds * 1_000_000);
                manager.check(
                    &[seen(false), seen(receiver_gone)],
                    &RunContext { memory, carriers: &[], channels, now },
                )
            };
            deeds.contains(&ManagerAction::Order(AgentOrder::End(RunOutcome::Done)))
        };
        assert!((0..100).all(|look| !ends(true, 1000 + 20 * look)), "many looks, and 2 s");
        assert!(!ends(false, 5000), "somebody is there again");
        assert!(!ends(true, 6000) && !ends(true, 15_999));
        assert!(ends(true, 16_000), "few looks, and 10 s");
    }
}
