//! Whatever the other end of a copy may say: single messages, and all that comes to a receiver or a sender.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    match which % 4 {
        0 => ligament_files::fuzzing::message(bytes),
        1 => ligament_files::fuzzing::receiver(bytes),
        2 => ligament_files::fuzzing::sender(bytes),
        _ => ligament_files::fuzzing::name(bytes),
    }
});
