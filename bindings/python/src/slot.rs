//! Numbers of slots, which count from 0.

use crate::errors::usage;
use ligament_catalogue::fault;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// The number of a slot, as a call gives it.
pub struct Slot(pub u32);

impl<'a> FromPyObject<'a, '_> for Slot {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, '_, PyAny>) -> PyResult<Slot> {
        let py = object.py();
        match object.extract::<u32>() {
            Ok(slot) => Ok(Slot(slot)),
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                let given = object.str()?;
                Err(usage(py, fault!(NO_SUCH_SLOT, "there is no slot {given}; slots count from 0")))
            }
            Err(error) => Err(error),
        }
    }
}
