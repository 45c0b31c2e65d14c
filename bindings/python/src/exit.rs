//! Instances whose program ends without `finish`. The program's exit status decides if they have ended well.
//! Python gives the status to no hook, and a `SystemExit` is not reported either. So the instances wait here
//! until the process exits.

use ligament_catalogue::said;
use ligament_instance::Instance as Core;
use std::ffi::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The instances that wait; `None` before the first one.
static LEAVING: Mutex<Option<Vec<Core>>> = Mutex::new(None);

extern "C" {
    /// `on_exit(3)` of the C library: registers a function that is called at the exit of the process, with its
    /// status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Keeps an instance until the process exits.
pub(crate) fn keep(mut core: Core) {
    // The interpreter is gone by then, so its signals are not checked.
    core.set_interrupt_check(Box::new(|| false));
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    if leaving.is_none() {
        // SAFETY: `at_exit` lives as long as the process, as a Python module is never unloaded, and takes no
        // argument.
        unsafe { on_exit(at_exit, null_mut()) };
    }
    leaving.get_or_insert_default().push(core);
}

/// Signs off the waiting instances. If the process has failed, they are left as they are: the watcher of the
/// process sees its status, and finds the reason in its output.
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner).take();
    for mut core in leaving.into_iter().flatten() {
        if status == 0 {
            let ended = catch_unwind(AssertUnwindSafe(|| core.finish()));
            if let Ok(Err(error)) = ended {
                eprintln!("{}", said!(SIGNING_OFF_FAILED, "ligament: signing off: {error}"));
            }
        }
        // Dropping the instance would sign it off, and might need the interpreter.
        std::mem::forget(core);
    }
}
