//! Taps at the sending side: the messages of a port are shown to clients (`ligament_shm::tap`). A send
//! first checks at low cost if any client may be watching; everything else is in this file.

use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::message::MessageTimes;
use crate::ports::PortName;
use ligament_catalogue::fault;
use ligament_model::Identifier;
use ligament_shm::endpoint::PortTap;
use ligament_shm::tap::{Note, Wish, MAX_VALUE_BYTES};
use ligament_wire::tap::{Histogram, Level, TapOutcome, TapSelection};
use ligament_wire::{ArrayOrder, ArrayRef, Encoder, Value, ValueRef};
use rustix::time::{clock_gettime, ClockId};

/// A field of a grid that taps show.
pub trait PublishedField {
    /// Returns the value that a tap without levels shows.
    fn value(&self) -> ArrayRef<'_>;
    /// Returns the value that a tap with these levels shows: a map with the surfaces and the unit, or with the
    /// reason why the field has none.
    fn surfaces(&self, levels: &[Level]) -> Value;
}

/// A value that taps may show.
enum TappedValue<'a> {
    Message(&'a ValueRef<'a>),
    Field(&'a dyn PublishedField),
}

/// A message on its way to a tap.
struct TappedMessage<'a> {
    slot: Option<u32>,
    times: MessageTimes,
    shown: TappedValue<'a>,
}

impl Instance {
    /// Shows a field of a grid to the taps of the port with the field's name. Nothing is joined to this port,
    /// so nothing is copied or computed while no tap asks for a value.
    ///
    /// # Errors
    /// `Usage` if the instance has a port with this name, or if a port cannot have it. `System` if the agent
    /// cannot be told that there is such a port.
    #[inline]
    pub fn publish(&mut self, port: &str, time: f64, field: &dyn PublishedField) -> Result<(), Error> {
        self.alive()?;
        if !self.published.iter().any(|known| **known == *port) {
            self.begin_to_publish(port)?;
        }
        if self.may_be_tapped() {
            let times = MessageTimes { timestamp: time, next_timestamp: None };
            self.show_to_taps(port, &TappedMessage { slot: None, times, shown: TappedValue::Field(field) });
        }
        Ok(())
    }

    #[cold]
    fn begin_to_publish(&mut self, port: &str) -> Result<(), Error> {
        if self.table.find_quietly(port).is_some() {
            return Err(Error::other(
                ErrorKind::Usage,
                fault!(
                    BAD_FIELD,
                    "the field \"{port}\" is published on a port of its name, and the component has such a \
                     port; give the field or the port another name"
                ),
            ));
        }
        if let Err(why) = Identifier::new(port) {
            return Err(Error::other(
                ErrorKind::Usage,
                fault!(BAD_FIELD, "the field cannot be published: {why}"),
            ));
        }
        let told = self.endpoint.publishes(port.to_owned());
        told.map_err(|error| Error::during(error, || format!("publishing the field \"{port}\"")))?;
        self.published.push(port.into());
        Ok(())
    }

    /// Returns true if a client may be watching the messages of this instance. The caller then calls `show`
    /// before it sends.
    #[inline(always)]
    pub(crate) fn may_be_tapped(&self) -> bool {
        self.endpoint.may_be_tapped()
    }

    /// Shows a message to the clients that have tapped the port and whose boxes are free. Errors of the
    /// message or the port are ignored here, because the send itself reports them.
    #[cold]
    #[inline(never)]
    pub(crate) fn show(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        times: MessageTimes,
        value: &ValueRef<'_>,
    ) {
        let Some(index) = self.table.find_quietly(port) else { return };
        let here = &self.table.ports[index];
        if !here.operator.sends() || !self.is_alive() {
            return;
        }
        let name = here.name.clone();
        self.show_to_taps(&name, &TappedMessage { slot, times, shown: TappedValue::Message(value) });
    }

    #[cold]
    #[inline(never)]
    fn show_to_taps(&mut self, port: &str, message: &TappedMessage<'_>) {
        let encoder = &mut self.encoder;
        self.endpoint.each_tap(|tapped| {
            if tapped.tap.port == *port && (tapped.tap.slot.is_none() || tapped.tap.slot == message.slot) {
                show_to(tapped, message, encoder);
            }
        });
    }
}

/// Returns the time that the processor has worked for this thread, ns.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn show_to(tapped: &mut PortTap, message: &TappedMessage<'_>, encoder: &mut Encoder) {
    tapped.passed += 1;
    tapped.bin.count(tapped.passed);
    if !tapped.bin.is_asked() {
        return;
    }
    let MessageTimes { timestamp, next_timestamp } = message.times;
    let (number, outcome) = (tapped.passed, TapOutcome::Value);
    let note =
        Note { outcome, parts: 0, body_len: 0, timestamp, next_timestamp, slot: message.slot, number, cost: 0 };
    match tapped.bin.wish() {
        Wish::From(time) if timestamp < time => return,
        Wish::From(_) => {}
        Wish::Time => return tapped.bin.answer(Note { outcome: TapOutcome::Time, ..note }),
    }
    let began = processor_time();
    let note = put_in(tapped, message, note, encoder);
    tapped.bin.answer(Note { cost: processor_time().saturating_sub(began), ..note });
}

