//! The processes that an MPI launcher has started, as the guard sees them: the ranks, and helpers between
//! the launcher and the ranks. A launcher does not notice every end of such a process: MPICH's launcher
//! continues without its helper, and Open MPI's launcher may wait forever for a rank that was killed at its
//! start. So the guard watches the processes itself. If a process ends badly, the launcher has a short time
//! to notice the end, to pass on the last output, and to end. Then the guard ends the launcher and all
//! processes that the launcher has started.
//!
//! The processes are found in /proc and watched by descriptors of their own.
//! `tests/kernel/grandchild_is_watched.c` proves that such a descriptor shows the end of a process that its
//! parent has not reaped. If the kernel does not list children (all usual kernels do), nothing is watched.
//! Ranks on other nodes are watched by the launcher only.

use crate::descendants::{children_of, parent_of};
use crate::loss::how_ended;
use crate::process::{end_group, ProcessEnd};
use ligament_catalogue::{fault, Fault};
use ligament_wire::describe_signal;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Time that a launcher has to end by itself after a rank has ended badly.
const LAUNCHER_GRACE: Duration = Duration::from_millis(500);
/// Time within which several ends are reported together. MPICH's launcher kills the other ranks when a dead
/// rank's connection closes, which is before the kernel shows that rank's end.
const SAME_ROUND_TIME: Duration = Duration::from_millis(20);
/// The exit status of MPICH's launcher if the launcher itself fails. This may happen if it loses a rank while
/// it still starts ranks.
const STATUS_LAUNCHER_FAILED: i32 = 255;
/// The signal that ends MPICH's launcher if it writes to a helper that has just been killed.
const SIGPIPE: i32 = 13;
/// Interval between two searches for ranks until all are found: during the first `FREQUENT_SEARCH_TIME`,
/// and later.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);
const LATE_SEARCH_INTERVAL: Duration = Duration::from_millis(200);
const FREQUENT_SEARCH_TIME: Duration = Duration::from_secs(10);
/// Variables in which a launcher tells a process its rank, and the number of ranks.
const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
const SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// The processes of an instance that ended first, and caused the end of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRanks {
    /// The ranks; empty if it was a helper of the launcher.
    pub ranks: Vec<u32>,
    /// The name of the first of these processes.
    pub name: String,
    /// The end of the process, if the kernel shows it.
    pub ended: Option<ProcessEnd>,
    /// Ranks that ended no later than these, and whose end the kernel no longer showed because the launcher
    /// had reaped them. Only these ranks' own connections tell if they were done.
    pub unknown: Vec<u32>,
}

impl LostRanks {
    /// Returns a description of the loss, as a sentence without its subject.
    pub fn why(&self) -> Fault {
        let (who, was) = match self.ranks.as_slice() {
            [] => (format!("{}, which its launcher had started", self.name), "was"),
            [rank] => (format!("its rank {rank}, which"), "was"),
            ranks => {
                let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                (format!("its ranks {}, which", ranks.join(", ")), "were")
            }
        };
        let and = if self.ranks.is_empty() { " and which" } else { "" };
        match self.ended {
            Some(ProcessEnd::Signal(signal)) => {
                let signal = describe_signal(signal);
                fault!(SIGNAL, "lost {who}{and} {was} ended by signal {signal}")
            }
            Some(ProcessEnd::Status(status)) => {
                fault!(EXIT_STATUS, "lost {who}{and} ended with exit status {status}")
            }
            None => fault!(EXIT_STATUS, "lost {who}{and} ended first"),
        }
    }
}

/// An MPI launcher that the guard has started, and the processes that this launcher has started since.
///
/// The guard calls [`MpiLauncher::update`] when the time [`MpiLauncher::wakes_at`] is reached or one of
/// [`MpiLauncher::processes`] has ended, [`MpiLauncher::collect_ended`] once more before it reaps the
/// launcher, and then [`MpiLauncher::finish`].
pub(crate) struct MpiLauncher {
    launcher: Pid,
    /// Number of ranks that the launcher will start, on this node or on others.
    expected: usize,
    began: Instant,
    next_look: Option<Instant>,
    /// Process numbers of all processes that were found.
    known: HashSet<Pid>,
    members: Vec<LaunchedProcess>,
    /// Processes that have ended badly, each with the number of the round in which the guard noticed its
    /// end.
    bad: Vec<(u32, EndedProcess)>,
    round: u32,
    round_began: Instant,
    /// Time at which the guard ends the launcher and all its processes.
    end_by: Option<Instant>,
    ended_by_guard: bool,
}

