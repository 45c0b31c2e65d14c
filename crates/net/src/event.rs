//! Events of `Net` about its paths.

use ligament_catalogue::Fault;
use ligament_path::StreamId;
use std::net::SocketAddr;

/// An event of a path or a connection. Each reason is a whole sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A path has its first stream, or has one again after it had none.
    PathUp { domain: u32 },
    /// A stream broke. Its frames are sent by other streams or wait. The stream will be dialled again.
    StreamLost { domain: u32, stream: StreamId, why: Fault },
    /// The last stream of a path has broken.
    PathDown { domain: u32 },
    /// The path is over for good, because of a failure.
    GivenUp { domain: u32, why: Fault },
    /// The domain's process is gone without ending the path, so the path is over. The process that outlived
    /// it gives the reason.
    Gone { domain: u32, why: String },
    /// Both ends have announced that they send nothing more, and all messages have arrived.
    Ended { domain: u32 },
    /// A connection was refused. The event also stands for `others` refusals before it. The other end of the
    /// connection gets no reason.
    Refused { from: SocketAddr, why: String, others: u64 },
}
