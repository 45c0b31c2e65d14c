//! The run's log: one line for each thing that happened, with time, level, instance and text.

use crate::clock::Moment;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

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

/// The log, and whether it is shown as well.
#[derive(Debug)]
pub struct RunLog {
    file: File,
    shown_from: Option<Level>,
}

impl RunLog {
    /// Begins a log. Lines from the level `shown_from` on also go to standard error.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn create(path: &Path, shown_from: Option<Level>) -> Result<RunLog, String> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("the log {} cannot be written: {error}", path.display()))?;
        Ok(RunLog { file, shown_from })
    }

    /// Adds a line; `who` is an instance, or `run`. Lines of a text after the first are indented.
    pub fn add(&mut self, level: Level, who: &str, text: &str) {
        let text = text.trim_end().replace('\n', "\n    ");
        let line = format!("{} {:<8} {who}: {text}\n", Moment::now().rfc3339(), level.name());
        // A full disk must not end the run: the log is for people.
        let _ = self.file.write_all(line.as_bytes());
        if self.shown_from.is_some_and(|from| level >= from) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}
