//! Steering as a client: the request to a run, and the name of the user who makes it.

use super::{ask, is_here};
use ligament_catalogue::{fault, Fault};
use ligament_manager::{RunDirectory, RunRecord, RunState};
use ligament_wire::control::{ChangeRequest, Question, SteerRequest};
use serde_json::Value;

/// Returns the user's name and machine, such as `alice@host`.
pub fn who() -> String {
    // After `su` or `sudo`, `$USER` may be another user, so it is not used.
    let number = rustix::process::geteuid().as_raw();
    let user = ligament_launch::user_name(number).unwrap_or_else(|| number.to_string());
    format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy())
}

/// Sends the request, and waits until all instances have accepted it or one instance has refused it. The
/// request `ChangeRequest::Nothing` is answered even if the run is over: the answer has the changes that were
/// made.
///
/// # Errors
/// The change is refused, or the run is over. The error says why.
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
