//! The area of an endpoint: memory that only this endpoint writes, and that its peers and its agent read. It
//! holds, in this order: the status page; the timeline; for each incoming channel the credit returned and a
//! count of its messages; the channels that the endpoint waits for; one *inbox* for each peer that may send
//! to it. An inbox holds the number of entries that the endpoint has taken from that peer's ring, and the
//! number of releases of each of that peer's blocks. If the endpoint serves many instances, a *row* for each
//! instance follows, with a status page of its own. Last, for the agent only, come the counts of the
//! outgoing channels.

use crate::memory::{Mapping, ShmError, PAGE_BYTES};
use crate::status::{Status, StatusPage};
use crate::sync::AtomicU64;
use crate::timeline::{self, CauseTotal, Record};
pub use ligament_wire::status::ChannelCount;
use rustix::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of blocks of one sender. The table of releases is sparse, so only its used pages cost
/// memory.
pub const MAX_BLOCKS: usize = 1 << 18;
const STATUS_AT: usize = PAGE_BYTES;
const TIMELINE_AT: usize = 2 * PAGE_BYTES;
const CREDITS_AT: usize = TIMELINE_AT + timeline::TIMELINE_BYTES.next_multiple_of(PAGE_BYTES);
const RELEASES_AT: usize = PAGE_BYTES;
/// Size of a channel end: half a cache line. All ends in an area have one writer, so two ends may share a
/// line.
const END_BYTES: usize = size_of::<ChannelEnd>();
const INBOX_BYTES: usize = RELEASES_AT + MAX_BLOCKS * 4;
/// Size of a row: a status page, and the number of the one channel that the instance waits for.
const ROW_BYTES: usize = ROW_WAITS_AT + 64;
const ROW_WAITS_AT: usize = size_of::<StatusPage>();

/// The counts of one end of a channel. The endpoint alone writes them, with plain relaxed stores. Each field
/// is one word, so a reader sees no torn value, but the fields may belong to two successive messages.
#[repr(C, align(32))]
#[derive(Default)]
pub struct ChannelEnd {
    /// At the receiving end: number of bytes of credit returned so far.
    credit: AtomicU64,
    messages: AtomicU64,
    /// Number of bytes of the bodies of these messages.
    bytes: AtomicU64,
    /// Timestamp of the last message, as the bits of an f64.
    time: AtomicU64,
}

// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for ChannelEnd {}

impl ChannelEnd {
    /// Returns the word that counts the bytes of credit returned so far.
    #[inline(always)]
    pub fn credit(&self) -> &AtomicU64 {
        &self.credit
    }

