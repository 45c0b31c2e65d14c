//! The run's log. Each event is a line with time, level, name of an instance, and text.

use crate::clock::UtcTime;
use crate::line_file::LineFile;
use ligament_catalogue::{fault, Fault};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    Debug = 0,
    Info = 1,
    Warning = 2,
    Error = 3,
    Critical = 4,
}

impl Level {
    /// Returns the level for the number that an instance sends. An unknown number means an error.
    pub fn from_number(number: u8) -> Level {
        match number {
            0 => Level::Debug,
            1 => Level::Info,
            2 => Level::Warning,
            4 => Level::Critical,
            _ => Level::Error,
        }
    }

    /// Returns the word for the level in the log.
    pub fn name(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warning => "WARNING",
            Level::Error => "ERROR",
            Level::Critical => "CRITICAL",
        }
    }
}

/// Maximum size of a log file in bytes, unless the model sets another size.
pub const DEFAULT_LOG_BYTES: u64 = 64 << 20;

/// The log. Its lines may also be shown on the terminal.
#[derive(Debug)]
pub struct RunLog {
    lines: LineFile,
    shown_from: Option<Level>,
}

impl RunLog {
    /// Creates a log of up to `limit` bytes. A full log is renamed to the path of `earlier`, and a new log
    /// begins. Lines of level `shown_from` and higher are also written to standard error.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn create(path: &Path, limit: u64, shown_from: Option<Level>) -> Result<RunLog, Fault> {
        let lines = LineFile::open(path, limit);
        let lines = lines
            .map_err(|error| fault!(LOG_UNWRITABLE, "the log {} cannot be written: {error}", path.display()))?;
        Ok(RunLog { lines, shown_from })
    }

    /// Returns the path of the previous log, which was renamed: `manager.log.1` for `manager.log`.
    pub fn earlier(path: &Path) -> PathBuf {
        LineFile::earlier(path)
    }

    /// Shows lines of this level and higher on standard error. `None` shows no lines.
    pub fn show_from(&mut self, level: Option<Level>) {
        self.shown_from = level;
    }

    /// Adds a line to the log. `who` is the name of an instance, or `run`. The further lines of a text of
    /// several lines are indented.
    pub fn add(&mut self, level: Level, who: &str, text: &str) {
        let line = self.keep(level, who, text);
        if self.shown_from.is_some_and(|from| level >= from) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Adds a line to the file without showing the line, and returns the line.
    pub fn keep(&mut self, level: Level, who: &str, text: &str) -> String {
        let text = text.trim_end().replace('\n', "\n    ");
        let line = format!("{} {:<8} {who}: {text}\n", UtcTime::now().rfc3339(), level.name());
        self.lines.add(&line);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_put_aside_and_no_line_is_lost_or_cut() {
        let directory = std::env::temp_dir().join(format!("ligament-log-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("manager.log");
        let mut log = RunLog::create(&path, 1000, None).unwrap();
        let mut began_anew = 0;
        for i in 0..40 {
            log.add(Level::Info, "run", &format!("line {i}"));
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.len() < 1100 && text.ends_with(&format!("line {i}\n")));
            if text.lines().count() == 1 && i > 0 {
                began_anew += 1;
                let earlier = std::fs::read_to_string(RunLog::earlier(&path)).unwrap();
                assert!(earlier.len() > 1000 && earlier.ends_with(&format!("line {}\n", i - 1)));
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(began_anew >= 1);
    }
}
