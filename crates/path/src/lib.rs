//! What joins two domains: messages cut into frames, that go to whichever stream is writable, and are put together
//! again in order, once each, whatever is cut in between. Events in, actions out: nothing here does I/O or reads a
//! clock. The format is described in `docs/reference/path.md`.
#![forbid(unsafe_code)]

mod frame;
mod incoming;
mod outgoing;
mod path;
mod stream;

pub use frame::{FrameError, FrameHeader, FrameKind, HEADER_BYTES};
pub use path::{Action, Destination, OutgoingFrame, Path, Tuning};

/// A message's number on its conduit: 1 for the first.
pub type Number = u64;

/// Which message of which conduit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// A conduit goes one way, so each direction of a path has its own.
    pub conduit: u32,
    pub number: Number,
}

/// A stream's number: 0 for the one that small messages and control prefer.
pub type StreamId = u16;
/// Nanoseconds of any clock that does not go back.
pub type Nanos = u64;
