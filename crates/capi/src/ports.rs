//! Ports: declaring them, and asking how the model has connected them. Lists of names.

use crate::instance::{lig_instance, used};
use crate::misuse::Misuse;
use crate::options::{lig_operator_code, operator};
use crate::status::{guard, guard_or, lig_error, lig_status, name, out};
use ligament_instance::{Call, Error};
use std::ffi::{c_char, CString, NulError};

/// A port of a code.
#[repr(C)]
pub struct lig_port {
    /// The moment of the execution loop in which it is used.
    pub op: lig_operator_code,
    /// Its name; "name[]" for a vector port.
    pub name: *const c_char,
}

/// A list of names. Free it with `lig_names_free`.
pub struct lig_names {
    names: Vec<CString>,
}

impl lig_names {
    /// Gives the list to the caller.
    pub(crate) fn give(names: &[String]) -> Result<*mut lig_names, Error> {
        let names = names.iter().map(|name| CString::new(name.as_str()));
        let names = names
            .collect::<Result<_, _>>()
            .map_err(|error: NulError| Misuse::NulInNames { why: error.to_string() })?;
        Ok(Box::into_raw(Box::new(lig_names { names })))
    }
}

/// The number of names; 0 for NULL.
///
/// # Safety
/// `names` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_names_count(names: *const lig_names) -> usize {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    unsafe { names.as_ref() }.map_or(0, |names| names.names.len())
}

/// One of the names, with a NUL at its end. It lives as long as the list; NULL if the index is beyond the last
/// name.
///
/// # Safety
/// `names` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_names_at(names: *const lig_names, index: usize) -> *const c_char {
    let names = unsafe { names.as_ref() };
    names.and_then(|names| names.names.get(index)).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Frees a list of names. NULL is allowed.
///
/// # Safety
/// `names` is NULL, or came from this library and was not freed.
#[no_mangle]
pub unsafe extern "C" fn lig_names_free(names: *mut lig_names) {
    guard_or((), || {
        if !names.is_null() {
            drop(unsafe { Box::from_raw(names) });
        }
    });
}

/// The names of the ports with this operator, in the model's order and without "[]". Ports that are not
/// connected are included. If the code declares no ports, they are those of the model. `muscle_settings_in`, on
/// which the library itself receives, is not included. Free the list with `lig_names_free`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_list_ports(
    instance: *mut lig_instance,
    op: lig_operator_code,
    names: *mut *mut lig_names,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(names, "names") }?;
        place.write(std::ptr::null_mut());
        let mut ports = unsafe { used(instance, &Call("lig_list_ports")) }?.list_ports();
        place.write(lig_names::give(&ports.remove(operator(op)?.name()).unwrap_or_default())?);
        Ok(())
    })
}

/// True if a conduit is connected to a port.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_is_connected(
    instance: *mut lig_instance,
    port: *const c_char,
    connected: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(connected, "connected") }?;
        place.write(
            unsafe { used(instance, &Call("lig_is_connected")) }?
                .is_connected(unsafe { name(port, "port") }?)?,
        );
        Ok(())
    })
}

/// True if a port has slots.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_is_vector_port(
    instance: *mut lig_instance,
    port: *const c_char,
    vector: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(vector, "vector") }?;
        place.write(
            unsafe { used(instance, &Call("lig_is_vector_port")) }?
                .is_vector_port(unsafe { name(port, "port") }?)?,
        );
        Ok(())
    })
}

/// True if `lig_set_port_length` can set the port's number of slots. This holds for vector ports that are
/// connected to vector ports, and not to the instances of a component.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_is_resizable(
    instance: *mut lig_instance,
    port: *const c_char,
    resizable: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(resizable, "resizable") }?;
        place.write(
            unsafe { used(instance, &Call("lig_is_resizable")) }?
                .is_resizable(unsafe { name(port, "port") }?)?,
        );
        Ok(())
    })
}

/// Sets the number of slots of a resizable port, which is 0 at first. Each message tells it to the receivers.
///
/// `LIG_ERR_USAGE` for a port without slots, or if the model has set another number of slots.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_set_port_length(
    instance: *mut lig_instance,
    port: *const c_char,
    length: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &Call("lig_set_port_length")) }?.set_port_length(port, length)
    })
}

/// The number of slots of a vector port. For a resizable port that receives, this is the number that came with
/// the last received message.
///
/// `LIG_ERR_USAGE` for a port that is not a vector port.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_port_length(
    instance: *mut lig_instance,
    port: *const c_char,
    length: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(length, "length") }?;
        place.write(
            unsafe { used(instance, &Call("lig_get_port_length")) }?
                .get_port_length(unsafe { name(port, "port") }?)?,
        );
        Ok(())
    })
}
