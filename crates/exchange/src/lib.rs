//! Exchanges of distributed arrays. An array is distributed if each rank of a component has a part of it. The
//! ranks of the sender and of the receiver may divide the array differently. An [`IndexMap`] describes the
//! part that a rank has. A [`Route`] gives the elements that travel from a sender's part to a receiver's
//! part, and their places in both. No I/O.

#![deny(unsafe_code)]

mod coverage;
mod index_map;
mod receivers;
mod route;
#[allow(unsafe_code)]
mod sys;

pub use coverage::Coverage;
pub use index_map::{index_text, IndexMap, MapError, Part};
pub use receivers::Receivers;
pub use route::{PartLayout, Route};
