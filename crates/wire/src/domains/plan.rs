//! The description of a run for the agents of its domains: instances, ports, channels, the domain of each
//! instance and the program that starts the instance. Data that several instances share, such as a list of
//! ports, is sent once, and each of these instances has its index.

use crate::control::{ChannelSteps, CheckpointPlan, ClockInfo, GridInfo, PortClockInfo};
use crate::number::{rank_name, DomainId, InstanceId, RankId, Ranks};
use crate::steering::ScheduledChange;
use minicbor::{Decode, Encode};

/// The plan of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct RunPlan {
    /// The run's name.
    #[n(0)]
    pub run: String,
    #[n(1)]
    pub instances: Vec<Instance>,
    /// Lists of ports. `Instance::ports` is an index of this table.
    #[n(2)]
    pub ports: Vec<Vec<Port>>,
    #[n(3)]
    pub channels: Vec<PlannedChannel>,
    #[n(4)]
    pub programs: Vec<Program>,
    /// The body of a message with all settings.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub settings: Vec<u8>,
    /// Maximum memory for messages in each domain, in bytes. `None` means the amount that the machine can
    /// spare.
    #[n(6)]
    pub memory: Option<u64>,
    /// Maximum number of bytes that the views of one reader may hold. Above it, `receive` copies messages.
    #[n(7)]
    pub pinned_limit: Option<u64>,
    /// True if instances record a timeline.
    #[n(8)]
    pub timeline: bool,
    /// Lists of filters of conduits, in the form of a model file; each different list once.
    /// `PlannedChannel::filters` is an index of this table.
    #[n(9)]
    pub filters: Option<Vec<String>>,
    /// Changes whose model times are known before the run, each with the ranks that it concerns. `None` if
    /// there are no such changes.
    #[n(10)]
    pub schedule: Option<Vec<(ScheduledChange, Vec<RankId>)>>,
    /// The checkpoints of the run. Each instance has its own file to resume from (`Instance::resume`). An
    /// agent that does not see the run directory takes another directory. `None` if nothing can be saved.
    #[n(11)]
    pub checkpoints: Option<CheckpointPlan>,
}

impl RunPlan {
    /// Returns the table of the ranks of all instances.
    pub fn ranks(&self) -> Ranks {
        Ranks::new(self.instances.iter().map(|instance| instance.ranks.unwrap_or(1)))
    }

    /// Returns the names of all ranks, in the order of their numbers.
    pub fn rank_names(&self) -> Vec<String> {
        let ranks = self.ranks();
        let name = |rank| {
            let instance = &self.instances[ranks.instance(rank).index()];
            rank_name(&instance.name, instance.ranks.map(|_| ranks.place(rank)))
        };
        ranks.all().map(name).collect()
    }
}

/// An instance in the plan of a run.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Instance {
    #[n(0)]
    pub name: String,
    /// The domain in which the instance runs.
    #[n(1)]
    pub domain: DomainId,
    /// Index of the instance's list of ports in `RunPlan::ports`.
    #[n(2)]
    pub ports: u32,
    /// Index in `RunPlan::programs` of the program that starts the instance. `None` if no program starts
    /// it.
    #[n(3)]
    pub program: Option<u32>,
    #[n(4)]
    pub resources: Resources,
    /// The first of the instances that share this instance's process, if the program is light.
    #[n(5)]
    pub shares: Option<InstanceId>,
    /// The lowest level of the instance's lines that are written to the run's log.
    #[n(6)]
    pub log_level: u8,
    /// True if a person starts the instance.
    #[n(7)]
    pub by_hand: bool,
    /// The directory of the instance's process, below the run directory. Example: `instances/macro`.
    #[n(8)]
    pub home: String,
    /// Number of the instance's ranks, if each rank takes part in the run by itself.
    #[n(9)]
    pub ranks: Option<u32>,
    /// The nodes over which the instance's MPI processes are spread, each with its name and its number of
    /// processes. The node of the instance's own domain is the first. `None` if all processes are on one
    /// node.
    #[n(10)]
    pub nodes: Option<Vec<(String, u32)>>,
    /// True if the run continues when the instance ends before it is done.
    #[n(11)]
    pub may_fail: Option<bool>,
    /// The clock of the instance, if it has one.
    #[n(12)]
    pub clock: Option<ClockInfo>,
    /// The grid of which the instance is a block, or of which its ranks are the blocks.
    #[n(13)]
    pub grid: Option<GridInfo>,
    /// True if the instance takes part in the checkpoints of the run.
    #[n(14)]
    pub is_saved: Option<bool>,
    /// The file from which the instance resumes, as the head sees it.
    #[n(15)]
    pub resume: Option<String>,
    /// True if the instance had ended at the checkpoint from which the run resumes, so that a process of
    /// Ligament takes its place.
    #[n(16)]
    pub had_ended: Option<bool>,
}

