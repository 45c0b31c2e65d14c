//! The timeline of an endpoint: a record of its waits and copies in its own shared memory. The agent can
//! read it even when the process is stopped or dead. It consists of a ring of records, one for each wait or
//! copy that took long enough, and of a table of causes, which sums up all waits and copies, also the short
//! ones. The writer never waits for the reader. If a record is overwritten before it is read, it is lost,
//! but every record contains all sums up to its time, so no part of the sums is lost.

use crate::area::Front;
use crate::memory::Shared;
use crate::status::{Status, StatusPage};
pub use ligament_wire::timeline::{Activity, Cause, CauseSum, TimelineInterval, TimelineTotals};
use std::collections::HashMap;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Number of records in the ring. The reader reads it a few times a second.
pub const MAX_RECORDS: usize = 256;
/// Number of rows in the table of causes. The last rows collect the causes that have no row of their own,
/// one row for each kind of activity.
pub const CAUSES: usize = 4096;
/// Minimum duration of an activity that gets a record, ns. Shorter activities are only added to the sums. In
/// this time a fast exchange of messages completes many rounds.
pub const MIN_RECORDED_NS: u64 = 5_000;
/// The `id` of a cause that collects all causes without a row of their own.
pub const REST: u32 = u32::MAX;
/// Size of the cache of causes that are found without a look into the map.
const RECENT: usize = 16;
const KINDS: usize = 9;
const OWN: usize = CAUSES - KINDS;

/// Maximum size of a timeline in shared memory, bytes. Pages are allocated at their first use.
pub const TIMELINE_BYTES: usize = MAX_RECORDS * size_of::<Record>() + CAUSES * size_of::<CauseTotal>();
pub(crate) const CAUSES_AT: usize = MAX_RECORDS * size_of::<Record>();

/// The record of one wait or copy, with all sums up to its end. `stamp` is the number of the record plus 1,
/// or 0 while the record is being written.
#[repr(C, align(128))]
pub struct Record {
    stamp: AtomicU64,
    begin: AtomicU64,
    end: AtomicU64,
    cause: AtomicU64,
    sums: [AtomicU64; 10],
    spare: [AtomicU64; 2],
}

// SAFETY: all fields are atomic.
unsafe impl Shared for Record {}

/// The sum of all activities with one cause.
#[repr(C)]
pub struct CauseTotal {
    cause: AtomicU64,
    ns: AtomicU64,
    count: AtomicU64,
    spare: AtomicU64,
}

// SAFETY: all fields are atomic.
unsafe impl Shared for CauseTotal {}

/// The writing side of a timeline, in the endpoint.
#[derive(Debug)]
pub struct Recorder {
    on: bool,
    /// Row of each cause in the table.
    places: HashMap<Cause, usize>,
    /// Cache of some entries of `places`; see `RECENT`.
    recent: [Option<(Cause, usize)>; RECENT],
    records: u64,
}

impl Recorder {
    /// Makes the recorder of the endpoint with this status page.
    pub fn new(status: &StatusPage) -> Recorder {
        Recorder { on: status.keeps_timeline(), places: HashMap::new(), recent: [None; RECENT], records: 0 }
    }

