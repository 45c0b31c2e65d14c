//! The unsafe part: what a child does between fork and exec.

use rustix::process::{Resource, Rlimit, Signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the child die with the thread that starts it, and gives it back the soft limit of open files.
pub fn tie_to_parent(command: &mut Command, open_files: Option<Rlimit>) {
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
        Ok(())
    };
    // SAFETY: prctl, getppid and setrlimit are system calls that allocate nothing and take no locks.
    unsafe {
        command.pre_exec(before_exec);
    }
}
