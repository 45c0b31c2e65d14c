//! The files of a starter beside its sources: build file, model file, README, and `.gitignore`.

use super::languages::{cargo, Code, Language, FORTRAN_MPI_RULES, FORTRAN_RULES};
use super::skeletons::Skeleton;
use std::fmt::Write;
use std::path::Path;

/// A file of a starter.
pub(super) struct File {
    pub path: String,
    pub text: String,
    pub executable: bool,
}

impl File {
    fn new(path: impl Into<String>, text: impl Into<String>) -> File {
        File { path: path.into(), text: text.into(), executable: false }
    }
}

/// Returns all files of a starter with these codes. Codes in Rust depend on the crate in `crate_for_rust`.
pub(super) fn files(name: &str, codes: &[Code], crate_for_rust: Option<&Path>) -> Vec<File> {
    let mut files = Vec::new();
    for code in codes {
        files.push(File::new(code.source(), code.text()));
        files.push(File::new(code.case(), code.case_text()));
        if let Some(script) = code.script() {
            files.push(File { path: format!("{}.sh", code.name), text: script, executable: true });
        }
    }
    if let Some(krate) = crate_for_rust.filter(|_| codes.iter().any(|code| code.language == Language::Rust)) {
        files.push(File::new("Cargo.toml", cargo(name, krate)));
    }
    files.push(File::new("Makefile", makefile(codes)));
    files.push(File::new(model_file(name, codes), model(name, codes)));
    files.push(File::new("README.md", readme(name, codes)));
    files.push(File::new(".gitignore", ignored(&codes.iter().collect::<Vec<_>>())));
    files
}

/// Returns all files of a starter that was made from the model file `source`. `text` is the new text of the
/// model file.
pub(super) fn files_of_model(
    name: &str,
    source: &Path,
    text: String,
    codes: &[(Code, Skeleton)],
    crate_for_rust: Option<&Path>,
) -> Vec<File> {
    let mut files = Vec::new();
    let only: Vec<&Code> = codes.iter().map(|(code, _)| code).collect();
    for (code, skeleton) in codes {
        files.push(File::new(code.source(), skeleton.text(code)));
        if let Some(script) = code.script() {
            files.push(File { path: format!("{}.sh", code.name), text: script, executable: true });
        }
    }
    if let Some(krate) = crate_for_rust.filter(|_| only.iter().any(|code| code.language == Language::Rust)) {
        files.push(File::new("Cargo.toml", cargo(name, krate)));
    }
    let mut make = "# Builds the codes, and runs the model: make test\n".to_owned();
    make.push_str(&rules(&only));
    make.push_str("test: all\n\tligament run --quiet model.ymmsl\n");
    make.push_str(&cleaning(&only));
    files.push(File::new("Makefile", make));
    files.push(File::new("model.ymmsl", text));
    let mut about = format!("# {name}\n\nMade of `{}`.\n\n", source.display());
    for (code, _) in codes {
        let _ = writeln!(about, "- `{}`, in {}", code.source(), code.language.said());
    }
    about.push_str(
        "\nEach code goes through its execution loop, for as many steps as the setting `steps` says, and sends \
         zeros on all of its ports. Put your own where it says \"compute\". Build, and run the model:\n\n    \
         make test\n\nThe command `ligament` must be in `PATH`; `ligament explain CODE` says more about an \
         error.\n",
    );
    files.push(File::new("README.md", about));
    files.push(File::new(".gitignore", ignored(&only)));
    files
}

/// Number of ranks with which the test of a starter runs an MPI program.
const RANKS: usize = 2;

fn is_model(codes: &[Code]) -> bool {
    codes.len() > 1
}

/// Returns the Makefile rules that build the codes.
fn rules(codes: &[&Code]) -> String {
    let mut text = String::new();
    let targets: Vec<String> = codes.iter().filter_map(|code| code.target()).collect();
    let _ = writeln!(text, "all: {}\n", targets.join(" "));
    let in_fortran = || codes.iter().filter(|code| code.language == Language::Fortran);
    if in_fortran().any(|code| code.mpi) {
        text.push_str(FORTRAN_MPI_RULES);
    } else if in_fortran().next().is_some() {
        text.push_str(FORTRAN_RULES);
    }
    for code in codes {
        text.push_str(&code.rule());
    }
    text
}

