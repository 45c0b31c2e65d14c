//! The protocol between an endpoint and its agent, over their socket: small, rare, and off the way of messages.
//! Frames are `[u32 length][u32 descriptors][CBOR]`; descriptors travel beside the frame. Fields are numbered,
//! so that later versions may add some; both ends check `PROTOCOL` first.

use crate::number::{EndpointId, RankId};
use crate::peek::Sight;
use crate::steering::{ModelTime, ScheduledChange, Steer, Steers};
use crate::tap;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};
use std::time::Duration;

/// Version of this protocol and of the layout of the memory that it hands out. The agent refuses others with a
/// message that names both.
pub const PROTOCOL: u32 = 6;
/// Longest frame that either side accepts, bytes.
pub const MAX_FRAME: usize = 256 << 20;

/// Environment: the agent's socket. `@name` is an abstract Unix socket, anything else a path.
pub const ENV_AGENT: &str = "LIGAMENT_AGENT";
/// Environment: the instance's name, such as `micro[3]`.
pub const ENV_INSTANCE: &str = "LIGAMENT_INSTANCE";
/// Environment: the instance's token; the library takes it out, so that children do not inherit it.
pub const ENV_TOKEN: &str = "LIGAMENT_TOKEN";
/// The number of MPI processes that the instance has, if it was started with MPI: rank 0 speaks for all of
/// them.
pub const ENV_RANKS: &str = "LIGAMENT_RANKS";

/// All that says which instance a process is: an instance gets its own, and what it starts gets none.
pub const ENV_IDENTITY: [&str; 4] = [ENV_AGENT, ENV_INSTANCE, ENV_TOKEN, ENV_RANKS];

/// A port as the code declares it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PortDeclaration {
    #[n(0)]
    pub name: String,
    /// The operator's yMMSL name: `f_init`, `o_i`, `s`, `o_f`.
    #[n(1)]
    pub operator: String,
    /// True if it is a vector port (declared as `name[]`).
    #[n(2)]
    pub vector: bool,
}

/// From an endpoint (or a client such as `ligament status`) to the agent.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum Request {
    /// First of all: who is calling. Answered by `Welcome` or `Refused`.
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
        /// Ports; none means: those of the model.
        #[n(4)]
        ports: Option<Vec<PortDeclaration>>,
        #[n(5)]
        language: String,
        /// True if the process can run all instances of its program (`run_light`).
        #[n(6)]
        light: bool,
    },
    /// There is a ring to endpoint `to` in my outbox. Answered by `Opened`.
    #[n(1)]
    OpenRing {
        #[n(0)]
        to: EndpointId,
        #[n(1)]
        offset: u64,
        #[n(2)]
        slots: u32,
    },
    /// Memory for messages, please. Answered by `Granted` or `Denied`.
    #[n(2)]
    NewSlab {
        #[n(0)]
        bytes: u64,
    },
    /// I let go of a slab of mine.
    #[n(3)]
    DropSlab {
        #[n(0)]
        slab: u32,
    },
    /// The memory of another endpoint's slab. Answered by `Slab`.
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
        /// Of one of the instances that a process runs together, by its number in the run.
        #[n(2)]
        of: Option<RankId>,
    },
    /// I am done; all my conduits have been ended.
    #[n(6)]
    Finished,
    /// I cannot go on (`error_shutdown`).
    #[n(7)]
    Failed {
        #[n(0)]
        why: String,
        /// Which of the instances that a process runs together, by its number in the run.
        #[n(1)]
        of: Option<RankId>,
    },
    /// A client's question about the run; `token` is the run's. Answered by `Answer`.
    #[n(8)]
    Client {
        #[n(0)]
        protocol: u32,
        #[n(1)]
        token: String,
        #[n(2)]
        question: Question,
    },
    /// The requested settings that I passed on, right before `Finished`, where `Welcome` says that they are
    /// wanted.
    #[n(9)]
    Used {
        /// The names of settings; `*` for whoever has looked through all of them.
        #[n(0)]
        asked: Vec<String>,
        /// Channels by their numbers in the run, and how many messages were sent there.
        #[n(1)]
        sent: Vec<(u32, u64)>,
        /// The same of messages that the code has received, and of the end of the conduit.
        #[n(2)]
        received: Vec<(u32, u64)>,
    },
    /// My answer to a change that `Notice::Steer` told.
    #[n(10)]
    Steers {
        #[n(0)]
        change: u64,
        #[n(1)]
        answer: Steers,
    },
    /// The code says that a setting of its can be steered.
    #[n(11)]
    Steerable {
        #[n(0)]
        setting: SteerableSetting,
        /// Of which of the instances that a process runs together, by its number in the run.
        #[n(1)]
        of: Option<RankId>,
    },
}

