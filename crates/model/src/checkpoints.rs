//! The times at which a run saves its state, and the checkpoints from which it resumes. Both are read,
//! merged and stored. A run cannot use them yet, so the check refuses a model that has them
//! (`ligament-analysis`, `notyet`).

use crate::problem::At;

/// Moments at which the state is saved.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointRule {
    /// `start`, `start + every`, … up to and including `stop`.
    Range {
        /// The first moment; if `None`, every multiple of `every` is a moment, negative ones included.
        start: Option<f64>,
        /// The latest possible moment.
        stop: Option<f64>,
        /// The step, above zero.
        every: f64,
    },
    /// These moments, ascending.
    At(Vec<f64>),
}

/// All moments at which a run saves its state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoints {
    /// True if the state is also saved just before the end.
    pub at_end: bool,
    /// Moments in seconds since the run began.
    pub wallclock_time: Vec<CheckpointRule>,
    /// Moments in the model's own time.
    pub simulation_time: Vec<CheckpointRule>,
    /// The place of the section.
    pub at: At,
}

/// The checkpoint that an instance resumes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The file, as it is written.
    pub file: String,
    /// The place in the file.
    pub at: At,
}

impl Checkpoints {
    /// Returns true if there are no moments.
    pub fn is_empty(&self) -> bool {
        !self.at_end && self.wallclock_time.is_empty() && self.simulation_time.is_empty()
    }

    /// Adds the moments of the overlay to these.
    pub fn update(&mut self, overlay: Checkpoints) {
        if self.is_empty() {
            self.at = overlay.at;
        }
        self.at_end |= overlay.at_end;
        self.wallclock_time.extend(overlay.wallclock_time);
        self.simulation_time.extend(overlay.simulation_time);
    }
}
