//! The end of a process.

use minicbor::{Decode, Encode};
use std::fmt;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Exit {
    /// It exited with this status.
    #[n(0)]
    Status(#[n(0)] i32),
    /// A signal ended it.
    #[n(1)]
    Signal(#[n(0)] i32),
    /// It was not a child of the reporting process, so its status is unknown.
    #[n(2)]
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

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Status(status) => write!(f, "exit status {status}"),
            Exit::Signal(signal) => write!(f, "signal {}", describe_signal(*signal)),
            Exit::Unknown => write!(f, "ended"),
        }
    }
}

/// A signal's name, and its usual meaning for a simulation.
pub fn describe_signal(number: i32) -> String {
    let (name, meaning) = match number {
        1 => ("SIGHUP", "its terminal went away"),
        2 => ("SIGINT", "interrupted"),
        4 => ("SIGILL", "an instruction that this processor does not have; built for another machine?"),
        6 => ("SIGABRT", "it aborted itself, by an assertion or an uncaught exception"),
        7 => ("SIGBUS", "access to memory that is not there"),
        8 => ("SIGFPE", "a division by zero or the like"),
        9 => ("SIGKILL", "killed from outside, perhaps because memory ran out"),
        11 => ("SIGSEGV", "access to memory that is not its own"),
        13 => ("SIGPIPE", "it wrote to a pipe that nobody reads"),
        15 => ("SIGTERM", "it was asked to end"),
        24 => ("SIGXCPU", "its limit of processor time was reached"),
        25 => ("SIGXFSZ", "its limit of file size was reached"),
        31 => ("SIGSYS", "a system call that is forbidden here"),
        _ => return format!("signal {number}"),
    };
    format!("{name} ({meaning})")
}
