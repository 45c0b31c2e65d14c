//! A message, as Python code makes it or receives it.

use crate::array::{kind, parse_dtype, Array, ArrayKind, ArrayLayout, UnreadableArray};
use crate::errors;
use ligament_catalogue::said;
use ligament_instance::{Expected, Origin};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// A message: a value, the model time it belongs to, and the model time of the next one.
///
/// Args:
///     timestamp: The model time of the data, s.
///     next_timestamp: The model time of the sender's next message, s; None if there will be none.
///     data: The value. Arrays of a received message are read-only: NumPy says "assignment destination is
///         read-only" where one would be changed, "output array is read-only" or "sort array is read-only".
///         Change a copy, or receive into an array of one's own.
///     settings: The settings overlay under which the message is sent, None for the one in force. Of a message
///         that was received: the overlay that came with it, where the instance asked to have it.
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
    pub origin: Origin,
}

/// Fails if the next timestamp is no number. Mostly it is then a value for which `data=` was forgotten.
fn next_time(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    given.extract().map_err(|_| {
        let kind = given.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
        PyTypeError::new_err(said!(
            NO_MESSAGE,
            "the second argument of Message is the time of the next message, a number or None, and not a value \
             of type {kind}; write Message(t, data=…) to send a value"
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
        let data = data.unwrap_or_else(|| py.None());
        Ok(Message { timestamp, next_timestamp, data, settings, origin: Origin::default() })
    }

    /// Returns the data as a NumPy array with the expected properties. A property, or an extent in `shape`,
    /// that is None may have any value.
    #[pyo3(signature = (dtype=None, ndim=None, shape=None))]
    fn array<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        ndim: Option<usize>,
        shape: Option<Vec<Option<u64>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = dtype.map(|dtype| parse_dtype(&dtype)).transpose()?;
        let expected = Expected { dtype, ndim, shape: shape.as_deref() };
        let data = self.data.bind(py);
        let array =
            data.cast::<Array>().map_or_else(|_| data.clone(), |named| named.get().array.bind(py).clone());
        let mut of = None;
        let came = match (kind(&array), data.get_type().name()) {
            (ArrayKind::Other, Ok(name)) => format!("something of type {name}"),
            (ArrayKind::Other, Err(_)) => "something".to_owned(),
            _ => match ArrayLayout::of(&array) {
                Ok(placed) if expected.fits(placed.dtype, placed.shape()) => return Ok(array),
                Ok(placed) => {
                    of = Some(placed.dtype);
                    format!("an array of {} with shape {:?}", placed.dtype.name(), placed.shape())
                }
                Err(UnreadableArray::Swapped) => "an array in the other byte order".to_owned(),
                Err(UnreadableArray::Unfit(what)) => what,
            },
        };
        Err(errors::instance(py, expected.unmet(&came, of, &self.origin)))
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
