//! `ligament check`, and reading a model for a run.

use crate::arguments::{print, Check};
use ligament_analysis::{CheckOptions, Files, Ignorable, Report};
use ligament_catalogue::Fault;
use ligament_model::{parse_assignment, LigamentOptions, Reference};
use std::collections::HashSet;
use std::path::PathBuf;

/// Everything that is wrong with a model: exit status 0 if it can be run, else 2.
pub(crate) fn check(arguments: &Check) -> i32 {
    let files = if arguments.elsewhere { Files::Elsewhere } else { Files::MustExist };
    let limits = LigamentOptions::default();
    let options = CheckOptions { limits, files, ignore: arguments.ignore.set(), ..CheckOptions::default() };
    let report = match read(&arguments.models, &arguments.settings, arguments.model.as_deref(), options) {
        Ok(report) => report,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    if arguments.json {
        print(&format!("{}\n", report.to_json()));
    } else {
        eprint!("{}", report.to_text());
        if report.is_ok() {
            print(&in_a_word(&report));
        } else {
            let first =
                report.problems.iter().find(|problem| problem.is_error()).map_or("", |first| first.code.name());
            let which = if report.errors() == 1 { "it" } else { "the first" };
            eprintln!("{}; more about {which}: ligament explain {first}", count(report.errors(), "error"));
        }
    }
    if report.is_ok() {
        crate::DONE
    } else {
        crate::BAD_USE
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn in_a_word(report: &Report) -> String {
    let Some(model) = &report.resolved else {
        return String::new();
    };
    let warnings = match report.warnings() {
        0 => String::new(),
        n => format!(", {}", count(n, "warning")),
    };
    format!(
        "{}: {} in {}, {}{warnings}; it can be run\n",
        model.name,
        count(model.instances.len(), "instance"),
        count(model.components.len(), "component"),
        count(model.channels.len(), "channel"),
    )
}

/// What is left out of what a model asks for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Ignore {
    /// Go on without what the model asks for and this version cannot do yet; may be given several times. What is left out
    /// is a warning.
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Ignorable::NAMES))]
    pub ignore: Vec<String>,
}

impl Ignore {
    /// The same as a check takes it.
    pub fn set(&self) -> HashSet<Ignorable> {
        self.ignore.iter().filter_map(|name| Ignorable::from_name(name)).collect()
    }

    /// The words that say the same again.
    pub fn words(&self) -> Vec<String> {
        match self.ignore.as_slice() {
            [] => Vec::new(),
            names => vec![format!("--ignore={}", names.join(","))],
        }
    }
}

/// Reads model files and settings as a command line gives them. The error is about the command line itself.
pub(crate) fn read(
    models: &[PathBuf],
    settings: &[String],
    model: Option<&str>,
    options: CheckOptions,
) -> Result<Report, Fault> {
    let settings: Result<Vec<_>, Fault> = settings
        .iter()
        .map(|text| {
            parse_assignment(text).map_err(|error| Fault::from(error).told(|error| format!("-s: {error}")))
        })
        .collect();
    let model = model
        .map(Reference::new)
        .transpose()
        .map_err(|error| Fault::from(error).told(|error| format!("--model: {error}")))?;
    let options = CheckOptions { model, settings: settings?, ..options };
    Ok(ligament_analysis::check(models, &options))
}
