//! `run.json`: the record of a run and its outcome, for programs.

use crate::names::Names;
use crate::observation::Observation;
use crate::steering::{SettingAssignment, SteerableRecord};
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
    /// The word for the state.
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
    /// The name of the model.
    pub model: String,
    /// The files from which the model was read.
    pub model_files: Vec<String>,
    pub state: RunState,
    /// The reason of a failure.
    pub reason: Option<String>,
    /// The error code that explains the reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// The instance that failed first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// The program of that instance, with its arguments, in the syntax of a shell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_command: Option<String>,
    /// The process of manager and agent.
    pub pid: u32,
    /// The agent's socket, in the form of `LIGAMENT_AGENT`.
    pub agent: Option<String>,
    /// The machine's name.
    pub host: String,
    /// Number of its cores that the run may use; 0 in the record of an older version.
    #[serde(default)]
    pub cores: u32,
    /// The unit of model times, if the model declares it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    pub ended: Option<String>,
    /// s
    pub duration: Option<f64>,
    /// The waits of a deadlock; empty if there was none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deadlock: Vec<WaitRecord>,
    /// The domains of the run by number, the head's first; empty if there is one only.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub domains: Vec<DomainRecord>,
    /// The settings that can be steered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steerable: Vec<SteerableRecord>,
    /// The changes that were asked for, in the order of the requests.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steering: Vec<SteeringRecord>,
    /// The halt at which the run stands still, or will.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub halt: Option<HaltRecord>,
    pub instances: Vec<InstanceRecord>,
    /// The traffic of each conduit.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conduits: Vec<ConduitRecord>,
    /// Of a successful run, messages that were sent and not received.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unreceived: Vec<UnreceivedRecord>,
    /// Of a successful run, settings that no instance asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unasked_settings: Vec<UnusedSettingRecord>,
    /// For components whose ports the model does not declare, the ports that their code declares, in the form
    /// of a model file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub declared_ports: BTreeMap<String, PortsByOperator>,
    /// The warnings of the log, each text once; the first ones only.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<WarningRecord>,
    /// Number of further warnings.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub more_warnings: u64,
}

/// A record with more instances and conduits is written without line breaks and indentation. Nobody reads it by
/// eye, and they would be more than half of it.
const MAX_INDENTED_ENTRIES: usize = 10_000;

/// Reserved size of the text of an instance or a conduit. Memory that is not needed is never touched.
const ENTRY_CAPACITY_BYTES: usize = 512;

impl RunRecord {
    /// The record as `run.json` has it.
    pub fn text(&self) -> String {
        let (instances, conduits) = (self.instances.len(), self.conduits.len());
        // A text that grows while it is written is copied, and is in memory twice, at each reallocation.
        let mut text = Vec::with_capacity(ENTRY_CAPACITY_BYTES * (instances + conduits));
        let written = if instances + conduits > MAX_INDENTED_ENTRIES {
            serde_json::to_writer(&mut text, self)
        } else {
            serde_json::to_writer_pretty(&mut text, self)
        };
        // Serialisation fails only for maps with keys other than texts, and every text is UTF-8.
        let mut text = written.ok().and_then(|()| String::from_utf8(text).ok()).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Notes the reason of a failure.
    pub fn blame(&mut self, why: Option<&Fault>) {
        self.reason = why.map(Fault::to_string);
        self.code = why.map(|why| why.code().to_string());
    }

    /// The reason of a failure. A record of an earlier version may have the code only within the text.
    pub fn why(&self) -> Option<Fault> {
        let reason = self.reason.as_deref()?;
        let code = self.code.as_deref().and_then(Code::named).or_else(|| hinted(reason));
        Some(Fault::new(code.unwrap_or(Code::REPORTED_AN_ERROR), reason))
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The word for a request to steer.
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
}

impl SteeringVerb {
    pub const ALL: [SteeringVerb; 7] = [
        SteeringVerb::Set,
        SteeringVerb::Pause,
        SteeringVerb::Step,
        SteeringVerb::Until,
        SteeringVerb::Resume,
        SteeringVerb::Stop,
        SteeringVerb::Withdraw,
    ];

    /// The verb of a text form.
    pub fn named(name: &str) -> Option<SteeringVerb> {
        SteeringVerb::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// The word for a request; `None` if it only asks for a list.
    pub fn of(request: &ChangeRequest) -> Option<SteeringVerb> {
        Some(match request {
            ChangeRequest::Set(_) => SteeringVerb::Set,
            ChangeRequest::Pause => SteeringVerb::Pause,
            ChangeRequest::Step => SteeringVerb::Step,
            ChangeRequest::Until => SteeringVerb::Until,
            ChangeRequest::Resume => SteeringVerb::Resume,
            ChangeRequest::Stop => SteeringVerb::Stop,
            ChangeRequest::Withdraw(_) => SteeringVerb::Withdraw,
            ChangeRequest::Nothing => return None,
        })
    }

    /// The text form, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            SteeringVerb::Set => "set",
            SteeringVerb::Pause => "pause",
            SteeringVerb::Step => "step",
            SteeringVerb::Until => "until",
            SteeringVerb::Resume => "resume",
            SteeringVerb::Stop => "stop",
            SteeringVerb::Withdraw => "withdraw",
        }
    }
}

/// The progress of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeState {
    /// The ranks are being asked.
    #[default]
    #[serde(rename = "asked")]
    Asked,
    /// All ranks concerned will make the change.
    #[serde(rename = "agreed")]
    Agreed,
    /// All ranks concerned have made the change.
    #[serde(rename = "in force")]
    InForce,
    /// The change was refused and does not happen.
    #[serde(rename = "refused")]
    Refused,
}

