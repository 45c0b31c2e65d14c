//! The model of an earlier run, which a run that resumes or continues it takes again.

use ligament_catalogue::{fault, Fault};
use ligament_manager::{RunDirectory, RunRecord};
use std::path::PathBuf;

/// Returns the model files of a run, by the names that it was given. `run` is the user's name for the run. A
/// file name with a leading `-` gets `./` before it, so that it is not read as an option.
///
/// # Errors
/// A file is not there.
pub(crate) fn model_files(run: &str, record: &RunRecord) -> Result<Vec<PathBuf>, Fault> {
    let path_of = |file: &String| {
        let here = if file.starts_with('-') { "." } else { "" };
        PathBuf::from(here).join(file)
    };
    let models: Vec<PathBuf> = record.model_files.iter().map(path_of).collect();
    if let Some(lost) = models.iter().find(|model| !model.exists()) {
        return Err(fault!(
            CANNOT_READ_FILE,
            "the model file {} of {run} is not there; give this command in the directory in which that run was \
             started",
            lost.display()
        ));
    }
    Ok(models)
}

/// Returns a sentence, without a full stop, that says that a model differs from that of an earlier run, or
/// `None` if only settings differ. `now` is the resolved model in yMMSL.
pub(crate) fn changed_model(run: &RunDirectory, now: &str) -> Option<String> {
    let file = run.path().join("model.ymmsl");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    (without_settings(&before) != without_settings(now))
        .then(|| format!("the model has changed since that run, whose model is {}", file.display()))
}

/// Returns the text of a model without its section of settings.
fn without_settings(model: &str) -> String {
    let mut is_setting = false;
    let kept = model.lines().filter(|line| {
        if !line.starts_with(' ') {
            is_setting = line.starts_with("settings:");
        }
        !is_setting
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Returns the settings of a run, as they were recorded: a name and a value on each line.
///
/// # Errors
/// They cannot be read.
pub(crate) fn settings_of(run: &RunDirectory) -> Result<Vec<(String, String)>, Fault> {
    let file = run.path().join("settings.yaml");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        fault!(CANNOT_READ_FILE, "the settings of the run cannot be read: {}: {error}", file.display())
    })?;
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
