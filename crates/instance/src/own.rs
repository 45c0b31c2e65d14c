//! Filters that users have written: functions in shared libraries (`ligament_filter.h`), and functions in
//! Python if this process runs Python. The Python binding registers an [`Interpreter`], which makes the
//! Python filters.

use crate::checkpoint::values::{message_of_state, message_state};
use crate::message::Message;
use crate::sys;
use ligament_catalogue::{fault, Fault};
use ligament_filters::{ArrayView, Data, FilterMemory, FilterRemark, FilterStep, Memory, Parcel, StepOutput};
use ligament_model::{Filter, LIBRARY};
use ligament_wire::times::ShownTime;
use ligament_wire::{Array, ArrayOrder, Bytes, DType, Value};
use std::ffi::CString;
use std::sync::OnceLock;

/// Finds and makes the filters that are written in the language of an interpreter.
pub trait Interpreter: Send + Sync {
    /// Checks that the function of a filter exists. Returns the reason why a checkpoint cannot save what it
    /// remembers, if there is one.
    ///
    /// # Errors
    /// The reason why the function cannot be used.
    fn find(&self, filter: &Filter) -> Result<Option<Fault>, Fault>;

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

/// Checks that the function of a user's filter exists. Returns the reason why a checkpoint cannot save what it
/// remembers, if that is known before the first message.
///
/// # Errors
/// The reason why the function cannot be used.
pub(crate) fn find(filter: &Filter) -> Result<Option<Fault>, Fault> {
    if filter.name == LIBRARY {
        function(filter, "")?;
        memory_functions(filter).map(|_| None)
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
    let (function, memory) = (function(filter, "")?, memory_functions(filter)?);
    let name = text("function").to_owned();
    Ok(Box::new(Library { function, name, memory, with, state: sys::FilterState::NONE, whose }))
}

fn c_text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| fault!(FILTER_FAILED, "{text:?} has a NUL in it"))
}

/// Suffixes of the functions that save and restore what a filter keeps in its `state`.
const STATE_SUFFIX: &str = "_state";
const RESTORE_SUFFIX: &str = "_restore";

/// Loads the function that a filter names from its shared library, or the one with this suffix. Libraries stay
/// loaded.
fn function(filter: &Filter, suffix: &str) -> Result<sys::FilterFunction, Fault> {
    let (file, name) = (filter.text("file").unwrap_or_default(), filter.text("function").unwrap_or_default());
    let name = format!("{name}{suffix}");
    sys::filter_function(&c_text(file)?, &c_text(&name)?)
        .map_err(|why| fault!(FILTER_FAILED, "the function \"{name}\" of {file} cannot be had: {}", why.0))
}

/// The functions that save and restore what a filter keeps in its `state`.
#[derive(Clone, Copy)]
struct MemoryFunctions {
    state: sys::FilterFunction,
    restore: sys::FilterFunction,
}

/// Returns the functions for the memory of a filter, if its library has them.
///
/// # Errors
/// The library has one of them only.
fn memory_functions(filter: &Filter) -> Result<Option<MemoryFunctions>, Fault> {
    match (function(filter, STATE_SUFFIX), function(filter, RESTORE_SUFFIX)) {
        (Ok(state), Ok(restore)) => Ok(Some(MemoryFunctions { state, restore })),
        (Err(_), Err(_)) => Ok(None),
        (Ok(_), Err(lacks)) | (Err(lacks), Ok(_)) => Err(lacks),
    }
}

/// A filter on one slot whose function is in a shared library.
struct Library {
    function: sys::FilterFunction,
    name: String,
    memory: Option<MemoryFunctions>,
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
    fn call(
        &mut self,
        function: sys::FilterFunction,
        given: Option<&Elements<'_>>,
    ) -> Result<Vec<Parcel<'static>>, Fault> {
        let time =
            given.map(|given| format!(", at message time {}", ShownTime(given.timestamp))).unwrap_or_default();
        let note = format!("{}{time}\n", self.whose);
        let made = sys::call_filter(function, &self.with, &mut self.state, given, &note)?;
        made.into_iter().map(FilterOutput::into_parcel).collect()
    }

    fn over(
        &mut self,
        function: sys::FilterFunction,
        times: (f64, Option<f64>),
        view: &ArrayView<'_>,
    ) -> Result<Vec<Parcel<'static>>, Fault> {
        let (timestamp, next_timestamp) = times;
        let (dtype, order, shape) = (view.dtype, view.order, &view.shape[..]);
        let mut with = |data: &[u8]| {
            self.call(function, Some(&Elements { timestamp, next_timestamp, dtype, order, shape, data }))
        };
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

impl Library {
    /// Calls a function with a message.
    fn give(
        &mut self,
        function: sys::FilterFunction,
        parcel: Parcel<'_>,
    ) -> Result<Vec<Parcel<'static>>, Fault> {
        let times = (parcel.timestamp, parcel.next_timestamp);
        Ok(match parcel.data {
            Data::Lent(view) => self.over(function, times, &view)?,
            other => match other.into_value()? {
                Value::Array(array) => self.over(function, times, &ArrayView::from(&array))?,
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
                    let elements = Elements { timestamp, next_timestamp, dtype, order, shape: &[], data };
                    self.call(function, Some(&elements))?
                }
            },
        })
    }
}

impl FilterStep for Library {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        self.give(self.function, parcel).map(StepOutput::Many)
    }

    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        self.call(self.function, None).map(StepOutput::Many)
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        if self.memory.is_some() {
            FilterMemory::Some(self)
        } else if self.state.is_none() {
            FilterMemory::None
        } else {
            let name = &self.name;
            FilterMemory::Hidden(format!(
                "the function \"{name}\" keeps something in its state, which checkpoints cannot save; write \
                 \"{name}{STATE_SUFFIX}\" and \"{name}{RESTORE_SUFFIX}\" beside it (ligament_filter.h)"
            ))
        }
    }
}

/// The messages that the function for the state sends on, which the other one gets back.
impl Memory for Library {
    fn state(&mut self) -> Result<Value, Fault> {
        let Some(MemoryFunctions { state, .. }) = self.memory else { return Ok(Value::None) };
        let made = self.call(state, None)?.into_iter().map(|parcel| {
            let Parcel { timestamp, next_timestamp, data } = parcel;
            let data = data.into_value()?;
            Ok(message_state(&Message { timestamp, next_timestamp, data, ..Message::default() }, &None))
        });
        made.collect::<Result<_, _>>().map(Value::List)
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let (Some(MemoryFunctions { restore, .. }), Value::List(made)) = (self.memory, state) else {
            return Err(fault!(CHECKPOINT_UNREADABLE, "what it remembered is of another form"));
        };
        for one in made {
            let Some((message, _)) = message_of_state(one) else { continue };
            let Message { timestamp, next_timestamp, data, .. } = message;
            self.give(restore, Parcel { timestamp, next_timestamp, data: Data::Kept(data) })?;
        }
        Ok(())
    }
}
