//! Converts the state of instances, reports and orders to the types of the protocol between domains, and back.
//! On the wire, points in time are ages; the receiver converts them to its own clock.

use crate::action::{AgentOrder, AgentReport, InstancePhase};
use crate::custody::{ChannelView, TimelineDelta};
use crate::host::{InstanceView, ProcessInspection, RankLag};
use crate::outcome::{Exit, RunFailure, RunOutcome};
use ligament_catalogue::{Code, Fault};
use ligament_shm::area::ChannelCount;
use ligament_shm::status::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
use ligament_shm::timeline::{Activity, Cause, CauseSum, TimelineInterval, TimelineTotals};
use ligament_wire::control::SteerableSetting;
use ligament_wire::domains as wire;
use ligament_wire::{EndpointId, RankId};

const STATES: [EndpointActivity; 8] = [
    EndpointActivity::Starting,
    EndpointActivity::Computing,
    EndpointActivity::WaitingToReceive,
    EndpointActivity::WaitingToSend,
    EndpointActivity::Transferring,
    EndpointActivity::Ended,
    EndpointActivity::Failed,
    EndpointActivity::Held,
];

const ACTIVITIES: [Activity; 8] = [
    Activity::AwaitsMessage,
    Activity::AwaitsAny,
    Activity::AwaitsCredit,
    Activity::AwaitsSlots,
    Activity::AwaitsMemory,
    Activity::Sends,
    Activity::Receives,
    Activity::AwaitsSteering,
];

fn exit_to_wire(exit: Exit) -> wire::Exit {
    match exit {
        Exit::Status(status) => wire::Exit::Status(status),
        Exit::Signal(signal) => wire::Exit::Signal(signal),
        Exit::Unknown => wire::Exit::Unknown,
    }
}

fn exit_from_wire(exit: wire::Exit) -> Exit {
    match exit {
        wire::Exit::Status(status) => Exit::Status(status),
        wire::Exit::Signal(signal) => Exit::Signal(signal),
        wire::Exit::Unknown => Exit::Unknown,
    }
}

/// The outcome of a run.
pub fn outcome_to_wire(outcome: &RunOutcome) -> wire::RunOutcome {
    match outcome {
        RunOutcome::Done => wire::RunOutcome::Done,
        RunOutcome::Stopped => wire::RunOutcome::Stopped,
        RunOutcome::Interrupted => wire::RunOutcome::Interrupted,
        RunOutcome::Failed(RunFailure { rank, what, said, exit }) => wire::RunOutcome::Failed(wire::Failure {
            rank: *rank,
            what: truncated(what.text()),
            code: Some(what.code().name().to_owned()),
            said: said.as_deref().map(truncated),
            exit: exit.map(exit_to_wire),
        }),
    }
}

/// The inverse of `outcome_to_wire`.
pub fn outcome_from_wire(outcome: wire::RunOutcome) -> RunOutcome {
    match outcome {
        wire::RunOutcome::Done => RunOutcome::Done,
        wire::RunOutcome::Stopped => RunOutcome::Stopped,
        wire::RunOutcome::Interrupted => RunOutcome::Interrupted,
        wire::RunOutcome::Failed(wire::Failure { rank, what, said, exit, code }) => {
            let code = code.as_deref().and_then(Code::named).unwrap_or(Code::DOMAIN_SENDS_NONSENSE);
            let what = Fault::new(code, what);
            RunOutcome::Failed(RunFailure { rank, what, said, exit: exit.map(exit_from_wire) })
        }
    }
}

/// A report.
pub fn report_to_wire(report: &AgentReport) -> wire::DomainReport {
    match report {
        AgentReport::Registered { rank, pid, language } => {
            wire::DomainReport::Registered { rank: *rank, pid: *pid, language: truncated(language) }
        }
        AgentReport::Exited { rank, exit } => {
            wire::DomainReport::Exited { rank: *rank, exit: exit_to_wire(*exit) }
        }
        AgentReport::Said { rank, level, text } => {
            wire::DomainReport::Said { rank: *rank, level: *level, text: truncated(text) }
        }
        AgentReport::Remark { level, text } => {
            wire::DomainReport::Remark { level: *level, text: truncated(text) }
        }
        AgentReport::Ending(outcome) => wire::DomainReport::Ending(outcome_to_wire(outcome)),
        AgentReport::Slots { rank, slots } => wire::DomainReport::Slots { rank: *rank, slots: slots.clone() },
        AgentReport::Used { rank, asked, sent, received } => wire::DomainReport::Used {
            rank: *rank,
            asked: asked.iter().map(|name| truncated(name)).collect(),
            sent: sent.clone(),
            received: received.clone(),
        },
        AgentReport::Steers { rank, change, answer } => {
            wire::DomainReport::Steers { rank: *rank, change: *change, answer: answer.clone() }
        }
        AgentReport::Steerable { rank, setting } => wire::DomainReport::Steerable {
            rank: *rank,
            setting: SteerableSetting {
                name: truncated(&setting.name),
                unit: truncated(&setting.unit),
                ..setting.clone()
            },
        },
        AgentReport::Sends { rank, ports } => {
            wire::DomainReport::Sends { rank: *rank, ports: ports.iter().map(|port| truncated(port)).collect() }
        }
        AgentReport::Declares { rank, ports } => wire::DomainReport::Declares {
            rank: *rank,
            ports: ports.iter().map(|(name, operator)| (truncated(name), truncated(operator))).collect(),
        },
    }
}

