//! A feed is one thing that viewers watch: its frames, and their demand for the next one. A frame is
//! made when the fastest viewer requests it. A viewer that reads slowly or not at all sends no requests, and
//! so delays no other.

use serde_json::Value as Json;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Minimum and maximum time between two frames, in ms.
const MIN_INTERVAL_MS: u64 = 50;
const MAX_INTERVAL_MS: u64 = 60_000;
/// Time without a request after which a feed ends.
const IDLE: Duration = Duration::from_secs(10);

/// A value that is shown: a number that grows, and the bytes that browsers get.
#[derive(Debug, Clone, Default)]
pub struct ValueFrame {
    pub number: u64,
    pub bytes: Arc<Vec<u8>>,
}

#[derive(Debug)]
struct FeedDemand {
    /// Highest number of a frame that a viewer has. The viewer requests the next one.
    has: u64,
    looked: Instant,
    every: Duration,
    /// True if the feed is to end although viewers may still request frames.
    is_closed: bool,
}

/// The latest frame, and the demand for the next one.
pub struct Feed {
    frames: watch::Sender<ValueFrame>,
    demand: Mutex<FeedDemand>,
    changed: Condvar,
}

pub(crate) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Default for Feed {
    fn default() -> Feed {
        let every = Duration::from_millis(MAX_INTERVAL_MS);
        let demand = FeedDemand { has: 0, looked: Instant::now(), every, is_closed: false };
        let (frames, _) = watch::channel(ValueFrame::default());
        Feed { frames, demand: Mutex::new(demand), changed: Condvar::new() }
    }
}

impl Feed {
    /// Requests the frame after `has`, but not earlier than `every` ms after it.
    pub fn ask(&self, has: u64, every: u64) {
        let every = Duration::from_millis(every.clamp(MIN_INTERVAL_MS, MAX_INTERVAL_MS));
        let mut demand = lock(&self.demand);
        let others = demand.looked.elapsed() < demand.every * 4;
        demand.every = if others { demand.every.min(every) } else { every };
        // The number comes from a browser. A number of a frame that does not exist yet is replaced by the
        // last one.
        demand.has = demand.has.max(has.min(self.number()));
        demand.looked = Instant::now();
        self.changed.notify_all();
    }

    /// Returns a receiver that gets every frame.
    pub fn frames(&self) -> watch::Receiver<ValueFrame> {
        self.frames.subscribe()
    }

    /// Returns the number of the latest frame, or 0 if there is none yet.
    pub fn number(&self) -> u64 {
        self.frames.borrow().number
    }

    /// Returns the time since the last request.
    pub fn idle_for(&self) -> Duration {
        lock(&self.demand).looked.elapsed()
    }

    /// Returns true if the feed was closed.
    pub fn is_closed(&self) -> bool {
        lock(&self.demand).is_closed
    }

    /// Ends the feed, also if viewers request its frames.
    pub fn close(&self) {
        lock(&self.demand).is_closed = true;
        self.changed.notify_all();
    }

    /// Gives a frame to all viewers: its head with its number, a line end, and its bytes.
    pub fn push(&self, mut head: Json, body: &[u8]) {
        let number = self.number() + 1;
        head["frame"] = serde_json::json!(number);
        let mut bytes = head.to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        self.frames.send_replace(ValueFrame { number, bytes: Arc::new(bytes) });
    }

    /// Waits until a viewer requests a frame. Returns the time between two frames, or `None` if the feed is to
    /// end, because there was no request for long or because it is closed.
    pub fn wait(&self) -> Option<Duration> {
        let mut demand = lock(&self.demand);
        while demand.has < self.number() && !demand.is_closed {
            if demand.looked.elapsed() > IDLE {
                return None;
            }
            demand = match self.changed.wait_timeout(demand, IDLE) {
                Ok((demand, _)) => demand,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        // A viewer counts as gone only after a long time, because its browser may wait for other answers first.
        let is_gone = demand.looked.elapsed() >= super::answers::NEWS_TIMEOUT + IDLE;
        (!is_gone && !demand.is_closed).then_some(demand.every)
    }
}
