//! How a run over several domains begins: its head invites their agents, waits until all have joined, decides
//! who runs where, and tells them.

use super::domains::{Abroad, DomainPaths};
use super::{ExpectedDomain, Runtime};
use crate::paths::{connect, event_loop, farewell, hear, own_cores, tuning, Call, EventLoop};
use ligament_agent::domains::{plan_to_wire, Distribution};
use ligament_agent::{CarrierReport, Guard, RunPlan};
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::{needs, place, reserved, staging, DomainCapacity, NodeShare, PlacementOptions};
use ligament_manager::domains::{DomainRoster, Head, JoinedDomain};
use ligament_manager::{self as manager, DomainRecord, Level, DEFAULT_OUTPUT_BYTES};
use ligament_net::{Event, Invitation, LastWord, Listen, Listener, Net, Route, RunKeys};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{Begin, Domain, Extent, FromHead, Input, InputOfProcess, VERSION};
use ligament_wire::{DomainId, InstanceId};
use std::collections::{BTreeSet, HashMap};
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
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How a run spreads over several domains. This process is the head, domain 0.
pub struct DomainSpread<'a> {
    /// The other domains, numbered from 1.
    pub expected: Vec<ExpectedDomain>,
    /// The address of the head.
    pub listen: Listen,
    /// The head's way over relays: domains that do not reach each other meet at the last of them.
    pub way: Option<Arc<Route>>,
    pub encrypt: bool,
    /// For how long to wait for all to join.
    pub join_timeout: Duration,
    /// For how long a domain may be cut off before the run is given up.
    pub patience: Duration,
    /// The name of this machine; none: by its own name.
    pub name: Option<String>,
    /// Cores that the run may use here; none: all that this process may.
    pub cores: Option<u32>,
    /// The number of cores that each domain keeps for its agent, of which nothing else is said; none: as many
    /// as `ligament_launch::reserved` says.
    pub agent_cores: Option<u32>,
    /// The number of connections that the links to this machine have; none: as many as they need.
    pub streams: Option<u16>,
    /// Bytes in a second that this machine sends to a domain far away, at most.
    pub pace: Option<u64>,
    /// The placement of instances for which the model says nothing.
    pub place: PlacementOptions,
    /// The launcher of the agents.
    pub agents: &'a mut (dyn Agents + 'a),
}

