//! The other ends: a peer that we write to (its doorbell, its area, our ring to it) and one that we read from (its
//! outbox, its slabs as we need them, our inbox for it).

use crate::area::{Front, Inbox};
use crate::board::{Board, FOR_CREDIT};
use crate::memory::{Mapping, ShmError, PAGE};
use crate::ring::{RingReader, RingWriter, Slot, SLOT_BYTES};
use bytes::Bytes;
use ligament_wire::Value;
use rustix::fd::OwnedFd;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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
    /// Bytes of views that have been dropped; beside it stands what was lent, in `Lent`.
    returned: AtomicU64,
    /// Releases of small blocks that wait for a quiet moment: block + 1 at place block % 16, or 0. To tell the
    /// sender at once would put the journey of a cache line between a receive and the reply to it.
    later: [AtomicU32; LATER],
}

/// How many releases may wait.
const LATER: usize = 16;
/// Views above this are released at once, since their sender may need the memory.
const RELEASED_LATER: usize = 64 << 10;

impl Link {
    /// One use of a block is over.
    #[inline]
    fn release(&self, block: u32, len: usize) {
        let place = &self.later[block as usize % LATER];
        let waits = len <= RELEASED_LATER
            && place.compare_exchange(0, block + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !waits {
            self.inbox.release(block);
            self.wake_sender();
        }
    }

    /// Tells the sender of the releases that wait.
    #[inline]
    pub fn release_waiting(&self) {
        let mut any = false;
        for place in &self.later {
            if place.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let block = place.swap(0, Ordering::AcqRel);
            if block != 0 {
                self.inbox.release(block - 1);
                any = true;
            }
        }
        if any {
            self.wake_sender();
        }
    }

    /// Credit, room or a block went back: wakes the sender if it waits for that.
    #[inline]
    pub fn wake_sender(&self) {
        if let Some(bell) = self.board.doorbell(self.sender) {
            bell.ring_if_parked(FOR_CREDIT);
        }
    }
}

/// A view's hold on a block of a peer. It refers to the slab's mapping and to the link without counting: `Lent`
/// keeps both for as long as not all that was lent has been returned.
struct Lease {
    start: *const u8,
    len: usize,
    link: NonNull<Link>,
    block: u32,
}

// SAFETY: the memory that a lease points to is not bound to a thread, and the link is only used through atomics.
unsafe impl Send for Lease {}

impl AsRef<[u8]> for Lease {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the range was checked against the mapping when the lease was made, and the mapping lives while
        // the lease does (see `Lent`). The sender does not write it until the release below (peers may be wrong:
        // then the numbers are wrong, as with any shared memory).
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the link lives until this lease is counted as returned, which is the last thing done with it:
        // what comes after that would be a use after free.
        let link = unsafe { self.link.as_ref() };
        link.release(self.block, self.len);
        link.returned.fetch_add(self.len as u64 + LEASE, Ordering::Release);
    }
}

/// What a lease counts for besides its bytes, so that one of no bytes counts too.
const LEASE: u64 = 1 << 40;
const LEASE_BYTES: u64 = LEASE - 1;

/// The mappings of a peer's slabs, and what views of them are out. Only the endpoint's thread touches it, but for
/// the link's count of what has been returned.
pub(crate) struct Lent {
    /// Ours, unless views outlive us.
    link: NonNull<Link>,
    /// Bytes lent, with `LEASE` for each lease, wrapping.
    lent: u64,
    maps: HashMap<u32, Mapping>,
    /// The slab used last: number, first byte, length.
    last: Option<(u32, *const u8, u64)>,
    /// Slabs that their sender gave back while views were out.
    gone: Vec<Mapping>,
}

// SAFETY: `last` points into one of the mappings, which are not bound to a thread; nor is the link.
unsafe impl Send for Lent {}

impl Lent {
    fn new(link: Link) -> Lent {
        let link = NonNull::from(Box::leak(Box::new(link)));
        Lent { link, lent: 0, maps: HashMap::new(), last: None, gone: Vec::new() }
    }

    /// What is out: leases in the high bits, bytes in the low ones.
    #[inline]
    fn out(&self) -> u64 {
        self.lent.wrapping_sub(self.link().returned.load(Ordering::Acquire))
    }

