//! Sources from JSON lines, from a `.npy` file, and from VTK image data.

use super::series::SeriesTimes;
use super::{Source, SourceMessage};
use crate::files::{input_path, json, name_of, npy, vti, Lines};
use crate::settings;
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Error, Instance, Value};
use ligament_wire::times::{is_before, ShownTime};
use serde_json::Value as Json;

/// Returns the name of the file that a source reads.
fn file_of(instance: &Instance) -> Result<String, Error> {
    Ok(name_of(&settings::text(instance, "file")?.unwrap_or_default(), instance.name(), None))
}

/// A source that reads a message from each line: `timestamp`, perhaps `next_timestamp`, and `data`.
pub(crate) struct JsonLines {
    lines: Lines,
    until: Option<f64>,
}

impl JsonLines {
    pub fn new(instance: &Instance) -> Result<JsonLines, Error> {
        let lines = Lines::open(&file_of(instance)?).map_err(settings::bad)?;
        Ok(JsonLines { lines, until: settings::number(instance, "until")? })
    }
}

/// The keys of a line.
const KEYS: [&str; 3] = ["timestamp", "next_timestamp", "data"];

/// Reads the times and the data of a line.
fn message(line: &str) -> Result<SourceMessage, Fault> {
    let Json::Object(mut object) = json::parsed(line)? else {
        return Err(fault!(MALFORMED_SOURCE, "it is no object with \"timestamp\" and \"data\""));
    };
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(fault!(MALFORMED_SOURCE, "a message has no key \"{key}\"; it has {}", KEYS.join(", ")));
    }
    let timestamp = object
        .get("timestamp")
        .and_then(json::time)
        .ok_or_else(|| fault!(MALFORMED_SOURCE, "its \"timestamp\" is no number that a float64 holds"))?;
    let next = match object.get("next_timestamp") {
        None => None,
        Some(Json::Null) => Some(None),
        Some(next) => Some(Some(json::time(next).ok_or_else(|| {
            fault!(MALFORMED_SOURCE, "its \"next_timestamp\" is no number that a float64 holds")
        })?)),
    };
    if let Some(Some(next)) = next.filter(|next| next.is_some_and(|next| is_before(next, timestamp))) {
        return Err(fault!(
            MALFORMED_SOURCE,
            "its \"next_timestamp\", {}, is earlier than its \"timestamp\", {}",
            ShownTime(next),
            ShownTime(timestamp)
        ));
    }
    let next = next.map(|next| next.map(|next| next.max(timestamp)));
    let data = json::value_of(object.remove("data").unwrap_or(Json::Null))?;
    Ok(SourceMessage { timestamp, next, data })
}

impl Source for JsonLines {
    fn next(&mut self) -> Result<Option<SourceMessage>, Error> {
        loop {
            let given = match self.lines.next().map_err(settings::bad)? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() => continue,
                Some(line) => message(line),
            };
            return given
                .map(Some)
                .map_err(|why| settings::bad(why.told(|why| format!("{}: {why}", self.lines.place()))));
        }
    }

    fn place(&self) -> String {
        self.lines.place()
    }

    fn until(&self) -> Option<f64> {
        self.until
    }
}

/// A source whose messages are the parts of an array along its first axis, or the whole array.
pub(crate) struct Npy {
    reader: npy::NpyReader,
    times: SeriesTimes,
    until: Option<f64>,
    given: u64,
    all: u64,
    whole: bool,
}

impl Npy {
    pub fn new(instance: &Instance) -> Result<Npy, Error> {
        let reader = npy::NpyReader::open(&file_of(instance)?)?;
        let whole = settings::truth(instance, "whole")?.unwrap_or(false) || reader.shape.is_empty();
        if !whole && reader.order == ligament_instance::ArrayOrder::ColumnMajor && reader.shape.len() > 1 {
            return Err(settings::bad(fault!(
                MALFORMED_SOURCE,
                "{}: its elements are in Fortran's order, so that the parts along its first axis do not lie \
                 together; save it with np.ascontiguousarray, or set \"whole: true\" for one message of all",
                reader.path.display()
            )));
        }
        let all = if whole { 1 } else { reader.shape[0] };
        let until = settings::number(instance, "until")?;
        Ok(Npy { reader, times: SeriesTimes::of_settings(instance)?, until, given: 0, all, whole })
    }
}

