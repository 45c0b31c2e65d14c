//! The carrier: the endpoint of a domain that stands for all instances of other domains. To the instances of
//! its domain it is an endpoint like any other (`RunPlan::in_domain`). It lives in the agent's process, so no
//! process starts, signals or awaits it. It carries the messages of its domain's instances to the carriers of
//! the other domains, and delivers the messages that those carriers send.
//!
//! `logic` moves messages, without threads and sockets; `threads` runs the logic on two threads. Messages
//! that arrive before the carrier is an endpoint wait in its memory. When all instances of a domain have
//! ended, the agent keeps the carrier until all their messages have arrived. Agents talk to each other on
//! conduit 2³² - 1.
#![forbid(unsafe_code)]

// Test files that other crates include too name this crate as those crates do.
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
