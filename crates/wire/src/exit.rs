//! The end of a process: its status or signal, and texts about it.

use minicbor::{Decode, Encode};
use std::fmt;

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Exit {
    /// The process exited with this status.
    #[n(0)]
    Status(#[n(0)] i32),
    /// A signal with this number ended the process.
    #[n(1)]
    Signal(#[n(0)] i32),
    /// The process was not a child of the reporting process, so its status is unknown.
    #[n(2)]
    Unknown,
}

impl Exit {
    /// Returns true if a signal that requests an end (SIGHUP, SIGINT, SIGTERM) ended the process. This
    /// includes a status with which a shell reports such a signal (128 + signal).
    pub fn was_asked_for(self) -> bool {
        let signal = match self {
            Exit::Signal(signal) => signal,
            Exit::Status(status) => status - 128,
            Exit::Unknown => return false,
        };
        matches!(signal, 1 | 2 | 15)
    }

    /// Returns true if the end is no failure: the status is 0 or unknown.
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

/// Returns the name of a signal, and its usual meaning for a simulation.
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
