//! The protocol between the head of a run and the agents of its other domains: small, in order, beside the
//! messages on the paths between them. Encoded like `control`. `plan` is what an agent is told of the run,
//! `observation` what it tells of its instances, `report` what happens to them, `files` what both send of
//! files, `taps` what ports send. Who speaks has proved that it holds the run's key; it may still be of another
//! version, or wrong, so whatever names an instance or a channel is checked before it is believed (`check`).

mod check;
mod files;
mod observation;
mod plan;
mod report;
mod taps;

pub use check::Extent;
pub use files::{FilePart, FileSummary, Input, InputOfProcess, Look, OutputPart, PeekReply};
pub use observation::{
    CarrierLoad, ChannelView, InstancePhase, InstanceView, Lane, Passage, ProcessInspection, RankLag, RankRow,
    Snapshot,
};
pub use plan::{Instance, PlannedChannel, PlannedEnd, Port, Program, Resources, RunPlan};
pub use report::{truncated, AgentReport, RunFailure, RunOutcome};
pub use taps::{Shows, TapNote, TapOrder, TapPort, TapReply, TapWish, VALUES_UNDER_WAY};

use crate::number::{InstanceId, RankId};
use crate::steering::Steer;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};

/// Version of this protocol. The head refuses others with a message that names both.
pub const VERSION: u32 = 8;
/// Longest message that either side accepts, bytes.
pub const MAX_MESSAGE: usize = 256 << 20;
/// Bytes of files that an agent may have under way to the head, when its instances have ended.
pub const MAX_FILE_BYTES_UNDER_WAY: u64 = 8 << 20;
/// Bytes of inputs that the head may have under way to an agent: what else it says waits for no more than
/// these.
pub const MAX_INPUT_BYTES_UNDER_WAY: u64 = 2 << 20;
/// Most bytes of a file in one message.
pub const MAX_PIECE: usize = 256 << 10;
/// Longest line for the log, bytes; what is longer is cut by whoever sends it.
pub const MAX_TEXT: usize = 1 << 20;

