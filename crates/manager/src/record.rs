//! `run.json`: the record of a run and of its outcome, made for programs.

use crate::names::Names;
use crate::observation::Observation;
use crate::steering::{SettingAssignment, SteerableRecord};
use crate::summary::component_of;
use ligament_agent::{AwaitedEvent, RunOutcome};
use ligament_catalogue::{hinted, Code, Fault};
use ligament_wire::control::ChangeRequest;
use ligament_wire::times::in_unit;
use ligament_wire::RankId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a run.
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
    /// Returns the word for the state.
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
    /// Version of this format, at present 1.
    pub version: u32,
    /// Version of Ligament that made the record.
    pub ligament: String,
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
    /// Files from which the model was read.
    pub model_files: Vec<String>,
    pub state: RunState,
    /// Reason of the failure, if the run has failed.
    pub reason: Option<String>,
    /// Error code that belongs to the reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// Name of the instance that failed first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// Program of the instance that failed first, with its arguments, in the syntax of a shell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_command: Option<String>,
    /// Process number of the head, which is both manager and agent.
    pub pid: u32,
    /// Address of the agent's socket, in the form of `LIGAMENT_AGENT`.
    pub agent: Option<String>,
    /// Name of the head's machine.
    pub host: String,
    /// Number of cores of that machine that the run may use. 0 in the record of an older version.
    #[serde(default)]
    pub cores: u32,
    /// Unit of model times, if the model declares the unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// Time at which the run began, in RFC 3339, UTC.
    pub started: String,
    pub ended: Option<String>,
    /// Duration of the run, in s.
    pub duration: Option<f64>,
    /// Waits that form the deadlock. Empty if there was no deadlock.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deadlock: Vec<WaitRecord>,
    /// Domains of the run by number, beginning with the head's domain. Empty if the run has only one
    /// domain.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub domains: Vec<DomainRecord>,
    /// Settings that can be steered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steerable: Vec<SteerableRecord>,
    /// Changes that clients have requested, in the order of the requests.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steering: Vec<SteeringRecord>,
    /// Checkpoint from which the run resumed, such as `model-20261128@3`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resumed_from: Option<String>,
    /// The last checkpoint that is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_checkpoint: Option<SavedCheckpoint>,
    /// True if the command that makes the run begins another one if this one fails.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub may_be_continued: bool,
    /// Directory of the run that goes on from a checkpoint of this one, because this one failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continued_by: Option<String>,
    /// Halt at which the instances have stopped, or will stop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub halt: Option<HaltRecord>,
    /// Grids of the model.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub grids: Vec<GridRecord>,
    pub instances: Vec<InstanceRecord>,
    /// Traffic of each conduit.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conduits: Vec<ConduitRecord>,
    /// Conduits of a successful run with messages that were sent and not received.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unreceived: Vec<UnreceivedRecord>,
    /// Settings of a successful run that no instance asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unasked_settings: Vec<UnusedSettingRecord>,
    /// Ports that the code of a component declares, by component, for components whose ports the model does
    /// not declare. The ports have the form of a model file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub declared_ports: BTreeMap<String, PortsByOperator>,
    /// Warnings of the log. Each text is stored once, up to a maximum number of different texts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<WarningRecord>,
    /// Number of further warnings, whose texts are not stored.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_warnings: u64,
}

/// A grid, and its component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GridRecord {
    /// The component; the instance, if the blocks are its ranks.
    pub component: String,
    /// Number of points along each axis.
    pub shape: Vec<u64>,
    /// Number of blocks along each axis.
    pub blocks: Vec<usize>,
    /// Names of the axes along which the grid goes on at its opposite edge.
    pub periodic: Vec<String>,
    /// Names of the instances or ranks that are the blocks. The last axis runs fastest.
    pub names: Vec<String>,
}

/// Maximum number of instances and conduits in a record that is written with line breaks and indentation. In a
/// larger record, more than half of the text would be indentation, and no person reads such a record without a
/// tool.
const MAX_INDENTED_ENTRIES: usize = 10_000;

/// Size that is reserved in memory for the text of an instance or of a conduit, in bytes. Most texts are
/// shorter. The unused part of the memory is never touched, so it costs nothing.
const ENTRY_CAPACITY_BYTES: usize = 512;

