//! The running commands that have started agents. Each command has a process group of its own, and its
//! output is in a file. The commands are ended with the run, and get SIGTERM when the thread that started
//! them ends.

use super::{AgentCommand, ExpectedDomain, Launcher, LauncherCommand};
use crate::process::end_group;
use crate::sys;
use crate::terminal_text;
use ligament_catalogue::{fault, Fault};
use ligament_wire::{describe_signal, DomainId};
use rustix::process::Signal;
use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time that launchers have to end when asked, before they are killed. `srun` waits for Slurm to end its step.
const END_GRACE: Duration = Duration::from_secs(10);
/// Number of bytes at the end of a launcher's output that are shown when the launcher fails.
const MAX_TAIL_BYTES: usize = 4096;

/// Agents that will not join the run, or will not return to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAgents {
    pub domains: Vec<DomainId>,
    /// The reason, with the launcher's output.
    pub why: Fault,
    /// True if the command reports success, so its agents have ended in order.
    pub in_order: bool,
}

struct RunningLauncher {
    start: LauncherCommand,
    child: Child,
    output: PathBuf,
    over: bool,
}

/// The running commands that have started a run's agents. They are ended when this value is dropped.
pub struct AgentProcesses {
    running: Vec<RunningLauncher>,
    launcher: &'static str,
}

impl AgentProcesses {
    /// Starts agents. The commands end with the calling thread at the latest. Their output goes to files
    /// `launch-<first domain>.log` in `command.directory`.
    ///
    /// # Errors
    /// A command could not be started. The commands that were started before are ended again.
    pub fn start(
        launcher: &dyn Launcher,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<AgentProcesses, Fault> {
        let mut agents = AgentProcesses { running: Vec::new(), launcher: launcher.name() };
        for start in launcher.starts(expected, command)? {
            let first = start.domains.first().copied().unwrap_or_default();
            let output = command.directory.join(format!("launch-{first}.log"));
            let child = spawn(&start, &command.invitation, &output)?;
            agents.running.push(RunningLauncher { start, child, output, over: false });
        }
        Ok(agents)
    }

    /// Returns the commands that have ended since the previous call. These include commands whose agents
    /// have ended in order; the caller knows which agents these are.
    pub fn ended(&mut self) -> Vec<LostAgents> {
        let launcher = self.launcher;
        let ended = |one: &mut RunningLauncher| {
            let status = one.child.try_wait().ok().flatten().filter(|_| !one.over)?;
            one.over = true;
            Some(LostAgents {
                domains: one.start.domains.clone(),
                why: why(one, launcher, status),
                in_order: status.success(),
            })
        };
        self.running.iter_mut().filter_map(ended).collect()
    }

    /// Returns the last lines of the output of this domain's command, for errors.
    pub fn last_output(&self, domain: DomainId) -> String {
        let of = self.running.iter().find(|one| one.start.domains.contains(&domain));
        of.map(|one| last_lines(&one.output)).unwrap_or_default()
    }

    /// Ends all commands: asks them to end, and kills the commands that have not ended after the grace
    /// period. Returns when all have ended.
    pub fn stop(&mut self) {
        let alive = |one: &mut RunningLauncher| matches!(one.child.try_wait(), Ok(None));
        for one in self.running.iter_mut().filter_map(|one| alive(one).then_some(one)) {
            end_group(one.child.id(), Signal::TERM);
        }
        let until = Instant::now() + END_GRACE;
        for one in self.running.iter_mut().filter_map(|one| alive(one).then_some(one)) {
            wait_until(one.child.id(), until);
        }
        for one in &mut self.running {
            if alive(one) {
                end_group(one.child.id(), Signal::KILL);
            }
            let _ = one.child.wait();
        }
        self.running.clear();
    }
}

impl Drop for AgentProcesses {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until a child ends, or until this time. The child is not reaped.
fn wait_until(child: u32, until: Instant) {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    use rustix::process::{pidfd_open, Pid, PidfdFlags};
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
    let Some(Ok(fd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&left));
}

fn spawn(start: &LauncherCommand, invitation: &Path, output: &Path) -> Result<Child, Fault> {
    let (program, rest) =
        start.words.split_first().ok_or_else(|| fault!(AGENT_NOT_STARTED, "there is no command to start"))?;
    let name = program.to_string_lossy().into_owned();
    let cannot_write =
        |error| fault!(AGENT_NOT_STARTED, "the file {} cannot be written: {error}", output.display());
    let said = OpenOptions::new().create(true).append(true).open(output).map_err(cannot_write)?;
    let errors = said.try_clone().map_err(cannot_write)?;
    let input = if start.invitation_as_input {
        File::open(invitation)
            .map_err(|error| {
                fault!(AGENT_NOT_STARTED, "the invitation {} cannot be read: {error}", invitation.display())
            })?
            .into()
    } else {
        Stdio::null()
    };
    let mut command = Command::new(program);
    command.args(rest).stdin(input).stdout(said).stderr(errors);
    sys::in_own_group_until_parent_ends(&mut command);
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => fault!(
            AGENT_NOT_STARTED,
            "{} cannot be started: the command \"{name}\" is not in PATH; install it, or load its module, or \
            choose another launcher for the site",
            start.what
        ),
        _ => fault!(AGENT_NOT_STARTED, "{} cannot be started: {name}: {error}", start.what),
    })
}

fn why(one: &RunningLauncher, launcher: &str, status: ExitStatus) -> Fault {
    let said = last_lines(&one.output);
    let how = match (status.code(), status.signal()) {
        (Some(0), _) => "ended".to_owned(),
        // ssh also has this status if a signal ended the remote command, but then ssh prints nothing.
        (Some(255), _) if launcher == "ssh" && said.is_empty() => "ended by a signal, or cut off".to_owned(),
        (Some(255), _) if launcher == "ssh" => "not reached".to_owned(),
        (Some(127), _) => "not started, because a command was not found".to_owned(),
        (Some(code), _) => format!("ended with status {code}"),
        (None, signal) => format!("ended by {}", describe_signal(signal.unwrap_or_default())),
    };
    let what = &one.start.what;
    if said.is_empty() {
        fault!(AGENT_NOT_STARTED, "{what}: {how}; {launcher} said nothing")
    } else {
        fault!(AGENT_NOT_STARTED, "{what}: {how}; {launcher} said: {said}")
    }
}

/// Returns the last lines of a file, as one text of at most three lines.
fn last_lines(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let lines = terminal_text::last_lines(&bytes[bytes.len().saturating_sub(MAX_TAIL_BYTES)..], usize::MAX);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}
