//! The state of a run as the page shows it: the run, its instances, its conduits, and the state of the view
//! itself. Each part has the number of the picture in which it last changed, so that each browser gets
//! exactly the parts that it lacks. The picture has a time, by the clock of the run's machine, up to which
//! it is known to be valid. Rates and forecasts are computed with this time, because a picture may be old
//! when a browser gets it.

use ligament_manager::UtcTime;
use ligament_runtime::{changed_after, NumberedPart};
use serde::Serialize;
use serde_json::{json, Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;
use tokio::sync::watch;

/// Maximum number of parts of a kind, so that the picture of a damaged or strange run cannot fill the
/// memory.
const MAX_PARTS: usize = 1 << 20;

#[derive(Default)]
struct PictureParts {
    number: u64,
    /// Time up to which the state is known to be valid.
    at: Option<UtcTime>,
    view: NumberedPart,
    /// True if the view is over, so that no more news will come.
    over: bool,
    run: NumberedPart,
    /// Instances, by their numbers.
    instances: BTreeMap<u32, NumberedPart>,
    conduits: BTreeMap<u32, NumberedPart>,
    /// The use of the machine by each instance, if it is known on this machine.
    usage: BTreeMap<u32, NumberedPart>,
}

/// The states of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ViewState {
    /// The run has no record yet.
    Beginning,
    /// The run sends news.
    Live,
    Over,
    /// The run's process is gone, and left no outcome.
    Lost,
    /// The run's process is stopped.
    Halted,
    /// The run does not answer.
    Silent,
    /// The run is on another machine, and its state comes from its directory.
    Elsewhere,
    /// The run has no record that can be read.
    Unreadable,
}

/// The state of the view, and the reason if no news come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewNews {
    pub state: ViewState,
    pub why: Option<String>,
}

/// The picture that all browsers share.
pub struct SharedPicture {
    parts: Mutex<PictureParts>,
    number: watch::Sender<u64>,
    /// Time at which the run last sent news, or at which the reason for their absence was noted.
    heard: watch::Sender<Option<Instant>>,
}

impl Default for SharedPicture {
    fn default() -> SharedPicture {
        SharedPicture { parts: Mutex::default(), number: watch::channel(0).0, heard: watch::channel(None).0 }
    }
}

fn put_all(parts: &mut BTreeMap<u32, NumberedPart>, news: &Value, number: u64) {
    for (key, value) in news.as_object().into_iter().flatten() {
        let known = key.parse::<u32>().ok().filter(|&key| parts.len() < MAX_PARTS || parts.contains_key(&key));
        if let Some(key) = known {
            parts.entry(key).or_default().is_now(Cow::Borrowed(value), number);
        }
    }
}

impl SharedPicture {
    fn parts(&self) -> std::sync::MutexGuard<'_, PictureParts> {
        // No code panics while it holds the lock, so a poisoned lock is accepted.
        self.parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes news from the run in the form in which its head sends them. `at` is the time up to which they
    /// are valid.
    pub fn take(&self, news: &Value, at: UtcTime) {
        let mut parts = self.parts();
        let number = parts.number + 1;
        parts.at = Some(at);
        if news["run"].is_object() {
            parts.run.is_now(Cow::Borrowed(&news["run"]), number);
        }
        put_all(&mut parts.instances, &news["instances"], number);
        put_all(&mut parts.conduits, &news["conduits"], number);
        self.finish(parts, number);
    }

    /// Takes the use of the machine by instances.
    pub fn take_usage(&self, usage: &Value) {
        let mut parts = self.parts();
        let number = parts.number + 1;
        put_all(&mut parts.usage, usage, number);
        self.finish(parts, number);
    }

    /// Returns the numbers and processes of the instances in the head's own domain that are not over.
    pub fn processes(&self) -> Vec<(u32, u32)> {
        let parts = self.parts();
        let process = |one: &Value| {
            let is_here = one["domain"].as_u64().unwrap_or(0) == 0;
            let is_over = matches!(one["state"].as_str(), Some("done" | "failed" | "stopped") | None);
            one["pid"].as_u64().filter(|_| is_here && !is_over).and_then(|pid| u32::try_from(pid).ok())
        };
        parts.instances.iter().filter_map(|(&number, part)| Some((number, process(&part.value)?))).collect()
    }

