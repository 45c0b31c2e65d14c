//! The record of a run whose own process is gone. The guard writes the reason to the run's log, journal and
//! record.

use crate::client::record_of;
use crate::head::INVITATION;
use ligament_catalogue::{fault, Fault};
use ligament_launch::ProcessLoss;
use ligament_manager::{Journal, JournalEvent, Level, RunDirectory, RunLog, RunRecord, RunState, UtcTime};
use std::time::Instant;

/// Records that the run has failed, and returns the reason. Changes the record that the run has written last,
/// or else `record`. If the run had ended before its process was lost, its record stays unchanged.
pub(crate) fn write_down(run: &RunDirectory, began: Instant, record: RunRecord, loss: &ProcessLoss) -> Fault {
    let (pid, host) = (record.pid, record.host.clone());
    let why = fault!(
        RUN_KILLED,
        "the process of the run itself (process {} on {host}) is gone: {}",
        loss.pid,
        loss.describe()
    );
    let mut record = record_of(run).unwrap_or(record);
    if record.state == RunState::Running {
        let now = UtcTime::now();
        record.state = RunState::Failed;
        record.blame(Some(&why));
        record.ended = Some(now.rfc3339());
        record.duration = Some((began.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        crate::complain(&why.clone().told(|why| format!("the run {} failed: {why}", record.run)));
        if let Ok(mut log) = RunLog::create(&run.log(), u64::MAX, None) {
            log.add(Level::Error, "run", &format!("the run failed: {why}"));
        }
        if let Ok(mut journal) = Journal::open(&run.journal(), began) {
            journal.note(JournalEvent::ManagerLost { reason: why.to_string() });
        }
        if let Err(error) = run.write_record(&record.text()) {
            crate::complain(&error);
        }
    }
    run.dismiss_clients();
    run.give_reserve_back();
    run.remove_unfinished(pid);
    let _ = std::fs::remove_file(run.path().join(INVITATION));
    why
}
