//! A ring of entries from one writer to one reader. The first cache line of an entry is the header of a
//! message. The top byte of its last word holds the lap stamp, which tells the reader that the entry is new.
//! The reader polls only this line.
//!
//! Memory order: the writer stores all other words relaxed, then word 7 with release; the reader loads word
//! 7 with acquire. The reader's cursor (the number of entries that it has taken) lies in memory of the
//! reader. The writer reads the cursor only when the ring seems full.

use crate::sync::{AtomicU64, Ordering};
use std::ptr::NonNull;

/// Number of words in an entry: one line of header and four lines of body.
pub const ENTRY_WORDS: usize = 40;
/// Number of bytes of an entry.
pub const ENTRY_BYTES: usize = ENTRY_WORDS * 8;
/// Number of words of an entry's body.
pub const BODY_WORDS: usize = ENTRY_WORDS - 8;
/// Number of bytes of an entry's body.
pub const BODY_BYTES: usize = BODY_WORDS * 8;
/// Index of the word that holds the lap stamp.
const STAMPED: usize = 7;
const STAMP_SHIFT: u32 = 56;
/// Index of the first word of an announcement. While the writer still copies a message to its block, it
/// announces the message in the last line of the next entry: first the number of bytes copied, then the
/// words of `Announcement`. The entry of an announced message has no body.
const ANNOUNCEMENT_AT: usize = ENTRY_WORDS - 8;
/// Mask of the bits of word 7 that belong to the header.
pub const STAMPED_MASK: u64 = (1 << STAMP_SHIFT) - 1;

/// One entry of a ring.
#[repr(C, align(64))]
pub struct RingEntry {
    words: [AtomicU64; ENTRY_WORDS],
}

#[cfg(not(loom))]
// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for RingEntry {}

impl RingEntry {
    #[cfg(loom)]
    fn empty() -> RingEntry {
        RingEntry { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    fn stamp(&self) -> u64 {
        self.words[STAMPED].load(Ordering::Acquire) >> STAMP_SHIFT
    }
}

/// Identifies a message that is being copied, and the place of the copy. Only the two ends of the ring give
/// the words a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    pub channel: u64,
    pub sequence: u64,
    pub place: u64,
}

impl Announcement {
    /// Returns a check word for this announcement. The words of an announcement may hold part of an older
    /// body, and a body does not have this check word by chance.
    pub fn tag(&self) -> u64 {
        let mixed =
            (self.channel.rotate_left(40) ^ self.sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.place;
        mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0x4c69_6761_6d65_6e74
    }
}

/// A position in a ring: the index of the next entry, and the stamp of this lap.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    index: usize,
    stamp: u64,
}

impl Cursor {
    const FIRST: Cursor = Cursor { index: 0, stamp: 0x80 };

    fn step(&mut self, entries: usize) {
        self.index += 1;
        if self.index == entries {
            self.index = 0;
            // Two successive laps must have different stamps, and no stamp may be 0, because fresh memory
            // holds 0.
            self.stamp = 0x80 | ((self.stamp + 1) & 0x7f);
        }
    }
}

/// The writing end of a ring.
pub struct RingWriter {
    entries: NonNull<RingEntry>,
    count: usize,
    next: Cursor,
    /// Number of entries written in total, over all segments of the ring.
    written: u64,
    /// The reader's cursor at the last look.
    taken_seen: u64,
    taken: NonNull<AtomicU64>,
}

// SAFETY: the ring's memory is only touched through atomics; one thread at a time owns the writer.
unsafe impl Send for RingWriter {}

impl RingWriter {
    /// Makes a writer at the start of a zeroed segment of `count` entries.
    ///
    /// # Safety
    /// `entries` must point to `count` entries and `taken` to the reader's cursor; both must stay mapped
    /// while the writer lives, and no other writer may write the entries.
    pub unsafe fn new(entries: NonNull<RingEntry>, count: usize, taken: NonNull<AtomicU64>) -> RingWriter {
        assert!(count >= 2);
        RingWriter { entries, count, next: Cursor::FIRST, written: 0, taken_seen: 0, taken }
    }

    /// Returns the number of entries in the present segment.
    pub fn entries(&self) -> usize {
        self.count
    }

    /// Returns the number of entries written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of entries that the reader has taken. Reads the cursor of the reader.
    pub fn taken(&mut self) -> u64 {
        // SAFETY: stays mapped, by the contract of `new`.
        let taken = unsafe { self.taken.as_ref() }.load(Ordering::Acquire);
        // A cursor beyond the written entries comes from a broken reader. It must not make the writer
        // overwrite entries.
        if taken <= self.written {
            self.taken_seen = taken.max(self.taken_seen);
        }
        self.taken_seen
    }