/// A process that a launcher has started.
struct LaunchedProcess {
    pid: Pid,
    process: OwnedFd,
    parent: Pid,
    rank: Option<u32>,
    /// The number of ranks, if the launcher tells it.
    of: Option<usize>,
    name: String,
}

impl LaunchedProcess {
    /// Returns the name of a process that has ended. The kernel still knows the name until the process is
    /// reaped. The name known from before may be that of the parent, if the process was seen between its
    /// fork and its exec.
    fn last_name(self) -> String {
        let still_there = parent_of(self.pid).is_some_and(|(now, _)| now == self.parent);
        let name = if still_there { name_of(self.pid) } else { self.name };
        if name.is_empty() || name == name_of(self.parent) {
            "a process".to_owned()
        } else {
            name
        }
    }
}

/// A process that has ended.
#[derive(Clone)]
struct EndedProcess {
    rank: Option<u32>,
    name: String,
    ended: Option<ProcessEnd>,
}

impl EndedProcess {
    /// Returns true if the launcher may have ended this rank: it sends these signals after another rank has
    /// ended badly.
    fn may_be_launchers_work(&self) -> bool {
        self.rank.is_some() && matches!(self.ended, Some(ProcessEnd::Signal(9 | 15)))
    }

    /// Returns true if this rank may have ended because its helper had ended before: a rank gets SIGPIPE if no
    /// helper reads its output.
    fn may_be_for_a_helper(&self) -> bool {
        self.rank.is_some() && matches!(self.ended, Some(ProcessEnd::Signal(SIGPIPE)))
    }
}

impl MpiLauncher {
    pub fn new(launcher: u32, expected: usize) -> Option<MpiLauncher> {
        let launcher = Pid::from_raw(i32::try_from(launcher).ok()?)?;
        let began = Instant::now();
        Some(MpiLauncher {
            launcher,
            expected,
            began,
            next_look: Some(began),
            known: HashSet::new(),
            members: Vec::new(),
            bad: Vec::new(),
            round: 0,
            round_began: began,
            end_by: None,
            ended_by_guard: false,
        })
    }

