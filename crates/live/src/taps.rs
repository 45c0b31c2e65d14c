//! The ports whose values viewers watch. Each port has one tap, whatever the number of its viewers, and one
//! thread. The thread takes a value when the fastest viewer requests the next one. A frame is a line of JSON,
//! followed by the elements of an array as doubles.

use crate::feed::{lock, Feed};
use ligament_catalogue::{said, Code, Fault};
use ligament_manager::RunDirectory;
use ligament_runtime::client::{record_of, PortOf, PortValue, TapEvent, TapSession, DEFAULT_BOX_BYTES};
use ligament_wire::tap::{numbers_of, text_of, TapSelection};
use ligament_wire::{Array, Value};
use serde_json::{json, Value as Json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum number of different selections from ports that are watched at a time.
const MAX_PORTS: usize = 16;
/// Time for which the thread waits for a value before it checks again if a viewer requests one.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum number of elements in a frame, and maximum length of a text, in characters. Longer texts are
/// cut.
const MAX_ELEMENTS: u64 = 1 << 18;
const MAX_TEXT_CHARS: usize = 20_000;

/// A port that is watched, and its latest frame.
pub struct PortFeed {
    port: PortOf,
    wanted: TapSelection,
    pub feed: Feed,
}

/// All ports that are watched.
pub struct TapTable {
    run: RunDirectory,
    feeds: Mutex<Vec<Arc<PortFeed>>>,
}

impl PortFeed {
    fn push(&self, mut head: Json, elements: &[f64]) {
        head["port"] = json!(self.port.to_string());
        let bytes: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.feed.push(head, &bytes);
    }

    /// Takes values until no viewer requests them any more.
    fn run(&self, run: &RunDirectory) {
        let begun = record_of(run)
            .and_then(|record| TapSession::begin(run, &record, &self.port, &self.wanted, DEFAULT_BOX_BYTES))
            .and_then(|begun| begun.ok_or_else(|| Fault::new(Code::TAP_REFUSED, not_under_way())));
        let mut tapping = match begun {
            Ok(tapping) => tapping,
            // An instance that has not joined yet may join soon, so the viewers may try again.
            Err(why) => {
                let over = why.code() != Code::TAP_TOO_EARLY;
                return self.push(json!({ "kind": "none", "why": why.text(), "over": over }), &[]);
            }
        };
        let mut last: Option<Instant> = None;
        while let Some(every) = self.feed.wait() {
            if let Some(early) = last.and_then(|last| every.checked_sub(last.elapsed())) {
                std::thread::sleep(early);
            }
            match tapping.next(POLL_INTERVAL) {
                Ok(TapEvent::Shown(shown)) => {
                    last = Some(Instant::now());
                    let (mut head, elements) = told(&shown.value);
                    let PortValue { timestamp, next_timestamp, slot, number, .. } = *shown;
                    // JSON has no form for infinities and NaN.
                    head["timestamp"] = json!(timestamp);
                    head["next_timestamp"] = json!(next_timestamp);
                    head["slot"] = json!(slot);
                    head["message"] = json!(number);
                    head["histogram"] = json!(self.wanted.bars > 0);
                    self.push(head, &elements);
                }
                Ok(TapEvent::Nothing) => {}
                Ok(TapEvent::Over(why)) => {
                    return self.push(json!({ "kind": "none", "why": why, "over": true }), &[])
                }
                Err(why) => {
                    last = Some(Instant::now());
                    self.push(json!({ "kind": "none", "why": why.text(), "over": false }), &[]);
                }
            }
        }
    }
}

fn not_under_way() -> String {
    said!(TAP_REFUSED, "the run is not under way, or not on this machine: there is nothing to look at")
}

impl TapTable {
    pub fn new(run: RunDirectory) -> TapTable {
        TapTable { run, feeds: Mutex::default() }
    }

    /// Returns the feed of a port, and begins to watch the port if no viewer does yet.
    ///
    /// # Errors
    /// Fails if `port` is no port, or if too many other ports are watched.
    pub fn feed(self: &Arc<TapTable>, port: &str, wanted: TapSelection) -> Result<Arc<PortFeed>, Fault> {
        let port = PortOf::of(port)?;
        let mut feeds = lock(&self.feeds);
        if let Some(known) = feeds.iter().find(|one| one.port == port && one.wanted == wanted) {
            return Ok(known.clone());
        }
        if feeds.len() >= MAX_PORTS {
            return Err(Fault::new(
                Code::TAP_REFUSED,
                said!(TAP_REFUSED, "the page shows {MAX_PORTS} ports at the most, in all browsers; close one"),
            ));
        }
        let feed = Arc::new(PortFeed { port, wanted, feed: Feed::default() });
        let (taps, own) = (self.clone(), feed.clone());
        let begun = std::thread::Builder::new().name("ligament-tap".into()).spawn(move || {
            own.run(&taps.run);
            lock(&taps.feeds).retain(|one| !Arc::ptr_eq(one, &own));
        });
        begun
            .map_err(|error| Fault::new(Code::CANNOT_SERVE, format!("no thread for another port: {error}")))?;
        feeds.push(feed.clone());
        Ok(feed)
    }
}

/// Returns a value for the head of a frame, and the elements of an array.
fn told(value: &Value) -> (Json, Vec<f64>) {
    match value {
        Value::None => (json!({ "kind": "text", "text": "nothing" }), Vec::new()),
        Value::Bool(truth) => (json!({ "kind": "text", "text": truth.to_string() }), Vec::new()),
        Value::Int(x) => (json!({ "kind": "number", "text": x.to_string() }), vec![*x as f64]),
        Value::UInt(x) => (json!({ "kind": "number", "text": x.to_string() }), vec![*x as f64]),
        Value::Float(x) => (json!({ "kind": "number", "text": text_of(*x) }), vec![*x]),
        Value::Array(array) => of_array(array),
        other => {
            let text: String = plain(other).to_string().chars().take(MAX_TEXT_CHARS).collect();
            (json!({ "kind": "text", "text": text, "value": histogram_in(other) }), Vec::new())
        }
    }
}

fn of_array(array: &Array) -> (Json, Vec<f64>) {
    let (shape, dtype) = (array.shape(), array.dtype().name());
    let mut head = json!({ "kind": "array", "dtype": dtype, "shape": shape, "names": array.names(),
        "unit": array.unit() });
    if array.len() > MAX_ELEMENTS {
        head["kind"] = json!("large");
        return (head, Vec::new());
    }
    (head, numbers_of(array))
}

/// Returns a histogram as JSON, or null for any other value. A histogram is a map with the key `counts`; the
/// page draws it.
fn histogram_in(value: &Value) -> Json {
    match value {
        Value::Map(entries) if entries.iter().any(|(key, _)| key == "counts") => plain(value),
        _ => Json::Null,
    }
}

/// Returns a value as JSON for people. Arrays are given by their shapes.
fn plain(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Int(x) => json!(x),
        Value::UInt(x) => json!(x),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::Float(x) => json!(x.to_string()),
        Value::Complex(re, im) => json!(format!("{re}{im:+}j")),
        Value::String(text) => json!(text),
        Value::Bytes(bytes) => json!(format!("{} bytes", bytes.len())),
        Value::List(items) => items.iter().take(10_000).map(plain).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(key, one)| (key.clone(), plain(one))).collect())
        }
        Value::Array(array) => json!(format!("{} {:?}", array.dtype().name(), array.shape())),
        Value::Settings(entries) => json!(format!("{} settings", entries.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    #[test]
    fn a_frame_has_a_line_and_the_elements() {
        let array = Array::from_slice(&[1i32, 2, 3], &[3], ArrayOrder::RowMajor).unwrap();
        let (head, elements) = told(&Value::Array(array));
        assert_eq!(
            (&head["kind"], &head["shape"], elements),
            (&json!("array"), &json!([3]), vec![1.0, 2.0, 3.0])
        );
        let (head, elements) = told(&Value::Float(f64::NAN));
        assert_eq!((&head["text"], elements.len()), (&json!("NaN"), 1));
        let large = Array::from_slice(
            &vec![0u8; MAX_ELEMENTS as usize + 1],
            &[MAX_ELEMENTS as usize + 1],
            ArrayOrder::RowMajor,
        );
        let (head, elements) = told(&Value::Array(large.unwrap()));
        assert_eq!((&head["kind"], elements.len()), (&json!("large"), 0));
        let map = Value::Map(vec![
            ("counts".into(), Value::List(vec![Value::Int(2)])),
            ("least".into(), Value::Float(0.5)),
        ]);
        assert_eq!(told(&map).0["value"], json!({ "counts": [2], "least": 0.5 }));
    }

    #[test]
    fn a_run_that_is_over_is_not_looked_at_for_long() {
        let place = std::env::temp_dir().join(format!("ligament-taps-{}", std::process::id()));
        let taps = Arc::new(TapTable::new(RunDirectory::open(&place)));
        let feed = taps.feed("macro.out", TapSelection::default()).unwrap();
        let late = Instant::now() + Duration::from_secs(60);
        while feed.feed.number() == 0 && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(5));
        }
        let frame = feed.feed.frames().borrow().clone();
        assert!(String::from_utf8_lossy(&frame.bytes).contains("\"why\""));
        while !lock(&taps.feeds).is_empty() && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(lock(&taps.feeds).is_empty());
        assert!(taps.feed("macro", TapSelection::default()).is_err());
    }
}
