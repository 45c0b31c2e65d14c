//! All unsafe code of the crate: the fork of the guard; the steps of a process between its fork and its exec
//! (`ProcessSetup`), in which it shares the guard's memory so that nothing is copied; and a few system calls
//! that only the C library offers.

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::CpuSet;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

/// A set of signals.
pub type Signals = libc::sigset_t;

/// A process to be started, with everything that the process needs. Until its exec, the new process shares
/// this process's memory and must not allocate memory.
pub struct ProcessSetup {
    /// The path of the program. It contains a `/`.
    pub program: CString,
    /// The arguments. The first is the program's own name.
    pub arguments: Vec<CString>,
    /// Variables in the form `NAME=value`.
    pub environment: Vec<CString>,
    pub directory: CString,
    /// The file for the process's output and errors. Its input is that of this process.
    pub output: OwnedFd,
    /// The limit of open files, if it differs from the limit of this process.
    pub open_files: Option<Rlimit>,
    /// The cores on which the process may run. None means all cores of this process.
    pub cores: Option<CpuSet>,
    /// The signals that are blocked in the new process.
    pub blocked: Signals,
}

impl ProcessSetup {
    /// Starts the process in a group of its own. The process is killed when the calling thread ends. The
    /// thread waits until the exec. Unlike a fork, this does not copy this process's memory, however large
    /// the memory is. All signals must be blocked in the calling thread.
    ///
    /// # Errors
    /// The system's message. No process remains in this case.
    pub fn start(&self) -> io::Result<Pid> {
        let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
        };
        let mut unborn = ChildState {
            birth: self,
            arguments: pointers(&self.arguments),
            environment: pointers(&self.environment),
            parent: rustix::process::getpid(),
            error: 0,
        };
        // The stack is large enough for the calls in `be_born`, and for the arguments that execvpe copies
        // if it finds a script without "#!".
        let words = 4096 + self.arguments.len();
        let mut stack = Vec::<u128>::with_capacity(words);
        // SAFETY: with CLONE_VFORK this thread continues only when the child, in memory shared with it, has
        // executed another program or has ended. So `unborn` and `stack` outlive their use by the child, which
        // is that of `be_born`. No signal handler can run in the child, since signals are blocked.
        let pid = check(unsafe {
            let top = stack.as_mut_ptr().add(words).cast();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(be_born, top, flags, (&raw mut unborn).cast())
        })?;
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
        // SAFETY: the field is valid. The child, which wrote it without the compiler's knowledge, has ended.
        match unsafe { std::ptr::read_volatile(&raw const unborn.error) } {
            0 => Ok(pid),
            error => {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

struct ChildState<'a> {
    birth: &'a ProcessSetup,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    parent: Pid,
    /// The error number of the step that failed; 0 if no step has failed.
    error: i32,
}

/// Runs in the child until its exec. It makes system calls only.
extern "C" fn be_born(unborn: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `ProcessSetup::start` passes this pointer, and does not touch the value meanwhile.
    let unborn = unsafe { &mut *unborn.cast::<ChildState<'_>>() };
    let error = match settle(unborn.birth, unborn.parent) {
        Err(error) => error,
        Ok(()) => {
            let (program, arguments) = (unborn.birth.program.as_ptr(), unborn.arguments.as_ptr());
            // SAFETY: the texts and lists of texts are terminated. The call returns only if it fails.
            unsafe { libc::execvpe(program, arguments, unborn.environment.as_ptr()) };
            io::Error::last_os_error()
        }
    };
    unborn.error = error.raw_os_error().unwrap_or(libc::EIO);
    127
}

fn settle(birth: &ProcessSetup, parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was set.
    if rustix::process::getppid() != Some(parent) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    rustix::process::setpgid(None, None)?;
    rustix::process::chdir(birth.directory.as_c_str())?;
    if let Some(limit) = birth.open_files {
        rustix::process::setrlimit(Resource::Nofile, limit)?;
    }
    if let Some(cores) = &birth.cores {
        // If the cores are no longer available (a control group may remove some), the process runs on the
        // remaining cores.
        let _ = rustix::thread::sched_setaffinity(None, cores);
    }
    // SAFETY: the child has its own descriptors and signal handlers. Rust's runtime ignores SIGPIPE, which
    // programs do not expect.
    unsafe {
        check(libc::dup2(birth.output.as_raw_fd(), libc::STDOUT_FILENO))?;
        check(libc::dup2(birth.output.as_raw_fd(), libc::STDERR_FILENO))?;
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        // The guard ignores this signal.
        libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
        forget_handlers();
    }
    set_blocked(&birth.blocked)
}

/// Resets the signals that the parent handles (a script that runs a model may do so) to their defaults. The
/// exec would reset them as well, but until the exec a handler would run in the parent's memory.
///
/// # Safety
/// The process must have its own table of handlers: only that table is changed.
unsafe fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: all zeros is a valid sigaction. The kernel refuses numbers that are no signals.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(signal, std::ptr::null(), &mut now) == 0;
            if known && ![libc::SIG_DFL, libc::SIG_IGN].contains(&now.sa_sigaction) {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

/// Makes a command run in a process group of its own, so that a terminal's Ctrl-C does not reach it. The
/// command gets SIGTERM when the thread that starts it ends.
pub fn in_own_group_until_parent_ends(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    until_parent_ends(command.process_group(0));
}

/// Makes a command get SIGTERM when the thread that starts it ends, so that no process is left behind.
pub fn until_parent_ends(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let parent = rustix::process::getpid();
    let settle = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        // The parent may have died before the signal was set.
        if rustix::process::getppid() != Some(parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: only system calls, which the child of a process with threads may make.
    unsafe { command.pre_exec(settle) };
}

/// Gives unused memory back to the system, if the allocator can.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function takes a number, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The side of a fork on which the code runs.
pub enum ForkSide {
    Parent(Pid),
    Child,
}

/// Forks this process. The child has only the calling thread. If the parent has other threads, the child
/// may only do what is allowed in the child of a process with threads; with glibc, allocations are allowed.
pub fn fork() -> io::Result<ForkSide> {
    // SAFETY: in each caller, the child neither returns into the parent's code nor needs the parent's other
    // threads.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkSide::Child),
        pid => Ok(ForkSide::Parent(Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?)),
    }
}

/// Ends this process at once and without cleaning up: the parent cleans up.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(status) }
}

/// Makes these descriptors, such as 1 and 2 for output, duplicates of `fd`.
pub fn become_same(fd: &OwnedFd, numbers: &[RawFd]) -> io::Result<()> {
    for &number in numbers {
        // SAFETY: the numbers are those of standard output and errors, or of all three standard streams. No
        // value owns these descriptors, so none is closed twice.
        check(unsafe { libc::dup2(fd.as_raw_fd(), number) })?;
    }
    Ok(())
}

/// Moves a descriptor to number 3 and closes all descriptors above it. Descriptors 0 and 1 become
/// /dev/null. Descriptor 2 stays, for error messages.
pub fn keep_only(fd: OwnedFd) -> io::Result<OwnedFd> {
    const KEPT_DESCRIPTOR: RawFd = 3;
    use std::os::fd::IntoRawFd;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?.into_raw_fd();
    let from = fd.into_raw_fd();
    // SAFETY: called in a process that has just been forked and uses none of the descriptors that are closed or
    // replaced here. Their owners belong to the parent and are never dropped in this process.
    unsafe {
        for number in [0, 1] {
            check(libc::dup2(null, number))?;
        }
        if from != KEPT_DESCRIPTOR {
            check(libc::dup3(from, KEPT_DESCRIPTOR, libc::O_CLOEXEC))?;
        }
        check(libc::syscall(libc::SYS_close_range, KEPT_DESCRIPTOR + 1, libc::c_uint::MAX, 0) as i32)?;
        Ok(OwnedFd::from_raw_fd(KEPT_DESCRIPTOR))
    }
}

/// Returns the status of a process that its parent has reaped, in the encoding of wait(2), if the kernel
/// can provide it (Linux 6.15).
pub fn exit_of_reaped(process: BorrowedFd<'_>) -> Option<i32> {
    /// `struct pidfd_info` of linux/pidfd.h, in its first version.
    #[repr(C)]
    struct PidfdInfo {
        mask: u64,
        cgroup: u64,
        ids: [u32; 11],
        exit: i32,
    }
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    const PIDFD_GET_INFO: libc::c_ulong = 0xc040_ff0b;
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, cgroup: 0, ids: [0; 11], exit: 0 };
    // SAFETY: the number of the call contains the size of the structure, 64 bytes, and no more is written.
    check(unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO as _, &raw mut info) }).ok()?;
    (info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit)
}

