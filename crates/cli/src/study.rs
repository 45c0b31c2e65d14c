//! `ligament study`: the instance that makes a study, and the command that continues the study of an earlier
//! run.

use crate::check::read;
use crate::earlier_model::{changed_model, model_files, settings_of, ComparedPart};
use ligament_analysis::{CheckOptions, Files};
use ligament_catalogue::{fault, Coded, Fault};
use ligament_ensemble::ANSWERS;
use ligament_manager::{find_run, instances_of, RunDirectory};
use ligament_runtime::client::record_of;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Evaluate a model many times with different settings; a model's program starts this.
///
/// `ligament study --continue RUN` runs the model of RUN again, with the settings of RUN, and makes only those
/// evaluations that have no answer there: the run was stopped or failed, or they were left out. Start it in the
/// directory in which RUN was started. What follows `--` is passed on to `ligament run`, such as
/// `-- -s study.time_limit=60.0 --quiet`.
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

/// Returns the arguments of the command that continues the study of a run.
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
            "{earlier} has no answers of a study: no working directory of an instance has a file {ANSWERS}; \
             name a run whose model starts \"ligament study\""
        ));
    }
    let mut words: Vec<OsString> = ["ligament", "run"].map(OsString::from).to_vec();
    let record = record_of(&run)?;
    let models = model_files(earlier, &record)?;
    let settings = settings_of(&run)?;
    for difference in differences(&run, &models, &record.model, &settings)? {
        crate::say(&format!("warning: {difference}"));
    }
    words.extend(models.iter().map(OsString::from));
    words.push(format!("--model={}", record.model).into());
    // A run that was itself a continuation has a setting that names its predecessor, which is left out.
    let is_predecessor = |name: &str| studies.iter().any(|(study, _)| name == format!("{study}.continue"));
    for (name, value) in settings.into_iter().filter(|(name, _)| !is_predecessor(name)) {
        words.push(format!("--setting={name}={value}").into());
    }
    for (name, file) in studies {
        let file = serde_json::Value::from(file);
        words.push(format!("--setting={name}.continue={file}").into());
    }
    words.extend(options.iter().cloned());
    Ok(words)
}

/// Returns the differences between a run and the present files: in the model, and in settings for which the
/// values of the run are used.
fn differences(
    run: &RunDirectory,
    models: &[PathBuf],
    model: &str,
    settings: &[(String, String)],
) -> Result<Vec<String>, Fault> {
    let options = CheckOptions { files: Files::Elsewhere, ..CheckOptions::default() };
    let report = read(models, &[], Some(model), options)?;
    // A model with errors is refused when it is run, so nothing is compared here.
    let Some(now) = &report.resolved else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    if let Some(changed) = changed_model(run, &report.configuration.to_yaml(), ComparedPart::All) {
        all.push(format!("{changed}; its answers are taken all the same"));
    }
    let before: HashMap<&str, &str> =
        settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for (name, value) in now.settings.iter() {
        let (name, value) = (name.to_string(), value.to_string());
        match before.get(name.as_str()) {
            Some(earlier) if *earlier == value => {}
            Some(earlier) => all.push(format!(
                "the setting \"{name}\" is {earlier} as in that run, and not {value} as in the model file; \
                 \"-- -s {name}={value}\" would change it"
            )),
            None => all.push(format!("the setting \"{name}\" is {value}, and that run did not have it")),
        }
    }
    Ok(all)
}
