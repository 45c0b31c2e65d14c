//! The C ABI: `libligament.so` and `include/ligament.h`, which is generated from these files. Handles are
//! opaque. Every function checks its pointers and stops panics. All decisions are made in `ligament-instance`.
#![allow(non_camel_case_types)]

mod array;
mod options;
mod status;

// The modules are in the order of the header.
mod about;
mod clock;

mod exchange;
mod instance;
mod ports;
mod settings;
mod steer;

mod checkpoint;

mod send;

mod receive;

mod message;
mod values;

mod expected;

mod builders;
mod submodel;

mod light;

mod grid;
mod module;

mod path;

mod misuse;
