//! `ligament relay`, and the options that select relays for the connections of a run.

use crate::lead_on::told;
use crate::spread_options::ListenOptions;
use ligament_catalogue::{fault, Fault};
use ligament_launch::site::Site;
use ligament_net::{Gate, Invitation, Listener, RelayNotice, Route, Station};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum time between two reports of connections that the relay has refused.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Relay {
    /// The relay's file, with its address and key. It is made if it is not there; keep it to yourself.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    listening: ListenOptions,
    /// The address by which others know this machine, with a port unless it is the relay's own; may be given
    /// several times [default: those of its interfaces].
    #[arg(long, value_name = "NAME[:PORT]")]
    address: Vec<String>,
    /// Lead on to this other relay, whose file this is; may be given several times.
    #[arg(long, value_name = "FILE")]
    onward: Vec<PathBuf>,
    /// Show nothing but errors and warnings.
    #[arg(short, long)]
    quiet: bool,
}

/// Which relays connections go over.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RelayOptions {
    /// Go over this relay, whose file this is, where other domains are not reached directly; of several in a
    /// row give the nearest first. All domains of a run meet at the last one, that of the head.
    #[arg(long, value_name = "FILE")]
    pub relay: Vec<PathBuf>,
    /// Go by ssh through this machine, which ssh reaches without asking, to whom is not reached directly. No
    /// port but that of ssh need be open there; each connection is an ssh of its own (ssh -W; where sshd
    /// forbids that, ligament leads on).
    #[arg(long, value_name = "HOST")]
    pub jump: Option<String>,
    /// Give that ssh this option, such as -p2222; may be given several times.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, requires = "jump")]
    pub jump_option: Vec<String>,
}

fn stations(files: &[PathBuf]) -> Result<Vec<Station>, Fault> {
    files.iter().map(|file| Station::read(file)).collect()
}

impl RelayOptions {
    /// Returns the route from the head of a run to other domains: relays and gate from the command line, or
    /// else from the site. Returns `None` if neither has any.
    pub fn way(&self, site: &Site, encrypt: bool) -> Result<Option<Arc<Route>>, Fault> {
        let files = if self.relay.is_empty() { &site.relays } else { &self.relay };
        let gate = self.gate(site)?;
        if files.is_empty() && gate.is_none() {
            return Ok(None);
        }
        if !encrypt {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "an unencrypted path cannot go through a relay or an ssh host, which would read it; leave out \
                 --no-encryption and trusted_network, or the relay and the ssh host"
            ));
        }
        way(gate, &stations(files)?)
    }

    /// Returns the gate, which is the machine through which ssh leads. The option `--jump` takes precedence
    /// over `jump:` of the site file.
    fn gate(&self, site: &Site) -> Result<Option<Arc<Gate>>, Fault> {
        match (&self.jump, &site.jump) {
            (Some(jump), _) => Gate::new(jump, &self.jump_option, told(None)).map(Some),
            (None, Some(jump)) => Gate::new(jump, &site.ssh_options, told(site.ligament.as_deref())).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the route from an agent to the head of its run. With `--relay`, it leads over the relays of the
    /// command line, and then to the last relay of the invitation, where all domains of the run meet. Without
    /// `--relay`, it leads over the relays of the invitation.
    pub fn way_to(&self, invitation: &Invitation) -> Result<Option<Arc<Route>>, Fault> {
        let gate = self.gate(&Site::default())?;
        if gate.is_some() && !invitation.encrypt {
            return Err(fault!(
                CANNOT_JOIN,
                "the run is not encrypted, so a machine on the way by ssh would read it; start the run without \
                 --no-encryption"
            ));
        }
        let Some(last) = invitation.relays.last() else {
            return if self.relay.is_empty() {
                way(gate, &[])
            } else {
                Err(fault!(
                    CANNOT_JOIN,
                    "the run's head is at no relay, so nobody can be met there; start the run with --relay"
                ))
            };
        };
        if self.relay.is_empty() {
            return way(gate, &invitation.relays);
        }
        let mut stations = stations(&self.relay)?;
        if stations.last().is_none_or(|own| own.name() != last.name()) {
            stations.push(last.clone());
        }
        way(gate, &stations)
    }
}

fn way(gate: Option<Arc<Gate>>, stations: &[Station]) -> Result<Option<Arc<Route>>, Fault> {
    match gate {
        Some(gate) => Route::through(gate, stations).map(Some),
        None if stations.is_empty() => Ok(None),
        None => Route::over(stations).map(Some),
    }
}

/// Runs the relay until the process is ended. Returns the exit status if the relay cannot be started.
pub(crate) fn relay(arguments: &Relay) -> i32 {
    match begin(arguments) {
        Ok((relay, _locked)) => carry_on(relay, arguments.quiet),
        Err(why) => {
            crate::complain(&why);
            crate::BAD_USE
        }
    }
}

/// Makes the relay, and opens its file. The file is locked while it is open.
fn begin(arguments: &Relay) -> Result<(ligament_net::Relay, File), Fault> {
    // Another relay may make the file between the two calls. The next pass of the loop then reads that file.
    loop {
        let known = match arguments.file.try_exists() {
            Ok(false) => None,
            _ => Some(Station::read(&arguments.file)?),
        };
        let before = known.as_ref().map(|_| locked(&arguments.file)).transpose()?;
        let relay = begin_at(arguments, known)?;
        // The first lock is released here, because `begin_at` may have replaced the file. The new file is
        // locked below.
        drop(before);
        if let Some(relay) = relay {
            return Ok((relay, locked(&arguments.file)?));
        }
    }
}

/// Opens and locks the file of a relay. Fails if another relay on this machine uses the file: domains that have
/// the file would find only one of the two.
fn locked(path: &Path) -> Result<File, Fault> {
    let file = File::open(path).map_err(|error| {
        fault!(RELAY_UNUSABLE, "{}: the relay's file cannot be read: {error}", path.display())
    })?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(fault!(
            RELAY_UNUSABLE,
            "{}: another relay runs with this file already; end it, or name another file",
            path.display()
        )),
        // Any other error means a file system without locks, on which the relay runs unlocked.
        _ => Ok(file),
    }
}