/// A change at a model time, and its progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringRecord {
    /// The number of the change.
    pub change: u64,
    pub who: String,
    /// Time of the request, RFC 3339, UTC.
    pub asked: String,
    pub what: SteeringVerb,
    /// The settings that change.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub settings: Vec<SettingAssignment>,
    /// The model time from which on it holds: as requested, or as all ranks have agreed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_time: Option<f64>,
    /// The unit of the model time, if the model declares it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_unit: Option<String>,
    /// True if it holds from the next pass of the reuse loop on, instead of the next step.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub restart: bool,
    pub state: ChangeState,
    /// The reason of a refusal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl SteeringRecord {
    /// True if the change happens, or has happened.
    pub fn is_agreed(&self) -> bool {
        matches!(self.state, ChangeState::Agreed | ChangeState::InForce)
    }

    /// A description, as a sentence without its full stop.
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
            (ChangeState::Agreed, _) => format!("change {change} by {who}: {what}, {when}"),
            (ChangeState::InForce, _) => format!("change {change} ({what}) is in force"),
            _ => format!("{who} wants change {change}: {what}, {when}"),
        }
    }
}

/// The halt of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HaltRecord {
    pub change: u64,
    /// The model time, s.
    pub at: f64,
    /// True if the run ends when all instances have halted.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stops: bool,
    /// The instances that have halted.
    pub held: Vec<String>,
    /// The instances that have never called `steer(t)`, and so do not halt.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unsteered: Vec<String>,
}

impl HaltRecord {
    /// The remark about instances that do not halt; `None` if there are none.
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

/// A conduit, from port to port without indices, and the traffic of all of its channels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConduitRecord {
    pub from: String,
    pub to: String,
    /// Number of channels.
    pub channels: u64,
    /// Messages sent, and the size of their bodies in bytes.
    pub messages: u64,
    pub bytes: u64,
    /// The latest timestamp that was sent, s.
    pub model_time: Option<f64>,
    /// Messages received, their size, and their latest timestamp.
    pub received_messages: u64,
    pub received_bytes: u64,
    pub received_time: Option<f64>,
    /// Messages that were sent and are not received yet.
    pub under_way: u64,
}

/// A conduit, from port to port without indices, and the number of its messages that were not received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreceivedRecord {
    pub from: String,
    pub to: String,
    pub messages: u64,
}

/// Names of ports by the names of their operators, such as `o_i: [call]`.
pub type PortsByOperator = BTreeMap<String, Vec<String>>;

/// Groups ports by their operators; `ports` has the name and the operator of each.
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
    /// The name that was perhaps meant: an instance asked for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub meant: Option<String>,
    /// True if the setting was given for this run, instead of in the model.
    pub given: bool,
}

/// A warning, or worse, in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningRecord {
    /// An instance, `run` or `agent`.
    pub who: String,
    pub text: String,
    /// Number of times that it was logged.
    pub times: u64,
}

impl RunRecord {
    /// Limit of the different warnings whose text the record keeps.
    const MAX_WARNINGS: usize = 100;

    /// Adds a warning of the log.
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
    /// The domain's name, for people.
    pub name: String,
    /// The machine's name.
    pub host: String,
    /// Number of cores that its instances may use.
    pub cores: u32,
    /// The process of its agent.
    pub pid: u32,
    /// The directory of its instances' files, if the run directory was not visible there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scratch: Option<String>,
}

/// A wait in a deadlock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitRecord {
    pub instance: String,
    /// The awaited resource: `message`, `room` (to send) or `memory`.
    pub lack: String,
    /// The instance's own ports, such as `micro.init`.
    pub at: Vec<String>,
    /// The ports at the other ends, in the same order; for memory, the instances that could free some.
    pub waits_for: Vec<String>,
    /// The instances of those ports, each once.
    pub waits_on: Vec<String>,
    /// Duration so far, s.
    pub waits_since: f64,
}

/// An instance in the record. Times in s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub name: String,
    pub state: String,
    /// The number and the name of its domain, if the run has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub domain: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<String>,
    pub pid: Option<u32>,
    /// Its own cores, such as `0-3`; `None` if it shares all of them with others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cores: Option<String>,
    /// A description of its process's end.
    pub exit: Option<String>,
    pub model_time: Option<f64>,
    /// The model time at which it will be done, if its settings say that; only while the run goes on.
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
    /// The port for which it waits, such as `micro.final`, or another cause of the wait.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_for: Option<String>,
    /// Duration of the wait so far, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waits_since: Option<f64>,
    /// The instances that could end the wait; empty if any could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waits_on: Vec<String>,
    /// True if the wait has a time-out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub waits_with_timeout: bool,
    /// True if its process is stopped, by a signal or a debugger.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stopped: bool,
    /// Of an MPI program, a description of the rank that lags behind, and for how long, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranks_since: Option<f64>,
}

/// A list of at most `most` names, and the number of others.
pub fn list_some(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{}, … and {more} more", names[..most].join(", ")),
    }
}

/// A description of a wait, and the instances that could end it.
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
    /// The record of an observed instance.
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
    use super::{InstanceRecord, RunRecord, SteeringVerb, MAX_INDENTED_ENTRIES};

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
