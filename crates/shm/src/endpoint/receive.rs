//! Taking messages in: from rings to the queues of their channels, and from there, or straight from the ring,
//! to the code.

use super::arrived::{ArrivedMessage, BodyPlace, KnownPreamble, INLINE_HEAD, PLACE_WORDS};
use super::peers::InPeer;
use super::stream::GIVEN_UP;
use super::wait::{Deadline, WaitTarget};
use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::ShmError;
use crate::ring::{BODY_BYTES, ENTRY_BYTES, ENTRY_WORDS};
use crate::slab::unpacked;
use ligament_catalogue::fault;
use ligament_wire::Bytes;
use ligament_wire::{align_part, flags, EndpointId, Header, HeaderWords, MessageKind, Value};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Views above this are counted exactly at once.
const MAX_LAZY_VIEW_BYTES: u64 = 64 << 10;
/// Releases that wait are told after so many messages, if no quiet moment comes before.
const RELEASE_EVERY: u32 = 8;
/// Every so many looks in vain, it is looked whether the agent lives: a third of a microsecond.
const POLLS_PER_AGENT_CHECK: u32 = 64;
/// At how many views of each peer is looked then.
const MAX_VIEWS_CHECKED: usize = 32;
/// Boxes of messages kept for the next ones.
const MAX_SPARE_BOXES: usize = 32;

/// A message that comes in chunks.
pub(crate) struct Assembly {
    body: Vec<u8>,
    header: HeaderWords,
}

/// The cost of one message in its channel's budget: its entry, and what it takes of a slab.
#[inline]
pub(crate) fn cost(in_slab: u64) -> u64 {
    ENTRY_BYTES as u64 + in_slab
}

/// Of what a message costs, what it takes of a slab.
#[inline]
pub(crate) fn in_slab(cost: u64) -> u64 {
    cost - ENTRY_BYTES as u64
}

impl<C: Custodian> Endpoint<C> {
    /// Takes in whatever has arrived on any ring.
    #[inline]
    pub(crate) fn take_in(&mut self) -> Result<(), ShmError> {
        for peer in 0..self.inn.len() {
            while self.inn[peer].ring.as_ref().is_some_and(|ring| ring.reader.ready()) {
                self.take_to_queue(peer)?;
            }
        }
        Ok(())
    }

