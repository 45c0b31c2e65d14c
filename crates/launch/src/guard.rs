//! The guard, as the run's process sees it. The guard is a small process that starts the instances, reports
//! how they end, and outlives the run's process. If the run's process is killed, the guard ends everything
//! that the run has started, including grandchildren, and writes down why.
//!
//! `ligament run` forks the guard first of all, before it has an event loop, shared memory or a second
//! thread. Every agent on another machine has a guard as well. At the end of a run, the guard ends the
//! remaining processes, then the run writes its record, and only then does the guard exit. So at every
//! moment the run or its guard can report the state of the run. If the head is killed, its guard informs
//! the other agents, at the addresses that were noted as the agents joined (`Guard::set_loss_note`). If an
//! agent is killed, its guard informs the head.

use crate::command::Command;
use crate::descendants::end_descendants;
use crate::guard_process;
use crate::guard_protocol::{GuardMessage, GuardOrder};
use crate::loss::ProcessLoss;
use crate::process::ProcessEnd;
use crate::ranks::LostRanks;
use crate::sys::{self, ForkSide};
use ligament_catalogue::{fault, Fault};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{send, SendFlags};
use rustix::process::{getpid, kill_process, waitpid, Pid, Signal, WaitOptions};
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if this process does nothing but execute a run, and so adopts the guard's children if the guard is
/// killed.
static ADOPTS_ORPHANS: AtomicBool = AtomicBool::new(false);

/// Declares that this process does nothing but execute a run. If its guard is killed, the guard's children
/// become children of this process, and are ended with the run.
pub fn adopt_orphans() {
    let done = rustix::process::set_child_subreaper(Some(getpid()));
    ADOPTS_ORPHANS.store(done.is_ok(), Ordering::Relaxed);
}

/// A report of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardReport {
    /// The process that was ordered with this number runs.
    Started { number: u32, pid: u32 },
    /// The process could not be started. `why` is the system's message, with the program's path.
    NotStarted { number: u32, why: String },
    /// A started process has ended. `lost` is set if it is an MPI launcher that ended because of a process that
    /// it had started.
    Ended { pid: u32, ended: ProcessEnd, lost: Option<LostRanks> },
    /// This rank has ended with status 0, and the MPI launcher that started it still runs.
    Left { pid: u32, rank: u32 },
}

/// Removes a socket, and its directory if that is then empty.
pub fn remove_socket(socket: &Path) {
    let _ = std::fs::remove_file(socket);
    if let Some(directory) = socket.parent() {
        let _ = std::fs::remove_dir(directory);
    }
}

/// The guard of a run. When this value is dropped, or its process ends in any way, every process of the run
/// is ended. Drop this value only after everything is written.
///
/// Call [`Guard::next_report`] when the descriptor is readable, and after every other call, until it
/// returns `None`. [`Guard::sweep`] ends all processes; nothing can be started after it.
#[derive(Debug)]
pub struct Guard {
    line: UnixStream,
    pid: Pid,
    /// Reports that were received and that `next_report` has not returned yet.
    reports: VecDeque<GuardReport>,
    is_alive: bool,
}

impl Guard {
    /// Forks the guard. It has a process group of its own, so that Ctrl-C does not reach it. If this process
    /// ends without dropping the guard, the guard ends every process of the run and calls `lost`.
    ///
    /// # Errors
    /// No process, or no pair of sockets, can be made.
    pub fn start(lost: impl FnOnce(&ProcessLoss)) -> io::Result<Guard> {
        let (line, theirs) = UnixStream::pair()?;
        let run = getpid();
        sys::outlive_file_size();
        // The guard would keep a copy of this process's free memory for its whole life, so this process
        // returns the memory to the system first.
        sys::give_back_memory();
        match sys::fork()? {
            ForkSide::Parent(pid) => Ok(Guard { line, pid, reports: VecDeque::new(), is_alive: true }),
            ForkSide::Child => {
                // Neither a return nor a panic may continue the parent's work.
                let life =
                    catch_unwind(AssertUnwindSafe(|| guard_process::run(OwnedFd::from(theirs), run, lost)));
                sys::exit_now(life.unwrap_or(101))
            }
        }
    }

