//! The C ABI: `libligament.so` and `include/ligament.h`, which is generated from these files. Handles are opaque,
//! every function checks its pointers and stops panics, and nothing here decides anything that
//! `ligament-instance` does not.
#![allow(non_camel_case_types)]

mod array;
mod options;
mod status;

// What follows stands in the order of the header.
mod instance;
mod ports;
mod settings;

mod send;

mod receive;

mod message;
mod values;

mod builders;
mod submodel;

use std::ffi::c_char;

/// The version of the library that is loaded, such as "0.1.0". It lives for ever.
#[no_mangle]
pub extern "C" fn lig_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
