//! `ligament play`: one submodel alone, fed from a case file, its answers compared with what the case expects. The run has
//! two instances: the submodel, and a player (`player.rs`), which is this command once more.

mod case;
mod compare;
mod player;
mod values;

use crate::arguments::print;
use crate::runtime::{run_over, RunOptions, Show, Terminal};
use case::{read_case, Case};
use ligament_analysis::{check_configuration, CheckOptions, Files};
use ligament_manager::{RunDirectory, RunState};
use ligament_model::{Configuration, Operator, Problem, Resolved};
use player::Verdict;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
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

/// The submodel's name in its run.
const SUBMODEL: &str = "submodel";

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
    match player::play(&arguments.case, &arguments.result, patience) {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}

fn played(arguments: &Play) -> Result<i32, String> {
    let name = arguments.case.display().to_string();
    let text = ligament_model::read_text(&arguments.case)
        .map_err(|error| format!("the case {name} cannot be read: {error}"))?;
    let case = match read_case(&text, &name) {
        Ok(case) => case,
        Err(problems) => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(texts.join("\n"));
        }
    };
    let case_file = std::path::absolute(&arguments.case).map_err(|error| format!("{name}: {error}"))?;
    let place = Place::new(arguments.run_dir.as_deref())?;
    let text = model_text(&case, arguments, &case_file, &place.result);
    let (model_text, model) = match text.and_then(|text| resolved(&text).map(|model| (text, model))) {
        Ok(made) => made,
        Err(error) => {
            place.clear();
            return Err(error);
        }
    };
    let options = RunOptions {
        directory: Some(place.run.clone()),
        manual: if arguments.manual { vec![SUBMODEL.to_owned()] } else { Vec::new() },
        show: Show::Nothing,
        for_group: false,
        settings: Vec::new(),
        terminal: Terminal::EndsRun,
        model_files: Vec::new(),
        model_text,
    };
    if arguments.manual {
        crate::say(&format!("start the submodel: ligament join {} {SUBMODEL} -- PROGRAM", place.run.display()));
    }
    ligament_launch::adopt_orphans();
    let result = match run_over(&model, options, None, None) {
        Ok(result) => result,
        Err(error) => {
            place.clear();
            return Err(error);
        }
    };
    let verdict = std::fs::read_to_string(&place.result).ok().and_then(|text| Verdict::from_json(&text));
    let run = RunDirectory::open(&result.directory);
    let record = &result.record;
    if record.state == RunState::Interrupted {
        place.clear();
        return Ok(crate::INTERRUPTED);
    }
    let (verdict, failed) = match verdict {
        // That the run failed is the player's doing.
        Some(verdict) if !verdict.wrong.is_empty() => (verdict, false),
        Some(verdict) => (verdict, record.state != RunState::Done),
        None => (Verdict::default(), true),
    };
    let expected = case.steps.iter().filter(|step| !step.to).count();
    let right = !failed && verdict.wrong.is_empty();
    if arguments.json {
        let mut json = verdict.to_json();
        json["ok"] = right.into();
        json["expected"] = expected.into();
        json["reason"] = record.reason.clone().filter(|_| failed).into();
        json["run_directory"] =
            (!right || arguments.run_dir.is_some()).then(|| result.directory.display().to_string()).into();
        print(&format!("{json}\n"));
    } else if failed {
        crate::ending::tell(&run, record, crate::ending::Telling::Errors);
    } else {
        for (line, what) in &verdict.wrong {
            let place = if *line > 0 { format!("{name}:{line}") } else { name.clone() };
            print(&format!("{place}: {what}\n"));
        }
        let messages = |n: usize| if n == 1 { "1 message".to_owned() } else { format!("{n} messages") };
        print(&format!("{} of {} as expected\n", verdict.right, messages(expected)));
        if !right {
            print(&format!("run directory: {}\n", crate::ending::shown(&result.directory)));
        }
    }
    // Where something differs the run stays to be looked at.
    if right || arguments.run_dir.is_some() {
        place.clear();
    }
    Ok(if right { crate::DONE } else { crate::FAILED })
}

/// Where the run is, and what comes of it.
struct Place {
    run: PathBuf,
    result: PathBuf,
    /// A directory of our own: around both, unless the run is to be elsewhere.
    temporary: PathBuf,
}

impl Place {
    fn new(wanted: Option<&Path>) -> Result<Place, String> {
        let mut made = None;
        for attempt in 0..100 {
            let path = std::env::temp_dir().join(format!("ligament-play-{}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    made = Some(path);
                    break;
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("the directory {} cannot be made: {error}", path.display())),
            }
        }
        let temporary = made.ok_or("no directory for the run can be made in TMPDIR; remove old ones there")?;
        let run = wanted.map_or_else(|| temporary.join("run"), Path::to_owned);
        Ok(Place { run, result: temporary.join("result.json"), temporary })
    }

