//! The protocol between an endpoint and its agent, over the agent's socket. Its frames are small and rare,
//! and no message of a simulation passes here. A frame is `[u32 length][u32 descriptors][CBOR]`; file
//! descriptors travel beside it. Fields are numbered, so that later versions may add some. Both ends check
//! `PROTOCOL` first.

use crate::number::{EndpointId, RankId};
use crate::peek::Sight;
use crate::steering::{ModelTime, ScheduledChange, Steer, Steers};
use crate::tap;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};
use std::time::Duration;

/// Version of this protocol and of the layout of the memory that the agent hands out. The agent refuses any
/// other version with a text that names both.
pub const PROTOCOL: u32 = 8;
/// Maximum length of a frame that either side accepts, in bytes.
pub const MAX_FRAME: usize = 256 << 20;

/// Environment variable with the agent's socket. `@name` is an abstract Unix socket, anything else is a path.
pub const ENV_AGENT: &str = "LIGAMENT_AGENT";
/// Environment variable with the instance's name, such as `micro[3]`.
pub const ENV_INSTANCE: &str = "LIGAMENT_INSTANCE";
/// Environment variable with the instance's token. The library removes it, so that child processes do not
/// inherit it.
pub const ENV_TOKEN: &str = "LIGAMENT_TOKEN";
/// Environment variable with the number of MPI processes of the instance, if the instance was started with
/// MPI and rank 0 speaks for all of them.
pub const ENV_RANKS: &str = "LIGAMENT_RANKS";

/// Beginning of the value of `LIGAMENT_AGENT` in a process that is replayed. A directory with recordings
/// follows it.
pub const REPLAY_AGENT: &str = "replay:";
/// Environment variable with the directory for the results of a replay.
pub const ENV_REPLAY_RESULTS: &str = "LIGAMENT_REPLAY_RESULTS";

/// All variables that tell a process which instance it is. Each instance gets its own values. A program that
/// an instance starts gets none of them.
pub const ENV_IDENTITY: [&str; 4] = [ENV_AGENT, ENV_INSTANCE, ENV_TOKEN, ENV_RANKS];

/// A port as the code declares it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PortDeclaration {
    #[n(0)]
    pub name: String,
    /// The operator's yMMSL name: `f_init`, `o_i`, `s`, `o_f`.
    #[n(1)]
    pub operator: String,
    /// True if the port is a vector port (declared as `name[]`).
    #[n(2)]
    pub vector: bool,
}

