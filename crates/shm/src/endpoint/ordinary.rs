//! The short way of ordinary messages. An ordinary message has no body, or has one array with the same
//! preamble as the message before it on its channel, and needs nothing that is not ready. Besides the
//! elements, the receiver reads only its first line in the ring. This file has one flat function for each
//! step. If anything is not as expected, the function changes nothing, and the message takes the general way
//! (`send.rs`, `receive.rs`).

use super::arrived::KnownPreamble;
use super::peers::{InPeer, InRing};
use super::receive::cost;
use super::source::{AsBefore, ElementBytes};
use super::{Custodian, Endpoint, InChannel, MAX_UNTIMED_COPY_BYTES};
use crate::area::ChannelEnd;
use crate::board::FOR_MESSAGES;
use crate::ring::{RingReader, BODY_BYTES};
use crate::slab::{unpacked, BlockPool, MAX_QUICK_BLOCK_BYTES};
use ligament_wire::{flags, ArrayKind, HeaderWords, Value};
use std::sync::atomic::Ordering;

/// Number of looks at one ring before the general wait begins, which looks at all rings: some 14 µs. A
/// message that arrives within these looks is taken without a look at anything else.
const EAGER: u32 = 500;

// A small block is copied without reading the clock.
const _: () = assert!(MAX_QUICK_BLOCK_BYTES <= MAX_UNTIMED_COPY_BYTES);

impl<C: Custodian> Endpoint<C> {
    /// Makes all messages take the general way, also ordinary ones, if `yes` is true. Both ways have the same
    /// effect. Tests use this function to compare the two.
    pub fn set_generally(&mut self, yes: bool) {
        (self.generally, self.always_generally) = (yes, yes);
    }

    /// Sends an ordinary message on one channel. Returns false, without any change, if the message is not
    /// ordinary.
    #[inline(always)]
    pub fn send_ordinary(
        &mut self,
        index: usize,
        header: &HeaderWords,
        body: Option<AsBefore<&(impl ElementBytes + ?Sized)>>,
    ) -> bool {
        let held = body.as_ref().map_or(0, |body| body.body_len);
        let channel = &mut self.sends[index];
        let peer = &mut self.out[channel.peer];
        let Some(ring) = peer.ring.as_mut().filter(|_| !self.generally) else { return false };
        let under_way = channel.sent.saturating_sub(channel.credited) + cost(held);
        if under_way > channel.at_once || !ring.writer.has_room() || peer.ended {
            return false;
        }
        let mut block = None;
        let words = match body {
            None => header.on(channel.id, channel.sequence, 0, 0),
            Some(AsBefore { number, data, .. }) => {
                let pays = held > BODY_BYTES as u64 || self.pool.had_many_small();
                let alike = pays && number == channel.last_head;
                let Some(found) = self.pool.for_copy(data.len() as u64).filter(|_| alike) else { return false };
                // SAFETY: the block has room for `data.len()` bytes, and no receiver has its place yet.
                data.write_to(unsafe { std::slice::from_raw_parts_mut(found.start, data.len()) });
                let place = found.place;
                block = Some(found);
                header.on(channel.id, channel.sequence, 1, place).placed_as_before()
            }
        };
        ring.writer.publish(&words.0, &[]);
        if let Some(bell) = self.board.doorbell(peer.endpoint) {
            self.rang |= self.board.ring_if_parked(bell, FOR_MESSAGES);
        }
        // The following work is done after the publication, so it does not delay the message.
        if let Some(block) = &block {
            self.pool.hand_out(block, channel.peer as u32);
        }
        channel.sequence += 1;
        channel.sent += cost(held);
        if header.is_data() {
            self.front.status().count_sent(held, header.timestamp());
            if let Some(end) = self.channel_end(index) {
                end.count(held, header.timestamp());
            }
        }
        self.make_way_if_rang();
        true
    }

    /// Returns true if the next message of a channel must be the next one of its ring, and has arrived or is
    /// worth a short wait (`comes_soon`). Before such a wait, the idle work (`tidy`) is done.
    #[inline(always)]
    fn may_come_soon(&mut self, index: usize) -> bool {
        let channel = &self.receives[index];
        let peer = &self.inn[channel.peer];
        if self.generally {
            return false;
        }
        let Some(ring) = peer.ring.as_ref().filter(|_| channel.queue.is_empty()) else { return false };
        if ring.reader.ready() {
            return true;
        }
        if peer.far || !self.board.may_spin() {
            return false;
        }
        self.tidy();
        true
    }

