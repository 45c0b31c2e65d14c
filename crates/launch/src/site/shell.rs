//! A shell at a site that stays open, so that one sign-in is enough for all scripts that a run needs at the
//! site. Scripts and output go over the channel of ssh or of a local shell, so nothing of them appears on a
//! command line. If the shell breaks, the next script gets a new shell.

use super::Site;
use crate::agents::ssh_words;
use crate::process::{end_group, group_lives};
use crate::terminal_text::clean;
use ligament_catalogue::{fault, Fault};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Timeout of a connection to a site, in s.
const CONNECT_TIMEOUT_S: u64 = 30;
/// Time that the processes of a shell have to end after SIGTERM, before they are killed.
const END_GRACE: Duration = Duration::from_millis(500);
/// Maximum size of a script's output, in bytes.
const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// The output of a script, including its errors, and the script's success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutput {
    pub succeeded: bool,
    pub said: String,
}

/// A shell at a site.
pub struct SiteShell {
    site: Site,
    open: Option<ShellProcess>,
    /// Number of scripts so far. The number makes the mark at the end of each output unique.
    count: u64,
}

struct ShellProcess {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// True if the shell has begun its first script, after its startup files.
    began: bool,
}

impl Drop for ShellProcess {
    fn drop(&mut self) {
        // The whole process group is ended, because a script may have left processes. Startup files may
        // hold locks, which they release when they are asked to end. (The lock of pyenv is a file that
        // delays every later login by a minute.)
        let group = self.child.id();
        end_group(group, Signal::TERM);
        let until = Instant::now() + END_GRACE;
        while Instant::now() < until {
            let _ = self.child.try_wait();
            if !group_lives(group) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        end_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl SiteShell {
    /// Makes a shell that its first script opens.
    pub fn at(site: &Site) -> SiteShell {
        SiteShell { site: site.clone(), open: None, count: 0 }
    }

    /// Runs a script, after the site's modules and commands. The script's input is empty.
    ///
    /// # Errors
    /// The site is not reached, or does not answer in time. In the second case it is unknown if the script
    /// has run.
    pub fn run(&mut self, script: &str, within: Duration) -> Result<ScriptOutput, Fault> {
        let until = Instant::now() + within;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open(until)?,
        };
        let answer = self.ask(&mut open, script, until)?;
        self.open = Some(open);
        Ok(answer)
    }

    fn open(&mut self, until: Instant) -> Result<ShellProcess, Fault> {
        let mut words = match &self.site.ssh {
            None => Vec::new(),
            Some(target) => {
                // The shell uses an existing master connection of ssh. It never becomes a master connection
                // that other processes need, because it is killed at the end.
                let own = ["-o".to_owned(), "ControlMaster=no".to_owned()];
                ssh_words(&[&own[..], &self.site.ssh_options].concat(), CONNECT_TIMEOUT_S, target)
            }
        };
        words.extend(["bash", "-ls"].map(Into::into));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must not reach the shell, so the shell has a process group of its own.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| {
            fault!(SITE_UNREACHABLE, "{}: {error}; is it installed?", command.get_program().to_string_lossy())
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(fault!(SITE_UNREACHABLE, "a shell has no pipes"));
        };
        let mut open = ShellProcess { child, input, output, began: false };
        for line in self.site.before() {
            // The line runs in this shell itself, so that its settings stay.
            let failed = format!("this line failed: {line}");
            let script = format!("{line}\n[ $? -eq 0 ] || {{ echo {} >&2; exit 1; }}", crate::quote(&failed));
            let answer = self.ask_plainly(&mut open, &script, until)?;
            if !answer.succeeded {
                return Err(fault!(SITE_UNREACHABLE, "the site {}: {}", self.site.name, answer.said.trim()));
            }
        }
        Ok(open)
    }

    /// Runs a script in a subshell, so that its changes to the shell do not last.
    fn ask(&mut self, open: &mut ShellProcess, script: &str, until: Instant) -> Result<ScriptOutput, Fault> {
        self.ask_plainly(open, &format!("(\n{script}\n) </dev/null"), until)
    }

    fn ask_plainly(
        &mut self,
        open: &mut ShellProcess,
        script: &str,
        until: Instant,
    ) -> Result<ScriptOutput, Fault> {
        self.count += 1;
        let mark = format!("ligament-{}-{}", std::process::id(), self.count);
        // The output of a login shell's startup files precedes the first mark.
        let text = format!(
            "printf '\\n%s\\n' {mark}-begin\n{{\n{script}\n}} 2>&1\nprintf '\\n%s %d\\n' {mark}-end $?\n"
        );
        let sent = open.input.write_all(text.as_bytes()).and_then(|()| open.input.flush());
        let (begin, end) = (format!("\n{mark}-begin\n"), format!("\n{mark}-end "));
        let mut came = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&came);
            let found = text.split_once(&begin).and_then(|(_, rest)| {
                let (said, rest) = rest.rsplit_once(&end)?;
                let status: i32 = rest.strip_suffix('\n')?.parse().ok()?;
                Some(ScriptOutput { succeeded: status == 0, said: clean(said) })
            });
            if let Some(answer) = found {
                return Ok(answer);
            }
            open.began |= text.contains(&begin);
            drop(text);
            if sent.is_err() || !self.more(open, &mut came, until)? {
                return Err(self.broken(open, &came));
            }
        }
    }

