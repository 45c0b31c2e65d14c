//! Finds the messages that must have arrived before a function of a light component is called: one message,
//! or the conduit's end, for each connected port of the function's operator and each slot.

use crate::chains;
use crate::error::Error;
use crate::instance::Instance;
use crate::timing::PassReadiness;
use crate::transport::Transport;
use ligament_model::{Operator, SETTINGS_PORT};

/// The position up to which the ports have been checked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PortCursor {
    /// 0 for the settings port, which comes first as in the reuse loop. Otherwise the port's index plus
    /// one.
    port: usize,
    slot: usize,
}

/// The next item of a slot.
enum SlotContent {
    Message,
    End,
    /// No item has arrived on this channel.
    Nothing(usize),
}

impl Instance {
    /// Returns the first channel, from `cursor` on, on which a message for a function of this operator is
    /// missing. Ports for which `awaited` returns false are passed over. Returns `None` if all messages have
    /// arrived, or if a message on an `F_INIT` port can no longer arrive.
    pub(super) fn missing(
        &mut self,
        operator: Operator,
        awaited: impl Fn(&str) -> bool,
        cursor: &mut PortCursor,
    ) -> Result<Option<usize>, Error> {
        if operator == Operator::FInit && self.timing.is_some() {
            return Ok(match self.gather(false)? {
                PassReadiness::Lacks(channel) => Some(channel),
                PassReadiness::Decided(_) => None,
            });
        }
        while cursor.port <= self.table.ports.len() {
            let port = match cursor.port {
                0 => self.table.ports.iter().position(|port| &*port.name == SETTINGS_PORT),
                next => Some(next - 1).filter(|&port| &*self.table.ports[port].name != SETTINGS_PORT),
            };
            let due = port.map(|port| &self.table.ports[port]);
            let due =
                due.filter(|port| port.operator == operator && port.is_connected() && awaited(&port.name));
            let (Some(port), Some(slots)) = (port, due.map(|port| port.slots_due())) else {
                *cursor = PortCursor { port: cursor.port + 1, slot: 0 };
                continue;
            };
            // A message that a filter repeats is available for the whole pass.
            if cursor.slot >= slots || self.repeats_at(port, cursor.slot).is_some() {
                *cursor = PortCursor { port: cursor.port + 1, slot: 0 };
                continue;
            }
            match self.there(port, cursor.slot)? {
                SlotContent::Nothing(channel) => return Ok(Some(channel)),
                SlotContent::End if operator == Operator::FInit => return Ok(None),
                SlotContent::Message | SlotContent::End => cursor.slot += 1,
            }
        }
        Ok(None)
    }

    /// Returns the channel of a slot if no item has arrived on it.
    pub(crate) fn nothing_there(&mut self, port: usize, slot: usize) -> Result<Option<usize>, Error> {
        Ok(match self.there(port, slot)? {
            SlotContent::Nothing(channel) => Some(channel),
            SlotContent::Message | SlotContent::End => None,
        })
    }

    fn there(&mut self, port: usize, slot: usize) -> Result<SlotContent, Error> {
        if self.table.ports[port].chains.is_some() && self.table.ports[port].is_connected_at(slot) {
            return Ok(match self.come_through(port, slot)? {
                chains::Availability::Something => SlotContent::Message,
                chains::Availability::End => SlotContent::End,
                chains::Availability::Nothing => SlotContent::Nothing(self.table.ports[port].channel_at(slot)),
            });
        }
        if self.table.ports[port].resizable.is_some() {
            return Ok(if self.has_come(port, slot)? {
                SlotContent::Message
            } else {
                self.table.ports[port].shared_channel().map_or(SlotContent::End, SlotContent::Nothing)
            });
        }
        let here = &self.table.ports[port];
        if here.ended[slot] {
            return Ok(SlotContent::End);
        }
        // A slot without a conduit needs no message.
        let Some(&channel) = here.slots[slot].first() else { return Ok(SlotContent::Message) };
        let Transport::Shared(share) = &self.endpoint else { return Ok(SlotContent::Message) };
        let next = share.next_is_end(channel).map_err(|error| self.while_receiving(error, port, slot))?;
        Ok(match next {
            None => SlotContent::Nothing(channel),
            Some(true) => SlotContent::End,
            Some(false) => SlotContent::Message,
        })
    }

    /// Returns the channels on which the instance receives.
    pub(super) fn incoming(&self) -> impl Iterator<Item = usize> + '_ {
        let receiving = self.table.ports.iter().filter(|port| port.operator.receives());
        receiving.flat_map(|port| {
            let shared = port.resizable.iter().flat_map(|shared| &shared.channels);
            port.slots.iter().flatten().chain(shared).copied()
        })
    }
}
