//! The head of a run over several domains: what agents tell becomes what its manager sees of every instance, and what is
//! to be done goes to those whose business it is. The first reason for which the run ends anywhere is told everywhere.

use crate::deadlock::CarrierReport;
use ligament_agent::domains::{self as words, orders};
use ligament_agent::{
    AgentOrder, AgentReport, ChannelView, Exit, InstancePhase, InstanceView, ProcessInspection, RunOutcome,
    TimelineDelta,
};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{
    from_bytes, CarrierLoad, Extent, FromAgent, FromHead, OutputPart, OwnCores, PeekReply, Snapshot, TapReply,
};
use ligament_wire::{DomainId, InstanceId, RankId, Ranks};
use std::time::Duration;

/// What is to be done.
#[derive(Debug, Clone)]
pub enum HeadAction {
    /// Tell this to the agent of a domain.
    Tell { domain: DomainId, bytes: Vec<u8> },
    /// The head's own agent is to do this.
    Order(AgentOrder),
    /// Something happened elsewhere.
    Report(AgentReport),
    /// What a timeline elsewhere has gained until this moment of the head's clock, and whether nothing more will come.
    Gained { rank: RankId, gained: TimelineDelta, at: u64, over: bool },
    /// A piece of a file for the run directory. When it is written, call `wrote`.
    Write { domain: DomainId, piece: OutputPart },
    /// All is in place for the instances of a domain; where they have their files, if not in the run directory.
    Ready { domain: DomainId, scratch: Option<String> },
    /// Processes of a domain have cores of their own.
    Cores(Vec<OwnCores>),
    /// So much is to come of a domain's files.
    Leaves { domain: DomainId, files: u64, bytes: u64 },
    /// A domain shows what somebody wanted to see.
    Seen { domain: DomainId, seen: PeekReply },
    /// The same of a port.
    Tapped { domain: DomainId, tapped: TapReply },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DomainState {
    Running,
    /// No process of it is left. Its carrier may still bring to others what they had sent.
    Over,
    /// Its agent is gone.
    Lost,
}

/// A domain that is not the head's.
#[derive(Debug)]
struct RemoteDomain {
    name: String,
    stage: DomainState,
    /// When something was heard of it last, ns of the head's clock.
    heard: u64,
    /// The head's clock less its clock, as far as is known: what has come fastest says it best.
    ahead: Option<i128>,
    carrier: CarrierReport,
    memory: (u64, u64),
    wrote: u64,
    /// Whether it knows that the run ends.
    ending: bool,
}

/// The head of a run.
#[derive(Debug)]
pub struct Head {
    extent: Extent,
    /// The domains from 1 on.
    members: Vec<RemoteDomain>,
    /// What was told of each rank that is elsewhere, and whether its process is stopped.
    seen: Vec<Option<(InstanceView, ProcessInspection)>>,
    /// What was told of each channel.
    channels: Vec<ChannelView>,
    /// The last round in which the head's own instances were asked.
    round: u64,
    /// For how long a domain may be silent.
    patience: Duration,
    /// Whether no process of the head's own domain is left.
    done_here: bool,
    released: bool,
}

impl Head {
    /// A run whose instances are in these domains and have these ranks, and which has so many channels. `names`
    /// has what people call the domains from 1 on, all of which are there at `now` (ns).
    pub fn new(
        placement: Vec<DomainId>,
        ranks: Ranks,
        channels: usize,
        names: Vec<String>,
        patience: Duration,
        now: u64,
    ) -> Head {
        let member = |name| RemoteDomain {
            name,
            stage: DomainState::Running,
            heard: now,
            ahead: None,
            carrier: CarrierReport::default(),
            memory: (0, u64::MAX),
            wrote: 0,
            ending: false,
        };
        Head {
            seen: vec![None; ranks.count()],
            channels: vec![ChannelView::default(); channels],
            extent: Extent { placement, ranks, channels, inputs: 0 },
            members: names.into_iter().map(member).collect(),
            round: 0,
            patience,
            done_here: false,
            released: false,
        }
    }

    /// Whether the agent of a domain is still there to be asked.
    pub fn is_there(&self, domain: DomainId) -> bool {
        let member = domain.index().checked_sub(1).and_then(|place| self.members.get(place));
        member.is_some_and(|member| member.stage != DomainState::Lost)
    }

    /// The domain of a rank.
    pub fn domain_of(&self, rank: RankId) -> DomainId {
        self.extent.placement[self.extent.ranks.instance(rank).index()]
    }

    /// The domain of all ranks of an instance.
    pub fn domain_of_all(&self, instance: InstanceId) -> DomainId {
        self.extent.placement[instance.index()]
    }