/// A request from an endpoint, or from a client such as `ligament status`, to the agent.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum Request {
    /// The first request: it names the caller. Answered by `Welcome` or `Refused`.
    #[n(0)]
    Hello {
        #[n(0)]
        protocol: u32,
        #[n(1)]
        instance: String,
        #[n(2)]
        token: String,
        #[n(3)]
        pid: u32,
        /// The ports that the code declares. `None` means the ports of the model.
        #[n(4)]
        ports: Option<Vec<PortDeclaration>>,
        #[n(5)]
        language: String,
        /// True if the process can run all instances of its program (`run_light`).
        #[n(6)]
        light: bool,
    },
    /// The caller has made a ring to endpoint `to` in its outbox. Answered by `Opened`.
    #[n(1)]
    OpenRing {
        #[n(0)]
        to: EndpointId,
        #[n(1)]
        offset: u64,
        #[n(2)]
        slots: u32,
    },
    /// The caller asks for memory for messages. Answered by `Granted` or `Denied`.
    #[n(2)]
    NewSlab {
        #[n(0)]
        bytes: u64,
    },
    /// The caller gives back one of its slabs.
    #[n(3)]
    DropSlab {
        #[n(0)]
        slab: u32,
    },
    /// The caller asks for the memory of another endpoint's slab. Answered by `Slab`.
    #[n(4)]
    FetchSlab {
        #[n(0)]
        of: EndpointId,
        #[n(1)]
        slab: u32,
    },
    /// A line for the run's log. Levels: 0 debug, 1 info, 2 warning, 3 error, 4 critical.
    #[n(5)]
    Log {
        #[n(0)]
        level: u8,
        #[n(1)]
        text: String,
        /// The instance that logs the line, by its number in the run, if the process runs several instances.
        #[n(2)]
        of: Option<RankId>,
    },
    /// The caller is done: it has ended all its conduits.
    #[n(6)]
    Finished,
    /// The caller cannot go on (`error_shutdown`).
    #[n(7)]
    Failed {
        #[n(0)]
        why: String,
        /// The instance that failed, by its number in the run, if the process runs several instances.
        #[n(1)]
        of: Option<RankId>,
    },
    /// A client's question about the run. `token` is the token of the run. Answered by `Answer`.
    #[n(8)]
    Client {
        #[n(0)]
        protocol: u32,
        #[n(1)]
        token: String,
        #[n(2)]
        question: Question,
    },
    /// The settings and channels that the caller has used. It is sent right before `Finished`, if `Welcome`
    /// says that the agent understands it.
    #[n(9)]
    Used {
        /// The names of the settings that the code has read. `*` means that the code has looked through all
        /// settings.
        #[n(0)]
        asked: Vec<String>,
        /// Number of messages sent on each channel. A channel has its number in the run.
        #[n(1)]
        sent: Vec<(u32, u64)>,
        /// Number of messages that the code has received on each channel. The end of the conduit counts as
        /// one.
        #[n(2)]
        received: Vec<(u32, u64)>,
    },
    /// The caller's answer to a change that `Notice::Steer` announced.
    #[n(10)]
    Steers {
        #[n(0)]
        change: u64,
        #[n(1)]
        answer: Steers,
    },
    /// Declares that one of the code's settings can be steered.
    #[n(11)]
    Steerable {
        #[n(0)]
        setting: SteerableSetting,
        /// The instance that declares it, by its number in the run, if the process runs several instances.
        #[n(1)]
        of: Option<RankId>,
    },
    /// The caller sends values on a port that it did not declare, and to which nothing is joined: a field of a
    /// grid. Only taps show them.
    #[n(12)]
    Publishes {
        #[n(0)]
        port: String,
        /// The instance that sends, by its number in the run, if the process runs several instances.
        #[n(1)]
        of: Option<RankId>,
    },
    /// The outcome of the caller's file for the checkpoint at a moment (model time, s).
    #[n(13)]
    Checkpoint {
        #[n(0)]
        moment: ModelTime,
        #[n(1)]
        outcome: CheckpointOutcome,
    },
}

/// The outcome of an instance's file for a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum CheckpointOutcome {
    /// It is whole, and in its place.
    #[n(0)]
    Saved,
    /// There is none: a sender saves nothing at this moment, or too many checkpoints are not whole.
    #[n(1)]
    Void,
    /// It could not be written.
    #[n(2)]
    Failed {
        #[n(0)]
        why: String,
    },
    /// The state of this instance can be saved at no moment. The instance says so once, when it registers.
    #[n(3)]
    Unsavable {
        #[n(0)]
        why: String,
    },
}

/// A setting that can be steered, as a code declares it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SteerableSetting {
    /// The name by which the code reads the setting.
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub min: Option<ModelTime>,
    #[n(2)]
    pub max: Option<ModelTime>,
    #[n(3)]
    pub unit: String,
    /// True if the code reads the setting once in each pass of its reuse loop, and not in each step.
    #[n(4)]
    pub restart: bool,
    /// The name of the type that the code reads, as in yMMSL. `None` if it is the type of the model's value.
    #[n(5)]
    pub kind: Option<String>,
}

