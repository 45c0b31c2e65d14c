//! The protocol between the head of a run and the agents of its other domains. Its messages are small,
//! arrive in order, use the paths that also carry the model's messages, and are encoded like those of
//! `control`. `plan` describes the run, `observation` the state of instances, `report` events, `files`
//! parts of files, and `taps` values of ports. Each sender has proved that it holds the run's key, but may
//! have another version or a defect. So `check` tests every number of an instance or a channel before the
//! receiver uses the number.

mod check;
mod files;
mod observation;
mod plan;
mod report;
mod taps;

pub use check::Extent;
pub use files::{
    CheckpointPart, FilePart, FileSummary, Input, InputOfProcess, Look, OutputPart, PeekReply, ResumeFile,
};
pub use observation::{
    CarrierLoad, ChannelView, InstancePhase, InstanceView, Lane, Passage, ProcessInspection, RankLag, RankRow,
    Snapshot,
};
pub use plan::{Instance, PlannedChannel, PlannedEnd, Port, Program, Resources, RunPlan};
pub use report::{truncated, AgentReport, RunFailure, RunOutcome};
pub use taps::{Shows, TapNote, TapOrder, TapPort, TapReply, TapWish, MAX_VALUE_BYTES_UNDER_WAY};

use crate::number::{InstanceId, RankId};
use crate::steering::Steer;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};

/// Version of this protocol. The head refuses an agent with another version; its message names both
/// versions.
pub const VERSION: u32 = 10;
/// Maximum length of a message that either side accepts, in bytes.
pub const MAX_MESSAGE: usize = 256 << 20;
/// Maximum number of bytes of files that an agent may have under way to the head.
pub const MAX_FILE_BYTES_UNDER_WAY: u64 = 8 << 20;
/// Maximum number of bytes of inputs that the head may have under way to an agent. Other messages of the
/// head to this agent wait for no more than these bytes.
pub const MAX_INPUT_BYTES_UNDER_WAY: u64 = 2 << 20;
/// Maximum number of bytes of a file in one message.
pub const MAX_PIECE: usize = 256 << 10;
/// Maximum length of a text, such as a line for the log, in bytes. The sender cuts a longer text
/// (`truncated`).
pub const MAX_TEXT: usize = 1 << 20;

