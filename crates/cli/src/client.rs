//! Questions to a run that is under way: `status`, `stop`, `join`.

use crate::arguments::{print, Join, Status, Stop};
use crate::attach::{last_sign, last_words, lost_in_words};
use ligament_catalogue::fault;
use ligament_manager::{find_run, format_seconds, write_whole, Journal, RunRecord, RunState};
use ligament_runtime::client::{
    ask, halted_in_words, is_alive, is_halted, is_here, journalled, record_of, SiteJob, Snapshots,
};
use ligament_runtime::{of_conduits, of_instances, of_links};
use ligament_wire::control::Question;
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// Maximum time until the manager of a run on another machine answers with the state of the run.
const ELSEWHERE: Duration = Duration::from_secs(5);

/// Carries out `ligament status`. Returns the exit status.
pub(crate) fn status(arguments: &Status) -> i32 {
    let told = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let mut now = match ask(&run, &record, Question::Status) {
            // A halted run answers no more. Its last state is in its record.
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
    // The head answers requests only after all domains have joined.
    let waits = unanswered && !halted && record.agent.is_none() && (!is_here(&record) || is_alive(record.pid));
    let lost = unanswered && is_here(&record) && !halted && !waits;
    let jobs = SiteJob::all_of(&run);
    let mut json = now.unwrap_or_else(|| serde_json::to_value(&record).unwrap_or_default());
    if halted {
        let known = journalled(&run, &record);
        json["halted"] = true.into();
        json["instances"] = serde_json::to_value(&known).unwrap_or_default();
        json["last"] =
            Journal::last(&run.journal()).pop().and_then(|last| serde_json::to_value(last).ok()).into();
        record.instances = known;
    } else if lost {
        // Manager and agent have disappeared without a record of the run's end.
        json["state"] = "lost".into();
        json["last"] =
            Journal::last(&run.journal()).pop().and_then(|last| serde_json::to_value(last).ok()).into();
    } else if let Ok(live) = serde_json::from_value::<RunRecord>(json.clone()) {
        record = live;
    }
    if !jobs.is_empty() {
        json["sites"] = serde_json::to_value(&jobs).unwrap_or_default();
    }
    if arguments.json {
        json["ok"] = true.into();
        json["directory"] = run.path().display().to_string().into();
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let state = match (lost, unanswered) {
        _ if waits => format!("waits for its domains; {}", last_sign(&run)),
        _ if halted => format!("{}; {}", halted_in_words(&record), last_sign(&run)),
        (true, _) => format!("lost: {}", lost_in_words(&run, &record)),
        (false, true) => {
            format!("{} on {}, as it last wrote down; {}", record.state.name(), record.host, last_sign(&run))
        }
        (false, false) => record.state.name().to_owned(),
    };
    let mut text = format!("{}: {state}", record.run);
    if let Some(duration) = record.duration {
        text.push_str(&format!(", {}", format_seconds(duration)));
    }
    text.push('\n');
    if let Some(reason) = &record.reason {
        text.push_str(&format!("{reason}\n"));
    }
    if let Some(last) = last_words(&run) {
        text.push_str(&format!("{last}\n"));
    }
    for job in jobs.iter().filter(|_| unanswered || record.state == RunState::Running) {
        text.push_str(&format!("{}\n", job.in_words()));
    }
    for job in crate::sites::left(&run).iter().filter(|job| !job.over && record.state != RunState::Running) {
        let (said, name) = (job.in_words(), &record.run);
        text.push_str(&format!("{said}, as it was last seen; \"ligament cancel {name}\" ends it\n"));
    }
    text.push_str(&of_instances(record.instances, record.time_unit.as_deref()));
    text.push_str(&of_conduits(record.conduits, record.time_unit.as_deref()));
    text.push_str(&of_links(&json["links"]));
    print(&text);
    crate::DONE
}

/// Carries out `ligament stop`. Returns the exit status.
pub(crate) fn stop(arguments: &Stop) -> i32 {
    let asked = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let answer = ask(&run, &record, Question::Stop)?;
        let waits = record.state == RunState::Running && record.agent.is_none();
        if answer.is_none() && waits && (!is_here(&record) || is_alive(record.pid)) {
            // The head answers requests only after all domains have joined. Until then it looks for this file.
            write_whole(&run.stop(), b"", 0o600)?;
            return Ok((Some(serde_json::Value::Null), record.run));
        }
        if answer.is_none() && record.state == RunState::Running && !is_here(&record) {
            return Err(fault!(
                RUNS_ELSEWHERE,
                "{0} runs on {1}, where it can be told to end; \"ligament cancel {0}\" ends the job of a run \
                 that was submitted",
                record.run,
                record.host
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
        Ok((None, name)) => {
            crate::fail(arguments.json, &fault!(NOT_RUNNING, "{name} is not running"), crate::FAILED)
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

/// Carries out `ligament join`. Returns the exit status.
pub(crate) fn join(arguments: &Join) -> i32 {
    let asked = find_run(&arguments.run).and_then(|run| {
        let record = record_of(&run)?;
        let question = Question::Join { instance: arguments.instance.clone() };
        ask(&run, &record, question)?.ok_or_else(|| fault!(NOT_RUNNING, "{} is not running", record.run))
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
        // A shell would run a name such as `BASH_FUNC_f%%`, of an exported function, as code. So only valid
        // names of variables are printed.
        let named = pairs.filter(|(name, _)| ligament_model::is_variable_name(name));
        let mut text: String =
            named.map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
        text.push_str(&format!("cd {}\n", quoted(directory)));
        print(&text);
        return crate::DONE;
    };
    // The path is made absolute, because the program starts in the working directory of the instance.
    let found = std::path::Path::new(program);
    let program = if found.components().count() > 1 {
        std::path::absolute(found).map_or_else(|_| program.clone(), Into::into)
    } else {
        program.clone()
    };
    let error = std::process::Command::new(&program).args(rest).envs(pairs).current_dir(directory).exec();
    crate::fail(false, &fault!(NOT_STARTABLE, "{} cannot be started: {error}", found.display()), crate::BAD_USE)
}
