//! An endpoint's area: what it alone writes and its peers and its agent read. Status page; timeline; credit returned
//! per incoming channel; which of those it waits for; for each peer that may send to it an *inbox*: how many slots of that
//! peer's ring it has taken, and how often it has released each of that peer's blocks. If it serves many instances, a
//! *row* for each: a status page of its own.

use crate::memory::{Mapping, ShmError, PAGE};
use crate::status::{Status, StatusPage};
use crate::sync::AtomicU64;
use crate::timeline::{self, Record, Tally};
use rustix::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks that one sender may have; the table is sparse, so it costs what is used.
pub const MAX_BLOCKS: usize = 1 << 18;
const STATUS_AT: usize = PAGE;
const TIMELINE_AT: usize = 2 * PAGE;
const CREDITS_AT: usize = TIMELINE_AT + timeline::BYTES.next_multiple_of(PAGE);
const RELEASES_AT: usize = PAGE;
const INBOX_BYTES: usize = RELEASES_AT + MAX_BLOCKS * 4;
/// A row: a status page, and the one channel that is waited for.
const ROW_BYTES: usize = ROW_WAITS_AT + 64;
const ROW_WAITS_AT: usize = size_of::<StatusPage>();

/// How an area is laid out: follows from three counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Incoming channels.
    pub channels: u32,
    /// Peers that may send here.
    pub inboxes: u32,
    /// Instances that have a row, of an endpoint that serves many; peers need not know.
    pub rows: u32,
}

impl Layout {
    fn waits_at(self) -> usize {
        CREDITS_AT + self.channels as usize * 8
    }

    fn inboxes_at(self) -> usize {
        (self.waits_at() + self.channels as usize * 4).next_multiple_of(PAGE)
    }

    /// Bytes of address space that the area takes.
    pub fn size(self) -> usize {
        let (at, len) = self.rows();
        at as usize + len
    }

    /// Where the rows begin and how long they are together.
    pub fn rows(self) -> (u64, usize) {
        let at = self.inboxes_at() + self.inboxes as usize * INBOX_BYTES;
        (at as u64, (self.rows as usize * ROW_BYTES).next_multiple_of(PAGE))
    }

    /// Where inbox `index` begins and how long it is.
    pub fn inbox(self, index: u32) -> (u64, usize) {
        ((self.inboxes_at() + index as usize * INBOX_BYTES) as u64, INBOX_BYTES)
    }

    /// The range with status page, timeline, credits and the channels waited for.
    pub fn front(self) -> usize {
        self.inboxes_at()
    }
}

/// Says in an area that nobody has mapped yet that its endpoint shall keep no timeline.
pub fn keep_no_timeline(area: impl AsFd) -> Result<(), ShmError> {
    let at = STATUS_AT + StatusPage::NO_TIMELINE_AT;
    let written = rustix::io::pwrite(area, &1u64.to_ne_bytes(), at as u64);
    written.map(drop).map_err(|error| ShmError::Malformed(format!("an area cannot be written: {error}")))
}

/// The front of an area: status page, timeline, credits and the channels waited for. The owner maps it writable, others
/// readable.
pub struct Front {
    map: Mapping,
    layout: Layout,
    /// The status page in use: the endpoint's own, or that of one of `rows`.
    page: NonNull<StatusPage>,
    rows: Option<Rows>,
}

// SAFETY: `page` points into `map` or into `rows`, which go where the front goes; it has only atomic fields.
unsafe impl Send for Front {}
// SAFETY: as above.
unsafe impl Sync for Front {}

impl Front {
    /// Takes a mapping of `layout.front()` bytes from offset 0.
    pub fn new(map: Mapping, layout: Layout) -> Result<Front, ShmError> {
        if map.len() < layout.front() {
            return Err(ShmError::Malformed(format!("an area of {} bytes", map.len())));
        }
        let page = NonNull::from(map.at::<StatusPage>(STATUS_AT));
        Ok(Front { map, layout, page, rows: None })
    }

    /// The status page in use.
    #[inline]
    pub fn status(&self) -> &StatusPage {
        // SAFETY: it lies in one of this front's mappings, which do not move.
        unsafe { self.page.as_ref() }
    }

