//! `ligament agent`: the agent of a domain that is not the head's. It joins a run, starts the programs that
//! the head names, and reports all events to the head. It ends when the head releases it, or when the head is
//! gone. `domain` is the host for the agent's driver. If this machine does not see the run directory,
//! `inputs` requests the inputs before instances start, `checkpoint_files` has the places of saved states, and
//! `leftovers` finds the files that the instances leave.

mod checkpoint_files;
mod domain;
mod inputs;
mod launcher;
mod leftovers;

use crate::head::MARKER;
use crate::paths::{connect, event_loop, farewell, hear, own_cores, streams, tuning, Call};
pub(crate) use checkpoint_files::files_below;
use checkpoint_files::ResumeFiles;
use domain::Domain;
use inputs::{await_start, Inputs};
use ligament_agent::domains::plan_from_wire;
use ligament_agent::memory::SpareMemory;
use ligament_agent::{Carrier, CarrierReport, Guard, OtherDomains, RunOutcome};
use ligament_catalogue::{fault, Code, Fault};
use ligament_launch::ProcessLoss;
use ligament_manager::RunState;
use ligament_net::{DialAddress, Event, Invitation, LastWord, Listen, Listener, Net, Route};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Begin, FromAgent, FromHead, Join, VERSION};
use ligament_wire::DomainId;
use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// Interval between two checks that the launcher of this agent still runs.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The options of an agent.
#[derive(Debug)]
pub struct AgentOptions {
    pub invitation: Invitation,
    /// Number of the agent's domain, from 1 on.
    pub domain: u32,
    /// Number of cores for instances. `None`: all cores that this process may use.
    pub cores: Option<u32>,
    /// Directory for the files of instances. `None`: the run directory if this machine sees it, else a
    /// directory in TMPDIR.
    pub scratch: Option<PathBuf>,
    /// Address at which other domains reach this domain.
    pub listen: Listen,
    /// The relays between this domain and the others. Domains that cannot reach each other meet at the last
    /// relay.
    pub way: Option<Arc<Route>>,
    /// Name that the batch system has for this machine, if it may differ from the machine's own name.
    pub node: Option<String>,
    /// Number of streams of each path. `None`: as many as the path needs.
    pub streams: Option<u16>,
    /// Maximum number of bytes per second that the agent sends to a distant domain.
    pub pace: Option<u64>,
    /// Time for which the connection to the head may be cut before this domain ends.
    pub patience: Duration,
    /// True if only errors and warnings are shown.
    pub quiet: bool,
    /// True if the agent ends when the reader of its output ends.
    pub launched: bool,
    /// True if the agent is part of a batch job of its own. A signal to such an agent means that the job ends.
    pub of_job: bool,
}