/// A change that a client asks for at a model time.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ChangeRequest {
    /// Settings, each as `name=value`.
    #[n(0)]
    Set(#[n(0)] Vec<String>),
    /// All instances pause.
    #[n(1)]
    Pause,
    /// The instances that are behind in model time make one step, and pause again.
    #[n(2)]
    Step,
    /// The run continues until `at`, and pauses there.
    #[n(3)]
    Until,
    /// The run continues.
    #[n(4)]
    Resume,
    /// All instances pause, and the run ends.
    #[n(5)]
    Stop,
    /// Drops a change that is not committed yet: this change, or the change that the ranks are agreeing on.
    #[n(6)]
    Withdraw(#[n(0)] Option<u64>),
    /// Changes nothing. The answer lists the settings that can be steered, and past changes.
    #[n(7)]
    Nothing,
    /// All instances save their state for a checkpoint. With `wait`, the answer comes when it is whole;
    /// otherwise when all instances have accepted its model time.
    #[n(8)]
    Checkpoint {
        #[n(0)]
        wait: bool,
    },
}

/// A client's request to steer a run. It goes from the command or the page to the head. `Question::Steer` is
/// its form in a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct SteerRequest {
    /// The name of the person who sends the request, for the journal.
    pub who: String,
    pub wanted: ChangeRequest,
    /// The model time of the change, in s. `None` means as soon as all ranks can make the change.
    pub at: Option<f64>,
    /// Maximum time that the ranks may take to agree.
    pub patience: Option<Duration>,
    /// True if the head only checks whether the request is possible.
    pub dry: bool,
}

impl SteerRequest {
    /// Returns the request in a question to steer, or `None` for other questions.
    pub fn of(question: Question) -> Option<SteerRequest> {
        let Question::Steer { who, wanted, at, patience, dry } = question else { return None };
        let patience = patience.map(|ms| Duration::from_millis(u64::from(ms)));
        Some(SteerRequest { who, wanted, at: at.map(|at| at.0), patience, dry })
    }
}

impl From<SteerRequest> for Question {
    fn from(request: SteerRequest) -> Question {
        let SteerRequest { who, wanted, at, patience, dry } = request;
        let patience = patience.map(|patience| u32::try_from(patience.as_millis()).unwrap_or(u32::MAX));
        Question::Steer { who, wanted, at: at.map(ModelTime), patience, dry }
    }
}

/// A question of a client about a run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Question {
    /// Asks for the status: the position of each instance, and the instances for which it waits. Answered as
    /// JSON.
    #[n(0)]
    Status,
    /// Ends the run.
    #[n(1)]
    Stop,
    /// Updates the timeline in the run directory.
    #[n(3)]
    Timeline,
    /// Asks for the environment of an instance that is started by hand. Answered as JSON.
    #[n(2)]
    Join {
        #[n(0)]
        instance: String,
    },
    /// Asks for the content of a path below the directory of an instance's process, in any domain. For a
    /// file, the answer has the bytes from `offset` on, at most `most`. Answered by `Peeked`.
    #[n(4)]
    Peek {
        #[n(0)]
        instance: String,
        #[n(1)]
        path: String,
        #[n(2)]
        offset: u64,
        #[n(3)]
        most: u32,
    },
    /// Asks for the state of the run, as JSON. A repeated question on the same connection is answered with
    /// the changes since the last answer, but not sooner than `every` ms after it. A client that asks rarely
    /// gets the current state only, and no intermediate ones.
    #[n(5)]
    Watch {
        #[n(0)]
        every: u32,
    },
    /// Asks for the latest values of a sending port, until this connection closes. Answered by `Tapped`.
    #[n(6)]
    Tap {
        #[n(0)]
        instance: String,
        #[n(1)]
        port: String,
        /// The slot of a vector port. `None` means any slot on which a message is sent.
        #[n(2)]
        slot: Option<u32>,
        #[n(3)]
        wanted: tap::TapSelection,
        /// Maximum size of a value for which there must be room, in bytes.
        #[n(4)]
        room: u64,
        /// The number of the rank in its instance, from 0.
        #[n(5)]
        rank: u32,
    },
    /// Asks to change settings, to pause or to continue at a model time. Answered as JSON when the ranks have
    /// agreed or refused.
    #[n(7)]
    Steer {
        /// The name of the person who sends the request, for the journal.
        #[n(0)]
        who: String,
        #[n(1)]
        wanted: ChangeRequest,
        /// The model time of the change. `None` means as soon as all ranks can make the change.
        #[n(2)]
        at: Option<ModelTime>,
        /// Maximum time that the ranks may take to agree, in ms.
        #[n(3)]
        patience: Option<u32>,
        /// True if the head only checks whether the request is possible.
        #[n(4)]
        dry: bool,
    },
}

