//! The filters of a conduit: pure functions over values and times. No I/O and no clock; what drives them is in
//! `ligament-instance`. Which filters there are, and with which parameters, stands in one table in
//! `ligament-model`.
//!
//! A message passes through as a `Parcel`. Its data is the sender's memory, a value that is shared with others,
//! or numbers of our own. The first filter that computes makes numbers of its own in the same pass; those after
//! it change them in place.

mod along;
mod chain;
mod compress;
mod console;
mod convert;
mod elementwise;
mod expression;
mod mask_policy;
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
pub use chain::{Around, Chain, ChainOutput, FilterFailure, FilterRemark, FilterStep, MakeOwn, StepOutput};
pub use expression::calculate;
pub use numbers::{NumberBuffer, NumberFrame, Real, Shell};
pub use parcel::{Data, Parcel};
pub use quantity::{Measure, NoQuantity, Quantity};
pub use units::{unit_of_difference, without_own_zero, Conversion, Unit};
pub use view::ArrayView;
