//! The timeline of an endpoint: on what it has waited and copied, in its own shared memory, readable also when
//! the process is stopped or dead. A ring of records, one for each wait or copy that lasted; and a table of
//! causes, which adds up all of them, also the short ones. The writer never waits for the reader: records that
//! were overwritten before they were read are missing one by one, but every record has all sums up to it, so
//! nothing is missing in sum.

use crate::area::Front;
use crate::memory::Shared;
use crate::status::{Status, StatusPage};
pub use ligament_wire::timeline::{Activity, Cause, CauseSum, TimelineInterval, TimelineTotals};
use std::collections::HashMap;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Records kept for the reader; it looks a few times a second.
pub const MAX_RECORDS: usize = 256;
/// Causes that are told apart; the last of them are the rest, one of each kind.
pub const CAUSES: usize = 4096;
/// Activities that last shorter are only added up, ns: the time in which a busy exchange comes round many
/// times.
pub const MIN_RECORDED_NS: u64 = 5_000;
/// The `id` of the causes that there was no room to tell apart.
pub const REST: u32 = u32::MAX;
/// Causes that are found at once.
const RECENT: usize = 16;
const KINDS: usize = 9;
const OWN: usize = CAUSES - KINDS;

/// Bytes of shared memory that a timeline takes at most; pages come with their first use.
pub const TIMELINE_BYTES: usize = MAX_RECORDS * size_of::<Record>() + CAUSES * size_of::<CauseTotal>();
pub(crate) const CAUSES_AT: usize = MAX_RECORDS * size_of::<Record>();

/// One wait or copy, and all sums with it. `stamp` is its number + 1, or 0 while it is being written.
#[repr(C, align(128))]
pub struct Record {
    stamp: AtomicU64,
    begin: AtomicU64,
    end: AtomicU64,
    cause: AtomicU64,
    sums: [AtomicU64; 10],
    spare: [AtomicU64; 2],
}

// SAFETY: only atomics.
unsafe impl Shared for Record {}

/// The sum of one cause.
#[repr(C)]
pub struct CauseTotal {
    cause: AtomicU64,
    ns: AtomicU64,
    count: AtomicU64,
    spare: AtomicU64,
}

// SAFETY: only atomics.
unsafe impl Shared for CauseTotal {}

/// The writing side, in the endpoint.
#[derive(Debug)]
pub struct Recorder {
    on: bool,
    /// The row of each cause in the table.
    places: HashMap<Cause, usize>,
    /// Some of them again, found without looking for them.
    recent: [Option<(Cause, usize)>; RECENT],
    records: u64,
}

impl Recorder {
    /// For an endpoint with this status page.
    pub fn new(status: &StatusPage) -> Recorder {
        Recorder { on: status.keeps_timeline(), places: HashMap::new(), recent: [None; RECENT], records: 0 }
    }

    /// A wait or a copy is over; the status page counts it already. Times in ns of CLOCK_MONOTONIC.
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
        // One writer: no need for a locked instruction.
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
        // Whoever sees anything of the new record sees that the old one is gone.
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

/// The reading side, in the agent: what of an endpoint's timeline it has taken already.
#[derive(Debug, Default)]
pub struct TimelineReader {
    next: u64,
    missed: u64,
    counted: (u64, u64),
}

impl TimelineReader {
    /// The intervals recorded since the last time, in their order.
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

    /// The sums of all causes, if there is anything new in them; `status` is of before `take`.
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

/// Record `number`, unless it is no longer there.
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
