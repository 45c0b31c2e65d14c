//! How a run over several domains begins: its head invites their agents, waits until all have joined, decides who runs
//! where, and tells them.

use super::domains::{Abroad, Part};
use super::{Expected, Runtime};
use crate::paths::{connect, event_loop, farewell, hear, own_cores, tuning, Call};
use ligament_agent::domains::tell_plan;
use ligament_agent::{Guard, Heard, Plan};
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::{needs, place, reserved, staging, PlaceOptions, Room};
use ligament_manager::domains::{Gathering, Head, Joined};
use ligament_manager::{self as manager, DomainRecord, Level, DEFAULT_OUTPUT};
use ligament_net::{Event, Invitation, LastWord, Listen, Listener, Net, RunKeys};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{Begin, Domain, FromHead, Given, Input, VERSION};
use ligament_wire::{DomainId, InstanceId};
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
    fn start(&mut self, invitation: &Path, expected: &[Expected]) -> Result<(), Fault>;
    /// Of which domains the agents will not come, or not come back, and why; each once. Asked a few times a second.
    fn lost(&mut self) -> Vec<(DomainId, Fault)> {
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
    Failed(Fault),
    /// Not all domains have come, or one has gone again.
    Incomplete(Fault),
    Interrupted,
}

impl From<Fault> for Unready {
    fn from(why: Fault) -> Unready {
        Unready::Failed(why)
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
        let listener =
            Listener::bind(&spread.listen).map_err(|error| fault!(CANNOT_LISTEN, "--listen: {error}"))?;
        let addresses = listener.addresses();
        let mut net = Net::with_last_word(&secrets.last_word, tuning(spread.patience));
        net.listen(listener);
        let (carrier, mut heard) = connect(net)?;
        expected.iter().for_each(|one| carrier.expect(one.domain));
        let file = self.directory.path().join(INVITATION);
        let invitation =
            Invitation::new(self.directory.name(), addresses.clone(), spread.encrypt, secrets.keys.clone());
        let written = Written(&file);
        invitation.write(&file)?;
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
        let own = spread.cores.unwrap_or_else(own_cores);
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
                    Unready::Interrupted => fault!(CANNOT_JOIN, "the run was interrupted before it began"),
                };
                let told = to_bytes(&FromHead::Refused(why.with_code()));
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
                        self.add(Level::Warning, "run", why.text());
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
                    let why = fault!(
                        DOMAIN_KILLED,
                        "the agent of {} is gone: {why}",
                        gathering.name(DomainId::new(domain))
                    );
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

    /// The domain of each instance.
    fn decide(&mut self, plan: &Plan, rooms: &[Room], options: PlaceOptions) -> Result<Vec<DomainId>, Fault> {
        // What this process or a person makes can only be made here.
        let fixed = |i: InstanceId| {
            (self.made_elsewhere(i) || plan.instances[i.index()].by_hand).then_some(DomainId::HEAD)
        };
        let placement = place(&needs(self.model, rooms, &fixed)?, rooms, options)?;
        for &domain in &placement.overcommitted {
            let name = &rooms[domain.index()].name;
            let text = said!(
                OVERCOMMITTED,
                "domain {domain} ({name}) has more instances than its {} cores have room for; they share cores, and are \
                 slower",
                rooms[domain.index()].cores
            );
            self.add(Level::Warning, "run", &text);
        }
        Ok(placement.domains)
    }

    /// Tells all agents what their instances are, and the log who runs where.
    pub(super) fn tell_begin(&mut self, plan: &Plan) -> Result<(), Fault> {
        let Some(abroad) = &self.abroad else { return Ok(()) };
        let uuid = Path::new("/proc/sys/kernel/random/uuid");
        let marker = std::fs::read_to_string(uuid)
            .map_err(|error| fault!(CANNOT_WATCH, "{}: {error}", uuid.display()))?;
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
