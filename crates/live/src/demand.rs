//! The demand of viewers: as long as no viewer requests data, the server requests none from the run.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Time after a request for which the viewer counts as present. A browser sends its next request after each
/// answer.
const ATTENTION: Duration = Duration::from_secs(5);

#[derive(Default)]
struct DemandState {
    waiting: usize,
    until: Option<Instant>,
    /// Time at which the last request ended.
    last: Option<Instant>,
}

/// Counts the viewers who request data.
#[derive(Default)]
pub struct Demand {
    state: Mutex<DemandState>,
    changed: Condvar,
}

/// A viewer's request in progress. It ends when this value is dropped.
pub struct Look<'a>(&'a Demand);

impl Demand {
    fn state(&self) -> MutexGuard<'_, DemandState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins a request.
    pub fn look(&self) -> Look<'_> {
        self.state().waiting += 1;
        self.changed.notify_all();
        Look(self)
    }

    /// Waits until a viewer is present.
    pub fn wait(&self) {
        let mut state = self.state();
        while state.waiting == 0 && state.until.is_none_or(|until| Instant::now() >= until) {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Returns true if no viewer has been present for a while: no request is in progress, the last one ended
    /// longer ago than `long`, and `since` is longer ago than `long` too.
    pub fn is_idle(&self, long: Duration, since: Instant) -> bool {
        let state = self.state();
        state.waiting == 0 && state.last.unwrap_or(since).max(since).elapsed() > long
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        state.last = Some(Instant::now());
        state.until = Some(Instant::now() + ATTENTION);
    }
}
