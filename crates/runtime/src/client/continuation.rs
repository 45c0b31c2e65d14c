//! The run that goes on from the last checkpoint of a run that has failed, if the command that made it makes
//! restarts.

use super::{is_alive, is_here, record_of};
use ligament_manager::{RunDirectory, RunRecord, RunState};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time that the command has to begin the next run.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two looks at the record.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the run that goes on after a run that has ended. Waits for a short time if the command that made the
/// run may still begin another one.
pub fn continuation(run: &RunDirectory, record: &RunRecord) -> Option<RunDirectory> {
    if record.state != RunState::Failed {
        return None;
    }
    let until = Instant::now() + BEGIN_TIMEOUT;
    let next = loop {
        // The record is read after the look at the process, whose last act may be to write it.
        let may_follow = record.may_be_continued && (is_alive(record.pid) || !is_here(record));
        if let Some(next) = record_of(run).ok()?.continued_by {
            break RunDirectory::open(&next);
        }
        if !may_follow || Instant::now() > until {
            return None;
        }
        sleep(LOOK_INTERVAL);
    };
    // The directory of the next run is named before it has a record.
    while record_of(&next).is_err() {
        if Instant::now() > until {
            return None;
        }
        sleep(LOOK_INTERVAL);
    }
    Some(next)
}

/// Returns the last one of the runs that go on from each other, beginning with `run`.
pub fn last_continuation(run: RunDirectory) -> RunDirectory {
    let mut last = run;
    while let Some(next) = record_of(&last).ok().and_then(|record| continuation(&last, &record)) {
        last = next;
    }
    last
}
