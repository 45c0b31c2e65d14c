//! Settings overlays between domains. Each sender numbers its own overlays from 1. Between domains, a conduit
//! sends an overlay before the first message that needs it, because order holds within a conduit only. Here one
//! endpoint stands for all senders elsewhere, so equal overlays get one new number.

use ligament_shm::ShmError;
use ligament_wire::{decode_body, Bytes, Encoder, Limits, Value, ValueRef};
use std::collections::{HashMap, HashSet};

/// Which overlays are known where.
#[derive(Default)]
pub(super) struct Overlays {
    /// Channel and number of each overlay sent to other domains.
    told: HashSet<(usize, u32)>,
    /// The numbers here, by bodies; the first is 1.
    numbers: HashMap<Vec<u8>, u32>,
    /// The number here of an overlay that a channel from elsewhere knows by another number.
    names: HashMap<(usize, u32), u32>,
}

impl Overlays {
    /// Returns true if an overlay must be sent on a channel to elsewhere; it then counts as sent.
    pub fn is_news(&mut self, channel: usize, number: u32) -> bool {
        self.told.insert((channel, number))
    }

    /// An overlay came on a channel from elsewhere: its number here.
    pub fn learn(&mut self, channel: usize, number: u32, body: &[u8]) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        let here = *self.numbers.entry(body.to_vec()).or_insert(next);
        self.names.insert((channel, number), here);
        here
    }

    /// The number here of the overlay of a message from elsewhere, if it has come.
    pub fn number(&self, channel: usize, number: u32) -> Option<u32> {
        match number {
            0 => Some(0),
            number => self.names.get(&(channel, number)).copied(),
        }
    }
}

/// The body of a value, and how many parts it has.
pub(super) fn encoded(value: &Value) -> Result<(u16, Vec<u8>), ShmError> {
    let mut encoder = Encoder::new();
    let plan = encoder
        .plan(&ValueRef::Owned(value))
        .map_err(|error| ShmError::Malformed(format!("a settings overlay: {error}")))?;
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    Ok((plan.parts(), body))
}

/// The value of a body.
pub(super) fn decoded(parts: u16, body: &[u8]) -> Result<Value, ShmError> {
    decode_body(parts, Bytes::copy_from_slice(body), &Limits::default())
        .map_err(|error| ShmError::Malformed(format!("a settings overlay: {error}")))
}
