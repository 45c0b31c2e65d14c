//! The player: the instance that sends the messages of the case to the submodel, and compares the answers.

use super::case::{read_case, Case, CasePort, CaseStep};
use super::compare::difference;
use super::values::{written, written_number};
use ligament_catalogue::{fault, said, Fault};
use ligament_instance::{Error, ErrorKind, Instance, Message, Operator, Outgoing, Ports, ValueRef, Wait};
use ligament_model::Problems;
use ligament_wire::times::TimeSeries;
use ligament_wire::Value;
use std::path::Path;
use std::time::Duration;

/// Maximum number of unexpected messages that are shown for a port.
const MAX_SURPRISES: usize = 20;

/// The findings of the player.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Number of messages that were as expected.
    pub right: usize,
    /// The differences. Each has the line of the case, or 0 if it belongs to no line, and a text.
    pub wrong: Vec<(u32, String)>,
}

impl Verdict {
    pub fn to_json(&self) -> serde_json::Value {
        let wrong: Vec<_> =
            self.wrong.iter().map(|(line, text)| serde_json::json!({ "line": line, "text": text })).collect();
        serde_json::json!({ "right": self.right, "wrong": wrong })
    }

    pub(super) fn from_json(text: &str) -> Option<Verdict> {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        let wrong = json["wrong"].as_array()?.iter().map(|row| {
            (row["line"].as_u64().unwrap_or(0) as u32, row["text"].as_str().unwrap_or_default().to_owned())
        });
        Some(Verdict { right: json["right"].as_u64()? as usize, wrong: wrong.collect() })
    }
}