    /// Bytes of views that are out.
    #[inline]
    pub fn bytes_out(&self) -> u64 {
        self.out() & LEASE_BYTES
    }

    /// The link to the peer.
    #[inline]
    pub fn link(&self) -> &Link {
        // SAFETY: made by `new`, and freed by `drop` only.
        unsafe { self.link.as_ref() }
    }

    /// A view of `len` bytes at `offset` in slab `slab`, released when the last of its clones is dropped. `fetch`
    /// asks the agent for the slab the first time.
    ///
    /// # Errors
    /// `Malformed` if that is not within the slab.
    #[inline]
    pub fn lease(
        &mut self,
        slab: u32,
        offset: u64,
        len: u64,
        block: u32,
        fetch: impl FnOnce() -> Result<(OwnedFd, u64), ShmError>,
    ) -> Result<Bytes, ShmError> {
        let (start, size) = match self.last {
            Some((last, start, size)) if last == slab => (start, size),
            _ => self.find(slab, fetch)?,
        };
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(ShmError::Malformed(format!("{len} bytes at {offset} of a slab of {size}")));
        }
        self.lent = self.lent.wrapping_add(len + LEASE);
        Ok(Bytes::from_owner(Lease {
            start: start.wrapping_add(offset as usize),
            len: len as usize,
            link: self.link,
            block,
        }))
    }

    #[cold]
    fn find(
        &mut self,
        slab: u32,
        fetch: impl FnOnce() -> Result<(OwnedFd, u64), ShmError>,
    ) -> Result<(*const u8, u64), ShmError> {
        let map = match self.maps.entry(slab) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let (fd, bytes) = fetch()?;
                let len = bytes as usize;
                // Writable where its sender allows it: see `slab::stays_in_caches`.
                unknown.insert(Mapping::writable(&fd, 0, len).or_else(|_| Mapping::readable(&fd, 0, len))?)
            }
        };
        let found = (map.start().cast_const(), map.len() as u64);
        self.last = Some((slab, found.0, found.1));
        Ok(found)
    }

    /// The peer gave a slab back: it is unmapped as soon as no view is out.
    pub fn forget_slab(&mut self, slab: u32) {
        self.gone.extend(self.maps.remove(&slab));
        self.last = None;
        if self.out() == 0 {
            self.gone.clear();
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.link().release_waiting();
        if self.out() == 0 {
            // SAFETY: from `Box::leak`, and no lease refers to it any more.
            drop(unsafe { Box::from_raw(self.link.as_ptr()) });
        } else {
            // Views outlive the endpoint: what they point to stays, to the end of the process.
            std::mem::take(&mut self.maps).into_values().for_each(std::mem::forget);
            std::mem::take(&mut self.gone).into_iter().for_each(std::mem::forget);
        }
    }
}

/// A peer that this endpoint reads from.
pub(crate) struct InPeer {
    pub endpoint: u32,
    pub ring: Option<InRing>,
    pub overlays: HashMap<u32, Arc<Value>>,
}

/// The reading end of a peer's ring.
pub(crate) struct InRing {
    pub reader: RingReader,
    pub lent: Lent,
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
        InPeer { endpoint, ring: None, overlays: HashMap::new() }
    }

    /// The peer has opened its ring to us.
    pub fn open(
        &mut self,
        outbox: OwnedFd,
        offset: u64,
        slots: u32,
        inbox: Mapping,
        board: Arc<Board>,
    ) -> Result<(), ShmError> {
        let (segment, first) = map_segment(&outbox, offset, slots)?;
        let lent = Lent::new(Link {
            inbox: Inbox::new(inbox)?,
            board,
            sender: self.endpoint,
            returned: AtomicU64::new(0),
            later: [const { AtomicU32::new(0) }; LATER],
        });
        let taken = NonNull::from(lent.link().inbox.taken());
        // SAFETY: `segment` and `lent` live in the same struct as the reader and are replaced with it.
        let reader = unsafe { RingReader::new(first, slots as usize, taken) };
        self.ring = Some(InRing { reader, lent, outbox, segment });
        Ok(())
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
