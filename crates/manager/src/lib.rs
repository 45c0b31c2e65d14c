//! The manager: one per run. What is known of each instance, who waits for whom, the run's directory, its log, its
//! record and its summary. It starts nothing and talks to nobody: it is told what happens.

mod clock;
mod deadlock;
mod directory;
mod log;
mod observation;
mod record;
mod summary;
pub mod timeline;
mod waits;

pub use clock::Moment;
pub use deadlock::{Deadlock, Order, Watch};
pub use directory::{find_run, write_whole, RunDirectory};
pub use log::{Level, RunLog, DEFAULT_LOG};
pub use observation::{Awaited, Counters, Observation, Standing, Waiting};
pub use record::{some_of, InstanceRecord, Names, RunRecord, RunState, WaitRecord};
pub use summary::{in_bytes, in_seconds, summary_table};
pub use waits::{knots, lasting_waits, stuck, Knot, Lack, Wait, Way};
