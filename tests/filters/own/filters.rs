//! A filter that a user wrote in Rust, for test_own.py. Its two structs are those of ligament_filter.h.
use std::ffi::{c_char, c_int, c_void, CStr};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    size: usize,
    timestamp: f64,
    next_timestamp: f64,
    has_next_timestamp: i32,
    dtype: i32,
    order: i32,
    ndim: u32,
    shape: *const u64,
    data: *const c_void,
}

#[repr(C)]
pub struct Filter {
    size: usize,
    with: *const c_char,
    state: *mut c_void,
    emit: unsafe extern "C" fn(*mut Filter, *const Message) -> *mut c_void,
    fail: unsafe extern "C" fn(*mut Filter, *const c_char),
}

const FLOAT64: i32 = 11;

/// # Safety
/// As ligament_filter.h has it.
#[no_mangle]
pub unsafe extern "C" fn scale(filter: *mut Filter, message: *const Message) -> c_int {
    let Some(message) = message.as_ref() else { return 0 };
    if message.dtype != FLOAT64 {
        ((*filter).fail)(filter, c"only float64 can be scaled".as_ptr());
        return 1;
    }
    let by: f64 = CStr::from_ptr((*filter).with).to_str().unwrap_or("").parse().unwrap_or(f64::NAN);
    let ndim = message.ndim as usize;
    let shape = if ndim == 0 { &[] } else { std::slice::from_raw_parts(message.shape, ndim) };
    let count = shape.iter().product::<u64>() as usize;
    let to = ((*filter).emit)(filter, &Message { data: std::ptr::null(), ..*message }).cast::<f64>();
    if to.is_null() {
        return 1;
    }
    let from = std::slice::from_raw_parts(message.data.cast::<f64>(), count);
    for (i, number) in from.iter().enumerate() {
        *to.add(i) = by * number;
    }
    0
}
