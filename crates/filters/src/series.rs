//! Filters that remember earlier messages. A message that is earlier than the one before it begins a new series, as when
//! a submodel starts again: what is remembered is forgotten then.

use crate::chain::{Emitted, Said, Step};
use crate::numbers::{Numbers, Real};
use crate::parcel::{kind_of, Data, Parcel};
use crate::view::{allowed, bytes_of};
use ligament_catalogue::{fault, Fault};
use ligament_wire::{Array, DType, Order, Value};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Puts messages between two that follow each other, on a straight line: each step becomes several equal parts.
pub(crate) struct InterpolateTime {
    parts: u64,
    before: Option<Parcel<'static>>,
}

impl InterpolateTime {
    pub fn new(parts: u64) -> InterpolateTime {
        InterpolateTime { parts, before: None }
    }
}

impl Step for InterpolateTime {
    /// A message is passed on when it comes, with those between it and the one before it in front. Nothing is held back,
    /// because its receiver may be what the sender waits for.
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        let (parts, at) = (self.parts as f64, parcel.timestamp);
        let mut kept = in_floats(parcel.kept()?)?;
        let mut all: Vec<Parcel<'a>> = Vec::new();
        // What is remembered stays if this message is refused.
        if let Some(before) = self.before.as_mut().filter(|before| before.timestamp < at) {
            let from = before.timestamp;
            let time = |part: u64| from + (at - from) * part as f64 / parts;
            let (old, new) = (Numbers::with_complex(&mut before.data)?, Numbers::with_complex(&mut kept.data)?);
            allowed(&[self.parts - 1, new.real.len() as u64], size_of::<f64>())?;
            for part in 1..self.parts {
                let next = if part + 1 == self.parts { at } else { time(part + 1) };
                let data = Data::Own(between(&old, &new, part as f64 / parts)?);
                all.push(Parcel { timestamp: time(part), next_timestamp: Some(next), data });
            }
        }
        self.before = Some(kept.clone());
        kept.next_timestamp = kept.next_timestamp.map(|next| at + (next - at) / parts);
        all.push(kept);
        Ok(Emitted::Many(all))
    }
}

/// The same message with doubles in place of integers, as those between it and others have them.
fn in_floats(mut parcel: Parcel<'static>) -> Result<Parcel<'static>, Fault> {
    let numbers = Numbers::with_complex(&mut parcel.data)?;
    let made = match numbers.real {
        Real::F64(Cow::Borrowed(_)) | Real::F32(Cow::Borrowed(_)) => None,
        _ => Some(numbers.into_own().into_value()),
    };
    Ok(match made {
        Some(value) => parcel.with(Data::Kept(value)),
        None => parcel,
    })
}

fn between(old: &Numbers<'_>, new: &Numbers<'_>, share: f64) -> Result<Numbers<'static>, Fault> {
    alike(old, new)?;
    let real = match (&old.real, &new.real) {
        (Real::F64(old), Real::F64(new)) => {
            Real::F64(old.iter().zip(&**new).map(|(&a, &b)| a + (b - a) * share).collect())
        }
        (Real::F32(old), Real::F32(new)) => {
            let share = share as f32;
            Real::F32(old.iter().zip(&**new).map(|(&a, &b)| a + (b - a) * share).collect())
        }
        _ => {
            let (old, new) = (old.to_f64(), new.to_f64());
            Real::F64(old.iter().zip(&*new).map(|(&a, &b)| a + (b - a) * share).collect())
        }
    };
    Ok(Numbers { real, frame: new.frame.clone() })
}

/// Whether numbers of one message belong to numbers of another, element by element.
fn alike(old: &Numbers<'_>, new: &Numbers<'_>) -> Result<(), Fault> {
    let same_order = old.frame.order == new.frame.order || old.frame.shape.len() < 2;
    if old.frame.shape == new.frame.shape && old.frame.complex == new.frame.complex && same_order {
        return Ok(());
    }
    Err(fault!(FILTER_FAILED, "it follows {}, and this is {}", old.describe(), new.describe()))
}

/// The mean of the last messages, as many as there are of up to n.
pub(crate) struct MovingAverage {
    n: usize,
    last: VecDeque<Parcel<'static>>,
    /// Their sum. It is made anew from time to time, as rounding errors add up in it.
    sum: Vec<f64>,
    added: usize,
}

impl MovingAverage {
    pub fn new(n: u64) -> MovingAverage {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        MovingAverage { n, last: VecDeque::new(), sum: Vec::new(), added: 0 }
    }

    fn add(&mut self, new: &Numbers<'_>) {
        let pairs = self.sum.iter_mut();
        match &new.real {
            Real::F64(new) => pairs.zip(&**new).for_each(|(sum, &x)| *sum += x),
            Real::F32(new) => pairs.zip(&**new).for_each(|(sum, &x)| *sum += f64::from(x)),
        }
    }

