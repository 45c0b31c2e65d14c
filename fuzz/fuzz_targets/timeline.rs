//! Reads any text as the timeline of a run, and adds up who waited for whom.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_manager::timeline::{long_waits, RunTimeline};
use std::path::Path;

const BEGINNING: &str =
    "ligament timeline 1\n{\"run\":\"r\",\"model\":\"m\",\"started\":\"\",\"resolution\":0}\n";

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Both as it is and as what follows a good beginning.
    for text in [text.to_owned(), format!("{BEGINNING}{text}\n")] {
        if let Ok(timeline) = RunTimeline::read(&text, Path::new("fuzz")) {
            let _ = (long_waits(&timeline, true), long_waits(&timeline, false));
            let _ = timeline.lanes.iter().map(|lane| lane.computing()).max();
        }
    }
});