    /// Takes the entry that is ready into the queue of its channel.
    #[cold]
    fn take_to_queue(&mut self, peer: usize) -> Result<(), ShmError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        self.stirred = true;
        let mut message = self.spare.pop().unwrap_or_else(ArrivedMessage::empty);
        match self.take_entry(peer, &mut message)? {
            Some(channel) => {
                self.receives[channel].queue.push_back(message);
                if let Some(served) = &mut self.served {
                    served.arrived.push(channel as u32);
                }
            }
            None => self.recycle(message),
        }
        Ok(())
    }

    /// A peer is gone that has not ended its channels. What it has sent is taken in, of which nothing is half
    /// there but a message in chunks; then each of its channels ends as if it had said so.
    pub(super) fn end_channels_of(&mut self, endpoint: EndpointId) -> Result<(), ShmError> {
        let Some(peer) = self.inn.iter().position(|peer| peer.endpoint == endpoint) else { return Ok(()) };
        self.take_in()?;
        self.stirred = true;
        for (index, channel) in self.receives.iter_mut().enumerate() {
            if channel.peer != peer || std::mem::replace(&mut channel.ended, true) {
                continue;
            }
            let mut end = self.spare.pop().unwrap_or_else(ArrivedMessage::empty);
            let header = Header {
                kind: MessageKind::End,
                conduit: channel.id,
                sequence: channel.sequence,
                ..Header::default()
            };
            (end.header, end.place, end.bytes) = (HeaderWords::from(header), BodyPlace::Nowhere, Bytes::new());
            channel.assembling = None;
            channel.sequence += 1;
            channel.queue.push_back(end);
            if let Some(served) = &mut self.served {
                served.arrived.push(index as u32);
            }
        }
        Ok(())
    }

    /// Takes back the box of a message, to be used for another.
    #[inline]
    pub fn recycle(&mut self, message: Box<ArrivedMessage>) {
        if self.spare.len() < MAX_SPARE_BOXES {
            self.spare.push(message);
        }
    }

    /// Returns true if a message waits on channel `index`, without waiting.
    pub fn poll(&mut self, index: usize) -> Result<bool, ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        let here = !self.receives[index].queue.is_empty();
        if !here {
            // The sender may need what was released in order to send what is polled for.
            self.tidy();
            self.looked_in_vain()?;
        }
        Ok(here)
    }

    /// Looks now and then whether the agent lives: a code that asks again and again instead of waiting would
    /// never learn that its run is gone, since only a wait that lasts looks otherwise.
    #[cold]
    pub(super) fn looked_in_vain(&mut self) -> Result<(), ShmError> {
        self.fruitless = self.fruitless.wrapping_add(1);
        if self.fruitless % POLLS_PER_AGENT_CHECK == 0 && self.custodian.is_gone() {
            Err(self.agent_gone())
        } else {
            Ok(())
        }
    }

    /// The next message of channel `index`, waiting for it until the deadline: its header and its value, each
    /// to where it shall stand.
    ///
    /// # Errors
    /// As `receive`.
    #[inline]
    pub fn receive_to(
        &mut self,
        index: usize,
        deadline: Deadline,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        if self.receive_ordinary(index, header, to) {
            return Ok(());
        }
        self.receive_generally(index, deadline, header, to)
    }

    /// Every other message, and every other wait.
    #[cold]
    fn receive_generally(
        &mut self,
        index: usize,
        deadline: Deadline,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        let mut message = self.receive(index, deadline)?;
        *header = message.header;
        message.take_value_to(to)?;
        self.receives[index].known.learn(&message, to);
        self.recycle(message);
        Ok(())
    }

    /// The next message of channel `index`, waiting for it until the deadline. Give the box to `recycle` when
    /// its value is taken.
    ///
    /// # Errors
    /// `TimedOut`; `RunEnds` or `AgentGone` when none will come any more; `Malformed`.
    pub fn receive(&mut self, index: usize, deadline: Deadline) -> Result<Box<ArrivedMessage>, ShmError> {
        if let Some(mut message) = self.receives[index].queue.pop_front() {
            self.hand_over(index, &mut message)?;
            return Ok(message);
        }
        let ready = |me: &mut Self| Ok(!me.receives[index].queue.is_empty());
        self.wait_until(WaitTarget::Message(&[index]), FOR_MESSAGES, deadline, ready)?;
        let mut message = self.receives[index].queue.pop_front().expect("the wait was for it");
        self.hand_over(index, &mut message)?;
        Ok(message)
    }

    /// The first of `indices` that has a message, waiting until one has.
    ///
    /// # Errors
    /// As `receive`.
    pub fn wait_any(&mut self, indices: &[usize], deadline: Deadline) -> Result<usize, ShmError> {
        let mut found = None;
        self.wait_until(WaitTarget::Message(indices), FOR_MESSAGES, deadline, |me| {
            found = indices.iter().copied().find(|&i| !me.receives[i].queue.is_empty());
            Ok(found.is_some())
        })?;
        Ok(found.expect("the wait was for it"))
    }

    /// Returns the message's credit and counts it; copies it out of its slab if too much is held already.
    fn hand_over(&mut self, index: usize, message: &mut ArrivedMessage) -> Result<(), ShmError> {
        let held = if message.in_slab() { message.header.body_len() } else { 0 };
        if !self.count_in(index, held, &message.header) {
            let began = self.copy_begins(held);
            message.bytes = copy_out(&message.bytes)?;
            self.copy_ends(index, began);
        }
        Ok(())
    }

    /// Returns the credit of a message that the code gets now, with `held` bytes in a slab, and counts it.
    /// False if views hold more of the peers' memory than they may.
    #[inline(always)]
    fn count_in(&mut self, index: usize, held: u64, header: &HeaderWords) -> bool {
        self.return_credit(index, held);
        if header.is_data() {
            self.front.status().count_received(header.body_len(), header.timestamp());
            if let Some(end) = self.front.end(index as u32) {
                end.count(header.body_len(), header.timestamp());
            }
        }
        held == 0 || self.note_pinned(held) <= self.pinned_limit
    }

    /// Copies an array of channel `index` out of its slab, in place. Where there is no memory for that it stays
    /// there.
    #[cold]
    pub(super) fn copy_out_of(&mut self, index: usize, held: u64, value: &mut Value) {
        let began = self.copy_begins(held);
        if let Value::Array(array) = value {
            if let (Some(kind), Ok(own)) = (array.kind(), copy_out(array.data())) {
                value.become_array(&kind, own);
            }
        }
        self.copy_ends(index, began);
    }

    /// Returns the credit of a message with `held` bytes in a slab.
    #[inline(always)]
    pub(super) fn return_credit(&mut self, index: usize, held: u64) {
        let channel = &mut self.receives[index];
        channel.credited += cost(held);
        if let Some(credit) = self.front.credit(index as u32) {
            credit.store(channel.credited, Ordering::Release);
        }
        if let Some(ring) = &self.inn[channel.peer].ring {
            ring.lent.link().wake_sender();
        }
    }

    /// Work that can wait for a moment in which there is nothing to receive: telling senders what was released,
    /// and looking for what others have released.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        self.take_back();
        self.pool.reclaim(super::send::done_with(&self.out));
    }

    #[inline]
    fn take_back(&mut self) {
        for ring in self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()) {
            ring.lent.take_back(MAX_VIEWS_CHECKED);
        }
    }

    /// Counts a view of `len` bytes as held. What views hold is looked up when it matters: for large ones, near
    /// the limit, and every now and then.
    #[inline(always)]
    pub(super) fn note_pinned(&mut self, len: u64) -> u64 {
        self.pinned_guess += len;
        self.pinned_looks = self.pinned_looks.wrapping_add(1);
        if self.pinned_looks % RELEASE_EVERY == 0 {
            self.take_back();
        }
        if len > MAX_LAZY_VIEW_BYTES || self.pinned_guess > self.pinned_limit || self.pinned_looks % 64 == 0 {
            self.pinned_guess = self.pinned();
            self.front.status().set_pinned(self.pinned_guess);
        }
        self.pinned_guess
    }

    /// An overlay that a channel's sender has announced.
    pub fn overlay(&self, index: usize, number: u32) -> Option<&Arc<Value>> {
        self.inn[self.receives[index].peer].overlays.get(&number)
    }

    /// Takes one entry of a peer's ring, which is ready: a message, and the index of its channel; or nothing if
    /// it was the carrier's own.
    #[inline]
    fn take_entry(&mut self, peer: usize, message: &mut ArrivedMessage) -> Result<Option<usize>, ShmError> {
        let ring = self.inn[peer].ring.as_mut().expect("it was ready");
        if !ring.reader.peek(&mut message.header.0) {
            return Ok(None);
        }
        message.header.check().map_err(malformed)?;
        let ordinary = message.header.is_data() || message.header.is_end();
        if !ordinary || message.header.flags() & flags::STREAM != 0 {
            return self.take_special(peer, message);
        }
        let index = self.channel_index(message.header.conduit())?;
        self.check_sequence(index, peer, &message.header)?;
        self.receives[index].ended |= message.header.is_end();
        let known = Some(&mut self.receives[index].known);
        take_body(&mut self.inn[peer], &mut self.custodian, known, message)?;
        Ok(Some(index))
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
    fn check_sequence(&mut self, index: usize, peer: usize, header: &HeaderWords) -> Result<(), ShmError> {
        let channel = &mut self.receives[index];
        if channel.sequence != header.sequence() || channel.peer != peer {
            return Err(ShmError::Malformed(format!(
                "message {} of channel {} came where message {} was due",
                header.sequence(),
                header.conduit(),
                channel.sequence
            )));
        }
        channel.sequence += 1;
        Ok(())
    }

    /// Overlays, ring jumps, chunks of streamed messages, and kinds that a later version may send.
    #[cold]
    fn take_special(&mut self, peer: usize, message: &mut ArrivedMessage) -> Result<Option<usize>, ShmError> {
        if message.header.flags() & flags::STREAM != 0 {
            return self.take_chunk(peer, message);
        }
        match message.header.decode().map_err(malformed)?.kind {
            MessageKind::Carrier => {
                let ring = self.inn[peer].ring.as_mut().expect("an entry was peeked");
                let mut place = [0; 2];
                ring.reader.body(&mut place);
                let entries = u32::try_from(place[1]).map_err(|_| ShmError::Malformed("a huge ring".into()))?;
                ring.follow(place[0], entries)?;
                Ok(None)
            }
            MessageKind::Overlay => {
                take_body(&mut self.inn[peer], &mut self.custodian, None, message)?;
                let value = message.take_value()?;
                self.inn[peer].overlays.insert(message.header.overlay(), Arc::new(value));
                Ok(None)
            }
            MessageKind::Slot | MessageKind::Milestone => {
                take_body(&mut self.inn[peer], &mut self.custodian, None, message)?;
                let index = self.channel_index(message.header.conduit())?;
                self.check_sequence(index, peer, &message.header)?;
                Ok(Some(index))
            }
            MessageKind::Skip(_) => {
                take_body(&mut self.inn[peer], &mut self.custodian, None, message)?;
                message.bytes = Bytes::new();
                Ok(None)
            }
            kind => Err(ShmError::Malformed(format!(
                "a message of kind {kind:?}, which this version does not know"
            ))),
        }
    }

    /// One chunk of a message that its sender had no memory for: it is copied to where the whole will stand.
    fn take_chunk(&mut self, peer: usize, message: &mut ArrivedMessage) -> Result<Option<usize>, ShmError> {
        let header = message.header;
        let InPeer { ring, endpoint, .. } = &mut self.inn[peer];
        let ring = ring.as_mut().expect("an entry was peeked");
        let mut place = [0; 4];
        ring.reader.body(&mut place);
        let [ids, offset, len, at] = place;
        if at == GIVEN_UP {
            ring.reader.take();
            let index = self.channel_index(header.conduit())?;
            self.receives[index].assembling = None;
            return Ok(None);
        }
        let (slab, block) = (ids as u32, (ids >> 32) as u32);
        let chunk = ring.lent.lease(slab, offset, len, block, || self.custodian.fetch_slab(*endpoint, slab))?;
        ring.reader.take();
        let index = self.channel_index(header.conduit())?;
        let channel = &mut self.receives[index];
        if at == 0 {
            let mut body = Vec::new();
            let room = usize::try_from(header.body_len()).ok().and_then(|n| body.try_reserve_exact(n).ok());
            if room.is_none() {
                let error = no_room(&channel.from, header.body_len());
                self.refused = Some(error.clone());
                return Err(error);
            }
            channel.assembling = Some(Assembly { body, header });
        }
        let wrong = || ShmError::Malformed(format!("a chunk at {at} that does not continue its message"));
        let assembly = channel.assembling.as_mut().ok_or_else(wrong)?;
        let total = assembly.header.body_len();
        if assembly.body.len() as u64 != at
            || assembly.header.sequence() != header.sequence()
            || at.checked_add(len).is_none_or(|end| end > total)
        {
            return Err(wrong());
        }
        assembly.body.extend_from_slice(&chunk);
        drop(chunk);
        // Its sender may wait for this very block, and we for something else.
        if let Some(ring) = &mut self.inn[peer].ring {
            ring.lent.take_back(usize::MAX);
        }
        if (assembly.body.len() as u64) < total {
            return Ok(None);
        }
        let Assembly { body, header } = channel.assembling.take().expect("it was there");
        self.check_sequence(index, peer, &header)?;
        message.header = header;
        message.place = BodyPlace::Whole;
        message.bytes = Bytes::from(body);
        Ok(Some(index))
    }
}

