//! How a run went, as whoever started it, submitted it or is attached to it reads it at its end: the reason first.

use crate::arguments::print;
use crate::runtime::LAST_LINES;
use ligament_manager::{in_seconds, summary_table, RunDirectory, RunRecord, RunState};

/// More instances than this are shown by component.
const MOST_ROWS: usize = 40;

/// In how many words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// The reason if it failed, and the summary.
    All,
    /// The reason if it failed.
    Errors,
    /// The record as JSON.
    Json,
}

/// The exit status that says how a run ended: 0 done, 1 failed or stopped, 130 interrupted.
pub(crate) fn exit_status(state: RunState) -> i32 {
    match state {
        RunState::Done => crate::DONE,
        RunState::Interrupted => crate::INTERRUPTED,
        RunState::Running | RunState::Failed | RunState::Stopped => crate::FAILED,
    }
}

/// Says how a run went. Gives the exit status that says it too.
pub(crate) fn tell(run: &RunDirectory, record: &RunRecord, telling: Telling) -> i32 {
    let failed = record.failed.as_ref().map(|instance| (instance, run.last_lines(instance, LAST_LINES)));
    if telling == Telling::Json {
        let mut json = serde_json::to_value(record).unwrap_or_default();
        json["ok"] = (record.state == RunState::Done).into();
        json["directory"] = run.path().display().to_string().into();
        if let Some(reason) = &record.reason {
            json["code"] = ligament_catalogue::code_of(reason).into();
        }
        if let Some((_, lines)) = failed {
            json["last_lines"] = lines.into();
        }
        print(&format!("{json}\n"));
        return exit_status(record.state);
    }
    let took = in_seconds(record.duration.unwrap_or(0.0));
    if let Some(reason) = &record.reason {
        crate::complain(&format!("the run failed after {took}: {reason}"));
        if let Some((instance, lines)) = failed {
            let file = run.output(instance);
            if lines.is_empty() {
                crate::say(&format!("{instance} printed nothing ({})", file.display()));
            } else {
                crate::say(&format!("the last lines of {instance} ({}):", file.display()));
                lines.iter().for_each(|line| crate::say(&format!("  {line}")));
            }
        }
    }
    if telling == Telling::All {
        if record.reason.is_none() {
            print(&format!("{}: {} after {took}\n", record.run, record.state.name()));
        }
        print(&format!("\n{}\n", summary_table(&record.instances, MOST_ROWS)));
        print(&format!("run directory: {}\n", shown(run.path())));
    } else if record.state != RunState::Done {
        crate::say(&format!("run directory: {}", shown(run.path())));
    }
    exit_status(record.state)
}

/// A path as seen from here, if that is shorter.
pub(crate) fn shown(path: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// What a command is to call a run from here: its name under ./runs, or its directory.
pub(crate) fn called(run: &RunDirectory) -> String {
    let runs = std::path::Path::new("runs").canonicalize().ok();
    match run.path().parent() {
        parent if parent.is_some() && parent == runs.as_deref() => run.name(),
        _ => shown(run.path()),
    }
}
