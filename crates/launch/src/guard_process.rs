//! The guard's own process. It starts the instances as its children and reports how they ended. It reads
//! all pending orders before it carries out any of them, so an order to end overtakes starts that are still
//! pending. It is a subreaper, so all descendants of an instance remain descendants of the guard. It
//! outlives the run's process, and notices the end of that process by itself.

use crate::descendants::end_descendants;
use crate::guard::remove_socket;
use crate::guard_protocol::{GuardMessage, GuardOrder};
use crate::loss::{how_ended, ProcessLoss};
use crate::mpi::{ranks_of, segments_of};
use crate::process::{end_group, raise_open_files, ProcessEnd};
use crate::ranks::MpiLauncher;
use crate::sys;
use ligament_catalogue::said;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{pidfd_open, waitpid, Pid, PidfdFlags, Signal, WaitOptions};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Instant;

/// The reason for which the guard ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// The run has ordered the guard to end.
    Ordered,
    /// The run's process has disappeared.
    RunLost,
}

/// The state of the guard.
struct GuardProcess {
    line: UnixStream,
    /// The signals that the guard's children have blocked at first. These are the signals that the run had
    /// blocked.
    blocked: sys::Signals,
    /// Processes that the guard has started. Each number is also that of the process's group.
    started: HashSet<u32>,
    /// The MPI launchers among the started processes, each with the processes that the launcher has
    /// started.
    launched: HashMap<u32, MpiLauncher>,
    /// Process groups that other processes have started.
    watched: HashSet<u32>,
    /// Sockets that are removed at the end.
    sockets: Vec<PathBuf>,
    /// Directories with the shared memory of MPI processes, which are removed at the end with all their
    /// content.
    segments: HashSet<PathBuf>,
    noted: Option<String>,
    /// Orders that the guard has received and not carried out yet.
    orders: VecDeque<GuardOrder>,
}

/// Runs the guard's process to its end. If the run's process disappears, the guard ends everything and then
/// calls `lost`.
pub fn run(line: OwnedFd, parent: Pid, lost: impl FnOnce(&ProcessLoss)) -> i32 {
    match GuardProcess::prepare(line, parent) {
        Ok((mut process, events)) => {
            let over = process.serve(&events);
            let how = match (over, &events.run) {
                (EndReason::RunLost, Some(run)) => how_ended(run.as_fd(), parent),
                _ => None,
            };
            let noted = process.noted.take();
            let pid = parent.as_raw_nonzero().get() as u32;
            process.end(over, |left| lost(&ProcessLoss { pid, ended: how, left, noted }))
        }
        // The connection to the run is closed now, which the run notices.
        Err(error) => {
            eprintln!("{}", said!(CANNOT_WATCH, "ligament: the run's guard cannot work: {error}"));
            1
        }
    }
}

/// Descriptors of the events that the guard waits for, in addition to the run's orders.
struct EventSources {
    /// Readable when a child has ended.
    child_ends: OwnedFd,
    /// Readable when the run's process has ended; `None` if it had ended before it could be watched.
    run: Option<OwnedFd>,
}

impl GuardProcess {
    fn prepare(line: OwnedFd, parent: Pid) -> io::Result<(GuardProcess, EventSources)> {
        let blocked = sys::block_all()?;
        rustix::process::setpgid(None, None)?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let _ = rustix::thread::set_name(c"ligament-guard");
        rustix::process::chdir("/")?;
        let line = UnixStream::from(sys::keep_only(line)?);
        let child_ends = sys::child_signals()?;
        // The run may have ended before it could be watched. In that case, the closed connection shows its
        // end.
        let run = pidfd_open(parent, PidfdFlags::empty()).ok();
        let run = run.filter(|_| rustix::process::getppid() == Some(parent));
        let process = GuardProcess {
            line,
            blocked,
            started: HashSet::new(),
            launched: HashMap::new(),
            watched: HashSet::new(),
            sockets: Vec::new(),
            segments: HashSet::new(),
            noted: None,
            orders: VecDeque::new(),
        };
        Ok((process, EventSources { child_ends, run }))
    }

    /// Carries out the run's orders until the run is over. All pending orders are read before any is carried
    /// out: an order to end must not wait until the processes that it will end have all been started.
    fn serve(&mut self, events: &EventSources) -> EndReason {
        let (ends, run) = (&events.child_ends, events.run.as_ref());
        loop {
            let patience = self.poll_timeout();
            let mut fds = vec![PollFd::new(&self.line, PollFlags::IN), PollFd::new(ends, PollFlags::IN)];
            fds.extend(run.map(|run| PollFd::new(run, PollFlags::IN)));
            let of_launchers = self.launched.values().flat_map(MpiLauncher::processes);
            fds.extend(of_launchers.map(|process| PollFd::from_borrowed_fd(process, PollFlags::IN)));
            if poll(&mut fds, patience.as_ref()).is_err() {
                continue;
            }
            let happened = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
            let (speaks, ended) = (happened(fds.first()), happened(fds.get(1)));
            let mut lost = run.is_some() && happened(fds.get(2));
            // The ranks are checked before the launcher's own end is handled, because the end of a rank may
            // be the cause of the launcher's end.
            self.look_at_ranks();
            if ended {
                let mut signals = [0u8; 1024];
                while rustix::io::read(ends, &mut signals).is_ok_and(|count| count > 0) {}
                self.reap();
            }
            if speaks {
                match GuardOrder::read(&self.line) {
                    Ok(wish) => {
                        self.queue_order(wish);
                        continue;
                    }
                    Err(_) => lost = true,
                }
            }
            if lost {
                self.drop_pending_starts();
            }
            match self.orders.pop_front() {
                Some(GuardOrder::End) => return EndReason::Ordered,
                Some(wish) => self.carry_out(wish),
                None if lost => return EndReason::RunLost,
                None => {}
            }
        }
    }

