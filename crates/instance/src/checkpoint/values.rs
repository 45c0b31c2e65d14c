//! Messages and iterations as values of a checkpoint.

use crate::iteration::Iteration;
use crate::message::Message;
use crate::overlay::to_wire;
use crate::receive::{Arrival, Overlay};
use ligament_model::Settings;
use ligament_wire::fields::{counted, entries, optional, Fields};
use ligament_wire::Value;
use std::sync::Arc;

/// Returns a message that has been received, with its overlay.
pub(crate) fn message_state(message: &Message, overlay: &Overlay) -> Value {
    entries([
        ("timestamp", Value::Float(message.timestamp)),
        ("next_timestamp", optional(message.next_timestamp)),
        ("overlay", overlay_state(overlay)),
        ("data", message.data.clone()),
    ])
}

/// Returns the message of a value that `message_state` has returned.
pub(crate) fn message_of_state(state: &Value) -> Option<(Message, Overlay)> {
    let fields = Fields::of(state)?;
    let message = Message {
        timestamp: fields.number("timestamp")?,
        next_timestamp: fields.optional("next_timestamp")?,
        data: fields.get("data")?.clone(),
        ..Message::default()
    };
    Some((message, overlay_of_state(fields.get("overlay")?)))
}

pub(crate) fn overlay_state(overlay: &Overlay) -> Value {
    overlay.as_deref().cloned().unwrap_or_default()
}

pub(crate) fn overlay_of_state(state: &Value) -> Overlay {
    Some(state).filter(|state| !matches!(state, Value::None)).cloned().map(Arc::new)
}

pub(crate) fn settings_state(settings: &Settings) -> Value {
    Value::Settings(to_wire(settings))
}

pub(crate) fn iteration_state(iteration: &Iteration) -> Value {
    Value::List(iteration.0.iter().map(|&number| counted(number)).collect())
}

pub(crate) fn iteration_of_state(state: &Value) -> Option<Iteration> {
    let Value::List(numbers) = state else { return None };
    let number = |value: &Value| match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    numbers.iter().map(number).collect::<Option<_>>().map(Iteration)
}

/// Returns something that has come on a conduit and was not received yet. The end of a conduit belongs to no
/// checkpoint, since a resumed sender ends it once more; the result is `None` for it.
pub(crate) fn arrival_state(arrival: &Arrival, message: &Message) -> Option<Value> {
    Some(match arrival {
        Arrival::Message(overlay) => message_state(message, overlay),
        Arrival::Milestone(over) => iteration_state(over),
        Arrival::PassEnd => Value::Bool(true),
        Arrival::End => return None,
    })
}

pub(crate) fn arrival_of_state(state: &Value) -> Option<(Arrival, Message)> {
    Some(match state {
        Value::Map(_) => {
            let (message, overlay) = message_of_state(state)?;
            (Arrival::Message(overlay), message)
        }
        Value::List(_) => (Arrival::Milestone(iteration_of_state(state)?), Message::default()),
        Value::Bool(true) => (Arrival::PassEnd, Message::default()),
        _ => return None,
    })
}
