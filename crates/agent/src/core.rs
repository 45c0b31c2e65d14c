//! The agent's logic: it receives events and returns actions. The logic owns no socket, no process, no
//! memory and no clock, so that tests can drive it through any sequence of events.

mod carrier;
mod joint_start;
mod light;
mod registration;
mod steering;
mod taps;
mod tolerated_failure;

use crate::action::{
    Action, AgentOrder, AgentReport, Caller, ConnectionId, InstancePhase, MemoryRegion, ProcessSignal,
    TapViewer,
};
use crate::memory::{MemoryLedger, MessageMemory};
use crate::outcome::{failure_sentence, Exit, RunFailure, RunOutcome};
use crate::plan::RunPlan;
use crate::wiring::Wiring;
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::{Notice, Request, ENV_AGENT, ENV_INSTANCE, ENV_TOKEN};
use ligament_wire::{EndpointId, InstanceId, RankId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The level of a warning in the run's log.
const LEVEL_WARNING: u8 = 2;

/// An endpoint and its process.
struct EndpointState {
    phase: InstancePhase,
    token: String,
    registration: RegistrationState,
    pid: Option<u32>,
    /// True if the agent started the process; false if a person did.
    started_by_agent: bool,
    /// True once the endpoint has reported that it is done. The endpoint may have reported an error before.
    finished: bool,
    /// True once the endpoint has reported an error.
    failed: bool,
    ended_ranks: EndedRanks,
    slabs: SlabTable,
    /// True once the run goes on without this endpoint, and its peers have received a notice of its loss.
    is_loss_announced: bool,
    /// True once the endpoint's memory has been released.
    is_memory_released: bool,
}

/// The registration of an endpoint.
enum RegistrationState {
    /// The endpoint has not registered. These notices are sent right after its `Welcome`.
    Pending(Vec<(Notice, Vec<MemoryRegion>)>),
    /// The endpoint has registered.
    Done {
        /// `None` once the connection is closed.
        link: Option<ConnectionId>,
        /// Process id of the process that registered: the endpoint's process, or a descendant of it.
        speaker: u32,
    },
}

/// The ends of ranks that an endpoint's command has started, as far as they are known before the command
/// itself ends.
#[derive(Default)]
struct EndedRanks {
    /// For MPI only: the ranks that the launcher lost, and the reason.
    lost: Option<(Vec<u32>, Fault)>,
    /// For MPI only: ranks that ended no later than those in `lost`, in a way that the guard could not see.
    unknown: Vec<u32>,
    /// Ranks that ended with status 0, in the order of their ends.
    clean: Vec<u32>,
    /// The first endpoint whose process ended before it was done.
    first: Option<EndpointId>,
}

/// The slabs of an endpoint.
#[derive(Default)]
struct SlabTable {
    /// For each slab, by number: its size in bytes, and the endpoints that have fetched its descriptor.
    slabs: BTreeMap<u32, (u64, BTreeSet<EndpointId>)>,
    next: u32,
}

impl EndpointState {
    /// Returns the connection, while it is open.
    fn link(&self) -> Option<ConnectionId> {
        match self.registration {
            RegistrationState::Pending(_) => None,
            RegistrationState::Done { link, .. } => link,
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self.phase, InstancePhase::Gone(_))
    }
}

enum ConnectionRole {
    Stranger,
    /// The connection belongs to a client, which has shown the run's token.
    Client,
    Endpoint(EndpointId),
}

/// The agent's logic.
///
/// A driver creates the logic with [`AgentCore::new`], calls [`AgentCore::hold`] if the run has other
/// domains, and then calls [`AgentCore::begin`] once. From then on the driver reports events in the order
/// in which they happen: [`connected`](AgentCore::connected), [`request`](AgentCore::request) and
/// [`closed`](AgentCore::closed) of a connection; [`started`](AgentCore::started),
/// [`not_started`](AgentCore::not_started) and [`exited`](AgentCore::exited) of a process.
/// [`carry_out_order`](AgentCore::carry_out_order) takes the orders of the host. Each of these calls
/// returns actions. The driver must carry them out, in the order in which they are returned, before it
/// reports the next event. `Action::Over` is the last action.
pub struct AgentCore {
    plan: RunPlan,
    /// Instances of the plan by name.
    named: HashMap<String, InstanceId>,
    wiring: Wiring,
    /// Endpoints by number. An entry has no meaning if an endpoint of a lower number serves the rank.
    endpoints: Vec<EndpointState>,
    /// For each rank that has registered: which of its ports have slots.
    slotted: Vec<Option<Arc<[bool]>>>,
    /// For each rank that has registered: the names of its sending ports.
    senders: Vec<Option<Arc<[String]>>>,
    /// For each rank that has published a field of a grid: its published fields.
    published: BTreeMap<RankId, Vec<String>>,
    taps: taps::TapRegistry,
    links: HashMap<ConnectionId, (Caller, ConnectionRole)>,
    /// Steering requests that endpoints have not answered yet.
    steered: steering::PendingSteering,
    scheduled: steering::EndpointSchedules,
    ledger: MemoryLedger,
    token: String,
    socket: SocketIdentity,
    ending: Option<RunOutcome>,
    /// The phase of the carrier.
    carrier_phase: CarrierPhase,
    over: bool,
    /// True if the run may go on in other domains after all processes of this domain have ended.
    held: bool,
}

/// The owner and the address of the agent's socket.
#[derive(Debug, Clone)]
pub struct SocketIdentity {
    /// The user who owns the run, and so the socket.
    pub user: u32,
    /// The address in the form of `LIGAMENT_AGENT`.
    pub address: String,
}

/// An endpoint's request for a ring to another endpoint.
struct RingRequest {
    to: EndpointId,
    /// Position of the ring in the sender's outbox, in bytes.
    offset: u64,
    /// Number of the ring's entries.
    entries: u32,
}

/// The rank that a failure names, and the way in which the rank ended.
struct FailedRank {
    endpoint: EndpointId,
    exit: Exit,
    /// Description of the end: a sentence without its subject.
    what: Fault,
}

/// The phases of the carrier, from the point of view of this domain's instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CarrierPhase {
    /// The carrier moves messages in both directions.
    Running,
    /// The carrier only delivers to other domains what the instances of this domain have sent.
    Draining,
    /// The carrier has nothing to move, now and later.
    Idle,
}

