//! The run's log: one line for each thing that happened, with time, level, instance and text.

use crate::clock::UtcTime;
use crate::line_file::LineFile;
use ligament_catalogue::{fault, Fault};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How bad it is.
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
    /// From the number that an instance sends; unknown ones are errors.
    pub fn from_number(number: u8) -> Level {
        match number {
            0 => Level::Debug,
            1 => Level::Info,
            2 => Level::Warning,
            4 => Level::Critical,
            _ => Level::Error,
        }
    }

    /// The word in the log.
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

/// How large a log may get if nobody says, bytes.
pub const DEFAULT_LOG_BYTES: u64 = 64 << 20;

/// The log, and whether it is shown as well.
#[derive(Debug)]
pub struct RunLog {
    lines: LineFile,
    shown_from: Option<Level>,
}

impl RunLog {
    /// Begins a log that takes `limit` bytes; then it is put aside, as `earlier` names it, and begins anew. Lines from
    /// the level `shown_from` on also go to standard error.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn create(path: &Path, limit: u64, shown_from: Option<Level>) -> Result<RunLog, Fault> {
        let lines = LineFile::open(path, limit);
        let lines = lines
            .map_err(|error| fault!(LOG_UNWRITABLE, "the log {} cannot be written: {error}", path.display()))?;
        Ok(RunLog { lines, shown_from })
    }

    /// Where the log before the present one is: `manager.log.1` for `manager.log`.
    pub fn earlier(path: &Path) -> PathBuf {
        LineFile::earlier(path)
    }

    /// Shows lines from this level on, and none without one.
    pub fn show_from(&mut self, level: Option<Level>) {
        self.shown_from = level;
    }

    /// Adds a line; `who` is an instance, or `run`. Lines of a text after the first are indented.
    pub fn add(&mut self, level: Level, who: &str, text: &str) {
        let line = self.keep(level, who, text);
        if self.shown_from.is_some_and(|from| level >= from) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Adds a line to the file alone, and gives it back.
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
