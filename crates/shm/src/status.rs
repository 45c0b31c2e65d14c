//! The status page: what an endpoint shows of itself to its agent without being asked, readable also when the
//! process is stopped or dead. Written by the endpoint alone, with plain relaxed stores; each field is one
//! word, so a reader sees no torn value. `epoch` is odd while the endpoint waits and changes with every wait:
//! what is read between two equal looks at it belongs to one wait.

use crate::timeline::TimelineTotals;
pub use ligament_wire::status::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
use ligament_wire::EndpointId;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};

/// The page in shared memory.
#[repr(C, align(64))]
pub struct StatusPage {
    state: AtomicU64,
    epoch: AtomicU64,
    /// The kind of wait: one of the constants below.
    waits: AtomicU64,
    /// When the wait began, ns of CLOCK_MONOTONIC.
    since: AtomicU64,
    /// Model time, bits of an f64; NaN before the first message.
    time: AtomicU64,
    iterations: AtomicU64,
    pinned: AtomicU64,
    /// The last round of looking again that the endpoint has taken part in.
    looked: AtomicU64,
    sent_messages: AtomicU64,
    sent_bytes: AtomicU64,
    received_messages: AtomicU64,
    received_bytes: AtomicU64,
    waited: AtomicU64,
    transferred: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    /// While it waits: how many channels it waits for, or the one channel, or the peer.
    waits_detail: AtomicU64,
    /// The budget with which the send could go on, bytes.
    waits_needs: AtomicU64,
    /// 1 if the wait ends by itself.
    waits_timed: AtomicU64,
    /// 1 if the code may hold views of others' memory while it waits: 1 until it is known.
    waits_holding: AtomicU64,
    /// Waits that have ended.
    wait_count: AtomicU64,
    /// That part of `transferred` that went into receiving.
    receiving: AtomicU64,
    /// Records of the timeline so far, and causes in its table.
    records: AtomicU64,
    causes: AtomicU64,
    /// Not 0: the endpoint shall keep no timeline. Written by the agent, before there is an endpoint.
    no_timeline: AtomicU64,
    spare: [AtomicU64; 7],
}

const FOR_MESSAGE: u64 = 1;
const FOR_CREDIT: u64 = 2;
const FOR_SLOTS: u64 = 3;
const FOR_MEMORY: u64 = 4;
const FOR_STEERING: u64 = 5;

// SAFETY: only atomics.
unsafe impl crate::memory::Shared for StatusPage {}

/// The target of a wait that begins. Channels by their numbers in the run.
pub enum Awaits<'a> {
    /// A message on any of these channels.
    Message(&'a mut dyn Iterator<Item = u32>),
    /// Credit on a channel; a budget of `needs` bytes would do as well.
    Credit { channel: u32, needs: u64 },
    /// Slots of the ring to a peer.
    Slots { endpoint: EndpointId },
    /// A block of memory.
    Memory,
    /// That this change is agreed on, or this halt over.
    Steering { change: u64 },
}

