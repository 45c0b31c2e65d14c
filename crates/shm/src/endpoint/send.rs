//! Sending: one message is written once for all its receivers. A small body goes into the ring's entry. A
//! larger body is copied once into a block of a slab; a loan is in its block already, so nothing is copied.
//! If memory is short, the message goes in chunks through a window.

use super::arrived::{INLINE_HEAD_BYTES, KNOWN_PREAMBLE_BYTES};
use super::peers::OutPeer;
use super::receive::{cost, in_slab};
use super::source::Source;
use super::wait::WaitTarget;
use super::{Custodian, Endpoint};
use crate::board::{FOR_CREDIT, FOR_MESSAGES};
use crate::memory::{Mapping, ShmError};
use crate::ring::BODY_BYTES;
use crate::slab::{packed, slab_size, stays_in_caches, BlockId, BlockPool};
use ligament_catalogue::fault;
use ligament_wire::{flags, ConduitEnd, EncodingPlan, Header, HeaderWords, MessageKind};
use rustix::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// A block that the code fills in place. The caller passes it to `send_loan` or `return_loan`. A loan keeps
/// its memory mapped, so the code can write to it as long as the loan exists, even after the endpoint is
/// dropped.
pub struct Loan {
    pub(super) block: BlockId,
    pages: Arc<Mapping>,
    offset: usize,
    len: usize,
}

impl Loan {
    /// Wraps a block that is used nowhere else, with room for `len` bytes.
    pub(super) fn new(pool: &BlockPool, block: BlockId, len: usize) -> Loan {
        let (pages, offset) = pool.pages(block);
        assert!(offset + len <= pages.len(), "a block lies in its slab");
        Loan { block, pages, offset, len }
    }

    /// Returns the address of the first byte, 64-byte aligned. `len` bytes may be written until the loan is
    /// sent or returned.
    pub fn start(&self) -> *mut u8 {
        // The address is in bounds, as `new` has checked.
        self.pages.start().wrapping_add(self.offset)
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block is this loan's alone until it is given away, lies within the mapping by `new`, and
        // stays mapped while the loan lives.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }

    /// Returns the mapping that contains the loan. It keeps the memory mapped even after the loan is sent.
    pub fn pages(&self) -> Arc<Mapping> {
        self.pages.clone()
    }

    /// Returns the number of bytes lent.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the loan has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Sends one value on the channels `to` (indices among the endpoint's outgoing channels). This function
    /// fills in the header's conduit, sequence, parts and lengths. Waits while a channel has no credit.
    ///
    /// # Errors
    /// `OutOfMemory` when there is no memory for the message and waiting would free none; no receiver gets
    /// the message then. Otherwise the errors of a wait.
    #[inline]
    pub fn send(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        if let &[only] = to {
            let body = source.as_before();
            let ordinary = body.is_some() || source.body_len() == 0;
            if ordinary && self.send_ordinary(only, &header, body) {
                return Ok(());
            }
        }
        let sent = self.send_generally(to, header, source);
        self.make_way_if_rang();
        sent
    }

    #[inline(never)]
    fn send_generally(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        let body_len = source.body_len();
        header.set_body(source.parts(), body_len);
        let small = body_len <= BODY_BYTES as u64;
        if small && (source.number() == 0 || !self.pool.takes_small()) {
            return self.send_inline(to, header, source);
        }
        self.claim(to, cost(body_len))?;
        let head = source.head();
        let beside = head.len() <= INLINE_HEAD_BYTES;
        let in_slab = if beside { source.parts_len() } else { body_len };
        let block = match self.block(in_slab) {
            Ok(Some(block)) => block,
            Ok(None) if small => return self.send_small_anyway(to, header, source),
            Ok(None) => return self.stream(to, header, source),
            Err(error) => return Err(self.unclaim(to, cost(body_len), error)),
        };
        self.pool.copies();
        let place = self.pool.place(block);
        let began = self.copy_begins(in_slab);
        let number = source.number();
        match source.elements().filter(|_| beside) {
            Some(elements) => self.copy_elements(to, number, elements, (block, place)),
            None => {
                // SAFETY: the block is ours alone until it is posted, and has room for `in_slab` bytes.
                let memory = unsafe { std::slice::from_raw_parts_mut(place.start, in_slab as usize) };
                if beside {
                    source.write_parts(memory)
                } else {
                    source.write_body(memory)
                }
            }
        }
        self.send_copy_ends(to, began);
        self.post_placed(to, header, block, head, number)
    }

    /// Sends a value whose body goes into the entry.
    #[inline(always)]
    fn send_inline(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        self.claim(to, cost(0))?;
        self.body.inline(source);
        self.post(to, header)
    }

    /// Sends a small value in the entry after all, because there is no memory for a block.
    #[cold]
    fn send_small_anyway(
        &mut self,
        to: &[usize],
        header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        self.pool.takes_no_small();
        for &channel in to {
            self.sends[channel].sent -= cost(header.body_len());
        }
        self.send_inline(to, header, source)
    }

    /// Lends a block with `len` bytes for the elements of an array, which the code fills in place.
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
        self.pool.lends();
        Ok(Loan::new(&self.pool, block, len as usize))
    }