/// Takes part in a run to its end. Returns the state in which the run ended in this domain.
///
/// # Errors
/// The reason why the agent cannot take part.
pub fn take_part(options: AgentOptions) -> Result<RunState, Fault> {
    let (me, invitation) = (DomainId::new(options.domain), &options.invitation);
    ligament_launch::adopt_orphans();
    let run = invitation.run.clone();
    // The guard must be forked before there is a second thread.
    let way = options.way.as_ref();
    let last_word = LastWord::new(invitation.clone(), me.number()).over(way.cloned());
    let word = last_word.clone();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let here = host.clone();
    let lost = move |loss: &ProcessLoss| {
        let stays = loss.noted.as_ref().map(|scratch| format!("; {}", stays(&here, scratch)));
        let how = format!("{}{}", loss.describe(), stays.unwrap_or_default());
        // With this message the head ends the run at once. Without it, the head would wait until its patience
        // is over.
        let told = word.say(&how);
        let untold = told.err().map(|why| format!("; its head could not be told: {why}")).unwrap_or_default();
        crate::complain(&fault!(
            DOMAIN_KILLED,
            "the agent of domain {me} of the run {run} (process {} on {here}) is gone: {how}{untold}",
            loss.pid
        ));
    };
    let mut guard = Guard::start(lost).map_err(|error| {
        fault!(CANNOT_WATCH, "the agent's guard, a process that outlives it, cannot be made: {error}")
    })?;
    let listener =
        Listener::bind(&options.listen).map_err(|error| fault!(CANNOT_LISTEN, "--listen: {error}"))?;
    let addresses = listener.addresses();
    let mut net = Net::with_last_word(&last_word, tuning(options.patience, options.pace))?;
    net.listen(listener);
    if let Some(way) = way {
        net.wait_at(way);
    }
    let (carrier, mut heard) = connect(net)?;
    carrier.dial(DomainId::HEAD, invitation.places_of_head(way), streams([options.streams, None]));
    let join = Join {
        version: VERSION,
        ligament: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.clone(),
        cores: options.cores.unwrap_or_else(own_cores),
        memory: SpareMemory::now().bytes,
        addresses: addresses.iter().map(ToString::to_string).chain(way.and_then(|way| way.word())).collect(),
        pid: std::process::id(),
        scratch: scratch(&options).to_string_lossy().into_owned(),
        streams: options.streams,
        node: options.node.clone(),
    };
    carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Join(join)));
    if !options.quiet {
        let head: Vec<String> = invitation.head.iter().map(ToString::to_string).collect();
        eprintln!("ligament: domain {me} joins the run {} at {}", invitation.run, head.join(", "));
    }
    let begin = match await_begin(me, invitation, options.launched, &carrier, &mut heard) {
        Ok(begin) => begin,
        Err(Unready { why, state }) => {
            crate::complain(&why);
            farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
            return Ok(state);
        }
    };
    let (mut plan, placement) = plan_from_wire(&begin.plan);
    let (home, is_shared) = home_of(&begin, &options);
    let resume = ResumeFiles::new(&begin, me, (&home, is_shared));
    resume.lay(&mut plan, (&home, is_shared));
    let prepared = begin_paths(&carrier, &begin, me, &placement, (way, options.streams))
        .map_err(Unready::failed)
        .and_then(|()| {
            if !is_shared {
                guard.set_loss_note(home.to_string_lossy().into_owned());
                make_scratch(&home).map_err(Unready::failed)?;
            }
            let inputs = Inputs::new(&begin, me, (&home, is_shared), &resume).fetch(&carrier, &mut heard)?;
            let domain = Domain::new(&begin, me, &placement, &carrier, (home.clone(), is_shared));
            let domain = domain.map_err(Unready::failed)?.with_inputs(inputs);
            carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Cores(domain.cores.clone())));
            let scratch = (!is_shared).then(|| home.to_string_lossy().into_owned());
            carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Ready(scratch)));
            if begin.stages() {
                await_start(&mut heard)?;
            }
            let domain = if options.of_job { domain.in_job(me, &host) } else { domain };
            Ok(if options.launched { domain.with_launcher() } else { domain })
        });
    let mut domain = match prepared {
        Ok(domain) => domain,
        Err(Unready { why, state }) => {
            if !is_shared {
                let _ = std::fs::remove_dir_all(&home);
            }
            carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(why.with_code())));
            farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
            crate::complain(&why);
            return Ok(state);
        }
    };
    let elsewhere = OtherDomains { carrier: &carrier, heard: &mut heard, domain_of: &placement, me };
    let result = ligament_agent::run(plan, &mut guard, &mut domain, Some(elsewhere));
    let ending = domain.end();
    if let Err(why) = &result {
        carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(why.with_code())));
    }
    if !ending.headless {
        farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
    }
    if let Some(place) = &ending.stays {
        crate::complain(&fault!(
            HEAD_GONE,
            "the head of the run is gone: {}",
            stays(&host, &place.to_string_lossy())
        ));
    }
    let outcome = result?.outcome;
    Ok(match (outcome, ending.reason) {
        (RunOutcome::Failed(_), Some(why)) => {
            crate::complain(&why.told(|why| format!("the run {} failed: {why}", invitation.run)));
            RunState::Failed
        }
        (RunOutcome::Failed(_) | RunOutcome::Stopped, _) => RunState::Failed,
        (RunOutcome::Interrupted, _) => RunState::Interrupted,
        (RunOutcome::Done, _) => match ending.kept {
            Some(place) => {
                crate::complain(&fault!(
                    FILE_LEFT_BEHIND,
                    "the run directory has no room for all that its instances left here; it stays in {}",
                    place.display()
                ));
                RunState::Failed
            }
            None => RunState::Done,
        },
    })
}

/// Returns the end of a sentence that names the directory of files that the head does not fetch any more.
fn stays(host: &str, scratch: &str) -> String {
    format!("what its instances have written stays on {host} in {scratch}")
}

fn scratch(options: &AgentOptions) -> PathBuf {
    options.scratch.clone().unwrap_or_else(std::env::temp_dir)
}

/// Returns the directory of the run's files for this agent, and true if this is the run directory itself.
fn home_of(begin: &Begin, options: &AgentOptions) -> (PathBuf, bool) {
    let directory = PathBuf::from(&begin.directory);
    let seen = std::fs::read_to_string(directory.join(MARKER)).is_ok_and(|marker| marker == begin.marker);
    if seen && options.scratch.is_none() {
        (directory, true)
    } else {
        let name = format!("ligament-{}-{}", begin.plan.run, std::process::id());
        (scratch(options).join(name), false)
    }
}

