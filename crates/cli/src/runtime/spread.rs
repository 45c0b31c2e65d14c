//! The rest of a run over several domains: waiting for their agents, telling them what to do, taking in what they tell,
//! and parting from them. What follows from all that is `ligament_manager::domains`' to know.

use super::{Expected, Runtime};
use crate::paths::{carried, connect, event_loop, farewell, hear, Call};
use ligament_agent::domains::tell_plan;
use ligament_agent::{Carrier, Drain, Elsewhere, Guard, Heard, InstanceView, Order, Outcome, Plan};
use ligament_launch::{needs, place, reserved, staging, PlaceOptions, Room};
use ligament_manager::domains::{Doing, Gathering, Head, Joined};
use ligament_manager::{self as manager, DomainRecord, InstanceRecord, Level, Observation, DEFAULT_OUTPUT};
use ligament_net::{Event, Invitation, LastWord, Listen, Listener, Net, RunKeys};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{Begin, Domain, FromHead, Given, Input, VERSION};
use ligament_wire::{DomainId, InstanceId, RankId};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// The file with which an agent finds out whether it sees the run directory.
pub(crate) const MARKER: &str = ".marker";
/// The file that lets agents join the run.
pub(crate) const INVITATION: &str = "invitation";
/// How often somebody looks whether what starts agents has failed.
const GLANCE: Duration = Duration::from_millis(200);
/// How long an agent's last word may come after the end of the command that had started it.
const A_LAST_WORD: Duration = Duration::from_secs(1);

/// How a run spreads over several domains. This process is the head, domain 0.
pub struct Spread<'a> {
    /// The other domains, numbered from 1.
    pub expected: Vec<Expected>,
    /// Where the head is reached.
    pub listen: Listen,
    pub encrypt: bool,
    /// For how long to wait for all to join.
    pub join_timeout: Duration,
    /// For how long a domain may be cut off before the run is given up.
    pub patience: Duration,
    /// What this machine is called; none: by its own name.
    pub name: Option<String>,
    /// Cores that the run may use here; none: all that this process may.
    pub cores: Option<u32>,
    /// How many of its cores each domain keeps for its agent; none: as many as `ligament_launch::reserved` says.
    pub agent_cores: Option<u32>,
    /// Where instances go for which the model says nothing.
    pub place: PlaceOptions,
    /// What starts the agents.
    pub agents: &'a mut (dyn Agents + 'a),
}

/// What starts the agents of a run's other domains.
pub trait Agents {
    /// Starts them. `invitation` is a file in the run directory, for its owner's eyes only; an agent is started with
    /// `ligament agent --join FILE --domain N`.
    ///
    /// # Errors
    /// Why they cannot be started.
    fn start(&mut self, invitation: &Path, expected: &[Expected]) -> Result<(), String>;
    /// Of which domains the agents will not come, or not come back, and why; each once. Asked a few times a second.
    fn lost(&mut self) -> Vec<(DomainId, String)> {
        Vec::new()
    }
}

/// What makes those who have it a part of the run, and what is said if its head is lost. Made before the guard, which needs
/// it then.
pub(super) struct Secrets {
    keys: RunKeys,
    last_word: LastWord,
}

impl Secrets {
    pub fn make(run: &str, encrypt: bool) -> Secrets {
        let keys = RunKeys::make();
        let last_word = LastWord::new(Invitation::new(run, Vec::new(), encrypt, keys.clone()), 0);
        Secrets { keys, last_word }
    }

    /// Tells the domains that the head is gone; `noted` has where they are. So they end now, and not when they have lost
    /// patience.
    pub fn tell(last_word: &LastWord, noted: &str, why: &str) {
        const AT_ONCE: usize = 32;
        let one = |line: &str| {
            let mut words = line.split(' ');
            let domain: u32 = words.next()?.parse().ok()?;
            Some((domain, words.filter_map(|word| word.parse().ok()).collect::<Vec<SocketAddr>>()))
        };
        let domains: Vec<_> = noted.lines().filter_map(one).collect();
        for some in domains.chunks(AT_ONCE) {
            std::thread::scope(|scope| {
                for (domain, addresses) in some {
                    // One that cannot be reached loses patience in time.
                    scope.spawn(|| last_word.say_to(*domain, addresses, why));
                }
            });
        }
    }