/// The inverse of `report_to_wire`.
pub fn report_from_wire(report: wire::DomainReport) -> AgentReport {
    match report {
        wire::DomainReport::Registered { rank, pid, language } => {
            AgentReport::Registered { rank, pid, language }
        }
        wire::DomainReport::Exited { rank, exit } => AgentReport::Exited { rank, exit: exit_from_wire(exit) },
        wire::DomainReport::Said { rank, level, text } => AgentReport::Said { rank, level, text },
        wire::DomainReport::Remark { level, text } => AgentReport::Remark { level, text },
        wire::DomainReport::Ending(outcome) => AgentReport::Ending(outcome_from_wire(outcome)),
        wire::DomainReport::Slots { rank, slots } => AgentReport::Slots { rank, slots },
        wire::DomainReport::Used { rank, asked, sent, received } => {
            AgentReport::Used { rank, asked, sent, received }
        }
        wire::DomainReport::Steers { rank, change, answer } => AgentReport::Steers { rank, change, answer },
        wire::DomainReport::Steerable { rank, setting } => AgentReport::Steerable { rank, setting },
        wire::DomainReport::Sends { rank, ports } => AgentReport::Sends { rank, ports: ports.into() },
        wire::DomainReport::Declares { rank, ports } => AgentReport::Declares { rank, ports },
    }
}

/// An order for the agent of another domain. `None` if the order concerns only the agent that it was given to.
pub fn order_to_wire(order: &AgentOrder) -> Option<wire::AgentOrder> {
    Some(match order {
        AgentOrder::Budget { channel, bytes } => wire::AgentOrder::Budget { channel: *channel, bytes: *bytes },
        AgentOrder::Look { round, ranks } => wire::AgentOrder::Look { round: *round, ranks: ranks.clone() },
        AgentOrder::End(outcome) => wire::AgentOrder::End(outcome_to_wire(outcome)),
        AgentOrder::Hurry => wire::AgentOrder::Hurry,
        AgentOrder::Steer { ranks, steer } => {
            wire::AgentOrder::Steer { ranks: ranks.clone(), steer: steer.clone() }
        }
        AgentOrder::Slots { .. } | AgentOrder::Fail(_) | AgentOrder::Release => return None,
    })
}

/// The inverse of `order_to_wire`.
pub fn order_from_wire(order: wire::AgentOrder) -> AgentOrder {
    match order {
        wire::AgentOrder::Budget { channel, bytes } => AgentOrder::Budget { channel, bytes },
        wire::AgentOrder::Look { round, ranks } => AgentOrder::Look { round, ranks },
        wire::AgentOrder::End(outcome) => AgentOrder::End(outcome_from_wire(outcome)),
        wire::AgentOrder::Hurry => AgentOrder::Hurry,
        wire::AgentOrder::Steer { ranks, steer } => AgentOrder::Steer { ranks, steer },
    }
}

/// The counts of a channel.
pub fn passage_to_wire(channel: u32, view: &ChannelView) -> wire::Passage {
    let passed = |one: ChannelCount| wire::Traffic { messages: one.messages, bytes: one.bytes, time: one.time };
    wire::Passage { channel, sent: view.sent.map(passed), received: view.received.map(passed) }
}

/// The inverse of `passage_to_wire`.
pub fn passage_from_wire(passage: &wire::Passage) -> ChannelView {
    let passed = |one: wire::Traffic| ChannelCount { messages: one.messages, bytes: one.bytes, time: one.time };
    ChannelView { sent: passage.sent.map(passed), received: passage.received.map(passed) }
}