    /// Returns true if an entry can certainly be written. Uses the cursor of the last look, so the result
    /// may be false although the reader has made room since.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.written - self.taken_seen + 1 < self.count as u64
    }

    /// Returns the number of entries that can be written. The last free entry does not count: it is reserved
    /// for `jump`.
    #[inline]
    pub fn room(&mut self) -> usize {
        let used = self.written.wrapping_sub(self.taken_seen) as usize;
        if used + 1 < self.count {
            return self.count - 1 - used;
        }
        let used = (self.written - self.taken()) as usize;
        (self.count - 1).saturating_sub(used)
    }

    /// Writes one entry and publishes it. The caller must have made sure that `room` is not 0.
    #[inline(always)]
    pub fn publish(&mut self, header: &[u64; 8], body: &[u64]) {
        debug_assert!(body.len() <= BODY_WORDS);
        // SAFETY: `index` < `count`, mapped by the contract of `new`.
        let entry = unsafe { self.entries.add(self.next.index).as_ref() };
        for (word, value) in entry.words[8..].iter().zip(body) {
            word.store(*value, Ordering::Relaxed);
        }
        for (word, value) in entry.words[..STAMPED].iter().zip(header) {
            word.store(*value, Ordering::Relaxed);
        }
        let last = (header[STAMPED] & STAMPED_MASK) | (self.next.stamp << STAMP_SHIFT);
        entry.words[STAMPED].store(last, Ordering::Release);
        self.next.step(self.count);
        self.written += 1;
    }

    /// Announces the message of the next entry before any of its bytes is copied. The caller must have made
    /// sure that `room` is not 0.
    pub fn announce(&self, what: Announcement) {
        // SAFETY: as in `publish`.
        let words = unsafe { &self.entries.add(self.next.index).as_ref().words[ANNOUNCEMENT_AT..] };
        words[1].store(what.channel, Ordering::Relaxed);
        words[2].store(what.sequence, Ordering::Relaxed);
        words[3].store(what.place, Ordering::Relaxed);
        words[4].store(what.tag(), Ordering::Relaxed);
    }

    /// Publishes the number of bytes of the announced message that are copied. The caller sets the number to
    /// 0 before it publishes the message. Otherwise the reader would find the old announcement when the
    /// entry is used again.
    pub fn progress(&self, bytes: u64) {
        // SAFETY: as in `publish`.
        let words = unsafe { &self.entries.add(self.next.index).as_ref().words };
        words[ANNOUNCEMENT_AT].store(bytes, Ordering::Release);
    }

    /// Publishes `header` and `body` in the entry reserved for a jump, and continues in another, zeroed
    /// segment.
    ///
    /// # Safety
    /// As for `new`; `header` and `body` must tell the reader where the new segment lies.
    pub unsafe fn jump(&mut self, header: &[u64; 8], body: &[u64], entries: NonNull<RingEntry>, count: usize) {
        assert!(count >= 2);
        self.publish(header, body);
        self.entries = entries;
        self.count = count;
        self.next = Cursor::FIRST;
    }
}

/// The reading end of a ring.
pub struct RingReader {
    entries: NonNull<RingEntry>,
    count: usize,
    next: Cursor,
    taken_count: u64,
    taken: NonNull<AtomicU64>,
}

// SAFETY: as for the writer.
unsafe impl Send for RingReader {}

impl RingReader {
    /// Makes a reader at the start of a segment of `count` entries.
    ///
    /// # Safety
    /// As for `RingWriter::new`, and no other code may write `taken`.
    pub unsafe fn new(entries: NonNull<RingEntry>, count: usize, taken: NonNull<AtomicU64>) -> RingReader {
        assert!(count >= 2);
        RingReader { entries, count, next: Cursor::FIRST, taken_count: 0, taken }
    }

    #[inline]
    fn entry(&self) -> &RingEntry {
        // SAFETY: `index` < `count`, mapped by the contract of `new`.
        unsafe { self.entries.add(self.next.index).as_ref() }
    }

    /// Returns true if the next entry is ready to be read.
    #[inline]
    pub fn ready(&self) -> bool {
        self.entry().stamp() == self.next.stamp
    }

    /// Reads the header of the next entry, without its stamp. Returns false if no entry is ready.
    #[inline]
    pub fn peek(&self, header: &mut [u64; 8]) -> bool {
        let entry = self.entry();
        let last = entry.words[STAMPED].load(Ordering::Acquire);
        if last >> STAMP_SHIFT != self.next.stamp {
            return false;
        }
        for (value, word) in header[..STAMPED].iter_mut().zip(&entry.words) {
            *value = word.load(Ordering::Relaxed);
        }
        header[STAMPED] = last & STAMPED_MASK;
        true
    }

