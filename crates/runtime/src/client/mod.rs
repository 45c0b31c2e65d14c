//! A run as its clients see it: its records in the run directory, the answers of its head, and its batch job.
//! `watch` follows the state of a run over the head's socket, and `snapshots` follows it over the run
//! directory alone. `tap` shows the values of a port, `grid_tap` those of all blocks of a grid at one model
//! time, `steering` changes settings, `tail` follows a file that grows, `files` reads the files of an
//! instance, `continuation` finds the run of a restart, and `job` and `queue` show the run's job in its batch
//! system.

mod continuation;
mod files;
mod grid_tap;
mod job;
mod picture_time;
mod queue;
mod snapshots;
mod steering;
mod tail;
mod tap;
mod watch;

pub use continuation::{continuation, last_continuation};
pub use files::InstanceFiles;
pub use grid_tap::{
    BlockContent, BlockPicture, GridEvent, GridPicture, GridTap, GridTapRequest, DEFAULT_SHARE,
};
pub use job::{JobRecord, SiteJob};
pub use queue::Queue;
pub use snapshots::Snapshots;
pub use steering::{steer, who};
pub use tail::Tail;
pub use tap::{PortOf, PortValue, TapEvent, TapSession, DEFAULT_BOX_BYTES};
pub use watch::WatchSession;

use ligament_catalogue::{fault, said, Code, Fault};
use ligament_manager::{find_run, InstanceRecord, Journal, JournalEvent, RunDirectory, RunRecord, RunState};
use ligament_shm::socket::{ConnectFailure, Frames, Socket};
use ligament_wire::control::{from_bytes, to_bytes, Notice, Question, Request, PROTOCOL};
use ligament_wire::peek::Sight;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use std::time::Duration;

/// Interval at which a client that waits for an answer checks if the run can still answer.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Reads the record of a run.
pub fn record_of(run: &RunDirectory) -> Result<RunRecord, Fault> {
    let path = run.record();
    let text = ligament_model::read_text(&path).map_err(|error| match JobRecord::of(run) {
        Ok(Some(job)) => fault!(NOT_BEGUN, "{} has not begun: {}", run.name(), job.in_words()),
        _ => fault!(RUN_UNREADABLE, "{}: {error}", path.display()),
    })?;
    serde_json::from_str(&text)
        .map_err(|error| fault!(RUN_UNREADABLE, "{} cannot be read: {error}", path.display()))
}

/// Returns the state of a run as JSON: the answer of its head, with the ports on which each instance sends
/// (`sends`). If the run is over or on another machine, returns its record.
///
/// # Errors
/// There is no such run, or the run does not answer.
pub fn standing_of(run: &str) -> Result<serde_json::Value, Fault> {
    let run = find_run(run)?;
    let record = record_of(&run)?;
    match WatchSession::begin(&run, &record, Duration::ZERO)? {
        Some(mut watching) => watching.news(),
        None => Ok(serde_json::json!({ "run": record })),
    }
}

/// Asks a running run to bring its timeline up to date. Returns true if the run goes on.
///
/// # Errors
/// The run does not answer.
pub fn refresh_timeline(run: &RunDirectory, record: &RunRecord) -> Result<bool, Fault> {
    Ok(ask(run, record, Question::Timeline)?.is_some())
}

/// Returns true if the head of a run is, or was, on this machine. Only then can this process check if the
/// head still runs.
pub fn is_here(record: &RunRecord) -> bool {
    rustix::system::uname().nodename().to_string_lossy() == record.host
}

/// Returns true if there is a process with this number on this machine, and it has not ended.
pub fn is_alive(pid: u32) -> bool {
    let number = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let known =
        number.is_some_and(|number| rustix::process::test_kill_process(number) != Err(rustix::io::Errno::SRCH));
    // A process that has ended has a number until its parent has asked for its exit status.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    known && !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X']))
}

/// Returns true if the head of a run is stopped by Ctrl-Z, SIGSTOP or a debugger, so that it does not answer.
/// On another machine than the head's, the result is always false.
pub fn is_halted(record: &RunRecord) -> bool {
    let running = record.state == RunState::Running && is_here(record);
    running && ligament_agent::process_state(record.pid).is_some_and(|state| state.stopped)
}

/// Returns the line about a stopped run.
pub fn halted_in_words(record: &RunRecord) -> String {
    said!(
        RUN_HALTED,
        "it stands still: its process {0} was stopped by Ctrl-Z, SIGSTOP or a debugger, and answers nobody; \
         \"fg\" in its terminal or \"kill -CONT {0}\" lets it go on",
        record.pid
    )
}

/// Waits until the socket is readable. Fails if the run is stopped.
fn wait_for_answer(socket: &Socket, record: &RunRecord) -> Result<(), Fault> {
    loop {
        if is_halted(record) {
            return Err(broken(record, &halted_in_words(record)));
        }
        let mut fds = [PollFd::new(socket, PollFlags::IN)];
        match poll(&mut fds, Some(&POLL_INTERVAL)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(broken(record, &error)),
        }
    }
}

