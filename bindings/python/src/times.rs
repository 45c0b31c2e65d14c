//! Model times, compared and shown as the core does, for the shipped components that are written in Python.

use ligament_wire::times;
use pyo3::prelude::*;

/// Times in order. It tells which times are equal, and which is earlier.
#[pyclass(module = "ligament._ligament")]
#[derive(Default)]
pub struct TimeSeries(times::TimeSeries);

#[pymethods]
impl TimeSeries {
    #[new]
    fn new() -> TimeSeries {
        TimeSeries::default()
    }

    /// Takes the next time. Returns true if it is earlier than the one before.
    fn goes_on(&mut self, time: f64) -> bool {
        self.0.goes_on(time, None)
    }

    fn is_before(&self, one: f64, other: f64) -> bool {
        self.0.is_before(one, other)
    }
}

/// Returns the time after a number of equal steps.
#[pyfunction]
pub fn after_steps(begin: f64, step: f64, steps: u64) -> f64 {
    times::after_steps(begin, step, steps)
}

/// Returns a time as people write it.
#[pyfunction]
pub fn shown_time(time: f64) -> String {
    times::ShownTime(time).to_string()
}
