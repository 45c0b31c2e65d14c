//! Sending: one write for all receivers. The body goes into the slot if it is small, otherwise in one copy into a
//! block of a slab (none if it was written there as a loan), and in chunks through a window where memory is short.

use super::arrived::{INLINE_HEAD, KNOWN_HEAD, PLACE_WORDS};
use super::peers::{OutPeer, OutRing, FIRST_SLOTS};
use super::receive::cost;
use super::wait::Awaiting;
use super::{Custodian, Endpoint, Opened};
use crate::area::{Front, Inbox};
use crate::board::{FOR_CREDIT, FOR_MESSAGES};
use crate::memory::{Mapping, ShmError};
use crate::ring::{RingWriter, BODY_BYTES, BODY_WORDS};
use crate::slab::{packed, slab_size, stays_in_caches, BlockId, Place};
use crate::status::now;
use ligament_wire::{align_part, flags, Header, HeaderWords, Kind, Plan};
use rustix::fd::OwnedFd;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Bytes of a chunk when a message is streamed.
const CHUNK: u64 = 4 << 20;
/// In the place of a chunk's offset: the message is given up.
pub(super) const GIVEN_UP: u64 = u64::MAX;
/// Copies above this are timed for the status page.
const TIMED: u64 = 64 << 10;

/// How long to wait for memory before the agent is asked again, ns.
const ASK_AGAIN: u64 = 1_000_000_000;

/// A block that the code fills in place. Give it to `send_loan`, or back with `return_loan`.
pub struct Loan {
    block: BlockId,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a loan is the only way to its block until it is sent.
unsafe impl Send for Loan {}

impl Loan {
    /// The first byte; valid for writing `len` bytes, 64-byte aligned, until the loan is sent or returned.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block is this loan's alone, and as long as `len`; its pages are in place.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Bytes lent.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no byte was asked for.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What a body is made of, while it still is the caller's memory.
pub trait Source {
    /// The lengths table and the tree.
    fn head(&self) -> &[u8];
    /// A number that stands for this head, its count of parts and the body's length, for as long as the endpoint lives;
    /// 0 for heads that do not come again. Messages whose head comes again are shorter.
    fn number(&self) -> u64 {
        0
    }
    /// How many parts follow.
    fn parts(&self) -> u16;
    /// Bytes of the whole body.
    fn body_len(&self) -> u64;
    /// Bytes from the first part to the end.
    fn parts_len(&self) -> u64;
    /// Writes those; `to` is as long.
    fn write_parts(&self, to: &mut [u8]);
    /// Writes the whole body; `to` is as long.
    fn write_body(&self, to: &mut [u8]);
    /// Writes a piece of the body; `to` is as long.
    fn copy_range(&self, range: Range<u64>, to: &mut [u8]);
}

impl Source for Plan<'_, '_> {
    #[inline]
    fn head(&self) -> &[u8] {
        self.head()
    }

    #[inline]
    fn parts(&self) -> u16 {
        self.parts()
    }

    #[inline]
    fn body_len(&self) -> u64 {
        self.body_len()
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        self.parts_len()
    }

    fn write_parts(&self, to: &mut [u8]) {
        self.write_parts(to);
    }

    fn write_body(&self, to: &mut [u8]) {
        self.write_body(to);
    }

    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        self.copy_range(range, to);
    }
}

/// No body: the value is none.
pub struct Nothing;

impl Source for Nothing {
    #[inline]
    fn head(&self) -> &[u8] {
        &[]
    }

    #[inline]
    fn parts(&self) -> u16 {
        0
    }

    #[inline]
    fn body_len(&self) -> u64 {
        0
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        0
    }

    fn write_parts(&self, _: &mut [u8]) {}

    fn write_body(&self, _: &mut [u8]) {}

    fn copy_range(&self, _: Range<u64>, _: &mut [u8]) {}
}

/// The commonest body: one array whose elements lie together.
pub struct Contiguous<'a> {
    /// As `ligament_wire::array_head` makes it.
    pub head: &'a [u8],
    /// The head's number: see `Source::number`.
    pub number: u64,
    /// The elements.
    pub data: &'a [u8],
}

