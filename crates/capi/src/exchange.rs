//! Exchanges: the part of a distributed array that a rank has.

use crate::array::LIG_MAX_DIMS;
use crate::instance::{lig_instance, used};
use crate::status::{guard, lig_error, lig_status, name, numbers, out};
use ligament_instance::{Call, Part};
use std::ffi::c_char;

/// Says that this rank has a block of the array of a port: the block begins at the indices `start` and has
/// the shape `shape`, each of `ndim` numbers. Indices count from 0. A part without elements has a length of
/// 0. The map holds for all messages of the port until the next map.
///
/// `LIG_ERR_USAGE` if the model gives the port no array, or if the block is not within the array.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_map_block(
    instance: *mut lig_instance,
    port: *const c_char,
    ndim: usize,
    start: *const u64,
    shape: *const u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let (start, shape) = unsafe { (numbers(start, ndim, "start")?, numbers(shape, ndim, "shape")?) };
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &Call("lig_map_block")) }?.map(port, Part::Block { start, shape })
    })
}

/// Says that this rank has the elements with the numbers `begin` to `end` (not included) of the array of a
/// port. The elements are numbered from 0, so that the last index of the array runs fastest. Its messages
/// have one dimension.
///
/// `LIG_ERR_USAGE` if the model gives the port no array, or if the range is not within the array.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_map_range(
    instance: *mut lig_instance,
    port: *const c_char,
    begin: u64,
    end: u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &Call("lig_map_range")) }?.map(port, Part::Range { begin, end })
    })
}

/// Says that this rank has the elements of the array of a port with the given numbers, in this order. The
/// elements are numbered from 0, so that the last index of the array runs fastest. Its messages have one
/// dimension.
///
/// `LIG_ERR_USAGE` if the model gives the port no array, or if a number is not within the array or occurs
/// twice.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_map_list(
    instance: *mut lig_instance,
    port: *const c_char,
    list: *const i64,
    count: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let list = unsafe { numbers(list, count, "list") }?;
        let port = unsafe { name(port, "port") }?;
        unsafe { used(instance, &Call("lig_map_list")) }?.map(port, Part::List(list))
    })
}

/// The shape of the whole array of which a port carries a part: `ndim` lengths. `ndim` is 0 if nothing is
/// connected to the port.
///
/// `LIG_ERR_USAGE` if the model gives the port no array.
///
/// # Safety
/// `shape` has room for `LIG_MAX_DIMS` numbers. All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_array_shape(
    instance: *mut lig_instance,
    port: *const c_char,
    shape: *mut u64,
    ndim: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let lengths = unsafe { out(shape.cast::<[u64; LIG_MAX_DIMS]>(), "shape") }?;
        let count = unsafe { out(ndim, "ndim") }?;
        let port = unsafe { name(port, "port") }?;
        let instance = unsafe { used(instance, &Call("lig_array_shape")) }?;
        let array = instance.array_shape(port)?.unwrap_or_default();
        let mut whole = [0; LIG_MAX_DIMS];
        whole[..array.len()].copy_from_slice(array);
        lengths.write(whole);
        count.write(array.len());
        Ok(())
    })
}
