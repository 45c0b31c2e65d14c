//! Sources: components that bring messages from files or settings into a model. A source sends all its
//! messages on `out` in a single pass. The next timestamp of a message is the timestamp of the message after
//! it.

mod csv;
mod files;
mod series;

pub(crate) use csv::{names_of, Csv};
pub(crate) use files::{JsonLines, Npy, Vti};
pub(crate) use series::Series;

use crate::settings::bad;
use ligament_catalogue::fault;
use ligament_instance::{
    Error, Instance, MessageTimes, Operator, Outgoing, Outputs, Submodel, SubmodelState, Value, ValueRef,
};
use ligament_wire::times::{ShownTime, TimeSeries};

/// A message of a source.
pub(crate) struct SourceMessage {
    pub timestamp: f64,
    /// The next timestamp of the message, if the source gives one itself.
    pub next: Option<Option<f64>>,
    pub data: Value,
}

impl SourceMessage {
    pub fn at(timestamp: f64, data: Value) -> SourceMessage {
        SourceMessage { timestamp, next: None, data }
    }
}

/// A source of messages.
pub(crate) trait Source {
    /// Returns the next message, or `None` after the last one.
    fn next(&mut self) -> Result<Option<SourceMessage>, Error>;
    /// Returns the place of the last message, such as its file and line.
    fn place(&self) -> String;
    /// Returns the time that the messages must reach, if the model sets one.
    fn until(&self) -> Option<f64>;
}

/// A source as a submodel.
pub(crate) struct SourceSubmodel<S> {
    source: S,
    ahead: Option<SourceMessage>,
    times: TimeSeries,
    /// Number of messages that were sent, and the timestamp of the last one.
    sent: i64,
    at: f64,
}

impl<S: Source> SourceSubmodel<S> {
    pub fn new(source: S) -> SourceSubmodel<S> {
        SourceSubmodel { source, ahead: None, times: TimeSeries::default(), sent: 0, at: 0.0 }
    }

    /// Takes the message that is sent next, and reads the one after it.
    fn take_next(&mut self) -> Result<Option<SourceMessage>, Error> {
        let Some(now) = self.ahead.take() else { return Ok(None) };
        self.ahead = self.read(Some(&now))?;
        (self.sent, self.at) = (self.sent + 1, now.timestamp);
        Ok(Some(now))
    }

    /// Begins behind the first messages, which an earlier run has sent.
    fn begin(&mut self, sent: i64) -> Result<(), Error> {
        self.ahead = self.read(None)?;
        while self.sent < sent {
            if self.take_next()?.is_none() {
                return Err(bad(fault!(
                    SOURCE_ENDS_EARLY,
                    "{}: there are {} messages, and the run that is resumed had sent {sent}",
                    self.source.place(),
                    self.sent
                )));
            }
        }
        Ok(())
    }

    /// Reads the next message. A message that is earlier than the one before it is an error.
    fn read(&mut self, before: Option<&SourceMessage>) -> Result<Option<SourceMessage>, Error> {
        let given = self.source.next()?;
        let is_earlier = match &given {
            Some(given) if !given.timestamp.is_finite() => {
                let (place, time) = (self.source.place(), given.timestamp);
                return Err(bad(fault!(MALFORMED_SOURCE, "{place}: {time} is no time")));
            }
            Some(given) => self.times.goes_on(given.timestamp, None),
            None => false,
        };
        let times = self.times;
        let given = match (given, self.source.until(), before) {
            (Some(given), Some(until), _) if times.is_before(until, given.timestamp) => None,
            (None, Some(until), Some(before)) if times.is_before(before.timestamp, until) => {
                return Err(bad(fault!(
                    SOURCE_ENDS_EARLY,
                    "{}: the last message is of time {}, and \"until\" says {}",
                    self.source.place(),
                    ShownTime(before.timestamp),
                    ShownTime(until)
                )))
            }
            (given, ..) => given,
        };
        let Some(given) = given else {
            return match before {
                Some(_) => Ok(None),
                None => Err(bad(fault!(SOURCE_ENDS_EARLY, "{}: there is no message", self.source.place()))),
            };
        };
        if let Some(before) = before.filter(|before| before.next.is_none() && is_earlier) {
            return Err(bad(fault!(
                MALFORMED_SOURCE,
                "{}: the time {} is earlier than {}, the one before it",
                self.source.place(),
                ShownTime(given.timestamp),
                ShownTime(before.timestamp)
            )));
        }
        Ok(Some(given))
    }
}

impl<S: Source> Submodel for SourceSubmodel<S> {
    fn initialise(&mut self, _: &mut Instance) -> Result<(), Error> {
        self.begin(0)
    }

    fn is_done(&self) -> bool {
        self.ahead.is_none()
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let Some(now) = self.take_next()? else { return Ok(()) };
        // The next time may be the same time, computed in another way. It is then perhaps smaller by a
        // rounding error.
        let following = self.ahead.as_ref().map(|ahead| ahead.timestamp.max(now.timestamp));
        let times = MessageTimes { timestamp: now.timestamp, next_timestamp: now.next.unwrap_or(following) };
        Outputs::of(instance, Operator::OI, times).send_to_all(&now.data)
    }

    fn solve(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn observe_final(&mut self, _: &mut Instance) -> Result<(), Error> {
        // A run that resumes at the end of the pass begins another one.
        self.sent = 0;
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        Some(self)
    }
}

/// A checkpoint has the number of messages that were sent, since they can be read again.
impl<S: Source> SubmodelState for SourceSubmodel<S> {
    fn model_time(&mut self) -> Result<f64, Error> {
        Ok(self.at)
    }

    fn save(&mut self, instance: &mut Instance) -> Result<(), Error> {
        instance.save_snapshot(&Outgoing::at(self.at, ValueRef::Int(self.sent)))
    }

    fn restore(&mut self, instance: &mut Instance) -> Result<(), Error> {
        match instance.load_snapshot()?.data {
            Value::Int(sent) if sent > 0 => self.begin(sent),
            _ => Ok(()),
        }
    }
}
