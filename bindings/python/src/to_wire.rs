//! Turns Python's values into messages. A value first becomes a tree that owns or keeps its parts, so that the
//! interpreter can be released while the message is stored. The tree then becomes the core's borrowed form.

use crate::array::{kind, over_others, what_is_lost, Array, ArrayKind, ArrayLayout, UnreadableArray};
use crate::errors::raise;
use crate::loan::Loan;
use crate::settings::Settings;
use ligament_catalogue::{fault, said};
use ligament_wire::{ArrayRef, SettingValue, ValueRef, MAX_DEPTH};
use pyo3::buffer::PyBuffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMapping, PyMemoryView, PyString,
    PyTuple,
};

/// A value that is ready to be stored.
pub enum PlannedValue {
    None,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Complex(f64, f64),
    Text(ObjectBytes),
    Bytes(ObjectBytes),
    Copied(Vec<u8>),
    List(Vec<PlannedValue>),
    Map(Vec<(ObjectBytes, PlannedValue)>),
    Array(Box<ArrayNode>),
    Settings(Vec<(String, SettingValue)>),
}

/// An array with properties that few arrays have.
pub struct ArrayNode {
    placed: ArrayLayout,
    names: Vec<String>,
    unit: Option<String>,
}

/// Bytes of an immutable Python object, which is kept with them.
pub struct ObjectBytes {
    _owner: Py<PyAny>,
    start: *const u8,
    len: usize,
}

// SAFETY: the bytes belong to an immutable object that `_owner` keeps.
unsafe impl Send for ObjectBytes {}
// SAFETY: as above.
unsafe impl Sync for ObjectBytes {}

impl ObjectBytes {
    fn text(object: &Bound<'_, PyString>) -> Result<ObjectBytes, UnsendableValue> {
        let Ok(text) = object.to_str() else {
            let what = said!(CANNOT_BE_SENT, "a str that is no text, {},", object.repr()?);
            return Err(unfit_but(
                what,
                "bytes, os.fsencode(data), or text, data.encode(\"utf-8\", \"replace\").decode()",
            ));
        };
        Ok(ObjectBytes { start: text.as_ptr(), len: text.len(), _owner: object.clone().into_any().unbind() })
    }

    fn bytes(object: &Bound<'_, PyBytes>) -> ObjectBytes {
        let bytes = object.as_bytes();
        ObjectBytes { start: bytes.as_ptr(), len: bytes.len(), _owner: object.clone().into_any().unbind() }
    }

    fn as_bytes(&self) -> &[u8] {
        // SAFETY: see `Send`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    fn as_str(&self) -> &str {
        // SAFETY: only asked of what `text` made.
        unsafe { std::str::from_utf8_unchecked(self.as_bytes()) }
    }
}

impl PlannedValue {
    /// Reads a Python value that is to be sent on a port.
    ///
    /// # Errors
    /// `UnsendableError`, with the place in the value, for what a message cannot hold, and what to send
    /// instead.
    pub fn new(object: &Bound<'_, PyAny>, port: &str) -> PyResult<PlannedValue> {
        PlannedValue::within(object, &format!("on port \"{port}\""))
    }

    /// Reads a Python value that is to be sent in another way, which errors name.
    ///
    /// # Errors
    /// As `new`.
    pub fn within(object: &Bound<'_, PyAny>, how: &str) -> PyResult<PlannedValue> {
        node(object, 0).map_err(|error| match error {
            UnsendableValue::Raised(error) => error,
            UnsendableValue::Unfit { at, what, instead } => raise(
                object.py(),
                "UnsendableError",
                fault!(
                    CANNOT_BE_SENT,
                    "{what} cannot be sent {how}{}{}; a message holds None, bool, int (64 bits), float, \
                     complex, str, bytes, lists, dicts with str keys, Settings, and NumPy arrays of numbers or \
                     truth values",
                    if at.is_empty() { String::new() } else { format!(" (it stands at data{at})") },
                    instead.map_or(String::new(), |instead| format!(": send {instead}"))
                ),
            ),
        })
    }

    /// Returns the value in the core's form.
    pub fn as_value(&self) -> ValueRef<'_> {
        match self {
            PlannedValue::None => ValueRef::None,
            PlannedValue::Bool(value) => ValueRef::Bool(*value),
            PlannedValue::Int(value) => ValueRef::Int(*value),
            PlannedValue::UInt(value) => ValueRef::UInt(*value),
            PlannedValue::Float(value) => ValueRef::Float(*value),
            PlannedValue::Complex(re, im) => ValueRef::Complex(*re, *im),
            PlannedValue::Text(text) => ValueRef::Str(text.as_str()),
            PlannedValue::Bytes(bytes) => ValueRef::Bytes(bytes.as_bytes()),
            PlannedValue::Copied(bytes) => ValueRef::Bytes(bytes),
            PlannedValue::List(items) => ValueRef::Items(items.iter().map(PlannedValue::as_value).collect()),
            PlannedValue::Map(entries) => {
                ValueRef::Entries(entries.iter().map(|(key, value)| (key.as_str(), value.as_value())).collect())
            }
            PlannedValue::Array(array) => ValueRef::Array(ArrayRef {
                dtype: array.placed.dtype,
                shape: array.placed.shape(),
                strides: array.placed.strides(),
                order: array.placed.order,
                data: array.placed.data(),
                offset: array.placed.offset,
                names: &array.names,
                unit: array.unit.as_deref(),
            }),
            PlannedValue::Settings(entries) => ValueRef::Settings(entries),
        }
    }
}

