//! The page of a run at a site that is reached by ssh. The server of the page runs at the site, and talks
//! over the input and output of the process that ssh has started. The process on this machine listens for
//! browsers, and forwards their connections. So no port is open at the site, and a browser without a secret
//! is refused by the server there.

use crate::listen::{Doorstep, ListenAddress};
use crate::pipes::{arriving, PipedConnections};
use crate::{
    at, checked, no_system, page, signals, token_in, PageLink, PublicUrl, Purpose, Role, ServedPage, NO_TOKEN,
};
use axum::serve::Listener;
use ligament_catalogue::{fault, Fault};
use ligament_manager::RunDirectory;
use serde_json::{json, Value};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// Beginning of the line with which the server at the site reports that it is ready. Output of the shell
/// before this line is skipped.
const MARK: &str = "ligament-view-1 ";
/// Maximum length of the line with `MARK`, and of the output before it, in bytes.
const MAX_LINE_BYTES: u64 = 8192;
const MAX_BANNER_BYTES: usize = 1 << 20;
/// Maximum time that ssh has to end, and the time between two checks.
const SSH_EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Serves the page of a run over standard input and output until the input ends. Browsers reach the page at
/// the address in `place`, on another machine. If `metrics` is true, the first line of the input is the
/// token for the metrics, because all users of the machine could read an argument.
///
/// # Errors
/// Fails if the page cannot be served.
pub fn serve_over_pipes(
    run: RunDirectory,
    purpose: Purpose,
    place: (String, Option<PublicUrl>),
    metrics: bool,
) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_system)?;
    let served = runtime.block_on(async {
        let mut input = BufReader::new(tokio::io::stdin());
        let metrics = if metrics { Some(token_from(&mut input).await?) } else { None };
        let (at, public) = place;
        let served = ServedPage { at, public, metrics, begun_by: None };
        let (router, first, _) = page(run, purpose, served)?;
        let PageLink { at, fragment, role, number } = first;
        let hello = json!({ "at": at, "fragment": fragment, "role": role.word(), "number": number });
        let mut output = tokio::io::stdout();
        // The shell's output before this line may lack a newline at its end, so this text begins with one.
        let line = format!("\n{MARK}{hello}\n");
        output.write_all(line.as_bytes()).await.map_err(no_system)?;
        output.flush().await.map_err(no_system)?;
        let (sender, arrives) = arriving();
        let carried = PipedConnections::begin(output);
        let mut end = signals().map_err(no_system)?;
        tokio::select! {
            served = axum::serve(arrives, router) => served.map_err(no_system),
            read = carried.read(input, Some(sender)) => read.map_err(no_system),
            _ = end.recv() => Ok(()),
        }
    });
    runtime.shutdown_background();
    served
}

