//! Sinks: what takes messages out of a model. A file has its name only when all of it is written, after the last message;
//! until then it ends with `.part`.

mod files;
mod table;

pub(crate) use files::{Console, Discard, JsonLines, Npy, Vti};
pub(crate) use table::Csv;

use crate::files::name_of;
use crate::settings;
use ligament_instance::{Error, Inputs, Instance, Message, Submodel};

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

/// The file that a sink writes, with `{n}` for the number of a message; `default` unless the model names one.
fn file_of(instance: &Instance, default: &str) -> Result<String, Error> {
    let template = settings::text(instance, "file")?;
    Ok(name_of(template.as_deref().unwrap_or(default), instance.name(), None))
}

/// The name of the file for one message.
fn numbered(template: &str, number: usize) -> String {
    template.replace("{n}", &number.to_string())
}