    /// Returns the descriptors of the processes that are watched.
    pub fn processes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().map(|member| member.process.as_fd())
    }

    /// Returns the time at which `update` must be called next, if no process ends before.
    pub fn wakes_at(&self) -> Option<Instant> {
        self.next_look.into_iter().chain(self.end_by).min()
    }

    /// Searches for new processes if a search is due, collects the processes that have ended, and ends
    /// everything if `end_by` is reached. Returns the instance's ranks that have ended well, unless another
    /// process has ended badly.
    pub fn update(&mut self) -> Vec<u32> {
        let now = Instant::now();
        if self.next_look.is_some_and(|at| at <= now) {
            self.search();
            let every = if self.began.elapsed() < FREQUENT_SEARCH_TIME {
                SEARCH_INTERVAL
            } else {
                LATE_SEARCH_INTERVAL
            };
            let found = self.members.iter().filter(|member| member.rank.is_some()).count();
            self.next_look = (found < self.expected).then(|| now + every);
        }
        let well = self.collect_ended();
        if self.end_by.is_some_and(|at| at <= now) {
            self.end_by = None;
            self.ended_by_guard = true;
            self.end_all();
        }
        well
    }

    /// Searches for processes below the launcher, down to the ranks. Descendants of ranks are not watched.
    fn search(&mut self) {
        let mut to_visit = vec![self.launcher];
        while let Some(parent) = to_visit.pop() {
            if name_of(parent) == "srun" {
                // Slurm's daemons start the ranks of srun. Its only child is a part of srun itself, and
                // srun kills this child at its end.
                continue;
            }
            let children = children_of(parent);
            // The process may have become a rank since it was visited. Then these children belong to the
            // rank.
            if self.is_rank(parent) {
                continue;
            }
            for pid in children {
                if self.known.insert(pid) {
                    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                    // If the parent differs, the process's number was reused in the meantime.
                    if parent_of(pid).is_some_and(|(now, _)| now == parent) {
                        let name = String::new();
                        self.members.push(LaunchedProcess { pid, process, parent, rank: None, of: None, name });
                    }
                }
                if self.members.iter().any(|member| member.pid == pid) && !self.is_rank(pid) {
                    to_visit.push(pid);
                }
            }
        }
    }

    /// Returns true if a process is a rank by now. Between its fork and its exec, it looks like its parent.
    fn is_rank(&mut self, pid: Pid) -> bool {
        let Some(member) = self.members.iter_mut().find(|member| member.pid == pid) else { return false };
        if member.rank.is_none() {
            ((member.rank, member.of), member.name) = (rank_of(pid), name_of(pid));
        }
        member.rank.is_some()
    }

    /// Collects the processes that have ended, and returns ranks as `update` does. The guard must call this
    /// once more before it reaps the launcher, because after that the guard ends the remaining processes.
    pub fn collect_ended(&mut self) -> Vec<u32> {
        let mut fds: Vec<PollFd<'_>> =
            self.members.iter().map(|member| PollFd::new(&member.process, PollFlags::IN)).collect();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut fds, Some(&at_once)).unwrap_or(0) == 0 {
            return Vec::new();
        }
        let ended: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ended = ended.into_iter();
        let (gone, members) =
            std::mem::take(&mut self.members).into_iter().partition(|_| ended.next().unwrap_or(false));
        self.members = members;
        if self.round == 0 || self.round_began.elapsed() > SAME_ROUND_TIME {
            (self.round, self.round_began) = (self.round + 1, Instant::now());
        }
        let gone: Vec<LaunchedProcess> = gone;
        // After a bad end, the launcher ends the other ranks, which may then exit cleanly. But a rank
        // closes its connection to the launcher before the kernel shows the rank's end, so the guard may
        // see the ranks that the launcher ended a moment earlier than the rank that ended first.
        let is_first =
            self.bad.iter().all(|(round, gone)| *round == self.round && gone.may_be_launchers_work());
        let mut well = Vec::new();
        for member in gone {
            let ended = how_ended(member.process.as_fd(), member.pid);
            let bad = match (member.rank, ended) {
                (Some(rank), Some(ProcessEnd::Status(0))) => {
                    // A script may have run other MPI programs before. The ranks of these programs are
                    // done, and do not belong to the instance.
                    well.extend(member.of.is_none_or(|of| of == self.expected).then_some(rank));
                    false
                }
                (Some(_), _) => true,
                // A launcher may be a script. The commands of a script may end with any status, but nothing
                // kills these commands.
                (None, Some(ProcessEnd::Signal(signal))) if !is_asking(signal) => true,
                (None, _) => {
                    self.members.iter().any(|other| other.parent == member.pid && other.rank.is_some())
                }
            };
            if bad {
                // If the status of a rank is unknown, the launcher may know that all is well.
                if member.rank.is_none() || ended.is_some() {
                    self.end_by.get_or_insert(Instant::now() + LAUNCHER_GRACE);
                }
                let rank = member.rank;
                self.bad.push((self.round, EndedProcess { rank, name: member.last_name(), ended }));
            }
        }
        // The launcher may have ended other ranks in this round because a rank had ended too early.
        if is_first && self.bad.iter().all(|(_, gone)| gone.may_be_launchers_work()) {
            well
        } else {
            Vec::new()
        }
    }

    /// Ends the launcher, which must not be reaped yet, and all its descendants.
    fn end_all(&self) {
        let mut to_end = self.members.iter().map(|member| member.pid).collect::<Vec<_>>();
        to_end.push(self.launcher);
        self.end_below(to_end);
        end_group(self.launcher.as_raw_nonzero().get() as u32, Signal::KILL);
    }

    /// Ends the watched processes, and all descendants of `to_visit`.
    fn end_below(&self, mut to_visit: Vec<Pid>) {
        let mut below = Vec::new();
        while let Some(parent) = to_visit.pop() {
            let children = children_of(parent);
            below.extend(&children);
            to_visit.extend(children);
        }
        for pid in below {
            let _ = kill_process(pid, Signal::KILL);
        }
        for member in &self.members {
            let _ = pidfd_send_signal(&member.process, Signal::KILL);
        }
    }

    /// Ends the remaining processes. The guard calls this when it reaps the launcher and kills the launcher's
    /// group, so later ends are not the cause. Returns the processes that caused the launcher to end, if any.
    pub fn finish(self, ended: ProcessEnd) -> Option<LostRanks> {
        self.end_below(self.members.iter().map(|member| member.pid).collect());
        self.lost(ended)
    }

    fn lost(&self, launcher: ProcessEnd) -> Option<LostRanks> {
        // Before Linux 6.15, the status of a reaped process is unknown, and may have been 0.
        let any_known = self.bad.iter().any(|(_, gone)| gone.ended.is_some());
        let mut bad = self.bad.iter().filter(|(_, gone)| gone.ended.is_some() == any_known).peekable();
        let first_round = bad.peek()?.0;
        let all: Vec<&(u32, EndedProcess)> = bad.collect();
        let mut first: Vec<&EndedProcess> =
            all.iter().filter(|(round, _)| *round == first_round).map(|(_, gone)| gone).collect();
        if first.iter().any(|gone| gone.may_be_for_a_helper()) {
            let helper = self.bad.iter().map(|(_, gone)| gone).find(|gone| gone.rank.is_none());
            first = helper.map_or(first, |helper| vec![helper]);
        }
        let own: Vec<&EndedProcess> =
            first.iter().copied().filter(|gone| !gone.may_be_launchers_work()).collect();
        let chosen = match (launcher, own.is_empty()) {
            _ if self.ended_by_guard && own.is_empty() => first,
            // The launcher itself was killed, and its processes ended with it. The exception is SIGPIPE:
            // the launcher wrote to a process that had ended before.
            (ProcessEnd::Signal(signal), _)
                if !self.ended_by_guard && (signal != SIGPIPE || own.is_empty()) =>
            {
                return None
            }
            (_, false) => own,
            (ProcessEnd::Status(status), true) => {
                let same = |gone: &&EndedProcess| match gone.ended {
                    Some(ProcessEnd::Signal(signal)) => status == signal || status == 128 + signal,
                    Some(ProcessEnd::Status(own)) => own == status,
                    None => false,
                };
                if first.iter().any(same) {
                    first
                } else if let Some(last) = all.into_iter().map(|(_, gone)| gone).find(same) {
                    // This is the case after MPI_Abort: the rank that called it may end last.
                    vec![last]
                } else if status == STATUS_LAUNCHER_FAILED {
                    first
                } else {
                    return None;
                }
            }
            (ProcessEnd::Signal(_), true) => first,
        };
        let one = chosen.first()?;
        let alike =
            |other: &&&EndedProcess| other.rank.is_some() == one.rank.is_some() && other.ended == one.ended;
        let mut ranks: Vec<u32> = chosen.iter().filter(alike).filter_map(|gone| gone.rank).collect();
        ranks.sort_unstable();
        // A rank that ended by itself, and not because of the launcher, needs nobody else to explain its end.
        let is_doubtful = one.ended.is_some() && one.may_be_launchers_work();
        let before = self.bad.iter().filter(|(round, gone)| *round <= first_round && gone.ended.is_none());
        let unknown = before.filter(|_| is_doubtful).filter_map(|(_, gone)| gone.rank).collect();
        Some(LostRanks { ranks, name: one.name.clone(), ended: one.ended, unknown })
    }
}

