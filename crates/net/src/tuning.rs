//! Options of paths over sockets.

use ligament_path::Nanos;

/// Options of all paths of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetOptions {
    /// Options of the path's protocol: pieces, acknowledgements, heartbeats, patience.
    pub path: ligament_path::PathOptions,
    /// Time within which a new connection must identify itself (ns).
    pub greeting: Nanos,
    /// Time within which a dialled connection must be made (ns).
    pub connect: Nanos,
    /// First pause before a stream is dialled again (ns).
    pub first_pause: Nanos,
    /// Longest pause before a stream is dialled again (ns).
    pub longest_pause: Nanos,
    pub compression: Compression,
    pub congestion: Congestion,
    /// Maximum rate at which this end sends over a long link (bytes per second); `None` for no limit.
    pub pace: Option<u64>,
}

/// The cases in which the pieces of large messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// If compression makes messages arrive sooner.
    WhereItPays,
    Never,
    /// If compression makes the pieces smaller.
    Always,
}

/// The algorithm that limits the bytes that a stream may have under way, on a link that is long or loses
/// segments. On other links the system chooses the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// BBR, which carries most on such links, if the kernel has it and allows it to this user. Otherwise the
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
