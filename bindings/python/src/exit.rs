//! Instances whose program ends without `finish`. The program's exit status says whether they are done, and
//! Python tells nobody of it before it has ended itself: a `SystemExit` meets no hook. So they wait here until
//! the process exits.

use ligament_catalogue::said;
use ligament_instance::Instance as Core;
use std::ffi::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The instances that wait; `None` before the first one.
static LEAVING: Mutex<Option<Vec<Core>>> = Mutex::new(None);

extern "C" {
    /// Of the C library (`on_exit(3)`): has a function called at the exit of the process, with its status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Keeps an instance until the process exits.
pub(crate) fn keep(mut core: Core) {
    // There will be no interpreter to ask.
    core.set_interrupt_check(Box::new(|| false));
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    if leaving.is_none() {
        // SAFETY: `at_exit` lives as long as the process, as a Python module is never unloaded, and takes no
        // argument.
        unsafe { on_exit(at_exit, null_mut()) };
    }
    leaving.get_or_insert_default().push(core);
}

/// Signs off those that wait. If the process has failed they are left as they are: whoever watches it sees the
/// status, and reads in its output why.
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner).take();
    for mut core in leaving.into_iter().flatten() {
        if status == 0 {
            let ended = catch_unwind(AssertUnwindSafe(|| core.finish()));
            if let Ok(Err(error)) = ended {
                eprintln!("{}", said!(SIGNING_OFF_FAILED, "ligament: signing off: {error}"));
            }
        }
        // Dropping it would sign it off, and might need the interpreter.
        std::mem::forget(core);
    }
}
