//! What stands in a domain for all instances that are elsewhere. To the instances here the carrier is an endpoint like
//! any other; it carries what they send to the carriers of the other domains, and what those bring to the instances here.
//! `logic` moves messages, and knows neither threads nor sockets; `threads` runs it on two of them.
#![forbid(unsafe_code)]

// Test files that are shared with other crates name this one.
#[cfg(test)]
extern crate self as ligament_carrier;

mod carrier;
mod heard;
mod logic;
mod paths;
mod threads;

pub use carrier::{Attachment, Carrier, Quiet};
pub use heard::Heard;
pub use ligament_net::{Event, Net};
pub use paths::Paths;
