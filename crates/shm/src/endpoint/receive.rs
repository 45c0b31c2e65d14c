//! Receiving: a message goes from the ring to the queue of its channel, and from there to the code. An
//! ordinary message goes straight from the ring to the code.

use super::arrived::{ArrivedMessage, BodyPlace, KnownPreamble, INLINE_HEAD_BYTES, PLACE_WORDS};
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

/// Size of a view above which the bytes held by views are counted exactly at once.
const MAX_LAZY_VIEW_BYTES: u64 = 64 << 10;
/// Number of messages after which views are checked and senders are told of releases, if no idle moment
/// comes before.
const RELEASE_EVERY: u32 = 8;
/// Number of looks without a message after which the endpoint checks that the agent lives. The check takes a
/// third of a microsecond.
const POLLS_PER_AGENT_CHECK: u32 = 64;
/// Maximum number of views of each peer that are checked for release at a time.
const MAX_VIEWS_CHECKED: usize = 32;
/// Maximum number of boxes that are kept for future messages.
const MAX_SPARE_BOXES: usize = 32;

/// A message in chunks of which some have arrived.
pub(crate) struct Assembly {
    body: Vec<u8>,
    header: HeaderWords,
}

/// Returns the cost of one message in its channel's budget: the size of its entry plus its bytes in a slab.
#[inline]
pub(crate) fn cost(in_slab: u64) -> u64 {
    ENTRY_BYTES as u64 + in_slab
}

/// Returns the number of bytes in a slab of a message with this cost.
#[inline]
pub(crate) fn in_slab(cost: u64) -> u64 {
    cost - ENTRY_BYTES as u64
}

impl<C: Custodian> Endpoint<C> {
    /// Takes in all entries that have arrived on any ring.
    #[inline]
    pub(crate) fn take_in(&mut self) -> Result<(), ShmError> {
        for peer in 0..self.inn.len() {
            while self.inn[peer].ring.as_ref().is_some_and(|ring| ring.reader.ready()) {
                self.take_to_queue(peer)?;
            }
        }
        Ok(())
    }

    /// Takes the next entry of a peer's ring into the queue of its channel.
    #[cold]
    fn take_to_queue(&mut self, peer: usize) -> Result<(), ShmError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        self.stirred = true;
        let mut message = self.spare.pop().unwrap_or_else(ArrivedMessage::empty);
        match self.take_entry(peer, &mut message)? {
            Some(channel) if !self.is_kept(channel, &message) => {
                // The next message in this box must not begin with the bytes of the dropped one.
                message.bytes = Bytes::new();
                self.recycle(message);
            }
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

    /// Ends the channels of a peer that has died without ending them. First takes in all messages that the
    /// peer has sent. These are whole, except perhaps one in chunks, which is dropped. Then each channel
    /// gets an end, as if the peer had sent it.
    pub(super) fn end_channels_of(&mut self, endpoint: EndpointId) -> Result<(), ShmError> {
        let Some(peer) = self.inn.iter().position(|peer| peer.endpoint == endpoint) else { return Ok(()) };
        self.take_in()?;
        self.stirred = true;
        for index in 0..self.receives.len() {
            let channel = &mut self.receives[index];
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
            if !self.is_kept(index, &end) {
                continue;
            }
            self.receives[index].queue.push_back(end);
            if let Some(served) = &mut self.served {
                served.arrived.push(index as u32);
            }
        }
        Ok(())
    }

    /// Takes back the box of a message for reuse.
    #[inline]
    pub fn recycle(&mut self, message: Box<ArrivedMessage>) {
        if self.spare.len() < MAX_SPARE_BOXES {
            self.spare.push(message);
        }
    }

    /// Returns true if a message waits on channel `index`. Does not wait.
    pub fn poll(&mut self, index: usize) -> Result<bool, ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        let here = !self.receives[index].queue.is_empty();
        if !here {
            // The sender may need its released blocks before it can send the message that the code polls
            // for.
            self.tidy();
            self.looked_in_vain()?;
        }
        Ok(here)
    }

    /// Checks now and then that the agent lives. A code that polls repeatedly instead of waiting would
    /// otherwise never learn that its run has ended, since only long waits make this check.
    #[cold]
    pub(super) fn looked_in_vain(&mut self) -> Result<(), ShmError> {
        self.fruitless = self.fruitless.wrapping_add(1);
        if self.fruitless % POLLS_PER_AGENT_CHECK == 0 && self.custodian.is_gone() {
            Err(self.agent_gone())
        } else {
            Ok(())
        }
    }

    /// Receives the next message of channel `index`, waiting for it until the deadline. Stores its header in
    /// `header` and its value in `to`.
    ///
    /// # Errors
    /// As for `receive`.
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

    /// Receives any message that is not ordinary, and waits as long as necessary.
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

    /// Receives the next message of channel `index`, waiting for it until the deadline. The caller returns
    /// the box with `recycle` after it has taken the value.
    ///
    /// # Errors
    /// `TimedOut`; `RunEnds` or `AgentGone` if no more messages will arrive; `Malformed`.
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

    /// Waits until one of the channels `indices` has a message, and returns the first such channel.
    ///
    /// # Errors
    /// As for `receive`.
    pub fn wait_any(&mut self, indices: &[usize], deadline: Deadline) -> Result<usize, ShmError> {
        let mut found = None;
        self.wait_until(WaitTarget::Message(indices), FOR_MESSAGES, deadline, |me| {
            found = indices.iter().copied().find(|&i| !me.receives[i].queue.is_empty());
            Ok(found.is_some())
        })?;
        Ok(found.expect("the wait was for it"))
    }

