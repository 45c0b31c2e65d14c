//! The run's log: one line per event, with time, level, instance and text.

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
    /// The level for the number that an instance sends. Unknown numbers are errors.
    pub fn from_number(number: u8) -> Level {
        match number {
            0 => Level::Debug,
            1 => Level::Info,
            2 => Level::Warning,
            4 => Level::Critical,
            _ => Level::Error,
        }
    }

    /// The word for the level in the log.
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

/// Maximum size of a log, unless the model sets another.
pub const DEFAULT_LOG_BYTES: u64 = 64 << 20;

/// The log, which may be shown on the terminal too.
#[derive(Debug)]
pub struct RunLog {
    lines: LineFile,
    shown_from: Option<Level>,
}

impl RunLog {
    /// Begins a log of up to `limit` bytes. Then it is renamed to the path of `earlier`, and a new one begins.
    /// Lines from level `shown_from` on also go to standard error.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn create(path: &Path, limit: u64, shown_from: Option<Level>) -> Result<RunLog, Fault> {
        let lines = LineFile::open(path, limit);
        let lines = lines
            .map_err(|error| fault!(LOG_UNWRITABLE, "the log {} cannot be written: {error}", path.display()))?;
        Ok(RunLog { lines, shown_from })
    }

    /// The path of the previous, renamed log: `manager.log.1` for `manager.log`.
    pub fn earlier(path: &Path) -> PathBuf {
        LineFile::earlier(path)
    }

    /// Shows lines from this level on; `None`: none.
    pub fn show_from(&mut self, level: Option<Level>) {
        self.shown_from = level;
    }

    /// Adds a line. `who` is an instance, or `run`. Further lines of a text are indented.
    pub fn add(&mut self, level: Level, who: &str, text: &str) {
        let line = self.keep(level, who, text);
        if self.shown_from.is_some_and(|from| level >= from) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Adds a line to the file only, and returns it.
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
