//! Turns a received value into a Python object.

use crate::array::{self, Array};
use crate::settings::Settings;
use ligament_wire::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString};

/// Returns the value as a Python object. Arrays are read-only views of the received memory; all else is copied.
pub fn to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::None => py.None(),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any().unbind(),
        Value::Int(value) => PyInt::new(py, *value).into_any().unbind(),
        Value::UInt(value) => PyInt::new(py, *value).into_any().unbind(),
        Value::Float(value) => PyFloat::new(py, *value).into_any().unbind(),
        Value::Complex(re, im) => PyComplex::from_doubles(py, *re, *im).into_any().unbind(),
        Value::String(text) => PyString::new(py, text).into_any().unbind(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any().unbind(),
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any().unbind()
        }
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any().unbind()
        }
        Value::Settings(entries) => Settings::from_wire(py, entries)?.into_any(),
        Value::Array(array) => numpy_view(py, array)?,
    })
}

pub(crate) fn numpy_view(py: Python<'_>, array: &ligament_wire::Array) -> PyResult<Py<PyAny>> {
    let view = array::view(py, array.dtype(), array.shape(), &array.strides(), array.data())?.unbind();
    if array.names().is_empty() && array.unit().is_none() {
        return Ok(view);
    }
    let named = Array { array: view, names: array.names().to_vec(), unit: array.unit().map(str::to_owned) };
    Ok(Py::new(py, named)?.into_any())
}
