//! A `ligament` process that another `ligament` command starts by ssh at a site, or directly on this machine.
//! It reads orders on its standard input and answers on its standard output. Its standard error is for
//! messages.

use crate::site::at;
use ligament_catalogue::{fault, Fault};
use ligament_launch::site::Site;
use ligament_launch::terminal_text::clean;
use ligament_launch::{quote, quote_path};
use std::io::Read;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum delay of the error output after the end of the process. The next constant limits the bytes of the
/// output that are kept.
const LAST_WORDS: Duration = Duration::from_secs(1);
const COMPLAINT: usize = 4096;

/// Returns the command that starts `ligament WORD` at a site, in the site's directory, after the modules and
/// commands of the site file.
pub(crate) fn command(site: &Site, word: &str) -> Command {
    let mut script = String::new();
    for line in site.before() {
        script.push_str(&format!("{{ {line}\n}} || exit 1\n"));
    }
    if let Some(directory) = &site.directory {
        script.push_str(&format!("mkdir -p {0} && cd {0} || exit 1\n", quote_path(directory)));
    }
    let own = ligament_launch::own_command().display().to_string();
    let ligament = site.ligament.as_deref().unwrap_or(&own);
    script.push_str(&format!("l={}\n[ -x \"$l\" ] || ", quote_path(ligament)));
    script.push_str(match site.ligament {
        Some(_) => "command -v \"$l\" >&2 || ",
        None => "l=ligament; command -v \"$l\" >/dev/null || ",
    });
    script.push_str("{ echo \"there is no command ligament: $l\" >&2; exit 127; }\n");
    script.push_str(&format!("exec \"$l\" {word}"));
    let mut command = at(site);
    // ssh joins its arguments with blanks and passes the result to a shell, so the script needs quotes.
    match site.ssh {
        Some(_) => command.arg(format!("exec bash -lc {}", quote(&script))),
        None => command.args(["bash", "-lc", &script]),
    };
    command
}

/// An ssh process with the other end behind it.
pub(crate) struct SshProcess {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listens: Option<JoinHandle<()>>,
}

impl SshProcess {
    pub fn start(mut command: Command) -> Result<(SshProcess, ChildStdin, ChildStdout), Fault> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(
                |error| fault!(SITE_UNREACHABLE, "{name} cannot be started: {error}; is it installed?"),
            )?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let said = Arc::new(Mutex::new(Vec::new()));
        let keeps = said.clone();
        let listens = errors.map(|errors| std::thread::spawn(move || keep_last(errors, &keeps)));
        match input.zip(output) {
            Some((input, output)) => Ok((SshProcess { child, said, listens }, input, output)),
            None => Err(fault!(SITE_UNREACHABLE, "{name} has no pipes")),
        }
    }

    /// Returns the error output of ssh and of the other end.
    pub fn complaint(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            // The wait for the end of the output is limited: a process that ssh leaves behind may hold the pipe
            // open.
            let until = Instant::now() + LAST_WORDS;
            let listens = |one: &Option<JoinHandle<()>>| one.as_ref().is_some_and(|one| !one.is_finished());
            while listens(&self.listens) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = clean(&String::from_utf8_lossy(&said));
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(4)..].join("\n")
    }

    /// Waits until the process ends. A process that has not ended after `within` is killed.
    pub fn end(&mut self, within: Duration) {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for SshProcess {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn keep_last(mut errors: ChildStderr, said: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&buffer[..read]);
        let over = said.len().saturating_sub(COMPLAINT);
        said.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sites_directory_may_be_named_from_the_home_there() {
        let site = Site { directory: Some("~/a b".into()), ..Site::default() };
        let command = command(&site, "word");
        let script = command.get_args().last().unwrap_or_default().to_string_lossy().into_owned();
        assert!(script.contains("mkdir -p \"$HOME\"/'a b' && cd \"$HOME\"/'a b' || exit 1\n"), "{script}");
    }

    #[test]
    fn what_ssh_says_is_heard_even_if_a_process_that_it_leaves_behind_never_closes_its_pipe() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 <&- >&- & echo $!; echo Permission denied >&2; exit 255"]);
        let (mut running, input, mut output) = SshProcess::start(command).unwrap();
        drop(input);
        let mut stays = String::new();
        output.read_to_string(&mut stays).unwrap();
        running.end(Duration::from_secs(60));
        let (told, hears) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(running.complaint()));
        let said = hears.recv_timeout(Duration::from_secs(60));
        let _ = Command::new("kill").arg(stays.trim()).status();
        assert_eq!(said.as_deref(), Ok("Permission denied"));
    }
}
