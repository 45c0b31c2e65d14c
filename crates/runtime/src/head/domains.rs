//! A run over several domains after all have joined. The head sends them orders, handles their reports, and
//! releases them at the end. `ligament_manager::domains` decides what follows from a report.

use super::assembly::Agents;
use super::Runtime;
use crate::observe::look;
use crate::paths::{carried, farewell};
use ligament_agent::{
    AgentOrder, Carrier, CarrierReport, ChannelView, DrainReason, InstanceView, OtherDomains, RemoteTapEvent,
    RunOutcome, RunView,
};
use ligament_catalogue::{fault, Fault};
use ligament_launch::cores::{format_core_list as said_cores, of_rank};
use ligament_manager::domains::{Head, HeadAction, JoinedDomain};
use ligament_manager::{
    ConduitRecord, Conduits, DomainRecord, InstanceRecord, Level, MessageMemory, Observation,
};
use ligament_net::Event;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::FromHead;
use ligament_wire::{DomainId, InstanceId, RankId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// Time for which the head waits for an agent's last message after the command that started the agent has
/// ended.
const A_LAST_WORD: Duration = Duration::from_secs(1);

/// The other domains of a run, as the head knows them.
pub(super) struct RemoteDomains<'a> {
    pub(super) head: Head,
    pub(super) part: DomainPaths,
    pub(super) joined: Vec<JoinedDomain>,
    /// Addresses at which other domains reach the head.
    pub(super) addresses: Vec<String>,
    /// Number of streams of each path to the head, if the user has set it.
    pub(super) streams: Option<u16>,
    pub(super) agents: &'a mut (dyn Agents + 'a),
    /// Domains to which there is no path any more.
    pub(super) cut_off: BTreeSet<DomainId>,
    /// Commands that started agents and have ended. For each: the domain of the agent, the reason, and the time
    /// at which the head noticed the end.
    pub(super) ended: Vec<(DomainId, Fault, Instant)>,
}

/// The data that outlive the event loop: the paths, and the domain of each instance.
#[derive(Clone)]
pub(super) struct DomainPaths {
    pub(super) carrier: Arc<Carrier>,
    pub(super) placement: Arc<[DomainId]>,
}

impl RemoteDomains<'_> {
    pub fn part(&self) -> DomainPaths {
        self.part.clone()
    }

    /// Returns the domains that can still be reached.
    pub fn in_reach(&self) -> Vec<DomainId> {
        self.joined.iter().map(|one| one.domain).filter(|domain| !self.cut_off.contains(domain)).collect()
    }
}

impl DomainPaths {
    pub fn elsewhere<'p>(&'p self, heard: &'p mut UnboundedReceiver<CarrierReport>) -> OtherDomains<'p> {
        OtherDomains { carrier: &self.carrier, heard, domain_of: &self.placement, me: DomainId::HEAD }
    }

    /// Ends the paths to these domains, after the last messages have arrived.
    pub fn part_from(&self, domains: Vec<DomainId>, heard: UnboundedReceiver<CarrierReport>) {
        farewell(&self.carrier, heard, domains.into_iter());
    }
}

