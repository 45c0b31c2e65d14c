//! The rules for every schedule, checked at its end: each message came exactly once and in order, the run ended
//! for the first reason, and no lent memory is missing.

use crate::agent::{Agent, Fault};
use crate::part::{body_len, Progress};
use crate::script::{By, Script};
use ligament_agent::{MemoryRegion, RunOutcome};
use ligament_manager::{AwaitedResource, InstanceState, Level};
use ligament_shm::area::{Front, Inbox, Layout};
use ligament_shm::memory::Mapping;
use ligament_shm::ring::{BODY_BYTES, ENTRY_BYTES};
use ligament_wire::{EndpointId, RankId};
use std::sync::atomic::Ordering;

/// Number of blocks of a sender that are checked.
const BLOCKS: u32 = 1 << 14;

/// Returns all broken rules.
pub fn of(script: &Script, agent: &mut Agent, progress: &[Progress], agent_gone: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    received_is_what_was_sent(script, progress, &mut wrong);
    if agent_gone {
        return wrong;
    }
    ended_for_the_first_reason(agent, &mut wrong);
    deadlocks_are_told_from_slowness(script, agent, &mut wrong);
    consequences_are_not_told_as_causes(agent, &mut wrong);
    if agent.core.ending() == Some(&RunOutcome::Done) {
        everybody_got_all(script, progress, &mut wrong);
        // Marks and messages of a checkpoint have no place in this sum.
        let readers = if script.cuts.is_some() { 0 } else { progress.len() as u32 };
        for reader in 0..readers {
            credit_is_back(script, agent, progress, reader, &mut wrong);
        }
    }
    let used = agent.core.memory().used;
    if used != 0 || agent.custody.held() != 0 {
        let held = agent.custody.held();
        wrong.push(format!("the run is over, and {used} bytes are booked, {held} pieces of memory held"));
    }
    wrong
}

/// Returns a word for the end of a run.
pub fn name(outcome: Option<&RunOutcome>) -> &'static str {
    match outcome {
        None => "not ended",
        Some(RunOutcome::Done) => "done",
        Some(RunOutcome::Failed(failure)) if failure.what.text().starts_with("deadlock: ") => "deadlocked",
        Some(RunOutcome::Failed(_)) => "failed",
        Some(RunOutcome::Stopped) => "stopped",
        Some(RunOutcome::Interrupted) => "interrupted",
    }
}

/// The instances have checked that each letter was the next of its channel. This checks that it was sent.
fn received_is_what_was_sent(script: &Script, progress: &[Progress], wrong: &mut Vec<String>) {
    for (number, channel) in script.plan.channels.iter().enumerate() {
        let received = progress[channel.to.rank.index()].channels[number].received;
        // A process may have crashed after it had published a letter, and before its call returned.
        let sender = &progress[channel.from.rank.index()];
        let sent = sender.channels[number].sent + usize::from(!sender.finished);
        // A resumed receiver may have received what its sender sends once more.
        let brought = script.cuts.as_ref().map_or(0, |cuts| cuts.brought(channel.to.rank.index(), number));
        if received > sent.max(brought) {
            wrong.push(format!("{received} letters were received on channel {number}, and {sent} sent"));
        }
    }
}

fn ended_for_the_first_reason(agent: &Agent, wrong: &mut Vec<String>) {
    let outcome = agent.core.ending();
    let fits = match (agent.first_fault, outcome) {
        (None, Some(RunOutcome::Done)) | (Some(Fault::Stop), Some(RunOutcome::Stopped)) => true,
        (Some(Fault::Of(culprit)), Some(RunOutcome::Failed(failure))) => {
            failure.rank == Some(RankId::new(culprit))
        }
        (Some(Fault::Deadlock), Some(RunOutcome::Failed(failure))) => {
            failure.rank.is_none() && failure.what.text().starts_with("deadlock: ")
        }
        _ => false,
    };
    if !fits {
        wrong.push(match agent.first_fault {
            None => format!("nothing went wrong, and the run ended as {outcome:?}"),
            Some(fault) => format!("the first fault was {fault:?}, and the run ended as {outcome:?}"),
        });
    }
}

/// Every deadlock that must come about is named, with all of its members and the channels on which they wait,
/// and no other deadlock is named.
fn deadlocks_are_told_from_slowness(script: &Script, agent: &Agent, wrong: &mut Vec<String>) {
    let truth = &script.truth;
    if agent.core.ending() == Some(&RunOutcome::Done) && !truth.ends() {
        wrong.push(format!("the run is done, and should have come to {:?}", truth.waits));
    }
    let suspicion = |(level, _, text): &&(Level, String, String)| {
        *level == Level::Warning && text.starts_with("these wait for each other")
    };
    // If memory is short, more instances may wait. Those that are called dead must still be dead.
    if script.short_of_memory {
        return;
    }
    if let Some((_, _, text)) = agent.manager.log.iter().find(suspicion) {
        wrong.push(format!("nobody waits for memory, and there is a suspicion: {text}"));
    }
    let Some(found) = agent.manager.logic.deadlock() else {
        return;
    };
    let knot = found.knot.waits.iter().fold(0u32, |set, wait| set | 1 << wait.rank.number());
    if !truth.knots.contains(&knot) {
        wrong
            .push(format!("the knot {knot:b} was named, and there are {:?} in {:?}", truth.knots, truth.waits));
    }
    for wait in &found.knot.waits {
        let mut channels: Vec<u32> = wait.edges.iter().filter_map(|way| way.channel).collect();
        channels.sort_unstable();
        let mut due = truth.waits[wait.rank.index()].clone().unwrap_or_default();
        due.sort_unstable();
        if wait.resource != AwaitedResource::Message || channels != due {
            wrong.push(format!("part{} waits for a message on {due:?}, and {wait:?} was named", wait.rank));
        }
    }
}

