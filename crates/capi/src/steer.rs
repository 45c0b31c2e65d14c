//! Steering: settings that change while the model runs.

use crate::instance::{lig_instance, used};
use crate::status::{guard, lig_error, lig_status, name, out};
use ligament_instance::{Call, SettingDeclaration};
use std::ffi::c_char;

/// Applies changes of settings. Call it once in each step, before the step's work, with the step's model time
/// in s. `changed` is true if settings have changed: read the settings that the step needs again. All instances
/// that a change concerns make it in their first step at or after the same model time. The call waits while
/// instances agree on such a change, and while the run is halted. If there is nothing to do, it takes some
/// nanoseconds.
///
/// `LIG_ERR_USAGE` if the time is not a finite number; `LIG_ERR_RUN_ENDS`, `LIG_ERR_INTERRUPTED`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_steer(
    instance: *mut lig_instance,
    time: f64,
    changed: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    // SAFETY: all pointers are as the caller promises.
    unsafe {
        if steers_at_once(instance, time, changed) {
            lig_status::LIG_OK
        } else {
            steer_slowly(instance, time, changed, error)
        }
    }
}

static STEER: Call = Call("lig_steer");

/// Does the same as `lig_steer` if there is nothing to do, and returns true. Returns false in any other case,
/// which is left to `steer_slowly`. It is a function of its own, because making room for errors takes longer
/// than all the rest.
///
/// # Safety
/// As `lig_steer`.
#[inline(always)]
unsafe fn steers_at_once(instance: *mut lig_instance, time: f64, changed: *mut bool) -> bool {
    if changed.is_null() {
        return false;
    }
    // SAFETY: all pointers are as the caller promises.
    let calm = unsafe { used(instance, &STEER) }.is_ok_and(|mut instance| instance.steer_at_once(time));
    if calm {
        // SAFETY: the pointer is not NULL, and valid as the caller promises.
        unsafe { changed.write(false) };
    }
    calm
}

/// # Safety
/// As `lig_steer`.
#[cold]
unsafe fn steer_slowly(
    instance: *mut lig_instance,
    time: f64,
    changed: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises.
        let place = unsafe { out(changed, "changed") }?;
        place.write(false);
        place.write(unsafe { used(instance, &STEER) }?.steer(time)?);
        Ok(())
    })
}

/// Declares that a setting of this code can be steered, as a model does under "ligament: steerable:". If the
/// model declares the same setting, the model's declaration counts. `minimum` and `maximum` are the permitted
/// range; an infinite one means no limit. `unit` is for people, and may be NULL. `restart` is true if the code
/// reads the setting once in each pass of the reuse loop, and not in each step.
///
/// `LIG_ERR_USAGE` if the name or the range is not valid.
///
/// # Safety
/// `instance` and `setting` are valid; `unit` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_declare_steerable(
    instance: *mut lig_instance,
    setting: *const c_char,
    minimum: f64,
    maximum: f64,
    unit: *const c_char,
    restart: bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises.
        let setting = unsafe { name(setting, "the setting's name") }?;
        let unit = if unit.is_null() { "" } else { unsafe { name(unit, "the unit") }? };
        let bound = |bound: f64| (!bound.is_infinite()).then_some(bound);
        unsafe { used(instance, &Call("lig_declare_steerable")) }?.declare_steerable(SettingDeclaration {
            name: setting,
            min: bound(minimum),
            max: bound(maximum),
            unit,
            restart,
            kind: None,
        })
    })
}
