//! Steering as a client: what somebody wants of a run, and who they are.

use super::{ask, is_here};
use ligament_catalogue::{fault, Fault};
use ligament_manager::{RunDirectory, RunRecord, RunState};
use ligament_wire::control::{ChangeRequest, Question, SteerRequest};
use serde_json::Value;

/// Whoever sits here: `alice@host`.
pub fn who() -> String {
    // `$USER` says what a shell was told, and is another one's after `su` or `sudo`.
    let number = rustix::process::geteuid().as_raw();
    let user = ligament_launch::user_name(number).unwrap_or_else(|| number.to_string());
    format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy())
}

/// Asks for it, and waits until all have agreed, or one has not. Of `ChangeRequest::Nothing` there is an answer
/// of a run that is over, too: what was steered.
///
/// # Errors
/// Why it does not happen: it is refused, or the run is over.
pub fn steer(run: &RunDirectory, record: &RunRecord, order: SteerRequest) -> Result<Value, Fault> {
    let shows = order.wanted == ChangeRequest::Nothing;
    match ask(run, record, Question::from(order))? {
        Some(answer) => Ok(answer),
        None if shows => Ok(serde_json::json!({
            "ok": true, "steerable": record.steerable, "changes": record.steering, "halt": record.halt,
            "time_unit": record.time_unit,
        })),
        None if record.state == RunState::Running && !is_here(record) => {
            Err(fault!(RUNS_ELSEWHERE, "{} runs on {}, where it can be steered", record.run, record.host))
        }
        None => Err(fault!(NOT_RUNNING, "{} is not running", record.run)),
    }
}
