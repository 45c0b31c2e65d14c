//! Facts about the library itself, and the names and sizes behind the numbers of its enumerations.

use crate::options::{dtype as element_type, lig_dtype_code};
use crate::status::{lig_status_code, wanted};
use crate::values::lig_kind_code;
use std::ffi::{c_char, CStr};

/// First number of the version of the C ABI. A program that was built for another number cannot use this
/// library.
pub const LIG_ABI_MAJOR: i32 = 0;

/// Second number of the version of the C ABI. It grows when something is added.
pub const LIG_ABI_MINOR: i32 = 4;

/// The version of the loaded library, such as "0.1.0". The text is never freed.
#[no_mangle]
pub extern "C" fn lig_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The version of the C ABI of the loaded library; `LIG_ABI_MAJOR` and `LIG_ABI_MINOR` are the version of this
/// header. A caller that loads the library by itself checks first: `major` must be equal, and `minor` at least
/// as large.
///
/// # Safety
/// `major` and `minor` are NULL or writable.
#[no_mangle]
pub unsafe extern "C" fn lig_abi_version(major: *mut i32, minor: *mut i32) {
    // SAFETY: as the caller promises.
    for (place, number) in [(major, LIG_ABI_MAJOR), (minor, LIG_ABI_MINOR)] {
        if let Some(place) = unsafe { wanted(place) } {
            place.write(number);
        }
    }
}

/// The name of a status, such as "LIG_ERR_CLOSED", or "unknown". The text is never freed.
#[no_mangle]
pub extern "C" fn lig_status_name(status: lig_status_code) -> *const c_char {
    let name = match status {
        0 => c"LIG_OK",
        1 => c"LIG_ERR_REGISTRATION",
        2 => c"LIG_ERR_USAGE",
        3 => c"LIG_ERR_UNEXPECTED",
        4 => c"LIG_ERR_CLOSED",
        5 => c"LIG_ERR_SETTING_UNSET",
        6 => c"LIG_ERR_TIMED_OUT",
        7 => c"LIG_ERR_INTERRUPTED",
        8 => c"LIG_ERR_OUT_OF_MEMORY",
        9 => c"LIG_ERR_RUN_ENDS",
        10 => c"LIG_ERR_SYSTEM",
        11 => c"LIG_ERR_PANIC",
        12 => c"LIG_ERR_SETTING_TYPE",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// The name of a kind of value, as in Python where there is one: "none", "bool", "int", "uint", "float",
/// "complex", "string", "bytes", "list", "map", "array", "settings"; or "unknown". The text is never freed.
#[no_mangle]
pub extern "C" fn lig_kind_name(kind: lig_kind_code) -> *const c_char {
    const NAMES: [&CStr; 12] = [
        c"none",
        c"bool",
        c"int",
        c"uint",
        c"float",
        c"complex",
        c"string",
        c"bytes",
        c"list",
        c"map",
        c"array",
        c"settings",
    ];
    usize::try_from(kind).ok().and_then(|kind| NAMES.get(kind)).unwrap_or(&c"unknown").as_ptr()
}

/// The name of an element type, as in NumPy: "bool", "int8", … "complex128"; or "unknown". The text is never
/// freed.
#[no_mangle]
pub extern "C" fn lig_dtype_name(dtype: lig_dtype_code) -> *const c_char {
    const NAMES: [&CStr; 14] = [
        c"unknown",
        c"bool",
        c"int8",
        c"int16",
        c"int32",
        c"int64",
        c"uint8",
        c"uint16",
        c"uint32",
        c"uint64",
        c"float32",
        c"float64",
        c"complex64",
        c"complex128",
    ];
    usize::try_from(dtype).ok().and_then(|dtype| NAMES.get(dtype)).unwrap_or(&c"unknown").as_ptr()
}

/// The size of one element of a type in bytes; 0 if there is no such type.
#[no_mangle]
pub extern "C" fn lig_dtype_size(dtype: lig_dtype_code) -> usize {
    element_type(dtype).map_or(0, |dtype| dtype.size())
}
