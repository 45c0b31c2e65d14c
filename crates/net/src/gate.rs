//! A gate: a machine that ssh leads to, and that reaches machines which this one cannot reach. Only the port
//! of ssh must be open. Each connection is an ssh process of its own, whose standard input and output carry
//! the bytes (`ssh -W`). If the gate's sshd forbids this, ssh starts a command on the gate (`ligament
//! lead-on`), which connects to the target. All bytes are greeted and encrypted as on any other connection,
//! so the gate cannot read them.

use crate::socket;
use ligament_catalogue::{fault, Fault};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time within which an ssh must deliver its remaining bytes after the end of its connection.
const SSH_EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of ssh's error message that is reported (bytes).
const MAX_COMPLAINT_BYTES: usize = 4096;

/// Options that keep ssh from asking questions and from hanging. ssh uses the first option of each kind, so
/// the user's options cannot replace these.
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ExitOnForwardFailure=yes",
    "ControlMaster=no",
    "LogLevel=ERROR",
];

/// The beginning of ssh's message when it cannot connect to the target: the gate's sshd forbids it
/// (`AllowTcpForwarding no`), or the target does not answer. ssh gives the cause only together with the
/// banners of all machines on the way.
const FAILED: &str = "stdio forwarding failed";

/// A machine that ssh leads to.
#[derive(Debug)]
pub struct Gate {
    target: String,
    options: Vec<String>,
    /// The command for the gate's shell if `ssh -W` is forbidden. An address and a port are appended.
    lead_on: String,
    method: Arc<Method>,
}

/// The way in which the next connection of a gate is made. If one of the two methods fails, the other is tried.
#[derive(Debug, Default)]
struct Method {
    /// True if the next connection uses the command on the gate.
    by_command: AtomicBool,
    /// The last error message of `ssh -W`: the reason why the command was tried.
    complaint: Mutex<String>,
}

impl PartialEq for Gate {
    fn eq(&self, other: &Gate) -> bool {
        (&self.target, &self.options, &self.lead_on) == (&other.target, &other.options, &other.lead_on)
    }
}

impl Eq for Gate {}

impl Gate {
    /// Makes a gate. `target` is the machine as it is given to ssh, such as `me@login.site.org`; `options`
    /// are further options of ssh. `lead_on` is the shell command for a gate whose sshd forbids `ssh -W`:
    /// it connects to the address and the port that are appended, and passes bytes between that connection
    /// and its standard input and output.
    ///
    /// # Errors
    /// `target` is not the name of a machine.
    pub fn new(target: &str, options: &[String], lead_on: String) -> Result<Arc<Gate>, Fault> {
        let strange = |c: char| c.is_whitespace() || c.is_control();
        if target.is_empty() || target.starts_with('-') || target.contains(strange) {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "\"{target}\" is no machine that ssh leads to; write what you would give to ssh, such as \
                 me@login.site.org"
            ));
        }
        let (target, options) = (target.to_owned(), options.to_vec());
        Ok(Arc::new(Gate { target, options, lead_on, method: Arc::default() }))
    }

    /// Returns the machine's name for ssh.
    pub fn target(&self) -> &str {
        &self.target
    }

    fn command(&self, to: &SocketAddr, by_command: bool) -> Command {
        let mut command = Command::new("ssh");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(&self.options);
        if by_command {
            command.args(["-T", "--", &self.target, &format!("{} {} {}", self.lead_on, to.ip(), to.port())])
        } else {
            command.args(["-W", &to.to_string(), "--", &self.target])
        };
        command
    }

    /// Starts a connection to the address. Bytes pass as soon as ssh has logged in.
    pub(crate) fn dial(&self, to: &SocketAddr) -> io::Result<(OwnedFd, Helper)> {
        let by_command = self.method.by_command.load(Ordering::Relaxed);
        Helper::start(self.command(to, by_command), by_command, Arc::clone(&self.method))
    }
}

/// A process whose standard input and output are the other end of a connection.
pub(crate) struct Helper {
    child: Option<Child>,
    errors: Option<ChildStderr>,
    by_command: bool,
    /// The method of the gate's next connection.
    method: Arc<Method>,
}

impl Helper {
    fn start(mut command: Command, by_command: bool, method: Arc<Method>) -> io::Result<(OwnedFd, Helper)> {
        let (near, far) = socket::pair()?;
        let name = command.get_program().to_string_lossy().into_owned();
        // The process has a group of its own: a signal from a terminal that ends this process must not end
        // the connections before this process has closed them.
        let child = command
            .stdin(Stdio::from(far.try_clone()?))
            .stdout(Stdio::from(far))
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = child.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        let errors = child.stderr.take();
        let helper = Helper { child: Some(child), errors, by_command, method };
        if let Some(errors) = &helper.errors {
            rustix::io::ioctl_fionbio(errors, true)?;
        }
        Ok((near, helper))
    }

