//! The costs of a model's parts, as a file of costs or a recorded run gives them. `read` reads and writes
//! the file, and `docs/reference/costs-file.md` describes its format.

use ligament_catalogue::{fault, Fault};
use ligament_filters::calculate;
use ligament_model::{At, Reference, ResolvedModel, SettingValue};
use std::collections::BTreeMap;
use std::fmt;

/// A number, or a formula over the settings of the instance whose cost it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Cost {
    Number(f64),
    /// The text of the formula, and its place in the file.
    Formula(String, At),
}

impl From<f64> for Cost {
    fn from(number: f64) -> Cost {
        Cost::Number(number)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Number(number) => write!(f, "{number}"),
            Cost::Formula(text, _) => write!(f, "{:?}", text),
        }
    }
}

/// The costs of one instance of a component. `None` means that no cost is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComponentCosts {
    /// Time from the beginning of the run until the instance registers, in s.
    pub start: Option<Cost>,
    /// Time of computing before all passes, in s.
    pub setup: Option<Cost>,
    /// Number of passes of the reuse loop, if no message determines this number.
    pub passes: Option<Cost>,
    /// Time of computing in each pass, in s.
    pub pass: Option<Cost>,
    /// Number of steps in each pass.
    pub steps: Option<Cost>,
    /// Time of computing in each step, in s.
    pub step: Option<Cost>,
    /// Time of computing after all passes, in s.
    pub teardown: Option<Cost>,
    /// Memory of the instance itself, in bytes.
    pub memory: Option<Cost>,
    /// Place of the costs in a file, if they come from a file.
    pub at: At,
}

impl ComponentCosts {
    pub(super) const KEYS: [&'static str; 8] =
        ["start", "setup", "passes", "pass", "steps", "step", "teardown", "memory"];

    /// Returns the cost with this key.
    pub fn get(&self, key: &str) -> Option<&Cost> {
        match key {
            "start" => self.start.as_ref(),
            "setup" => self.setup.as_ref(),
            "passes" => self.passes.as_ref(),
            "pass" => self.pass.as_ref(),
            "steps" => self.steps.as_ref(),
            "step" => self.step.as_ref(),
            "teardown" => self.teardown.as_ref(),
            _ => self.memory.as_ref(),
        }
    }

    pub(super) fn slot(&mut self, key: &str) -> &mut Option<Cost> {
        match key {
            "start" => &mut self.start,
            "setup" => &mut self.setup,
            "passes" => &mut self.passes,
            "pass" => &mut self.pass,
            "steps" => &mut self.steps,
            "step" => &mut self.step,
            "teardown" => &mut self.teardown,
            _ => &mut self.memory,
        }
    }
}

/// The size of a message of a conduit, and the number of messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConduitCosts {
    /// Size of a message, in bytes.
    pub bytes: Option<Cost>,
    /// Number of messages sent in each step of the sender (`O_I`) or in each pass (`O_F`). 1 if not given.
    pub sent: Option<Cost>,
    /// Number of messages received in each step of the receiver (`S`) or in each pass (`F_INIT`). 1 if not
    /// given.
    pub received: Option<Cost>,
    /// Place of the costs in a file, if they come from a file.
    pub at: At,
}

impl ConduitCosts {
    pub(super) const KEYS: [&'static str; 3] = ["bytes", "sent", "received"];

    /// Returns the cost with this key.
    pub fn get(&self, key: &str) -> Option<&Cost> {
        match key {
            "bytes" => self.bytes.as_ref(),
            "sent" => self.sent.as_ref(),
            _ => self.received.as_ref(),
        }
    }

    pub(super) fn slot(&mut self, key: &str) -> &mut Option<Cost> {
        match key {
            "bytes" => &mut self.bytes,
            "sent" => &mut self.sent,
            _ => &mut self.received,
        }
    }
}

/// The costs of messages and of the run itself, which are the same for all senders. All times are in s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommonCosts {
    /// Time from a send until a receiver on the same machine continues.
    pub latency: f64,
    /// Time from the send of an empty message until a receiver on another machine continues.
    pub network_latency: f64,
    /// Bandwidth between two machines, in bytes/s.
    pub bandwidth: f64,
    /// Time from the end of the last instance to the end of the run.
    pub end: f64,
}

impl Default for CommonCosts {
    /// Returns the costs of an ordinary machine, with Ethernet of 10 Gbit/s.
    fn default() -> CommonCosts {
        CommonCosts { latency: 5e-6, network_latency: 50e-6, bandwidth: 1.2e9, end: 0.0 }
    }
}

