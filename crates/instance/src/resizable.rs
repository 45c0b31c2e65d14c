//! Resizable ports: vector ports that are connected to vector ports. The sender sets the number of slots,
//! and the receiver learns it from the messages. All slots of such a port share one conduit, on which a
//! message of kind `Slot` names the slot of the messages after it. Messages for slots from which the code
//! does not receive yet are stored here, in order.

use crate::checkpoint::values::{arrival_of_state, arrival_state};
use crate::error::{AgentError, Error, PortError};
use crate::instance::Instance;
use crate::message::Message;
use crate::ports::PortState;
use crate::receive::Arrival;
use crate::timing::milestone_in;
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{ConduitEnd, Encoder, Header, HeaderWords, MessageKind, Value, ValueRef};
use std::collections::{HashMap, VecDeque};

/// Maximum number of slots. A larger number is taken for a mistake.
const MAX_SLOTS: usize = 4 << 20;

/// The state that all slots of a resizable port share.
#[derive(Debug, Default)]
pub(crate) struct Resizable {
    /// Indices of the channels at the endpoint. A receiving port has at most one channel.
    pub channels: Vec<usize>,
    /// Slot and length in the last mark that was sent, or that was received.
    marked: Option<(u32, u32)>,
    /// Messages that have arrived and not been received yet, by slot.
    come: HashMap<usize, VecDeque<SlotMessage>>,
    ended: bool,
}

/// A stored message that has not been received yet.
#[derive(Debug)]
struct SlotMessage {
    /// Number of slots that the port had when the message was sent.
    length: usize,
    message: Message,
    what: Arrival,
}

impl PortState {
    /// Sets the number of slots of a vector port.
    pub fn set_length(&mut self, length: usize) -> Result<(), Error> {
        if !self.vector {
            return Err(PortError::NoLength { port: self.name.to_string() }.into());
        }
        if length == self.slots.len() {
            return Ok(());
        }
        let Some(shared) = &self.resizable else {
            let (port, slots) = (self.name.to_string(), self.slots.len());
            return Err(PortError::LengthOfModel { port, slots, length }.into());
        };
        if length > MAX_SLOTS {
            return Err(PortError::TooManySlots { port: self.name.to_string(), length, most: MAX_SLOTS }.into());
        }
        self.slots.resize(length, shared.channels.clone());
        Ok(())
    }

    /// Returns the channel of a receiving resizable port, unless the conduit has ended.
    pub fn shared_channel(&self) -> Option<usize> {
        self.resizable.as_ref().filter(|shared| !shared.ended)?.channels.first().copied()
    }

    /// Returns true if a message for this slot of a resizable port is stored.
    pub fn keeps_for(&self, slot: usize) -> bool {
        let come = self.resizable.as_ref().and_then(|shared| shared.come.get(&slot));
        come.is_some_and(|queue| !queue.is_empty())
    }

    /// Returns the number of slots from which to receive next. For a resizable port, the message for slot 0
    /// gives it.
    pub fn slots_due(&self) -> usize {
        match &self.resizable {
            None => self.slots.len(),
            // The message for slot 0 has already passed into the filters, and has set the number of slots.
            Some(_) if self.chains.is_some() => self.slots.len().max(1),
            Some(shared) => shared.come.get(&0).and_then(VecDeque::front).map_or(1, |kept| kept.length),
        }
    }

    /// Returns true if the conduit of a resizable port has ended.
    pub fn shared_has_ended(&self) -> bool {
        self.resizable.as_ref().is_some_and(|shared| shared.ended)
    }

    /// Returns true if `reuse_instance` must receive from this slot of an `F_INIT` port. It asks for slot 0
    /// first, and then for the slots after it.
    pub fn has_slot_for_start(&self, slot: usize) -> bool {
        slot < self.slots.len() || (slot == 0 && self.resizable.is_some())
    }

