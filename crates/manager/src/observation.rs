//! The manager's observation of an instance at one moment, made from the agent's view.

use ligament_agent::{AwaitedEvent, EndpointActivity, InstancePhase, InstanceView, ProcessInspection};

/// The state of an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum InstanceState {
    /// Its process has not been started.
    NotStarted,
    /// Its process runs, and it has not registered.
    Starting,
    /// It computes.
    Computing,
    /// It waits for a message.
    WaitingToReceive,
    /// It waits until its receiver has read some of the messages under way.
    WaitingToSend,
    /// It waits until a change is agreed on, or at a halt.
    Held,
    /// It copies a message.
    Transferring,
    /// It is done.
    Done,
    /// It has failed.
    Failed,
    /// It was ended because the run ended.
    Stopped,
}

impl InstanceState {
    /// The name of the state, of one or two words.
    pub fn name(&self) -> &'static str {
        match self {
            InstanceState::NotStarted => "not started",
            InstanceState::Starting => "starting",
            InstanceState::Computing => "computing",
            InstanceState::WaitingToReceive => "waiting to receive",
            InstanceState::WaitingToSend => "waiting to send",
            InstanceState::Held => "held",
            InstanceState::Transferring => "transferring",
            InstanceState::Done => "done",
            InstanceState::Failed => "failed",
            InstanceState::Stopped => "stopped",
        }
    }
}

/// A wait of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedWait {
    pub what: AwaitedEvent,
    /// Duration so far, s.
    pub seconds: f64,
    /// True if the wait has a time-out.
    pub timed: bool,
    /// True if the code holds views of others' memory.
    pub holds: bool,
    /// True if it does, and another thread of its process may drop them meanwhile.
    pub may_release: bool,
}

/// Counters of an instance. Times in s.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InstanceCounters {
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// Passes of the reuse loop.
    pub iterations: u64,
    /// Bytes of others' memory that the instance's views hold.
    pub pinned_bytes: u64,
    /// Time from its registration to its end, or until now.
    pub total: f64,
    pub waiting: f64,
    pub transferring: f64,
}

impl InstanceCounters {
    /// The remaining time, in which it computed, s.
    pub fn computing(&self) -> f64 {
        (self.total - self.waiting - self.transferring).max(0.0)
    }
}

/// The rank of an MPI program that has not reached the call in which the other ranks wait.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedRankLag {
    /// A description.
    pub what: String,
    /// Duration so far, s.
    pub seconds: f64,
}

/// An instance at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub name: String,
    /// The number of its component.
    pub component: u32,
    pub pid: Option<u32>,
    /// True if its process has ended.
    pub gone: bool,
    pub state: InstanceState,
    /// Its present wait.
    pub waits: Option<ObservedWait>,
    /// A counter that changes whenever a wait begins or ends.
    pub epoch: u64,
    /// The last round in which it has checked its input again and found nothing.
    pub looked: u64,
    /// True if its process is stopped, by a signal or a debugger. False without an inspection.
    pub stopped: bool,
    /// Of an MPI program, the rank that lags behind. `None` without an inspection.
    pub ranks: Option<ObservedRankLag>,
    /// The model time that it has reached, s.
    pub model_time: Option<f64>,
    pub counters: InstanceCounters,
}

impl InstanceState {
    fn of(phase: InstancePhase, state: Option<EndpointActivity>) -> InstanceState {
        match (phase, state) {
            (InstancePhase::Waiting, _) => InstanceState::NotStarted,
            (InstancePhase::Started, _) => InstanceState::Starting,
            (InstancePhase::Gone(exit), Some(EndpointActivity::Ended)) if exit.is_clean() => {
                InstanceState::Done
            }
            (InstancePhase::Finished, _) => InstanceState::Done,
            (InstancePhase::Gone(_), _) => InstanceState::Failed,
            (InstancePhase::Running, None | Some(EndpointActivity::Starting)) => InstanceState::Starting,
            (InstancePhase::Running, Some(EndpointActivity::Computing)) => InstanceState::Computing,
            (InstancePhase::Running, Some(EndpointActivity::WaitingToReceive)) => {
                InstanceState::WaitingToReceive
            }
            (InstancePhase::Running, Some(EndpointActivity::WaitingToSend)) => InstanceState::WaitingToSend,
            (InstancePhase::Running, Some(EndpointActivity::Held)) => InstanceState::Held,
            (InstancePhase::Running, Some(EndpointActivity::Transferring)) => InstanceState::Transferring,
            (InstancePhase::Running, Some(EndpointActivity::Ended)) => InstanceState::Done,
            (InstancePhase::Running, Some(EndpointActivity::Failed)) => InstanceState::Failed,
        }
    }
}

