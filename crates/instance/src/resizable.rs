//! Resizable ports: vector ports joined to vector ports, whose number of slots the sender sets and the receiver
//! learns. All slots of such a port share one conduit; a message of kind `Slot` says for which slot the next
//! ones are. What comes for other slots than the one asked for is kept here, in order.

use crate::error::{AgentError, Error, PortError};
use crate::instance::Instance;
use crate::message::Message;
use crate::ports::PortState;
use crate::receive::Arrival;
use crate::timing::milestone_in;
use ligament_wire::{ConduitEnd, Encoder, Header, HeaderWords, MessageKind, Value, ValueRef};
use std::collections::{HashMap, VecDeque};

/// More slots than this are a mistake.
const MAX_SLOTS: usize = 4 << 20;

/// The shared state of the slots of a resizable port.
#[derive(Debug, Default)]
pub(crate) struct Resizable {
    /// The channels, as indices for the endpoint. A receiving port has at most one.
    pub channels: Vec<usize>,
    /// Sending: the slot and length that the receivers were told last. Receiving: those that were heard last.
    marked: Option<(u32, u32)>,
    /// Messages that came for each slot and were not asked for yet.
    come: HashMap<usize, VecDeque<SlotMessage>>,
    ended: bool,
}

/// A message that waits to be received.
#[derive(Debug)]
struct SlotMessage {
    /// The number of slots that the port had when it was sent.
    length: usize,
    message: Message,
    what: Arrival,
}

impl PortState {
    /// Sets the number of slots.
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

    /// The channel of a receiving resizable port, unless it has ended.
    pub fn shared_channel(&self) -> Option<usize> {
        self.resizable.as_ref().filter(|shared| !shared.ended)?.channels.first().copied()
    }

    /// Returns true if a message for this slot of a resizable port was taken in already.
    pub fn keeps_for(&self, slot: usize) -> bool {
        let come = self.resizable.as_ref().and_then(|shared| shared.come.get(&slot));
        come.is_some_and(|queue| !queue.is_empty())
    }

    /// The number of slots to receive from next: for a resizable port, what the message for slot 0 says.
    pub fn slots_due(&self) -> usize {
        match &self.resizable {
            None => self.slots.len(),
            // The message for slot 0 went on into its filters, and has set the length.
            Some(_) if self.chains.is_some() => self.slots.len().max(1),
            Some(shared) => shared.come.get(&0).and_then(VecDeque::front).map_or(1, |kept| kept.length),
        }
    }

    /// Returns true if the conduit of a resizable port has ended.
    pub fn shared_has_ended(&self) -> bool {
        self.resizable.as_ref().is_some_and(|shared| shared.ended)
    }

    /// Returns true if `reuse_instance` must look at this slot of an `F_INIT` port; asked from slot 0 upwards.
    pub fn has_slot_for_start(&self, slot: usize) -> bool {
        slot < self.slots.len() || (slot == 0 && self.resizable.is_some())
    }

    /// Returns true if a conduit ends at this slot.
    pub fn is_connected_at(&self, slot: usize) -> bool {
        match &self.resizable {
            Some(_) => self.is_connected(),
            None => !self.slots[slot].is_empty(),
        }
    }
}

impl Instance {
    /// Tells the receivers of a resizable port for which of how many slots the next message is, if they would
    /// think otherwise.
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

    /// Ends the conduits that the slots of a sending resizable port share.
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

    /// The next message for a slot of a resizable port; none at the conduit's end.
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

    /// Returns true if a message for this slot of a resizable port is there.
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

    /// Takes what comes next on the conduit of a resizable port to where it belongs. `slot` is for messages to
    /// people.
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
            // It is one for all slots, and the first one is always looked at.
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

/// Slot and length out of the body of a mark.
fn mark_in(body: &Value) -> Option<(u32, u32)> {
    let Value::List(items) = body else { return None };
    let [Value::Int(slot), Value::Int(length)] = items[..] else { return None };
    let fits = 0 <= slot && slot < length && length <= MAX_SLOTS as i64;
    fits.then_some((slot as u32, length as u32))
}
