//! The journal of a running run, and the file with its state, which is written as long as a viewer watches.

use super::{Runtime, Terminal};
use ligament_agent::{failure_sentence, AgentOrder, AgentReport, ChannelView, RunView};
use ligament_manager::domains::{DomainRoster, JoinedDomain};
use ligament_manager::saves::SaveRequests;
use ligament_manager::{
    Conduits, InstanceRecord, JournalEvent, Level, MessageMemory, Names, Observation, UtcTime, JOURNAL_VERSION,
};
use ligament_model::{Identifier, Reference, ResolvedInstance, ResolvedModel, SettingValue};
use ligament_wire::{DomainId, InstanceId, RankId};
use std::cell::OnceCell;
use std::fs::File;
use std::iter::repeat_n;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Interval between two checks for a viewer.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which a viewer counts as watching after it has touched its file.
const ATTENTION: Duration = Duration::from_secs(10);
/// Interval at which the state is published. For a large run it is longer, because publishing takes at most one
/// part in `TIME_SHARE` of the time.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);
const TIME_SHARE: u32 = 20;
/// Names of settings that give a component's last model time. The first of these settings that is set counts.
const END_NAMES: [&str; 4] = ["t_max", "t_end", "total_time", "end_time"];

/// The viewers of the run directory, as their file shows them.
#[derive(Debug, Default)]
pub(super) struct ViewerWatch {
    /// Time of the last check of the file. The next field has the properties that a write to the file changes.
    looked: Option<Instant>,
    stamp: Option<(i64, i64, u64)>,
    until: Option<Instant>,
    /// Time at which the state is published again.
    due: Option<Instant>,
    /// Last model time of each rank, if settings give it.
    ends: OnceCell<Vec<Option<f64>>>,
    pub(super) conduits: OnceCell<Conduits>,
}

impl ViewerWatch {
    /// Returns true if the state is to be published now.
    fn is_due(&mut self, file: &std::path::Path) -> bool {
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now >= looked + POLL_INTERVAL) {
            self.looked = Some(now);
            // The file is opened, because a network file system may show an old state of the file before that.
            let stamp = File::open(file).and_then(|file| file.metadata()).ok();
            let stamp = stamp.map(|found| (found.mtime(), found.mtime_nsec(), found.size()));
            if stamp != self.stamp && stamp.is_some_and(|(_, _, size)| size > 0) {
                self.until = Some(now + ATTENTION);
            }
            self.stamp = stamp;
        }
        self.until.is_some_and(|until| now < until) && self.due.is_none_or(|due| now >= due)
    }
}

