//! The interface between an agent's driver and its host: the trait `Host`, and the view of a run that the
//! driver gives to the host. The host is the program around the agent: the head, or the agent of another
//! domain.

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

/// The present state of a run, as the driver shows it to the host.
pub struct RunView<'a> {
    pub core: &'a AgentCore,
    pub custody: &'a Custody,
    /// The state of each rank, by rank number.
    pub instances: Vec<InstanceView>,
    /// Time at which the view was made, in ns of CLOCK_MONOTONIC.
    pub now: u64,
}

impl<'a> RunView<'a> {
    /// Returns the state at this moment.
    pub fn of(core: &'a AgentCore, custody: &'a Custody) -> RunView<'a> {
        let one = |rank| {
            let (phase, pid) = core.rank(rank);
            InstanceView { phase, pid, speaker: core.speaker(rank), status: custody.status(rank) }
        };
        let instances = core.wiring().ranks().all().map(one).collect();
        RunView { core, custody, instances, now: ligament_shm::status::now() }
    }

    /// Returns the counts of messages at both ends of each channel, by channel number. The count of an end
    /// in another domain is `None`.
    pub fn channels(&self) -> Vec<ChannelView> {
        self.custody.channels()
    }
}

/// The reason why the agent reads the news of timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainReason {
    /// The time of a regular tick has come.
    Tick,
    /// A client has asked for the present state.
    OnDemand,
    /// The instance's process has ended, so its timeline is read for the last time.
    ProcessEnded,
}

/// A client's request for a file of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeekRequest {
    /// The instance's number.
    pub instance: InstanceId,
    /// Path of the file below the directory of the instance's process.
    pub path: String,
    /// The wanted part of the file: the offset of its first byte, and the maximum number of bytes.
    pub offset: u64,
    pub most: u32,
}

/// A request that a person or another program makes from outside of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalRequest {
    /// A signal, such as `SIGINT`, that ends the run.
    Signal(&'static str),
    /// A client ends the run.
    Stop,
    /// A client takes part in the run as the instance of this name.
    Join(String),
}

/// A message about a tap between domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteTapEvent {
    /// A request of the head to this agent.
    Wanted(TapOrder),
    /// An answer of the agent of the given domain to the head.
    Shown(DomainId, TapReply),
}