impl Runtime<'_> {
    /// Logs a refused connection to the run's port or to the agent's socket.
    pub(super) fn not_let_in(&mut self, who: &str, why: &str, others: u64) {
        if let Some(text) = self.strangers.turned_away(who, why, others, Instant::now()) {
            self.add(Level::Warning, "run", &text);
        }
    }

    /// Informs all domains that the run does not begin.
    pub(super) fn refuse(&self, why: &Fault) {
        self.tell_all(&to_bytes(&FromHead::Refused(why.with_code())));
    }

    fn tell_all(&self, bytes: &[u8]) {
        let Some(abroad) = &self.abroad else { return };
        for one in &abroad.joined {
            abroad.part.carrier.control(one.domain, bytes.to_vec());
        }
    }

    /// Releases all domains after the end of the run has been recorded.
    pub(super) fn dismiss(&mut self) {
        let Some(abroad) = &self.abroad else { return };
        let last = abroad.head.dismiss_agents();
        self.do_all(last);
    }

    /// Returns true if an instance runs in the head's own domain.
    pub(super) fn is_here(&self, instance: InstanceId) -> bool {
        self.abroad.as_ref().is_none_or(|abroad| abroad.head.domain_of_all(instance) == DomainId::HEAD)
    }

    /// Returns observations of all ranks of the run. `own` has the views of the ranks in this domain.
    pub(super) fn see(&self, own: &[InstanceView], now: u64) -> Vec<Observation> {
        let Some(abroad) = &self.abroad else { return self.manager.observe(own, now) };
        let mut all = own.to_vec();
        abroad.head.fill_views(&mut all);
        self.manager.observe(&all, now)
    }

    /// Returns the traffic of the run's conduits. `own` has the counts of channel ends in this domain.
    pub(super) fn conduits(&self, mut own: Vec<ChannelView>) -> Vec<ConduitRecord> {
        self.see_channels(&mut own);
        self.watched.conduits.get_or_init(|| self.all_conduits()).records(&own)
    }

    /// Returns the same as `conduits`, for use at the end of the run.
    pub(super) fn conduits_at_end(&mut self, mut own: Vec<ChannelView>) -> Vec<ConduitRecord> {
        self.see_channels(&mut own);
        let all = self.watched.conduits.take().unwrap_or_else(|| self.all_conduits());
        all.into_records(&own)
    }

    fn see_channels(&self, own: &mut [ChannelView]) {
        if let Some(abroad) = &self.abroad {
            abroad.head.fill_channel_views(own);
        }
    }

    fn all_conduits(&self) -> Conduits {
        Conduits::new(self.model.channels.len(), self.manager.names())
    }

    /// Returns observations of all ranks of the run with the states of their processes. In this domain, the
    /// processes are inspected now. For other domains, the last inspections that their agents have reported are
    /// used.
    pub(super) fn look_well(&mut self, view: &RunView<'_>) -> Vec<Observation> {
        let mut seen = self.see(&view.instances, view.now);
        for (i, (one, own)) in RankId::first(seen.len()).zip(seen.iter_mut().zip(&view.instances)) {
            let looked = match &self.abroad {
                Some(abroad) if abroad.head.domain_of(i) != DomainId::HEAD => abroad.head.looked(i),
                _ => look(own, self.ranks.speaks_for_all(i), &mut self.rank_pages),
            };
            one.add(looked, view.now);
        }
        seen
    }

    /// Returns the cores of a rank on this machine, if there are enough cores for all ranks.
    pub(super) fn cores_of(&self, rank: RankId) -> &[u32] {
        let instance = self.instance_of(rank);
        let cores = self.cores.get(&instance).map_or(&[][..], Vec::as_slice);
        match self.model.separate_ranks(instance.number()) {
            Some(ranks) => of_rank(cores, self.ranks.place(rank), ranks),
            None => cores,
        }
    }

    /// Writes the domain and the cores of each instance into the record.
    pub(super) fn say_where(&self, instances: &mut [InstanceRecord]) {
        for (i, one) in RankId::first(instances.len()).zip(instances.iter_mut()) {
            one.cores = Some(self.cores_of(i)).filter(|cores| !cores.is_empty()).map(said_cores);
        }
        let Some(abroad) = &self.abroad else { return };
        for (i, one) in RankId::first(instances.len()).zip(instances) {
            let domain = abroad.head.domain_of(i);
            one.domain = Some(domain.number());
            one.on = self.record.domains.get(domain.index()).map(|domain| domain.name.clone());
        }
    }

    /// Writes into the record which domains have lost their agent.
    pub(super) fn note_lost_domains(&mut self) {
        let Some(abroad) = &self.abroad else { return };
        for (number, domain) in DomainId::first(self.record.domains.len()).zip(&mut self.record.domains).skip(1)
        {
            domain.lost = !abroad.head.is_there(number);
        }
    }

    pub(super) fn memory(&self, own: MessageMemory) -> MessageMemory {
        self.abroad.as_ref().map_or(own, |abroad| abroad.head.memory(own))
    }

    pub(super) fn carriers(&self) -> Vec<ligament_manager::CarrierState> {
        let Some(abroad) = &self.abroad else { return Vec::new() };
        abroad.head.carriers(|| carried(&abroad.part.carrier))
    }

    /// Returns the state of the paths of this domain as JSON.
    pub(super) fn links(&self) -> Vec<serde_json::Value> {
        let Some(abroad) = &self.abroad else { return Vec::new() };
        let links = abroad.part.carrier.links();
        let name = |domain: DomainId| self.record.domains.get(domain.index()).map(|domain| domain.name.clone());
        let link = links.into_iter().map(|(domain, report)| {
            serde_json::json!({
                "domain": domain.number(),
                "name": name(domain),
                "streams": report.streams,
                "round_trip": report.round_trip as f64 / 1e9,
                "least_round_trip": report.least_round_trip as f64 / 1e9,
                "rate": report.rate,
                "loss": report.loss,
                "limit": report.limit.name(),
            })
        });
        link.collect()
    }

    /// Sends an order to the domains that it concerns. Returns the orders for this domain.
    pub(super) fn pass_on(&mut self, order: AgentOrder) -> Vec<AgentOrder> {
        match &mut self.abroad {
            None => vec![order],
            Some(abroad) => {
                let doings = abroad.head.pass_on(order);
                self.do_all(doings)
            }
        }
    }

    pub(super) fn tell_ending(&mut self, outcome: &RunOutcome) {
        let Some(abroad) = &mut self.abroad else { return };
        let doings = abroad.head.ending(outcome);
        self.do_all(doings);
    }

    pub(super) fn hurry_others(&mut self) {
        let Some(abroad) = &self.abroad else { return };
        let doings = abroad.head.hurry();
        self.do_all(doings);
    }

    pub(super) fn own_part_is_done(&mut self) -> Vec<AgentOrder> {
        let Some(abroad) = &mut self.abroad else { return vec![AgentOrder::Release] };
        abroad.head.done_here();
        let doings = abroad.head.release().into_iter().collect();
        self.do_all(doings)
    }

    /// Checks for domains that are silent, and for commands that started an agent and have ended. Returns the
    /// orders that follow.
    pub(super) fn watch_others(&mut self, now: u64) -> Vec<AgentOrder> {
        let Some(abroad) = &mut self.abroad else { return Vec::new() };
        let mut doings = abroad.head.tick(now);
        let lost = abroad.agents.lost().into_iter().map(|(domain, why)| (domain, why, Instant::now()));
        abroad.ended.extend(lost);
        // The agent itself, or its guard, knows the reason better than the command, and may report it soon.
        let (known, fresh) =
            abroad.ended.drain(..).partition(|(_, _, noticed)| noticed.elapsed() >= A_LAST_WORD);
        abroad.ended = fresh;
        let news = abroad.agents.news();
        let known: Vec<(DomainId, Fault, Instant)> = known;
        for (domain, why, _) in known {
            doings.extend(abroad.head.lost(domain, why.text()));
        }
        doings.extend(abroad.head.release());
        self.tell_news(news);
        self.do_all(doings)
    }

    pub(super) fn heard_from_others(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        let Some(abroad) = &mut self.abroad else { return Vec::new() };
        let name = |domain: u32| {
            abroad.joined.iter().find(|one| one.domain.number() == domain).map(|one| one.name.clone())
        };
        let doings = match heard {
            CarrierReport::Control { from, bytes } => {
                abroad.head.heard(*from, bytes, ligament_shm::status::now())
            }
            CarrierReport::Path(Event::GivenUp { domain, why }) => {
                let domain = DomainId::new(*domain);
                abroad.cut_off.insert(domain);
                let doings = abroad.head.lost(domain, why.text());
                self.say_what_stays(domain);
                doings
            }
            CarrierReport::Path(Event::Gone { domain, why }) => {
                let domain = DomainId::new(*domain);
                abroad.cut_off.insert(domain);
                abroad.head.gone(domain, why)
            }
            CarrierReport::Path(Event::PathDown { domain }) => {
                let name = name(*domain).unwrap_or_default();
                let text = fault!(
                    DOMAIN_CUT_OFF,
                    "domain {domain} ({name}) cannot be reached just now; nothing is lost if it comes back"
                );
                self.add(Level::Warning, "run", &text);
                return Vec::new();
            }
            CarrierReport::Path(Event::Refused { from, why, others }) => {
                self.not_let_in(&from.to_string(), why, *others);
                return Vec::new();
            }
            CarrierReport::Path(_) | CarrierReport::Detached | CarrierReport::Failed(_) => Vec::new(),
        };
        let mut orders = self.do_all(doings);
        if let Some(release) = self.abroad.as_mut().and_then(|abroad| abroad.head.release()) {
            orders.extend(self.do_all(vec![release]));
        }
        orders
    }

    /// Logs that the files of a domain stay in that domain, because its agent cannot be reached any more.
    fn say_what_stays(&mut self, domain: DomainId) {
        let Some(DomainRecord { host, scratch: Some(scratch), .. }) = self.record.domains.get(domain.index())
        else {
            return;
        };
        let text = format!("what the instances of domain {domain} have written stays on {host} in {scratch}");
        self.add(Level::Warning, "run", &text);
    }

    /// Carries out actions of the head. Returns the orders for the agent of this domain.
    pub(super) fn do_all(&mut self, doings: Vec<HeadAction>) -> Vec<AgentOrder> {
        let mut orders = Vec::new();
        let mut timelines = false;
        for doing in doings {
            match doing {
                HeadAction::Order(order) => orders.push(order),
                HeadAction::Tell { domain, bytes } => {
                    if let Some(abroad) = &self.abroad {
                        abroad.part.carrier.control(domain, bytes);
                    }
                }
                HeadAction::Report(report) => {
                    self.take_in(report);
                }
                HeadAction::Gained { rank, gained, at, over } => {
                    let why = if over { DrainReason::ProcessEnded } else { DrainReason::Tick };
                    self.add_to_timeline(rank, &gained, at, why);
                    timelines = true;
                }
                HeadAction::Ready { domain, scratch } => self.is_ready(domain, scratch),
                HeadAction::Cores(cores) => self.note_cores(cores),
                HeadAction::Leaves { domain, files, bytes } => self.begin_bringing(domain, files, bytes),
                HeadAction::Write { domain, piece } => {
                    let bytes = piece.part.bytes.len() as u64;
                    self.bring(domain, &piece);
                    let told = self.abroad.as_mut().map(|abroad| abroad.head.wrote(domain, bytes));
                    orders.extend(self.do_all(told.unwrap_or_default()));
                }
                HeadAction::WriteCheckpoint { domain, piece } => {
                    let bytes = piece.part.bytes.len() as u64;
                    self.bring_checkpoint(domain, &piece);
                    let told = self.abroad.as_mut().map(|abroad| abroad.head.wrote(domain, bytes));
                    orders.extend(self.do_all(told.unwrap_or_default()));
                }
                HeadAction::Seen { domain, seen } => self.peeks.seen(domain, seen),
                HeadAction::Tapped { domain, tapped } => self.taps.push(RemoteTapEvent::Shown(domain, tapped)),
            }
        }
        if timelines {
            ligament_agent::Host::timelines_seen(self);
        }
        orders
    }
}
