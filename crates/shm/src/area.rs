//! An endpoint's area: what it alone writes and its peers and its agent read. Status page; timeline; for each
//! incoming channel the credit returned, and beside it what has come; which of those it waits for; for each
//! peer that may send to it an *inbox*: how many slots of that peer's ring it has taken, and how often it has
//! released each of that peer's blocks. If it serves many instances, a *row* for each: a status page of its
//! own. Last, for the agent alone, what has gone on each outgoing channel.

use crate::memory::{Mapping, ShmError, PAGE};
use crate::status::{Status, StatusPage};
use crate::sync::AtomicU64;
use crate::timeline::{self, CauseTotal, Record};
pub use ligament_wire::status::ChannelCount;
use rustix::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks that one sender may have; the table is sparse, so it costs what is used.
pub const MAX_BLOCKS: usize = 1 << 18;
const STATUS_AT: usize = PAGE;
const TIMELINE_AT: usize = 2 * PAGE;
const CREDITS_AT: usize = TIMELINE_AT + timeline::TIMELINE_BYTES.next_multiple_of(PAGE);
const RELEASES_AT: usize = PAGE;
/// A channel end is half a line: two never share more than the line that one process writes.
const END_BYTES: usize = size_of::<ChannelEnd>();
const INBOX_BYTES: usize = RELEASES_AT + MAX_BLOCKS * 4;
/// A row: a status page, and the one channel that is waited for.
const ROW_BYTES: usize = ROW_WAITS_AT + 64;
const ROW_WAITS_AT: usize = size_of::<StatusPage>();

/// One end of a channel: what has gone or come there, written by the endpoint alone, with plain relaxed stores.
/// Each field is one word, so a reader sees no torn value, but the fields may be of two messages that follow
/// each other.
#[repr(C, align(32))]
#[derive(Default)]
pub struct ChannelEnd {
    /// At the receiving end: bytes of credit returned so far.
    credit: AtomicU64,
    messages: AtomicU64,
    /// Of their bodies.
    bytes: AtomicU64,
    /// The timestamp of the last one, bits of an f64.
    time: AtomicU64,
}

// SAFETY: only atomics.
unsafe impl crate::memory::Shared for ChannelEnd {}

impl ChannelEnd {
    /// Bytes of credit returned so far.
    #[inline(always)]
    pub fn credit(&self) -> &AtomicU64 {
        &self.credit
    }

