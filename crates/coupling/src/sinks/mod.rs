//! Sinks: components that take messages out of a model. A file gets its name after the last message, when it is
//! complete; until then, its name ends with `.part`.

mod files;
mod table;

pub(crate) use files::{Console, Discard, JsonLines, Npy, Vti};
pub(crate) use table::Csv;

use crate::files::name_of;
use crate::settings::{self, unfit};
use ligament_catalogue::fault;
use ligament_instance::{Error, Instance, MapperInputs, Message, Submodel, Value};
use ligament_wire::times::ShownTime;
use std::collections::BTreeMap;

/// A destination of messages.
pub(crate) trait Sink {
    /// Takes the next message.
    fn take(&mut self, instance: &mut Instance, message: &Message) -> Result<(), Error>;
    /// Ends the sink after the last message.
    fn close(&mut self) -> Result<(), Error>;
}

/// A sink as a submodel. Each message starts a pass.
pub(crate) struct SinkSubmodel<S>(S);

impl<S: Sink> SinkSubmodel<S> {
    pub fn new(sink: S) -> SinkSubmodel<S> {
        SinkSubmodel(sink)
    }
}

impl<S: Sink> Submodel for SinkSubmodel<S> {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let inputs = MapperInputs::receive(instance)?;
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

/// The units of the numbers, by their keys in maps. A file that stores no units must have numbers of one unit
/// in each column. A single number and a list of numbers have no unit.
#[derive(Default)]
struct Units(BTreeMap<String, Option<String>>);

impl Units {
    /// Refuses a message whose numbers are in another unit than those before it.
    fn check(&mut self, data: &Value, time: f64) -> Result<(), Error> {
        match data {
            Value::Map(entries) => entries.iter().try_for_each(|(key, value)| self.check_one(key, value, time)),
            value => self.check_one("", value, time),
        }
    }

    fn check_one(&mut self, key: &str, value: &Value, time: f64) -> Result<(), Error> {
        let unit = match value {
            Value::Array(array) => array.unit(),
            _ => None,
        };
        let Some(known) = self.0.get(key) else {
            self.0.insert(key.to_owned(), unit.map(str::to_owned));
            return Ok(());
        };
        if known.as_deref() == unit {
            return Ok(());
        }
        let words =
            |unit: Option<&str>| unit.map_or("no unit".to_owned(), |unit| format!("the unit \"{unit}\""));
        Err(unfit(fault!(
            SINK_REFUSES,
            "the message at time {} has {}, and those before it have {}, and the file has no units; let the \
             filter \"unit\" convert them",
            ShownTime(time),
            words(unit),
            words(known.as_deref())
        )))
    }
}

/// Returns the name of the file that a sink writes, with `{n}` for the number of a message. It is `default`
/// if the model names no file.
fn file_of(instance: &Instance, default: &str) -> Result<String, Error> {
    let template = settings::text(instance, "file")?;
    Ok(name_of(template.as_deref().unwrap_or(default), instance.name(), None))
}

/// Returns the name of the file for one message.
fn numbered(template: &str, number: usize) -> String {
    template.replace("{n}", &number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_instance::{Array, ArrayOrder};

    #[test]
    fn numbers_with_a_unit_and_without_do_not_go_into_one_column() {
        let metres = || Array::from_slice(&[1.0], &[1], ArrayOrder::RowMajor).unwrap().with_unit("m");
        let refused = |first: Value, second: Value| {
            let mut units = Units::default();
            units.check(&first, 0.0).unwrap();
            units.check(&second, 1.0).err().map(|error| error.to_string())
        };
        let map = |value: Value| Value::Map(vec![("a".to_owned(), value)]);
        for plain in [Value::Float(2.0), Value::Int(2), Value::List(vec![Value::Float(2.0)])] {
            let text = refused(metres().into(), plain.clone()).unwrap();
            assert!(text.contains("has no unit, and those before it have the unit \"m\""), "{text}");
            assert!(refused(plain.clone(), metres().into()).is_some());
            assert!(refused(map(metres().into()), map(plain.clone())).is_some());
            assert_eq!(refused(plain.clone(), Value::Float(3.0)), None);
        }
        assert_eq!(refused(metres().into(), metres().into()), None);
    }
}
