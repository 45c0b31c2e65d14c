//! Whatever may stand in a site file, and in a list of machines: problems, and never a panic; a file without
//! problems says the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_launch::parse_hosts;
use ligament_launch::site::{parse_duration, read_site, Walltime};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (site, problems) = read_site(text, "site.yaml");
    assert_eq!(read_site(text, "site.yaml").0, site);
    problems.iter().for_each(|problem| drop(problem.to_string()));
    let _ = (parse_hosts(text), Walltime::parse(text), parse_duration(text));
});
