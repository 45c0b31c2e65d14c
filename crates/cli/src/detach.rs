//! `ligament run --detach`: another process, in a session of its own and without a terminal, makes the run.
//! This process waits until the run is up or has failed.

use crate::arguments::{print, Run};
use crate::interrupt::InterruptWatch;
use ligament_catalogue::fault;
use ligament_launch::{ended, start_detached};
use ligament_manager::{RunDirectory, UtcTime};
use ligament_runtime::{called, shown, Terminal};
use rustix::process::{kill_process, Pid, Signal};
use std::fs::File;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks whether the run is up.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Makes the run in another process, which calls `make` with the run directory and a writer that replaces the
/// terminal.
pub(crate) fn detach(
    arguments: &Run,
    directory: Option<PathBuf>,
    model: &str,
    make: impl FnOnce(PathBuf, Terminal) -> i32,
) -> i32 {
    match begin(directory.as_deref(), model, arguments.json, make) {
        Ok((run, pid)) => tell(&run, pid, arguments),
        Err(status) => status,
    }
}

/// Starts a process that makes the run, and waits for the byte with which this process reports that the run is
/// up. Returns the run directory and the number of the process.
///
/// # Errors
/// Fails if the run fails before it is up. The reason is printed, and the error is the exit status.
pub(crate) fn begin(
    directory: Option<&Path>,
    model: &str,
    json: bool,
    make: impl FnOnce(PathBuf, Terminal) -> i32,
) -> Result<(RunDirectory, u32), i32> {
    let started = RunDirectory::prepare(directory, model, UtcTime::now()).and_then(|run| {
        let broken = |error: std::io::Error| {
            fault!(NOT_STARTABLE, "a process without a terminal cannot be started: {error}")
        };
        let (line, theirs) = UnixStream::pair().map_err(broken)?;
        line.set_nonblocking(true).map_err(broken)?;
        let printed = run.printed();
        let directory = run.path().to_path_buf();
        let pid = start_detached(&printed, || make(directory, Terminal::None(Arc::new(theirs))));
        let pid = pid.map_err(broken)?;
        let printed = File::open(&printed).map_err(broken)?;
        Ok(DetachedRun { run, line, printed, pid, json, ear: InterruptWatch::new()? })
    });
    match started {
        Ok(detached) => detached.await_it(),
        Err(error) => Err(crate::fail(json, &error, crate::BAD_USE)),
    }
}

/// A run that another process begins.
struct DetachedRun {
    run: RunDirectory,
    /// Stream on which the process sends a byte when the run is up.
    line: UnixStream,
    printed: File,
    pid: u32,
    json: bool,
    ear: InterruptWatch,
}

impl DetachedRun {
    fn await_it(mut self) -> Result<(RunDirectory, u32), i32> {
        let mut all = String::new();
        loop {
            // The state of the process and the byte are read before the output. So the output that is read
            // afterwards is complete up to that state.
            let status = ended(self.pid);
            let up = matches!((&self.line).read(&mut [0]), Ok(1));
            let mut said = String::new();
            let _ = self.printed.read_to_string(&mut said);
            if !self.json {
                crate::say_lines(&said);
            }
            all.push_str(&said);
            if up {
                return Ok((self.run, self.pid));
            }
            if let Some(status) = status {
                if all.is_empty() && status != crate::DONE {
                    crate::complain(&fault!(
                        RUN_DIRECTORY_UNWRITABLE,
                        "the run could not begin, and could not write why into {}; is there room on its disk?",
                        self.run.path().display()
                    ));
                }
                if self.json {
                    // The last line is the result. Earlier lines are messages.
                    let (said, result) = all.trim_end().rsplit_once('\n').unwrap_or(("", all.trim_end()));
                    crate::say_lines(said);
                    print(&format!("{result}\n"));
                }
                return Err(status);
            }
            if self.ear.waits(POLL_INTERVAL) {
                // The run is not detached yet, so Ctrl-C ends it in order. A second Ctrl-C ends it at once.
                let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::INT));
            }
        }
    }
}

fn tell(run: &RunDirectory, pid: u32, arguments: &Run) -> i32 {
    let name = run.name();
    if arguments.json {
        let directory = run.path().display().to_string();
        let json = serde_json::json!({ "ok": true, "run": name, "directory": directory, "pid": pid });
        print(&format!("{json}\n"));
    } else {
        print(&format!("run directory: {}\n", shown(run.path())));
        if !arguments.quiet {
            let called = called(run);
            print(&format!(
                "it runs on its own (process {pid}): \"ligament attach {called}\" shows it, \"ligament stop \
                 {called}\" ends it\n"
            ));
        }
    }
    crate::DONE
}