/// A notice from the agent to an endpoint or a client.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum Notice {
    /// Accepts the endpoint, with all data that it needs. Descriptors: board, area, outbox.
    #[n(0)]
    Welcome(#[n(0)] Box<Welcome>),
    /// Refuses the endpoint: it cannot take part.
    #[n(1)]
    Refused {
        #[n(0)]
        why: String,
    },
    /// The reader of the ring knows the ring now. Descriptor: the reader's area.
    #[n(2)]
    Opened {
        #[n(0)]
        to: EndpointId,
        /// The inbox in the reader's area that belongs to this ring.
        #[n(1)]
        inbox: u32,
        #[n(2)]
        channels: u32,
        #[n(3)]
        inboxes: u32,
    },
    /// Grants a slab. Descriptor: its memory.
    #[n(3)]
    Granted {
        #[n(0)]
        slab: u32,
    },
    /// Denies a slab.
    #[n(4)]
    Denied {
        #[n(0)]
        why: String,
    },
    /// The slab of another endpoint. Descriptor: its memory, or none if the slab is gone.
    #[n(5)]
    Slab {
        #[n(0)]
        of: EndpointId,
        #[n(1)]
        slab: u32,
        #[n(2)]
        bytes: u64,
    },
    /// Another endpoint has opened a ring to the receiver of this notice. Descriptor: that endpoint's outbox.
    #[n(6)]
    RingOpened {
        #[n(0)]
        from: EndpointId,
        #[n(1)]
        offset: u64,
        #[n(2)]
        slots: u32,
        #[n(3)]
        inbox: u32,
    },
    /// Another endpoint has given back a slab. The receiver of this notice must unmap it when no view needs
    /// it.
    #[n(7)]
    SlabDropped {
        #[n(0)]
        of: EndpointId,
        #[n(1)]
        slab: u32,
    },
    /// The budget of one of the receiver's outgoing channels is now `bytes` bytes.
    #[n(8)]
    Budget {
        #[n(0)]
        channel: u32,
        #[n(1)]
        bytes: u64,
    },
    /// The run ends.
    #[n(9)]
    RunEnds {
        #[n(0)]
        why: String,
    },
    /// The process of an instance to which the receiver of this notice sends has exited without an error. All
    /// messages to that instance are dropped from now on.
    #[n(11)]
    PeerEnded {
        #[n(0)]
        endpoint: EndpointId,
    },
    /// An endpoint that waits must check once more for the message that it waits for. If the message has not
    /// arrived, the endpoint writes this round to its status page.
    #[n(12)]
    Look {
        #[n(0)]
        round: u64,
    },
    /// An endpoint has ended before it was done, and the run continues without it. The receiver of this
    /// notice takes the messages that the endpoint has sent. After them, that endpoint's conduits count as
    /// ended.
    #[n(18)]
    PeerLost {
        #[n(0)]
        endpoint: EndpointId,
    },
    /// A change is due at a model time. `members` are the indices of the instances in the process that the
    /// change concerns.
    #[n(19)]
    Steer {
        #[n(0)]
        steer: Steer,
        #[n(1)]
        members: Vec<u32>,
    },
    /// The answer to a client that asked `Question::Peek`.
    #[n(13)]
    Peeked(#[n(0)] Sight),
    /// The endpoint must show the values that it sends on this port: it writes the wanted part into a box,
    /// each time that the box is free. Descriptor: the box.
    #[n(14)]
    Tap(#[n(0)] Box<Tap>),
    /// The endpoint must stop showing the port.
    #[n(15)]
    Untap {
        #[n(0)]
        tap: u32,
    },
    /// The answer to a client: the port will be shown. Descriptor: the box, with room for a value of `room`
    /// bytes.
    #[n(16)]
    Tapped {
        #[n(0)]
        room: u64,
    },
    /// The notice to a client that the port is not shown any longer.
    #[n(17)]
    TapOver {
        #[n(0)]
        why: String,
    },
    /// The answer to a client, as JSON.
    #[n(10)]
    Answer {
        #[n(0)]
        json: String,
    },
}

/// The order to an endpoint to show a port.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Tap {
    /// The number of the tap in the domain.
    #[n(0)]
    pub tap: u32,
    /// The index in `Light::members` of the instance whose port is shown; 0 in a process with one instance.
    #[n(1)]
    pub member: u32,
    #[n(2)]
    pub port: String,
    /// The slot of a vector port. `None` means any slot on which a message is sent.
    #[n(3)]
    pub slot: Option<u32>,
    #[n(4)]
    pub wanted: tap::TapSelection,
    /// Maximum size of a value in the box, in bytes.
    #[n(5)]
    pub room: u64,
}

/// A port as the model declares it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PortInfo {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub operator: String,
    #[n(2)]
    pub vector: bool,
    /// Number of slots of a vector port whose length is known.
    #[n(3)]
    pub length: Option<u64>,
    /// Shape of the whole array, if the port takes part in an exchange of one. A receiving port then has a
    /// slot for each rank of the sender, which the code does not see.
    #[n(4)]
    pub array: Option<Vec<u64>>,
    /// The use of the instance's clock, if the port carries events or samples. A receiving port then has a slot
    /// for each rank of the sender, which the code does not see.
    #[n(5)]
    pub clock: Option<PortClockInfo>,
}

