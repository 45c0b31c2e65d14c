//! Configurations of preCICE, for `ligament convert`. The package `ligament-precice` reads them: this module
//! finds its program `precice-to-ligament`, runs it, and makes problems of the lines that it prints.

use crate::convert::Converted;
use ligament_catalogue::{fault, Code, Fault};
use ligament_model::{At, Problem};
use rustix::fs::{access, Access};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program that converts configurations. Its arguments are the options below and the file.
const CONVERTER: &str = "precice-to-ligament";

/// The root element of a configuration.
const ROOT: &str = "precice-configuration";

/// Beginnings and ends of what may stand before the root element in a file in XML.
const PROLOGUE: [(&str, &str); 3] = [("<?", "?>"), ("<!--", "-->"), ("<!", ">")];

#[derive(Debug, clap::Args)]
pub(crate) struct PreciceOptions {
    /// For a configuration of preCICE: the command that starts a participant. One for each participant.
    #[arg(long = "program", value_name = "NAME=COMMAND")]
    programs: Vec<String>,
    /// For a configuration of preCICE: the samples of data in each time window [default: 1].
    #[arg(long, value_name = "COUNT")]
    samples: Option<u32>,
}

impl PreciceOptions {
    /// # Errors
    /// Fails if options are given, which have no meaning for `file`.
    pub fn refuse_for(&self, file: &Path) -> Result<(), Fault> {
        if self.programs.is_empty() && self.samples.is_none() {
            return Ok(());
        }
        Err(fault!(
            BAD_ARGUMENT,
            "--program and --samples are for a configuration of preCICE, and {} is none; leave them out",
            file.display()
        ))
    }
}

/// Returns true if a text is XML whose root element is that of a configuration of preCICE.
pub(crate) fn is_configuration(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some((opens, closes)) = PROLOGUE.iter().find(|(opens, _)| rest.starts_with(opens)) {
        let Some(end) = rest[opens.len()..].find(closes) else { return false };
        // A document type with declarations ends with these characters.
        let is_end = |c: char| c.is_whitespace() || matches!(c, ']' | '>');
        rest = rest[opens.len() + end + closes.len()..].trim_start_matches(is_end);
    }
    let after = rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(ROOT));
    after.is_some_and(|after| after.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/')))
}

/// Converts a configuration. Returns the model, or the problems of the configuration.
///
/// # Errors
/// Fails if the converter is not installed, cannot be run, or prints no model.
pub(crate) fn convert(file: &Path, options: &PreciceOptions) -> Result<Result<Converted, Vec<Problem>>, Fault> {
    let program = converter()?;
    let output = Command::new(&program)
        .args(options.programs.iter().map(|program| format!("--program={program}")))
        .args(options.samples.map(|count| format!("--samples={count}")))
        .arg("--")
        .arg(file)
        // The converter is a Python program, which otherwise prints in the encoding of the locale.
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            fault!(
                CONVERTER_UNUSABLE,
                "{} cannot be started: {error}; install the package ligament-precice anew",
                program.display()
            )
        })?;
    let problems = problems(&output, file);
    if !output.status.success() {
        return if problems.is_empty() {
            Err(fault!(
                CONVERTER_UNUSABLE,
                "{} has ended without a message: {}; call it by itself to see why",
                program.display(),
                output.status
            ))
        } else {
            Ok(Err(problems))
        };
    }
    match String::from_utf8(output.stdout) {
        Ok(text) if text.starts_with("ymmsl_version") => Ok(Ok(Converted { text, warnings: problems })),
        _ => Err(fault!(
            CONVERTER_UNUSABLE,
            "{} has printed no model; install the package ligament-precice anew, in the version of this \
             command",
            program.display()
        )),
    }
}

/// Returns the path of the converter. It lies beside this command, as in a virtual environment, or in `PATH`.
fn converter() -> Result<PathBuf, Fault> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A relative directory of `PATH` could be that of the configuration, which may come from a stranger.
    let others = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    let mut places = beside.into_iter().chain(others).map(|directory| directory.join(CONVERTER));
    let Some(found) = places.find(|place| place.symlink_metadata().is_ok()) else {
        return Err(fault!(
            CONVERTER_UNUSABLE,
            "there is no program {CONVERTER}, which reads configurations of preCICE, beside this command or in \
             PATH; install the package ligament-precice as docs/faces/precice.md says"
        ));
    };
    if found.is_file() && access(&found, Access::EXEC_OK).is_ok() {
        Ok(found)
    } else {
        Err(fault!(
            CONVERTER_UNUSABLE,
            "{} is no file that can be executed; remove it, and install the package ligament-precice as \
             docs/faces/precice.md says",
            found.display()
        ))
    }
}

/// Returns the problems that the converter has printed. A line begins with file and line, and with "warning: "
/// if it is one. All lines of another form, such as those of a Python program that fails, are one problem.
fn problems(output: &Output, file: &Path) -> Vec<Problem> {
    let printed = String::from_utf8_lossy(&output.stderr);
    let name = file.display().to_string();
    let mut at = At { file: Some(name.as_str().into()), line: 0, column: 0 };
    let is_done = output.status.success();
    let problem = |at: &At, message: &str, advice: &str| {
        if is_done {
            Problem::warning(Code::BAD_PRECICE, at, message, advice)
        } else {
            Problem::error(Code::BAD_PRECICE, at, message, advice)
        }
    };
    let mut problems = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.strip_prefix("warning: ").unwrap_or(line);
        let Some((number, text)) = located(text) else {
            others.push(text.strip_prefix(&format!("{name}: ")).unwrap_or(text));
            continue;
        };
        at.line = number;
        let (message, advice) = text.rsplit_once("; ").unwrap_or((text, ""));
        problems.push(problem(&at, message, advice));
    }
    if !others.is_empty() {
        at.line = 0;
        problems.push(problem(&at, &others.join("\n"), ""));
    }
    problems
}

/// Returns line and text of a message of the form `FILE:LINE: TEXT`.
fn located(message: &str) -> Option<(u32, &str)> {
    let (place, text) = message.split_once(": ")?;
    let (_, line) = place.rsplit_once(':')?;
    Some((line.parse().ok()?, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_known_by_its_root_element() {
        for text in [
            "<precice-configuration>",
            "\u{feff}<?xml version='1.0'?>\n<!-- <model> -->\n<precice-configuration a='1'/>",
            "<!DOCTYPE precice-configuration SYSTEM 'p.dtd'>\n<precice-configuration\n>",
            "<!DOCTYPE p [<!ENTITY a 'x'>\n<!ENTITY b 'y'>]><precice-configuration/>",
        ] {
            assert!(is_configuration(text), "{text}");
        }
        for text in [
            "",
            "<",
            "<!-- <precice-configuration> -->",
            "<!-- <precice-configuration>",
            "<model><precice-configuration/></model>",
            "<precice-configurations/>",
            "precice-configuration",
        ] {
            assert!(!is_configuration(text), "{text}");
        }
    }

    #[test]
    fn a_message_with_a_line_is_told_from_others() {
        assert_eq!(located("a b.xml:15: <x> is left out: no"), Some((15, "<x> is left out: no")));
        assert_eq!(located("/x/c.xml: \"a\" needs a mapping"), None);
        assert_eq!(located("--program a=b: no"), None);
        assert_eq!(located("c.xml:99999999999: no"), None);
    }
}