    /// Receives the next message of channel `index` if it arrives soon and is ordinary: stores its header
    /// and, as a view, its value. Returns false, without any change, if no message arrives soon, if the
    /// message is not ordinary, or if it is not valid. `receive_to` then handles it.
    #[inline(always)]
    pub fn receive_ordinary(&mut self, index: usize, header: &mut HeaderWords, to: &mut Value) -> bool {
        if !self.may_come_soon(index) {
            return false;
        }
        let Endpoint { receives, inn, pool, custodian, front, .. } = self;
        let channel = &mut receives[index];
        let InPeer { ring: Some(ring), .. } = &mut inn[channel.peer] else { return false };
        // This work is done before the message has arrived.
        let end = front.end(index as u32);
        let frame = channel.known.kind().and_then(|kind| to.frame(kind));
        if !comes_soon(&ring.reader, pool, custodian) || !is_at_front(ring, channel, header) {
            return false;
        }
        let mut held = 0;
        if let Some((kind, body_len)) = alike(header, &channel.known) {
            let (block, slab, offset) = unpacked(header.take_as_before(1, body_len));
            let Some(bytes) = ring.lent.lease_known(slab, offset, kind.bytes() as u64, block) else {
                return false;
            };
            match frame {
                Some(frame) => frame.fill(bytes),
                None => to.become_array(kind, bytes),
            };
            held = body_len;
        } else if header.is_empty() {
            *to = Value::None;
        } else {
            return false;
        }
        take_in_order(channel, ring, end, held, header.timestamp());
        front.status().count_received(held, header.timestamp());
        if held != 0 && self.note_pinned(held) > self.pinned_limit {
            self.copy_out_of(index, held, to);
        }
        true
    }

    /// Receives the next message of channel `index` if it arrives soon and is ordinary, with an array whose
    /// kind `fits` and whose elements have exactly the size of `to`: stores its header and copies its
    /// elements to `to`. Otherwise returns false as `receive_ordinary` does.
    #[inline(always)]
    pub fn receive_ordinary_into(
        &mut self,
        index: usize,
        header: &mut HeaderWords,
        fits: impl Fn(&ArrayKind) -> bool,
        to: &mut [u8],
    ) -> bool {
        if to.len() as u64 > MAX_UNTIMED_COPY_BYTES || !self.may_come_soon(index) {
            return false;
        }
        let Endpoint { receives, inn, pool, custodian, front, .. } = self;
        let channel = &mut receives[index];
        let InPeer { ring: Some(ring), .. } = &mut inn[channel.peer] else { return false };
        // The kind of the message is known before it has arrived, because an ordinary message repeats the
        // last one.
        let expected = |kind: &ArrayKind| kind.bytes() == to.len() && fits(kind);
        if !channel.known.kind().is_some_and(expected) {
            return false;
        }
        let end = front.end(index as u32);
        if !comes_soon(&ring.reader, pool, custodian) || !is_at_front(ring, channel, header) {
            return false;
        }
        let Some((_, held)) = alike(header, &channel.known) else { return false };
        let (block, slab, offset) = unpacked(header.take_as_before(1, held));
        let Some(from) = ring.lent.look_at_known(slab, offset, to.len() as u64) else { return false };
        to.copy_from_slice(from);
        ring.lent.is_read(block);
        take_in_order(channel, ring, end, held, header.timestamp());
        front.status().count_received(held, header.timestamp());
        true
    }
}

/// Returns true if the next entry of a ring arrives within a short wait. During the wait, the next block to
/// send is claimed.
#[inline(always)]
fn comes_soon(reader: &RingReader, pool: &mut BlockPool, custodian: &impl Custodian) -> bool {
    let mut more = true;
    (0..EAGER).any(|_| {
        let ready = reader.ready();
        if !ready {
            more = more && pool.claim(|| custodian.now());
            if !more {
                std::hint::spin_loop();
            }
        }
        ready
    })
}

/// Reads the header of the next entry of a ring. Returns true if the entry is the next message of the
/// channel, and has nothing special in its header.
#[inline(always)]
fn is_at_front(ring: &InRing, channel: &InChannel, header: &mut HeaderWords) -> bool {
    ring.reader.peek(&mut header.0) && header.is_ordinary(channel.id, channel.sequence)
}

/// Takes a message with `held` bytes in a slab, which the code receives now, and returns its credit.
#[inline(always)]
fn take_in_order(channel: &mut InChannel, ring: &mut InRing, end: Option<&ChannelEnd>, held: u64, time: f64) {
    ring.reader.take();
    channel.sequence += 1;
    channel.credited += cost(held);
    if let Some(end) = end {
        end.credit().store(channel.credited, Ordering::Release);
        end.count(held, time);
    }
    ring.lent.link().wake_sender();
}

/// Returns the array's kind and the length of the whole body, for a message that repeats the preamble of the
/// one before.
#[inline(always)]
fn alike<'a>(header: &HeaderWords, known: &'a KnownPreamble) -> Option<(&'a ArrayKind, u64)> {
    let kind = known.kind().filter(|_| header.flags() & flags::AS_BEFORE != 0)?;
    Some((kind, known.body_len()))
}
