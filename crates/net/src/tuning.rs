//! Options of paths over sockets.

use ligament_path::Nanos;

/// Options of all paths of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetOptions {
    /// Pieces, acknowledgements, heartbeats, patience.
    pub path: ligament_path::PathOptions,
    /// How long a guest may take to identify itself (ns).
    pub greeting: Nanos,
    /// How long a connection may take to be made (ns).
    pub connect: Nanos,
    /// The pause before a stream is dialled again: the first, and the longest to which it grows (ns).
    pub first_pause: Nanos,
    pub longest_pause: Nanos,
    pub compression: Compression,
    pub congestion: Congestion,
    /// Bytes in a second that this end sends over a long way, at most; none: as fast as it goes.
    pub pace: Option<u64>,
}

/// True if the pieces of large messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// If it makes messages arrive sooner.
    WhereItPays,
    Never,
    /// Whenever it makes them smaller.
    Always,
}

/// The algorithm that decides how much a stream may have under way, over a way that is long or loses segments.
/// Over others it is the system's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// The algorithm that carries most: BBR where the kernel has it and allows it to this user, else the
    /// system's choice.
    Best,
    /// The system's choice.
    System,
}

impl Default for NetOptions {
    fn default() -> Self {
        let second = 1_000_000_000;
        NetOptions {
            path: ligament_path::PathOptions::default(),
            greeting: 5 * second,
            connect: 3 * second,
            first_pause: second / 50,
            longest_pause: 2 * second,
            compression: Compression::WhereItPays,
            congestion: Congestion::Best,
            pace: None,
        }
    }
}
