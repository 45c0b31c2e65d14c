//! Reports about broken models agree with the files `tests/models/broken/*.expected`. With `UPDATE_EXPECTED=1`
//! the tests write these files instead; review the changes before you commit them.

use ligament_analysis::{check_with_modules, CheckOptions};
use ligament_model::FileModules;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/broken")
}

fn models() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "ymmsl"))
        .collect();
    all.sort();
    all
}

#[test]
fn every_broken_model_is_explained_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let prefix = format!("{}/", folder().display());
    let mut wrong = Vec::new();
    for path in models() {
        let report = check_with_modules(&[&path], &CheckOptions::default(), &FileModules::default());
        let found = report.to_text().replace(&prefix, "");
        let expected_path = path.with_extension("expected");
        if update {
            std::fs::write(&expected_path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}:\nexpected\n{expected}\nfound\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_message_has_a_place_and_advice() {
    for path in models() {
        let report = check_with_modules(&[&path], &CheckOptions::default(), &FileModules::default());
        for problem in &report.problems {
            assert!(problem.file.is_some() && problem.line > 0 && problem.column > 0, "{problem}");
            assert!(!problem.advice.is_empty(), "{problem}");
            assert!(!problem
                .code
                .name()
                .contains(|c: char| !(c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())));
        }
    }
}

#[test]
fn the_report_says_the_same_as_json() {
    let path = folder().join("two-senders.ymmsl");
    let report = check_with_modules(&[&path], &CheckOptions::default(), &FileModules::default());
    let json = report.to_json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["errors"], 1);
    assert_eq!(json["problems"][0]["code"], "two-senders");
    assert_eq!(json["problems"][0]["line"], 10);
    assert_eq!(json["problems"][0]["severity"], "error");
}