impl AgentCore {
    /// Makes the logic of a run that has not begun. `tokens` returns a new secret at each call.
    pub fn new(
        plan: RunPlan,
        ledger: MemoryLedger,
        socket: SocketIdentity,
        mut tokens: impl FnMut() -> String,
    ) -> AgentCore {
        let wiring = plan.wiring();
        let mut secret = String::new();
        let mut token = |rank: RankId| {
            let instance = wiring.instance(&plan, rank);
            if wiring.endpoint_of(rank).leader() != rank {
                return String::new();
            }
            if !instance.together || instance.elsewhere {
                return tokens();
            }
            let place = wiring.ranks().place(rank);
            if place == 0 {
                secret = tokens();
            }
            joint_start::token(&secret, place)
        };
        let endpoint = |rank| EndpointState {
            phase: InstancePhase::Waiting,
            token: token(rank),
            registration: RegistrationState::Pending(Vec::new()),
            pid: None,
            started_by_agent: {
                let instance = wiring.instance(&plan, rank);
                !instance.by_hand && !instance.elsewhere
            },
            finished: false,
            failed: false,
            ended_ranks: EndedRanks::default(),
            slabs: SlabTable::default(),
            is_loss_announced: false,
            is_memory_released: false,
        };
        let endpoints: Vec<EndpointState> = wiring.ranks().all().map(endpoint).collect();
        let named = (plan.instances.iter().enumerate())
            .map(|(index, instance)| (instance.name.clone(), InstanceId::at(index)))
            .collect();
        let slotted = vec![None; endpoints.len()];
        let senders = vec![None; endpoints.len()];
        let links = HashMap::new();
        let carries = if wiring.carrier().is_some() { CarrierPhase::Running } else { CarrierPhase::Idle };
        let mut core = AgentCore {
            steered: steering::PendingSteering::new(),
            scheduled: steering::EndpointSchedules::new(),
            plan,
            named,
            wiring,
            endpoints,
            slotted,
            senders,
            published: BTreeMap::new(),
            taps: taps::TapRegistry::default(),
            links,
            ledger,
            token: tokens(),
            socket,
            ending: None,
            carrier_phase: carries,
            over: false,
            held: false,
        };
        core.begin_steering();
        core
    }

    /// Records that the run has other domains. The run is then over only when all processes of this domain
    /// have ended and `release` was called.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Withdraws `hold`, because no `release` will follow. The run is over in this domain when everything
    /// that was sent to this domain has arrived.
    pub fn let_go(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        self.held = false;
        self.end_if_all_gone(&mut out);
        out
    }

