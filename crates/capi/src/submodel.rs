//! The formal submodel: the caller's functions, called in the order of the execution loop.

use crate::instance::{core, lig_instance};
use crate::options::{lig_bool, read_required, SizePrefixed};
use crate::status::{self, guard, lig_error, lig_status, lig_status_code};
use ligament_instance::{run_submodel, Error, Instance, Submodel};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// A submodel as functions, which get `user` back. None may be NULL. They return `LIG_OK`, or what went wrong, and then
/// write into `error`. The instance must not be freed in them, and no exception may leave
/// them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_submodel {
    /// `sizeof(lig_submodel)`
    pub size: usize,
    /// F_INIT: sets the state, from messages where there are any.
    pub initialise: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Whether this pass is over; asked before each step.
    pub is_done: Option<unsafe extern "C" fn(user: *mut c_void) -> lig_bool>,
    /// O_I: shows the state to others.
    pub observe: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// S: advances the state by one step.
    pub solve: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// O_F: shows the final state.
    pub observe_final: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// The caller's own.
    pub user: *mut c_void,
}

// SAFETY: a number and nullable pointers, beginning with the size.
unsafe impl SizePrefixed for lig_submodel {
    const NAME: &'static str = "lig_submodel";
}

type Operation = unsafe extern "C" fn(*mut lig_instance, *mut c_void, *mut lig_error) -> lig_status_code;

/// The caller's functions as the core wants them.
pub(crate) struct Functions {
    handle: *mut lig_instance,
    initialise: Operation,
    is_done: unsafe extern "C" fn(*mut c_void) -> lig_bool,
    observe: Operation,
    solve: Operation,
    observe_final: Operation,
    user: *mut c_void,
    /// How the function that failed ended.
    failed: Rc<Cell<Option<lig_status_code>>>,
}

impl Functions {
    /// Those of `submodel`, for the instance behind `handle`, with `user`. How one that fails ends is noted in `failed`.
    pub fn of(
        handle: *mut lig_instance,
        submodel: &lig_submodel,
        user: *mut c_void,
        failed: &Rc<Cell<Option<lig_status_code>>>,
    ) -> Result<Functions, Error> {
        fn given<T>(function: Option<T>, name: &str) -> Result<T, Error> {
            function.ok_or_else(|| Error::Usage(format!("the submodel's function {name} is NULL")))
        }
        Ok(Functions {
            handle,
            initialise: given(submodel.initialise, "initialise")?,
            is_done: given(submodel.is_done, "is_done")?,
            observe: given(submodel.observe, "observe")?,
            solve: given(submodel.solve, "solve")?,
            observe_final: given(submodel.observe_final, "observe_final")?,
            user,
            failed: failed.clone(),
        })
    }

    fn call(&mut self, operation: Operation, instance: &mut Instance) -> Result<(), Error> {
        // SAFETY: the handle is live. What the function does through it is done through `instance`, which nobody
        // else uses until the function returns.
        let called = unsafe {
            (*self.handle).current = instance;
            call(|error| operation(self.handle, self.user, error))
        };
        called.map_err(|(status, error)| {
            self.failed.set(Some(status));
            error
        })
    }
}

/// Calls a function of the caller's: how it ended and what it said if it failed.
pub(crate) fn call(
    function: impl FnOnce(*mut lig_error) -> lig_status_code,
) -> Result<(), (lig_status_code, Error)> {
    let mut error = lig_error { message: [0; 1024] };
    let status = function(&mut error);
    if status == lig_status::LIG_OK as lig_status_code {
        return Ok(());
    }
    let text = status::read(&error);
    let said = match text.is_empty() {
        true => format!("a function of the submodel returned status {status} without saying why"),
        false => text,
    };
    Err((status, Error::Usage(said)))
}

impl Submodel for Functions {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.call(self.initialise, instance)
    }

    fn is_done(&self) -> bool {
        // SAFETY: the caller gave the function for this.
        unsafe { (self.is_done)(self.user) != 0 }
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.call(self.observe, instance)
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.call(self.solve, instance)
    }

    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.call(self.observe_final, instance)
    }
}

/// Runs a formal submodel: `initialise`, then `observe` and `solve` until `is_done`, then `observe_final`; again for
/// as long as there are start messages. If a function fails, the whole run ends with its text, and its status is
/// returned.
///
/// # Safety
/// `instance` and `submodel` are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_run_submodel(
    instance: *mut lig_instance,
    submodel: *const lig_submodel,
    error: *mut lig_error,
) -> lig_status_code {
    let failed = Rc::default();
    let status = guard(error, || {
        // SAFETY: as the caller promises.
        let submodel = unsafe { read_required(submodel) }?;
        let core = std::ptr::from_mut(unsafe { core(instance) }?);
        let mut functions = Functions::of(instance, &submodel, submodel.user, &failed)?;
        // SAFETY: `core` is the handle's own pointer; the functions reach it through what they are given only.
        let result = run_submodel(unsafe { &mut *core }, &mut functions);
        unsafe { (*instance).current = core };
        result
    });
    failed.get().unwrap_or(status as lig_status_code)
}
