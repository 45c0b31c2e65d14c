//! The progress of a study, in a file of its working directory: the page of the run shows it.

use crate::pool::StudyProgress;
use crate::whole_file::write_whole;
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

/// The file's name.
pub const PROGRESS: &str = "study-progress.json";
/// The format, by which a viewer knows the file from another one of this name.
const FORMAT: &str = "ligament-study-1";
/// The file has fewer bytes.
pub const MAX_PROGRESS_BYTES: u64 = 256 << 10;
/// Minimum time between two states of the file.
pub(crate) const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// Failures that the file names.
const MAX_FAILURES: usize = 20;
/// Characters of a failure's reason in the file.
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
    /// Evaluations with an answer, and those that failed.
    pub answered: usize,
    pub failed: usize,
    pub instances: usize,
    /// Instances that have not ended.
    pub instances_left: usize,
    /// Time until all are answered, s; `None` before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remains: Option<f64>,
    /// The names of the parameters, in the order of an answer's `point`.
    pub parameters: Vec<String>,
    /// The first failures.
    pub failures: Vec<FailureRecord>,
}

impl ProgressRecord {
    /// Reads the file; `None` if it is another one of this name, or cut.
    pub fn read(bytes: &[u8]) -> Option<ProgressRecord> {
        serde_json::from_slice::<ProgressRecord>(bytes).ok().filter(|record| record.format == FORMAT)
    }
}

/// Writes the file now and then.
#[derive(Debug, Default)]
pub(crate) struct ProgressFile {
    written: Option<Instant>,
    /// Answers that the file counts.
    answered: usize,
    is_broken: bool,
    failures: Vec<FailureRecord>,
    failed: usize,
}

impl ProgressFile {
    /// Notes an evaluation that failed.
    pub fn add_failure(&mut self, evaluation: usize, settings: String, why: &str) {
        self.failed += 1;
        if self.failures.len() < MAX_FAILURES {
            let why = why.chars().take(MAX_REASON_CHARS).collect();
            self.failures.push(FailureRecord { evaluation, settings, why });
        }
    }

    /// Returns true if there are answers that the file does not count yet.
    pub fn is_behind(&self, answered: usize) -> bool {
        !self.is_broken && answered != self.answered
    }

    /// Returns true if the file is older than `WRITE_INTERVAL`, and can be written.
    pub fn is_due(&self) -> bool {
        !self.is_broken && self.written.is_none_or(|written| written.elapsed() >= WRITE_INTERVAL)
    }

    /// The next state is the last one, and due at once.
    pub fn end(&mut self) {
        self.written = None;
    }

    /// Writes the state. After an error it writes no more.
    ///
    /// # Errors
    /// The file cannot be written, or there is one of this name that no study wrote.
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

/// Fails if a file of this name holds something else: it is the user's.
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