    /// Notes a wait or copy that has ended and that the status page has counted already. Times are in ns of
    /// CLOCK_MONOTONIC.
    pub fn note(&mut self, front: &Front, cause: Cause, begin: u64, end: u64) {
        if !self.on {
            return;
        }
        let place = match self.recent[recent(cause)] {
            Some((known, place)) if known == cause => place,
            _ => self.place(front, cause),
        };
        let lasted = end.saturating_sub(begin);
        let tally = &front.tallies()[place];
        // The words have one writer, so no locked instruction is needed.
        tally.ns.store(tally.ns.load(Ordering::Relaxed) + lasted, Ordering::Relaxed);
        tally.count.store(tally.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if lasted >= MIN_RECORDED_NS {
            self.record(front, cause, begin, end);
        }
    }

    #[cold]
    fn place(&mut self, front: &Front, cause: Cause) -> usize {
        let known = self.places.len();
        let place = match self.places.get(&cause) {
            Some(&place) => place,
            None if known == OWN => OWN + cause.activity as usize,
            None => {
                self.places.insert(cause, known);
                front.tallies()[known].cause.store(cause.word(), Ordering::Relaxed);
                front.status().set_causes(known as u64 + 1);
                known
            }
        };
        self.recent[recent(cause)] = Some((cause, place));
        place
    }

    fn record(&mut self, front: &Front, cause: Cause, begin: u64, end: u64) {
        let record = &front.records()[self.records as usize % MAX_RECORDS];
        record.stamp.store(0, Ordering::Relaxed);
        // A reader that sees any word of the new record also sees that the old one is invalid.
        fence(Ordering::Release);
        record.begin.store(begin, Ordering::Relaxed);
        record.end.store(end, Ordering::Relaxed);
        record.cause.store(cause.word(), Ordering::Relaxed);
        for (word, value) in record.sums.iter().zip(front.status().sums().words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.records += 1;
        record.stamp.store(self.records, Ordering::Release);
        front.status().set_records(self.records);
    }
}

/// The reading side of a timeline, in the agent: remembers the part of the timeline that the agent has read.
#[derive(Debug, Default)]
pub struct TimelineReader {
    next: u64,
    missed: u64,
    counted: (u64, u64),
}

impl TimelineReader {
    /// Returns the intervals recorded since the last call, in their order.
    pub fn take(&mut self, front: &Front) -> Vec<TimelineInterval> {
        let records = front.status().records();
        let oldest = records.saturating_sub(MAX_RECORDS as u64).max(self.next);
        self.missed += oldest - self.next.min(oldest);
        let mut taken = Vec::new();
        for number in oldest..records {
            match read(&front.records()[number as usize % MAX_RECORDS], number) {
                Some(interval) => {
                    taken.push(TimelineInterval { missed: std::mem::take(&mut self.missed), ..interval })
                }
                None => self.missed += 1,
            }
        }
        self.next = records.max(self.next);
        taken
    }

    /// Returns the sums of all causes if they have changed since the last call. `status` must have been read
    /// before `take`.
    pub fn sums(&mut self, front: &Front, status: &Status) -> Vec<CauseSum> {
        let counted = (status.wait_count, status.transferred);
        if std::mem::replace(&mut self.counted, counted) == counted {
            return Vec::new();
        }
        let used = (front.status().causes() as usize).min(OWN);
        let rest = if used == OWN { OWN..CAUSES } else { OWN..OWN };
        let sum = |place: usize| {
            let tally = &front.tallies()[place];
            let cause = match place.checked_sub(OWN) {
                None => Cause::from_word(tally.cause.load(Ordering::Relaxed))?,
                Some(kind) => Cause { activity: Activity::from_word(kind as u64)?, id: REST },
            };
            let (ns, count) = (tally.ns.load(Ordering::Relaxed), tally.count.load(Ordering::Relaxed));
            (count > 0).then_some(CauseSum { cause, ns, count })
        };
        (0..used).chain(rest).filter_map(sum).collect()
    }
}

/// Reads record `number`. Returns None if it was overwritten.
fn read(record: &Record, number: u64) -> Option<TimelineInterval> {
    if record.stamp.load(Ordering::Acquire) != number + 1 {
        return None;
    }
    let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let (begin, end, cause) = (word(&record.begin), word(&record.end), word(&record.cause));
    let sums = std::array::from_fn(|i| word(&record.sums[i]));
    fence(Ordering::Acquire);
    if word(&record.stamp) != number + 1 {
        return None;
    }
    let cause = Cause::from_word(cause)?;
    Some(TimelineInterval { cause, begin, end, sums: TimelineTotals::from_words(sums), missed: 0 })
}

fn recent(cause: Cause) -> usize {
    (cause.id as usize).wrapping_add(cause.activity as usize * 3) % RECENT
}

#[cfg(test)]
mod tests;