    /// Reports that the run is over in all other domains.
    pub fn release(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        self.held = false;
        // No receiver is left, so no message can be under way.
        self.carrier_phase = CarrierPhase::Idle;
        self.end_if_all_gone(&mut out);
        out
    }

    /// Returns true if every process of this domain has ended and no further process will be started.
    pub fn is_done_here(&self) -> bool {
        self.wiring.own_endpoints().all(|me| self.endpoints[me.index()].is_gone())
    }

    /// Returns the run's plan.
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// Returns the connections between ranks.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Returns the token of the run, with which clients identify themselves.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the address of the agent's socket, in the form of `LIGAMENT_AGENT`.
    pub fn address(&self) -> &str {
        &self.socket.address
    }

    /// Returns the phase of a rank and the id of its process.
    pub fn rank(&self, rank: RankId) -> (InstancePhase, Option<u32>) {
        let endpoint = &self.endpoints[self.wiring.endpoint_of(rank).index()];
        (endpoint.phase, endpoint.pid)
    }

    /// Returns the id of the process that registered for this rank.
    pub fn speaker(&self, rank: RankId) -> Option<u32> {
        match self.endpoints[self.wiring.endpoint_of(rank).index()].registration {
            RegistrationState::Pending(_) => None,
            RegistrationState::Done { speaker, .. } => Some(speaker),
        }
    }

    /// Returns the memory for messages that this domain uses, and its limit.
    pub fn memory(&self) -> MessageMemory {
        MessageMemory { used: self.ledger.used(), limit: self.ledger.limit() }
    }

    /// Returns the outcome of the run, once the run ends or has ended.
    pub fn ending(&self) -> Option<&RunOutcome> {
        self.ending.as_ref()
    }

    /// Returns the connection of an endpoint, while it is open.
    pub fn link_of(&self, endpoint: EndpointId) -> Option<ConnectionId> {
        self.endpoints[endpoint.index()].link()
    }

