//! Taking messages in: from rings to the queues of their channels, and from there, or straight from the ring, to
//! the code.

use super::arrived::{Arrived, Body, INLINE_HEAD, PLACE_WORDS};
use super::wait::Deadline;
use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::{Mapping, ShmError};
use crate::ring::{BODY_BYTES, BODY_WORDS, SLOT_BYTES, SLOT_WORDS};
use crate::status::State;
use bytes::Bytes;
use ligament_wire::{align_part, flags, Header, Kind, Value};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Looks at one ring before the general wait begins.
const EAGER: u32 = 2000;

/// A message that comes in chunks.
pub(crate) struct Assembly {
    body: Vec<u8>,
    header: Header,
}

/// What one message costs of its channel's budget: its slot, and its body if that lies in a slab.
#[inline]
pub(crate) fn cost(in_slab: bool, body_len: u64) -> u64 {
    SLOT_BYTES as u64 + if in_slab { body_len } else { 0 }
}

impl<C: Custodian> Endpoint<C> {
    /// Takes in whatever has arrived on any ring.
    #[inline]
    pub(crate) fn take_in(&mut self) -> Result<(), ShmError> {
        for peer in 0..self.inn.len() {
            while self.inn[peer].ring.as_ref().is_some_and(|ring| ring.reader.ready()) {
                if let Some((channel, message)) = self.take_slot(peer)? {
                    self.receives[channel].queue.push_back(message);
                }
            }
        }
        Ok(())
    }

