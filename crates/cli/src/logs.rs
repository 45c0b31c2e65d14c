//! `ligament logs`: shows the log of a run, or the output of an instance; with `-f`, also the lines that
//! are added until the run ends.

use crate::arguments::Logs;
use crate::program_output::ProgramOutput;
use ligament_catalogue::{fault, Fault};
use ligament_manager::{find_run, instances_of, no_such_instance, read_output, RunDirectory, RunLog, RunState};
use ligament_runtime::called;
use ligament_runtime::client::{continuation, is_alive, is_here, record_of, InstanceFiles};
use rustix::fs::inotify;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time within which a run makes the directories of its instances.
const HOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Shows a log or an output. Returns the exit status.
pub(crate) fn logs(arguments: &Logs) -> i32 {
    let shown = meant(arguments).and_then(|(run, instance)| show_all(run, instance, arguments.follow));
    match shown {
        Ok(()) => crate::DONE,
        Err(error) => {
            crate::complain(&error);
            crate::BAD_USE
        }
    }
}

/// Shows the log of a run or the output of an instance. With `follow`, then those of the runs that go on from
/// the run's checkpoints.
fn show_all(mut run: RunDirectory, instance: Option<&str>, follow: bool) -> Result<(), Fault> {
    loop {
        show_of(&run, instance, follow)?;
        let record = record_of(&run).ok().filter(|_| follow);
        let Some(next) = record.and_then(|record| continuation(&run, &record)) else { return Ok(()) };
        crate::say(&format!("{} goes on in {}", run.name(), called(&next)));
        run = next;
        instance.iter().for_each(|instance| wait_for_home(&run, instance));
    }
}

fn show_of(run: &RunDirectory, instance: Option<&str>, follow: bool) -> Result<(), Fault> {
    let Some(instance) = instance else { return show(run, &run.log(), follow) };
    let files = InstanceFiles::of(run, instance)?;
    say_if_silent(run, instance);
    if files.may_be_elsewhere() {
        crate::peek::show(&files, "output.log", 0, follow)
    } else {
        show(run, &run.output(instance), follow)
    }
}

/// Waits until a run that has just begun has made the directory of an instance.
fn wait_for_home(run: &RunDirectory, instance: &str) {
    let until = Instant::now() + HOME_TIMEOUT;
    let is_running = || record_of(run).is_ok_and(|record| record.state == RunState::Running);
    while !run.home(instance).is_dir() && is_running() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the run and the instance that the arguments mean. A single name that is no run may be an
/// instance of the latest run.
fn meant(arguments: &Logs) -> Result<(RunDirectory, Option<&str>), Fault> {
    let found = find_run(&arguments.run);
    if let (Err(_), None, Ok(latest)) = (&found, &arguments.instance, find_run("latest")) {
        if latest.home(&arguments.run).is_dir() {
            return Ok((latest, Some(&arguments.run)));
        }
        // The name is the name of a component with several instances.
        let copies = format!("{}[", arguments.run);
        if instances_of(&latest).iter().any(|name| name.starts_with(&copies)) {
            return Err(no_such_instance(&latest, &arguments.run));
        }
    }
    Ok((found?, arguments.instance.as_deref()))
}

/// Prints the reason why an output is empty, if the output is empty.
fn say_if_silent(run: &RunDirectory, instance: &str) {
    let empty = std::fs::metadata(run.output(instance)).map_or(true, |file| file.len() == 0);
    let Ok(record) = record_of(run) else { return };
    let elsewhere = record.domains.iter().any(|domain| domain.scratch.is_some());
    match record.state {
        RunState::Running if empty && !elsewhere => crate::say(&format!("{instance}: no output yet")),
        RunState::Running => {}
        _ if empty => crate::say(&format!("{instance} printed nothing")),
        _ => {}
    }
}

fn show(run: &RunDirectory, path: &Path, follow: bool) -> Result<(), Fault> {
    let wrong = |error: std::io::Error| fault!(RUN_UNREADABLE, "{}: {error}", path.display());
    // The watch begins before the first read, so that no change is missed.
    let watch = if follow { Some(watch(run, path).map_err(|error| wrong(error.into()))?) } else { None };
    let mut file: Option<File> = None;
    let mut out = ProgramOutput::begin();
    // A log that grows too large is moved to this file, so it holds the earlier part.
    if let Ok(earlier) = std::fs::read(RunLog::earlier(path)) {
        let _ = out.show(&earlier);
    }
    loop {
        let over = match record_of(run) {
            Ok(record) => record.state != RunState::Running || (is_here(&record) && !is_alive(record.pid)),
            Err(_) => false,
        };
        if file.is_none() {
            match File::open(path) {
                Ok(opened) => file = Some(opened),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(wrong(error)),
            }
        }
        if let Some(file) = &mut file {
            if !show_rest(file, &mut out).map_err(wrong)? {
                return Ok(());
            }
        }
        if let Some(mut old) = file.take_if(|file| is_another(file, path)) {
            show_rest(&mut old, &mut out).map_err(wrong)?;
            if path != run.log() {
                // This output was assembled at the end of the run, so no lines will be added.
                return Ok(());
            }
            continue;
        }
        match &watch {
            Some(watch) if !over => wait(watch),
            _ => return Ok(()),
        }
    }
}

/// Shows the new bytes of a file. Returns false if the reader of the standard output is gone (`| head`).
fn show_rest(file: &mut File, out: &mut ProgramOutput) -> std::io::Result<bool> {
    let mut bytes = Vec::new();
    read_output(file, &mut bytes)?;
    Ok(out.show(&bytes).is_ok())
}

/// Returns true if the open log was moved away and a new file has its name. The manager then writes to the new
/// file.
fn is_another(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(now)) => open.ino() != now.ino(),
        _ => false,
    }
}

fn watch(run: &RunDirectory, path: &Path) -> rustix::io::Result<rustix::fd::OwnedFd> {
    use inotify::{CreateFlags, WatchFlags};
    let fd = inotify::init(CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
    inotify::add_watch(&fd, run.path(), flags)?;
    if let Some(parent) = path.parent() {
        inotify::add_watch(&fd, parent, flags)?;
    }
    Ok(fd)
}

/// Waits until a file changes, for at most one second: after the manager is killed, no file changes any more.
fn wait(watch: &rustix::fd::OwnedFd) {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    let mut fds = [PollFd::new(watch, PollFlags::IN)];
    if poll(&mut fds, Some(&second)).is_ok_and(|n| n > 0) {
        let mut events = [0u8; 4096];
        let _ = rustix::io::read(watch, &mut events);
    }
}