/// Returns true if a signal only asks a process to end, or reports a closed pipe. Scripts send such signals to
/// their own commands.
fn is_asking(signal: i32) -> bool {
    matches!(signal, 1 | 2 | 13 | 15)
}

/// Returns the rank of a process and the number of ranks, from the variables that its launcher has set.
fn rank_of(pid: Pid) -> (Option<u32>, Option<usize>) {
    let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    let number = |names: &[&str]| {
        environment.split(|&byte| byte == 0).find_map(|variable| {
            let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
            names.contains(&name).then(|| value.parse::<u32>().ok())?
        })
    };
    (number(&RANK_VARIABLES), number(&SIZE_VARIABLES).map(|of| of as usize))
}

/// Returns the running MPI ranks that a launcher has started on this machine, with their process numbers.
pub fn ranks_below(launcher: u32) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut to_visit: Vec<Pid> = i32::try_from(launcher).ok().and_then(Pid::from_raw).into_iter().collect();
    while let Some(parent) = to_visit.pop() {
        for pid in children_of(parent) {
            match rank_of(pid).0 {
                // Descendants of a rank are not visited.
                Some(rank) => found.push((rank, pid.as_raw_nonzero().get().unsigned_abs())),
                None => to_visit.push(pid),
            }
        }
    }
    found
}

