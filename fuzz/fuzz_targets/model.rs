//! Reads any text as a model file, resolves and expands what was read, and writes it again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_model::{read, Configuration, NoModules};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let result = read(text, "fuzz");
    let clean = result.problems.is_empty();
    let mut config = result.configuration;
    if clean {
        let written = config.to_yaml();
        Configuration::from_yaml(&written, "written").expect("what was written can be read");
    }
    config.resolve_imports(&NoModules);
    // Large multiplicities are legal; a fuzzer has better things to do than to expand them.
    let small = |m: &ligament_model::Model| {
        m.components.len() < 50 && m.components.values().all(|c| c.instance_count().is_some_and(|n| n < 1000))
    };
    if config.models.len() < 5 && config.models.values().all(small) {
        let _ = config.expand();
    }
});
