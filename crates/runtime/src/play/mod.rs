//! A run of one submodel alone. It gets its messages from a case file, and its answers are compared with the
//! case. The run has two instances: the submodel, and a player (`player.rs`), whose program is the command
//! `ligament`.

mod case;
mod compare;
mod player;
mod record;
mod values;

pub use player::{play_part, Verdict};
pub use record::{record, record_part, RecordOptions};

use crate::{run_over, RunOptions, RunResult, Show, Terminal};
use case::{read_case, Case};
use ligament_analysis::{check_configuration, CheckOptions, Files};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::RunState;
use ligament_model::{Configuration, Operator, Problem, Problems, ResolvedModel};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The submodel's name in its run.
pub const SUBMODEL: &str = "submodel";

/// The options of `ligament play`.
#[derive(Debug)]
pub struct PlayOptions {
    /// The case file.
    pub case: PathBuf,
    /// The program of the submodel, with its arguments.
    pub program: Vec<OsString>,
    /// True if the submodel is started by hand; then it needs no program.
    pub by_hand: bool,
    /// Number of the submodel's MPI processes, and the command that starts them. `None` if the submodel does
    /// not use MPI.
    pub mpi: Option<(u32, String)>,
    /// The command `ligament`, which is the player's program.
    pub ligament: PathBuf,
    /// Maximum time for each answer.
    pub timeout: Duration,
    /// The run directory. `None`: a temporary directory, which is kept only if a message differs from the case.
    pub directory: Option<PathBuf>,
}

/// A case that is ready to be played.
#[derive(Debug)]
pub struct PlaySession {
    model: ResolvedModel,
    model_text: String,
    place: PlayDirectories,
    /// True if the user has given the run directory, so that it is kept.
    is_kept: bool,
    by_hand: bool,
    expected: usize,
}

/// The result of a played case.
#[derive(Debug)]
pub struct PlayResult {
    pub verdict: Verdict,
    /// The number of messages that the case expects.
    pub expected: usize,
    /// True if the run failed for another reason than a difference.
    pub failed: bool,
    pub run: RunResult,
}

impl PlayResult {
    /// Returns true if all messages were as expected, and the run did not fail.
    pub fn is_right(&self) -> bool {
        !self.failed && self.verdict.wrong.is_empty()
    }
}

impl PlaySession {
    /// Reads a case and prepares its run.
    ///
    /// # Errors
    /// The case or the program has an error, or a directory cannot be made.
    pub fn prepare(options: &PlayOptions) -> Result<PlaySession, Fault> {
        let name = options.case.display().to_string();
        let text = ligament_model::read_text(&options.case)
            .map_err(|error| fault!(CASE_UNREADABLE, "the case {name} cannot be read: {error}"))?;
        let case = read_case(&text, &name).map_err(Problems)?;
        let case_file =
            std::path::absolute(&options.case).map_err(|error| fault!(CASE_UNREADABLE, "{name}: {error}"))?;
        let place = PlayDirectories::new(options.directory.as_deref())?;
        let text = model_text(&case, options, &case_file, &place.result);
        let made = text.and_then(|text| resolved(&text).map(|model| (text, model)));
        let (model_text, model) = match made {
            Ok(made) => made,
            Err(error) => {
                place.clear();
                return Err(error);
            }
        };
        Ok(PlaySession {
            model,
            model_text,
            place,
            is_kept: options.directory.is_some(),
            by_hand: options.by_hand,
            expected: case.steps.iter().filter(|step| !step.to).count(),
        })
    }

    /// Returns the directory of the run.
    pub fn directory(&self) -> &Path {
        &self.place.run
    }

    /// Runs the case. A temporary directory is removed unless an answer differs.
    ///
    /// # Errors
    /// The run could not begin.
    pub fn run(self) -> Result<PlayResult, Fault> {
        let PlaySession { model, model_text, place, is_kept, by_hand, expected } = self;
        let options = RunOptions {
            directory: Some(place.run.clone()),
            manual: if by_hand { vec![SUBMODEL.to_owned()] } else { Vec::new() },
            show: Show::Nothing,
            terminal: Terminal::EndsRun,
            model_text,
            ..RunOptions::default()
        };
        ligament_launch::adopt_orphans();
        let run = match run_over(&model, options, None, None) {
            Ok(run) => run,
            Err(error) => {
                place.clear();
                return Err(error);
            }
        };
        let verdict = std::fs::read_to_string(&place.result).ok().and_then(|text| Verdict::from_json(&text));
        let (verdict, failed) = match verdict {
            // The player itself has ended the run because of the differences, so the run's failure is not
            // reported.
            Some(verdict) if !verdict.wrong.is_empty() => (verdict, false),
            Some(verdict) => (verdict, run.record.state != RunState::Done),
            None => (Verdict::default(), true),
        };
        let played = PlayResult { verdict, expected, failed, run };
        // A run with differences is kept, so that the user can look at it.
        if played.is_right() || is_kept || played.run.record.state == RunState::Interrupted {
            place.clear();
        }
        Ok(played)
    }
}

/// The directories and files of a session.
#[derive(Debug)]
struct PlayDirectories {
    run: PathBuf,
    result: PathBuf,
    /// A temporary directory for the model and the result. The run directory is in it too, if the user has
    /// given none.
    temporary: PathBuf,
}

