//! `ligament study`: the instance that makes a study, and the command that continues the study of an earlier run.

use ligament_catalogue::{fault, Coded, Fault};
use ligament_ensemble::ANSWERS;
use ligament_manager::{find_run, instances_of, RunDirectory};
use ligament_runtime::client::record_of;
use std::ffi::OsString;

/// Make a study: a model's program starts this. With `--continue`, go on with the study of an earlier run.
///
/// `ligament study --continue RUN` runs the model of RUN again, with the settings of RUN, and makes only those evaluations
/// that have no answer there: the run was stopped or failed, or they were left out. Start it in the directory in which RUN
/// was started. What follows `--` is passed on to `ligament run`, such as `-- -s study.time_limit=60.0 --quiet`.
#[derive(Debug, clap::Args)]
pub(crate) struct Study {
    /// The run with the earlier answers: its directory, its name under ./runs, or `latest`.
    #[arg(long = "continue", value_name = "RUN")]
    earlier: Option<String>,
    /// Options of `ligament run`.
    #[arg(last = true, value_name = "OPTIONS", requires = "earlier")]
    options: Vec<OsString>,
}

pub(crate) fn study(arguments: &Study) -> i32 {
    if let Some(earlier) = &arguments.earlier {
        return match run_again(earlier, &arguments.options) {
            Ok(words) => crate::arguments::carry_out(words),
            Err(error) => crate::fail(false, &error, crate::BAD_USE),
        };
    }
    match ligament_ensemble::run_study() {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &Fault::heard(error.to_string(), error.code()), crate::FAILED),
    }
}

/// The words of the command that continues the study of a run.
fn run_again(earlier: &str, options: &[OsString]) -> Result<Vec<OsString>, Fault> {
    let run = find_run(earlier)?;
    let studies: Vec<(String, String)> = instances_of(&run)
        .into_iter()
        .map(|name| (run.workdir(&name).join(ANSWERS), name))
        .filter(|(file, _)| file.is_file())
        .map(|(file, name)| (name, file.display().to_string()))
        .collect();
    if studies.is_empty() {
        return Err(fault!(
            BAD_STUDY,
            "{earlier} has no answers of a study: no working directory of an instance has a file {ANSWERS}; name a run \
             whose model starts \"ligament study\""
        ));
    }
    let mut words: Vec<OsString> = ["ligament", "run"].map(OsString::from).to_vec();
    let record = record_of(&run)?;
    words.extend(record.model_files.iter().map(OsString::from));
    words.push(format!("--model={}", record.model).into());
    // A run that was itself a continuation names its own predecessor.
    let is_predecessor = |name: &str| studies.iter().any(|(study, _)| name == format!("{study}.continue"));
    for (name, value) in settings_of(&run)?.into_iter().filter(|(name, _)| !is_predecessor(name)) {
        words.push(format!("--setting={name}={value}").into());
    }
    for (name, file) in studies {
        let file = serde_json::Value::from(file);
        words.push(format!("--setting={name}.continue={file}").into());
    }
    words.extend(options.iter().cloned());
    Ok(words)
}

/// The settings that a run had, each as it was written down: a name and a value on a line of its own.
fn settings_of(run: &RunDirectory) -> Result<Vec<(String, String)>, Fault> {
    let file = run.path().join("settings.yaml");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        fault!(BAD_STUDY, "the settings of the run cannot be read: {}: {error}", file.display())
    })?;
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
