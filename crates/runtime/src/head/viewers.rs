//! The files for viewers of a run while it goes on: its journal, and, as long as somebody watches it, how it
//! stands now.

use super::{Runtime, Terminal};
use ligament_agent::{failure_sentence, AgentOrder, AgentReport, ChannelView, RunView};
use ligament_manager::domains::{DomainRoster, JoinedDomain};
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

/// How often somebody looks whether anybody watches.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// For how long who has shown that they watch is taken to watch on.
const ATTENTION: Duration = Duration::from_secs(10);
/// How often who watches is told. Of that time no more than a part, this many-th, goes into telling.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);
const TIME_SHARE: u32 = 20;
/// Settings that tell a component's last model time, the first that is there.
const END_NAMES: [&str; 4] = ["t_max", "t_end", "total_time", "end_time"];

/// Viewers, as far as their file tells.
#[derive(Debug, Default)]
pub(super) struct ViewerWatch {
    /// When the file was looked at, and what of it changes when somebody writes there.
    looked: Option<Instant>,
    stamp: Option<(i64, i64, u64)>,
    until: Option<Instant>,
    /// When the next telling is due.
    due: Option<Instant>,
    /// The last model time of each instance.
    ends: OnceCell<Vec<Option<f64>>>,
    pub(super) conduits: OnceCell<Conduits>,
}

impl ViewerWatch {
    /// Returns true if somebody is to be told now.
    fn is_due(&mut self, file: &std::path::Path) -> bool {
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now >= looked + POLL_INTERVAL) {
            self.looked = Some(now);
            // Opened, since a network's file system may say of a file what it was a while ago until it is.
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
        // A viewer writes there; made now, because who writes may not make it when the run is over.
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

    /// Of each domain, which instances are to run there.
    pub(super) fn note_placed(&mut self, placement: &[DomainId]) {
        for (domain, one) in (0u32..).zip(self.record.domains.clone()) {
            let all = InstanceId::first(placement.len()).zip(placement);
            let here = all.filter(|(_, at)| at.number() == domain);
            let instances = here.map(|(i, _)| self.name(i)).collect();
            self.journal.note(JournalEvent::Placed { domain, name: one.name, instances });
        }
    }

    /// Takes in what an agent reports.
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
            // The reports of these that are worth keeping come as warnings.
            AgentReport::Said { .. }
            | AgentReport::Remark { .. }
            | AgentReport::Slots { .. }
            | AgentReport::Used { .. }
            | AgentReport::Steerable { .. }
            | AgentReport::Sends { .. }
            | AgentReport::Declares { .. }
            | AgentReport::Steers { .. } => None,
        };
        match &report {
            AgentReport::Steers { rank, change, answer } => {
                return self.rank_steers(*rank, *change, answer.clone());
            }
            AgentReport::Steerable { rank, setting } => return self.rank_declares(*rank, setting),
            AgentReport::Ending(_) => self.steering_ends(),
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

    /// Notes whose processes run that were not there before.
    pub(super) fn note_started(&mut self, rank: RankId, pid: u32) {
        let known = &mut self.started[rank.index()];
        if *known != Some(pid) {
            *known = Some(pid);
            let instance = self.manager.names().rank(rank);
            self.journal.note(JournalEvent::Started { instance, pid });
        }
    }

    /// The same of instances elsewhere, which tell only how they stand.
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

    /// The terminal went away. Gives whether the run goes on.
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

    /// Of a run that was started without a terminal: who started it may go.
    pub(super) fn tell_that_it_is_up(&mut self) {
        self.journal.note(JournalEvent::Up);
        if let Terminal::None(line) = &self.terminal {
            let _ = std::io::Write::write_all(&mut &**line, b".");
            self.log.show_from(None);
            self.shown = false;
        }
    }

    /// The instances as they stand.
    pub(super) fn records(&self, seen: &[Observation]) -> Vec<InstanceRecord> {
        let mut records = self.manager.records(seen);
        self.say_where(&mut records);
        let ends = self.watched.ends.get_or_init(|| ends_of(self.model));
        for (record, end) in records.iter_mut().zip(ends) {
            record.model_end = *end;
        }
        records
    }

    /// How the run stands, for programs.
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

    /// Writes down how the run stands, if somebody watches.
    pub(super) fn tell_watchers(&mut self, view: &RunView<'_>) {
        if !self.watched.is_due(&self.directory.watched()) {
            return;
        }
        let began = Instant::now();
        let seen = self.look_well(view);
        let text = self.status_of(&seen, view.core.memory(), view.channels());
        // A viewer sees that nothing new comes; the run has its own ways to say that its disk is full.
        let _ = self.directory.write("status.json", &text);
        self.watched.due = Some(Instant::now() + PUBLISH_INTERVAL.max(began.elapsed() * TIME_SHARE));
    }
}

/// The model time at which each rank will be done, as far as settings tell.
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
