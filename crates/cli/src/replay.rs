//! `ligament replay`: runs one recorded instance alone, and compares what it sends with the recording.

use crate::arguments::print;
use ligament_catalogue::Fault;
use ligament_manager::find_run;
use ligament_runtime::replay::{Replay, ReplayOptions, ReplayOutcome, ReplayState};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run one recorded instance alone, and compare what it sends with its recording.
///
/// The run was started with `ligament run --record`. Needs no other code. The exit status is 0 if the code does
/// the same again, 1 if not; the first difference is named.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayCommand {
    /// The run: a directory, a name under runs/, or `latest`.
    pub run: String,
    /// The instance, or a rank of one, such as `micro[3]` or `flow:2`.
    #[arg(long, value_name = "INSTANCE")]
    pub only: String,
    /// The program to run instead of the one that was recorded, with its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// The directory in which the program runs [default: a new one, kept only if something differs].
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Start nothing: print the line that does it, for example for a debugger.
    #[arg(long)]
    pub manual: bool,
    /// Print what was found as JSON, or the lines of --manual.
    #[arg(long)]
    pub json: bool,
}

/// Replays an instance. Returns the exit status.
pub(crate) fn replay(arguments: &ReplayCommand) -> i32 {
    match replayed(arguments) {
        Ok(status) => status,
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn replayed(arguments: &ReplayCommand) -> Result<i32, Fault> {
    let replay = Replay::prepare(&ReplayOptions {
        run: find_run(&arguments.run)?,
        only: arguments.only.clone(),
        program: arguments.program.clone(),
        directory: arguments.directory.clone(),
    })?;
    if arguments.manual {
        let lines = replay.lines();
        if arguments.json {
            print(&format!("{}\n", serde_json::json!({ "lines": lines })));
        } else {
            lines.iter().for_each(|line| print(&format!("{line}\n")));
        }
        return Ok(crate::DONE);
    }
    let outcomes = replay.run()?;
    let right = outcomes.iter().all(|outcome| outcome.state.is_right());
    if arguments.json {
        let each: Vec<serde_json::Value> = outcomes.iter().map(in_json).collect();
        let json = serde_json::json!({ "ok": right, "instances": each });
        print(&format!("{json}\n"));
    } else {
        outcomes.iter().for_each(|outcome| print(&format!("{}: {}\n", outcome.name, outcome.text)));
    }
    Ok(if outcomes.iter().any(|outcome| outcome.state == ReplayState::Broken) {
        crate::BAD_USE
    } else if right {
        crate::DONE
    } else {
        crate::FAILED
    })
}

fn in_json(outcome: &ReplayOutcome) -> serde_json::Value {
    serde_json::json!({
        "name": outcome.name,
        "state": outcome.state.name(),
        "messages": outcome.same,
        "text": outcome.text,
    })
}
