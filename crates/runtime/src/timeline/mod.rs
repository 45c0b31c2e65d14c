//! A run's timeline divided into columns (`shares`), and as a trace for viewers (`trace`).

mod shares;
mod trace;

pub use shares::{rows, ShareRow, TimeShares, KINDS};
pub use trace::write as write_trace;

/// More instances than this are put together by component.
pub const MAX_SEPARATE_INSTANCES: usize = 40;
