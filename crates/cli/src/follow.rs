//! Following a run that was submitted: first its job in the queue, then its log, until both are over. All that is
//! looked at is the queue and the run directory, so it does not matter which begins first, or where this is called.

use crate::arguments::print;
use crate::job::JobRecord;
use ligament_launch::jobs::{self, JobState};
use ligament_manager::{read_output, RunDirectory, RunRecord, RunState};
use std::fs::File;
use std::time::{Duration, Instant};

/// How often the run directory is looked at. On a shared file system nothing tells of another machine's changes.
const LOOK: Duration = Duration::from_millis(250);
/// How often the batch system is asked: it serves many.
const ASK: Duration = Duration::from_secs(2);
/// How long files may take to be seen on this machine after the job is over.
const FILES_LATE: Duration = Duration::from_secs(10);
/// Lines of the job's own output that are shown when the run has not begun.
const LAST_LINES: usize = 20;

/// What is known of a job.
struct Queue<'a> {
    job: &'a JobRecord,
    asked: Option<Instant>,
    said: String,
    over: Option<(Instant, String)>,
}

impl Queue<'_> {
    /// Asks, if it is time, and says what is new.
    fn look(&mut self, show: bool) {
        if self.over.is_some() || self.asked.is_some_and(|asked| asked.elapsed() < ASK) {
            return;
        }
        self.asked = Some(Instant::now());
        let said = match jobs::state(&self.job.job) {
            Ok(state) => {
                if let JobState::Over { how } = &state {
                    self.over = Some((Instant::now(), how.clone()));
                }
                format!("the job {} {state}", self.job.job)
            }
            Err(error) => error,
        };
        if show && said != self.said {
            eprintln!("{said}");
        }
        self.said = said;
    }
}

/// Follows a run to its end. Its exit status is that of the run.
pub(crate) fn follow(run: &RunDirectory, job: &JobRecord) -> i32 {
    let mut queue = Queue { job, asked: None, said: String::new(), over: None };
    let mut log: Option<File> = None;
    loop {
        queue.look(true);
        let record = crate::client::record_of(run).ok();
        // What is in the log before the record says that the run is over is all that there will be.
        if log.is_none() {
            log = File::open(run.log()).ok();
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut log {
            if read_output(file, &mut bytes).is_ok() && !bytes.is_empty() {
                print(&String::from_utf8_lossy(&bytes));
            }
        }
        match record {
            Some(record) if record.state != RunState::Running => return tell(run, &record),
            record => {
                if let Some((_, how)) = queue.over.as_ref().filter(|(since, _)| since.elapsed() > FILES_LATE) {
                    return lost(run, job, how, record.is_some());
                }
            }
        }
        if bytes.is_empty() {
            std::thread::sleep(LOOK);
        }
    }
}

/// How it went: as `ligament run` says it.
fn tell(run: &RunDirectory, record: &RunRecord) -> i32 {
    let took = ligament_manager::in_seconds(record.duration.unwrap_or(0.0));
    if let Some(reason) = &record.reason {
        crate::complain(reason);
    }
    eprintln!("{}: {} after {took}; {}", record.run, record.state.name(), run.path().display());
    match record.state {
        RunState::Done => crate::DONE,
        RunState::Interrupted => crate::INTERRUPTED,
        RunState::Running | RunState::Failed | RunState::Stopped => crate::FAILED,
    }
}

fn lost(run: &RunDirectory, job: &JobRecord, how: &str, begun: bool) -> i32 {
    let path = run.path().join("job.log");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
        eprintln!("  {line}");
    }
    let what = if begun { "was ended without being able to say so" } else { "has not begun" };
    let error = format!(
        "the job {} is over ({how}), and the run {what}; what the job printed is in {}",
        job.job,
        path.display()
    );
    crate::fail(false, &error, crate::FAILED)
}