/// A port of an instance. `operator` is the operator's name in yMMSL: `NONE`, `F_INIT`, `O_I`, `S` or
/// `O_F`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Port {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub operator: String,
    #[n(2)]
    pub sends: bool,
    #[n(3)]
    pub vector: bool,
    #[n(4)]
    pub length: Option<u64>,
    #[n(5)]
    pub connected: bool,
    #[n(6)]
    pub resizable: bool,
    #[n(7)]
    pub implicit: bool,
    /// Shape of the whole array, if the port takes part in the exchange of a distributed array.
    #[n(8)]
    pub array: Option<Vec<u64>>,
    /// The timing of the port by the clock of its instance, if the port carries events or samples.
    #[n(9)]
    pub clock: Option<PortClockInfo>,
}

/// A channel. Its number is its index in `RunPlan::channels`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct PlannedChannel {
    #[n(0)]
    pub from: PlannedEnd,
    #[n(1)]
    pub to: PlannedEnd,
    /// Maximum number of bytes that may be under way.
    #[n(2)]
    pub budget: u64,
    /// Maximum size of a message, in bytes. `None` means that only memory limits it.
    #[n(3)]
    pub limit: Option<u64>,
    /// The steps of the channel between messages and iterations, if it has any.
    #[n(4)]
    pub steps: Option<ChannelSteps>,
    /// Index in `RunPlan::filters` of the list of filters that the channel's messages pass through.
    #[n(5)]
    pub filters: Option<u32>,
    /// The number of the channel whose receiver sends back the ids that it wants, on this channel. Such a
    /// channel leads from a port that receives to one that sends.
    #[n(6)]
    pub wants_of: Option<u32>,
}

/// One end of a channel: a rank, the index of the port in the instance's list of ports, and the slot of a
/// vector port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct PlannedEnd {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub port: u32,
    #[n(2)]
    pub slot: Option<u32>,
}

/// The program of an instance. Fields and values have the names that yMMSL gives them.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Program {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub base_env: String,
    #[n(2)]
    pub modules: Option<Vec<String>>,
    #[n(3)]
    pub virtual_env: Option<String>,
    /// Environment variables, each with its value, in order. If the name begins with `+`, the value is
    /// appended to the variable.
    #[n(4)]
    pub environment: Vec<(String, String)>,
    #[n(5)]
    pub execution_model: String,
    #[n(6)]
    pub executable: Option<String>,
    #[n(7)]
    pub arguments: Option<Vec<String>>,
    #[n(8)]
    pub script: Option<String>,
    /// The full path of the file that defines the program. Paths in the program are relative to this file.
    #[n(9)]
    pub file: Option<String>,
    /// The command that starts the program with MPI, if this is not `mpirun`.
    #[n(10)]
    pub mpirun: Option<String>,
}

/// The cores that an instance needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Resources {
    /// Number of threads of one process.
    #[n(0)]
    Threads(#[n(0)] u64),
    /// Number of processes, and number of threads of each process.
    #[n(1)]
    MpiProcesses(#[n(0)] u64, #[n(1)] u64),
    /// Number of nodes, number of processes on each node, and number of threads of each process.
    #[n(2)]
    MpiNodes(#[n(0)] u64, #[n(1)] u64, #[n(2)] u64),
}

impl Default for Resources {
    fn default() -> Resources {
        Resources::Threads(1)
    }
}
