//! The unsafe part: forking the guard, what a child does between fork and exec, and the few calls of the system that
//! only C's library offers.

use rustix::fd::{FromRawFd, OwnedFd, RawFd};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A set of signals.
pub type Signals = libc::sigset_t;

/// Has the child die with the thread that starts it, and gives it the signals that it is to have blocked and, where
/// one is given, its soft limit of open files.
pub fn tie_to_parent(command: &mut Command, open_files: Option<Rlimit>, blocked: Option<Signals>) {
    let parent = rustix::process::getpid();
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the signal was set.
        if rustix::process::getppid() != Some(parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        if let Some(limit) = open_files {
            rustix::process::setrlimit(Resource::Nofile, limit)?;
        }
        match blocked {
            Some(signals) => set_blocked(&signals),
            None => Ok(()),
        }
    };
    // SAFETY: prctl, getppid, setrlimit and sigprocmask allocate nothing and take no locks.
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// Which side of a fork this is.
pub enum Side {
    Parent(Pid),
    Child,
}

/// Forks. The child has this thread only; where the parent has others, it must keep to what a child of a process
/// with threads may do, which with glibc includes allocating.
pub fn fork() -> io::Result<Side> {
    // SAFETY: the callers' child side neither returns into code of the parent nor needs its other threads.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => Ok(Side::Parent(Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?)),
    }
}

/// Ends this process, at once and without cleaning up: what there is to clean up is the parent's.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(status) }
}

/// Moves a descriptor to number 3 and closes all above; 0 and 1 become /dev/null. 2 stays, to say what is wrong.
pub fn keep_only(fd: OwnedFd) -> io::Result<OwnedFd> {
    const KEPT: RawFd = 3;
    use std::os::fd::IntoRawFd;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?.into_raw_fd();
    let from = fd.into_raw_fd();
    // SAFETY: called in a process that has just been forked and uses none of the descriptors that are closed or
    // replaced here; what owned them belongs to its parent and is never dropped in it.
    unsafe {
        for number in [0, 1] {
            check(libc::dup2(null, number))?;
        }
        if from != KEPT {
            check(libc::dup3(from, KEPT, libc::O_CLOEXEC))?;
        }
        check(libc::syscall(libc::SYS_close_range, KEPT + 1, libc::c_uint::MAX, 0) as i32)?;
        Ok(OwnedFd::from_raw_fd(KEPT))
    }
}

fn check(returned: i32) -> io::Result<i32> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Blocks every signal that can be blocked; gives those that were blocked before.
pub fn block_all() -> io::Result<Signals> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets live on the stack; sigfillset and sigprocmask initialise what is read afterwards.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        check(libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()))?;
        Ok(before.assume_init())
    }
}

/// Blocks these signals and no others.
pub fn set_blocked(signals: &Signals) -> io::Result<()> {
    // SAFETY: reads a valid set.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, signals, std::ptr::null_mut()) }).map(|_| ())
}

/// A descriptor that becomes readable when a child ends. SIGCHLD must be blocked.
pub fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before it is read; the descriptor is new and ours.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        Ok(OwnedFd::from_raw_fd(check(libc::signalfd(-1, set.as_ptr(), flags))?))
    }
}

/// A child that has ended and has not been waited for: it stays a zombie, so that its number is nobody else's.
pub fn ended_child() -> Option<u32> {
    // SAFETY: siginfo_t may be all zero, and waitid fills it; si_pid is what it sets.
    let pid = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        match libc::waitid(libc::P_ALL, 0, &mut info, flags) {
            0 => info.si_pid(),
            _ => return None,
        }
    };
    u32::try_from(pid).ok().filter(|&pid| pid != 0)
}