    /// Returns true if this slot is connected.
    pub fn is_connected_at(&self, slot: usize) -> bool {
        match &self.resizable {
            Some(_) => self.is_connected(),
            None => !self.slots[slot].is_empty(),
        }
    }
}

impl PortState {
    /// Returns the state of a resizable port for a checkpoint: its slots, and the messages that have come and
    /// were not received yet. Returns `None` for other ports.
    pub fn slots_state(&self) -> Option<Value> {
        let shared = self.resizable.as_ref()?;
        let marked = shared.marked.map_or(Value::None, |(slot, length)| {
            entries([("slot", counted(slot.into())), ("length", counted(length.into()))])
        });
        let mut come: Vec<(usize, &SlotMessage)> = Vec::new();
        for (&slot, queue) in &shared.come {
            come.extend(queue.iter().map(|kept| (slot, kept)));
        }
        let come = come.into_iter().filter_map(|(slot, SlotMessage { length, message, what })| {
            let what = arrival_state(what, message)?;
            Some(entries([("slot", counted(slot as u64)), ("length", counted(*length as u64)), ("what", what)]))
        });
        Some(entries([
            ("port", Value::String(self.name.to_string())),
            ("length", counted(self.slots.len() as u64)),
            ("marked", marked),
            ("come", Value::List(come.collect())),
        ]))
    }

    /// Restores the state of a resizable port. Returns `None` if something is missing, or has another type.
    pub fn restore_slots(&mut self, state: &Fields<'_>) -> Option<()> {
        self.set_length(state.index("length")?).ok()?;
        let shared = self.resizable.as_mut()?;
        shared.marked = match state.present("marked")? {
            None => None,
            Some(marked) => {
                let marked = Fields::of(marked)?;
                let number = |key: &str| u32::try_from(marked.count(key)?).ok();
                Some((number("slot")?, number("length")?))
            }
        };
        for kept in state.list("come")? {
            let kept = Fields::of(kept)?;
            let (what, message) = arrival_of_state(kept.get("what")?)?;
            let (slot, length) = (kept.index("slot")?, kept.index("length")?);
            shared.come.entry(slot).or_default().push_back(SlotMessage { length, message, what });
        }
        Some(())
    }
}

