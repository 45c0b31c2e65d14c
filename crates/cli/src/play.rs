//! `ligament play`: runs one submodel alone, feeds it from a case file, and compares its answers with those
//! that the case expects.

use crate::arguments::print;
use crate::check::read;
use crate::summary::{tell, SummaryStyle};
use ligament_analysis::{CheckOptions, Files};
use ligament_catalogue::Fault;
use ligament_manager::{RunDirectory, RunState};
use ligament_runtime::play::{
    play_part, record, PlayOptions, PlaySession as Prepared, RecordOptions, SUBMODEL,
};
use ligament_runtime::{say, shown, RunOptions, Show, Terminal};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run one submodel alone: feed it from a case file, and compare its answers.
///
/// Needs no model file and no other code. The exit status is 0 if all answers are as expected, 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct PlayCommand {
    /// The case: messages for the submodel, and the answers that it is to give.
    pub case: PathBuf,
    /// The program of the submodel, with its arguments.
    #[arg(last = true, required_unless_present_any = ["manual", "record"], value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// Write the case instead: run this model, and record the messages of one of its instances.
    #[arg(
        long,
        value_name = "MODEL",
        num_args = 1..,
        requires = "instance",
        conflicts_with_all = ["program", "manual", "ranks"]
    )]
    pub record: Vec<PathBuf>,
    /// The instance whose messages are recorded.
    #[arg(long, value_name = "INSTANCE", requires = "record")]
    pub instance: Option<String>,
    /// A setting for the run that is recorded, laid over those of the model.
    #[arg(short, long = "set", value_name = "NAME=VALUE", requires = "record")]
    pub settings: Vec<String>,
    /// The submodel is an MPI program of so many processes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with = "manual")]
    pub ranks: Option<u32>,
    /// The launcher of its processes.
    #[arg(long, value_name = "LAUNCHER", default_value = "openmpi", requires = "ranks",
          value_parser = ["openmpi", "mpich", "intelmpi", "srunmpi"])]
    pub launcher: String,
    /// Do not start the submodel: it will be started by hand with `ligament join`, for example in a debugger.
    #[arg(long)]
    pub manual: bool,
    /// How long to wait for each answer.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "60s")]
    pub timeout: Duration,
    /// The run directory [default: a temporary one, kept only if something differs; with --record, below runs].
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

/// The recorder's instance; `ligament play --record` starts it.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordPart {
    pub plan: PathBuf,
    pub case: PathBuf,
}

/// Runs the recorder's instance within a run. Returns the exit status.
pub(crate) fn record_part(arguments: &RecordPart) -> i32 {
    match ligament_runtime::play::record_part(&arguments.plan, &arguments.case) {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}

/// Plays a case, or records one. Returns the exit status.
pub(crate) fn play(arguments: &PlayCommand) -> i32 {
    let done = match &arguments.instance {
        Some(instance) => recorded(arguments, instance),
        None => played(arguments),
    };
    match done {
        Ok(status) => status,
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

/// Runs the player's instance within a run. Returns the exit status.
pub(crate) fn part(arguments: &PlayPart) -> i32 {
    let patience = Duration::try_from_secs_f64(arguments.patience).unwrap_or(Duration::from_secs(60));
    match play_part(&arguments.case, &arguments.result, patience) {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}

/// Runs a model, and writes a case with the messages that one of its instances received and sent.
fn recorded(arguments: &PlayCommand, instance: &str) -> Result<i32, Fault> {
    let options = CheckOptions { files: Files::MustExist, ..CheckOptions::default() };
    let mut report = read(&arguments.record, &arguments.settings, None, options)?;
    crate::say_lines(&report.to_text());
    let Some(model) = report.resolved.take().filter(|_| report.is_ok()) else {
        if arguments.json {
            print(&format!("{}\n", report.to_json()));
        }
        return Ok(crate::BAD_USE);
    };
    let run = RunOptions {
        directory: arguments.run_dir.clone(),
        show: if arguments.json { Show::Nothing } else { Show::View },
        colours: crate::colour::chosen(),
        terminal: Terminal::EndsRun,
        model_files: arguments.record.clone(),
        model_text: report.configuration.to_yaml(),
        ..RunOptions::default()
    };
    let case = arguments.case.clone();
    let options =
        RecordOptions { case, instance: instance.to_owned(), ligament: ligament_launch::own_command(), run };
    let result = record(model, options)?;
    let telling = if arguments.json { SummaryStyle::Json } else { SummaryStyle::Errors };
    let status = tell(&RunDirectory::open(&result.directory), &result.record, telling);
    if status == crate::DONE && !arguments.json {
        say(&format!("{} has the messages of {instance}", shown(&arguments.case)));
    }
    Ok(status)
}

fn played(arguments: &PlayCommand) -> Result<i32, Fault> {
    let name = arguments.case.display().to_string();
    let prepared = Prepared::prepare(&PlayOptions {
        case: arguments.case.clone(),
        program: arguments.program.clone(),
        by_hand: arguments.manual,
        mpi: arguments.ranks.map(|ranks| (ranks, arguments.launcher.clone())),
        ligament: ligament_launch::own_command(),
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
        tell(&run, record, SummaryStyle::Errors);
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
