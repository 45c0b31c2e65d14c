//! The actions that the agent's logic (`core`) asks its driver to carry out, and the types that these
//! actions use.

use ligament_catalogue::Fault;
use ligament_wire::control::{Notice, Question, Tap};
pub use ligament_wire::domains::{AgentReport, InstancePhase};
use ligament_wire::domains::{RunOutcome, TapPort};
use ligament_wire::steering::Steer;
use ligament_wire::{EndpointId, RankId};

/// Number of a connection to the agent's socket.
pub type ConnectionId = u64;

/// A piece of shared memory. The name of a variant says what the memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryRegion {
    Board,
    Area(EndpointId),
    Outbox(EndpointId),
    /// The slab with this number, which belongs to this endpoint.
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

/// An order that the host (the head, or the agent's own process in another domain) gives to its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrder {
    /// Sets the budget of a channel.
    Budget { channel: u32, bytes: u64 },
    /// Asks these ranks to check their input once more, and to write the number of this round on their
    /// status pages.
    Look { round: u64, ranks: Vec<RankId> },
    /// Tells the agent that an instance has registered in another domain. `slots` has an entry for each of the
    /// instance's ports: true if the port has slots.
    Slots { rank: RankId, slots: Vec<bool> },
    /// Ends the run because it cannot go on. The reason is a whole sentence.
    Fail(Fault),
    /// Tells the agent that the run ends, or has ended, in another domain with this outcome.
    End(RunOutcome),
    /// Ends the grace period now: the agent kills the processes that still run.
    Hurry,
    /// Tells the agent that the run is over in all other domains.
    Release,
    /// Passes a steering request to these ranks.
    Steer { ranks: Vec<RankId>, steer: Steer },
}

/// An action that the driver must carry out.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Answers a request that arrived on the connection `link`.
    Answer { link: ConnectionId, notice: Notice, memory: Vec<MemoryRegion> },
    /// Sends a notice that the endpoint did not request, and rings the endpoint's doorbell.
    Tell { link: ConnectionId, endpoint: EndpointId, notice: Notice, memory: Vec<MemoryRegion> },
    /// Checks whether an endpoint that was sent a halt has ever asked the agent if it may go on. If it has
    /// never asked, the driver calls `AgentCore::never_steered`.
    AskWhetherSteers { link: ConnectionId, endpoint: EndpointId, change: u64 },
    /// Rings an endpoint's doorbell again, because a notice that could not be sent at once has been sent
    /// now.
    Call { endpoint: EndpointId },
    /// Makes a slab and answers with `Granted`. If the slab cannot be made, the driver calls
    /// `AgentCore::slab_refused`.
    MakeSlab { link: ConnectionId, endpoint: EndpointId, slab: u32, bytes: u64 },
    /// Makes the box of a tap. The driver sends the box to the viewer and, with `Tap`, to the endpoint
    /// whose connection is `to`. If the box cannot be made, the driver calls `AgentCore::tap_refused`.
    MakeTap { viewer: TapViewer, to: ConnectionId, endpoint: EndpointId, tap: Box<Tap> },
    /// Tells the head that the tap of one of its clients has ended, or could not begin, and why. If the
    /// client waits for a value and that value is already in the box, the driver sends the value first.
    EndTap { ticket: u64, why: String },
    /// Asks the agent of another domain to show this port to the client at `link`. The driver calls
    /// `AgentCore::tap_elsewhere_is_over` when that tap ends.
    TapElsewhere { link: ConnectionId, port: Box<TapPort> },
    /// Ends a tap of `TapElsewhere`, because its client has disconnected.
    UntapElsewhere { link: ConnectionId },
    /// Releases the memory of a slab.
    DropSlab { endpoint: EndpointId, slab: u32 },
    /// Releases all memory of an endpoint.
    DropEndpoint { endpoint: EndpointId },
    /// Closes a connection after all queued bytes are sent.
    Close { link: ConnectionId },
    /// Starts an endpoint's process. If the process cannot be started, the driver calls
    /// `AgentCore::not_started`.
    Start { endpoint: EndpointId },
    /// Watches a process that the agent did not start: a person started it, or the command of another rank
    /// did.
    Watch { endpoint: EndpointId, pid: u32 },
    /// Watches the process that registered for a rank. The process that was started for the rank is watched
    /// as well.
    WatchSpeaker { endpoint: EndpointId, pid: u32 },
    /// Sends a signal to an endpoint's processes.
    SignalProcess { endpoint: EndpointId, push: ProcessSignal },
    /// Counts an endpoint as awake on the board, because its process is being started.
    Awake { endpoint: EndpointId },
    /// Counts an endpoint as asleep on the board, because its process has ended.
    Asleep { endpoint: EndpointId },
    /// Tells the carrier to deliver everything that the instances of this domain have sent. The driver
    /// calls `AgentCore::detached` when the carrier has delivered it.
    Detach,
    /// Starts the grace period in which processes may end by themselves. The driver calls
    /// `AgentCore::grace_is_over` at its end.
    StartGraceTimer,
    /// Starts the period in which a failed endpoint must end. The driver calls
    /// `AgentCore::linger_time_is_over` if the process still exists at the end of that period.
    StartLingerTimer { endpoint: EndpointId },
    /// Passes a client's question to the host, which answers it.
    Ask { link: ConnectionId, question: Question },
    /// Passes an event to the host, which writes it to the log and the record.
    Report(AgentReport),
    /// Says that the run is over. No action follows.
    Over,
}

/// The process that gets the values of a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapViewer {
    /// A client of this agent.
    Client(ConnectionId),
    /// The head of the run, for one of the head's clients. The head has chosen the number.
    Head(u64),
}

/// User and process at the other end of a connection, as the kernel reports them (SO_PEERCRED).
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub user: u32,
    pub pid: u32,
}