    /// Returns the credit of a message and counts it. If views hold too many bytes already, copies the
    /// message out of its slab.
    fn hand_over(&mut self, index: usize, message: &mut ArrivedMessage) -> Result<(), ShmError> {
        let held = if message.in_slab() { message.header.body_len() } else { 0 };
        if message.place == BodyPlace::Restored {
            self.note_received(index, &message.header);
        } else if !self.count_in(index, held, &message.header) {
            let began = self.copy_begins(held);
            message.bytes = copy_out(&message.bytes)?;
            self.copy_ends(index, began);
        }
        Ok(())
    }

    /// Returns the credit of a message that the code receives now and that has `held` bytes in a slab, and
    /// counts the message. Returns false if views then hold more of the peers' memory than they may.
    #[inline(always)]
    fn count_in(&mut self, index: usize, held: u64, header: &HeaderWords) -> bool {
        self.return_credit(index, held);
        self.note_received(index, header);
        held == 0 || self.note_pinned(held) <= self.pinned_limit
    }

    /// Counts a message that the code receives now.
    #[inline(always)]
    fn note_received(&self, index: usize, header: &HeaderWords) {
        if header.is_data() {
            self.front.status().count_received(header.body_len(), header.timestamp());
            if let Some(end) = self.front.end(index as u32) {
                end.count(header.body_len(), header.timestamp());
            }
        }
    }

    /// Copies an array of channel `index` out of its slab; `value` then owns the copy. If there is no memory
    /// for a copy, the array stays in the slab.
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

    /// Returns the credit of a message with `held` bytes in a slab, and wakes the sender if it waits for
    /// credit. While many messages are in the queue, the sender is far ahead. The receiver then wakes it once
    /// for each quarter of the budget, since each wake-up costs two switches of processes.
    #[inline(always)]
    pub(super) fn return_credit(&mut self, index: usize, held: u64) {
        let channel = &mut self.receives[index];
        channel.credited += cost(held);
        if let Some(credit) = self.front.credit(index as u32) {
            credit.store(channel.credited, Ordering::Release);
        }
        let far_ahead = !channel.queue.is_empty() && channel.credited < channel.wake_at;
        let peer = &mut self.inn[channel.peer];
        if far_ahead && self.served.is_none() {
            peer.wakes_later = true;
            return;
        }
        channel.wake_at = channel.credited + channel.wake_step;
        if let Some(ring) = &peer.ring {
            ring.lent.link().wake_sender();
        }
    }

    /// Does the work that can wait for an idle moment: tells senders which blocks were released and that they
    /// have credit again, and looks for blocks that receivers have released.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        for peer in &mut self.inn {
            if let (true, Some(ring)) = (std::mem::take(&mut peer.wakes_later), &peer.ring) {
                ring.lent.link().wake_sender();
            }
        }
        self.take_back();
        self.pool.reclaim(super::send::done_with(&self.out));
    }

    #[inline]
    fn take_back(&mut self) {
        for ring in self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()) {
            ring.lent.take_back(MAX_VIEWS_CHECKED);
        }
    }

    /// Counts a view of `len` bytes as held, and returns the number of bytes that views hold. The exact
    /// number is looked up only for large views, near the limit, and now and then.
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

    /// Returns an overlay that the sender of channel `index` has announced.
    pub fn overlay(&self, index: usize, number: u32) -> Option<&Arc<Value>> {
        self.inn[self.receives[index].peer].overlays.get(&number)
    }

    /// Takes the next entry of a peer's ring, which must be ready. Returns the index of the message's
    /// channel, or None if the entry was not a message for the code.
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

    /// Takes an overlay, a jump of the ring, a chunk of a message, or a kind of message that a later version
    /// may send.
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
            MessageKind::Checkpoint if self.served.is_none() => {
                take_body(&mut self.inn[peer], &mut self.custodian, None, message)?;
                let index = self.channel_index(message.header.conduit())?;
                self.check_sequence(index, peer, &message.header)?;
                self.take_mark(index, message.header.timestamp());
                Ok(None)
            }
            // A carrier passes marks on.
            MessageKind::Checkpoint
            | MessageKind::Slot
            | MessageKind::Milestone
            | MessageKind::Route
            | MessageKind::PassEnd => {
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

    /// Takes one chunk of a message for which its sender had no memory, and appends it to the chunks before.
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
        // The sender may be waiting for this very block, while this endpoint waits for another event.
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

/// Reads the body of the peeked entry and takes the entry. `known` is the known preamble of the message's
/// channel.
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
        // The place and the preamble of a plain array fit into the first line.
        reader.body(&mut message.words[..8]);
        let [ids, at, head_len] = [message.words[0], message.words[1], message.words[2]];
        (slab, block, offset) = (ids as u32, (ids >> 32) as u32, at);
        if head_len > body_len {
            return Err(ShmError::Malformed(format!("a head of {head_len} in a body of {body_len} bytes")));
        }
        if head_len <= INLINE_HEAD_BYTES as u64 {
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

/// Makes the error for a message of `bytes` bytes that the receiver has no memory to put together.
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

/// Copies the parts into private memory of this process, 64-byte aligned, so that the sender's block can be
/// released.
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
