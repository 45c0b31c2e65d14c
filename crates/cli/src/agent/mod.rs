//! `ligament agent`: the agent of a domain that is not the head's. It joins a run, starts what it is told to start, tells
//! the head what happens, and goes when the head says so, or is gone. `host` is what the agent's driver asks for. Where the
//! run directory is not to be seen, `stage` has the inputs sent before instances start, and `left` says what they leave.

mod host;
mod launcher;
mod left;
mod stage;

use crate::arguments::Agent;
use crate::paths::{connect, event_loop, farewell, hear, own_cores, tuning, Call, STREAMS};
use crate::runtime::MARKER;
use host::Domain;
use ligament_agent::domains::told_plan;
use ligament_agent::memory::Spare;
use ligament_agent::{Carrier, Elsewhere, Guard, Heard, Outcome};
use ligament_launch::Loss;
use ligament_net::{Event, Invitation, LastWord, Listener, Net};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Begin, FromAgent, FromHead, Join, VERSION};
use ligament_wire::DomainId;
use stage::{await_start, Inputs};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// Variables from which a task that a launcher has started knows which of several it is, from 0.
const RANKS: [&str; 4] = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// How often it is looked whether what started this agent is still there.
const GLANCE: Duration = Duration::from_millis(250);

/// Takes part in a run.
pub(crate) fn agent(arguments: &Agent) -> i32 {
    match take_part(arguments) {
        Ok(status) => status,
        Err(why) => {
            crate::complain(&why);
            crate::FAILED
        }
    }
}

fn take_part(arguments: &Agent) -> Result<i32, String> {
    let me = DomainId::new(number(arguments)?);
    let invitation = read_invitation(&arguments.join)?;
    ligament_launch::adopt_orphans();
    let run = invitation.run.clone();
    // Before there is a second thread.
    let last_word = LastWord::new(invitation.clone(), me.number());
    let word = last_word.clone();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let here = host.clone();
    let lost = move |loss: &Loss| {
        let stays = loss.noted.as_ref().map(|scratch| format!("; {}", stays(&here, scratch)));
        let how = format!("{}{}", loss.how(), stays.unwrap_or_default());
        // So that the run ends now, and not when its head has lost patience.
        let told = word.say(&how);
        let untold = told.err().map(|why| format!("; its head could not be told: {why}")).unwrap_or_default();
        crate::complain(&format!(
            "the agent of domain {me} of the run {run} (process {} on {here}) is gone: {how}{untold}",
            loss.pid
        ));
    };
    let mut guard = Guard::start(lost)
        .map_err(|error| format!("the agent's guard, a process that outlives it, cannot be made: {error}"))?;
    let listener =
        Listener::bind(&arguments.listening.listen()).map_err(|error| format!("--listen: {error}"))?;
    let addresses = listener.addresses();
    let mut net = Net::with_last_word(&last_word, tuning(arguments.patience));
    net.listen(listener);
    let (carrier, mut heard) = connect(net)?;
    carrier.dial(DomainId::HEAD, invitation.head.clone(), STREAMS);
    let join = Join {
        version: VERSION,
        ligament: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.clone(),
        cores: arguments.cores.unwrap_or_else(own_cores),
        memory: Spare::now().bytes,
        addresses: addresses.iter().map(ToString::to_string).collect(),
        pid: std::process::id(),
        scratch: scratch(arguments).to_string_lossy().into_owned(),
    };
    carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Join(join)));
    if !arguments.quiet {
        let head: Vec<String> = invitation.head.iter().map(ToString::to_string).collect();
        eprintln!("ligament: domain {me} joins the run {} at {}", invitation.run, head.join(", "));
    }
    let begin = match await_begin(me, &invitation, arguments.launched, &carrier, &mut heard) {
        Ok(begin) => begin,
        Err(Unready { why, status }) => {
            crate::complain(&why);
            farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
            return Ok(status);
        }
    };
    let (plan, placement) = told_plan(&begin.plan);
    let (home, is_shared) = home_of(&begin, arguments);
    let prepared = begin_paths(&carrier, &begin, me, &placement).map_err(Unready::failed).and_then(|()| {
        if !is_shared {
            guard.notes(home.to_string_lossy().into_owned());
            make_scratch(&home).map_err(Unready::failed)?;
            Inputs::new(&begin, me, &home).fetch(&carrier, &mut heard)?;
        }
        let domain = Domain::new(&begin, me, &placement, &carrier, (home.clone(), is_shared));
        let domain = domain.map_err(Unready::failed)?;
        let scratch = (!is_shared).then(|| home.to_string_lossy().into_owned());
        carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Ready(scratch)));
        if !begin.inputs.is_empty() {
            await_start(&mut heard)?;
        }
        Ok(if arguments.launched { domain.with_launcher() } else { domain })
    });
    let mut domain = match prepared {
        Ok(domain) => domain,
        Err(Unready { why, status }) => {
            if !is_shared {
                let _ = std::fs::remove_dir_all(&home);
            }
            carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(why.clone())));
            farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
            crate::complain(&why);
            return Ok(status);
        }
    };
    let elsewhere = Elsewhere { carrier: &carrier, heard: &mut heard, domain_of: &placement, me };
    let result = ligament_agent::run(plan, &mut guard, &mut domain, Some(elsewhere));
    let ending = domain.end();
    if let Err(why) = &result {
        carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(why.clone())));
    }
    if !ending.headless {
        farewell(&carrier, heard, std::iter::once(DomainId::HEAD));
    }
    if let Some(place) = &ending.stays {
        crate::complain(&format!("the head of the run is gone: {}", stays(&host, &place.to_string_lossy())));
    }
    let (outcome, _) = result?;
    Ok(match (outcome, ending.reason) {
        (Outcome::Failed(_), Some(why)) => {
            crate::complain(&format!("the run {} failed: {why}", invitation.run));
            crate::FAILED
        }
        (Outcome::Failed(_) | Outcome::Stopped, _) => crate::FAILED,
        (Outcome::Interrupted, _) => crate::INTERRUPTED,
        (Outcome::Done, _) => match ending.kept {
            Some(place) => {
                crate::complain(&format!(
                    "the run directory has no room for all that its instances left here; it stays in {}",
                    place.display()
                ));
                crate::FAILED
            }
            None => crate::DONE,
        },
    })
}

