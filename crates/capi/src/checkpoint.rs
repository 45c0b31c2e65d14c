//! Checkpoints: whether to save or to load the code's state, and the state itself.

use crate::instance::{lig_instance, used, used_by_owner, InUse};
use crate::message::lig_message;
use crate::misuse::Misuse;
use crate::options::lig_times;
use crate::status::{guard, lig_error, lig_status, out, wanted};
use crate::values::{lig_value, tree};
use ligament_instance::{Call, Error, Instance, Outgoing, ValueRef};
use std::ffi::{c_char, CString};
use std::os::unix::ffi::OsStringExt;

/// Asks the core a question about checkpoints.
///
/// # Safety
/// As `lig_resuming`.
unsafe fn ask(
    instance: *mut lig_instance,
    call: &'static Call,
    answer: *mut bool,
    question: impl FnOnce(&mut Instance) -> Result<bool, Error>,
) -> Result<(), Error> {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    let place = unsafe { out(answer, "the answer") }?;
    place.write(false);
    let mut instance = unsafe { used(instance, call) }?;
    place.write(question(&mut instance)?);
    Ok(())
}

/// True in the first pass after the run was resumed, if the code has saved its state: the code then calls
/// `lig_load_snapshot`. It is the first call in each pass of a code with the flag `LIG_USES_CHECKPOINT_API`.
/// The order of the calls in a pass is: `lig_resuming`, `lig_should_init`, in each step
/// `lig_should_save_snapshot`, and at the end `lig_should_save_final_snapshot`.
///
/// `LIG_ERR_USAGE` if this is not the next call of the pass; the text says which call is.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_resuming(
    instance: *mut lig_instance,
    resuming: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { ask(instance, &Call("lig_resuming"), resuming, Instance::resuming) })
}

/// The message that was saved: its times and the state. Call it if `lig_resuming` has said true. Free the
/// message with `lig_message_free`.
///
/// `LIG_ERR_USAGE` if `lig_resuming` has not said true.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_load_snapshot(
    instance: *mut lig_instance,
    message: *mut *mut lig_message,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(message, "message") }?;
        place.write(std::ptr::null_mut());
        let mut instance = unsafe { used(instance, &Call("lig_load_snapshot")) }?;
        let loaded = instance.load_snapshot()?;
        place.write(instance.own.messages.give(loaded));
        Ok(())
    })
}

/// True if the code must receive its `F_INIT` messages and set its state. False if the state was saved within a
/// pass, which now goes on. Call it after `lig_resuming`, or after `lig_load_snapshot`.
///
/// `LIG_ERR_USAGE` if this is not the next call of the pass.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_should_init(
    instance: *mut lig_instance,
    should_init: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { ask(instance, &Call("lig_should_init"), should_init, Instance::should_init) })
}

/// True if the code must save its state now, by `lig_save_snapshot`. Call it once in each step, after the
/// messages of the step, with the model time in s. If no checkpoint is asked for, it takes some nanoseconds.
///
/// `LIG_ERR_USAGE` if the time is not a finite number, or if another call must come first; `LIG_ERR_RUN_ENDS`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_should_save_snapshot(
    instance: *mut lig_instance,
    time: f64,
    should_save: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    // SAFETY: all pointers are as the caller promises.
    unsafe {
        if saves_nothing(instance, time, should_save) {
            lig_status::LIG_OK
        } else {
            should_save_slowly(instance, time, should_save, error)
        }
    }
}

static SHOULD_SAVE: Call = Call("lig_should_save_snapshot");

/// Does the same as `lig_should_save_snapshot` if no checkpoint is asked for, and returns true. Returns false
/// in any other case, which is left to `should_save_slowly`, because room for errors takes longer than all the
/// rest.
///
/// # Safety
/// As `lig_should_save_snapshot`.
#[inline(always)]
unsafe fn saves_nothing(instance: *mut lig_instance, time: f64, should_save: *mut bool) -> bool {
    // SAFETY: all pointers are as the caller promises.
    let Some(place) = (unsafe { wanted(should_save) }) else { return false };
    // SAFETY: as above.
    let Some(mut instance) = (unsafe { used_by_owner(instance, &SHOULD_SAVE) }) else { return false };
    let idle = instance.saves_nothing(time);
    if idle {
        place.write(false);
    }
    idle
}

