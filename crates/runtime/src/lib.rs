//! The makers and drivers of a run. `head` puts manager and agent together in the process that the run belongs
//! to; `agent` is the agent of any other domain; `files` go between them over `paths`. `client` asks and
//! watches a run from outside, `play` tries one submodel alone, `timeline` turns a run's timeline into columns
//! and traces. The command `ligament` and the Python package stand on it. Arguments, words about a run and
//! pictures of it are the command's.

pub mod agent;
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