/// A message from the agent of a domain to the head.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum FromAgent {
    /// The agent joins the run. This is its first message, and describes the domain.
    #[n(0)]
    Join(#[n(0)] Join),
    /// Events of the domain, in the order in which they happened.
    #[n(1)]
    Reports(#[n(0)] Vec<AgentReport>),
    /// The state of the instances.
    #[n(2)]
    Snapshot(#[n(0)] Box<Snapshot>),
    /// Parts of files that the domain's instances wrote, if the agent does not see the head's run
    /// directory.
    #[n(3)]
    Files(#[n(0)] Vec<OutputPart>),
    /// All processes of the domain have ended. The outcome of the run is set if the agent knows it: from
    /// the head, or because the agent itself found that the run ends.
    #[n(4)]
    Over(#[n(0)] Option<RunOutcome>),
    /// The agent cannot take part in the run, for example because it cannot do what `Begin` requests. The
    /// text is the reason.
    #[n(5)]
    Unable(#[n(0)] String),
    /// Requests the inputs with these numbers from the head. Each number occurs once. The files from which
    /// instances resume have the numbers behind those of the inputs.
    #[n(6)]
    Wants(#[n(0)] Vec<u32>),
    /// Number of bytes of inputs, and of files to resume from, that the agent has written since the run began.
    #[n(7)]
    Wrote(#[n(0)] u64),
    /// The agent is ready to start its instances. The text is the directory of their files, if the agent
    /// does not see the run directory. In a run with inputs, the agent then waits for `Start`.
    #[n(8)]
    Ready(#[n(0)] Option<String>),
    /// The domain's instances have ended. This number of files, with this number of bytes in all, must be
    /// copied to the run directory.
    #[n(9)]
    Leaves {
        #[n(0)]
        files: u64,
        #[n(1)]
        bytes: u64,
    },
    /// The answer to `Look`.
    #[n(10)]
    Seen(#[n(0)] PeekReply),
    /// The processes that have cores of their own, and these cores. The agent sends this before `Ready`.
    #[n(11)]
    Cores(#[n(0)] Vec<OwnCores>),
    /// A reply about a tap. The head gets one value for each `TapWish::Ask`, in one or more pieces.
    #[n(12)]
    Tapped(#[n(0)] TapReply),
    /// A part of a file of a checkpoint, if the agent does not see the head's run directory. The report that
    /// the rank has saved came before.
    #[n(13)]
    Checkpoint(#[n(0)] CheckpointPart),
}

/// The cores on which only one process of the domain runs. `instance` is the first instance of the process;
/// `cores` has the numbers of the cores in the operating system.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct OwnCores {
    #[n(0)]
    pub instance: InstanceId,
    #[n(1)]
    pub cores: Vec<u32>,
}

/// A message from the head to the agent of a domain.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum FromHead {
    /// Describes the run to the agent, which then prepares and starts its instances.
    #[n(0)]
    Begin(#[n(0)] Box<Begin>),
    /// The agent cannot take part in the run, or is not needed any more. The text is the reason.
    #[n(1)]
    Refused(#[n(0)] String),
    /// Orders, which the agent carries out in this order.
    #[n(2)]
    Orders(#[n(0)] Vec<AgentOrder>),
    /// The run is over, and the head has written all results of this domain. The agent may end.
    #[n(3)]
    Bye,
    /// Number of bytes of the agent's files that the head has handled since the run began. The head has
    /// written these bytes, or could not write them.
    #[n(4)]
    Wrote(#[n(0)] u64),
    /// A part of an input that the agent has requested with `Wants`.
    #[n(5)]
    Input {
        /// The number of the input.
        #[n(0)]
        input: u32,
        #[n(1)]
        part: FilePart,
    },
    /// All domains have their inputs, so the agent starts its instances.
    #[n(6)]
    Start,
    /// A client wants to see a file of an instance. The answer is `Seen`.
    #[n(7)]
    Look(#[n(0)] Look),
    /// The head could not write a file to the run directory. The agent keeps its own copy of the file.
    #[n(8)]
    NotWritten {
        #[n(0)]
        instance: InstanceId,
        #[n(1)]
        path: String,
    },
    /// A request about a tap: a client watches the values that a port of an instance sends.
    #[n(9)]
    Tap(#[n(0)] TapOrder),
}

/// A domain that joins, and its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Join {
    #[n(0)]
    pub version: u32,
    /// The version of Ligament that the agent has.
    #[n(1)]
    pub ligament: String,
    /// The machine's name.
    #[n(2)]
    pub host: String,
    /// Number of cores that the domain's instances may use.
    #[n(3)]
    pub cores: u32,
    /// Memory that the machine can spare, in bytes.
    #[n(4)]
    pub memory: u64,
    /// Addresses at which other domains can dial this domain, as `address:port`.
    #[n(5)]
    pub addresses: Vec<String>,
    #[n(6)]
    pub pid: u32,
    /// The directory below which the agent puts its instances' files if it does not see the run directory.
    #[n(7)]
    pub scratch: String,
    /// Number of streams of each path to this domain. `None` means as many streams as the path needs.
    #[n(8)]
    pub streams: Option<u16>,
    /// The name of the machine in the batch system, if this name may differ from `host`.
    #[n(9)]
    pub node: Option<String>,
}

/// The data that an agent needs to begin its part of the run.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Begin {
    #[n(0)]
    pub version: u32,
    /// The plan of the whole run. Its numbers are the same in all domains.
    #[n(1)]
    pub plan: RunPlan,
    /// All domains, in the order of their numbers. The first is the head's.
    #[n(2)]
    pub domains: Vec<Domain>,
    /// The run directory, as the head sees it.
    #[n(3)]
    pub directory: String,
    /// The content of the file `.marker` in the run directory. An agent that reads the same content at
    /// `directory` sees the run directory of the head.
    #[n(4)]
    pub marker: String,
    /// The directory of the model.
    #[n(5)]
    pub model_directory: String,
    /// Maximum number of bytes that are kept of the output of each instance.
    #[n(6)]
    pub output: u64,
    /// All inputs of the run.
    #[n(7)]
    pub inputs: Vec<Input>,
    /// The inputs of each process.
    #[n(8)]
    pub given: Vec<InputOfProcess>,
    /// The files from which ranks of other domains than the head's resume.
    #[n(9)]
    pub resume_files: Vec<ResumeFile>,
}

impl Begin {
    /// Returns true if the agents wait for files of the head, and then for `Start`.
    pub fn stages(&self) -> bool {
        !self.inputs.is_empty() || !self.resume_files.is_empty()
    }
}

/// A domain of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Domain {
    /// The name of the domain in texts that people read.
    #[n(0)]
    pub name: String,
    /// The machine's name.
    #[n(1)]
    pub host: String,
    /// Addresses at which other domains can dial this domain.
    #[n(2)]
    pub addresses: Vec<String>,
    /// Number of streams of each path to this domain. `None` means as many streams as the path needs.
    #[n(3)]
    pub streams: Option<u16>,
}

/// An order to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AgentOrder {
    /// The agent changes the budget of a channel to `bytes`.
    #[n(0)]
    Budget {
        #[n(0)]
        channel: u32,
        #[n(1)]
        bytes: u64,
    },
    /// These ranks check once more whether the event that they wait for has happened. Each domain gets this
    /// order, also a domain without any of these ranks: its agent reports the state of its carrier.
    #[n(1)]
    Look {
        #[n(0)]
        round: u64,
        #[n(1)]
        ranks: Vec<RankId>,
    },
    /// The run ends, with this outcome.
    #[n(2)]
    End(#[n(0)] RunOutcome),
    /// The grace period in which instances may end by themselves is over.
    #[n(3)]
    Hurry,
    /// The agent passes a request about a change at a model time to these ranks.
    #[n(4)]
    Steer {
        #[n(0)]
        ranks: Vec<RankId>,
        #[n(1)]
        steer: Steer,
    },
}

/// Reads a message. Fails if the message is too long or malformed; the error has the reason.
pub fn from_bytes<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Result<T, Fault> {
    if bytes.len() > MAX_MESSAGE {
        return Err(fault!(
            DOMAIN_SENDS_NONSENSE,
            "a message of {} bytes, where {MAX_MESSAGE} are the most",
            bytes.len()
        ));
    }
    crate::control::from_bytes(bytes)
}