/// The log and the record blame only the first instance that failed, and the record's reason begins with it.
fn consequences_are_not_told_as_causes(agent: &mut Agent, wrong: &mut Vec<String>) {
    let Some(outcome) = agent.core.ending().cloned() else {
        return;
    };
    let pages: Vec<_> = (0..agent.core.wiring().ranks().count() as u32).map(|who| agent.page(who)).collect();
    let record = agent.manager.conclude(&outcome, &pages, 0);
    let culprit = match agent.first_fault {
        Some(Fault::Of(who)) => Some(agent.core.wiring().name(agent.core.plan(), RankId::new(who))),
        _ => None,
    };
    for (level, who, text) in &agent.manager.log {
        if *level == Level::Error && who != "run" && Some(who) != culprit.as_ref() {
            wrong.push(format!("the log blames {who}: {text}"));
        }
    }
    for instance in &record.instances {
        let failed = instance.state == InstanceState::Failed.name();
        if failed != (culprit.as_ref() == Some(&instance.name)) {
            wrong.push(format!(
                "the record says of {}: {}; to blame is {culprit:?}",
                instance.name, instance.state
            ));
        }
    }
    let begins = match (agent.first_fault, &culprit) {
        (_, Some(culprit)) => Some(culprit.as_str()),
        (Some(Fault::Deadlock), _) => Some("deadlock: "),
        _ => None,
    };
    let fits = match (&record.reason, begins) {
        (Some(reason), Some(begins)) => reason.starts_with(begins),
        (reason, begins) => reason.is_none() && begins.is_none(),
    };
    if !fits {
        wrong.push(format!("the reason is {:?}, where {begins:?} comes first", record.reason));
    }
    if agent.first_fault == Some(Fault::Deadlock) && record.deadlock.is_empty() {
        wrong.push("the record does not say who waits for whom".into());
    }
}

fn everybody_got_all(script: &Script, progress: &[Progress], wrong: &mut Vec<String>) {
    for (who, one) in progress.iter().enumerate() {
        if !one.finished {
            wrong.push(format!("the run is done, and part{who} is not"));
        }
    }
    for (number, channel) in script.plan.channels.iter().enumerate() {
        let (from, to) = (channel.from.rank.index(), channel.to.rank.index());
        let (sent, received) = (progress[from].channels[number], progress[to].channels[number]);
        let (all, wanted) = (script.sent[number].len(), script.wanted[number]);
        if (sent.sent, received.received, sent.end_sent) != (all, wanted, true) {
            wrong.push(format!(
                "channel {number} had {all} letters, of which {wanted} were wanted: at its ends {sent:?}, \
                 {received:?}"
            ));
        }
    }
}

/// All credit for received messages is returned, and every block that a reader had is released.
fn credit_is_back(script: &Script, agent: &mut Agent, progress: &[Progress], me: u32, wrong: &mut Vec<String>) {
    let (wiring, who) = (agent.core.wiring(), me as usize);
    let me = EndpointId::new(me);
    let senders = wiring.senders(me).to_vec();
    let layout = Layout { channels: wiring.incoming(me), inboxes: senders.len() as u32, rows: 0, ends: 0 };
    let incoming = wiring.receives(agent.core.plan(), me);
    let area = agent.custody.descriptor(MemoryRegion::Area(me)).expect("areas are kept");
    let front = Mapping::readable(&area, 0, layout.front()).expect("it is mapped elsewhere");
    let front = Front::new(front, layout).expect("it is an area");
    let slot = ENTRY_BYTES as u64;
    // A loan is always in a slab, even if it is small.
    let in_slab = |letter: u32| {
        let letter = &script.letters[letter as usize];
        let lent = letter.elements.is_some() && letter.by == By::Loan;
        Some(body_len(letter)).filter(|&len| lent || len > BODY_BYTES as u64)
    };
    for info in &incoming {
        let passed = progress[who].channels[info.id as usize];
        let letters = script.sent[info.id as usize].iter().take(passed.received);
        let letters: u64 = letters.map(|&letter| slot + in_slab(letter).unwrap_or(0)).sum();
        let due = letters + if passed.end_received { slot } else { 0 };
        let returned = front.credit(info.credit).map_or(0, |word| word.load(Ordering::Relaxed));
        if returned != due {
            wrong.push(format!(
                "{returned} bytes of credit came back on channel {}, and {due} are due",
                info.id
            ));
        }
    }
    let all_read =
        incoming.iter().all(|info| script.wanted[info.id as usize] == script.sent[info.id as usize].len());
    if !all_read || script.short_of_memory {
        return;
    }
    for (inbox, sender) in senders.iter().enumerate() {
        let (at, len) = layout.inbox(inbox as u32);
        let inbox = Mapping::readable(&area, at, len).and_then(Inbox::new).expect("it is mapped elsewhere");
        let released: u32 = (0..BLOCKS).map(|block| inbox.released(block)).sum();
        let from_it = incoming.iter().filter(|info| info.peer == *sender);
        let due = from_it.flat_map(|info| &script.sent[info.id as usize]).filter(|&&l| in_slab(l).is_some());
        let due = due.count() as u32;
        if released != due {
            wrong.push(format!("part{who} released {released} blocks of part{sender}, and had {due}"));
        }
    }
}
