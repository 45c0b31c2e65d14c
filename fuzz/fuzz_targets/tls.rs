//! Whatever may come on a connection while hands are shaken, and between the records of one that is encrypted:
//! nothing of it is ever taken for what the other end has said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_net::fuzzing::{handshake, records};

fuzz_target!(|bytes: &[u8]| {
    let Some((&part, bytes)) = bytes.split_first() else { return };
    handshake(bytes, usize::from(part));
    records(bytes, usize::from(part));
});
