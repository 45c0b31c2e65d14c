//! Whole runs of the product's code in one process, under a virtual clock: instances on real endpoints, with
//! the real logic of agent and manager and real custody, through random schedules of delays, reorderings and
//! crashes. A schedule follows from its seed alone. What it must hold to is in `verdict`.

mod agent;
pub mod domains;
mod line;
mod manager;
mod part;
mod random;
mod schedule;
mod script;
mod stage;
pub mod steering;
mod truth;
mod verdict;

pub use schedule::{run, Account};
