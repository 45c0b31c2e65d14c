//! The beginning of a run over several domains. The head invites the agents, waits until all have joined,
//! places the instances, and sends each agent its part of the plan.

use super::domains::{DomainPaths, RemoteDomains};
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

/// Name of a file in the run directory. An agent that finds the file with the right content sees the run
/// directory.
pub(crate) const MARKER: &str = ".marker";
/// Name of the file with which agents join the run.
pub(crate) const INVITATION: &str = "invitation";
/// Interval between two checks for the failure of a command that starts agents.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The options of a run over several domains. This process is the head, domain 0.
pub struct DomainSpread<'a> {
    /// The other domains, numbered from 1.
    pub expected: Vec<ExpectedDomain>,
    /// Address at which the head listens.
    pub listen: Listen,
    /// The relays between the head and the others. Domains that cannot reach each other meet at the last relay.
    pub way: Option<Arc<Route>>,
    pub encrypt: bool,
    /// Time within which all domains must join.
    pub join_timeout: Duration,
    /// Time for which the connection to a domain may be cut before the run fails.
    pub patience: Duration,
    /// Name of this machine in the run. `None`: the machine's own name.
    pub name: Option<String>,
    /// Number of cores that the run may use here. `None`: all cores that this process may use.
    pub cores: Option<u32>,
    /// Number of cores that each domain reserves for its agent, unless another number is given for the
    /// domain. `None`: the number that `ligament_launch::reserved` returns.
    pub agent_cores: Option<u32>,
    /// Number of streams of each path to this machine. `None`: as many as the path needs.
    pub streams: Option<u16>,
    /// Maximum number of bytes per second that this machine sends to a distant domain.
    pub pace: Option<u64>,
    /// Options for the placement of instances for which the model sets no domain.
    pub place: PlacementOptions,
    /// The launcher of the agents.
    pub agents: &'a mut (dyn Agents + 'a),
}

/// The launcher of the agents of a run's other domains.
pub trait Agents {
    /// Starts the agents. `invitation` is a file in the run directory that only its owner may read. An agent
    /// is started with `ligament agent --join FILE --domain N`.
    ///
    /// # Errors
    /// The reason why the agents cannot be started.
    fn start(&mut self, invitation: &Path, expected: &[ExpectedDomain]) -> Result<(), Fault>;
    /// Returns the domains whose agents will not join, or will not return, with the reasons. Each domain is
    /// returned once. The head calls this a few times per second.
    fn lost(&mut self) -> Vec<(DomainId, Fault)> {
        Vec::new()
    }
    /// Returns true if all agents have been started. A job that `start` has submitted may first wait in a
    /// queue. The time within which agents must join begins when this function returns true.
    fn are_coming(&mut self) -> bool {
        true
    }
    /// Returns lines about the start of the agents, for the log. The head calls this after each call of `lost`.
    fn news(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The keys with which domains join the run, and the head's last message with its key. They are made before the
/// guard starts, because the guard sends this message if the head is gone.
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

    /// Informs the domains that the head is gone. `noted` has the addresses of the domains. With this message
    /// the domains end at once. Without it, they would wait until their patience is over.
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
                    // A domain that cannot be reached ends when its patience is over.
                    scope.spawn(|| last_word.say_to(*domain, addresses, why));
                }
            });
        }
    }

    pub fn last_word(&self) -> LastWord {
        self.last_word.clone()
    }
}

/// Returns the guard's note about the domains that have joined: a line for each domain, with its number and
/// addresses.
fn noted(gathering: &DomainRoster) -> String {
    let joined = gathering.have_joined().filter_map(|domain| gathering.joined(domain));
    joined.map(|one| format!("{} {}\n", one.domain, one.join.addresses.join(" "))).collect()
}

/// An invitation in a file. The file is removed when this value is dropped.
struct InvitationOnDisk<'f>(&'f Path);

impl Drop for InvitationOnDisk<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// The reason why a run over several domains does not begin.
pub(super) enum Unready {
    Failed(Fault),
    /// A domain has not joined, or its agent is lost.
    Incomplete(Fault),
    Interrupted,
    /// A user has ended the run.
    Stopped,
}

impl From<Fault> for Unready {
    fn from(why: Fault) -> Unready {
        Unready::Failed(why)
    }
}

impl<'a> Runtime<'a> {
    /// Waits until all domains have joined, and then places the instances.
    pub(super) fn gather(
        &mut self,
        plan: &RunPlan,
        spread: DomainSpread<'a>,
        secrets: &Secrets,
        guard: &mut Guard,
    ) -> Result<UnboundedReceiver<CarrierReport>, Unready> {
        let expected = spread.expected.clone();
        // The invitation lets agents join, and from then on signals of a user or of the terminal must be
        // handled. So the event loop is made first.
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
        // The run is complete, so no further agent may join.
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
        let here = DomainRecord { name, host, cores: own, pid: std::process::id(), ..DomainRecord::default() };
        let others = joined.iter().map(|one| DomainRecord {
            name: one.name.clone(),
            host: one.join.host.clone(),
            cores: one.join.cores,
            pid: one.join.pid,
            ..DomainRecord::default()
        });
        self.record.domains = std::iter::once(here).chain(others).collect();
        self.note_placed(&placement);
        let part = DomainPaths { carrier: Arc::new(carrier), placement: placement.into() };
        let (cut_off, ended) = (BTreeSet::new(), Vec::new());
        self.abroad = Some(RemoteDomains {
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

    /// Determines the domain of each instance. `rooms` has the domains' names for users, and `machines` has the
    /// names of their machines for launchers.
    fn decide(
        &mut self,
        plan: &RunPlan,
        rooms: &[DomainCapacity],
        machines: &[&str],
        options: PlacementOptions,
    ) -> Result<Vec<DomainId>, Fault> {
        // Instances that a `Starter` or a user starts must be in this domain.
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

    /// Sends each agent the plan with its instances, and writes the placement to the log.
    pub(super) fn tell_begin(&mut self, plan: &RunPlan) -> Result<(), Fault> {
        self.resumed = self.resumed_elsewhere(plan)?;
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
        let mut plan = plan_to_wire(plan, self.model, &distribution);
        for (i, instance) in InstanceId::first(plan.instances.len()).zip(&mut plan.instances) {
            instance.had_ended = self.has_stand_in(i).then_some(true);
        }
        let begin = Begin {
            version: VERSION,
            plan,
            domains: std::iter::once(here).chain(others).collect(),
            directory: self.directory.path().to_string_lossy().into_owned(),
            marker,
            model_directory: self.model_directory()?.to_string_lossy().into_owned(),
            output: self.model.ligament.output.unwrap_or(DEFAULT_OUTPUT_BYTES),
            inputs: self.inputs.files.iter().map(tell_input).collect(),
            given: self.inputs.given.iter().map(tell_given).collect(),
            resume_files: self.resumed.iter().map(|(file, _)| file.clone()).collect(),
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
