//! Filters of conduits that are Python functions: `python: module:function` in a model.

use crate::from_wire::to_python;
use crate::message::Message;
use crate::to_wire::PlannedValue;
use ligament_catalogue::{fault, Fault};
use ligament_filters::{Data, FilterMemory, FilterRemark, FilterStep, Memory, Parcel, StepOutput};
use ligament_instance::{run_python_filters_by, Interpreter, Origin};
use ligament_model::Filter;
use ligament_wire::Value;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::atomic::{AtomicBool, Ordering};

/// Registers this process's interpreter for the filters of its conduits.
pub fn run_here() {
    run_python_filters_by(Box::new(PythonFilter));
}

struct PythonFilter;

/// Returns the fault for an exception of Python.
fn raised(py: Python<'_>, error: &PyErr) -> Fault {
    let described = PyModule::import(py, "ligament._logging").and_then(|module| {
        module.getattr("describe")?.call1((error.clone_ref(py).into_value(py),))?.extract::<String>()
    });
    fault!(FILTER_FAILED, "{}", described.unwrap_or_else(|_| error.to_string()))
}

fn found<'py>(py: Python<'py>, filter: &Filter) -> Result<Bound<'py, PyAny>, Fault> {
    let text = filter.text("function").unwrap_or_default();
    let (module, name) = text.split_once(':').unwrap_or((text, ""));
    let function = (|| -> PyResult<Bound<'py, PyAny>> {
        let mut found = PyModule::import(py, module)?.into_any();
        for part in name.split('.') {
            found = found.getattr(part)?;
        }
        Ok(found)
    })();
    let function = function.map_err(|error| raised(py, &error))?;
    if function.is_callable() {
        Ok(function)
    } else {
        Err(fault!(FILTER_FAILED, "\"{text}\" is no function and no class"))
    }
}

/// Returns true if a conduit of this process has a filter written in Python.
static IN_USE: AtomicBool = AtomicBool::new(false);

pub(crate) fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

impl Interpreter for PythonFilter {
    fn find(&self, filter: &Filter) -> Result<Option<Fault>, Fault> {
        IN_USE.store(true, Ordering::Relaxed);
        Python::attach(|py| {
            let found = found(py, filter)?;
            let has = |name: &str| found.getattr(name).is_ok_and(|method| method.is_callable());
            let is_saved = !found.is_instance_of::<PyType>() || (has(STATE) && has(RESTORE));
            Ok((!is_saved).then(|| fault!(CHECKPOINT_UNSUPPORTED, "{}", why_hidden(filter))))
        })
    }

    fn make(&self, filter: &Filter) -> Result<Box<dyn FilterStep>, Fault> {
        Python::attach(|py| {
            let found = found(py, filter)?;
            let mut with = filter.text("with").map(str::to_owned);
            let call = match (found.cast::<PyType>(), with.take_if(|_| found.is_instance_of::<PyType>())) {
                // Each slot has an object of its own, because the object may remember earlier messages.
                (Ok(class), Some(with)) => class.call1((with,)).map_err(|error| raised(py, &error))?,
                (Ok(class), None) => class.call0().map_err(|error| raised(py, &error))?,
                (Err(_), _) => found.clone(),
            };
            let method = |name: &str| {
                let method = call.getattr(name).ok().filter(|method| method.is_callable());
                method.map(Bound::unbind)
            };
            let memory = match (found.is_instance_of::<PyType>(), method(STATE), method(RESTORE)) {
                (false, ..) => FunctionMemory::None,
                (true, Some(state), Some(restore)) => FunctionMemory::Methods { state, restore },
                (true, ..) => FunctionMemory::Hidden(why_hidden(filter)),
            };
            let finish = method("finish");
            Ok(Box::new(Function { call: call.unbind(), finish, memory, with }) as Box<dyn FilterStep>)
        })
    }
}

/// Names of the methods by which an object says what it remembers, and gets it back.
const STATE: &str = "state";
const RESTORE: &str = "restore";

/// Returns the reason why a checkpoint cannot save the object of a class.
fn why_hidden(filter: &Filter) -> String {
    let class = filter.text("function").unwrap_or_default();
    format!(
        "the class \"{class}\" may remember earlier messages, which checkpoints cannot save; give it the \
         methods {STATE}() and {RESTORE}(state)"
    )
}

