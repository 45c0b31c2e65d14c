//! Numbers of slots, which count from 0.

use crate::errors::usage;
use ligament_catalogue::{fault, Fault};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// The number of a slot, as a call gives it.
pub struct Slot(pub u32);

/// A number of slots, as a call gives it.
pub struct SlotCount(pub usize);

impl<'a> FromPyObject<'a, '_> for Slot {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, '_, PyAny>) -> PyResult<Slot> {
        let why = |slot: &str| fault!(NO_SUCH_SLOT, "there is no slot {slot}; slots count from 0");
        number(object, why).map(Slot)
    }
}

impl<'a> FromPyObject<'a, '_> for SlotCount {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, '_, PyAny>) -> PyResult<SlotCount> {
        let why = |count: &str| fault!(BAD_ARGUMENT, "a port cannot have {count} slots; give 0 or more");
        number(object, why).map(SlotCount)
    }
}

/// Returns a whole number. `why` describes a number below 0 or beyond the type.
fn number<'py, T: FromPyObjectOwned<'py, Error = PyErr>>(
    object: Borrowed<'_, 'py, PyAny>,
    why: impl Fn(&str) -> Fault,
) -> PyResult<T> {
    let py = object.py();
    object.extract::<T>().map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(py) {
            return error;
        }
        let given = object.str().map(|text| text.to_string_lossy().into_owned());
        given.map_or_else(|error| error, |given| usage(py, why(&given)))
    })
}
