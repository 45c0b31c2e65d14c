//! The demand of viewers: the run is asked nothing while nobody does.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// For how long after a look somebody is taken to look on: a browser asks anew after each answer.
const ATTENTION: Duration = Duration::from_secs(5);

#[derive(Default)]
struct DemandState {
    waiting: usize,
    until: Option<Instant>,
    /// When somebody looked last.
    last: Option<Instant>,
}

/// True if somebody looks.
#[derive(Default)]
pub struct Demand {
    state: Mutex<DemandState>,
    changed: Condvar,
}

/// Somebody who looks, as long as this lives.
pub struct Look<'a>(&'a Demand);

impl Demand {
    fn state(&self) -> MutexGuard<'_, DemandState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Somebody begins to look.
    pub fn look(&self) -> Look<'_> {
        self.state().waiting += 1;
        self.changed.notify_all();
        Look(self)
    }

    /// Waits until somebody looks.
    pub fn wait(&self) {
        let mut state = self.state();
        while state.waiting == 0 && state.until.is_none_or(|until| Instant::now() >= until) {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Returns true if nobody looks, and has looked for so long, or since a moment.
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
