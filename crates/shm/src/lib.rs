//! Memory that processes of one domain share: the board with its doorbells, each endpoint's area and outbox,
//! rings of slots, slabs of blocks, and the Unix socket over which the agent hands them out.
//!
//! The writers of each piece are fixed by the mapping, not by manners: an outbox and a slab are written by
//! their sender, an area by its owner, the board by all. Everything else is mapped read-only.

pub mod barrier;
pub mod board;
pub mod ring;
mod sync;
pub mod turn;

// Under loom only the ring, the doorbell and the turn are compiled: they are what it checks.
#[cfg(not(loom))]
pub mod area;
#[cfg(not(loom))]
pub mod endpoint;
#[cfg(not(loom))]
pub mod forks;
#[cfg(not(loom))]
pub mod line;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod own;
#[cfg(not(loom))]
pub mod slab;
#[cfg(not(loom))]
pub mod socket;
#[cfg(not(loom))]
pub mod status;
pub mod steering;
#[cfg(not(loom))]
pub mod tap;
#[cfg(not(loom))]
pub mod timeline;

#[cfg(not(loom))]
pub use endpoint::{Custodian, Endpoint};
#[cfg(not(loom))]
pub use memory::ShmError;
