//! Orders of `ligament site check A B` to the ends at two sites, and their replies: one line of JSON each.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The version of these lines.
pub(super) const VERSION: u32 = 1;
/// Before each answer: whatever a shell prints is no answer.
pub(super) const MARK: &str = "ligament measures ";

/// To an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndOrder {
    /// Have one end of a path that is opened from elsewhere.
    Listen { meeting: PathKey, interface: Option<String>, ports: Option<RangeInclusive<u16>> },
    /// Open a path to what listens there, within so many seconds.
    Open {
        meeting: PathKey,
        to: Vec<String>,
        /// Connections; 0: as many as the link needs.
        streams: u16,
        /// The machine through which ssh leads, and its options.
        jump: Option<(String, Vec<String>)>,
        within: f64,
    },
    /// Send two bytes to and fro so often, for so many seconds at most.
    Ping { count: u32, within: f64 },
    /// Send for so many seconds, and so many bytes at most.
    Send { seconds: f64, bytes: u64 },
    /// Say what has come, and count anew.
    Came,
}

/// The data that both ends of a path need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PathKey {
    /// An invitation: with the path's key, and the relays of this end.
    pub invitation: String,
    /// Bytes in a second that this end sends at most.
    pub pace: Option<u64>,
}

/// From an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndReply {
    /// It is there, on this machine.
    Ready { version: u32, host: String },
    /// It listens there.
    Listens { at: Vec<String> },
    /// True if the path has come up.
    Opened { reached: bool },
    /// How long they took to and fro (seconds).
    Pinged { round_trips: Vec<f64> },
    /// So many bytes were given to the path.
    Sent { bytes: u64 },
    /// So many bytes have come after the first message, in so many seconds.
    Came { bytes: u64, seconds: f64 },
    /// It cannot do that.
    Failed { why: String },
}
