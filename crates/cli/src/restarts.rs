//! `ligament run --restarts N`: a run that has failed goes on from its last checkpoint, as another run.

use ligament_catalogue::{Code, Fault};
use ligament_manager::{RunDirectory, RunRecord, RunState};
use ligament_runtime::checkpoints::{checkpoints_of, Checkpoint};
use ligament_runtime::RunResult;
use std::path::{Path, PathBuf};

/// Ends of a run that need not come again: something died. An error that a code has reported, a deadlock or a
/// mistake in the model would come again.
const DEATHS: &[Code] = &[
    Code::SIGNAL,
    Code::EXIT_STATUS,
    Code::GUARD_GONE,
    Code::CARRIER_FAILED,
    Code::DOMAIN_KILLED,
    Code::DOMAIN_VANISHED,
];

/// The next run.
#[derive(Debug)]
pub(crate) struct Restart {
    pub directory: PathBuf,
    /// The checkpoint from which the restarted run goes on. `None`: from the beginning.
    pub checkpoint: Option<Checkpoint>,
    /// A line for the user.
    pub text: String,
}

/// The restarts of a run.
#[derive(Debug)]
pub(crate) struct Restarts {
    allowed: u32,
    made: u32,
    /// The directory of the first run, after which the others are named.
    first: Option<PathBuf>,
    /// The checkpoints of all runs so far, the oldest one first.
    checkpoints: Vec<Checkpoint>,
    /// The end of the run before: its code and the instance that failed first.
    last_end: Option<(Option<String>, Option<String>)>,
    went_back: bool,
    /// True if no run follows because three have ended in the same way.
    gave_up: bool,
    /// The model time of the last checkpoint of all, s.
    furthest: f64,
}

impl Restarts {
    /// Allows this number of restarts. `resumed` is the checkpoint from which the first run resumes.
    pub fn new(allowed: u32, resumed: Option<Checkpoint>) -> Restarts {
        Restarts {
            allowed,
            made: 0,
            first: None,
            furthest: resumed.as_ref().map_or(f64::NEG_INFINITY, moment_of),
            checkpoints: resumed.into_iter().collect(),
            last_end: None,
            went_back: false,
            gave_up: false,
        }
    }

    /// Returns true if the next run may be followed by another one.
    pub fn are_left(&self) -> bool {
        self.made < self.allowed
    }

    /// Returns a line for the user if no run follows although restarts are left.
    pub fn last_word(&self) -> Option<&'static str> {
        const TEXT: &str = "no further restart: three runs have ended in the same way, without a later \
                            checkpoint between";
        self.gave_up.then_some(TEXT)
    }

    /// Returns the run that follows a run that has ended. Returns `None` if none is to follow.
    ///
    /// If two runs end in the same way without a later checkpoint between, the state itself may be what makes
    /// them fail. The next run then goes on from one checkpoint earlier, once.
    pub fn next(&mut self, result: &RunResult) -> Option<Restart> {
        let record = &result.record;
        // A restart whose checkpoint was damaged meanwhile gives way to one from the checkpoint before.
        let is_damaged = self.made > 0 && code_of(record) == Some(Code::CHECKPOINT_UNREADABLE);
        if !self.are_left() || !(may_go_on(record) || is_damaged) {
            return None;
        }
        let run = RunDirectory::open(&result.directory);
        let new = checkpoints_of(&run);
        let end = (record.code.clone(), record.failed.clone());
        let last = new.iter().map(moment_of).fold(f64::NEG_INFINITY, f64::max);
        if is_damaged {
            self.checkpoints.pop();
        } else if last > self.furthest {
            (self.furthest, self.went_back) = (last, false);
        } else if self.last_end.as_ref() == Some(&end) {
            if self.went_back {
                self.gave_up = true;
                return None;
            }
            self.went_back = true;
            self.checkpoints.pop();
        }
        if !self.went_back {
            self.checkpoints.extend(new);
        }
        if !is_damaged {
            self.last_end = Some(end);
        }
        let first = self.first.get_or_insert_with(|| result.directory.clone()).clone();
        Some(self.restart(&first))
    }

    /// Returns the run that takes the place of a restart which could not begin, because its checkpoint is
    /// damaged. It goes on from the checkpoint before. Returns `None` if none is to follow.
    pub fn instead(&mut self, error: &Fault) -> Option<Restart> {
        let is_damaged = error.code() == Code::CHECKPOINT_UNREADABLE && self.are_left();
        let first = self.first.clone().filter(|_| is_damaged)?;
        self.checkpoints.pop();
        Some(self.restart(&first))
    }

    /// Returns a run that goes on from the last checkpoint.
    fn restart(&mut self, first: &Path) -> Restart {
        self.made += 1;
        let directory = unused(first, self.made);
        let checkpoint = self.checkpoints.last().cloned();
        let from = match &checkpoint {
            Some(checkpoint) => format!("checkpoint {}", checkpoint.name()),
            None if self.furthest > f64::NEG_INFINITY => {
                "the beginning, since its only checkpoint has not helped".to_owned()
            }
            None => "the beginning, since there is no checkpoint".to_owned(),
        };
        let text = format!(
            "restart {} of {}: the run goes on from {from}, in {}",
            self.made,
            self.allowed,
            ligament_runtime::shown(&directory)
        );
        Restart { directory, checkpoint, text }
    }
}

/// Returns the directory of a restart. A number follows the name if an earlier run of this name has left one.
fn unused(first: &Path, restart: u32) -> PathBuf {
    let named = |suffix: &str| {
        let mut directory = first.as_os_str().to_owned();
        directory.push(format!("-restart{restart}{suffix}"));
        PathBuf::from(directory)
    };
    let numbered = (2..=u32::MAX).map(|number| named(&format!("-{number}")));
    let mut directories = std::iter::once(named("")).chain(numbered);
    directories.find(|directory| directory.symlink_metadata().is_err()).unwrap_or_else(|| named(""))
}

fn moment_of(checkpoint: &Checkpoint) -> f64 {
    checkpoint.record.model_time.unwrap_or(f64::INFINITY)
}

/// Returns true if a run has failed in a way that need not come again.
fn may_go_on(record: &RunRecord) -> bool {
    record.state == RunState::Failed && code_of(record).is_some_and(|code| DEATHS.contains(&code))
}

fn code_of(record: &RunRecord) -> Option<Code> {
    record.code.as_deref().and_then(Code::named)
}
