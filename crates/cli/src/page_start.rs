//! `ligament run --open`: starts the process that serves the page of a run, before the run begins. This process
//! also opens the browser. It is no descendant of the run's head, because a run ends all its descendants.

use ligament_catalogue::{fault, Fault};
use ligament_launch::{own_command, start_detached};
use ligament_live::Role;
use ligament_manager::{RunDirectory, UtcTime};
use ligament_runtime::say;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Name of the file in the run directory that gets the output of the page.
const LOG: &str = "view.log";
/// Maximum time in which the page must report its address.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of the report, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Prepares the directory of a run, and starts the process that serves its page. Returns the directory. If the
/// page cannot be started, a message tells so and the run begins nevertheless.
///
/// # Errors
/// Fails if the directory cannot be prepared.
pub(crate) fn open(wanted: Option<&Path>, model: &str, role: Role) -> Result<PathBuf, Fault> {
    let run = RunDirectory::prepare(wanted, model, UtcTime::now())?;
    match begin(&run, role) {
        Ok(link) => {
            let called = ligament_runtime::called(&run);
            say(&format!(
                "page: {link}\n(the link opens once; \"ligament view {called} --link look\" makes more)"
            ))
        }
        Err(why) => say(&format!("the run has no page: {}", why.text())),
    }
    Ok(run.path().to_path_buf())
}

fn begin(run: &RunDirectory, role: Role) -> Result<String, Fault> {
    let broken = |error: std::io::Error| fault!(NOT_STARTABLE, "the page cannot be started: {error}");
    let (line, theirs) = UnixStream::pair().map_err(broken)?;
    line.set_read_timeout(Some(START_TIMEOUT)).map_err(broken)?;
    let begins = std::process::id();
    // The page is started by a process in between, which ends at once. So the page is no child of this process.
    let middle = start_detached(&run.path().join(LOG), || {
        let mut command = Command::new(own_command());
        command.arg("view").arg(run.path()).args(["--open", "--json", "--link", role.word()]);
        command.arg(format!("--begun-by={begins}"));
        command.stdin(Stdio::null()).stdout(Stdio::from(OwnedFd::from(theirs)));
        i32::from(command.spawn().is_err())
    });
    let middle = middle.map_err(broken)?;
    let mut text = String::new();
    let read = BufReader::new((&line).take(MAX_ANSWER_BYTES)).read_line(&mut text);
    // The wait for the process in between avoids a zombie. After it, the page is no descendant of this process
    // any more.
    if let Some(pid) = i32::try_from(middle).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    }
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => fault!(
            NOT_STARTABLE,
            "it has not said within {} s where it is; see {}",
            START_TIMEOUT.as_secs(),
            run.path().join(LOG).display()
        ),
        _ => broken(error),
    })?;
    let told: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    match (told["link"].as_str(), told["error"].as_str()) {
        (Some(link), _) => Ok(link.to_owned()),
        (None, why) => Err(fault!(NOT_STARTABLE, "{}", why.unwrap_or("it ended before it said where it is"))),
    }
}
