//! Settings: names with values, for a model, an overlay or a message.

use crate::errors::raise;
use crate::text::Text;
use ligament_catalogue::fault;
use ligament_model::{Reference, SettingValue};
use ligament_wire::SettingValue as WireValue;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

/// Settings by name, in the order in which they were set: a dict whose values are str, int, float, bool, a list
/// of numbers, or a list of lists of numbers.
///
/// Args:
///     settings: A dict or other Settings to begin with.
#[pyclass(module = "ligament", mapping)]
pub struct Settings {
    pub inner: ligament_model::Settings,
}

impl Settings {
    /// Returns the settings in the form that a message has.
    pub fn to_wire(&self) -> Vec<(String, WireValue)> {
        let wire = |value: &SettingValue| match value.clone() {
            SettingValue::Str(text) => WireValue::String(text),
            SettingValue::Int(value) => WireValue::Int(value),
            SettingValue::Float(value) => WireValue::Float(value),
            SettingValue::Bool(value) => WireValue::Bool(value),
            SettingValue::IntList(list) => WireValue::IntList(list),
            SettingValue::FloatList(list) => WireValue::FloatList(list),
            SettingValue::FloatListList(rows) => WireValue::FloatGrid(rows),
        };
        self.inner.iter().map(|(name, value)| (name.to_string(), wire(value))).collect()
    }

    /// Makes settings from those of a message.
    pub fn from_wire(py: Python<'_>, entries: &[(String, WireValue)]) -> PyResult<Py<Settings>> {
        let mut inner = ligament_model::Settings::new();
        for (name, value) in entries {
            let value = match value.clone() {
                WireValue::Bool(value) => SettingValue::Bool(value),
                WireValue::Int(value) => SettingValue::Int(value),
                WireValue::Float(value) => SettingValue::Float(value),
                WireValue::String(text) => SettingValue::Str(text),
                WireValue::IntList(list) => SettingValue::IntList(list),
                WireValue::FloatList(list) => SettingValue::FloatList(list),
                WireValue::FloatGrid(rows) => SettingValue::FloatListList(rows),
            };
            inner.set(reference(py, name)?, value);
        }
        Py::new(py, Settings { inner })
    }
}

/// Takes over a dict, pairs from a mapping, or Settings.
pub fn any_settings(object: &Bound<'_, PyAny>) -> PyResult<ligament_model::Settings> {
    if let Ok(settings) = object.cast::<Settings>() {
        return Ok(settings.try_borrow()?.inner.clone());
    }
    let mut settings = ligament_model::Settings::new();
    for pair in object.cast::<PyMapping>()?.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let name: Text<'_> = key.extract()?;
        settings.set(reference(object.py(), &name)?, setting_value(&name, &value)?);
    }
    Ok(settings)
}

/// Reads the name of a setting.
pub fn reference(py: Python<'_>, name: &str) -> PyResult<Reference> {
    Reference::new(name).map_err(|error| {
        raise(py, "SettingError", fault!(BAD_SETTING_NAME, "\"{name}\" is no name for a setting: {error}"))
    })
}

