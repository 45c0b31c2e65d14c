//! What is valid and cannot be done yet: `tests/models/notyet`. It is read like every other model, refused by name with
//! the text beside it, and runs without what can be left out if the user says so.
//! Run with `UPDATE_EXPECTED=1` to write the texts anew, and read what changed.

use ligament_analysis::{check_with_modules, CheckOptions, Files, Given, Ignorable, Report};
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
    assert!(all.len() >= 6);
    all
}

fn options() -> CheckOptions {
    CheckOptions { files: Files::Elsewhere, ..CheckOptions::default() }
}

fn checked(path: &Path, options: &CheckOptions) -> Report {
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
            let can = !matches!(problem.code.name(), "filter-not-yet" | "mpi-nodes-not-yet");
            assert_eq!(can, !problem.is_error(), "{problem}");
        }
    }
    let resume = CheckOptions { ignore: [Ignorable::Resume].into(), ..options() };
    let report = checked(&folder().join("v01_checkpoints.ymmsl"), &resume);
    let errors: Vec<_> =
        report.problems.iter().filter(|problem| problem.is_error()).map(|p| p.code.name()).collect();
    assert_eq!(errors, ["checkpoints-not-yet"]);
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

const MPI: &str =
    "ymmsl_version: v0.1\nmodel: {name: m, components: {a: {implementation: p, multiplicity: 2}}}\n\
                   implementations: {p: {executable: /bin/true, execution_model: openmpi}}\n\
                   resources: {a: {nodes: 2, mpi_processes_per_node: 1}}\n";

#[test]
fn an_mpi_program_whose_instances_are_all_started_by_hand_or_given_is_fine() {
    let by_hand = |names: &[&str]| CheckOptions {
        by_hand: names.iter().map(|name| (*name).to_owned()).collect(),
        ..options()
    };
    assert_eq!(of_text(MPI, &by_hand(&["a[0]"])), ["mpi-nodes-not-yet"]);
    assert!(of_text(MPI, &by_hand(&["a[1]", "a[0]"])).is_empty());
    assert!(
        of_text(MPI, &CheckOptions { given: Given::Names(["p".to_owned()].into()), ..options() }).is_empty()
    );
    assert_eq!(of_text(MPI, &CheckOptions { given: Given::Everything, ..options() }), ["mpi-nodes-not-yet"]);
    let script = MPI.replace("executable: /bin/true, execution_model: openmpi", "script: mpirun x");
    assert!(of_text(&script, &options()).is_empty(), "a script starts MPI by itself");
    let by_srun = MPI.replace("openmpi", "srunmpi");
    assert!(of_text(&by_srun, &options()).is_empty());
    let by_mpich = MPI.replace(", execution_model: openmpi", "") + "ligament: {mpich: p}\n";
    assert_eq!(of_text(&by_mpich, &options()), ["mpi-nodes-not-yet"]);
}

#[test]
fn what_is_not_part_of_the_model_that_runs_is_not_refused() {
    let text = "ymmsl_version: v0.2\nmodels:\n  m:\n    description: x\n    components:\n      \
                a: {description: x, ports: {o_f: o, timeline t: {o_i: free}}, implementation: p}\n      \
                b: {description: x, ports: {f_init: i j}, optional: true}\n    \
                conduits: {a.o: last b.i}\n\
                programs: {p: {executable: /bin/true}, q: {executable: x, execution_model: openmpi}}\n\
                checkpoints: {at_end: false}\nligament: {wait: auto}\n";
    assert!(of_text(text, &options()).is_empty());
    let used = text.replace(
        "implementation: p}\n      b: {description: x, ports: {f_init: i j}, optional: true",
        "implementation: p}\n      b: {description: x, ports: {f_init: i j}, implementation: p",
    );
    assert_eq!(of_text(&used, &options()), ["unconnected-port", "filter-not-yet"]);
    let joined = used.replace("{a.o: last b.i}", "{a.o: b.i, a.free: b.j}");
    assert_eq!(of_text(&joined, &options()), ["timeline-not-yet"]);
    assert_eq!(of_text(&text.replace("wait: auto", "wait: park"), &options()), ["wait-not-yet"]);
}
