//! A case file: the messages that a submodel gets, and the messages that it must answer with.
//! `docs/reference/case-file.md` describes the format.

use super::values::read_value;
use ligament_catalogue::Code;
use ligament_model::yaml::{self, YamlKind, YamlNode};
use ligament_model::{parse_assignment, At, FieldReader, Operator, Problem, SettingValue};
use ligament_wire::Value;
use std::sync::Arc;

/// A case.
#[derive(Debug, Default)]
pub(super) struct Case {
    /// The submodel's ports: operator, name, and whether it has slots.
    pub ports: Vec<CasePort>,
    pub settings: Vec<(String, SettingValue)>,
    pub steps: Vec<CaseStep>,
}

/// A port of the submodel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CasePort {
    pub operator: Operator,
    pub name: String,
    pub is_vector: bool,
    /// Number of slots that the model gives the port. `None` if the sender sets the number.
    pub slots: Option<u32>,
}

/// A message to or from the submodel.
#[derive(Debug)]
pub(super) struct CaseStep {
    /// Place of the message in the file, for errors.
    pub at: At,
    /// True if the submodel receives the message, false if it sends the message.
    pub to: bool,
    pub port: String,
    pub slot: Option<u32>,
    /// Timestamp of the message. If the case gives no timestamp for a message that the submodel sends, any
    /// timestamp is right.
    pub timestamp: Option<f64>,
    pub next_timestamp: Option<Option<f64>>,
    pub data: Option<Value>,
    pub tolerance: Tolerance,
}

/// The allowed difference of a number: |found − expected| ≤ absolute + relative · |expected|. An infinite
/// number is equal only to itself, and NaN only to NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    pub fn admits(self, found: f64, expected: f64) -> bool {
        found == expected
            || (found.is_nan() && expected.is_nan())
            || (found.is_finite()
                && expected.is_finite()
                && (found - expected).abs() <= self.absolute + self.relative * expected.abs())
    }

    /// Does the same as `admits` for whole numbers, whose difference is exact.
    pub fn admits_whole(self, found: i128, expected: i128) -> bool {
        let off = found.abs_diff(expected);
        off == 0 || off as f64 <= self.absolute + self.relative * (expected as f64).abs()
    }
}

const KEYS: &[&str] = &["ligament_case", "description", "ports", "settings", "tolerance", "messages"];
const STEP_KEYS: &[&str] = &["to", "from", "slot", "timestamp", "next_timestamp", "data", "tolerance"];
/// Maximum number of slots of a port in a case.
const MAX_SLOTS: u32 = 1 << 20;
const OPERATORS: &[&str] = &["f_init", "o_i", "s", "o_f"];

/// Reads a case.
///
/// # Errors
/// All problems of the case, in the order of the file.
pub(super) fn read_case(text: &str, file: &str) -> Result<Case, Vec<Problem>> {
    let mut reader = FieldReader::default();
    let file: Arc<str> = file.into();
    let mut case = Case::default();
    if let Some(root) = yaml::parse(text, Some(file), &mut reader.problems) {
        read_root(&mut reader, &root, &mut case);
    }
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    if reader.problems.iter().any(Problem::is_error) {
        Err(reader.problems)
    } else {
        Ok(case)
    }
}

fn read_root(reader: &mut FieldReader, root: &YamlNode, case: &mut Case) {
    let map = reader.mapping(root, "a case file", KEYS);
    match map.get("ligament_case").map(|node| &node.kind) {
        Some(YamlKind::Int(1, _)) => {}
        _ => reader.error(
            Code::BAD_CASE,
            &root.at,
            "this is no case of version 1",
            "begin it with \"ligament_case: 1\"",
        ),
    }
    if let Some(node) = map.get("ports") {
        read_ports(reader, node, case);
    }
    if let Some(node) = map.get("settings") {
        for (key, value) in reader.pairs(node, "the settings").to_vec() {
            let Some(name) = reader.key(&key) else { continue };
            match parse_assignment(&format!("{name}={}", flow(&value))) {
                Ok((name, value)) => case.settings.push((name.to_string(), value)),
                Err(error) => {
                    reader.error(Code::BAD_SETTING, &value.at, error.to_string(), "correct the setting")
                }
            }
        }
    }
    let tolerance = map.get("tolerance").and_then(|node| read_tolerance(reader, node)).unwrap_or_default();
    let Some(messages) = map.get("messages") else { return };
    let YamlKind::Seq(steps) = &messages.kind else {
        reader.error(
            Code::WRONG_TYPE,
            &messages.at,
            "the messages are a list",
            "begin each message with \"- to:\" or \"- from:\"",
        );
        return;
    };
    for step in steps {
        if let Some(step) = read_step(reader, step, tolerance, &case.ports) {
            case.steps.push(step);
        }
    }
}

