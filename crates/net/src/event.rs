//! What `Net` reports about its paths.

use ligament_path::StreamId;
use std::net::SocketAddr;

/// Something that happened. All reasons are whole sentences without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A path has its first stream, or has one again after it had none.
    PathUp { domain: u32 },
    /// A stream broke; what was on it goes to the others or waits. It will be dialled again.
    StreamLost { domain: u32, stream: StreamId, why: String },
    /// The last stream of a path has broken.
    PathDown { domain: u32 },
    /// The path is over for good, and not as it should be.
    GivenUp { domain: u32, why: String },
    /// The domain's process is gone without a word, and so the path is over; who outlived it there says why.
    Gone { domain: u32, why: String },
    /// Both ends have said that nothing more comes, and everything has arrived.
    Ended { domain: u32 },
    /// Somebody knocked and was not let in, and so many others before them; nothing was said to them.
    Refused { from: SocketAddr, why: String, others: u64 },
}