impl PlayDirectories {
    fn new(wanted: Option<&Path>) -> Result<PlayDirectories, Fault> {
        let mut made = None;
        for attempt in 0..100 {
            let path = std::env::temp_dir().join(format!("ligament-play-{}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    made = Some(path);
                    break;
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(fault!(
                        RUN_DIRECTORY_UNWRITABLE,
                        "the directory {} cannot be made: {error}",
                        path.display()
                    ))
                }
            }
        }
        let temporary = made.ok_or_else(|| {
            fault!(CASE_UNREADABLE, "no directory for the run can be made in TMPDIR; remove old ones there")
        })?;
        let run = wanted.map_or_else(|| temporary.join("run"), Path::to_owned);
        Ok(PlayDirectories { run, result: temporary.join("result.json"), temporary })
    }

    /// Removes the temporary directory.
    fn clear(self) {
        let _ = std::fs::remove_dir_all(self.temporary);
    }
}

/// Returns the model of submodel and player in yMMSL.
fn model_text(case: &Case, options: &PlayOptions, case_file: &Path, result: &Path) -> Result<String, Fault> {
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
    component("player", &[("o_i", fed), ("s", answered)]);
    text.push_str("  conduits:\n");
    for port in &case.ports {
        let (from, to) = if port.operator.receives() { ("player", SUBMODEL) } else { (SUBMODEL, "player") };
        let name = &port.name;
        match port.slots {
            None => {
                let _ = writeln!(text, "    {from}.{name}: {to}.{name}");
            }
            // The number of slots is fixed by the submodel's own model, so there is a conduit from slot to slot
            // for each. Both ports then have as many slots.
            Some(count) => (0..count).for_each(|slot| {
                let _ = writeln!(text, "    {from}.{name}[{slot}]: {to}.{name}[{slot}]");
            }),
        }
    }
    if !case.settings.is_empty() {
        text.push_str("settings:\n");
        for (name, value) in &case.settings {
            let _ = writeln!(text, "  {name}: {value}");
        }
    }
    text.push_str("implementations:\n");
    let patience = options.timeout.as_secs_f64().to_string();
    let words =
        ["play-part".into(), case_file.as_os_str().to_owned(), result.as_os_str().to_owned(), patience.into()];
    program(&mut text, "player", options.ligament.as_os_str(), &words)?;
    if let Some((first, rest)) = options.program.split_first() {
        program(
            &mut text,
            SUBMODEL,
            &located(first, true),
            &rest.iter().map(|word| located(word, false)).collect::<Vec<_>>(),
        )?;
        if let Some((processes, launcher)) = &options.mpi {
            // The line of the submodel's program is the last one.
            text.truncate(text.trim_end().trim_end_matches('}').len());
            match launcher.as_str() {
                // yMMSL has no execution model for MPICH.
                "mpich" => {
                    let _ = writeln!(text, "}}\nligament: {{mpich: [{SUBMODEL}]}}");
                }
                named => {
                    let _ = writeln!(text, ", execution_model: {named}}}");
                }
            }
            let _ = writeln!(text, "resources:\n  {SUBMODEL}: {{mpi_processes: {processes}}}");
        }
    } else {
        // The submodel is started by hand. A program must have an executable, which is never started.
        let _ = writeln!(text, "  {SUBMODEL}: {{executable: /bin/true}}");
    }
    Ok(text)
}

fn program(text: &mut String, name: &str, executable: &OsStr, arguments: &[OsString]) -> Result<(), Fault> {
    let word = |word: &OsStr| match word.to_str() {
        Some(word) => Ok(serde_json::Value::from(word).to_string()),
        None => Err(fault!(CASE_UNREADABLE, "{} is no text in UTF-8", word.to_string_lossy())),
    };
    let arguments: Result<Vec<String>, Fault> = arguments.iter().map(|argument| word(argument)).collect();
    let _ =
        writeln!(text, "  {name}: {{executable: {}, args: [{}]}}", word(executable)?, arguments?.join(", "));
    Ok(())
}

/// Returns a word of the program's command. A word that names a file in the present directory becomes the
/// file's full path, because the submodel runs in another directory. A program without a slash stays a name,
/// which is looked up in PATH.
fn located(word: &OsStr, is_program: bool) -> OsString {
    let path = Path::new(word);
    let names_a_file = path.is_file() && (!is_program || word.to_string_lossy().contains('/'));
    match std::path::absolute(path) {
        Ok(whole) if names_a_file || (is_program && word.to_string_lossy().contains('/')) => whole.into(),
        _ => word.to_owned(),
    }
}

fn resolved(text: &str) -> Result<ResolvedModel, Fault> {
    let configuration = Configuration::from_yaml(text, "the model of this case")?;
    let options = CheckOptions { files: Files::MustExist, ..CheckOptions::default() };
    let mut report = check_configuration(configuration, &options);
    match report.resolved.take().filter(|_| report.is_ok()) {
        Some(model) => Ok(model),
        // The model is generated, so its line numbers have no meaning for the user.
        None => {
            let errors: Vec<&Problem> = report.problems.iter().filter(|problem| problem.is_error()).collect();
            let words: Vec<String> = errors.iter().map(|problem| in_words(problem)).collect();
            Err(Fault::new(errors.first().map_or(Code::BAD_CASE, |problem| problem.code), words.join("\n")))
        }
    }
}

/// Describes a problem of the program that the command line names.
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
