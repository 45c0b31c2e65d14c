//! The model of an earlier run, for a run that resumes it or continues its study.

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

/// Keys of the section `ligament` that say what messages a model exchanges. The others say how it is run.
const MESSAGE_OPTIONS: [&str; 7] = ["exchange", "filters", "grids", "ranks", "ticks", "time_unit", "units"];

/// The part of a model that must be as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparedPart {
    /// Everything but settings.
    All,
    /// Components, conduits, and what happens to messages in conduits. Programs may change.
    Messages,
}

impl ComparedPart {
    /// Returns true if a line of a resolved model belongs to this part. `section` is the key at the beginning
    /// of a line above it, and `key` the one below that.
    fn has(self, section: &str, key: &str) -> bool {
        match self {
            ComparedPart::All => !matches!(section, "settings" | "resume"),
            ComparedPart::Messages => {
                section == "models" || section == "ligament" && MESSAGE_OPTIONS.contains(&key)
            }
        }
    }

    /// Returns the lines of this part in a resolved model in yMMSL.
    fn lines(self, model: &str) -> Vec<&str> {
        let (mut section, mut key) = ("", "");
        let mut lines = Vec::new();
        for line in model.lines() {
            let word = line.trim().split(':').next().unwrap_or_default();
            match line.len() - line.trim_start().len() {
                0 => (section, key) = (word, ""),
                2 => key = word,
                _ => {}
            }
            if self.has(section, key) {
                lines.push(line);
            }
        }
        lines
    }
}

/// Returns a sentence, without a full stop, that says that a part of a model differs from that of an earlier
/// run, or `None` if it does not. `now` is the resolved model in yMMSL.
pub(crate) fn changed_model(run: &RunDirectory, now: &str, part: ComparedPart) -> Option<String> {
    let file = run.path().join("model.ymmsl");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    (part.lines(&before) != part.lines(now))
        .then(|| format!("the model has changed since that run, whose model is {}", file.display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "ymmsl_version: v0.2
models:
  m:
    conduits:
      a.out: b.in
settings:
  x: 1
programs:
  a: {executable: a}
ligament:
  budget: 5
  filters:
    b.in: unit
";

    #[test]
    fn programs_settings_and_the_way_of_a_run_may_change_when_it_resumes() {
        let lines = ComparedPart::Messages.lines(MODEL);
        for (old, new) in [("x: 1", "x: 2"), ("executable: a", "executable: b"), ("budget: 5", "budget: 6")] {
            assert_eq!(ComparedPart::Messages.lines(&MODEL.replace(old, new)), lines, "{new}");
        }
        for (old, new) in [("a.out: b.in", "a.out: c.in"), ("b.in: unit", "b.in: sum")] {
            assert_ne!(ComparedPart::Messages.lines(&MODEL.replace(old, new)), lines, "{new}");
        }
    }

    #[test]
    fn settings_alone_may_change_when_a_study_goes_on() {
        let lines = ComparedPart::All.lines(MODEL);
        assert_eq!(ComparedPart::All.lines(&MODEL.replace("x: 1", "x: 2")), lines);
        assert_ne!(ComparedPart::All.lines(&MODEL.replace("executable: a", "executable: b")), lines);
    }
}
