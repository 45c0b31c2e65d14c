//! Light components in Python: all instances of a program in one process. The core's scheduler calls their
//! functions.

use crate::core_handle::CoreHandle;
use crate::errors;
use crate::instance::{declared, flags_of, watch_signals, Instance};
use ligament_instance::{run_light_with, Error, Instance as Core, Submodel, SubmodelState};
use pyo3::prelude::*;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// An exception, while it passes through the core.
type PendingException = Arc<Mutex<Option<PyErr>>>;

/// One component: the submodel that Python made, and the instance that its functions get.
struct LightComponent {
    submodel: Py<PyAny>,
    instance: Py<PyAny>,
    raised: PendingException,
    /// True if the submodel has functions that save and restore its state.
    has_state: bool,
}

impl LightComponent {
    /// Calls a function of the submodel.
    fn call(&self, name: &str, core: &mut Core) -> Result<(), Error> {
        Python::attach(|py| {
            lent(py, &self.instance, core, || self.submodel.call_method1(py, name, (&self.instance,)))
                .map(|_| ())
                .map_err(|error| keep(py, error, &self.raised))
        })
    }
}

/// Lends the core's instance to the Python instance while `call` runs.
fn lent<T>(
    py: Python<'_>,
    instance: &Py<PyAny>,
    core: &mut Core,
    call: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let holder = instance.bind(py).cast::<Instance>()?.clone();
    holder.get().hold(py, CoreHandle::Lent(NonNull::from(core)));
    LENT_INSTANCE.set(Some(instance.clone_ref(py)));
    let mut loan = OnLoan { holder, over: false };
    let called = call();
    match loan.end() {
        // Another thread of the component was in a call when the function returned.
        Some(overlap) => called.and(Err(errors::instance(py, overlap))),
        None => called,
    }
}

/// Ends the loan of the core's instance when it is dropped, also after a panic.
struct OnLoan<'py> {
    holder: Bound<'py, Instance>,
    over: bool,
}

impl OnLoan<'_> {
    fn end(&mut self) -> Option<Error> {
        if std::mem::replace(&mut self.over, true) {
            return None;
        }
        LENT_INSTANCE.set(None);
        self.holder.get().hold(self.holder.py(), CoreHandle::Away)
    }
}

impl Drop for OnLoan<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

thread_local! {
    /// The instance whose function this thread runs.
    static LENT_INSTANCE: Cell<Option<Py<PyAny>>> = const { Cell::new(None) };
}

/// Returns the instance of the light component whose function is running; None outside of all functions.
#[pyfunction]
#[pyo3(name = "_lent_instance")]
pub fn lent_instance(py: Python<'_>) -> Option<Py<PyAny>> {
    let lent = LENT_INSTANCE.take();
    LENT_INSTANCE.set(lent.as_ref().map(|lent| lent.clone_ref(py)));
    lent
}

/// Stores an exception, to raise it again later, and returns its text.
fn keep(py: Python<'_>, error: PyErr, raised: &PendingException) -> Error {
    let describe = || -> PyResult<String> {
        // The exception as an object also has its traceback.
        let value = error.clone_ref(py).into_value(py);
        py.import("ligament._logging")?.call_method1("describe", (value,))?.extract()
    };
    let text = describe().unwrap_or_else(|_| error.to_string());
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    Error::Own(text)
}

impl Submodel for LightComponent {
    fn initialise(&mut self, core: &mut Core) -> Result<(), Error> {
        self.call("initialise", core)
    }

    fn is_done(&self) -> bool {
        Python::attach(|py| {
            let done = self.submodel.bind(py).call_method0("is_done").and_then(|done| done.is_truthy());
            done.unwrap_or_else(|error| {
                // The next function reports the exception.
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            })
        })
    }

    fn observe(&mut self, core: &mut Core) -> Result<(), Error> {
        self.call("observe", core)
    }

    fn solve(&mut self, core: &mut Core) -> Result<(), Error> {
        self.call("solve", core)
    }

    fn observe_final(&mut self, core: &mut Core) -> Result<(), Error> {
        let failed = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failed {
            Some(error) => Err(Python::attach(|py| keep(py, error, &self.raised))),
            None => self.call("observe_final", core),
        }
    }

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        if self.has_state {
            Some(self)
        } else {
            None
        }
    }

    /// Sinks that come with Ligament close their files.
    fn finish(&mut self, core: &mut Core) -> Result<(), Error> {
        let closes = Python::attach(|py| self.submodel.bind(py).hasattr("_ligament_finish").unwrap_or(false));
        if closes {
            self.call("_ligament_finish", core)
        } else {
            Ok(())
        }
    }
}

impl SubmodelState for LightComponent {
    fn model_time(&mut self) -> Result<f64, Error> {
        Python::attach(|py| {
            let time = self.submodel.call_method0(py, "model_time").and_then(|time| time.extract(py));
            time.map_err(|error| keep(py, error, &self.raised))
        })
    }

    fn save(&mut self, core: &mut Core) -> Result<(), Error> {
        self.call("save", core)
    }

    fn restore(&mut self, core: &mut Core) -> Result<(), Error> {
        self.call("restore", core)
    }
}

/// Returns true if a submodel has functions that save and restore its state.
fn has_state(py: Python<'_>, submodel: &Py<PyAny>) -> PyResult<bool> {
    py.import("ligament._submodel")?.call_method1("has_state", (submodel,))?.is_truthy()
}

/// Runs all instances of this program. `wrap` makes Python's instance from the compiled half, and `make` makes
/// the submodel of an instance.
#[pyfunction]
#[pyo3(name = "_run_light", signature = (make, wrap, ports, flags))]
pub fn run_light(
    py: Python<'_>,
    make: Py<PyAny>,
    wrap: Py<PyAny>,
    ports: Option<Vec<(String, String)>>,
    flags: u64,
) -> PyResult<()> {
    let ports = declared(py, ports)?;
    let raised = PendingException::default();
    let flags = flags_of(py, flags)?;
    let member = |core: &mut Core| {
        watch_signals(core, &raised);
        Python::attach(|py| {
            let half = Py::new(py, Lending(Some(Instance::light(core, raised.clone()))));
            let made = half.and_then(|half| wrap.call1(py, (half,))).and_then(|instance| {
                let submodel = lent(py, &instance, core, || make.call1(py, (&instance,)))?;
                let has_state = has_state(py, &submodel)?;
                Ok(LightComponent { submodel, instance, raised: raised.clone(), has_state })
            });
            made.map_err(|error| keep(py, error, &raised))
        })
    };
    let ran = py.detach(|| run_light_with(ports.as_ref(), flags, "python", member));
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (ran, raised) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) => Err(errors::instance(py, error)),
    }
}

/// Holds the compiled half of a light component's instance until the Python half takes it over.
#[pyclass(module = "ligament._ligament", name = "_Lending")]
pub struct Lending(pub(crate) Option<Instance>);
