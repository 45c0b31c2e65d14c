//! The starter of the other end of a copy. It starts the other end by ssh, and sends it its task and the key of
//! the path over ssh's own channel. The files then travel over a path if a port of the other end, or a relay,
//! can be reached; otherwise over ssh's channel.

use super::place::site_of;
use super::task::{CopyAnswer, CopyRole, CopyTask, Transport, MARK, VERSION};
use super::ReachOptions;
use crate::other_end::{command, SshProcess};
use ligament_catalogue::{fault, Code, Fault};
use ligament_files::{CopyTally, MessageChannel, OverPath, OverPipes, MAX_MESSAGE_BYTES};
use ligament_launch::site::Site;
use ligament_link::{Gate, Invitation, Key, Options, Path, Station};
use std::io::{Read, Write};
use std::net::ToSocketAddrs;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time to connect a path to a port of the other end. After it, ssh's own connection is used. The next
/// constant is the time for a path over relays.
const PATH_TIMEOUT: Duration = Duration::from_secs(5);
const RELAYED_PATH_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time until the last error output has arrived and ssh has ended.
const SSH_EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a shell's greeting before the other end's answer, in bytes.
const MAX_BANNER_BYTES: usize = 1 << 20;

/// The site or host at the other end of a copy, and the options by which it is reached.
pub(crate) struct OtherSite {
    site: Site,
    reaching: ReachOptions,
}

impl OtherSite {
    pub fn new(name: &str, reaching: &ReachOptions) -> Result<OtherSite, Fault> {
        let mut site = site_of(name)?;
        site.ssh_options.extend(reaching.ssh_options.iter().cloned());
        if let Some(ligament) = &reaching.ligament {
            site.ligament = Some(ligament.clone());
        }
        if !reaching.relay.is_empty() {
            site.relays.clone_from(&reaching.relay);
        }
        Ok(OtherSite { site, reaching: reaching.clone() })
    }

    /// Gives the other end the role `theirs`, and carries out the role `ours` at this end.
    pub fn copy(
        &self,
        theirs: CopyRole,
        ours: &CopyRole,
        tally: &CopyTally,
        begun: &mut dyn FnMut(Transport),
    ) -> Result<(), Fault> {
        let stations: Vec<Station> =
            self.site.relays.iter().map(|file| Station::read(file)).collect::<Result<_, _>>()?;
        let keys = Key::make();
        let mut invitation = Invitation::new("files", Vec::new(), true, keys.clone());
        invitation.relays.clone_from(&stations);
        let task = CopyTask {
            version: VERSION,
            invitation: invitation.to_text().to_string(),
            over: self.reaching.over,
            interface: self.site.interface.clone(),
            ports: self.site.ports.clone(),
            pace: self.site.pace,
            what: theirs,
        };
        let began = Instant::now();
        let (mut running, mut input, mut output) = SshProcess::start(command(&self.site, "serve-files"))?;
        let told = serde_json::to_string(&task).expect("plain fields are written");
        // A write error is ignored, because a process that ends early explains its end in its output.
        let _ = input.write_all(format!("{told}\n").as_bytes());
        let answer = match answer(&mut output) {
            Ok(answer) => answer,
            Err(why) => return Err(self.not_started(&mut running, &why)),
        };
        let path = match self.reaching.over {
            Transport::Ssh => None,
            Transport::Any | Transport::Path => self.open(&keys, &answer, stations, began.elapsed()),
        };
        if path.is_none() && self.reaching.over == Transport::Path {
            return Err(fault!(
                COPY_NOT_STARTED,
                "no port of {} can be reached from here; open one and name it in the site's file (ports:), or \
                 use a relay, or ssh's own connection (--over ssh)",
                self.site.name
            ));
        }
        let word = if path.is_some() { "path\n" } else { "ssh\n" };
        if let Err(error) = input.write_all(word.as_bytes()) {
            let why = fault!(COPY_NOT_STARTED, "it does not listen any more: {error}");
            return Err(self.not_started(&mut running, &why));
        }
        begun(if path.is_some() { Transport::Path } else { Transport::Ssh });
        let done = match path {
            Some(path) => {
                let gone = Arc::new(AtomicBool::new(false));
                let watches = watch_end(output, gone.clone());
                let channel = OverPath::new(path, gone);
                let done = ours.carry_out(&channel, tally);
                channel.close(if done.is_ok() { SSH_EXIT_TIMEOUT } else { Duration::from_secs(1) });
                drop(input);
                running.end(SSH_EXIT_TIMEOUT);
                drop(watches);
                done
            }
            None => {
                let channel = OverPipes::new(output, input)
                    .map_err(|error| fault!(COPY_NOT_STARTED, "there is no thread to read with: {error}"))?;
                let done = ours.carry_out(&channel as &dyn MessageChannel, tally);
                drop(channel);
                running.end(SSH_EXIT_TIMEOUT);
                done
            }
        };
        done.map_err(|why| match running.complaint() {
            said if said.is_empty() || why.code() != Code::COPY_CUT => why,
            said => why.told(|text| format!("{text}; {} said: {said}", self.site.name)),
        })
    }

