//! What stands in a starter: build file, model file, README, and what git leaves alone.

use super::languages::{cargo, Code, Language, FORTRAN_RULES};
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

/// All files of a starter with these codes. `crate_for_rust` is what codes in Rust depend on.
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
    files.push(File::new(".gitignore", ignored(codes)));
    files
}

fn is_model(codes: &[Code]) -> bool {
    codes.len() > 1
}

fn makefile(codes: &[Code]) -> String {
    let mut text = "# Builds, and tries each code alone against its case: make test\n".to_owned();
    let targets: Vec<String> = codes.iter().filter_map(Code::target).collect();
    let _ = writeln!(text, "all: {}\n", targets.join(" "));
    if codes.iter().any(|code| code.language == Language::Fortran) {
        text.push_str(FORTRAN_RULES);
    }
    for code in codes {
        text.push_str(&code.rule());
    }
    text.push_str("test: all\n");
    for code in codes {
        let _ = writeln!(text, "\tligament play {} -- {}", code.case(), code.command());
    }
    if is_model(codes) {
        text.push_str("\tligament run --quiet model.ymmsl\n");
        text.push_str("\tligament logs latest macro | grep 'at 2.* says 25'\n");
    }
    let made: Vec<&str> = codes.iter().flat_map(Code::made).collect();
    let _ = writeln!(text, "\nclean:\n\trm -rf {} runs", made.join(" "));
    text.push_str("\n.PHONY: all test clean\n");
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
    text
}

fn readme(name: &str, codes: &[Code]) -> String {
    let mut text = format!("# {name}\n\n");
    for code in codes {
        let _ = writeln!(
            text,
            "- `{}` is {}, in {}. {}",
            code.source(),
            code.role.what(),
            code.language.said(),
            code.role.how()
        );
        let _ = writeln!(text, "- `{}` says what it is fed and what it must answer.", code.case());
    }
    let _ = writeln!(text, "- `{}` is what a run reads.\n", model_file(name, codes));
    text.push_str("Build, and try each code alone:\n\n    make test\n");
    if is_model(codes) {
        text.push_str("\nRun the model, and look at what a code printed:\n\n    ligament run model.ymmsl\n    ligament logs latest macro\n");
    }
    text.push_str(
        "\nThe command `ligament` must be in `PATH`; `ligament explain CODE` says more about an error.\n",
    );
    text
}

fn ignored(codes: &[Code]) -> String {
    let mut lines = vec!["runs/"];
    lines.extend(codes.iter().flat_map(Code::made));
    lines.sort_unstable();
    lines.dedup();
    let lines: Vec<String> = lines.into_iter().map(|line| format!("/{line}\n")).collect();
    lines.concat()
}
