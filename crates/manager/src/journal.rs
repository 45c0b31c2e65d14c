//! The run's journal: everything that the manager has learnt and decided, and every request from outside.
//! Each line is one JSON object. `docs/reference/journal.md` describes the format.

use crate::clock::UtcTime;
use crate::line_file::LineFile;
use crate::record::{list_some, RunState, SteeringRecord};
use crate::summary::{format_bytes, format_seconds};
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Version of the journal's format.
pub const JOURNAL_VERSION: u32 = 1;
/// Maximum size of a journal file, in bytes. A full file is renamed, and a new file begins. So the journal
/// takes at most twice this size.
const MAX_JOURNAL_BYTES: u64 = 16 << 20;
/// Size of the last part of a journal that is read to find the last entries, in bytes.
const MAX_TAIL_BYTES: u64 = 64 << 10;
/// Maximum number of names that the description of an entry lists.
const MAX_NAMED_ITEMS: usize = 4;

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum JournalEvent {
    /// The run begins. This is the first entry of every journal file, also of a file that follows a full
    /// file.
    Begun {
        version: u32,
        ligament: String,
        run: String,
        model: String,
        model_files: Vec<String>,
        instances: usize,
        host: String,
        pid: u32,
        directory: String,
        started: String,
    },
    /// The run waits at these addresses for the agents of this number of other domains.
    Awaits { domains: usize, addresses: Vec<String> },
    /// A domain has joined.
    Joined { domain: u32, name: String, host: String, cores: u32, pid: u32 },
    /// These instances will run in this domain.
    Placed { domain: u32, name: String, instances: Vec<String> },
    /// The run is ready: instances can register, and clients can send requests.
    Up,
    /// The process of an instance was started.
    Started { instance: String, pid: u32 },
    /// An instance has registered with its agent.
    Registered { instance: String, pid: u32, language: String },
    /// The process of an instance has ended. `exit` describes the end.
    Ended { instance: String, exit: String, clean: bool },
    /// The budget of a conduit grows to this number of bytes. `port` is the conduit's sending end.
    BudgetGrown { port: String, bytes: u64 },
    /// The run is deadlocked.
    Deadlock { reason: String },
    /// The log has a new entry whose level is a warning or worse. `who` is the name of an instance, `run`
    /// or `agent`.
    Warning { who: String, text: String },
    /// A request from outside: a client's `stop` or `join`, or a signal such as `SIGINT`.
    Order {
        order: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        instance: Option<String>,
    },
    /// A change at a model time was requested, was agreed on, was refused, or is in force.
    Steering(SteeringRecord),
    /// The terminal of the run was closed. The run continues.
    TerminalGone,
    /// The run begins to end with this state. `reason` is the reason of a failure.
    Ending { state: RunState, reason: Option<String> },
    /// The run has ended and its record is written. `duration` is in seconds.
    Over { state: RunState, reason: Option<String>, duration: f64 },
    /// The manager has vanished, as its guard reports.
    ManagerLost { reason: String },
    /// An event that only a later version of Ligament knows.
    #[serde(other)]
    Unknown,
}

impl JournalEvent {
    /// Returns a description of the event, as a sentence without its full stop.
    pub fn describe(&self) -> String {
        match self {
            JournalEvent::Begun { model, instances, host, .. } => {
                format!("the run of {model} with {instances} instances began on {host}")
            }
            JournalEvent::Awaits { domains, addresses } => {
                format!(
                    "the run waits for {domains} other domains, at {}",
                    list_some(addresses, MAX_NAMED_ITEMS)
                )
            }
            JournalEvent::Joined { domain, name, cores, .. } => {
                format!("domain {domain} ({name}) has joined with {cores} cores")
            }
            JournalEvent::Placed { domain, name, instances } => {
                format!("domain {domain} ({name}) has {}", list_some(instances, MAX_NAMED_ITEMS))
            }
            JournalEvent::Up => "the run is up".to_owned(),
            JournalEvent::Started { instance, pid } => format!("{instance} was started (process {pid})"),
            JournalEvent::Registered { instance, language, pid } => {
                format!("{instance} registered ({language}, process {pid})")
            }
            JournalEvent::Ended { instance, exit, .. } => format!("{instance} ended: {exit}"),
            JournalEvent::BudgetGrown { port, bytes } => {
                format!("the budget of {port} grew to {}", format_bytes(*bytes as f64))
            }
            JournalEvent::Deadlock { reason } => reason.clone(),
            JournalEvent::Warning { who, text } => format!("{who}: {text}"),
            JournalEvent::Order { order, instance: None } => format!("the run was told: {order}"),
            JournalEvent::Order { order, instance: Some(instance) } => {
                format!("the run was told: {order} {instance}")
            }
            JournalEvent::Steering(change) => change.describe(),
            JournalEvent::TerminalGone => "the terminal went away".to_owned(),
            JournalEvent::Ending { state, reason } => match reason {
                Some(reason) => format!("the run began to end ({}): {reason}", state.name()),
                None => format!("the run began to end ({})", state.name()),
            },
            JournalEvent::Over { state, duration, .. } => {
                format!("the run was {} after {}", state.name(), format_seconds(*duration))
            }
            JournalEvent::ManagerLost { reason } => reason.clone(),
            JournalEvent::Unknown => "something that a later version of Ligament knows".to_owned(),
        }
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Time of the event, in RFC 3339, UTC.
    pub at: String,
    /// Time since the run began, in s. Changes of the machine's clock do not affect this time.
    pub after: f64,
    #[serde(flatten)]
    pub event: JournalEvent,
}

impl JournalEntry {
    /// Parses a line. Returns `None` if the line is not a complete entry.
    pub fn of_line(line: &str) -> Option<JournalEntry> {
        serde_json::from_str(line).ok()
    }
}

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    lines: LineFile,
    began: Instant,
}

