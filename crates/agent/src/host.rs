//! What is around an agent, as its driver sees it; and how a run looks from there.

use crate::action::{AgentOrder, AgentReport, ConnectionId, InstancePhase};
use crate::core::AgentCore;
use crate::custody::{ChannelView, Custody, TimelineDelta};
use ligament_carrier::CarrierReport;
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::Guard;
use ligament_shm::status::Status;
use ligament_wire::control::ChangeRequest;
use ligament_wire::domains::{TapOrder, TapReply};
use ligament_wire::peek::Sight;
use ligament_wire::{DomainId, EndpointId, InstanceId, RankId};
use std::time::Duration;

/// A process that was started for an instance, as a child of the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedProcess {
    pub pid: u32,
    /// Whether it leads a process group of its own, so that all of that can be ended.
    pub leads_group: bool,
}

/// An instance, or a rank of one, as it is now.
#[derive(Debug, Clone)]
pub struct InstanceView {
    pub phase: InstancePhase,
    pub pid: Option<u32>,
    /// The process that registered.
    pub speaker: Option<u32>,
    /// Its status page, once it has one.
    pub status: Option<Status>,
}

/// What is known of a rank only if somebody looks at its processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessInspection {
    /// Stopped by a signal or a debugger.
    pub stopped: bool,
    pub ranks: Option<RankLag>,
}

/// Of an MPI program of which rank 0 speaks for all: which rank has not come where others are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankLag {
    /// In words.
    pub what: String,
    /// ns of CLOCK_MONOTONIC.
    pub since: u64,
}

/// A run as it is now.
pub struct RunView<'a> {
    pub core: &'a AgentCore,
    pub custody: &'a Custody,
    /// By the numbers of ranks.
    pub instances: Vec<InstanceView>,
    /// ns of CLOCK_MONOTONIC.
    pub now: u64,
}

impl<'a> RunView<'a> {
    /// As it is at this moment.
    pub fn of(core: &'a AgentCore, custody: &'a Custody) -> RunView<'a> {
        let one = |rank| {
            let (phase, pid) = core.rank(rank);
            InstanceView { phase, pid, speaker: core.speaker(rank), status: custody.status(rank) }
        };
        let instances = core.wiring().ranks().all().map(one).collect();
        RunView { core, custody, instances, now: ligament_shm::status::now() }
    }

    /// What has passed each channel, by its number, as far as its ends are of this domain.
    pub fn channels(&self) -> Vec<ChannelView> {
        self.custody.channels()
    }
}

/// Why timelines are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainReason {
    /// Every now and then.
    Tick,
    /// Somebody wants to see them as they are now.
    OnDemand,
    /// The instance's process has ended: nothing more will come.
    ProcessEnded,
}

/// What a client wants to see of an instance's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeekRequest {
    /// By its number.
    pub instance: InstanceId,
    /// Below the directory of its process.
    pub path: String,
    /// Of a file: from where on, and at most how many bytes.
    pub offset: u64,
    pub most: u32,
}

/// What somebody outside wants of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalRequest {
    /// By a signal, such as `SIGINT`, that it ends.
    Signal(&'static str),
    /// A client, that it ends.
    Stop,
    /// A client, to take part as this instance.
    Join(String),
}

/// What a client wants to be done at a model time.
#[derive(Debug, Clone, PartialEq)]
pub struct SteerRequest {
    /// Who wants it.
    pub who: String,
    pub wanted: ChangeRequest,
    /// The model time, s; none: as soon as all can.
    pub at: Option<f64>,
    /// For how long all may take to agree.
    pub patience: Option<Duration>,
    /// Only say whether it can be asked for.
    pub dry: bool,
}

/// What was heard of taps that lead from one domain to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteTapEvent {
    /// The head wants something of one.
    Wanted(TapOrder),
    /// The agent of this domain shows something.
    Shown(DomainId, TapReply),
}