/// Plays a case, as the instance that the environment names. Writes the findings to the file `result`.
///
/// # Errors
/// The case cannot be read, or the run cannot be joined.
pub fn play_part(case: &Path, result: &Path, patience: Duration) -> Result<(), Fault> {
    let text = ligament_model::read_text(case)
        .map_err(|error| fault!(CASE_UNREADABLE, "{}: {error}", case.display()))?;
    let case = read_case(&text, &case.display().to_string()).map_err(Problems)?;
    let mut ports = Ports::new();
    for port in &case.ports {
        let name = if port.is_vector { format!("{}[]", port.name) } else { port.name.clone() };
        ports.add(if port.operator.receives() { Operator::OI } else { Operator::S }, &name);
    }
    let mut instance = Instance::new(Some(&ports))?;
    let mut verdict = Verdict::default();
    let ended = play_all(&mut instance, &case, patience, &mut verdict);
    // The findings are written now, because this process may end the run next.
    let temporary = result.with_extension("part");
    std::fs::write(&temporary, verdict.to_json().to_string())
        .and_then(|()| std::fs::rename(&temporary, result))
        .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", result.display()))?;
    match ended {
        Ok(true) => Ok(instance.finish()?),
        Ok(false) => {
            let why = fault!(CASE_DIFFERS, "the submodel does not do what the case expects");
            Ok(instance.error_shutdown(&why.with_code())?)
        }
        // The run reports the reason, so this process does not.
        Err(error) if error.kind() == ErrorKind::RunEnds => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Plays all messages of the case. Returns true if the submodel ends by itself. If not, the player must end the
/// run.
fn play_all(
    instance: &mut Instance,
    case: &Case,
    patience: Duration,
    verdict: &mut Verdict,
) -> Result<bool, Error> {
    instance.reuse_instance()?;
    let is_ours = |port: &&CasePort| port.is_vector && port.slots.is_none() && port.operator.receives();
    for port in case.ports.iter().filter(is_ours) {
        let slots = case.steps.iter().filter(|step| step.port == port.name).filter_map(|step| step.slot);
        instance.set_port_length(&port.name, slots.max().map_or(0, |last| last as usize + 1))?;
    }
    for step in &case.steps {
        if step.to {
            let data = step.data.as_ref().unwrap_or(&Value::None);
            let outgoing = Outgoing {
                timestamp: step.timestamp.unwrap_or(0.0),
                next_timestamp: step.next_timestamp.flatten(),
                data: ValueRef::Owned(data),
                settings: None,
            };
            instance.send(step.port.as_str(), &outgoing, step.slot)?;
            continue;
        }
        match instance.receive_within(step.port.as_str(), step.slot, Wait::AtMost(patience)) {
            Ok(message) => match wrong_with(&message, step) {
                None => verdict.right += 1,
                Some(what) => {
                    verdict.wrong.push((step.at.line, format!("{}: {what}", named(&step.port, step.slot))))
                }
            },
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                let what = said!(
                    CASE_DIFFERS,
                    "{}: nothing came within {} s",
                    named(&step.port, step.slot),
                    patience.as_secs_f64()
                );
                verdict.wrong.push((step.at.line, what));
                note_what_else_came(instance, case, verdict)?;
                return Ok(false);
            }
            Err(error) if error.kind() == ErrorKind::Closed => {
                let what = said!(
                    CASE_DIFFERS,
                    "{}: the submodel ended before it sent this message",
                    named(&step.port, step.slot)
                );
                verdict.wrong.push((step.at.line, what));
                return Ok(true);
            }
            Err(error) => return Err(error),
        }
    }
    for port in case.ports.iter().filter(|port| port.operator.receives()) {
        instance.end_port(&port.name)?;
    }
    for (port, slot) in places(instance, case)? {
        if !more_came(instance, port, slot, patience, verdict)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Records the messages that the submodel has sent on other ports instead of the expected message. They often
/// show why the expected message did not come.
fn note_what_else_came(instance: &mut Instance, case: &Case, verdict: &mut Verdict) -> Result<(), Error> {
    for (port, slot) in places(instance, case)? {
        for _ in 0..MAX_SURPRISES {
            if !instance.poll(port, slot)? {
                break;
            }
            match instance.receive(port, slot) {
                Ok(message) => verdict.wrong.push((0, surprise(port, slot, &message))),
                Err(error) if error.kind() == ErrorKind::Closed => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Returns the ports and slots on which the submodel sends.
fn places<'a>(instance: &Instance, case: &'a Case) -> Result<Vec<(&'a str, Option<u32>)>, Error> {
    let mut places = Vec::new();
    for port in case.ports.iter().filter(|port| port.operator.sends()) {
        if port.is_vector {
            places.extend(
                (0..instance.get_port_length(&port.name)? as u32).map(|slot| (port.name.as_str(), Some(slot))),
            )
        } else {
            places.push((port.name.as_str(), None))
        }
    }
    Ok(places)
}

fn surprise(port: &str, slot: Option<u32>, message: &Message) -> String {
    said!(
        CASE_DIFFERS,
        "{}: a message at {} that the case does not expect: {}",
        named(port, slot),
        written_number(message.timestamp),
        written(&message.data).chars().take(60).collect::<String>()
    )
}

/// Records messages that the case does not expect. Returns true if the conduit has ended.
fn more_came(
    instance: &mut Instance,
    port: &str,
    slot: Option<u32>,
    patience: Duration,
    verdict: &mut Verdict,
) -> Result<bool, Error> {
    // The number is limited, because a submodel may send without end.
    for _ in 0..MAX_SURPRISES {
        match instance.receive_within(port, slot, Wait::AtMost(patience)) {
            Ok(message) => verdict.wrong.push((0, surprise(port, slot, &message))),
            Err(error) if error.kind() == ErrorKind::Closed => return Ok(true),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                let what = said!(
                    CASE_DIFFERS,
                    "the submodel did not end within {} s of the last message",
                    patience.as_secs_f64()
                );
                verdict.wrong.push((0, what));
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn named(port: &str, slot: Option<u32>) -> String {
    match slot {
        Some(slot) => format!("{port}[{slot}]"),
        None => port.to_owned(),
    }
}

/// Returns true if a time is the expected time. A small difference is allowed: a code adds up its steps, while
/// a user writes the time as a decimal number.
fn is_time(found: f64, expected: f64, step: &CaseStep) -> bool {
    step.tolerance.admits(found, expected) || TimeSeries::default().is_same(found, expected)
}

/// Returns the differences between a message and the expected message.
fn wrong_with(message: &Message, step: &CaseStep) -> Option<String> {
    if let Some(expected) = step.timestamp {
        if !is_time(message.timestamp, expected, step) {
            return Some(format!(
                "timestamp {}, expected {}",
                written_number(message.timestamp),
                written_number(expected)
            ));
        }
    }
    if let Some(expected) = step.next_timestamp {
        let shown = |time: Option<f64>| time.map_or("none".to_owned(), written_number);
        let same = match (message.next_timestamp, expected) {
            (Some(found), Some(expected)) => is_time(found, expected, step),
            (found, expected) => found == expected,
        };
        if !same {
            return Some(said!(
                CASE_DIFFERS,
                "next timestamp {}, expected {}",
                shown(message.next_timestamp),
                shown(expected)
            ));
        }
    }
    let what = difference(&message.data, step.data.as_ref()?, step.tolerance)?;
    Some(format!("at {}: {what}", written_number(message.timestamp)))
}