/// The memory of a function or object: what it keeps of earlier messages.
enum FunctionMemory {
    /// It is a function.
    None,
    /// It is an object with these methods.
    Methods { state: Py<PyAny>, restore: Py<PyAny> },
    /// It is an object without such methods.
    Hidden(String),
}

/// A function or object at work on one slot.
struct Function {
    call: Py<PyAny>,
    memory: FunctionMemory,
    /// The function that returns the messages that the filter still holds.
    finish: Option<Py<PyAny>>,
    with: Option<String>,
}

impl FilterStep for Function {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let Parcel { timestamp, next_timestamp, data } = parcel;
        let value = data.into_value()?;
        Python::attach(|py| {
            let given = (|| {
                let data = to_python(py, &value)?;
                let message =
                    Message { timestamp, next_timestamp, data, settings: None, origin: Origin::default() };
                let message = Bound::new(py, message)?;
                match &self.with {
                    Some(with) => self.call.bind(py).call1((message, with)),
                    None => self.call.bind(py).call1((message,)),
                }
            })();
            emitted(py, &given.map_err(|error| raised(py, &error))?)
        })
    }

    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        let Some(finish) = &self.finish else { return Ok(StepOutput::None) };
        Python::attach(|py| {
            let given = finish.bind(py).call0().map_err(|error| raised(py, &error))?;
            emitted(py, &given)
        })
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        match &self.memory {
            FunctionMemory::None => FilterMemory::None,
            FunctionMemory::Hidden(why) => FilterMemory::Hidden(why.clone()),
            FunctionMemory::Methods { .. } => FilterMemory::Some(self),
        }
    }
}

impl Memory for Function {
    fn state(&mut self) -> Result<Value, Fault> {
        let FunctionMemory::Methods { state, .. } = &self.memory else { return Ok(Value::None) };
        Python::attach(|py| {
            let state = state.bind(py).call0().map_err(|error| raised(py, &error))?;
            value_of(py, &state)
        })
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let FunctionMemory::Methods { restore, .. } = &self.memory else { return Ok(()) };
        Python::attach(|py| {
            let restored = to_python(py, state).and_then(|state| restore.bind(py).call1((state,)));
            restored.map(drop).map_err(|error| raised(py, &error))
        })
    }
}

/// Reads a value that a function has given. Arrays are copied, because the function may go on using them.
fn value_of(py: Python<'_>, data: &Bound<'_, PyAny>) -> Result<Value, Fault> {
    let node = PlannedValue::within(data, "by a filter").map_err(|error| raised(py, &error))?;
    Data::lent(&node.as_value()).map_err(|error| fault!(FILTER_FAILED, "{error}"))?.into_value()
}

/// Reads the result of a function: no message, one, or several.
fn emitted(py: Python<'_>, given: &Bound<'_, PyAny>) -> Result<StepOutput<'static>, Fault> {
    if given.is_none() {
        return Ok(StepOutput::None);
    }
    if let Ok(message) = given.cast::<Message>() {
        return parcel(message).map(StepOutput::One);
    }
    let wrong = |given: &Bound<'_, PyAny>| {
        let kind = given.get_type().name().map_or_else(|_| "another type".into(), |name| name.to_string());
        fault!(
            FILTER_FAILED,
            "the function gave something of type {kind}, and not a Message, several of them, or None"
        )
    };
    if given.is_instance_of::<PyString>() {
        return Err(wrong(given));
    }
    let Ok(several) = given.try_iter() else { return Err(wrong(given)) };
    let mut parcels = Vec::new();
    for one in several {
        let one = one.map_err(|error| raised(py, &error))?;
        parcels.push(parcel(one.cast::<Message>().map_err(|_| wrong(&one))?)?);
    }
    Ok(StepOutput::Many(parcels))
}

/// Reads a message of a function's result. Arrays are copied, because the function may go on using them.
fn parcel(message: &Bound<'_, Message>) -> Result<Parcel<'static>, Fault> {
    let py = message.py();
    let (timestamp, next_timestamp, data, settings) = {
        let message = message.borrow();
        let settings = message.settings.is_some();
        (message.timestamp, message.next_timestamp, message.data.clone_ref(py).into_bound(py), settings)
    };
    if settings {
        return Err(fault!(
            FILTER_FAILED,
            "the function gave a message with settings; a message that a filter makes has the settings of the \
             one that came, so leave them out"
        ));
    }
    Ok(Parcel { timestamp, next_timestamp, data: Data::Kept(value_of(py, &data)?) })
}
