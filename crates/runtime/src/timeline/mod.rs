//! A run's timeline divided into columns (`shares`), and as a trace for viewers (`trace`).

mod shares;
mod trace;

pub use shares::{rows, Row, Times, KINDS};
pub use trace::write as write_trace;

/// More instances than this are put together by component.
pub const MANY: usize = 40;