impl RunRecord {
    /// Returns the record as the text of `run.json`.
    pub fn text(&self) -> String {
        let (instances, conduits) = (self.instances.len(), self.conduits.len());
        // The capacity is reserved in advance, because each reallocation of a growing text copies the text,
        // and needs memory for both copies.
        let mut text = Vec::with_capacity(ENTRY_CAPACITY_BYTES * (instances + conduits));
        let written = if instances + conduits > MAX_INDENTED_ENTRIES {
            serde_json::to_writer(&mut text, self)
        } else {
            serde_json::to_writer_pretty(&mut text, self)
        };
        // Serialisation fails only for maps whose keys are not texts, and the serialised text is always
        // UTF-8.
        let mut text = written.ok().and_then(|()| String::from_utf8(text).ok()).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Stores the reason of a failure in the record.
    pub fn blame(&mut self, why: Option<&Fault>) {
        self.reason = why.map(Fault::to_string);
        self.code = why.map(|why| why.code().to_string());
    }

    /// Returns the reason of a failure. A record of an earlier version may have the error code only within
    /// the text of the reason.
    pub fn why(&self) -> Option<Fault> {
        let reason = self.reason.as_deref()?;
        let code = self.code.as_deref().and_then(Code::named).or_else(|| hinted(reason));
        Some(Fault::new(code.unwrap_or(Code::REPORTED_AN_ERROR), reason))
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The kind of a request to steer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SteeringVerb {
    #[default]
    Set,
    Pause,
    Step,
    Until,
    Resume,
    Stop,
    Withdraw,
    Checkpoint,
}

impl SteeringVerb {
    pub const ALL: [SteeringVerb; 8] = [
        SteeringVerb::Set,
        SteeringVerb::Pause,
        SteeringVerb::Step,
        SteeringVerb::Until,
        SteeringVerb::Resume,
        SteeringVerb::Stop,
        SteeringVerb::Withdraw,
        SteeringVerb::Checkpoint,
    ];

    /// Returns the verb for a text form.
    pub fn named(name: &str) -> Option<SteeringVerb> {
        SteeringVerb::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// Returns the verb for a request, or `None` if the request only asks for a list of settings.
    pub fn of(request: &ChangeRequest) -> Option<SteeringVerb> {
        Some(match request {
            ChangeRequest::Set(_) => SteeringVerb::Set,
            ChangeRequest::Pause => SteeringVerb::Pause,
            ChangeRequest::Step => SteeringVerb::Step,
            ChangeRequest::Until => SteeringVerb::Until,
            ChangeRequest::Resume => SteeringVerb::Resume,
            ChangeRequest::Stop => SteeringVerb::Stop,
            ChangeRequest::Withdraw(_) => SteeringVerb::Withdraw,
            ChangeRequest::Checkpoint { .. } => SteeringVerb::Checkpoint,
            ChangeRequest::Nothing => return None,
        })
    }

    /// Returns the text form, which is also the form in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SteeringVerb::Set => "set",
            SteeringVerb::Pause => "pause",
            SteeringVerb::Step => "step",
            SteeringVerb::Until => "until",
            SteeringVerb::Resume => "resume",
            SteeringVerb::Stop => "stop",
            SteeringVerb::Withdraw => "withdraw",
            SteeringVerb::Checkpoint => "checkpoint",
        }
    }
}

/// The progress of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeState {
    /// The head is asking the ranks for agreement.
    #[default]
    #[serde(rename = "asked")]
    Asked,
    /// All ranks concerned have accepted the change and will make it.
    #[serde(rename = "agreed")]
    Agreed,
    /// All ranks concerned have made the change.
    #[serde(rename = "in force")]
    InForce,
    /// The change was refused and does not happen.
    #[serde(rename = "refused")]
    Refused,
}

/// A change that takes effect at a model time, and the progress of the change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringRecord {
    /// Number of the change.
    pub change: u64,
    pub who: String,
    /// Time of the request, RFC 3339, UTC.
    pub asked: String,
    pub what: SteeringVerb,
    /// Settings that change.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<SettingAssignment>,
    /// Model time from which on the change holds, in s: the requested time, or the time on which all ranks
    /// have agreed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_time: Option<f64>,
    /// Unit of the model time, if the model declares the unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// True if the change holds from the next pass of the reuse loop on. False if the change holds from the
    /// next step on.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub restart: bool,
    pub state: ChangeState,
    /// Reason of the refusal, if the change was refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Number of the checkpoint that was asked for, when it is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<u32>,
}

