//! Jobs of a batch system: the script of a job (`script`), Slurm's queue on this machine (`slurm`), and
//! queues of any batch system that are reached over a shell at their site (`system`).

mod script;
mod slurm;
mod system;

pub use script::Job;
pub use slurm::{cancel, state, submit};
pub use system::JobSystem;

/// The state of a job in its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// The job has not begun. `why` is the reason in the batch system's words.
    Waiting { why: String },
    /// The job runs on these nodes.
    Running { nodes: String },
    /// The job is over. `how` is the result in the batch system's words, such as `COMPLETED`. The result of
    /// a job that ended long ago is `gone`.
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