    /// Returns the announcement in the next entry and the number of its bytes that are copied, if there are
    /// any.
    #[inline]
    pub fn announced(&self) -> Option<(Announcement, u64)> {
        let words = &self.entry().words[ANNOUNCEMENT_AT..];
        let bytes = words[0].load(Ordering::Acquire);
        if bytes == 0 {
            return None;
        }
        let [channel, sequence, place, tag] = [1, 2, 3, 4].map(|i| words[i].load(Ordering::Relaxed));
        let what = Announcement { channel, sequence, place };
        (what.tag() == tag).then_some((what, bytes))
    }

    /// Copies the first words of the peeked entry's body to `out`.
    #[inline]
    pub fn body(&self, out: &mut [u64]) {
        debug_assert!(out.len() <= BODY_WORDS);
        for (value, word) in out.iter_mut().zip(&self.entry().words[8..]) {
            *value = word.load(Ordering::Relaxed);
        }
    }

    /// Returns the first line of the peeked entry's body.
    #[inline]
    pub fn body_line(&self) -> [u64; 8] {
        let words = &self.entry().words;
        std::array::from_fn(|i| words[8 + i].load(Ordering::Relaxed))
    }

    /// Returns the peeked entry to the writer.
    #[inline]
    pub fn take(&mut self) {
        self.next.step(self.count);
        self.taken_count += 1;
        // SAFETY: stays mapped, by the contract of `new`; only this reader writes it.
        unsafe { self.taken.as_ref() }.store(self.taken_count, Ordering::Release);
    }

    /// Takes the peeked entry and continues in another segment.
    ///
    /// # Safety
    /// As for `new`.
    pub unsafe fn jump(&mut self, entries: NonNull<RingEntry>, count: usize) {
        assert!(count >= 2);
        self.take();
        self.entries = entries;
        self.count = count;
        self.next = Cursor::FIRST;
    }
}

#[cfg(loom)]
mod model {
    //! Checks every interleaving of one writer and one reader over a ring of three entries.
    use super::*;
    use loom::sync::Arc;

    struct Memory {
        entries: Vec<RingEntry>,
        taken: AtomicU64,
    }

    fn memory(count: usize) -> Arc<Memory> {
        Arc::new(Memory { entries: (0..count).map(|_| RingEntry::empty()).collect(), taken: AtomicU64::new(0) })
    }

    fn ends(memory: &Memory) -> (NonNull<RingEntry>, usize, NonNull<AtomicU64>) {
        (NonNull::from(&memory.entries[0]), memory.entries.len(), NonNull::from(&memory.taken))
    }

    /// A reader sees only whole announcements, and only those of the next message, also when the writer uses
    /// an entry for the second time.
    #[test]
    fn what_is_announced_is_the_next_message() {
        loom::model(|| {
            let memory = memory(2);
            let shared = memory.clone();
            let announce = |writer: &RingWriter, i: u64| {
                writer.announce(Announcement { channel: i, sequence: i, place: i });
                writer.progress(10 * i);
            };
            let (entries, count, taken) = ends(&memory);
            let mut reader = unsafe { RingReader::new(entries, count, taken) };
            // The ring has two entries. Entries 1 and 2 fill it once; the test checks the announcement of
            // entry 3.
            let mut writer = unsafe { RingWriter::new(entries, count, taken) };
            for i in 1..=2 {
                announce(&writer, i);
                writer.progress(0);
                writer.publish(&[i; 8], &[]);
                reader.take();
                assert_eq!(writer.room(), 1);
            }
            let writing = loom::thread::spawn(move || {
                let _shared = shared;
                announce(&writer, 3);
                writer.progress(0);
                writer.publish(&[3; 8], &[]);
            });
            if let Some(seen) = reader.announced() {
                assert_eq!(seen, (Announcement { channel: 3, sequence: 3, place: 3 }, 30));
            }
            if reader.ready() {
                assert_eq!(reader.announced(), None);
            }
            writing.join().unwrap();
        });
    }