/// Where the files are that nobody fetches any more, as the end of a sentence.
fn stays(host: &str, scratch: &str) -> String {
    format!("what its instances have written stays on {host} in {scratch}")
}

/// Which domain this is.
fn number(arguments: &Agent) -> Result<u32, String> {
    if let Some(number) = arguments.domain {
        return Ok(number);
    }
    for name in RANKS {
        let Some(rank) = std::env::var(name).ok() else { continue };
        let rank: u32 =
            rank.parse().map_err(|_| format!("{name} is \"{rank}\", which is no number of a task; say with --domain N, from 1 on, which domain this is"))?;
        return rank.checked_add(1).ok_or_else(|| {
            format!("{name} is {rank}, which is too large for a number of a task; give --domain N")
        });
    }
    Err(format!(
        "which domain is this? Give --domain N, from 1 on, or start it by srun or mpirun (none of {} is set)",
        RANKS.join(", ")
    ))
}

fn read_invitation(from: &Path) -> Result<Invitation, String> {
    if from != Path::new("-") {
        return Invitation::read(from).map_err(|error| error.to_string());
    }
    let mut text = String::new();
    let read = std::io::stdin().take(1 << 20).read_to_string(&mut text);
    read.map_err(|error| format!("the invitation cannot be read from the standard input: {error}"))?;
    Invitation::from_text(&text).map_err(|error| format!("standard input: {error}"))
}

fn scratch(arguments: &Agent) -> PathBuf {
    arguments.scratch.clone().unwrap_or_else(std::env::temp_dir)
}