    fn take_away(&mut self, old: &Numbers<'_>) {
        let pairs = self.sum.iter_mut();
        match &old.real {
            Real::F64(old) => pairs.zip(&**old).for_each(|(sum, &x)| *sum -= x),
            Real::F32(old) => pairs.zip(&**old).for_each(|(sum, &x)| *sum -= f64::from(x)),
        }
    }
}

impl Step for MovingAverage {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        if self.last.back().is_some_and(|last| last.timestamp > parcel.timestamp) {
            self.last.clear();
        }
        let mut parcel = parcel.kept()?;
        let mut for_later = parcel.clone();
        let new = Numbers::with_complex(&mut parcel.data)?;
        if let Some(last) = self.last.back_mut() {
            alike(&Numbers::with_complex(&mut last.data)?, &new)?;
        }
        if self.last.is_empty() {
            self.sum = vec![0.0; new.to_f64().len()];
            self.added = 0;
        }
        let oldest = if self.last.len() == self.n { self.last.pop_front() } else { None };
        let finite = self.sum.iter().fold(true, |all, sum| all & sum.is_finite());
        match oldest {
            // Nothing is left of a number that is none, once it has gone.
            Some(_) if self.added >= self.n || !finite => {
                self.sum.fill(0.0);
                self.added = 0;
                let mut last = std::mem::take(&mut self.last);
                for parcel in &mut last {
                    self.add(&Numbers::with_complex(&mut parcel.data)?);
                }
                self.last = last;
            }
            Some(mut oldest) => self.take_away(&Numbers::with_complex(&mut oldest.data)?),
            None => {}
        }
        self.add(&new);
        self.added += 1;
        let count = (self.last.len() + 1) as f64;
        let real = match &new.real {
            Real::F64(_) => Real::F64(self.sum.iter().map(|sum| sum / count).collect()),
            Real::F32(_) => Real::F32(self.sum.iter().map(|sum| (sum / count) as f32).collect()),
        };
        let mean = Numbers { real, frame: new.frame.clone() };
        let (timestamp, next_timestamp) = (for_later.timestamp, for_later.next_timestamp);
        for_later.next_timestamp = None;
        self.last.push_back(for_later);
        Ok(Emitted::One(Parcel { timestamp, next_timestamp, data: Data::Own(mean) }))
    }
}

/// The keys of a chunk.
const TIMES: &str = "timestamps";
const VALUES: &str = "values";

/// Makes one message of n: a map of their times and of their values. The last one may have fewer.
pub(crate) struct Chunk {
    n: usize,
    /// Of each message its times and its value.
    parts: Vec<(f64, Option<f64>, Value)>,
}

impl Chunk {
    pub fn new(n: u64) -> Chunk {
        Chunk { n: usize::try_from(n).unwrap_or(usize::MAX), parts: Vec::new() }
    }

    fn whole(&mut self) -> Option<Parcel<'static>> {
        let (&(timestamp, ..), &(_, next_timestamp, _)) = (self.parts.first()?, self.parts.last()?);
        let times: Vec<f64> = self.parts.iter().map(|&(timestamp, ..)| timestamp).collect();
        let shape = [times.len() as u64];
        let times = Array::new(DType::Float64, &shape, Order::RowMajor, bytes_of(times), None)
            .expect("as many bytes as its elements take");
        let values = self.parts.drain(..).map(|(.., value)| value).collect();
        let entries = vec![(TIMES.to_owned(), Value::Array(times)), (VALUES.to_owned(), Value::List(values))];
        Some(Parcel { timestamp, next_timestamp, data: Data::Kept(Value::Map(entries)) })
    }
}

impl Step for Chunk {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        let Parcel { timestamp, next_timestamp, data } = parcel;
        let value = data.into_value()?;
        let again = self.parts.last().is_some_and(|&(last, ..)| last > timestamp);
        let before = if again { self.whole() } else { None };
        self.parts.push((timestamp, next_timestamp, value));
        let full = if self.parts.len() >= self.n { self.whole() } else { None };
        Ok(match (before, full) {
            (None, None) => Emitted::None,
            (Some(one), None) | (None, Some(one)) => Emitted::One(one),
            (Some(one), Some(other)) => Emitted::Many(vec![one, other]),
        })
    }

    fn finish(&mut self) -> Result<Emitted<'static>, Fault> {
        Ok(self.whole().map_or(Emitted::None, Emitted::One))
    }
}

/// Makes n messages of one: of a chunk, with the times that they had; of a list, over the time to the next message in
/// equal steps.
pub(crate) struct Dechunk;

impl Step for Dechunk {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
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
        let parts = times.iter().zip(next).zip(values).map(|((&timestamp, next_timestamp), value)| Parcel {
            timestamp,
            next_timestamp,
            data: Data::Kept(value),
        });
        Ok(Emitted::Many(parts.collect()))
    }
}

/// Times and values of a chunk.
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
