//! Sending messages that are larger than the available memory: in chunks, through a window.

use super::receive::cost;
use super::send::done_with;
use super::source::Source;
use super::wait::WaitTarget;
use super::{Custodian, Endpoint};
use crate::board::FOR_CREDIT;
use crate::memory::ShmError;
use crate::slab::BlockId;
use ligament_catalogue::fault;
use ligament_wire::{flags, HeaderWords};

/// Maximum size of a chunk of a streamed message, bytes.
pub(super) const CHUNK_BYTES: u64 = 4 << 20;
/// Value in place of a chunk's offset: the sender has given up the message.
pub(super) const GIVEN_UP: u64 = u64::MAX;
/// Time between two requests for memory to the agent during a wait for memory, ns.
const MEMORY_RETRY_NS: u64 = 1_000_000_000;

impl<C: Custodian> Endpoint<C> {
    /// Sends a message in chunks. The credit for it must be claimed already. Each chunk waits until a block
    /// is free. The receivers put the chunks together in memory of their own. After an error, such as a
    /// signal during a wait, the message counts as not sent: the receivers drop the chunks.
    #[cold]
    pub(super) fn stream(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        header.set_carrier_flag(flags::STREAM);
        let body_len = header.body_len();
        let mut at = 0;
        // All chunks use blocks of one size, so that each chunk can use the block that an earlier one has
        // released.
        let window = CHUNK_BYTES.min(body_len);
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
            let began = self.copy_begins(len);
            source.copy_range(at..at + len, memory);
            self.send_copy_ends(to, began);
            let ids = u64::from(place.slab) | u64::from(block) << 32;
            self.body.words[..4].copy_from_slice(&[ids, place.offset, len, at]);
            self.body.used = 4;
            for &channel in to {
                let out = &self.sends[channel];
                header.set_conduit(out.id, out.sequence);
                self.write_entry(out.peer, &header.0, self.body.used, Some(block))?;
            }
            self.pool.posted(block);
            at += len;
        }
        for &channel in to {
            self.sends[channel].sequence += 1;
        }
        self.count_out(to, &header);
        Ok(())
    }

    /// Gives up a streamed message of which `at` bytes were sent. Its claim is taken back, since the message
    /// will never be received. The receivers are told if that needs no wait; otherwise they notice it by the
    /// next message.
    pub(super) fn give_up(
        &mut self,
        to: &[usize],
        mut header: HeaderWords,
        at: u64,
        error: ShmError,
    ) -> ShmError {
        for &channel in to.iter().filter(|_| at > 0) {
            let out = &self.sends[channel];
            let peer = out.peer;
            header.set_conduit(out.id, out.sequence);
            self.body.words[..4].copy_from_slice(&[0, 0, 0, GIVEN_UP]);
            self.body.used = 4;
            if self.room_to(peer) > 0 || self.grow_ring(peer) {
                // With room in the ring, this write does not fail. If it did, `error` would be the better
                // explanation.
                let _ = self.write_entry(peer, &header.0, self.body.used, None);
            }
        }
        self.unclaim(to, cost(header.body_len()), error)
    }

    /// Returns a block for one chunk. If there is no memory for another block, waits until one is released.
    pub(super) fn chunk_block(&mut self, len: u64, total: u64, first: bool) -> Result<BlockId, ShmError> {
        if let Some(block) = self.block(len)? {
            return Ok(block);
        }
        let mut got = None;
        let mut ask_at = self.custodian.now() + MEMORY_RETRY_NS;
        let waited = self.wait_until(WaitTarget::Memory, FOR_CREDIT, None, |me| {
            // The wait may call this function again after it returned true, when a park was about to begin.
            if got.is_some() {
                return Ok(true);
            }
            got = me.pool.take(len, done_with(&me.out));
            if got.is_none() {
                let idle = me.pool.trim(len, done_with(&me.out));
                // Other endpoints may have returned memory to the agent; this endpoint gets no notice of that.
                let asks_again = !idle.is_empty() || me.look_again.is_some() || me.custodian.now() >= ask_at;
                if asks_again {
                    ask_at = me.custodian.now() + MEMORY_RETRY_NS;
                }
                for slab in idle {
                    me.custodian.drop_slab(slab)?;
                }
                got = if asks_again { me.block(len)? } else { None };
            }
            // A later chunk can always wait for the block of an earlier one.
            if got.is_none() && first && !me.pool.any_outstanding() {
                return Err(ShmError::OutOfMemory {
                    bytes: total,
                    reason: fault!(
                        MEMORY_SPENT,
                        "{}; not even a window to pass the message on in pieces can be had: raise `memory` \
                         under `ligament:` in the model, or free memory",
                        me.denied
                    ),
                });
            }
            Ok(got.is_some())
        });
        match (waited, got) {
            (Ok(()), got) => Ok(got.expect("the wait was for it")),
            // The block was taken in the same moment in which a signal ended the wait.
            (Err(error), Some(block)) => {
                self.pool.give_back(block);
                Err(error)
            }
            (Err(error), None) => Err(error),
        }
    }
}
