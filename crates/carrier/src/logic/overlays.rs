//! Settings overlays between domains. Each sender numbers its own overlays from 1. Between domains, an
//! overlay is sent on each conduit before the first message that needs it, because order holds within a
//! conduit only. In the receiving domain, one endpoint stands for all senders of other domains. It therefore
//! gives each distinct overlay a new number.

use ligament_shm::ShmError;
use ligament_wire::{decode_body, Bytes, Encoder, Limits, Value, ValueRef};
use std::collections::{HashMap, HashSet};

/// The overlays that were sent to other domains and that arrived from them.
#[derive(Default)]
pub(super) struct Overlays {
    /// Channel and number of each overlay sent to other domains.
    told: HashSet<(usize, u32)>,
    /// Number in this domain of each overlay body; the first number is 1.
    numbers: HashMap<Vec<u8>, u32>,
    /// Number in this domain of an overlay from another domain, by the channel and the sender's number.
    names: HashMap<(usize, u32), u32>,
}

impl Overlays {
    /// Returns true if an overlay must be sent on a channel to another domain. It counts as sent from then
    /// on.
    pub fn is_news(&mut self, channel: usize, number: u32) -> bool {
        self.told.insert((channel, number))
    }

    /// Stores an overlay that arrived on a channel from another domain. Returns its number in this domain.
    pub fn learn(&mut self, channel: usize, number: u32, body: &[u8]) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        let here = *self.numbers.entry(body.to_vec()).or_insert(next);
        self.names.insert((channel, number), here);
        here
    }

    /// Returns the number in this domain of the overlay of a message from another domain, if the overlay has
    /// arrived.
    pub fn number(&self, channel: usize, number: u32) -> Option<u32> {
        match number {
            0 => Some(0),
            number => self.names.get(&(channel, number)).copied(),
        }
    }
}

/// Returns the number of parts and the body of a value.
pub(super) fn encoded(value: &Value) -> Result<(u16, Vec<u8>), ShmError> {
    let mut encoder = Encoder::new();
    let plan = encoder
        .plan(&ValueRef::Owned(value))
        .map_err(|error| ShmError::Malformed(format!("a settings overlay: {error}")))?;
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    Ok((plan.parts(), body))
}

/// Returns the value of a body.
pub(super) fn decoded(parts: u16, body: &[u8]) -> Result<Value, ShmError> {
    decode_body(parts, Bytes::copy_from_slice(body), &Limits::default())
        .map_err(|error| ShmError::Malformed(format!("a settings overlay: {error}")))
}