    /// Returns the helper's error message in one line, or an empty text. Called when the connection has
    /// failed.
    pub fn said(&mut self) -> String {
        let (mut said, mut buffer) = (Vec::new(), [0; MAX_COMPLAINT_BYTES]);
        if let Some(errors) = &mut self.errors {
            while let Ok(read @ 1..) = errors.read(&mut buffer) {
                said.extend_from_slice(&buffer[..read]);
                said.drain(..said.len().saturating_sub(MAX_COMPLAINT_BYTES));
            }
        }
        let text = String::from_utf8_lossy(&said);
        if self.by_command || text.contains(FAILED) {
            self.method.by_command.store(!self.by_command, Ordering::Relaxed);
        }
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let lines = text
            .lines()
            .map(|line| line.chars().map(plain).collect::<String>().trim().trim_end_matches('.').to_owned());
        let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let mut complaint = self.method.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.by_command {
            complaint.clone_from(&text);
        } else if text.is_empty() && !complaint.is_empty() {
            return format!("nothing by the command on the gate, and without the command: {complaint}");
        }
        text
    }
}

impl Drop for Helper {
    /// Lets the helper deliver its remaining bytes after the end of its connection, and kills it if it
    /// takes too long.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let errors = self.errors.take();
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        let (end, waits) = std::sync::mpsc::channel::<Child>();
        let thread = std::thread::Builder::new().name("ligament-ssh".into()).spawn(move || {
            let Ok(mut child) = waits.recv() else { return };
            let until = Instant::now() + SSH_EXIT_TIMEOUT;
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() >= until {
                    kill(&mut child);
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(errors);
        });
        if thread.is_ok() {
            let _ = end.send(child);
        } else {
            kill(&mut child);
        }
    }
}

/// Ends the process together with the ssh that a `ProxyJump` of the user has started.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn sh(script: &str) -> (UnixStream, Helper) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (near, helper) = Helper::start(command, false, Arc::default()).unwrap();
        let near = UnixStream::from(near);
        near.set_nonblocking(false).unwrap();
        (near, helper)
    }

    #[test]
    fn what_is_sent_to_a_helper_comes_out_of_its_standard_output() {
        let (mut near, helper) = sh("exec cat");
        near.write_all(b"to and fro").unwrap();
        near.shutdown(std::net::Shutdown::Write).unwrap();
        let mut back = String::new();
        near.read_to_string(&mut back).unwrap();
        assert_eq!(back, "to and fro");
        drop(helper);
    }

    #[test]
    fn what_it_complains_about_is_told_in_one_line_without_control_characters() {
        let (mut near, mut helper) = sh("printf 'no\\033[1m way\\n\\n  out \\n' >&2");
        near.read_to_end(&mut Vec::new()).unwrap();
        let _ = helper.child.as_mut().unwrap().wait();
        assert_eq!(helper.said(), "no [1m way; out");
    }

    #[test]
    fn a_silent_command_is_reported_with_the_reason_why_it_was_tried() {
        let method = Arc::<Method>::default();
        let said = |script: &str, by_command| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let (near, mut helper) = Helper::start(command, by_command, Arc::clone(&method)).unwrap();
            let mut near = UnixStream::from(near);
            near.set_nonblocking(false).unwrap();
            near.read_to_end(&mut Vec::new()).unwrap();
            let _ = helper.child.as_mut().unwrap().wait();
            helper.said()
        };
        assert_eq!(said("exit 1", true), "");
        assert_eq!(said("echo 'stdio forwarding failed' >&2", false), FAILED);
        assert!(method.by_command.load(Ordering::Relaxed));
        assert!(said("exit 1", true).ends_with("without the command: stdio forwarding failed"));
        assert!(!method.by_command.load(Ordering::Relaxed));
        assert_eq!(said("echo no such command >&2", true), "no such command");
    }

    #[test]
    fn ssh_gets_no_option_from_a_name_and_cannot_ask() {
        for strange in ["", "-oProxyCommand=x", "a b", "a\nb"] {
            assert!(Gate::new(strange, &[], String::new()).is_err(), "{strange}");
        }
        let gate = Gate::new("me@login", &["-p2222".into()], "exec lead".into()).unwrap();
        let words = |by_command| {
            let command = gate.command(&"[::1]:7000".parse().unwrap(), by_command);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let first = words(false);
        assert_eq!(first[..2], ["-o", "BatchMode=yes"]);
        assert_eq!(first[first.len() - 5..], ["-p2222", "-W", "[::1]:7000", "--", "me@login"]);
        let later = words(true);
        assert_eq!(later[later.len() - 5..], ["-p2222", "-T", "--", "me@login", "exec lead ::1 7000"]);
    }

    #[test]
    fn where_one_way_fails_the_other_is_tried() {
        let ended = |said: &str, by_command| {
            let (mut near, mut helper) = sh(&format!("echo '{said}' >&2"));
            near.read_to_end(&mut Vec::new()).unwrap();
            let _ = helper.child.as_mut().unwrap().wait();
            helper.by_command = by_command;
            helper.method.by_command.store(by_command, Ordering::Relaxed);
            assert_eq!(helper.said(), said);
            helper.method.by_command.load(Ordering::Relaxed)
        };
        assert!(ended("stdio forwarding failed", false));
        assert!(!ended("there is no command", true));
        // ssh did not reach the gate, so the other method would not help.
        assert!(!ended("Connection refused", false));
    }
}
