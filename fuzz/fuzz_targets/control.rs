//! Whatever an endpoint or an agent may find in its socket: read without a panic, and, if it is a message, the
//! same after being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_wire::control::{from_bytes, to_bytes, Notice, Request};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = from_bytes::<Request>(bytes) {
        assert_eq!(from_bytes::<Request>(&to_bytes(&request)).as_ref(), Ok(&request));
    }
    if let Ok(notice) = from_bytes::<Notice>(bytes) {
        assert_eq!(from_bytes::<Notice>(&to_bytes(&notice)).as_ref(), Ok(&notice));
    }
});
