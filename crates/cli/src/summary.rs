//! The summary at the end of a run. The commands that start, submit or attach to a run print it. The reason of
//! a failure comes first.

use crate::arguments::print;
use ligament_catalogue::said;
use ligament_manager::{
    core_assignments, format_seconds, list_some, summary_table, RunDirectory, RunRecord, RunState,
    UnusedSettingRecord,
};
use ligament_runtime::{shown, LAST_LINES};

/// Maximum number of instances with a row of their own. If there are more, each component has a row.
const MAX_ROWS: usize = 40;

/// The parts of the summary that are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummaryStyle {
    /// The reason of a failure, and the summary.
    All,
    /// Only the reason of a failure.
    Errors,
    /// The record as JSON.
    Json,
}

/// Returns the exit status for the end of a run: 0 done, 1 failed or stopped, 130 interrupted.
pub(crate) fn exit_status(state: RunState) -> i32 {
    match state {
        RunState::Done => crate::DONE,
        RunState::Interrupted => crate::INTERRUPTED,
        RunState::Running | RunState::Failed | RunState::Stopped => crate::FAILED,
    }
}

/// Prints the end of a run. Returns the exit status.
pub(crate) fn tell(run: &RunDirectory, record: &RunRecord, telling: SummaryStyle) -> i32 {
    let failed = record.failed.as_ref().map(|instance| (instance, run.last_lines(instance, LAST_LINES)));
    if telling == SummaryStyle::Json {
        let mut json = serde_json::to_value(record).unwrap_or_default();
        json["ok"] = (record.state == RunState::Done).into();
        json["directory"] = run.path().display().to_string().into();
        if let Some(why) = record.why() {
            json["code"] = why.code().name().into();
        }
        if let Some((_, lines)) = failed {
            json["last_lines"] = lines.into();
        }
        print(&format!("{json}\n"));
        return exit_status(record.state);
    }
    let took = format_seconds(record.duration.unwrap_or(0.0));
    if let Some(why) = record.why() {
        crate::complain(&why.told(|why| format!("the run failed after {took}: {why}")));
        if let Some((instance, lines)) = failed {
            let file = run.output(instance);
            if lines.is_empty() {
                crate::say(&format!("{instance} printed nothing ({})", file.display()));
            } else {
                crate::say(&format!("the last lines of {instance} ({}):", file.display()));
                lines.iter().for_each(|line| crate::say(&format!("  {line}")));
            }
            for line in how_to_trace(run, record, instance) {
                crate::say(&line);
            }
        }
    }
    let remarks = remarks(record, run);
    if telling == SummaryStyle::All {
        if record.reason.is_none() {
            print(&format!("{}: {} after {took}\n", record.run, record.state.name()));
        }
        print(&format!("\n{}\n", summary_table(&record.instances, MAX_ROWS)));
        if let Some(cores) = core_assignments(&record.instances) {
            print(&format!("cores: {cores}\n"));
        }
        remarks.iter().for_each(|remark| print(&format!("{remark}\n")));
        print(&format!("run directory: {}\n", shown(run.path())));
    } else if record.state != RunState::Done {
        remarks.iter().for_each(|remark| crate::say(remark));
        crate::say(&format!("run directory: {}", shown(run.path())));
    } else {
        remarks.iter().for_each(|remark| crate::say(remark));
    }
    exit_status(record.state)
}

/// Returns advice for finding the line of code at which an instance crashed.
fn how_to_trace(run: &RunDirectory, record: &RunRecord, instance: &str) -> Vec<String> {
    const FAULTS: [&str; 5] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"];
    // An instance that has reported an exception needs no further search.
    if record.reason.as_ref().is_some_and(|why| why.contains("reported an error")) {
        return Vec::new();
    }
    let exit = record.instances.iter().find(|one| one.name == instance).and_then(|one| one.exit.as_deref());
    let Some(fault) = FAULTS.iter().find(|fault| exit.is_some_and(|exit| exit.contains(**fault))) else {
        return Vec::new();
    };
    let model = record.model_files.first().map_or("MODEL", String::as_str);
    // If a shell starts the program, only that shell knows the arguments.
    let words = record.failed_command.as_deref().unwrap_or("PROGRAM ARGUMENTS");
    let which = match record.failed_command {
        Some(_) => "  and in another terminal:",
        None => "  and in another terminal, with its program and arguments:",
    };
    let program = words.split(' ').next().unwrap_or_default();
    let mut lines = vec![
        format!("{instance} crashed ({fault}); to see where, run it in a debugger:"),
        format!("  ligament run {model} --manual '{instance}'"),
        which.to_owned(),
        format!("  ligament join latest '{instance}' -- gdb -ex run -ex backtrace --args {words}"),
        "a code in Python shows its line itself with PYTHONFAULTHANDLER=1 in its environment".to_owned(),
    ];
    let entries = std::fs::read_dir(run.workdir(instance)).into_iter().flatten().flatten();
    let core = entries.map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name == "core" || name.to_string_lossy().starts_with("core."))
    });
    lines.push(match core {
        Some(core) => format!("it left a core file: gdb {program} {}", shown(&core)),
        None => "it left no core file here; \"ulimit -c unlimited\" before the run allows one, and \
                 \"coredumpctl gdb\" finds it where the system keeps them"
            .to_owned(),
    });
    lines
}

/// Returns remarks that the user should read, one on each line.
fn remarks(record: &RunRecord, run: &RunDirectory) -> Vec<String> {
    const MAX_NAMES: usize = 5;
    let mut lines = Vec::new();
    for one in record.unreceived.iter().take(MAX_NAMES) {
        let were = if one.messages == 1 { "1 message was" } else { &format!("{} messages were", one.messages) };
        lines.push(said!(
            NEVER_RECEIVED,
            "warning: {were} never received on the conduit {}: {}",
            one.from,
            one.to
        ));
    }
    if let Some(more) = record.unreceived.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        lines.push(format!("warning: the same on {more} more conduits; run.json has all"));
    }
    let (given, of_model): (Vec<_>, Vec<_>) = record.unasked_settings.iter().partition(|one| one.given);
    for one in given {
        let advice = one.meant.as_ref().map_or(String::new(), |meant| format!("; did you mean \"{meant}\"?"));
        lines.push(said!(NEVER_ASKED_FOR, "warning: the setting \"{}\" was never asked for{advice}", one.name));
    }
    if !of_model.is_empty() {
        let name = |one: &&UnusedSettingRecord| match &one.meant {
            Some(meant) => format!("{} (did you mean \"{meant}\"?)", one.name),
            None => one.name.clone(),
        };
        let names: Vec<String> = of_model.iter().map(name).collect();
        lines.push(said!(
            NEVER_ASKED_FOR,
            "settings of the model that nobody asked for: {}",
            list_some(&names, MAX_NAMES)
        ));
    }
    for one in record.warnings.iter().take(MAX_NAMES) {
        let times = if one.times > 1 { format!(" ({} times)", one.times) } else { String::new() };
        lines.push(format!("warning: {}: {}{times}", one.who, one.text.trim_end()));
    }
    let more = record.warnings.len().saturating_sub(MAX_NAMES) as u64 + record.more_warnings;
    if more > 0 {
        lines.push(format!("warning: … and {more} more, in {}", shown(&run.log())));
    }
    lines
}