    /// Takes away what was temporary.
    fn clear(self) {
        let _ = std::fs::remove_dir_all(self.temporary);
    }
}

/// The model of submodel and player, in yMMSL.
fn model_text(case: &Case, arguments: &Play, case_file: &Path, result: &Path) -> Result<String, String> {
    let mut text = String::from("ymmsl_version: v0.1\nmodel:\n  name: play\n  components:\n");
    let mut component = |name: &str, ports: &[(&str, Vec<&str>)]| {
        let _ = write!(text, "    {name}:\n      implementation: {name}\n      ports:\n");
        for (operator, names) in ports.iter().filter(|(_, names)| !names.is_empty()) {
            let _ = writeln!(text, "        {operator}: [{}]", names.join(", "));
        }
    };
    let used_in = |operators: &[Operator]| -> Vec<&str> {
        let used = case.ports.iter().filter(|port| operators.contains(&port.operator));
        used.map(|port| port.name.as_str()).collect()
    };
    let [f_init, o_i, s, o_f] =
        [Operator::FInit, Operator::OI, Operator::S, Operator::OF].map(|operator| used_in(&[operator]));
    component(SUBMODEL, &[("f_init", f_init), ("o_i", o_i), ("s", s), ("o_f", o_f)]);
    let (fed, answered) = (used_in(&[Operator::FInit, Operator::S]), used_in(&[Operator::OI, Operator::OF]));
    component("player", &[("o_i", fed.clone()), ("s", answered.clone())]);
    text.push_str("  conduits:\n");
    for name in fed {
        let _ = writeln!(text, "    player.{name}: {SUBMODEL}.{name}");
    }
    for name in answered {
        let _ = writeln!(text, "    {SUBMODEL}.{name}: player.{name}");
    }
    if !case.settings.is_empty() {
        text.push_str("settings:\n");
        for (name, value) in &case.settings {
            let _ = writeln!(text, "  {name}: {value}");
        }
    }
    text.push_str("implementations:\n");
    let own = crate::site::own_command();
    let patience = arguments.timeout.as_secs_f64().to_string();
    let words =
        ["play-part".into(), case_file.as_os_str().to_owned(), result.as_os_str().to_owned(), patience.into()];
    program(&mut text, "player", own.as_os_str(), &words)?;
    if let Some((first, rest)) = arguments.program.split_first() {
        program(
            &mut text,
            SUBMODEL,
            &located(first, true),
            &rest.iter().map(|word| located(word, false)).collect::<Vec<_>>(),
        )?;
    } else {
        let _ = writeln!(text, "  {SUBMODEL}: {{execution_model: manual}}");
    }
    Ok(text)
}

fn program(text: &mut String, name: &str, executable: &OsStr, arguments: &[OsString]) -> Result<(), String> {
    let word = |word: &OsStr| match word.to_str() {
        Some(word) => Ok(serde_json::Value::from(word).to_string()),
        None => Err(format!("{} is no text in UTF-8", word.to_string_lossy())),
    };
    let arguments: Result<Vec<String>, String> = arguments.iter().map(|argument| word(argument)).collect();
    let _ =
        writeln!(text, "  {name}: {{executable: {}, args: [{}]}}", word(executable)?, arguments?.join(", "));
    Ok(())
}

/// A word of the program's, with the whole path if it names a file from here: the submodel works elsewhere. A program
/// without a slash is looked up in PATH.
fn located(word: &OsStr, is_program: bool) -> OsString {
    let path = Path::new(word);
    let names_a_file = path.is_file() && (!is_program || word.to_string_lossy().contains('/'));
    match std::path::absolute(path) {
        Ok(whole) if names_a_file || (is_program && word.to_string_lossy().contains('/')) => whole.into(),
        _ => word.to_owned(),
    }
}

fn resolved(text: &str) -> Result<Resolved, String> {
    let configuration =
        Configuration::from_yaml(text, "the model of this case").map_err(|problems| problems.to_string())?;
    let options = CheckOptions { files: Files::MustExist, ..CheckOptions::default() };
    let mut report = check_configuration(configuration, &options);
    match report.resolved.take().filter(|_| report.is_ok()) {
        Some(model) => Ok(model),
        // The model is none that the user has written, so its lines mean nothing to them.
        None => Err(report
            .problems
            .iter()
            .filter(|problem| problem.is_error())
            .map(in_words)
            .collect::<Vec<_>>()
            .join("\n")),
    }
}

/// What is wrong with the program, for somebody who gave it on the command line.
fn in_words(problem: &Problem) -> String {
    match problem
        .advice
        .strip_prefix("write \"executable: ")
        .and_then(|rest| rest.split_once("\" and \"args: "))
    {
        Some((program, arguments)) => {
            let arguments = arguments.trim_end_matches('"').trim_matches(['[', ']']).replace(", ", " ");
            format!("{}; write \"-- {program} {arguments}\"", problem.message)
        }
        None => format!("{}; {}", problem.message, problem.advice),
    }
}
