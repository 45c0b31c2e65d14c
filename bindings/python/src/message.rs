//! A message as Python code makes and gets it.

use ligament_catalogue::said;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// A message: a value, the model time it belongs to, and the model time of the next one.
///
/// Args:
///     timestamp: The model time of the data, s.
///     next_timestamp: The model time of the sender's next message, s; None if there will be none.
///     data: The value. Arrays of a received message are read-only: NumPy says "assignment destination is read-only"
///         where one would be changed, "output array is read-only" or "sort array is read-only". Change a copy, or receive into an array of one's own.
///     settings: The settings overlay under which the message is sent, None for the one in force. Of a message that was
///         received: the overlay that came with it, where the instance asked to have it.
#[pyclass(module = "ligament", weakref)]
pub struct Message {
    #[pyo3(get, set)]
    pub timestamp: f64,
    #[pyo3(get, set)]
    pub next_timestamp: Option<f64>,
    #[pyo3(get, set)]
    pub data: Py<PyAny>,
    #[pyo3(get, set)]
    pub settings: Option<Py<PyAny>>,
}

/// The time of the next message. A value is most often given in its place where `data=` was forgotten.
fn next_time(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    given.extract().map_err(|_| {
        let kind = given.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
        PyTypeError::new_err(said!(
            NO_MESSAGE,
            "the second argument of Message is the time of the next message, a number or None, and not a value of type \
             {kind}; write Message(t, data=…) to send a value"
        ))
    })
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (timestamp, next_timestamp=None, data=None, settings=None))]
    fn new(
        py: Python<'_>,
        timestamp: f64,
        next_timestamp: Option<Bound<'_, PyAny>>,
        data: Option<Py<PyAny>>,
        settings: Option<Py<PyAny>>,
    ) -> PyResult<Message> {
        let next_timestamp = next_timestamp.map(|given| next_time(&given)).transpose()?;
        Ok(Message { timestamp, next_timestamp, data: data.unwrap_or_else(|| py.None()), settings })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let next = match self.next_timestamp {
            Some(next) => format!(", next_timestamp={next:?}"),
            None => String::new(),
        };
        Ok(format!("Message(timestamp={:?}{next}, data={})", self.timestamp, self.data.bind(py).repr()?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.data)?;
        visit.call(&self.settings)
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.data = py.None();
        self.settings = None;
    }
}
