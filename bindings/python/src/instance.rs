//! The compiled half of the instance. The Python half (`ligament/_instance.py`) derives from it, and adds
//! flags, logging, and the hook for uncaught exceptions.

use crate::array::{kind, over_others, parse_dtype, ArrayKind, ArrayLayout, UnreadableArray};
use crate::core_handle::{CoreHandle, InUse};
use crate::errors::{self, raise, usage};
use crate::exit;
use crate::filter;
use crate::from_wire::{numpy_view, to_python};
use crate::light::Lending;
use crate::loan::{Loan, ReturnedLoans};
use crate::message::Message;
use crate::settings::{any_settings, setting_to_python, Settings};
use crate::slot::{Slot, SlotCount};
use crate::text::Text;
use crate::to_wire::PlannedValue;
use ligament_catalogue::fault;
use ligament_instance::{
    ArrayMut, ArrayOrder, Call, CallGuard, Error, EventBatch, Flags, Instance as Core, LogLevel,
    Message as Received, MessageTimes, Operator, Origin, Outgoing, Parallelism, Part, Ports, SettingType,
    Settings as Overlay, Wait,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The compiled half of `ligament.Instance`.
#[pyclass(module = "ligament._ligament", name = "_Instance", subclass, frozen)]
pub struct Instance {
    turn: CallGuard,
    /// Allows one call at a time.
    core: Mutex<CoreHandle>,
    /// The exception that a signal's handler raised while the core was waiting.
    raised: Arc<Mutex<Option<PyErr>>>,
    returned: ReturnedLoans,
    name: String,
}

impl Instance {
    /// The instance of a light component, which is lent later.
    pub(crate) fn light(core: &Core, raised: Arc<Mutex<Option<PyErr>>>) -> Instance {
        Instance {
            turn: CallGuard::new(),
            core: Mutex::new(CoreHandle::Away),
            raised,
            returned: ReturnedLoans::default(),
            name: core.name().to_owned(),
        }
    }

    /// Lends the core's instance, or takes it back. Waits if another thread is in a call, and returns that as
    /// an error.
    pub(crate) fn hold(&self, py: Python<'_>, held: CoreHandle) -> Option<Error> {
        const CALL: &Call = &Call("run_light");
        let (_turn, overlap) = py.detach(|| self.turn.enter_at_last(CALL));
        *self.core.lock().unwrap_or_else(PoisonError::into_inner) = held;
        overlap
    }

    /// Returns the core's instance, unless another thread, or the code that a signal interrupted, is in a call.
    fn core(&self, py: Python<'_>, call: &'static Call) -> PyResult<InUse<'_>> {
        let turn = self.turn.enter(call).map_err(|error| errors::instance(py, error))?;
        // It is this call's turn, so no other code has the lock.
        let held = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            CoreHandle::Away => Err(usage(
                py,
                fault!(
                    LIGHT_INSTANCE,
                    "instance {} is a light component's; use it within the component's functions",
                    self.name
                ),
            )),
            CoreHandle::Left => {
                Err(usage(py, fault!(INSTANCE_OVER, "instance {} is over: its program ends", self.name)))
            }
            CoreHandle::Own(_) | CoreHandle::Lent(_) => Ok(InUse { held, _turn: turn }),
        }
    }

    /// Returns the exception for an error of the core.
    fn error(&self, py: Python<'_>, error: Error) -> PyErr {
        if error == Error::Interrupted {
            if let Some(raised) = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return raised;
            }
        }
        errors::instance(py, error)
    }

    /// Calls the core without the interpreter, so that other threads can run meanwhile.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        name: &'static Call,
        call: impl FnOnce(&mut Core) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut core = self.core(py, name)?;
        let core = &mut *core;
        py.detach(|| call(core)).map_err(|error| self.error(py, error))
    }

    fn save(
        &self,
        py: Python<'_>,
        name: &'static Call,
        message: &Bound<'_, PyAny>,
        save: impl FnOnce(&mut Core, &Outgoing<'_>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let Ok(message) = message.cast::<Message>() else { return Err(no_message(name.0, message)) };
        let (timestamp, next_timestamp, data) = {
            let message = message.borrow();
            (message.timestamp, message.next_timestamp, message.data.clone_ref(py).into_bound(py))
        };
        let node = &PlannedValue::new(&data, name.0)?;
        self.detached(py, name, |core| {
            save(core, &Outgoing { timestamp, next_timestamp, data: node.as_value(), settings: None })
        })
    }

    /// Receives. The interpreter is released only if no message has arrived yet.
    fn next(&self, py: Python<'_>, port: &str, slot: Option<u32>, wait: Wait) -> PyResult<Received> {
        let mut core = self.core(py, &Call("receive"))?;
        let core = &mut *core;
        let received = match core.poll(port, slot) {
            Ok(true) => core.receive_within(port, slot, wait),
            // A filter has ended the run.
            Err(error) if core.is_over() => Err(error),
            _ => py.detach(|| core.receive_within(port, slot, wait)),
        };
        received.map_err(|error| self.error(py, error))
    }

    fn message(&self, py: Python<'_>, received: Received) -> PyResult<Message> {
        let origin = received.origin().clone();
        let settings = match received.settings {
            Some(inner) => Some(Py::new(py, Settings { inner })?.into_any()),
            None => None,
        };
        Ok(Message {
            timestamp: received.timestamp,
            next_timestamp: received.next_timestamp,
            data: to_python(py, &received.data)?,
            settings,
            origin,
        })
    }

    fn give(
        &self,
        py: Python<'_>,
        port: &str,
        times: MessageTimes,
        loan: &Loan,
        slot: Option<u32>,
        overlay: Option<&Overlay>,
    ) -> PyResult<()> {
        let mut core = self.core(py, &Call("send"))?;
        if !loan.is_of(&self.returned) {
            let fault = fault!(LOAN_USED, "this loan is another instance's; send it with the one that lent it");
            return Err(usage(py, fault));
        }
        let Some(loan) = loan.give_away(py) else {
            return Err(usage(
                py,
                fault!(LOAN_USED, "this loan was sent already; ask for a new one with loan()"),
            ));
        };
        let core = &mut *core;
        py.detach(|| core.send_loan_under(port, times, loan, slot, overlay))
            .map_err(|error| self.error(py, error))
    }
}

