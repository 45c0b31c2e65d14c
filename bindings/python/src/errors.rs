//! The core's errors as Python's exceptions. The classes are Python's own, in `ligament/_errors.py`.

use ligament_catalogue::with_code;
use ligament_instance::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Raises class `name` of `ligament._errors` with this text, and its code where to read more about it.
pub fn raise(py: Python<'_>, name: &str, text: String) -> PyErr {
    exception(py, name, with_code(&text).into_owned())
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

/// The message with its code at the end.
#[pyfunction]
#[pyo3(name = "_with_code")]
pub fn with_its_code(text: &str) -> String {
    with_code(text).into_owned()
}

/// A use of the library that cannot work.
pub fn usage(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raise(py, "UsageError", text.into())
}

/// A model that cannot be built, read or run.
pub fn model(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raise(py, "ModelError", text.into())
}

/// What an instance's call ran into. For `Interrupted`, the exception that the signal's handler raised is known to
/// the instance, which asks for it first.
pub fn instance(py: Python<'_>, error: Error) -> PyErr {
    let class = match &error {
        Error::Registration(_) => "RegistrationError",
        Error::Usage(_) | Error::InUse(_) => "UsageError",
        Error::Unexpected(_) => "UnexpectedError",
        Error::Closed(_) => "ClosedError",
        Error::SettingUnset(_) => "SettingUnsetError",
        Error::SettingType(_) => "SettingTypeError",
        Error::TimedOut(_) => "TimeoutError",
        Error::OutOfMemory(_) => "OutOfMemoryError",
        Error::RunEnds(_) => "RunEndsError",
        Error::Interrupted => return pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        _ => "TransportError",
    };
    exception(py, class, error.to_string())
}
