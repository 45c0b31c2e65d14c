//! Processes that continue without a terminal. One kind is forked into a session of its own (`ligament run
//! --detach`, before there is a second thread). The other kind loses its terminal (SIGHUP), and sends its
//! output to a file from then on.

use crate::sys::{self, ForkSide};
use rustix::fd::OwnedFd;
use rustix::fs::{fstat, FileType, Stat};
use rustix::process::Pid;
use std::fs::File;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

/// Standard input, output and error.
const STANDARD_STREAMS: [i32; 3] = [0, 1, 2];

/// Starts a process in a session of its own. The process calls `life` and exits with the status that `life`
/// returns. It reads no input, and appends its output to the file `printed`. The calling process should
/// have only one thread.
///
/// # Errors
/// The file cannot be opened, or no process can be made.
pub fn start_detached(printed: &Path, life: impl FnOnce() -> i32) -> io::Result<u32> {
    let file = OwnedFd::from(File::options().create(true).append(true).open(printed)?);
    let null = OwnedFd::from(File::open("/dev/null")?);
    match sys::fork()? {
        ForkSide::Parent(pid) => Ok(number(pid)),
        ForkSide::Child => {
            let settled = rustix::process::setsid().map_err(io::Error::from);
            let settled = settled.and_then(|_| sys::become_same(&null, &STANDARD_STREAMS[..1]));
            let settled = settled.and_then(|()| sys::become_same(&file, &STANDARD_STREAMS[1..]));
            drop((null, file));
            // Neither a return nor a panic may continue the parent's work.
            let status = settled.map(|()| catch_unwind(AssertUnwindSafe(life)).unwrap_or(101));
            sys::exit_now(status.unwrap_or(101))
        }
    }
}

/// Returns the status of a child that has ended, as a shell reports it, or `None` while the child runs.
pub fn ended(pid: u32) -> Option<i32> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    let (_, status) = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG).ok()??;
    Some(status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0)))
}

/// Redirects output of this process that goes to its terminal to the end of a file. Other output is not
/// affected.
///
/// # Errors
/// The file cannot be opened.
pub fn leave_terminal(printed: &Path) -> io::Result<()> {
    let file = OwnedFd::from(File::options().create(true).append(true).open(printed)?);
    let null = OwnedFd::from(File::open("/dev/null")?);
    let nothing = fstat(&null)?.st_rdev;
    // A terminal that has disappeared no longer answers whether it is a terminal.
    let is_terminal = |found: rustix::io::Result<Stat>| {
        found.is_ok_and(|found| {
            FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice && found.st_rdev != nothing
        })
    };
    let known = [fstat(io::stdin()), fstat(io::stdout()), fstat(io::stderr())].map(is_terminal);
    for (fd, _) in STANDARD_STREAMS.into_iter().zip(known).filter(|(_, known)| *known) {
        sys::become_same(if fd == 0 { &null } else { &file }, &[fd])?;
    }
    Ok(())
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
