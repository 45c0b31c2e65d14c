//! Whatever may stand in a cxa file of MUSCLE 2: a model file that can be read, or problems with lines that are
//! there; never a panic, and no endless loop.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_cxa::{convert, CxaHost};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let host = CxaHost { environment: &|name| (name == "HOME").then(|| "/home".to_owned()), folder: "/models" };
    match convert(text, "m.cxa.rb", &host) {
        Ok(made) => assert!(ligament_model::read(&made.text, "m.ymmsl").into_result().is_ok(), "{}", made.text),
        Err(problems) => {
            let lines = text.lines().count() as u32 + 1;
            assert!(!problems.is_empty() && problems.iter().all(|one| (1..=lines).contains(&one.line)));
        }
    }
});