/// Reads the token from the first line of the input.
async fn token_from(input: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Result<String, Fault> {
    let mut line = String::new();
    input.take(MAX_LINE_BYTES).read_line(&mut line).await.map_err(no_system)?;
    checked(&line).ok_or_else(|| fault!(METRICS_TOKEN, "standard input: {NO_TOKEN}"))
}

/// The process of ssh. It is ended when this value is dropped.
struct SshChild(Child);

impl Drop for SshChild {
    fn drop(&mut self) {
        // The server at the site ends by itself when its input ends. Only ssh must be ended here.
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let (Some(pid), Ok(None)) = (pid, self.0.try_wait()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        for _ in 0..SSH_EXIT_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the page of a run at a site. `command` makes the command that starts the server at the site; its
/// argument is the address at which browsers reach the page on this machine. If `metrics_token` is given,
/// the token in this file is sent to the server over the pipe. The file is made if it does not exist.
///
/// # Errors
/// Fails if this machine cannot serve the page, if the server does not start at the site, or if the
/// connection ends.
pub fn serve_site(
    site: &str,
    place: (&ListenAddress, Option<&PublicUrl>),
    metrics_token: Option<&Path>,
    command: impl FnOnce(&str) -> Command,
    opened: impl FnOnce(&PageLink),
) -> Result<(), Fault> {
    let metrics = metrics_token.map(token_in).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_system)?;
    let served = runtime.block_on(carry(site, place, metrics, command, opened));
    runtime.shutdown_background();
    served
}

async fn carry(
    site: &str,
    (place, public): (&ListenAddress, Option<&PublicUrl>),
    metrics: Option<String>,
    command: impl FnOnce(&str) -> Command,
    opened: impl FnOnce(&PageLink),
) -> Result<(), Fault> {
    let mut doorstep = Doorstep::open(place)?.carries();
    let at = at(place, &doorstep);
    let mut child = command(&at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| fault!(NOT_STARTABLE, "what reaches {site} cannot be started: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    // The pipes below are dropped before `far`, whose `drop` waits for ssh. So ssh finds the end of its input,
    // and can end.
    let far = SshChild(child);
    let Some((input, output)) = pipes else { return Err(fault!(NOT_STARTABLE, "{site} has no pipes")) };
    let mut input = pipe::Sender::from_owned_fd(OwnedFd::from(input)).map_err(no_system)?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).map_err(no_system)?;
    let mut output = BufReader::new(output);
    let mut end = signals().map_err(no_system)?;
    if let Some(token) = metrics {
        // A failure is ignored: if the process has already ended, the next read finds it.
        let _ = input.write_all(format!("{token}\n").as_bytes()).await;
    }
    let first = tokio::select! {
        first = hello(site, &mut output) => first?,
        _ = end.recv() => return Ok(()),
    };
    let carried = PipedConnections::begin(input);
    // The address for browsers is known only on this machine.
    let at = public.map_or(at, PublicUrl::address);
    opened(&PageLink { at, ..first });
    let accepts = async {
        let mut number = 0u32;
        loop {
            let (stream, _) = doorstep.accept().await;
            carried.open(number, stream).await;
            number = number.wrapping_add(1);
        }
    };
    let done = tokio::select! {
        read = carried.read(output, None) => {
            let why = read.err().map_or("it has ended".to_owned(), |error| error.to_string());
            Err(fault!(SITE_UNREACHABLE, "the connection to {site} is gone: {why}"))
        }
        () = accepts => Ok(()),
        _ = end.recv() => Ok(()),
    };
    drop(carried);
    drop(far);
    done
}

/// Reads the output up to the line with which the server at the site reports that it is ready.
async fn hello(site: &str, output: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Result<PageLink, Fault> {
    let unclear =
        |what: &dyn std::fmt::Display| fault!(SITE_UNREACHABLE, "the page cannot be begun at {site}: {what}");
    let mut read = 0;
    while read < MAX_BANNER_BYTES {
        let mut line = Vec::new();
        let length =
            output.take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await.map_err(|error| unclear(&error))?;
        if length == 0 {
            return Err(unclear(&"it ended before it said that it is there"));
        }
        read += length;
        let Some(told) = line.strip_prefix(MARK.as_bytes()) else { continue };
        let told: Value = serde_json::from_slice(told).map_err(|error| unclear(&error))?;
        let word =
            |key: &str| told[key].as_str().map(str::to_owned).ok_or_else(|| unclear(&"it said something else"));
        let role = Role::of(&word("role")?).ok_or_else(|| unclear(&"it said something else"))?;
        let number = told["number"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        // The fragment is printed and becomes part of a page, so it may hold nothing but a secret.
        let fragment = word("fragment")?;
        let secret = fragment.strip_prefix('#').and_then(|rest| rest.strip_prefix(role.word()));
        let secret = secret.and_then(|rest| rest.strip_prefix('=')).unwrap_or_default();
        if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unclear(&"it said something else"));
        }
        return Ok(PageLink { at: String::new(), fragment, role, number });
    }
    Err(unclear(&"the output of its shell has no end"))
}
