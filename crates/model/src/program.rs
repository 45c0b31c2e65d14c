//! The way in which a program is started, and the resources that it needs.

use crate::graph::Ports;
use crate::identity::{Identifier, Reference};
use crate::problem::At;
use crate::settings::SupportedSetting;
use indexmap::IndexMap;
use std::path::PathBuf;

/// The environment with which a program begins, before modules and variables are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseEnv {
    /// The user's environment after logging in.
    Login,
    /// The manager's environment, without modules and virtual environment.
    Clean,
    /// The manager's environment.
    #[default]
    Manager,
}

/// The way in which a program is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionModel {
    /// Directly, without MPI.
    #[default]
    Direct,
    /// By Open MPI's `mpirun`.
    OpenMpi,
    /// By Intel MPI's `mpirun`.
    IntelMpi,
    /// By `srun`.
    SrunMpi,
    /// By the user, by hand.
    Manual,
    /// By MPICH's `mpirun`. yMMSL has no name for it: a model chooses it with `mpich:` under `ligament:`.
    Mpich,
}

/// The kinds of state that a program keeps between two passes of its reuse loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepsState {
    /// The program needs the state to continue.
    #[default]
    Necessary,
    /// The program keeps no state.
    No,
    /// The program could rebuild the state, at a cost.
    Helpful,
}

macro_rules! named {
    ($type:ty { $($variant:ident = $name:literal),+ }) => {
        impl $type {
            /// All names.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Reads a name, in any case.
            pub fn from_name(name: &str) -> Option<Self> {
                match name.to_lowercase().as_str() {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name as a file writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

named!(BaseEnv { Login = "login", Clean = "clean", Manager = "manager" });
named!(ExecutionModel {
    Direct = "direct",
    OpenMpi = "openmpi",
    IntelMpi = "intelmpi",
    SrunMpi = "srunmpi",
    Manual = "manual",
    Mpich = "mpich"
});
named!(KeepsState { Necessary = "necessary", No = "no", Helpful = "helpful" });

impl ExecutionModel {
    /// Returns true if the program is an MPI program.
    pub fn is_mpi(self) -> bool {
        !matches!(self, ExecutionModel::Direct | ExecutionModel::Manual)
    }
}

/// An installed program (yMMSL v0.1 calls it an implementation).
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: Reference,
    /// Its description, in words.
    pub description: String,
    /// The ports; empty if the program declares none.
    pub ports: Ports,
    /// The settings that the program understands; empty if it declares none.
    pub supported_settings: IndexMap<Identifier, SupportedSetting>,
    /// The environment with which the program begins.
    pub base_env: BaseEnv,
    /// Modules to load.
    pub modules: Option<Vec<String>>,
    /// A Python virtual environment to activate.
    pub virtual_env: Option<String>,
    /// Environment variables to set, in order. If a name begins with `+`, the value is appended to the
    /// variable.
    pub env: IndexMap<String, String>,
    /// The way in which the program is started.
    pub execution_model: ExecutionModel,
    /// The command that starts the program with MPI, if it is not the `mpirun` in the program's `PATH`.
    pub mpirun: Option<String>,
    /// The program that is started.
    pub executable: Option<String>,
    /// The arguments of the program.
    pub args: Option<Vec<String>>,
    /// A script that starts the program, instead of an executable.
    pub script: Option<String>,
    /// True if the program computes only while its peers wait.
    pub can_share_resources: bool,
    /// The kind of state that the program keeps between two passes of its reuse loop.
    pub keeps_state_for_next_use: KeepsState,
    /// The place of its declaration.
    pub at: At,
    /// The place of its executable's name.
    pub executable_at: At,
    /// The place of its arguments.
    pub args_at: At,
}

impl Program {
    /// Makes a program with default values and nothing to start.
    pub fn new(name: Reference) -> Program {
        Program {
            name,
            description: String::new(),
            ports: Ports::new(),
            supported_settings: IndexMap::new(),
            base_env: BaseEnv::default(),
            modules: None,
            virtual_env: None,
            env: IndexMap::new(),
            execution_model: ExecutionModel::default(),
            mpirun: None,
            executable: None,
            args: None,
            script: None,
            can_share_resources: true,
            keeps_state_for_next_use: KeepsState::default(),
            at: At::default(),
            executable_at: At::default(),
            args_at: At::default(),
        }
    }
}

impl Program {
    /// Returns a path that the program names, resolved on this machine. A relative path is relative to the
    /// file that defines the program, so a model can be run from anywhere.
    pub fn beside_file(&self, path: &str) -> PathBuf {
        self.at.beside(path)
    }

    /// Returns the file to start: a path if the executable's name contains a `/`, otherwise the bare name,
    /// to be looked up on the search path.
    pub fn executable_path(&self) -> Option<PathBuf> {
        let executable = self.executable.as_deref()?;
        Some(if executable.contains('/') { self.beside_file(executable) } else { executable.into() })
    }
}

/// The cores and processes that each instance of a component needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resources {
    /// Threads of one process.
    Threads {
        /// Cores per instance.
        threads: usize,
    },
    /// MPI processes, wherever there is room.
    MpiProcesses {
        /// Processes per instance.
        mpi_processes: usize,
        /// Cores per process.
        threads_per_mpi_process: usize,
    },
    /// MPI processes on whole nodes.
    MpiNodes {
        /// Nodes per instance.
        nodes: usize,
        /// Processes on each node.
        mpi_processes_per_node: usize,
        /// Cores per process.
        threads_per_mpi_process: usize,
    },
}

impl Default for Resources {
    fn default() -> Resources {
        Resources::Threads { threads: 1 }
    }
}

impl Resources {
    /// Returns true if the resources are for an MPI program.
    pub fn is_mpi(self) -> bool {
        !matches!(self, Resources::Threads { .. })
    }

    /// Returns the resources of `processes` processes together, which are started one by one. Resources for
    /// MPI already count all processes, and are returned unchanged.
    pub fn of_all(self, processes: usize) -> Resources {
        match self {
            Resources::Threads { threads } => Resources::Threads { threads: threads.saturating_mul(processes) },
            known => known,
        }
    }

    /// Returns the share of one process, if the resources are for `processes` processes.
    pub fn of_each(self, processes: usize) -> Resources {
        match self {
            Resources::Threads { threads } => {
                Resources::Threads { threads: (threads / processes.max(1)).max(1) }
            }
            known => known,
        }
    }

    /// Returns the number of cores on one node. For several nodes, it is the number on each.
    pub fn cores_on_node(self) -> u32 {
        let cores = match self {
            Resources::Threads { threads } => threads,
            Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
                mpi_processes.saturating_mul(threads_per_mpi_process)
            }
            Resources::MpiNodes { mpi_processes_per_node, threads_per_mpi_process, .. } => {
                mpi_processes_per_node.saturating_mul(threads_per_mpi_process)
            }
        };
        u32::try_from(cores).unwrap_or(u32::MAX)
    }
}

/// The resources of one component, and their place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRequirements {
    /// The component's path, beginning with the model's name.
    pub name: Reference,
    /// The resources of each of its instances.
    pub resources: Resources,
    /// The place in the file.
    pub at: At,
}
