//! The position of an instance on its timelines at a checkpoint, and the messages that `last` holds back.

use crate::checkpoint::values::{
    iteration_of_state, iteration_state, message_of_state, message_state, settings_state,
};
use crate::checkpoint::ChannelName;
use crate::instance::Instance;
use crate::iteration::Counter;
use crate::message::Message;
use crate::overlay::from_value;
use crate::send_filters::{HeldBody, HeldMessage};
use crate::start::{PortSlot, StartItem};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{Encoder, HeaderWords, Value, ValueRef};
use std::sync::Arc;

impl Instance {
    /// Returns the position on the timelines; nothing if the instance has none.
    pub(crate) fn timeline_state(&self) -> Value {
        let Some(timing) = &self.timing else { return Value::None };
        let place = |(port, slot): PortSlot, key: &str, value: Value| {
            entries([
                ("port", Value::String(self.table.ports[port].name.to_string())),
                ("slot", counted(slot as u64)),
                (key, value),
            ])
        };
        let counters = self.receiving_slots().filter_map(|(port, slot)| {
            let counter = timing.counters.get(&self.table.ports[port].channel_at(slot))?;
            Some(place((port, slot), "next", iteration_state(&counter.next())))
        });
        let arrived = timing.start.arrived().map(|(at, item)| {
            let item = match item {
                StartItem::Message(iteration, (message, overlay)) => entries([
                    ("iteration", iteration_state(iteration)),
                    ("message", message_state(message, overlay)),
                ]),
                StartItem::Milestone(over) => iteration_state(over),
                StartItem::End => Value::None,
            };
            place(at, "item", item)
        });
        let received = timing.received.iter().map(|(&at, &count)| place(at, "count", counted(count)));
        entries([
            ("counters", Value::List(counters.collect())),
            ("arrived", Value::List(arrived.collect())),
            ("received", Value::List(received.collect())),
            ("iteration", timing.start.iteration().map_or(Value::None, iteration_state)),
            ("ended", Value::Bool(timing.start.has_ended())),
        ])
    }

    /// Returns the receiving slots that are connected. The slots of a resizable port count as one.
    fn receiving_slots(&self) -> impl Iterator<Item = PortSlot> + '_ {
        let receiving = self.table.ports.iter().enumerate().filter(|(_, port)| port.operator.receives());
        receiving.flat_map(|(index, port)| {
            let slots = if port.resizable.is_some() { 1 } else { port.slots.len() };
            (0..slots).filter(|&slot| port.channel_at(slot) != usize::MAX).map(move |slot| (index, slot))
        })
    }

    /// Puts the position on the timelines back. `again` is true if a pass goes on or follows. Returns `None` if
    /// something is missing, or has another type.
    pub(crate) fn restore_timeline(&mut self, state: &Value, again: bool) -> Option<()> {
        let starts_itself = !self.has_initial();
        let table = &self.table;
        let Some(timing) = &mut self.timing else { return matches!(state, Value::None).then_some(()) };
        let fields = Fields::of(state)?;
        let place = |fields: &Fields<'_>| -> Option<PortSlot> {
            Some((table.find(fields.text("port")?).ok()?, fields.index("slot")?))
        };
        for counter in fields.list("counters")? {
            let counter = Fields::of(counter)?;
            let (port, slot) = place(&counter)?;
            let next = iteration_of_state(counter.get("next")?)?;
            timing.counters.insert(table.ports[port].channel_at(slot), Counter::from_next(next));
        }
        for item in fields.list("arrived")? {
            let at = place(&Fields::of(item)?)?;
            let item = match Fields::of(item)?.get("item")? {
                over @ Value::List(_) => StartItem::Milestone(iteration_of_state(over)?),
                message => {
                    let fields = Fields::of(message)?;
                    let iteration = iteration_of_state(fields.get("iteration")?)?;
                    StartItem::Message(iteration, message_of_state(fields.get("message")?)?)
                }
            };
            timing.start.put(at, item);
        }
        for count in fields.list("received")? {
            let count = Fields::of(count)?;
            timing.received.insert(place(&count)?, count.count("count")?);
        }
        let iteration = match fields.present("iteration")? {
            None => None,
            Some(iteration) => Some(iteration_of_state(iteration)?),
        };
        // A component that nothing starts makes its only pass once more if its run had come to its end.
        let ended = fields.truth("ended")? && (again || !starts_itself);
        timing.start.restore_iteration(iteration, ended);
        Some(())
    }

    /// Returns the messages that the filter `last` holds back. `sends` names the channels.
    pub(crate) fn held_state(&self, sends: &[ChannelName]) -> Option<Value> {
        let mut held = Vec::new();
        for port in &self.table.ports {
            for (slot, channel, kept) in port.filtered.iter().flat_map(|filtered| filtered.held()) {
                let HeldMessage { header, body } = kept;
                let message = Message {
                    timestamp: header.timestamp(),
                    next_timestamp: header.next_timestamp(),
                    data: body.value()?,
                    ..Message::default()
                };
                let overlay = match header.overlay() {
                    0 => None,
                    number => Some(Arc::new(settings_state(self.overlays.known(number)))),
                };
                held.push(entries([
                    ("port", Value::String(port.name.to_string())),
                    ("slot", counted(slot as u64)),
                    ("to", Value::String(sends.get(channel)?.from.clone())),
                    ("message", message_state(&message, &overlay)),
                ]));
            }
        }
        Some(Value::List(held))
    }

    /// Holds the messages back again. Returns `None` if something is missing, or has another type.
    pub(crate) fn restore_held(&mut self, held: &[Value], sends: &[ChannelName]) -> Option<()> {
        for one in held {
            let fields = Fields::of(one)?;
            let (port, slot) = (self.table.find(fields.text("port")?).ok()?, fields.index("slot")?);
            let to = fields.text("to")?;
            let here = &mut self.table.ports[port];
            let mut channels = here.channels_at(slot).iter().copied();
            let channel = channels.find(|&channel| sends.get(channel).is_some_and(|name| name.from == to))?;
            let (message, overlay) = message_of_state(fields.get("message")?)?;
            let mut header = HeaderWords::data(message.timestamp, message.next_timestamp);
            if let Some(overlay) = overlay {
                header.set_overlay(self.overlays.number_of(&from_value(&overlay)?));
            }
            let mut encoder = Encoder::new();
            let value = ValueRef::Owned(&message.data);
            let body = HeldBody::of(&encoder.plan(&value).ok()?).ok()?;
            here.filtered.as_mut()?.hold((slot, channel), HeldMessage { header, body }).then_some(())?;
        }
        Some(())
    }
}
