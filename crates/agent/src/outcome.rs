//! The end of a process, and the outcome of a run.

use ligament_catalogue::{hinted, Fault};
use ligament_launch::terminal_text;
use ligament_wire::RankId;
use std::fmt;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this status.
    Status(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was not a child of this process, so its status is unknown.
    Unknown,
}

impl Exit {
    /// True if a signal asked it to end (SIGHUP, SIGINT, SIGTERM), also if a shell reports that as a status.
    pub fn was_asked_for(self) -> bool {
        let signal = match self {
            Exit::Signal(signal) => signal,
            Exit::Status(status) => status - 128,
            Exit::Unknown => return false,
        };
        matches!(signal, 1 | 2 | 15)
    }

    /// True if the end is no failure: status 0, or unknown.
    pub fn is_clean(self) -> bool {
        matches!(self, Exit::Status(0) | Exit::Unknown)
    }
}

impl From<ligament_launch::ProcessEnd> for Exit {
    fn from(ended: ligament_launch::ProcessEnd) -> Exit {
        match ended {
            ligament_launch::ProcessEnd::Status(status) => Exit::Status(status),
            ligament_launch::ProcessEnd::Signal(signal) => Exit::Signal(signal),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Status(status) => write!(f, "exit status {status}"),
            Exit::Signal(signal) => write!(f, "signal {}", ligament_launch::describe_signal(*signal)),
            Exit::Unknown => write!(f, "ended"),
        }
    }
}

/// The first failure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// The rank that failed, if one did.
    pub rank: Option<RankId>,
    /// The failure as a sentence without its subject: `ended with exit status 3`.
    pub what: Fault,
    /// The message of the instance itself (`error_shutdown`).
    pub said: Option<String>,
    /// The end of its process, once known.
    pub exit: Option<Exit>,
}

impl RunFailure {
    /// The failure as a whole sentence; `name` names a rank. If the instance's own message has an error code,
    /// that code takes precedence, because it is more specific.
    pub fn sentence(&self, name: impl Fn(RankId) -> String) -> Fault {
        let mut text = match self.rank {
            Some(rank) => format!("{} {}", name(rank), self.what),
            None => self.what.to_string(),
        };
        if let Some(said) = &self.said {
            text.push_str(": ");
            text.push_str(&terminal_text::clean(said));
        }
        let code = self.said.as_deref().and_then(hinted);
        Fault::new(code.unwrap_or(self.what.code()), text)
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every instance ended cleanly.
    Done,
    /// The run failed.
    Failed(RunFailure),
    /// A client ended it (`ligament stop`).
    Stopped,
    /// A signal to the run itself ended it.
    Interrupted,
}

impl RunOutcome {
    /// A failure that no instance caused.
    pub fn failed(what: Fault) -> RunOutcome {
        RunOutcome::Failed(RunFailure { rank: None, what, said: None, exit: None })
    }
}
