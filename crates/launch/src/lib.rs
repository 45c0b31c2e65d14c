//! Starting processes on this machine: from a program as a model describes it to a command with everything
//! resolved (`command`), and from that to a process that dies with its parent (`process`); and the guard (`guard`,
//! and `keeper` on its own side), a small process that starts them all, watches what launchers of MPI start (`ranks`),
//! and outlives the run.

pub mod agents;
mod cause;
mod command;
pub mod cores;
mod descendants;
mod detached;
mod environment;
mod guard;
pub mod jobs;
mod keeper;
mod library;
mod line;
mod loss;
mod machines;
mod mpi;
mod nodes;
mod placement;
pub mod printed;
mod process;
mod ran;
mod ranks;
mod shell;
pub mod site;
pub mod staging;
mod sys;

pub use cause::{advice, error_line, Where};
pub use command::{prepare, quote, quote_path, Command, NodeShare, Workplace};
pub use detached::{ended, leave_terminal, start_detached};
pub use environment::{expand, Environment};
pub use guard::{adopt_orphans, remove_socket, Guard, Told};
pub use library::{installed_below, own_command};
pub use loss::Loss;
pub use machines::{all_machines, machines, All, Machines};
pub use nodes::{allocation, parse_hosts, position, read_hostfile, Allocation, BatchSystem, Node};
pub use placement::{needs, place, reserved, Need, PlaceOptions, Placement, Room};
pub use process::{describe_signal, end_group, file_size_limit, raise_open_files, Ended};
pub use ran::Ran;
pub use ranks::{ranks_below, Lost};
pub use sys::{outlive_file_size, user_name};