    fn not_started(&self, running: &mut SshProcess, why: &Fault) -> Fault {
        running.end(Duration::from_secs(2));
        let why = not_started(&self.site.name, why, &running.complaint());
        match super::place::meant(&self.site) {
            Some(meant) => {
                why.told(|text| format!("{text}; there is no site of this name: did you mean \"{meant}\"?"))
            }
            None => why,
        }
    }

    /// Opens a path to the other end: by its port, over relays, or over further connections of ssh. Several
    /// connections of ssh are faster than one, because each has its own flow-control window. `took` is the time
    /// that ssh needed to reach the other end. Returns `None` if the other end cannot be reached.
    fn open(&self, keys: &Key, answer: &CopyAnswer, stations: Vec<Station>, took: Duration) -> Option<Path> {
        let mut to: Vec<String> = Vec::new();
        if let (Some(name), Some(port)) = (self.dialled(), answer.at.first().map(std::net::SocketAddr::port)) {
            // The name that ssh has used comes first, because the addresses that the machine reports may be in
            // a network that this machine cannot reach.
            for address in (name.as_str(), port).to_socket_addrs().into_iter().flatten() {
                to.push(address.to_string());
            }
        }
        let own: Vec<String> =
            answer.at.iter().map(ToString::to_string).filter(|at| !to.contains(at)).collect();
        to.extend(own);
        to.truncate(16);
        let over_relays = !stations.is_empty();
        let gate = self.site.ssh.as_ref().and_then(|target| {
            let lead_on = crate::lead_on::told(self.site.ligament.as_deref());
            Gate::new(target, &self.site.ssh_options, lead_on).ok()
        });
        let again = gate.as_ref().map_or(Duration::ZERO, |_| 2 * took.min(PATH_TIMEOUT));
        let (streams, pace) = (self.site.streams.unwrap_or(0), self.site.pace);
        let longest = MAX_MESSAGE_BYTES as u64;
        let options = Options { stations, gate, longest, streams, pace, ..Options::default() };
        let words: Vec<&str> = to.iter().map(String::as_str).collect();
        let path = Path::open(keys, &words, &options).ok()?;
        let within = if over_relays { RELAYED_PATH_TIMEOUT } else { PATH_TIMEOUT };
        path.wait_connected(Some(within + again)).ok().map(|()| path)
    }

    /// Returns the host name of the target machine, as ssh resolves it.
    fn dialled(&self) -> Option<String> {
        let target = self.site.ssh.as_ref()?;
        let mut command = Command::new("ssh");
        command.arg("-G").args(&self.site.ssh_options).arg("--").arg(target);
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix("hostname ")).map(str::to_owned)
    }
}

/// Returns the error for an end that did not start. Its output comes after the reason, because it may be only
/// the greeting of a shell.
fn not_started(name: &str, why: &Fault, said: &str) -> Fault {
    let said = if said.is_empty() { String::new() } else { format!("; what was said there: {said}") };
    fault!(COPY_NOT_STARTED, "the other end cannot be started at {name}: {why}{said}").caused_by(why)
}

/// Reads the output up to the end of the answer. It reads single bytes, because the following bytes are the
/// files and belong to another reader.
fn answer(output: &mut impl Read) -> Result<CopyAnswer, Fault> {
    let (mut line, mut read) = (Vec::new(), 0);
    let mut byte = [0];
    while read < MAX_BANNER_BYTES {
        match output.read(&mut byte) {
            Ok(0) => return Err(fault!(COPY_NOT_STARTED, "it ended without an answer")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fault!(COPY_NOT_STARTED, "its answer cannot be read: {error}")),
        }
        read += 1;
        if byte[0] != b'\n' {
            line.push(byte[0]);
            continue;
        }
        if let Some(text) = line.strip_prefix(MARK.as_bytes()) {
            let answer: Result<CopyAnswer, _> = serde_json::from_slice(text);
            return match answer {
                Ok(answer) if answer.version == VERSION => Ok(answer),
                Ok(CopyAnswer { version, .. }) => Err(fault!(
                    OTHER_VERSION_ELSEWHERE,
                    "it copies by version {version}, where this Ligament knows {VERSION}; use the same version \
                     at both ends"
                )),
                Err(error) => Err(fault!(COPY_MISUNDERSTOOD, "it answers nonsense: {error}")),
            };
        }
        line.clear();
    }
    Err(fault!(COPY_NOT_STARTED, "the output of its shell has no end"))
}

/// Starts a thread that sets `gone` at the end of ssh or of the process at the other end.
fn watch_end(mut output: ChildStdout, gone: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        // The result has no meaning here: in each case no more bytes can arrive.
        let _ = std::io::copy(&mut output, &mut std::io::sink());
        gone.store(true, Ordering::Relaxed);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_does_not_hide_why_the_other_end_is_not_there() {
        let why = fault!(OTHER_VERSION_ELSEWHERE, "it copies by version 9");
        let banner = "Welcome to the site.\nDo not use it.";
        let told = not_started("east", &why, banner);
        assert!(told.text().contains("version 9") && told.text().contains(banner), "{told}");
        assert_eq!(
            not_started("east", &why, "").text(),
            "the other end cannot be started at east: it copies by version 9"
        );
    }
}
