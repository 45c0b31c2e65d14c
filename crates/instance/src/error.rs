//! What can go wrong in an instance's calls: one enum, with messages that say what, where, and what to do.

use crate::turn::Overlap;
use ligament_catalogue::with_code;
use ligament_shm::ShmError;
use std::fmt;

/// An error of an instance's call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There is no run to take part in, or it refused this instance.
    Registration(String),
    /// The code used the library in a way that cannot work: an unknown port, a slot that is not there, a call
    /// at the wrong moment.
    Usage(String),
    /// The instance is in the middle of another call, of another thread or below this one.
    InUse(Overlap),
    /// A message is not what the caller asked for (another type, another shape).
    Unexpected(String),
    /// The conduit has ended: nothing more will come on this port.
    Closed(String),
    /// A setting is not set.
    SettingUnset(String),
    /// A setting is of another type.
    SettingType(String),
    /// Nothing came within the time allowed.
    TimedOut(String),
    /// A signal arrived while waiting.
    Interrupted,
    /// The message cannot be stored: not enough memory in the run.
    OutOfMemory(String),
    /// The run is ending, for the reason given.
    RunEnds(String),
    /// The system, or data from another process, failed us.
    System(String),
}

impl Error {
    /// Adds to a transport error what was being done.
    pub(crate) fn during(error: ShmError, what: impl FnOnce() -> String) -> Error {
        match error {
            ShmError::OutOfMemory { .. } => Error::OutOfMemory(format!("{}: {error}", what())),
            ShmError::TooLarge { .. } => Error::Usage(format!("{}: {error}", what())),
            ShmError::TimedOut => Error::TimedOut(format!("{}: {error}", what())),
            ShmError::Interrupted => Error::Interrupted,
            ShmError::NotHere => Error::Usage(format!("{}: {error}", what())),
            ShmError::RunEnds(_) | ShmError::AgentGone => Error::RunEnds(format!("{}: {error}", what())),
            ShmError::System { .. } | ShmError::Malformed(_) => Error::System(format!("{}: {error}", what())),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Registration(text)
            | Error::Usage(text)
            | Error::Unexpected(text)
            | Error::SettingUnset(text)
            | Error::SettingType(text)
            | Error::OutOfMemory(text)
            | Error::RunEnds(text)
            | Error::System(text) => f.write_str(&with_code(text)),
            // Many codes go on after these: nothing is looked up for them.
            Error::Closed(text) | Error::TimedOut(text) => f.write_str(text),
            Error::InUse(overlap) => overlap.fmt(f),
            Error::Interrupted => f.write_str("interrupted by a signal"),
        }
    }
}

impl std::error::Error for Error {}