/// A setting that can be steered, as a code declares it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SteerableSetting {
    /// As the code asks for it.
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub min: Option<ModelTime>,
    #[n(2)]
    pub max: Option<ModelTime>,
    #[n(3)]
    pub unit: String,
    /// True if the code reads it once a pass, and not in each step.
    #[n(4)]
    pub restart: bool,
}

/// A client's request for a model time.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ChangeRequest {
    /// Settings, each as `name=value`.
    #[n(0)]
    Set(#[n(0)] Vec<String>),
    /// All stand still.
    #[n(1)]
    Pause,
    /// Instances that are behind make one step, and stand still again.
    #[n(2)]
    Step,
    /// Go on, as far as `at`.
    #[n(3)]
    Until,
    /// Go on.
    #[n(4)]
    Resume,
    /// All stand still, and the run ends.
    #[n(5)]
    Stop,
    /// A change that is not committed yet is dropped: this change, or the one that is being agreed on.
    #[n(6)]
    Withdraw(#[n(0)] Option<u64>),
    /// Nothing: what can be steered, and what was.
    #[n(7)]
    Nothing,
}

/// A client's request to steer a run, from the command or the page to the head. `Question::Steer` is its form
/// in a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct SteerRequest {
    /// The name of the person who asks, for the journal.
    pub who: String,
    pub wanted: ChangeRequest,
    /// The model time, s; `None`: as soon as all ranks can.
    pub at: Option<f64>,
    /// Limit of the time that all ranks may take to agree.
    pub patience: Option<Duration>,
    /// Only checks whether the request is possible.
    pub dry: bool,
}

impl SteerRequest {
    /// The request of a question to steer; `None` for other questions.
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

/// A question of a client.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Question {
    /// The status: where each instance is, and for whom it waits: answered as JSON.
    #[n(0)]
    Status,
    /// End the run.
    #[n(1)]
    Stop,
    /// Bring the timeline in the run directory up to date.
    #[n(3)]
    Timeline,
    /// The environment for an instance that is started by hand: answered as JSON.
    #[n(2)]
    Join {
        #[n(0)]
        instance: String,
    },
    /// The content of a path below the directory of an instance's process, in whatever domain, and of a file
    /// the bytes from `offset` on, at most `most`. Answered by `Peeked`.
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
    /// How the run stands, as JSON; asked again on the same connection, what has changed since the last answer,
    /// but no sooner after it than so many ms. Who asks rarely is told rarely, and never of what is past.
    #[n(5)]
    Watch {
        #[n(0)]
        every: u32,
    },
    /// Shows the latest value of a sending port, for as long as this connection lives: answered by `Tapped`.
    #[n(6)]
    Tap {
        #[n(0)]
        instance: String,
        #[n(1)]
        port: String,
        /// Of a vector port; none means whatever slot is sent on.
        #[n(2)]
        slot: Option<u32>,
        #[n(3)]
        wanted: tap::TapSelection,
        /// For how large a value there is to be room, bytes.
        #[n(4)]
        room: u64,
    },
    /// Change settings, halt or go on at a model time. Answered as JSON when it is agreed, or refused.
    #[n(7)]
    Steer {
        /// The name of the person who asks, for the journal.
        #[n(0)]
        who: String,
        #[n(1)]
        wanted: ChangeRequest,
        /// The model time; none: as soon as all can.
        #[n(2)]
        at: Option<ModelTime>,
        /// For how long all may take to agree, ms.
        #[n(3)]
        patience: Option<u32>,
        /// Only say whether it can be asked for.
        #[n(4)]
        dry: bool,
    },
}

