//! The unsafe code of the crate: forking the guard; the steps of a process between its fork and its exec
//! (`ProcessSetup`), during which it shares the guard's memory so that nothing is copied; and the few system
//! calls that only the C library offers.

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::CpuSet;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

/// A set of signals.
pub type Signals = libc::sigset_t;

/// A process to be started, with everything that it needs. Until its exec, it shares this process's memory and
/// may allocate nothing.
pub struct ProcessSetup {
    /// A path with a `/` in it.
    pub program: CString,
    /// The arguments. The first is the program's own name.
    pub arguments: Vec<CString>,
    /// Variables in the form `NAME=value`.
    pub environment: Vec<CString>,
    pub directory: CString,
    /// The file for its output and its errors. Its input is that of this process.
    pub output: OwnedFd,
    /// The limit of open files, if it differs from this process's.
    pub open_files: Option<Rlimit>,
    /// The cores that it may run on, if they are not all of this process's.
    pub cores: Option<CpuSet>,
    /// The signals that it has blocked.
    pub blocked: Signals,
}

impl ProcessSetup {
    /// Starts the process in a group of its own; it dies with the calling thread. The thread waits until the
    /// exec, but this process's memory is not copied, however large it is, as a fork would. All signals must be
    /// blocked here.
    ///
    /// # Errors
    /// The system's message; no process is left then.
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
        // Enough for the calls in `be_born`, and for the arguments that execvpe copies if it finds a script
        // without "#!".
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
    /// The error number of a failed step; 0 if there is none.
    error: i32,
}

/// The child until its exec: system calls only.
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
        // If the cores are gone meanwhile (a control group may remove some), the process runs on the remaining
        // ones.
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

/// Resets signals that the parent handles (as a script that runs a model may do) to their defaults. The exec
/// would do that, but until then a handler would run in the parent's memory.
///
/// # Safety
/// The process must have its own table of handlers: only that is changed.
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

/// Makes a command run in a group of its own, so that a terminal's Ctrl-C does not reach it, and be asked to
/// end when the starting thread ends.
pub fn in_own_group_until_parent_ends(command: &mut std::process::Command) {
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
    unsafe { command.process_group(0).pre_exec(settle) };
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

/// Forks. The child has only this thread. If the parent has others, the child must keep to what is allowed in
/// the child of a process with threads; with glibc that includes allocations.
pub fn fork() -> io::Result<ForkSide> {
    // SAFETY: the callers' child side neither returns into the parent's code nor needs its other threads.
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
        // SAFETY: no value owns the descriptors with these numbers, standard input and output, and would close
        // them.
        check(unsafe { libc::dup2(fd.as_raw_fd(), number) })?;
    }
    Ok(())
}

/// Moves a descriptor to number 3 and closes all above. 0 and 1 become /dev/null; 2 stays, for error messages.
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

/// The status of a process that its parent has reaped, in the encoding of wait(2), if the kernel can tell
/// (Linux 6.15).
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

/// Makes it an error for the writer, instead of the end of the process, if a file grows beyond this process's
/// limit (`ulimit -f`).
pub fn outlive_file_size() {
    // SAFETY: only the handling of this signal changes.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Blocks every signal that can be blocked. Returns those that were blocked before.
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

/// A child that has ended and has not been reaped. It stays a zombie, so its number cannot be reused.
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

/// The name of the user with this number, from the system's user database.
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