/// The reason why a value cannot be sent.
enum UnsendableValue {
    Raised(PyErr),
    Unfit { at: String, what: String, instead: Option<&'static str> },
}

impl From<PyErr> for UnsendableValue {
    fn from(error: PyErr) -> UnsendableValue {
        UnsendableValue::Raised(error)
    }
}

impl UnsendableValue {
    /// Adds the place in the list or map.
    fn inside(self, place: impl FnOnce() -> String) -> UnsendableValue {
        match self {
            UnsendableValue::Unfit { at, what, instead } => {
                UnsendableValue::Unfit { at: place() + &at, what, instead }
            }
            raised => raised,
        }
    }
}

fn unfit(what: impl Into<String>) -> UnsendableValue {
    UnsendableValue::Unfit { at: String::new(), what: what.into(), instead: None }
}

/// Adds what can be sent instead.
fn unfit_but(what: impl Into<String>, instead: &'static str) -> UnsendableValue {
    UnsendableValue::Unfit { at: String::new(), what: what.into(), instead: Some(instead) }
}

/// Returns what can be sent instead of an object of this class, or of an array of this dtype, if that is known.
fn instead_of(name: &str) -> Option<&'static str> {
    const REPLACEMENTS: [(&[&str], &str); 13] = [
        (&["Series", "Index"], "data.to_numpy(), of a dtype of numbers"),
        (&["set", "frozenset"], "a list, sorted(data)"),
        (&["datetime", "date", "time"], "text, data.isoformat(), or seconds, data.timestamp()"),
        (&["timedelta"], "seconds, data.total_seconds()"),
        (&["Timestamp"], "text, data.isoformat(), or seconds, data.timestamp()"),
        (&["Decimal", "Fraction"], "float(data), or text, str(data)"),
        (&["PosixPath", "WindowsPath", "Path", "UUID"], "text, str(data)"),
        (&["generator", "range", "map", "filter", "zip", "deque", "dict_keys", "dict_values"], "list(data)"),
        (&["function", "builtin_function_or_method", "method"], "what it gives, by calling it"),
        (
            &["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array"],
            "the arrays it is made of, such as {\"data\": a.data, \"indices\": a.indices, \"indptr\": \
             a.indptr}",
        ),
        (&["dtype object"], "an array of numbers, data.astype(float), or a list, data.tolist()"),
        (&["dtype <U", "dtype |S", "dtype >U", "dtype StringDType"], "a list of texts, data.tolist()"),
        (&["dtype datetime64", "dtype timedelta64"], "integers, data.astype(\"int64\"), and say in which unit"),
    ];
    let fits = |known: &&str| if known.starts_with("dtype") { name.starts_with(known) } else { name == *known };
    REPLACEMENTS.iter().find(|(names, _)| names.iter().any(&fits)).map(|(_, instead)| *instead)
}

fn node(object: &Bound<'_, PyAny>, depth: usize) -> Result<PlannedValue, UnsendableValue> {
    // The most common classes come first, and are compared exactly. NumPy is used only if the value may be an
    // array.
    if object.is_none() {
        return Ok(PlannedValue::None);
    }
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(PlannedValue::Float(value.value()));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(PlannedValue::Bool(value.is_true()));
    }
    if let Ok(value) = object.cast::<PyInt>() {
        return integer(value);
    }
    if let Ok(value) = object.cast::<PyString>() {
        return Ok(PlannedValue::Text(ObjectBytes::text(value)?));
    }
    if let Ok(value) = object.cast::<PyBytes>() {
        return Ok(PlannedValue::Bytes(ObjectBytes::bytes(value)));
    }
    if let Ok(items) = object.cast::<PyList>() {
        return list(items.iter(), depth);
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return list(items.iter(), depth);
    }
    if let Ok(entries) = object.cast::<PyDict>() {
        return map(entries.iter(), depth);
    }
    if kind(object) != ArrayKind::Other {
        return array(object, Vec::new(), None);
    }
    other(object, depth)
}

fn integer(value: &Bound<'_, PyInt>) -> Result<PlannedValue, UnsendableValue> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(PlannedValue::Int(value));
    }
    match value.extract::<u64>() {
        Ok(value) => Ok(PlannedValue::UInt(value)),
        Err(_) => Err(unfit(said!(CANNOT_BE_SENT, "an int that does not fit 64 bits"))),
    }
}

