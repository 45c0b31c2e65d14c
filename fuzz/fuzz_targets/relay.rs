//! Whatever a stranger may say to a relay, and whatever may be given out for a relay's file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ligament_net::fuzzing::relay(bytes));