    #[test]
    fn what_is_read_is_what_was_written_in_order_and_once() {
        loom::model(|| {
            let memory = memory(3);
            let shared = memory.clone();
            let writer = loom::thread::spawn(move || {
                let (entries, count, taken) = ends(&shared);
                let mut writer = unsafe { RingWriter::new(entries, count, taken) };
                for i in 1..=4u64 {
                    while writer.room() == 0 {
                        loom::thread::yield_now();
                    }
                    writer.publish(&[i, i, i, i, i, i, i, i], &[i * 10]);
                }
            });
            let (entries, count, taken) = ends(&memory);
            let mut reader = unsafe { RingReader::new(entries, count, taken) };
            for i in 1..=4u64 {
                let mut header = [0; 8];
                while !reader.peek(&mut header) {
                    loom::thread::yield_now();
                }
                assert_eq!(header, [i; 8]);
                let mut body = [0; 1];
                reader.body(&mut body);
                assert_eq!(body, [i * 10]);
                reader.take();
            }
            writer.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn peeked(reader: &RingReader) -> Option<[u64; 8]> {
        let mut header = [0; 8];
        reader.peek(&mut header).then_some(header)
    }

    /// # Safety
    /// `entries` and `taken` must outlive the returned writer and reader.
    unsafe fn ends(entries: &[RingEntry], taken: &AtomicU64) -> (RingWriter, RingReader) {
        let (first, taken) = (NonNull::from(&entries[0]), NonNull::from(taken));
        // SAFETY: as the caller promises.
        unsafe { (RingWriter::new(first, entries.len(), taken), RingReader::new(first, entries.len(), taken)) }
    }

    fn segment(count: usize) -> Vec<RingEntry> {
        (0..count).map(|_| RingEntry { words: std::array::from_fn(|_| AtomicU64::new(0)) }).collect()
    }

    #[test]
    fn a_ring_passes_many_laps_in_order() {
        let entries = segment(4);
        let taken = AtomicU64::new(0);
        // SAFETY: `entries` and `taken` outlive the writer and the reader.
        let (mut writer, mut reader) = unsafe { ends(&entries, &taken) };
        let mut sent = 0u64;
        for received in 0..10_000u64 {
            while writer.room() > 0 {
                writer.publish(&[sent; 8], &[sent, !sent]);
                sent += 1;
            }
            assert_eq!(peeked(&reader), Some([received & STAMPED_MASK; 8]));
            let mut body = [0; 2];
            reader.body(&mut body);
            assert_eq!(body, [received, !received]);
            reader.take();
        }
        assert_eq!(sent, 10_002);
    }

    #[test]
    fn a_full_ring_goes_on_in_a_larger_segment() {
        let (small, large) = (segment(2), segment(8));
        let taken = AtomicU64::new(0);
        // SAFETY: both segments and `taken` outlive the writer and the reader.
        let (mut writer, mut reader) = unsafe { ends(&small, &taken) };
        writer.publish(&[1; 8], &[]);
        assert_eq!(writer.room(), 0);
        // SAFETY: `large` outlives the writer and the reader.
        unsafe { writer.jump(&[99; 8], &[], NonNull::from(&large[0]), 8) };
        writer.publish(&[2; 8], &[]);
        assert_eq!(peeked(&reader), Some([1; 8]));
        reader.take();
        assert_eq!(peeked(&reader), Some([99; 8]));
        // SAFETY: as above.
        unsafe { reader.jump(NonNull::from(&large[0]), 8) };
        assert_eq!(peeked(&reader), Some([2; 8]));
        reader.take();
        assert_eq!(peeked(&reader), None);
        assert_eq!(writer.taken(), 3);
    }

    #[test]
    fn what_is_announced_is_seen_until_another_is() {
        let entries = segment(2);
        let taken = AtomicU64::new(0);
        // SAFETY: `entries` and `taken` outlive the writer and the reader.
        let (mut writer, mut reader) = unsafe { ends(&entries, &taken) };
        for sequence in 0..6 {
            let what = Announcement { channel: 3, sequence, place: 10 * sequence };
            writer.announce(what);
            assert_eq!(reader.announced(), None);
            for bytes in [5, 9] {
                writer.progress(bytes);
                assert_eq!(reader.announced(), Some((what, bytes)));
            }
            writer.progress(0);
            writer.publish(&[sequence; 8], &[]);
            assert_eq!(reader.announced(), None);
            reader.take();
            assert_eq!(writer.room(), 1);
        }
        for number in [0, 1, u64::MAX] {
            writer.publish(&[number; 8], &[number; BODY_WORDS]);
            assert_eq!(reader.announced(), None, "a body is no announcement");
            reader.take();
            assert_eq!(writer.room(), 1);
        }
    }

    #[test]
    fn a_reader_that_claims_too_much_gains_no_room() {
        let entries = segment(4);
        let taken = AtomicU64::new(0);
        // SAFETY: `entries` and `taken` outlive the writer.
        let mut writer = unsafe { RingWriter::new(NonNull::from(&entries[0]), 4, NonNull::from(&taken)) };
        for _ in 0..3 {
            writer.publish(&[0; 8], &[]);
        }
        taken.store(1000, Ordering::Release);
        assert_eq!(writer.room(), 0);
    }
}