impl SteeringRecord {
    /// Returns true if the change will happen or has happened.
    pub fn is_agreed(&self) -> bool {
        matches!(self.state, ChangeState::Agreed | ChangeState::InForce)
    }

    /// Returns a description of the change, as a sentence without its full stop.
    pub fn describe(&self) -> String {
        let one = |one: &SettingAssignment| match &one.from {
            Some(from) => format!("{} from {from} to {}", one.name, one.to),
            None => format!("{} to {}", one.name, one.to),
        };
        let settings: Vec<String> = self.settings.iter().map(one).collect();
        let what = if settings.is_empty() { self.what.name().to_owned() } else { list_some(&settings, 4) };
        let first = if self.restart { "pass" } else { "step" };
        let when = match self.model_time {
            Some(at) => format!("from the first {first} at {} on", in_unit(at, self.time_unit.as_deref())),
            None => "as soon as all can".to_owned(),
        };
        let Self { change, who, .. } = self;
        match (self.state, &self.reason) {
            (ChangeState::Refused, Some(why)) => {
                format!("change {change} by {who} ({what}) is refused: {why}")
            }
            (ChangeState::InForce, _) if self.checkpoint.is_some() => {
                format!("change {change} ({what}) has made checkpoint {}", self.checkpoint.unwrap_or_default())
            }
            (ChangeState::Agreed, _) => format!("change {change} by {who}: {what}, {when}"),
            (ChangeState::InForce, _) => format!("change {change} ({what}) is in force"),
            _ => format!("{who} wants change {change}: {what}, {when}"),
        }
    }
}

/// A checkpoint of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedCheckpoint {
    pub number: u32,
    /// Its model time, in s. Absent if it was saved at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_time: Option<f64>,
    /// Time at which it was whole, RFC 3339, UTC.
    pub saved: String,
}

/// The halt of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HaltRecord {
    pub change: u64,
    /// Model time of the halt, in s.
    pub at: f64,
    /// True if the run ends when all instances have halted.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stops: bool,
    /// Names of the instances that have halted.
    pub held: Vec<String>,
    /// Names of the instances that have never called `steer(t)`, and therefore do not halt.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unsteered: Vec<String>,
}

impl HaltRecord {
    /// Returns the remark about instances that do not halt, or `None` if all instances halt. Several instances
    /// of a component, such as the blocks of a grid, are counted.
    pub fn not_held(unsteered: &[String]) -> Option<String> {
        let mut counts: Vec<(&str, usize, &str)> = Vec::new();
        for name in unsteered {
            match counts.iter_mut().find(|(component, ..)| *component == component_of(name)) {
                Some((_, count, _)) => *count += 1,
                None => counts.push((component_of(name), 1, name)),
            }
        }
        let words = counts.into_iter().map(|(component, count, first)| match count {
            1 => first.to_owned(),
            _ => format!("{count} of {component}"),
        });
        let names = list_some(&words.collect::<Vec<String>>(), 8);
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

/// A conduit and the traffic of all its channels. The names of the two ports have no indices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConduitRecord {
    pub from: String,
    pub to: String,
    /// Number of channels.
    pub channels: u64,
    /// Number of messages sent; the next field has the size of their bodies, in bytes.
    pub messages: u64,
    pub bytes: u64,
    /// Latest timestamp that was sent, in s.
    pub model_time: Option<f64>,
    /// Number of messages received; the next two fields have their size in bytes and their latest timestamp
    /// in s.
    pub received_messages: u64,
    pub received_bytes: u64,
    pub received_time: Option<f64>,
    /// Number of messages that were sent and have not been received yet.
    pub under_way: u64,
}

/// A conduit and the number of its messages that were not received. The names of the two ports have no
/// indices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreceivedRecord {
    pub from: String,
    pub to: String,
    pub messages: u64,
}

/// Names of ports by the name of their operator, such as `o_i: [call]`.
pub type PortsByOperator = BTreeMap<String, Vec<String>>;

/// Groups ports by operator. `ports` has the name and the operator of each port.
pub(crate) fn by_operator(ports: Vec<(String, String)>) -> PortsByOperator {
    let mut all = PortsByOperator::new();
    for (name, operator) in ports {
        all.entry(operator.to_ascii_lowercase()).or_default().push(name);
    }
    all
}

/// A setting that no instance asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedSettingRecord {
    pub name: String,
    /// Name that the user perhaps meant. An instance has asked for a setting with this name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub meant: Option<String>,
    /// True if the user gave the setting for this run. False if the setting is in the model.
    pub given: bool,
}

