//! The memory that the processes of one domain share: the board with its doorbells, the area and the outbox
//! of each endpoint, rings of entries, slabs of blocks, and the Unix socket over which the agent hands them
//! out.
//!
//! The mapping of each piece decides which processes can write it: a sender writes its own outbox and slabs,
//! an endpoint writes its own area, and all processes write the board. Every other process maps the piece
//! read-only (one exception: `slab::stays_in_caches`).

pub mod barrier;
pub mod board;
pub mod ring;
mod sync;
pub mod turn;

// Under loom, the crate contains only the ring, the doorbell and the turn, because loom checks only these.
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