/// Makes the relay. Returns `None` if another process has made the relay's file in the meantime.
fn begin_at(arguments: &Relay, known: Option<Station>) -> Result<Option<ligament_net::Relay>, Fault> {
    let mut listen = arguments.listening.listen();
    if let (None, Some(known)) = (&listen.ports, &known) {
        // The relay listens at its earlier port, because domains with an older copy of the file connect to this
        // port.
        listen.ports = known.at.iter().find_map(|at| port_of(at)).map(|port| port..=port);
    }
    let listener = Listener::bind(&listen).map_err(|error| fault!(CANNOT_LISTEN, "--listen: {error}"))?;
    let addresses = listener.addresses();
    let port = addresses.first().map_or(0, SocketAddr::port);
    let at: Vec<String> = match (&arguments.address[..], &known) {
        ([], Some(known)) => at_port(&known.at, port),
        ([], None) => {
            let far = |address: &&SocketAddr| !address.ip().is_loopback();
            let all: Vec<String> = addresses.iter().filter(far).map(ToString::to_string).collect();
            if all.is_empty() {
                addresses.iter().map(ToString::to_string).collect()
            } else {
                all
            }
        }
        (names, _) => names.iter().map(|name| with_port(name, port)).collect(),
    };
    let mut station = known.clone().unwrap_or_else(|| Station::new(Vec::new()));
    station.at = at;
    let relay = ligament_net::Relay::new(&station, listener, &stations(&arguments.onward)?)?;
    if station.at.is_empty() {
        return Err(fault!(
            RELAY_UNUSABLE,
            "{}: the relay has no address; give one with --address",
            arguments.file.display()
        ));
    }
    for at in &station.at {
        let is_port = |port: &str| port.parse().is_ok_and(|port: u16| port > 0);
        let leads = at.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && is_port(port));
        if !leads {
            return Err(fault!(RELAY_UNUSABLE, "\"{at}\" is no address of a relay; write HOST or HOST:PORT"));
        }
    }
    match &known {
        None if !station.write_new(&arguments.file)? => return Ok(None),
        Some(known) if *known != station => station.write(&arguments.file)?,
        _ => {}
    }
    if !arguments.quiet {
        say_begun(&station, &arguments.file);
    }
    Ok(Some(relay))
}

