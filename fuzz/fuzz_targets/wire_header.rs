//! Any 64 bytes are a header or an error, and a header that was read is written as the same header.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_wire::Header;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = Header::from_bytes(bytes) {
        let written = header.to_bytes();
        let again = Header::from_bytes(&written).expect("a header that was written can be read");
        assert_eq!(again.to_bytes(), written);
        assert_eq!(again.encode()[6..], header.encode()[6..]);
    }
});