/// Sends a request to a run, and returns the answer. Returns `None` if the run is over.
pub fn ask(
    run: &RunDirectory,
    record: &RunRecord,
    question: Question,
) -> Result<Option<serde_json::Value>, Fault> {
    match question_and_answer(run, record, question)? {
        None => Ok(None),
        Some(Notice::Answer { json }) => {
            serde_json::from_str(&json).map(Some).map_err(|error| broken(record, &error))
        }
        Some(other) => Err(broken(record, &format!("it said {other:?}"))),
    }
}

/// Asks the head for the content of a path below an instance's directory. Returns `None` if the run is over.
fn peek_at(
    run: &RunDirectory,
    record: &RunRecord,
    instance: &str,
    path: &str,
    offset: u64,
    most: u32,
) -> Result<Option<Sight>, Fault> {
    let question = Question::Peek { instance: instance.to_owned(), path: path.to_owned(), offset, most };
    match question_and_answer(run, record, question)? {
        None => Ok(None),
        Some(Notice::Peeked(sight)) => Ok(Some(sight)),
        Some(other) => Err(broken(record, &format!("it said {other:?}"))),
    }
}

fn broken(record: &RunRecord, what: &dyn std::fmt::Display) -> Fault {
    fault!(RUN_SILENT, "the run {} does not answer: {what}", record.run)
}

fn question_and_answer(
    run: &RunDirectory,
    record: &RunRecord,
    question: Question,
) -> Result<Option<Notice>, Fault> {
    let Some((mut socket, token)) = reach(run, record)? else { return Ok(None) };
    say(&mut socket, record, &token, question)?;
    wait_for_answer(&socket, record)?;
    hear(&mut socket, record).map(|(answer, _)| Some(answer))
}

/// Returns a connection to the agent of a run, and the run's token. Returns `None` if the agent has ended.
fn reach(run: &RunDirectory, record: &RunRecord) -> Result<Option<(Socket, String)>, Fault> {
    let Some(address) = record.agent.as_ref().filter(|_| record.state == RunState::Running) else {
        return Ok(None);
    };
    if is_halted(record) {
        let halted = Fault::new(Code::RUN_HALTED, halted_in_words(record));
        return Err(broken(record, &halted).caused_by(&halted));
    }
    let socket = match Socket::connect(address) {
        Ok(socket) => socket,
        Err(ConnectFailure::Nobody(_)) => return Ok(None),
        Err(why) => {
            let fault = fault!(ANOTHER_USER, "the agent of the run {} cannot be asked: {why}", record.run);
            return Err(fault);
        }
    };
    let token = std::fs::read_to_string(run.token()).map_err(|error| {
        fault!(RUN_UNREADABLE, "{} cannot be read: {error}; is the run yours?", run.token().display())
    })?;
    Ok(Some((socket, token.trim().to_owned())))
}

fn say(socket: &mut Socket, record: &RunRecord, token: &str, question: Question) -> Result<(), Fault> {
    let request = Request::Client { protocol: PROTOCOL, token: token.to_owned(), question };
    socket.send(&to_bytes(&request)).map_err(|error| broken(record, &error))
}

/// Waits for an answer. Returns the answer with its descriptors.
fn hear(socket: &mut Socket, record: &RunRecord) -> Result<(Notice, Vec<OwnedFd>), Fault> {
    let frame = socket.receive().map_err(|error| broken(record, &error))?;
    match from_bytes(&frame.bytes)? {
        Notice::Refused { why } => Err(Fault::heard(why, Code::OTHER_USER)),
        answer => Ok((answer, frame.fds)),
    }
}

/// Returns the instances of a run from its journal: those that were started, have registered, or have ended.
/// The journal does not have their present activities.
pub fn journalled(run: &RunDirectory, record: &RunRecord) -> Vec<InstanceRecord> {
    // The status file has the instances' states of the time at which a client last watched the run.
    let told = std::fs::read_to_string(run.status()).ok();
    let told = told.and_then(|text| serde_json::from_str::<RunRecord>(&text).ok());
    let mut known = told.map_or_else(|| record.instances.clone(), |told| told.instances);
    for entry in Journal::last(&run.journal()) {
        let (name, state) = match entry.event {
            JournalEvent::Started { instance, .. } => (instance, "started"),
            JournalEvent::Registered { instance, .. } => (instance, "registered"),
            JournalEvent::Ended { instance, clean, .. } => (instance, if clean { "done" } else { "failed" }),
            _ => continue,
        };
        match known.iter_mut().find(|one| one.name == name) {
            Some(one) if one.total == 0.0 || state == "done" || state == "failed" => one.state = state.into(),
            Some(_) => {}
            None => known.push(InstanceRecord { name, state: state.into(), ..InstanceRecord::default() }),
        }
    }
    known
}