/// The program around an agent. The host starts processes, writes logs, and shows the state of the run.
pub trait Host {
    /// Takes note that the run begins. Clients reach the run at this address (in the form of
    /// `LIGAMENT_AGENT`) with this token.
    fn begins(&mut self, address: &str, token: &str);
    /// Starts an endpoint's process: the program of this instance, with these variables added to its
    /// environment. The host either asks the guard to start the process under the endpoint's number and
    /// returns `None`, or starts the process as a child of the calling thread and returns it.
    ///
    /// # Errors
    /// The error is the end of a sentence that begins "could not be started:".
    fn start(
        &mut self,
        guard: &mut Guard,
        endpoint: EndpointId,
        instance: InstanceId,
        environment: &[(&'static str, String)],
    ) -> Result<Option<StartedProcess>, Fault>;
    /// Takes note that the process of a rank of this domain runs.
    fn started(&mut self, rank: RankId, pid: u32) {
        let _ = (rank, pid);
    }
    /// Takes a report of the agent's logic.
    fn report(&mut self, report: AgentReport);
    /// Takes note of a request from outside of the run. The effect of the request is reported separately.
    fn external_request(&mut self, wish: &ExternalRequest) {
        let _ = wish;
    }
    /// Takes note that the terminal has been closed (SIGHUP). Returns true if the run goes on without a
    /// terminal, and false if the run ends.
    fn hung_up(&mut self) -> bool {
        false
    }
    /// Returns the state of the run as JSON, for a client.
    fn status(&mut self, view: &RunView<'_>) -> String;
    /// Returns the changes of the run's state after position `since` as JSON, and the new position, for a
    /// client that watches. If `since` is 0, the JSON has the whole state. Returns `None` if this agent
    /// does not know the state of the whole run.
    fn status_since(&mut self, view: &RunView<'_>, since: u64) -> Option<(String, u64)> {
        let _ = (view, since);
        None
    }
    /// Handles a client's request for a file or a directory of an instance's process. Returns the answer,
    /// or `None` if `peek_replies` will return the answer later, with this connection.
    fn peek(&mut self, link: ConnectionId, what: &PeekRequest) -> Option<Sight> {
        let _ = (link, what);
        Some(Sight::Nothing(said!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        )))
    }
    /// Returns replies to clients that asked for a file. The driver calls this function after each event
    /// from other domains, and at every tick.
    fn peek_replies(&mut self) -> Vec<(ConnectionId, Sight)> {
        Vec::new()
    }
    /// Handles a client's request for a change at a model time. Returns the reason if the host refuses the
    /// request at once. Otherwise `steer_replies` returns the answers later, with this connection.
    fn steer(&mut self, link: ConnectionId, what: SteerRequest, view: &RunView<'_>) -> Option<Fault> {
        let _ = (link, what, view);
        Some(fault!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        ))
    }
    /// Returns replies to clients that steer: JSON, or the reason of a refusal.
    fn steer_replies(&mut self) -> Vec<(ConnectionId, Result<String, Fault>)> {
        Vec::new()
    }
    /// Returns messages about taps between domains. The driver calls this function after every event.
    fn taps(&mut self) -> Vec<RemoteTapEvent> {
        Vec::new()
    }
    /// Returns orders of the host for the agent. The driver calls this function after every event.
    fn orders(&mut self) -> Vec<AgentOrder> {
        Vec::new()
    }
    /// Returns the working directory of an instance that a person starts.
    fn directory(&self, instance: InstanceId) -> String;
    /// Returns the interval between two calls of `tick`, or `None` if the driver is never to call `tick`.
    fn tick_every(&self) -> Option<Duration>;
    /// Does the host's regular work. Returns orders for the agent.
    fn tick(&mut self, view: &RunView<'_>) -> Vec<AgentOrder>;
    /// Takes the additions to a rank's timeline up to `now` (ns of CLOCK_MONOTONIC). `why` is the reason
    /// why the timeline was read.
    fn timeline(&mut self, rank: RankId, gained: &TimelineDelta, now: u64, why: DrainReason);
    /// Takes note that the agent has read all timelines, so that the host can write the additions to a
    /// file.
    fn timelines_seen(&mut self);
    /// Prints the state of the run on the terminal, because a user asked for the state (SIGQUIT).
    fn show(&mut self, view: &RunView<'_>);
    /// Takes an event of the carrier, and returns orders for the agent. If the event reports a failure, the
    /// driver handles the failure after this call.
    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        let _ = heard;
        Vec::new()
    }
    /// Takes note that the agent has refused a connection of `who` for the reason `why`. `others` is the
    /// number of earlier refused connections that were not reported.
    fn connection_refused(&mut self, who: &str, why: &str, others: u64) {
        let _ = (who, why, others);
    }
    /// Returns the outcome of a run that a signal ends.
    fn interruption(&mut self, _signal: &str) -> crate::RunOutcome {
        crate::RunOutcome::Interrupted
    }
    /// Takes note that the grace period ends early, because a second signal has arrived.
    fn grace_cut_short(&mut self) {}
    /// Takes note that all processes of this domain have ended, in a run over several domains, and that the
    /// agent has read everything from their memory. Returns orders for the agent if the run is to go on
    /// until `AgentOrder::Release`. Returns `None` if the run is over when everything sent to this domain
    /// has arrived.
    fn is_done_here(&mut self, view: &RunView<'_>) -> Option<Vec<AgentOrder>> {
        let _ = view;
        None
    }
}
