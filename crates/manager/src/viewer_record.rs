//! The state of a run in the form that viewers receive. This form has the record of the run, with points in
//! time in place of durations, because durations would change all the time. The page of `ligament view` has
//! its types from this file.

use crate::record::RunRecord;
use ligament_agent::memory::MessageMemory;
use serde::Serialize;

/// The state of a run without its instances and conduits, which are sent one by one.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunNews {
    #[serde(flatten)]
    pub record: RunRecord,
    /// Memory for messages. Only present while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MessageMemory>,
    /// The change on which ranks are being asked to agree. Only present while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreeing: Option<Option<OpenChange>>,
}

/// A change on which ranks are being asked to agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenChange {
    pub change: u64,
    /// Number of ranks that have not accepted the change.
    pub lacks: usize,
    /// Names of the first of these ranks.
    pub names: Vec<String>,
}

/// The news of an instance in addition to its record. Points in time are Unix times, in ms.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct InstanceMoments {
    /// Ports on which the instance sends. Present from the time at which the instance has registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<Vec<String>>,
    /// Fields of a grid that the instance publishes; they are among the ports of `sends`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<String>,
    /// Time at which the present wait of the instance began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_from: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_from: Option<i64>,
    /// Time at which the instance began its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<i64>,
    /// Duration of all waits except the present wait, in s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
}

impl InstanceMoments {
    /// Names of the durations of a record that grow with time. The news of an instance include these
    /// durations only after the instance has ended.
    pub const GROWING: [&str; 3] = ["total", "computing", "waiting"];
}