/// Puts the wanted part of a value into the box of a tap. Returns the note that describes it.
fn put_in(tapped: &PortTap, message: &TappedMessage<'_>, note: Note, encoder: &mut Encoder) -> Note {
    let put = |value: &ValueRef<'_>, encoder: &mut Encoder| match encoder.plan(value) {
        Ok(plan) => {
            let note = Note { parts: plan.parts(), body_len: plan.body_len(), ..note };
            tapped.bin.put_value(note, |to| plan.write_body(to))
        }
        Err(_) => Note { outcome: TapOutcome::Unsendable, ..note },
    };
    let nothing = |outcome| Note { outcome, ..note };
    let wanted = &tapped.tap.wanted;
    let array;
    let value = match message.shown {
        TappedValue::Field(field) if !wanted.levels.is_empty() => {
            return put(&ValueRef::Owned(&field.surfaces(&wanted.levels)), encoder);
        }
        _ if !wanted.levels.is_empty() => return nothing(TapOutcome::NoSurface),
        TappedValue::Field(field) => {
            array = ValueRef::Array(field.value());
            &array
        }
        TappedValue::Message(value) => value,
    };
    let Some(found) = under(value, &wanted.keys) else { return nothing(TapOutcome::NoKey) };
    let array = match &found {
        ValueRef::Array(array) => *array,
        ValueRef::Owned(Value::Array(array)) => ArrayRef::from(array),
        other if wanted.takes_all() && wanted.bars == 0 => return put(other, encoder),
        _ if wanted.bars > 0 => return nothing(TapOutcome::NoNumbers),
        _ => return nothing(TapOutcome::NoPart),
    };
    if array.check().is_err() {
        return nothing(TapOutcome::Unsendable);
    }
    let own;
    let strides = match array.strides {
        Some(strides) => strides,
        None => {
            own = contiguous_strides(&array);
            &own[..]
        }
    };
    let Some(part) = wanted.part_of(array.shape, strides) else { return nothing(TapOutcome::NoPart) };
    let is_empty = part.shape.contains(&0);
    let offset = i64::try_from(array.offset).ok().and_then(|offset| usize::try_from(offset + part.offset).ok());
    let cut = if wanted.takes_all() {
        array
    } else {
        ArrayRef {
            shape: &part.shape,
            strides: (!is_empty).then_some(&part.strides[..]),
            data: if is_empty { &[] } else { array.data },
            offset: if is_empty { 0 } else { offset.unwrap_or(usize::MAX) },
            names: if part.shape.len() == array.shape.len() { array.names } else { &[] },
            ..array
        }
    };
    match wanted.bars {
        0 => put(&ValueRef::Array(cut), encoder),
        // The selected elements are gathered in the code's memory, and a client must not fill that memory.
        _ => match bytes_of(&cut) {
            bytes if bytes > MAX_VALUE_BYTES => Note { outcome: TapOutcome::TooLarge, body_len: bytes, ..note },
            _ => match histogram(&cut, wanted, encoder) {
                Some(found) => put(&shown(&found), encoder),
                None => nothing(TapOutcome::NoMemory),
            },
        },
    }
}

/// Returns the part of a value under keys of nested maps.
fn under<'a>(value: &ValueRef<'a>, keys: &[String]) -> Option<ValueRef<'a>> {
    let Some((key, rest)) = keys.split_first() else { return Some(value.clone()) };
    let inner = match value {
        ValueRef::Map(entries) => entries.iter().find(|(name, _)| name == key)?.1.clone(),
        ValueRef::Entries(entries) => entries.iter().find(|(name, _)| name == key)?.1.clone(),
        ValueRef::Owned(Value::Map(entries)) => {
            ValueRef::Owned(&entries.iter().find(|(name, _)| name == key)?.1)
        }
        _ => return None,
    };
    under(&inner, rest)
}

fn bytes_of(array: &ArrayRef<'_>) -> u64 {
    let each = array.dtype.size() as u64;
    array.shape.iter().try_fold(each, |all, &extent| all.checked_mul(extent)).unwrap_or(u64::MAX)
}

fn contiguous_strides(array: &ArrayRef<'_>) -> Vec<i64> {
    let mut strides = vec![0; array.shape.len()];
    let mut step = array.dtype.size() as i64;
    let mut next = |axis: usize| {
        strides[axis] = step;
        step = step.saturating_mul(array.shape[axis].max(1) as i64);
    };
    match array.order {
        ArrayOrder::RowMajor => (0..array.shape.len()).rev().for_each(&mut next),
        ArrayOrder::ColumnMajor => (0..array.shape.len()).for_each(&mut next),
    }
    strides
}

fn histogram(array: &ArrayRef<'_>, wanted: &TapSelection, encoder: &mut Encoder) -> Option<Histogram> {
    let plan = encoder.plan_array(&ArrayRef { names: &[], unit: None, ..*array }).ok()?;
    let mut elements = Vec::new();
    let len = usize::try_from(plan.parts_len()).ok()?;
    elements.try_reserve_exact(len).ok()?;
    elements.resize(len, 0);
    plan.write_parts(&mut elements);
    Some(Histogram::of(array.dtype, &elements, wanted.bars))
}

fn shown(found: &Histogram) -> ValueRef<'_> {
    let number = |x: Option<f64>| x.map_or(ValueRef::None, ValueRef::Float);
    ValueRef::Entries(vec![
        ("least", number(found.range.map(|(low, _)| low))),
        ("greatest", number(found.range.map(|(_, high)| high))),
        ("counts", ValueRef::Items(found.counts.iter().map(|&count| ValueRef::UInt(count)).collect())),
        ("others", ValueRef::UInt(found.others)),
    ])
}