    pub fn last_word(&self) -> LastWord {
        self.last_word.clone()
    }
}

/// What the guard notes of the domains that have joined: a line for each, its number and its addresses.
fn noted(gathering: &Gathering) -> String {
    let joined = gathering.have_joined().filter_map(|domain| gathering.joined(domain));
    joined.map(|one| format!("{} {}\n", one.domain, one.join.addresses.join(" "))).collect()
}

/// An invitation that lies in a file for as long as this is there.
struct Written<'f>(&'f Path);

impl Drop for Written<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// Why a run over several domains does not begin.
pub(super) enum Unready {
    Failed(String),
    /// Not all domains have come, or one has gone again.
    Incomplete(String),
    Interrupted,
}

impl From<String> for Unready {
    fn from(why: String) -> Unready {
        Unready::Failed(why)
    }
}

/// The other domains of a run, as its head has them.
pub(super) struct Abroad<'a> {
    pub(super) head: Head,
    pub(super) part: Part,
    joined: Vec<Joined>,
    addresses: Vec<SocketAddr>,
    pub(super) agents: &'a mut (dyn Agents + 'a),
    /// Those to which no path is left.
    pub(super) cut_off: BTreeSet<DomainId>,
    /// The commands that started agents and have ended: of which domain, why, and when that was noticed.
    ended: Vec<(DomainId, String, Instant)>,
}

/// What outlives the runtime: the paths, and who is where.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) carrier: Arc<Carrier>,
    placement: Arc<[DomainId]>,
}

impl Abroad<'_> {
    pub fn part(&self) -> Part {
        self.part.clone()
    }

    /// Those with which there can still be talk.
    pub fn in_reach(&self) -> Vec<DomainId> {
        self.joined.iter().map(|one| one.domain).filter(|domain| !self.cut_off.contains(domain)).collect()
    }
}

impl Part {
    pub fn elsewhere<'p>(&'p self, heard: &'p mut UnboundedReceiver<Heard>) -> Elsewhere<'p> {
        Elsewhere { carrier: &self.carrier, heard, domain_of: &self.placement, me: DomainId::HEAD }
    }

    /// Waits until what was said last to these domains has arrived.
    pub fn part_from(&self, domains: Vec<DomainId>, heard: UnboundedReceiver<Heard>) {
        farewell(&self.carrier, heard, domains.into_iter());
    }
}

