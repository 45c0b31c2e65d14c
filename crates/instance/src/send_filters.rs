//! The filter `last` at the sending end of conduits: it holds a message back until the iteration ends of
//! which the message is the last one. A port has a `FilteredPort` only if one of its conduits has this
//! filter; no other port is affected.

use crate::transport::Transport;
use ligament_shm::endpoint::Source;
use ligament_shm::own::OwnMemory;
use ligament_shm::ShmError;
use ligament_wire::control::ChannelSteps;
use ligament_wire::times::ShownTime;
use ligament_wire::{decode_body, Bytes, HeaderWords, Limits, Value};
use std::ops::Range;

/// The conduits of a sending port, at least one of which has the filter `last`.
#[derive(Debug, Default)]
pub(crate) struct FilteredPort {
    /// For each slot: the channels without this filter, on which messages are sent at once.
    direct: Vec<Vec<usize>>,
    keeping: Vec<LastOnlyConduit>,
}

/// A conduit on which only the last message of an iteration is sent.
#[derive(Debug)]
struct LastOnlyConduit {
    slot: usize,
    channel: usize,
    /// Depth of the iteration at whose end the message is sent.
    reduced: usize,
    kept: Option<HeldMessage>,
}

/// A message that is held back.
pub(crate) struct HeldMessage {
    pub header: HeaderWords,
    pub body: HeldBody,
}

impl std::fmt::Debug for HeldMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a message of time {}", ShownTime(self.header.timestamp()))
    }
}

/// The body of a message, copied to memory of its own.
pub(crate) struct HeldBody {
    memory: Option<OwnMemory>,
    head: usize,
    parts: u16,
    parts_len: u64,
}

impl HeldBody {
    /// Copies a message's body.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn of(source: &impl Source) -> Result<HeldBody, ShmError> {
        let (head, parts, parts_len) = (source.head().len(), source.parts(), source.parts_len());
        let memory = match source.body_len() {
            0 => None,
            len => {
                let mut memory = OwnMemory::new(len)?;
                source.write_body(memory.bytes_mut());
                Some(memory)
            }
        };
        Ok(HeldBody { memory, head, parts, parts_len })
    }

    /// Returns the value in the body, or `None` if it is none.
    pub fn value(&self) -> Option<Value> {
        decode_body(self.parts, Bytes::from(self.bytes().to_vec()), &Limits::default()).ok()
    }

    fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| memory.as_ref())
    }
}

impl Source for HeldBody {
    fn head(&self) -> &[u8] {
        &self.bytes()[..self.head]
    }

    fn parts(&self) -> u16 {
        self.parts
    }

    fn body_len(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn parts_len(&self) -> u64 {
        self.parts_len
    }

    fn write_parts(&self, to: &mut [u8]) {
        let bytes = self.bytes();
        to.copy_from_slice(&bytes[bytes.len() - to.len()..]);
    }

    fn write_body(&self, to: &mut [u8]) {
        to.copy_from_slice(self.bytes());
    }

    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        to.copy_from_slice(&self.bytes()[range.start as usize..range.end as usize]);
    }
}

impl FilteredPort {
    /// Makes the state of a port whose slots have these channels. Returns `None` if no channel has the
    /// filter `last`.
    pub fn of(
        slots: &[Vec<usize>],
        steps: impl Fn(usize) -> Option<ChannelSteps>,
    ) -> Option<Box<FilteredPort>> {
        let keeps = |channel: usize| steps(channel).filter(|steps| steps.last > 0);
        let direct =
            |channels: &[usize]| channels.iter().copied().filter(|&channel| keeps(channel).is_none()).collect();
        let mut filtered = FilteredPort::default();
        for (slot, channels) in slots.iter().enumerate() {
            filtered.direct.push(direct(channels));
            for &channel in channels {
                if let Some(steps) = keeps(channel) {
                    filtered.keeping.push(LastOnlyConduit {
                        slot,
                        channel,
                        reduced: steps.reduced(),
                        kept: None,
                    });
                }
            }
        }
        (!filtered.keeping.is_empty()).then(|| Box::new(filtered))
    }

    /// Sends a message on a slot. Channels without the filter send it at once; the others hold it back.
    ///
    /// # Errors
    /// As a send. `OutOfMemory` if a message cannot be held back.
    pub fn send(
        &mut self,
        endpoint: &mut Transport,
        slot: usize,
        header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        let direct = self.direct.get(slot).map_or(&[][..], |direct| direct);
        if !direct.is_empty() {
            endpoint.send(direct, header, source)?;
        }
        for one in self.keeping.iter_mut().filter(|one| one.slot == slot) {
            one.kept = Some(HeldMessage { header, body: HeldBody::of(source)? });
        }
        Ok(())
    }

    /// Sends a message on one channel of a slot: at once, or later if the channel has the filter.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_on(
        &mut self,
        endpoint: &mut Transport,
        channel: usize,
        header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        match self.keeping.iter_mut().find(|one| one.channel == channel) {
            None => endpoint.send(&[channel], header, source),
            Some(one) => {
                one.kept = Some(HeldMessage { header, body: HeldBody::of(source)? });
                Ok(())
            }
        }
    }

    /// Returns the messages that are held back, with their slots and channels.
    pub fn held(&self) -> impl Iterator<Item = (usize, usize, &HeldMessage)> {
        self.keeping.iter().filter_map(|one| Some((one.slot, one.channel, one.kept.as_ref()?)))
    }

    /// Holds a message back on a channel of a slot. Returns false if the channel has no filter `last`.
    pub fn hold(&mut self, (slot, channel): (usize, usize), message: HeldMessage) -> bool {
        let place = self.keeping.iter_mut().find(|one| (one.slot, one.channel) == (slot, channel));
        place.map(|one| one.kept = Some(message)).is_some()
    }

    /// Returns the messages that are sent because an iteration of this depth has ended, each with its slot
    /// and channel. `None` in place of a message stands for an empty message, because the iteration had
    /// none.
    pub fn over(&mut self, depth: usize) -> Vec<(usize, usize, Option<HeldMessage>)> {
        let over = self.keeping.iter_mut().filter(|one| one.reduced == depth);
        over.map(|one| (one.slot, one.channel, one.kept.take())).collect()
    }
}