fn check(returned: i32) -> io::Result<i32> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Makes a write beyond this process's limit of file sizes (`ulimit -f`) fail with an error, instead of
/// ending the process.
pub fn outlive_file_size() {
    // SAFETY: only the handling of this signal changes.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Blocks every signal that can be blocked. Returns the signals that were blocked before.
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
fn set_blocked(signals: &Signals) -> io::Result<()> {
    // SAFETY: reads a valid set.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, signals, std::ptr::null_mut()) }).map(|_| ())
}

/// Returns a descriptor that becomes readable when a child ends. SIGCHLD must be blocked.
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

/// Returns the number of a child that has ended and has not been reaped. The child stays a zombie, so its
/// number cannot be reused.
pub fn ended_child() -> Option<u32> {
    // SAFETY: siginfo_t may be all zero. waitid fills it, and sets si_pid if it finds a child.
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

/// Returns the name of the user with this number, from the system's user database.
pub fn user_name(number: u32) -> Option<String> {
    let mut place = vec![0; 16 << 10];
    // SAFETY: a `passwd` of null pointers and zeros is valid.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: `place` has the given length, and all arguments outlive the call.
    let status = unsafe { libc::getpwuid_r(number, &mut entry, place.as_mut_ptr(), place.len(), &mut found) };
    if status != 0 || found.is_null() || entry.pw_name.is_null() {
        return None;
    }
    // SAFETY: after a success it is a text that ends with a NUL, within `place`.
    let name = unsafe { std::ffi::CStr::from_ptr(entry.pw_name) };
    name.to_str().ok().map(str::to_owned)
}