impl Source for Npy {
    fn next(&mut self) -> Result<Option<SourceMessage>, Error> {
        if self.given == self.all {
            return Ok(None);
        }
        let Some(time) = self.times.at(self.given) else {
            let (place, all) = (self.place(), self.all);
            let fault = fault!(
                SHIPPED_SETTING_WRONG,
                "{place}: \"times\" has fewer numbers than there are messages, {all}"
            );
            return Err(settings::wrong(fault));
        };
        self.given += 1;
        let data = if self.whole { self.reader.whole()? } else { self.reader.row()? };
        Ok(Some(SourceMessage::at(time, data)))
    }

    fn place(&self) -> String {
        self.reader.path.display().to_string()
    }

    fn until(&self) -> Option<f64> {
        self.until
    }
}

/// A source that reads one file, or a file for each message. `{n}` in the name is the number of the message,
/// from 0 on.
pub(crate) struct Vti {
    template: String,
    array: Option<String>,
    times: SeriesTimes,
    until: Option<f64>,
    given: u64,
}

impl Vti {
    pub fn new(instance: &Instance) -> Result<Vti, Error> {
        Ok(Vti {
            template: file_of(instance)?,
            array: settings::text(instance, "array")?,
            times: SeriesTimes::of_settings(instance)?,
            until: settings::number(instance, "until")?,
            given: 0,
        })
    }

    fn name(&self, number: u64) -> String {
        self.template.replace("{n}", &number.to_string())
    }
}

impl Source for Vti {
    fn next(&mut self) -> Result<Option<SourceMessage>, Error> {
        let name = self.name(self.given);
        let is_series = self.template.contains("{n}");
        if self.given > 0 && (!is_series || !input_path(&name).exists()) {
            return Ok(None);
        }
        let Some(time) = self.times.at(self.given) else {
            let place = input_path(&name).display().to_string();
            let fault = fault!(
                SHIPPED_SETTING_WRONG,
                "{place}: \"times\" has {} numbers, and there are more files",
                self.given
            );
            return Err(settings::wrong(fault));
        };
        let array = vti::read(&name, self.array.as_deref())?;
        self.given += 1;
        Ok(Some(SourceMessage::at(time, Value::Array(array))))
    }

    fn place(&self) -> String {
        input_path(&self.name(self.given.saturating_sub(1))).display().to_string()
    }

    fn until(&self) -> Option<f64> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_says_what_is_wrong() {
        let given = message(r#"{"timestamp": 1, "next_timestamp": 2.5, "data": [1, 2]}"#).unwrap();
        assert_eq!((given.timestamp, given.next), (1.0, Some(Some(2.5))));
        assert_eq!(given.data, Value::List(vec![Value::Int(1), Value::Int(2)]));
        assert_eq!(message(r#"{"timestamp": 1, "next_timestamp": null}"#).unwrap().next, Some(None));
        let wrong = |line: &str| message(line).err().unwrap();
        assert!(wrong(r#"{"timestamp": 1, "da"#).contains("ends early"));
        assert!(wrong(r#"{"timestamp": "now"}"#).contains("timestamp"));
        assert!(wrong(r#"{"timestamp": 3, "next_timestamp": 2}"#).contains("earlier"));
        assert!(wrong("[1, 2]").contains("object"));
        assert!(wrong(r#"{"timestamp": 1, "next_timestmp": 2}"#).contains("no key \"next_timestmp\""));
        assert!(wrong(r#"{"timestamp": 1, "timestamp": 2}"#).contains("\"timestamp\" stands there twice"));
        assert!(wrong(r#"{"timestamp": 9007199254740993}"#).contains("\"timestamp\" is no number"));
        assert!(wrong(r#"{"timestamp": NaN}"#).contains("timestamp"));
    }
}
