//! `ligament check`, and the functions by which other commands read a model.

use crate::arguments::{print, Check};
use ligament_analysis::{CheckOptions, CheckReport, Files, Ignorable};
use ligament_catalogue::{fault, Fault};
use ligament_manager::{component_of, find_run, InstanceRecord, RunRecord};
use ligament_model::{parse_assignment, LigamentOptions, Reference, ResolvedModel, Resources};
use ligament_runtime::client::record_of;
use ligament_runtime::own_cores;
use std::collections::HashSet;
use std::path::PathBuf;

/// Reports every problem of a model. The exit status is 0 if the model can be run, else 2.
pub(crate) fn check(arguments: &Check) -> i32 {
    let files = if arguments.elsewhere { Files::Elsewhere } else { Files::MustExist };
    let limits = LigamentOptions::default();
    let options = CheckOptions { limits, files, ignore: arguments.ignore.set(), ..CheckOptions::default() };
    let mut report = match read(&arguments.models, &arguments.settings, arguments.model.as_deref(), options) {
        Ok(report) => report,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    let verdict = in_a_word(&report);
    report.notes.extend(report.resolved.as_ref().filter(|_| !arguments.elsewhere).and_then(note_on_cores));
    if arguments.json {
        print(&format!("{}\n", report.to_json()));
    } else {
        ligament_runtime::say_lines(&report.to_text());
        if report.is_ok() {
            print(&verdict);
            report.notes.iter().for_each(|note| print(&format!("note: {note}\n")));
        } else {
            let first =
                report.problems.iter().find(|problem| problem.is_error()).map_or("", |first| first.code.name());
            let which = if report.errors() == 1 { "it" } else { "the first" };
            ligament_runtime::say(&format!(
                "{}; more about {which}: ligament explain {first}",
                count(report.errors(), "error")
            ));
        }
    }
    status_of(&report)
}

/// Returns a remark if a model asks for more cores than this machine has.
fn note_on_cores(model: &ResolvedModel) -> Option<String> {
    let here = own_cores();
    let (mut asked, mut most) = (0u32, 0);
    let mut light = HashSet::new();
    for (i, instance) in (0u32..).zip(&model.instances) {
        // A light program runs all its instances in one process, so its cores count once.
        if model.light_program(i).is_some_and(|program| !light.insert(program.to_string())) {
            continue;
        }
        let nodes = match instance.resources {
            Resources::MpiNodes { nodes, .. } => u32::try_from(nodes).unwrap_or(u32::MAX),
            _ => 1,
        };
        let cores = instance.resources.cores_on_node().saturating_mul(nodes);
        (asked, most) = (asked.saturating_add(cores), most.max(cores));
    }
    // If no instance asks for more than one core, the instances share the cores and mostly wait for each other.
    // A remark would not help.
    (most > 1 && asked > here).then(|| {
        format!(
            "its instances ask for {asked} cores together, and this machine has {here}: here they would share \
             cores, and none would be bound"
        )
    })
}

/// Returns a number and a noun, in the plural if needed: `3 errors`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn in_a_word(report: &CheckReport) -> String {
    let Some(model) = &report.resolved else {
        return String::new();
    };
    let warnings = match report.warnings() {
        0 => String::new(),
        n => format!(", {}", count(n, "warning")),
    };
    // Some files are found only after modules are loaded, which happens at the start of the run.
    let limit = if report.notes.is_empty() { "" } else { ", as far as can be known before it starts" };
    format!(
        "{}: {} in {}, {}{warnings}; it can be run{limit}\n",
        model.name,
        count(model.instances.len(), "instance"),
        count(model.components.len(), "component"),
        count(model.channels.len(), "channel"),
    )
}

/// The parts of a model that are ignored.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Ignore {
    /// Go on without what the model asks for and this version cannot do yet; may be given several times. What
    /// is left out is a warning.
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Ignorable::NAMES))]
    pub ignore: Vec<String>,
}

impl Ignore {
    /// Returns the ignored parts in the form that the check takes.
    pub fn set(&self) -> HashSet<Ignorable> {
        self.ignore.iter().filter_map(|name| Ignorable::from_name(name)).collect()
    }

    /// Returns the arguments that give the same option to another command.
    pub fn words(&self) -> Vec<String> {
        match self.ignore.as_slice() {
            [] => Vec::new(),
            names => vec![format!("--ignore={}", names.join(","))],
        }
    }
}