impl Source for Contiguous<'_> {
    #[inline]
    fn head(&self) -> &[u8] {
        self.head
    }

    #[inline]
    fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    fn parts(&self) -> u16 {
        1
    }

    #[inline]
    fn body_len(&self) -> u64 {
        align_part(self.head.len() as u64) + self.data.len() as u64
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        self.data.len() as u64
    }

    #[inline]
    fn write_parts(&self, to: &mut [u8]) {
        to.copy_from_slice(self.data);
    }

    #[inline]
    fn write_body(&self, to: &mut [u8]) {
        let first = align_part(self.head.len() as u64) as usize;
        to[..self.head.len()].copy_from_slice(self.head);
        to[self.head.len()..first].fill(0);
        to[first..].copy_from_slice(self.data);
    }

    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        let first = align_part(self.head.len() as u64);
        to.fill(0);
        for (start, piece) in [(0, self.head), (first, self.data)] {
            let from = range.start.max(start);
            let end = range.end.min(start + piece.len() as u64);
            if from < end {
                let piece = &piece[(from - start) as usize..(end - start) as usize];
                to[(from - range.start) as usize..][..piece.len()].copy_from_slice(piece);
            }
        }
    }
}

/// The body of the slot that is being sent: kept, since clearing it would cost as much as filling it.
#[derive(Default)]
pub(super) struct SlotBody {
    words: [u64; BODY_WORDS],
    used: usize,
}

impl SlotBody {
    #[inline]
    fn inline(&mut self, source: &impl Source) {
        let len = source.body_len() as usize;
        if len > 0 {
            source.write_body(&mut bytemuck::cast_slice_mut(&mut self.words)[..len]);
        }
        self.used = len.div_ceil(8);
    }

    #[inline(always)]
    fn placed(&mut self, place: &Place, block: BlockId, head: &[u8]) {
        self.words[0] = u64::from(place.slab) | u64::from(block) << 32;
        self.words[1] = place.offset;
        self.words[2] = head.len() as u64;
        self.used = PLACE_WORDS;
        if head.len() <= INLINE_HEAD {
            let inline: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[PLACE_WORDS..]);
            inline[..head.len()].copy_from_slice(head);
            self.used += head.len().div_ceil(8);
        }
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Sends one value on the channels `to` (indices among the endpoint's outgoing channels). The header's
    /// conduit, sequence, parts and lengths are filled in here. Blocks while a channel has no credit.
    ///
    /// # Errors
    /// `OutOfMemory` when the message cannot be stored and nothing that waiting would free stands in the way;
    /// the message was then sent to nobody. Otherwise as for waiting.
    #[inline]
    pub fn send(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        let body_len = source.body_len();
        header.set_body(source.parts(), body_len);
        if body_len <= BODY_BYTES as u64 {
            self.claim(to, cost(0))?;
            self.body.inline(source);
            return self.post(to, header);
        }
        self.claim(to, cost(body_len))?;
        let head = source.head();
        let beside = head.len() <= INLINE_HEAD;
        let in_slab = if beside { source.parts_len() } else { body_len };
        let block = match self.block(in_slab) {
            Ok(Some(block)) => block,
            Ok(None) => return self.stream(to, header, source),
            Err(error) => return Err(self.unclaim(to, cost(body_len), error)),
        };
        self.pool.copies();
        let place = self.pool.place(block);
        // SAFETY: the block is ours alone until it is posted, and has room for `in_slab` bytes.
        let memory = unsafe { std::slice::from_raw_parts_mut(place.start, in_slab as usize) };
        let began = if in_slab >= TIMED { now() } else { 0 };
        if beside {
            source.write_parts(memory);
        } else {
            source.write_body(memory);
        }
        if began != 0 {
            self.status().add_transferred(now() - began);
        }
        self.post_placed(to, header, block, head, source.number())
    }

    /// Memory to fill in place: `len` bytes for an array's elements.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub fn loan(&mut self, len: u64) -> Result<Loan, ShmError> {
        let block = match self.block(len.max(1)) {
            Ok(Some(block)) => block,
            Ok(None) => return Err(self.no_loan(len)),
            Err(error) => return Err(error),
        };
        self.pool.lend(block, len as usize);
        let start = NonNull::new(self.pool.place(block).start).expect("a mapping does not begin at 0");
        Ok(Loan { block, start, len: len as usize })
    }

