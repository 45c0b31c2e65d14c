//! Follows a run as a client. While a viewer is present, it requests news from the run's head. If the head
//! does not answer, because the run is over, halted, on another machine or lost, it reads the run's
//! directory.

use crate::demand::Demand;
use crate::picture::{SharedPicture, ViewState};
use crate::usage::Usage;
use ligament_catalogue::Fault;
use ligament_manager::{InstanceRecord, RunDirectory, RunNews, RunRecord, RunState, UtcTime};
use ligament_runtime::client::{
    halted_in_words, is_alive, is_halted, is_here, journalled, record_of, Snapshots, WatchSession,
};
use serde_json::{json, Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Time between two requests for news.
const EVERY: Duration = Duration::from_millis(250);
/// Time after which a run that did not answer is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Number of times that a run's process must be found gone before the run counts as lost. The record of a
/// run that ends may be written a little later.
const MAX_END_POLLS: u32 = 6;

/// Follows the run until it is over. Blocks. `begun_by` is the process that begins the run, whose record
/// may not exist yet.
pub fn follow(run: &RunDirectory, begun_by: Option<u32>, picture: &Arc<SharedPicture>, demand: &Demand) {
    let mut snapshots = None;
    let (mut gone, mut unheard) = (0, 0);
    loop {
        demand.wait();
        let record = match record_of(run) {
            Ok(record) => record,
            Err(_) if begun_by.is_some_and(is_alive) && !run.record().exists() => {
                picture.say(ViewState::Beginning, None);
                std::thread::sleep(RETRY_DELAY);
                continue;
            }
            Err(why) => {
                picture.say(ViewState::Unreadable, Some(&why.to_string()));
                std::thread::sleep(RETRY_DELAY);
                continue;
            }
        };
        if record.state != RunState::Running {
            picture.take(&of_record(&record, None), time_of(&record));
            picture.say(ViewState::Over, None);
            return;
        }
        match WatchSession::begin(run, &record, EVERY) {
            Ok(Some(watching)) => {
                gone = 0;
                let (heard, why) = hear(watching, picture, demand);
                unheard = if heard { 0 } else { unheard + 1 };
                // The run may refuse, for example if too many clients watch it. The first failure is not shown,
                // because the run may just be ending.
                if unheard > 1 {
                    picture.say(ViewState::Silent, Some(&why.to_string()));
                }
            }
            Ok(None) if !is_here(&record) => {
                let snapshots = snapshots.get_or_insert_with(|| Snapshots::of(run));
                from_elsewhere(snapshots, &record, picture);
            }
            Ok(None) => {
                gone += 1;
                if gone > MAX_END_POLLS && !is_alive(record.pid) {
                    let record = RunRecord { instances: journalled(run, &record), ..record };
                    picture.take(&of_record(&record, None), UtcTime::now());
                    picture.say(
                        ViewState::Lost,
                        Some("its process is gone, and nobody is left who could say why"),
                    );
                }
            }
            Err(_) if is_halted(&record) => {
                picture.say(ViewState::Halted, Some(&halted_in_words(&record)));
            }
            Err(why) => picture.say(ViewState::Silent, Some(&why.to_string())),
        }
        std::thread::sleep(RETRY_DELAY);
    }
}

/// Returns the time at which a run that is over ended.
fn time_of(record: &RunRecord) -> UtcTime {
    record.ended.as_deref().and_then(UtcTime::of_rfc3339).unwrap_or_else(UtcTime::now)
}

/// Takes news from the head until the connection ends. Returns true if any news came, and the reason for the
/// end.
fn hear(mut watching: WatchSession, picture: &Arc<SharedPicture>, demand: &Demand) -> (bool, Fault) {
    let mut heard = false;
    let mut usage = Usage::default();
    loop {
        demand.wait();
        match watching.news() {
            Ok(news) => {
                // The time is by the clock of the run's machine.
                let at = news["at"].as_u64().map_or_else(UtcTime::now, UtcTime);
                picture.take(&news, at);
                picture.say(ViewState::Live, None);
                if let Some(usage) = usage.of(&picture.processes()) {
                    picture.take_usage(&usage);
                }
                heard = true;
            }
            Err(why) => return (heard, why),
        }
    }
}

/// Takes the state of a run on another machine from the run's directory.
fn from_elsewhere(snapshots: &mut Snapshots, record: &RunRecord, picture: &Arc<SharedPicture>) {
    snapshots.ask();
    if let Some(status) = snapshots.news() {
        let at = status["at"].as_str().and_then(UtcTime::of_rfc3339);
        if let Ok(told) = serde_json::from_value::<RunRecord>(status) {
            picture.take(&of_record(&told, at), at.unwrap_or_else(UtcTime::now));
        }
        picture.say(ViewState::Elsewhere, None);
    } else if snapshots.denied() {
        picture.say(
            ViewState::Elsewhere,
            Some("the run is on another machine, and you may not ask it to write down how it stands"),
        );
    } else if snapshots.silent_for() > Duration::from_secs(10) {
        let why = format!("nothing has come from {} for {} s", record.host, snapshots.silent_for().as_secs());
        picture.say(ViewState::Silent, Some(&why));
    }
}

/// Returns a record in the form of news. `at` is the time at which the record was made, if the run goes on.
pub fn of_record(record: &RunRecord, at: Option<UtcTime>) -> Value {
    let numbered = |values: Vec<Value>| -> Value {
        let all: Map<String, Value> =
            values.into_iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect();
        Value::Object(all)
    };
    let instance = |one: &InstanceRecord| {
        let mut value = serde_json::to_value(one).unwrap_or_default();
        if let (Some(at), Some(seconds)) = (at, one.waits_since) {
            value["waits_from"] = json!(at.0 as f64 - seconds * 1e3);
        }
        value
    };
    let instances = numbered(record.instances.iter().map(instance).collect());
    let conduits = record.conduits.iter().map(|one| serde_json::to_value(one).unwrap_or_default());
    let conduits = numbered(conduits.collect());
    let run = RunRecord { instances: Vec::new(), conduits: Vec::new(), ..record.clone() };
    let run = RunNews { record: run, ..RunNews::default() };
    json!({ "run": run, "instances": instances, "conduits": conduits })
}