    /// How many messages wait on channel `index`, without waiting.
    pub fn poll(&mut self, index: usize) -> Result<bool, ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        Ok(!self.receives[index].queue.is_empty())
    }

    /// The next message of channel `index`, waiting for it until the deadline.
    ///
    /// # Errors
    /// `TimedOut`; `RunEnds` or `AgentGone` when none will come any more; `Malformed`.
    #[inline]
    pub fn receive(&mut self, index: usize, deadline: Deadline) -> Result<Arrived, ShmError> {
        if let Some(message) = self.receives[index].queue.pop_front() {
            return self.hand_over(index, message);
        }
        let peer = self.receives[index].peer;
        if self.board.may_spin() {
            for _ in 0..EAGER {
                let Some(ring) = &self.inn[peer].ring else {
                    break;
                };
                if !ring.reader.ready() {
                    continue;
                }
                match self.take_slot(peer)? {
                    Some((channel, message)) if channel == index => return self.hand_over(index, message),
                    Some((channel, message)) => self.receives[channel].queue.push_back(message),
                    None => {}
                }
            }
        }
        self.receive_slowly(index, deadline)
    }

    #[cold]
    fn receive_slowly(&mut self, index: usize, deadline: Deadline) -> Result<Arrived, ShmError> {
        let ready = |me: &mut Self| Ok(!me.receives[index].queue.is_empty());
        let number = Some(self.receives[index].id);
        self.wait_until(State::WaitingToReceive, number, FOR_MESSAGES, deadline, ready)?;
        let message = self.receives[index].queue.pop_front().expect("the wait was for it");
        self.hand_over(index, message)
    }

    /// The first of `indices` that has a message, waiting until one has.
    ///
    /// # Errors
    /// As `receive`.
    pub fn wait_any(&mut self, indices: &[usize], deadline: Deadline) -> Result<usize, ShmError> {
        let mut found = None;
        let one = if let [only] = indices { Some(self.receives[*only].id) } else { None };
        self.wait_until(State::WaitingToReceive, one, FOR_MESSAGES, deadline, |me| {
            found = indices.iter().copied().find(|&i| !me.receives[i].queue.is_empty());
            Ok(found.is_some())
        })?;
        Ok(found.expect("the wait was for it"))
    }

    /// Returns the message's credit and counts it.
    #[inline]
    fn hand_over(&mut self, index: usize, mut message: Arrived) -> Result<Arrived, ShmError> {
        let in_slab = !matches!(message.body, Body::Empty | Body::Inline(_));
        let channel = &mut self.receives[index];
        channel.credited += cost(in_slab, message.header.body_len);
        let credited = channel.credited;
        let peer = channel.peer;
        if let Some(credit) = self.front.credit(index as u32) {
            credit.store(credited, Ordering::Release);
        }
        if let Some(ring) = &self.inn[peer].ring {
            ring.link.wake_sender();
        }
        if message.header.kind == Kind::Data {
            self.status().count_received(message.header.body_len);
            self.status().set_time(message.header.timestamp);
        }
        if in_slab {
            let pinned = self.pinned.load(Ordering::Relaxed);
            if pinned > self.pinned_limit {
                if let Body::Placed { parts, .. } = &mut message.body {
                    *parts = copy_out(parts)?;
                }
            }
            self.status().set_pinned(pinned);
        }
        Ok(message)
    }

    /// An overlay that a channel's sender has announced.
    pub fn overlay(&self, index: usize, number: u32) -> Option<&Arc<Value>> {
        self.inn[self.receives[index].peer].overlays.get(&number)
    }

    /// Takes one slot of a peer's ring: a message and the index of its channel, or nothing if it was the
    /// carrier's own.
    #[inline]
    fn take_slot(&mut self, peer: usize) -> Result<Option<(usize, Arrived)>, ShmError> {
        let ring = self.inn[peer].ring.as_mut().expect("it was ready");
        let Some(words) = ring.reader.peek() else {
            return Ok(None);
        };
        let header = Header::decode(&words).map_err(malformed)?;
        if header.carrier_flags & flags::STREAM != 0 || !matches!(header.kind, Kind::Data | Kind::End) {
            return self.take_special(peer, header);
        }
        let body = self.take_body(peer, &header)?;
        let index = self.channel_index(header.conduit)?;
        self.check_sequence(index, peer, &header)?;
        Ok(Some((index, Arrived { header, body })))
    }

    #[inline]
    fn channel_index(&mut self, number: u32) -> Result<usize, ShmError> {
        if self.last_number.0 == number && number != u32::MAX {
            return Ok(self.last_number.1 as usize);
        }
        let Some(&index) = self.numbers.get(&number) else {
            return Err(ShmError::Malformed(format!(
                "a message for channel {number}, which does not end here"
            )));
        };
        self.last_number = (number, index);
        Ok(index as usize)
    }

    #[inline]
    fn check_sequence(&mut self, index: usize, peer: usize, header: &Header) -> Result<(), ShmError> {
        let channel = &mut self.receives[index];
        if channel.sequence != header.sequence || channel.peer != peer {
            return Err(ShmError::Malformed(format!(
                "message {} of channel {} came where message {} was due",
                header.sequence, header.conduit, channel.sequence
            )));
        }
        channel.sequence += 1;
        Ok(())
    }

    /// Reads the body of the peeked slot and takes the slot.
    #[inline]
    fn take_body(&mut self, peer: usize, header: &Header) -> Result<Body, ShmError> {
        let ring = self.inn[peer].ring.as_mut().expect("a slot was peeked");
        if header.carrier_flags & flags::PLACED == 0 {
            let len = header.body_len;
            let body = if len == 0 {
                Body::Empty
            } else if len <= BODY_BYTES as u64 {
                let mut words = [0; BODY_WORDS];
                ring.reader.body(&mut words[..(len as usize).div_ceil(8)]);
                Body::Inline(words)
            } else {
                return Err(ShmError::Malformed(format!("{len} bytes in a slot of {SLOT_WORDS} words")));
            };
            ring.reader.take();
            return Ok(body);
        }
        let mut place = [0; PLACE_WORDS];
        ring.reader.body(&mut place);
        let [ids, offset, head_len] = place;
        let (slab, block) = (ids as u32, (ids >> 32) as u32);
        if head_len > header.body_len {
            return Err(ShmError::Malformed(format!(
                "a head of {head_len} in a body of {} bytes",
                header.body_len
            )));
        }
        let mut words = [0; BODY_WORDS];
        let inline = head_len <= INLINE_HEAD as u64;
        if inline {
            ring.reader.body(&mut words[..PLACE_WORDS + (head_len as usize).div_ceil(8)]);
        }
        let map = self.slab(peer, slab)?;
        let ring = self.inn[peer].ring.as_mut().expect("a slot was peeked");
        if inline {
            let in_slab = header.body_len.saturating_sub(align_part(head_len));
            let parts = ring.lease(&map, offset, in_slab, block)?;
            ring.reader.take();
            let mut head = [0; BODY_WORDS - PLACE_WORDS];
            head.copy_from_slice(&words[PLACE_WORDS..]);
            Ok(Body::Placed { head, head_len: head_len as usize, parts })
        } else {
            let body = ring.lease(&map, offset, header.body_len, block)?;
            ring.reader.take();
            Ok(Body::Whole(body))
        }
    }

    /// The peer's slab, mapped; asked of the agent the first time.
    #[inline]
    fn slab(&mut self, peer: usize, slab: u32) -> Result<Arc<Mapping>, ShmError> {
        if let Some((last, map)) = &self.inn[peer].last_slab {
            if *last == slab {
                return Ok(map.clone());
            }
        }
        let map = match self.inn[peer].slabs.get(&slab) {
            Some(map) => map.clone(),
            None => {
                let (fd, bytes) = self.custodian.fetch_slab(self.inn[peer].endpoint, slab)?;
                let map = Arc::new(Mapping::readable(&fd, 0, bytes as usize)?);
                self.inn[peer].slabs.insert(slab, map.clone());
                map
            }
        };
        self.inn[peer].last_slab = Some((slab, map.clone()));
        Ok(map)
    }

    /// Overlays, ring jumps, chunks of streamed messages, and kinds that a later version may send.
    #[cold]
    fn take_special(&mut self, peer: usize, header: Header) -> Result<Option<(usize, Arrived)>, ShmError> {
        if header.carrier_flags & flags::STREAM != 0 {
            return self.take_chunk(peer, header);
        }
        match header.kind {
            Kind::Carrier => {
                let ring = self.inn[peer].ring.as_mut().expect("a slot was peeked");
                let mut place = [0; 2];
                ring.reader.body(&mut place);
                let slots = u32::try_from(place[1]).map_err(|_| ShmError::Malformed("a huge ring".into()))?;
                ring.follow(place[0], slots)?;
                Ok(None)
            }
            Kind::Overlay => {
                let body = self.take_body(peer, &header)?;
                let number = header.overlay;
                let value = Arrived { header, body }.into_value()?;
                self.inn[peer].overlays.insert(number, Arc::new(value));
                Ok(None)
            }
            Kind::Skip(_) => {
                self.take_body(peer, &header)?;
                Ok(None)
            }
            kind => Err(ShmError::Malformed(format!(
                "a message of kind {kind:?}, which this version does not know"
            ))),
        }
    }

    /// One chunk of a message that its sender had no memory for: it is copied to where the whole will stand.
    fn take_chunk(&mut self, peer: usize, header: Header) -> Result<Option<(usize, Arrived)>, ShmError> {
        let ring = self.inn[peer].ring.as_mut().expect("a slot was peeked");
        let mut place = [0; 4];
        ring.reader.body(&mut place);
        let [ids, offset, len, at] = place;
        let (slab, block) = (ids as u32, (ids >> 32) as u32);
        let map = self.slab(peer, slab)?;
        let ring = self.inn[peer].ring.as_mut().expect("a slot was peeked");
        let chunk = ring.lease(&map, offset, len, block)?;
        ring.reader.take();
        let index = self.channel_index(header.conduit)?;
        let channel = &mut self.receives[index];
        if at == 0 {
            let mut body = Vec::new();
            usize::try_from(header.body_len).ok().and_then(|n| body.try_reserve_exact(n).ok()).ok_or_else(
                || ShmError::OutOfMemory {
                    bytes: header.body_len,
                    reason: "the receiver cannot hold the message that is being streamed to it".into(),
                },
            )?;
            channel.assembling = Some(Assembly { body, header });
        }
        let wrong = || ShmError::Malformed(format!("a chunk at {at} that does not continue its message"));
        let assembly = channel.assembling.as_mut().ok_or_else(wrong)?;
        let total = assembly.header.body_len;
        if assembly.body.len() as u64 != at
            || assembly.header.sequence != header.sequence
            || at.checked_add(len).is_none_or(|end| end > total)
        {
            return Err(wrong());
        }
        assembly.body.extend_from_slice(&chunk);
        drop(chunk);
        if (assembly.body.len() as u64) < total {
            return Ok(None);
        }
        let Assembly { body, header } = channel.assembling.take().expect("it was there");
        self.check_sequence(index, peer, &header)?;
        Ok(Some((index, Arrived { header, body: Body::Whole(Bytes::from(body)) })))
    }
}

fn malformed(error: ligament_wire::WireError) -> ShmError {
    ShmError::Malformed(error.to_string())
}

/// Copies parts into this process's own memory, 64-byte aligned, so that the sender's block can go back.
fn copy_out(parts: &Bytes) -> Result<Bytes, ShmError> {
    const LINE: usize = 64;
    let mut own: Vec<u8> = Vec::new();
    own.try_reserve_exact(parts.len() + LINE).map_err(|_| ShmError::OutOfMemory {
        bytes: parts.len() as u64,
        reason: "no room for a copy".into(),
    })?;
    let skip = own.as_ptr().align_offset(LINE);
    own.resize(skip, 0);
    own.extend_from_slice(parts);
    Ok(Bytes::from(own).slice(skip..))
}
