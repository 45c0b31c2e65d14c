//! The logic of the agent of any domain but the first. It turns events of its domain into messages to the
//! head, and messages from the head into orders. It has no I/O and no clock.

use crate::action::AgentOrder;
use crate::memory::MessageMemory;
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{
    self as wire, AgentReport, CarrierLoad, ChannelView, FromAgent, FromHead, InstanceView, Lane, Passage,
    ProcessInspection, RankRow, RunOutcome, Snapshot,
};
use ligament_wire::timeline::TimelineDelta;
use ligament_wire::{DomainId, InstanceId, RankId, Ranks};
use std::time::Duration;

/// Interval between two snapshots of the instances for the head.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between two snapshots while the head waits for the result of a round.
const URGENT_SNAPSHOT_INTERVAL: Duration = Duration::from_millis(20);
/// Number of snapshots that are sent at the shorter interval after the head has begun a round.
const URGENT_SNAPSHOT_COUNT: u32 = 10;

/// A request from the head to the agent of another domain.
#[derive(Debug, Clone, PartialEq)]
pub enum HeadRequest {
    /// An order for the agent's logic.
    Order(AgentOrder),
    /// Number of bytes of files that the head has written so far.
    Wrote(u64),
    /// The head could not write this file of an instance, so the file is to be kept in this domain.
    NotWritten { instance: InstanceId, path: String },
    /// A client asks for part of a file.
    Look(wire::Look),
    /// A client wants to view a port, or stops viewing one.
    Tap(wire::TapOrder),
    /// The run is over.
    Bye,
    /// The head refuses this agent, with the reason.
    Refused(String),
}

/// The logic of the agent of any domain but the first.
///
/// The driver passes on each report of the agent's logic with [`RemoteAgent::report`]. It passes on each
/// message of the head with [`RemoteAgent::heard`], and carries out the requests which that call returns.
/// It sends the bytes of [`RemoteAgent::news`] at once, and a [`RemoteAgent::snapshot`] each time that
/// [`RemoteAgent::next_snapshot`] has passed. When all processes of the domain have ended, it sends the
/// last snapshot, the last file, and then [`RemoteAgent::over`].
#[derive(Debug)]
pub struct RemoteAgent {
    /// Ranks of this domain.
    own: Vec<RankId>,
    /// The last reported counts of each channel end.
    passed: Vec<ChannelView>,
    /// The last reported state of each rank of this domain. A state is reported only when it has changed.
    reported: Vec<Option<RankRow>>,
    reports: Vec<AgentReport>,
    /// Parts of timelines that the next snapshot will contain.
    lanes: Vec<Lane>,
    /// Number of the last round that was passed to the agent's logic.
    round: u64,
    urgent_snapshots_left: u32,
    /// True once the head has ordered the end of the run, or this agent has reported it to the head.
    ending: bool,
    over: bool,
}

/// The data of a snapshot.
pub struct SnapshotSource<'a, I, E, C> {
    /// All ranks of the run.
    pub views: &'a [InstanceView],
    pub memory: MessageMemory,
    /// Inspects the processes of a rank.
    pub inspect: I,
    /// Calls a function with the number and the counts of each channel end (`Custody::see_ends`).
    pub ends: E,
    /// Returns the state of the carrier.
    pub carried: C,
}

impl RemoteAgent {
    /// Makes the logic of the agent of domain `me`. `placement` has the domain of each instance, and
    /// `ranks` has the ranks of each instance.
    pub fn new(placement: &[DomainId], ranks: &Ranks, me: DomainId) -> RemoteAgent {
        let own: Vec<RankId> =
            ranks.all().filter(|&rank| placement[ranks.instance(rank).index()] == me).collect();
        RemoteAgent {
            reported: vec![None; own.len()],
            passed: Vec::new(),
            own,
            reports: Vec::new(),
            lanes: Vec::new(),
            round: 0,
            urgent_snapshots_left: 0,
            ending: false,
            over: false,
        }
    }

    /// Returns the ranks of this domain.
    pub fn own(&self) -> &[RankId] {
        &self.own
    }

    /// Adds a report of the agent's logic to the reports for the head.
    pub fn report(&mut self, report: &AgentReport) {
        // The end of the run is reported only if the head has not ordered it, and only once.
        if matches!(report, AgentReport::Ending(_)) && std::mem::replace(&mut self.ending, true) {
            return;
        }
        self.reports.push(report.clone().truncated());
    }

    /// Returns the message with all reports since the previous call. The driver sends it at once. Returns
    /// `None` if there are no reports.
    pub fn news(&mut self) -> Option<Vec<u8>> {
        let reports = std::mem::take(&mut self.reports);
        (!reports.is_empty()).then(|| to_bytes(&FromAgent::Reports(reports)))
    }

    /// Adds a part of a rank's timeline to the next snapshot. `over` is true for the last part.
    pub fn gained(&mut self, rank: RankId, gained: &TimelineDelta, over: bool) {
        if over || !gained.intervals.is_empty() || !gained.causes.is_empty() {
            self.lanes.push(Lane { rank, news: gained.clone(), over });
        }
    }

