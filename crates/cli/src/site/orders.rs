//! Orders of `ligament site check A B` to the ends at two sites, and the ends' replies: one line of JSON
//! each.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Version of the orders and replies. Both ends must have the same version.
pub(super) const VERSION: u32 = 1;
/// Text before each reply. A line without it was printed by a shell and is no reply.
pub(super) const MARK: &str = "ligament measures ";

/// An order to an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndOrder {
    /// Make one end of a path, and listen for the other end.
    Listen { meeting: PathKey, interface: Option<String>, ports: Option<RangeInclusive<u16>> },
    /// Open a path to the addresses `to`, at which the other end listens. `within` is the maximum time, in
    /// seconds.
    Open {
        meeting: PathKey,
        to: Vec<String>,
        /// Number of connections. 0 means as many as the link needs.
        streams: u16,
        /// The machine through which ssh leads, and ssh's options.
        jump: Option<(String, Vec<String>)>,
        within: f64,
    },
    /// Send two bytes to the other end and back, `count` times, for at most `within` seconds.
    Ping { count: u32, within: f64 },
    /// Send for at most `seconds` seconds, and at most `bytes` bytes.
    Send { seconds: f64, bytes: u64 },
    /// Report how many bytes have arrived, and begin to count again from 0.
    Came,
}

/// The data that an end of a path needs to reach the other end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PathKey {
    /// Text of an invitation, with the path's key and the relays of this end.
    pub invitation: String,
    /// Maximum rate at which this end sends, in bytes per second.
    pub pace: Option<u64>,
}

/// A reply of an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndReply {
    /// The end runs, with this version of the orders, on the machine `host`.
    Ready { version: u32, host: String },
    /// The end listens at these addresses.
    Listens { at: Vec<String> },
    /// `reached` is true if the path was connected.
    Opened { reached: bool },
    /// Times of the round trips, in seconds.
    Pinged { round_trips: Vec<f64> },
    /// Number of bytes that were given to the path.
    Sent { bytes: u64 },
    /// Number of bytes that arrived after the first message, and the time that they took, in seconds.
    Came { bytes: u64, seconds: f64 },
    /// The end cannot carry out the order, for the reason `why`.
    Failed { why: String },
}
