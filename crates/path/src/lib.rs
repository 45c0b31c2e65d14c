//! A link between two domains. Messages are cut into frames, which go to whichever stream is writable; at the
//! other end they are put together again, in order and once each, whatever is cut in between. Events in,
//! actions out: nothing here does I/O or reads a clock. `docs/reference/path.md` describes the format.
#![forbid(unsafe_code)]

mod flow;
mod frame;
mod path;
mod reassembly;
mod send_queue;
mod stream;

pub use flow::{Flow, Gauge, Limit, LinkReport, RelayDistance};
pub use frame::{FrameError, FrameHeader, FrameKind, HEADER_BYTES};
pub use path::{Action, Destination, LinkShape, OutgoingFrame, Path, PathOptions};

/// A message's number on its conduit: 1 for the first.
pub type MessageNumber = u64;

/// Which message of which conduit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// A conduit goes one way, so each direction of a path has its own.
    pub conduit: u32,
    pub number: MessageNumber,
}

/// A stream's number. Stream 0 is preferred for small messages and control.
pub type StreamId = u16;
/// Nanoseconds of any clock that never goes back.
pub type Nanos = u64;
