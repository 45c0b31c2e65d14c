//! Each damaged xMML file is either converted or refused, and never causes a panic.

use ligament_xmml::convert;
use std::path::Path;

/// Returns the next pseudo-random number below `below` (Knuth's MMIX generator).
fn next(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize) % below.max(1)
}

#[test]
fn mutated_files_are_converted_or_refused_with_lines_that_are_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/xmml/models");
    let mut refused = 0;
    for name in ["canals", "vessel", "weather"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.xmml"))).unwrap();
        assert!(convert(&text, name).is_ok());
        let words: Vec<&str> = text.split_inclusive([' ', '\n', '"', '<', '>']).collect();
        let mut state = 17;
        for _ in 0..1500 {
            let mut mutated = words.clone();
            for _ in 0..=next(&mut state, 3) {
                let (at, other) = (next(&mut state, mutated.len()), next(&mut state, mutated.len()));
                match next(&mut state, 4) {
                    0 => drop(mutated.remove(at)),
                    1 => mutated.swap(at, other),
                    2 => mutated.insert(at, words[other % words.len()]),
                    _ => mutated[at] = ["-1", "é.ü", "1e999 s", "\u{0}", "a.b.c", "&amp;"][other % 6],
                }
            }
            let mutated = mutated.concat();
            if let Err(problems) = convert(&mutated, name) {
                refused += 1;
                let lines = mutated.lines().count() as u32 + 1;
                assert!(problems.iter().all(|one| (1..=lines).contains(&one.line)), "{problems:?}");
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