    /// Orders the guard to start a command. `next_report` returns the result, with the same number. The
    /// process is the guard's child, leads a group of its own, and is killed when the guard ends. Many
    /// starts may be ordered before the first result arrives.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn launch(&mut self, number: u32, command: Command) -> Result<(), Fault> {
        if self.send_order(&GuardOrder::Start(number, command)) {
            Ok(())
        } else {
            Err(fault!(GUARD_GONE, "the run's guard (process {}) is gone", self.pid()))
        }
    }

    /// Informs the guard of a process group that the guard did not start. The guard ends the group with the
    /// run.
    pub fn watch(&mut self, group: u32) {
        self.send_order(&GuardOrder::Watch(group));
    }

    /// Informs the guard that a group given to `watch` has ended.
    pub fn forget(&mut self, group: u32) {
        self.send_order(&GuardOrder::Forget(group));
    }

    /// Informs the guard of a socket that is about to be made. The guard removes the socket, with its
    /// directory, at the end of the run.
    pub fn remove_at_end(&mut self, socket: &Path) {
        self.send_order(&GuardOrder::Remove(socket.to_path_buf()));
    }

    /// Sets the note that the guard passes on if this process is lost (`ProcessLoss::noted`). It replaces an
    /// earlier note.
    pub fn set_loss_note(&mut self, note: String) {
        self.send_order(&GuardOrder::Note(note));
    }

    /// Sends an order. Returns false if the guard is gone. Reads the guard's messages meanwhile, because
    /// otherwise both processes could wait for room to write.
    fn send_order(&mut self, wish: &GuardOrder) -> bool {
        let mut bytes = Vec::new();
        self.is_alive = self.is_alive && wish.write(&mut bytes).is_ok();
        let mut said = 0;
        while self.is_alive && said < bytes.len() {
            match send(&self.line, &bytes[said..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => said += count,
                Err(Errno::AGAIN) => {
                    if matches!(wish, GuardOrder::Sweep | GuardOrder::End) {
                        self.wake();
                    }
                    let mut fds = [PollFd::new(&self.line, PollFlags::IN | PollFlags::OUT)];
                    let _ = poll(&mut fds, None);
                    if fds[0].revents().intersects(PollFlags::IN) {
                        self.listen();
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => self.is_alive = false,
            }
        }
        self.is_alive
    }

    /// Continues a guard that was stopped by a signal. Call this only after the order to end: a guard that
    /// continues earlier would begin to start the processes that were ordered.
    fn wake(&self) {
        let _ = kill_process(self.pid, Signal::CONT);
    }

    /// Waits for the guard's next message and handles it. Returns true if the message is `Swept`.
    fn listen(&mut self) -> bool {
        match GuardMessage::read(&self.line) {
            Ok(GuardMessage::Started(number, pid)) => {
                self.reports.push_back(GuardReport::Started { number, pid })
            }
            Ok(GuardMessage::NotStarted(number, why)) => {
                self.reports.push_back(GuardReport::NotStarted { number, why })
            }
            Ok(GuardMessage::Ended(pid, ended, lost)) => {
                self.reports.push_back(GuardReport::Ended { pid, ended, lost })
            }
            Ok(GuardMessage::Left(pid, rank)) => self.reports.push_back(GuardReport::Left { pid, rank }),
            Ok(GuardMessage::Swept) => return true,
            Err(_) => self.is_alive = false,
        }
        false
    }

    /// Returns the next report of the guard, or none if no report has arrived.
    pub fn next_report(&mut self) -> Option<GuardReport> {
        while self.reports.is_empty() && self.is_alive && self.has_news() {
            self.listen();
        }
        self.reports.pop_front()
    }

    /// Ends every remaining process of the run, and waits for their end.
    pub fn sweep(&mut self) {
        self.send_order(&GuardOrder::Sweep);
        self.wake();
        while self.is_alive {
            if self.listen() {
                return;
            }
        }
        if ADOPTS_ORPHANS.load(Ordering::Relaxed) {
            let _ = end_descendants();
        }
    }

    /// Returns true if the guard is alive, as far as this process knows.
    pub fn is_alive(&self) -> bool {
        self.is_alive
    }

    /// Returns the process number of the guard.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    fn has_news(&self) -> bool {
        let mut fds = [PollFd::new(&self.line, PollFlags::IN)];
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&none)).is_ok_and(|count| count > 0)
    }
}