/// Reads the body of the peeked entry and takes the entry. `known` is that of the message's channel.
fn take_body(
    peer: &mut InPeer,
    custodian: &mut impl Custodian,
    known: Option<&mut KnownPreamble>,
    message: &mut ArrivedMessage,
) -> Result<(), ShmError> {
    let InPeer { ring, endpoint, .. } = peer;
    let ring = ring.as_mut().expect("an entry was peeked");
    let reader = &mut ring.reader;
    let kinds = message.header.flags();
    let (slab, block, offset, len);
    if kinds & flags::AS_BEFORE != 0 {
        let known = known.ok_or_else(|| ShmError::Malformed("no channel to refer back to".into()))?;
        (block, slab, offset) = unpacked(known.complete(message)?);
        let BodyPlace::Beside(head_len) = message.place else { unreachable!("set just now") };
        len = message.header.body_len().saturating_sub(align_part(head_len as u64));
    } else if kinds & flags::PLACED == 0 {
        let body_len = message.header.body_len();
        if body_len > BODY_BYTES as u64 {
            return Err(ShmError::Malformed(format!("{body_len} bytes in an entry of {ENTRY_WORDS} words")));
        }
        message.place = if body_len == 0 { BodyPlace::Nowhere } else { BodyPlace::Inline };
        reader.body(&mut message.words[..(body_len as usize).div_ceil(8)]);
        reader.take();
        return Ok(());
    } else {
        let body_len = message.header.body_len();
        // The place and the head of a plain array fit into the first line.
        reader.body(&mut message.words[..8]);
        let [ids, at, head_len] = [message.words[0], message.words[1], message.words[2]];
        (slab, block, offset) = (ids as u32, (ids >> 32) as u32, at);
        if head_len > body_len {
            return Err(ShmError::Malformed(format!("a head of {head_len} in a body of {body_len} bytes")));
        }
        if head_len <= INLINE_HEAD as u64 {
            let used = PLACE_WORDS + (head_len as usize).div_ceil(8);
            if used > 8 {
                reader.body(&mut message.words[..used]);
            }
            message.place = BodyPlace::Beside(head_len as usize);
            len = body_len.saturating_sub(align_part(head_len));
        } else {
            message.place = BodyPlace::Whole;
            len = body_len;
        }
        if let Some(known) = known {
            known.note(message);
        }
    }
    message.bytes = ring.lent.lease(slab, offset, len, block, || custodian.fetch_slab(*endpoint, slab))?;
    ring.reader.take();
    Ok(())
}

