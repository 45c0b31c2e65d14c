//! The loss of a process of a run that disappeared without a report: how the process ended, and which
//! processes remained.

use crate::process::ProcessEnd;
use crate::sys;
use ligament_wire::describe_signal;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::Pid;

/// Maximum time that the kernel takes to end a process after it has closed the process's descriptors.
const MAX_END_TIME: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A process of a run, the run's own or an agent's, that disappeared without a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLoss {
    pub pid: u32,
    /// The end of the process, if it is known.
    pub ended: Option<ProcessEnd>,
    /// Number of remaining processes, all of which were ended.
    pub left: usize,
    /// The note that the process had set for the case of its loss.
    pub noted: Option<String>,
}

impl ProcessLoss {
    /// Returns a description of the end of the process and of the remaining processes, as the end of a
    /// sentence: "it was killed by …; …".
    pub fn describe(&self) -> String {
        let how = match self.ended {
            Some(ProcessEnd::Signal(signal)) => format!("it was killed by {}", describe_signal(signal)),
            Some(ProcessEnd::Status(status)) => format!("it ended with status {status}"),
            None => "it was killed, or it crashed".to_owned(),
        };
        match self.left {
            0 => format!("{how}; none of its processes was left"),
            1 => format!("{how}; one process that it had left was ended"),
            count => format!("{how}; {count} processes that it had left were ended"),
        }
    }
}

/// Returns the end of a process that is ending or has ended, and is a child of another process. If its
/// parent has reaped the process, its descriptor has the status (from Linux 6.15 on). Otherwise /proc has
/// the status.
pub(crate) fn how_ended(process: BorrowedFd<'_>, pid: Pid) -> Option<ProcessEnd> {
    let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&MAX_END_TIME));
    let status = sys::exit_of_reaped(process.as_fd())
        .or_else(|| exit_of_zombie(pid))
        // The parent may have reaped the process after the first attempt.
        .or_else(|| sys::exit_of_reaped(process.as_fd()))?;
    // The status has the encoding of wait(2).
    Some(match status & 0x7f {
        0 => ProcessEnd::Status(status >> 8 & 0xff),
        signal => ProcessEnd::Signal(signal),
    })
}

fn exit_of_zombie(pid: Pid) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name may contain blanks and parentheses. The first field after the name is the state, field 3 of
    // proc(5).
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    match fields.first() {
        Some(&("Z" | "X")) => fields.get(52 - 3)?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{pidfd_open, PidfdFlags};
    use std::process::{Child, Command};

    fn child(script: &str) -> (Child, Pid, rustix::fd::OwnedFd) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        let fd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        (child, pid, fd)
    }

    #[test]
    fn how_a_process_ended_is_known_before_its_parent_has_asked() {
        for (script, ended) in [("kill -9 $$", ProcessEnd::Signal(9)), ("exit 3", ProcessEnd::Status(3))] {
            let (mut child, pid, fd) = child(script);
            assert_eq!(how_ended(fd.as_fd(), pid), Some(ended));
            child.wait().unwrap();
        }
    }

    #[test]
    fn and_after_it_has_where_the_kernel_can_tell() {
        let (mut child, pid, fd) = child("kill -9 $$");
        child.wait().unwrap();
        assert!(matches!(how_ended(fd.as_fd(), pid), None | Some(ProcessEnd::Signal(9))));
    }

    #[test]
    fn nothing_is_known_of_one_that_lives() {
        let (mut child, pid, fd) = child("exec sleep 1000");
        assert_eq!(how_ended(fd.as_fd(), pid), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_is_known_is_said() {
        let loss = |ended, left| ProcessLoss { pid: 7, ended, left, noted: None }.describe();
        let killed = loss(Some(ProcessEnd::Signal(9)), 1);
        assert!(killed.starts_with("it was killed by SIGKILL"), "{killed}");
        assert!(killed.ends_with("; one process that it had left was ended"), "{killed}");
        assert_eq!(loss(None, 0), "it was killed, or it crashed; none of its processes was left");
        assert_eq!(
            loss(Some(ProcessEnd::Status(3)), 2),
            "it ended with status 3; 2 processes that it had left were ended"
        );
    }
}
