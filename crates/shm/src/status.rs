//! The status page: the state that an endpoint shows to its agent at any time. The agent can read it without
//! asking, even when the process is stopped or dead. The endpoint alone writes it, with plain relaxed
//! stores. Each field is one word, so a reader sees no torn value. `epoch` is odd while the endpoint waits
//! and changes with every wait: if two looks at `epoch` give the same value, all fields read in between
//! belong to one wait.

use crate::timeline::TimelineTotals;
pub use ligament_wire::status::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
use ligament_wire::EndpointId;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};

/// The status page as it lies in shared memory.
#[repr(C, align(64))]
pub struct StatusPage {
    state: AtomicU64,
    epoch: AtomicU64,
    /// Kind of the wait: one of the constants `FOR_...` below.
    waits: AtomicU64,
    /// Time at which the wait began, ns of CLOCK_MONOTONIC.
    since: AtomicU64,
    /// Model time, as the bits of an f64; NaN before the first message.
    time: AtomicU64,
    iterations: AtomicU64,
    pinned: AtomicU64,
    /// Number of the last round of the agent's `Look` requests in which the endpoint has looked again.
    looked: AtomicU64,
    sent_messages: AtomicU64,
    sent_bytes: AtomicU64,
    received_messages: AtomicU64,
    received_bytes: AtomicU64,
    waited: AtomicU64,
    transferred: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    /// Target of the wait: the number of awaited channels, the number of the one channel, the number of the
    /// peer, or the number of the change.
    waits_detail: AtomicU64,
    /// Budget with which the waiting send could continue, bytes.
    waits_needs: AtomicU64,
    /// 1 if the wait has a deadline.
    waits_timed: AtomicU64,
    /// 1 if the code may hold views of other endpoints' memory while it waits. The value is 1 until the
    /// endpoint has looked.
    waits_holding: AtomicU64,
    /// Number of waits that have ended.
    wait_count: AtomicU64,
    /// Part of `transferred` that was spent on receiving, ns.
    receiving: AtomicU64,
    /// Number of records written to the timeline so far. `causes` is the number of causes in its table.
    records: AtomicU64,
    causes: AtomicU64,
    /// Not 0 if the endpoint is to keep no timeline. The agent writes this word before the endpoint exists.
    no_timeline: AtomicU64,
    spare: [AtomicU64; 7],
}

const FOR_MESSAGE: u64 = 1;
const FOR_CREDIT: u64 = 2;
const FOR_SLOTS: u64 = 3;
const FOR_MEMORY: u64 = 4;
const FOR_STEERING: u64 = 5;

// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for StatusPage {}

/// The target of a wait that begins. Channels are named by their numbers in the run.
pub enum Awaits<'a> {
    /// The endpoint waits for a message on any of these channels.
    Message(&'a mut dyn Iterator<Item = u32>),
    /// The endpoint waits for credit on a channel. A budget of `needs` bytes would also end the wait.
    Credit { channel: u32, needs: u64 },
    /// The endpoint waits for free entries in its ring to a peer.
    Slots { endpoint: EndpointId },
    /// The endpoint waits for a block of memory.
    Memory,
    /// The endpoint waits until this change is agreed on, or until this halt is over.
    Steering { change: u64 },
}