/// The launcher of the agents of a run's other domains.
pub trait Agents {
    /// Starts them. `invitation` is a file in the run directory, for its owner's eyes only; an agent is started
    /// with `ligament agent --join FILE --domain N`.
    ///
    /// # Errors
    /// Why they cannot be started.
    fn start(&mut self, invitation: &Path, expected: &[ExpectedDomain]) -> Result<(), Fault>;
    /// Of which domains the agents will not come, or not come back, and why; each once. Asked a few times a
    /// second.
    fn lost(&mut self) -> Vec<(DomainId, Fault)> {
        Vec::new()
    }
    /// Returns true if all of them have been started. What `start` did may wait in a queue; the time in which
    /// agents are to join begins after that.
    fn are_coming(&mut self) -> bool {
        true
    }
    /// News of their start, for the log. Asked as often as `lost`, and after it.
    fn news(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The key that makes a domain a part of the run, and the key of the head's last word. Made before the guard,
/// which needs it then.
pub(super) struct Secrets {
    keys: RunKeys,
    last_word: LastWord,
}

impl Secrets {
    pub fn make(run: &str, spread: &DomainSpread<'_>) -> Secrets {
        let keys = RunKeys::make();
        let invitation = Invitation::new(run, Vec::new(), spread.encrypt, keys.clone());
        let last_word = LastWord::new(invitation, 0).over(spread.way.clone());
        Secrets { keys, last_word }
    }

    /// Tells the domains that the head is gone; `noted` has where they are. So they end now, and not when they
    /// have lost patience.
    pub fn tell(last_word: &LastWord, noted: &str, why: &str) {
        const MAX_GREETINGS_AT_ONCE: usize = 32;
        let one = |line: &str| {
            let mut words = line.split(' ');
            let domain: u32 = words.next()?.parse().ok()?;
            Some((domain, words.map(ToOwned::to_owned).collect::<Vec<String>>()))
        };
        let domains: Vec<_> = noted.lines().filter_map(one).collect();
        for some in domains.chunks(MAX_GREETINGS_AT_ONCE) {
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

/// The guard's notes about the domains that have joined: a line for each, its number and its addresses.
fn noted(gathering: &DomainRoster) -> String {
    let joined = gathering.have_joined().filter_map(|domain| gathering.joined(domain));
    joined.map(|one| format!("{} {}\n", one.domain, one.join.addresses.join(" "))).collect()
}

/// An invitation that lies in a file for as long as this is there.
struct InvitationOnDisk<'f>(&'f Path);

impl Drop for InvitationOnDisk<'_> {
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
    /// Somebody wants it to end.
    Stopped,
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
        plan: &RunPlan,
        spread: DomainSpread<'a>,
        secrets: &Secrets,
        guard: &mut Guard,
    ) -> Result<UnboundedReceiver<CarrierReport>, Unready> {
        let expected = spread.expected.clone();
        // Before anybody can know of the run: whoever has seen its invitation may end it, or its terminal.
        let mut events = event_loop()?;
        let listener =
            Listener::bind(&spread.listen).map_err(|error| fault!(CANNOT_LISTEN, "--listen: {error}"))?;
        let addresses = listener.addresses();
        let mut net = Net::with_last_word(&secrets.last_word, tuning(spread.patience, spread.pace))?;
        net.listen(listener);
        if let Some(way) = &spread.way {
            net.wait_at(way);
        }
        let (carrier, mut heard) = connect(net)?;
        expected.iter().for_each(|one| carrier.expect(one.domain, Vec::new()));
        let file = self.directory.path().join(INVITATION);
        let mut invitation =
            Invitation::new(self.directory.name(), addresses.clone(), spread.encrypt, secrets.keys.clone());
        invitation.relays = spread.way.iter().flat_map(|way| way.stations().to_vec()).collect();
        let mut reached: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        reached.extend(spread.way.iter().filter_map(|way| way.word()));
        let written = InvitationOnDisk(&file);
        invitation.write(&file)?;
        self.save();
        let at = addresses.iter().map(SocketAddr::to_string).collect();
        self.journal.note(manager::JournalEvent::Awaits { domains: expected.len(), addresses: at });
        self.add(
            Level::Info,
            "run",
            &format!("waits for {} other domains, at {}", expected.len(), spoken(&addresses)),
        );
        spread.agents.start(&file, &expected)?;
        let by_domain: HashMap<DomainId, ExpectedDomain> =
            expected.iter().map(|one| (one.domain, one.clone())).collect();
        let mut gathering = DomainRoster::new(expected);
        let joined = self.wait_for_all(
            (&mut events, &mut heard),
            &mut gathering,
            &spread.join_timeout,
            spread.agents,
            |domain, bytes| {
                carrier.control(domain, bytes);
            },
            guard,
        );
        // Whoever comes from now on comes too late.
        drop(written);
        let own = spread.cores.unwrap_or_else(own_cores);
        let name = spread.name.unwrap_or_else(|| self.record.host.clone());
        let room = |name: &str, cores: u32, agent_cores: Option<u32>, site: Option<String>| DomainCapacity {
            name: name.to_owned(),
            cores,
            reserved: reserved(agent_cores.or(spread.agent_cores), cores),
            site,
        };
        let placed = joined.and_then(|joined| {
            let others = joined.iter().map(|one| {
                let known = by_domain.get(&one.domain).cloned().unwrap_or_default();
                room(&one.name, one.join.cores, known.agent_cores, known.site)
            });
            let rooms: Vec<DomainCapacity> =
                std::iter::once(room(&name, own, None, None)).chain(others).collect();
            let machines: Vec<&str> =
                std::iter::once(name.as_str()).chain(joined.iter().map(|one| one.machine.as_str())).collect();
            let placement = self.decide(plan, &rooms, &machines, spread.place)?;
            Ok((joined, placement))
        });
        let (joined, placement) = match placed {
            Ok(placed) => placed,
            Err(unready) => {
                let why = match &unready {
                    Unready::Failed(why) | Unready::Incomplete(why) => why.clone(),
                    Unready::Interrupted => fault!(CANNOT_JOIN, "the run was interrupted before it began"),
                    Unready::Stopped => fault!(CANNOT_JOIN, "the run was told to end before it began"),
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
        let extent = Extent { placement: placement.clone(), ranks, channels: plan.channels.len(), inputs: 0 };
        let head = Head::new(extent, names, spread.patience, now);
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
        let part = DomainPaths { carrier: Arc::new(carrier), placement: placement.into() };
        let (cut_off, ended) = (BTreeSet::new(), Vec::new());
        self.abroad = Some(Abroad {
            head,
            part,
            joined,
            addresses: reached,
            streams: spread.streams,
            agents: spread.agents,
            cut_off,
            ended,
        });
        Ok(heard)
    }

    fn wait_for_all(
        &mut self,
        (events, heard): (&mut EventLoop, &mut UnboundedReceiver<CarrierReport>),
        gathering: &mut DomainRoster,
        patience: &Duration,
        agents: &mut dyn Agents,
        tell: impl Fn(DomainId, Vec<u8>),
        guard: &mut Guard,
    ) -> Result<Vec<JoinedDomain>, Unready> {
        let mut until = Instant::now() + *patience;
        loop {
            if self.directory.stop().exists() {
                self.journal.note(manager::JournalEvent::Order { order: "stop".into(), instance: None });
                return Err(Unready::Stopped);
            }
            if let Some(all) = gathering.complete() {
                return Ok(all);
            }
            let lost = agents.lost().into_iter().next();
            self.tell_news(agents.news());
            if let Some((_, why)) = lost {
                return Err(Unready::Incomplete(why));
            }
            if !agents.are_coming() {
                until = Instant::now() + *patience;
            }
            if Instant::now() >= until {
                return Err(Unready::Incomplete(gathering.too_late(patience.as_secs_f64())));
            }
            match hear(events, heard, until.min(Instant::now() + POLL_INTERVAL))? {
                Call::Interrupted => return Err(Unready::Interrupted),
                Call::HungUp if !self.terminal_is_gone() => return Err(Unready::Interrupted),
                Call::HungUp | Call::Nothing => {}
                Call::Heard(CarrierReport::Control { from, bytes }) => {
                    let before = gathering.count();
                    if let Err((why, answer)) = gathering.heard(from, &bytes) {
                        self.add(Level::Warning, "run", why.text());
                        tell(from, answer);
                    }
                    let (come, all) = gathering.count();
                    if (come, all) != before {
                        self.note_joined(from, gathering);
                        guard.set_loss_note(noted(gathering));
                        let missing = gathering.missing();
                        let rest = match missing.as_slice() {
                            [] => String::new(),
                            some => format!("; still missing: {}", ligament_manager::list_some(some, 8)),
                        };
                        self.add(
                            Level::Info,
                            "run",
                            &format!("domain {from} has joined ({come} of {all}){rest}"),
                        );
                    }
                }
                Call::Heard(CarrierReport::Failed(why)) => return Err(why.into()),
                Call::Heard(CarrierReport::Path(Event::Gone { domain, why })) => {
                    let why = fault!(
                        DOMAIN_KILLED,
                        "the agent of {} is gone: {why}",
                        gathering.name(DomainId::new(domain))
                    );
                    gathering.forget(DomainId::new(domain));
                    return Err(Unready::Incomplete(why));
                }
                Call::Heard(CarrierReport::Path(Event::Refused { from, why, others })) => {
                    self.not_let_in(&from.to_string(), &why, others);
                }
                Call::Heard(_) => {}
            }
        }
    }

    pub(super) fn tell_news(&mut self, news: Vec<String>) {
        for text in news {
            self.add(Level::Info, "run", &text);
        }
    }

    /// The domain of each instance. Rooms have the names that people know, machines those that launchers do.
    fn decide(
        &mut self,
        plan: &RunPlan,
        rooms: &[DomainCapacity],
        machines: &[&str],
        options: PlacementOptions,
    ) -> Result<Vec<DomainId>, Fault> {
        // Instances that this process or a person starts can only be here.
        let fixed = |i: InstanceId| {
            (self.made_elsewhere(i) || plan.instances[i.index()].by_hand).then_some(DomainId::HEAD)
        };
        let placement = place(&needs(self.model, rooms, &fixed)?, rooms, options)?;
        for &domain in &placement.overcommitted {
            let name = &rooms[domain.index()].name;
            let text = said!(
                OVERCOMMITTED,
                "domain {domain} ({name}) has more instances than its {} cores have room for; they share \
                 cores, and are slower",
                rooms[domain.index()].cores
            );
            self.add(Level::Warning, "run", &text);
        }
        let several = InstanceId::first(placement.processes.len()).zip(&placement.processes);
        for (instance, processes) in several.filter(|(_, processes)| !processes.is_empty()) {
            let share = |&(domain, processes): &(DomainId, u32)| NodeShare {
                name: machines[domain.index()].to_owned(),
                processes,
            };
            self.nodes.insert(instance, processes.iter().map(share).collect());
        }
        Ok(placement.domains)
    }

    /// Tells all agents what their instances are, and the log who runs where.
    pub(super) fn tell_begin(&mut self, plan: &RunPlan) -> Result<(), Fault> {
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
            addresses: abroad.addresses.clone(),
            streams: abroad.streams,
        };
        let others = abroad.joined.iter().map(|one| Domain {
            name: one.name.clone(),
            host: one.join.host.clone(),
            addresses: one.join.addresses.clone(),
            streams: one.join.streams,
        });
        let distribution =
            Distribution { placement: &abroad.part.placement, homes: &homes, nodes: &self.nodes };
        let begin = Begin {
            version: VERSION,
            plan: plan_to_wire(plan, self.model, &distribution),
            domains: std::iter::once(here).chain(others).collect(),
            directory: self.directory.path().to_string_lossy().into_owned(),
            marker,
            model_directory: self.model_directory()?.to_string_lossy().into_owned(),
            output: self.model.ligament.output.unwrap_or(DEFAULT_OUTPUT_BYTES),
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

fn tell_input(input: &staging::StagedFile) -> Input {
    let staging::StagedFile { source, name, bytes, mode } = input;
    Input { source: source.to_string_lossy().into_owned(), name: name.clone(), bytes: *bytes, mode: *mode }
}

fn tell_given(given: &staging::ProcessInput) -> InputOfProcess {
    InputOfProcess { instance: given.process, input: given.input, name: given.name.clone() }
}

fn spoken(addresses: &[SocketAddr]) -> String {
    let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    ligament_manager::list_some(&all, 4)
}