/// The use of an instance's clock by a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PortClockInfo {
    /// Number of ids, if the port carries events; `None` if it carries samples.
    #[n(0)]
    pub ids: Option<u64>,
    /// Model time between two exchanges of the sender, in nanoseconds.
    #[n(1)]
    pub interval: u64,
    /// For a receiving port: the latency of events, or the delay of a signal, in nanoseconds.
    #[n(2)]
    pub latency: u64,
    /// True if the value of a signal between two samples is that of the nearest one.
    #[n(3)]
    pub nearest: bool,
}

/// The grid of an instance, whose blocks are instances or ranks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GridInfo {
    /// Number of points along each axis.
    #[n(0)]
    pub shape: Vec<u64>,
    /// Number of blocks along each axis.
    #[n(1)]
    pub blocks: Vec<u32>,
    /// The edges along each axis: open, periodic or mirrored.
    #[n(2)]
    pub edges: Vec<GridEdges>,
    /// The block of the instance, or of its first rank.
    #[n(3)]
    pub block: u32,
}

/// The edges of a grid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum GridEdges {
    #[n(0)]
    Open,
    #[n(1)]
    Periodic,
    #[n(2)]
    Mirrored,
}

/// The clock of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ClockInfo {
    /// The step of the clock, in nanoseconds.
    #[n(0)]
    pub tick: u64,
    /// The unit of the model's times, in nanoseconds.
    #[n(1)]
    pub unit: u64,
}

/// One end of a channel. A channel joins one slot of a sending port to one slot of a receiving port.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ChannelInfo {
    /// The channel's number in the run.
    #[n(0)]
    pub id: u32,
    /// The index of the port among the endpoint's ports.
    #[n(1)]
    pub port: u32,
    /// The slot of a vector port.
    #[n(2)]
    pub slot: Option<u32>,
    /// The endpoint at the other end.
    #[n(3)]
    pub peer: EndpointId,
    /// The index of the channel among the receiver's incoming channels. The receiver returns credit in this
    /// place.
    #[n(4)]
    pub credit: u32,
    /// Maximum number of bytes that may be under way.
    #[n(5)]
    pub budget: u64,
    /// The port at the other end, such as `micro[3].init`, for texts that people read.
    #[n(6)]
    pub peer_port: String,
    /// Maximum size of a message, in bytes. `None` means that only memory limits it.
    #[n(7)]
    pub limit: Option<u64>,
    /// The index in `Light::members` of the instance at this end; 0 in a process with one instance.
    #[n(8)]
    pub member: u32,
    /// The steps of the channel between messages and iterations, if it has any.
    #[n(9)]
    pub steps: Option<ChannelSteps>,
    /// The index in `Welcome::filters` of the filters that the channel's messages pass through.
    #[n(10)]
    pub filters: Option<u32>,
    /// True if the run continues when the instance at the other end ends before it is done.
    #[n(11)]
    pub may_fail: Option<bool>,
    /// True if the receiver goes by a clock, and needs the marks at the ends of the sender's passes.
    #[n(12)]
    pub marks: Option<bool>,
    /// The number of the channel whose receiver sends back the ids that it wants, on this channel.
    #[n(13)]
    pub wants_of: Option<u32>,
}

