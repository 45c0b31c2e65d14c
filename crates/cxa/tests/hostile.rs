//! Hostile and damaged files end with a problem, in bounded time and memory, and never cause a panic.

use ligament_cxa::{convert, CxaHost, MAX_BYTES};
use std::path::Path;

fn host() -> CxaHost<'static> {
    CxaHost { environment: &|_| None, folder: "/models" }
}

fn refused(text: &str) -> String {
    let problems = convert(text, "m.cxa.rb", &host()).unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn loops_without_an_end_are_ended() {
    for text in [
        "while true do end",
        "loop do x = 1 end",
        "x = 1\nuntil x == 0\n x += 1\nend",
        "for i in 1..9000000000000000000\nend",
        "9000000000000000000.times { |i| i }",
        "(1..9000000000000000000).each do |i| i end",
        "x = (1..9000000000000000000).to_a",
        "x = (1..9000000000000000000).map { |i| i }",
        "x = Array.new(9000000000000000000, 1)",
        "x = [1]\nfor i in x\n x << i\nend",
        "x = 'a'\nloop do x = x + x + 'b' end",
        "while true do foo end",
    ] {
        let found = refused(text);
        assert!(
            found.contains("steps up to here") || found.contains("bytes") || found.contains("foo"),
            "{text}: {found}"
        );
    }
}

#[test]
fn texts_and_lists_that_grow_without_bound_are_refused() {
    assert!(refused("x = 'ab' * 9000000000000000000").contains("steps"));
    assert!(refused("x = 'a' * 100\n40.times { x = x * 100 }").contains("steps"));
    assert!(refused("x = 'a' * 1000000\nx = x + x").contains("bytes"));
    let found = refused("x = [1]\nx << x\ny = \"#{x}\"");
    assert!(found.contains("cannot be written as a text"), "{found}");
    let found = refused("x = []\n1000000.times { x = [x] }\ny = x.join");
    assert!(found.contains("text") || found.contains("steps"), "{found}");
}

#[test]
fn deep_nesting_is_refused_and_overflows_no_stack() {
    for text in [
        "x = ".to_owned() + &"(".repeat(100_000),
        "x = ".to_owned() + &"[".repeat(100_000),
        "x = ".to_owned() + &"{ 'a' => ".repeat(50_000),
        "x = ".to_owned() + &"!".repeat(100_000) + "1",
        "x = ".to_owned() + &"- ".repeat(100_000) + "1",
        "x = ".to_owned() + &"1 + ".repeat(100_000) + "1",
        "x = ".to_owned() + &"2 ** ".repeat(100_000) + "1",
        "x = 1".to_owned() + &".to_s".repeat(100_000),
        "x = y".to_owned() + &"[0]".repeat(100_000),
        "if true\n".repeat(100_000),
        "x = 1".to_owned() + &" if true".repeat(100_000),
        "x = true".to_owned() + &" and true".repeat(100_000),
        "x = ".to_owned() + &"true ? 1 : ".repeat(90_000) + "1",
        "a = ".repeat(100_000) + "1",
        "loop { ".repeat(100_000),
        "not ".repeat(100_000) + "1",
    ] {
        let found = refused(&text);
        assert!(
            found.contains("within each other") || found.contains("is expected"),
            "{}: {found}",
            &text[..30]
        );
    }
    assert!(refused(&("x = ".to_owned() + &"\"#{".repeat(1000) + &"}\"".repeat(1000))).contains(":1:"));
    assert!(refused(&"x".repeat(MAX_BYTES + 1)).contains("are the most"));
}

#[test]
fn a_long_file_without_mistakes_is_read() {
    let mut text = String::from("all = []\n4000.times { |i| all << NativeInstance.new(\"n#{i}\", './n') }\n");
    text.push_str("3999.times do |i|\n  all[i].couple(all[i + 1], 'out' => 'in')\n  all[i]['k'] = i\nend\n");
    let made = convert(&text, "m.cxa.rb", &host()).unwrap();
    assert!(made.text.contains("      n3998.out: n3999.in\n") && made.text.contains("  n17.k: 17\n"));
}

/// Returns the next pseudo-random number below `below` (Knuth's MMIX generator).
fn next(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize) % below.max(1)
}

#[test]
fn damaged_files_are_converted_or_refused_with_lines_that_are_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cxa/models");
    let mut refused = 0;
    for name in ["canal", "old", "languages"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.cxa.rb"))).unwrap();
        assert!(convert(&text, name, &host()).is_ok());
        let words: Vec<&str> = text.split_inclusive([' ', '\n', '"', '\'', '(', ')', '[', ']', ',']).collect();
        let mut state = 23;
        for round in 0..1500 {
            let mut mutated = words.clone();
            for _ in 0..=next(&mut state, 3) {
                let (at, other) = (next(&mut state, mutated.len()), next(&mut state, mutated.len()));
                match next(&mut state, 5) {
                    0 => drop(mutated.remove(at)),
                    1 => mutated.swap(at, other),
                    2 => mutated.insert(at, words[other % words.len()]),
                    3 => mutated.truncate(at.max(1)),
                    _ => {
                        mutated[at] =
                            ["-1", "é.ü", "1e999", "\u{0}", "end", "#{", "=>", "**", "do |x|"][other % 9]
                    }
                }
            }
            let mutated = mutated.concat();
            if let Err(problems) = convert(&mutated, name, &host()) {
                refused += 1;
                let lines = mutated.lines().count() as u32 + 1;
                let is_there = |line| (1..=lines).contains(&line);
                assert!(problems.iter().all(|one| is_there(one.line)), "{round}: {problems:?}");
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