/// Returns a Python value as the value of a setting.
pub fn setting_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<SettingValue> {
    let refuse = || {
        raise(
            value.py(),
            "SettingTypeError",
            fault!(
                BAD_SETTING_VALUE,
                "the setting \"{name}\" cannot be {}; give a str, int, float, bool, a list of numbers, or a \
                 list of lists of numbers",
                value.repr().map_or_else(|_| "this".into(), |text| text.to_string())
            ),
        )
    };
    // NumPy's scalars and arrays give their values by `tolist`.
    let value = if value.hasattr("tolist")? { value.call_method0("tolist")? } else { value.clone() };
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(SettingValue::Bool(value.is_true()));
    }
    if let Ok(value) = value.cast::<PyInt>() {
        return value.extract().map(SettingValue::Int).map_err(|_| refuse());
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(SettingValue::Float(value.value()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return value.to_str().map(|text| SettingValue::Str(text.to_owned())).map_err(|_| refuse());
    }
    if !(value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()) {
        return Err(refuse());
    }
    let items: Vec<Bound<'_, PyAny>> = value.extract()?;
    if items.iter().any(|item| item.is_instance_of::<PyBool>()) {
        return Err(refuse());
    }
    if items.iter().all(|item| item.is_instance_of::<PyInt>()) {
        return value.extract().map(SettingValue::IntList).map_err(|_| refuse());
    }
    if items.iter().all(|item| item.is_instance_of::<PyInt>() || item.is_instance_of::<PyFloat>()) {
        return value.extract().map(SettingValue::FloatList).map_err(|_| refuse());
    }
    value.extract().map(SettingValue::FloatListList).map_err(|_| refuse())
}

/// Returns the value of a setting as a Python object.
pub fn setting_to_python<'py>(py: Python<'py>, value: &SettingValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        SettingValue::Str(text) => PyString::new(py, text).into_any(),
        SettingValue::Int(value) => PyInt::new(py, *value).into_any(),
        SettingValue::Float(value) => PyFloat::new(py, *value).into_any(),
        SettingValue::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        SettingValue::IntList(list) => PyList::new(py, list)?.into_any(),
        SettingValue::FloatList(list) => PyList::new(py, list)?.into_any(),
        SettingValue::FloatListList(rows) => rows.into_pyobject(py)?.into_any(),
    })
}

/// Reads ``name=value`` as ``ligament run -s`` does, and returns the name and the value.
#[pyfunction]
pub fn parse_assignment<'py>(py: Python<'py>, text: &str) -> PyResult<(String, Bound<'py, PyAny>)> {
    let (name, value) =
        ligament_model::parse_assignment(text).map_err(|error| raise(py, "SettingError", error))?;
    Ok((name.to_string(), setting_to_python(py, &value)?))
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (settings=None))]
    fn new(settings: Option<Bound<'_, PyAny>>) -> PyResult<Settings> {
        let inner =
            settings.map_or_else(|| Ok(ligament_model::Settings::new()), |given| any_settings(&given))?;
        Ok(Settings { inner })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __contains__(&self, name: Text<'_>) -> bool {
        let name = &*name;
        Reference::new(name).is_ok_and(|name| self.inner.exact(&name).is_some())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: Text<'_>) -> PyResult<Bound<'py, PyAny>> {
        let name = &*name;
        match self.inner.exact(&reference(py, name)?) {
            Some(value) => setting_to_python(py, value),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    fn __setitem__(&mut self, name: Text<'_>, value: Bound<'_, PyAny>) -> PyResult<()> {
        let name = &*name;
        self.inner.set(reference(value.py(), name)?, setting_value(name, &value)?);
        Ok(())
    }

    fn __delitem__(&mut self, py: Python<'_>, name: Text<'_>) -> PyResult<()> {
        let name = &*name;
        let removed = self.inner.remove(&reference(py, name)?);
        removed.map(|_| ()).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys(py)?.call_method0("__iter__")
    }

    /// The names.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.inner.iter().map(|(name, _)| name.to_string()))
    }

    /// The values.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.inner.iter().map(|(_, value)| setting_to_python(py, value)).collect()
    }

    /// Names and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        self.inner.iter().map(|(name, value)| Ok((name.to_string(), setting_to_python(py, value)?))).collect()
    }

    /// The value of this name, or the default.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.inner.exact(&reference(py, name)?) {
            Some(value) => setting_to_python(py, value).map(Some),
            None => Ok(default),
        }
    }

    /// Takes over all settings of a dict or of other Settings.
    fn update(&mut self, settings: Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.update(&any_settings(&settings)?);
        Ok(())
    }

    /// Settings with the same names and values.
    fn copy(&self) -> Settings {
        Settings { inner: self.inner.clone() }
    }

    /// A plain dict of names and values.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.items(py)? {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __eq__(&self, other: Bound<'_, PyAny>) -> bool {
        any_settings(&other).is_ok_and(|other| other == self.inner)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Settings({})", self.as_dict(py)?.repr()?))
    }
}
