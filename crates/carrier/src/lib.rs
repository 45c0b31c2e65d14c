//! The carrier: the endpoint that stands in a domain for all instances elsewhere. To the instances here it is
//! an endpoint like any other (`Plan::in_domain`), but it lives in the agent's process, so nobody starts,
//! signals or awaits it. It carries what they send to the carriers of the other domains, and delivers what
//! those send here.
//!
//! `logic` moves messages and knows neither threads nor sockets; `threads` runs it on two threads. Messages
//! that arrive before the carrier has its endpoint wait in its memory. When all instances of a domain have
//! ended, the agent keeps the carrier until everything they sent has arrived. Agents talk to each other on
//! conduit 2³² - 1.
#![forbid(unsafe_code)]

// Test files that are shared with other crates name this one.
#[cfg(test)]
extern crate self as ligament_carrier;

mod carrier;
mod logic;
mod paths;
mod report;
mod threads;

pub use carrier::{Attachment, Carrier, Quiet};
pub use ligament_net::{Event, Net};
pub use paths::Paths;
pub use report::CarrierReport;
