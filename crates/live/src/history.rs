//! The changes of a run, from its journal. Each reading continues at the end of the previous one.

use ligament_manager::{Journal, JournalEntry, JournalEvent, RunDirectory, SteeringRecord};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Maximum number of entries that are stored.
const MAX_ENTRIES: usize = 500;
/// Maximum number of bytes that are read at once. A journal is renamed before it becomes larger.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// The journal's entries about steering.
#[derive(Default)]
pub struct History {
    /// The file that was read last, and the offset up to which it was read.
    file: u64,
    from: u64,
    entries: VecDeque<Value>,
}

impl History {
    /// Reads the new entries, and returns all entries, the oldest first.
    pub fn of(&mut self, run: &RunDirectory) -> Value {
        let path = run.journal();
        let earlier = Journal::earlier(&path);
        let inode = |path: &Path| std::fs::metadata(path).map(|found| found.ino());
        // The file that was read last may have been renamed since then, and have more entries at its end.
        if inode(&path).is_ok_and(|now| now != self.file) && inode(&earlier).is_ok() {
            self.read_on(&earlier);
        }
        self.read_on(&path);
        Value::Array(self.entries.iter().cloned().collect())
    }

    fn read_on(&mut self, path: &Path) {
        let mut read = || -> std::io::Result<(u64, u64, Vec<u8>)> {
            let mut file = plain_file(path)?;
            let found = file.metadata()?;
            if found.ino() == self.file && found.len() < self.from {
                // The file was cut, so all its entries are read again.
                self.entries.clear();
            }
            let from = if found.ino() == self.file && found.len() >= self.from { self.from } else { 0 };
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(MAX_JOURNAL_BYTES).read_to_end(&mut bytes)?;
            Ok((found.ino(), from, bytes))
        };
        let Ok((file, from, bytes)) = read() else { return };
        // The last line is skipped if it has no end, because it is still being written.
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        (self.file, self.from) = (file, from + whole as u64);
        for line in String::from_utf8_lossy(&bytes[..whole]).lines() {
            // A long journal has few lines of this kind, so the others are skipped without being parsed.
            if !line.contains("\"steering\"") && !line.contains("\"order\"") {
                continue;
            }
            if let Some(told) = JournalEntry::of_line(line).and_then(told) {
                self.entries.push_back(told);
            }
        }
        self.entries.drain(..self.entries.len().saturating_sub(MAX_ENTRIES));
    }
}

/// Opens a regular file of a run. Without the flag, the open would block if the path were a pipe.
pub(crate) fn plain_file(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no file"));
    }
    Ok(file)
}

/// An entry of the journal about steering: a change, or another order.
#[derive(Debug, Serialize)]
pub struct HistoryEntry {
    /// RFC 3339, UTC.
    pub at: String,
    /// Time since the run began, s.
    pub after: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SteeringRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

fn told(entry: JournalEntry) -> Option<Value> {
    let JournalEntry { at, after, event } = entry;
    let (change, order) = match event {
        JournalEvent::Steering(change) => (Some(change), None),
        JournalEvent::Order { order, instance: None } => (None, Some(order)),
        _ => return None,
    };
    serde_json::to_value(HistoryEntry { at, after, change, order }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_manager::ChangeState;
    use serde_json::json;
    use std::time::Instant;

    #[test]
    fn a_history_is_read_on_and_has_nothing_twice() {
        let place = std::env::temp_dir().join(format!("ligament-history-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let run = RunDirectory::open(&place);
        let mut history = History::default();
        assert_eq!(history.of(&run), json!([]));
        let mut journal = Journal::open(&run.journal(), Instant::now()).unwrap();
        let state = |state| JournalEvent::Steering(SteeringRecord { change: 1, state, ..Default::default() });
        journal.note(state(ChangeState::Asked));
        journal.note(JournalEvent::Up);
        assert_eq!(history.of(&run).as_array().unwrap().len(), 1);
        journal.note(state(ChangeState::Agreed));
        journal.note(JournalEvent::Order { order: "resume".into(), instance: None });
        journal.note(JournalEvent::Order { order: "join".into(), instance: Some("macro".into()) });
        let found = history.of(&run);
        assert_eq!(found.as_array().unwrap().len(), 3);
        assert_eq!((&found[1]["change"]["state"], &found[2]["order"]), (&json!("agreed"), &json!("resume")));
        // The manager renames a journal that is full.
        std::fs::rename(run.journal(), Journal::earlier(&run.journal())).unwrap();
        let mut journal = Journal::open(&run.journal(), Instant::now()).unwrap();
        journal.note(state(ChangeState::InForce));
        assert_eq!(history.of(&run).as_array().unwrap().len(), 4);
        assert_eq!(History::default().of(&run).as_array().unwrap().len(), 4);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