impl Instance {
    /// Sends a mark to the receivers of a resizable port: the slot of the next message, and the number of
    /// slots. Sends nothing if the last mark was the same.
    #[cold]
    pub(crate) fn mark_slot(&mut self, port: usize, slot: usize) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        let length = here.slots.len() as u32;
        let Some(shared) = &mut here.resizable else { return Ok(()) };
        let mark = Some((slot as u32, length));
        if shared.marked == mark {
            return Ok(());
        }
        let body = Value::List(vec![Value::Int(slot as i64), Value::Int(i64::from(length))]);
        let mut encoder = Encoder::new();
        let plan = encoder
            .plan(&ValueRef::Owned(&body))
            .map_err(|error| Error::other(crate::error::ErrorKind::System, error))?;
        let header = HeaderWords::from(Header { kind: MessageKind::Slot, ..Header::default() });
        match self.endpoint.send(&shared.channels, header, &plan) {
            Ok(()) => {
                shared.marked = mark;
                Ok(())
            }
            Err(error) => Err(self.while_sending(error, port, slot)),
        }
    }

    /// Ends the conduits of a sending resizable port.
    pub(crate) fn end_shared(&mut self, port: usize) -> Result<(), Error> {
        let ending = self.ending();
        let PortState { resizable: Some(shared), name, .. } = &mut self.table.ports[port] else {
            return Ok(());
        };
        if std::mem::replace(&mut shared.ended, true) {
            return Ok(());
        }
        for &channel in &shared.channels {
            let ended = self.endpoint.end_channel(channel, ending);
            ended.map_err(|error| Error::during(error, || format!("closing port \"{name}\"")))?;
        }
        Ok(())
    }

    /// Receives the next item for a slot of a resizable port. At the conduit's end, this is `Arrival::End`.
    #[cold]
    pub(crate) fn receive_on_slot(
        &mut self,
        port: usize,
        slot: usize,
        deadline: Option<u64>,
        message: &mut Message,
    ) -> Result<Arrival, Error> {
        loop {
            let here = &mut self.table.ports[port];
            let Some(shared) = &mut here.resizable else { return Ok(Arrival::End) };
            if let Some(kept) = shared.come.get_mut(&slot).and_then(VecDeque::pop_front) {
                here.set_length(kept.length)?;
                *message = kept.message;
                return Ok(kept.what);
            }
            if shared.ended {
                return Ok(Arrival::End);
            }
            self.take_in_next(port, slot, deadline)?;
        }
    }

    /// Returns true if a message for this slot of a resizable port has arrived.
    pub(crate) fn has_come(&mut self, port: usize, slot: usize) -> Result<bool, Error> {
        loop {
            let here = &self.table.ports[port];
            if here.keeps_for(slot) {
                return Ok(true);
            }
            let Some(channel) = here.shared_channel() else { return Ok(false) };
            let ready = self.endpoint.poll(channel);
            if !ready.map_err(|error| self.while_receiving(error, port, slot))? {
                return Ok(false);
            }
            self.take_in_next(port, slot, None)?;
        }
    }

    /// Receives the next item on the conduit of a resizable port, and stores it for its slot. `slot` is
    /// used only for errors.
    fn take_in_next(&mut self, port: usize, slot: usize, deadline: Option<u64>) -> Result<(), Error> {
        let Some(channel) = self.table.ports[port].shared_channel() else { return Ok(()) };
        let (mut header, mut data) = (HeaderWords::default(), Value::None);
        if let Err(error) = self.endpoint.receive_to(channel, deadline, &mut header, &mut data) {
            return Err(self.while_receiving(error, port, slot));
        }
        let overlay = match header.overlay() {
            0 => None,
            number => Some(self.announced(channel, number, port, slot)?),
        };
        let name = &self.table.ports[port].name;
        let wrong = |what: &str| AgentError::OnResizable { what: what.to_owned(), port: name.to_string() };
        let told = if header.is_slot() {
            Some(mark_in(&data).ok_or_else(|| wrong("a slot that cannot be"))?)
        } else {
            None
        };
        let unmarked = wrong("a message for no slot");
        let over = if header.is_milestone() {
            Some(milestone_in(&data).ok_or_else(|| wrong("a milestone that names no iteration"))?)
        } else {
            None
        };
        let here = &mut self.table.ports[port];
        let Some(shared) = &mut here.resizable else { return Ok(()) };
        if header.is_end() {
            shared.ended = true;
            here.ending = ConduitEnd::of(&header);
        } else if told.is_some() {
            shared.marked = told;
        } else if let Some(over) = over {
            // A milestone holds for all slots. It is stored for slot 0, which is always checked.
            let length = shared.marked.map_or(0, |(_, length)| length as usize);
            let kept = SlotMessage { length, message: Message::default(), what: Arrival::Milestone(over) };
            shared.come.entry(0).or_default().push_back(kept);
        } else {
            let (slot, length) = shared.marked.ok_or(unmarked)?;
            let message = Message {
                timestamp: header.timestamp(),
                next_timestamp: header.next_timestamp(),
                data,
                ..Message::default()
            };
            let kept = SlotMessage { length: length as usize, message, what: Arrival::Message(overlay) };
            shared.come.entry(slot as usize).or_default().push_back(kept);
        }
        Ok(())
    }
}

/// Reads the slot and the number of slots from the body of a mark.
fn mark_in(body: &Value) -> Option<(u32, u32)> {
    let Value::List(items) = body else { return None };
    let [Value::Int(slot), Value::Int(length)] = items[..] else { return None };
    let fits = 0 <= slot && slot < length && length <= MAX_SLOTS as i64;
    fits.then_some((slot as u32, length as u32))
}
