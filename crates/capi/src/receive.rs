//! Receiving: messages, arrays into the caller's memory, and waiting for any of several ports.

use crate::array::{describe, lig_array, nbytes};
use crate::instance::{lig_instance, used};
use crate::message::{free, lig_message};
use crate::misuse::Misuse;
use crate::options::{lig_bool, lig_receive_options, lig_times, read};
use crate::status::{guard, lig_error, lig_status, name, null, out, port_name, wanted};
use ligament_instance::{ArrayMut, Call, Error};
use std::ffi::c_char;

/// Waits for the next message on a port. Free it with `lig_message_free`.
///
/// `LIG_ERR_USAGE` if there is no such port, or if it does not receive or is not connected; `LIG_ERR_CLOSED` if
/// the conduit has ended; `LIG_ERR_TIMED_OUT`; `LIG_ERR_UNEXPECTED` if the message has another overlay of
/// settings than the one in force; `LIG_ERR_RUN_ENDS`; `LIG_ERR_INTERRUPTED`.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_receive(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    message: *mut *mut lig_message,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let place = unsafe { out(message, "message") }?;
        place.write(std::ptr::null_mut());
        let options = unsafe { read(options) }?;
        let port = unsafe { port_name(port) }?;
        let wait = options.wait()?;
        let mut instance = unsafe { used(instance, &Call("lig_receive")) }?;
        let taken = instance.own.messages.take();
        // SAFETY: no other code has the message until the caller gets it.
        let received = unsafe { taken.as_ref().content() };
        match instance.receive_to(port, options.slot(), wait, received.inner()) {
            Ok(()) => {
                received.complete();
                place.write(taken.as_ptr());
                Ok(())
            }
            Err(fault) => {
                unsafe { free(taken) };
                Err(fault)
            }
        }
    })
}

/// Does the same as `lig_receive`, but sets `message` to NULL if nothing is connected to the port. This is for
/// inputs for which the code has a value of its own.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_receive_if_connected(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    message: *mut *mut lig_message,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(message, "message") }?;
        place.write(std::ptr::null_mut());
        let options = unsafe { read(options) }?;
        let port = unsafe { port_name(port) }?;
        let wait = options.wait()?;
        let mut instance = unsafe { used(instance, &Call("lig_receive_if_connected")) }?;
        if let Some(came) = instance.receive_if_connected(port, options.slot(), wait)? {
            place.write(instance.own.messages.give(came));
        }
        Ok(())
    })
}

/// Does the same as `lig_receive`, and keeps the message's overlay of settings for `lig_message_settings`. The
/// overlay is not compared with the one in force. This is for codes that serve several others with different
/// settings. The overlay of an `F_INIT` message is already in force for the pass, unless the instance was made
/// with `LIG_DONT_APPLY_OVERLAY`.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_receive_with_settings(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    message: *mut *mut lig_message,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(message, "message") }?;
        place.write(std::ptr::null_mut());
        let options = unsafe { read(options) }?;
        let port = unsafe { port_name(port) }?;
        let wait = options.wait()?;
        let mut instance = unsafe { used(instance, &Call("lig_receive_with_settings")) }?;
        let came = instance.receive_with_settings(port, options.slot(), wait)?;
        place.write(instance.own.messages.give(came));
        Ok(())
    })
}

/// Receives an array into the caller's memory. `into` gives the type and the shape that must come, and the
/// place for the elements; its strides must be NULL. An array that comes in the other order is rearranged to
/// the order of `into`, so element (i, j) stays element (i, j). `times` may be NULL.
///
/// Otherwise as `lig_receive`. `LIG_ERR_UNEXPECTED` if type or shape differ: the message is consumed
/// nevertheless, and nothing is written.
///
/// # Safety
/// All pointers are valid, and `into` describes writable memory; `options`, `times` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_receive_into(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    into: *const lig_array,
    times: *mut lig_times,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let options = unsafe { read(options) }?;
        let port = unsafe { port_name(port) }?;
        let (described, array) = unsafe { describe(into) }?;
        if !array.strides.is_null() {
            return Err(Misuse::StridesToReceiveInto.into());
        }
        let size = nbytes(described.dtype, described.shape)?;
        let data = match (size, array.data.is_null()) {
            (0, _) => &mut [],
            (_, true) => return Err(null("the array's data")),
            _ => unsafe { std::slice::from_raw_parts_mut(array.data.cast::<u8>(), size) },
        };
        let mut target =
            ArrayMut { dtype: described.dtype, shape: described.shape, order: described.order, data };
        let mut instance = unsafe { used(instance, &Call("lig_receive_into")) }?;
        let came = instance.receive_into(port, options.slot(), options.wait()?, &mut target)?;
        if let Some(times) = unsafe { wanted(times) } {
            times.write(came.into());
        }
        Ok(())
    })
}