impl<'a> Runtime<'a> {
    /// Waits until all domains have joined, and decides who runs where.
    pub(super) fn gather(
        &mut self,
        plan: &Plan,
        spread: Spread<'a>,
        secrets: &Secrets,
        guard: &mut Guard,
    ) -> Result<UnboundedReceiver<Heard>, Unready> {
        let expected = spread.expected.clone();
        let listener = Listener::bind(&spread.listen).map_err(|error| format!("--listen: {error}"))?;
        let addresses = listener.addresses();
        let mut net = Net::with_last_word(&secrets.last_word, crate::paths::tuning(spread.patience));
        net.listen(listener);
        let (carrier, mut heard) = connect(net)?;
        expected.iter().for_each(|one| carrier.expect(one.domain));
        let file = self.directory.path().join(INVITATION);
        let invitation =
            Invitation::new(self.directory.name(), addresses.clone(), spread.encrypt, secrets.keys.clone());
        let written = Written(&file);
        invitation.write(&file).map_err(|error| error.to_string())?;
        self.save();
        let at = addresses.iter().map(SocketAddr::to_string).collect();
        self.journal.note(manager::Event::Awaits { domains: expected.len(), addresses: at });
        self.add(
            Level::Info,
            "run",
            &format!("waits for {} other domains, at {}", expected.len(), spoken(&addresses)),
        );
        spread.agents.start(&file, &expected)?;
        let mut gathering = Gathering::new(expected);
        let joined = self.wait_for_all(
            &mut gathering,
            &spread.join_timeout,
            spread.agents,
            |domain, bytes| {
                carrier.control(domain, bytes);
            },
            &mut heard,
            guard,
        );
        // Whoever comes from now on comes too late.
        drop(written);
        let own = spread.cores.unwrap_or_else(crate::paths::own_cores);
        let name = spread.name.unwrap_or_else(|| self.record.host.clone());
        let room = |name: &str, cores: u32| Room {
            name: name.to_owned(),
            cores,
            reserved: reserved(spread.agent_cores, cores),
        };
        let placed = joined.and_then(|joined| {
            let others = joined.iter().map(|one| room(&one.name, one.join.cores));
            let rooms: Vec<Room> = std::iter::once(room(&name, own)).chain(others).collect();
            let placement = self.decide(plan, &rooms, spread.place)?;
            Ok((joined, placement))
        });
        let (joined, placement) = match placed {
            Ok(placed) => placed,
            Err(unready) => {
                let why = match &unready {
                    Unready::Failed(why) | Unready::Incomplete(why) => why.clone(),
                    Unready::Interrupted => "the run was interrupted before it began".to_owned(),
                };
                let told = to_bytes(&FromHead::Refused(why));
                let there: Vec<DomainId> = gathering.have_joined().collect();
                there.iter().for_each(|&one| carrier.control(one, told.clone()));
                farewell(&carrier, heard, there.into_iter());
                return Err(unready);
            }
        };
        let names: Vec<String> = joined.iter().map(|one| one.name.clone()).collect();
        let now = ligament_shm::status::now();
        let ranks = plan.ranks();
        let of_ranks: Vec<DomainId> = ranks.all().map(|rank| placement[ranks.instance(rank).index()]).collect();
        self.manager.spread_over(&of_ranks);
        let head = Head::new(placement.clone(), ranks, plan.channels.len(), names, spread.patience, now);
        let host = self.record.host.clone();
        let here = DomainRecord { name, host, cores: own, pid: std::process::id(), scratch: None };
        let others = joined.iter().map(|one| DomainRecord {
            name: one.name.clone(),
            host: one.join.host.clone(),
            cores: one.join.cores,
            pid: one.join.pid,
            scratch: None,
        });
        self.record.domains = std::iter::once(here).chain(others).collect();
        self.note_placed(&placement);
        let part = Part { carrier: Arc::new(carrier), placement: placement.into() };
        let (cut_off, ended) = (BTreeSet::new(), Vec::new());
        self.abroad = Some(Abroad { head, part, joined, addresses, agents: spread.agents, cut_off, ended });
        Ok(heard)
    }

    fn wait_for_all(
        &mut self,
        gathering: &mut Gathering,
        patience: &Duration,
        agents: &mut dyn Agents,
        tell: impl Fn(DomainId, Vec<u8>),
        heard: &mut UnboundedReceiver<Heard>,
        guard: &mut Guard,
    ) -> Result<Vec<Joined>, Unready> {
        let until = Instant::now() + *patience;
        let mut events = event_loop()?;
        loop {
            if let Some(all) = gathering.complete() {
                return Ok(all);
            }
            if let Some((_, why)) = agents.lost().into_iter().next() {
                return Err(Unready::Incomplete(why));
            }
            if Instant::now() >= until {
                return Err(Unready::Incomplete(gathering.too_late(patience.as_secs_f64())));
            }
            match hear(&mut events, heard, until.min(Instant::now() + GLANCE))? {
                Call::Interrupted => return Err(Unready::Interrupted),
                Call::HungUp if !self.terminal_is_gone() => return Err(Unready::Interrupted),
                Call::HungUp | Call::Nothing => {}
                Call::Heard(Heard::Control { from, bytes }) => {
                    let before = gathering.count();
                    if let Err((why, answer)) = gathering.heard(from, &bytes) {
                        self.add(Level::Warning, "run", &why);
                        tell(from, answer);
                    }
                    let (come, all) = gathering.count();
                    if (come, all) != before {
                        self.note_joined(from, gathering);
                        guard.notes(noted(gathering));
                        let missing = gathering.missing();
                        let rest = match missing.as_slice() {
                            [] => String::new(),
                            some => format!("; still missing: {}", ligament_manager::some_of(some, 8)),
                        };
                        self.add(
                            Level::Info,
                            "run",
                            &format!("domain {from} has joined ({come} of {all}){rest}"),
                        );
                    }
                }
                Call::Heard(Heard::Failed(why)) => return Err(why.into()),
                Call::Heard(Heard::Path(Event::Gone { domain, why })) => {
                    let why = format!("the agent of {} is gone: {why}", gathering.name(DomainId::new(domain)));
                    gathering.forget(DomainId::new(domain));
                    return Err(Unready::Incomplete(why));
                }
                Call::Heard(Heard::Path(Event::Refused { from, why, others })) => {
                    self.not_let_in(&from.to_string(), &why, others);
                }
                Call::Heard(_) => {}
            }
        }
    }

