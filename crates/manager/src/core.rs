//! The manager's logic for one run. The input is reports and observations; the output is log lines and
//! orders for the agent. This module owns no file, no process and no clock, so that tests can drive it
//! through any sequence of events.

use crate::deadlock::{self, CarrierState, Deadlock, DeadlockDetector};
use crate::explain;
use crate::log::Level;
use crate::names::Names;
use crate::observation::{InstanceState, Observation};
use crate::record::{by_operator, InstanceRecord, PortsByOperator, RunRecord, RunState};
use crate::remarks::{unasked, unreceived, EndpointUsage};
use crate::summary::{component_of, format_bytes};
use ligament_agent::memory::MessageMemory;
use ligament_agent::{
    failure_sentence, terminal_text, AgentOrder, AgentReport, ChannelView, Exit, InstanceView, RunOutcome,
    RunPlan,
};
use ligament_catalogue::said;
use ligament_model::{Reference, Settings};
use ligament_wire::{DomainId, EndpointId, RankId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time between two checks for instances that wait for each other.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two checks while the answers of a detection round are awaited.
const URGENT_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Time that instances which may fail get to end, in ns, once only such instances are left and no instance
/// needs their results. After this time the run ends without them.
const OPTIONAL_END_GRACE_NS: u64 = 10_000_000_000;
/// Number of ranks above which a run counts as large. A large run logs the routine events of each instance
/// at level `Debug` instead of `Info`.
const MIN_INSTANCES_OF_LARGE_RUN: usize = 40;

/// Data of the host that a check needs beside the observations.
pub struct RunContext<'a> {
    pub memory: MessageMemory,
    /// State of the carrier of each domain. Empty if the run has one domain.
    pub carriers: &'a [CarrierState],
    /// Returns the counts of all channels. The manager calls this function only if there is a deadlock.
    pub channels: &'a dyn Fn() -> Vec<ChannelView>,
    /// Time of the check, in ns of CLOCK_MONOTONIC.
    pub now: u64,
}

/// An action that the host of the manager carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum ManagerAction {
    /// The host logs a line. Clients that watch the run see the line at once if its level is a warning or
    /// worse.
    Announce { level: Level, who: String, text: String },
    /// The host logs a line. Clients that watch the run see the line only at the end of the run.
    Write { level: Level, who: String, text: String },
    /// The host passes an order to the agent.
    Order(AgentOrder),
}

/// The manager of one run.
///
/// The host passes every report of the agent to [`Manager::report`]. The host makes a check each time the
/// duration [`Manager::next_check`] has passed: it calls [`Manager::observe`] and passes the result to
/// [`Manager::check`]. The host carries out the returned actions in their order. If the run has several
/// domains, the host calls [`Manager::spread_over`] before the first check. At the end,
/// [`Manager::conclude`] completes the record and returns the last line of the log.
#[derive(Debug)]
pub struct Manager<N> {
    names: N,
    /// Endpoint that serves each rank, indexed by rank.
    endpoints: Vec<EndpointId>,
    exits: Vec<Option<Exit>>,
    watch: DeadlockDetector,
    /// True for each rank whose failure does not end the run. Indexed by rank.
    may_fail: Vec<bool>,
    /// True for each rank that had ended before the checkpoint from which the run resumes. Indexed by rank.
    had_ended: Vec<bool>,
    /// Sending and receiving rank of each channel.
    ends: Vec<(RankId, RankId)>,
    /// Time at which a check first found that only instances are left that may fail and whose results no
    /// instance needs, in ns of CLOCK_MONOTONIC.
    optional_only_since: Option<u64>,
    /// Settings that each finished endpoint asked for, and the messages that it sent and received.
    used: BTreeMap<EndpointId, EndpointUsage>,
    /// Ports that the code of a component declares, by component, for components whose ports the model does
    /// not declare. Same content as `RunRecord::declared_ports`.
    declared: BTreeMap<String, PortsByOperator>,
    /// The deadlock that makes the run fail.
    deadlock: Option<Deadlock>,
    /// The outcome of the run. `None` until the run begins to end.
    ending: Option<RunOutcome>,
}

