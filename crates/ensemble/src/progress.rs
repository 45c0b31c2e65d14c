//! The progress of a study. It is written to a file in the working directory, which the page of the run shows.

use crate::pool::StudyProgress;
use crate::whole_file::write_whole;
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

/// Name of the file.
pub const PROGRESS: &str = "study-progress.json";
/// Name of the format. Viewers recognise the file by it.
const FORMAT: &str = "ligament-study-1";
/// Maximum length of the file, in bytes.
pub const MAX_PROGRESS_BYTES: u64 = 256 << 10;
/// Minimum time between two states that are written.
pub(crate) const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of failures that the file lists.
const MAX_FAILURES: usize = 20;
/// Maximum length of a failure's reason in the file, in characters.
const MAX_REASON_CHARS: usize = 500;

/// An evaluation that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureRecord {
    pub evaluation: usize,
    /// Its settings, such as `rate = 0.1`.
    pub settings: String,
    pub why: String,
}

/// The state of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressRecord {
    pub format: String,
    pub evaluations: usize,
    /// Evaluations with an answer, including failed ones.
    pub answered: usize,
    pub failed: usize,
    pub instances: usize,
    /// Instances that have not ended.
    pub instances_left: usize,
    /// Estimated time until all evaluations are answered, in s. `None` before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remains: Option<f64>,
    /// Names of the parameters, in the order of `AnswerEntry::point`.
    pub parameters: Vec<String>,
    /// Failures, up to a maximum number.
    pub failures: Vec<FailureRecord>,
}

impl ProgressRecord {
    /// Reads the file. Returns `None` for a file of another program, and for an incomplete file.
    pub fn read(bytes: &[u8]) -> Option<ProgressRecord> {
        serde_json::from_slice::<ProgressRecord>(bytes).ok().filter(|record| record.format == FORMAT)
    }
}

/// The writer of the file, which limits how often the file is written.
#[derive(Debug, Default)]
pub(crate) struct ProgressFile {
    written: Option<Instant>,
    /// Number of answers in the state that was written last.
    answered: usize,
    is_broken: bool,
    failures: Vec<FailureRecord>,
    failed: usize,
}

impl ProgressFile {
    /// Notes an evaluation that has failed.
    pub fn add_failure(&mut self, evaluation: usize, settings: String, why: &str) {
        self.failed += 1;
        if self.failures.len() < MAX_FAILURES {
            let why = why.chars().take(MAX_REASON_CHARS).collect();
            self.failures.push(FailureRecord { evaluation, settings, why });
        }
    }

    /// Returns true if there are answers that the written state does not include.
    pub fn is_behind(&self, answered: usize) -> bool {
        !self.is_broken && answered != self.answered
    }

    /// Returns true if the written state is older than `WRITE_INTERVAL`, and no write has failed.
    pub fn is_due(&self) -> bool {
        !self.is_broken && self.written.is_none_or(|written| written.elapsed() >= WRITE_INTERVAL)
    }

    /// Makes the next state due at once. Called before the last state of the study.
    pub fn end(&mut self) {
        self.written = None;
    }

    /// Writes the state. After an error, no more states are written.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if a file with this name exists and is not from a study.
    pub fn write(&mut self, at: StudyProgress, instances: [usize; 2], names: &[String]) -> Result<(), Fault> {
        let [instances, instances_left] = instances;
        let record = ProgressRecord {
            format: FORMAT.to_owned(),
            evaluations: at.evaluations,
            answered: at.answered,
            failed: self.failed,
            instances,
            instances_left,
            remains: at.remains,
            parameters: names.to_vec(),
            failures: self.failures.clone(),
        };
        let text = serde_json::to_string(&record).map_err(std::io::Error::from);
        let written = is_free().and(text).and_then(|text| write_whole(PROGRESS, &text));
        (self.written, self.answered) = (Some(Instant::now()), at.answered);
        written.map_err(|error| {
            self.is_broken = true;
            fault!(
                BAD_STUDY,
                "{PROGRESS} cannot be written: {error}; the study goes on, and the page does not show its \
                 progress"
            )
        })
    }
}

/// Fails if a file with this name is not from a study, because it then belongs to the user and must not be
/// replaced.
fn is_free() -> std::io::Result<()> {
    let found = match fs::symlink_metadata(PROGRESS) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let is_own = found.is_file()
        && found.len() <= MAX_PROGRESS_BYTES
        && ProgressRecord::read(&fs::read(PROGRESS)?).is_some();
    if is_own {
        return Ok(());
    }
    Err(std::io::Error::other("there is another file of this name, which is kept; rename it"))
}
