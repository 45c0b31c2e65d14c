//! Taps at the sending side: the messages of a port are shown to clients (`ligament_shm::tap`). A send
//! first checks at low cost if any client may be watching; everything else is in this file.

use crate::instance::Instance;
use crate::message::MessageTimes;
use crate::ports::PortName;
use ligament_shm::endpoint::PortTap;
use ligament_shm::tap::{Note, MAX_VALUE_BYTES};
use ligament_wire::tap::{Histogram, TapOutcome, TapSelection};
use ligament_wire::{ArrayOrder, ArrayRef, Encoder, Value, ValueRef};

impl Instance {
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
        let (name, encoder) = (here.name.clone(), &mut self.encoder);
        self.endpoint.each_tap(|tapped| {
            if tapped.tap.port == *name && (tapped.tap.slot.is_none() || tapped.tap.slot == slot) {
                show_to(tapped, slot, times, value, encoder);
            }
        });
    }
}

fn show_to(
    tapped: &mut PortTap,
    slot: Option<u32>,
    times: MessageTimes,
    value: &ValueRef<'_>,
    encoder: &mut Encoder,
) {
    tapped.passed += 1;
    tapped.bin.count(tapped.passed);
    if !tapped.bin.is_asked() {
        return;
    }
    let MessageTimes { timestamp, next_timestamp } = times;
    let number = tapped.passed;
    let outcome = TapOutcome::Value;
    let note = Note { outcome, parts: 0, body_len: 0, timestamp, next_timestamp, slot, number };
    let put = |value: &ValueRef<'_>, encoder: &mut Encoder| match encoder.plan(value) {
        Ok(plan) => {
            let note = Note { parts: plan.parts(), body_len: plan.body_len(), ..note };
            tapped.bin.fill(note, |to| plan.write_body(to));
        }
        Err(_) => tapped.bin.fill(Note { outcome: TapOutcome::Unsendable, ..note }, |_| {}),
    };
    let nothing = |outcome| tapped.bin.fill(Note { outcome, ..note }, |_| {});
    let wanted = &tapped.tap.wanted;
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
            bytes if bytes > MAX_VALUE_BYTES => {
                tapped.bin.fill(Note { outcome: TapOutcome::TooLarge, body_len: bytes, ..note }, |_| {});
            }
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
