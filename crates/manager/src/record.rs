//! `run.json`: what a run is and how it went, for programs.

use crate::names::Names;
use crate::observation::Observation;
use crate::steering::{SettingAssignment, SteerableRecord};
use ligament_agent::{AwaitedEvent, RunOutcome};
use ligament_catalogue::{hinted, Code, Fault};
use ligament_wire::times::in_unit;
use ligament_wire::RankId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a run stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    #[default]
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

impl From<&RunOutcome> for RunState {
    fn from(outcome: &RunOutcome) -> RunState {
        match outcome {
            RunOutcome::Done => RunState::Done,
            RunOutcome::Failed(_) => RunState::Failed,
            RunOutcome::Stopped => RunState::Stopped,
            RunOutcome::Interrupted => RunState::Interrupted,
        }
    }
}

/// The record of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// By which the reason is explained.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// The instance that failed first, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// The program that it ran, with its arguments, as a shell takes them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_command: Option<String>,
    /// The process of manager and agent.
    pub pid: u32,
    /// The agent's socket, as `LIGAMENT_AGENT` has it.
    pub agent: Option<String>,
    /// The machine's name.
    pub host: String,
    /// Cores of it that the run may use; 0 in the record of an older version.
    #[serde(default)]
    pub cores: u32,
    /// The unit of model times, if the model says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    pub ended: Option<String>,
    /// s
    pub duration: Option<f64>,
    /// Who waited for whom when the run was found to be deadlocked; empty if it was not.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deadlock: Vec<WaitRecord>,
    /// The domains of the run, by number, the head first; empty if there is one only.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub domains: Vec<DomainRecord>,
    /// What can be steered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steerable: Vec<SteerableRecord>,
    /// What was steered, in the order in which it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steering: Vec<SteeringRecord>,
    /// The model time from which on the run stands still, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub halt: Option<HaltRecord>,
    pub instances: Vec<InstanceRecord>,
    /// What has passed each conduit.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conduits: Vec<ConduitRecord>,
    /// Of a run that is done, messages that were sent and that nobody received.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unreceived: Vec<UnreceivedRecord>,
    /// Of a run that is done, settings that nobody asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unasked_settings: Vec<UnusedSettingRecord>,
    /// Of components whose ports the model does not declare, those that their code does, as a model file has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub declared_ports: BTreeMap<String, PortsByOperator>,
    /// The warnings of the log, each once, the first that there were.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<WarningRecord>,
    /// How many more there were.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_warnings: u64,
}

/// A record of more instances and conduits than this is written without line breaks and indentation: nobody reads it by
/// eye, and they would be more than half of it.
const MAX_INDENTED_ENTRIES: usize = 10_000;

/// Room for the text of an instance or a conduit in a record. What is not needed is never touched.
const ENTRY_CAPACITY_BYTES: usize = 512;