/// What is around an agent: who starts processes, writes logs, and shows what happens.
pub trait Host {
    /// The run begins; clients reach it at this address (as `LIGAMENT_AGENT` has it) with this token.
    fn begins(&mut self, address: &str, token: &str);
    /// Starts an endpoint's process, of the program of this instance, with this added to its environment: by
    /// asking the guard to launch it under the endpoint's number, and then gives none; or as a child of this
    /// process, started by the calling thread.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that begins "could not be started:".
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
    /// Something happened.
    fn report(&mut self, report: AgentReport);
    /// Somebody outside wants something of the run; what comes of that is reported.
    fn external_request(&mut self, wish: &ExternalRequest) {
        let _ = wish;
    }
    /// The terminal went away (SIGHUP). Gives whether the run goes on without; else it ends.
    fn hung_up(&mut self) -> bool {
        false
    }
    /// A client asks for the state of the run: JSON.
    fn status(&mut self, view: &RunView<'_>) -> String;
    /// A client that watches: what has changed since `since`, all if that is 0, as JSON, and what to ask with the next time.
    /// None: this agent does not know.
    fn status_since(&mut self, view: &RunView<'_>, since: u64) -> Option<(String, u64)> {
        let _ = (view, since);
        None
    }
    /// A client wants to see what there is at a path below the directory of an instance's process; none: what is seen comes
    /// later, out of `peek_replies`, under this link.
    fn peek(&mut self, link: ConnectionId, what: &PeekRequest) -> Option<Sight> {
        let _ = (link, what);
        Some(Sight::Nothing(said!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        )))
    }
    /// What clients were waiting for. Asked after whatever was heard from elsewhere, and at every tick.
    fn peek_replies(&mut self) -> Vec<(ConnectionId, Sight)> {
        Vec::new()
    }
    /// A client wants something to be done at a model time. What comes of it comes later, out of `steer_replies`, under this link;
    /// or it is refused at once.
    fn steer(&mut self, link: ConnectionId, what: SteerRequest, view: &RunView<'_>) -> Option<Fault> {
        let _ = (link, what, view);
        Some(fault!(
            RUNS_ELSEWHERE,
            "this agent knows its own part of the run only; ask where the run was begun"
        ))
    }
    /// What clients that steer are told now: JSON, or why not.
    fn steer_replies(&mut self) -> Vec<(ConnectionId, Result<String, Fault>)> {
        Vec::new()
    }
    /// What was heard of taps that lead to other domains. Asked after whatever has happened.
    fn taps(&mut self) -> Vec<RemoteTapEvent> {
        Vec::new()
    }
    /// What the host wants of the agent because of what it was told. Asked after whatever has happened.
    fn orders(&mut self) -> Vec<AgentOrder> {
        Vec::new()
    }
    /// The working directory of an instance that is started by hand.
    fn directory(&self, instance: InstanceId) -> String;
    /// How long after this `tick` is to be called; none: never.
    fn tick_every(&self) -> Option<Duration>;
    /// Time to look.
    fn tick(&mut self, view: &RunView<'_>) -> Vec<AgentOrder>;
    /// What the timeline of a rank has gained until now, ns of CLOCK_MONOTONIC.
    fn timeline(&mut self, rank: RankId, gained: &TimelineDelta, now: u64, why: DrainReason);
    /// All timelines were looked at: what they gained can be written down.
    fn timelines_seen(&mut self);
    /// Somebody wants to see on the terminal how the run stands (SIGQUIT).
    fn show(&mut self, view: &RunView<'_>);
    /// The carrier heard something from elsewhere. What it says of failures the agent heeds by itself, after this.
    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        let _ = heard;
        Vec::new()
    }
    /// Somebody was not let in, and why; so many others before them were not told of.
    fn connection_refused(&mut self, who: &str, why: &str, others: u64) {
        let _ = (who, why, others);
    }
    /// What a signal that is to end this process makes of the run.
    fn interruption(&mut self, _signal: &str) -> crate::RunOutcome {
        crate::RunOutcome::Interrupted
    }
    /// The time for ending cleanly is over: somebody does not want to wait.
    fn grace_cut_short(&mut self) {}
    /// Of a run over several domains: no process of this domain is left. All that can be seen of them has been. The run
    /// goes on until `AgentOrder::Release` comes of it; none: it is over when what was sent here has arrived.
    fn is_done_here(&mut self, view: &RunView<'_>) -> Option<Vec<AgentOrder>> {
        let _ = view;
        None
    }
}