/// True if a receive on this port would return at once, with a message or because the conduit has ended. Of
/// `options` only the slot is used.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_poll(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    ready: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(ready, "ready") }?;
        place.write(false);
        let options = unsafe { read(options) }?;
        place.write(
            unsafe { used(instance, &Call("lig_poll")) }?.poll(unsafe { port_name(port) }?, options.slot())?,
        );
        Ok(())
    })
}

/// Waits until a message has arrived on this port, or the conduit has ended. True if there is a message. On an
/// F_INIT port in the reuse loop, true if the message of this pass has not been received yet. Of `options` only
/// slot and timeout are used.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_has_next(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_receive_options,
    more: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(more, "more") }?;
        place.write(false);
        let options = unsafe { read(options) }?;
        let mut instance = unsafe { used(instance, &Call("lig_has_next")) }?;
        place.write(instance.has_next(unsafe { port_name(port) }?, options.slot(), options.wait()?)?);
        Ok(())
    })
}

/// A port, and a slot if it is a vector port.
#[repr(C)]
pub struct lig_port_slot {
    /// The port's name.
    pub port: *const c_char,
    /// True if the port is a vector port.
    pub has_slot: lig_bool,
    /// The slot of a vector port. Only if `has_slot`.
    pub slot: u32,
}

/// Maximum number of ports. A larger number is taken for a mistake.
const MAX_PORTS: usize = 4 << 20;

/// Waits until a message has arrived on one of several ports, and sets `which` to the port's index in `ports`.
/// A conduit that has ended is ignored while another one may still have a message. Of `options` only the
/// timeout is used.
///
/// `LIG_ERR_CLOSED` if all of them have ended; otherwise as `lig_receive`.
///
/// # Safety
/// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_wait_any(
    instance: *mut lig_instance,
    ports: *const lig_port_slot,
    count: usize,
    options: *const lig_receive_options,
    which: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(which, "which") }?;
        let options = unsafe { read(options) }?;
        let ports = unsafe { slots(ports, count) }?;
        place.write(unsafe { used(instance, &Call("lig_wait_any")) }?.wait_any(&ports, options.wait()?)?);
        Ok(())
    })
}

/// Receives the first message that arrives on one of several ports, and sets `which` to the port's index in
/// `ports`. A conduit that has ended is ignored while another one may still have a message. Of `options` only
/// the timeout is used.
///
/// `LIG_ERR_CLOSED` if all of them have ended; otherwise as `lig_receive`.
///
/// # Safety
/// All pointers are valid, `ports` for `count` entries; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_receive_any(
    instance: *mut lig_instance,
    ports: *const lig_port_slot,
    count: usize,
    options: *const lig_receive_options,
    which: *mut usize,
    message: *mut *mut lig_message,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (place, given) = (unsafe { out(which, "which") }?, unsafe { out(message, "message") }?);
        given.write(std::ptr::null_mut());
        let options = unsafe { read(options) }?;
        let ports = unsafe { slots(ports, count) }?;
        let wait = options.wait()?;
        let mut instance = unsafe { used(instance, &Call("lig_receive_any")) }?;
        let (at, came) = instance.receive_any(&ports, wait)?;
        place.write(at);
        given.write(instance.own.messages.give(came));
        Ok(())
    })
}

/// Reads the ports that a caller waits for.
///
/// # Safety
/// `ports` is NULL, or has `count` entries that live for `'a`.
unsafe fn slots<'a>(ports: *const lig_port_slot, count: usize) -> Result<Vec<(&'a str, Option<u32>)>, Error> {
    if ports.is_null() || count == 0 {
        return Err(Misuse::NothingToWaitFor.into());
    }
    if count > MAX_PORTS {
        return Err(Misuse::TooManyPorts { count, most: MAX_PORTS }.into());
    }
    // SAFETY: as the caller promises.
    let entries = unsafe { std::slice::from_raw_parts(ports, count) }.iter();
    entries
        // SAFETY: each name ends with a NUL.
        .map(|entry| Ok((unsafe { name(entry.port, "a port") }?, (entry.has_slot != 0).then_some(entry.slot))))
        .collect()
}
