//! Receiving a large array while its sender still copies it. The sender announces in the ring's next entry
//! that it has begun to copy a message, and how many bytes are copied. If the receiver waits for this
//! message to copy it into an array of its own, it follows the sender's copy closely. The two copies then
//! take hardly longer than one, and the second copy reads bytes that the first has just written to a cache.
//! A receiver that does not look at the announcement loses nothing: the message arrives in the usual way.

use super::peers::OutPeer;
use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::{copy_in_pieces, ShmError};
use crate::ring::Announcement;
use crate::slab::{packed, unpacked, BlockId, BlockPlace};
use ligament_wire::ArrayKind;
use std::ptr::NonNull;

/// Minimum size of an array that is announced, bytes. A smaller array is copied before the announcement
/// would pay.
pub(super) const MIN_FOLLOWED_BYTES: u64 = 128 << 10;
/// The receive that is in progress.
pub(super) struct FollowingReceive {
    /// Index of the channel.
    index: usize,
    /// Destination of the elements; `len` is its size, bytes.
    to: NonNull<u8>,
    len: usize,
    /// Number of bytes copied so far.
    done: usize,
}

// SAFETY: `to` points to an array that `follow_into` borrows from its caller as long as this receive exists.
unsafe impl Send for FollowingReceive {}

/// Ends the receive in progress when it is dropped, also after a panic in a function of the caller that a
/// wait calls. The destination array then belongs to the caller alone again.
struct FollowGuard<'a, C: Custodian>(&'a mut Endpoint<C>);

impl<C: Custodian> Drop for FollowGuard<'_, C> {
    fn drop(&mut self) {
        self.0.following = None;
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Sender: copies the elements of a message for the channels `to` into its block. If the message has one
    /// receiver and the same preamble as the message before it, announces it first, so that the receiver can
    /// follow the copy.
    pub(super) fn copy_elements(
        &mut self,
        to: &[usize],
        number: u64,
        elements: &[u8],
        (block, place): (BlockId, BlockPlace),
    ) {
        // SAFETY: the block is ours alone until it is posted, and has room for all elements.
        let memory = unsafe { std::slice::from_raw_parts_mut(place.start, elements.len()) };
        let announcement = self.announcement(to, number, elements.len() as u64, block, &place);
        let peer = announcement.map(|(peer, what)| (&self.out[peer], what));
        let Some((OutPeer { ring: Some(ring), endpoint, .. }, what)) = peer else {
            return copy_in_pieces(memory, elements, |_| ());
        };
        ring.writer.announce(what);
        let mut wakes = self.board.has_spare_core();
        copy_in_pieces(memory, elements, |copied| {
            ring.writer.progress(copied as u64);
            if let (true, Some(bell)) = (std::mem::take(&mut wakes), self.board.doorbell(*endpoint)) {
                self.board.ring_if_parked(bell, FOR_MESSAGES);
            }
        });
        // The ring has room for the entry, so nothing can fail between this point and the publication.
        ring.writer.progress(0);
    }

    /// Returns the announcement for a message in this block, and the peer that gets it, if the message can
    /// be announced.
    fn announcement(
        &mut self,
        to: &[usize],
        number: u64,
        len: u64,
        block: BlockId,
        place: &BlockPlace,
    ) -> Option<(usize, Announcement)> {
        let &[only] = to else { return None };
        let channel = &self.sends[only];
        let alike = number != 0 && number == channel.last_head;
        let packed = packed(block, place.slab, place.offset).filter(|_| alike && len >= MIN_FOLLOWED_BYTES)?;
        let peer = &mut self.out[channel.peer];
        let room = peer.ring.as_mut().map_or(0, |ring| ring.writer.room());
        let announcement =
            Announcement { channel: u64::from(channel.id), sequence: channel.sequence, place: packed };
        (room > 0 && !peer.ended).then_some((channel.peer, announcement))
    }

    /// Receiver: waits for a message on channel `index`. If the message is expected to be an array like the
    /// one before it, of a kind that `fits`, copies the bytes that the sender has ready to `to` meanwhile.
    /// Returns the number of copied bytes of the message that `receive_to` will return.
    ///
    /// # Errors
    /// As for a wait; `to` may hold a part of the message.
    pub fn follow_into(
        &mut self,
        index: usize,
        fits: impl Fn(&ArrayKind) -> bool,
        to: &mut [u8],
    ) -> Result<usize, ShmError> {
        let channel = &self.receives[index];
        let expected = channel.known.kind().is_some_and(|kind| kind.bytes() == to.len() && fits(kind));
        let is_short = (to.len() as u64) < MIN_FOLLOWED_BYTES;
        if !expected || is_short || !channel.queue.is_empty() || self.generally {
            return Ok(0);
        }
        let start = NonNull::from(&mut *to).cast();
        self.following = Some(FollowingReceive { index, to: start, len: to.len(), done: 0 });
        let during = FollowGuard(self);
        during.0.wait_any(&[index], None)?;
        let done = during.0.following.take().map_or(0, |following| following.done);
        Ok(done)
    }

    /// Copies the new bytes of the followed message. Returns true if there were any.
    #[inline]
    pub(super) fn follow(&mut self) -> bool {
        self.following.is_some() && self.follow_on()
    }

    fn follow_on(&mut self) -> bool {
        let Some(following) = &mut self.following else { return false };
        let channel = &self.receives[following.index];
        let Some(ring) = &mut self.inn[channel.peer].ring else { return false };
        let Some((what, ready)) = ring.reader.announced() else { return false };
        let ready = usize::try_from(ready).map_or(following.len, |ready| ready.min(following.len));
        let due = (what.channel, what.sequence) == (u64::from(channel.id), channel.sequence);
        if !due || ready <= following.done || !channel.queue.is_empty() {
            return false;
        }
        let (_, slab, offset) = unpacked(what.place);
        // Bytes beyond `ready` are not copied by the sender yet and are not read.
        let Some(from) = ring.lent.look_at_known(slab, offset, ready as u64) else { return false };
        let new = &from[following.done..];
        // SAFETY: `to` has room for `len` bytes. `follow_into` borrows it from its caller until the receive
        // has ended (see `FollowGuard`).
        unsafe {
            let to = following.to.as_ptr().add(following.done);
            to.copy_from_nonoverlapping(new.as_ptr(), new.len());
        }
        following.done = ready;
        true
    }
}
