//! Many evaluations of a model with different settings: `parameters` says what varies and how that is written,
//! `sampler` chooses the points, `pool` hands them to instances as these become free, `statistics` adds up what
//! they answer. None of these does I/O. `journal` keeps the answers, so that a later run can go on with them;
//! `progress` tells a viewer how far the study is; `whole_file` writes files that are whole or not there.
//! `study` joins them to an instance that speaks Ligament. `docs/guides/ensembles-and-settings.md` describes it
//! for users.

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
