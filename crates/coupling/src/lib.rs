//! The shipped components: sources and sinks, which join a model to files; mappers, which join several
//! conduits; and the process that runs them. One table in `ligament-model` (`shipped`) lists their names,
//! ports and settings. `docs/reference/shipped.md` describes each.
//!
//! `process` runs each instance as the component that the model names. `sources`, `sinks` and `mappers` are
//! these components. `files` reads and writes file formats, `tables` reads and writes rows of text, and
//! `values` converts single values. `mapping` computes the weights between meshes. `implicit` lets components
//! repeat a window of time until they agree.

mod files;
mod implicit;
mod mappers;
pub mod mapping;
mod numbers;
mod process;
mod settings;
mod sinks;
mod sources;
pub mod tables;
pub mod values;

pub use process::{run_ended_instance, run_shipped};