/// Returns the time to wait, from seconds.
fn wait(py: Python<'_>, timeout: Option<f64>) -> PyResult<Wait> {
    match timeout {
        None => Ok(Wait::Forever),
        Some(seconds) if seconds >= 0.0 => {
            Ok(Duration::try_from_secs_f64(seconds).map_or(Wait::Forever, Wait::AtMost))
        }
        Some(seconds) => Err(usage(
            py,
            fault!(
                BAD_ARGUMENT,
                "a timeout of {seconds} s cannot be; give the seconds to wait, 0 or more, or None to wait for \
                 ever"
            ),
        )),
    }
}

/// Reads port and slot from `"name"` or `("name", slot)`.
fn port_and_slot(port: &Bound<'_, PyAny>) -> PyResult<(String, Option<u32>)> {
    match port.cast::<PyString>() {
        Ok(name) => Ok((name.to_string(), None)),
        Err(_) => port.extract().map_err(|_| {
            usage(
                port.py(),
                fault!(
                    BAD_ARGUMENT,
                    "give the ports to wait for as names, or as pairs of name and slot for vector ports"
                ),
            )
        }),
    }
}

/// Reads the ports that Python gives, as pairs of operator and name.
pub(crate) fn declared(py: Python<'_>, ports: Option<Vec<(String, String)>>) -> PyResult<Option<Ports>> {
    let Some(pairs) = ports else { return Ok(None) };
    let mut ports = Ports::new();
    for (operator, name) in pairs {
        let operator = Operator::from_name(&operator)
            .ok_or_else(|| usage(py, fault!(BAD_ARGUMENT, "there is no operator \"{operator}\"")))?;
        ports.add(operator, &name);
    }
    Ok(Some(ports))
}

/// Makes the core check for signals while it waits. The exception of a handler is stored in `raised`.
pub(crate) fn watch_signals(core: &mut Core, raised: &Arc<Mutex<Option<PyErr>>>) {
    let found = raised.clone();
    core.set_interrupt_check(Box::new(move || {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            }
        })
    }));
}

/// The flags with these bits.
pub(crate) fn flags_of(py: Python<'_>, bits: u64) -> PyResult<Flags> {
    Flags::from_bits(bits).map_err(|unknown| usage(py, fault!(BAD_ARGUMENT, "there are no flags {unknown:#x}")))
}

fn order_of(py: Python<'_>, order: &str) -> PyResult<ArrayOrder> {
    match order {
        "C" => Ok(ArrayOrder::RowMajor),
        "F" => Ok(ArrayOrder::ColumnMajor),
        other => Err(usage(py, fault!(BAD_ARGUMENT, "there is no order \"{other}\"; it is \"C\" or \"F\""))),
    }
}

