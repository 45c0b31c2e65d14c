//! The guard, seen from the run: a small process that starts the instances, tells how they end, and outlives this
//! one. If this one is killed, it ends all that came of the run, grandchildren too, and writes down why.

use crate::command::Command;
use crate::descendants::end_descendants;
use crate::keeper;
use crate::line::{News, Wish};
use crate::process::{Ended, Launched};
use crate::sys::{self, Side};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{getpid, kill_process, waitpid, Pid, Signal, WaitOptions};
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is a run and nothing else.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// For a process that is a run and nothing else: whatever its guard leaves behind, if that is killed, becomes this
/// one's and is ended with the run.
pub fn adopt_orphans() {
    let done = rustix::process::set_child_subreaper(Some(getpid()));
    ADOPTS.store(done.is_ok(), Ordering::Relaxed);
}

/// The guard. When this is dropped, or its process ends in whatever way, all that came of the run is ended. It should
/// be dropped when all is written down, since until then it would do that.
#[derive(Debug)]
pub struct Guard {
    line: UnixStream,
    pid: Pid,
    /// Told while an answer was waited for.
    ended: VecDeque<(u32, Ended)>,
    lives: bool,
}

impl Guard {
    /// Forks it off. It has a process group of its own, so that Ctrl-C does not reach it. If this process then goes
    /// without dropping the guard, the guard ends all that came of it and calls `lost` with the words for that.
    ///
    /// # Errors
    /// No process, or no pair of sockets, can be made.
    pub fn start(lost: impl FnOnce(&str)) -> io::Result<Guard> {
        let (line, theirs) = UnixStream::pair()?;
        let run = getpid();
        match sys::fork()? {
            Side::Parent(pid) => Ok(Guard { line, pid, ended: VecDeque::new(), lives: true }),
            Side::Child => {
                // Neither an end nor a panic may lead back into what the parent was doing.
                let life = catch_unwind(AssertUnwindSafe(|| keeper::live(OwnedFd::from(theirs), run, lost)));
                sys::exit_now(life.unwrap_or(101))
            }
        }
    }

    /// Starts a command. Its process is the guard's child, leads a group of its own, and dies with the guard.
    ///
    /// # Errors
    /// What the system says, with the program's path; or that the guard is gone.
    pub fn launch(&mut self, command: Command) -> Result<Launched, String> {
        let gone = |lives: &mut bool, pid: Pid| {
            *lives = false;
            format!("the run's guard (process {}) is gone", pid.as_raw_nonzero())
        };
        if Wish::Start(command).write(&self.line).is_err() {
            return Err(gone(&mut self.lives, self.pid));
        }
        loop {
            match News::read(&self.line) {
                Ok(News::Started(pid)) => return Ok(Launched { pid }),
                Ok(News::NotStarted(why)) => return Err(why),
                Ok(News::Ended(pid, ended)) => self.ended.push_back((pid, ended)),
                Ok(News::Swept) => {}
                Err(_) => return Err(gone(&mut self.lives, self.pid)),
            }
        }
    }

    /// There is a process group that was not started by the guard.
    pub fn watch(&mut self, group: u32) {
        let _ = Wish::Watch(group).write(&self.line);
    }

    /// Such a process group has ended.
    pub fn forget(&mut self, group: u32) {
        let _ = Wish::Forget(group).write(&self.line);
    }

    /// The next process that was launched and has ended, if the guard has told of one. Look here when the guard's
    /// descriptor is readable, and after `launch`.
    pub fn next_ended(&mut self) -> Option<(u32, Ended)> {
        while self.ended.is_empty() && self.lives && self.has_news() {
            match News::read(&self.line) {
                Ok(News::Ended(pid, ended)) => self.ended.push_back((pid, ended)),
                // An answer that nobody waits for.
                Ok(_) => {}
                Err(_) => self.lives = false,
            }
        }
        self.ended.pop_front()
    }

