//! Sinks: what takes messages out of a model. A file has its name only when all of it is written, after the last message;
//! until then it ends with `.part`.

mod files;
mod table;

pub(crate) use files::{Console, Discard, JsonLines, Npy, Vti};
pub(crate) use table::Csv;

use crate::files::name_of;
use crate::settings::{self, unfit};
use ligament_catalogue::fault;
use ligament_instance::{Array, Error, Inputs, Instance, Message, Submodel, Value};
use ligament_wire::times::ShownTime;
use std::collections::BTreeMap;

/// Where messages are written.
pub(crate) trait Sink {
    /// Takes the next message.
    fn take(&mut self, instance: &mut Instance, message: &Message) -> Result<(), Error>;
    /// There are no more messages.
    fn close(&mut self) -> Result<(), Error>;
}

/// A sink as a submodel: a message starts each pass.
pub(crate) struct Taking<S>(S);

impl<S: Sink> Taking<S> {
    pub fn new(sink: S) -> Taking<S> {
        Taking(sink)
    }
}

impl<S: Sink> Submodel for Taking<S> {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let inputs = Inputs::receive(instance)?;
        let taken = inputs.messages().try_for_each(|message| self.0.take(instance, message));
        taken
    }

    fn is_done(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn solve(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn observe_final(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self, _: &mut Instance) -> Result<(), Error> {
        self.0.close()
    }
}

/// The units of arrays, by their keys in maps. Files that hold no units have numbers of one unit in a column.
#[derive(Default)]
struct Units(BTreeMap<String, Option<String>>);

impl Units {
    /// Refuses a message whose numbers are in another unit than those before it.
    fn check(&mut self, message: &Message) -> Result<(), Error> {
        match &message.data {
            Value::Array(array) => self.check_one("", array, message.timestamp),
            Value::Map(entries) => entries.iter().try_for_each(|(key, value)| match value {
                Value::Array(array) => self.check_one(key, array, message.timestamp),
                _ => Ok(()),
            }),
            _ => Ok(()),
        }
    }

    fn check_one(&mut self, key: &str, array: &Array, time: f64) -> Result<(), Error> {
        let Some(known) = self.0.get(key) else {
            self.0.insert(key.to_owned(), array.unit().map(str::to_owned));
            return Ok(());
        };
        if known.as_deref() == array.unit() {
            return Ok(());
        }
        let words =
            |unit: Option<&str>| unit.map_or("no unit".to_owned(), |unit| format!("the unit \"{unit}\""));
        Err(unfit(fault!(
            SINK_REFUSES,
            "the message at time {} has {}, and those before it have {}, and the file has no units; let the filter \"unit\" \
             convert them",
            ShownTime(time),
            words(array.unit()),
            words(known.as_deref())
        )))
    }
}

/// The file that a sink writes, with `{n}` for the number of a message; `default` unless the model names one.
fn file_of(instance: &Instance, default: &str) -> Result<String, Error> {
    let template = settings::text(instance, "file")?;
    Ok(name_of(template.as_deref().unwrap_or(default), instance.name(), None))
}

/// The name of the file for one message.
fn numbered(template: &str, number: usize) -> String {
    template.replace("{n}", &number.to_string())
}
