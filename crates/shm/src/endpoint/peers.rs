//! The other ends: a peer that we write to (its doorbell, its area, our ring to it) and one that we read from (its
//! outbox, its slabs as we need them, our inbox for it).

use crate::area::{Front, Inbox};
use crate::board::{Board, FOR_CREDIT};
use crate::memory::{Mapping, ShmError, PAGE};
use crate::ring::{RingReader, RingWriter, Slot, SLOT_BYTES};
use bytes::Bytes;
use ligament_wire::Value;
use rustix::fd::OwnedFd;
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Slots of a ring's first segment: five pages.
pub(crate) const FIRST_SLOTS: u32 = 64;

/// The memory for the rings that this endpoint writes.
pub(crate) struct Outbox {
    map: Mapping,
    used: usize,
    free: Vec<(u64, u32)>,
}

impl Outbox {
    pub fn new(map: Mapping) -> Outbox {
        Outbox { map, used: 0, free: Vec::new() }
    }

    /// A zeroed segment of `slots` slots: its offset. None when the outbox is full.
    pub fn take(&mut self, slots: u32) -> Option<u64> {
        if let Some(i) = self.free.iter().position(|&(_, s)| s == slots) {
            let (offset, _) = self.free.swap_remove(i);
            let words: &[AtomicU64] = self.map.slice_at(offset as usize, slots as usize * SLOT_BYTES / 8);
            words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            return Some(offset);
        }
        let len = (slots as usize * SLOT_BYTES).next_multiple_of(PAGE);
        if self.used + len > self.map.len() {
            return None;
        }
        let offset = self.used;
        self.used += len;
        Some(offset as u64)
    }

    /// A segment whose reader has left it.
    pub fn give_back(&mut self, offset: u64, slots: u32) {
        self.free.push((offset, slots));
    }

    /// Where a segment begins.
    pub fn slots(&self, offset: u64, slots: u32) -> NonNull<Slot> {
        NonNull::from(&self.map.slice_at::<Slot>(offset as usize, slots as usize)[0])
    }
}

/// A peer that this endpoint writes to.
pub(crate) struct OutPeer {
    pub endpoint: u32,
    pub ring: Option<OutRing>,
    /// It has ended: what is meant for it is dropped, and it holds no block any more.
    pub ended: bool,
    /// Overlays that this peer has been told.
    pub overlays: Vec<u32>,
}

impl OutPeer {
    pub fn new(endpoint: u32) -> OutPeer {
        OutPeer { endpoint, ring: None, ended: false, overlays: Vec::new() }
    }

    /// Whether the peer is done with our block, which it had `due` times.
    #[inline]
    pub fn is_done_with(&self, block: u32, due: u32) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.inbox.released(block) == due) || self.ended
    }
}

/// An open ring to a peer.
pub(crate) struct OutRing {
    pub writer: RingWriter,
    pub front: Front,
    /// Our inbox in the peer's area; the writer points into it.
    pub inbox: Inbox,
    /// The segment in use, and those that the reader may still be in, with the count of slots at their end.
    pub segment: (u64, u32),
    pub leaving: VecDeque<(u64, u32, u64)>,
}

/// What a reader needs to give a block back, from any thread, as long as a view lives.
pub(crate) struct Link {
    inbox: Inbox,
    board: Arc<Board>,
    sender: u32,
    pinned: Arc<AtomicU64>,
}

impl Link {
    /// Credit, room or a block went back: wakes the sender if it waits for that.
    #[inline]
    pub fn wake_sender(&self) {
        if let Some(bell) = self.board.doorbell(self.sender) {
            bell.ring_if_parked(FOR_CREDIT);
        }
    }
}

/// A slab of a peer, mapped, with the way back to its sender.
pub(crate) struct ReadSlab {
    map: Mapping,
    link: Arc<Link>,
}

/// A view's hold on a block of a peer.
struct Lease {
    slab: Arc<ReadSlab>,
    offset: usize,
    len: usize,
    block: u32,
}

impl AsRef<[u8]> for Lease {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the range was checked against the mapping when the lease was made; the sender does not write it
        // until the release below (peers may be wrong: then the numbers are wrong, as with any shared memory).
        unsafe { std::slice::from_raw_parts(self.slab.map.start().add(self.offset), self.len) }
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        let link = &self.slab.link;
        link.pinned.fetch_sub(self.len as u64, Ordering::Relaxed);
        link.inbox.release(self.block);
        link.wake_sender();
    }
}

