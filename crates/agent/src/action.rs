//! What the agent's logic asks its driver to do, and the words in which it does.

use crate::outcome::{Exit, RunOutcome};
use ligament_catalogue::Fault;
use ligament_wire::control::{Notice, Question, SteerableSetting, Tap};
use ligament_wire::domains::TapPort;
use ligament_wire::steering::{Steer, Steers};
use ligament_wire::{EndpointId, RankId};
use std::sync::Arc;

/// A connection to the agent's socket.
pub type ConnectionId = u64;

/// A piece of shared memory by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryRegion {
    Board,
    Area(EndpointId),
    Outbox(EndpointId),
    /// Of an endpoint, its slab of this number.
    Slab(EndpointId, u32),
}

/// What to do to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ask it to end.
    Terminate,
    /// End it.
    Kill,
}

/// Something for the run's log and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentReport {
    Registered {
        rank: RankId,
        pid: u32,
        language: String,
    },
    Exited {
        rank: RankId,
        exit: Exit,
    },
    /// An instance's own line.
    Said {
        rank: RankId,
        level: u8,
        text: String,
    },
    /// A line of the agent's.
    Remark {
        level: u8,
        text: String,
    },
    /// The run begins to end.
    Ending(RunOutcome),
    /// Which ports of an instance that is joined to other domains have slots; right after it has registered.
    Slots {
        rank: RankId,
        slots: Vec<bool>,
    },
    /// What an endpoint that is done has used: settings by the names that were asked for, and how many messages went
    /// out on, and were received from, channels.
    Used {
        rank: RankId,
        asked: Vec<String>,
        sent: Vec<(u32, u64)>,
        received: Vec<(u32, u64)>,
    },
    /// What a rank says of a change.
    Steers {
        rank: RankId,
        change: u64,
        answer: Steers,
    },
    /// Its code says that a setting can be steered.
    Steerable {
        rank: RankId,
        setting: SteerableSetting,
    },
    /// It takes part, and sends on these ports, of which some only its code may know.
    Sends {
        rank: RankId,
        ports: Arc<[String]>,
    },
    /// The operators of ports that its code declares and its model does not, by name. One rank stands for all of its
    /// component that register together.
    Declares {
        rank: RankId,
        ports: Vec<(String, String)>,
    },
}

/// What the host of an agent wants of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrder {
    /// The budget of a channel becomes so many bytes.
    Budget { channel: u32, bytes: u64 },
    /// These ranks are to look once more for what they wait for, and to note this round on their status pages.
    Look { round: u64, ranks: Vec<RankId> },
    /// An instance has registered elsewhere, and which of its ports have slots there.
    Slots { rank: RankId, slots: Vec<bool> },
    /// The run cannot go on. The reason is a sentence.
    Fail(Fault),
    /// The run ends, or has ended, elsewhere in this way.
    End(RunOutcome),
    /// The time for ending cleanly is over.
    Hurry,
    /// All is over elsewhere.
    Release,
    /// Something is to happen at a model time to these ranks.
    Steer { ranks: Vec<RankId>, steer: Steer },
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Answer a request.
    Answer { link: ConnectionId, notice: Notice, memory: Vec<MemoryRegion> },
    /// Say something that was not asked for, and ring the endpoint's doorbell.
    Tell { link: ConnectionId, endpoint: EndpointId, notice: Notice, memory: Vec<MemoryRegion> },
    /// The endpoint was told of this halt: if it has never asked whether it may go on, call `Core::never_steered`.
    AskWhetherSteers { link: ConnectionId, endpoint: EndpointId, change: u64 },
    /// Ring an endpoint's doorbell: what it was called for could not be sent at once, and has been sent now.
    Call { endpoint: EndpointId },
    /// Make a slab and answer with `Granted`; if it cannot be made, call `Core::slab_refused`.
    MakeSlab { link: ConnectionId, endpoint: EndpointId, slab: u32, bytes: u64 },
    /// Make the box of a tap: for whoever looks, who is told, and for the endpoint at `to`, with `Tap`; if it cannot be made,
    /// call `Core::tap_refused`.
    MakeTap { viewer: TapViewer, to: ConnectionId, endpoint: EndpointId, tap: Box<Tap> },
    /// Tell the head that this tap of its is over, or never was, and why; but first what it waits for, if that is there.
    EndTap { ticket: u64, why: String },
    /// Let the agent of another domain show this port to the client at `link`, and call `Core::tap_elsewhere_is_over` when it
    /// is.
    TapElsewhere { link: ConnectionId, port: Box<TapPort> },
    /// The client is gone.
    UntapElsewhere { link: ConnectionId },
    /// Let go of a slab.
    DropSlab { endpoint: EndpointId, slab: u32 },
    /// Let go of all memory of an endpoint.
    DropEndpoint { endpoint: EndpointId },
    /// Close a connection once all is sent.
    Close { link: ConnectionId },
    /// Start an endpoint's process; if it cannot be started, call `Core::not_started`.
    Start { endpoint: EndpointId },
    /// Watch a process that was started by hand, or by the command of another rank.
    Watch { endpoint: EndpointId, pid: u32 },
    /// Watch the process that speaks for a rank beside the one that was started for it.
    WatchSpeaker { endpoint: EndpointId, pid: u32 },
    /// Do something to an endpoint's processes.
    SignalProcess { endpoint: EndpointId, push: ProcessSignal },
    /// Count an endpoint as awake, since its process is being started.
    Awake { endpoint: EndpointId },
    /// Count an endpoint as asleep, since its process is gone.
    Asleep { endpoint: EndpointId },
    /// Let the carrier bring to others what the instances here have sent, and call `Core::detached` when it has.
    Detach,
    /// Call `Core::grace_is_over` in a while.
    StartGraceTimer,
    /// Call `Core::lingered` in a while, if this endpoint's process is still there.
    StartLingerTimer { endpoint: EndpointId },
    /// A client asks.
    Ask { link: ConnectionId, question: Question },
    /// For the log and the record.
    Report(AgentReport),
    /// All is over.
    Over,
}

/// Who looks at what a port sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapViewer {
    /// A client of this agent.
    Client(ConnectionId),
    /// The head of the run, for a client of its; by its number there.
    Head(u64),
}

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstancePhase {
    /// Not started yet.
    Waiting,
    /// Its process runs and has not registered.
    Started,
    /// It takes part.
    Running,
    /// It has said that it is done; its process still runs.
    Finished,
    /// Its process is gone.
    Gone(Exit),
}

/// Who is calling, as the kernel knows it.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub user: u32,
    pub pid: u32,
}