    /// Somebody who knocked, at the port or at the agent's socket.
    pub(super) fn not_let_in(&mut self, who: &str, why: &str, others: u64) {
        if let Some(text) = self.strangers.turned_away(who, why, others, Instant::now()) {
            self.add(Level::Warning, "run", &text);
        }
    }

    /// The domain of each instance.
    fn decide(&mut self, plan: &Plan, rooms: &[Room], options: PlaceOptions) -> Result<Vec<DomainId>, String> {
        // What this process or a person makes can only be made here.
        let fixed = |i: InstanceId| {
            (self.made_elsewhere(i) || plan.instances[i.index()].by_hand).then_some(DomainId::HEAD)
        };
        let placement = place(&needs(self.model, rooms, &fixed)?, rooms, options)?;
        for &domain in &placement.overcommitted {
            let name = &rooms[domain.index()].name;
            let text = format!(
                "domain {domain} ({name}) has more instances than its {} cores have room for; they share cores, and are \
                 slower",
                rooms[domain.index()].cores
            );
            self.add(Level::Warning, "run", &text);
        }
        Ok(placement.domains)
    }

    /// Tells all agents what their instances are, and the log who runs where.
    pub(super) fn tell_begin(&mut self, plan: &Plan) -> Result<(), String> {
        let Some(abroad) = &self.abroad else { return Ok(()) };
        let uuid = Path::new("/proc/sys/kernel/random/uuid");
        let marker = std::fs::read_to_string(uuid).map_err(|error| format!("{}: {error}", uuid.display()))?;
        self.directory.write(MARKER, &marker)?;
        let home = |i: InstanceId| {
            let home = self.homes.get(&plan.process_of(i)).cloned().unwrap_or_default();
            let below = home.strip_prefix(self.directory.path()).unwrap_or(&home);
            below.to_string_lossy().into_owned()
        };
        let homes: Vec<String> = InstanceId::first(plan.instances.len()).map(home).collect();
        let here = Domain {
            name: self.record.domains.first().map(|here| here.name.clone()).unwrap_or_default(),
            host: self.record.host.clone(),
            addresses: abroad.addresses.iter().map(SocketAddr::to_string).collect(),
        };
        let others = abroad.joined.iter().map(|one| Domain {
            name: one.name.clone(),
            host: one.join.host.clone(),
            addresses: one.join.addresses.clone(),
        });
        let begin = Begin {
            version: VERSION,
            plan: tell_plan(plan, self.model, &abroad.part.placement, &homes),
            domains: std::iter::once(here).chain(others).collect(),
            directory: self.directory.path().to_string_lossy().into_owned(),
            marker,
            model_directory: self.model_directory()?.to_string_lossy().into_owned(),
            output: self.model.ligament.output.unwrap_or(DEFAULT_OUTPUT),
            inputs: self.inputs.files.iter().map(tell_input).collect(),
            given: self.inputs.given.iter().map(tell_given).collect(),
        };
        let bytes = to_bytes(&FromHead::Begin(Box::new(begin)));
        for one in &abroad.joined {
            abroad.part.carrier.control(one.domain, bytes.clone());
        }
        let count = |domain: DomainId| abroad.part.placement.iter().filter(|&&at| at == domain).count();
        let line = |(domain, one): (DomainId, &DomainRecord)| {
            format!("domain {domain} ({}): {} instances, {} cores", one.name, count(domain), one.cores)
        };
        let domains = DomainId::first(self.record.domains.len()).zip(&self.record.domains);
        let lines: Vec<String> = domains.map(line).collect();
        self.add(Level::Info, "run", &lines.join("; "));
        Ok(())
    }

    /// The run does not begin after all.
    pub(super) fn refuse(&self, why: &str) {
        self.tell_all(&to_bytes(&FromHead::Refused(why.to_owned())));
    }

