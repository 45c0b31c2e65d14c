//! A run's timeline divided into columns (`shares`), and as a trace for viewers (`trace`).

mod shares;
mod trace;

pub use shares::{rows, ShareRow, TimeShares, KINDS};
pub use trace::write as write_trace;

/// Maximum number of instances that have a row of their own. With more instances, each component has a row.
pub const MAX_SEPARATE_INSTANCES: usize = 40;
