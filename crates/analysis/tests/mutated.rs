//! Damaged model files never cause a panic of the check, and every reported error has a place. The damage:
//! pieces of a good file are cut out, doubled or replaced.

use ligament_analysis::{check_configuration, CheckOptions, Files, GivenCode};
use ligament_model::read;
use proptest::prelude::*;
use std::path::Path;

fn good() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models");
    let folders = ["good", "notyet"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    let mut paths: Vec<_> = folders.into_iter().flatten().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ymmsl"));
    paths.sort();
    paths.iter().filter(|p| p.is_file()).map(|p| std::fs::read_to_string(p).unwrap()).collect()
}

/// Cuts out, doubles or replaces a piece of the text.
fn mutate(text: &str, kind: u8, from: usize, length: usize, with: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let from = from % (chars.len() + 1);
    let to = (from + length).min(chars.len());
    let (before, piece, after) = (&chars[..from], &chars[from..to], &chars[to..]);
    let string = |part: &[char]| part.iter().collect::<String>();
    match kind {
        0 => string(before) + &string(after),
        1 => string(before) + &string(piece) + &string(piece) + &string(after),
        _ => string(before) + with + &string(after),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn mutated_models_are_checked_without_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((0..4u8, any::<usize>(), 0..20usize, "[ -~\n]{0,6}"), 1..4),
    ) {
        let files = good();
        let mut text = which.get(&files).clone();
        for (kind, from, length, with) in &changes {
            text = mutate(&text, *kind, from % 100_000, *length, with);
        }
        let result = read(&text, "mutated");
        for problem in &result.problems {
            prop_assert!(problem.line > 0 && problem.column > 0 && !problem.advice.is_empty(), "{}", problem);
        }
        let (files, given) = (Files::Elsewhere, GivenCode::Everything);
        let options = CheckOptions { files, given, ..CheckOptions::default() };
        let _ = check_configuration(result.configuration, &options);
    }
}
