//! The manager: one per run. What is known of each instance, who waits for whom, the run's directory, its log, its
//! journal, record and summary. It starts nothing and talks to nobody: it is told what happens. `core` is its logic.

mod clock;
mod conduits;
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
pub mod steering;
mod summary;
pub mod timeline;
mod waits;

pub use clock::Moment;
pub use conduits::Conduits;
pub use core::{Deed, Manager, MessageMemory, Surroundings};
pub use deadlock::{CarrierReport, Deadlock, Remedy, Watch};
pub use directory::{
    find_run, instances_of, no_such_instance, output_in, output_of_rank, runs_in, workdir_in, write_whole,
    RunDirectory, JOB,
};
pub use journal::{Entry, Event, Journal, JOURNAL_VERSION};
pub use log::{Level, RunLog, DEFAULT_LOG};
pub use names::{Names, OfModel};
pub use observation::{Counters, Observation, Standing, Waiting};
pub use output::{outputs_of, read_output, Outputs, DEFAULT_OUTPUT};
pub use record::{
    some_of, ConduitRecord, DomainRecord, HaltRecord, InstanceRecord, PortsByOperator, RunRecord, RunState,
    SteeringRecord, UnaskedRecord, UnreceivedRecord, WaitRecord, WarningRecord,
};
pub use summary::{component_of, in_bytes, in_cores, in_count, in_seconds, summary_table, who_has_which_cores};
pub use waits::{knots, lasting_waits, stuck, Knot, Lack, Wait, Way};
