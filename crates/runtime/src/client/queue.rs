//! The job of a run in the queue of its batch system.

use super::JobRecord;
use ligament_launch::jobs::{self, JobState};
use std::time::{Duration, Instant};

/// Interval between two requests to the batch system, which also serves other users.
const ASK: Duration = Duration::from_secs(2);

/// The state of a job, as far as it is known.
pub struct Queue<'a> {
    job: &'a JobRecord,
    asked: Option<Instant>,
    said: String,
    over: Option<(Instant, String)>,
}

impl Queue<'_> {
    pub fn of(job: &JobRecord) -> Queue<'_> {
        Queue { job, asked: None, said: String::new(), over: None }
    }

    /// Asks the batch system if the interval is over. Returns a new state of the job in words.
    pub fn look(&mut self) -> Option<String> {
        if self.over.is_some() || self.asked.is_some_and(|asked| asked.elapsed() < ASK) {
            return None;
        }
        self.asked = Some(Instant::now());
        let said = match jobs::state(&self.job.job) {
            Ok(state) => {
                if let JobState::Over { how } = &state {
                    self.over = Some((Instant::now(), how.clone()));
                }
                format!("the job {} {state}", self.job.job)
            }
            Err(error) => error.to_string(),
        };
        let is_new = said != self.said;
        self.said = said;
        is_new.then(|| self.said.clone())
    }

    /// Returns the job's number and the way in which it ended, if it ended longer ago than `time`.
    pub fn over_for(&self, time: Duration) -> Option<(&str, &str)> {
        let (since, how) = self.over.as_ref()?;
        (since.elapsed() > time).then_some((&self.job.job, how))
    }
}
