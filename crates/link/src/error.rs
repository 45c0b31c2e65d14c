//! Errors of a path.

use ligament_catalogue::{errors, Code, Coded, Fault};
use std::fmt;

/// An error of a call: a text, and a kind by which a program can decide what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    kind: PathErrorKind,
    fault: Fault,
    /// Length of a message that did not fit into the caller's memory, bytes.
    needed: Option<u64>,
}

/// The kind of an error. A program can decide by it what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathErrorKind {
    /// The arguments of the call make no sense.
    Usage,
    /// The next message is too long for the caller's memory. It can still be received into more memory.
    Unexpected,
    /// The other end has closed the path, and everything that it sent has been received.
    Closed,
    /// The call did not finish within the time allowed. It can be repeated, and may then succeed.
    TimedOut,
    /// There is no memory for a message.
    OutOfMemory,
    /// The path is lost: it was without a connection for longer than its patience, or the other end sent
    /// invalid data.
    System,
}

errors! {
    /// The errors of calls that the path does not carry out.
    pub enum Misuse {
        /// The address has no port, or is no address.
        Address { text: String, why: String } => PATH_ADDRESS,
            "\"{text}\" is no address of a path: {why}; write HOST:PORT, or :PORT to listen on all interfaces";
        /// The address for `meet` has port 0, which is another port at each end.
        AnyPort { text: String } => PATH_ADDRESS,
            "two ends cannot meet at \"{text}\": port 0 is any that is free, another one for each; name the \
             port";
        /// There is neither an address nor a relay.
        Nowhere => PATH_ADDRESS, "there is no address to open a path to, and no relay";
        /// The number of streams is out of range.
        Streams { streams: u16 } => PATH_MISUSED, "a path has 1 to 256 streams, not {streams}";
        /// The path is unencrypted and goes over a relay.
        Readable => PATH_MISUSED, "an unencrypted path cannot go through a relay; enable encryption or leave \
                                   out the relay";
        /// The next message is longer than the caller's memory.
        TooLong { length: u64, room: u64 } => PATH_MISUSED,
            "the next message has {length} bytes, and there is room for {room}; it stays until it is received";
        /// The request has ended, or belongs to another path.
        NoRequest => PATH_MISUSED, "there is no such request: it is over, or it belongs to another path";
        /// The request is a send, whose bytes may be under way.
        Sends => PATH_MISUSED, "a message that is being sent cannot be cancelled; wait until it has arrived, \
                                or free the path";
        /// The process is a child of the process that made the path.
        Forked => PATH_MISUSED,
            "this process is a fork of the one that made the path, whose path it is; open another one after \
             fork()";
        /// The other end has closed the path.
        Closed => PATH_CLOSED, "the other end has closed the path";
        /// This end has closed the path.
        ClosedHere => PATH_CLOSED, "this end of the path is closed";
        /// The call did not finish within the time allowed.
        TimedOut { what: &'static str, seconds: f64 } => PATH_TIMED_OUT, "{what} within {seconds} s";
    }
}

impl PathError {
    /// Returns the kind of the error.
    pub fn kind(&self) -> PathErrorKind {
        self.kind
    }

    /// Returns the code of the error, under which the documentation explains it.
    pub fn code(&self) -> Code {
        self.fault.code()
    }

    /// Returns the length of a message that did not fit into the caller's memory, bytes.
    pub fn needed(&self) -> Option<u64> {
        self.needed
    }

    pub(crate) fn system(fault: Fault) -> PathError {
        PathError::of(PathErrorKind::System, fault)
    }

    pub(crate) fn of(kind: PathErrorKind, fault: Fault) -> PathError {
        PathError { kind, fault, needed: None }
    }

    /// Returns the same error with a text changed by `tell`, if its kind is `System`; otherwise returns it
    /// unchanged.
    pub(crate) fn told(self, tell: impl FnOnce(&str) -> String) -> PathError {
        match self.kind {
            PathErrorKind::System => PathError { fault: self.fault.told(tell), ..self },
            _ => self,
        }
    }

    /// Returns the text and the code of the error.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }
}

impl From<Misuse> for PathError {
    fn from(misuse: Misuse) -> PathError {
        let kind = match misuse {
            Misuse::TooLong { .. } => PathErrorKind::Unexpected,
            Misuse::Closed => PathErrorKind::Closed,
            Misuse::TimedOut { .. } => PathErrorKind::TimedOut,
            _ => PathErrorKind::Usage,
        };
        let needed = match misuse {
            Misuse::TooLong { length, .. } => Some(length),
            _ => None,
        };
        PathError { kind, fault: Fault::new(misuse.code(), misuse.to_string()), needed }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for PathError {}