/// An entry of the log whose level is a warning or worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningRecord {
    /// Source of the entry: the name of an instance, `run` or `agent`.
    pub who: String,
    pub text: String,
    /// Number of times that the entry was logged.
    pub times: u64,
}

impl RunRecord {
    /// Maximum number of different warnings whose text the record stores.
    const MAX_WARNINGS: usize = 100;
    /// Maximum size of these texts, so that the record fits into the space that is reserved for it.
    pub(crate) const MAX_WARNING_BYTES: usize = 32 << 10;

    /// Adds a warning of the log to the record.
    pub fn warn(&mut self, who: &str, text: &str) {
        let stored: usize = self.warnings.iter().map(|one| one.text.len()).sum();
        let room = self.warnings.len() < RunRecord::MAX_WARNINGS
            && stored + text.len() <= RunRecord::MAX_WARNING_BYTES;
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
    /// Name of the domain, for people.
    pub name: String,
    /// Name of the domain's machine.
    pub host: String,
    /// Number of cores that the domain's instances may use.
    pub cores: u32,
    /// Process number of the domain's agent.
    pub pid: u32,
    /// Directory of the files of the domain's instances, if the run directory is not visible on the
    /// domain's machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scratch: Option<String>,
    /// True if the domain's agent was lost before the run ended.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub lost: bool,
}

/// A wait that is part of a deadlock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitRecord {
    pub instance: String,
    /// Awaited resource: `message`, `room` (room in a conduit, to send) or `memory`.
    pub lack: String,
    /// Ports of the waiting instance, such as `micro.init`.
    pub at: Vec<String>,
    /// Ports at the other ends of the conduits, in the same order. For a wait for memory: the instances
    /// that could free memory.
    pub waits_for: Vec<String>,
    /// Instances to which the ports in `waits_for` belong, each listed once.
    pub waits_on: Vec<String>,
    /// Duration of the wait so far, in s.
    pub waits_since: f64,
}

/// The record of an instance. All durations and model times are in s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub name: String,
    pub state: String,
    /// Number of the instance's domain, if the run has several domains. The next field has the domain's
    /// name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub domain: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<String>,
    pub pid: Option<u32>,
    /// Cores of the instance, such as `0-3`. `None` if the instance shares all cores with other instances.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cores: Option<String>,
    /// Description of the end of the instance's process.
    pub exit: Option<String>,
    pub model_time: Option<f64>,
    /// Model time at which the instance will be done, if the settings of the instance show this time. Only
    /// present while the run goes on.
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
    /// Port for which the instance waits, such as `micro.final`, or another cause of the wait.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<String>,
    /// Duration of the present wait so far, in s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_since: Option<f64>,
    /// Instances that could end the wait. Empty if any instance could end the wait.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waits_on: Vec<String>,
    /// True if the wait has a time-out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub waits_with_timeout: bool,
    /// True if the instance's process is stopped by a signal or a debugger.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stopped: bool,
    /// Description of the rank of an MPI program that lags behind the other ranks. The next field has the
    /// duration of this lag, in s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks_since: Option<f64>,
}

/// Returns a list of the first `most` names, followed by the number of the remaining names.
pub fn list_some(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{}, … and {more} more", names[..most].join(", ")),
    }
}

/// Returns a description of a wait, and the names of the instances that could end the wait.
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
    /// Makes the record of an observed instance.
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
    use super::{HaltRecord, InstanceRecord, RunRecord, SteeringVerb, MAX_INDENTED_ENTRIES};

    #[test]
    fn blocks_that_do_not_halt_are_counted() {
        let not_held = |names: &[&str]| {
            HaltRecord::not_held(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let told = not_held(&["wave[0][0]", "wave[0][1]", "sink", "ice:0", "ice:1"]).unwrap();
        assert!(told.starts_with("2 of wave, sink, 2 of ice have never called steer(t): they go on"), "{told}");
        let told = not_held(&["wave[1]"]).unwrap();
        assert!(told.starts_with("wave[1] has never called steer(t): it goes on"), "{told}");
        assert_eq!(not_held(&[]), None);
    }

    #[test]
    fn a_verb_has_one_text_form() {
        for verb in SteeringVerb::ALL {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.name());
            assert_eq!(SteeringVerb::named(verb.name()), Some(verb));
        }
        assert_eq!(SteeringVerb::named("rm"), None);
    }

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
