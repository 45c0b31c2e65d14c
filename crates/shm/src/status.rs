//! The status page: what an endpoint shows of itself to its agent without being asked, readable also when the
//! process is stopped or dead. Written by the endpoint alone, with plain relaxed stores; each field is one word,
//! so a reader sees no torn value, and `epoch` lets it see whether two looks saw the same state.

use std::sync::atomic::{AtomicU64, Ordering};

/// What an instance does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// Registered; has not called the library yet.
    Starting = 0,
    /// In its own code.
    Computing = 1,
    /// In `receive`, waiting.
    WaitingToReceive = 2,
    /// In `send`, waiting for credit.
    WaitingToSend = 3,
    /// Copying a message.
    Transferring = 4,
    /// Has ended cleanly.
    Ended = 5,
    /// Has reported an error.
    Failed = 6,
}

impl State {
    fn from_word(word: u64) -> State {
        match word {
            1 => State::Computing,
            2 => State::WaitingToReceive,
            3 => State::WaitingToSend,
            4 => State::Transferring,
            5 => State::Ended,
            6 => State::Failed,
            _ => State::Starting,
        }
    }

    /// The word used for it in status output.
    pub fn name(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Computing => "computing",
            State::WaitingToReceive => "waiting to receive",
            State::WaitingToSend => "waiting to send",
            State::Transferring => "transferring",
            State::Ended => "ended",
            State::Failed => "failed",
        }
    }
}

/// The page in shared memory.
#[repr(C, align(64))]
pub struct StatusPage {
    state: AtomicU64,
    epoch: AtomicU64,
    /// Channel waited for (its number in the run) + 1; 0 for none or for any.
    waits_channel: AtomicU64,
    /// When the wait began, ns of CLOCK_MONOTONIC.
    since: AtomicU64,
    /// Model time, bits of an f64; NaN before the first message.
    time: AtomicU64,
    iterations: AtomicU64,
    pinned: AtomicU64,
    spare: AtomicU64,
    sent_messages: AtomicU64,
    sent_bytes: AtomicU64,
    received_messages: AtomicU64,
    received_bytes: AtomicU64,
    waited: AtomicU64,
    transferred: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
}

// SAFETY: only atomics.
unsafe impl crate::memory::Shared for StatusPage {}

/// A look at a status page. Times in ns; `since`, `started` and `ended` of CLOCK_MONOTONIC, 0 for never.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub state: State,
    pub epoch: u64,
    /// The channel waited for; none while waiting for any of several.
    pub waits_channel: Option<u32>,
    pub since: u64,
    /// Model time in s, once known.
    pub time: Option<f64>,
    /// Passes of the reuse loop begun.
    pub iterations: u64,
    /// Bytes of others' memory held by live views.
    pub pinned: u64,
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    pub waited: u64,
    pub transferred: u64,
    pub started: u64,
    pub ended: u64,
}

#[inline]
fn add(word: &AtomicU64, by: u64) {
    // One writer: no need for a locked instruction.
    word.store(word.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl StatusPage {
    /// Endpoint: says what it does now.
    #[inline]
    pub fn set_state(&self, state: State) {
        self.state.store(state as u64, Ordering::Relaxed);
    }

    /// Endpoint: a wait begins, for one channel or for any of several.
    pub fn begin_wait(&self, state: State, channel: Option<u32>, now: u64) {
        self.waits_channel.store(channel.map_or(0, |c| u64::from(c) + 1), Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        add(&self.epoch, 1);
        self.state.store(state as u64, Ordering::Release);
    }

    /// Endpoint: the wait is over.
    pub fn end_wait(&self, now: u64) {
        add(&self.waited, now.saturating_sub(self.since.load(Ordering::Relaxed)));
        add(&self.epoch, 1);
        self.state.store(State::Computing as u64, Ordering::Release);
        self.waits_channel.store(0, Ordering::Relaxed);
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

    /// Endpoint: time spent copying, ns.
    #[inline]
    pub fn add_transferred(&self, ns: u64) {
        add(&self.transferred, ns);
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
        self.set_state(State::Computing);
    }

    /// Endpoint: it is over.
    pub fn end(&self, state: State, now: u64) {
        self.ended.store(now, Ordering::Relaxed);
        self.set_state(state);
    }

    /// Anybody: what the page says.
    pub fn read(&self) -> Status {
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        let state = State::from_word(self.state.load(Ordering::Acquire));
        let time = f64::from_bits(word(&self.time));
        let started = word(&self.started);
        Status {
            state,
            epoch: word(&self.epoch),
            waits_channel: word(&self.waits_channel).checked_sub(1).map(|c| c as u32),
            since: word(&self.since),
            time: (started != 0 && !time.is_nan()).then_some(time),
            iterations: word(&self.iterations),
            pinned: word(&self.pinned),
            sent_messages: word(&self.sent_messages),
            sent_bytes: word(&self.sent_bytes),
            received_messages: word(&self.received_messages),
            received_bytes: word(&self.received_bytes),
            waited: word(&self.waited),
            transferred: word(&self.transferred),
            started,
            ended: word(&self.ended),
        }
    }
}

/// Nanoseconds of CLOCK_MONOTONIC, the clock that all processes of a machine share.
pub fn now() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
