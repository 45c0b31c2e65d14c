//! Duties of an agent that is not the head's: it reports to the head, and carries out the head's orders.
//! `remote_agent` has the logic of that. `wire_conversion` converts between the types of this crate and those
//! of the protocol; `plan_conversion` does so for the plan.

mod plan_conversion;
mod remote_agent;
mod wire_conversion;

/// The manager waits for these domains to join, and needs nothing else of launchers.
pub use ligament_launch::agents::ExpectedDomain;
pub use plan_conversion::{
    nodes_from_wire, plan_from_wire, plan_to_wire, program_from_wire, resources_from_wire, Distribution,
};
pub use remote_agent::{orders, HeadRequest, RemoteAgent, SnapshotSource};
pub(crate) use wire_conversion::truncated;
pub use wire_conversion::{
    inspection_from_wire, outcome_from_wire, passage_from_wire, passage_to_wire, report_from_wire,
    view_from_wire,
};
pub use wire_conversion::{
    lane_to_wire, order_from_wire, order_to_wire, outcome_to_wire, page_to_wire, report_to_wire, row_to_wire,
    timeline_from_wire,
};
