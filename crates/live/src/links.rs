//! Makes further links for a page that is already served. Its server sends a link to any process of the
//! same user that asks at a socket of this machine. The socket's name follows from the run's directory, so
//! that no file with the name is needed, and none remains. Any process may take such a name, so both sides
//! check the user at the other end before they send anything.

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

/// Maximum time for which each side waits for data from the other side.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for which a caller may wait until its link is used, and time between two checks.
const USED: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum length of an answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 8192;

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn address(run: &RunDirectory) -> std::io::Result<SocketAddr> {
    let found = std::fs::metadata(run.path())?;
    // The inode of a removed directory may be used again, so the time of creation is part of the name.
    let born = found.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or(0, |born| born.as_nanos());
    let name = format!("ligament-view-{}-{:x}-{:x}-{born:x}", me(), found.dev(), found.ino());
    SocketAddr::from_abstract_name(name)
}

/// Listens at the socket of a run. Returns `None` if another server of the run listens there, or another
/// process has the name.
pub fn listen(run: &RunDirectory) -> Option<UnixListener> {
    let listener = address(run).and_then(|address| Blocking::bind_addr(&address)).ok()?;
    listener.set_nonblocking(true).ok()?;
    UnixListener::from_std(listener).ok()
}

/// Makes a link for each caller, as long as the server runs.
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
    // The connection stays open until the link is used, for callers that wait for that.
    let secret = opened.fragment.rsplit('=').next().unwrap_or_default();
    let until = tokio::time::Instant::now() + USED;
    while door.awaits(secret) && tokio::time::Instant::now() < until {
        let gone = tokio::time::timeout(POLL_INTERVAL, line.read(&mut word)).await;
        if matches!(gone, Ok(Ok(0) | Err(_))) {
            return;
        }
    }
}

/// A further link to a page that is already served.
pub struct FurtherLink {
    pub opened: PageLink,
    line: Line,
}

impl FurtherLink {
    /// Waits until the link is opened, but not longer than `USED`.
    pub fn wait_until_used(mut self) {
        let _ = self.line.set_read_timeout(Some(USED + ANSWER_TIMEOUT));
        let _ = self.line.read(&mut [0]);
    }
}

/// Connects without waiting. Another process may have the name and let callers wait, so a caller whose
/// connection is not accepted at once goes on without it.
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

/// Returns a further link to the page of a run, if the page is served on this machine.
///
/// # Errors
/// Fails if the server does not answer, or answers with something else.
pub fn another_link(run: &RunDirectory, purpose: &Purpose) -> Result<Option<FurtherLink>, Fault> {
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
    Ok(Some(FurtherLink { opened, line }))
}