/// From the agent of a domain to the head.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum FromAgent {
    /// First of all: who is there, and what it has.
    #[n(0)]
    Join(#[n(0)] Join),
    /// Something happened, in this order.
    #[n(1)]
    Reports(#[n(0)] Vec<AgentReport>),
    /// How the instances stand.
    #[n(2)]
    Snapshot(#[n(0)] Box<Snapshot>),
    /// Parts of files that its instances wrote, if the agent does not see the head's run directory.
    #[n(3)]
    Files(#[n(0)] Vec<OutputPart>),
    /// No process of the domain is left. How the run ended there, if it was told or found that it ends.
    #[n(4)]
    Over(#[n(0)] Option<RunOutcome>),
    /// It cannot do what `Begin` wants.
    #[n(5)]
    Unable(#[n(0)] String),
    /// Of the inputs, by their numbers, it needs these, each once.
    #[n(6)]
    Wants(#[n(0)] Vec<u32>),
    /// So many bytes of inputs were written down, in all.
    #[n(7)]
    Wrote(#[n(0)] u64),
    /// All is in place for its instances. Where they have their files, if the run directory is not to be seen
    /// from there. In a run with inputs it waits for `Start`.
    #[n(8)]
    Ready(#[n(0)] Option<String>),
    /// Its instances have ended, and left so much that is to be brought to the run directory.
    #[n(9)]
    Leaves {
        #[n(0)]
        files: u64,
        #[n(1)]
        bytes: u64,
    },
    /// Answers `Look`.
    #[n(10)]
    Seen(#[n(0)] PeekReply),
    /// Before `Ready`: the cores of their own that processes have, by the first instance of each, as the system
    /// numbers them.
    #[n(11)]
    Cores(#[n(0)] Vec<OwnCores>),
    /// Answers `Tap`, as often as the head asks for it.
    #[n(12)]
    Tapped(#[n(0)] TapReply),
}

/// The cores that a process has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct OwnCores {
    #[n(0)]
    pub instance: InstanceId,
    #[n(1)]
    pub cores: Vec<u32>,
}

/// From the head to the agent of a domain.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum FromHead {
    /// Start your instances.
    #[n(0)]
    Begin(#[n(0)] Box<Begin>),
    /// You cannot take part, or need not any more.
    #[n(1)]
    Refused(#[n(0)] String),
    /// Do this, in this order.
    #[n(2)]
    Orders(#[n(0)] Vec<AgentOrder>),
    /// All is over and written down; go.
    #[n(3)]
    Bye,
    /// So many bytes of your files were written down, in all.
    #[n(4)]
    Wrote(#[n(0)] u64),
    /// A part of an input that was wanted.
    #[n(5)]
    Input {
        /// Which.
        #[n(0)]
        input: u32,
        #[n(1)]
        part: FilePart,
    },
    /// All domains have their inputs.
    #[n(6)]
    Start,
    /// Somebody wants to see a file of an instance.
    #[n(7)]
    Look(#[n(0)] Look),
    /// A file could not be written to the run directory: it is to be kept where it is.
    #[n(8)]
    NotWritten {
        #[n(0)]
        instance: InstanceId,
        #[n(1)]
        path: String,
    },
    /// Somebody looks at what a port of an instance sends.
    #[n(9)]
    Tap(#[n(0)] TapOrder),
}

/// A domain that joins, and its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Join {
    #[n(0)]
    pub version: u32,
    /// The version of Ligament.
    #[n(1)]
    pub ligament: String,
    /// The machine's name.
    #[n(2)]
    pub host: String,
    /// Cores that its instances may use.
    #[n(3)]
    pub cores: u32,
    /// Bytes of memory that the machine can spare.
    #[n(4)]
    pub memory: u64,
    /// Addresses at which other domains can dial it, as `address:port`.
    #[n(5)]
    pub addresses: Vec<String>,
    #[n(6)]
    pub pid: u32,
    /// The directory of its instances' files if the run directory is not to be seen from there.
    #[n(7)]
    pub scratch: String,
    /// The number of connections that the links to it are to have; none: as many as they need.
    #[n(8)]
    pub streams: Option<u16>,
    /// The batch system's name of the machine, if that may be another name.
    #[n(9)]
    pub node: Option<String>,
}

/// The data with which an agent begins.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Begin {
    #[n(0)]
    pub version: u32,
    /// The whole run; numbers are the same in all domains.
    #[n(1)]
    pub plan: RunPlan,
    /// All domains, by number; the first is the head.
    #[n(2)]
    pub domains: Vec<Domain>,
    /// The run directory, as the head sees it.
    #[n(3)]
    pub directory: String,
    /// The content of a file of the run directory, by which an agent knows that it sees the same directory.
    #[n(4)]
    pub marker: String,
    /// The directory of the model.
    #[n(5)]
    pub model_directory: String,
    /// How much is kept of what each instance prints, bytes.
    #[n(6)]
    pub output: u64,
    /// All inputs of the run.
    #[n(7)]
    pub inputs: Vec<Input>,
    /// Which process finds which of them.
    #[n(8)]
    pub given: Vec<InputOfProcess>,
}

/// A domain of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Domain {
    /// The name for people.
    #[n(0)]
    pub name: String,
    /// The machine's name.
    #[n(1)]
    pub host: String,
    /// Addresses at which it can be dialled.
    #[n(2)]
    pub addresses: Vec<String>,
    /// The number of connections that the links to it are to have; none: as many as they need.
    #[n(3)]
    pub streams: Option<u16>,
}

/// An order to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AgentOrder {
    /// The budget of a channel becomes so many bytes.
    #[n(0)]
    Budget {
        #[n(0)]
        channel: u32,
        #[n(1)]
        bytes: u64,
    },
    /// These ranks are to look once more for what they wait for. Goes to every domain, also with none.
    #[n(1)]
    Look {
        #[n(0)]
        round: u64,
        #[n(1)]
        ranks: Vec<RankId>,
    },
    /// The run ends in this way.
    #[n(2)]
    End(#[n(0)] RunOutcome),
    /// The time for ending cleanly is over.
    #[n(3)]
    Hurry,
    /// Something is to happen at a model time to these ranks.
    #[n(4)]
    Steer {
        #[n(0)]
        ranks: Vec<RankId>,
        #[n(1)]
        steer: Steer,
    },
}

/// Reads a message; the error says what is wrong with it.
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