impl RunRecord {
    /// As `run.json` has it.
    pub fn text(&self) -> String {
        let (instances, conduits) = (self.instances.len(), self.conduits.len());
        // A text that grows as it is written is there twice, each time that it moves.
        let mut text = Vec::with_capacity(ENTRY_CAPACITY_BYTES * (instances + conduits));
        let written = if instances + conduits > MAX_INDENTED_ENTRIES {
            serde_json::to_writer(&mut text, self)
        } else {
            serde_json::to_writer_pretty(&mut text, self)
        };
        // Only maps whose keys are no texts could fail, and no text is other than UTF-8.
        let mut text = written.ok().and_then(|()| String::from_utf8(text).ok()).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Notes why it failed, if it did.
    pub fn blame(&mut self, why: Option<&Fault>) {
        self.reason = why.map(Fault::to_string);
        self.code = why.map(|why| why.code().to_string());
    }

    /// Why it failed. A record of an earlier version has no code but the one that its text may name.
    pub fn why(&self) -> Option<Fault> {
        let reason = self.reason.as_deref()?;
        let code = self.code.as_deref().and_then(Code::named).or_else(|| hinted(reason));
        Some(Fault::new(code.unwrap_or(Code::REPORTED_AN_ERROR), reason))
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Something that was to happen at a model time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringRecord {
    /// Its number.
    pub change: u64,
    pub who: String,
    /// When it was asked for, RFC 3339, UTC.
    pub asked: String,
    /// `set`, `pause`, `step`, `until` or `stop`.
    pub what: String,
    /// What changes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<SettingAssignment>,
    /// From which model time on: what was asked for, or what all have agreed on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_time: Option<f64>,
    /// The unit of that, if the model says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// Whether it is in force from the first pass on that begins then, and not from the first step.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub restart: bool,
    /// `asked`, `agreed`, `in force` or `refused`.
    pub state: String,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl SteeringRecord {
    /// It is being agreed on.
    pub const STATE_ASKED: &'static str = "asked";
    /// All whom it concerns will make it.
    pub const STATE_AGREED: &'static str = "agreed";
    /// All whom it concerns have made it.
    pub const STATE_IN_FORCE: &'static str = "in force";
    /// It does not happen.
    pub const STATE_REFUSED: &'static str = "refused";

    /// Whether it happens, or has happened.
    pub fn is_agreed(&self) -> bool {
        self.state == SteeringRecord::STATE_AGREED || self.state == SteeringRecord::STATE_IN_FORCE
    }

    /// It as a sentence, without a full stop.
    pub fn describe(&self) -> String {
        let one = |one: &SettingAssignment| match &one.from {
            Some(from) => format!("{} from {from} to {}", one.name, one.to),
            None => format!("{} to {}", one.name, one.to),
        };
        let settings: Vec<String> = self.settings.iter().map(one).collect();
        let what = match settings.is_empty() {
            true => self.what.clone(),
            false => list_some(&settings, 4),
        };
        let first = if self.restart { "pass" } else { "step" };
        let when = match self.model_time {
            Some(at) => format!("from the first {first} at {} on", in_unit(at, self.time_unit.as_deref())),
            None => "as soon as all can".to_owned(),
        };
        let Self { change, who, .. } = self;
        match (self.state.as_str(), &self.reason) {
            (SteeringRecord::STATE_REFUSED, Some(why)) => {
                format!("change {change} by {who} ({what}) is refused: {why}")
            }
            (SteeringRecord::STATE_AGREED, _) => format!("change {change} by {who}: {what}, {when}"),
            (SteeringRecord::STATE_IN_FORCE, _) => format!("change {change} ({what}) is in force"),
            _ => format!("{who} wants change {change}: {what}, {when}"),
        }
    }
}

/// From where on a run stands still.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HaltRecord {
    pub change: u64,
    /// The model time, s.
    pub at: f64,
    /// Whether the run ends when all stand still.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stops: bool,
    /// Who stands there.
    pub held: Vec<String>,
    /// Who has never called `steer(t)`, and so is not held.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unsteered: Vec<String>,
}

impl HaltRecord {
    /// What is to be said of those who are not held; none if there are none.
    pub fn not_held(unsteered: &[String]) -> Option<String> {
        let names = list_some(unsteered, 8);
        match unsteered.len() {
            0 => None,
            1 => Some(format!(
                "{names} has never called steer(t): it goes on until it waits for others, or calls it"
            )),
            _ => Some(format!(
                "{names} have never called steer(t): they go on until they wait for others, or call it"
            )),
        }
    }
}

/// A conduit, from port to port without indices, and what has passed all of its channels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConduitRecord {
    pub from: String,
    pub to: String,
    /// Ways from one instance, or slot, to another.
    pub channels: u64,
    /// What was sent; bytes are those of the messages' bodies.
    pub messages: u64,
    pub bytes: u64,
    /// The latest timestamp that was sent, s.
    pub model_time: Option<f64>,
    /// What was received, and the latest timestamp of that.
    pub received_messages: u64,
    pub received_bytes: u64,
    pub received_time: Option<f64>,
    /// Messages that were sent and not received yet.
    pub under_way: u64,
}

/// A conduit, from port to port without indices, and how many of its messages nobody received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreceivedRecord {
    pub from: String,
    pub to: String,
    pub messages: u64,
}

/// `o_i: [call]`: the names of ports by those of their operators.
pub type PortsByOperator = BTreeMap<String, Vec<String>>;

/// Sorts ports, by name and operator, by their operators.
pub(crate) fn by_operator(ports: Vec<(String, String)>) -> PortsByOperator {
    let mut all = PortsByOperator::new();
    for (name, operator) in ports {
        all.entry(operator.to_ascii_lowercase()).or_default().push(name);
    }
    all
}

/// A setting that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedSettingRecord {
    pub name: String,
    /// What was perhaps meant: somebody asked for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub meant: Option<String>,
    /// Whether it was set for this run, not in the model.
    pub given: bool,
}

/// A warning, or worse, in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningRecord {
    /// An instance, `run` or `agent`.
    pub who: String,
    pub text: String,
    /// How often it was said.
    pub times: u64,
}

impl RunRecord {
    /// Of how many different warnings the record keeps the text.
    const MAX_WARNINGS: usize = 100;

    /// The log got a warning.
    pub fn warn(&mut self, who: &str, text: &str) {
        let room = self.warnings.len() < RunRecord::MAX_WARNINGS;
        match self.warnings.iter_mut().find(|one| one.who == who && one.text == text) {
            Some(known) => known.times += 1,
            None if room => {
                let (who, text) = (who.to_owned(), text.to_owned());
                self.warnings.push(WarningRecord { who, text, times: 1 });
            }
            None => self.more_warnings += 1,
        }
    }
}

/// A domain of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainRecord {
    /// What people call it.
    pub name: String,
    /// The machine's name.
    pub host: String,
    /// Cores that its instances may use.
    pub cores: u32,
    /// The process of its agent.
    pub pid: u32,
    /// Where its instances had their files, if the run directory was not to be seen from there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scratch: Option<String>,
}

