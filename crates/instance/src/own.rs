//! Filters that users have written: functions in shared libraries (`ligament_filter.h`), and functions in
//! Python if this process runs Python. The Python binding registers an [`Interpreter`], which makes the
//! Python filters.

use crate::sys;
use ligament_catalogue::{fault, Fault};
use ligament_filters::{ArrayView, Data, FilterRemark, FilterStep, Parcel, StepOutput};
use ligament_model::{Filter, LIBRARY};
use ligament_wire::times::ShownTime;
use ligament_wire::{Array, ArrayOrder, Bytes, DType, Value};
use std::ffi::CString;
use std::sync::OnceLock;

/// Finds and makes the filters that are written in the language of an interpreter.
pub trait Interpreter: Send + Sync {
    /// Checks that the function of a filter exists.
    ///
    /// # Errors
    /// The reason why the function cannot be used.
    fn find(&self, filter: &Filter) -> Result<(), Fault>;

    /// Makes a filter for one slot of a conduit.
    ///
    /// # Errors
    /// The reason why the filter cannot be made.
    fn make(&self, filter: &Filter) -> Result<Box<dyn FilterStep>, Fault>;
}

static PYTHON: OnceLock<Box<dyn Interpreter>> = OnceLock::new();

/// Registers the interpreter of a process that runs Python. From then on, it runs the filters that are
/// Python functions.
pub fn run_python_filters_by(interpreter: Box<dyn Interpreter>) {
    let _ = PYTHON.set(interpreter);
}

fn python() -> Result<&'static dyn Interpreter, Fault> {
    PYTHON.get().map(|interpreter| &**interpreter).ok_or_else(|| {
        fault!(
            FILTER_FAILED,
            "a filter of Python's runs in a Python program, and this end of the conduit is none; let it run at \
             the other end (\"at: sender\", \"at: receiver\"), or write it in C, C++, Fortran or Rust \
             (\"library\")"
        )
    })
}

/// Checks that the function of a user's filter exists.
///
/// # Errors
/// The reason why the function cannot be used.
pub(crate) fn find(filter: &Filter) -> Result<(), Fault> {
    if filter.name == LIBRARY {
        function(filter).map(drop)
    } else {
        python()?.find(filter)
    }
}

/// Makes a user's filter for one slot of a conduit. `whose` names the filter and its conduit, for errors.
///
/// # Errors
/// The reason why the filter cannot be made.
pub(crate) fn make(filter: &Filter, whose: &str) -> Result<Box<dyn FilterStep>, Fault> {
    if filter.name != LIBRARY {
        return python()?.make(filter);
    }
    let text = |name: &str| filter.text(name).unwrap_or_default();
    let with = c_text(text("with"))?;
    let whose = format!("error: {whose}: the function \"{}\" of {} crashed", text("function"), text("file"));
    Ok(Box::new(Library { function: function(filter)?, with, state: sys::FilterState::NONE, whose }))
}

fn c_text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| fault!(FILTER_FAILED, "{text:?} has a NUL in it"))
}

/// Loads the function that a filter names from its shared library. Libraries stay loaded.
fn function(filter: &Filter) -> Result<sys::FilterFunction, Fault> {
    let (file, name) = (filter.text("file").unwrap_or_default(), filter.text("function").unwrap_or_default());
    sys::filter_function(&c_text(file)?, &c_text(name)?)
        .map_err(|why| fault!(FILTER_FAILED, "the function \"{name}\" of {file} cannot be had: {}", why.0))
}

/// A filter on one slot whose function is in a shared library.
struct Library {
    function: sys::FilterFunction,
    with: CString,
    state: sys::FilterState,
    whose: String,
}

/// The data of one message that a function gets.
pub(crate) struct Elements<'a> {
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    pub dtype: DType,
    pub order: ArrayOrder,
    pub shape: &'a [u64],
    pub data: &'a [u8],
}

/// A message that a function has sent on.
pub(crate) struct FilterOutput {
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    pub dtype: DType,
    pub order: ArrayOrder,
    pub shape: Vec<u64>,
    pub data: WordBuffer,
}

/// Memory for elements. It consists of whole words, so that it is aligned for every type.
pub(crate) struct WordBuffer {
    pub words: Vec<u64>,
    pub bytes: usize,
}

impl AsRef<[u8]> for WordBuffer {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

impl FilterOutput {
    fn into_parcel(self) -> Result<Parcel<'static>, Fault> {
        let FilterOutput { timestamp, next_timestamp, dtype, order, shape, data } = self;
        let bytes = match data.bytes {
            0 => Bytes::new(),
            _ => Bytes::from_owner(data),
        };
        let array =
            Array::new(dtype, &shape, order, bytes, None).map_err(|error| fault!(FILTER_FAILED, "{error}"))?;
        let value = if shape.is_empty() { number(&array) } else { Value::Array(array) };
        Ok(Parcel { timestamp, next_timestamp, data: Data::Kept(value) })
    }
}