    /// Returns the environment variables that an endpoint's process needs. The token says which rank of the
    /// instance the process is.
    pub fn environment(&self, endpoint: EndpointId) -> [(&'static str, String); 3] {
        [
            (ENV_AGENT, self.socket.address.clone()),
            (ENV_INSTANCE, self.wiring.instance(&self.plan, endpoint.leader()).name.clone()),
            (ENV_TOKEN, self.token_for(endpoint)),
        ]
    }

    /// Begins the run.
    pub fn begin(&mut self) -> Vec<Action> {
        let own = self.wiring.own_endpoints().filter(|&one| self.endpoints[one.index()].started_by_agent);
        let own: Vec<EndpointId> = own.collect();
        // A program that starts needs the cores on which waiting endpoints would spin.
        let mut out: Vec<Action> = own.iter().map(|&endpoint| Action::Awake { endpoint }).collect();
        let starts = own.into_iter().filter(|&one| !self.is_started_by_sibling(one));
        out.extend(starts.map(|endpoint| Action::Start { endpoint }));
        self.end_if_all_gone(&mut out);
        out
    }

    /// Reports that an endpoint's process runs. The process may have registered before.
    pub fn started(&mut self, endpoint: EndpointId, pid: u32) {
        for one in self.siblings_started_by(endpoint).chain([endpoint]) {
            let phase = &mut self.endpoints[one.index()].phase;
            if *phase == InstancePhase::Waiting {
                *phase = InstancePhase::Started;
            }
        }
        self.endpoints[endpoint.index()].pid = Some(pid);
    }

    /// Reports that an endpoint's process could not be started.
    pub fn not_started(&mut self, me: EndpointId, why: &Fault) -> Vec<Action> {
        let mut out = Vec::new();
        for one in self.siblings_started_by(me).chain([me]) {
            self.endpoints[one.index()].phase = InstancePhase::Gone(Exit::Unknown);
        }
        let what = fault!(NOT_STARTABLE, "could not be started: {why}").caused_by(why);
        self.fail(RunFailure { rank: Some(me.leader()), what, said: None, exit: None }, &mut out);
        self.end_if_all_gone(&mut out);
        out
    }

    /// Reports a new connection.
    pub fn connected(&mut self, link: ConnectionId, caller: Caller) -> Vec<Action> {
        self.links.insert(link, (caller, ConnectionRole::Stranger));
        if caller.user == self.socket.user {
            return Vec::new();
        }
        vec![answer(link, Notice::Refused { why: self.not_for(caller).with_code() }), Action::Close { link }]
    }

    /// Returns the reason why another user is refused.
    pub fn not_for(&self, caller: Caller) -> Fault {
        fault!(OTHER_USER, "this run belongs to user {}, and you are user {}", self.socket.user, caller.user)
    }

    /// Returns true if the process at the other end of a connection has identified itself.
    pub fn knows(&self, link: ConnectionId) -> bool {
        matches!(self.links.get(&link), Some((_, ConnectionRole::Client | ConnectionRole::Endpoint(_))))
    }

    /// Reports that a connection is closed. This is no error while the process at the other end lives.
    pub fn closed(&mut self, link: ConnectionId) -> Vec<Action> {
        let mut out = Vec::new();
        match self.links.remove(&link) {
            Some((_, ConnectionRole::Endpoint(me))) => {
                if let RegistrationState::Done { link, .. } = &mut self.endpoints[me.index()].registration {
                    *link = None;
                }
            }
            Some((_, ConnectionRole::Client)) => out = self.untap(TapViewer::Client(link)),
            _ => {}
        }
        out
    }

    /// Returns the names of the ports on which a rank sends: the model's ports, ports that only the code
    /// declares, and then the fields of a grid that it has published. Returns `None` before the rank has
    /// registered.
    pub fn sending_ports(&self, rank: RankId) -> Option<&[String]> {
        self.senders[rank.index()].as_deref()
    }

    /// Returns the names of the fields of a grid that a rank has published. They are among its sending ports.
    pub fn published_fields(&self, rank: RankId) -> &[String] {
        self.published.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// Reports that a connection delivered bytes that are not a request.
    pub fn malformed_request(&mut self, link: ConnectionId, what: String) -> Vec<Action> {
        let mut out = Vec::new();
        if let Some((_, ConnectionRole::Endpoint(me))) = self.links.get(&link) {
            let rank = Some(me.leader());
            let what =
                fault!(MALFORMED_DATA, "sent its agent a message that the agent does not understand: {what}");
            self.fail(RunFailure { rank, what, said: None, exit: None }, &mut out);
        }
        out.push(Action::Close { link });
        out
    }

    /// Reports a request.
    pub fn request(&mut self, link: ConnectionId, request: Request) -> Vec<Action> {
        let mut out = Vec::new();
        match self.links.get(&link) {
            None => {}
            Some((caller, ConnectionRole::Stranger | ConnectionRole::Client)) => {
                let caller = *caller;
                self.first_request(link, caller, request, &mut out);
            }
            Some((_, ConnectionRole::Endpoint(me))) => {
                let me = *me;
                self.request_of(me, link, request, &mut out);
            }
        }
        out
    }

    fn request_of(&mut self, me: EndpointId, link: ConnectionId, request: Request, out: &mut Vec<Action>) {
        match request {
            Request::OpenRing { to, offset, slots } => {
                self.open_ring(me, link, &RingRequest { to, offset, entries: slots }, out);
            }
            Request::NewSlab { bytes } => match self.ledger.take(bytes) {
                Ok(()) => {
                    let own = &mut self.endpoints[me.index()];
                    let slab = own.slabs.next;
                    own.slabs.next += 1;
                    own.slabs.slabs.insert(slab, (bytes, BTreeSet::new()));
                    out.push(Action::MakeSlab { link, endpoint: me, slab, bytes });
                }
                Err(why) => out.push(answer(link, Notice::Denied { why: why.with_code() })),
            },
            Request::DropSlab { slab } => {
                if let Some((bytes, readers)) = self.endpoints[me.index()].slabs.slabs.remove(&slab) {
                    self.ledger.give_back(bytes);
                    for reader in readers {
                        self.tell(reader, Notice::SlabDropped { of: me, slab }, Vec::new(), out);
                    }
                    out.push(Action::DropSlab { endpoint: me, slab });
                }
            }
            Request::FetchSlab { of, slab } => {
                let joined = self.wiring.inbox(me, of).is_some();
                let owner = self.endpoints.get_mut(of.index()).filter(|_| joined);
                let (bytes, memory) = match owner.and_then(|owner| owner.slabs.slabs.get_mut(&slab)) {
                    Some((bytes, readers)) => {
                        readers.insert(me);
                        (*bytes, vec![MemoryRegion::Slab(of, slab)])
                    }
                    None => (0, Vec::new()),
                };
                out.push(Action::Answer { link, notice: Notice::Slab { of, slab, bytes }, memory });
            }
            Request::Log { level, text, of } => {
                let rank = self.resolve_rank(me, of);
                out.push(Action::Report(AgentReport::Said { rank, level, text }));
            }
            Request::Used { asked, sent, received } => {
                // An endpoint may report the use of its own channels only. Other entries are ignored.
                let ends = |channel: u32, sends: bool| {
                    let channel = self.plan.channels.get(channel as usize)?;
                    let end = if sends { channel.from } else { channel.to };
                    (self.wiring.endpoint_of(end.rank) == me).then_some(())
                };
                let sent = sent.into_iter().filter(|one| ends(one.0, true).is_some()).collect();
                let received = received.into_iter().filter(|one| ends(one.0, false).is_some()).collect();
                out.push(Action::Report(AgentReport::Used { rank: me.leader(), asked, sent, received }));
            }
            Request::Finished => {
                let own = &mut self.endpoints[me.index()];
                own.finished = true;
                own.phase = InstancePhase::Finished;
                self.end_taps_of(me, out);
                self.steers_no_more(me, out);
            }
            Request::Failed { why, of } => {
                self.endpoints[me.index()].failed = true;
                let what = fault!(REPORTED_AN_ERROR, "reported an error");
                let rank = self.resolve_rank(me, of);
                let failure = RunFailure { rank: Some(rank), what, said: Some(why), exit: None };
                if !self.may_fail(me) {
                    self.fail(failure, out);
                } else if self.ending.is_none() {
                    // An operation that fails because the run ends is not a loss of the endpoint.
                    self.go_on_without(me, &failure, out);
                }
            }
            Request::Steers { change, answer } => self.answered(me, change, &answer, out),
            Request::Steerable { setting, of } => {
                let rank = self.resolve_rank(me, of);
                out.push(Action::Report(AgentReport::Steerable { rank, setting }));
            }
            Request::Checkpoint { moment, outcome } => {
                let rank = me.leader();
                out.push(Action::Report(AgentReport::Checkpoint { rank, moment, outcome }));
            }
            Request::Publishes { port, of } => self.publishes(self.resolve_rank(me, of), port, out),
            Request::Hello { .. } | Request::Client { .. } => {
                let what = fault!(ALREADY_REGISTERED, "said a second time who it is");
                self.fail(RunFailure { rank: Some(me.leader()), what, said: None, exit: None }, out);
            }
        }
    }

    fn open_ring(&mut self, me: EndpointId, link: ConnectionId, ring: &RingRequest, out: &mut Vec<Action>) {
        let &RingRequest { to, offset, entries } = ring;
        let Some(inbox) = self.wiring.inbox(to, me) else {
            let what = fault!(MALFORMED_DATA, "opened a ring to endpoint {to}, to which no conduit leads");
            return self.fail(RunFailure { rank: Some(me.leader()), what, said: None, exit: None }, out);
        };
        let notice = Notice::RingOpened { from: me, offset, slots: entries, inbox };
        self.tell(to, notice, vec![MemoryRegion::Outbox(me)], out);
        let (channels, inboxes) = (self.wiring.incoming(to), self.wiring.senders(to).len() as u32);
        let notice = Notice::Opened { to, inbox, channels, inboxes };
        out.push(Action::Answer { link, notice, memory: vec![MemoryRegion::Area(to)] });
    }

    /// Sends a notice to an endpoint. If the endpoint has not registered yet, the notice follows its
    /// welcome.
    fn tell(&mut self, to: EndpointId, notice: Notice, memory: Vec<MemoryRegion>, out: &mut Vec<Action>) {
        let own = &mut self.endpoints[to.index()];
        let is_gone = own.is_gone();
        match &mut own.registration {
            RegistrationState::Done { link: Some(link), .. } => {
                out.extend(unrequested(*link, to, notice, memory));
            }
            RegistrationState::Pending(notices) if !is_gone => notices.push((notice, memory)),
            RegistrationState::Done { link: None, .. } | RegistrationState::Pending(_) => {}
        }
    }

    /// Reports that a delayed notice has been sent. The endpoint's doorbell must be rung again: the
    /// endpoint may have reacted to the first ring before the notice arrived.
    pub fn sent_late(&self, link: ConnectionId) -> Vec<Action> {
        match self.links.get(&link) {
            Some((_, ConnectionRole::Endpoint(endpoint))) => vec![Action::Call { endpoint: *endpoint }],
            _ => Vec::new(),
        }
    }

    /// Carries out an order of the host.
    pub fn carry_out_order(&mut self, order: AgentOrder) -> Vec<Action> {
        match order {
            AgentOrder::Budget { channel, bytes } => self.set_budget(channel, bytes),
            AgentOrder::Look { round, ranks } => self.look_again(round, &ranks),
            AgentOrder::Slots { rank, slots } => self.slots_elsewhere(rank, slots.into()),
            AgentOrder::Fail(what) => self.stop(RunOutcome::failed(what)),
            AgentOrder::End(outcome) => self.end_with_others(outcome),
            AgentOrder::Hurry => self.grace_is_over(),
            AgentOrder::Release => self.release(),
            AgentOrder::Steer { ranks, steer } => self.steer(&ranks, &steer),
        }
    }

    /// Ends the run because it ends in another domain. A later call may add the exit status of the process
    /// that failed first, which may become known only after the failure.
    fn end_with_others(&mut self, outcome: RunOutcome) -> Vec<Action> {
        if let (Some(RunOutcome::Failed(known)), RunOutcome::Failed(told)) = (&mut self.ending, &outcome) {
            if known.rank.is_some() && known.rank == told.rank {
                known.exit = known.exit.or(told.exit);
            }
        }
        self.stop(outcome)
    }

    /// Sets the budget of a channel to `bytes`.
    fn set_budget(&mut self, channel: u32, bytes: u64) -> Vec<Action> {
        let mut out = Vec::new();
        if let Some(planned) = self.plan.channels.get_mut(channel as usize) {
            planned.budget = bytes;
            let sender = self.wiring.endpoint_of(planned.from.rank);
            // An endpoint that has not registered yet gets the budget with its welcome.
            if self.endpoints[sender.index()].link().is_some() {
                self.tell(sender, Notice::Budget { channel, bytes }, Vec::new(), &mut out);
            }
        }
        out
    }

    /// Asks ranks to check their input once more, and to note the round on their status pages.
    fn look_again(&mut self, round: u64, ranks: &[RankId]) -> Vec<Action> {
        let mut out = Vec::new();
        let endpoints: BTreeSet<EndpointId> = ranks.iter().map(|&one| self.wiring.endpoint_of(one)).collect();
        for endpoint in endpoints {
            // An endpoint without a connection does not wait for messages.
            if self.endpoints[endpoint.index()].link().is_some() {
                self.tell(endpoint, Notice::Look { round }, Vec::new(), &mut out);
            }
        }
        out
    }

    /// Reports that a slab could not be made.
    pub fn slab_refused(
        &mut self,
        link: ConnectionId,
        endpoint: EndpointId,
        slab: u32,
        why: &Fault,
    ) -> Vec<Action> {
        if let Some((bytes, _)) = self.endpoints[endpoint.index()].slabs.slabs.remove(&slab) {
            self.ledger.give_back(bytes);
        }
        vec![answer(link, Notice::Denied { why: why.with_code() })]
    }

    /// Reports that the MPI launcher of an endpoint has lost ranks; `why` is a sentence without its subject.
    /// The ranks in `unknown` ended no later, and the guard could not see how. The launcher's own end is
    /// reported later.
    pub fn launcher_lost_ranks(&mut self, me: EndpointId, ranks: Vec<u32>, unknown: Vec<u32>, why: Fault) {
        let ended = &mut self.endpoints[me.index()].ended_ranks;
        (ended.lost, ended.unknown) = (Some((ranks, why)), unknown);
    }

    /// Reports that an MPI rank of an endpoint has ended with exit status 0.
    pub fn rank_ended_cleanly(&mut self, me: EndpointId, rank: u32) {
        self.endpoints[me.index()].ended_ranks.clean.push(rank);
    }

    /// Ends an endpoint if one of its ranks has ended cleanly although the endpoint is not done. Otherwise
    /// the other ranks would wait for that rank for ever.
    pub fn end_if_rank_ended_cleanly(&mut self, me: EndpointId) -> Vec<Action> {
        let own = &self.endpoints[me.index()];
        if own.ended_ranks.clean.is_empty() || own.is_gone() || self.ending.is_some() {
            return Vec::new();
        }
        if self.ranks_start_together(me) {
            return self.fail_for_who_left(me);
        }
        let push = (!own.finished).then_some(Action::SignalProcess { endpoint: me, push: ProcessSignal::Kill });
        push.into_iter().collect()
    }

    /// Reports that an endpoint's process has ended. The driver must have reported all earlier requests of
    /// the endpoint before.
    pub fn exited(&mut self, me: EndpointId, exit: Exit) -> Vec<Action> {
        let mut out = vec![Action::Asleep { endpoint: me }];
        if self.endpoints[me.index()].is_gone() {
            return Vec::new();
        }
        self.end_taps_of(me, &mut out);
        let own = &mut self.endpoints[me.index()];
        let before = own.phase;
        own.phase = InstancePhase::Gone(exit);
        out.push(Action::Report(AgentReport::Exited { rank: me.leader(), exit }));
        let is_clean = own.finished && exit.is_clean() && !own.failed;
        self.steers_no_more(me, &mut out);
        let missing = self.give_up_missing(me, exit, &mut out);
        if is_clean && missing.is_empty() {
            self.tell_senders_of_end(me, &mut out);
        } else {
            let FailedRank { endpoint: me, exit, mut what } = if self.ranks_start_together(me) {
                self.first_failed_rank(me, before, exit, &missing)
            } else {
                // A rank that ended cleanly ended before any rank that the launcher has lost.
                let own = &mut self.endpoints[me.index()];
                let left =
                    own.ended_ranks.clean.first().filter(|_| !own.finished).map(|&rank| left_early(rank));
                let known = left.or(own.ended_ranks.lost.take().map(|(_, why)| why));
                let what = known.unwrap_or_else(|| how_it_ended(before, exit));
                FailedRank { endpoint: me, exit, what }
            };
            if self.wiring.is_light(&self.plan, me) {
                let together = self.together_with(me);
                what = what.told(|what| format!("{what}{together}"));
            }
            match &mut self.ending {
                None => {
                    let failure = RunFailure { rank: Some(me.leader()), what, said: None, exit: Some(exit) };
                    if self.may_fail(me) {
                        self.go_on_without(me, &failure, &mut out)
                    } else {
                        self.fail(failure, &mut out)
                    }
                }
                Some(RunOutcome::Failed(failure))
                    if failure.rank.map(|one| self.wiring.endpoint_of(one)) == Some(me)
                        && failure.exit.is_none() =>
                {
                    failure.exit = Some(exit);
                }
                Some(_) => {}
            }
        }
        self.drop_unneeded_memory(me, &mut out);
        self.end_if_all_gone(&mut out);
        out
    }

    /// Releases the memory of endpoints that have ended and whose receivers have all ended.
    fn drop_unneeded_memory(&mut self, gone: EndpointId, out: &mut Vec<Action>) {
        let is_gone = |i: EndpointId| self.endpoints[i.index()].is_gone();
        let around = self.wiring.senders(gone).iter().copied().chain([gone]);
        let free: BTreeSet<EndpointId> = around
            .filter(|&i| !self.endpoints[i.index()].is_memory_released)
            .filter(|&i| is_gone(i) && self.wiring.receivers(i).iter().all(|&reader| is_gone(reader)))
            .collect();
        for endpoint in free {
            let own = &mut self.endpoints[endpoint.index()];
            own.is_memory_released = true;
            let bytes = std::mem::take(&mut own.slabs.slabs).values().map(|(bytes, _)| bytes).sum();
            self.ledger.give_back(bytes);
            out.push(Action::DropEndpoint { endpoint });
        }
    }

    fn fail(&mut self, failure: RunFailure, out: &mut Vec<Action>) {
        self.end(RunOutcome::Failed(failure), out);
    }

    /// Ends the run with this outcome.
    pub fn stop(&mut self, outcome: RunOutcome) -> Vec<Action> {
        let mut out = Vec::new();
        self.end(outcome, &mut out);
        out
    }

    fn end(&mut self, outcome: RunOutcome, out: &mut Vec<Action>) {
        if self.ending.is_some() || self.over {
            return;
        }
        let why = match &outcome {
            RunOutcome::Failed(failure) => {
                failure_sentence(failure, |rank| self.wiring.name(&self.plan, rank)).with_code()
            }
            RunOutcome::Stopped => "it was stopped".to_owned(),
            RunOutcome::Interrupted => "it was interrupted".to_owned(),
            RunOutcome::Done => "it is done".to_owned(),
        };
        self.ending = Some(outcome.clone());
        out.push(Action::Report(AgentReport::Ending(outcome.clone())));
        if let Some(carrier) = self.wiring.carrier() {
            self.tell(carrier, Notice::RunEnds { why: why.clone() }, Vec::new(), out);
        }
        let endpoints: Vec<EndpointId> = self.wiring.own_endpoints().collect();
        for me in endpoints {
            let own = &mut self.endpoints[me.index()];
            match own.phase {
                InstancePhase::Gone(_) => continue,
                InstancePhase::Waiting => {
                    own.phase = InstancePhase::Gone(Exit::Unknown);
                    continue;
                }
                _ => {}
            }
            self.tell(me, Notice::RunEnds { why: why.clone() }, Vec::new(), out);
            if !self.ends_by_itself(me) {
                out.push(Action::SignalProcess { endpoint: me, push: ProcessSignal::Terminate });
            }
        }
        out.push(Action::StartGraceTimer);
        self.end_if_all_gone(out);
    }

    /// Returns true if the run fails because of this endpoint. The endpoint reported the failure itself, so
    /// it ends by itself within the grace period.
    pub fn ends_by_itself(&self, endpoint: EndpointId) -> bool {
        matches!(&self.ending, Some(RunOutcome::Failed(failure))
            if failure.rank.map(|one| self.wiring.endpoint_of(one)) == Some(endpoint))
    }

    /// Reports that the grace period has passed. The returned actions kill the processes that still run,
    /// except processes that a person started.
    pub fn grace_is_over(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        let endpoints: Vec<EndpointId> = self.wiring.own_endpoints().collect();
        for me in endpoints {
            let own = &mut self.endpoints[me.index()];
            match (own.phase, own.started_by_agent) {
                (InstancePhase::Gone(_), _) => {}
                (_, true) => out.push(Action::SignalProcess { endpoint: me, push: ProcessSignal::Kill }),
                (_, false) => own.phase = InstancePhase::Gone(Exit::Unknown),
            }
        }
        self.end_if_all_gone(&mut out);
        out
    }

    fn end_if_all_gone(&mut self, out: &mut Vec<Action>) {
        if !self.over && !self.held && self.is_done_here() {
            // Messages that these instances sent must be delivered, unless the run ends early.
            match self.carrier_phase {
                CarrierPhase::Running if self.ending.is_none() => {
                    self.carrier_phase = CarrierPhase::Draining;
                    return out.push(Action::Detach);
                }
                CarrierPhase::Draining if self.ending.is_none() => return,
                _ => {}
            }
            self.over = true;
            self.ending.get_or_insert(RunOutcome::Done);
            out.push(Action::Over);
        }
    }
}

fn answer(link: ConnectionId, notice: Notice) -> Action {
    Action::Answer { link, notice, memory: Vec::new() }
}

/// Returns the actions that send a notice that the endpoint did not request.
fn unrequested(
    link: ConnectionId,
    endpoint: EndpointId,
    notice: Notice,
    memory: Vec<MemoryRegion>,
) -> impl Iterator<Item = Action> {
    let halt = steering::halt_of(&notice);
    let tell = Action::Tell { link, endpoint, notice, memory };
    let ask = halt.map(|change| Action::AskWhetherSteers { link, endpoint, change });
    std::iter::once(tell).chain(ask)
}

fn left_early(rank: u32) -> Fault {
    fault!(
        EXIT_EARLY,
        "lost its rank {rank}, which ended with exit status 0 before the instance was done; all ranks must go \
        on until reuse_instance says that it is over"
    )
}

fn how_it_ended(before: InstancePhase, exit: Exit) -> Fault {
    match (exit, before) {
        (Exit::Status(0), InstancePhase::Started | InstancePhase::Waiting) => {
            fault!(
                EXIT_UNREGISTERED,
                "ended with exit status 0 and never registered; its program must make \
                an Instance, and end only when reuse_instance says so"
            )
        }
        (Exit::Unknown, InstancePhase::Started | InstancePhase::Waiting) => {
            fault!(EXIT_UNREGISTERED, "ended and never registered")
        }
        (Exit::Status(0) | Exit::Unknown, _) => {
            fault!(
                EXIT_EARLY,
                "ended without saying that it is done; a program must go on until \
                reuse_instance returns false, and close its Instance"
            )
        }
        (Exit::Status(status), InstancePhase::Finished) => {
            fault!(EXIT_EARLY, "was done, but then ended with exit status {status}")
        }
        (Exit::Status(status), InstancePhase::Started) => {
            fault!(EXIT_UNREGISTERED, "ended with exit status {status} before it had registered")
        }
        (Exit::Status(status), _) => fault!(EXIT_STATUS, "ended with exit status {status}"),
        (Exit::Signal(_), InstancePhase::Started) => {
            fault!(SIGNAL, "was ended by {exit} before it had registered")
        }
        (Exit::Signal(_), _) => fault!(SIGNAL, "was ended by {exit}"),
    }
}

#[cfg(test)]
mod ranks;
#[cfg(test)]
mod tests;