    /// Waits for output and reads it. Returns false at its end.
    fn more(&self, open: &mut ShellProcess, came: &mut Vec<u8>, until: Instant) -> Result<bool, Fault> {
        let name = &self.site.name;
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::new(&open.output, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Ok(0) if open.began => {
                return Err(fault!(SITE_UNREACHABLE, "the site {name} does not answer in time"))
            }
            Ok(0) => return Err(self.never_began()),
            Err(error) => return Err(fault!(SITE_UNREACHABLE, "the site {name}: {error}")),
            Ok(_) => {}
        }
        let mut buffer = [0; 1 << 16];
        match open.output.read(&mut buffer) {
            Err(error) => Err(fault!(SITE_UNREACHABLE, "the site {name}: {error}")),
            Ok(read) if came.len() + read > MAX_OUTPUT_BYTES => {
                Err(fault!(SITE_UNREACHABLE, "the site {name} answers with more than {MAX_OUTPUT_BYTES} bytes"))
            }
            Ok(read) => {
                came.extend_from_slice(&buffer[..read]);
                Ok(read > 0)
            }
        }
    }

    /// Returns the error for a shell that never began its first script.
    fn never_began(&self) -> Fault {
        let name = &self.site.name;
        match &self.site.ssh {
            None => fault!(
                SITE_UNREACHABLE,
                "the site {name} does not answer in time: its shell still reads its startup files, such as \
                ~/.bash_profile; bash -lc true shows what takes so long"
            ),
            Some(target) => fault!(
                SITE_UNREACHABLE,
                "the site {name} does not answer in time: ssh still signs in, or the shell there still reads \
                its startup files, such as ~/.bash_profile; ssh {target} bash -lc true shows what takes so long"
            ),
        }
    }