/// Returns the only element of an array without dimensions as a plain number.
fn number(array: &Array) -> Value {
    let bytes: &[u8] = array.data();
    let eight = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).unwrap_or_default();
    let four = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).unwrap_or_default();
    let two = |bytes: &[u8]| <[u8; 2]>::try_from(bytes).unwrap_or_default();
    let double = |bytes: &[u8]| f64::from_ne_bytes(eight(bytes));
    let single = |bytes: &[u8]| f64::from(f32::from_ne_bytes(four(bytes)));
    match array.dtype() {
        DType::Bool => Value::Bool(bytes[0] != 0),
        DType::Int8 => Value::Int(i64::from(bytes[0] as i8)),
        DType::Int16 => Value::Int(i64::from(i16::from_ne_bytes(two(bytes)))),
        DType::Int32 => Value::Int(i64::from(i32::from_ne_bytes(four(bytes)))),
        DType::Int64 => Value::Int(i64::from_ne_bytes(eight(bytes))),
        DType::UInt8 => Value::Int(i64::from(bytes[0])),
        DType::UInt16 => Value::Int(i64::from(u16::from_ne_bytes(two(bytes)))),
        DType::UInt32 => Value::Int(i64::from(u32::from_ne_bytes(four(bytes)))),
        DType::UInt64 => {
            let number = u64::from_ne_bytes(eight(bytes));
            i64::try_from(number).map_or(Value::UInt(number), Value::Int)
        }
        DType::Float32 => Value::Float(single(bytes)),
        DType::Float64 => Value::Float(double(bytes)),
        DType::Complex64 => Value::Complex(single(&bytes[..4]), single(&bytes[4..])),
        DType::Complex128 => Value::Complex(double(&bytes[..8]), double(&bytes[8..])),
    }
}

/// Returns the type and the bytes of a plain number, as a function gets them.
fn bytes_of_number(value: &Value) -> Option<(DType, Vec<u8>)> {
    Some(match value {
        Value::Bool(truth) => (DType::Bool, vec![u8::from(*truth)]),
        Value::Int(number) => (DType::Int64, number.to_ne_bytes().to_vec()),
        Value::UInt(number) => (DType::UInt64, number.to_ne_bytes().to_vec()),
        Value::Float(number) => (DType::Float64, number.to_ne_bytes().to_vec()),
        Value::Complex(re, im) => (DType::Complex128, [re.to_ne_bytes(), im.to_ne_bytes()].concat()),
        _ => return None,
    })
}

impl Library {
    fn call(&mut self, given: Option<&Elements<'_>>) -> Result<Vec<Parcel<'static>>, Fault> {
        let time =
            given.map(|given| format!(", at message time {}", ShownTime(given.timestamp))).unwrap_or_default();
        let note = format!("{}{time}\n", self.whose);
        let made = sys::call_filter(self.function, &self.with, &mut self.state, given, &note)?;
        made.into_iter().map(FilterOutput::into_parcel).collect()
    }

    fn over(&mut self, times: (f64, Option<f64>), view: &ArrayView<'_>) -> Result<Vec<Parcel<'static>>, Fault> {
        let (timestamp, next_timestamp) = times;
        let (dtype, order, shape) = (view.dtype, view.order, &view.shape[..]);
        let mut with =
            |data: &[u8]| self.call(Some(&Elements { timestamp, next_timestamp, dtype, order, shape, data }));
        // The vector's elements have the size of the array's elements, or of one part of a complex number,
        // so that the data is aligned for the function.
        match dtype {
            DType::Complex64 => with(bytemuck::cast_slice(&view.elements::<u32>()?)),
            _ if dtype.size() == 1 => with(&view.elements::<u8>()?),
            _ if dtype.size() == 2 => with(bytemuck::cast_slice(&view.elements::<u16>()?)),
            _ if dtype.size() == 4 => with(bytemuck::cast_slice(&view.elements::<u32>()?)),
            _ => with(bytemuck::cast_slice(&view.elements::<u64>()?)),
        }
    }
}

impl FilterStep for Library {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let times = (parcel.timestamp, parcel.next_timestamp);
        let made = match parcel.data {
            Data::Lent(view) => self.over(times, &view)?,
            other => match other.into_value()? {
                Value::Array(array) => self.over(times, &ArrayView::from(&array))?,
                value => {
                    let Some((dtype, bytes)) = bytes_of_number(&value) else {
                        let what = crate::message::kind_of(&value);
                        return Err(fault!(FILTER_FAILED, "it takes numbers and arrays, and this is {what}"));
                    };
                    let mut words = [0u64; 2];
                    let data: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[..bytes.len()];
                    data.copy_from_slice(&bytes);
                    let (timestamp, next_timestamp) = times;
                    let order = ArrayOrder::RowMajor;
                    self.call(Some(&Elements { timestamp, next_timestamp, dtype, order, shape: &[], data }))?
                }
            },
        };
        Ok(StepOutput::Many(made))
    }

    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        self.call(None).map(StepOutput::Many)
    }
}
