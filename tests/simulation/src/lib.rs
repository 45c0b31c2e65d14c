//! Simulates whole runs in one process under a virtual clock: real endpoints, and the real logic and custody of
//! agent and manager, in random schedules of delays, reorderings and crashes. A schedule follows from its seed
//! alone. `verdict` has the rules that each schedule must keep.

mod agent;
pub mod cuts;
pub mod domains;
mod line;
mod manager;
mod part;
mod random;
mod requests;
mod schedule;
mod script;
mod stage;
pub mod steering;
mod truth;
mod verdict;

pub use schedule::{run, Account};