#[pymethods]
impl Instance {
    /// Joins the run. `ports` are pairs of operator and name, or None to take those of the model. If the
    /// scheduler gives `light`, the other arguments are not used.
    #[new]
    #[pyo3(signature = (ports, flags, light=None, ranks=0, threads=0))]
    fn new(
        py: Python<'_>,
        ports: Option<Vec<(String, String)>>,
        flags: u64,
        light: Option<PyRefMut<'_, Lending>>,
        ranks: u32,
        threads: u32,
    ) -> PyResult<Instance> {
        if let Some(mut light) = light {
            return light.0.take().ok_or_else(|| {
                usage(py, fault!(LIGHT_INSTANCE, "this light component has an instance already"))
            });
        }
        let ports = declared(py, ports)?;
        let flags = flags_of(py, flags)?;
        let made = py.detach(|| Core::with_options(ports.as_ref(), flags, "python"));
        let mut core = made.map_err(|error| errors::instance(py, error))?;
        core.set_parallelism(Parallelism { ranks, threads });
        let raised = Arc::new(Mutex::new(None));
        watch_signals(&mut core, &raised);
        let name = core.name().to_owned();
        Ok(Instance {
            turn: CallGuard::new(),
            core: Mutex::new(CoreHandle::Own(Box::new(core))),
            raised,
            returned: ReturnedLoans::default(),
            name,
        })
    }

    /// The instance's name, such as ``micro[3]``.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The instance's index within its component; empty for a component without multiplicity.
    #[getter]
    fn index(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        Ok(self.core(py, &Call("index"))?.index())
    }

