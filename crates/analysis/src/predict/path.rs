//! The critical path. Each record of an activity has the number of the record that it had to wait for. So
//! the path back from the end of the run has all parts of the run's duration.

use std::collections::BTreeMap;

/// Number of a recorded activity.
pub(super) type Record = u32;

/// A kind of activity, with the number of the instance or channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlayerActivity {
    /// The instance started.
    Starts(u32),
    Computes(u32),
    /// The part of an instance's computing time in which other instances had its cores.
    WaitsForCores(u32),
    /// A message was on its way through the channel.
    Carries(u32),
}

#[derive(Debug, Clone, Copy)]
struct ActivityRecord {
    before: Option<Record>,
    what: PlayerActivity,
    seconds: f32,
    /// Duration without the time in which other instances had the cores, in s.
    work: f32,
}

/// The records of all activities of a run.
#[derive(Debug, Default)]
pub(super) struct CriticalPath {
    done: Vec<ActivityRecord>,
    last: Option<Record>,
}

impl CriticalPath {
    fn add(&mut self, done: ActivityRecord) -> Record {
        self.done.push(done);
        (self.done.len() - 1) as Record
    }

    pub fn starts(&mut self, instance: u32, seconds: f64) -> Record {
        let seconds = seconds as f32;
        self.add(ActivityRecord {
            before: None,
            what: PlayerActivity::Starts(instance),
            seconds,
            work: seconds,
        })
    }

    pub fn computes(&mut self, instance: u32, before: Record, seconds: f64, work: f64) -> Record {
        let what = PlayerActivity::Computes(instance);
        self.add(ActivityRecord { before: Some(before), what, seconds: seconds as f32, work: work as f32 })
    }

    pub fn carries(&mut self, channel: u32, before: Record, seconds: f64) -> Record {
        let (what, seconds) = (PlayerActivity::Carries(channel), seconds as f32);
        self.add(ActivityRecord { before: Some(before), what, seconds, work: seconds })
    }

    /// Sets the record that is the cause of the run's end.
    pub fn ends_with(&mut self, last: Record) {
        self.last = Some(last);
    }

    /// Returns the times on the critical path in s, added up by activity.
    pub fn sums(&self) -> BTreeMap<PlayerActivity, f64> {
        let mut sums: BTreeMap<PlayerActivity, f64> = BTreeMap::new();
        let mut at = self.last;
        while let Some(done) = at.map(|at| &self.done[at as usize]) {
            *sums.entry(done.what).or_default() += f64::from(done.work.min(done.seconds));
            if let PlayerActivity::Computes(instance) = done.what {
                let more = f64::from(done.seconds - done.work).max(0.0);
                if more > 0.0 {
                    *sums.entry(PlayerActivity::WaitsForCores(instance)).or_default() += more;
                }
            }
            at = done.before;
        }
        sums
    }
}
