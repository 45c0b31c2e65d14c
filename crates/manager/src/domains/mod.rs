//! One run over several domains, as its head sees it; no I/O and no clock. `gathering`: who has joined, and who is still
//! missing. `head`: what the agents of all domains tell becomes one view of the
//! run, and what is to be done goes to those whose business it is.

mod gathering;
mod head;

pub use gathering::{Expected, Gathering, Joined};
pub use head::{Doing, Head};

/// What people call a domain: its number, and its machine or its name.
fn called(domain: u32, name: &str) -> String {
    match domain {
        0 => format!("the head on {name} (domain 0)"),
        _ => format!("the agent on {name} (domain {domain})"),
    }
}
