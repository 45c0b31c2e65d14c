//! The formal submodel: functions of the caller that the library calls in the order of the execution loop.

use crate::instance::{lig_instance, used};
use crate::misuse::Misuse;
use crate::options::{lig_bool, read_required, SizePrefixed};
use crate::status::{self, guard, lig_error, lig_status, lig_status_code};
use ligament_instance::{run_submodel, Call, Error, InCall, Instance, Submodel, SubmodelState};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// A submodel, given by its functions. Only those behind `user` may be NULL, and each gets `user`. A function
/// returns `LIG_OK`, or another status after it has written the reason to `error`. It may use the instance
/// until it returns, by one thread at a time; `is_done` and `model_time` may not. A function must not free the
/// instance, and no exception may leave it.
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
    /// Returns true if this pass is over; called before each step.
    pub is_done: Option<unsafe extern "C" fn(user: *mut c_void) -> lig_bool>,
    /// O_I: sends the state.
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
    /// O_F: sends the final state.
    pub observe_final: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Data of the caller.
    pub user: *mut c_void,
    /// Saves the state by one call of `lig_save_snapshot`. Called after a step or after `observe_final`, if the
    /// instance has the flag `LIG_USES_CHECKPOINT_API` and a checkpoint is due. NULL, with `restore`, for a
    /// submodel whose state is not saved.
    pub save: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Sets the state from the message that `lig_load_snapshot` gives. If the state was saved between two
    /// passes, `initialise` follows; otherwise the pass goes on.
    pub restore: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            user: *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Writes the model time that the state has reached, s, to `time`. Asked after each step, because it
    /// decides when the state is saved. May be NULL if the submodel makes no steps.
    pub model_time: Option<
        unsafe extern "C" fn(user: *mut c_void, time: *mut f64, error: *mut lig_error) -> lig_status_code,
    >,
}

// SAFETY: the size comes first, and every other member is a pointer that may be null: all zeros are valid.
unsafe impl SizePrefixed for lig_submodel {
    const NAME: &'static str = "lig_submodel";
}

type Operation = unsafe extern "C" fn(*mut lig_instance, *mut c_void, *mut lig_error) -> lig_status_code;

/// The caller's functions, as a submodel of the core.
pub(crate) struct Functions {
    handle: *mut lig_instance,
    /// The call that runs the functions. It is in progress, except while a function runs that may use the
    /// instance.
    driver: &'static Call,
    turn: Option<InCall<'static>>,
    initialise: Operation,
    is_done: unsafe extern "C" fn(*mut c_void) -> lig_bool,
    observe: Operation,
    solve: Operation,
    observe_final: Operation,
    /// The functions that save and restore the state.
    state: Option<(Operation, Operation)>,
    model_time: Option<unsafe extern "C" fn(*mut c_void, *mut f64, *mut lig_error) -> lig_status_code>,
    user: *mut c_void,
    /// The status of the function that failed.
    failed: Rc<Cell<Option<lig_status_code>>>,
}

impl Functions {
    /// Makes the submodel of the functions in `submodel`, for the instance behind `handle`. They are called by
    /// `driver`, whose turn is `turn`. The status of a function that fails is stored in `failed`.
    ///
    /// # Safety
    /// `handle` lives longer than the result.
    pub unsafe fn of(
        handle: *mut lig_instance,
        submodel: &lig_submodel,
        (driver, turn): (&'static Call, InCall<'static>),
        failed: &Rc<Cell<Option<lig_status_code>>>,
    ) -> Result<Functions, Error> {
        fn given<T>(function: Option<T>, name: &str) -> Result<T, Error> {
            function.ok_or_else(|| Misuse::NoFunction { name: name.to_owned() }.into())
        }
        let state = match (submodel.save, submodel.restore) {
            (None, None) => None,
            (save, restore) => Some((given(save, "save")?, given(restore, "restore")?)),
        };
        let functions = Functions {
            handle,
            state,
            model_time: submodel.model_time,
            driver,
            turn: Some(turn),
            initialise: given(submodel.initialise, "initialise")?,
            is_done: given(submodel.is_done, "is_done")?,
            observe: given(submodel.observe, "observe")?,
            solve: given(submodel.solve, "solve")?,
            observe_final: given(submodel.observe_final, "observe_final")?,
            user: submodel.user,
            failed: failed.clone(),
        };
        // SAFETY: as the caller promises.
        unsafe { (*handle).run(true) };
        Ok(functions)
    }