    #[cold]
    fn no_loan(&self, bytes: u64) -> ShmError {
        ShmError::OutOfMemory {
            bytes,
            reason: fault!(
                MEMORY_SPENT,
                "{}; use send instead of a loan, which passes a large message on in pieces",
                self.denied
            ),
        }
    }

    /// Sends the contents of a loan. `head` is their preamble (at most 232 bytes), and `number` is the number
    /// of the preamble as in `Source::number`. `body_len` is the length of the whole body in bytes.
    ///
    /// # Errors
    /// As for `send`. The loan is used up in any case.
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
        if !self.pool.has(loan.block, loan.start()) {
            return Err(foreign_loan());
        }
        if head.len() > INLINE_HEAD_BYTES {
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
        let sent = self.post_placed(to, header, loan.block, head, number);
        self.make_way_if_rang();
        sent
    }

    #[cold]
    fn too_long_a_head(&mut self, loan: Loan, len: usize) -> ShmError {
        self.return_loan(loan);
        ShmError::Malformed(format!("a loan's description of {len} bytes"))
    }

    /// Takes back a loan that was not sent. A loan of another endpoint is ignored.
    pub fn return_loan(&mut self, loan: Loan) {
        if self.pool.has(loan.block, loan.start()) {
            self.pool.give_back(loan.block);
        }
    }

    /// Ends a channel: its receiver learns that no more messages follow.
    pub fn end_channel(&mut self, channel: usize, ending: ConduitEnd) -> Result<(), ShmError> {
        let header = HeaderWords::from(ending.header());
        self.claim(&[channel], cost(0))?;
        self.body.used = 0;
        self.sends[channel].ended = true;
        self.post(&[channel], header)
    }

