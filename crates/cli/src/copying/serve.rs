//! The end of a copy that ssh starts. It reads its task from its standard input, listens for the path, and ends
//! as soon as the input is closed.

use super::task::{CopyAnswer, CopyTask, Transport, MARK, VERSION};
use ligament_catalogue::{fault, Fault};
use ligament_files::{CopyTally, MessageChannel, OverPath, OverPipes, MAX_MESSAGE_BYTES};
use ligament_link::{Invitation, Listen, Options, Path};
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time until the last message has arrived.
const LAST_WORD_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Serves one copy.
pub(crate) fn serve() -> i32 {
    match serve_one() {
        Ok(()) => crate::DONE,
        Err(why) => {
            crate::complain(&why);
            crate::FAILED
        }
    }
}

fn line(input: &mut impl BufRead) -> Result<String, Fault> {
    let mut line = String::new();
    let read = input.take(MAX_LINE_BYTES).read_line(&mut line);
    let why = match read {
        Ok(0) => "it has ended".to_owned(),
        Ok(_) if line.ends_with('\n') => return Ok(line),
        Ok(_) => "it is too long".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(fault!(COPY_CUT, "nothing can be read from who called this: {why}"))
}

fn serve_one() -> Result<(), Fault> {
    let mut input = std::io::stdin().lock();
    let task: CopyTask = serde_json::from_str(&line(&mut input)?)
        .map_err(|error| fault!(COPY_MISUNDERSTOOD, "the task is not understood: {error}"))?;
    if task.version != VERSION {
        return Err(fault!(
            OTHER_VERSION_ELSEWHERE,
            "the other end copies by version {}, where this Ligament knows {VERSION}; use the same version at \
             both ends",
            task.version
        ));
    }
    let path = match task.over {
        Transport::Ssh => None,
        Transport::Any | Transport::Path => listen(&task).map(Some).or_else(|why| match task.over {
            Transport::Path => Err(why),
            _ => Ok(None),
        })?,
    };
    let at = path.as_ref().map(addresses).unwrap_or_default();
    let output = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let mut output = output.map_err(|error| fault!(COPY_CUT, "there is no standard output: {error}"))?;
    let answer = serde_json::to_string(&CopyAnswer { version: VERSION, at }).expect("plain fields are written");
    output
        .write_all(format!("\n{MARK}{answer}\n").as_bytes())
        .map_err(|error| fault!(COPY_CUT, "nothing can be said to who called this: {error}"))?;
    let over_path = line(&mut input)?.trim() == "path";
    drop(input);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let what = task.what.below_home(home.as_deref());
    let tally = CopyTally::without_names();
    match path.filter(|_| over_path) {
        Some(path) => {
            let gone = Arc::new(AtomicBool::new(false));
            watch_input(gone.clone())?;
            let channel = OverPath::new(path, gone);
            let done = what.carry_out(&channel, &tally);
            channel.close(LAST_WORD_TIMEOUT);
            done
        }
        None => {
            let channel = OverPipes::new(std::io::stdin(), output)
                .map_err(|error| fault!(COPY_CUT, "there is no thread to read with: {error}"))?;
            what.carry_out(&channel as &dyn MessageChannel, &tally)
        }
    }
}

fn listen(task: &CopyTask) -> Result<Path, Fault> {
    let invitation = Invitation::from_text(&task.invitation)?;
    let mut at = Listen { ports: task.ports.clone(), ..Listen::default() };
    match task.interface.as_deref().map(str::parse) {
        Some(Ok(address)) => at.address = Some(address),
        Some(Err(_)) => at.interface.clone_from(&task.interface),
        None => {}
    }
    let (stations, longest) = (invitation.relays, MAX_MESSAGE_BYTES as u64);
    let options = Options { stations, longest, pace: task.pace, ..Options::default() };
    Path::listen_at(&invitation.keys, &at, &options).map_err(|error| error.fault().clone())
}

/// Returns the addresses at which the path listens. The address by which ssh reached this machine comes first.
/// A loopback address would lead another machine to itself, so it is included only if ssh came by such an
/// address or if ssh did not start this process.
fn addresses(path: &Path) -> Vec<SocketAddr> {
    let own = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let came_to: Option<IpAddr> = own.split_whitespace().nth(2).and_then(|text| text.parse().ok());
    let all = path.addresses();
    let first = came_to.zip(all.first()).map(|(ip, any)| SocketAddr::new(ip, any.port()));
    let near = came_to.is_none_or(|ip| ip.is_loopback());
    let others = all.iter().copied().filter(|one| (near || !one.ip().is_loopback()) && Some(*one) != first);
    first.into_iter().chain(others).collect()
}

/// Starts a thread that sets `gone` when the input is closed, because the other end is then gone. Files that
/// have arrived stay.
fn watch_input(gone: Arc<AtomicBool>) -> Result<(), Fault> {
    let reads = move || {
        let mut buffer = [0; 256];
        loop {
            match std::io::stdin().read(&mut buffer) {
                Ok(1..) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        gone.store(true, Ordering::Relaxed);
    };
    let thread = std::thread::Builder::new().name("ligament-input".into()).spawn(reads);
    thread.map(|_| ()).map_err(|error| fault!(COPY_CUT, "there is no thread to read with: {error}"))
}
