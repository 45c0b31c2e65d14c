//! A table of text: a row for each message, with its time in the first column.

use super::{file_of, Sink};
use crate::files::Whole;
use crate::numbers::{in_rows, numbers_of};
use crate::settings::{self, unfit};
use ligament_catalogue::fault;
use ligament_instance::{Error, Instance, Message, Value};
use ligament_wire::times::ShownTime;
use std::fmt::Write;

/// A table that grows row by row.
pub(crate) struct Csv {
    file: Option<Whole>,
    separator: String,
    names: Option<Vec<String>>,
    /// How many values each row has, from the first one on.
    width: Option<usize>,
}

impl Csv {
    pub fn new(instance: &Instance) -> Result<Csv, Error> {
        let separator = match settings::text(instance, "separator")?.as_deref() {
            None => ",".to_owned(),
            Some("tab") => "\t".to_owned(),
            Some("space") => " ".to_owned(),
            Some(other) => other.to_owned(),
        };
        let names = settings::text(instance, "columns")?;
        let names = names
            .map(|text| text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect());
        let file = Some(Whole::create(file_of(instance, "{instance}.csv")?)?);
        Ok(Csv { file, separator, names, width: None })
    }

    /// The numbers of a message, and what they are called if their message says so.
    fn numbers(&self, who: &str, value: &Value) -> Result<(Vec<f64>, Option<Vec<String>>), Error> {
        let Value::Map(entries) = value else { return Ok((in_rows(&numbers_of(value, who)?), None)) };
        let mut all = Vec::with_capacity(entries.len());
        let mut names = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let numbers = in_rows(&numbers_of(value, who)?);
            match numbers.len() {
                1 => names.push(key.clone()),
                many => names.extend((0..many).map(|i| format!("{key}{i}"))),
            }
            all.extend(numbers);
        }
        Ok((all, Some(names)))
    }

    fn header(&self, width: usize, own: Option<Vec<String>>) -> Vec<String> {
        let otherwise = || match width {
            1 => vec!["value".to_owned()],
            many => (0..many).map(|i| format!("value{i}")).collect(),
        };
        self.names.clone().or(own).unwrap_or_else(otherwise)
    }
}

impl Sink for Csv {
    fn take(&mut self, instance: &mut Instance, message: &Message) -> Result<(), Error> {
        let (numbers, names) = self.numbers(instance.name(), &message.data)?;
        let mut text = String::new();
        let separator = &*self.separator;
        match self.width {
            None => {
                let names = self.header(numbers.len(), names);
                if names.len() != numbers.len() {
                    let (has, count) = (names.len(), numbers.len());
                    return Err(unfit(fault!(
                        SINK_REFUSES,
                        "\"columns\" names {has} columns, and the message at time {} has {count} values",
                        ShownTime(message.timestamp)
                    )));
                }
                let _ = write!(text, "time");
                names.iter().for_each(|name| text += &format!("{separator}{name}"));
                text.push('\n');
                self.width = Some(numbers.len());
            }
            Some(width) if width != numbers.len() => {
                return Err(unfit(fault!(
                    SINK_REFUSES,
                    "the message at time {} has {} values, and those before it {width}; all rows of a table are equally \
                     long",
                    ShownTime(message.timestamp),
                    numbers.len()
                )))
            }
            Some(_) => {}
        }
        // The shortest text that is read as the same number.
        let _ = write!(text, "{:?}", message.timestamp);
        for number in numbers {
            let _ = write!(text, "{separator}{number:?}");
        }
        text.push('\n');
        self.file.as_mut().map_or(Ok(()), |file| file.write(text.as_bytes()))
    }

    fn close(&mut self) -> Result<(), Error> {
        self.file.take().map_or(Ok(()), Whole::finish)
    }
}
