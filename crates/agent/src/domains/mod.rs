//! Duties of an agent that is not the head's: it reports to the head, and carries out the head's orders.
//! `remote_agent` has the logic of that. `plan_conversion` converts the plan to the types of the protocol, and
//! back.

mod plan_conversion;
mod remote_agent;

/// The manager waits for these domains to join, and needs nothing else of launchers.
pub use ligament_launch::agents::ExpectedDomain;
pub use plan_conversion::{
    nodes_from_wire, plan_from_wire, plan_to_wire, program_from_wire, resources_from_wire, Distribution,
};
pub use remote_agent::{orders, HeadRequest, RemoteAgent, SnapshotSource};
