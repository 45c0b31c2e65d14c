//! The agent of a domain. The agent makes and holds the memory that instances share, starts and watches the
//! processes of the instances, and ends all these processes when one of them fails. `core` is the agent's
//! logic, without I/O; `driver` does the I/O.

mod action;
mod agent_socket;
mod connection;
pub mod core;
mod custody;
pub mod domains;
mod driver;
mod host;
pub mod memory;
mod outcome;
pub mod plan;
pub mod ports;
mod process;
mod sys;
pub mod wiring;

pub use action::{
    Action, AgentOrder, AgentReport, Caller, ConnectionId, InstancePhase, MemoryRegion, ProcessSignal,
    TapViewer,
};
pub use core::{AgentCore, SocketIdentity};
pub use custody::{ChannelView, Custody, TimelineDelta};
pub use driver::{run, DomainResult, OtherDomains};
pub use host::{
    DrainReason, ExternalRequest, Host, InstanceView, PeekRequest, ProcessInspection, RankLag, RemoteTapEvent,
    RunView, StartedProcess,
};
pub use ligament_carrier::{Carrier, CarrierReport};
pub use ligament_launch::{terminal_text, Guard};
pub use ligament_shm::area::ChannelCount;
pub use ligament_shm::status::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
pub use ligament_shm::timeline::{Activity, Cause, CauseSum, TimelineInterval, TimelineTotals, REST};
pub use outcome::{failure_sentence, Exit, RunFailure, RunOutcome};
pub use plan::{settings_body, PlannedInstance, RunPlan};
pub use process::{process_state, ProcessState};
