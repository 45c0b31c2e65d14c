//! The head's logic for a run over several domains. The head combines the reports of all agents into one
//! view for the manager, and passes the manager's orders to the agents that the orders concern. When the
//! run ends in one domain, the head passes the first reason for this end to all other domains.

use crate::deadlock::CarrierState;
use ligament_agent::domains::orders;
use ligament_agent::memory::MessageMemory;
use ligament_agent::{
    AgentOrder, AgentReport, ChannelView, Exit, InstancePhase, InstanceView, ProcessInspection, RunOutcome,
    TimelineDelta,
};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{
    from_bytes, CarrierLoad, CheckpointPart, Extent, FromAgent, FromHead, Lane, OutputPart, OwnCores, Passage,
    PeekReply, RankRow, Snapshot, TapReply,
};
use ligament_wire::status::ClockShift;
use ligament_wire::{DomainId, InstanceId, RankId};
use std::time::Duration;

/// An action that the host carries out.
#[derive(Debug, Clone)]
pub enum HeadAction {
    /// Send these bytes, which are one message, to the agent of a domain.
    Tell { domain: DomainId, bytes: Vec<u8> },
    /// Pass an order to the head's own agent.
    Order(AgentOrder),
    /// Pass on a report of another domain's agent.
    Report(AgentReport),
    /// Pass on the additions to the timeline of a rank in another domain. They end at time `at` of the head's
    /// clock, in ns. `over` is true if they are the rank's last additions.
    Gained { rank: RankId, gained: TimelineDelta, at: u64, over: bool },
    /// Write a piece of a file into the run directory. After that, the host calls `wrote`.
    Write { domain: DomainId, piece: OutputPart },
    /// A domain is ready to start its instances. `scratch` is the directory of the instances' files, if
    /// this is not the run directory.
    Ready { domain: DomainId, scratch: Option<String> },
    /// Processes of a domain have cores of their own.
    Cores(Vec<OwnCores>),
    /// Number of files, and their total size in bytes, that a domain will send.
    Leaves { domain: DomainId, files: u64, bytes: u64 },
    /// Write a piece of a file of a checkpoint. After that, the host calls `wrote`.
    WriteCheckpoint { domain: DomainId, piece: CheckpointPart },
    /// Answer of a domain to a client that asked for a file.
    Seen { domain: DomainId, seen: PeekReply },
    /// Answer of a domain to a client that views a port.
    Tapped { domain: DomainId, tapped: TapReply },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DomainState {
    Running,
    /// All processes of the domain have ended. The carrier of the domain may still deliver messages of these
    /// processes to other domains.
    Over,
    /// The domain's agent is gone.
    Lost,
}

/// A domain other than the head's.
#[derive(Debug)]
struct RemoteDomain {
    name: String,
    stage: DomainState,
    /// Time of the last message of the domain's agent, in ns of the head's clock.
    heard: u64,
    /// The head's clock minus the domain's clock, in ns. `None` before the first snapshot. Each measured
    /// difference includes the delay of its snapshot, so the smallest difference is the best estimate.
    ahead: Option<i128>,
    carrier: CarrierState,
    memory: MessageMemory,
    wrote: u64,
    /// True if the domain's agent knows that the run ends.
    ending: bool,
}

/// The head of a run over several domains.
///
/// Before anything starts, the host passes messages of agents to [`Head::heard_early`]. [`Head::starts`]
/// begins the run. From then on, the host calls [`Head::heard`] for each message of an agent,
/// [`Head::lost`] or [`Head::gone`] for the loss of an agent, [`Head::tick`] at short intervals, and
/// [`Head::pass_on`] for each order of the manager. The host reports the end of the run with
/// [`Head::ending`], and the end of the processes in the head's own domain with [`Head::done_here`]. After
/// each call, the host calls [`Head::release`], which checks if all domains are done.
/// [`Head::dismiss_agents`] is the last call. The host carries out the returned actions in their order.
#[derive(Debug)]
pub struct Head {
    extent: Extent,
    /// Domains other than the head's, which begin with number 1.
    members: Vec<RemoteDomain>,
    /// Last view of each rank in another domain, and the last inspection of the rank's processes.
    seen: Vec<Option<(InstanceView, ProcessInspection)>>,
    /// Last counts of each channel, as the other domains report them.
    channels: Vec<ChannelView>,
    /// Last detection round in which the head asked its own instances to check their input.
    round: u64,
    /// Time without a message from a domain's agent after which the domain is lost.
    patience: Duration,
    /// True if all processes of the head's own domain have ended.
    done_here: bool,
    released: bool,
}

impl Head {
    /// Makes the head of a run. `names` has the names of the domains from number 1 on, for people. All of
    /// these domains have joined by `now` (ns). A domain is lost after the time `patience` without a
    /// message.
    pub fn new(extent: Extent, names: Vec<String>, patience: Duration, now: u64) -> Head {
        let member = |name| RemoteDomain {
            name,
            stage: DomainState::Running,
            heard: now,
            ahead: None,
            carrier: CarrierState::default(),
            memory: MessageMemory { used: 0, limit: u64::MAX },
            wrote: 0,
            ending: false,
        };
        Head {
            seen: vec![None; extent.ranks.count()],
            channels: vec![ChannelView::default(); extent.channels],
            extent,
            members: names.into_iter().map(member).collect(),
            round: 0,
            patience,
            done_here: false,
            released: false,
        }
    }

