//! Starts the processes of a run on this machine. `command` prepares a program of the model for its start;
//! `process` starts the prepared command as a process that is killed when its parent ends. The guard
//! (`guard` as the run sees it, `guard_process` as its own process) is a small process that starts all of
//! these processes, watches the processes that MPI launchers start (`ranks`), and outlives the run.

pub mod agents;
mod cause;
mod command;
pub mod cores;
mod descendants;
mod detached;
mod environment;
mod guard;
mod guard_process;
mod guard_protocol;
pub mod jobs;
mod launched_program;
mod library;
mod loss;
mod machines;
mod mpi;
mod nodes;
mod placement;
mod process;
mod ranks;
mod shell;
pub mod site;
pub mod staging;
mod sys;
pub mod terminal_text;

pub use cause::{advice, error_line, FailureContext};
pub use command::{prepare, quote, quote_path, Command, InstanceContext, NodeShare};
pub use detached::{ended, leave_terminal, start_detached};
pub use environment::{expand, Environment};
pub use guard::{adopt_orphans, remove_socket, Guard, GuardReport};
pub use launched_program::LaunchedProgram;
pub use library::{installed_below, own_command};
pub use loss::ProcessLoss;
pub use machines::{all_machines, machines, MachineList, RunMachines};
pub use mpi::names_segments;
pub use nodes::{allocation, parse_hosts, position, read_hostfile, Allocation, BatchSystem, ComputeNode};
pub use placement::{needs, place, reserved, DomainCapacity, Placement, PlacementOptions, ResourceNeed};
pub use process::{end_group, file_size_limit, raise_open_files, ProcessEnd};
pub use ranks::{ranks_below, LostRanks};
pub use sys::{outlive_file_size, until_parent_ends, user_name};