/// The steps of a channel between messages and iterations: `last`, `repeat` and `pad` of yMMSL, and
/// milestones. Most channels have no such steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct ChannelSteps {
    /// Number of elements in the path of the iteration in which a message is sent.
    #[n(0)]
    pub depth: u8,
    /// Number of iterations, from the innermost on, of which only the last message passes.
    #[n(1)]
    pub last: u8,
    /// Number of iterations, from the innermost on, in which the receiver repeats a message.
    #[n(2)]
    pub repeats: u8,
    /// The repeated iterations in which the message arrives only once, and is empty in all later passes. Each
    /// iteration has one bit; the lowest bit is the outermost iteration.
    #[n(3)]
    pub pads: u32,
    /// True if the sender announces the end of iterations.
    #[n(4)]
    pub milestones: bool,
}

impl ChannelSteps {
    /// Maximum number of filters of one kind on a channel, and maximum depth of nesting. More are refused.
    pub const MAX_FILTERS_OF_A_KIND: usize = 32;

    /// Returns the depth of nested iterations in which a message travels, after `last`.
    pub fn reduced(&self) -> usize {
        usize::from(self.depth.saturating_sub(self.last))
    }

    /// Returns the depth of nested iterations in which the receiver gets a message: what `last` has left, and
    /// what `repeat` adds.
    pub fn received(&self) -> usize {
        self.reduced() + usize::from(self.repeats)
    }

    /// Returns true if the message received in this iteration is empty. This is so in every pass but the
    /// first of an iteration in which the message arrives only once.
    pub fn is_padding(&self, iteration: &[u64]) -> bool {
        let repeats = usize::from(self.repeats).min(iteration.len());
        let repeated = &iteration[iteration.len() - repeats..];
        repeated.iter().enumerate().any(|(i, &number)| {
            number > 0 && i < ChannelSteps::MAX_FILTERS_OF_A_KIND && self.pads & 1 << i != 0
        })
    }
}

/// The data for a process that runs several instances.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Light {
    #[n(0)]
    pub members: Vec<LightMember>,
    /// Lists of ports of the members, each different list once.
    #[n(1)]
    pub ports: Vec<Vec<PortInfo>>,
    /// The channels between the members.
    #[n(2)]
    pub channels: Vec<InnerChannel>,
}

/// One of the instances that a process runs together.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LightMember {
    /// The number of the instance in the run.
    #[n(0)]
    pub number: RankId,
    /// The name of the instance, such as `micro[3]`.
    #[n(1)]
    pub name: String,
    /// The index in `Light::ports` of the member's list of ports.
    #[n(2)]
    pub ports: u32,
    /// The lowest level of the member's lines that are written to the run's log.
    #[n(3)]
    pub log_level: u8,
}

/// A channel between two instances of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct InnerChannel {
    /// The channel's number in the run.
    #[n(0)]
    pub id: u32,
    #[n(1)]
    pub from: InnerEnd,
    #[n(2)]
    pub to: InnerEnd,
    /// Maximum number of bytes that may be under way.
    #[n(3)]
    pub budget: u64,
    /// Maximum size of a message, in bytes. `None` means that only memory limits it.
    #[n(4)]
    pub limit: Option<u64>,
    /// The steps of the channel between messages and iterations, if it has any.
    #[n(5)]
    pub steps: Option<ChannelSteps>,
    /// The index in `Welcome::filters` of the filters that the channel's messages pass through.
    #[n(6)]
    pub filters: Option<u32>,
}

/// One end of an inner channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct InnerEnd {
    /// The index of the instance among the members.
    #[n(0)]
    pub member: u32,
    /// The index of the port among the ports of the instance.
    #[n(1)]
    pub port: u32,
    /// The slot of a vector port.
    #[n(2)]
    pub slot: Option<u32>,
}