fn name_of(pid: Pid) -> String {
    let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
    name.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn launched(bad: Vec<(u32, EndedProcess)>, ended_by_guard: bool) -> MpiLauncher {
        MpiLauncher { bad, ended_by_guard, ..MpiLauncher::new(std::process::id(), 4).unwrap() }
    }

    fn rank(rank: u32, ended: ProcessEnd) -> EndedProcess {
        EndedProcess { rank: Some(rank), name: "flow".into(), ended: Some(ended) }
    }

    fn ranks(bad: Vec<(u32, EndedProcess)>, ended_by_guard: bool, launcher: ProcessEnd) -> Option<Vec<u32>> {
        launched(bad, ended_by_guard).lost(launcher).map(|lost| lost.ranks)
    }

    const KILLED: ProcessEnd = ProcessEnd::Signal(9);

    #[test]
    fn one_that_has_ended_is_named_as_it_was_last() {
        let mut child = std::process::Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        let member = |name: &str| LaunchedProcess {
            pid,
            process: pidfd_open(pid, PidfdFlags::empty()).unwrap(),
            parent: rustix::process::getpid(),
            rank: None,
            of: None,
            name: name.into(),
        };
        let unborn = member(&name_of(rustix::process::getpid()));
        let reaped = [member("sleep"), member(""), member(&name_of(rustix::process::getpid()))];
        child.kill().unwrap();
        assert_eq!(unborn.last_name(), "sleep", "its parent has not asked for its end");
        child.wait().unwrap();
        assert_eq!(reaped.map(LaunchedProcess::last_name), ["sleep", "a process", "a process"]);
    }

    #[test]
    fn the_first_that_ended_badly_is_named() {
        let killed = || vec![(1, rank(2, KILLED)), (2, rank(0, KILLED)), (2, rank(1, ProcessEnd::Status(1)))];
        for launcher in [ProcessEnd::Status(137), ProcessEnd::Status(9)] {
            assert_eq!(ranks(killed(), false, launcher), Some(vec![2]));
        }
        assert_eq!(ranks(killed(), true, KILLED), Some(vec![2]));
        let crashed = vec![(1, rank(0, KILLED)), (1, rank(3, ProcessEnd::Signal(11))), (1, rank(1, KILLED))];
        assert_eq!(ranks(crashed, false, ProcessEnd::Status(139)), Some(vec![3]));
        assert_eq!(ranks(Vec::new(), false, ProcessEnd::Status(1)), None);
    }

    #[test]
    fn those_that_ended_at_the_same_moment_are_named_together() {
        let both = vec![(1, rank(3, KILLED)), (1, rank(1, KILLED))];
        assert_eq!(ranks(both, false, ProcessEnd::Status(137)), Some(vec![1, 3]));
    }

    #[test]
    fn those_whom_the_launcher_ended_are_not_blamed() {
        let terminated = || vec![(1, rank(0, ProcessEnd::Signal(15))), (1, rank(1, KILLED))];
        assert_eq!(ranks(terminated(), false, ProcessEnd::Status(5)), None);
        let mut aborted = terminated();
        aborted.push((2, rank(3, ProcessEnd::Status(5))));
        assert_eq!(ranks(aborted, false, ProcessEnd::Status(5)), Some(vec![3]));
        assert_eq!(ranks(terminated(), false, KILLED), None, "the launcher itself was killed");
    }

    #[test]
    fn a_helper_is_named_rather_than_ranks_that_wrote_to_it() {
        for ended in [Some(KILLED), None] {
            let helper = EndedProcess { rank: None, name: "hydra_pmi_proxy".into(), ended };
            let bad = vec![(1, rank(1, ProcessEnd::Signal(SIGPIPE))), (1, rank(2, KILLED)), (2, helper)];
            for launcher in [ProcessEnd::Signal(SIGPIPE), ProcessEnd::Status(STATUS_LAUNCHER_FAILED)] {
                let lost = launched(bad.clone(), false).lost(launcher).unwrap();
                assert_eq!((lost.name.as_str(), lost.ranks), ("hydra_pmi_proxy", vec![]));
            }
        }
        let alone = vec![(1, rank(1, ProcessEnd::Signal(SIGPIPE)))];
        assert_eq!(ranks(alone, false, ProcessEnd::Status(13)), Some(vec![1]));
    }

    #[test]
    fn a_helper_to_which_the_launcher_still_wrote_is_named() {
        let helper = || EndedProcess { rank: None, name: "hydra_pmi_proxy".into(), ended: Some(KILLED) };
        let name = |launcher| launched(vec![(1, helper())], false).lost(launcher).map(|lost| lost.name);
        assert_eq!(name(ProcessEnd::Signal(SIGPIPE)).as_deref(), Some("hydra_pmi_proxy"));
        assert_eq!(name(KILLED), None, "the launcher itself was killed");
    }

    #[test]
    fn the_first_are_named_when_the_launcher_failed_over_them() {
        let killed = || vec![(1, rank(3, KILLED)), (2, rank(0, KILLED))];
        assert_eq!(ranks(killed(), false, ProcessEnd::Status(STATUS_LAUNCHER_FAILED)), Some(vec![3]));
        let mut aborted = killed();
        aborted.push((3, rank(1, ProcessEnd::Status(255))));
        assert_eq!(ranks(aborted, false, ProcessEnd::Status(255)), Some(vec![1]), "it called MPI_Abort");
    }

    #[test]
    fn one_whose_end_nobody_knows_is_not_blamed_if_another_is_known() {
        let unknown = |number| EndedProcess { ended: None, ..rank(number, KILLED) };
        let bad =
            vec![(1, unknown(0)), (2, unknown(1)), (2, rank(3, ProcessEnd::Signal(11))), (3, rank(2, KILLED))];
        assert_eq!(ranks(bad, false, ProcessEnd::Status(139)), Some(vec![3]));
        assert_eq!(ranks(vec![(1, unknown(2)), (2, unknown(0))], false, ProcessEnd::Status(1)), Some(vec![2]));
    }

    #[test]
    fn one_whose_end_nobody_knows_is_told_beside_those_that_the_launcher_may_have_ended() {
        let unknown = |number| EndedProcess { ended: None, ..rank(number, KILLED) };
        let bad = |ended| vec![(1, unknown(2)), (2, rank(0, ended)), (2, rank(3, ended)), (3, unknown(1))];
        let lost = launched(bad(KILLED), false).lost(ProcessEnd::Status(137)).unwrap();
        assert_eq!((lost.ranks, lost.unknown), (vec![0, 3], vec![2]));
        let crash = ProcessEnd::Signal(11);
        let lost = launched(bad(crash), false).lost(ProcessEnd::Status(139)).unwrap();
        assert_eq!((lost.ranks, lost.unknown), (vec![0, 3], vec![]));
    }

    /// Starts ranks under a launcher that does not reap them, and waits until all have ended. Returns the ranks
    /// that are reported as ended well. `all` has the last command of each rank, such as `exit 0`, and its
    /// variables.
    fn well(test: &str, all: &[(&str, &str)]) -> Vec<u32> {
        let go = std::env::temp_dir().join(format!("ligament-ranks-{}-{test}", std::process::id()));
        let _ = std::fs::remove_file(&go);
        // The processes end by themselves after some time, and do not have the test's output open. Otherwise a
        // reader of this output would wait for ever if the test failed.
        let wait =
            format!("n=0; while [ ! -e {} -a $n -lt 12000 ]; do sleep 0.01; n=$((n+1)); done", go.display());
        let mut script: String =
            all.iter().map(|(ends, told)| format!("{told} sh -c '{wait}; {ends}' & ")).collect();
        script += "exec sleep 600";
        let mut launcher = std::process::Command::new("sh");
        let mut launcher =
            launcher.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut launched = MpiLauncher::new(launcher.id(), 4).unwrap();
        let began = Instant::now();
        while launched.members.iter().filter(|member| member.rank.is_some()).count() < all.len() {
            launched.search();
            assert!(began.elapsed() < Duration::from_secs(60));
        }
        std::fs::write(&go, "").unwrap();
        for member in &launched.members {
            let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
            assert_eq!(poll(&mut [PollFd::new(&member.process, PollFlags::IN)], Some(&patience)), Ok(1));
        }
        let mut well = launched.collect_ended();
        let _ = (launcher.kill(), launcher.wait(), std::fs::remove_file(&go));
        well.sort_unstable();
        well
    }

    #[test]
    fn a_rank_that_ended_well_is_told_unless_another_crashed_at_the_same_moment() {
        let (third, first) = ("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4", "PMI_RANK=0 PMI_SIZE=4");
        let (ends, crashes) = (("exit 0", third), ("kill -SEGV $$", first));
        assert_eq!(well("one", &[ends]), [3]);
        assert_eq!(well("killed", &[ends, ("kill -KILL $$", first)]), [3]);
        assert_eq!(well("after", &[ends, crashes]), []);
        assert_eq!(well("before", &[crashes, ends]), []);
    }

    #[test]
    fn ranks_of_what_a_script_starts_before_the_instance_are_not_told() {
        assert_eq!(well("script", &[("exit 0", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1")]), []);
        assert_eq!(well("unknown", &[("exit 0", "PMIX_RANK=0")]), [0], "nobody says of how many");
    }

    #[test]
    fn a_helper_that_ends_is_missed_only_if_it_has_started_ranks() {
        let member = |pid: u32, parent: u32, rank| {
            let pid = Pid::from_raw(pid as i32).unwrap();
            let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            let parent = Pid::from_raw(parent as i32).unwrap();
            LaunchedProcess { pid, process, parent, rank, of: None, name: "helper".into() }
        };
        for (rank, count) in [(None, 0), (Some(2), 1)] {
            let mut helper = std::process::Command::new("true").spawn().unwrap();
            let mut child = std::process::Command::new("sleep")
                .arg("600")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut launched = launched(Vec::new(), false);
            launched.members.push(member(helper.id(), std::process::id(), None));
            launched.members.push(member(child.id(), helper.id(), rank));
            let began = Instant::now();
            while launched.round == 0 && began.elapsed() < Duration::from_secs(60) {
                launched.collect_ended();
            }
            assert_eq!((launched.round, launched.bad.len()), (1, count));
            let _ = child.kill();
            let _ = (helper.wait(), child.wait());
        }
    }

    #[test]
    fn who_was_lost_is_said_and_how() {
        let why = |ranks: &[u32], ended| {
            LostRanks { ranks: ranks.to_vec(), name: "hydra_pmi_proxy".into(), ended, unknown: Vec::new() }
                .why()
                .text()
                .to_owned()
        };
        assert!(why(&[2], Some(KILLED)).starts_with("lost its rank 2, which was ended by signal SIGKILL"));
        assert!(why(&[1, 3], Some(KILLED)).starts_with("lost its ranks 1, 3, which were ended by signal"));
        assert_eq!(why(&[0], Some(ProcessEnd::Status(3))), "lost its rank 0, which ended with exit status 3");
        let helper =
            "lost hydra_pmi_proxy, which its launcher had started and which was ended by signal SIGKILL";
        assert!(why(&[], Some(KILLED)).starts_with(helper));
        assert_eq!(why(&[4], None), "lost its rank 4, which ended first");
    }
}