impl<N: Names> Manager<N> {
    /// Makes the manager of a run that has not begun.
    pub fn new(plan: &RunPlan, names: N) -> Manager<N> {
        let channels = &plan.channels;
        let channels = channels.iter().map(|one| ((one.from.rank, one.to.rank), one.budget));
        let wiring = plan.wiring();
        let endpoints: Vec<EndpointId> = wiring.ranks().all().map(|rank| wiring.endpoint_of(rank)).collect();
        Manager {
            names,
            exits: vec![None; endpoints.len()],
            may_fail: wiring.ranks().all().map(|rank| wiring.instance(plan, rank).may_fail).collect(),
            had_ended: wiring.ranks().all().map(|rank| wiring.instance(plan, rank).had_ended).collect(),
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

    /// Returns the names of the run's instances, ranks and ports.
    pub fn names(&self) -> &N {
        &self.names
    }

    /// Returns the log level of events that happen once for every instance.
    fn routine_level(&self) -> Level {
        if self.exits.len() > MIN_INSTANCES_OF_LARGE_RUN {
            Level::Debug
        } else {
            Level::Info
        }
    }

    /// Takes a report of the agent. Returns the log line for the report, if the report needs one.
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
            // Only the head's own agent uses this report.
            AgentReport::Slots { .. } => return None,
            // The host of the manager passes these reports to `steering`.
            AgentReport::Steers { .. }
            | AgentReport::Steerable { .. }
            | AgentReport::Sends { .. }
            | AgentReport::Checkpoint { .. } => return None,
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
                // At the end of a run, every instance is ended. So only an end before that is an error.
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
                        (Level::Error, Some(failure_sentence(failure, |i| self.names.rank(i)).to_string()))
                    }
                    RunOutcome::Stopped => (Level::Info, Some("it was stopped".to_owned())),
                    RunOutcome::Interrupted => (Level::Info, Some("it was interrupted".to_owned())),
                };
                self.ending.get_or_insert(outcome);
                ManagerAction::Write { level, who: "run".to_owned(), text: format!("the run ends: {}", text?) }
            }
        })
    }

    /// Makes an observation of each rank at `now` (ns of CLOCK_MONOTONIC) from the agent's views.
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

    /// Returns true if the rank was ended because the run ended, and the rank itself is not the cause of
    /// that end.
    fn was_stopped(&self, rank: RankId) -> bool {
        match &self.ending {
            None | Some(RunOutcome::Done) => false,
            Some(RunOutcome::Failed(failure)) => failure.rank != Some(rank),
            Some(RunOutcome::Stopped | RunOutcome::Interrupted) => true,
        }
    }

    /// Returns the time from a check to the next check.
    pub fn next_check(&self) -> Duration {
        if self.watch.is_urgent() {
            URGENT_CHECK_INTERVAL
        } else {
            CHECK_INTERVAL
        }
    }

    /// Declares that the run has several domains. `placement` has the domain of each rank.
    pub fn spread_over(&mut self, placement: &[DomainId]) {
        self.watch.spread_over(placement.to_vec());
    }

    /// Checks all instances for a deadlock, and returns the actions that follow from the check.
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

    /// Ends the run without the remaining instances, if all of them may fail and no instance needs their
    /// results. The remaining instances get as much time to end as the instances of a stopped run. Without
    /// this time limit, an instance that hangs would block the run.
    fn end_optional_instances(&mut self, seen: &[Observation], now: u64) -> Option<Vec<ManagerAction>> {
        if !self.only_optional_instances_left(seen) {
            self.optional_only_since = None;
            return None;
        }
        // The number of checks would be a poor measure of time: checks are more frequent while a deadlock
        // is suspected, and less frequent on a busy machine. So the time itself is measured.
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

    /// Returns true if the results of all remaining instances are useless. This is so if each remaining
    /// instance may fail and sends messages, and at least one of their receivers has ended and may not
    /// fail. An instance without a receiver may do useful work by itself, so this instance makes the result
    /// false.
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
        // An instance that has reported an error does no more work, even if its process still exists.
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
                    "instances waited for each other because a conduit was full: the budget of {port} grows \
                    from {} to {}",
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

    /// Returns the deadlock that makes the run fail, if there is one.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.deadlock.as_ref()
    }

    /// Returns the records of all instances.
    pub fn records(&self, seen: &[Observation]) -> Vec<InstanceRecord> {
        let exit = |i: usize| self.exits[i].map(|exit| exit.to_string());
        seen.iter().enumerate().map(|(i, seen)| InstanceRecord::of(seen, exit(i), &self.names)).collect()
    }

    /// Writes the present state of the instances into the record of the run.
    pub fn fill(&self, record: &mut RunRecord, seen: &[Observation]) {
        record.instances = self.records(seen);
        record.declared_ports.clone_from(&self.declared);
        record.deadlock = self.deadlock.iter().flat_map(|found| explain::records(found, &self.names)).collect();
    }

    /// Writes remarks into the record of a successful run: messages that were sent and not received, and
    /// settings that were not used. Does nothing unless every endpoint has reported its usage. `settings`
    /// has the settings of the run, and `given` names the settings that the user gave for this run.
    pub fn remark(&self, record: &mut RunRecord, settings: &Settings, given: &[String]) {
        if record.state != RunState::Done || self.endpoints.iter().any(|one| !self.used.contains_key(one)) {
            return;
        }
        let used: Vec<&EndpointUsage> = self.used.values().collect();
        // A resumed sender sends once more what an ended receiver took in the run before.
        let counts = |receiver: RankId| !self.had_ended.get(receiver.index()).is_some_and(|ended| *ended);
        record.unreceived = unreceived(&used, &self.names, counts);
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

    /// Writes the outcome of the run into the record, and returns the last line of the log. `outcome` may
    /// have more detail than the earlier report of the outcome, because the exit of the process that failed
    /// may only be known now.
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
                let why = failure_sentence(failure, |rank| self.names.rank(rank));
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
            channels: vec![PlannedChannel { from, to, budget: 1, ..PlannedChannel::default() }],
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