impl AsFd for Guard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.send_order(&GuardOrder::End);
        self.wake();
        while matches!(waitpid(Some(self.pid), WaitOptions::empty()), Err(Errno::INTR)) {}
        if ADOPTS_ORPHANS.load(Ordering::Relaxed) {
            let _ = end_descendants();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// Time limit of each wait. No test here takes that long.
    const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(60);

    fn command(output: PathBuf, script: &str) -> Command {
        Command {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Environment::inherited(),
            directory: "/".into(),
            output,
            cores: Vec::new(),
        }
    }

    fn file(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-guard-{}-{test}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn next_told(guard: &mut Guard) -> GuardReport {
        loop {
            if let Some(told) = guard.next_report() {
                return told;
            }
            assert!(guard.is_alive());
            let mut fds = [PollFd::new(&*guard, PollFlags::IN)];
            let long = Timespec { tv_sec: WATCHDOG_TIMEOUT.as_secs() as i64, tv_nsec: 0 };
            assert_eq!(poll(&mut fds, Some(&long)), Ok(1), "it says nothing");
        }
    }

    /// Polls until `what` returns a result.
    fn until<T>(mut what: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = what() {
                return found;
            }
            assert!(began.elapsed() < WATCHDOG_TIMEOUT, "it never comes");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a file is not empty, and returns its content.
    fn written(file: &Path) -> String {
        until(|| std::fs::read_to_string(file).ok().filter(|text| !text.is_empty()))
    }

    /// Waits for the end of a process that was forked here.
    fn wait_for(process: Pid) {
        until(|| waitpid(Some(process), WaitOptions::NOHANG).unwrap());
    }

    fn started(guard: &mut Guard) -> u32 {
        match next_told(guard) {
            GuardReport::Started { pid, .. } => pid,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_tells_how_what_it_started_has_ended() {
        let output = file("tells");
        let mut guard = Guard::start(|_| {}).unwrap();
        guard.launch(0, command(output.clone(), "echo said; exit 3")).unwrap();
        let pid = started(&mut guard);
        assert_eq!(next_told(&mut guard), GuardReport::Ended { pid, ended: ProcessEnd::Status(3), lost: None });
        guard.launch(1, command(output.clone(), "kill -9 $$")).unwrap();
        let pid = started(&mut guard);
        assert_eq!(next_told(&mut guard), GuardReport::Ended { pid, ended: ProcessEnd::Signal(9), lost: None });
        let mut missing = command(output.clone(), "");
        missing.program = "/nowhere".into();
        guard.launch(7, missing).unwrap();
        let told = next_told(&mut guard);
        assert!(
            matches!(&told, GuardReport::NotStarted { number: 7, why } if why.contains("/nowhere")),
            "{told:?}"
        );
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "said\n");
        std::fs::remove_file(output).unwrap();
    }

    /// Runs the command that `make` returns for an output file. Returns the output, after the command has ended
    /// with status 0.
    fn printed_by(test: &str, make: impl FnOnce(PathBuf) -> Command) -> String {
        let output = file(test);
        let mut guard = Guard::start(|_| {}).unwrap();
        guard.launch(0, make(output.clone())).unwrap();
        let pid = started(&mut guard);
        assert_eq!(next_told(&mut guard), GuardReport::Ended { pid, ended: ProcessEnd::Status(0), lost: None });
        let text = std::fs::read_to_string(&output).unwrap();
        std::fs::remove_file(output).unwrap();
        text
    }

    #[test]
    fn a_program_gets_its_arguments_directory_and_environment_and_nothing_to_read() {
        let text = printed_by("gets", |output| {
            let mut all = command(
                output,
                "cat; pwd; echo \"$0,$1,$WHAT\"; echo errors >&2; [ $$ = $(cut -d' ' -f5 /proc/$$/stat) ]",
            );
            all.arguments.extend(["a b".into(), "".into()]);
            all.environment.set("WHAT", "c=d");
            all.directory = "/usr".into();
            all
        });
        assert_eq!(text, "/usr\na b,,c=d\nerrors\n");
    }

    #[test]
    fn a_program_finds_signals_as_the_run_found_them() {
        let text = printed_by("signals", |output| command(output, "grep -E '^Sig(Blk|Ign)' /proc/self/status"));
        let of = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        let here = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert_eq!(of(&text, "SigBlk:"), of(&here, "SigBlk:"));
        // Rust's runtime ignores SIGPIPE, and the guard ignores SIGXFSZ; programs do not expect that.
        let ignored = [Signal::PIPE, Signal::XFSZ].map(|signal| 1 << (signal.as_raw() - 1));
        assert_eq!(of(&text, "SigIgn:"), of(&here, "SigIgn:") & !(ignored[0] | ignored[1]));
    }

    #[test]
    fn a_script_that_does_not_name_its_interpreter_is_the_shells() {
        use std::os::unix::fs::PermissionsExt;
        let script = file("script");
        std::fs::write(&script, "echo \"$1\"\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        let text = printed_by("shells", |output| {
            let mut all = command(output, "");
            all.program = script.clone();
            all.arguments = vec!["said".into()];
            all
        });
        assert_eq!(text, "said\n");
        std::fs::remove_file(script).unwrap();
    }

    #[test]
    fn what_cannot_be_started_is_told_with_the_reason_and_leaves_nothing() {
        let mut guard = Guard::start(|_| {}).unwrap();
        let told = |guard: &mut Guard, command: Command| {
            guard.launch(0, command).unwrap();
            match next_told(guard) {
                GuardReport::NotStarted { why, .. } => why,
                other => panic!("{other:?}"),
            }
        };
        let mut nowhere = command("/dev/null".into(), "");
        nowhere.directory = "/nowhere".into();
        let why = told(&mut guard, nowhere);
        assert!(why.contains("No such file") && why.contains("working directory /nowhere is gone"), "{why}");
        let mut data = command("/dev/null".into(), "");
        data.program = "/dev/null".into();
        assert!(told(&mut guard, data).contains("chmod +x"));
        let why = told(&mut guard, command("/dev/null".into(), "a\0b"));
        assert!(why.contains("has a NUL in it"), "{why}");
        let children = format!("/proc/{0}/task/{0}/children", guard.pid());
        assert_eq!(std::fs::read_to_string(children).unwrap(), "");
    }

    #[test]
    fn more_may_be_asked_for_than_the_line_holds() {
        const PROCESS_COUNT: u32 = 1000;
        let mut guard = Guard::start(|_| {}).unwrap();
        for number in 0..PROCESS_COUNT {
            let mut missing = command("/dev/null".into(), &"x".repeat(4000));
            missing.program = "/nowhere".into();
            guard.launch(number, missing).unwrap();
        }
        for wanted in 0..PROCESS_COUNT {
            assert!(
                matches!(next_told(&mut guard), GuardReport::NotStarted { number, .. } if number == wanted)
            );
        }
    }

    /// Stops a guard, and then orders it to start processes that write to a file.
    fn asked_while_stopped(output: &Path, mut guard: Guard) -> Guard {
        kill_process(guard.pid, Signal::STOP).unwrap();
        for number in 0..20 {
            // The environment of this process may be large. Without it, the orders fit into the connection.
            let small = Command {
                environment: Environment::default(),
                ..command(output.to_path_buf(), "echo started")
            };
            guard.launch(number, small).unwrap();
        }
        guard
    }

    #[test]
    fn whom_it_has_not_started_yet_when_the_run_ends_it_does_not_start() {
        let output = file("ends");
        let mut guard = asked_while_stopped(&output, Guard::start(|_| {}).unwrap());
        guard.sweep();
        assert!(guard.is_alive() && guard.next_report().is_none());
        assert!(!output.exists(), "somebody was started for a run that had ended");
    }

    #[test]
    fn whom_it_has_not_started_yet_when_the_run_is_gone_it_does_not_start() {
        let (output, said) = (file("gone"), file("gone-said"));
        // A child plays the run. It ends without dropping the guard.
        let ForkSide::Parent(run) = sys::fork().unwrap() else {
            let lost =
                |_: &ProcessLoss| std::fs::write(&said, format!("started: {}", output.exists())).unwrap();
            let guard = asked_while_stopped(&output, Guard::start(lost).unwrap());
            std::fs::write(said.with_extension("pid"), guard.pid().to_string()).unwrap();
            sys::exit_now(0);
        };
        wait_for(run);
        let pid = std::fs::read_to_string(said.with_extension("pid")).unwrap();
        // The kernel may have continued the guard already, because the guard's group was orphaned. The guard
        // may even have ended.
        let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::CONT);
        assert_eq!(written(&said), "started: false");
        std::fs::remove_file(said.with_extension("pid")).unwrap();
        std::fs::remove_file(said).unwrap();
    }

    #[test]
    fn what_hides_in_a_session_of_its_own_ends_with_the_guard() {
        let output = file("hides");
        let mut guard = Guard::start(|_| {}).unwrap();
        // The leader exits only after the hiding process has a session of its own. Before that, the hiding
        // process would end with the leader's group.
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & until [ -s \"$0\" ]; do :; done";
        let mut hiding = command(output.clone(), script);
        hiding.arguments.push(output.clone().into());
        guard.launch(0, hiding).unwrap();
        let leader = started(&mut guard);
        assert_eq!(
            next_told(&mut guard),
            GuardReport::Ended { pid: leader, ended: ProcessEnd::Status(0), lost: None }
        );
        let pid = until(|| std::fs::read_to_string(&output).unwrap().strip_suffix('\n')?.parse::<i32>().ok());
        drop(guard);
        let hidden = Pid::from_raw(pid).unwrap();
        assert!(rustix::process::test_kill_process(hidden).is_err());
        std::fs::remove_file(output).unwrap();
    }

    #[test]
    fn groups_that_others_started_end_with_a_lost_run_unless_forgotten() {
        // These processes must not keep the test's output open if the test fails.
        let sleeper = || {
            let mut command = std::process::Command::new("sleep");
            command.arg("1000").stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap()
        };
        let (mut watched, mut forgotten) = (sleeper(), sleeper());
        let said = file("lost");
        // A child plays the run. It ends without dropping the guard.
        let (watch, forget, path) = (watched.id(), forgotten.id(), said.clone());
        let own = file("lost-socket");
        let ForkSide::Parent(run) = sys::fork().unwrap() else {
            let lost = |loss: &ProcessLoss| std::fs::write(&path, format!("{loss:?}")).unwrap();
            let mut guard = Guard::start(lost).unwrap();
            guard.watch(watch);
            guard.watch(forget);
            guard.forget(forget);
            guard.set_loss_note("first".into());
            guard.set_loss_note("at the last".into());
            guard.remove_at_end(&own.join("agent"));
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("agent"), "").unwrap();
            sys::exit_now(0);
        };
        wait_for(run);
        assert!(!until(|| watched.try_wait().unwrap()).success());
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
        let why = written(&said);
        assert!(why.contains(&format!("pid: {},", run.as_raw_nonzero())), "{why}");
        assert!(why.contains("noted: Some(\"at the last\")"), "{why}");
        assert!(!own.exists(), "the run's socket stayed behind");
        std::fs::remove_file(said).unwrap();
    }
}
