//! The peers of an endpoint. An `OutPeer` is a peer that the endpoint writes to: its doorbell, its area, and
//! the ring to it. An `InPeer` is a peer that the endpoint reads from: its outbox, its slabs as needed, and
//! the inbox for it.

use super::views::{BlockReturn, LentSlabs};
use crate::area::{Front, Inbox};
use crate::board::Board;
use crate::memory::{Mapping, ShmError, PAGE_BYTES};
use crate::ring::{RingEntry, RingReader, RingWriter, ENTRY_BYTES};
use ligament_wire::{EndpointId, Value};
use rustix::fd::OwnedFd;
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Number of entries in a ring's first segment, which takes five pages.
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

    /// Takes a zeroed segment of `entries` entries and returns its offset. Returns None when the outbox is
    /// full.
    pub fn take(&mut self, entries: u32) -> Option<u64> {
        if let Some(i) = self.free.iter().position(|&(_, s)| s == entries) {
            let (offset, _) = self.free.swap_remove(i);
            let words: &[AtomicU64] = self.map.slice_at(offset as usize, entries as usize * ENTRY_BYTES / 8);
            words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            return Some(offset);
        }
        let len = (entries as usize * ENTRY_BYTES).next_multiple_of(PAGE_BYTES);
        if self.used + len > self.map.len() {
            return None;
        }
        let offset = self.used;
        self.used += len;
        Some(offset as u64)
    }

    /// Takes back a segment that its reader has left.
    pub fn give_back(&mut self, offset: u64, entries: u32) {
        self.free.push((offset, entries));
    }

    /// Returns the address of the first entry of a segment.
    pub fn entries(&self, offset: u64, entries: u32) -> NonNull<RingEntry> {
        NonNull::from(&self.map.slice_at::<RingEntry>(offset as usize, entries as usize)[0])
    }
}

/// A peer that this endpoint writes to.
pub(crate) struct OutPeer {
    pub endpoint: EndpointId,
    pub ring: Option<OutRing>,
    /// True if the peer has ended: messages to it are dropped, and it holds no block any more.
    pub ended: bool,
    /// Numbers of the overlays that this peer has.
    pub overlays: Vec<u32>,
}

impl OutPeer {
    pub fn new(endpoint: EndpointId) -> OutPeer {
        OutPeer { endpoint, ring: None, ended: false, overlays: Vec::new() }
    }

    /// Returns true if the peer has released the block, which it had `due` times.
    #[inline]
    pub fn is_done_with(&self, block: u32, due: u32) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.inbox.released(block) == due) || self.ended
    }
}

/// An open ring to a peer.
pub(crate) struct OutRing {
    pub writer: RingWriter,
    pub front: Front,
    /// This endpoint's inbox in the peer's area. The writer points into it.
    pub inbox: Inbox,
    /// The segment in use: offset and number of entries. `leaving` has the segments that the reader may
    /// still be in, each with the number of entries written up to its end.
    pub segment: (u64, u32),
    pub leaving: VecDeque<(u64, u32, u64)>,
}

/// A peer that this endpoint reads from.
pub(crate) struct InPeer {
    pub endpoint: EndpointId,
    /// True if the peer is a carrier, which stands for the endpoints of other domains.
    pub far: bool,
    /// True if the peer has got credit back and was not woken for it.
    pub wakes_later: bool,
    pub ring: Option<InRing>,
    pub overlays: HashMap<u32, Arc<Value>>,
}

/// The reading end of a peer's ring.
pub(crate) struct InRing {
    pub reader: RingReader,
    pub lent: LentSlabs,
    outbox: OwnedFd,
    /// Mapping of the present segment, to which the reader points.
    segment: Mapping,
}

fn map_segment(outbox: &OwnedFd, offset: u64, entries: u32) -> Result<(Mapping, NonNull<RingEntry>), ShmError> {
    let len = entries as usize * ENTRY_BYTES;
    let within = offset.checked_add(len as u64).is_some_and(|end| end <= super::OUTBOX_BYTES as u64);
    if entries < 2 || offset % PAGE_BYTES as u64 != 0 || !within {
        return Err(ShmError::Malformed(format!("a ring of {entries} entries at {offset}")));
    }
    let map = Mapping::readable(outbox, offset, len)?;
    let first = NonNull::from(&map.slice_at::<RingEntry>(0, entries as usize)[0]);
    Ok((map, first))
}

impl InPeer {
    pub fn new(endpoint: EndpointId) -> InPeer {
        InPeer { endpoint, far: false, wakes_later: false, ring: None, overlays: HashMap::new() }
    }

    /// Opens the ring that the peer has announced to this endpoint.
    pub fn open(
        &mut self,
        outbox: OwnedFd,
        offset: u64,
        entries: u32,
        inbox: Mapping,
        board: Arc<Board>,
    ) -> Result<(), ShmError> {
        let (segment, first) = map_segment(&outbox, offset, entries)?;
        self.far = board.doorbell(self.endpoint).is_some_and(|bell| bell.is_far());
        let lent = LentSlabs::new(BlockReturn::new(Inbox::new(inbox)?, board, self.endpoint));
        let taken = NonNull::from(lent.link().inbox().taken());
        // SAFETY: `segment` and `lent` live in the same struct as the reader and are replaced with it.
        let reader = unsafe { RingReader::new(first, entries as usize, taken) };
        self.ring = Some(InRing { reader, lent, outbox, segment });
        Ok(())
    }
}

impl InRing {
    /// Follows the writer into its next segment.
    pub fn follow(&mut self, offset: u64, entries: u32) -> Result<(), ShmError> {
        let (segment, first) = map_segment(&self.outbox, offset, entries)?;
        // SAFETY: the new segment is kept below, in place of the old, which the reader no longer touches.
        unsafe { self.reader.jump(first, entries as usize) };
        self.segment = segment;
        debug_assert!(!self.segment.is_empty());
        Ok(())
    }
}