impl ReadSlab {
    /// A view of `len` bytes at `offset`, released when the last of its clones is dropped.
    ///
    /// # Errors
    /// `Malformed` if that is not within the slab.
    #[inline]
    pub fn lease(self: &Arc<Self>, offset: u64, len: u64, block: u32) -> Result<Bytes, ShmError> {
        if offset.checked_add(len).is_none_or(|end| end > self.map.len() as u64) {
            return Err(self.outside(offset, len));
        }
        self.link.pinned.fetch_add(len, Ordering::Relaxed);
        Ok(Bytes::from_owner(Lease { slab: self.clone(), offset: offset as usize, len: len as usize, block }))
    }

    #[cold]
    fn outside(&self, offset: u64, len: u64) -> ShmError {
        ShmError::Malformed(format!("{len} bytes at {offset} of a slab of {}", self.map.len()))
    }
}

/// A peer that this endpoint reads from.
pub(crate) struct InPeer {
    pub endpoint: u32,
    pub ring: Option<InRing>,
    slabs: HashMap<u32, Arc<ReadSlab>>,
    /// The slab used last.
    last_slab: Option<(u32, Arc<ReadSlab>)>,
    pub overlays: HashMap<u32, Arc<Value>>,
}

/// The reading end of a peer's ring.
pub(crate) struct InRing {
    pub reader: RingReader,
    pub link: Arc<Link>,
    outbox: OwnedFd,
    /// Keeps the present segment mapped; the reader points into it.
    segment: Mapping,
}

fn map_segment(outbox: &OwnedFd, offset: u64, slots: u32) -> Result<(Mapping, NonNull<Slot>), ShmError> {
    let len = slots as usize * SLOT_BYTES;
    let within = offset.checked_add(len as u64).is_some_and(|end| end <= super::OUTBOX_BYTES as u64);
    if slots < 2 || offset % PAGE as u64 != 0 || !within {
        return Err(ShmError::Malformed(format!("a ring of {slots} slots at {offset}")));
    }
    let map = Mapping::readable(outbox, offset, len)?;
    let first = NonNull::from(&map.slice_at::<Slot>(0, slots as usize)[0]);
    Ok((map, first))
}

impl InPeer {
    pub fn new(endpoint: u32) -> InPeer {
        InPeer { endpoint, ring: None, slabs: HashMap::new(), last_slab: None, overlays: HashMap::new() }
    }

    /// The peer has opened its ring to us.
    pub fn open(
        &mut self,
        outbox: OwnedFd,
        offset: u64,
        slots: u32,
        inbox: Mapping,
        board: Arc<Board>,
        pinned: Arc<AtomicU64>,
    ) -> Result<(), ShmError> {
        let (segment, first) = map_segment(&outbox, offset, slots)?;
        let link = Arc::new(Link { inbox: Inbox::new(inbox)?, board, sender: self.endpoint, pinned });
        let taken = NonNull::from(link.inbox.taken());
        // SAFETY: `segment` and `link` live in the same struct as the reader and are replaced with it.
        let reader = unsafe { RingReader::new(first, slots as usize, taken) };
        self.ring = Some(InRing { reader, link, outbox, segment });
        Ok(())
    }

    /// The peer's slab of this number; `fetch` asks the agent for it the first time.
    #[inline]
    pub fn slab(
        &mut self,
        slab: u32,
        fetch: impl FnOnce() -> Result<(OwnedFd, u64), ShmError>,
    ) -> Result<&Arc<ReadSlab>, ShmError> {
        if self.last_slab.as_ref().is_none_or(|(last, _)| *last != slab) {
            let found = match self.slabs.get(&slab) {
                Some(found) => found.clone(),
                None => {
                    let (fd, bytes) = fetch()?;
                    let link = self.ring.as_ref().expect("its ring named the slab").link.clone();
                    let found = Arc::new(ReadSlab { map: Mapping::readable(&fd, 0, bytes as usize)?, link });
                    self.slabs.insert(slab, found.clone());
                    found
                }
            };
            self.last_slab = Some((slab, found));
        }
        Ok(&self.last_slab.as_ref().expect("just set").1)
    }

    /// The peer gave a slab back; views that live keep their own hold on it.
    pub fn forget_slab(&mut self, slab: u32) {
        self.slabs.remove(&slab);
        if self.last_slab.as_ref().is_some_and(|(id, _)| *id == slab) {
            self.last_slab = None;
        }
    }
}

impl InRing {
    /// Follows the writer into its next segment.
    pub fn follow(&mut self, offset: u64, slots: u32) -> Result<(), ShmError> {
        let (segment, first) = map_segment(&self.outbox, offset, slots)?;
        // SAFETY: the new segment is kept below, in place of the old, which the reader no longer touches.
        unsafe { self.reader.jump(first, slots as usize) };
        self.segment = segment;
        debug_assert!(!self.segment.is_empty());
        Ok(())
    }
}