    /// Endpoint: counts one message that has passed; `time` is its timestamp, s.
    #[inline(always)]
    pub fn count(&self, bytes: u64, time: f64) {
        // benchmarks/pingpong measures the cost of this count with a library that is built without it.
        if cfg!(ligament_unwatched) {
            return;
        }
        // The word has one writer, so no locked instruction is needed.
        let add = |word: &AtomicU64, by: u64| {
            word.store(word.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
        };
        add(&self.messages, 1);
        add(&self.bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Any process: returns the counts of the messages that have passed.
    pub fn passed(&self) -> ChannelCount {
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let (messages, time) = (word(&self.messages), f64::from_bits(word(&self.time)));
        ChannelCount { messages, bytes: word(&self.bytes), time: (messages > 0).then_some(time) }
    }
}

/// The layout of an area. It follows from four counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Number of incoming channels.
    pub channels: u32,
    /// Number of peers that may send to this endpoint.
    pub inboxes: u32,
    /// Number of instances that have a row, if the endpoint serves many instances. Peers do not need this
    /// number.
    pub rows: u32,
    /// Number of channel ends besides those of incoming channels: one for each outgoing channel, two for
    /// each channel between two instances of this endpoint. Peers do not need this number.
    pub ends: u32,
}

impl Layout {
    fn waits_at(self) -> usize {
        CREDITS_AT + self.channels as usize * END_BYTES
    }

    fn inboxes_at(self) -> usize {
        (self.waits_at() + self.channels as usize * 4).next_multiple_of(PAGE_BYTES)
    }

    /// Returns the number of bytes of address space that the area takes.
    pub fn size(self) -> usize {
        let (at, len) = self.ends();
        at as usize + len
    }

    /// Returns the offset of the rows and their total length.
    pub fn rows(self) -> (u64, usize) {
        let at = self.inboxes_at() + self.inboxes as usize * INBOX_BYTES;
        (at as u64, (self.rows as usize * ROW_BYTES).next_multiple_of(PAGE_BYTES))
    }

    /// Returns the offset of the channel ends that are not incoming, and their total length.
    pub fn ends(self) -> (u64, usize) {
        let (at, len) = self.rows();
        (at + len as u64, (self.ends as usize * END_BYTES).next_multiple_of(PAGE_BYTES))
    }

    /// Returns the offset and the length of inbox `index`.
    pub fn inbox(self, index: u32) -> (u64, usize) {
        ((self.inboxes_at() + index as usize * INBOX_BYTES) as u64, INBOX_BYTES)
    }

    /// Returns the length of the front: status page, timeline, credits and list of awaited channels.
    pub fn front(self) -> usize {
        self.inboxes_at()
    }
}

/// Marks an area that no process has mapped yet: its endpoint keeps no timeline.
pub fn keep_no_timeline(area: impl AsFd) -> Result<(), ShmError> {
    let at = STATUS_AT + StatusPage::NO_TIMELINE_AT;
    let written = rustix::io::pwrite(area, &1u64.to_ne_bytes(), at as u64);
    written.map(drop).map_err(|error| ShmError::Malformed(format!("an area cannot be written: {error}")))
}

/// The front of an area: status page, timeline, credits and list of awaited channels. The endpoint maps it
/// writable, other processes map it read-only.
pub struct Front {
    map: Mapping,
    layout: Layout,
    /// The status page in use: the endpoint's own page, or the page of one row.
    page: NonNull<StatusPage>,
    rows: Option<RowTable>,
}

// SAFETY: `page` points into `map` or into `rows`, which this struct owns and which do not move in memory.
// The page has only atomic fields.
unsafe impl Send for Front {}
// SAFETY: as above.
unsafe impl Sync for Front {}

impl Front {
    /// Wraps a mapping of `layout.front()` bytes from offset 0.
    pub fn new(map: Mapping, layout: Layout) -> Result<Front, ShmError> {
        if map.len() < layout.front() {
            return Err(ShmError::Malformed(format!("an area of {} bytes", map.len())));
        }
        let page = NonNull::from(map.at::<StatusPage>(STATUS_AT));
        Ok(Front { map, layout, page, rows: None })
    }

    /// Returns the status page in use.
    #[inline]
    pub fn status(&self) -> &StatusPage {
        // SAFETY: the page lies in one of this front's mappings, which do not move.
        unsafe { self.page.as_ref() }
    }

    /// Owner: adds a mapping of the rows, for `show_on`.
    pub fn add_rows(&mut self, rows: RowTable) {
        self.page = NonNull::from(self.map.at::<StatusPage>(STATUS_AT));
        self.rows = Some(rows);
    }

    /// Returns the rows, if `add_rows` was called.
    pub fn rows(&self) -> Option<&RowTable> {
        self.rows.as_ref()
    }

    /// Owner: selects the status page that shows all later activity: the page of this row, or for `None` the
    /// endpoint's own page.
    pub fn show_on(&mut self, row: Option<u32>) {
        let row = row.and_then(|row| Some(self.rows.as_ref()?.row(row)?.0));
        self.page = NonNull::from(row.unwrap_or_else(|| self.map.at(STATUS_AT)));
    }

    /// Returns the ring of records of the timeline.
    pub(crate) fn records(&self) -> &[Record] {
        self.map.slice_at(TIMELINE_AT, timeline::MAX_RECORDS)
    }

    /// Returns the table of causes of the timeline, with their sums.
    pub(crate) fn tallies(&self) -> &[CauseTotal] {
        self.map.slice_at(TIMELINE_AT + timeline::CAUSES_AT, timeline::CAUSES)
    }

    /// Returns the memory for the numbers of the awaited channels.
    pub fn waits(&self) -> &[AtomicU32] {
        self.map.slice_at(self.layout.waits_at(), self.layout.channels as usize)
    }

    /// Any process: reads the status of the endpoint.
    pub fn look(&self) -> Status {
        self.status().read(self.waits())
    }

    /// Returns the receiving end of the endpoint's incoming channel `index`.
    #[inline]
    pub fn end(&self, index: u32) -> Option<&ChannelEnd> {
        let at = CREDITS_AT + index as usize * END_BYTES;
        // SAFETY: a front has an end for each channel, and `new` has checked its length.
        (index < self.layout.channels).then(|| unsafe { self.map.at_checked(at) })
    }

    /// Returns the word that counts the bytes of credit returned on the endpoint's incoming channel `index`.
    #[inline]
    pub fn credit(&self, index: u32) -> Option<&AtomicU64> {
        self.end(index).map(ChannelEnd::credit)
    }
}

/// The channel ends that are not incoming: first one end for each outgoing channel, then two ends (sending,
/// receiving) for each channel between two instances of the endpoint.
pub struct Ends {
    map: Mapping,
    count: u32,
}

impl Ends {
    /// Wraps a mapping of the range that `Layout::ends` names.
    pub fn new(map: Mapping, layout: Layout) -> Result<Ends, ShmError> {
        let (_, len) = layout.ends();
        if map.len() < len {
            return Err(ShmError::Malformed(format!("ends of channels of {} bytes", map.len())));
        }
        Ok(Ends { map, count: layout.ends })
    }

    /// Returns end `index`.
    #[inline]
    pub fn end(&self, index: u32) -> Option<&ChannelEnd> {
        let at = index as usize * END_BYTES;
        // SAFETY: `new` has checked that the mapping has room for `count` ends.
        (index < self.count).then(|| unsafe { self.map.at_checked(at) })
    }
}

/// The rows of an endpoint that serves many instances.
pub struct RowTable {
    map: Mapping,
    count: u32,
}

impl RowTable {
    /// Wraps a mapping of the range that `Layout::rows` names.
    pub fn new(map: Mapping, layout: Layout) -> Result<RowTable, ShmError> {
        if map.len() < layout.rows().1 {
            return Err(ShmError::Malformed(format!("rows of {} bytes", map.len())));
        }
        Ok(RowTable { map, count: layout.rows })
    }

    /// Returns row `index`: its status page, and the memory for the number of its awaited channel.
    pub fn row(&self, index: u32) -> Option<(&StatusPage, &[AtomicU32])> {
        let at = index as usize * ROW_BYTES;
        (index < self.count).then(|| (self.map.at(at), self.map.slice_at(at + ROW_WAITS_AT, 1)))
    }

    /// Any process: reads the status of the instance with row `index`.
    pub fn look(&self, index: u32) -> Option<Status> {
        self.row(index).map(|(page, waits)| page.read(waits))
    }
}

/// One inbox of an area: the counts that the owner keeps for one peer.
pub struct Inbox {
    map: Mapping,
}

impl Inbox {
    /// Wraps a mapping of the range that `Layout::inbox` names.
    pub fn new(map: Mapping) -> Result<Inbox, ShmError> {
        if map.len() < INBOX_BYTES {
            return Err(ShmError::Malformed(format!("an inbox of {} bytes", map.len())));
        }
        Ok(Inbox { map })
    }

    /// Returns the word that counts the entries of the peer's ring that the owner has taken.
    pub fn taken(&self) -> &AtomicU64 {
        self.map.at(0)
    }

    #[inline]
    fn releases(&self, block: u32) -> Option<&AtomicU32> {
        // SAFETY: an inbox has `MAX_BLOCKS` counts of releases, and `new` has checked its length.
        ((block as usize) < MAX_BLOCKS)
            .then(|| unsafe { self.map.at_checked(RELEASES_AT + block as usize * 4) })
    }

    /// Owner: counts the end of one use of the peer's block. Any thread may call this.
    pub fn release(&self, block: u32) {
        if let Some(count) = self.releases(block) {
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// Like `release`, for a block that no other thread releases at the same time. It uses no locked
    /// instruction, which would wait for the cache line to arrive.
    #[inline]
    pub fn release_alone(&self, block: u32) {
        if let Some(count) = self.releases(block) {
            count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        }
    }

    /// Peer: returns the number of uses of its block that have ended, modulo 2³².
    #[inline]
    pub fn released(&self, block: u32) -> u32 {
        self.releases(block).map_or(0, |count| count.load(Ordering::Acquire))
    }
}
