//! Processes of instances. Each process starts in a group of its own, is killed when the thread that
//! started it ends, and is ended together with its group.

use crate::command::Command;
use crate::launched_program::explain_start_error;
use crate::sys::{self, ProcessSetup};
use ligament_catalogue::{fault, Fault};
use ligament_wire::Exit;
use rustix::fd::OwnedFd;
use rustix::process::{
    getrlimit, kill_process_group, setrlimit, test_kill_process_group, Pid, Resource, Rlimit, Signal,
};
use rustix::thread::CpuSet;
use std::ffi::{CString, NulError};
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// The limit of open files that this process had at its start.
static INITIAL_FILE_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Raises this process's soft limit of open files to its hard limit, and returns the new limit. Children
/// get the old limit.
pub fn raise_open_files() -> u64 {
    let limit = INITIAL_FILE_LIMIT.get_or_init(|| getrlimit(Resource::Nofile));
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the size limit for files of this process, in bytes (`ulimit -f`). `None` means no limit.
pub fn file_size_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// The end of a child of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The process exited with this status.
    Status(i32),
    /// This signal ended the process.
    Signal(i32),
}

impl From<ProcessEnd> for Exit {
    fn from(ended: ProcessEnd) -> Exit {
        match ended {
            ProcessEnd::Status(status) => Exit::Status(status),
            ProcessEnd::Signal(signal) => Exit::Signal(signal),
        }
    }
}

impl Command {
    /// Starts the command. Returns the number of the process, which is also the number of its process
    /// group. The process is killed when the calling *thread* ends, so that thread must last as long as the
    /// run. Only the caller may wait for the process, and the caller must have all signals blocked. In the
    /// new process, the signals `blocked` are blocked. Its input is that of the caller.
    ///
    /// # Errors
    /// The system's message, with the program's path.
    pub(crate) fn start(&self, blocked: sys::Signals) -> Result<u32, Fault> {
        let output = OpenOptions::new().create(true).append(true).open(&self.output).map_err(|error| {
            fault!(NOT_STARTABLE, "its output file {} cannot be opened: {error}", self.output.display())
        })?;
        let birth = self.birth(output.into(), blocked).map_err(|NulError { .. }| {
            fault!(
                NOT_STARTABLE,
                "{} cannot be started: a text of its command has a NUL in it",
                self.program.display()
            )
        })?;
        let pid = birth.start().map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::NotFound if !self.directory.is_dir() => {
                    format!("; its working directory {} is gone", self.directory.display())
                }
                _ => explain_start_error(&self.program, &error),
            };
            fault!(NOT_STARTABLE, "{} cannot be started: {error}{hint}", self.program.display())
        })?;
        Ok(pid.as_raw_nonzero().get() as u32)
    }

    fn birth(&self, output: OwnedFd, blocked: sys::Signals) -> Result<ProcessSetup, NulError> {
        let program = CString::new(self.program.as_os_str().as_bytes())?;
        let mut arguments = vec![program.clone()];
        for argument in &self.arguments {
            arguments.push(CString::new(argument.as_bytes())?);
        }
        let variables = self.environment.iter();
        let variables =
            variables.map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
        Ok(ProcessSetup {
            program,
            arguments,
            environment: variables.collect::<Result<_, _>>()?,
            directory: CString::new(self.directory.as_os_str().as_bytes())?,
            output,
            open_files: INITIAL_FILE_LIMIT.get().cloned(),
            cores: set_of(&self.cores),
            blocked,
        })
    }
}

/// Returns the cores as the system represents them, or `None` for all cores.
fn set_of(cores: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    cores.iter().filter(|&&core| (core as usize) < CpuSet::MAX_CPU).for_each(|&core| set.set(core as usize));
    (set.count() > 0).then_some(set)
}

/// Sends a signal to a process group. If the group no longer exists, nothing happens.
pub fn end_group(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

/// Returns true if a process group has members. A zombie is a member until its parent has reaped it.
pub(crate) fn group_lives(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(Pid::from_raw).is_some_and(|pid| test_kill_process_group(pid).is_ok())
}