fn read_ports(reader: &mut FieldReader, node: &YamlNode, case: &mut Case) {
    let map = reader.mapping(node, "the ports", OPERATORS);
    for word in OPERATORS {
        let Some(node) = map.get(word) else { continue };
        let operator = Operator::from_name(word).expect("a name of an operator");
        let names: Vec<&YamlNode> = match &node.kind {
            YamlKind::Seq(names) => names.iter().collect(),
            _ => vec![node],
        };
        for node in names {
            let Some(text) = reader.text(node, "a port") else { continue };
            let (name, slots) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
                Some((name, "")) => (name, Some(None)),
                Some((name, count)) => match count.parse() {
                    Ok(count @ 1..=MAX_SLOTS) => (name, Some(Some(count))),
                    _ => {
                        let message = format!("a port has 1 to {MAX_SLOTS} slots, and \"{text}\" has not");
                        reader.error(
                            Code::BAD_CASE,
                            &node.at,
                            message,
                            "write the number of slots, as in \"name[3]\"",
                        );
                        continue;
                    }
                },
                None => (text.as_str(), None),
            };
            if reader.identifier_from(name, &node.at, "a port").is_some() {
                let (name, is_vector) = (name.to_owned(), slots.is_some());
                case.ports.push(CasePort { operator, name, is_vector, slots: slots.flatten() });
            }
        }
    }
}

fn read_tolerance(reader: &mut FieldReader, node: &YamlNode) -> Option<Tolerance> {
    let mut allowed = |node: &YamlNode| {
        let number = reader.number(node, "a tolerance")?;
        if !(0.0..f64::INFINITY).contains(&number) {
            reader.error(
                Code::BAD_CASE,
                &node.at,
                "a tolerance is a finite number, not below 0",
                "write 1.0e-9",
            );
        }
        Some(number)
    };
    let YamlKind::Map(_) = node.kind else {
        return Some(Tolerance { relative: allowed(node)?, absolute: 0.0 });
    };
    let map = reader.mapping(node, "a tolerance", &["relative", "absolute"]);
    let mut part = |key| match map.get(key) {
        Some(node) => read_tolerance(reader, node).map(|tolerance| tolerance.relative),
        None => Some(0.0),
    };
    Some(Tolerance { relative: part("relative")?, absolute: part("absolute")? })
}

/// Reads a number that is a model time.
fn finite(reader: &mut FieldReader, node: &YamlNode, what: &str) -> Option<f64> {
    let number = reader.number(node, what)?;
    if !number.is_finite() {
        reader.error(Code::BAD_CASE, &node.at, format!("{what} is no time"), "give a finite number");
    }
    Some(number).filter(|number| number.is_finite())
}

fn read_step(
    reader: &mut FieldReader,
    node: &YamlNode,
    tolerance: Tolerance,
    ports: &[CasePort],
) -> Option<CaseStep> {
    let map = reader.mapping(node, "a message", STEP_KEYS);
    let (to, name) = match (map.get("to"), map.get("from")) {
        (Some(port), None) => (true, port),
        (None, Some(port)) => (false, port),
        _ => {
            let message = "a message goes to one port of the submodel, or comes from one";
            reader.error(Code::BAD_CASE, &node.at, message, "give it \"to:\" or \"from:\"");
            return None;
        }
    };
    let port = reader.text(name, "a port")?;
    let Some(known) = ports.iter().find(|known| known.name == port) else {
        let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        let advice = match ligament_model::nearest(&port, names.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => "name it under \"ports:\"".to_owned(),
        };
        reader.error(Code::BAD_CASE, &name.at, format!("the case has no port \"{port}\""), advice);
        return None;
    };
    if known.operator.receives() != to {
        let (does, word) = if to { ("sends", "from") } else { ("receives", "to") };
        let message = format!("the submodel {does} on the port \"{port}\" ({})", known.operator.name());
        reader.error(Code::BAD_CASE, &name.at, message, format!("write \"{word}: {port}\""));
        return None;
    }
    let slot = match map.get("slot") {
        Some(node) => match u32::try_from(reader.count(node, "a slot", 0)?) {
            Ok(slot) if slot < known.slots.unwrap_or(MAX_SLOTS) => Some(slot),
            _ => {
                let message = format!("slots are numbers below {}", known.slots.unwrap_or(MAX_SLOTS));
                reader.error(Code::BAD_CASE, &node.at, message, "correct the slot");
                return None;
            }
        },
        None => None,
    };
    if slot.is_some() != known.is_vector {
        let (message, advice) = if known.is_vector {
            (format!("the port \"{port}\" has slots, and the message names none"), "add \"slot:\"")
        } else {
            (format!("the port \"{port}\" has no slots"), "take \"slot:\" away, or call the port \"name[]\"")
        };
        reader.error(Code::BAD_CASE, &node.at, message, advice);
        return None;
    }
    let timestamp = match map.get("timestamp") {
        Some(node) => Some(finite(reader, node, "the timestamp")?),
        None => None,
    };
    let next_timestamp = match map.get("next_timestamp") {
        Some(node) => Some(Some(finite(reader, node, "the next timestamp")?)),
        None => map.has("next_timestamp").then_some(None),
    };
    if to && next_timestamp.flatten().is_some_and(|next| next < timestamp.unwrap_or(0.0)) {
        let message = "the next timestamp is earlier than the timestamp";
        reader.error(
            Code::BAD_CASE,
            &node.at,
            message,
            "give the time of the next message on this port, or none",
        );
        return None;
    }
    let data = match map.get("data") {
        Some(node) => Some(read_value(reader, node)?),
        None => map.has("data").then_some(Value::None),
    };
    let tolerance = match map.get("tolerance") {
        Some(node) => read_tolerance(reader, node)?,
        None => tolerance,
    };
    Some(CaseStep { at: node.at.clone(), to, port, slot, timestamp, next_timestamp, data, tolerance })
}

