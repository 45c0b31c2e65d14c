//! `ligament play`: one submodel alone, fed from a case file, its answers compared with what the case expects.

use crate::arguments::print;
use crate::ending::{tell, Telling};
use ligament_catalogue::Fault;
use ligament_manager::{RunDirectory, RunState};
use ligament_runtime::play::{play_part, Play as Prepared, PlayOptions, SUBMODEL};
use ligament_runtime::{say, shown};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Try one submodel alone: feed it from a case file, and compare what it answers.
///
/// Needs no model file and no other code. The exit status is 0 if all answers are as expected, 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct Play {
    /// The case: messages for the submodel, and the answers that it is to give.
    pub case: PathBuf,
    /// The program of the submodel, with its arguments.
    #[arg(last = true, required_unless_present = "manual", value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// Do not start the submodel: it will be started by hand with `ligament join`, for example in a debugger.
    #[arg(long)]
    pub manual: bool,
    /// How long to wait for each answer.
    #[arg(long, value_name = "TIME", value_parser = crate::spread::seconds, default_value = "60s")]
    pub timeout: Duration,
    /// Where to put the run directory [default: a temporary one, kept only if something differs].
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The player's instance; `ligament play` starts it.
#[derive(Debug, clap::Args)]
pub(crate) struct PlayPart {
    pub case: PathBuf,
    pub result: PathBuf,
    /// Seconds.
    pub patience: f64,
}

/// Plays a case.
pub(crate) fn play(arguments: &Play) -> i32 {
    match played(arguments) {
        Ok(status) => status,
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

/// Is the player in a run.
pub(crate) fn part(arguments: &PlayPart) -> i32 {
    let patience = Duration::try_from_secs_f64(arguments.patience).unwrap_or(Duration::from_secs(60));
    match play_part(&arguments.case, &arguments.result, patience) {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}

fn played(arguments: &Play) -> Result<i32, Fault> {
    let name = arguments.case.display().to_string();
    let prepared = Prepared::prepare(&PlayOptions {
        case: arguments.case.clone(),
        program: arguments.program.clone(),
        by_hand: arguments.manual,
        ligament: crate::site::own_command(),
        timeout: arguments.timeout,
        directory: arguments.run_dir.clone(),
    })?;
    if arguments.manual {
        let directory = prepared.directory().display();
        say(&format!("start the submodel: ligament join {directory} {SUBMODEL} -- PROGRAM"));
    }
    let played = prepared.run()?;
    let (run, record) = (RunDirectory::open(&played.run.directory), &played.run.record);
    if record.state == RunState::Interrupted {
        return Ok(crate::INTERRUPTED);
    }
    let (right, directory) = (played.is_right(), run.path());
    if arguments.json {
        let mut json = played.verdict.to_json();
        json["ok"] = right.into();
        json["expected"] = played.expected.into();
        json["reason"] = record.reason.clone().filter(|_| played.failed).into();
        json["run_directory"] =
            (!right || arguments.run_dir.is_some()).then(|| directory.display().to_string()).into();
        print(&format!("{json}\n"));
    } else if played.failed {
        tell(&run, record, Telling::Errors);
    } else {
        for (line, what) in &played.verdict.wrong {
            let place = if *line > 0 { format!("{name}:{line}") } else { name.clone() };
            print(&format!("{place}: {what}\n"));
        }
        let messages = |n: usize| if n == 1 { "1 message".to_owned() } else { format!("{n} messages") };
        print(&format!("{} of {} as expected\n", played.verdict.right, messages(played.expected)));
        if !right {
            print(&format!("run directory: {}\n", shown(directory)));
        }
    }
    Ok(if right { crate::DONE } else { crate::FAILED })
}
