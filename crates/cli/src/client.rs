//! What asks a run that is under way: `status`, `stop`, `join`.

use crate::arguments::{print, Join, Status, Stop};
use crate::attach::{last_sign, last_words, lost_in_words, Snapshots};
use ligament_manager::{
    find_run, in_bytes, in_count, in_seconds, Event, InstanceRecord, Journal, RunDirectory, RunRecord, RunState,
};
use ligament_shm::socket::{Frames, Socket, Unanswered};
use ligament_wire::control::{from_bytes, to_bytes, Notice, Question, Request, PROTOCOL};
use ligament_wire::peek::Sight;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// How often somebody who waits for an answer looks whether one can still come.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// How long the manager of a run on another machine has to say how the run stands.
const ELSEWHERE: Duration = Duration::from_secs(5);

/// What is written down of a run.
pub(crate) fn record_of(run: &RunDirectory) -> Result<RunRecord, String> {
    let path = run.record();
    let text = ligament_model::read_text(&path).map_err(|error| match crate::job::JobRecord::of(run) {
        Ok(Some(job)) => format!("{} has not begun: {}", run.name(), job.in_words()),
        _ => format!("{}: {error}", path.display()),
    })?;
    serde_json::from_str(&text).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Has the timeline of a run that is under way brought up to date; whether it is under way.
///
/// # Errors
/// It does not answer.
pub(crate) fn refresh_timeline(run: &RunDirectory, record: &RunRecord) -> Result<bool, String> {
    Ok(ask(run, record, Question::Timeline)?.is_some())
}

/// Whether the head of a run is, or was, on this machine: only then can be seen from here whether it lives.
pub(crate) fn is_here(record: &RunRecord) -> bool {
    rustix::system::uname().nodename().to_string_lossy() == record.host
}

/// Whether a process of this number lives on this machine.
pub(crate) fn is_alive(pid: u32) -> bool {
    let number = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let known =
        number.is_some_and(|number| rustix::process::test_kill_process(number) != Err(rustix::io::Errno::SRCH));
    // One whose end its parent has not taken notice of is still known.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    known && !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X']))
}

/// Whether the head of a run stands still, so that it answers nobody: by Ctrl-Z, SIGSTOP or in a debugger. That can be seen
/// on its machine only.
pub(crate) fn is_halted(record: &RunRecord) -> bool {
    let running = record.state == RunState::Running && is_here(record);
    running && ligament_agent::process_state(record.pid).is_some_and(|state| state.stopped)
}

/// What to say of a run that stands still.
pub(crate) fn halted_in_words(record: &RunRecord) -> String {
    format!(
        "it stands still: its process {0} was stopped by Ctrl-Z, SIGSTOP or a debugger, and answers nobody; \"fg\" in its \
         terminal or \"kill -CONT {0}\" lets it go on",
        record.pid
    )
}

/// Waits until there is something to read, unless the run stands still.
fn wait_for_answer(socket: &Socket, record: &RunRecord) -> Result<(), String> {
    loop {
        if is_halted(record) {
            return Err(broken(record, &halted_in_words(record)));
        }
        let mut fds = [PollFd::new(socket, PollFlags::IN)];
        match poll(&mut fds, Some(&GLANCE)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(broken(record, &error)),
        }
    }
}

/// Asks a run. None if it is not under way any more.
fn ask(
    run: &RunDirectory,
    record: &RunRecord,
    question: Question,
) -> Result<Option<serde_json::Value>, String> {
    match question_and_answer(run, record, question)? {
        None => Ok(None),
        Some(Notice::Answer { json }) => {
            serde_json::from_str(&json).map(Some).map_err(|error| broken(record, &error))
        }
        Some(other) => Err(broken(record, &format!("it said {other:?}"))),
    }
}

/// What there is at a path below an instance's directory, as the run's head sees it. None if the run is not under way any
/// more.
pub(crate) fn peek_at(
    run: &RunDirectory,
    record: &RunRecord,
    instance: &str,
    path: &str,
    offset: u64,
    most: u32,
) -> Result<Option<Sight>, String> {
    let question = Question::Peek { instance: instance.to_owned(), path: path.to_owned(), offset, most };
    match question_and_answer(run, record, question)? {
        None => Ok(None),
        Some(Notice::Peeked(sight)) => Ok(Some(sight)),
        Some(other) => Err(broken(record, &format!("it said {other:?}"))),
    }
}

fn broken(record: &RunRecord, what: &dyn std::fmt::Display) -> String {
    format!("the run {} does not answer: {what}", record.run)
}

fn question_and_answer(
    run: &RunDirectory,
    record: &RunRecord,
    question: Question,
) -> Result<Option<Notice>, String> {
    let Some(address) = record.agent.as_ref().filter(|_| record.state == RunState::Running) else {
        return Ok(None);
    };
    let broken = |what: &dyn std::fmt::Display| broken(record, what);
    if is_halted(record) {
        return Err(broken(&halted_in_words(record)));
    }
    let mut socket = match Socket::connect(address) {
        Ok(socket) => socket,
        Err(Unanswered::Nobody(_)) => return Ok(None),
        Err(why) => return Err(format!("the agent of the run {} cannot be asked: {why}", record.run)),
    };
    let token = std::fs::read_to_string(run.token())
        .map_err(|error| format!("{} cannot be read: {error}; is the run yours?", run.token().display()))?;
    let request = Request::Client { protocol: PROTOCOL, token: token.trim().to_owned(), question };
    socket.send(&to_bytes(&request)).map_err(|error| broken(&error))?;
    wait_for_answer(&socket, record)?;
    let frame = socket.receive().map_err(|error| broken(&error))?;
    match from_bytes(&frame.bytes)? {
        Notice::Refused { why } => Err(why),
        answer => Ok(Some(answer)),
    }
}

/// `ligament status`
pub(crate) fn status(arguments: &Status) -> i32 {
    let told = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let mut now = match ask(&run, &record, Question::Status) {
            // How it stood is known all the same.
            Err(_) if is_halted(&record) => None,
            answer => answer?,
        };
        if now.is_none() && record.state == RunState::Running && !is_here(&record) {
            now = Snapshots::of(&run).one_within(ELSEWHERE);
        }
        Ok((run, record, now))
    });
    let (run, mut record, now) = match told {
        Ok(told) => told,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    let unanswered = now.is_none() && record.state == RunState::Running;
    let halted = unanswered && is_halted(&record);
    let lost = unanswered && is_here(&record) && !halted;
    let mut json = now.unwrap_or_else(|| serde_json::to_value(&record).unwrap_or_default());
    if halted {
        let known = journalled(&run, &record);
        json["halted"] = true.into();
        json["instances"] = serde_json::to_value(&known).unwrap_or_default();
        json["last"] =
            Journal::last(&run.journal()).pop().and_then(|last| serde_json::to_value(last).ok()).into();
        record.instances = known;
    } else if lost {
        // Manager and agent are gone and had no time to say so.
        json["state"] = "lost".into();
        json["last"] =
            Journal::last(&run.journal()).pop().and_then(|last| serde_json::to_value(last).ok()).into();
    } else if let Ok(live) = serde_json::from_value::<RunRecord>(json.clone()) {
        record = live;
    }
    if arguments.json {
        json["ok"] = true.into();
        json["directory"] = run.path().display().to_string().into();
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let state = match (lost, unanswered) {
        _ if halted => format!("{}; {}", halted_in_words(&record), last_sign(&run)),
        (true, _) => format!("lost: {}", lost_in_words(&run, &record)),
        (false, true) => {
            format!("{} on {}, as it last wrote down; {}", record.state.name(), record.host, last_sign(&run))
        }
        (false, false) => record.state.name().to_owned(),
    };
    let mut text = format!("{}: {state}", record.run);
    if let Some(duration) = record.duration {
        text.push_str(&format!(", {}", in_seconds(duration)));
    }
    text.push('\n');
    if let Some(reason) = &record.reason {
        text.push_str(&format!("{reason}\n"));
    }
    if let Some(last) = last_words(&run) {
        text.push_str(&format!("{last}\n"));
    }
    text.push_str(&of_instances(record.instances));
    print(&text);
    crate::DONE
}

/// The instances of a run as its journal knows them: which were started, take part, or have ended. What they do now it does
/// not know.
fn journalled(run: &RunDirectory, record: &RunRecord) -> Vec<InstanceRecord> {
    // As they stood when somebody last watched, if somebody did.
    let told = std::fs::read_to_string(run.status()).ok();
    let told = told.and_then(|text| serde_json::from_str::<RunRecord>(&text).ok());
    let mut known = told.map_or_else(|| record.instances.clone(), |told| told.instances);
    for entry in Journal::last(&run.journal()) {
        let (name, state) = match entry.event {
            Event::Started { instance, .. } => (instance, "started"),
            Event::Registered { instance, .. } => (instance, "registered"),
            Event::Ended { instance, clean, .. } => (instance, if clean { "done" } else { "failed" }),
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

/// A line for each instance; of many, how many are in each state, and those that have waited longest.
pub(crate) fn of_instances(mut instances: Vec<InstanceRecord>) -> String {
    const MOST: usize = 40;
    let mut text = String::new();
    if instances.len() > MOST {
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in &instances {
            *states.entry(&instance.state).or_default() += 1;
        }
        let counts: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        text.push_str(&format!("  {} instances: {}\n", instances.len(), counts.join(", ")));
        instances.retain(|one| one.waits_since.is_some() || one.state == "failed" || one.stopped);
        instances
            .sort_by(|a, b| b.waits_since.unwrap_or(f64::MAX).total_cmp(&a.waits_since.unwrap_or(f64::MAX)));
        instances.truncate(MOST);
    }
    let width = instances.iter().map(|instance| instance.name.chars().count()).max().unwrap_or(0);
    let on = |one: &InstanceRecord| one.on.as_ref().map_or(0, |on| on.chars().count());
    let on_width =
        instances.iter().map(|one| on(one) + one.domain.unwrap_or(0).to_string().len() + 3).max().unwrap_or(0);
    for instance in &instances {
        text.push_str(&format!("  {:<width$}  ", instance.name));
        if let Some(domain) = instance.domain {
            let on = instance.on.as_deref().unwrap_or("?");
            text.push_str(&format!("{:<on_width$}  ", format!("{domain} ({on})")));
        }
        text.push_str(&instance.state);
        if let (Some(port), Some(since)) = (&instance.waits_for, instance.waits_since) {
            text.push_str(&format!(", {port}, for {}", in_seconds(since)));
            if instance.waits_with_timeout {
                text.push_str(" (with a time-out)");
            }
        }
        if instance.stopped {
            text.push_str(", its process is stopped");
        }
        if let Some(time) = instance.model_time {
            text.push_str(&format!(", model time {time}"));
        }
        if instance.total > 0.0 {
            let (sent, bytes) = (instance.sent_messages, in_bytes(instance.sent_bytes as f64));
            let (sent, received) = (in_count(sent as f64), in_count(instance.received_messages as f64));
            text.push_str(&format!(", sent {sent} ({bytes}), received {received}"));
        }
        text.push('\n');
    }
    text
}

/// `ligament stop`
pub(crate) fn stop(arguments: &Stop) -> i32 {
    let asked = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let answer = ask(&run, &record, Question::Stop)?;
        if answer.is_none() && record.state == RunState::Running && !is_here(&record) {
            return Err(format!(
                "{0} runs on {1}, where it can be told to end; \"ligament cancel {0}\" ends the job of a run that was \
                 submitted",
                record.run, record.host
            ));
        }
        Ok((answer, record.run))
    });
    match asked {
        Ok((Some(_), name)) => {
            if arguments.json {
                print(&format!("{}\n", serde_json::json!({ "ok": true })));
            } else {
                print(&format!("{name} ends\n"));
            }
            crate::DONE
        }
        Ok((None, name)) => crate::fail(arguments.json, &format!("{name} is not running"), crate::FAILED),
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

/// `ligament join`
pub(crate) fn join(arguments: &Join) -> i32 {
    let asked = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let question = Question::Join { instance: arguments.instance.clone() };
        ask(&run, &record, question)?.ok_or_else(|| format!("{} is not running", record.run))
    });
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) => return crate::fail(false, &error, crate::BAD_USE),
    };
    let empty = serde_json::Map::new();
    let environment = answer["environment"].as_object().unwrap_or(&empty);
    let pairs = environment.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let directory = answer["directory"].as_str().unwrap_or(".");
    let Some((program, rest)) = arguments.command.split_first() else {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let mut text: String =
            pairs.map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
        text.push_str(&format!("cd {}\n", quoted(directory)));
        print(&text);
        return crate::DONE;
    };
    // A relative program is meant from here, not from the instance's directory.
    let found = std::path::Path::new(program);
    let program = match found.components().count() > 1 {
        true => std::path::absolute(found).map_or_else(|_| program.clone(), Into::into),
        false => program.clone(),
    };
    let error = std::process::Command::new(&program).args(rest).envs(pairs).current_dir(directory).exec();
    crate::fail(false, &format!("{} cannot be started: {error}", found.display()), crate::BAD_USE)
}