    /// Handles a message of the head, and returns the requests in it.
    ///
    /// # Errors
    /// Returns an error if the message makes no sense.
    pub fn heard(&mut self, bytes: &[u8]) -> Result<Vec<HeadRequest>, Fault> {
        Ok(match wire::from_bytes::<FromHead>(bytes)? {
            FromHead::Orders(orders) => orders.into_iter().map(|order| self.take(order)).collect(),
            FromHead::Bye => vec![HeadRequest::Bye],
            FromHead::Wrote(bytes) => vec![HeadRequest::Wrote(bytes)],
            FromHead::Refused(why) => vec![HeadRequest::Refused(why)],
            FromHead::NotWritten { instance, path } => vec![HeadRequest::NotWritten { instance, path }],
            FromHead::Look(look) => vec![HeadRequest::Look(look)],
            FromHead::Tap(order) => vec![HeadRequest::Tap(order)],
            FromHead::Begin(_) | FromHead::Input { .. } | FromHead::Start => {
                return Err(fault!(DOMAIN_SENDS_NONSENSE, "the head began a second time"))
            }
        })
    }

    fn take(&mut self, order: wire::AgentOrder) -> HeadRequest {
        match &order {
            wire::AgentOrder::Look { round, .. } => {
                self.round = *round;
                self.urgent_snapshots_left = URGENT_SNAPSHOT_COUNT;
            }
            wire::AgentOrder::End(_) => self.ending = true,
            _ => {}
        }
        HeadRequest::Order(order_from_wire(order))
    }

    /// Returns the time until the next snapshot is due.
    pub fn next_snapshot(&self) -> Duration {
        if self.urgent_snapshots_left > 0 {
            URGENT_SNAPSHOT_INTERVAL
        } else {
            SNAPSHOT_INTERVAL
        }
    }

    /// Returns the message with a snapshot of the instances at the time `now`.
    pub fn snapshot<I, E, C>(&mut self, source: SnapshotSource<'_, I, E, C>, now: u64) -> Vec<u8>
    where
        I: Fn(RankId) -> ProcessInspection,
        E: FnOnce(&mut dyn FnMut(u32, ChannelView)),
        C: FnOnce() -> CarrierLoad,
    {
        let SnapshotSource { views, memory, inspect, ends, carried } = source;
        self.urgent_snapshots_left = self.urgent_snapshots_left.saturating_sub(1);
        let mut rows = Vec::new();
        for (&rank, told) in self.own.iter().zip(&mut self.reported) {
            let Some(view) = views.get(rank.index()) else { continue };
            // The head does not need to know which process registered.
            let view = InstanceView { speaker: None, ..view.clone() };
            let row = RankRow { rank, view, inspection: inspect(rank) };
            if told.as_ref() != Some(&row) {
                rows.push(row.clone());
                *told = Some(row);
            }
        }
        let mut passages = Vec::new();
        let mut at = 0;
        ends(&mut |channel, view| {
            match self.passed.get_mut(at) {
                Some(told) if *told == view => {}
                Some(told) => {
                    passages.push(Passage { channel, view });
                    *told = view;
                }
                None => {
                    if view != ChannelView::default() {
                        passages.push(Passage { channel, view });
                    }
                    self.passed.push(view);
                }
            }
            at += 1;
        });
        to_bytes(&FromAgent::Snapshot(Box::new(Snapshot {
            at: now,
            round: self.round,
            carried: carried(),
            memory_used: memory.used,
            memory_limit: memory.limit,
            rows,
            lanes: std::mem::take(&mut self.lanes),
            passages: (!passages.is_empty()).then_some(passages),
        })))
    }

    /// Returns the last message of this agent, which says that all processes of the domain have ended. The
    /// driver sends it after the last snapshot and the last file. Later calls return `None`.
    pub fn over(&mut self, ending: Option<&RunOutcome>) -> Option<Vec<u8>> {
        let said = std::mem::replace(&mut self.over, true);
        (!said).then(|| to_bytes(&FromAgent::Over(ending.cloned().map(RunOutcome::truncated))))
    }
}

/// Returns the message that carries these orders to the agent of another domain.
pub fn orders<'a>(orders: impl IntoIterator<Item = &'a AgentOrder>) -> Vec<u8> {
    to_bytes(&FromHead::Orders(orders.into_iter().filter_map(order_to_wire).collect()))
}

/// Converts an order for the agent of another domain. Returns `None` if the order concerns only the head's
/// own agent.
fn order_to_wire(order: &AgentOrder) -> Option<wire::AgentOrder> {
    Some(match order {
        AgentOrder::Budget { channel, bytes } => wire::AgentOrder::Budget { channel: *channel, bytes: *bytes },
        AgentOrder::Look { round, ranks } => wire::AgentOrder::Look { round: *round, ranks: ranks.clone() },
        AgentOrder::End(outcome) => wire::AgentOrder::End(outcome.clone().truncated()),
        AgentOrder::Hurry => wire::AgentOrder::Hurry,
        AgentOrder::Steer { ranks, steer } => {
            wire::AgentOrder::Steer { ranks: ranks.clone(), steer: steer.clone() }
        }
        AgentOrder::Slots { .. } | AgentOrder::Fail(_) | AgentOrder::Release => return None,
    })
}

fn order_from_wire(order: wire::AgentOrder) -> AgentOrder {
    match order {
        wire::AgentOrder::Budget { channel, bytes } => AgentOrder::Budget { channel, bytes },
        wire::AgentOrder::Look { round, ranks } => AgentOrder::Look { round, ranks },
        wire::AgentOrder::End(outcome) => AgentOrder::End(outcome),
        wire::AgentOrder::Hurry => AgentOrder::Hurry,
        wire::AgentOrder::Steer { ranks, steer } => AgentOrder::Steer { ranks, steer },
    }
}
