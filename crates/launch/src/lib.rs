//! Starting processes on this machine: from a program as a model describes it to a command with everything
//! resolved (`command`), and from that to a process that dies with its parent (`process`).

mod command;
mod environment;
mod guard;
mod process;
mod sys;

pub use command::{prepare, Command, Place, PrepareError};
pub use environment::{expand, Environment};
pub use guard::Guard;
pub use process::{describe_signal, end_group, raise_open_files, Launched};