    /// Returns true if all receivers of `to` have the settings overlay `number`.
    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        to.iter().all(|&channel| self.out[self.sends[channel].peer].overlays.contains(&number))
    }

    /// Sends the settings overlay `number`, whose body is in `plan`, to each receiver of `to` that does not
    /// have it yet.
    pub fn announce_overlay(
        &mut self,
        to: &[usize],
        number: u32,
        plan: &EncodingPlan<'_, '_>,
    ) -> Result<(), ShmError> {
        for &channel in to {
            let peer = self.sends[channel].peer;
            if self.out[peer].overlays.contains(&number) {
                continue;
            }
            let mut header = Header { kind: MessageKind::Overlay, overlay: number, ..Header::default() };
            header.parts = plan.parts();
            header.body_len = plan.body_len();
            header.conduit = self.sends[channel].id;
            if header.body_len <= BODY_BYTES as u64 {
                self.body.inline(plan);
                self.write_entry(peer, &header.encode(), self.body.used, None)?;
            } else {
                let block = self.block(header.body_len)?.ok_or_else(|| ShmError::OutOfMemory {
                    bytes: header.body_len,
                    reason: fault!(MEMORY_SPENT, "no memory for a settings overlay"),
                })?;
                let place = self.pool.place(block);
                // SAFETY: as in `send`.
                plan.write_body(unsafe {
                    std::slice::from_raw_parts_mut(place.start, header.body_len as usize)
                });
                header.carrier_flags |= flags::PLACED;
                // The whole body lies in the slab. The receiver knows this by a preamble length above the
                // maximum.
                self.body.placed(&place, block, &[]);
                self.body.words[2] = header.body_len.max(INLINE_HEAD_BYTES as u64 + 1);
                if let Err(error) = self.write_entry(peer, &header.encode(), self.body.used, Some(block)) {
                    self.pool.give_back(block);
                    return Err(error);
                }
                self.pool.posted(block);
            }
            self.out[peer].overlays.push(number);
        }
        Ok(())
    }

    /// Waits until every channel of `to` has credit for `cost` more bytes, and books these bytes as sent.
    #[inline(always)]
    pub(super) fn claim(&mut self, to: &[usize], cost: u64) -> Result<(), ShmError> {
        for &channel in to {
            let out = &self.sends[channel];
            if out.sent.saturating_sub(out.credited) + cost > out.at_once {
                self.claim_after_a_look(channel, cost)?;
            }
        }
        for &channel in to {
            self.sends[channel].sent += cost;
        }
        Ok(())
    }

    /// Returns an error if the message is too large for the channel. Otherwise waits until the channel has
    /// credit for it.
    #[inline(never)]
    fn claim_after_a_look(&mut self, channel: usize, cost: u64) -> Result<(), ShmError> {
        let (bytes, limit) = (in_slab(cost), self.sends[channel].limit);
        if bytes > limit.max(BODY_BYTES as u64) {
            return Err(ShmError::TooLarge { bytes, limit });
        }
        if self.has_credit(channel, cost) {
            return Ok(());
        }
        self.await_credit(channel, cost)
    }

    #[cold]
    fn await_credit(&mut self, channel: usize, cost: u64) -> Result<(), ShmError> {
        // An endpoint that serves many instances does not wait: the sending instance continues to the end of
        // its step and waits then.
        if let Some(served) = &mut self.served {
            served.overdrawn.push(super::Overdrawn { channel, until: cost });
            return Ok(());
        }
        self.wait_until(WaitTarget::Credit { channel, cost }, FOR_CREDIT, None, |me| {
            Ok(me.has_credit(channel, cost))
        })
    }

    /// Takes back a claim for a message that was not sent: no receiver will return its credit.
    #[cold]
    pub(super) fn unclaim(&mut self, to: &[usize], cost: u64, error: ShmError) -> ShmError {
        for &channel in to {
            self.sends[channel].sent -= cost;
        }
        error
    }

    pub(super) fn has_credit(&mut self, index: usize, cost: u64) -> bool {
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

    /// Writes the entry of one message, with the body in `self.body`, to each receiver. After an error, such
    /// as a signal during a wait for room, no receiver has the message, and its claim is taken back.
    #[inline(always)]
    fn post(&mut self, to: &[usize], mut header: HeaderWords) -> Result<(), ShmError> {
        if let Err(error) = self.have_room_for_many(to) {
            return Err(self.unclaim(to, cost(0), error));
        }
        for &channel in to {
            let out = &self.sends[channel];
            header.set_conduit(out.id, out.sequence);
            if let Err(error) = self.write_entry(out.peer, &header.0, self.body.used, None) {
                return Err(self.unclaim(to, cost(0), error));
            }
            self.sends[channel].sequence += 1;
        }
        self.count_out(to, &header);
        Ok(())
    }

    /// Writes the entry of one message whose body lies in a block to each receiver. The entry has the place
    /// of the block, and also the preamble unless the receiver knows it from the message before. After an
    /// error, no receiver has the message, its claim is taken back, and the block is free.
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
        for (at, &channel) in to.iter().enumerate() {
            let out = &self.sends[channel];
            header.set_conduit(out.id, out.sequence);
            header.set_shared(self.is_shared(out.peer, &to[at + 1..]));
            let same = number != 0 && number == out.last_head;
            let wrote = match packed(block, place.slab, place.offset) {
                Some(packed) if same => {
                    let mut short = header;
                    short.set_as_before(packed);
                    self.write_entry(out.peer, &short.0, 0, Some(block))
                }
                _ => {
                    if !written {
                        self.body.placed(&place, block, head);
                        written = true;
                    }
                    let wrote = self.write_entry(out.peer, &header.0, self.body.used, Some(block));
                    if wrote.is_ok() {
                        self.sends[channel].last_head =
                            if head.len() <= KNOWN_PREAMBLE_BYTES { number } else { 0 };
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

    /// Returns true if a peer is a carrier that also gets an entry for one of the channels `later`. Other
    /// peers need not know this.
    #[inline(always)]
    fn is_shared(&self, peer: usize, later: &[usize]) -> bool {
        let is_far = || self.board.doorbell(self.out[peer].endpoint).is_some_and(|bell| bell.is_far());
        !later.is_empty() && is_far() && later.iter().any(|&channel| self.sends[channel].peer == peer)
    }

    /// Frees the block of a message that no receiver got, and takes back its claim.
    #[cold]
    fn unposted(&mut self, to: &[usize], body_len: u64, block: BlockId, error: ShmError) -> ShmError {
        self.pool.give_back(block);
        self.unclaim(to, cost(body_len), error)
    }

    #[inline(always)]
    pub(super) fn count_out(&self, to: &[usize], header: &HeaderWords) {
        if header.is_data() {
            self.front.status().count_sent(header.body_len() * to.len() as u64, header.timestamp());
            if let Some(ends) = &self.ends {
                let ends = to.iter().filter_map(|&channel| ends.end(channel as u32));
                ends.for_each(|end| end.count(header.body_len(), header.timestamp()));
            }
        }
    }

    /// Writes an entry to a peer's ring and wakes the peer if it is parked for messages.
    #[inline(always)]
    pub(super) fn write_entry(
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
            if self.board.ring_if_parked(bell, FOR_MESSAGES) {
                self.rang = true;
            }
        }
        Ok(())
    }

    /// Returns a block for `len` bytes with its pages allocated. Returns None if the run's memory limit does
    /// not allow it.
    #[inline(always)]
    pub(super) fn block(&mut self, len: u64) -> Result<Option<BlockId>, ShmError> {
        match self.pool.at_hand(len) {
            Some(block) => Ok(Some(block)),
            None => self.another_block(len, len),
        }
    }

    /// Returns a block for `len` bytes; the pages of its first `placed` bytes are allocated.
    #[inline(never)]
    pub(super) fn another_block(&mut self, len: u64, placed: u64) -> Result<Option<BlockId>, ShmError> {
        if self.pool.wants_another(len) {
            match self.custodian.new_slab(slab_size(len)) {
                Ok(granted) => self.add_slab(granted, len)?,
                Err(ShmError::OutOfMemory { .. }) => self.pool.no_other(len),
                Err(error) => return Err(error),
            }
        }
        let out = &self.out;
        if let Some(block) = self.pool.take(len, done_with(out)) {
            self.pool.populate(block, placed as usize)?;
            return Ok(Some(block));
        }
        self.grow_pool(len, placed)
    }

    #[cold]
    fn grow_pool(&mut self, len: u64, placed: u64) -> Result<Option<BlockId>, ShmError> {
        let size = slab_size(len);
        let granted = match self.custodian.new_slab(size) {
            Err(ShmError::OutOfMemory { .. }) => {
                // Slabs of other size classes that are not in use are returned to the agent first.
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
                self.denied = reason.to_string();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.add_slab((id, fd), len)?;
        let block = self.pool.take(len, done_with(&self.out)).expect("a slab was just added");
        self.pool.populate(block, placed as usize)?;
        Ok(Some(block))
    }

    fn add_slab(&mut self, (id, fd): (u32, OwnedFd), len: u64) -> Result<(), ShmError> {
        let map = Mapping::writable(&fd, 0, slab_size(len) as usize)?;
        if !stays_in_caches(len) {
            crate::memory::seal_against_writers(&fd)?;
        }
        self.pool.add_slab(id, map, len)
    }
}

/// Makes the error for a loan of another endpoint: its block number means another block in this endpoint.
#[cold]
pub(super) fn foreign_loan() -> ShmError {
    ShmError::Malformed("a loan of another instance".into())
}

/// Returns the number of bytes that may be under way on a channel before the sender must look more closely.
/// A message above the limit always exceeds this number, so the check of the limit costs nothing for all
/// other messages.
pub(super) fn at_once(budget: u64, limit: u64) -> u64 {
    budget.min(cost(0).saturating_add(limit))
}

/// Returns a function that tells whether a peer has released a block that it had `due` times.
pub(super) fn done_with(out: &[OutPeer]) -> impl Fn(u32, BlockId, u32) -> bool + '_ {
    |peer, block, due| out[peer as usize].is_done_with(block, due)
}