impl Runtime<'_> {
    pub(super) fn note_begun(&mut self) {
        let record = &self.record;
        self.journal.note(JournalEvent::Begun {
            version: JOURNAL_VERSION,
            ligament: record.ligament.clone(),
            run: record.run.clone(),
            model: record.model.clone(),
            model_files: record.model_files.clone(),
            instances: self.model.instances.len(),
            host: record.host.clone(),
            pid: record.pid,
            directory: self.directory.path().display().to_string(),
            started: record.started.clone(),
        });
        // Viewers only write to this file and never make it. So the file does not appear again after the end of
        // the run.
        if let Err(error) = self.directory.write(".watched", "") {
            self.add(Level::Warning, "run", &error);
        }
    }

    pub(super) fn note_joined(&mut self, domain: DomainId, gathering: &DomainRoster) {
        if let Some(JoinedDomain { name, join, .. }) = gathering.joined(domain) {
            let (host, cores, pid) = (join.host, join.cores, join.pid);
            let domain = domain.number();
            self.journal.note(JournalEvent::Joined { domain, name, host, cores, pid });
        }
    }

    /// Notes the domain of each instance in the journal.
    pub(super) fn note_placed(&mut self, placement: &[DomainId]) {
        for (domain, one) in (0u32..).zip(self.record.domains.clone()) {
            let all = InstanceId::first(placement.len()).zip(placement);
            let here = all.filter(|(_, at)| at.number() == domain);
            let instances = here.map(|(i, _)| self.name(i)).collect();
            self.journal.note(JournalEvent::Placed { domain, name: one.name, instances });
        }
    }

    /// Handles a report of an agent.
    pub(super) fn take_in(&mut self, report: AgentReport) {
        let event = match &report {
            AgentReport::Registered { rank, pid, language } => Some(JournalEvent::Registered {
                instance: self.manager.names().rank(*rank),
                pid: *pid,
                language: language.clone(),
            }),
            AgentReport::Exited { rank, exit } => Some(JournalEvent::Ended {
                instance: self.manager.names().rank(*rank),
                exit: exit.to_string(),
                clean: exit.is_clean(),
            }),
            AgentReport::Ending(outcome) => Some(JournalEvent::Ending {
                state: outcome.into(),
                reason: match outcome {
                    ligament_agent::RunOutcome::Failed(failure) => {
                        Some(failure_sentence(failure, |rank| self.manager.names().rank(rank)).to_string())
                    }
                    _ => None,
                },
            }),
            // Reports of these kinds have no entry of their own. Important texts among them are logged as
            // warnings, which have entries.
            AgentReport::Said { .. }
            | AgentReport::Remark { .. }
            | AgentReport::Slots { .. }
            | AgentReport::Used { .. }
            | AgentReport::Steerable { .. }
            | AgentReport::Sends { .. }
            | AgentReport::Declares { .. }
            | AgentReport::Checkpoint { .. }
            | AgentReport::Steers { .. } => None,
        };
        match &report {
            AgentReport::Steers { rank, change, answer } if SaveRequests::has(*change) => {
                return self.rank_saves(*rank, *change, answer.clone());
            }
            AgentReport::Steers { rank, change, answer } => {
                return self.rank_steers(*rank, *change, answer.clone());
            }
            AgentReport::Steerable { rank, setting } => return self.rank_declares(*rank, setting),
            AgentReport::Checkpoint { rank, moment, outcome } => {
                return self.checkpoint_outcome(*rank, moment.0, outcome.clone());
            }
            AgentReport::Exited { rank, exit } if exit.is_clean() => self.checkpoints_without(*rank),
            AgentReport::Exited { rank, .. } => self.no_checkpoints_after(*rank),
            AgentReport::Ending(outcome) => {
                if *outcome == ligament_agent::RunOutcome::Done {
                    // All have ended well, although not all of their processes have exited.
                    let ranks: Vec<RankId> = self.ranks.all().collect();
                    ranks.into_iter().for_each(|rank| self.checkpoints_without(rank));
                }
                self.saves_end_soon();
                self.steering_ends();
            }
            AgentReport::Sends { rank, ports } => self.news.sends(*rank, ports.clone()),
            _ => {}
        }
        if let Some(event) = event {
            self.journal.note(event);
        }
        if let Some(deed) = self.manager.report(report) {
            self.carry_out(deed);
        }
    }

    pub(super) fn note_order(&mut self, order: &AgentOrder) {
        let event = match order {
            AgentOrder::Budget { channel, bytes } => JournalEvent::BudgetGrown {
                port: self.manager.names().ends(*channel).map(|((_, port), _)| port).unwrap_or_default(),
                bytes: *bytes,
            },
            AgentOrder::Fail(reason) => JournalEvent::Deadlock { reason: reason.to_string() },
            AgentOrder::Look { .. }
            | AgentOrder::End(_)
            | AgentOrder::Hurry
            | AgentOrder::Release
            | AgentOrder::Steer { .. }
            | AgentOrder::Slots { .. } => return,
        };
        self.journal.note(event);
    }

    /// Notes in the journal that the process of a rank has started.
    pub(super) fn note_started(&mut self, rank: RankId, pid: u32) {
        let known = &mut self.started[rank.index()];
        if *known != Some(pid) {
            *known = Some(pid);
            let instance = self.manager.names().rank(rank);
            self.journal.note(JournalEvent::Started { instance, pid });
        }
    }

    /// Notes the starts of ranks in other domains. The starts follow from the reported states of the ranks.
    pub(super) fn note_started_elsewhere(&mut self, seen: &[Observation]) {
        if self.abroad.is_none() {
            return;
        }
        for (i, one) in RankId::first(seen.len()).zip(seen) {
            if let Some(pid) =
                one.pid.filter(|_| !self.is_here(self.instance_of(i)) && self.started[i.index()].is_none())
            {
                self.note_started(i, pid);
            }
        }
    }

    pub(super) fn note_over(&mut self) {
        let (state, reason) = (self.record.state, self.record.reason.clone());
        let duration = self.record.duration.unwrap_or_else(|| self.since.elapsed().as_secs_f64());
        self.journal.note(JournalEvent::Over { state, reason, duration });
    }

    /// Handles the loss of the terminal. Returns true if the run goes on.
    pub(super) fn terminal_is_gone(&mut self) -> bool {
        if matches!(self.terminal, Terminal::EndsRun) {
            return false;
        }
        self.view = None;
        let left = ligament_launch::leave_terminal(&self.directory.printed());
        self.journal.note(JournalEvent::TerminalGone);
        let name = crate::called(&self.directory);
        self.log.add(
            Level::Info,
            "run",
            &format!(
                "the terminal went away, and the run goes on: \"ligament attach {name}\" shows it, \"ligament \
                 stop {name}\" ends it"
            ),
        );
        if let Err(error) = left {
            self.log.add(Level::Warning, "run", &format!("{}: {error}", self.directory.printed().display()));
        }
        true
    }

    /// Informs the process that started a run without a terminal that the run has begun.
    pub(super) fn tell_that_it_is_up(&mut self) {
        self.journal.note(JournalEvent::Up);
        if let Terminal::None(line) = &self.terminal {
            let _ = std::io::Write::write_all(&mut &**line, b".");
            self.log.show_from(None);
            self.shown = false;
        }
    }

    /// Returns the records of the instances with their present states.
    pub(super) fn records(&self, seen: &[Observation]) -> Vec<InstanceRecord> {
        let mut records = self.manager.records(seen);
        self.say_where(&mut records);
        let ends = self.watched.ends.get_or_init(|| ends_of(self.model));
        for (record, end) in records.iter_mut().zip(ends) {
            record.model_end = *end;
        }
        records
    }

    /// Returns the state of the run as JSON.
    pub(super) fn status_of(
        &self,
        seen: &[Observation],
        memory: MessageMemory,
        channels: Vec<ChannelView>,
    ) -> String {
        let mut record = self.record.clone();
        self.manager.fill(&mut record, seen);
        record.instances = self.records(seen);
        record.conduits = self.conduits(channels);
        record.duration = Some(self.lasts());
        let mut json = serde_json::to_value(&record).unwrap_or_default();
        json["ok"] = true.into();
        json["at"] = UtcTime::now().rfc3339().into();
        json["memory"] = serde_json::json!(self.memory(memory));
        json["links"] = self.links().into();
        json.to_string()
    }

    /// Publishes the state of the run in the run directory, if a viewer watches.
    pub(super) fn tell_watchers(&mut self, view: &RunView<'_>) {
        if !self.watched.is_due(&self.directory.watched()) {
            return;
        }
        let began = Instant::now();
        let seen = self.look_well(view);
        let text = self.status_of(&seen, view.core.memory(), view.channels());
        // An error is ignored here. The viewer notices that no update comes, and other writes of the run report
        // a full disk.
        let _ = self.directory.write("status.json", &text);
        self.watched.due = Some(Instant::now() + PUBLISH_INTERVAL.max(began.elapsed() * TIME_SHARE));
    }
}

/// Returns the model time at which each rank will be done, if settings give it.
fn ends_of(model: &ResolvedModel) -> Vec<Option<f64>> {
    let names: Vec<Reference> = END_NAMES
        .iter()
        .filter_map(|name| Some(Reference::empty().child(&Identifier::new(name).ok()?)))
        .collect();
    let end = |instance: &Reference| {
        names.iter().find_map(|name| match model.settings.get(instance, name)?.1 {
            SettingValue::Int(end) => Some(*end as f64),
            SettingValue::Float(end) => Some(*end),
            _ => None,
        })
    };
    let of_ranks = |one: &ResolvedInstance| repeat_n(end(&one.name), one.ranks.unwrap_or(1) as usize);
    model.instances.iter().flat_map(of_ranks).collect()
}
