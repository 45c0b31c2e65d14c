//! Python's values on their way into a message: first into a tree that owns or keeps what it points to, so that the
//! interpreter can be let go while the message is stored, then into the core's borrowed form.

use crate::array::{kind, over_others, what_is_lost, Array, ArrayKind, NotPlaced, Placed};
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

/// A value ready to be stored.
pub enum Node {
    None,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Complex(f64, f64),
    Text(ObjectBytes),
    Bytes(ObjectBytes),
    Copied(Vec<u8>),
    List(Vec<Node>),
    Map(Vec<(ObjectBytes, Node)>),
    Array(Box<ArrayNode>),
    Settings(Vec<(String, SettingValue)>),
}

/// An array with what few arrays have.
pub struct ArrayNode {
    placed: Placed,
    names: Vec<String>,
    unit: Option<String>,
}

/// Bytes inside an immutable Python object, which is kept with them.
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
    fn text(object: &Bound<'_, PyString>) -> Result<ObjectBytes, Refused> {
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

impl Node {
    /// Takes a Python value, to be sent on a port.
    ///
    /// # Errors
    /// `UnsendableError`, with the place in the value, for what a message cannot hold, and what to send instead.
    pub fn new(object: &Bound<'_, PyAny>, port: &str) -> PyResult<Node> {
        Node::within(object, &format!("on port \"{port}\""))
    }

    /// Takes a Python value, to be sent on in another way, which errors name.
    ///
    /// # Errors
    /// As `new`.
    pub fn within(object: &Bound<'_, PyAny>, how: &str) -> PyResult<Node> {
        node(object, 0).map_err(|error| match error {
            Refused::Raised(error) => error,
            Refused::Unfit { at, what, instead } => raise(
                object.py(),
                "UnsendableError",
                fault!(
                    CANNOT_BE_SENT,
                    "{what} cannot be sent {how}{}{}; a message holds None, bool, int (64 bits), float, complex, str, bytes, \
                     lists, dicts with str keys, Settings, and NumPy arrays of numbers or truth values",
                    if at.is_empty() { String::new() } else { format!(" (it stands at data{at})") },
                    instead.map_or(String::new(), |instead| format!(": send {instead}"))
                ),
            ),
        })
    }

    /// The value in the core's form.
    pub fn as_value(&self) -> ValueRef<'_> {
        match self {
            Node::None => ValueRef::None,
            Node::Bool(value) => ValueRef::Bool(*value),
            Node::Int(value) => ValueRef::Int(*value),
            Node::UInt(value) => ValueRef::UInt(*value),
            Node::Float(value) => ValueRef::Float(*value),
            Node::Complex(re, im) => ValueRef::Complex(*re, *im),
            Node::Text(text) => ValueRef::Str(text.as_str()),
            Node::Bytes(bytes) => ValueRef::Bytes(bytes.as_bytes()),
            Node::Copied(bytes) => ValueRef::Bytes(bytes),
            Node::List(items) => ValueRef::Items(items.iter().map(Node::as_value).collect()),
            Node::Map(entries) => {
                ValueRef::Entries(entries.iter().map(|(key, value)| (key.as_str(), value.as_value())).collect())
            }
            Node::Array(array) => ValueRef::Array(ArrayRef {
                dtype: array.placed.dtype,
                shape: array.placed.shape(),
                strides: array.placed.strides(),
                order: array.placed.order,
                data: array.placed.data(),
                offset: array.placed.offset,
                names: &array.names,
                unit: array.unit.as_deref(),
            }),
            Node::Settings(entries) => ValueRef::Settings(entries),
        }
    }
}

/// Why a value cannot be taken.
enum Refused {
    Raised(PyErr),
    Unfit { at: String, what: String, instead: Option<&'static str> },
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Refused {
        Refused::Raised(error)
    }
}

impl Refused {
    /// Says where in a list or map the value stands.
    fn inside(self, place: impl FnOnce() -> String) -> Refused {
        match self {
            Refused::Unfit { at, what, instead } => Refused::Unfit { at: place() + &at, what, instead },
            raised => raised,
        }
    }
}

fn unfit(what: impl Into<String>) -> Refused {
    Refused::Unfit { at: String::new(), what: what.into(), instead: None }
}

/// The same, with what can be sent in its place.
fn unfit_but(what: impl Into<String>, instead: &'static str) -> Refused {
    Refused::Unfit { at: String::new(), what: what.into(), instead: Some(instead) }
}

/// What can be sent in place of an object of this class, or of an array of this dtype, as far as that is known.
fn instead_of(name: &str) -> Option<&'static str> {
    const KNOWN: [(&[&str], &str); 13] = [
        (&["Series", "Index"], "data.to_numpy(), of a dtype of numbers"),
        (&["set", "frozenset"], "a list, sorted(data)"),
        (&["datetime", "date", "time"], "text, data.isoformat(), or seconds, data.timestamp()"),
        (&["timedelta"], "seconds, data.total_seconds()"),
        (&["Timestamp"], "text, data.isoformat(), or seconds, data.timestamp()"),
        (&["Decimal", "Fraction"], "float(data), or text, str(data)"),
        (&["PosixPath", "WindowsPath", "Path", "UUID"], "text, str(data)"),
        (&["generator", "range", "map", "filter", "zip", "deque", "dict_keys", "dict_values"], "list(data)"),
        (&["function", "builtin_function_or_method", "method"], "what it gives, by calling it"),
        (&["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array"], "the arrays it is made of, such as {\"data\": a.data, \"indices\": a.indices, \"indptr\": a.indptr}"),
        (&["dtype object"], "an array of numbers, data.astype(float), or a list, data.tolist()"),
        (&["dtype <U", "dtype |S", "dtype >U", "dtype StringDType"], "a list of texts, data.tolist()"),
        (&["dtype datetime64", "dtype timedelta64"], "integers, data.astype(\"int64\"), and say in which unit"),
    ];
    let fits = |known: &&str| if known.starts_with("dtype") { name.starts_with(known) } else { name == *known };
    KNOWN.iter().find(|(names, _)| names.iter().any(&fits)).map(|(_, instead)| *instead)
}