    /// Returns the time to wait for the next event. `None` means no limit.
    fn poll_timeout(&self) -> Option<Timespec> {
        if !self.orders.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let at = self.launched.values().filter_map(MpiLauncher::wakes_at).min()?;
        let time = at.saturating_duration_since(Instant::now());
        Some(Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) })
    }

    fn look_at_ranks(&mut self) {
        let mut left = Vec::new();
        for (&pid, launched) in &mut self.launched {
            left.extend(launched.update().into_iter().map(|rank| GuardMessage::Left(pid, rank)));
        }
        left.iter().for_each(|news| self.tell(news));
    }

    fn queue_order(&mut self, wish: GuardOrder) {
        if matches!(wish, GuardOrder::Sweep | GuardOrder::End) {
            self.drop_pending_starts();
        }
        self.orders.push_back(wish);
    }

    /// Drops pending starts.
    fn drop_pending_starts(&mut self) {
        self.orders.retain(|wish| !matches!(wish, GuardOrder::Start(..)));
    }

    fn carry_out(&mut self, wish: GuardOrder) {
        match wish {
            GuardOrder::Start(number, command) => {
                let ranks = ranks_of(&command);
                if ranks.is_some() {
                    // The launcher needs a descriptor for each rank.
                    raise_open_files();
                }
                if let Some(segments) = segments_of(&command) {
                    // If the directory cannot be made, Open MPI prints a message and uses its own
                    // directory.
                    let _ = DirBuilder::new().mode(0o700).create(&segments);
                    self.segments.insert(segments);
                }
                let news = match command.start(self.blocked) {
                    Ok(pid) => {
                        self.started.insert(pid);
                        let launched = ranks.and_then(|ranks| MpiLauncher::new(pid, ranks));
                        self.launched.extend(launched.map(|launched| (pid, launched)));
                        GuardMessage::Started(number, pid)
                    }
                    Err(why) => GuardMessage::NotStarted(number, why.with_code()),
                };
                self.tell(&news);
            }
            GuardOrder::Watch(group) => {
                self.watched.insert(group);
            }
            GuardOrder::Forget(group) => {
                self.watched.remove(&group);
            }
            GuardOrder::Remove(socket) => self.sockets.push(socket),
            GuardOrder::Note(note) => self.noted = Some(note),
            GuardOrder::Sweep => {
                report_unkillable(end_descendants());
                self.started.clear();
                self.launched.clear();
                self.tell(&GuardMessage::Swept);
            }
            GuardOrder::End => {}
        }
    }

    /// Sends a message to the run. An error is ignored: it means that the run is gone, which is noticed
    /// elsewhere.
    fn tell(&mut self, news: &GuardMessage) {
        let _ = news.write(&self.line);
    }

    /// Reaps processes that have ended, kills the remaining processes of their groups, and reports the ends
    /// of processes that the guard has started.
    fn reap(&mut self) {
        while let Some(pid) = sys::ended_child() {
            let ours = self.started.remove(&pid);
            if ours {
                // The ranks are collected before any process is killed here, because processes that have
                // ended by now ended for another reason.
                if let Some(launched) = self.launched.get_mut(&pid) {
                    launched.collect_ended();
                }
                // The process is still a zombie, so no other process or group can have its number.
                end_group(pid, Signal::KILL);
            }
            let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
            let Ok(Some((_, status))) = waitpid(Some(number), WaitOptions::empty()) else { continue };
            if ours {
                let ended = match (status.exit_status(), status.terminating_signal()) {
                    (Some(status), _) => ProcessEnd::Status(status),
                    (None, signal) => ProcessEnd::Signal(signal.unwrap_or_default()),
                };
                let lost = self.launched.remove(&pid).and_then(|launched| launched.finish(ended));
                self.tell(&GuardMessage::Ended(pid, ended, lost));
            }
        }
    }

    /// Ends the remaining processes. If the run is gone, calls `lost` with the number of these processes.
    fn end(&mut self, over: EndReason, lost: impl FnOnce(usize)) -> i32 {
        if over == EndReason::RunLost {
            self.watched.iter().for_each(|&group| end_group(group, Signal::KILL));
        }
        let ended = report_unkillable(end_descendants());
        self.sockets.iter().for_each(|socket| remove_socket(socket));
        for segments in &self.segments {
            let _ = std::fs::remove_dir_all(segments);
        }
        if over == EndReason::RunLost {
            lost(ended);
        }
        i32::from(over == EndReason::RunLost)
    }
}

/// Prints the processes that do not end. Returns the number of the processes that ended.
fn report_unkillable(ended: Result<usize, (usize, Vec<Pid>)>) -> usize {
    ended.unwrap_or_else(|(count, left)| {
        let numbers: Vec<String> = left.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect();
        let numbers = numbers.join(", ");
        let text =
            said!(UNKILLABLE, "ligament: these processes do not end, though they were killed: {numbers}");
        eprintln!("{text}");
        count
    })
}