/// From the agent.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum Notice {
    /// All that an endpoint has to know. Descriptors: board, area, outbox.
    #[n(0)]
    Welcome(#[n(0)] Box<Welcome>),
    /// You cannot take part.
    #[n(1)]
    Refused {
        #[n(0)]
        why: String,
    },
    /// The ring is known to its reader. Descriptor: the reader's area.
    #[n(2)]
    Opened {
        #[n(0)]
        to: EndpointId,
        /// Which inbox of the reader's area is ours.
        #[n(1)]
        inbox: u32,
        #[n(2)]
        channels: u32,
        #[n(3)]
        inboxes: u32,
    },
    /// A slab. Descriptor: its memory.
    #[n(3)]
    Granted {
        #[n(0)]
        slab: u32,
    },
    /// No slab.
    #[n(4)]
    Denied {
        #[n(0)]
        why: String,
    },
    /// Another endpoint's slab. Descriptor: its memory; none if it is gone.
    #[n(5)]
    Slab {
        #[n(0)]
        of: EndpointId,
        #[n(1)]
        slab: u32,
        #[n(2)]
        bytes: u64,
    },
    /// Another endpoint opened a ring to you. Descriptor: its outbox.
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
    /// A slab of another endpoint is given back: unmap it when no view needs it.
    #[n(7)]
    SlabDropped {
        #[n(0)]
        of: EndpointId,
        #[n(1)]
        slab: u32,
    },
    /// The budget of one of your outgoing channels is now so many bytes.
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
    /// The process of an instance that you send to has exited cleanly: what is sent to it from now on is
    /// dropped.
    #[n(11)]
    PeerEnded {
        #[n(0)]
        endpoint: EndpointId,
    },
    /// If you wait, look once more for what you wait for, and note this round on your status page if it has not
    /// come.
    #[n(12)]
    Look {
        #[n(0)]
        round: u64,
    },
    /// An endpoint that you receive from is gone before it was done, and the run goes on without it: take in
    /// what it has sent; after that its conduits have ended.
    #[n(18)]
    PeerLost {
        #[n(0)]
        endpoint: EndpointId,
    },
    /// Something is to happen at a model time: to these of the instances that the process runs, by their
    /// places.
    #[n(19)]
    Steer {
        #[n(0)]
        steer: Steer,
        #[n(1)]
        members: Vec<u32>,
    },
    /// To a client that peeks.
    #[n(13)]
    Peeked(#[n(0)] Sight),
    /// Show what you send on this port: what is wanted of it goes into a box, whenever that is free.
    /// Descriptor: the box.
    #[n(14)]
    Tap(#[n(0)] Box<Tap>),
    /// Show it no more.
    #[n(15)]
    Untap {
        #[n(0)]
        tap: u32,
    },
    /// To a client: the port will be shown. Descriptor: the box, with room for a value of so many bytes.
    #[n(16)]
    Tapped {
        #[n(0)]
        room: u64,
    },
    /// To a client: nothing more will be shown.
    #[n(17)]
    TapOver {
        #[n(0)]
        why: String,
    },
    /// To a client.
    #[n(10)]
    Answer {
        #[n(0)]
        json: String,
    },
}

/// The order to an endpoint to show a port.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Tap {
    /// Its number in the domain.
    #[n(0)]
    pub tap: u32,
    /// Which of the instances that the process runs together: its place among `Light::members`; else 0.
    #[n(1)]
    pub member: u32,
    #[n(2)]
    pub port: String,
    /// None: whatever slot is sent on.
    #[n(3)]
    pub slot: Option<u32>,
    #[n(4)]
    pub wanted: tap::TapSelection,
    /// Bytes that a value in the box may have.
    #[n(5)]
    pub room: u64,
}

/// A port as the model has it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PortInfo {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub operator: String,
    #[n(2)]
    pub vector: bool,
    /// Slots, for a vector port whose length is known.
    #[n(3)]
    pub length: Option<u64>,
}

/// One end of a channel: the way from one slot of a sending port to one slot of a receiving port.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ChannelInfo {
    /// The channel's number in the run.
    #[n(0)]
    pub id: u32,
    /// Which of the endpoint's ports.
    #[n(1)]
    pub port: u32,
    /// Which slot of a vector port.
    #[n(2)]
    pub slot: Option<u32>,
    /// The endpoint at the other end.
    #[n(3)]
    pub peer: EndpointId,
    /// The place where the receiver returns credit: its index among the receiver's incoming channels.
    #[n(4)]
    pub credit: u32,
    /// Bytes that may be under way.
    #[n(5)]
    pub budget: u64,
    /// The port at the other end, such as `micro[3].init`, for messages to people.
    #[n(6)]
    pub peer_port: String,
    /// The most bytes that a message may have; none means: as many as memory allows.
    #[n(7)]
    pub limit: Option<u64>,
    /// Which of the instances that the process runs together: its place among `Light::members`; else 0.
    #[n(8)]
    pub member: u32,
    /// The steps between its messages and iterations.
    #[n(9)]
    pub steps: Option<ChannelSteps>,
    /// Which of `Welcome::filters` its messages pass through.
    #[n(10)]
    pub filters: Option<u32>,
    /// True if the run goes on if the instance at the other end ends before it is done.
    #[n(11)]
    pub may_fail: Option<bool>,
}

/// The steps of a channel between messages and iterations: `last`, `repeat` and `pad` of yMMSL, and milestones.
/// Most channels have none of this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct ChannelSteps {
    /// The number of numbers that the path of the iteration has in which a message is sent.
    #[n(0)]
    pub depth: u8,
    /// The number of iterations, that from the innermost on, let only their last message pass.
    #[n(1)]
    pub last: u8,
    /// For how many iterations, from the innermost on, a message is repeated at the receiver.
    #[n(2)]
    pub repeats: u8,
    /// In which of these it comes once only and is empty then: a bit for each, the lowest for the outermost.
    #[n(3)]
    pub pads: u32,
    /// True if the sender says when iterations are over.
    #[n(4)]
    pub milestones: bool,
}

