//! Follows a run, as any client does: asks its head while somebody looks at the page, and reads its directory
//! where nobody answers, because the run is over, stands still, is on another machine, or was lost.

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

/// How often the run is asked what is new.
const EVERY: Duration = Duration::from_millis(250);
/// How soon a run that does not answer is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// A run that ends may be found gone before its record says how it went.
const MAX_END_POLLS: u32 = 6;

/// Follows the run until it is over. Blocks. If a process begins it, it may not have its record yet.
pub fn follow(run: &RunDirectory, begun_by: Option<u32>, picture: &Arc<SharedPicture>, demand: &Demand) {
    let mut snapshots = None;
    let (mut gone, mut unheard) = (0, 0);
    loop {
        demand.wait();
        let record = match record_of(run) {
            Ok(record) => record,
            Err(_) if begun_by.is_some_and(is_alive) && !run.record().exists() => {
                picture.say(ViewState::Beginning, None);
                std::thread::sleep(AGAIN);
                continue;
            }
            Err(why) => {
                picture.say(ViewState::Unreadable, Some(&why.to_string()));
                std::thread::sleep(AGAIN);
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
                // It may refuse, as it does if too many watch. That it ends just now is not worth a word.
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
        std::thread::sleep(AGAIN);
    }
}

/// When a run that is over stood like its record: at its end.
fn time_of(record: &RunRecord) -> UtcTime {
    record.ended.as_deref().and_then(UtcTime::of_rfc3339).unwrap_or_else(UtcTime::now)
}

/// Takes in what the head tells, for as long as it does. Whether it has told something, and why it tells
/// nothing more.
fn hear(mut watching: WatchSession, picture: &Arc<SharedPicture>, demand: &Demand) -> (bool, Fault) {
    let mut heard = false;
    let mut usage = Usage::default();
    loop {
        demand.wait();
        match watching.news() {
            Ok(news) => {
                // Which clock it is: that of the run's machine.
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

/// A run on another machine, of which the directory tells.
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

/// A record in the form of news; `at` is when it was made, of a run that goes on.
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