    /// Owner: takes a mapping of the rows, for `show_on`.
    pub fn add_rows(&mut self, rows: Rows) {
        self.page = NonNull::from(self.map.at::<StatusPage>(STATUS_AT));
        self.rows = Some(rows);
    }

    /// Its rows, once they were added.
    pub fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref()
    }

    /// Owner: what is done from now on is shown on this row, or on the endpoint's own page.
    pub fn show_on(&mut self, row: Option<u32>) {
        let row = row.and_then(|row| Some(self.rows.as_ref()?.row(row)?.0));
        self.page = NonNull::from(row.unwrap_or_else(|| self.map.at(STATUS_AT)));
    }

    /// The ring of the timeline's records.
    pub(crate) fn records(&self) -> &[Record] {
        self.map.slice_at(TIMELINE_AT, timeline::RECORDS)
    }

    /// The sums of the timeline's causes.
    pub(crate) fn tallies(&self) -> &[Tally] {
        self.map.slice_at(TIMELINE_AT + timeline::CAUSES_AT, timeline::CAUSES)
    }

    /// Room for the numbers of the channels waited for.
    pub fn waits(&self) -> &[AtomicU32] {
        self.map.slice_at(self.layout.waits_at(), self.layout.channels as usize)
    }

    /// Anybody: what the endpoint shows of itself.
    pub fn look(&self) -> Status {
        self.status().read(self.waits())
    }

    /// Bytes of credit returned so far on the endpoint's incoming channel `index`.
    #[inline]
    pub fn credit(&self, index: u32) -> Option<&AtomicU64> {
        let at = CREDITS_AT + index as usize * 8;
        // SAFETY: a front has a word for each channel, and `new` has checked its length.
        (index < self.layout.channels).then(|| unsafe { self.map.at_checked(at) })
    }
}

/// The rows of an endpoint that serves many instances.
pub struct Rows {
    map: Mapping,
    count: u32,
}

impl Rows {
    /// Takes a mapping of the range that `Layout::rows` names.
    pub fn new(map: Mapping, layout: Layout) -> Result<Rows, ShmError> {
        if map.len() < layout.rows().1 {
            return Err(ShmError::Malformed(format!("rows of {} bytes", map.len())));
        }
        Ok(Rows { map, count: layout.rows })
    }

    /// A row: the status page, and room for the channel waited for.
    pub fn row(&self, index: u32) -> Option<(&StatusPage, &[AtomicU32])> {
        let at = index as usize * ROW_BYTES;
        (index < self.count).then(|| (self.map.at(at), self.map.slice_at(at + ROW_WAITS_AT, 1)))
    }

    /// Anybody: what an instance shows of itself.
    pub fn look(&self, index: u32) -> Option<Status> {
        self.row(index).map(|(page, waits)| page.read(waits))
    }
}

/// One inbox of an area.
pub struct Inbox {
    map: Mapping,
}

impl Inbox {
    /// Takes a mapping of the range that `Layout::inbox` names.
    pub fn new(map: Mapping) -> Result<Inbox, ShmError> {
        if map.len() < INBOX_BYTES {
            return Err(ShmError::Malformed(format!("an inbox of {} bytes", map.len())));
        }
        Ok(Inbox { map })
    }

    /// Slots of the peer's ring that the owner has taken.
    pub fn taken(&self) -> &AtomicU64 {
        self.map.at(0)
    }

    #[inline]
    fn releases(&self, block: u32) -> Option<&AtomicU32> {
        // SAFETY: an inbox has a count for each of so many blocks, and `new` has checked its length.
        ((block as usize) < MAX_BLOCKS)
            .then(|| unsafe { self.map.at_checked(RELEASES_AT + block as usize * 4) })
    }

    /// Owner: one use of the peer's block is over. Any thread may do it.
    pub fn release(&self, block: u32) {
        if let Some(count) = self.releases(block) {
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// The same for a block of which nobody else can say so at the same time: no locked instruction, which would wait for
    /// the line to come.
    #[inline]
    pub fn release_alone(&self, block: u32) {
        if let Some(count) = self.releases(block) {
            count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        }
    }

    /// Peer: how many uses of its block are over, wrapping.
    #[inline]
    pub fn released(&self, block: u32) -> u32 {
        self.releases(block).map_or(0, |count| count.load(Ordering::Acquire))
    }
}