#[inline]
fn add(word: &AtomicU64, by: u64) {
    // The word has one writer, so no locked instruction is needed.
    word.store(word.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl StatusPage {
    /// Endpoint: stores its present activity.
    #[inline]
    pub fn set_state(&self, state: EndpointActivity) {
        self.state.store(state as u64, Ordering::Relaxed);
    }

    /// Endpoint: stores the begin of a wait. `list` is the area's memory for the awaited channels.
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
        // This store publishes the wait: a reader that sees the new epoch sees all stores above.
        self.epoch.store(self.epoch.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.state.store(state as u64, Ordering::Release);
    }

    /// Endpoint: counts a wait that took `ns` nanoseconds.
    pub fn count_wait(&self, ns: u64) {
        add(&self.waited, ns);
        add(&self.wait_count, 1);
    }

    /// Endpoint: stores the end of the wait.
    pub fn end_wait(&self) {
        add(&self.epoch, 1);
        // A reader that sees a value of the next wait also sees the end of this one.
        fence(Ordering::Release);
        self.state.store(EndpointActivity::Computing as u64, Ordering::Release);
    }

    /// Endpoint: sets the total time in which it has not run, ns. This is for an instance that shares its
    /// thread: it waits whenever another instance runs.
    pub fn set_waited(&self, ns: u64) {
        self.waited.store(ns, Ordering::Relaxed);
    }

    /// Endpoint, during a wait: has changed something that another endpoint may notice. The agent must treat
    /// this as a new wait, so the epoch changes.
    pub fn stir(&self) {
        add(&self.epoch, 2);
    }

    /// Endpoint, during a wait: confirms that it has looked again in this round of the agent and that its
    /// target has not arrived. `holding` says whether the code holds views, `needs` is the budget that would
    /// end the wait.
    pub fn confirm(&self, round: u64, holding: bool, needs: u64) {
        self.waits_holding.store(u64::from(holding), Ordering::Relaxed);
        self.waits_needs.store(needs, Ordering::Relaxed);
        self.looked.store(round, Ordering::Release);
    }

    /// Endpoint: counts one sent message; `time` is its timestamp, s.
    #[inline]
    pub fn count_sent(&self, bytes: u64, time: f64) {
        add(&self.sent_messages, 1);
        add(&self.sent_bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: counts one message that the code has received; `time` is its timestamp, s.
    #[inline]
    pub fn count_received(&self, bytes: u64, time: f64) {
        add(&self.received_messages, 1);
        add(&self.received_bytes, bytes);
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: sets the model time that it has reached, s.
    #[inline]
    pub fn set_time(&self, time: f64) {
        self.time.store(time.to_bits(), Ordering::Relaxed);
    }

    /// Endpoint: adds time spent on copying, ns.
    #[inline]
    pub fn add_transferred(&self, ns: u64, receiving: bool) {
        add(&self.transferred, ns);
        add(&self.receiving, if receiving { ns } else { 0 });
    }

    /// Endpoint: marks that this page has no timeline.
    pub fn keep_no_timeline(&self) {
        self.no_timeline.store(1, Ordering::Relaxed);
    }

    /// Offset of `no_timeline` in the page, bytes.
    pub(crate) const NO_TIMELINE_AT: usize = std::mem::offset_of!(StatusPage, no_timeline);

    /// Endpoint: returns true if it is to keep a timeline.
    pub(crate) fn keeps_timeline(&self) -> bool {
        self.no_timeline.load(Ordering::Relaxed) == 0
    }

    /// Endpoint: sets the number of records in its timeline.
    pub(crate) fn set_records(&self, records: u64) {
        self.records.store(records, Ordering::Release);
    }

    /// Endpoint: sets the number of causes in its timeline.
    pub(crate) fn set_causes(&self, causes: u64) {
        self.causes.store(causes, Ordering::Release);
    }

    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Acquire)
    }

    pub(crate) fn causes(&self) -> u64 {
        self.causes.load(Ordering::Acquire)
    }

    /// Endpoint: returns its sums so far, for a record of the timeline.
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

    /// Endpoint: counts another pass of the reuse loop.
    pub fn count_iteration(&self) {
        add(&self.iterations, 1);
    }

    /// Endpoint: sets the number of bytes that live views hold.
    #[inline]
    pub fn set_pinned(&self, bytes: u64) {
        self.pinned.store(bytes, Ordering::Relaxed);
    }

    /// Endpoint: stores the time of its start, ns of CLOCK_MONOTONIC.
    pub fn start(&self, now: u64) {
        self.time.store(f64::NAN.to_bits(), Ordering::Relaxed);
        self.started.store(now, Ordering::Relaxed);
        self.set_state(EndpointActivity::Computing);
    }

    /// Endpoint: stores its last activity and the time of its end, ns of CLOCK_MONOTONIC.
    pub fn end(&self, state: EndpointActivity, now: u64) {
        self.ended.store(now, Ordering::Relaxed);
        self.set_state(state);
    }

    /// Any process: reads the page. `list` is the area's memory for the awaited channels.
    pub fn read(&self, list: &[AtomicU32]) -> Status {
        // An endpoint whose epoch changes during each of these attempts is not waiting.
        const MAX_READ_ATTEMPTS: usize = 4;
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        // `looked` is read first, so that the wait read below is at least as new as the confirmation of this
        // round.
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
            // The endpoint's wait has ended meanwhile, or a wait is about to begin.
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

/// Writes the awaited channels to `list`, each channel once, and returns their number.
fn write_list(channels: &mut dyn Iterator<Item = u32>, list: &[AtomicU32]) -> u64 {
    let mut count = 0;
    for channel in channels {
        if let Some(place) = list.get(count) {
            place.store(channel, Ordering::Relaxed);
            count += 1;
            continue;
        }
        // `list` has room for every channel of the endpoint, so a full list contains some channel twice.
        let seen = list[..count].iter().map(|c| c.load(Ordering::Relaxed));
        let mut distinct: Vec<u32> = seen.chain([channel]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        count = distinct.len().min(list.len());
        list.iter().zip(&distinct).for_each(|(place, &channel)| place.store(channel, Ordering::Relaxed));
    }
    count as u64
}

/// Returns the time of CLOCK_MONOTONIC, ns. All processes of a machine share this clock.
pub fn now() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