    /// Endpoint: one message has passed; `time` is its timestamp, s.
    #[inline(always)]
    pub fn count(&self, bytes: u64, time: f64) {
        // The cost of this is measured by benchmarks/pingpong with a library without it.
        if cfg!(ligament_unwatched) {
            return;
        }
        // One writer: no need for a locked instruction.
        let add = |word: &AtomicU64, by: u64| {
            word.store(word.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
        };
        add(&self.messages, 1);
        add(&self.bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Anybody: what has passed.
    pub fn passed(&self) -> ChannelCount {
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let (messages, time) = (word(&self.messages), f64::from_bits(word(&self.time)));
        ChannelCount { messages, bytes: word(&self.bytes), time: (messages > 0).then_some(time) }
    }
}

/// How an area is laid out: follows from four counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Incoming channels.
    pub channels: u32,
    /// Peers that may send here.
    pub inboxes: u32,
    /// Instances that have a row, of an endpoint that serves many; peers need not know.
    pub rows: u32,
    /// Channel ends other than those of incoming channels: an outgoing channel has one; a channel between two
    /// instances of this endpoint has two. Peers do not need this number.
    pub ends: u32,
}

impl Layout {
    fn waits_at(self) -> usize {
        CREDITS_AT + self.channels as usize * END_BYTES
    }

    fn inboxes_at(self) -> usize {
        (self.waits_at() + self.channels as usize * 4).next_multiple_of(PAGE)
    }

    /// Bytes of address space that the area takes.
    pub fn size(self) -> usize {
        let (at, len) = self.ends();
        at as usize + len
    }

    /// The offset of the rows, and their length together.
    pub fn rows(self) -> (u64, usize) {
        let at = self.inboxes_at() + self.inboxes as usize * INBOX_BYTES;
        (at as u64, (self.rows as usize * ROW_BYTES).next_multiple_of(PAGE))
    }

    /// The offset of the ends of channels beside the incoming ones, and their length together.
    pub fn ends(self) -> (u64, usize) {
        let (at, len) = self.rows();
        (at + len as u64, (self.ends as usize * END_BYTES).next_multiple_of(PAGE))
    }

    /// The offset of inbox `index`, and its length.
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

/// The front of an area: status page, timeline, credits and the channels waited for. The owner maps it
/// writable, others readable.
pub struct Front {
    map: Mapping,
    layout: Layout,
    /// The status page in use: the endpoint's own, or that of one of `rows`.
    page: NonNull<StatusPage>,
    rows: Option<RowTable>,
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
    pub fn add_rows(&mut self, rows: RowTable) {
        self.page = NonNull::from(self.map.at::<StatusPage>(STATUS_AT));
        self.rows = Some(rows);
    }

    /// Its rows, once they were added.
    pub fn rows(&self) -> Option<&RowTable> {
        self.rows.as_ref()
    }

    /// Owner: what is done from now on is shown on this row, or on the endpoint's own page.
    pub fn show_on(&mut self, row: Option<u32>) {
        let row = row.and_then(|row| Some(self.rows.as_ref()?.row(row)?.0));
        self.page = NonNull::from(row.unwrap_or_else(|| self.map.at(STATUS_AT)));
    }

    /// The ring of the timeline's records.
    pub(crate) fn records(&self) -> &[Record] {
        self.map.slice_at(TIMELINE_AT, timeline::MAX_RECORDS)
    }

    /// The sums of the timeline's causes.
    pub(crate) fn tallies(&self) -> &[CauseTotal] {
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

    /// The receiving end of the endpoint's incoming channel `index`.
    #[inline]
    pub fn end(&self, index: u32) -> Option<&ChannelEnd> {
        let at = CREDITS_AT + index as usize * END_BYTES;
        // SAFETY: a front has an end for each channel, and `new` has checked its length.
        (index < self.layout.channels).then(|| unsafe { self.map.at_checked(at) })
    }

    /// Bytes of credit returned so far on the endpoint's incoming channel `index`.
    #[inline]
    pub fn credit(&self, index: u32) -> Option<&AtomicU64> {
        self.end(index).map(ChannelEnd::credit)
    }
}

/// The ends of channels that are not incoming: first those of outgoing channels, then two, the sending and the
/// receiving, of each channel between instances of the endpoint.
pub struct Ends {
    map: Mapping,
    count: u32,
}

impl Ends {
    /// Takes a mapping of the range that `Layout::ends` names.
    pub fn new(map: Mapping, layout: Layout) -> Result<Ends, ShmError> {
        let (_, len) = layout.ends();
        if map.len() < len {
            return Err(ShmError::Malformed(format!("ends of channels of {} bytes", map.len())));
        }
        Ok(Ends { map, count: layout.ends })
    }

    /// An end.
    #[inline]
    pub fn end(&self, index: u32) -> Option<&ChannelEnd> {
        let at = index as usize * END_BYTES;
        // SAFETY: there is room for so many ends, as `new` has checked.
        (index < self.count).then(|| unsafe { self.map.at_checked(at) })
    }
}

/// The rows of an endpoint that serves many instances.
pub struct RowTable {
    map: Mapping,
    count: u32,
}

impl RowTable {
    /// Takes a mapping of the range that `Layout::rows` names.
    pub fn new(map: Mapping, layout: Layout) -> Result<RowTable, ShmError> {
        if map.len() < layout.rows().1 {
            return Err(ShmError::Malformed(format!("rows of {} bytes", map.len())));
        }
        Ok(RowTable { map, count: layout.rows })
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

    /// The same for a block of which nobody else can say so at the same time: no locked instruction, which
    /// would wait for the line to come.
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
