//! Jobs of a batch system: the script of a job (`script`), Slurm's queue on this machine (`slurm`), and queues
//! of any kind that are reached over a shell at their site (`system`).

mod script;
mod slurm;
mod system;

pub use script::Job;
pub use slurm::{cancel, state, submit};
pub use system::JobSystem;

/// The state of a job in its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// It has not begun; the reason in the batch system's words.
    Waiting { why: String },
    /// It runs, on these nodes.
    Running { nodes: String },
    /// It is over; the result in the batch system's words, such as `COMPLETED`. A job that ended long ago is
    /// `gone`.
    Over { how: String },
}

impl std::fmt::Display for JobState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JobState::Waiting { why } => write!(f, "waits in the queue ({why})"),
            JobState::Running { nodes } => write!(f, "runs on {nodes}"),
            JobState::Over { how } => write!(f, "is over ({how})"),
        }
    }
}