/// Where the files of the run are for this agent, and whether that is the run directory itself.
fn home_of(begin: &Begin, arguments: &Agent) -> (PathBuf, bool) {
    let directory = PathBuf::from(&begin.directory);
    let seen = std::fs::read_to_string(directory.join(MARKER)).is_ok_and(|marker| marker == begin.marker);
    match seen && arguments.scratch.is_none() {
        true => (directory, true),
        false => {
            let name = format!("ligament-{}-{}", begin.plan.run, std::process::id());
            (scratch(arguments).join(name), false)
        }
    }
}

/// Makes a directory for instances, for its owner's eyes only; nobody else has made it before.
fn make_scratch(home: &Path) -> Result<(), String> {
    let parent = home.parent().map_or(Ok(()), std::fs::create_dir_all);
    let made = parent.and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(home));
    made.map_err(|error| format!("the directory {} cannot be made: {error}", home.display()))
}

/// Why this agent does not begin, and the exit status.
struct Unready {
    why: String,
    status: i32,
}

impl Unready {
    fn failed(why: String) -> Unready {
        Unready { why, status: crate::FAILED }
    }
}

fn await_begin(
    me: DomainId,
    invitation: &Invitation,
    launched: bool,
    carrier: &Carrier,
    heard: &mut UnboundedReceiver<Heard>,
) -> Result<Box<Begin>, Unready> {
    let failed = Unready::failed;
    let mut events = event_loop().map_err(failed)?;
    loop {
        match hear(&mut events, heard, Instant::now() + GLANCE).map_err(failed)? {
            Call::Nothing if launched && launcher::is_gone() => {
                carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable(launcher::GONE.to_owned())));
                return Err(failed(format!("domain {me}: {}", launcher::GONE)));
            }
            Call::Nothing => {}
            Call::Interrupted | Call::HungUp => {
                carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Unable("it was interrupted".to_owned())));
                let why = format!("domain {me} was interrupted before the run {} began", invitation.run);
                return Err(Unready { why, status: crate::INTERRUPTED });
            }
            Call::Heard(Heard::Control { from: DomainId::HEAD, bytes }) => match from_bytes::<FromHead>(&bytes)
            {
                Ok(FromHead::Begin(begin)) => {
                    begin
                        .check(me)
                        .map_err(|why| failed(format!("what the head says makes no sense: {why}")))?;
                    return Ok(begin);
                }
                Ok(FromHead::Refused(why)) => {
                    return Err(failed(format!("the run {} goes without domain {me}: {why}", invitation.run)))
                }
                Ok(FromHead::Bye) => {
                    return Err(failed(format!(
                        "the run {} is over already; take the invitation of one that waits for its domains",
                        invitation.run
                    )))
                }
                Ok(_) => {}
                Err(why) => return Err(failed(format!("what the head says makes no sense: {why}"))),
            },
            Call::Heard(Heard::Path(Event::GivenUp { domain: 0, why })) => {
                let head: Vec<String> = invitation.head.iter().map(ToString::to_string).collect();
                return Err(failed(format!(
                    "the head of the run {} cannot be reached at {}: {why}; does the run still wait, and may this \
                     machine connect to it?",
                    invitation.run,
                    head.join(" or ")
                )));
            }
            Call::Heard(Heard::Path(Event::Gone { domain: 0, why })) => {
                return Err(failed(format!("the head of the run is gone: {why}")))
            }
            Call::Heard(Heard::Failed(why)) => return Err(failed(why)),
            Call::Heard(_) => {}
        }
    }
}

/// Begins paths to the other domains to which conduits lead. Of two the lower number is dialled.
fn begin_paths(carrier: &Carrier, begin: &Begin, me: DomainId, placement: &[DomainId]) -> Result<(), String> {
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
        if peer > me {
            carrier.expect(peer);
            continue;
        }
        let domain = &begin.domains[peer.index()];
        let addresses = domain.addresses.iter().map(|address| {
            let wrong =
                |error| format!("the address of domain {peer}, \"{address}\", cannot be understood: {error}");
            address.parse().map_err(wrong)
        });
        carrier.dial(peer, addresses.collect::<Result<_, String>>()?, STREAMS);
    }
    Ok(())
}