/// The data for an endpoint that registers with its agent.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Welcome {
    /// The number of the endpoint in the domain. It is also the endpoint's line on the board.
    #[n(0)]
    pub endpoint: EndpointId,
    /// Number of incoming channels in the endpoint's area.
    #[n(1)]
    pub channels: u32,
    /// Number of inboxes in the endpoint's area.
    #[n(2)]
    pub inboxes: u32,
    #[n(3)]
    pub ports: Vec<PortInfo>,
    #[n(4)]
    pub sends: Vec<ChannelInfo>,
    #[n(5)]
    pub receives: Vec<ChannelInfo>,
    /// The body of a settings value, with every setting of the run by its full name.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub settings: Vec<u8>,
    /// Maximum number of bytes of other endpoints' memory that live views may hold. Above it, `receive`
    /// copies.
    #[n(7)]
    pub pinned_limit: u64,
    /// The lowest level of lines that are written to the run's log.
    #[n(8)]
    pub log_level: u8,
    #[n(9)]
    pub run: String,
    /// The data for a process that runs several instances. `ports` is empty then.
    #[n(10)]
    pub light: Option<Light>,
    /// True if the agent understands `Request::Used`. Agents of earlier versions leave this field out.
    #[n(11)]
    pub hears_use: Option<bool>,
    /// The rank of the endpoint, if the ranks of its instance speak for themselves.
    #[n(12)]
    pub rank: Option<Rank>,
    /// The filters of conduits as in a model file, each list once. `None` if no conduit has filters.
    #[n(13)]
    pub filters: Option<Vec<String>>,
    /// The changes at model times that are known already. Each has the indices of the instances in the
    /// process that it concerns. `None` if there are no changes.
    #[n(14)]
    pub schedule: Option<Vec<(ScheduledChange, Vec<u32>)>>,
    /// The clock of the instance, if it has one.
    #[n(15)]
    pub clock: Option<ClockInfo>,
    /// The grid of which the endpoint is a block, if it is one.
    #[n(16)]
    pub grid: Option<GridInfo>,
    /// Checkpoints of the run, if it saves any or resumes from one.
    #[n(17)]
    pub checkpoints: Option<CheckpointPlan>,
    /// The directory of recordings, if the calls of the instance are recorded.
    #[n(18)]
    pub recording: Option<String>,
}

/// The checkpoints that an instance saves, and the one from which it resumes.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CheckpointPlan {
    /// Directory for the files of checkpoints that are not whole yet.
    #[n(0)]
    pub directory: String,
    /// The moments of checkpoints.
    #[n(1)]
    pub moments: Vec<MomentRule>,
    /// True if the state is also saved at the end.
    #[n(2)]
    pub at_end: bool,
    /// The file from which the instance resumes.
    #[n(3)]
    pub resume: Option<String>,
    /// True if an instance that cannot be saved must not take part in the run. Otherwise somebody may ask for
    /// checkpoints while the run goes on, and is refused if there is such an instance.
    #[n(4)]
    pub required: bool,
}

/// A rule for moments at which the state is saved: model times, s.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum MomentRule {
    /// These moments.
    #[n(0)]
    At(#[n(0)] Vec<ModelTime>),
    /// `start`, `start + every`, … up to and including `stop`. Without `start`, all multiples of `every`.
    #[n(1)]
    Range {
        #[n(0)]
        start: Option<ModelTime>,
        #[n(1)]
        stop: Option<ModelTime>,
        #[n(2)]
        every: ModelTime,
    },
}

/// One of the ranks of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Rank {
    /// The number of the rank in its instance, from 0.
    #[n(0)]
    pub number: u32,
    /// Number of ranks of the instance.
    #[n(1)]
    pub of: u32,
}

/// Returns the bytes of a control message.
pub fn to_bytes<T: Encode<()>>(message: &T) -> Vec<u8> {
    minicbor::to_vec(message).expect("writing into a vector cannot fail")
}

/// Reads a control message. The error says what is wrong with it.
pub fn from_bytes<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Result<T, Fault> {
    minicbor::decode(bytes).map_err(|error| fault!(MALFORMED_DATA, "malformed control message: {error}"))
}
