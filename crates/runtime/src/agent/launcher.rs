//! A check if the command that started this agent, such as `ssh`, has ended. No process reads the agent's
//! output after that.

use ligament_catalogue::{fault, Fault};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::os::fd::AsFd;

/// Makes the error of an agent whose launcher has ended.
pub(super) fn gone() -> Fault {
    fault!(LAUNCHER_GONE, "the command that started it has ended before it")
}

/// Returns true if the reader of this process's output or errors has ended.
pub(super) fn is_gone() -> bool {
    leads_nowhere(std::io::stdout()) || leads_nowhere(std::io::stderr())
}

fn leads_nowhere(fd: impl AsFd) -> bool {
    // No event is requested, because the kernel always reports that the other end is closed.
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_leads_nowhere() {
        use std::process::{Command, Stdio};
        let mut reader = Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap();
        let writer = reader.stdin.take().unwrap();
        assert!(!leads_nowhere(&writer));
        reader.kill().unwrap();
        reader.wait().unwrap();
        assert!(leads_nowhere(&writer));
    }

    #[test]
    fn nor_does_a_socket_whose_other_end_is_closed() {
        let (theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(!leads_nowhere(&ours));
        drop(theirs);
        assert!(leads_nowhere(&ours));
    }

    #[test]
    fn a_file_leads_somewhere() {
        assert!(!leads_nowhere(std::fs::File::open("/dev/null").unwrap()));
    }
}
