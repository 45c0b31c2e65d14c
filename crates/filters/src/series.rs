//! Filters that remember earlier messages. A message whose time is earlier than that of the message before
//! it begins a new series, for example when a submodel starts again. The filters then forget the earlier
//! messages.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::{checked, FilterMemory, Memory};
use crate::numbers::{NumberBuffer, NumberFrame, Real};
use crate::parcel::{kind_of, Data, Parcel};
use crate::sums::{between, Window};
use crate::view::{allowed, bytes_of};
use ligament_catalogue::{fault, Fault};
use ligament_wire::fields::{entries, optional, Fields};
use ligament_wire::times::{is_before, TimeSeries};
use ligament_wire::{Array, ArrayOrder, DType, Value};
use std::borrow::Cow;

/// Inserts messages between two consecutive messages by linear interpolation: each time step becomes
/// `parts` equal steps.
pub(crate) struct InterpolateTime {
    parts: u64,
    before: Option<Parcel<'static>>,
    times: TimeSeries,
}

impl InterpolateTime {
    pub fn new(parts: u64) -> InterpolateTime {
        InterpolateTime { parts, before: None, times: TimeSeries::default() }
    }
}

impl FilterStep for InterpolateTime {
    /// Returns the inserted messages, and then the message itself. The filter does not delay a message
    /// until the next one arrives, because the sender may be waiting for the receiver of this message.
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let (parts, at, parcel_next) = (self.parts as f64, parcel.timestamp, parcel.next_timestamp);
        let mut kept = in_floats(parcel.kept()?)?;
        let mut all: Vec<Parcel<'a>> = Vec::new();
        self.times.goes_on(at, parcel_next);
        let times = self.times;
        // If this message is refused, the filter still remembers the message before it.
        if let Some(before) = self.before.as_mut().filter(|before| times.is_before(before.timestamp, at)) {
            let from = before.timestamp;
            let time = |part: u64| from + (at - from) * part as f64 / parts;
            let new = NumberBuffer::with_complex(&mut kept.data)?;
            let old = NumberBuffer::with_complex(&mut before.data)?;
            let old = old.aligned_with(&new.frame).map_err(|why| unlike(&why))?;
            allowed(&[self.parts - 1, new.real.len() as u64], size_of::<f64>())?;
            for part in 1..self.parts {
                let next = if part + 1 == self.parts { at } else { time(part + 1) };
                let data = Data::Own(on_the_line(&old, &new, part as f64 / parts));
                all.push(Parcel { timestamp: time(part), next_timestamp: Some(next), data });
            }
        }
        self.before = Some(kept.clone());
        kept.next_timestamp = kept.next_timestamp.map(|next| at + (next - at) / parts);
        all.push(kept);
        Ok(StepOutput::Many(all))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for InterpolateTime {
    fn state(&mut self) -> Result<Value, Fault> {
        let before = self.before.clone().map_or(Ok(Value::None), |before| {
            let Parcel { timestamp, next_timestamp, data } = before;
            let data = data.into_value()?;
            Ok::<Value, Fault>(message_state(timestamp, next_timestamp, data))
        })?;
        Ok(entries([("before", before), ("times", self.times.state())]))
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let mut restored = || {
            let fields = Fields::of(state)?;
            self.before = match fields.present("before")? {
                None => None,
                Some(before) => {
                    let (timestamp, next_timestamp, value) = message_of_state(before)?;
                    Some(Parcel { timestamp, next_timestamp, data: Data::Kept(value) })
                }
            };
            self.times = TimeSeries::of_state(fields.get("times")?)?;
            Some(())
        };
        checked(restored())
    }
}

/// Returns a message that a filter remembers as a value.
fn message_state(timestamp: f64, next_timestamp: Option<f64>, value: Value) -> Value {
    entries([
        ("timestamp", Value::Float(timestamp)),
        ("next_timestamp", optional(next_timestamp)),
        ("value", value),
    ])
}

/// Returns the timestamp, next timestamp and value of a message that a filter has remembered.
fn message_of_state(state: &Value) -> Option<(f64, Option<f64>, Value)> {
    let fields = Fields::of(state)?;
    Some((fields.number("timestamp")?, fields.optional("next_timestamp")?, fields.get("value")?.clone()))
}

/// Returns the message with integers converted to doubles, because the interpolated messages have doubles
/// too.
fn in_floats(mut parcel: Parcel<'static>) -> Result<Parcel<'static>, Fault> {
    let numbers = NumberBuffer::with_complex(&mut parcel.data)?;
    let made = match numbers.real {
        Real::F64(Cow::Borrowed(_)) | Real::F32(Cow::Borrowed(_)) => None,
        _ => Some(numbers.into_own().into_value()),
    };
    Ok(match made {
        Some(value) => parcel.with(Data::Kept(value)),
        None => parcel,
    })
}

/// Returns the linear interpolation between the numbers of two messages with the same frame. `share` is 0
/// for `old` and 1 for `new`.
fn on_the_line(old: &NumberBuffer<'_>, new: &NumberBuffer<'_>, share: f64) -> NumberBuffer<'static> {
    let real = match (&old.real, &new.real) {
        (Real::F32(old), Real::F32(new)) => {
            let one = |(&a, &b): (&f32, &f32)| between(f64::from(a), f64::from(b), share) as f32;
            Real::F32(old.iter().zip(&**new).map(one).collect())
        }
        _ => {
            let (old, new) = (old.to_f64(), new.to_f64());
            Real::F64(old.iter().zip(&*new).map(|(&a, &b)| between(a, b, share)).collect())
        }
    };
    NumberBuffer { real, frame: new.frame.clone() }
}

/// Returns the error for a message whose shape or unit does not match the message before it.
fn unlike(why: &Fault) -> Fault {
    fault!(FILTER_FAILED, "this message does not go together with the one before it: {why}")
}

/// Computes the mean of the last n messages, or of all messages of the series while there are fewer than n.
pub(crate) struct MovingAverage {
    n: usize,
    times: TimeSeries,
    window: Window,
    /// The frame of the first message of the series: its shape and unit, without its numbers. Later
    /// messages are converted to this unit.
    first: Option<NumberFrame>,
}

impl MovingAverage {
    pub fn new(n: u64) -> MovingAverage {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        MovingAverage { n, times: TimeSeries::default(), window: Window::default(), first: None }
    }
}

impl FilterStep for MovingAverage {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        if self.times.goes_on(parcel.timestamp, parcel.next_timestamp) {
            self.window.clear();
            self.first = None;
        }
        let mut new = NumberBuffer::with_complex(&mut parcel.data)?;
        match &self.first {
            Some(first) => new = new.aligned_with(first).map_err(|why| unlike(&why))?,
            None => self.first = Some(new.frame.clone()),
        }
        if self.window.len() == self.n {
            self.window.pop();
        }
        let means = self.window.push(new.to_f64().into_owned());
        let real = match &new.real {
            Real::F64(_) => Real::F64(Cow::Owned(means)),
            Real::F32(_) => Real::F32(means.iter().map(|&mean| mean as f32).collect()),
        };
        let mean = NumberBuffer { real, frame: new.frame };
        Ok(StepOutput::One(parcel.with(Data::Own(mean))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for MovingAverage {
    fn state(&mut self) -> Result<Value, Fault> {
        let first = self.first.as_ref().map_or(Value::None, NumberFrame::state);
        Ok(entries([("first", first), ("times", self.times.state()), ("window", self.window.state())]))
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let mut restored = || {
            let fields = Fields::of(state)?;
            self.first = match fields.present("first")? {
                None => None,
                Some(first) => Some(NumberFrame::of_state(first)?),
            };
            self.times = TimeSeries::of_state(fields.get("times")?)?;
            self.window = Window::of_state(fields.get("window")?)?;
            (self.window.len() <= self.n).then_some(())
        };
        checked(restored())
    }
}

/// The keys of the map that `chunk` makes.
const TIMES: &str = "timestamps";
const VALUES: &str = "values";

/// Joins n messages into one: a map of their timestamps and their values. The last chunk of a series may
/// have fewer messages.
pub(crate) struct Chunk {
    n: usize,
    times: TimeSeries,
    /// The timestamp, next timestamp and value of each message that waits for its chunk.
    parts: Vec<(f64, Option<f64>, Value)>,
}

impl Chunk {
    pub fn new(n: u64) -> Chunk {
        Chunk { n: usize::try_from(n).unwrap_or(usize::MAX), times: TimeSeries::default(), parts: Vec::new() }
    }

    fn whole(&mut self) -> Option<Parcel<'static>> {
        let (&(timestamp, ..), &(_, next_timestamp, _)) = (self.parts.first()?, self.parts.last()?);
        let times: Vec<f64> = self.parts.iter().map(|&(timestamp, ..)| timestamp).collect();
        let shape = [times.len() as u64];
        let times = Array::new(DType::Float64, &shape, ArrayOrder::RowMajor, bytes_of(times), None)
            .expect("as many bytes as its elements take");
        let values = self.parts.drain(..).map(|(.., value)| value).collect();
        let entries = vec![(TIMES.to_owned(), Value::Array(times)), (VALUES.to_owned(), Value::List(values))];
        Some(Parcel { timestamp, next_timestamp, data: Data::Kept(Value::Map(entries)) })
    }
}

impl FilterStep for Chunk {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let Parcel { timestamp, next_timestamp, data } = parcel;
        let value = data.into_value()?;
        let again = self.times.goes_on(timestamp, next_timestamp);
        let before = if again { self.whole() } else { None };
        self.parts.push((timestamp, next_timestamp, value));
        let full = if self.parts.len() >= self.n { self.whole() } else { None };
        Ok(match (before, full) {
            (None, None) => StepOutput::None,
            (Some(one), None) | (None, Some(one)) => StepOutput::One(one),
            (Some(one), Some(other)) => StepOutput::Many(vec![one, other]),
        })
    }

    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        Ok(self.whole().map_or(StepOutput::None, StepOutput::One))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for Chunk {
    fn state(&mut self) -> Result<Value, Fault> {
        let parts = self.parts.iter().map(|(at, next, value)| message_state(*at, *next, value.clone()));
        Ok(entries([("parts", Value::List(parts.collect())), ("times", self.times.state())]))
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let mut restored = || {
            let fields = Fields::of(state)?;
            self.parts = fields.list("parts")?.iter().map(message_of_state).collect::<Option<_>>()?;
            self.times = TimeSeries::of_state(fields.get("times")?)?;
            Some(())
        };
        checked(restored())
    }
}

/// Splits one message into several. A chunk gives its messages with their original timestamps. A list gives
/// one message for each item, in equal steps from this message's timestamp to its next timestamp.
pub(crate) struct Dechunk;

impl FilterStep for Dechunk {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let Parcel { timestamp, next_timestamp, data } = parcel;
        let kind = kind_of(&data);
        let (times, values) = match data.into_value()? {
            Value::List(values) => {
                let count = values.len() as f64;
                let step = next_timestamp.map_or(0.0, |next| (next - timestamp) / count);
                ((0..values.len()).map(|i| timestamp + step * i as f64).collect(), values)
            }
            Value::Map(entries) => chunk(entries)?,
            _ => {
                return Err(fault!(
                    FILTER_FAILED,
                    "it takes what \"chunk\" makes, or a list, and this is {kind}"
                ))
            }
        };
        let next = times.iter().skip(1).copied().map(Some).chain([next_timestamp]);
        // A chunk may hold two messages of the same time whose timestamps were summed in different ways, so
        // that the second timestamp is smaller by a rounding error.
        let in_order = |time: f64, next: f64| if is_before(next, time) { next } else { next.max(time) };
        let parts = times.iter().zip(next).zip(values).map(|((&timestamp, next), value)| Parcel {
            timestamp,
            next_timestamp: next.map(|next| in_order(timestamp, next)),
            data: Data::Kept(value),
        });
        Ok(StepOutput::Many(parts.collect()))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Returns the timestamps and the values of a chunk.
fn chunk(entries: Vec<(String, Value)>) -> Result<(Vec<f64>, Vec<Value>), Fault> {
    let (mut times, mut values) = (None, None);
    for (key, value) in entries {
        match value {
            Value::Array(array) if key == TIMES => times = array.as_slice::<f64>().map(<[f64]>::to_vec),
            Value::List(list) if key == VALUES => values = Some(list),
            _ => {}
        }
    }
    match (times, values) {
        (Some(times), Some(values)) if times.len() == values.len() => Ok((times, values)),
        _ => Err(fault!(FILTER_FAILED, "it takes what \"chunk\" makes, or a list, and this is another map")),
    }
}
