//! The guard: a tiny process that outlives this one. The kernel kills our children when we are killed, but not
//! theirs; the guard, told of every process group, then ends what is left of them. It is a shell that waits at the
//! other end of a pipe, which costs nothing while all is well.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// `+ PID` a group to keep an eye on, `- PID` it has ended. The end of the input is our end.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
while read -r what group; do
    case $what in
        +) eval "group_$group=1" ;;
        -) unset "group_$group" ;;
    esac
done
for group in $(set | sed -n 's/^group_\([0-9][0-9]*\)=.*/\1/p'); do
    kill -s KILL -- "-$group" 2>/dev/null
done
"#;

/// The guard. When this is dropped, or its process ends in whatever way, what it still watches is ended.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
    pipe: Option<File>,
}

impl Guard {
    /// Starts it, in a process group of its own, so that Ctrl-C does not reach it.
    ///
    /// # Errors
    /// There is no shell, or no process can be made.
    pub fn start() -> std::io::Result<Guard> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "ligament-guard"])
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take().map(|stdin| File::from(std::os::fd::OwnedFd::from(stdin)));
        if let Some(pipe) = &pipe {
            // A guard that somebody has stopped must not hold up the run.
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Guard { shell, pipe })
    }

    /// There is a process group.
    pub fn watch(&mut self, group: u32) {
        self.tell('+', group);
    }

    /// A process group has ended.
    pub fn forget(&mut self, group: u32) {
        self.tell('-', group);
    }

    fn tell(&mut self, what: char, group: u32) {
        if let Some(pipe) = &mut self.pipe {
            // A guard that is gone cannot be helped: the run goes on without.
            let _ = pipe.write_all(format!("{what} {group}\n").as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Guard;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn groups_end_with_their_guard_and_forgotten_ones_do_not() {
        let (mut watched, mut forgotten) = (sleeper(), sleeper());
        let mut guard = Guard::start().unwrap();
        guard.watch(watched.id());
        guard.watch(forgotten.id());
        guard.forget(forgotten.id());
        drop(guard);
        // This would wait for ever if it had not been killed.
        assert!(!watched.wait().unwrap().success());
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
    }
}