    /// The number of this rank within its instance, if the model says that each rank speaks for itself;
    /// otherwise 0.
    #[getter]
    fn rank(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.core(py, &Call("rank"))?.rank())
    }

    /// The number of ranks of the instance that speak for themselves; 1 if the model does not give `ranks:`.
    #[getter]
    fn ranks(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.core(py, &Call("ranks"))?.ranks())
    }

    /// The name of the run.
    #[getter]
    fn run_name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.core(py, &Call("run_name"))?.run_name().to_owned())
    }

    /// Returns true if the instance has ended.
    #[getter]
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core(py, &Call("is_over"))?.is_over())
    }

    /// Returns true if the code is to go through its execution loop once more. Waits for the messages on the
    /// F_INIT ports.
    fn reuse_instance(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("reuse_instance"), Core::reuse_instance)
    }

    /// True in the first pass after the run was resumed: the code then loads its state. The first call in each
    /// pass of a code with the flag USES_CHECKPOINT_API.
    fn resuming(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("resuming"), Core::resuming)
    }

    /// The message that was saved, if `resuming` has returned True.
    fn load_snapshot(&self, py: Python<'_>) -> PyResult<Message> {
        let loaded = self.detached(py, &Call("load_snapshot"), Core::load_snapshot)?;
        self.message(py, loaded)
    }

    /// True if the code must receive its F_INIT messages and set its state; False if a pass goes on that was
    /// saved.
    fn should_init(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("should_init"), Core::should_init)
    }

    /// True if the code must save its state now. To be called once in each step, after the step's messages,
    /// with the model time in s.
    fn should_save_snapshot(&self, py: Python<'_>, time: f64) -> PyResult<bool> {
        let name = &Call("should_save_snapshot");
        // Most calls find nothing to do. They keep the interpreter's lock, because to release it takes longer.
        if self.core(py, name)?.saves_nothing(time) {
            return Ok(false);
        }
        self.detached(py, name, |core| core.should_save_snapshot(time))
    }

    /// The directory for files of the code's own beside the message of the checkpoint that is being saved or
    /// loaded.
    fn snapshot_directory(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.detached(py, &Call("snapshot_directory"), Core::snapshot_directory)
    }

    /// Saves a message with the code's state, if `should_save_snapshot` has returned True.
    fn save_snapshot(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<()> {
        self.save(py, &Call("save_snapshot"), message, Core::save_snapshot)
    }

    /// True if the code must save its state at the end of a pass. The last call of each pass. It waits for the
    /// F_INIT messages of the next pass.
    fn should_save_final_snapshot(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("should_save_final_snapshot"), Core::should_save_final_snapshot)
    }

    /// Saves a message with the code's state at the end of a pass.
    fn save_final_snapshot(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<()> {
        self.save(py, &Call("save_final_snapshot"), message, Core::save_final_snapshot)
    }

    /// Notes whether a submodel has functions for its state, before its passes begin.
    fn _note_state_functions(&self, py: Python<'_>, has_functions: bool) -> PyResult<()> {
        let name = &Call("run_submodel");
        self.detached(py, name, |core| core.note_state_functions(has_functions))
    }

    /// True if the driver of a submodel makes the calls for checkpoints.
    fn _saves_state(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core(py, &Call("run_submodel"))?.saves_state())
    }

    /// True if a submodel must save its state at the end of a pass, by `save_snapshot`.
    fn _is_save_of_submodel_due(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("run_submodel"), Core::is_save_of_submodel_due)
    }

    /// Raises an error if a function of a submodel, `save` or `restore`, has not made its call.
    fn _check_state_call(&self, py: Python<'_>, function: &str) -> PyResult<()> {
        let core = self.core(py, &Call("run_submodel"))?;
        core.check_state_call(function).map_err(|error| self.error(py, error))
    }

    /// Says that this instance keeps no state, although its flags say that it saves some.
    fn _keeps_no_state(&self, py: Python<'_>) -> PyResult<()> {
        self.core(py, &Call("run_light"))?.keeps_no_state();
        Ok(())
    }

    /// Applies changes of settings. Call it once in each step, before the step's work, with the step's model
    /// time in s. Returns true if settings have changed; the code then reads the settings that the step needs
    /// again. All instances that a change concerns make it in their first step at or after the same model time.
    /// The call waits while instances agree on a change, and while the run is halted.
    fn steer(&self, py: Python<'_>, time: f64) -> PyResult<bool> {
        let mut core = self.core(py, &Call("steer"))?;
        let core = &mut *core;
        if core.steer_at_once(time) {
            return Ok(false);
        }
        py.detach(|| core.steer(time)).map_err(|error| self.error(py, error))
    }

    /// Declares that a setting can be steered, within a range if one is given. `restart` is true if the code
    /// reads the setting once in each pass of the reuse loop.
    #[pyo3(signature = (setting, minimum=None, maximum=None, unit="", restart=false))]
    fn declare_steerable(
        &self,
        py: Python<'_>,
        setting: &str,
        minimum: Option<f64>,
        maximum: Option<f64>,
        unit: &str,
        restart: bool,
    ) -> PyResult<()> {
        let (name, min, max) = (setting, minimum, maximum);
        let setting = ligament_instance::SettingDeclaration { name, min, max, unit, restart, kind: None };
        self.detached(py, &Call("declare_steerable"), |core| core.declare_steerable(setting))
    }

    /// Sends a message. Returns when the data is stored; it may be changed afterwards.
    #[pyo3(signature = (port, message, slot=None))]
    fn send(
        &self,
        py: Python<'_>,
        port: Text<'_>,
        message: &Bound<'_, PyAny>,
        slot: Option<Slot>,
    ) -> PyResult<()> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        let Ok(message) = message.cast::<Message>() else { return Err(no_message(port, message)) };
        let (timestamp, next_timestamp, data, settings) = {
            let message = message.borrow();
            let settings = match &message.settings {
                Some(settings) => Some(any_settings(settings.bind(py))?),
                None => None,
            };
            (message.timestamp, message.next_timestamp, message.data.clone_ref(py).into_bound(py), settings)
        };
        if let Ok(loan) = data.cast_exact::<Loan>() {
            let times = MessageTimes { timestamp, next_timestamp };
            return self.give(py, port, times, loan.get(), slot, settings.as_ref());
        }
        let node = PlannedValue::new(&data, port)?;
        let mut core = self.core(py, &Call("send"))?;
        let core = &mut *core;
        let node = &node;
        let settings = settings.as_ref();
        py.detach(|| {
            core.send(port, &Outgoing { timestamp, next_timestamp, data: node.as_value(), settings }, slot)
        })
        .map_err(|error| self.error(py, error))
    }

    /// Sends the array of a loan, without a copy if it has more than 64 KiB. The loan is gone afterwards, also
    /// after an error.
    #[pyo3(signature = (port, timestamp, next_timestamp, loan, slot=None))]
    fn send_loan(
        &self,
        py: Python<'_>,
        port: Text<'_>,
        timestamp: f64,
        next_timestamp: Option<f64>,
        loan: &Bound<'_, Loan>,
        slot: Option<Slot>,
    ) -> PyResult<()> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        self.give(py, port, MessageTimes { timestamp, next_timestamp }, loan.get(), slot, None)
    }

    /// Lends memory for an array, to be filled in place and sent without a copy if it has more than 64 KiB.
    #[pyo3(signature = (shape, dtype=None, order="C"))]
    fn loan(
        &self,
        py: Python<'_>,
        shape: Bound<'_, PyAny>,
        dtype: Option<Bound<'_, PyAny>>,
        order: &str,
    ) -> PyResult<Loan> {
        let shape: Vec<u64> = match shape.extract::<u64>() {
            Ok(extent) => vec![extent],
            Err(_) => shape.extract()?,
        };
        let dtype = dtype.map_or(Ok(ligament_wire::DType::Float64), |dtype| parse_dtype(&dtype))?;
        let order = order_of(py, order)?;
        let back = std::mem::take(&mut *self.returned.lock().unwrap_or_else(PoisonError::into_inner));
        let loan = self.detached(py, &Call("loan"), |core| {
            for loan in back {
                core.return_loan(loan);
            }
            let loan = core.loan(dtype, &shape, order)?;
            let pages = core.loan_pages(&loan);
            Ok((loan, pages))
        })?;
        Loan::new(py, loan, dtype, &shape, order, self.returned.clone())
    }

    /// Waits for the next message on a port, and returns it; `default` if nothing is connected to the port.
    #[pyo3(signature = (port, slot=None, default=None, timeout=None))]
    fn receive<'py>(
        &self,
        py: Python<'py>,
        port: Text<'_>,
        slot: Option<Slot>,
        default: Option<Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        let wait = wait(py, timeout)?;
        let received = match default {
            None => self.next(py, port, slot, wait)?,
            Some(default) => {
                let received =
                    self.detached(py, &Call("receive"), |core| core.receive_if_connected(port, slot, wait))?;
                match received {
                    Some(received) => received,
                    None => return Ok(default),
                }
            }
        };
        Ok(Bound::new(py, self.message(py, received)?)?.into_any())
    }

    /// Does the same as `receive`, and keeps the message's overlay in its `settings`. The overlay is not
    /// compared with the one in force.
    #[pyo3(signature = (port, slot=None, default=None, timeout=None))]
    fn receive_with_settings<'py>(
        &self,
        py: Python<'py>,
        port: Text<'_>,
        slot: Option<Slot>,
        default: Option<Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        let wait = wait(py, timeout)?;
        let may_lack = default.is_some();
        let received = self.detached(py, &Call("receive_with_settings"), |core| {
            if may_lack && !core.is_connected(port)? {
                core.receive_if_connected(port, slot, wait)
            } else {
                core.receive_with_settings(port, slot, wait).map(Some)
            }
        })?;
        match received {
            Some(received) => Ok(Bound::new(py, self.message(py, received)?)?.into_any()),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// Receives an array into an array of the caller, which must be contiguous and of the same type and shape:
    /// a NumPy array, or an object with the buffer protocol or DLPack.
    #[pyo3(signature = (port, array, slot=None, timeout=None))]
    fn receive_into(
        &self,
        py: Python<'_>,
        port: Text<'_>,
        array: Bound<'_, PyAny>,
        slot: Option<Slot>,
        timeout: Option<f64>,
    ) -> PyResult<Message> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        let unfit = |what: &str| {
            usage(
                py,
                fault!(
                    UNFIT_TO_RECEIVE_INTO,
                    "{what}; give receive_into() a writable NumPy array, contiguous in C or Fortran order"
                ),
            )
        };
        let target = match kind(&array) {
            ArrayKind::Other => over_others(&array)?.ok_or_else(|| unfit("this is no array"))?,
            _ => array.clone(),
        };
        let mut into = ArrayLayout::of(&target).map_err(|not| match not {
            UnreadableArray::Swapped => unfit("the array is in the other byte order"),
            UnreadableArray::Unfit(what) => unfit(&format!("{what} cannot be received into")),
        })?;
        if !into.writable {
            return Err(unfit("the array is read-only"));
        }
        if !into.is_contiguous() {
            return Err(unfit("the array's elements do not lie next to each other"));
        }
        let wait = wait(py, timeout)?;
        let into = &mut into;
        let times = self.detached(py, &Call("receive_into"), move |core| {
            let shape = into.shape().to_vec();
            let (dtype, order) = (into.dtype, into.order);
            core.receive_into(
                port,
                slot,
                wait,
                &mut ArrayMut { dtype, shape: &shape, order, data: into.data_mut() },
            )
        })?;
        Ok(Message {
            timestamp: times.timestamp,
            next_timestamp: times.next_timestamp,
            data: array.unbind(),
            settings: None,
            origin: Origin::default(),
        })
    }

    /// Called at the end of the program: signs the instance off when the exit status is known, if that is 0.
    /// Filters in Python send the messages that they still hold before, while there is an interpreter.
    fn _leave(&self, py: Python<'_>) -> PyResult<()> {
        let mut core = self.core(py, &Call("finish"))?;
        if filter::in_use() {
            let core = &mut *core;
            return py.detach(|| core.finish()).map_err(|error| self.error(py, error));
        }
        match std::mem::replace(&mut *core.held, CoreHandle::Left) {
            CoreHandle::Own(core) => exit::keep(*core),
            other => *core.held = other,
        }
        Ok(())
    }

    /// Returns true if a receive on this port would return at once.
    #[pyo3(signature = (port, slot=None))]
    fn poll(&self, py: Python<'_>, port: Text<'_>, slot: Option<Slot>) -> PyResult<bool> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        self.core(py, &Call("poll"))?.poll(port, slot).map_err(|error| self.error(py, error))
    }

    /// Waits until a message has arrived on this port, or the conduit has ended. Returns true if there is a
    /// message. On an F_INIT port in the reuse loop, returns true if the message of this pass has not been
    /// received yet.
    #[pyo3(signature = (port, slot=None, timeout=None))]
    fn has_next(
        &self,
        py: Python<'_>,
        port: Text<'_>,
        slot: Option<Slot>,
        timeout: Option<f64>,
    ) -> PyResult<bool> {
        let port = &*port;
        let slot = slot.map(|slot| slot.0);
        let wait = wait(py, timeout)?;
        self.detached(py, &Call("has_next"), |core| core.has_next(port, slot, wait))
    }

    /// Waits until a message has arrived on one of several ports, and returns the port in the form in which
    /// `ports` has it. A conduit that has ended is ignored while another one may still have a message.
    #[pyo3(signature = (ports, timeout=None))]
    fn wait_any<'py>(
        &self,
        py: Python<'py>,
        ports: Vec<Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = ports.iter().map(port_and_slot).collect::<PyResult<Vec<_>>>()?;
        let wait = wait(py, timeout)?;
        let which = self.detached(py, &Call("wait_any"), |core| core.wait_any(&borrowed(&named), wait))?;
        Ok(ports[which].clone())
    }

    /// Receives the first message that arrives on one of several ports. Returns the port, in the form in which
    /// `ports` has it, and the message.
    #[pyo3(signature = (ports, timeout=None))]
    fn receive_any<'py>(
        &self,
        py: Python<'py>,
        ports: Vec<Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<(Bound<'py, PyAny>, Message)> {
        let named = ports.iter().map(port_and_slot).collect::<PyResult<Vec<_>>>()?;
        let wait = wait(py, timeout)?;
        let (which, received) =
            self.detached(py, &Call("receive_any"), |core| core.receive_any(&borrowed(&named), wait))?;
        Ok((ports[which].clone(), self.message(py, received)?))
    }

    /// Returns a setting's value, or None if it is not set. `kind` is the name of a type, or None for any.
    fn _setting<'py>(
        &self,
        py: Python<'py>,
        name: Text<'_>,
        kind: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let name = &*name;
        let core = self.core(py, &Call("get_setting"))?;
        let wanted = match kind {
            None => None,
            Some(kind) => Some(SettingType::from_name(kind).ok_or_else(|| {
                usage(
                    py,
                    fault!(
                        BAD_ARGUMENT,
                        "there is no type \"{kind}\" of settings; known are {}",
                        SettingType::NAMES.join(", ")
                    ),
                )
            })?),
        };
        let Ok(value) = core.get_setting(name, None) else { return Ok(None) };
        let value = match wanted {
            None => value,
            wanted => core.get_setting(name, wanted).map_err(|error| raise(py, "SettingTypeError", error))?,
        };
        setting_to_python(py, &value).map(Some)
    }

    /// Returns the text that explains why a setting is not set.
    fn _why_unset(&self, py: Python<'_>, name: Text<'_>) -> PyResult<String> {
        let name = &*name;
        Ok(self
            .core(py, &Call("get_setting"))?
            .get_setting(name, None)
            .err()
            .map_or_else(String::new, |error| error.to_string()))
    }

    /// The names of the settings that this instance can ask for.
    fn list_settings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.core(py, &Call("list_settings"))?.list_settings())
    }

    /// The names of the ports, by the operator's name.
    fn _ports(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Vec<String>)>> {
        Ok(self.core(py, &Call("list_ports"))?.list_ports().into_iter().collect())
    }

    /// Returns true if a conduit is connected to the port.
    fn is_connected(&self, py: Python<'_>, port: Text<'_>) -> PyResult<bool> {
        let port = &*port;
        self.core(py, &Call("is_connected"))?.is_connected(port).map_err(|error| self.error(py, error))
    }

    /// Returns true if the port has slots.
    fn is_vector_port(&self, py: Python<'_>, port: Text<'_>) -> PyResult<bool> {
        let port = &*port;
        self.core(py, &Call("is_vector_port"))?.is_vector_port(port).map_err(|error| self.error(py, error))
    }

    /// Returns true if `set_port_length` can set the number of the port's slots.
    fn is_resizable(&self, py: Python<'_>, port: Text<'_>) -> PyResult<bool> {
        let port = &*port;
        self.core(py, &Call("is_resizable"))?.is_resizable(port).map_err(|error| self.error(py, error))
    }

    /// Sets the number of slots of a resizable port, which is 0 at first.
    fn set_port_length(&self, py: Python<'_>, port: Text<'_>, length: SlotCount) -> PyResult<()> {
        let port = &*port;
        self.core(py, &Call("set_port_length"))?
            .set_port_length(port, length.0)
            .map_err(|error| self.error(py, error))
    }

    /// The number of slots of a vector port. For a resizable port that receives, this is the number that came
    /// with the last received message.
    fn get_port_length(&self, py: Python<'_>, port: Text<'_>) -> PyResult<usize> {
        let port = &*port;
        self.core(py, &Call("get_port_length"))?.get_port_length(port).map_err(|error| self.error(py, error))
    }

    /// Says that this rank has a block of the port's array.
    fn _map_block(&self, py: Python<'_>, port: Text<'_>, start: Vec<u64>, shape: Vec<u64>) -> PyResult<()> {
        let port = &*port;
        self.detached(py, &Call("map_block"), |core| {
            core.map(port, Part::Block { start: &start, shape: &shape })
        })
    }

    /// Says that this rank has consecutive elements of the port's array.
    fn _map_range(&self, py: Python<'_>, port: Text<'_>, begin: u64, end: u64) -> PyResult<()> {
        let port = &*port;
        self.detached(py, &Call("map_range"), |core| core.map(port, Part::Range { begin, end }))
    }

    /// Says that this rank has the elements of the port's array with these numbers, an array of int64.
    fn _map_list(&self, py: Python<'_>, port: Text<'_>, numbers: &Bound<'_, PyAny>) -> PyResult<()> {
        let port = &*port;
        let numbers = ArrayLayout::of(numbers).map_err(|_| usage(py, fault!(BAD_MAP, "no list of numbers")))?;
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_ne_bytes).unwrap_or_default();
        let numbers: Vec<i64> = numbers.data().chunks_exact(8).map(number).collect();
        self.detached(py, &Call("map_list"), |core| core.map(port, Part::List(&numbers)))
    }

    /// The shape of the whole array of which this port carries a part; None if nothing is connected to the
    /// port.
    fn array_shape(&self, py: Python<'_>, port: Text<'_>) -> PyResult<Option<Py<PyTuple>>> {
        let port = &*port;
        let core = self.core(py, &Call("array_shape"))?;
        let shape = core.array_shape(port).map_err(|error| self.error(py, error))?;
        shape.map(|shape| PyTuple::new(py, shape).map(Bound::unbind)).transpose()
    }

    /// The time of the instance's clock, in the unit of the model's times.
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.core(py, &Call("time"))?.time().map_err(|error| self.error(py, error))
    }

    /// Advances the clock by one tick; true if settings have changed.
    fn tick(&self, py: Python<'_>) -> PyResult<bool> {
        self.detached(py, &Call("tick"), Core::tick)
    }

    /// Sends an event.
    fn insert_event(&self, py: Python<'_>, port: Text<'_>, time: f64, id: i64) -> PyResult<()> {
        let port = &*port;
        let id = i32::try_from(id).map_err(|_| {
            usage(py, fault!(BAD_EVENT, "port \"{port}\": an event has the id {id}, and ids are below 2^31"))
        })?;
        self.core(py, &Call("insert_event"))?
            .insert_event(port, time, id)
            .map_err(|error| self.error(py, error))
    }

    /// Sends events: contiguous arrays of float64 and int32.
    fn _insert_events(
        &self,
        py: Python<'_>,
        port: Text<'_>,
        times: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let port = &*port;
        let layout =
            |array| ArrayLayout::of(array).map_err(|_| usage(py, fault!(BAD_EVENT, "no list of numbers")));
        let (times, ids) = (layout(times)?, layout(ids)?);
        let time = |bytes: &[u8]| bytes.try_into().map(f64::from_ne_bytes).unwrap_or(f64::NAN);
        let id = |bytes: &[u8]| bytes.try_into().map(i32::from_ne_bytes).unwrap_or(-1);
        let times: Vec<f64> = times.data().chunks_exact(8).map(time).collect();
        let ids: Vec<i32> = ids.data().chunks_exact(4).map(id).collect();
        let mut core = self.core(py, &Call("insert_events"))?;
        core.insert_events(port, &times, &ids).map_err(|error| self.error(py, error))
    }

    /// The batches of events that have been delivered on a port, each as its times and its ids.
    fn _events(&self, py: Python<'_>, port: Text<'_>) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        let port = &*port;
        let batches = self.detached(py, &Call("events"), |core| {
            let mut batches = Vec::new();
            while let Some(batch) = core.events(port)? {
                batches.push(batch);
            }
            Ok(batches)
        })?;
        let views =
            |batch: &EventBatch| Ok((numpy_view(py, batch.times_array())?, numpy_view(py, batch.ids_array())?));
        batches.iter().map(views).collect()
    }

    /// Writes a line to the run's log. Returns false, and writes nothing, during another call.
    fn _try_log(&self, py: Python<'_>, level: u8, text: Text<'_>) -> PyResult<bool> {
        let text = &*text;
        let Ok(mut core) = self.core(py, &Call("log")) else { return Ok(false) };
        match core.log(LogLevel::from_number(level), text) {
            // The lines of an instance that has ended are dropped.
            Err(_) if core.is_over() => Ok(true),
            written => written.map(|()| true).map_err(|error| self.error(py, error)),
        }
    }

    /// Ends the run because of an error in this code, and reports the reason to the run.
    fn error_shutdown(&self, py: Python<'_>, why: Text<'_>) -> PyResult<()> {
        let why = &*why;
        self.detached(py, &Call("error_shutdown"), |core| core.error_shutdown(why))
    }

    /// Ends all conduits on which this instance sends, and signs off.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.detached(py, &Call("finish"), Core::finish)
    }
}

