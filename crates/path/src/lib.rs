//! The protocol of a path between two domains. Messages are cut into frames, and each frame goes to any
//! stream that is writable. The other end puts the messages together again: each message arrives once and in
//! order, even if connections are cut in between. The crate takes events and returns actions; it does no I/O
//! and reads no clock. `docs/reference/path.md` describes the format.
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

/// The number of a message on its conduit. The first message has number 1.
pub type MessageNumber = u64;

/// The identity of a message: its conduit and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The number of the conduit. A conduit goes one way, so each direction of a path has its own conduits.
    pub conduit: u32,
    pub number: MessageNumber,
}

/// The number of a stream. Stream 0 is preferred for small messages and control frames.
pub type StreamId = u16;
/// A time in nanoseconds, from any clock that never goes back.
pub type Nanos = u64;