impl CommonCosts {
    pub(super) const KEYS: [&'static str; 4] = ["latency", "network_latency", "bandwidth", "end"];

    fn of(said: &BTreeMap<&'static str, f64>) -> CommonCosts {
        let none = CommonCosts::default();
        let value = |key: &str, otherwise: f64| said.get(key).copied().unwrap_or(otherwise);
        CommonCosts {
            latency: value("latency", none.latency),
            network_latency: value("network_latency", none.network_latency),
            bandwidth: value("bandwidth", none.bandwidth),
            end: value("end", none.end),
        }
    }
}

/// Names of the sending and the receiving port of a conduit, without slots: `macro.state_out` and
/// `micro.initial_state`.
pub type ConduitName = (String, String);

/// The costs of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    /// Costs of messages and of the run itself: `latency` (time from a send until a receiver on the same
    /// machine continues, in s), `network_latency` (the same for a receiver on another machine),
    /// `bandwidth` (between machines, in bytes/s), and `end` (time to end the run, in s).
    pub common: BTreeMap<&'static str, f64>,
    /// Costs by the name of an instance (`micro[3]`), or by the name of a component for all of its
    /// instances.
    pub components: BTreeMap<String, ComponentCosts>,
    pub conduits: BTreeMap<ConduitName, ConduitCosts>,
}

impl Costs {
    /// Adds other costs, which replace costs of the same name. In their formulas, `measured` stands for the
    /// replaced cost.
    pub fn update(&mut self, other: Costs) {
        self.common.extend(other.common);
        for (name, theirs) in other.components {
            let component = component_of(&name).to_owned();
            let beneath = self.components.get(&name).or_else(|| self.components.get(&component)).cloned();
            let mut own = beneath.unwrap_or_default();
            own.at = theirs.at.clone();
            for key in ComponentCosts::KEYS {
                if let Some(cost) = theirs.get(key) {
                    *own.slot(key) = Some(over(cost, own.get(key)));
                }
            }
            // The new entry of a component replaces the entries of its instances.
            self.components.retain(|known, _| *known == name || component_of(known) != name);
            self.components.insert(name, own);
        }
        for (name, theirs) in other.conduits {
            let own = self.conduits.entry(name).or_default();
            own.at = theirs.at.clone();
            for key in ConduitCosts::KEYS {
                if let Some(cost) = theirs.get(key) {
                    *own.slot(key) = Some(over(cost, own.get(key)));
                }
            }
        }
    }
}

/// Returns `cost` with `measured` replaced by the earlier cost `beneath`.
fn over(cost: &Cost, beneath: Option<&Cost>) -> Cost {
    match (cost, beneath) {
        (Cost::Formula(text, at), Some(Cost::Number(number))) => {
            Cost::Formula(with_measured(text, &format!("({number:e})")), at.clone())
        }
        _ => cost.clone(),
    }
}

/// Returns a formula in which `number` replaces each name `measured`. A longer name that includes this
/// word, such as `measured_dt` or `reach.measured`, stays unchanged.
fn with_measured(text: &str, number: &str) -> String {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MEASURED) {
        let (before, after) = (&rest[..at], &rest[at + MEASURED.len()..]);
        let left = before.chars().next_back().or(out.chars().next_back());
        let is_name = !left.is_some_and(in_name) && !after.chars().next().is_some_and(in_name);
        out.push_str(before);
        out.push_str(if is_name { number } else { MEASURED });
        rest = after;
    }
    out + rest
}

/// Name that stands in a formula for the cost taken from the run.
const MEASURED: &str = "measured";

/// Returns the component's name in the name of an instance: `micro[3]` becomes `micro`.
pub(super) fn component_of(instance: &str) -> &str {
    instance.split_once('[').map_or(instance, |(component, _)| component)
}

/// The costs of one instance, as numbers. All times are in s, and `memory` is in bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Effort {
    pub start: f64,
    pub setup: f64,
    pub passes: u64,
    pub pass: f64,
    /// Number of steps in a pass. `None` means that the pass has steps until no more messages can arrive.
    pub steps: Option<u64>,
    pub step: f64,
    pub teardown: f64,
    pub memory: Option<f64>,
}

/// The traffic of one channel, as numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Load {
    pub bytes: f64,
    /// Number of messages per step or pass of the sender (`sent`) and of the receiver (`received`).
    pub sent: f64,
    pub received: f64,
}

/// The costs of each instance and channel of a model.
#[derive(Debug, Clone, Default)]
pub(super) struct FittedCosts {
    pub common: CommonCosts,
    pub efforts: Vec<Effort>,
    pub loads: Vec<Load>,
}

/// Maximum number of steps or passes that is accepted.
const MAX_STEPS: f64 = 1e12;

