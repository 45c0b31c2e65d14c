//! The core's errors as Python's exceptions. The classes are Python's own, in `ligament/_errors.py`.

use crate::text::Text;
use ligament_catalogue::{Code, Fault};
use ligament_instance::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Raises class `name` of `ligament._errors` with this text, and its code where to read more about it.
pub fn raise(py: Python<'_>, name: &str, fault: impl Into<Fault>) -> PyErr {
    exception(py, name, fault.into().with_code())
}

fn exception(py: Python<'_>, name: &str, text: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let class = MODULE
        .get_or_try_init(py, || PyModule::import(py, "ligament._errors").map(Bound::unbind))
        .and_then(|module| module.bind(py).getattr(name))
        .and_then(|class| class.cast_into::<PyType>().map_err(PyErr::from));
    match class {
        Ok(class) => PyErr::from_type(class, text),
        Err(error) => error,
    }
}

/// A text with a code at its end, unless one stands in it already.
#[pyfunction]
#[pyo3(name = "_fault")]
pub fn fault_of(code: &str, text: Text<'_>) -> String {
    let text = &*text;
    Code::named(code).map_or_else(|| text.to_owned(), |code| Fault::new(code, text).with_code())
}

/// A use of the library that cannot work.
pub fn usage(py: Python<'_>, fault: impl Into<Fault>) -> PyErr {
    raise(py, "UsageError", fault)
}

/// A model that cannot be built, read or run.
pub fn model(py: Python<'_>, fault: impl Into<Fault>) -> PyErr {
    raise(py, "ModelError", fault)
}

/// The exception for an error of an instance's call. For `Interrupted`, the exception that the signal's handler
/// raised is known to the instance, which asks for it first.
pub fn instance(py: Python<'_>, error: Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Registration => "RegistrationError",
        ErrorKind::Usage => "UsageError",
        ErrorKind::Unexpected => "UnexpectedError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::SettingUnset => "SettingUnsetError",
        ErrorKind::SettingType => "SettingTypeError",
        ErrorKind::TimedOut => "TimeoutError",
        ErrorKind::OutOfMemory => "OutOfMemoryError",
        ErrorKind::RunEnds => "RunEndsError",
        ErrorKind::Interrupted => return pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        _ => "TransportError",
    };
    exception(py, class, error.to_string())
}
