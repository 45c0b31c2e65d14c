//! How an instance ended, and how a run did.

use ligament_catalogue::{hinted, Fault};
use ligament_launch::terminal_text;
use ligament_wire::RankId;
use std::fmt;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It was not our child, so nobody told.
    Unknown,
}

impl Exit {
    /// Whether it ended because somebody asked it to: SIGHUP, SIGINT, SIGTERM, also as shells tell of them.
    pub fn was_asked_for(self) -> bool {
        let signal = match self {
            Exit::Signal(signal) => signal,
            Exit::Status(status) => status - 128,
            Exit::Unknown => return false,
        };
        matches!(signal, 1 | 2 | 15)
    }

    /// Whether nothing speaks against it.
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

/// Why a run failed: the first thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// Which rank of which instance it was, if one.
    pub rank: Option<RankId>,
    /// What happened, as a sentence without its subject: `ended with exit status 3`.
    pub what: Fault,
    /// What the instance itself said (`error_shutdown`).
    pub said: Option<String>,
    /// How its process ended, once it has.
    pub exit: Option<Exit>,
}

impl RunFailure {
    /// It as a sentence; `name` names a rank. What the instance said may name a code, which says more than ours.
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

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every instance ended cleanly.
    Done,
    /// Something went wrong.
    Failed(RunFailure),
    /// Somebody asked for it (`ligament stop`).
    Stopped,
    /// By a signal to the run itself.
    Interrupted,
}

impl RunOutcome {
    /// It failed, and not because of an instance; why.
    pub fn failed(what: Fault) -> RunOutcome {
        RunOutcome::Failed(RunFailure { rank: None, what, said: None, exit: None })
    }
}