/// Returns options for a model that is shown and not run. Its programs need not be on this machine, and it may
/// use unsupported features.
pub(crate) fn for_a_look() -> CheckOptions {
    let ignore = Ignorable::NAMES.iter().filter_map(|name| Ignorable::from_name(name)).collect();
    CheckOptions { files: Files::Elsewhere, ignore, ..CheckOptions::default() }
}

/// The model that is to be shown: its files, or a run of it, or both.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelSource {
    /// Model files in yMMSL; later ones add to earlier ones [default: the model of the run after --from].
    #[arg(required_unless_present = "from", value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Which model to show, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Take ports that the model does not declare from this run of it: its directory, its name under ./runs, or
    /// `latest`.
    #[arg(long, value_name = "RUN")]
    pub from: Option<String>,
}

impl ModelSource {
    /// Reads the model, as [`drawable`] does. With `--from`, undeclared ports are taken from that run.
    pub fn read(&self) -> Result<(CheckReport, ResolvedModel), Fault> {
        let Some(from) = &self.from else { return drawable(&self.models, self.model.as_deref(), for_a_look()) };
        let run = find_run(from)?;
        let record = record_of(&run)?;
        let options = CheckOptions { declared_ports: record.declared_ports.clone(), ..for_a_look() };
        match &self.models[..] {
            [] => drawable(&[run.path().join("model.ymmsl")], Some(&record.model), options),
            models => {
                let (report, model) = drawable(models, self.model.as_deref(), options)?;
                of_model(&record, &model)?;
                Ok((report, model))
            }
        }
    }
}

/// Checks that a run is of this model.
///
/// # Errors
/// Fails if no instance of the run belongs to a component of the model, or if the names of the models differ
/// and the run has a component that the model lacks.
pub(crate) fn of_model(record: &RunRecord, model: &ResolvedModel) -> Result<(), Fault> {
    let known: HashSet<String> = model.components.iter().map(|one| one.name.to_string()).collect();
    let is_foreign = |one: &&InstanceRecord| !known.contains(component_of(&one.name));
    let foreign = record.instances.iter().filter(is_foreign).count();
    let is_apart = foreign == record.instances.len();
    match record.instances.iter().find(is_foreign) {
        Some(one) if is_apart || record.model != model.name => Err(fault!(
            NO_SUCH_RUN,
            "the run {} is of another model, \"{}\": \"{}\" has no component \"{}\"; name a run of that one \
             after --from",
            record.run,
            record.model,
            model.name,
            component_of(&one.name)
        )),
        _ => Ok(()),
    }
}

/// Returns the exit status of a command that shows a model: failure if the model has errors, although it was
/// shown.
pub(crate) fn status_of(report: &CheckReport) -> i32 {
    if report.is_ok() {
        crate::DONE
    } else {
        crate::BAD_USE
    }
}

/// Returns the common part of the JSON of commands that show a model: `ok`, and the problems if there are
/// errors.
pub(crate) fn of_shown(report: &CheckReport) -> serde_json::Value {
    if report.is_ok() {
        return serde_json::json!({ "ok": true });
    }
    serde_json::json!({ "ok": false, "problems": report.problems })
}

/// Reads a model for a picture, and returns it with its report. A model with errors is returned, too, if it can
/// be drawn: the picture may help to find the errors.
pub(crate) fn drawable(
    models: &[PathBuf],
    model: Option<&str>,
    options: CheckOptions,
) -> Result<(CheckReport, ResolvedModel), Fault> {
    let mut report = read(models, &[], model, options)?;
    let first = report.problems.iter().find(|problem| problem.is_error()).cloned();
    let said = first.as_ref().map(|_| report.to_text());
    match (report.resolved.take(), first) {
        (Some(model), _) if !model.instances.is_empty() => {
            // The problems go to the standard error also with `--json`, so that a reader of the JSON learns of
            // the errors.
            ligament_runtime::say_lines(&said.unwrap_or_default());
            Ok((report, model))
        }
        (_, Some(problem)) => Err(Fault::new(problem.code, problem.to_string())),
        (_, None) => Err(fault!(NO_MODEL, "the model has no component that could be shown")),
    }
}

/// Reads the model files and settings of a command line. Returns an error only for a mistake in the command
/// line itself; mistakes in the model are in the report.
pub(crate) fn read(
    models: &[PathBuf],
    settings: &[String],
    model: Option<&str>,
    options: CheckOptions,
) -> Result<CheckReport, Fault> {
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
