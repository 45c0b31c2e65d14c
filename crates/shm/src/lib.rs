//! Memory that processes of one domain share: the board with its doorbells, each endpoint's area and outbox,
//! rings of slots, slabs of blocks, and the Unix socket over which the agent hands them out.
//!
//! Who may write what is fixed by the mapping, not by manners: an outbox and a slab are written by their sender,
//! an area by its owner, the board by all. Everything else is mapped read-only.

pub mod area;
pub mod barrier;
pub mod board;
pub mod endpoint;
pub mod memory;
pub mod ring;
pub mod slab;
pub mod socket;
pub mod status;
mod sync;

pub use endpoint::{Custodian, Endpoint};
pub use memory::ShmError;
