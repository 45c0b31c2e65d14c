//! Whatever a stranger may say to a listening domain, and whatever may be given out for an invitation.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ligament_net::fuzzing::greeting(bytes));
