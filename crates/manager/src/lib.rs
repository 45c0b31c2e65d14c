//! The manager: one per run. What is known of each instance, who waits for whom, the run's directory, its log, its
//! record and its summary. It starts nothing and talks to nobody: it is told what happens.

mod clock;
mod directory;
mod log;
mod observation;
mod record;
mod summary;
mod waits;

pub use clock::Moment;
pub use directory::{find_run, write_whole, RunDirectory};
pub use log::{Level, RunLog};
pub use observation::{Counters, Observation, Standing};
pub use record::{InstanceRecord, RunRecord, RunState};
pub use summary::{in_bytes, in_seconds, summary_table};
pub use waits::{Knot, Wait, Waits};
