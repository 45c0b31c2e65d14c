//! Room in the rings that this endpoint writes: opening rings, and continuing them in larger segments.

use super::peers::{OutPeer, OutRing, FIRST_SLOTS};
use super::wait::WaitTarget;
use super::{Custodian, Endpoint, OpenedRing};
use crate::area::{Front, Inbox};
use crate::board::FOR_CREDIT;
use crate::memory::{Mapping, ShmError};
use crate::ring::RingWriter;
use ligament_catalogue::fault;
use ligament_wire::{Header, MessageKind};
use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;

impl<C: Custodian> Endpoint<C> {
    /// Like `have_room`, but does nothing for at most one receiver: a single write fails before anything is
    /// written, or not at all.
    #[inline(always)]
    pub(super) fn have_room_for_many(&mut self, to: &[usize]) -> Result<(), ShmError> {
        match to.len() {
            0 | 1 => Ok(()),
            _ => self.have_room(to),
        }
    }

    /// Makes room for one entry on each channel of `to`, so that these writes cannot fail.
    pub(super) fn have_room(&mut self, to: &[usize]) -> Result<(), ShmError> {
        if to.iter().all(|&channel| self.room_to(self.sends[channel].peer) >= to.len()) {
            return Ok(());
        }
        // The order of peers is fixed, so that a simulated run can be repeated.
        let mut needed: BTreeMap<usize, usize> = BTreeMap::new();
        for &channel in to {
            *needed.entry(self.sends[channel].peer).or_default() += 1;
        }
        needed.into_iter().try_for_each(|(peer, slots)| self.make_room(peer, slots))
    }

    /// Makes room for `slots` entries in the ring to a peer: opens the ring, continues in larger segments,
    /// or waits for the reader.
    #[cold]
    pub(super) fn make_room(&mut self, peer: usize, slots: usize) -> Result<(), ShmError> {
        if self.out[peer].ring.is_none() && !self.out[peer].ended {
            self.open_ring(peer)?;
        }
        while self.room_to(peer) < slots {
            if !self.grow_ring(peer) {
                return self.wait_until(WaitTarget::Slots { peer }, FOR_CREDIT, None, |me| {
                    Ok(me.room_to(peer) >= slots)
                });
            }
        }
        Ok(())
    }

    /// Returns the number of entries that can be written to a peer. It is unlimited for a peer that has
    /// ended, because entries for it are dropped.
    pub(super) fn room_to(&mut self, peer: usize) -> usize {
        let OutPeer { ended, ring, .. } = &mut self.out[peer];
        match ring {
            _ if *ended => usize::MAX,
            Some(ring) => ring.writer.room(),
            None => 0,
        }
    }

    /// Continues a ring in a segment of twice the size. Returns false if there is no memory for the segment,
    /// or no ring.
    pub(super) fn grow_ring(&mut self, peer: usize) -> bool {
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
        let header = Header { kind: MessageKind::Carrier, ..Header::default() };
        let first = self.outbox.entries(offset, slots * 2);
        // SAFETY: the segment lies in the outbox, which lives as long as the endpoint and its writers.
        unsafe {
            ring.writer.jump(&header.encode(), &[offset, u64::from(slots) * 2], first, slots as usize * 2)
        };
        ring.leaving.push_back((ring.segment.0, slots, ring.writer.written()));
        ring.segment = (offset, slots * 2);
        true
    }

    pub(super) fn open_ring(&mut self, peer: usize) -> Result<(), ShmError> {
        let to = self.out[peer].endpoint;
        let offset = self.outbox.take(FIRST_SLOTS).ok_or_else(|| ShmError::OutOfMemory {
            bytes: 0,
            reason: fault!(MEMORY_SPENT, "this instance has no room for another ring"),
        })?;
        let OpenedRing { area, layout, inbox } = self.custodian.open_ring(to, offset, FIRST_SLOTS)?;
        if inbox >= layout.inboxes {
            return Err(ShmError::Malformed(format!("inbox {inbox} of {}", layout.inboxes)));
        }
        let front = Front::new(Mapping::readable(&area, 0, layout.front())?, layout)?;
        let (at, len) = layout.inbox(inbox);
        let inbox = Inbox::new(Mapping::readable(&area, at, len)?)?;
        let taken = NonNull::from(inbox.taken());
        // SAFETY: the outbox and the inbox live as long as the writer, which goes with them.
        let writer =
            unsafe { RingWriter::new(self.outbox.entries(offset, FIRST_SLOTS), FIRST_SLOTS as usize, taken) };
        let segment = (offset, FIRST_SLOTS);
        self.out[peer].ring = Some(OutRing { writer, front, inbox, segment, leaving: VecDeque::new() });
        Ok(())
    }
}