    /// Those that are not the head's.
    fn domains(&self) -> impl Iterator<Item = (DomainId, &RemoteDomain)> {
        DomainId::first(self.members.len() + 1).skip(1).zip(&self.members)
    }

    fn member(&mut self, domain: DomainId) -> Option<&mut RemoteDomain> {
        self.members.get_mut(domain.index().checked_sub(1)?)
    }

    /// Before anything starts: domains have so many inputs to wait for.
    pub fn stages(&mut self, inputs: usize) {
        self.extent.inputs = inputs;
    }

    /// What the agent of a domain says before anything starts, at `now` (ns).
    ///
    /// # Errors
    /// Why the run cannot begin.
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
                "the agent on {} (domain {domain}) says what makes no sense: {why}",
                member.name
            )),
        }
    }

    /// All domains start at `now` (ns): until now they had nothing to say.
    pub fn starts(&mut self, now: u64) -> Vec<HeadAction> {
        self.members.iter_mut().for_each(|member| member.heard = now);
        self.tell_all(to_bytes(&FromHead::Start))
    }

    /// The agent of a domain says something, which is heard at `now` (ns).
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
                        "the agent on {name} (domain {domain}) says what makes no sense: {why}"
                    )
                })
            }
        };
        if let Some(member) = self.member(domain) {
            member.heard = now;
        }
        match message {
            FromAgent::Reports(reports) => {
                reports.into_iter().map(|report| self.report(domain, words::report_from_wire(report))).collect()
            }
            FromAgent::Snapshot(snapshot) => self.snapshot(domain, *snapshot, now),
            FromAgent::Files(pieces) => {
                pieces.into_iter().map(|piece| HeadAction::Write { domain, piece }).collect()
            }
            FromAgent::Over(ending) => self.over(domain, ending.map(words::outcome_from_wire)),
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
            // What the head's own agent makes of it is what the run makes of it.
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
        member.memory = (snapshot.memory_used, snapshot.memory_limit);
        member.carrier = carrier_of(snapshot.round, snapshot.carried);
        let at = u64::try_from(i128::from(snapshot.at) + ahead).unwrap_or(now);
        for row in &snapshot.rows {
            self.seen[row.rank.index()] =
                Some((words::view_from_wire(row, at), words::inspection_from_wire(row, at)));
        }
        for passage in snapshot.passages.iter().flatten() {
            let (told, known) =
                (words::passage_from_wire(passage), &mut self.channels[passage.channel as usize]);
            known.sent = told.sent.or(known.sent);
            known.received = told.received.or(known.received);
        }
        let gained = |lane: &_| words::timeline_from_wire(lane, at);
        let lanes = snapshot.lanes.iter();
        lanes
            .map(|lane| HeadAction::Gained { rank: lane.rank, gained: gained(lane), at, over: lane.over })
            .collect()
    }

    fn over(&mut self, domain: DomainId, ending: Option<RunOutcome>) -> Vec<HeadAction> {
        if let Some(member) = self.member(domain) {
            member.stage = DomainState::Over;
        }
        // How the process ended that was first to fail is known only now.
        ending
            .filter(|outcome| *outcome != RunOutcome::Done)
            .map(AgentOrder::End)
            .map(HeadAction::Order)
            .into_iter()
            .collect()
    }

    /// The path to a domain is given up: its agent is gone, and why.
    pub fn lost(&mut self, domain: DomainId, why: &str) -> Vec<HeadAction> {
        self.lose(domain, |name| {
            fault!(DOMAIN_VANISHED, "the agent on {name} (domain {domain}) vanished: {why}")
        })
    }

    /// The process of a domain's agent is gone, as who outlived it there says; `how` it ended.
    pub fn gone(&mut self, domain: DomainId, how: &str) -> Vec<HeadAction> {
        self.lose(domain, |name| fault!(DOMAIN_KILLED, "the agent on {name} (domain {domain}) is gone: {how}"))
    }

    /// A domain takes part no more; `why`, of its name, is why the run fails.
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
        // If it is still there, it is to go.
        let tell = |message| HeadAction::Tell { domain, bytes: to_bytes(&message) };
        let mut out = vec![tell(FromHead::Refused(why.with_code())), tell(FromHead::Bye)];
        // Also of one whose instances had ended: what they had sent may not have arrived.
        if !self.released {
            out.push(HeadAction::Order(AgentOrder::Fail(why)));
        }
        out
    }

    /// Time passes: who has been silent for too long is gone.
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

    /// The head's own agent reports that the run ends: all others are told.
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

    /// The time for ending cleanly is over, for all.
    pub fn hurry(&self) -> Vec<HeadAction> {
        self.tell_all(orders([&AgentOrder::Hurry]))
    }

    fn tell_all(&self, bytes: Vec<u8>) -> Vec<HeadAction> {
        let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
        there.map(|(domain, _)| HeadAction::Tell { domain, bytes: bytes.clone() }).collect()
    }

    /// What the manager orders, for whom it is.
    pub fn pass_on(&mut self, order: AgentOrder) -> Vec<HeadAction> {
        match order {
            AgentOrder::Look { round, ranks } => {
                let of = |domain: DomainId| -> AgentOrder {
                    let own = ranks.iter().copied().filter(|&one| self.domain_of(one) == domain);
                    AgentOrder::Look { round, ranks: own.collect() }
                };
                // Also those that have none of them tell what their carriers do after it.
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

    /// So many bytes of a domain's files were written down, or could not be.
    pub fn wrote(&mut self, domain: DomainId, bytes: u64) -> Vec<HeadAction> {
        let Some(member) = self.member(domain) else { return Vec::new() };
        member.wrote += bytes;
        vec![HeadAction::Tell { domain, bytes: to_bytes(&FromHead::Wrote(member.wrote)) }]
    }

    /// Puts what was told of instances elsewhere where the head's own agent knows nothing.
    pub fn fill_views(&self, views: &mut [InstanceView]) {
        let ranks = self.extent.ranks.all().zip(views);
        for (rank, view) in ranks.filter(|(rank, _)| self.domain_of(*rank) != DomainId::HEAD) {
            *view = self.seen[rank.index()].as_ref().map_or_else(|| unseen().0, |(view, _)| view.clone());
        }
    }

    /// The same of channels: of the ends that are elsewhere, what was told.
    pub fn fill_channel_views(&self, views: &mut [ChannelView]) {
        for (view, told) in views.iter_mut().zip(&self.channels) {
            view.sent = view.sent.or(told.sent);
            view.received = view.received.or(told.received);
        }
    }

    /// What was found elsewhere by a look at the processes of a rank.
    pub fn looked(&self, rank: RankId) -> ProcessInspection {
        self.seen[rank.index()].as_ref().map(|(_, looked)| looked.clone()).unwrap_or_default()
    }

    /// What the carriers of all domains do; `own` asks the head's, and is called last.
    pub fn carriers(&self, own: impl FnOnce() -> CarrierLoad) -> Vec<CarrierReport> {
        let own = carrier_of(self.round, own());
        std::iter::once(own).chain(self.members.iter().map(|member| member.carrier)).collect()
    }

    /// The memory for messages of all domains: used, and the least that one of them may use.
    pub fn memory(&self, (used, limit): (u64, u64)) -> (u64, u64) {
        let add = |(used, limit): (u64, u64), member: &RemoteDomain| {
            (used.saturating_add(member.memory.0), limit.min(member.memory.1))
        };
        self.members.iter().fold((used, limit), add)
    }

    /// No process of the head's own domain is left.
    pub fn done_here(&mut self) {
        self.done_here = true;
    }

    /// Whether no process is left in any domain. Tells the head's own agent, once.
    pub fn release(&mut self) -> Option<HeadAction> {
        let over = self.done_here && self.members.iter().all(|member| member.stage != DomainState::Running);
        (over && !std::mem::replace(&mut self.released, true)).then_some(HeadAction::Order(AgentOrder::Release))
    }

    /// All is over and written down.
    pub fn dismiss_agents(&self) -> Vec<HeadAction> {
        let there = self.domains().filter(|(_, member)| member.stage != DomainState::Lost);
        there.map(|(domain, _)| HeadAction::Tell { domain, bytes: to_bytes(&FromHead::Bye) }).collect()
    }
}

fn carrier_of(round: u64, carried: CarrierLoad) -> CarrierReport {
    let CarrierLoad { quiet, sent, came, told, credited } = carried;
    CarrierReport { round, quiet, sent, came, told, credited }
}

fn unseen() -> (InstanceView, ProcessInspection) {
    (
        InstanceView { phase: InstancePhase::Waiting, pid: None, speaker: None, status: None },
        ProcessInspection::default(),
    )
}

/// Why a domain takes no part, as its agent says.
fn unable(name: &str, domain: DomainId, why: String) -> Fault {
    let why = Fault::heard(why, Code::DOMAIN_VANISHED);
    fault!(DOMAIN_VANISHED, "the agent on {name} (domain {domain}) cannot take part: {why}").caused_by(&why)
}
