//! The logic of an agent that is not the head: what happens in its domain goes in, messages for the head come out, and
//! what the head says becomes orders. No I/O and no clock.

use super::wire_conversion::{
    lane_to_wire, order_from_wire, order_to_wire, outcome_to_wire, passage_to_wire, report_to_wire, row_to_wire,
};
use crate::action::{AgentOrder, AgentReport, InstancePhase};
use crate::custody::{ChannelView, TimelineDelta};
use crate::host::{InstanceView, ProcessInspection};
use crate::outcome::RunOutcome;
use ligament_catalogue::{fault, Fault};
use ligament_shm::status::Status;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{self as wire, CarrierLoad, FromAgent, FromHead, Snapshot};
use ligament_wire::{DomainId, InstanceId, RankId, Ranks};
use std::time::Duration;

/// How often the head is told how the instances stand.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(250);
/// How often while the head wants to know whether somebody has looked.
const URGENT_SNAPSHOT_INTERVAL: Duration = Duration::from_millis(20);
/// For so many snapshots it does.
const URGENT_SNAPSHOT_COUNT: u32 = 10;

/// What the head wants.
#[derive(Debug, Clone, PartialEq)]
pub enum HeadRequest {
    /// Of the logic of the agent.
    Order(AgentOrder),
    /// So many bytes of files were written down, in all.
    Wrote(u64),
    /// A file of an instance could not be written, and is to be kept.
    NotWritten { instance: InstanceId, path: String },
    /// Somebody wants to see a file.
    Look(wire::Look),
    /// Somebody looks at a port.
    Tap(wire::TapOrder),
    /// The run is over.
    Bye,
    /// It does not want this agent, and why.
    Refused(String),
}

/// The part of an instance that is compared with what was told before.
#[derive(Debug, Clone, PartialEq)]
struct ReportedState {
    phase: InstancePhase,
    pid: Option<u32>,
    looked: ProcessInspection,
    status: Option<Status>,
}

/// An agent that is not the head.
#[derive(Debug)]
pub struct RemoteAgent {
    /// The ranks of this domain.
    own: Vec<RankId>,
    /// What was told last of each end of a channel.
    passed: Vec<ChannelView>,
    reported: Vec<Option<ReportedState>>,
    reports: Vec<wire::DomainReport>,
    /// What timelines have gained: whose, what, and whether nothing more will come.
    lanes: Vec<(RankId, TimelineDelta, bool)>,
    /// The last round that was passed on.
    round: u64,
    urgent_snapshots_left: u32,
    /// Whether the head knows that the run ends, because it said so or was told.
    ending: bool,
    over: bool,
}

impl RemoteAgent {
    /// Of domain `me` of a run whose instances are in these domains, and have these ranks.
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

    /// The ranks of this domain.
    pub fn own(&self) -> &[RankId] {
        &self.own
    }

    /// Something happened here.
    pub fn report(&mut self, report: &AgentReport) {
        // Of its own end a run is told once, by whoever noticed first.
        if matches!(report, AgentReport::Ending(_)) && std::mem::replace(&mut self.ending, true) {
            return;
        }
        self.reports.push(report_to_wire(report));
    }

    /// What happened since the last time, to be sent at once.
    pub fn news(&mut self) -> Option<Vec<u8>> {
        let reports = std::mem::take(&mut self.reports);
        (!reports.is_empty()).then(|| to_bytes(&FromAgent::Reports(reports)))
    }

    /// What the timeline of a rank has gained, to go with the next snapshot; `over`: nothing more will come.
    pub fn gained(&mut self, rank: RankId, gained: &TimelineDelta, over: bool) {
        if over || !gained.intervals.is_empty() || !gained.causes.is_empty() {
            self.lanes.push((rank, gained.clone(), over));
        }
    }

    /// The head says something.
    ///
    /// # Errors
    /// It makes no sense.
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

    /// How long after this the next snapshot is due.
    pub fn next_snapshot(&self) -> Duration {
        if self.urgent_snapshots_left > 0 {
            URGENT_SNAPSHOT_INTERVAL
        } else {
            SNAPSHOT_INTERVAL
        }
    }

    /// How the instances stand at `now`, to be sent; `views` has all ranks of the run, `looked` tells
    /// what was found at a look at the processes of one, `ends` shows what has passed the ends of channels
    /// (`Custody::see_ends`), and `carried` asks the carrier, after all has been read.
    pub fn snapshot(
        &mut self,
        views: &[InstanceView],
        looked: impl Fn(RankId) -> ProcessInspection,
        (memory_used, memory_limit): (u64, u64),
        ends: impl FnOnce(&mut dyn FnMut(u32, ChannelView)),
        carried: impl FnOnce() -> CarrierLoad,
        now: u64,
    ) -> Vec<u8> {
        self.urgent_snapshots_left = self.urgent_snapshots_left.saturating_sub(1);
        let mut rows = Vec::new();
        for (&rank, told) in self.own.iter().zip(&mut self.reported) {
            let Some(view) = views.get(rank.index()) else { continue };
            let seen = ReportedState {
                phase: view.phase,
                pid: view.pid,
                looked: looked(rank),
                status: view.status.clone(),
            };
            if told.as_ref() != Some(&seen) {
                rows.push(row_to_wire(rank, view, &seen.looked, now));
                *told = Some(seen);
            }
        }
        let mut passages = Vec::new();
        let mut at = 0;
        ends(&mut |channel, view| {
            match self.passed.get_mut(at) {
                Some(told) if *told == view => {}
                Some(told) => {
                    passages.push(passage_to_wire(channel, &view));
                    *told = view;
                }
                None => {
                    if view != ChannelView::default() {
                        passages.push(passage_to_wire(channel, &view));
                    }
                    self.passed.push(view);
                }
            }
            at += 1;
        });
        let lanes = std::mem::take(&mut self.lanes);
        let lane = |(rank, gained, over): (RankId, TimelineDelta, bool)| lane_to_wire(rank, &gained, over, now);
        to_bytes(&FromAgent::Snapshot(Box::new(Snapshot {
            at: now,
            round: self.round,
            carried: carried(),
            memory_used,
            memory_limit,
            rows,
            lanes: lanes.into_iter().map(lane).collect(),
            passages: (!passages.is_empty()).then_some(passages),
        })))
    }

    /// No process of the domain is left: the last word, after the last snapshot and the last of the files. Said once.
    pub fn over(&mut self, ending: Option<&RunOutcome>) -> Option<Vec<u8>> {
        let said = std::mem::replace(&mut self.over, true);
        (!said).then(|| to_bytes(&FromAgent::Over(ending.map(outcome_to_wire))))
    }
}

/// Orders for the agent of a domain.
pub fn orders<'a>(orders: impl IntoIterator<Item = &'a AgentOrder>) -> Vec<u8> {
    to_bytes(&FromHead::Orders(orders.into_iter().filter_map(order_to_wire).collect()))
}
