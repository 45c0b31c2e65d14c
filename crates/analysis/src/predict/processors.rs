//! Cores that tasks share evenly. If tasks want more cores than the machine has, each task gets a
//! proportionally smaller share. All tasks share one rate. So a task ends when the work that a task could
//! have got since the beginning reaches the task's mark.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A time, or an amount of work, in s. Values can be ordered and are never NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seconds(pub f64);

impl Eq for Seconds {}

impl PartialOrd for Seconds {
    fn partial_cmp(&self, other: &Seconds) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seconds {
    fn cmp(&self, other: &Seconds) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The cores of a machine, or the only thread of a light program.
#[derive(Debug)]
pub(super) struct Processors {
    cores: f64,
    /// Number of cores that the present tasks want together.
    wanted: f64,
    /// Work that a task would have got if it had computed since the beginning, in s.
    given: f64,
    /// Time at which `given` was last computed, in s.
    at: f64,
    /// Marks and instances of the present tasks. A task is done when `given` reaches its mark.
    tasks: BinaryHeap<Reverse<(Seconds, u32)>>,
}

impl Processors {
    pub fn new(cores: f64) -> Processors {
        Processors { cores, wanted: 0.0, given: 0.0, at: 0.0, tasks: BinaryHeap::new() }
    }

    fn rate(&self) -> f64 {
        if self.wanted > self.cores {
            self.cores / self.wanted
        } else {
            1.0
        }
    }

    fn until(&mut self, now: f64) {
        self.given += (now - self.at).max(0.0) * self.rate();
        self.at = now;
    }

    /// Begins a task of instance `who` at the time `now`.
    pub fn begin(&mut self, now: f64, who: u32, work: f64, cores: f64) {
        self.until(now);
        self.wanted += cores;
        self.tasks.push(Reverse((Seconds(self.given + work), who)));
    }

    /// Returns the time at which the next task is done, if no other task begins before.
    pub fn next(&self) -> Option<f64> {
        let Reverse((mark, _)) = self.tasks.peek()?;
        Some(self.at + (mark.0 - self.given).max(0.0) / self.rate())
    }

    /// Ends the task that is done at the time `now`, and returns its instance.
    pub fn end(&mut self, now: f64, cores_of: impl Fn(u32) -> f64) -> Option<u32> {
        self.until(now);
        let Reverse((mark, who)) = self.tasks.pop()?;
        self.given = self.given.max(mark.0);
        self.wanted = if self.tasks.is_empty() { 0.0 } else { (self.wanted - cores_of(who)).max(0.0) };
        Some(who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tasks_share_two_cores_evenly() {
        let mut cores = Processors::new(2.0);
        for (who, work) in [(0, 1.0), (1, 2.0), (2, 3.0)] {
            cores.begin(0.0, who, work, 1.0);
        }
        // At 2/3 each: the first is done at 1.5. Then two are left with a core each.
        assert_eq!(cores.next(), Some(1.5));
        assert_eq!(cores.end(1.5, |_| 1.0), Some(0));
        assert_eq!(cores.next(), Some(2.5));
        assert_eq!(cores.end(2.5, |_| 1.0), Some(1));
        assert_eq!(cores.next(), Some(3.5));
        assert_eq!(cores.end(3.5, |_| 1.0), Some(2));
        assert_eq!(cores.next(), None);
    }

    #[test]
    fn who_comes_later_slows_the_others_from_then_on() {
        let mut cores = Processors::new(1.0);
        cores.begin(0.0, 0, 2.0, 1.0);
        cores.begin(1.0, 1, 1.0, 1.0);
        // Both have one second of work left from 1.0 on, and half a core each.
        assert_eq!(cores.next(), Some(3.0));
    }
}