/// Makes a directory for instances, which only its owner may enter. Fails if the directory exists already.
fn make_scratch(home: &Path) -> Result<(), Fault> {
    let parent = home.parent().map_or(Ok(()), std::fs::create_dir_all);
    let made = parent.and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(home));
    made.map_err(|error| {
        fault!(RUN_DIRECTORY_UNWRITABLE, "the directory {} cannot be made: {error}", home.display())
    })
}

/// The reason why this agent does not begin its part of the run, and the state in which this part ends.
struct Unready {
    why: Fault,
    state: RunState,
}

impl Unready {
    fn failed(why: Fault) -> Unready {
        Unready { why, state: RunState::Failed }
    }
}

fn await_begin(
    me: DomainId,
    invitation: &Invitation,
    launched: bool,
    carrier: &Carrier,
    heard: &mut UnboundedReceiver<CarrierReport>,
) -> Result<Box<Begin>, Unready> {
    let failed = Unready::failed;
    let mut events = event_loop().map_err(failed)?;
    loop {
        match hear(&mut events, heard, Instant::now() + POLL_INTERVAL).map_err(failed)? {
            Call::Nothing if launched && launcher::is_gone() => {
                carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(launcher::gone().with_code())));
                return Err(failed(launcher::gone().told(|why| format!("domain {me}: {why}"))));
            }
            Call::Nothing => {}
            Call::Interrupted | Call::HungUp => {
                carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable("it was interrupted".to_owned())));
                let why =
                    fault!(CANNOT_JOIN, "domain {me} was interrupted before the run {} began", invitation.run);
                return Err(Unready { why, state: RunState::Interrupted });
            }
            Call::Heard(CarrierReport::Control { from: DomainId::HEAD, bytes }) => {
                match from_bytes::<FromHead>(&bytes) {
                    Ok(FromHead::Begin(begin)) => {
                        begin.check(me).map_err(|why| {
                            failed(fault!(DOMAIN_SENDS_NONSENSE, "a message of the head makes no sense: {why}"))
                        })?;
                        return Ok(begin);
                    }
                    Ok(FromHead::Refused(why)) => {
                        let why = Fault::heard(why, Code::CANNOT_JOIN);
                        let fault =
                            fault!(CANNOT_JOIN, "the run {} goes without domain {me}: {why}", invitation.run);
                        return Err(failed(fault.caused_by(&why)));
                    }
                    Ok(FromHead::Bye) => {
                        return Err(failed(fault!(
                            CANNOT_JOIN,
                            "the run {} is over already; take the invitation of one that waits for its domains",
                            invitation.run
                        )))
                    }
                    Ok(_) => {}
                    Err(why) => {
                        return Err(failed(fault!(
                            DOMAIN_SENDS_NONSENSE,
                            "a message of the head makes no sense: {why}"
                        )))
                    }
                }
            }
            Call::Heard(CarrierReport::Path(Event::GivenUp { domain: 0, why })) => {
                let head: Vec<String> = invitation.head.iter().map(ToString::to_string).collect();
                return Err(failed(fault!(
                    CANNOT_JOIN,
                    "the head of the run {} cannot be reached at {}: {why}; does the run still wait, and may \
                     this machine connect to it?",
                    invitation.run,
                    head.join(" or ")
                )));
            }
            Call::Heard(CarrierReport::Path(Event::Gone { domain: 0, why })) => {
                return Err(failed(fault!(HEAD_GONE, "the head of the run is gone: {why}")))
            }
            Call::Heard(CarrierReport::Failed(why)) => return Err(failed(why)),
            Call::Heard(_) => {}
        }
    }
}

/// Begins the paths to the other domains to which conduits lead. Of two domains, the one with the higher
/// number dials.
fn begin_paths(
    carrier: &Carrier,
    begin: &Begin,
    me: DomainId,
    placement: &[DomainId],
    (way, wanted): (Option<&Arc<Route>>, Option<u16>),
) -> Result<(), Fault> {
    let ranks = begin.plan.ranks();
    let domain = |rank| placement[ranks.instance(rank).index()];
    let ends = begin.plan.channels.iter().map(|one| (domain(one.from.rank), domain(one.to.rank)));
    let peers: BTreeSet<DomainId> = ends
        .filter_map(|(from, to)| match (from == me, to == me) {
            (true, false) => Some(to),
            (false, true) => Some(from),
            _ => None,
        })
        .collect();
    for peer in peers.into_iter().filter(|&peer| peer != DomainId::HEAD) {
        let domain = &begin.domains[peer.index()];
        let places = DialAddress::read(&domain.addresses, way)
            .map_err(|why| why.told(|why| format!("the addresses of domain {peer}: {why}")))?;
        if peer > me {
            carrier.expect(peer, places)
        } else {
            carrier.dial(peer, places, streams([wanted, domain.streams]))
        }
    }
    Ok(())
}