/// The state of a rank at `now` (ns of CLOCK_MONOTONIC).
pub fn row_to_wire(rank: RankId, view: &InstanceView, looked: &ProcessInspection, now: u64) -> wire::RankRow {
    let phase = match view.phase {
        InstancePhase::Waiting => wire::RankPhase::Waiting,
        InstancePhase::Started => wire::RankPhase::Started,
        InstancePhase::Running => wire::RankPhase::Running,
        InstancePhase::Finished => wire::RankPhase::Finished,
        InstancePhase::Gone(exit) => wire::RankPhase::Gone(exit_to_wire(exit)),
    };
    let page = view.status.as_ref().map(|status| page_to_wire(status, now));
    let ranks = looked.ranks.as_ref().map(|ranks| (ranks.what.clone(), now.saturating_sub(ranks.since)));
    wire::RankRow { rank, phase, pid: view.pid, stopped: looked.stopped, page, ranks }
}

/// The result of an inspection of processes, from a snapshot that was taken at `at`.
pub fn inspection_from_wire(row: &wire::RankRow, at: u64) -> ProcessInspection {
    let ranks = row.ranks.as_ref();
    let ranks = ranks.map(|(what, age)| RankLag { what: what.clone(), since: at.saturating_sub(*age) });
    ProcessInspection { stopped: row.stopped, ranks }
}

/// The state of a rank, from a snapshot that was taken at `at` (ns of CLOCK_MONOTONIC here).
pub fn view_from_wire(row: &wire::RankRow, at: u64) -> InstanceView {
    let phase = match row.phase {
        wire::RankPhase::Waiting => InstancePhase::Waiting,
        wire::RankPhase::Started => InstancePhase::Started,
        wire::RankPhase::Running => InstancePhase::Running,
        wire::RankPhase::Finished => InstancePhase::Finished,
        wire::RankPhase::Gone(exit) => InstancePhase::Gone(exit_from_wire(exit)),
    };
    InstanceView {
        phase,
        pid: row.pid,
        speaker: None,
        status: row.page.as_ref().map(|page| page_from_wire(page, at)),
    }
}

/// A status page at `now`.
pub fn page_to_wire(status: &Status, now: u64) -> wire::Page {
    let age = |at: u64| now.saturating_sub(at);
    let what = |what: &AwaitedEvent| match what {
        AwaitedEvent::Message { channels } => wire::AwaitedThing::Message(channels.clone()),
        AwaitedEvent::Credit { channel, needs } => wire::AwaitedThing::Credit(*channel, *needs),
        AwaitedEvent::Slots { endpoint } => wire::AwaitedThing::Slots(endpoint.leader()),
        AwaitedEvent::Memory => wire::AwaitedThing::Memory,
        AwaitedEvent::Steering { change } => wire::AwaitedThing::Steering(*change),
    };
    let waits = status.waits.as_ref().map(|waits| wire::Waits {
        what: what(&waits.what),
        age: age(waits.since),
        timed: waits.timed,
        holding: waits.holding,
    });
    wire::Page {
        state: status.state as u8,
        epoch: status.epoch,
        waits,
        looked: status.looked,
        time: status.time,
        iterations: status.iterations,
        pinned: status.pinned,
        sent_messages: status.sent_messages,
        sent_bytes: status.sent_bytes,
        received_messages: status.received_messages,
        received_bytes: status.received_bytes,
        waited: status.waited,
        transferred: status.transferred,
        receiving: status.receiving,
        wait_count: status.wait_count,
        started: (status.started > 0).then(|| age(status.started)),
        ended: (status.ended > 0).then(|| age(status.ended)),
    }
}

fn page_from_wire(page: &wire::Page, at: u64) -> Status {
    // 0 stands for never.
    let moment = |age: u64| at.saturating_sub(age).max(1);
    let what = |what: &wire::AwaitedThing| match what {
        wire::AwaitedThing::Message(channels) => AwaitedEvent::Message { channels: channels.clone() },
        wire::AwaitedThing::Credit(channel, needs) => AwaitedEvent::Credit { channel: *channel, needs: *needs },
        wire::AwaitedThing::Slots(rank) => AwaitedEvent::Slots { endpoint: EndpointId::led_by(*rank) },
        wire::AwaitedThing::Memory => AwaitedEvent::Memory,
        wire::AwaitedThing::Steering(change) => AwaitedEvent::Steering { change: *change },
    };
    let waits = page.waits.as_ref().map(|waits| WaitRecord {
        what: what(&waits.what),
        since: moment(waits.age),
        timed: waits.timed,
        holding: waits.holding,
    });
    Status {
        state: STATES.get(page.state as usize).copied().unwrap_or(EndpointActivity::Starting),
        epoch: page.epoch,
        waits,
        looked: page.looked,
        time: page.time,
        iterations: page.iterations,
        pinned: page.pinned,
        sent_messages: page.sent_messages,
        sent_bytes: page.sent_bytes,
        received_messages: page.received_messages,
        received_bytes: page.received_bytes,
        waited: page.waited,
        transferred: page.transferred,
        receiving: page.receiving,
        wait_count: page.wait_count,
        started: page.started.map_or(0, moment),
        ended: page.ended.map_or(0, moment),
    }
}

