//! Checkpoint files and recordings with any contents: what a file says of itself, its records and calls, and the
//! values in these: the states of the code and of the library, and messages that were under way, sent or taken.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first bytes say which of the two a file is.
    ligament_checkpoint::fuzzing::checkpoint(bytes);
    ligament_checkpoint::fuzzing::recording(bytes);
});