    #[cold]
    fn no_loan(&self, bytes: u64) -> ShmError {
        ShmError::OutOfMemory {
            bytes,
            reason: format!(
                "{}; use send instead of a loan, which passes a large message on in pieces",
                self.denied
            ),
        }
    }

    /// Keeps the pages of a loan mapped, also after it was sent.
    pub fn loan_pages(&self, loan: &Loan) -> Arc<Mapping> {
        self.pool.pages(loan.block)
    }

    /// Sends what a loan holds, described by `head` (at most 232 bytes; `number` as `Source::number`), with `body_len`
    /// bytes in all.
    ///
    /// # Errors
    /// As `send`. The loan is gone in any case.
    #[inline]
    pub fn send_loan(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        loan: Loan,
        (head, number): (&[u8], u64),
        body_len: u64,
    ) -> Result<(), ShmError> {
        header.set_body(1, body_len);
        if head.len() > INLINE_HEAD {
            return Err(self.too_long_a_head(loan, head.len()));
        }
        if to.is_empty() {
            self.pool.give_back(loan.block);
            return Ok(());
        }
        if let Err(error) = self.claim(to, cost(body_len)) {
            self.pool.give_back(loan.block);
            return Err(error);
        }
        self.post_placed(to, header, loan.block, head, number)
    }

    #[cold]
    fn too_long_a_head(&mut self, loan: Loan, len: usize) -> ShmError {
        self.return_loan(loan);
        ShmError::Malformed(format!("a loan's description of {len} bytes"))
    }

    /// Takes a loan back unsent.
    pub fn return_loan(&mut self, loan: Loan) {
        self.pool.give_back(loan.block);
    }

    /// Ends a channel: its receiver learns that nothing more comes.
    pub fn end_channel(&mut self, channel: usize) -> Result<(), ShmError> {
        let header = HeaderWords::from(Header { kind: Kind::End, ..Header::default() });
        self.claim(&[channel], cost(0))?;
        self.body.used = 0;
        self.post(&[channel], header)
    }