/// News of a timeline until `now`.
pub fn lane_to_wire(rank: RankId, gained: &TimelineDelta, over: bool, now: u64) -> wire::Lane {
    let interval = |one: &TimelineInterval| wire::Interval {
        activity: one.cause.activity as u8,
        id: one.cause.id,
        begin: now.saturating_sub(one.begin),
        end: now.saturating_sub(one.end),
        sums: one.sums.words(),
        missed: one.missed,
    };
    let tally = |one: &CauseSum| wire::ActivityTotal {
        activity: one.cause.activity as u8,
        id: one.cause.id,
        ns: one.ns,
        count: one.count,
    };
    wire::Lane {
        rank,
        page: page_to_wire(&gained.status, now),
        intervals: gained.intervals.iter().map(interval).collect(),
        sums: gained.causes.iter().map(tally).collect(),
        over,
    }
}

/// News of a timeline, from a snapshot that was taken at `at` here.
pub fn timeline_from_wire(lane: &wire::Lane, at: u64) -> TimelineDelta {
    let cause = |activity: u8, id: u32| {
        let activity = ACTIVITIES.into_iter().find(|&known| known as u8 == activity)?;
        Some(Cause { activity, id })
    };
    let interval = |one: &wire::Interval| {
        Some(TimelineInterval {
            cause: cause(one.activity, one.id)?,
            begin: at.saturating_sub(one.begin),
            end: at.saturating_sub(one.end),
            sums: TimelineTotals::from_words(one.sums),
            missed: one.missed,
        })
    };
    let tally = |one: &wire::ActivityTotal| {
        Some(CauseSum { cause: cause(one.activity, one.id)?, ns: one.ns, count: one.count })
    };
    TimelineDelta {
        status: page_from_wire(&lane.page, at),
        intervals: lane.intervals.iter().filter_map(interval).collect(),
        causes: lane.sums.iter().filter_map(tally).collect(),
    }
}

/// A text, shortened to the length that the receiver accepts.
pub(crate) fn truncated(text: &str) -> String {
    const TRUNCATION_MARK: &str = " … (cut)";
    if text.len() <= wire::MAX_TEXT {
        return text.to_owned();
    }
    let most = wire::MAX_TEXT - TRUNCATION_MARK.len();
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}{TRUNCATION_MARK}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_catalogue::fault;

    fn status() -> Status {
        Status {
            state: EndpointActivity::WaitingToReceive,
            epoch: 7,
            waits: Some(WaitRecord {
                what: AwaitedEvent::Message { channels: vec![1, 2] },
                since: 900,
                timed: true,
                holding: false,
            }),
            looked: 3,
            time: Some(0.5),
            iterations: 1,
            pinned: 2,
            sent_messages: 3,
            sent_bytes: 4,
            received_messages: 5,
            received_bytes: 6,
            waited: 7,
            transferred: 8,
            receiving: 9,
            wait_count: 10,
            started: 100,
            ended: 0,
        }
    }

    #[test]
    fn a_page_comes_back_on_another_clock_with_all_its_intervals() {
        let there = status();
        let here = page_from_wire(&page_to_wire(&there, 1000), 1_000_000);
        let shifted = |at: u64| at + 999_000;
        let waits = there.waits.clone().map(|waits| WaitRecord { since: shifted(waits.since), ..waits });
        assert_eq!(here, Status { waits, started: shifted(there.started), ..there });
    }

    #[test]
    fn a_clock_that_began_later_makes_nothing_of_what_was_before_it() {
        let here = page_from_wire(&page_to_wire(&status(), 1000), 10);
        assert_eq!((here.started, here.ended), (1, 0));
    }

    #[test]
    fn a_long_line_is_cut_between_two_letters() {
        let long = "ä".repeat(wire::MAX_TEXT);
        let short = truncated(&long);
        assert!(short.len() <= wire::MAX_TEXT && short.ends_with("(cut)"));
        assert_eq!(truncated("short"), "short");
    }

    #[test]
    fn every_outcome_and_report_comes_back() {
        let failure = RunFailure {
            rank: Some(RankId::new(3)),
            what: fault!(EXIT_STATUS, "ended"),
            said: Some("why".into()),
            exit: Some(Exit::Signal(9)),
        };
        for outcome in
            [RunOutcome::Done, RunOutcome::Stopped, RunOutcome::Interrupted, RunOutcome::Failed(failure)]
        {
            assert_eq!(outcome_from_wire(outcome_to_wire(&outcome)), outcome);
            let report = AgentReport::Ending(outcome);
            assert_eq!(report_from_wire(report_to_wire(&report)), report);
        }
    }
}