    /// Sets the argument of the functions.
    pub fn set_user(&mut self, user: *mut c_void) {
        self.user = user;
    }

    /// Calls a function of the caller, which may use `instance` through the handle.
    pub fn lend(
        &mut self,
        instance: &mut Instance,
        function: impl FnOnce(*mut lig_instance, *mut c_void, *mut lig_error) -> lig_status_code,
    ) -> Result<(), Error> {
        let (handle, user) = (self.handle, self.user);
        // SAFETY: the handle is live, as the caller of `of` has promised. The function uses `instance` through
        // the handle, and no other code uses it until the function returns: then it is this call's turn again.
        let before = unsafe { (*handle).replace(self.turn.as_ref().expect("our turn"), instance) };
        self.turn = None;
        let called = call(|error| function(handle, user, error));
        // Another thread of the caller may still be in a call with the instance. This waits for its end.
        // SAFETY: as above.
        let (turn, overlap) = unsafe { (*handle).turn() }.enter_at_last(self.driver);
        // SAFETY: as above.
        unsafe { (*handle).replace(&turn, before) };
        self.turn = Some(turn);
        let result = called.and(match overlap {
            None => Ok(()),
            Some(overlap) => Err((lig_status::LIG_ERR_USAGE as lig_status_code, overlap)),
        });
        result.map_err(|(status, error)| {
            self.failed.set(Some(status));
            error
        })
    }

    fn call(&mut self, operation: Operation, instance: &mut Instance) -> Result<(), Error> {
        // SAFETY: the caller gave the function for this purpose.
        self.lend(instance, |handle, user, error| unsafe { operation(handle, user, error) })
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        // SAFETY: the handle is live, as the caller of `of` has promised.
        unsafe { (*self.handle).run(false) };
    }
}

/// Calls a function of the caller. Returns its status and its text if it failed.
pub(crate) fn call(
    function: impl FnOnce(*mut lig_error) -> lig_status_code,
) -> Result<(), (lig_status_code, Error)> {
    let mut error = lig_error { message: [0; 1024] };
    let status = function(&mut error);
    if status == lig_status::LIG_OK as lig_status_code {
        return Ok(());
    }
    let text = status::read(&error);
    let error = if text.is_empty() { Misuse::Callback { status }.into() } else { Error::Own(text) };
    Err((status, error))
}

impl Submodel for Functions {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.call(self.initialise, instance)
    }

    fn is_done(&self) -> bool {
        // SAFETY: the caller gave the function for this purpose.
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

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        self.state?;
        Some(self)
    }
}

impl SubmodelState for Functions {
    fn model_time(&mut self) -> Result<f64, Error> {
        let Some(function) = self.model_time else {
            return Err(Misuse::NoFunction { name: "model_time".to_owned() }.into());
        };
        let mut time = f64::NAN;
        // SAFETY: the caller gave the function for this purpose.
        let called = call(|error| unsafe { function(self.user, &raw mut time, error) });
        called.map(|()| time).map_err(|(status, error)| {
            self.failed.set(Some(status));
            error
        })
    }

    fn save(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.state.map_or(Ok(()), |(save, _)| self.call(save, instance))
    }

    fn restore(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.state.map_or(Ok(()), |(_, restore)| self.call(restore, instance))
    }
}

/// Runs a formal submodel: `initialise`, then `observe` and `solve` until `is_done`, then `observe_final`. This
/// is repeated as long as there are messages to start from. If the instance has the flag
/// `LIG_USES_CHECKPOINT_API`, the state is saved and restored, too, by the functions that are given for that.
/// If a function fails, the whole run ends with its text, and its status is returned.
///
/// # Safety
/// `instance` and `submodel` are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_run_submodel(
    instance: *mut lig_instance,
    submodel: *const lig_submodel,
    error: *mut lig_error,
) -> lig_status_code {
    const CALL: &Call = &Call("lig_run_submodel");
    let failed = Rc::default();
    let status = guard(error, || {
        // SAFETY: as the caller promises.
        let submodel = unsafe { read_required(submodel) }?;
        let (core, turn) = unsafe { used(instance, CALL) }?.into_parts();
        // SAFETY: `core` is the handle's own instance. The functions use it only through their arguments.
        let mut functions = unsafe { Functions::of(instance, &submodel, (CALL, turn), &failed) }?;
        run_submodel(core, &mut functions)
    });
    failed.get().unwrap_or(status as lig_status_code)
}
