//! More links for a page that is served already: its server gives them to whoever asks at a socket of this
//! machine and is the same user. The socket's name follows from the run's directory, so nothing has to be
//! written down, and nothing stays behind. Anybody may take such a name: so both sides look who is at the other
//! end before they say anything.

use crate::door::{Door, Purpose};
use crate::PageLink;
use ligament_catalogue::{fault, Fault};
use ligament_manager::RunDirectory;
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener as Blocking, UnixStream as Line};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// For how long either side waits for a word of the other.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// For how long somebody may wait until a link is used, and how often is looked.
const USED: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The longest answer, bytes.
const MAX_ANSWER_BYTES: u64 = 8192;

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn address(run: &RunDirectory) -> std::io::Result<SocketAddr> {
    let found = std::fs::metadata(run.path())?;
    // A directory that is gone leaves its number to another.
    let born = found.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or(0, |born| born.as_nanos());
    let name = format!("ligament-view-{}-{:x}-{:x}-{born:x}", me(), found.dev(), found.ino());
    SocketAddr::from_abstract_name(name)
}

/// Listens at the socket of a run. None if another page of the run does, or somebody has its name.
pub fn listen(run: &RunDirectory) -> Option<UnixListener> {
    let listener = address(run).and_then(|address| Blocking::bind_addr(&address)).ok()?;
    listener.set_nonblocking(true).ok()?;
    UnixListener::from_std(listener).ok()
}

/// Makes links for whoever asks, as long as the server lives.
pub async fn give(listener: UnixListener, door: Arc<Door>, at: String) {
    loop {
        match listener.accept().await {
            Ok((line, _)) if line.peer_cred().is_ok_and(|peer| peer.uid() == me()) => {
                tokio::spawn(answer(line, door.clone(), at.clone()));
            }
            Ok(_) => {}
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

async fn answer(mut line: UnixStream, door: Arc<Door>, at: String) {
    let mut word = [0; 256];
    let read = tokio::time::timeout(ANSWER_TIMEOUT, line.read(&mut word)).await;
    let Ok(Ok(length)) = read else { return };
    let Some(purpose) = std::str::from_utf8(&word[..length]).ok().and_then(Purpose::of) else { return };
    let Ok(opened) = PageLink::by(&door, purpose, at) else { return };
    let told = json!({ "at": opened.at, "fragment": opened.fragment, "number": opened.number });
    if line.write_all(format!("{told}\n").as_bytes()).await.is_err() {
        return;
    }
    // The line stays until the link is used, for those who wait for that.
    let secret = opened.fragment.rsplit('=').next().unwrap_or_default();
    let until = tokio::time::Instant::now() + USED;
    while door.awaits(secret) && tokio::time::Instant::now() < until {
        let gone = tokio::time::timeout(POLL_INTERVAL, line.read(&mut word)).await;
        if matches!(gone, Ok(Ok(0) | Err(_))) {
            return;
        }
    }
}

/// A link that was made for a page that is served already.
pub struct Another {
    pub opened: PageLink,
    line: Line,
}

impl Another {
    /// Waits until somebody has opened the link, but not for long.
    pub fn wait_until_used(mut self) {
        let _ = self.line.set_read_timeout(Some(USED + ANSWER_TIMEOUT));
        let _ = self.line.read(&mut [0]);
    }
}

/// Somebody else may have the name, and let callers wait: who is not let in at once goes on alone.
fn connected(address: &SocketAddr) -> std::io::Result<Line> {
    use rustix::net::{connect, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let name = address.as_abstract_name().unwrap_or_default();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let line = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&line, &SocketAddrUnix::new_abstract_name(name)?)?;
    let line = Line::from(line);
    line.set_nonblocking(false)?;
    Ok(line)
}

/// Another link to the page of a run, if one is served on this machine.
///
/// # Errors
/// It does not answer, or not with a link.
pub fn another_link(run: &RunDirectory, purpose: &Purpose) -> Result<Option<Another>, Fault> {
    let Ok(line) = address(run).and_then(|address| connected(&address)) else { return Ok(None) };
    let is_mine = rustix::net::sockopt::socket_peercred(&line).is_ok_and(|peer| peer.uid.as_raw() == me());
    if !is_mine {
        return Ok(None);
    }
    let broken = |what: &dyn std::fmt::Display| {
        fault!(CANNOT_SERVE, "the page of {} gives no link: {what}; serve another with --port", run.name())
    };
    let mut text = String::new();
    let asked = line
        .set_read_timeout(Some(ANSWER_TIMEOUT))
        .and_then(|()| (&line).write_all(purpose.words().as_bytes()))
        .and_then(|()| BufReader::new((&line).take(MAX_ANSWER_BYTES)).read_line(&mut text));
    asked.map_err(|error| broken(&error))?;
    let told: Value = serde_json::from_str(&text).map_err(|error| broken(&error))?;
    let word =
        |key: &str| told[key].as_str().map(str::to_owned).ok_or_else(|| broken(&"it said something else"));
    let number = told["number"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    let opened = PageLink { at: word("at")?, fragment: word("fragment")?, role: purpose.role, number };
    Ok(Some(Another { opened, line }))
}