    fn tell_all(&self, bytes: &[u8]) {
        let Some(abroad) = &self.abroad else { return };
        for one in &abroad.joined {
            abroad.part.carrier.control(one.domain, bytes.to_vec());
        }
    }

    /// All is over and written down.
    pub(super) fn dismiss(&mut self) {
        let Some(abroad) = &self.abroad else { return };
        let last = abroad.head.bye();
        self.do_all(last);
    }

    /// Whether an instance runs in the head's own domain.
    pub(super) fn is_here(&self, instance: InstanceId) -> bool {
        self.abroad.as_ref().is_none_or(|abroad| abroad.head.domain_of_all(instance) == DomainId::HEAD)
    }

    /// All instances of the run, of which `own` has those of this domain.
    pub(super) fn see(&self, own: &[InstanceView], now: u64) -> Vec<Observation> {
        let Some(abroad) = &self.abroad else { return self.manager.observe(own, now) };
        let mut all = own.to_vec();
        abroad.head.see(&mut all);
        self.manager.observe(&all, now)
    }

    /// Which processes elsewhere are stopped their agents have told.
    pub(super) fn see_stopped_elsewhere(&self, seen: &mut [Observation]) {
        let Some(abroad) = &self.abroad else { return };
        let elsewhere = |(i, _): &(RankId, &mut Observation)| abroad.head.domain_of(*i) != DomainId::HEAD;
        for (i, one) in RankId::first(seen.len()).zip(seen).filter(elsewhere) {
            one.stopped = !one.gone && abroad.head.is_stopped(i);
        }
    }

    /// Notes in the record where each instance runs.
    pub(super) fn say_where(&self, instances: &mut [InstanceRecord]) {
        let Some(abroad) = &self.abroad else { return };
        for (i, one) in RankId::first(instances.len()).zip(instances) {
            let domain = abroad.head.domain_of(i);
            one.domain = Some(domain.number());
            one.on = self.record.domains.get(domain.index()).map(|domain| domain.name.clone());
        }
    }

    pub(super) fn memory(&self, own: (u64, u64)) -> (u64, u64) {
        self.abroad.as_ref().map_or(own, |abroad| abroad.head.memory(own))
    }

    pub(super) fn carriers(&self) -> Vec<ligament_manager::Carrier> {
        let Some(abroad) = &self.abroad else { return Vec::new() };
        abroad.head.carriers(|| carried(&abroad.part.carrier))
    }

    /// The orders of those that are for this domain; the others are told.
    pub(super) fn pass_on(&mut self, order: Order) -> Vec<Order> {
        match &mut self.abroad {
            None => vec![order],
            Some(abroad) => {
                let doings = abroad.head.pass_on(order);
                self.do_all(doings)
            }
        }
    }

    pub(super) fn tell_ending(&mut self, outcome: &Outcome) {
        let Some(abroad) = &mut self.abroad else { return };
        let doings = abroad.head.ending(outcome);
        self.do_all(doings);
    }

    pub(super) fn hurry_others(&mut self) {
        let Some(abroad) = &self.abroad else { return };
        let doings = abroad.head.hurry();
        self.do_all(doings);
    }

    pub(super) fn own_part_is_done(&mut self) -> Vec<Order> {
        let Some(abroad) = &mut self.abroad else { return vec![Order::Release] };
        abroad.head.done_here();
        let doings = abroad.head.release().into_iter().collect();
        self.do_all(doings)
    }

    /// Whether somebody is silent, or what started an agent has ended.
    pub(super) fn watch_others(&mut self, now: u64) -> Vec<Order> {
        let Some(abroad) = &mut self.abroad else { return Vec::new() };
        let mut doings = abroad.head.tick(now);
        let lost = abroad.agents.lost().into_iter().map(|(domain, why)| (domain, why, Instant::now()));
        abroad.ended.extend(lost);
        // The agent itself, or who outlives it, knows better why, and may be about to say so.
        let (known, fresh) =
            abroad.ended.drain(..).partition(|(_, _, noticed)| noticed.elapsed() >= A_LAST_WORD);
        abroad.ended = fresh;
        let known: Vec<(DomainId, String, Instant)> = known;
        for (domain, why, _) in known {
            doings.extend(abroad.head.lost(domain, &why));
        }
        doings.extend(abroad.head.release());
        self.do_all(doings)
    }

