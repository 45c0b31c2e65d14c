//! The filters of a conduit: pure functions over the values and times of messages. This crate does no I/O
//! and reads no clock; `ligament-instance` calls the filters. One table in `ligament-model` lists the
//! filters and their parameters.
//!
//! A message passes through the filters as a `Parcel`. The data of a parcel is the sender's memory, a value
//! that is shared with other owners, or numbers that the parcel owns. The first filter that computes writes
//! its results into numbers that the parcel owns; the filters after it change these numbers in place.

mod along;
mod chain;
mod compress;
mod console;
mod convert;
mod elementwise;
mod expression;
mod mask_policy;
mod memory;
mod numbers;
mod parcel;
mod quantity;
mod reduce;
mod series;
mod slice;
pub mod sums;
mod times;
mod units;
mod view;

pub use along::said_of_masked;
pub use chain::{
    Chain, ChainOutput, FilterContext, FilterFailure, FilterRemark, FilterStep, MakeOwn, StepOutput,
};
pub use expression::calculate;
pub use memory::{FilterMemory, Memory};
pub use numbers::{NumberBuffer, NumberFrame, Real, Shell};
pub use parcel::{Data, Parcel};
pub use quantity::{Measure, NoQuantity, Quantity};
pub use units::{unit_of_difference, without_own_zero, Conversion, Unit};
pub use view::ArrayView;