/// Returns a node as YAML on one line.
fn flow(node: &YamlNode) -> String {
    match &node.kind {
        YamlKind::Null => "null".into(),
        YamlKind::Bool(_, text) | YamlKind::Int(_, text) | YamlKind::Float(_, text) => text.clone(),
        YamlKind::Str(text) => serde_json::Value::from(text.as_str()).to_string(),
        YamlKind::Seq(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        YamlKind::Map(_) => "{}".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::values::{written, written_number};
    use std::fmt::Write;

    const PORTS: &str = "ligament_case: 1\nports: {f_init: start, o_f: [end, 'all[]']}\n";

    /// Returns a message in the form of a case file.
    fn written_step(
        to: bool,
        port: &str,
        slot: Option<u32>,
        (timestamp, next_timestamp): (f64, Option<f64>),
        data: &Value,
    ) -> String {
        let mut text = format!("  - {}: {port}\n", if to { "to" } else { "from" });
        if let Some(slot) = slot {
            writeln!(text, "    slot: {slot}").unwrap_or_default();
        }
        writeln!(text, "    timestamp: {}", written_number(timestamp)).unwrap_or_default();
        match next_timestamp {
            Some(next) => writeln!(text, "    next_timestamp: {}", written_number(next)).unwrap_or_default(),
            None => text.push_str("    next_timestamp: null\n"),
        }
        writeln!(text, "    data: {}", written(data)).unwrap_or_default();
        text
    }

    fn problem(text: &str) -> String {
        let problems = read_case(&format!("{PORTS}{text}"), "c.yaml").expect_err("a mistake");
        problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_case_is_read_as_it_is_written() {
        let data = Value::List(vec![Value::Int(1), Value::Float(2.0)]);
        let text = format!(
            "{PORTS}settings: {{k: 2, s: text, l: [1, 2]}}\ntolerance: 1.0e-9\nmessages:\n{}{}",
            written_step(true, "start", None, (0.5, Some(1.0)), &data),
            written_step(false, "all", Some(3), (0.5, None), &Value::None),
        );
        let case = read_case(&text, "c.yaml").expect("a case");
        assert_eq!(case.settings.len(), 3);
        let [first, second] = case.steps.as_slice() else { panic!() };
        assert_eq!((first.to, first.timestamp, first.next_timestamp), (true, Some(0.5), Some(Some(1.0))));
        assert_eq!(first.data, Some(data));
        assert_eq!(
            (second.slot, second.next_timestamp, &second.data),
            (Some(3), Some(None), &Some(Value::None))
        );
        assert_eq!(second.tolerance, Tolerance { relative: 1e-9, absolute: 0.0 });
    }

    #[test]
    fn mistakes_are_said_with_line_and_advice() {
        for (text, what) in [
            (
                "messages:\n  - to: strat\n",
                "c.yaml:4:9: error: the case has no port \"strat\"; did you mean \"start\"?",
            ),
            ("messages:\n  - to: end\n", "the submodel sends on the port \"end\" (O_F); write \"from: end\""),
            ("messages:\n  - {from: end, slot: 1}\n", "has no slots"),
            ("messages:\n  - from: all\n", "names none; add \"slot:\""),
            ("messages:\n  - {to: start, from: end}\n", "goes to one port"),
            ("messages: 3\n", "the messages are a list"),
            ("message: []\n", "did you mean \"messages\"?"),
        ] {
            let found = problem(text);
            assert!(found.contains(what), "{text}: {found}");
        }
        let found = read_case("ports: {}\n", "c.yaml").expect_err("no version")[0].to_string();
        assert!(found.contains("ligament_case: 1"), "{found}");
    }
}
