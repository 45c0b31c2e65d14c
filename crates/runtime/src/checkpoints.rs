//! The checkpoints in a run directory, as the head writes them and a later run reads them.

use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::file_name;
use ligament_manager::{find_run, RunDirectory};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory below the run directory that has the checkpoints.
pub(crate) const CHECKPOINTS_DIRECTORY: &str = "checkpoints";
/// The file that makes a checkpoint whole.
pub(crate) const CHECKPOINT_FILE: &str = "checkpoint.json";
/// The file by which a run resumes, as MUSCLE 3 writes it.
pub(crate) const RESUME_FILE: &str = "resume.ymmsl";
/// Version of `checkpoint.json`.
pub(crate) const CHECKPOINT_VERSION: u32 = 1;

/// The contents of `checkpoint.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRecord {
    pub version: u32,
    pub number: u32,
    /// The run that saved it.
    pub run: String,
    /// The model time of the checkpoint, s. `None` for a checkpoint at the end of a run.
    pub model_time: Option<f64>,
    /// The instances of the model.
    pub instances: Vec<String>,
    /// The instances (or their ranks) that had ended.
    pub over: Vec<String>,
}

/// A checkpoint that is whole.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The directory with its files.
    pub directory: PathBuf,
    pub record: CheckpointRecord,
}

impl Checkpoint {
    /// Reads a checkpoint. Returns `None` if it is not whole, or of a later version.
    fn read(directory: &Path) -> Option<Checkpoint> {
        let text = fs::read_to_string(directory.join(CHECKPOINT_FILE)).ok()?;
        let record: CheckpointRecord = serde_json::from_str(&text).ok()?;
        (record.version == CHECKPOINT_VERSION).then(|| Checkpoint { directory: directory.to_owned(), record })
    }

    /// Returns the file of each instance.
    pub fn files(&self) -> BTreeMap<String, String> {
        let file = |name: &String| self.directory.join(file_name(name)).display().to_string();
        self.record.instances.iter().map(|name| (name.clone(), file(name))).collect()
    }

    /// Returns the name by which a user can resume from it, such as `model-20261128@3`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.record.run, self.record.number)
    }
}

/// Returns the checkpoints of a run that are whole, the oldest one first.
pub fn checkpoints_of(run: &RunDirectory) -> Vec<Checkpoint> {
    let entries = fs::read_dir(run.path().join(CHECKPOINTS_DIRECTORY)).into_iter().flatten().flatten();
    let mut found: Vec<Checkpoint> = entries.filter_map(|entry| Checkpoint::read(&entry.path())).collect();
    found.sort_by_key(|checkpoint| checkpoint.record.number);
    found
}

/// Finds a checkpoint by the name of its run, or by `RUN@N`. Without a number it is the last one.
///
/// # Errors
/// There is no such run, or it has no such checkpoint.
pub fn find_checkpoint(wanted: &str) -> Result<(RunDirectory, Checkpoint), Fault> {
    let (run, number) = match wanted.rsplit_once('@') {
        Some((run, number)) => match number.parse::<u32>() {
            Ok(number) => (run, Some(number)),
            Err(_) => (wanted, None),
        },
        None => (wanted, None),
    };
    let run = find_run(run)?;
    let mut found = checkpoints_of(&run);
    let numbers: Vec<String> = found.iter().map(|one| one.record.number.to_string()).collect();
    let at = match number {
        Some(number) => found.iter().position(|one| one.record.number == number),
        None => found.len().checked_sub(1),
    };
    match at {
        Some(at) => Ok((run, found.swap_remove(at))),
        None if found.is_empty() => Err(fault!(
            CHECKPOINT_MISSING,
            "{}: this run has no whole checkpoint; a model asks for them by \"checkpoints:\"",
            run.path().display()
        )),
        None => Err(fault!(
            CHECKPOINT_MISSING,
            "{}: this run has no checkpoint {}; it has {}",
            run.path().display(),
            number.unwrap_or_default(),
            numbers.join(", ")
        )),
    }
}
