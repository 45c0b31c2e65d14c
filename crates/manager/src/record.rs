//! `run.json`: what a run is and how it went, for programs.

use crate::observation::{Observation, Standing};
use serde::{Deserialize, Serialize};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Running,
    Done,
    Failed,
    Stopped,
    Interrupted,
}

impl RunState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Done => "done",
            RunState::Failed => "failed",
            RunState::Stopped => "stopped",
            RunState::Interrupted => "interrupted",
        }
    }
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of this format: 1.
    pub version: u32,
    /// The version of Ligament.
    pub ligament: String,
    /// The run's name.
    pub run: String,
    /// The model's.
    pub model: String,
    /// The files that it was read from.
    pub model_files: Vec<String>,
    pub state: RunState,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// The process of manager and agent.
    pub pid: u32,
    /// The agent's socket, as `LIGAMENT_AGENT` has it.
    pub agent: Option<String>,
    /// The machine's name.
    pub host: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub ended: Option<String>,
    /// s
    pub duration: Option<f64>,
    pub instances: Vec<InstanceRecord>,
}

/// An instance in the record. Times in s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub name: String,
    pub state: String,
    pub pid: Option<u32>,
    /// How its process ended, in words.
    pub exit: Option<String>,
    pub model_time: Option<f64>,
    pub iterations: u64,
    pub total: f64,
    pub computing: f64,
    pub waiting: f64,
    pub transferring: f64,
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// For which port it waits, such as `micro.final`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<String>,
    /// For how long, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_since: Option<f64>,
}

impl InstanceRecord {
    /// From what is known of it; `port` names the other end of a channel.
    pub fn of(seen: &Observation, exit: Option<String>, port: impl Fn(u32, bool) -> String) -> InstanceRecord {
        let counters = &seen.counters;
        let waits_for = match seen.standing {
            Standing::WaitingToReceive(Some(channel)) => Some(port(channel, false)),
            Standing::WaitingToSend(Some(channel)) => Some(port(channel, true)),
            Standing::WaitingToReceive(None) => Some("any of several ports".to_owned()),
            _ => None,
        };
        InstanceRecord {
            name: seen.name.clone(),
            state: seen.standing.name().to_owned(),
            pid: seen.pid,
            exit,
            model_time: seen.model_time,
            iterations: counters.iterations,
            total: counters.total,
            computing: counters.computing(),
            waiting: counters.waiting,
            transferring: counters.transferring,
            sent_messages: counters.sent_messages,
            sent_bytes: counters.sent_bytes,
            received_messages: counters.received_messages,
            received_bytes: counters.received_bytes,
            waits_since: waits_for.as_ref().and(seen.since),
            waits_for,
        }
    }
}
