//! The jobs of one run at several sites, which begin at different times. This module decides if all jobs run,
//! and which job has waited too long for the others. It has no I/O and no clock.

use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::JobState;
use std::time::{Duration, Instant};

/// Limits of the wait for jobs at other sites: the time that a job waits after its begin, and the number of
/// further attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobWaitLimits {
    pub wait: Duration,
    /// Number of times that a job gives its nodes back and is submitted again.
    pub again: u32,
}

/// The job of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
struct One {
    site: String,
    /// Time at which the job was first seen running; none if it does not run.
    runs: Option<Instant>,
    /// Last known state of the job, as text.
    stands: String,
    again: u32,
    /// True while the job is being submitted again. Reported states then still belong to the earlier job.
    leaves: bool,
    /// Time since which the job's site does not answer. `None` if the site answers.
    silent: Option<Instant>,
}

/// All jobs of a run, until all of them run at the same time.
#[derive(Debug, Clone)]
pub(crate) struct JobWait {
    jobs: Vec<One>,
    patience: JobWaitLimits,
    begun: bool,
}

/// The next action that the caller must take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobAction {
    /// All jobs run, so their agents may begin.
    Begin,
    /// The job with index `job` gives its nodes back and is submitted again, for the time number `time`.
    Again { job: usize, time: u32 },
    /// The run is given up, because its jobs never run at the same time.
    GiveUp(Fault),
}

impl JobWait {
    /// Makes the state of jobs at these sites, which have just been submitted.
    pub fn new(sites: impl IntoIterator<Item = String>, patience: JobWaitLimits) -> JobWait {
        let one = |site| One {
            site,
            runs: None,
            stands: "has not been seen yet".into(),
            again: 0,
            leaves: false,
            silent: None,
        };
        JobWait { jobs: sites.into_iter().map(one).collect(), patience, begun: false }
    }

    /// Returns true if all jobs have run at the same time. The agents have then begun.
    pub fn have_begun(&self) -> bool {
        self.begun
    }

    /// Notes the state of a job, as its site reports it.
    pub fn saw(&mut self, job: usize, state: &JobState, now: Instant) {
        let one = &mut self.jobs[job];
        if one.leaves {
            return;
        }
        (one.stands, one.silent) = (state.to_string(), None);
        one.runs = match state {
            JobState::Running { .. } => Some(one.runs.unwrap_or(now)),
            _ => None,
        };
    }

    /// Notes that a job was submitted again.
    pub fn queues(&mut self, job: usize) {
        (self.jobs[job].leaves, self.jobs[job].silent) = (false, None);
    }

    /// Notes that the state of a job is unknown, for the reason `why`.
    pub fn silent(&mut self, job: usize, why: &Fault, now: Instant) {
        let one = &mut self.jobs[job];
        (one.stands, one.silent) = (format!("cannot be seen: {why}"), Some(one.silent.unwrap_or(now)));
    }