fn node(object: &Bound<'_, PyAny>, depth: usize) -> Result<Node, Refused> {
    // The commonest first, by their exact class; NumPy is not touched before a value may be an array.
    if object.is_none() {
        return Ok(Node::None);
    }
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(Node::Float(value.value()));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Node::Bool(value.is_true()));
    }
    if let Ok(value) = object.cast::<PyInt>() {
        return integer(value);
    }
    if let Ok(value) = object.cast::<PyString>() {
        return Ok(Node::Text(ObjectBytes::text(value)?));
    }
    if let Ok(value) = object.cast::<PyBytes>() {
        return Ok(Node::Bytes(ObjectBytes::bytes(value)));
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

fn integer(value: &Bound<'_, PyInt>) -> Result<Node, Refused> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(Node::Int(value));
    }
    match value.extract::<u64>() {
        Ok(value) => Ok(Node::UInt(value)),
        Err(_) => Err(unfit(said!(CANNOT_BE_SENT, "an int that does not fit 64 bits"))),
    }
}

fn deeper(depth: usize) -> Result<usize, Refused> {
    if depth >= MAX_DEPTH {
        return Err(unfit(said!(
            CANNOT_BE_SENT,
            "a value inside more than {MAX_DEPTH} lists and dicts (does it hold itself?)"
        )));
    }
    Ok(depth + 1)
}

fn list<'py>(items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>, depth: usize) -> Result<Node, Refused> {
    let depth = deeper(depth)?;
    let mut nodes = Vec::with_capacity(items.len());
    for (index, item) in items.enumerate() {
        nodes.push(node(&item, depth).map_err(|refused| refused.inside(|| format!("[{index}]")))?);
    }
    Ok(Node::List(nodes))
}

fn map<'py>(
    entries: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    depth: usize,
) -> Result<Node, Refused> {
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
    Ok(Node::Map(nodes))
}

fn array(object: &Bound<'_, PyAny>, names: Vec<String>, unit: Option<String>) -> Result<Node, Refused> {
    if kind(object) == ArrayKind::Derived {
        if let Some((what, instead)) = what_is_lost(object)? {
            return Err(unfit_but(what, instead));
        }
    }
    match Placed::of(object) {
        Ok(placed) => Ok(Node::Array(Box::new(ArrayNode { placed, names, unit }))),
        Err(NotPlaced::Unfit(what)) => {
            let instead = what.find("dtype ").and_then(|at| instead_of(&what[at..]));
            Err(Refused::Unfit { at: String::new(), what, instead })
        }
        Err(NotPlaced::Swapped) => {
            let native = object.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
            array(&object.call_method1("astype", (native,))?, names, unit)
        }
    }
}

/// The rarer classes.
fn other(object: &Bound<'_, PyAny>, depth: usize) -> Result<Node, Refused> {
    let py = object.py();
    if let Ok(named) = object.cast::<Array>() {
        let named = named.get();
        return array(named.array.bind(py), named.names.clone(), named.unit.clone());
    }
    if let Ok(settings) = object.cast::<Settings>() {
        return Ok(Node::Settings(settings.try_borrow().map_err(PyErr::from)?.to_wire()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Node::Float(value.value()));
    }
    if let Ok(value) = object.cast::<PyComplex>() {
        return Ok(Node::Complex(value.real(), value.imag()));
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        // A view of other elements than bytes is an array.
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            if buffer.dimensions() == 1 {
                return Ok(Node::Copied(buffer.to_vec(py)?));
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
    Err(Refused::Unfit { at: String::new(), what: format!("a value of type {name}"), instead })
}

fn class_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string())
}