fn borrowed(ports: &[(String, Option<u32>)]) -> Vec<(&str, Option<u32>)> {
    ports.iter().map(|(name, slot)| (name.as_str(), *slot)).collect()
}

/// Returns the error for an object that is no message.
#[cold]
fn no_message(port: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let class = given.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let text = given.repr().map_or_else(|_| "data".into(), |text| text.to_string());
    // A text that is long, or has several lines, is not repeated.
    let text = if text.len() <= 40 && !text.contains('\n') { text.as_str() } else { "data" };
    let fault = fault!(
        NO_MESSAGE,
        "send() takes a Message, and a value of type {class} was given; say of which model time it is: \
         send(\"{port}\", Message(t, data={text}))"
    );
    pyo3::exceptions::PyTypeError::new_err(fault.with_code())
}

/// Encodes and decodes a value, to test what becomes of it in a message.
#[pyfunction]
#[pyo3(name = "_round_trip")]
pub fn round_trip(value: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = value.py();
    let node = PlannedValue::new(&value, "out")?;
    let mut encoder = ligament_wire::Encoder::new();
    let failed = |error: ligament_wire::WireError| usage(py, error);
    let plan = encoder.plan(&node.as_value()).map_err(failed)?;
    let parts = plan.parts();
    // As in shared memory, the body begins at a multiple of 64.
    let len = plan.body_len() as usize;
    let mut body = vec![0u8; len + 64];
    let skip = body.as_ptr().align_offset(64);
    plan.write_body(&mut body[skip..skip + len]);
    let body = ligament_wire::Bytes::from(body).slice(skip..skip + len);
    let value = ligament_wire::decode_body(parts, body, &ligament_wire::Limits::default()).map_err(failed)?;
    to_python(py, &value)
}