    /// Returns the next action at the time `now`. After `Begin`, there is no further action.
    pub fn next(&mut self, now: Instant) -> Option<JobAction> {
        if self.begun {
            return None;
        }
        if self.jobs.iter().all(|one| one.runs.is_some() && one.silent.is_none()) {
            self.begun = true;
            return Some(JobAction::Begin);
        }
        let unseen = |one: &&One| one.silent.is_some_and(|since| now - since >= self.patience.wait);
        if let Some(one) = self.jobs.iter().find(unseen) {
            return Some(JobAction::GiveUp(fault!(
                SITES_NOT_TOGETHER,
                "the job at {} has not been seen for {} s (--wait-for-others): it {}; look whether the site \
                 can be reached, and submit it again",
                one.site,
                self.patience.wait.as_secs(),
                one.stands
            )));
        }
        let too_long = |one: &One| one.runs.is_some_and(|since| now - since >= self.patience.wait);
        let job = self.jobs.iter().position(too_long)?;
        if self.jobs[job].again < self.patience.again {
            let one = &mut self.jobs[job];
            (one.runs, one.stands, one.leaves) = (None, "is being submitted again".to_owned(), true);
            one.again += 1;
            return Some(JobAction::Again { job, time: one.again });
        }
        let lacking = self.jobs.iter().filter(|one| one.runs.is_none() || one.silent.is_some());
        let lacking: Vec<String> = lacking.map(|one| format!("that at {} {}", one.site, one.stands)).collect();
        let times = match self.jobs[job].again {
            0 => String::new(),
            n => format!(", {} times", n + 1),
        };
        Some(JobAction::GiveUp(fault!(
            SITES_NOT_TOGETHER,
            "the job at {} has waited {} s for the others{times}, and they do not come: {}; submit it again, \
             let it wait longer (--wait-for-others), or queue again more often (--queue-again)",
            self.jobs[job].site,
            self.patience.wait.as_secs(),
            lacking.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn two(again: u32) -> (JobWait, Instant) {
        (JobWait::new(["a".to_owned(), "b".into()], JobWaitLimits { wait: MINUTE, again }), Instant::now())
    }

    fn running() -> JobState {
        JobState::Running { nodes: "n1".into() }
    }

    fn queued() -> JobState {
        JobState::Waiting { why: "Resources".into() }
    }

    #[test]
    fn the_agents_begin_once_when_all_run_whoever_was_first() {
        for first in [0, 1] {
            let (mut waiting, now) = two(0);
            waiting.saw(first, &running(), now);
            waiting.saw(1 - first, &queued(), now);
            assert_eq!(waiting.next(now + MINUTE / 2), None);
            waiting.saw(1 - first, &running(), now + MINUTE / 2);
            assert_eq!(waiting.next(now + MINUTE), Some(JobAction::Begin));
            assert_eq!((waiting.next(now + 9 * MINUTE), waiting.have_begun()), (None, true));
        }
    }

    #[test]
    fn who_has_waited_too_long_queues_again_a_few_times_and_then_it_is_given_up() {
        let (mut waiting, mut now) = two(2);
        waiting.saw(1, &queued(), now);
        for time in [1, 2] {
            waiting.saw(0, &running(), now);
            assert_eq!(waiting.next(now + MINUTE - Duration::from_secs(1)), None);
            assert_eq!(waiting.next(now + MINUTE), Some(JobAction::Again { job: 0, time }));
            waiting.saw(0, &running(), now + 2 * MINUTE);
            waiting.saw(1, &running(), now + 2 * MINUTE);
            assert_eq!(waiting.next(now + 2 * MINUTE), None, "what was seen is the job before");
            waiting.queues(0);
            waiting.saw(1, &queued(), now);
            assert_eq!(waiting.next(now + 2 * MINUTE), None, "it waits in the queue");
            now += 2 * MINUTE;
        }
        waiting.saw(0, &running(), now);
        let Some(JobAction::GiveUp(why)) = waiting.next(now + MINUTE) else { panic!("it goes on") };
        assert!(why.contains("the job at a has waited 60 s for the others, 3 times"), "{why}");
        assert!(why.contains("that at b waits in the queue (Resources)"), "{why}");
    }

    #[test]
    fn a_job_that_was_seen_running_once_more_has_not_begun_anew() {
        let (mut waiting, now) = two(0);
        waiting.saw(0, &running(), now);
        waiting.saw(0, &running(), now + MINUTE / 2);
        assert!(matches!(waiting.next(now + MINUTE), Some(JobAction::GiveUp(_))));
    }

    #[test]
    fn a_site_that_nobody_reaches_is_not_there_and_not_waited_for_without_end() {
        let (mut waiting, now) = two(2);
        waiting.saw(0, &running(), now);
        waiting.silent(0, &fault!(SITE_UNREACHABLE, "no answer"), now);
        waiting.saw(1, &running(), now + MINUTE / 2);
        assert_eq!(waiting.next(now + MINUTE / 2), None);
        let mut back = waiting.clone();
        back.saw(0, &running(), now + MINUTE / 2);
        assert_eq!(back.next(now + MINUTE / 2), Some(JobAction::Begin));
        let Some(JobAction::GiveUp(why)) = waiting.next(now + MINUTE) else { panic!("it goes on") };
        assert!(why.contains("the job at a has not been seen for 60 s") && why.contains("no answer"), "{why}");
    }
}