fn deeper(depth: usize) -> Result<usize, UnsendableValue> {
    if depth >= MAX_DEPTH {
        return Err(unfit(said!(
            CANNOT_BE_SENT,
            "a value inside more than {MAX_DEPTH} lists and dicts (does it hold itself?)"
        )));
    }
    Ok(depth + 1)
}

fn list<'py>(
    items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Result<PlannedValue, UnsendableValue> {
    let depth = deeper(depth)?;
    let mut nodes = Vec::with_capacity(items.len());
    for (index, item) in items.enumerate() {
        nodes.push(node(&item, depth).map_err(|refused| refused.inside(|| format!("[{index}]")))?);
    }
    Ok(PlannedValue::List(nodes))
}

fn map<'py>(
    entries: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    depth: usize,
) -> Result<PlannedValue, UnsendableValue> {
    let depth = deeper(depth)?;
    let mut nodes = Vec::new();
    for (key, value) in entries {
        let Ok(name) = key.cast::<PyString>() else {
            let what = said!(CANNOT_BE_SENT, "a dict with a key of type {}", class_name(&key));
            return Err(unfit_but(
                what,
                "one with texts as keys, {str(key): value for key, value in data.items()}",
            ));
        };
        let value = node(&value, depth).map_err(|refused| refused.inside(|| format!("[{name:?}]")))?;
        let key = ObjectBytes::text(name).map_err(|refused| refused.inside(|| format!("[{name:?}]")))?;
        nodes.push((key, value));
    }
    Ok(PlannedValue::Map(nodes))
}

fn array(
    object: &Bound<'_, PyAny>,
    names: Vec<String>,
    unit: Option<String>,
) -> Result<PlannedValue, UnsendableValue> {
    if kind(object) == ArrayKind::Derived {
        if let Some((what, instead)) = what_is_lost(object)? {
            return Err(unfit_but(what, instead));
        }
    }
    match ArrayLayout::of(object) {
        Ok(placed) => Ok(PlannedValue::Array(Box::new(ArrayNode { placed, names, unit }))),
        Err(UnreadableArray::Unfit(what)) => {
            let instead = what.find("dtype ").and_then(|at| instead_of(&what[at..]));
            Err(UnsendableValue::Unfit { at: String::new(), what, instead })
        }
        Err(UnreadableArray::Swapped) => {
            let native = object.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
            array(&object.call_method1("astype", (native,))?, names, unit)
        }
    }
}

/// Less common classes.
fn other(object: &Bound<'_, PyAny>, depth: usize) -> Result<PlannedValue, UnsendableValue> {
    let py = object.py();
    if let Ok(named) = object.cast::<Array>() {
        let named = named.get();
        return array(named.array.bind(py), named.names.clone(), named.unit.clone());
    }
    if let Ok(settings) = object.cast::<Settings>() {
        return Ok(PlannedValue::Settings(settings.try_borrow().map_err(PyErr::from)?.to_wire()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(PlannedValue::Float(value.value()));
    }
    if let Ok(value) = object.cast::<PyComplex>() {
        return Ok(PlannedValue::Complex(value.real(), value.imag()));
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        // A view of other elements than bytes is an array.
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            if buffer.dimensions() == 1 {
                return Ok(PlannedValue::Copied(buffer.to_vec(py)?));
            }
        }
    }
    if object.is_instance_of::<Loan>() {
        return Err(unfit(said!(CANNOT_BE_SENT, "a loan inside something else (send it as the data itself)")));
    }
    let numpy = PyModule::import(py, intern!(py, "numpy"))?;
    if object.is_instance(&numpy.getattr(intern!(py, "generic"))?)? {
        let item = object.call_method0(intern!(py, "item"))?;
        if !item.get_type().is(object.get_type()) {
            return node(&item, depth);
        }
    } else if let Some((what, instead)) = what_is_lost(object)? {
        return Err(unfit_but(what, instead));
    } else if object.hasattr(intern!(py, "__array__"))? {
        return array(&numpy.call_method1(intern!(py, "asarray"), (object,))?, Vec::new(), None);
    } else if let Ok(mapping) = object.cast::<PyMapping>() {
        let items = mapping.items()?;
        let pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = items.extract()?;
        return map(pairs.into_iter(), depth);
    } else if let Some(over) = over_others(object)? {
        return array(&over, Vec::new(), None);
    }
    let name = class_name(object);
    let instead = if object.hasattr(intern!(py, "__dataclass_fields__"))? {
        Some("a dict, dataclasses.asdict(data)")
    } else {
        instead_of(&name)
    };
    Err(UnsendableValue::Unfit { at: String::new(), what: format!("a value of type {name}"), instead })
}

fn class_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string())
}
