//! Model times as the core compares and shows them, for the shipped components that are Python's.

use ligament_wire::times;
use pyo3::prelude::*;

/// Times in order: which are the same, and which is earlier.
#[pyclass(module = "ligament._ligament")]
#[derive(Default)]
pub struct TimeSeries(times::TimeSeries);

#[pymethods]
impl TimeSeries {
    #[new]
    fn new() -> TimeSeries {
        TimeSeries::default()
    }

    /// The next time: whether it is earlier than the one before.
    fn goes_on(&mut self, time: f64) -> bool {
        self.0.goes_on(time, None)
    }

    fn is_before(&self, one: f64, other: f64) -> bool {
        self.0.is_before(one, other)
    }
}

/// The time after a number of equal steps.
#[pyfunction]
pub fn after_steps(begin: f64, step: f64, steps: u64) -> f64 {
    times::after_steps(begin, step, steps)
}

/// A time as people write it.
#[pyfunction]
pub fn shown_time(time: f64) -> String {
    times::ShownTime(time).to_string()
}