/// There is no memory to put a message of so many bytes together.
fn no_room(from: &str, bytes: u64) -> ShmError {
    ShmError::OutOfMemory {
        bytes,
        reason: fault!(
            MEMORY_SPENT,
            "the run has too little shared memory for the message from {from}, so it comes in pieces, and the \
             system refuses its receiver as much memory of its own; send less at a time, raise \"memory\" \
             under \"ligament:\" in the model, or the limit of the receiver's memory (ulimit -v, the job's)"
        ),
    }
}

pub(super) fn malformed(error: ligament_wire::WireError) -> ShmError {
    ShmError::Malformed(error.to_string())
}

/// Copies parts into this process's own memory, 64-byte aligned, so that the sender's block can go back.
fn copy_out(parts: &Bytes) -> Result<Bytes, ShmError> {
    const LINE: usize = 64;
    let mut own: Vec<u8> = Vec::new();
    own.try_reserve_exact(parts.len() + LINE).map_err(|_| ShmError::OutOfMemory {
        bytes: parts.len() as u64,
        reason: fault!(MEMORY_OF_MACHINE, "no room for a copy"),
    })?;
    let skip = own.as_ptr().align_offset(LINE);
    own.resize(skip, 0);
    own.extend_from_slice(parts);
    Ok(Bytes::from(own).slice(skip..))
}
