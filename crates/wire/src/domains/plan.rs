//! A run as the agents of its domains are told of it: instances, ports, channels, where each instance runs and
//! what it is started with. What many share stands once and is referred to by its place.

use crate::control::ChannelSteps;
use crate::number::{rank_name, DomainId, InstanceId, RankId, Ranks};
use crate::steering::ScheduledChange;
use minicbor::{Decode, Encode};

/// The whole run.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct RunPlan {
    /// The run's name.
    #[n(0)]
    pub run: String,
    #[n(1)]
    pub instances: Vec<Instance>,
    /// Lists of ports.
    #[n(2)]
    pub ports: Vec<Vec<Port>>,
    #[n(3)]
    pub channels: Vec<PlannedChannel>,
    #[n(4)]
    pub programs: Vec<Program>,
    /// The body of a message that holds all settings.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub settings: Vec<u8>,
    /// Most bytes of memory for messages in each domain.
    #[n(6)]
    pub memory: Option<u64>,
    /// Most bytes that one reader's views may hold before `receive` copies.
    #[n(7)]
    pub pinned_limit: Option<u64>,
    /// True if instances keep a timeline.
    #[n(8)]
    pub timeline: bool,
    /// The filters of conduits, as a model file has them, each list once.
    #[n(9)]
    pub filters: Option<Vec<String>>,
    /// Changes at model times that are known already, and the ranks that they concern. None if there is
    /// nothing.
    #[n(10)]
    pub schedule: Option<Vec<(ScheduledChange, Vec<RankId>)>>,
}

impl RunPlan {
    /// Which ranks the instances have.
    pub fn ranks(&self) -> Ranks {
        Ranks::new(self.instances.iter().map(|instance| instance.ranks.unwrap_or(1)))
    }

    /// The names of the ranks.
    pub fn rank_names(&self) -> Vec<String> {
        let ranks = self.ranks();
        let name = |rank| {
            let instance = &self.instances[ranks.instance(rank).index()];
            rank_name(&instance.name, instance.ranks.map(|_| ranks.place(rank)))
        };
        ranks.all().map(name).collect()
    }
}

/// An instance.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Instance {
    #[n(0)]
    pub name: String,
    /// In which domain it runs.
    #[n(1)]
    pub domain: DomainId,
    /// Which of the lists of ports is its.
    #[n(2)]
    pub ports: u32,
    /// Which of the programs it is started with; none if nothing starts it.
    #[n(3)]
    pub program: Option<u32>,
    #[n(4)]
    pub resources: Resources,
    /// The first of the instances that it shares a process with, if its program is light.
    #[n(5)]
    pub shares: Option<InstanceId>,
    #[n(6)]
    pub log_level: u8,
    /// True if a person starts it.
    #[n(7)]
    pub by_hand: bool,
    /// The directory of its process below the run directory, such as `instances/macro`.
    #[n(8)]
    pub home: String,
    /// The number of ranks that it has, if they speak each for itself.
    #[n(9)]
    pub ranks: Option<u32>,
    /// Of one whose MPI processes are spread over several domains: their names, and how many are in each; its
    /// own first.
    #[n(10)]
    pub nodes: Option<Vec<(String, u32)>>,
    /// True if the run goes on if it ends before it is done.
    #[n(11)]
    pub may_fail: Option<bool>,
}

/// A port. Operators by their yMMSL names, as `NONE`, `F_INIT`, `O_I`, `S`, `O_F`.
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
    /// Shape of the whole array, if the port takes part in an exchange of one.
    #[n(8)]
    pub array: Option<Vec<u64>>,
}

/// A channel; its number is its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct PlannedChannel {
    #[n(0)]
    pub from: PlannedEnd,
    #[n(1)]
    pub to: PlannedEnd,
    #[n(2)]
    pub budget: u64,
    #[n(3)]
    pub limit: Option<u64>,
    /// The steps between its messages and iterations.
    #[n(4)]
    pub steps: Option<ChannelSteps>,
    /// Which of the filters its messages pass through.
    #[n(5)]
    pub filters: Option<u32>,
}

/// One end of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct PlannedEnd {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub port: u32,
    #[n(2)]
    pub slot: Option<u32>,
}

/// The program of an instance, in yMMSL's words.
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
    /// In order; a name beginning with `+` is appended to.
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
    /// The file that defines it, in full: what it names is relative to that.
    #[n(9)]
    pub file: Option<String>,
    /// The command that starts it with MPI, if it is another than `mpirun`.
    #[n(10)]
    pub mpirun: Option<String>,
}

/// The cores that an instance needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Resources {
    #[n(0)]
    Threads(#[n(0)] u64),
    /// Processes, and threads of each.
    #[n(1)]
    MpiProcesses(#[n(0)] u64, #[n(1)] u64),
    /// Nodes, processes on each, and threads of each.
    #[n(2)]
    MpiNodes(#[n(0)] u64, #[n(1)] u64, #[n(2)] u64),
}

impl Default for Resources {
    fn default() -> Resources {
        Resources::Threads(1)
    }
}
