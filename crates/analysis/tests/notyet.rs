//! Models in `tests/models/notyet` use valid features that a run does not support yet. Such a model can be
//! read, and is refused with the report in its `.expected` file. It can be run if the user ignores the feature
//! and the feature may be ignored. With `UPDATE_EXPECTED=1` the tests write these files instead; review the
//! changes before you commit them.

use ligament_analysis::{check_with_modules, CheckOptions, CheckReport, Files, Ignorable};
use ligament_model::{read, FileModules};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/notyet")
}

fn models() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "ymmsl")).collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

fn options() -> CheckOptions {
    CheckOptions { files: Files::Elsewhere, ..CheckOptions::default() }
}

fn checked(path: &Path, options: &CheckOptions) -> CheckReport {
    check_with_modules(&[path], options, &FileModules::default())
}

fn everything() -> HashSet<Ignorable> {
    Ignorable::NAMES.iter().map(|name| Ignorable::from_name(name).unwrap()).collect()
}

#[test]
fn what_cannot_be_done_yet_is_refused_by_name() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let prefix = format!("{}/", folder().display());
    for path in models() {
        let report = checked(&path, &options());
        let found = report.to_text().replace(&prefix, "");
        let expected_path = path.with_extension("expected");
        if update {
            std::fs::write(&expected_path, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(&expected_path).unwrap_or_default());
        let errors: Vec<_> = report.problems.iter().filter(|problem| problem.is_error()).collect();
        assert!(!errors.is_empty(), "{}", path.display());
        for problem in errors {
            assert!(problem.code.name().ends_with("-not-yet") || problem.code == "no-model", "{problem}");
            assert!(problem.line > 0 && !problem.advice.is_empty(), "{problem}");
        }
    }
}

#[test]
fn what_changes_no_message_can_be_left_out_and_is_a_warning_then() {
    let all = CheckOptions { ignore: everything(), ..options() };
    for path in models() {
        let report = checked(&path, &all);
        for problem in report.problems.iter().filter(|problem| problem.code.name().ends_with("-not-yet")) {
            assert!(!problem.is_error(), "{problem}");
        }
    }
    for name in Ignorable::NAMES {
        assert_eq!(Ignorable::from_name(name).unwrap().name(), *name);
    }
}

fn of_text(text: &str, options: &CheckOptions) -> Vec<&'static str> {
    let read = read(text, "m.ymmsl");
    assert!(read.problems.is_empty(), "{:#?}", read.problems);
    ligament_analysis::check_configuration(read.configuration, options)
        .problems
        .iter()
        .map(|p| p.code.name())
        .collect()
}

#[test]
fn what_is_not_part_of_the_model_that_runs_is_not_refused() {
    let text = "ymmsl_version: v0.2\nmodels:\n  m:\n    description: x\n    components:\n      \
                a: {description: x, ports: {o_f: o, timeline t: {o_i: free}}, implementation: p}\n      \
                b: {description: x, ports: {f_init: i j}, optional: true}\n    \
                conduits: {a.o: b.i}\n\
                programs: {p: {executable: /bin/true}, q: {executable: x, execution_model: openmpi}}\n\
                checkpoints: {at_end: false}\nligament: {wait: auto}\n";
    assert!(of_text(text, &options()).is_empty());
    assert_eq!(of_text(&text.replace("wait: auto", "wait: park"), &options()), ["wait-not-yet"]);
}