    /// Ends all that is left of what came of the run, and waits for its end.
    pub fn sweep(&mut self) {
        // Somebody may have stopped it.
        let _ = kill_process(self.pid, Signal::CONT);
        let mut told = Wish::Sweep.write(&self.line).is_ok();
        while told {
            match News::read(&self.line) {
                Ok(News::Swept) => return,
                Ok(_) => {}
                Err(_) => told = false,
            }
        }
        self.lives = false;
        if ADOPTS.load(Ordering::Relaxed) {
            let _ = end_descendants();
        }
    }

    /// Whether the guard is there, as far as is known.
    pub fn lives(&self) -> bool {
        self.lives
    }

    /// The guard's process.
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
        let _ = Wish::End.write(&self.line);
        // Somebody may have stopped it.
        let _ = kill_process(self.pid, Signal::CONT);
        while matches!(waitpid(Some(self.pid), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
        if ADOPTS.load(Ordering::Relaxed) {
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

    fn command(output: PathBuf, script: &str) -> Command {
        Command {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Environment::inherited(),
            directory: "/".into(),
            output,
        }
    }

    fn file(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-guard-{}-{test}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn next_ended(guard: &mut Guard) -> (u32, Ended) {
        loop {
            if let Some(told) = guard.next_ended() {
                return told;
            }
            assert!(guard.lives());
            let mut fds = [PollFd::new(&*guard, PollFlags::IN)];
            poll(&mut fds, None).unwrap();
        }
    }

    #[test]
    fn it_tells_how_what_it_started_has_ended() {
        let output = file("tells");
        let mut guard = Guard::start(|_| {}).unwrap();
        let first = guard.launch(command(output.clone(), "echo said; exit 3")).unwrap();
        assert_eq!(next_ended(&mut guard), (first.pid, Ended::Status(3)));
        let second = guard.launch(command(output.clone(), "kill -9 $$")).unwrap();
        assert_eq!(next_ended(&mut guard), (second.pid, Ended::Signal(9)));
        let mut missing = command(output.clone(), "");
        missing.program = "/nowhere".into();
        assert!(guard.launch(missing).unwrap_err().contains("/nowhere"));
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "said\n");
        std::fs::remove_file(output).unwrap();
    }

    #[test]
    fn what_hides_in_a_session_of_its_own_ends_with_the_guard() {
        let output = file("hides");
        let mut guard = Guard::start(|_| {}).unwrap();
        // The leader goes when the other has its session; before, the other would go with its group.
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & until [ -s \"$0\" ]; do :; done";
        let mut hiding = command(output.clone(), script);
        hiding.arguments.push(output.clone().into());
        let leader = guard.launch(hiding).unwrap();
        assert_eq!(next_ended(&mut guard), (leader.pid, Ended::Status(0)));
        let pid = loop {
            let text = std::fs::read_to_string(&output).unwrap();
            if let Some(line) = text.strip_suffix('\n') {
                break line.parse::<i32>().unwrap();
            }
            std::thread::yield_now();
        };
        drop(guard);
        let hidden = Pid::from_raw(pid).unwrap();
        assert!(rustix::process::test_kill_process(hidden).is_err());
        std::fs::remove_file(output).unwrap();
    }

    #[test]
    fn groups_that_others_started_end_with_a_lost_run_unless_forgotten() {
        let sleeper = || std::process::Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let (mut watched, mut forgotten) = (sleeper(), sleeper());
        let said = file("lost");
        // A process in between plays the run and is gone without a word.
        let (watch, forget, path) = (watched.id(), forgotten.id(), said.clone());
        let Side::Parent(run) = sys::fork().unwrap() else {
            let lost = |why: &str| std::fs::write(&path, why).unwrap();
            let mut guard = Guard::start(lost).unwrap();
            guard.watch(watch);
            guard.watch(forget);
            guard.forget(forget);
            sys::exit_now(0);
        };
        waitpid(Some(run), WaitOptions::empty()).unwrap();
        // This would wait for ever if it had not been killed.
        assert!(!watched.wait().unwrap().success());
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
        let why = loop {
            match std::fs::read_to_string(&said) {
                Ok(why) if !why.is_empty() => break why,
                _ => std::thread::yield_now(),
            }
        };
        assert!(why.contains(&format!("({}) is gone", run.as_raw_nonzero())), "{why}");
        std::fs::remove_file(said).unwrap();
    }
}
