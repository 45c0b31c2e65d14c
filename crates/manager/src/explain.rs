//! Describes a deadlock in words: the ports for which each instance waits, the duration of each wait, and
//! advice for the user.

use crate::deadlock::{Deadlock, FullChannel};
use crate::names::Names;
use crate::record::{list_some, WaitRecord};
use crate::summary::{format_bytes, format_seconds};
use crate::waits::{AwaitedResource, RankWait};
use ligament_agent::memory::MessageMemory;
use ligament_agent::ChannelView;
use ligament_catalogue::{fault, said, Fault};
use ligament_model::{Filter, FilterEnd};
use ligament_wire::RankId;

/// Maximum number of waits that the text names. The record has all waits.
const MAX_NAMED_WAITS: usize = 8;
/// Maximum number of ports of one wait that the text names.
const MAX_NAMED_PORTS: usize = 4;

/// Returns, for each edge of a wait, the port of the waiting instance and the port at the other end.
fn ports(wait: &RankWait, names: &impl Names) -> Vec<(String, String)> {
    let one = |channel: u32| {
        let ((_, from), (_, to)) = names.ends(channel)?;
        Some(if wait.resource == AwaitedResource::Message { (to, from) } else { (from, to) })
    };
    wait.edges.iter().filter_map(|way| one(way.channel?)).collect()
}

fn sentence(wait: &RankWait, names: &impl Names) -> String {
    let name = names.rank(wait.rank);
    let ports = ports(wait, names);
    let since = format_seconds(wait.seconds);
    match (wait.resource, &ports[..]) {
        (AwaitedResource::Memory, _) => format!("{name} waits for memory to send in (for {since})"),
        (AwaitedResource::Message, [(own, other)]) => {
            format!("{name} waits at {own} for a message from {other} (for {since})")
        }
        (AwaitedResource::Message, several) => {
            let several: Vec<String> =
                several.iter().map(|(own, other)| format!("{own} from {other}")).collect();
            let several = list_some(&several, MAX_NAMED_PORTS);
            format!("{name} waits for a message at any of {several} (for {since})")
        }
        (AwaitedResource::Room { .. }, several) => {
            let (own, other) = several.first().cloned().unwrap_or_default();
            format!("{name} waits at {own} until {other} is read (for {since})")
        }
    }
}

/// Returns the warning for a deadlock that only another thread of an instance could still resolve.
pub(crate) fn suspicion(deadlock: &Deadlock, memory: MessageMemory, names: &impl Names) -> String {
    said!(
        WAITING_FOR_MEMORY,
        "these wait for each other: {}. Unless another thread of one of them drops views, nothing will happen \
        any more; {}",
        describe_deadlock(deadlock, names),
        advice(deadlock, memory, names)
    )
}

/// Returns the reason for which the run ends. `channels` has the counts of each channel.
pub(crate) fn reason(
    deadlock: &Deadlock,
    memory: MessageMemory,
    channels: &[ChannelView],
    names: &impl Names,
) -> Fault {
    let held = held_back(deadlock, channels, names);
    let Some((filter, conduit)) = held.first().map(|held| (held.filter.clone(), held.conduit.clone())) else {
        return fault!(
            DEADLOCK,
            "deadlock: {}. Nothing is on its way to any of them, so none can go on; {}",
            describe_deadlock(deadlock, names),
            advice(deadlock, memory, names)
        );
    };
    let held: Vec<String> = held.into_iter().map(|held| held.text).collect();
    fault!(
        DEADLOCK,
        "deadlock: {}. Filters hold messages back: {}. Take the filter \"{filter}\" out of the conduit \
        {conduit}, or shorten it, or let the sender go on without an answer to each message",
        describe_deadlock(deadlock, names),
        held.join("; ")
    )
}

/// A filter that withholds messages for which an instance waits.
struct WithholdingFilter {
    /// The filter as the model has it, for example `chunk: 10`.
    filter: String,
    conduit: String,
    text: String,
}

/// Returns the filters that withhold messages for which an instance in the deadlock waits.
fn held_back(deadlock: &Deadlock, channels: &[ChannelView], names: &impl Names) -> Vec<WithholdingFilter> {
    let lack = deadlock.knot.waits.iter().filter(|wait| wait.resource == AwaitedResource::Message);
    let waited = lack.flat_map(|wait| wait.edges.iter().filter_map(|way| way.channel));
    waited.filter_map(|channel| held_on(channel, channels, names)).take(MAX_NAMED_WAITS).collect()
}