/// A wait in a deadlock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitRecord {
    pub instance: String,
    /// `message`, `room` (for what is to be sent) or `memory`.
    pub lack: String,
    /// The instance's own ports that it waits at, such as `micro.init`.
    pub at: Vec<String>,
    /// The ports at the other ends, in the same order; for memory, whoever could give some back.
    pub waits_for: Vec<String>,
    /// The instances that those belong to, each once.
    pub waits_on: Vec<String>,
    /// For how long, s.
    pub waits_since: f64,
}

/// An instance in the record. Times in s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub name: String,
    pub state: String,
    /// The number of its domain, if the run has several, and the name of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub domain: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<String>,
    pub pid: Option<u32>,
    /// The cores that are its own, such as `0-3`; none if it shares all of them with others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cores: Option<String>,
    /// How its process ended, in words.
    pub exit: Option<String>,
    pub model_time: Option<f64>,
    /// The model time at which it will be done, if its settings say that; of a run that is under way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_end: Option<f64>,
    pub iterations: u64,
    pub total: f64,
    pub computing: f64,
    pub waiting: f64,
    pub transferring: f64,
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// For which port it waits, such as `micro.final`, or for what else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<String>,
    /// For how long, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_since: Option<f64>,
    /// The instances that could end the wait, if not anybody could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waits_on: Vec<String>,
    /// Whether the wait ends by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub waits_with_timeout: bool,
    /// Whether its process is stopped, by a signal or a debugger.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stopped: bool,
    /// Of an MPI program, which rank has not come where others are, in words, and for how long, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks_since: Option<f64>,
}

/// A few of many.
pub fn list_some(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{}, … and {more} more", names[..most].join(", ")),
    }
}

/// What a wait is for, in words, and the instances that could end it.
fn awaited(what: &AwaitedEvent, names: &impl Names) -> (String, Vec<String>) {
    const MAX_NAMED_PORTS: usize = 4;
    match what {
        AwaitedEvent::Message { channels } => {
            let senders: Vec<(RankId, String)> =
                channels.iter().filter_map(|&channel| Some(names.ends(channel)?.0)).collect();
            let ports: Vec<String> = senders.iter().map(|(_, port)| port.clone()).collect();
            let mut on: Vec<RankId> = senders.iter().map(|(rank, _)| *rank).collect();
            on.sort_unstable();
            on.dedup();
            let text = if ports.len() > 1 { "any of " } else { "" };
            let on = on.into_iter().map(|rank| names.rank(rank)).collect();
            (format!("{text}{}", list_some(&ports, MAX_NAMED_PORTS)), on)
        }
        AwaitedEvent::Credit { channel, .. } => match names.ends(*channel) {
            Some((_, (rank, port))) => (port, vec![names.rank(rank)]),
            None => ("?".to_owned(), Vec::new()),
        },
        AwaitedEvent::Slots { endpoint } => {
            let name = names.rank(endpoint.leader());
            (format!("{name} to take what was sent to it"), vec![name])
        }
        AwaitedEvent::Memory => ("memory".to_owned(), Vec::new()),
        AwaitedEvent::Steering { change } => (format!("change {change} of who steers"), Vec::new()),
    }
}

impl InstanceRecord {
    /// From what is known of it.
    pub fn of(seen: &Observation, exit: Option<String>, names: &impl Names) -> InstanceRecord {
        let counters = &seen.counters;
        let waits = seen.waits.as_ref();
        let (waits_for, waits_on) = waits.map(|waits| awaited(&waits.what, names)).unzip();
        InstanceRecord {
            name: seen.name.clone(),
            state: seen.state.name().to_owned(),
            domain: None,
            on: None,
            pid: seen.pid,
            cores: None,
            exit,
            model_time: seen.model_time,
            model_end: None,
            iterations: counters.iterations,
            total: counters.total,
            computing: counters.computing(),
            waiting: counters.waiting,
            transferring: counters.transferring,
            sent_messages: counters.sent_messages,
            sent_bytes: counters.sent_bytes,
            received_messages: counters.received_messages,
            received_bytes: counters.received_bytes,
            waits_for,
            waits_since: waits.map(|waits| waits.seconds),
            waits_on: waits_on.unwrap_or_default(),
            waits_with_timeout: waits.is_some_and(|waits| waits.timed),
            stopped: seen.stopped,
            ranks: seen.ranks.as_ref().map(|ranks| ranks.what.clone()),
            ranks_since: seen.ranks.as_ref().map(|ranks| ranks.seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InstanceRecord, RunRecord, MAX_INDENTED_ENTRIES};

    #[test]
    fn a_record_is_one_line_if_it_is_large_and_reads_the_same_either_way() {
        for (instances, is_one_line) in [(MAX_INDENTED_ENTRIES, false), (MAX_INDENTED_ENTRIES + 1, true)] {
            let one = InstanceRecord { name: "micro".to_owned(), ..InstanceRecord::default() };
            let record = RunRecord { instances: vec![one; instances], ..RunRecord::default() };
            let text = record.text();
            assert_eq!(text.lines().count() == 1, is_one_line);
            assert!(text.ends_with("}\n"));
            assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record);
        }
    }
}