    /// Returns the error for a shell that has ended, from the output of ssh or of the script.
    fn broken(&self, open: &mut ShellProcess, came: &[u8]) -> Fault {
        end_group(open.child.id(), Signal::KILL);
        let mut said = vec![0; 1 << 16];
        // A master connection of ssh, which stays, keeps the pipe open, so the read has a time limit.
        let read = open.child.stderr.take().and_then(|mut errors| {
            let mut fds = [PollFd::new(&errors, PollFlags::IN)];
            let soon = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
            let there = poll(&mut fds, Some(&soon)).is_ok_and(|ready| ready > 0);
            there.then(|| errors.read(&mut said).ok()).flatten()
        });
        said.truncate(read.unwrap_or(0));
        said.extend_from_slice(came);
        let text = clean(&String::from_utf8_lossy(&said));
        let plain = |line: &&str| !line.is_empty() && !line.starts_with("ligament-");
        let lines: Vec<&str> = text.lines().map(str::trim).filter(plain).collect();
        let said = lines[lines.len().saturating_sub(3)..].join("; ");
        match &self.site.ssh {
            Some(target) => fault!(
                SITE_UNREACHABLE,
                "the site {} is not reached: ssh {target} said: {said}",
                self.site.name
            ),
            None => fault!(SITE_UNREACHABLE, "the shell of the site {} has ended: {said}", self.site.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_site_wants_run_before_lasts_and_what_a_script_does_does_not() {
        let site = Site { commands: vec!["export HERE=there".into()], ..Site::default() };
        let mut shell = SiteShell::at(&site);
        let answer = shell.run("echo \"$HERE\"; cd /; HERE=gone; echo oh >&2", WATCHDOG_TIMEOUT).unwrap();
        assert_eq!((answer.succeeded, answer.said.trim()), (true, "there\noh"));
        let answer = shell.run("cat; echo \"$HERE\"; exit 3", WATCHDOG_TIMEOUT).unwrap();
        assert_eq!((answer.succeeded, answer.said.trim()), (false, "there"));
        let text = "x".repeat(1 << 18);
        let answer = shell.run(&format!("cat <<'END'\n{text}\nEND"), WATCHDOG_TIMEOUT).unwrap();
        assert_eq!(answer.said.trim(), text);
    }

    #[test]
    fn a_line_of_the_site_that_fails_and_a_shell_that_ends_say_so() {
        let site = Site { name: "a".into(), commands: vec!["false # as if".into()], ..Site::default() };
        let why = SiteShell::at(&site).run("echo", WATCHDOG_TIMEOUT).unwrap_err();
        assert!(why.contains("this line failed: false # as if"), "{why}");
        let mut shell = SiteShell::at(&Site { name: "a".into(), ..Site::default() });
        let why = shell.run("kill -9 $$", WATCHDOG_TIMEOUT).unwrap_err();
        assert!(why.contains("the shell of the site a has ended"), "{why}");
        assert!(shell.run("echo again", WATCHDOG_TIMEOUT).unwrap().succeeded, "a new one is opened");
        let why = shell.run("sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert!(why.contains("does not answer in time") && !why.contains("startup"), "{why}");
    }

    /// A shell whose startup files hold a lock, as pyenv's do, for a thousand seconds.
    #[test]
    fn startup_files_that_take_too_long_are_named_and_give_back_what_they_hold() {
        let home = std::env::temp_dir().join(format!("ligament-startup-{}", std::process::id()));
        std::fs::create_dir(&home).unwrap();
        let lock = home.join("lock");
        let quoted = crate::quote(&lock.display().to_string());
        let holds = format!("trap 'rm -f {quoted}' EXIT\n: > {quoted}\nwhile sleep 0.01; do :; done\n");
        std::fs::write(home.join("holds"), holds).unwrap();
        std::fs::write(home.join(".bash_profile"), "bash ~/holds\n").unwrap();
        let mut command = Command::new("bash");
        command
            .arg("-ls")
            .env("HOME", &home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().unwrap();
        let mut open = ShellProcess {
            input: child.stdin.take().unwrap(),
            output: child.stdout.take().unwrap(),
            child,
            began: false,
        };
        let until = Instant::now() + WATCHDOG_TIMEOUT;
        while !lock.exists() {
            assert!(Instant::now() < until, "the startup files were not read");
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut shell = SiteShell::at(&Site { name: "a".into(), ..Site::default() });
        let why = shell.ask_plainly(&mut open, "true", Instant::now() + Duration::from_millis(50)).unwrap_err();
        assert!(why.contains("its shell still reads its startup files"), "{why}");
        drop(open);
        assert!(!lock.exists(), "the lock was left behind");
        std::fs::remove_dir_all(&home).unwrap();
    }
}
