//! The manager's observation of an instance at one moment, made from the agent's view.

use ligament_agent::{AwaitedEvent, EndpointActivity, InstancePhase, InstanceView, ProcessInspection};

/// The state of an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum InstanceState {
    /// The process of the instance has not been started.
    NotStarted,
    /// The process of the instance runs, and the instance has not registered.
    Starting,
    /// The instance computes.
    Computing,
    /// The instance waits for a message.
    WaitingToReceive,
    /// The instance waits until its receiver has read some of the messages that are under way.
    WaitingToSend,
    /// The instance waits until a change is agreed on, or waits at a halt.
    Held,
    /// The instance copies a message.
    Transferring,
    /// The instance is done.
    Done,
    /// The instance has failed.
    Failed,
    /// The instance was ended because the run ended.
    Stopped,
}

impl InstanceState {
    /// Returns the name of the state, in one or two words.
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

/// A wait of an instance that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedWait {
    pub what: AwaitedEvent,
    /// Duration of the wait so far, in s.
    pub seconds: f64,
    /// True if the wait has a time-out.
    pub timed: bool,
    /// True if the instance's code holds views of other instances' memory.
    pub holds: bool,
    /// True if the code holds views, and another thread of the process may drop the views during the wait.
    pub may_release: bool,
}

/// Counters of an instance. All times are in s.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InstanceCounters {
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// Number of passes of the reuse loop.
    pub iterations: u64,
    /// Number of bytes of other instances' memory that the instance's views hold.
    pub pinned_bytes: u64,
    /// Time from the instance's registration to its end, or until now.
    pub total: f64,
    pub waiting: f64,
    pub transferring: f64,
}

impl InstanceCounters {
    /// Returns the rest of the total time, in which the instance computed, in s.
    pub fn computing(&self) -> f64 {
        (self.total - self.waiting - self.transferring).max(0.0)
    }
}

/// A rank of an MPI program that has not reached the call in which the program's other ranks wait.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedRankLag {
    /// A description.
    pub what: String,
    /// Duration of the lag so far, in s.
    pub seconds: f64,
}

/// The state of an instance at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub name: String,
    /// Number of the instance's component.
    pub component: u32,
    pub pid: Option<u32>,
    /// True if the process of the instance has ended.
    pub gone: bool,
    pub state: InstanceState,
    /// Present wait of the instance.
    pub waits: Option<ObservedWait>,
    /// Counter that changes whenever a wait begins or ends.
    pub epoch: u64,
    /// Number of the last detection round in which the instance has checked its input again and found
    /// nothing.
    pub looked: u64,
    /// True if the process is stopped by a signal or a debugger. Always false if the process was not
    /// inspected.
    pub stopped: bool,
    /// For an MPI program, the rank that lags behind. `None` if the processes were not inspected.
    pub ranks: Option<ObservedRankLag>,
    /// Model time that the instance has reached, in s.
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
    /// Adds the result of an inspection of the instance's processes at `now` (ns of CLOCK_MONOTONIC).
    pub fn add(&mut self, looked: ProcessInspection, now: u64) {
        self.stopped = !self.gone && looked.stopped;
        self.ranks = looked.ranks.filter(|_| !self.gone).map(|ranks| ObservedRankLag {
            what: ranks.what,
            seconds: now.saturating_sub(ranks.since) as f64 / 1e9,
        });
    }

    /// Makes the observation of instance `name` of component `component` at `now` (ns of CLOCK_MONOTONIC).
    /// Only an inspection shows if a process is stopped or has several threads. Without an inspection, the
    /// process counts as running, with several threads.
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
        // If the process ended during a wait, the wait lasted until the end of the process.
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

    /// Observes, at 9 s, an instance that registered at 1 s, has waited for 2 s in all, and has been waiting
    /// again since 5 s. `ended` is the time in s at which its process ended, or 0.
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
        // The wait ended with the process.
        assert_eq!((seen.state, seen.waits), (InstanceState::Failed, None));
    }

    #[test]
    fn a_wait_that_goes_on_counts_until_now() {
        let seen = waiting_since_five(InstancePhase::Running, 0);
        assert_eq!((seen.counters.total, seen.counters.waiting), (8.0, 6.0));
        assert_eq!(seen.waits.map(|waits| waits.seconds), Some(4.0));
    }
}
