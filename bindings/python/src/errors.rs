//! Turns the core's errors into Python's exceptions. The classes are written in Python, in
//! `ligament/_errors.py`.

use crate::text::Text;
use ligament_catalogue::{Code, Fault};
use ligament_instance::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Makes an exception of the class `name` of `ligament._errors`, with this text and its code.
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

/// Returns a text with a code at its end, unless the text has one.
#[pyfunction]
#[pyo3(name = "_fault")]
pub fn fault_of(code: &str, text: Text<'_>) -> String {
    let text = &*text;
    Code::named(code).map_or_else(|| text.to_owned(), |code| Fault::new(code, text).with_code())
}

/// Makes the exception for a use of the library that cannot work.
pub fn usage(py: Python<'_>, fault: impl Into<Fault>) -> PyErr {
    raise(py, "UsageError", fault)
}

/// Makes the exception for a model that cannot be built, read or run.
pub fn model(py: Python<'_>, fault: impl Into<Fault>) -> PyErr {
    raise(py, "ModelError", fault)
}

/// Makes the exception for an error of an instance's call. For `Interrupted`, the instance has the exception
/// that the signal's handler raised, and looks for that first.
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