fn cleaning(codes: &[&Code]) -> String {
    let mut made: Vec<&str> = codes.iter().flat_map(|code| code.made()).collect();
    made.sort_unstable();
    made.dedup();
    format!("\nclean:\n\trm -rf {} runs\n\n.PHONY: all test clean\n", made.join(" "))
}

fn makefile(codes: &[Code]) -> String {
    let mut text = "# Builds, and tries each code alone against its case: make test\n".to_owned();
    let all: Vec<&Code> = codes.iter().collect();
    text.push_str(&rules(&all));
    text.push_str("test: all\n");
    for code in codes {
        let command = if code.mpi {
            // Open MPI puts its own directory first in PATH, and another Python may be in it.

            format!("mpirun -n {RANKS} {}", code.command().replace("python3", "$$(command -v python3)"))
        } else {
            code.command()
        };
        let _ = writeln!(text, "\tligament play {} -- {command}", code.case());
    }
    if is_model(codes) {
        text.push_str("\tligament run --quiet model.ymmsl\n");
        text.push_str("\tligament logs latest macro | grep 'at 2.* says 25'\n");
    }
    text.push_str(&cleaning(&all));
    text
}

fn model_file(name: &str, codes: &[Code]) -> String {
    if is_model(codes) {
        "model.ymmsl".to_owned()
    } else {
        format!("{name}.ymmsl")
    }
}

fn model(name: &str, codes: &[Code]) -> String {
    let mut text = "ymmsl_version: v0.1\n".to_owned();
    if is_model(codes) {
        let _ = writeln!(text, "model:\n  name: {name}\n  components:");
        for code in codes {
            let _ =
                writeln!(text, "    {0}: {{implementation: {0}, ports: {1}}}", code.name, code.role.ports());
        }
        text.push_str("  conduits:\n    macro.state: micro.start\n    micro.end: macro.result\n");
        text.push_str("settings:\n  t_max: 3.0\n");
    } else {
        let _ = writeln!(
            text,
            "# Give this file beside that of a model: ligament run model.ymmsl {name}/{name}.ymmsl\n\
             # The model has a component {{implementation: {name}, ports: {}}}.",
            codes[0].role.ports()
        );
    }
    text.push_str("implementations:\n");
    for code in codes {
        let _ = writeln!(text, "  {}: {}", code.name, code.implementation());
    }
    for code in codes.iter().filter(|code| code.mpi) {
        let name = &code.name;
        if is_model(codes) {
            let _ = writeln!(text, "resources:\n  {name}: {{mpi_processes: {RANKS}}}");
        } else {
            let _ = writeln!(
                text,
                "# A component has as many ranks as the model gives it: resources: {{COMPONENT: \
                 {{mpi_processes: {RANKS}}}}}"
            );
        }
        let _ =
            writeln!(text, "# For MPICH, leave out execution_model, and write:\n# ligament: {{mpich: {name}}}");
    }
    text
}

fn readme(name: &str, codes: &[Code]) -> String {
    let mut text = format!("# {name}\n\n");
    for code in codes {
        let _ = writeln!(
            text,
            "- `{}` is {}, in {}{}. {}",
            code.source(),
            code.role.what(),
            code.language.said(),
            if code.mpi { " with MPI" } else { "" },
            code.role.how()
        );
        let _ = writeln!(text, "- `{}` says what it is fed and what it must answer.", code.case());
    }
    let _ = writeln!(text, "- `{}` is what a run reads.\n", model_file(name, codes));
    text.push_str("Build, and try each code alone:\n\n    make test\n");
    if is_model(codes) {
        text.push_str(
            "\nRun the model, and look at what a code printed:\n\n    ligament run model.ymmsl\n    \
                       ligament logs latest macro\n",
        );
    }
    text.push_str(
        "\nThe command `ligament` must be in `PATH`; `ligament explain CODE` says more about an error.\n",
    );
    text
}

fn ignored(codes: &[&Code]) -> String {
    let mut lines = vec!["runs/"];
    lines.extend(codes.iter().flat_map(|code| code.made()));
    lines.sort_unstable();
    lines.dedup();
    let lines: Vec<String> = lines.into_iter().map(|line| format!("/{line}\n")).collect();
    lines.concat()
}
