//! Whatever the relay at the other end of a trunk may say of circuits.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ligament_net::fuzzing::trunk(bytes));