    /// Returns true if the agent of a domain can still be asked.
    pub fn is_there(&self, domain: DomainId) -> bool {
        let member = domain.index().checked_sub(1).and_then(|place| self.members.get(place));
        member.is_some_and(|member| member.stage != DomainState::Lost)
    }

    /// Returns the domain of a rank.
    pub fn domain_of(&self, rank: RankId) -> DomainId {
        self.extent.placement[self.extent.ranks.instance(rank).index()]
    }

    /// Returns the domain in which all ranks of an instance run.
    pub fn domain_of_all(&self, instance: InstanceId) -> DomainId {
        self.extent.placement[instance.index()]
    }

    /// Returns all domains other than the head's.
    fn domains(&self) -> impl Iterator<Item = (DomainId, &RemoteDomain)> {
        DomainId::first(self.members.len() + 1).skip(1).zip(&self.members)
    }

    fn member(&mut self, domain: DomainId) -> Option<&mut RemoteDomain> {
        self.members.get_mut(domain.index().checked_sub(1)?)
    }

    /// Sets the number of inputs, and of files to resume from, that each domain has to wait for. The host calls this function before
    /// anything starts.
    pub fn stages(&mut self, inputs: usize) {
        self.extent.inputs = inputs;
    }

    /// Takes a message of an agent at `now` (ns), before anything starts.
    ///
    /// # Errors
    /// The run cannot begin. The error has the reason.
    pub fn heard_early(&mut self, domain: DomainId, bytes: &[u8], now: u64) -> Result<FromAgent, Fault> {
        let message = from_bytes::<FromAgent>(bytes)
            .and_then(|message| self.extent.check(domain, &message).map(|()| message));
        let Some(member) = self.member(domain) else {
            return Err(fault!(DOMAIN_SENDS_NONSENSE, "there is no domain {domain}"));
        };
        member.heard = now;
        match message {
            Ok(FromAgent::Unable(why)) => Err(unable(&member.name, domain, why)),
            Ok(message) => Ok(message),
            Err(why) => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "the agent on {} (domain {domain}) sent a message that makes no sense: {why}",
                member.name
            )),
        }
    }

    /// Returns the actions that start all domains at `now` (ns). The time without a message of each agent is
    /// counted from then on.
    pub fn starts(&mut self, now: u64) -> Vec<HeadAction> {
        self.members.iter_mut().for_each(|member| member.heard = now);
        self.tell_all(to_bytes(&FromHead::Start))
    }

    /// Takes a message of an agent at `now` (ns).
    pub fn heard(&mut self, domain: DomainId, bytes: &[u8], now: u64) -> Vec<HeadAction> {
        if self.member(domain).is_none_or(|member| member.stage == DomainState::Lost) {
            return Vec::new();
        }
        let message = from_bytes::<FromAgent>(bytes)
            .and_then(|message| self.extent.check(domain, &message).map(|()| message));
        let message = match message {
            Ok(message) => message,
            Err(why) => {
                return self.lose(domain, |name| {
                    fault!(
                        DOMAIN_SENDS_NONSENSE,
                        "the agent on {name} (domain {domain}) sent a message that makes no sense: {why}"
                    )
                })
            }
        };
        if let Some(member) = self.member(domain) {
            member.heard = now;
        }
        match message {
            FromAgent::Reports(reports) => {
                reports.into_iter().map(|report| self.report(domain, report)).collect()
            }
            FromAgent::Snapshot(snapshot) => self.snapshot(domain, *snapshot, now),
            FromAgent::Files(pieces) => {
                pieces.into_iter().map(|piece| HeadAction::Write { domain, piece }).collect()
            }
            FromAgent::Checkpoint(piece) => vec![HeadAction::WriteCheckpoint { domain, piece }],
            FromAgent::Over(ending) => self.over(domain, ending),
            FromAgent::Unable(why) => self.lose(domain, |name| unable(name, domain, why)),
            FromAgent::Ready(scratch) => vec![HeadAction::Ready { domain, scratch }],
            FromAgent::Cores(cores) => vec![HeadAction::Cores(cores)],
            FromAgent::Leaves { files, bytes } => vec![HeadAction::Leaves { domain, files, bytes }],
            FromAgent::Seen(seen) => vec![HeadAction::Seen { domain, seen }],
            FromAgent::Tapped(tapped) => vec![HeadAction::Tapped { domain, tapped }],
            FromAgent::Join(_) | FromAgent::Wants(_) | FromAgent::Wrote(_) => Vec::new(),
        }
    }

    fn report(&mut self, domain: DomainId, report: AgentReport) -> HeadAction {
        match report {
            // The head's own agent decides on the outcome of the whole run.
            AgentReport::Ending(outcome) => {
                if let Some(member) = self.member(domain) {
                    member.ending = true;
                }
                HeadAction::Order(AgentOrder::End(outcome))
            }
            AgentReport::Remark { level, text } => {
                let name = self.member(domain).map(|member| member.name.as_str()).unwrap_or_default();
                let text = format!("the agent on {name} (domain {domain}): {text}");
                HeadAction::Report(AgentReport::Remark { level, text })
            }
            AgentReport::Slots { rank, slots } => HeadAction::Order(AgentOrder::Slots { rank, slots }),
            report => HeadAction::Report(report),
        }
    }

    fn snapshot(&mut self, domain: DomainId, snapshot: Snapshot, now: u64) -> Vec<HeadAction> {
        let Some(member) = self.member(domain) else { return Vec::new() };
        let ahead = i128::from(now) - i128::from(snapshot.at);
        let ahead = member.ahead.map_or(ahead, |before| before.min(ahead));
        member.ahead = Some(ahead);
        member.memory = MessageMemory { used: snapshot.memory_used, limit: snapshot.memory_limit };
        member.carrier = CarrierState { round: snapshot.round, load: snapshot.carried };
        let at = u64::try_from(i128::from(snapshot.at) + ahead).unwrap_or(now);
        let shift = ClockShift { there: snapshot.at, here: at };
        for row in snapshot.rows {
            let rank = row.rank.index();
            let RankRow { view, inspection, .. } = row.shifted(shift);
            self.seen[rank] = Some((view, inspection));
        }
        for Passage { channel, view } in snapshot.passages.into_iter().flatten() {
            let known = &mut self.channels[channel as usize];
            known.sent = view.sent.or(known.sent);
            known.received = view.received.or(known.received);
        }
        let news = |lane: Lane| {
            let gained = lane.news.shifted(shift);
            HeadAction::Gained { rank: lane.rank, gained, at, over: lane.over }
        };
        snapshot.lanes.into_iter().map(news).collect()
    }

    fn over(&mut self, domain: DomainId, ending: Option<RunOutcome>) -> Vec<HeadAction> {
        if let Some(member) = self.member(domain) {
            member.stage = DomainState::Over;
        }
        // The exit of the process that failed first is known only after all processes of the domain have
        // ended.
        ending
            .filter(|outcome| *outcome != RunOutcome::Done)
            .map(AgentOrder::End)
            .map(HeadAction::Order)
            .into_iter()
            .collect()
    }

    /// Reports that the path to a domain was given up for the reason `why`. The domain's agent counts as
    /// gone.
    pub fn lost(&mut self, domain: DomainId, why: &str) -> Vec<HeadAction> {
        self.lose(domain, |name| {
            fault!(DOMAIN_VANISHED, "the agent on {name} (domain {domain}) vanished: {why}")
        })
    }

    /// Reports that the process of a domain's agent has ended. The description `how` comes from the agent's
    /// guard.
    pub fn gone(&mut self, domain: DomainId, how: &str) -> Vec<HeadAction> {
        self.lose(domain, |name| fault!(DOMAIN_KILLED, "the agent on {name} (domain {domain}) is gone: {how}"))
    }

    /// Marks a domain as lost. `why` makes the reason for the failure of the run; its argument is the
    /// domain's name.
    fn lose(&mut self, domain: DomainId, why: impl FnOnce(&str) -> Fault) -> Vec<HeadAction> {
        let Some(member) = self.member(domain).filter(|member| member.stage != DomainState::Lost) else {
            return Vec::new();
        };
        member.stage = DomainState::Lost;
        let why = why(&member.name);
        let Extent { placement, ranks, .. } = &self.extent;
        let lost = ranks.all().filter(|&rank| placement[ranks.instance(rank).index()] == domain);
        for rank in lost {
            let seen = &mut self.seen[rank.index()];
            let (view, looked) = seen.get_or_insert_with(unseen);
            if !matches!(view.phase, InstancePhase::Gone(_)) {
                view.phase = InstancePhase::Gone(Exit::Unknown);
            }
            *looked = ProcessInspection::default();
        }
        // The agent may still exist. In that case these two messages make the agent end.
        let tell = |message| HeadAction::Tell { domain, bytes: to_bytes(&message) };
        let mut out = vec![tell(FromHead::Refused(why.with_code())), tell(FromHead::Bye)];
        // The run fails even if the domain's instances had ended before, because some of their messages may not
        // have arrived.
        if !self.released {
            out.push(HeadAction::Order(AgentOrder::Fail(why)));
        }
        out
    }

    /// Marks domains as lost that have been silent for too long at `now` (ns).
    pub fn tick(&mut self, now: u64) -> Vec<HeadAction> {
        let patience = self.patience.as_nanos() as u64;
        let silent = |member: &RemoteDomain| {
            member.stage != DomainState::Lost && now.saturating_sub(member.heard) > patience
        };
        let silent: Vec<DomainId> =
            self.domains().filter(|(_, member)| silent(member)).map(|(domain, _)| domain).collect();
        let heard = said!(DOMAIN_VANISHED, "nothing was heard of it for {} s", self.patience.as_secs());
        silent.into_iter().flat_map(|domain| self.lost(domain, &heard)).collect()
    }

    /// Reports that the head's own agent ends the run. The returned actions pass this on to all other
    /// domains.
    pub fn ending(&mut self, outcome: &RunOutcome) -> Vec<HeadAction> {
        let bytes = orders([&AgentOrder::End(outcome.clone())]);
        let mut out = Vec::new();
        let domains = DomainId::first(self.members.len() + 1).skip(1);
        for (domain, member) in domains.zip(&mut self.members) {
            if member.stage != DomainState::Lost && !std::mem::replace(&mut member.ending, true) {
                out.push(HeadAction::Tell { domain, bytes: bytes.clone() });
            }
        }
        out
    }

    /// Returns the actions that end the grace period in all domains.
    pub fn hurry(&self) -> Vec<HeadAction> {
        self.tell_all(orders([&AgentOrder::Hurry]))
    }

    fn tell_all(&self, bytes: Vec<u8>) -> Vec<HeadAction> {
        let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
        there.map(|(domain, _)| HeadAction::Tell { domain, bytes: bytes.clone() }).collect()
    }

    /// Passes an order of the manager to the agents that it concerns.
    pub fn pass_on(&mut self, order: AgentOrder) -> Vec<HeadAction> {
        match order {
            AgentOrder::Look { round, ranks } => {
                let of = |domain: DomainId| -> AgentOrder {
                    let own = ranks.iter().copied().filter(|&one| self.domain_of(one) == domain);
                    AgentOrder::Look { round, ranks: own.collect() }
                };
                // Domains without any of these ranks take part in the round too: they report the state of
                // their carriers after the round.
                let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
                let mut out: Vec<HeadAction> = there
                    .map(|(domain, _)| HeadAction::Tell { domain, bytes: orders([&of(domain)]) })
                    .collect();
                out.push(HeadAction::Order(of(DomainId::HEAD)));
                self.round = round;
                out
            }
            AgentOrder::Budget { .. } => {
                let mut out = self.tell_all(orders([&order]));
                out.push(HeadAction::Order(order));
                out
            }
            AgentOrder::Steer { ranks, steer } => {
                let of = |domain: DomainId| -> Option<AgentOrder> {
                    let own = ranks.iter().copied().filter(|&one| self.domain_of(one) == domain);
                    let ranks: Vec<RankId> = own.collect();
                    (!ranks.is_empty()).then(|| AgentOrder::Steer { ranks, steer: steer.clone() })
                };
                let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
                let told = there
                    .filter_map(|(domain, _)| Some(HeadAction::Tell { domain, bytes: orders([&of(domain)?]) }));
                told.chain(of(DomainId::HEAD).map(HeadAction::Order)).collect()
            }
            other => vec![HeadAction::Order(other)],
        }
    }

    /// Reports that this number of bytes of a domain's files has been handled: the bytes were written, or
    /// could not be written.
    pub fn wrote(&mut self, domain: DomainId, bytes: u64) -> Vec<HeadAction> {
        let Some(member) = self.member(domain) else { return Vec::new() };
        member.wrote += bytes;
        vec![HeadAction::Tell { domain, bytes: to_bytes(&FromHead::Wrote(member.wrote)) }]
    }

    /// Fills in the views of ranks in other domains. The head's own agent does not know these ranks.
    pub fn fill_views(&self, views: &mut [InstanceView]) {
        let ranks = self.extent.ranks.all().zip(views);
        for (rank, view) in ranks.filter(|(rank, _)| self.domain_of(*rank) != DomainId::HEAD) {
            *view = self.seen[rank.index()].as_ref().map_or_else(|| unseen().0, |(view, _)| view.clone());
        }
    }

    /// Fills in the counts of channel ends in other domains.
    pub fn fill_channel_views(&self, views: &mut [ChannelView]) {
        for (view, told) in views.iter_mut().zip(&self.channels) {
            view.sent = view.sent.or(told.sent);
            view.received = view.received.or(told.received);
        }
    }

    /// Returns the last inspection of the processes of a rank in another domain.
    pub fn looked(&self, rank: RankId) -> ProcessInspection {
        self.seen[rank.index()].as_ref().map(|(_, looked)| looked.clone()).unwrap_or_default()
    }

    /// Returns the carrier states of all domains. `own` reads the state of the head's carrier. This reading is
    /// the newest of them, because the states of the other carriers came with messages of their agents.
    pub fn carriers(&self, own: impl FnOnce() -> CarrierLoad) -> Vec<CarrierState> {
        let own = CarrierState { round: self.round, load: own() };
        std::iter::once(own).chain(self.members.iter().map(|member| member.carrier)).collect()
    }

    /// Returns the message memory of all domains: the sum of the bytes in use, and the lowest limit.
    pub fn memory(&self, own: MessageMemory) -> MessageMemory {
        let add = |sum: MessageMemory, member: &RemoteDomain| MessageMemory {
            used: sum.used.saturating_add(member.memory.used),
            limit: sum.limit.min(member.memory.limit),
        };
        self.members.iter().fold(own, add)
    }

    /// Reports that all processes of the head's own domain have ended.
    pub fn done_here(&mut self) {
        self.done_here = true;
    }

    /// Checks if all processes of all domains have ended. If so, returns the order that releases the head's
    /// own agent, but only once.
    pub fn release(&mut self) -> Option<HeadAction> {
        let over = self.done_here && self.members.iter().all(|member| member.stage != DomainState::Running);
        (over && !std::mem::replace(&mut self.released, true)).then_some(HeadAction::Order(AgentOrder::Release))
    }

    /// Returns the messages that end the agents of all domains. The host calls this function when the run
    /// is over and everything is written.
    pub fn dismiss_agents(&self) -> Vec<HeadAction> {
        let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
        there.map(|(domain, _)| HeadAction::Tell { domain, bytes: to_bytes(&FromHead::Bye) }).collect()
    }
}

fn unseen() -> (InstanceView, ProcessInspection) {
    (
        InstanceView { phase: InstancePhase::Waiting, pid: None, speaker: None, status: None },
        ProcessInspection::default(),
    )
}

/// Makes the error for a domain whose agent reports that the domain cannot take part.
fn unable(name: &str, domain: DomainId, why: String) -> Fault {
    let why = Fault::heard(why, Code::DOMAIN_VANISHED);
    fault!(DOMAIN_VANISHED, "the agent on {name} (domain {domain}) cannot take part: {why}").caused_by(&why)
}
