//! The manager, of which each run has one. The manager knows the state of each instance and finds
//! deadlocks. The manager also writes the run's directory, log, journal, record and summary. The manager
//! starts no process and opens no connection: the process that hosts the manager (the head) reports all
//! events to it. The module `core` has the manager's logic.

mod clock;
mod conduits;
mod core;
mod deadlock;
mod directory;
pub mod domains;
mod explain;
mod journal;
mod line_file;
mod log;
mod names;
mod observation;
mod output;
mod record;
mod remarks;
pub mod saves;
pub mod steering;
mod summary;
pub mod timeline;
mod viewer_record;
mod waits;

pub use clock::UtcTime;
pub use conduits::Conduits;
pub use core::{Manager, ManagerAction, RunContext};
pub use deadlock::{CarrierState, Deadlock, DeadlockDetector, DetectorAction, FullChannel};
pub use directory::{
    find_run, instances_of, no_such_instance, output_in, output_of_rank, runs_in, workdir_in, write_whole,
    RunDirectory, JOB_FILE,
};
pub use journal::{Journal, JournalEntry, JournalEvent, JOURNAL_VERSION};
pub use ligament_agent::memory::MessageMemory;
pub use log::{Level, RunLog, DEFAULT_LOG_BYTES};
pub use names::{ModelNames, Names};
pub use observation::{InstanceCounters, InstanceState, Observation, ObservedWait};
pub use output::{outputs_of, read_output, OutputFiles, DEFAULT_OUTPUT_BYTES};
pub use record::{
    list_some, ChangeState, ConduitRecord, DomainRecord, GridRecord, HaltRecord, InstanceRecord,
    PortsByOperator, RunRecord, RunState, SavedCheckpoint, SteeringRecord, SteeringVerb, UnreceivedRecord,
    UnusedSettingRecord, WaitRecord, WarningRecord,
};
pub use summary::{
    component_of, core_assignments, format_bytes, format_cores, format_count, format_seconds, summary_table,
};
pub use viewer_record::{InstanceMoments, OpenChange, RunNews};
pub use waits::{knots, lasting_waits, stuck_waits, AwaitedResource, Knot, RankWait, WaitEdge};
