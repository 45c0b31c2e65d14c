//! The making and driving of a run. `head` joins manager and agent in the run's own process, and `agent` is the
//! agent of any other domain. `files` copies files between head and agents, over `paths`. `client` asks a run
//! and watches it from outside, `play` runs one submodel alone, `replay` runs
//! a recorded instance alone, and `timeline` turns a run's timeline into
//! columns and traces. The command `ligament` and the Python package use this crate. Arguments, texts about a
//! run and pictures are in the command's crate.

pub mod agent;
pub mod checkpoints;
pub mod client;
mod colours;
mod files;
mod guard_record;
mod head;
mod numbered;
mod observe;
mod paths;
pub mod play;
mod ranks;
pub mod replay;
mod status_text;
mod strangers;
mod terminal;
pub mod timeline;
mod view;

pub use colours::Colours;
pub use head::{
    check_instance, run_model, run_over, Agents, DomainSpread, ExpectedDomain, RunOptions, RunResult, Show,
    Starter, Terminal, ToStart, LAST_LINES,
};
pub use ligament_agent::StartedProcess;
pub use numbered::{changed_after, NumberedPart};
pub use paths::own_cores;
pub use status_text::{of_conduits, of_instances, of_links};
pub use terminal::{called, complain, say, say_lines, shown};
pub use view::TerminalView;
