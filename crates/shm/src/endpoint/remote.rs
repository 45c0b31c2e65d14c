//! The endpoint of a carrier, which stands for the instances of other domains. It takes messages from its
//! rings, and returns their credit only when it learns that the receivers in other domains have received
//! them. It also publishes messages from other domains; their senders have claimed the credit there. Nothing
//! here waits, except for answers of the agent.

use super::arrived::{ArrivedMessage, INLINE_HEAD_BYTES};
use super::receive::cost;
use super::send::{foreign_loan, Loan};
use super::stream::CHUNK_BYTES;
use super::{Custodian, Endpoint};
use crate::board::Board;
use crate::memory::ShmError;
use crate::ring::BODY_BYTES;
use ligament_catalogue::fault;
use ligament_wire::{align_part, flags, head_len, EndpointId, HeaderWords};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// The body of a message from another domain.
pub enum RemoteBody<'a> {
    /// A body of at most 256 bytes, which goes into the ring's entry.
    Small(&'a [u8]),
    /// The body lies in this block and begins at this byte. It may be published to more receivers. `posted`
    /// must follow when all of them have it.
    Placed(&'a mut Loan, u64),
}

/// A handle with which the owner of an endpoint can sleep without holding the endpoint.
pub struct ParkingPlace {
    board: Arc<Board>,
    index: EndpointId,
    seen: u32,
}

impl ParkingPlace {
    /// Sleeps until the doorbell rings, or until `at_most` has passed.
    pub fn sleep(&self, at_most: Duration) {
        if let Some(bell) = self.board.doorbell(self.index) {
            bell.sleep(self.seen, at_most);
        }
    }
}

impl ArrivedMessage {
    /// Returns the cost of the message in its channel's budget, bytes.
    pub fn cost(&self) -> u64 {
        cost(if self.in_slab() { self.header.body_len() } else { 0 })
    }

    /// Returns the message's header in the form that travels between domains. Of the carrier's flags only
    /// `PLACED` remains. It says that the body takes memory of a slab, so that the message has the same cost
    /// in both domains.
    pub fn header_elsewhere(&self) -> HeaderWords {
        let mut header = self.header;
        header.0[0] &= !(u64::from(flags::CARRIER) << 16);
        if self.in_slab() {
            header.set_carrier_flag(flags::PLACED);
        }
        header
    }

    /// Returns true if both messages have their body in the same block, and the same body.
    pub fn has_body_of(&self, other: &ArrivedMessage) -> bool {
        let (head, zeros, parts) = self.body();
        let (other_head, other_zeros, other_parts) = other.body();
        let same = std::ptr::eq(parts, other_parts) && (head, zeros) == (other_head, other_zeros);
        same && self.in_slab() && other.in_slab() && self.header.parts() == other.header.parts()
    }
}

impl<C: Custodian> Endpoint<C> {
    // --- messages from instances of this domain to other domains ---

    /// Makes this endpoint a carrier: arriving messages are noted for `gather`.
    pub fn stand_in(&mut self) {
        self.served = Some(Box::default());
        self.bell().stands_for_others();
    }

    /// Takes in all messages that have arrived, and handles the notices of the agent. Appends to `into` the
    /// index of each message's channel, once per message.
    ///
    /// # Errors
    /// `RunEnds`, `AgentGone`; `Malformed`.
    pub fn gather(&mut self, into: &mut Vec<u32>) -> Result<(), ShmError> {
        self.hear_agent()?;
        let taken = self.take_in();
        self.look_again = None;
        if let Some(served) = &mut self.served {
            into.append(&mut served.arrived);
            served.budgets.clear();
        }
        taken
    }

    /// Takes the first message that waits on a channel. Its credit is not returned yet.
    pub fn take_off(&mut self, channel: usize) -> Option<Box<ArrivedMessage>> {
        self.receives[channel].queue.pop_front()
    }

    /// Returns the number of a channel's sender among the peers of this endpoint.
    pub fn sender(&self, channel: usize) -> usize {
        self.receives[channel].peer
    }

    /// Sets the total number of bytes of a channel that were received, and so returns credit to the sender.
    pub fn set_credit(&mut self, channel: usize, bytes: u64) {
        let known = &mut self.receives[channel];
        known.credited = known.credited.max(bytes);
        if let Some(credit) = self.front.credit(channel as u32) {
            credit.store(known.credited, Ordering::Release);
        }
        if let Some(ring) = &self.inn[known.peer].ring {
            ring.lent.link().wake_sender();
        }
    }

    /// Tells the senders of all released blocks, and takes back the blocks that receivers have released.
    pub fn settle(&mut self) {
        for ring in self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()) {
            ring.lent.take_back(usize::MAX);
        }
        self.tidy();
    }

    // --- messages from other domains to instances of this domain ---

    /// Claims a block for a message of `len` bytes, of which the first `placed` bytes can be written.
    /// Returns None if the run's memory limit does not allow it.
    ///
    /// # Errors
    /// `AgentGone`, `System`; `OutOfMemory` if the system has less memory than the run may use.
    pub fn claim_block(&mut self, len: u64, placed: u64) -> Result<Option<Loan>, ShmError> {
        let len = len.max(1);
        let block = match self.pool.at_hand(len) {
            Some(block) => block,
            None => match self.another_block(len, placed.min(len))? {
                Some(block) => block,
                None => return Ok(None),
            },
        };
        self.pool.copies();
        Ok(Some(Loan::new(&self.pool, block, len as usize)))
    }

    /// Allocates the pages of the first `placed` bytes of a claimed block, so that writing them cannot fail.
    ///
    /// # Errors
    /// `OutOfMemory` if the system has less memory than the run may use. The block is free again then.
    pub fn place_more(&mut self, loan: Loan, placed: usize) -> Result<Loan, ShmError> {
        if !self.pool.has(loan.block, loan.start()) {
            return Err(foreign_loan());
        }
        self.pool.populate(loan.block, placed.min(loan.len()))?;
        Ok(loan)
    }

    /// Returns true if a message can be published on a channel without waiting for its receiver.
    ///
    /// # Errors
    /// The ring to the receiver cannot be opened.
    pub fn has_room(&mut self, channel: usize) -> Result<bool, ShmError> {
        let peer = self.sends[channel].peer;
        if self.out[peer].ring.is_none() && !self.out[peer].ended {
            self.open_ring(peer)?;
        }
        Ok(self.room_to(peer) > 0 || self.grow_ring(peer))
    }

    /// Publishes a message, regardless of the channel's budget. `has_room` must have returned true.
    ///
    /// # Errors
    /// `Malformed` if the message is not the next one of its channel, or is not a message.
    pub fn publish(
        &mut self,
        channel: usize,
        header: HeaderWords,
        body: RemoteBody<'_>,
    ) -> Result<(), ShmError> {
        let mut header = self.next_of(channel, header)?;
        let block = match body {
            RemoteBody::Small(bytes) => {
                let words: &mut [u8] = bytemuck::cast_slice_mut(&mut self.body.words);
                words[..bytes.len()].copy_from_slice(bytes);
                self.body.used = bytes.len().div_ceil(8);
                None
            }
            RemoteBody::Placed(loan, _) if !self.pool.has(loan.block, loan.start()) => {
                return Err(foreign_loan())
            }
            RemoteBody::Placed(loan, at) => {
                let (parts, body_len) = (header.parts(), header.body_len());
                let block = loan.block;
                let mut place = self.pool.place(block);
                place.offset += at;
                let body = &loan.bytes_mut()[at as usize..][..body_len as usize];
                let head_len = head_len(parts, body).map_err(super::receive::malformed)?;
                let head = usize::try_from(head_len).ok().and_then(|len| body.get(..len)).unwrap_or(body);
                if head.len() <= INLINE_HEAD_BYTES {
                    // The entry has the same form as those of senders in this domain: the preamble stands
                    // beside the place of the parts.
                    place.offset += align_part(head_len);
                }
                self.body.placed(&place, block, head);
                header.set_carrier_flag(flags::PLACED);
                Some(block)
            }
        };
        self.write_entry(self.sends[channel].peer, &header.0, self.body.used, block)?;
        self.published(channel, &header, cost(block.map_or(0, |_| header.body_len())));
        Ok(())
    }

    /// Gives up a block whose message was published to all its receivers. The block is free when they have
    /// released it. A loan of another endpoint is ignored.
    pub fn posted(&mut self, loan: Loan) {
        if self.pool.has(loan.block, loan.start()) {
            self.pool.posted(loan.block);
        }
    }

    /// Publishes the piece from byte `at` on of a message for which there is no block of its whole size.
    /// `has_room` must have returned true. Returns the number of bytes of the piece, or None if there is no
    /// memory now, but receivers will release some.
    ///
    /// # Errors
    /// `OutOfMemory` if there is no memory and waiting would not help. `Malformed` as for `publish`.
    pub fn publish_piece(
        &mut self,
        channel: usize,
        header: HeaderWords,
        body: &[u8],
        at: u64,
    ) -> Result<Option<u64>, ShmError> {
        let mut header = self.next_of(channel, header)?;
        let body_len = body.len() as u64;
        // All pieces use blocks of one size, so that each piece can use the block that an earlier one has
        // released.
        let window = CHUNK_BYTES.min(body_len);
        let Some(block) = self.block(window)? else {
            if at == 0 && !self.pool.any_outstanding() {
                let reason = fault!(
                    MEMORY_SPENT,
                    "{}; not even a window to pass the message on in pieces can be had",
                    self.denied
                );
                return Err(ShmError::OutOfMemory { bytes: body_len, reason });
            }
            return Ok(None);
        };
        let len = window.min(body_len - at);
        let place = self.pool.place(block);
        // SAFETY: the block is ours alone until it is posted, and has room for `window` bytes.
        let memory = unsafe { std::slice::from_raw_parts_mut(place.start, len as usize) };
        memory.copy_from_slice(&body[at as usize..][..len as usize]);
        header.set_carrier_flag(flags::STREAM);
        self.body.words[..4].copy_from_slice(&[
            u64::from(place.slab) | u64::from(block) << 32,
            place.offset,
            len,
            at,
        ]);
        self.body.used = 4;
        self.write_entry(self.sends[channel].peer, &header.0, self.body.used, Some(block))?;
        self.pool.posted(block);
        if at + len == body_len {
            self.published(channel, &header, cost(body_len));
        }
        Ok(Some(len))
    }

    /// Returns the header, in the form for this domain, of the next message of a channel.
    fn next_of(&mut self, channel: usize, mut header: HeaderWords) -> Result<HeaderWords, ShmError> {
        header.check().map_err(super::receive::malformed)?;
        let out = &self.sends[channel];
        if (header.conduit(), header.sequence()) != (out.id, out.sequence) {
            return Err(ShmError::Malformed(format!(
                "message {} of channel {} came from elsewhere where message {} of channel {} was due",
                header.sequence(),
                header.conduit(),
                out.sequence,
                out.id
            )));
        }
        header.0[0] &= !(u64::from(flags::CARRIER) << 16);
        Ok(header)
    }

    fn published(&mut self, channel: usize, header: &HeaderWords, cost: u64) {
        let out = &mut self.sends[channel];
        out.sequence += 1;
        out.sent += cost;
        self.count_out(&[channel], header);
    }

    /// Returns the total number of bytes sent on a channel, and the number of these that were received.
    pub fn progress(&self, channel: usize) -> (u64, u64) {
        let out = &self.sends[channel];
        let ring = self.out[out.peer].ring.as_ref();
        let word = ring.and_then(|ring| ring.front.credit(out.credit));
        (out.sent, word.map_or(0, |word| word.load(Ordering::Acquire)))
    }

    /// Returns the budget of an outgoing channel: the maximum number of bytes under way.
    pub fn budget(&self, channel: usize) -> u64 {
        self.sends[channel].budget
    }

    /// Returns the number of receivers of this endpoint that have ended.
    pub fn ended(&self) -> usize {
        self.out.iter().filter(|peer| peer.ended).count()
    }

    /// Returns true if the receiver of a channel has ended.
    pub fn has_ended(&self, channel: usize) -> bool {
        self.out[self.sends[channel].peer].ended
    }

    // --- parking ---

    /// Returns true if `gather` would find a message or a notice.
    pub fn stirs(&self) -> bool {
        self.bell().control() != self.control_seen
            || self.inn.iter().any(|peer| peer.ring.as_ref().is_some_and(|ring| ring.reader.ready()))
    }

    /// Begins a park: from now on other processes ring for `what` (`FOR_MESSAGES`, `FOR_CREDIT`). The caller
    /// must look once more for events, and may then sleep with the returned handle. Other threads may use
    /// the endpoint meanwhile. `get_up` ends the park.
    pub fn lie_down(&mut self, what: u32) -> ParkingPlace {
        self.board.fall_asleep(self.bell());
        let seen = self.bell().lie_down(what);
        ParkingPlace { board: self.board.clone(), index: self.index, seen }
    }

    /// Returns a handle for sleeping while another thread is awake for this endpoint. That thread calls
    /// `lie_down` before it sleeps itself.
    pub fn bed(&self) -> ParkingPlace {
        ParkingPlace { board: self.board.clone(), index: self.index, seen: self.bell().seen() }
    }

    /// Wakes all threads that sleep on this endpoint's doorbell.
    pub fn rouse(&self) {
        self.bell().rouse();
    }

    /// Ends a park.
    pub fn get_up(&mut self) {
        self.bell().get_up();
        self.board.wake_up(self.bell());
    }
}

const _: () = assert!(INLINE_HEAD_BYTES < BODY_BYTES);
