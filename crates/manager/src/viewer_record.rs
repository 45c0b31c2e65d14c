//! The state of a run in the form in which it is told to those who watch: its record, and moments in place of
//! durations, which would change by themselves. The page of `ligament view` has its types from here.

use crate::record::RunRecord;
use ligament_agent::memory::MessageMemory;
use serde::Serialize;

/// A run, without its instances and conduits, which are told one by one.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunNews {
    #[serde(flatten)]
    pub record: RunRecord,
    /// The memory of messages, while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MessageMemory>,
    /// The change that is being agreed on, while the run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreeing: Option<Option<OpenChange>>,
}

/// A change that is being agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenChange {
    pub change: u64,
    /// Number of ranks that have not accepted it.
    pub lacks: usize,
    /// The first of those ranks.
    pub names: Vec<String>,
}

/// The news of an instance beside its record. Moments are Unix times, ms.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct InstanceMoments {
    /// The ports on which it sends, once it takes part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<Vec<String>>,
    /// The beginning of its present wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_from: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_from: Option<i64>,
    /// The beginning of its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<i64>,
    /// Duration of all waits but the present one, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
}

impl InstanceMoments {
    /// The durations of a record that grow by themselves. The news of an instance have them only if it is over.
    pub const GROWING: [&str; 3] = ["total", "computing", "waiting"];
}