    pub(super) fn heard_from_others(&mut self, heard: &Heard) -> Vec<Order> {
        let Some(abroad) = &mut self.abroad else { return Vec::new() };
        let name = |domain: u32| {
            abroad.joined.iter().find(|one| one.domain.number() == domain).map(|one| one.name.clone())
        };
        let doings = match heard {
            Heard::Control { from, bytes } => abroad.head.heard(*from, bytes, ligament_shm::status::now()),
            Heard::Path(Event::GivenUp { domain, why }) => {
                let domain = DomainId::new(*domain);
                abroad.cut_off.insert(domain);
                let doings = abroad.head.lost(domain, why);
                self.say_what_stays(domain);
                doings
            }
            Heard::Path(Event::Gone { domain, why }) => {
                let domain = DomainId::new(*domain);
                abroad.cut_off.insert(domain);
                abroad.head.gone(domain, why)
            }
            Heard::Path(Event::PathDown { domain }) => {
                let name = name(*domain).unwrap_or_default();
                let text = format!(
                    "domain {domain} ({name}) cannot be reached just now; nothing is lost if it comes back"
                );
                self.add(Level::Warning, "run", &text);
                return Vec::new();
            }
            Heard::Path(Event::Refused { from, why, others }) => {
                self.not_let_in(&from.to_string(), why, *others);
                return Vec::new();
            }
            Heard::Path(_) | Heard::Detached | Heard::Failed(_) => Vec::new(),
        };
        let mut orders = self.do_all(doings);
        if let Some(release) = self.abroad.as_mut().and_then(|abroad| abroad.head.release()) {
            orders.extend(self.do_all(vec![release]));
        }
        orders
    }

    /// An agent that cannot be reached any more does not bring what its instances have written.
    fn say_what_stays(&mut self, domain: DomainId) {
        let Some(DomainRecord { host, scratch: Some(scratch), .. }) = self.record.domains.get(domain.index())
        else {
            return;
        };
        let text = format!("what the instances of domain {domain} have written stays on {host} in {scratch}");
        self.add(Level::Warning, "run", &text);
    }

    /// Does what is to be done; what is for the agent of this domain comes back.
    pub(super) fn do_all(&mut self, doings: Vec<Doing>) -> Vec<Order> {
        let mut orders = Vec::new();
        let mut timelines = false;
        for doing in doings {
            match doing {
                Doing::Order(order) => orders.push(order),
                Doing::Tell { domain, bytes } => {
                    if let Some(abroad) = &self.abroad {
                        abroad.part.carrier.control(domain, bytes);
                    }
                }
                Doing::Report(report) => {
                    self.take_in(report);
                }
                Doing::Gained { rank, gained, at, over } => {
                    let why = if over { Drain::Over } else { Drain::Tick };
                    self.add_to_timeline(rank, &gained, at, why);
                    timelines = true;
                }
                Doing::Ready { domain, scratch } => self.is_ready(domain, scratch),
                Doing::Leaves { domain, files, bytes } => self.begin_bringing(domain, files, bytes),
                Doing::Write { domain, piece } => {
                    let bytes = piece.part.bytes.len() as u64;
                    self.bring(domain, &piece);
                    let told = self.abroad.as_mut().map(|abroad| abroad.head.wrote(domain, bytes));
                    orders.extend(self.do_all(told.unwrap_or_default()));
                }
                Doing::Seen { domain, seen } => self.peeks.seen(domain, seen),
            }
        }
        if timelines {
            ligament_agent::Host::timelines_seen(self);
        }
        orders
    }
}

fn tell_input(input: &staging::Input) -> Input {
    let staging::Input { source, name, bytes, mode } = input;
    Input { source: source.to_string_lossy().into_owned(), name: name.clone(), bytes: *bytes, mode: *mode }
}

fn tell_given(given: &staging::Given) -> Given {
    Given { instance: given.process, input: given.input, name: given.name.clone() }
}

fn spoken(addresses: &[SocketAddr]) -> String {
    let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    ligament_manager::some_of(&all, 4)
}