impl Observation {
    /// Adds the result of an inspection of its processes, at `now` as in `of`.
    pub fn add(&mut self, looked: ProcessInspection, now: u64) {
        self.stopped = !self.gone && looked.stopped;
        self.ranks = looked.ranks.filter(|_| !self.gone).map(|ranks| ObservedRankLag {
            what: ranks.what,
            seconds: now.saturating_sub(ranks.since) as f64 / 1e9,
        });
    }

    /// The observation of instance `name`, of component `component`, at `now` (ns of CLOCK_MONOTONIC). Only an
    /// inspection shows whether a process is stopped or has several threads; without one, it is taken for a
    /// running process with several threads.
    pub fn of(name: String, component: u32, view: &InstanceView, now: u64) -> Observation {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let standing = InstanceState::of(view.phase, view.status.as_ref().map(|status| status.state));
        let mut seen = Observation {
            name,
            component,
            pid: view.pid,
            gone: matches!(view.phase, InstancePhase::Gone(_)),
            state: standing,
            waits: None,
            epoch: 0,
            looked: 0,
            stopped: false,
            ranks: None,
            model_time: None,
            counters: InstanceCounters::default(),
        };
        let Some(status) = &view.status else {
            return seen;
        };
        let end = if status.ended > 0 { status.ended } else { now };
        // A wait in which its process ended lasted until that end, and is over.
        let waiting_now = status.waits.as_ref().map_or(0, |waits| end.saturating_sub(waits.since));
        let waits = matches!(
            seen.state,
            InstanceState::WaitingToReceive | InstanceState::WaitingToSend | InstanceState::Held
        );
        seen.waits = status.waits.as_ref().filter(|_| waits).map(|waits| ObservedWait {
            what: waits.what.clone(),
            seconds: seconds(waiting_now),
            timed: waits.timed,
            holds: waits.holding,
            may_release: waits.holding,
        });
        seen.epoch = status.epoch;
        seen.looked = status.looked;
        seen.model_time = status.time;
        seen.counters = InstanceCounters {
            sent_messages: status.sent_messages,
            sent_bytes: status.sent_bytes,
            received_messages: status.received_messages,
            received_bytes: status.received_bytes,
            iterations: status.iterations,
            pinned_bytes: status.pinned,
            total: if status.started > 0 { seconds(end.saturating_sub(status.started)) } else { 0.0 },
            waiting: seconds(status.waited + waiting_now),
            transferring: seconds(status.transferred),
        };
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_agent::{Exit, Status, WaitRecord as Wait};

    /// An instance that began at 1 s, has waited for 2 s, and waits since 5 s, all in ns.
    fn waiting_since_five(phase: InstancePhase, ended: u64) -> Observation {
        const SECOND_NS: u64 = 1_000_000_000;
        let waits = Wait {
            what: AwaitedEvent::Message { channels: vec![0] },
            since: 5 * SECOND_NS,
            timed: false,
            holding: false,
        };
        let status = Status {
            state: EndpointActivity::WaitingToReceive,
            epoch: 1,
            waits: Some(waits),
            looked: 0,
            time: None,
            iterations: 0,
            pinned: 0,
            sent_messages: 0,
            sent_bytes: 0,
            received_messages: 0,
            received_bytes: 0,
            waited: 2 * SECOND_NS,
            transferred: 0,
            receiving: 0,
            wait_count: 1,
            started: SECOND_NS,
            ended: ended * SECOND_NS,
        };
        let view = InstanceView { phase, pid: Some(1), speaker: Some(1), status: Some(status) };
        Observation::of("one".into(), 0, &view, 9 * SECOND_NS)
    }

    #[test]
    fn a_wait_in_which_a_process_ended_counts_as_a_wait_until_then() {
        let seen = waiting_since_five(InstancePhase::Gone(Exit::Signal(9)), 8);
        assert_eq!((seen.counters.total, seen.counters.waiting, seen.counters.computing()), (7.0, 5.0, 2.0));
        // The wait is over.
        assert_eq!((seen.state, seen.waits), (InstanceState::Failed, None));
    }

    #[test]
    fn a_wait_that_goes_on_counts_until_now() {
        let seen = waiting_since_five(InstancePhase::Running, 0);
        assert_eq!((seen.counters.total, seen.counters.waiting), (8.0, 6.0));
        assert_eq!(seen.waits.map(|waits| waits.seconds), Some(4.0));
    }
}
