//! The actions that the agent's logic asks its driver to carry out, and the types that they use.

use ligament_catalogue::Fault;
use ligament_wire::control::{Notice, Question, Tap};
pub use ligament_wire::domains::{AgentReport, InstancePhase};
use ligament_wire::domains::{RunOutcome, TapPort};
use ligament_wire::steering::Steer;
use ligament_wire::{EndpointId, RankId};

/// A connection to the agent's socket.
pub type ConnectionId = u64;

/// A piece of shared memory, named by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryRegion {
    Board,
    Area(EndpointId),
    Outbox(EndpointId),
    /// The slab of this number that belongs to this endpoint.
    Slab(EndpointId, u32),
}

/// A signal for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Asks the process to end (SIGTERM).
    Terminate,
    /// Ends the process (SIGKILL).
    Kill,
}

/// An order of the host to its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrder {
    /// Sets the budget of a channel.
    Budget { channel: u32, bytes: u64 },
    /// Asks these ranks to check their input once more, and to note this round on their status pages.
    Look { round: u64, ranks: Vec<RankId> },
    /// An instance has registered in another domain; for each of its ports, whether it has slots there.
    Slots { rank: RankId, slots: Vec<bool> },
    /// The run cannot go on. The reason is a whole sentence.
    Fail(Fault),
    /// The run ends, or has ended, in another domain with this outcome.
    End(RunOutcome),
    /// Ends the grace period now: processes that still run are killed.
    Hurry,
    /// The run is over in all other domains.
    Release,
    /// Passes a steering request to these ranks.
    Steer { ranks: Vec<RankId>, steer: Steer },
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Answers a request.
    Answer { link: ConnectionId, notice: Notice, memory: Vec<MemoryRegion> },
    /// Sends a notice that was not requested, and rings the endpoint's doorbell.
    Tell { link: ConnectionId, endpoint: EndpointId, notice: Notice, memory: Vec<MemoryRegion> },
    /// The endpoint was sent this halt. If it has never asked whether it may go on, the driver calls
    /// `AgentCore::never_steered`.
    AskWhetherSteers { link: ConnectionId, endpoint: EndpointId, change: u64 },
    /// Rings an endpoint's doorbell again: its notice could not be sent at once, and has been sent now.
    Call { endpoint: EndpointId },
    /// Makes a slab and answers with `Granted`. If it cannot be made, the driver calls
    /// `AgentCore::slab_refused`.
    MakeSlab { link: ConnectionId, endpoint: EndpointId, slab: u32, bytes: u64 },
    /// Makes the box of a tap and sends it to the viewer and, with `Tap`, to the endpoint at `to`. If the box
    /// cannot be made, the driver calls `AgentCore::tap_refused`.
    MakeTap { viewer: TapViewer, to: ConnectionId, endpoint: EndpointId, tap: Box<Tap> },
    /// Tells the head that this tap of one of its clients has ended, or never began, and why. A value that the
    /// client awaits and that is already in the box is sent first.
    EndTap { ticket: u64, why: String },
    /// Asks the agent of another domain to show this port to the client at `link`. The driver calls
    /// `AgentCore::tap_elsewhere_is_over` when that ends.
    TapElsewhere { link: ConnectionId, port: Box<TapPort> },
    /// The client has disconnected.
    UntapElsewhere { link: ConnectionId },
    /// Releases a slab.
    DropSlab { endpoint: EndpointId, slab: u32 },
    /// Releases all memory of an endpoint.
    DropEndpoint { endpoint: EndpointId },
    /// Closes a connection once its queue is sent.
    Close { link: ConnectionId },
    /// Starts an endpoint's process. If it cannot be started, the driver calls `AgentCore::not_started`.
    Start { endpoint: EndpointId },
    /// Watches a process that was started by hand, or by the command of another rank.
    Watch { endpoint: EndpointId, pid: u32 },
    /// Watches the process that registered for a rank, in addition to the process that was started for the
    /// rank.
    WatchSpeaker { endpoint: EndpointId, pid: u32 },
    /// Sends a signal to an endpoint's processes.
    SignalProcess { endpoint: EndpointId, push: ProcessSignal },
    /// Counts an endpoint as awake, because its process is being started.
    Awake { endpoint: EndpointId },
    /// Counts an endpoint as asleep, because its process has ended.
    Asleep { endpoint: EndpointId },
    /// Tells the carrier to deliver everything that instances here have sent. The driver calls
    /// `AgentCore::detached` when it has.
    Detach,
    /// Starts the grace period for a clean end. The driver calls `AgentCore::grace_is_over` when it has passed.
    StartGraceTimer,
    /// Starts the time that a failed endpoint has to end. The driver calls `AgentCore::linger_time_is_over` if
    /// the process is still there after it.
    StartLingerTimer { endpoint: EndpointId },
    /// Passes a client's question to the host.
    Ask { link: ConnectionId, question: Question },
    /// Passes an event to the host, for the log and the record.
    Report(AgentReport),
    /// The run is over.
    Over,
}

/// The viewer of a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapViewer {
    /// A client of this agent.
    Client(ConnectionId),
    /// The head of the run, on behalf of a client there; the number is the head's.
    Head(u64),
}

/// The process at the other end of a connection, as the kernel reports it (SO_PEERCRED).
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub user: u32,
    pub pid: u32,
}