/// Returns true if the text can be a host: a name or an address.
fn is_host(host: &str) -> bool {
    !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
}

/// Returns the addresses of a restarted relay that listens at `port`. If `port` was among the earlier ports,
/// the addresses stay. Otherwise `port` replaces the port of each address, because nothing listens at the
/// earlier ports.
fn at_port(known: &[String], port: u16) -> Vec<String> {
    if known.iter().any(|at| port_of(at) == Some(port)) {
        return known.to_vec();
    }
    let moved = |at: &String| match (port_of(at), at.rsplit_once(':')) {
        (Some(_), Some((host, _))) => format!("{host}:{port}"),
        _ => at.clone(),
    };
    known.iter().map(moved).collect()
}

/// Adds a port to the address `name`, unless it has one.
fn with_port(name: &str, port: u16) -> String {
    match (port_of(name), name.parse()) {
        (Some(_), _) => name.to_owned(),
        // An IPv6 address gets brackets. Without them, its end could not be distinguished from the port.
        (None, Ok(address)) => SocketAddr::new(address, port).to_string(),
        (None, Err(_)) => format!("{name}:{port}"),
    }
}

/// Returns the port at the end of an address, if the address has one.
fn port_of(address: &str) -> Option<u16> {
    match address.parse::<std::net::IpAddr>() {
        Ok(_) => None,
        Err(_) => address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()),
    }
}

fn say_begun(station: &Station, file: &Path) {
    let (name, file) = (station.name(), file.display());
    crate::say(&format!(
        "the relay {} listens at {}\nWhoever has {file} can use it, and nothing else: take a copy (chmod 600) \
         to where runs are started, and name it there (--relay {file}, or relays: of a site).",
        &name[..8],
        station.at.join(", ")
    ));
}

/// Serves connections until the process is ended. Unless `quiet`, reports at intervals the number of refused
/// connections, and the reason of the last refusal.
fn carry_on(mut relay: ligament_net::Relay, quiet: bool) -> i32 {
    // The relay may have as many connections as the system allows.
    ligament_launch::raise_open_files();
    let (mut turned_away, mut said) = (0, None::<Instant>);
    let mut last = None;
    loop {
        relay.turn(Duration::from_secs(1));
        while let Some(told) = relay.told() {
            if let RelayNotice::Refused { from, why, others } = told {
                turned_away += 1 + others;
                last = Some((from, why));
            }
        }
        if said.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            if let Some((from, why)) = last.take() {
                if !quiet {
                    crate::say(&format!("{turned_away} sent away; the last one, from {from}: {why}"));
                }
                (turned_away, said) = (0, Some(Instant::now()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_that_listens_elsewhere_now_is_looked_for_there() {
        let known = ["login.site.org:7000".to_owned(), "[fe80::1]:7000".into()];
        assert_eq!(at_port(&known, 7000), known);
        assert_eq!(at_port(&known, 8000), ["login.site.org:8000", "[fe80::1]:8000"]);
        // A forwarded address with another port is kept beside the relay's own address.
        let both = ["gate.site.org:443".to_owned(), "10.0.0.1:7000".into()];
        assert_eq!(at_port(&both, 7000), both);
    }

    #[test]
    fn an_address_may_have_a_port() {
        assert_eq!(port_of("login.site.org"), None);
        assert_eq!(port_of("login.site.org:7000"), Some(7000));
        assert_eq!(port_of("10.0.0.1"), None);
        assert_eq!(port_of("10.0.0.1:7000"), Some(7000));
        assert_eq!(port_of("fe80::1"), None);
        assert_eq!(port_of("[fe80::1]:7000"), Some(7000));
        for (name, whole) in [
            ("login.site.org", "login.site.org:7000"),
            ("login.site.org:80", "login.site.org:80"),
            ("10.0.0.1", "10.0.0.1:7000"),
            ("fe80::1", "[fe80::1]:7000"),
        ] {
            assert_eq!(with_port(name, 7000), whole);
        }
    }
}
