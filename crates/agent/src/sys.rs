//! System calls for processes, random numbers and events. This file has the only unsafe code of the crate.

use crate::outcome::Exit;
use ligament_catalogue::{fault, Fault};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::process::{pidfd_open, pidfd_send_signal, waitid, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::rand::{getrandom, GetRandomFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Returns 128 random bits as hexadecimal text.
pub fn random_hex() -> Result<String, Fault> {
    let mut bytes = [0u8; 16];
    let got = getrandom(&mut bytes[..], GetRandomFlags::empty())
        .map_err(|error| fault!(CANNOT_WATCH, "getrandom: {error}"))?;
    if got != bytes.len() {
        return Err(fault!(CANNOT_WATCH, "getrandom gave too little"));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Opens a descriptor that becomes readable when the process ends.
pub fn pidfd(pid: u32) -> std::io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

/// Returns the exit status, or the signal, with which a process has ended. If the ended process is a child
/// of the calling process, the function also reaps the child.
pub fn exit_of(pidfd: impl AsFd) -> Exit {
    match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
        Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
            (Some(status), _) => Exit::Status(status),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Unknown,
        },
        _ => Exit::Unknown,
    }
}

/// Sends a signal to one process. Does nothing if the process has ended already.
pub fn push_one(pidfd: impl AsFd, signal: Signal) {
    let _ = pidfd_send_signal(pidfd, signal);
}

/// Registers a descriptor with the event loop. `T` must own the descriptor, and must return the same number as
/// long as it lives. `OwnedFd` and `SharedConnection`, the types in use, do so.
pub fn watched<T: AsRawFd>(inner: T, interest: Interest) -> std::io::Result<AsyncFd<T>> {
    // SAFETY: `T` owns the descriptor and keeps it open, under the same number, until `inner` is dropped. The
    // `AsyncFd` owns `inner` and ends the registration before it drops `inner`.
    unsafe { AsyncFd::register_with_interest(inner, interest) }.map_err(|error| error.into_parts().1)
}
