//! The host of an agent, as its driver sees it, and the view of a run that the driver gives to the host.

use crate::action::{AgentOrder, AgentReport, ConnectionId};
use crate::core::AgentCore;
use crate::custody::{ChannelView, Custody, TimelineDelta};
use ligament_carrier::CarrierReport;
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::Guard;
use ligament_wire::control::SteerRequest;
pub use ligament_wire::domains::{InstanceView, ProcessInspection, RankLag};
use ligament_wire::domains::{TapOrder, TapReply};
use ligament_wire::peek::Sight;
use ligament_wire::{DomainId, EndpointId, InstanceId, RankId};
use std::time::Duration;

/// A process that was started for an instance, as a child of the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedProcess {
    pub pid: u32,
    /// True if the process leads a group of its own, so that the group can be signalled.
    pub leads_group: bool,
}

/// The present state of a run.
pub struct RunView<'a> {
    pub core: &'a AgentCore,
    pub custody: &'a Custody,
    /// Instances by rank number.
    pub instances: Vec<InstanceView>,
    /// ns of CLOCK_MONOTONIC.
    pub now: u64,
}

impl<'a> RunView<'a> {
    /// The state at this moment.
    pub fn of(core: &'a AgentCore, custody: &'a Custody) -> RunView<'a> {
        let one = |rank| {
            let (phase, pid) = core.rank(rank);
            InstanceView { phase, pid, speaker: core.speaker(rank), status: custody.status(rank) }
        };
        let instances = core.wiring().ranks().all().map(one).collect();
        RunView { core, custody, instances, now: ligament_shm::status::now() }
    }

    /// Messages that have passed each channel, by channel number. An end in another domain is `None`.
    pub fn channels(&self) -> Vec<ChannelView> {
        self.custody.channels()
    }
}

/// The reason why timelines are drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainReason {
    /// A regular tick.
    Tick,
    /// A client asked for the present state.
    OnDemand,
    /// The instance's process has ended: this is the last time.
    ProcessEnded,
}

/// A client's request for a file of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeekRequest {
    /// The instance's number.
    pub instance: InstanceId,
    /// Path below the directory of the instance's process.
    pub path: String,
    /// Part of a file: the first byte, and the maximum number of bytes.
    pub offset: u64,
    pub most: u32,
}

/// A request from outside of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalRequest {
    /// A signal, such as `SIGINT`, that ends the run.
    Signal(&'static str),
    /// A client ends the run.
    Stop,
    /// A client joins as this instance.
    Join(String),
}

/// A message about a tap between domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteTapEvent {
    /// A request of the head.
    Wanted(TapOrder),
    /// An answer of this domain's agent.
    Shown(DomainId, TapReply),
}

/// The surroundings of an agent: the host starts processes, writes logs, and shows the state of the run.
pub trait Host {
    /// The run begins. Clients reach it at this address (in the form of `LIGAMENT_AGENT`) with this token.
    fn begins(&mut self, address: &str, token: &str);
    /// Starts an endpoint's process: the program of this instance, with these variables added to its
    /// environment. The host either asks the guard to launch it under the endpoint's number and returns `None`,
    /// or starts it as a child of the calling thread.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that begins "could not be started:".
    fn start(
        &mut self,
        guard: &mut Guard,
        endpoint: EndpointId,
        instance: InstanceId,
        environment: &[(&'static str, String)],
    ) -> Result<Option<StartedProcess>, Fault>;
    /// The process of a rank of this domain runs.
    fn started(&mut self, rank: RankId, pid: u32) {
        let _ = (rank, pid);
    }
    /// Takes a report of the agent's logic.
    fn report(&mut self, report: AgentReport);
    /// Notes a request from outside of the run. Its effect is reported separately.
    fn external_request(&mut self, wish: &ExternalRequest) {
        let _ = wish;
    }
    /// The terminal has gone (SIGHUP). Returns whether the run goes on without it; otherwise it ends.
    fn hung_up(&mut self) -> bool {
        false
    }
    /// The state of the run, for a client: JSON.
    fn status(&mut self, view: &RunView<'_>) -> String;
    /// The changes of the run's state after position `since`, for a client that watches; everything if `since`
    /// is 0. Returns JSON and the new position, or `None` if this agent does not know.
    fn status_since(&mut self, view: &RunView<'_>, since: u64) -> Option<(String, u64)> {
        let _ = (view, since);
        None
    }
    /// A client asks for a file, or a directory, of an instance's process. `None` means that the answer follows
    /// later from `peek_replies`, with this connection.
    fn peek(&mut self, link: ConnectionId, what: &PeekRequest) -> Option<Sight> {
        let _ = (link, what);
        Some(Sight::Nothing(said!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        )))
    }
    /// Replies to clients that asked for a file. Called after each event from other domains, and at every tick.
    fn peek_replies(&mut self) -> Vec<(ConnectionId, Sight)> {
        Vec::new()
    }
    /// A client asks for a change at a model time. Returns the reason if it is refused at once. Otherwise the
    /// answers follow later from `steer_replies`, with this connection.
    fn steer(&mut self, link: ConnectionId, what: SteerRequest, view: &RunView<'_>) -> Option<Fault> {
        let _ = (link, what, view);
        Some(fault!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        ))
    }
    /// Replies to clients that steer: JSON, or the reason of a refusal.
    fn steer_replies(&mut self) -> Vec<(ConnectionId, Result<String, Fault>)> {
        Vec::new()
    }
    /// Messages about taps between domains. Called after every event.
    fn taps(&mut self) -> Vec<RemoteTapEvent> {
        Vec::new()
    }
    /// Orders of the host for the agent. Called after every event.
    fn orders(&mut self) -> Vec<AgentOrder> {
        Vec::new()
    }
    /// The working directory of an instance that is started by hand.
    fn directory(&self, instance: InstanceId) -> String;
    /// Interval between two calls of `tick`; `None`: it is never called.
    fn tick_every(&self) -> Option<Duration>;
    /// A regular tick. Returns orders for the agent.
    fn tick(&mut self, view: &RunView<'_>) -> Vec<AgentOrder>;
    /// Takes what was added to a rank's timeline up to `now` (ns, CLOCK_MONOTONIC); `why` says why it was read.
    fn timeline(&mut self, rank: RankId, gained: &TimelineDelta, now: u64, why: DrainReason);
    /// All timelines were drained, so their news can be written.
    fn timelines_seen(&mut self);
    /// Prints the state of the run on the terminal, because somebody asked for it (SIGQUIT).
    fn show(&mut self, view: &RunView<'_>);
    /// Takes an event of the carrier. After this call the agent handles failures in it by itself.
    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        let _ = heard;
        Vec::new()
    }
    /// A connection was refused, with the reason. `others` counts refused connections before it that were not
    /// reported.
    fn connection_refused(&mut self, who: &str, why: &str, others: u64) {
        let _ = (who, why, others);
    }
    /// The outcome of a run that a signal ends.
    fn interruption(&mut self, _signal: &str) -> crate::RunOutcome {
        crate::RunOutcome::Interrupted
    }
    /// The grace period is cut short, because somebody does not want to wait.
    fn grace_cut_short(&mut self) {}
    /// All processes of this domain have ended, in a run over several domains, and everything has been read
    /// from their memory. The run goes on until `AgentOrder::Release`. `None`: it is over when everything sent
    /// to this domain has arrived.
    fn is_done_here(&mut self, view: &RunView<'_>) -> Option<Vec<AgentOrder>> {
        let _ = view;
        None
    }
}