fn held_on(channel: u32, channels: &[ChannelView], names: &impl Names) -> Option<WithholdingFilter> {
    let filters = names.filters(channel);
    let holds = |filter: &Filter| {
        let n = filter.count("n");
        matches!(filter.name, "discard" | "block_until" | "block_after")
            || n.is_some_and(|n| n > 1 && matches!(filter.name, "chunk" | "every"))
    };
    let place = filters.iter().position(holds)?;
    let filter = &filters[place];
    let ((_, from), (_, to)) = names.ends(channel)?;
    let conduit = format!("{from} -> {to}");
    let written = filter.written();
    // Messages that a filter withholds at the sender are not counted. Messages that a filter withholds at
    // the receiver are counted when they arrive.
    if place < Filter::at_sender(filters) {
        let text = format!("\"{written}\" ({}) on {conduit}", FilterEnd::Sender.name());
        return Some(WithholdingFilter { filter: written, conduit, text });
    }
    let came = channels.get(channel as usize)?.received?.messages;
    let text = match filter.count("n") {
        _ if came == 0 => return None,
        Some(n) if filter.name == "chunk" && place == 0 && came < n => {
            format!("chunk holds {came} of {n} messages of {from} on the way to {to}")
        }
        _ => {
            let came = if came == 1 { "1 message".to_owned() } else { format!("{came} messages") };
            format!("\"{written}\" got {came} of {from} on the way to {to}, and lets no more of them through")
        }
    };
    Some(WithholdingFilter { filter: written, conduit, text })
}

fn describe_deadlock(deadlock: &Deadlock, names: &impl Names) -> String {
    let members = &deadlock.knot.waits;
    let words: Vec<String> = members.iter().take(MAX_NAMED_WAITS).map(|wait| sentence(wait, names)).collect();
    let mut text = words.join("; ");
    if members.len() > MAX_NAMED_WAITS {
        text.push_str(&format!("; … and {} more, in run.json", members.len() - MAX_NAMED_WAITS));
    }
    if !deadlock.behind.is_empty() {
        let behind: Vec<String> = deadlock.behind.iter().map(|wait| names.rank(wait.rank)).collect();
        text.push_str(&format!("; behind them: {}", list_some(&behind, MAX_NAMED_WAITS)));
    }
    let hold = |&(rank, bytes): &(RankId, u64)| {
        said!(
            WAITING_FOR_MEMORY,
            "{} holds views of messages of {}",
            names.rank(rank),
            format_bytes(bytes as f64)
        )
    };
    let held: Vec<String> = deadlock.held.iter().map(hold).collect();
    if !held.is_empty() {
        text.push_str(&format!("; {}", list_some(&held, MAX_NAMED_WAITS)));
    }
    text
}

fn advice(deadlock: &Deadlock, memory: MessageMemory, names: &impl Names) -> String {
    let members = &deadlock.knot.waits;
    if members.iter().any(|wait| wait.resource == AwaitedResource::Memory) {
        return format!(
            "messages take {} of the {} that they may: raise \"memory:\" under \"ligament:\" in the model, \
            free views earlier, or receive in the order in which is sent",
            format_bytes(memory.used as f64),
            format_bytes(memory.limit as f64)
        );
    }
    if let Some(&FullChannel { channel, budget, needs }) = deadlock.full.iter().min_by_key(|one| one.needs) {
        let port = names.ends(channel).map(|(from, _)| from.1).unwrap_or_default();
        return format!(
            "what is sent at {port} would need a budget of {}, which has {} and cannot be given more: the \
            memory for messages is {}. Receive in the order in which is sent, or raise \"memory:\" under \
            \"ligament:\" in the model",
            format_bytes(needs as f64),
            format_bytes(budget as f64),
            format_bytes(memory.limit as f64)
        );
    }
    if let [only] = &members[..] {
        return format!("{} has to send before it receives from itself", names.rank(only.rank));
    }
    // The instance that should send a message for which another instance waits, the port of that message,
    // and the port at which the sending instance itself waits.
    let first = members.iter().find_map(|wait| {
        let [(_, port)] = &ports(wait, names)[..] else { return None };
        let sender = wait.edges.first()?.on;
        let theirs =
            members.iter().find(|one| one.rank == sender && one.resource == AwaitedResource::Message)?;
        let [(at, _)] = &ports(theirs, names)[..] else { return None };
        (wait.resource == AwaitedResource::Message).then(|| (names.rank(sender), port.clone(), at.clone()))
    });
    match first {
        Some((who, port, at)) => format!(
            "one of them has to send before it receives: for example {who} at {port}, before it waits at \
            {at}. If the first messages went well, one loop goes on for longer than the other, or waits for \
            more than is sent"
        ),
        None => "one of them has to send before it receives".to_owned(),
    }
}

/// Returns the waits for the record. The waits in the knot are first.
pub(crate) fn records(deadlock: &Deadlock, names: &impl Names) -> Vec<WaitRecord> {
    let record = |wait: &RankWait| {
        let (at, mut waits_for): (Vec<String>, Vec<String>) = ports(wait, names).into_iter().unzip();
        let mut on: Vec<RankId> = wait.edges.iter().map(|way| way.on).collect();
        on.sort_unstable();
        on.dedup();
        let waits_on: Vec<String> = on.into_iter().map(|rank| names.rank(rank)).collect();
        if wait.resource == AwaitedResource::Memory {
            waits_for = vec!["memory".to_owned()];
        }
        let lack = match wait.resource {
            AwaitedResource::Message => "message",
            AwaitedResource::Room { .. } => "room",
            AwaitedResource::Memory => "memory",
        };
        WaitRecord {
            instance: names.rank(wait.rank),
            lack: lack.to_owned(),
            at,
            waits_for,
            waits_on,
            waits_since: wait.seconds,
        }
    };
    deadlock.knot.waits.iter().chain(&deadlock.behind).map(record).collect()
}
