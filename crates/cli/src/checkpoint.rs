//! `ligament checkpoint`: saves a checkpoint of a run that goes on.

use crate::arguments::print;
use ligament_catalogue::Fault;
use ligament_manager::{find_run, list_some};
use ligament_runtime::client::{self, last_continuation, record_of, who};
use ligament_wire::control::{ChangeRequest, SteerRequest};
use ligament_wire::times::in_unit;
use serde_json::Value;
use std::time::Duration;

/// Maximum number of names in a text.
const NAMED: usize = 4;

/// Save a checkpoint of a run that is under way.
///
/// No instance stands still for it: each saves its state in its first step at or after one model time that
/// nobody has passed. Without --at that is a time just ahead of all. Without --wait, the command ends when all
/// have accepted that time.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckpointCommand {
    /// The run: its directory, its name under ./runs, or `latest`.
    pub run: String,
    /// At this model time: a number, or a number and a unit, such as "12 h", if the model says its `time_unit`
    /// [default: as soon as all can].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub at: Option<String>,
    /// Wait until the checkpoint is whole, and say its number.
    #[arg(long)]
    pub wait: bool,
    /// Without --wait: for how long to wait until all have accepted the time; what was asked for stays asked
    /// for.
    #[arg(
        long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "10s",
        conflicts_with = "wait"
    )]
    pub patience: Duration,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Carries out `ligament checkpoint`. Returns the exit status.
pub(crate) fn checkpoint(arguments: &CheckpointCommand) -> i32 {
    match asked(arguments) {
        Ok((answer, _)) if arguments.json => print(&format!("{answer}\n")),
        Ok((answer, time_unit)) => print(&in_words(&answer, time_unit.as_deref())),
        Err(error) => return crate::fail(arguments.json, &error, crate::FAILED),
    }
    crate::DONE
}

/// Sends the request to the run. Returns the run's answer and the unit of model times.
fn asked(arguments: &CheckpointCommand) -> Result<(Value, Option<String>), Fault> {
    let run = last_continuation(find_run(&arguments.run)?);
    let record = record_of(&run)?;
    let unit = record.time_unit.as_deref();
    let at = arguments.at.as_ref().map(|text| ligament_analysis::model_time(text, unit)).transpose()?;
    let wanted = ChangeRequest::Checkpoint { wait: arguments.wait };
    let order = SteerRequest { who: who(), wanted, at, patience: Some(arguments.patience), dry: false };
    Ok((client::steer(&run, &record, order)?, record.time_unit))
}

fn in_words(answer: &Value, time_unit: Option<&str>) -> String {
    let at = answer["at"].as_f64().map(|at| in_unit(at, time_unit));
    if let Some(number) = answer["checkpoint"].as_u64() {
        let when = at.map_or_else(|| "at the end".to_owned(), |at| format!("at {at}"));
        return format!("checkpoint {number} is saved ({when})\n");
    }
    if let Some(at) = at {
        return format!("all save their state in their first step at {at} or later\n");
    }
    let names = answer["lacks"].as_array().into_iter().flatten();
    let names: Vec<String> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let why = if names.is_empty() {
        "no instance has come to the place where it asks whether to save".to_owned()
    } else {
        let have = if names.len() == 1 { "has" } else { "have" };
        format!("{} {have} not answered yet", list_some(&names, NAMED))
    };
    format!("the checkpoint stays asked for, and its time is not agreed on: {why}\n")
}