impl ChannelSteps {
    /// More filters of a kind than this are refused, and deeper nesting too.
    pub const MAX_FILTERS_OF_A_KIND: usize = 32;

    /// The number of numbers that the path of an iteration has in which a message travels.
    pub fn reduced(&self) -> usize {
        usize::from(self.depth.saturating_sub(self.last))
    }

    /// The number of path elements in which one is received.
    pub fn received(&self) -> usize {
        self.reduced() + usize::from(self.repeats)
    }

    /// Returns true if what is received in this iteration is empty: it is not the first of one in which the
    /// message comes once.
    pub fn is_padding(&self, iteration: &[u64]) -> bool {
        let repeats = usize::from(self.repeats).min(iteration.len());
        let repeated = &iteration[iteration.len() - repeats..];
        repeated.iter().enumerate().any(|(i, &number)| {
            number > 0 && i < ChannelSteps::MAX_FILTERS_OF_A_KIND && self.pads & 1 << i != 0
        })
    }
}

/// The data for a process that runs many instances.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Light {
    #[n(0)]
    pub members: Vec<LightMember>,
    /// The ports of members, each list once.
    #[n(1)]
    pub ports: Vec<Vec<PortInfo>>,
    /// The channels between them.
    #[n(2)]
    pub channels: Vec<InnerChannel>,
}

/// One of the instances that a process runs together.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LightMember {
    /// Its number in the run.
    #[n(0)]
    pub number: RankId,
    /// Such as `micro[3]`.
    #[n(1)]
    pub name: String,
    /// Which of the lists of ports is its.
    #[n(2)]
    pub ports: u32,
    /// The lowest level of its lines that the run's log takes.
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
    /// Bytes that may be under way.
    #[n(3)]
    pub budget: u64,
    /// The most bytes that a message may have; none means: as many as memory allows.
    #[n(4)]
    pub limit: Option<u64>,
    /// The steps between its messages and iterations.
    #[n(5)]
    pub steps: Option<ChannelSteps>,
    /// Which of `Welcome::filters` its messages pass through.
    #[n(6)]
    pub filters: Option<u32>,
}

/// One end of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct InnerEnd {
    /// Its place among the members.
    #[n(0)]
    pub member: u32,
    /// Which of its ports.
    #[n(1)]
    pub port: u32,
    /// Which slot of a vector port.
    #[n(2)]
    pub slot: Option<u32>,
}

/// The data for an endpoint that registers.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Welcome {
    /// Its number in the domain: its line on the board.
    #[n(0)]
    pub endpoint: EndpointId,
    /// Incoming channels and inboxes of its area.
    #[n(1)]
    pub channels: u32,
    #[n(2)]
    pub inboxes: u32,
    #[n(3)]
    pub ports: Vec<PortInfo>,
    #[n(4)]
    pub sends: Vec<ChannelInfo>,
    #[n(5)]
    pub receives: Vec<ChannelInfo>,
    /// The body of a settings value: every setting of the run by its full name.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub settings: Vec<u8>,
    /// The most bytes of others' memory that live views may hold before `receive` copies.
    #[n(7)]
    pub pinned_limit: u64,
    /// The lowest level that the run's log takes.
    #[n(8)]
    pub log_level: u8,
    #[n(9)]
    pub run: String,
    /// For a process that runs many instances; `ports` is empty then.
    #[n(10)]
    pub light: Option<Light>,
    /// True if the agent understands `Request::Used`; those before it do not say.
    #[n(11)]
    pub hears_use: Option<bool>,
    /// Which of its instance's ranks it is, where these speak each for itself.
    #[n(12)]
    pub rank: Option<Rank>,
    /// The filters of conduits, as a model file has them, each list once. None if no conduit has any.
    #[n(13)]
    pub filters: Option<Vec<String>>,
    /// Changes at model times that are known already, and the instances of the process that they concern, by
    /// their places. None if there is nothing.
    #[n(14)]
    pub schedule: Option<Vec<(ScheduledChange, Vec<u32>)>>,
}

/// One of the ranks of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Rank {
    /// From 0 on.
    #[n(0)]
    pub number: u32,
    /// Their number.
    #[n(1)]
    pub of: u32,
}

/// Writes a control message.
pub fn to_bytes<T: Encode<()>>(message: &T) -> Vec<u8> {
    minicbor::to_vec(message).expect("writing into a vector cannot fail")
}

/// Reads a control message; the error says what is wrong with it.
pub fn from_bytes<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Result<T, Fault> {
    minicbor::decode(bytes).map_err(|error| fault!(MALFORMED_DATA, "malformed control message: {error}"))
}