    /// Sets the state of the view.
    pub fn say(&self, state: ViewState, why: Option<&str>) {
        let mut parts = self.parts();
        let number = parts.number + 1;
        let view = ViewNews { state, why: why.map(str::to_owned) };
        parts.over = state == ViewState::Over;
        parts.view.is_now(Cow::Owned(serde_json::to_value(view).unwrap_or_default()), number);
        self.finish(parts, number);
    }

    fn finish(&self, mut parts: std::sync::MutexGuard<'_, PictureParts>, number: u64) {
        let kinds = [&parts.instances, &parts.conduits, &parts.usage].into_iter().flat_map(BTreeMap::values);
        let is_new = kinds.chain([&parts.view, &parts.run]).any(|part| part.is_newer_than(number - 1));
        parts.number = number;
        drop(parts);
        if is_new {
            self.number.send_replace(number);
        }
        self.heard.send_replace(Some(Instant::now()));
    }

    /// Returns the news since the picture with the number `since`, or `None` if there are none.
    pub fn since(&self, since: u64) -> Option<Value> {
        let parts = self.parts();
        let since = if since > parts.number { 0 } else { since };
        let mut told = json!({ "picture": parts.number });
        if let Some(UtcTime(at)) = parts.at {
            told["at"] = json!(at);
        }
        let empty = told.as_object().map_or(0, Map::len);
        for (name, part) in [("view", &parts.view), ("run", &parts.run)] {
            if part.is_newer_than(since) {
                told[name] = part.value.clone();
            }
        }
        let kinds = [("instances", &parts.instances), ("conduits", &parts.conduits), ("usage", &parts.usage)];
        for (name, all) in kinds {
            if let Some(new) = changed_after(all.iter(), since) {
                told[name] = new;
            }
        }
        (told.as_object().is_some_and(|told| told.len() > empty)).then_some(told)
    }

    /// Returns true if no more news will come.
    pub fn is_over(&self) -> bool {
        self.parts().over
    }

    /// Returns a receiver that gets the number of each new picture.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }

    /// Waits until the run has answered after `moment`, even if it had no news, but not longer than
    /// `patience`.
    pub async fn is_heard_since(&self, moment: Instant, patience: std::time::Duration) {
        let mut heard = self.heard.subscribe();
        let is_fresh = |heard: &Option<Instant>| heard.is_some_and(|at| at >= moment);
        let _ = tokio::time::timeout(patience, heard.wait_for(is_fresh)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_browser_is_told_what_it_lacks_and_nothing_else() {
        let picture = SharedPicture::default();
        let instances = json!({ "0": { "name": "a" }, "1": { "name": "b" } });
        picture.take(&json!({ "run": { "state": "running" }, "instances": instances }), UtcTime(5_000));
        let first = picture.since(0).unwrap();
        let seen = first["picture"].as_u64().unwrap();
        assert_eq!(picture.since(seen), None);
        picture.take(&json!({ "instances": { "1": { "name": "c" } } }), UtcTime(5_000));
        let news = picture.since(seen).unwrap();
        assert_eq!((&news["instances"], &news["run"]), (&json!({ "1": { "name": "c" } }), &Value::Null));
        assert_eq!(news["at"], 5_000, "a picture has the time at which the run stood like this");
        // A browser that has seen another server's pictures gets everything.
        assert_eq!(picture.since(99).unwrap()["instances"].as_object().unwrap().len(), 2);
    }

    #[test]
    fn who_wants_to_know_how_the_run_stands_now_is_not_shown_how_it_stood_before() {
        let picture = SharedPicture::default();
        let news = json!({ "run": { "state": "running" } });
        picture.take(&news, UtcTime(5_000));
        let asked = Instant::now();
        let hears = async {
            picture.is_heard_since(asked, std::time::Duration::from_secs(60)).await;
            picture.since(0).map(|news| news["at"].clone())
        };
        let tells = async {
            // The other task waits first. These news differ from the earlier news only in their time.
            tokio::task::yield_now().await;
            picture.take(&news, UtcTime(9_000));
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (at, ()) = runtime.block_on(async { tokio::join!(hears, tells) });
        assert_eq!(at, Some(json!(9_000)));
    }

    #[test]
    fn news_that_make_no_sense_are_passed_over() {
        let picture = SharedPicture::default();
        picture.take(
            &json!({ "run": 7, "instances": { "x": 1, "-1": 2, "99999999999": 3 }, "conduits": [1] }),
            UtcTime(5_000),
        );
        assert_eq!(picture.since(0), None);
    }
}
