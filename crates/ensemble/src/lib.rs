//! Studies: many evaluations of a model with different settings. `parameters` describes the settings that vary.
//! `sampler` chooses the points. `pool` assigns evaluations to instances. `statistics` computes statistics of
//! the answers. These four modules do no I/O. `journal` stores the answers, so that a later run can continue.
//! `progress` writes the progress for viewers. `whole_file` replaces a file in one step. `study` connects these
//! modules with an instance. `docs/guides/ensembles-and-settings.md` describes studies for users.

mod journal;
mod parameters;
mod pool;
mod progress;
mod random;
mod sampler;
mod sobol;
mod statistics;
mod study;
mod tables;
mod whole_file;

pub use journal::{AnswerEntry, ANSWERS};
pub use parameters::{Parameter, Values};
pub use pool::{EvaluationAnswer, InstancePool, StudyProgress};
pub use progress::{FailureRecord, ProgressRecord, MAX_PROGRESS_BYTES, PROGRESS};
pub use sampler::{SamplingMethod, SamplingPlan};
pub use statistics::{Statistics, Summary};
pub use study::run_study;
