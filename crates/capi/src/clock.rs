//! The clock of an instance, and events.

use crate::instance::{lig_instance, used};
use crate::status::{guard, lig_error, lig_status, name, numbers, out, port_name, wanted};
use ligament_instance::Call;
use std::ffi::c_char;
use std::ptr::null;

/// The time of the instance's clock, in the unit of the model's times: seconds, if the model does not give
/// another. The clock is at 0 when a pass of the reuse loop begins.
///
/// `LIG_ERR_USAGE` if the model gives the instance no tick.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_time(
    instance: *mut lig_instance,
    time: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let place = unsafe { out(time, "time") }?;
        place.write(unsafe { used(instance, &Call("lig_time")) }?.time()?);
        Ok(())
    })
}

/// Advances the clock by one tick: sends the events that are due, waits for those that are to be delivered by
/// then, and applies changes of settings, as `lig_steer` does. `*changed` is true if settings have changed;
/// `changed` may be NULL.
///
/// `LIG_ERR_USAGE` if the model gives the instance no tick, or if delivered events were not read;
/// `LIG_ERR_RUN_ENDS`, `LIG_ERR_INTERRUPTED`.
///
/// # Safety
/// All pointers are valid; `changed` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_tick(
    instance: *mut lig_instance,
    changed: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let mut place = unsafe { wanted(changed) };
        place.iter_mut().for_each(|place| _ = place.write(false));
        let mut instance = unsafe { used(instance, &Call("lig_tick")) }?;
        instance.own.batches.clear();
        let settings_changed = instance.tick()?;
        place.iter_mut().for_each(|place| _ = place.write(settings_changed));
        Ok(())
    })
}

/// Sends an event on a port that has `events:` in the model. Its time lies between the time of the clock and
/// the next tick. Its id is at least 0, and below the number that the model gives.
///
/// `LIG_ERR_USAGE` if the port carries no events, or if the time or the id is not possible.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_insert_event(
    instance: *mut lig_instance,
    port: *const c_char,
    time: f64,
    id: i32,
    error: *mut lig_error,
) -> lig_status {
    if unsafe { inserts_at_once(instance, port, time, id) } {
        lig_status::LIG_OK
    } else {
        unsafe { insert_slowly(instance, port, time, id, error) }
    }
}

static INSERT_EVENT: Call = Call("lig_insert_event");

/// Does the same as `lig_insert_event` in the usual case. Returns false, and has done nothing, in any unusual
/// case. It is a function of its own, because making room for errors takes longer than all the rest.
///
/// # Safety
/// As `lig_insert_event`.
#[inline(always)]
unsafe fn inserts_at_once(instance: *mut lig_instance, port: *const c_char, time: f64, id: i32) -> bool {
    // `insert_slowly` reports a null pointer. The port's name and the instance are used where they are: to move
    // a struct, its members would be read just after they were written, which stalls the processor.
    let Ok(port) = (unsafe { port_name(port) }) else { return false };
    unsafe { used(instance, &INSERT_EVENT) }
        .is_ok_and(|mut instance| instance.insert_event_at_once(port, time, id))
}

/// # Safety
/// As `lig_insert_event`.
#[cold]
unsafe fn insert_slowly(
    instance: *mut lig_instance,
    port: *const c_char,
    time: f64,
    id: i32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &INSERT_EVENT) }?.insert_event(port, time, id)
    })
}

/// Sends `count` events. If one of them cannot be sent, none is. Otherwise as `lig_insert_event`.
///
/// # Safety
/// All pointers are valid; `times` and `ids` have `count` numbers; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_insert_events(
    instance: *mut lig_instance,
    port: *const c_char,
    count: usize,
    times: *const f64,
    ids: *const i32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (times, ids) = unsafe { (numbers(times, count, "times")?, numbers(ids, count, "ids")?) };
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &Call("lig_insert_events")) }?.insert_events(port, times, ids)
    })
}

/// The next of the batches of events that have been delivered on a port up to now: `*count` times and ids,
/// in no order. `*count` is 0 if all have been read. The arrays lie where their sender put them, and are
/// valid until the next tick. The code reads all batches before it ticks again.
///
/// `LIG_ERR_USAGE` if the port carries no events; otherwise as `lig_receive`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_events(
    instance: *mut lig_instance,
    port: *const c_char,
    count: *mut usize,
    times: *mut *const f64,
    ids: *mut *const i32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let count = unsafe { out(count, "count") }?;
        let (times, ids) = unsafe { (out(times, "times")?, out(ids, "ids")?) };
        count.write(0);
        times.write(null());
        ids.write(null());
        let port = unsafe { name(port, "port") }?;
        let mut instance = unsafe { used(instance, &Call("lig_events")) }?;
        if let Some(batch) = instance.events(port)? {
            count.write(batch.len());
            times.write(batch.times().as_ptr());
            ids.write(batch.ids().as_ptr());
            instance.own.batches.push(batch);
        }
        Ok(())
    })
}