impl Journal {
    /// Opens the journal of a run that began at the time `began`.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn open(path: &Path, began: Instant) -> Result<Journal, Fault> {
        Journal::with_limit(path, began, MAX_JOURNAL_BYTES)
    }

    fn with_limit(path: &Path, began: Instant, limit: u64) -> Result<Journal, Fault> {
        let lines = LineFile::open(path, limit);
        let lines = lines.map_err(|error| {
            fault!(LOG_UNWRITABLE, "the journal {} cannot be written: {error}", path.display())
        })?;
        Ok(Journal { lines, began })
    }

    /// Adds an entry to the journal.
    pub fn note(&mut self, event: JournalEvent) {
        let line = self.line(&event);
        match event {
            JournalEvent::Begun { .. } => self.lines.begin_with(line),
            _ => self.lines.add(&line),
        }
    }

    fn line(&self, event: &JournalEvent) -> String {
        let after = (self.began.elapsed().as_secs_f64() * 1e6).round() / 1e6;
        let entry = JournalEntry { at: UtcTime::now().rfc3339(), after, event: event.clone() };
        serde_json::to_string(&entry).unwrap_or_default() + "\n"
    }

    /// Returns the path of the previous journal file, which was renamed.
    pub fn earlier(path: &Path) -> PathBuf {
        LineFile::earlier(path)
    }

    /// Returns the last entries of a journal, the oldest first. Only the last part of the file is read.
    /// Incomplete entries are left out.
    pub fn last(path: &Path) -> Vec<JournalEntry> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(MAX_TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().filter_map(JournalEntry::of_line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn begun() -> JournalEvent {
        JournalEvent::Begun {
            version: JOURNAL_VERSION,
            ligament: "0".into(),
            run: "r".into(),
            model: "m".into(),
            model_files: Vec::new(),
            instances: 2,
            host: "h".into(),
            pid: 1,
            directory: "/".into(),
            started: String::new(),
        }
    }

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-journal-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(Journal::earlier(&path));
        path
    }

    fn warning(i: usize) -> JournalEvent {
        JournalEvent::Warning { who: "run".into(), text: format!("this is warning {i}\nof two lines") }
    }

    #[test]
    fn what_was_noted_is_read_again_with_its_times() {
        let path = place("again");
        let mut journal = Journal::open(&path, Instant::now()).unwrap();
        let all = [
            begun(),
            JournalEvent::Up,
            JournalEvent::Order { order: "stop".into(), instance: None },
            JournalEvent::Over { state: RunState::Stopped, reason: None, duration: 1.5 },
        ];
        all.iter().for_each(|event| journal.note(event.clone()));
        let read = Journal::last(&path);
        assert_eq!(read.iter().map(|entry| entry.event.clone()).collect::<Vec<_>>(), all);
        assert!(read.windows(2).all(|two| two[0].after <= two[1].after && two[0].at <= two[1].at));
        assert!(read.iter().all(|entry| entry.at.ends_with('Z') && !entry.event.describe().is_empty()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn half_a_line_spoils_neither_what_is_before_it_nor_what_is_added_later() {
        let path = place("half");
        let mut journal = Journal::open(&path, Instant::now()).unwrap();
        journal.note(begun());
        journal.note(warning(1));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(&text.as_bytes()[..30])
            .unwrap();
        let whole = |path: &Path| Journal::last(path).into_iter().map(|entry| entry.event).collect::<Vec<_>>();
        assert_eq!(whole(&path), [begun(), warning(1)]);
        let mut after = Journal::open(&path, Instant::now()).unwrap();
        after.note(JournalEvent::ManagerLost { reason: "it was killed".into() });
        assert_eq!(
            whole(&path),
            [begun(), warning(1), JournalEvent::ManagerLost { reason: "it was killed".into() }]
        );
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_full_journal_begins_anew_with_what_run_it_is_of_and_loses_nothing_at_once() {
        let path = place("full");
        let mut journal = Journal::with_limit(&path, Instant::now(), 2000).unwrap();
        journal.note(begun());
        let mut began_anew = 0;
        for i in 0..60 {
            journal.note(warning(i));
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.len() < 2600);
            let entries: Vec<JournalEntry> =
                text.lines().map(|line| JournalEntry::of_line(line).unwrap()).collect();
            assert_eq!((&entries[0].event, &entries[entries.len() - 1].event), (&begun(), &warning(i)));
            if entries.len() == 2 && i > 0 {
                began_anew += 1;
                let earlier = Journal::last(&Journal::earlier(&path));
                assert_eq!(earlier[earlier.len() - 1].event, warning(i - 1));
            }
        }
        assert!(began_anew >= 2);
        std::fs::remove_file(Journal::earlier(&path)).unwrap();
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_a_later_version_writes_is_an_entry_too() {
        let entry = JournalEntry::of_line(
            r#"{"at":"2026-11-21T00:00:00.000Z","after":1.0,"event":"teleported","to":[1]}"#,
        );
        assert_eq!(entry.unwrap().event, JournalEvent::Unknown);
    }
}
