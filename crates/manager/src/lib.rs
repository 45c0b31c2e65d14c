//! The manager: one per run. What is known of each instance, who waits for whom, the run's directory, its log, its
//! journal, record and summary. It starts nothing and talks to nobody: it is told what happens. `core` is its logic.

mod clock;
mod core;
mod deadlock;
mod directory;
pub mod domains;
mod explain;
mod journal;
mod lines;
mod log;
mod names;
mod observation;
mod output;
mod record;
mod remarks;
mod summary;
pub mod timeline;
mod waits;

pub use clock::Moment;
pub use core::{Deed, Manager, MessageMemory};
pub use deadlock::{CarrierReport, Deadlock, Remedy, Watch};
pub use directory::{
    find_run, instances_of, no_such_instance, output_in, runs_in, workdir_in, write_whole, RunDirectory, JOB,
};
pub use journal::{Entry, Event, Journal, JOURNAL_VERSION};
pub use log::{Level, RunLog, DEFAULT_LOG};
pub use names::Names;
pub use observation::{Counters, Observation, Standing, Waiting};
pub use output::{read_output, Outputs, DEFAULT_OUTPUT};
pub use record::{
    some_of, DomainRecord, InstanceRecord, RunRecord, RunState, UnaskedRecord, UnreceivedRecord, WaitRecord,
    WarningRecord,
};
pub use summary::{component_of, in_bytes, in_count, in_seconds, summary_table};
pub use waits::{knots, lasting_waits, stuck, Knot, Lack, Wait, Way};
