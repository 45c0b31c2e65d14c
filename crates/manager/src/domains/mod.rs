//! One run over several domains, as its head sees it; no I/O and no clock. `gathering`: who has joined, and who is still
//! missing. `head`: what the agents of all domains tell becomes one view of the
//! run, and what is to be done goes to those whose business it is.

mod gathering;
mod head;

pub use gathering::{Gathering, Joined};
pub use head::{Doing, Head};
pub use ligament_agent::domains::Expected;