/// # Safety
/// As `lig_should_save_snapshot`.
#[cold]
unsafe fn should_save_slowly(
    instance: *mut lig_instance,
    time: f64,
    should_save: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        ask(instance, &SHOULD_SAVE, should_save, |instance| instance.should_save_snapshot(time))
    })
}

/// Saves the code's state: a message with its times and any value; NULL saves a message without a value. The
/// value is read during the call, and arrays that it borrows (`lig_value_new_array_borrowed`) are not copied.
/// `times` may be NULL: then the message has time 0 and no next time. A full disk costs this checkpoint; the
/// run goes on, and its log says so.
///
/// `LIG_ERR_USAGE` if `lig_should_save_snapshot` has not said true.
///
/// # Safety
/// All pointers are valid; `times`, `state` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_save_snapshot(
    instance: *mut lig_instance,
    times: *const lig_times,
    state: *const lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let message = unsafe { outgoing(times, state) }?;
        unsafe { used(instance, &Call("lig_save_snapshot")) }?.save_snapshot(&message)
    })
}

/// True if the code must save its state at the end of a pass, by `lig_save_final_snapshot`. It is the last call
/// of each pass, after all messages of the pass. It waits for the `F_INIT` messages of the next pass, whose
/// time decides.
///
/// As `lig_reuse_instance`; `LIG_ERR_USAGE` if another call must come first.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_should_save_final_snapshot(
    instance: *mut lig_instance,
    should_save: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    static CALL: Call = Call("lig_should_save_final_snapshot");
    guard(error, || unsafe { ask(instance, &CALL, should_save, Instance::should_save_final_snapshot) })
}

/// Saves the code's state at the end of a pass; otherwise as `lig_save_snapshot`.
///
/// `LIG_ERR_USAGE` if `lig_should_save_final_snapshot` has not said true.
///
/// # Safety
/// As `lig_save_snapshot`.
#[no_mangle]
pub unsafe extern "C" fn lig_save_final_snapshot(
    instance: *mut lig_instance,
    times: *const lig_times,
    state: *const lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let message = unsafe { outgoing(times, state) }?;
        unsafe { used(instance, &Call("lig_save_final_snapshot")) }?.save_final_snapshot(&message)
    })
}

/// A directory in which the code, with all of its ranks, may keep files of its own beside the message of a
/// checkpoint. Between `lig_should_save_snapshot` (or the final one) and the save it is the directory of the
/// checkpoint that is being made, and exists. Between `lig_resuming` and `lig_should_init` it is the directory
/// of the checkpoint from which the run resumes, which is missing if the code has made no files. The files are
/// kept and removed with their checkpoint. The text ends with a NUL, and stays valid until the next call of
/// this function, or until the instance is freed.
///
/// `LIG_ERR_USAGE` between other calls; `LIG_ERR_SYSTEM` if the directory cannot be made.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_snapshot_directory(
    instance: *mut lig_instance,
    directory: *mut *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(directory, "directory") }?;
        place.write(std::ptr::null());
        let mut instance: InUse<'_> = unsafe { used(instance, &Call("lig_snapshot_directory")) }?;
        let path = instance.snapshot_directory()?;
        let name = path.to_string_lossy().into_owned();
        let text = CString::new(path.into_os_string().into_vec()).map_err(|_| Misuse::NulInName { name })?;
        place.write(instance.own.snapshot_directory.insert(text).as_ptr());
        Ok(())
    })
}

/// Returns the message that the caller saves.
///
/// # Safety
/// The pointers are NULL or valid for `'a`.
unsafe fn outgoing<'a>(times: *const lig_times, state: *const lig_value) -> Result<Outgoing<'a>, Error> {
    // SAFETY: as the caller promises.
    let data = if state.is_null() { ValueRef::None } else { ValueRef::Owned(unsafe { tree(state) }?) };
    let times = unsafe { times.as_ref() };
    Ok(Outgoing {
        timestamp: times.map_or(0.0, |times| times.timestamp),
        next_timestamp: times.filter(|times| times.has_next_timestamp).map(|times| times.next_timestamp),
        data,
        settings: None,
    })
}