#[inline]
fn add(word: &AtomicU64, by: u64) {
    // One writer: no need for a locked instruction.
    word.store(word.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl StatusPage {
    /// Endpoint: says what it does now.
    #[inline]
    pub fn set_state(&self, state: EndpointActivity) {
        self.state.store(state as u64, Ordering::Relaxed);
    }

    /// Endpoint: a wait begins. `list` is the area's room for the channels waited for.
    pub fn begin_wait(&self, what: Awaits<'_>, timed: bool, list: &[AtomicU32], now: u64) {
        let (kind, detail, needs) = match what {
            Awaits::Message(channels) => (FOR_MESSAGE, write_list(channels, list), 0),
            Awaits::Credit { channel, needs } => (FOR_CREDIT, u64::from(channel), needs),
            Awaits::Slots { endpoint } => (FOR_SLOTS, u64::from(endpoint.number()), 0),
            Awaits::Memory => (FOR_MEMORY, 0, 0),
            Awaits::Steering { change } => (FOR_STEERING, change, 0),
        };
        self.waits.store(kind, Ordering::Relaxed);
        self.waits_detail.store(detail, Ordering::Relaxed);
        self.waits_needs.store(needs, Ordering::Relaxed);
        self.waits_timed.store(u64::from(timed), Ordering::Relaxed);
        self.waits_holding.store(1, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        let state = match kind {
            FOR_MESSAGE => EndpointActivity::WaitingToReceive,
            FOR_STEERING => EndpointActivity::Held,
            _ => EndpointActivity::WaitingToSend,
        };
        // The first that tells of the wait: whoever sees it sees all of the above.
        self.epoch.store(self.epoch.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.state.store(state as u64, Ordering::Release);
    }

    /// Endpoint: a wait took so many ns.
    pub fn count_wait(&self, ns: u64) {
        add(&self.waited, ns);
        add(&self.wait_count, 1);
    }

    /// Endpoint: the wait is over.
    pub fn end_wait(&self) {
        add(&self.epoch, 1);
        // Whoever sees what the next wait writes also sees that this one is over.
        fence(Ordering::Release);
        self.state.store(EndpointActivity::Computing as u64, Ordering::Release);
    }

    /// Endpoint: it has not run for so long in all, ns. For an instance that shares its thread, which waits
    /// whenever others run.
    pub fn set_waited(&self, ns: u64) {
        self.waited.store(ns, Ordering::Relaxed);
    }

    /// Endpoint, while it waits: it has done something that others may notice. This counts as a new wait.
    pub fn stir(&self) {
        add(&self.epoch, 2);
    }

    /// Endpoint, while it waits: it has looked again since it was asked to in this round, and what it waits for
    /// had not come. By now it knows whether the code holds views, and what budget would do.
    pub fn confirm(&self, round: u64, holding: bool, needs: u64) {
        self.waits_holding.store(u64::from(holding), Ordering::Relaxed);
        self.waits_needs.store(needs, Ordering::Relaxed);
        self.looked.store(round, Ordering::Release);
    }

    /// Endpoint: one message left; `time` is its timestamp, s.
    #[inline]
    pub fn count_sent(&self, bytes: u64, time: f64) {
        add(&self.sent_messages, 1);
        add(&self.sent_bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: one message was handed to the code; `time` is its timestamp, s.
    #[inline]
    pub fn count_received(&self, bytes: u64, time: f64) {
        add(&self.received_messages, 1);
        add(&self.received_bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: it has come to this model time, s.
    #[inline]
    pub fn set_time(&self, time: f64) {
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: time spent copying, ns.
    #[inline]
    pub fn add_transferred(&self, ns: u64, receiving: bool) {
        add(&self.transferred, ns);
        add(&self.receiving, if receiving { ns } else { 0 });
    }

    /// Endpoint: what this page shows has no timeline.
    pub fn keep_no_timeline(&self) {
        self.no_timeline.store(1, Ordering::Relaxed);
    }

    /// The offset of `no_timeline` in the page.
    pub(crate) const NO_TIMELINE_AT: usize = std::mem::offset_of!(StatusPage, no_timeline);

    /// Endpoint: whether it shall keep a timeline.
    pub(crate) fn keeps_timeline(&self) -> bool {
        self.no_timeline.load(Ordering::Relaxed) == 0
    }

    /// Endpoint: its timeline has so many records.
    pub(crate) fn set_records(&self, records: u64) {
        self.records.store(records, Ordering::Release);
    }

    /// Endpoint: its timeline has so many causes.
    pub(crate) fn set_causes(&self, causes: u64) {
        self.causes.store(causes, Ordering::Release);
    }

    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Acquire)
    }

    pub(crate) fn causes(&self) -> u64 {
        self.causes.load(Ordering::Acquire)
    }

    /// Endpoint: what it has counted so far.
    pub(crate) fn sums(&self) -> TimelineTotals {
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        TimelineTotals {
            waits: word(&self.wait_count),
            waited: word(&self.waited),
            transferred: word(&self.transferred),
            receiving: word(&self.receiving),
            sent_messages: word(&self.sent_messages),
            sent_bytes: word(&self.sent_bytes),
            received_messages: word(&self.received_messages),
            received_bytes: word(&self.received_bytes),
            iterations: word(&self.iterations),
            time: word(&self.time),
        }
    }

    /// Endpoint: another pass of the reuse loop.
    pub fn count_iteration(&self) {
        add(&self.iterations, 1);
    }

    /// Endpoint: bytes that live views hold.
    #[inline]
    pub fn set_pinned(&self, bytes: u64) {
        self.pinned.store(bytes, Ordering::Relaxed);
    }

    /// Endpoint: it has begun (ns of CLOCK_MONOTONIC).
    pub fn start(&self, now: u64) {
        self.time.store(f64::NAN.to_bits(), Ordering::Relaxed);
        self.started.store(now, Ordering::Relaxed);
        self.set_state(EndpointActivity::Computing);
    }

    /// Endpoint: it is over.
    pub fn end(&self, state: EndpointActivity, now: u64) {
        self.ended.store(now, Ordering::Relaxed);
        self.set_state(state);
    }

    /// Anybody: what the page says; `list` is the area's room for the channels waited for.
    pub fn read(&self, list: &[AtomicU32]) -> Status {
        // One that moves faster than it can be read is not waiting.
        const MAX_READ_ATTEMPTS: usize = 4;
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        // First, so that what is read of the wait is at least what was confirmed in this round.
        let looked = self.looked.load(Ordering::Acquire);
        let mut epoch = 0;
        let mut waits = None;
        for _ in 0..MAX_READ_ATTEMPTS {
            epoch = self.epoch.load(Ordering::Acquire);
            waits = (epoch % 2 == 1).then(|| self.read_wait(list)).flatten();
            fence(Ordering::Acquire);
            if word(&self.epoch) == epoch {
                break;
            }
            waits = None;
        }
        let state = match (&waits, EndpointActivity::from_word(self.state.load(Ordering::Acquire))) {
            (Some(WaitRecord { what: AwaitedEvent::Message { .. }, .. }), _) => {
                EndpointActivity::WaitingToReceive
            }
            (Some(WaitRecord { what: AwaitedEvent::Steering { .. }, .. }), _) => EndpointActivity::Held,
            (Some(_), _) => EndpointActivity::WaitingToSend,
            // A wait that has ended meanwhile, or is about to begin.
            (
                None,
                EndpointActivity::WaitingToReceive | EndpointActivity::WaitingToSend | EndpointActivity::Held,
            ) => EndpointActivity::Computing,
            (None, other) => other,
        };
        let time = f64::from_bits(word(&self.time));
        let started = word(&self.started);
        Status {
            state,
            epoch,
            waits,
            looked,
            time: (started != 0 && !time.is_nan()).then_some(time),
            iterations: word(&self.iterations),
            pinned: word(&self.pinned),
            sent_messages: word(&self.sent_messages),
            sent_bytes: word(&self.sent_bytes),
            received_messages: word(&self.received_messages),
            received_bytes: word(&self.received_bytes),
            waited: word(&self.waited),
            transferred: word(&self.transferred),
            receiving: word(&self.receiving),
            wait_count: word(&self.wait_count),
            started,
            ended: word(&self.ended),
        }
    }

    fn read_wait(&self, list: &[AtomicU32]) -> Option<WaitRecord> {
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        let detail = word(&self.waits_detail);
        let what = match word(&self.waits) {
            FOR_MESSAGE => {
                let channels = list.get(..detail as usize)?;
                AwaitedEvent::Message { channels: channels.iter().map(|c| c.load(Ordering::Relaxed)).collect() }
            }
            FOR_CREDIT => AwaitedEvent::Credit { channel: detail as u32, needs: word(&self.waits_needs) },
            FOR_SLOTS => AwaitedEvent::Slots { endpoint: EndpointId::new(detail as u32) },
            FOR_MEMORY => AwaitedEvent::Memory,
            FOR_STEERING => AwaitedEvent::Steering { change: detail },
            _ => return None,
        };
        Some(WaitRecord {
            what,
            since: word(&self.since),
            timed: word(&self.waits_timed) != 0,
            holding: word(&self.waits_holding) != 0,
        })
    }
}

/// Writes down the channels waited for, each once, and says how many they are.
fn write_list(channels: &mut dyn Iterator<Item = u32>, list: &[AtomicU32]) -> u64 {
    let mut count = 0;
    for channel in channels {
        if let Some(place) = list.get(count) {
            place.store(channel, Ordering::Relaxed);
            count += 1;
            continue;
        }
        // There is room for every channel: some stand here more than once.
        let seen = list[..count].iter().map(|c| c.load(Ordering::Relaxed));
        let mut distinct: Vec<u32> = seen.chain([channel]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        count = distinct.len().min(list.len());
        list.iter().zip(&distinct).for_each(|(place, &channel)| place.store(channel, Ordering::Relaxed));
    }
    count as u64
}

/// Nanoseconds of CLOCK_MONOTONIC, the clock that all processes of a machine share.
pub fn now() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