impl FittedCosts {
    /// # Errors
    /// The costs have names that the model does not have, or lack costs of the model's parts. The error has
    /// all missing costs at once.
    pub fn of(model: &ResolvedModel, costs: &Costs) -> Result<FittedCosts, Fault> {
        super::matching::check(model, costs)?;
        let mut fitted = FittedCosts { common: CommonCosts::of(&costs.common), ..FittedCosts::default() };
        for instance in &model.instances {
            let name = instance.name.to_string();
            let own = costs.components.get(&name);
            let component = model.components[instance.component as usize].name.to_string();
            let Some(own) = own.or_else(|| costs.components.get(&component)) else {
                return Err(fault!(NO_COSTS, "{name} has no costs"));
            };
            let value = |key: &str| own.get(key).map(|cost| number(model, &instance.name, cost)).transpose();
            let count = |key: &str| match value(key)? {
                Some(count) if count > MAX_STEPS => {
                    Err(fault!(CANNOT_PREDICT, "{name} would make {count:e} {key}"))
                }
                count => Ok(count.map(|count| count.round() as u64)),
            };
            let seconds = |key: &str| Ok::<f64, Fault>(value(key)?.unwrap_or(0.0));
            fitted.efforts.push(Effort {
                start: seconds("start")?,
                setup: seconds("setup")?,
                passes: count("passes")?.unwrap_or(1),
                pass: seconds("pass")?,
                steps: count("steps")?,
                step: seconds("step")?,
                teardown: seconds("teardown")?,
                memory: value("memory")?,
            });
        }
        for channel in &model.channels {
            let own = costs.conduits.get(&conduit_of(model, channel)).cloned().unwrap_or_default();
            let sender = &model.instances[channel.from.instance as usize].name;
            let value = |key: &str| own.get(key).map(|cost| number(model, sender, cost)).transpose();
            fitted.loads.push(Load {
                bytes: value("bytes")?.unwrap_or(0.0),
                sent: value("sent")?.unwrap_or(1.0),
                received: value("received")?.unwrap_or(1.0),
            });
        }
        Ok(fitted)
    }

    /// Returns the same costs with all times of computing multiplied by `factor`.
    pub fn slowed(&self, factor: f64) -> FittedCosts {
        let mut slowed = self.clone();
        for effort in &mut slowed.efforts {
            effort.setup *= factor;
            effort.pass *= factor;
            effort.step *= factor;
            effort.teardown *= factor;
        }
        slowed
    }
}

/// Returns the ports that a channel joins, without slots and indices.
pub(super) fn conduit_of(model: &ResolvedModel, channel: &ligament_model::Channel) -> ConduitName {
    let end = |end: ligament_model::Endpoint| {
        let component = model.instances[end.instance as usize].component as usize;
        format!("{}.{}", model.components[component].name, model.shown_port(end))
    };
    (end(channel.from), end(channel.to))
}

/// Returns a cost as a number, which is at least 0.
fn number(model: &ResolvedModel, instance: &Reference, cost: &Cost) -> Result<f64, Fault> {
    let (value, shown) = match cost {
        Cost::Number(value) => (*value, value.to_string()),
        Cost::Formula(text, at) => {
            let setting = |name: &str| {
                let name = Reference::new(name).ok()?;
                match model.settings.get(instance, &name)?.1 {
                    SettingValue::Int(value) => Some(*value as f64),
                    SettingValue::Float(value) => Some(*value),
                    SettingValue::Bool(value) => Some(f64::from(u8::from(*value))),
                    _ => None,
                }
            };
            let value = calculate(text, &setting).map_err(|why| {
                let place = place(at);
                fault!(
                    BAD_COSTS,
                    "{place}the cost cannot be worked out for {instance}: {why}; use numbers and the names of \
                     its settings"
                )
            })?;
            (value, format!("{text} = {value}"))
        }
    };
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(fault!(BAD_COSTS, "{instance}: a cost is a number from 0 on, and not {shown}"))
    }
}

/// Returns the place as the beginning of a message, such as `costs.yaml:3: `, or an empty text if the place
/// is unknown.
pub(super) fn place(at: &At) -> String {
    match (&at.file, at.line) {
        (Some(file), line) if line > 0 => format!("{file}:{line}: "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_is_replaced_where_it_is_a_name_by_itself() {
        for (text, expected) in [
            ("measured", "(2)"),
            ("measured * 3 + measured", "(2) * 3 + (2)"),
            ("measured_dt * measured", "measured_dt * (2)"),
            ("reach.measured/measured", "reach.measured/(2)"),
            ("unmeasured + 2*measured2", "unmeasured + 2*measured2"),
            ("measuredmeasured", "measuredmeasured"),
            ("(measured)", "((2))"),
            ("t_max / dt", "t_max / dt"),
        ] {
            assert_eq!(with_measured(text, "(2)"), expected, "{text}");
        }
    }
}
