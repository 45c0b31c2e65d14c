//! `ligament relay`, and the options that say over which relays the head and the agents of a run are
//! connected.

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
    /// Returns the way from a run's head to other domains: the relays and the gate of the command line,
    /// else those of the site. Returns none if neither names any.
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

    /// Returns the gate: the machine through which ssh leads. The option `--jump` comes before the site's
    /// `jump:`.
    fn gate(&self, site: &Site) -> Result<Option<Arc<Gate>>, Fault> {
        match (&self.jump, &site.jump) {
            (Some(jump), _) => Gate::new(jump, &self.jump_option, told(None)).map(Some),
            (None, Some(jump)) => Gate::new(jump, &site.ssh_options, told(site.ligament.as_deref())).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the way from an agent to the run's head. With `--relay` it leads over the relays of the
    /// command line and then to the last relay of the invitation, where the domains of the run meet.
    /// Without `--relay` it leads over the relays of the invitation.
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

/// Returns the relay and its open file. The file stays locked for as long as it is open.
fn begin(arguments: &Relay) -> Result<(ligament_net::Relay, File), Fault> {
    // If another relay makes the file in the meantime, the next pass of the loop reads that file.
    loop {
        let known = match arguments.file.try_exists() {
            Ok(false) => None,
            _ => Some(Station::read(&arguments.file)?),
        };
        let before = known.as_ref().map(|_| locked(&arguments.file)).transpose()?;
        let relay = begin_at(arguments, known)?;
        // The lock is released first, because the relay's file may have been replaced by another file.
        drop(before);
        if let Some(relay) = relay {
            return Ok((relay, locked(&arguments.file)?));
        }
    }
}

/// Opens and locks a relay's file. Fails if another relay on this machine runs with the same file: domains
/// that have the file would find only one of the two relays.
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
        // Any other error means that the file system has no locks.
        _ => Ok(file),
    }
}

/// Returns the relay, or none if another process has made the relay's file in the meantime.
fn begin_at(arguments: &Relay, known: Option<Station>) -> Result<Option<ligament_net::Relay>, Fault> {
    let mut listen = arguments.listening.listen();
    if let (None, Some(known)) = (&listen.ports, &known) {
        // Domains that know the relay look for it at its earlier port.
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

/// Returns the addresses of a relay that was started before, if it now listens at `port`. If the port is
/// not an earlier one, `port` replaces the port in each address, because the old addresses lead nowhere.
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

/// Returns the address `name` with this port, or unchanged if it already has a port.
fn with_port(name: &str, port: u16) -> String {
    match (port_of(name), name.parse()) {
        (Some(_), _) => name.to_owned(),
        // An IPv6 address gets brackets, because without them the port would be taken for the end of the
        // address.
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

/// Relays for ever. Unless `quiet`, reports now and then how many connections were refused, and why the
/// last one was.
fn carry_on(mut relay: ligament_net::Relay, quiet: bool) -> i32 {
    // Lets the relay have as many connections as the system allows.
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
        // One that is forwarded stays, beside its own.
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
