//! Whatever an agent says to the head or the head to an agent: read without a panic, checked without one, and, if it is a
//! message, the same after being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Extent, FromAgent, FromHead};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(said) = from_bytes::<FromAgent>(bytes) {
        let extent = Extent { placement: vec![0, 1, 1, 2], channels: 4, inputs: 2 };
        let _ = extent.check(1, &said);
        // Numbers that are none differ from themselves.
        let again = from_bytes::<FromAgent>(&to_bytes(&said)).expect("what was written can be read");
        assert_eq!(to_bytes(&again), to_bytes(&said));
    }
    if let Ok(said) = from_bytes::<FromHead>(bytes) {
        if let FromHead::Begin(begin) = &said {
            let _ = begin.check(1);
        }
        let again = from_bytes::<FromHead>(&to_bytes(&said)).expect("what was written can be read");
        assert_eq!(to_bytes(&again), to_bytes(&said));
    }
});