    /// Whether all receivers of `to` have been told settings overlay `number`.
    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        to.iter().all(|&channel| self.out[self.sends[channel].peer].overlays.contains(&number))
    }

    /// Makes sure that the receivers of `to` know settings overlay `number`, whose body `plan` holds.
    pub fn announce_overlay(&mut self, to: &[usize], number: u32, plan: &Plan<'_, '_>) -> Result<(), ShmError> {
        for &channel in to {
            let peer = self.sends[channel].peer;
            if self.out[peer].overlays.contains(&number) {
                continue;
            }
            let mut header = Header { kind: Kind::Overlay, overlay: number, ..Header::default() };
            header.parts = plan.parts();
            header.body_len = plan.body_len();
            header.conduit = self.sends[channel].id;
            if header.body_len <= BODY_BYTES as u64 {
                self.body.inline(plan);
                self.write_slot(peer, &header.encode(), self.body.used, None)?;
            } else {
                let block = self.block(header.body_len)?.ok_or_else(|| ShmError::OutOfMemory {
                    bytes: header.body_len,
                    reason: "no memory for a settings overlay".into(),
                })?;
                let place = self.pool.place(block);
                // SAFETY: as in `send`.
                plan.write_body(unsafe {
                    std::slice::from_raw_parts_mut(place.start, header.body_len as usize)
                });
                header.carrier_flags |= flags::PLACED;
                // The whole body stands in the slab: a head longer than fits says so.
                self.body.placed(&place, block, &[]);
                self.body.words[2] = header.body_len.max(INLINE_HEAD as u64 + 1);
                if let Err(error) = self.write_slot(peer, &header.encode(), self.body.used, Some(block)) {
                    self.pool.give_back(block);
                    return Err(error);
                }
                self.pool.posted(block);
            }
            self.out[peer].overlays.push(number);
        }
        Ok(())
    }

    /// Waits until every channel of `to` can take `cost` more bytes, and books them.
    #[inline(always)]
    fn claim(&mut self, to: &[usize], cost: u64) -> Result<(), ShmError> {
        for &channel in to {
            let out = &self.sends[channel];
            if out.sent.saturating_sub(out.credited) + cost > out.budget && !self.has_credit(channel, cost) {
                self.await_credit(channel, cost)?;
            }
        }
        for &channel in to {
            self.sends[channel].sent += cost;
        }
        Ok(())
    }

    #[cold]
    fn await_credit(&mut self, channel: usize, cost: u64) -> Result<(), ShmError> {
        self.wait_until(Awaiting::Credit { channel, cost }, FOR_CREDIT, None, |me| {
            Ok(me.has_credit(channel, cost))
        })
    }

    /// Takes a claim back: the message was sent to nobody, so nobody will return its credit.
    #[cold]
    fn unclaim(&mut self, to: &[usize], cost: u64, error: ShmError) -> ShmError {
        for &channel in to {
            self.sends[channel].sent -= cost;
        }
        error
    }

    fn has_credit(&mut self, index: usize, cost: u64) -> bool {
        let channel = &self.sends[index];
        let fits = |credited: u64| {
            let under_way = channel.sent.saturating_sub(credited);
            under_way == 0 || under_way + cost <= channel.budget
        };
        if fits(channel.credited) {
            return true;
        }
        let peer = &self.out[channel.peer];
        if peer.ended {
            return true;
        }
        let Some(ring) = &peer.ring else {
            return true;
        };
        let credited = ring.front.credit(channel.credit).map_or(0, |word| word.load(Ordering::Acquire));
        let enough = fits(credited);
        self.sends[index].credited = credited.min(self.sends[index].sent);
        enough
    }

    /// Writes the slot of one message, with the body that is ready, to each receiver. After an error, such as a wait
    /// for room that a signal ended, no receiver has got it, and what was claimed is free again.
    #[inline(always)]
    fn post(&mut self, to: &[usize], mut header: HeaderWords) -> Result<(), ShmError> {
        if let Err(error) = self.have_room_for_many(to) {
            return Err(self.unclaim(to, cost(0), error));
        }
        for &channel in to {
            let out = &self.sends[channel];
            header.set_conduit(out.id, out.sequence);
            if let Err(error) = self.write_slot(out.peer, &header.0, self.body.used, None) {
                return Err(self.unclaim(to, cost(0), error));
            }
            self.sends[channel].sequence += 1;
        }
        self.count_out(to, &header);
        Ok(())
    }

    /// Writes the slot of one message whose body lies in a block to each receiver: its place and its head, or its place
    /// alone, where the receiver knows the head. After an error it is as after one of `post`, and the block is free.
    #[inline(always)]
    fn post_placed(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        block: BlockId,
        head: &[u8],
        number: u64,
    ) -> Result<(), ShmError> {
        if let Err(error) = self.have_room_for_many(to) {
            return Err(self.unposted(to, header.body_len(), block, error));
        }
        let place = self.pool.place(block);
        header.set_carrier_flag(flags::PLACED);
        let mut written = false;
        for &channel in to {
            let out = &self.sends[channel];
            header.set_conduit(out.id, out.sequence);
            let same = number != 0 && number == out.last_head;
            let wrote = match packed(block, place.slab, place.offset) {
                Some(packed) if same => {
                    let mut short = header;
                    short.set_as_before(packed);
                    self.write_slot(out.peer, &short.0, 0, Some(block))
                }
                _ => {
                    if !written {
                        self.body.placed(&place, block, head);
                        written = true;
                    }
                    let wrote = self.write_slot(out.peer, &header.0, self.body.used, Some(block));
                    if wrote.is_ok() {
                        self.sends[channel].last_head = if head.len() <= KNOWN_HEAD { number } else { 0 };
                    }
                    wrote
                }
            };
            if let Err(error) = wrote {
                return Err(self.unposted(to, header.body_len(), block, error));
            }
            self.sends[channel].sequence += 1;
        }
        self.pool.posted(block);
        self.count_out(to, &header);
        Ok(())
    }

    /// Takes back what was done for a message in a block that no receiver got.
    #[cold]
    fn unposted(&mut self, to: &[usize], body_len: u64, block: BlockId, error: ShmError) -> ShmError {
        self.pool.give_back(block);
        self.unclaim(to, cost(body_len), error)
    }

    #[inline(always)]
    fn count_out(&self, to: &[usize], header: &HeaderWords) {
        if header.is_data() {
            self.front.status().count_sent(header.body_len() * to.len() as u64, header.timestamp());
        }
    }

    /// Writes a slot and wakes its reader if need be.
    #[inline(always)]
    fn write_slot(
        &mut self,
        peer: usize,
        header: &[u64; 8],
        used: usize,
        block: Option<BlockId>,
    ) -> Result<(), ShmError> {
        if self.out[peer].ring.as_mut().is_none_or(|ring| ring.writer.room() == 0) {
            self.make_room(peer, 1)?;
        }
        let to = &mut self.out[peer];
        if to.ended {
            return Ok(());
        }
        let ring = to.ring.as_mut().expect("it was just opened");
        if let Some(block) = block {
            self.pool.used_by(block, peer as u32);
        }
        ring.writer.publish(header, &self.body.words[..used]);
        if let Some(bell) = self.board.doorbell(to.endpoint) {
            bell.ring_if_parked(FOR_MESSAGES);
        }
        Ok(())
    }

    /// As `have_room`; a single write needs none of it, since it fails before anything was written, or not at all.
    #[inline(always)]
    fn have_room_for_many(&mut self, to: &[usize]) -> Result<(), ShmError> {
        match to.len() {
            0 | 1 => Ok(()),
            _ => self.have_room(to),
        }
    }

    /// Sees to it that one slot can be written for each channel of `to`, so that these writes cannot fail.
    fn have_room(&mut self, to: &[usize]) -> Result<(), ShmError> {
        if to.iter().all(|&channel| self.room_to(self.sends[channel].peer) >= to.len()) {
            return Ok(());
        }
        // In a fixed order, so that a simulated run can be played again.
        let mut needed: BTreeMap<usize, usize> = BTreeMap::new();
        for &channel in to {
            *needed.entry(self.sends[channel].peer).or_default() += 1;
        }
        needed.into_iter().try_for_each(|(peer, slots)| self.make_room(peer, slots))
    }

    /// Opens the ring to a peer, goes on in larger segments, or waits for the reader, until so many slots can be
    /// written.
    #[cold]
    fn make_room(&mut self, peer: usize, slots: usize) -> Result<(), ShmError> {
        if self.out[peer].ring.is_none() && !self.out[peer].ended {
            self.open_ring(peer)?;
        }
        while self.room_to(peer) < slots {
            if !self.grow_ring(peer) {
                return self.wait_until(Awaiting::Slots { peer }, FOR_CREDIT, None, |me| {
                    Ok(me.room_to(peer) >= slots)
                });
            }
        }
        Ok(())
    }

    /// How many slots can be written to a peer; any number to one that has ended, since they go nowhere.
    fn room_to(&mut self, peer: usize) -> usize {
        let OutPeer { ended, ring, .. } = &mut self.out[peer];
        match ring {
            _ if *ended => usize::MAX,
            Some(ring) => ring.writer.room(),
            None => 0,
        }
    }

    /// Goes on in a segment of twice the size. False if there is no memory for one, or no ring.
    fn grow_ring(&mut self, peer: usize) -> bool {
        let Some(ring) = &mut self.out[peer].ring else { return false };
        let taken = ring.writer.taken();
        while let Some(&(offset, slots, end)) = ring.leaving.front() {
            if taken < end {
                break;
            }
            self.outbox.give_back(offset, slots);
            ring.leaving.pop_front();
        }
        let (_, slots) = ring.segment;
        let Some(offset) = self.outbox.take(slots * 2) else {
            return false;
        };
        let header = Header { kind: Kind::Carrier, ..Header::default() };
        let first = self.outbox.slots(offset, slots * 2);
        // SAFETY: the segment lies in the outbox, which lives as long as the endpoint and its writers.
        unsafe {
            ring.writer.jump(&header.encode(), &[offset, u64::from(slots) * 2], first, slots as usize * 2)
        };
        ring.leaving.push_back((ring.segment.0, slots, ring.writer.written()));
        ring.segment = (offset, slots * 2);
        true
    }

    fn open_ring(&mut self, peer: usize) -> Result<(), ShmError> {
        let to = self.out[peer].endpoint;
        let offset = self.outbox.take(FIRST_SLOTS).ok_or_else(|| ShmError::OutOfMemory {
            bytes: 0,
            reason: "this instance has no room for another ring".into(),
        })?;
        let Opened { area, layout, inbox } = self.custodian.open_ring(to, offset, FIRST_SLOTS)?;
        if inbox >= layout.inboxes {
            return Err(ShmError::Malformed(format!("inbox {inbox} of {}", layout.inboxes)));
        }
        let front = Front::new(Mapping::readable(&area, 0, layout.front())?, layout)?;
        let (at, len) = layout.inbox(inbox);
        let inbox = Inbox::new(Mapping::readable(&area, at, len)?)?;
        let taken = NonNull::from(inbox.taken());
        // SAFETY: the outbox and the inbox live as long as the writer, which goes with them.
        let writer =
            unsafe { RingWriter::new(self.outbox.slots(offset, FIRST_SLOTS), FIRST_SLOTS as usize, taken) };
        let segment = (offset, FIRST_SLOTS);
        self.out[peer].ring = Some(OutRing { writer, front, inbox, segment, leaving: VecDeque::new() });
        Ok(())
    }

    /// A block for `len` bytes with its pages in place. None when the run's memory does not allow it.
    #[inline(always)]
    fn block(&mut self, len: u64) -> Result<Option<BlockId>, ShmError> {
        match self.pool.at_hand(len) {
            Some(block) => Ok(Some(block)),
            None => self.another_block(len),
        }
    }

    #[inline(never)]
    fn another_block(&mut self, len: u64) -> Result<Option<BlockId>, ShmError> {
        if self.pool.wants_another(len) {
            match self.custodian.new_slab(slab_size(len)) {
                Ok(granted) => self.add_slab(granted, len)?,
                Err(ShmError::OutOfMemory { .. }) => self.pool.no_other(len),
                Err(error) => return Err(error),
            }
        }
        let out = &self.out;
        if let Some(block) = self.pool.take(len, done_with(out)) {
            self.pool.populate(block, len as usize)?;
            return Ok(Some(block));
        }
        self.grow_pool(len)
    }

    #[cold]
    fn grow_pool(&mut self, len: u64) -> Result<Option<BlockId>, ShmError> {
        let size = slab_size(len);
        let granted = match self.custodian.new_slab(size) {
            Err(ShmError::OutOfMemory { .. }) => {
                // What lies idle in other size classes goes back first.
                for slab in self.pool.trim(size, done_with(&self.out)) {
                    self.custodian.drop_slab(slab)?;
                }
                self.custodian.new_slab(size)
            }
            other => other,
        };
        let (id, fd) = match granted {
            Ok(granted) => granted,
            Err(ShmError::OutOfMemory { reason, .. }) => {
                self.denied = reason;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.add_slab((id, fd), len)?;
        let block = self.pool.take(len, done_with(&self.out)).expect("a slab was just added");
        self.pool.populate(block, len as usize)?;
        Ok(Some(block))
    }

    fn add_slab(&mut self, (id, fd): (u32, OwnedFd), len: u64) -> Result<(), ShmError> {
        let map = Mapping::writable(&fd, 0, slab_size(len) as usize)?;
        if !stays_in_caches(len) {
            crate::memory::seal_against_writers(&fd)?;
        }
        self.pool.add_slab(id, map, len)
    }

    /// Passes a message on in chunks, for which the credit is claimed already: each chunk waits for a block that
    /// can be had, the receivers put the pieces together in memory of their own. After an error, such as a wait that a
    /// signal ended, it is as if the message had not been sent: the receivers let go of the pieces.
    #[cold]
    fn stream(&mut self, to: &[usize], mut header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        header.set_carrier_flag(flags::STREAM);
        let body_len = header.body_len();
        let mut at = 0;
        // All chunks ask for blocks of one size, so that each can have what the one before gave back.
        let window = CHUNK.min(body_len);
        while at < body_len {
            let len = window.min(body_len - at);
            let block = match self.chunk_block(window, body_len, at == 0) {
                Ok(block) => block,
                Err(error) => return Err(self.give_up(to, header, at, error)),
            };
            if let Err(error) = self.have_room(to) {
                self.pool.give_back(block);
                return Err(self.give_up(to, header, at, error));
            }
            let place = self.pool.place(block);
            // SAFETY: as in `send`.
            let memory = unsafe { std::slice::from_raw_parts_mut(place.start, len as usize) };
            source.copy_range(at..at + len, memory);
            let ids = u64::from(place.slab) | u64::from(block) << 32;
            self.body.words[..4].copy_from_slice(&[ids, place.offset, len, at]);
            self.body.used = 4;
            for &channel in to {
                let out = &self.sends[channel];
                header.set_conduit(out.id, out.sequence);
                self.write_slot(out.peer, &header.0, self.body.used, Some(block))?;
            }
            self.pool.posted(block);
            at += len;
        }
        for &channel in to {
            self.sends[channel].sequence += 1;
        }
        self.status().count_sent(body_len * to.len() as u64, header.timestamp());
        Ok(())
    }

    /// Ends a streamed message of which `at` bytes were passed on. What was claimed for it is free again, since it will
    /// never be received; the receivers are told where that needs no wait, and else notice by what comes next.
    fn give_up(&mut self, to: &[usize], mut header: HeaderWords, at: u64, error: ShmError) -> ShmError {
        for &channel in to.iter().filter(|_| at > 0) {
            let out = &self.sends[channel];
            let peer = out.peer;
            header.set_conduit(out.id, out.sequence);
            self.body.words[..4].copy_from_slice(&[0, 0, 0, GIVEN_UP]);
            self.body.used = 4;
            if self.room_to(peer) > 0 || self.grow_ring(peer) {
                // With room, this does not fail; and the error that there is says more.
                let _ = self.write_slot(peer, &header.0, self.body.used, None);
            }
        }
        self.unclaim(to, cost(header.body_len()), error)
    }

    /// A block for one chunk, waiting for one to come back if there is no memory for another.
    fn chunk_block(&mut self, len: u64, total: u64, first: bool) -> Result<BlockId, ShmError> {
        if let Some(block) = self.block(len)? {
            return Ok(block);
        }
        let mut got = None;
        let mut ask_at = self.custodian.now() + ASK_AGAIN;
        let waited = self.wait_until(Awaiting::Memory, FOR_CREDIT, None, |me| {
            // Who was about to sleep is asked again after it said yes.
            if got.is_some() {
                return Ok(true);
            }
            got = me.pool.take(len, done_with(&me.out));
            if got.is_none() {
                let idle = me.pool.trim(len, done_with(&me.out));
                // Others may have given some back, which nobody tells us.
                let asks_again = !idle.is_empty() || me.look_again.is_some() || me.custodian.now() >= ask_at;
                if asks_again {
                    ask_at = me.custodian.now() + ASK_AGAIN;
                }
                for slab in idle {
                    me.custodian.drop_slab(slab)?;
                }
                got = if asks_again { me.block(len)? } else { None };
            }
            // A later chunk always has the block of the one before to wait for.
            if got.is_none() && first && !me.pool.any_outstanding() {
                return Err(ShmError::OutOfMemory {
                    bytes: total,
                    reason: format!(
                        "{}; not even a window to pass the message on in pieces can be had: raise `memory` under \
                         `ligament:` in the model, or free memory",
                        me.denied
                    ),
                });
            }
            Ok(got.is_some())
        });
        match (waited, got) {
            (Ok(()), got) => Ok(got.expect("the wait was for it")),
            // It came just when a signal did.
            (Err(error), Some(block)) => {
                self.pool.give_back(block);
                Err(error)
            }
            (Err(error), None) => Err(error),
        }
    }
}

/// Whether a peer is done with a block that it had so many times.
pub(super) fn done_with(out: &[OutPeer]) -> impl Fn(u32, BlockId, u32) -> bool + '_ {
    |peer, block, due| out[peer as usize].is_done_with(block, due)
}
