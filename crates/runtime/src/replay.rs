//! A replay: the program of one recorded instance runs alone, without agent and other instances. Its library
//! takes all answers from the recording, and compares what the program sends (`record` in the crate
//! `instance`).

use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{recording_name, RecordKind, RecordingItem, RecordingReader};
use ligament_launch::{names_segments, quote, until_parent_ends, Command};
use ligament_manager::RunDirectory;
use ligament_wire::control::{
    ENV_AGENT, ENV_IDENTITY, ENV_INSTANCE, ENV_RANKS, ENV_REPLAY_RESULTS, ENV_TOKEN, REPLAY_AGENT,
};
use ligament_wire::{rank_name, rank_parts};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

/// Directory below the run directory that has the recordings.
pub(crate) const RECORDINGS_DIRECTORY: &str = "records";
/// The token of a process that is replayed. No agent looks at it.
const REPLAY_TOKEN: &str = "replay";
/// Version of the files with commands.
const COMMAND_VERSION: u32 = 1;
/// Maximum number of directories for a replay in TMPDIR.
const MAX_DIRECTORIES: u32 = 1000;

/// The command of a recorded instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedCommand {
    version: u32,
    /// The program and its arguments.
    words: Vec<String>,
    /// Variables that the instance has, and the process of the run does not have so.
    environment: Vec<(String, String)>,
    /// Variables that the instance does not have.
    removed: Vec<String>,
    /// Number of MPI processes, as text.
    ranks: Option<String>,
    /// True if the command starts all ranks of the instance, each of which is recorded.
    is_of_all_ranks: bool,
}

impl RecordedCommand {
    /// Describes a command. `is_rank` is true if it starts one rank of several.
    ///
    /// # Errors
    /// The command is no text.
    pub fn of(command: &Command, is_rank: bool) -> Result<RecordedCommand, Fault> {
        let words = std::iter::once(command.program.as_os_str());
        let words = words.chain(command.arguments.iter().map(OsString::as_os_str)).map(text);
        let get = |name: &str| command.environment.get(name).and_then(OsStr::to_str).map(str::to_owned);
        let differs = |(name, value): &(&OsStr, &OsStr)| std::env::var_os(name).as_deref() != Some(*value);
        let variables = command.environment.iter().filter(differs);
        let variables = variables.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let is_kept =
            |(name, value): &(&str, &str)| !ENV_IDENTITY.contains(name) && !names_segments(name, value);
        let variables = variables.filter(is_kept);
        let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        Ok(RecordedCommand {
            version: COMMAND_VERSION,
            words: words.collect::<Result<_, _>>()?,
            environment: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            removed: own.filter(|name| command.environment.get(name).is_none()).collect(),
            ranks: get(ENV_RANKS),
            is_of_all_ranks: !is_rank && get(ENV_TOKEN).is_some_and(|token| token.ends_with(':')),
        })
    }

    fn path(directory: &Path, name: &str) -> PathBuf {
        directory.join(recording_name(name)).with_extension("command.json")
    }

    /// Writes the command beside the recording of an instance.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, directory: &Path, name: &str) -> Result<(), Fault> {
        let path = RecordedCommand::path(directory, name);
        let written = fs::create_dir_all(directory).and_then(|()| {
            let mut file =
                fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            std::io::Write::write_all(&mut file, serde_json::to_string_pretty(self)?.as_bytes())
        });
        written.map_err(|error| {
            fault!(RECORDING_STOPPED, "the command of {name} cannot be written to {}: {error}", path.display())
        })
    }

    fn read(directory: &Path, name: &str) -> Option<RecordedCommand> {
        let text = fs::read_to_string(RecordedCommand::path(directory, name)).ok()?;
        serde_json::from_str(&text).ok().filter(|command: &RecordedCommand| command.version == COMMAND_VERSION)
    }
}

fn text(word: &OsStr) -> Result<String, Fault> {
    let text = word.to_str().map(str::to_owned);
    text.ok_or_else(|| fault!(REPLAY_UNUSABLE, "{} is no text in UTF-8", word.to_string_lossy()))
}

/// The options of a replay.
#[derive(Debug)]
pub struct ReplayOptions {
    pub run: RunDirectory,
    /// Name of the instance, or of one of its ranks.
    pub only: String,
    /// The program with its arguments. If it is empty, it is that of the run.
    pub program: Vec<OsString>,
    /// Working directory of the program. `None`: a new directory, which is removed if nothing differs.
    pub directory: Option<PathBuf>,
}

/// A replay that is ready to begin.
#[derive(Debug)]
pub struct Replay {
    /// The recordings of an instance: one, or one for each rank.
    recordings: PathBuf,
    commands: Vec<ReplayCommand>,
    directory: Option<PathBuf>,
}

/// A process that is replayed: an instance, one of its ranks, or all of them.
#[derive(Debug)]
struct ReplayCommand {
    instance: String,
    /// The recordings that the process reads.
    names: Vec<String>,
    token: String,
    words: Vec<OsString>,
    environment: Vec<(String, String)>,
    removed: Vec<String>,
    ranks: Option<String>,
}

/// The outcome of the replay of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOutcome {
    /// Name of the instance, or of its rank.
    pub name: String,
    pub state: ReplayState,
    /// Number of messages that the code has sent as they were recorded.
    pub same: u64,
    /// The first difference, or the reason.
    pub text: String,
}

/// The end of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayState {
    /// The code has done the same as recorded.
    Same,
    /// The code has done the same up to the end of a recording that was cut short.
    Cut,
    /// The code has done something else, or has ended too early.
    Differs,
    /// The recording cannot be read.
    Broken,
}

impl ReplayState {
    /// Returns the state's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ReplayState::Same => "same",
            ReplayState::Cut => "cut",
            ReplayState::Differs => "differs",
            ReplayState::Broken => "broken",
        }
    }

    /// Returns true if nothing differs.
    pub fn is_right(self) -> bool {
        matches!(self, ReplayState::Same | ReplayState::Cut)
    }
}

impl Replay {
    /// Finds the recordings of an instance, and reads them once, so that a changed one is an error before the
    /// program starts.
    ///
    /// # Errors
    /// There is no recording, one cannot be used, or the program is not known.
    pub fn prepare(options: &ReplayOptions) -> Result<Replay, Fault> {
        let recordings = options.run.path().join(RECORDINGS_DIRECTORY);
        let recordings = std::path::absolute(&recordings).unwrap_or(recordings);
        let all = recorded_names(&recordings);
        let names: Vec<String> = all
            .iter()
            .filter(|name| **name == options.only || rank_parts(name).0 == options.only)
            .cloned()
            .collect();
        if names.is_empty() {
            return Err(not_recorded(options, &all));
        }
        for name in &names {
            examine(&recordings.join(recording_name(name)))?;
        }
        let (instance, rank) = rank_parts(&options.only);
        // One command that starts all ranks stands beside the recording of rank 0.
        let first = rank_name(instance, Some(0));
        let together = RecordedCommand::read(&recordings, &first).filter(|command| command.is_of_all_ranks);
        if together.is_some() && rank.is_some() {
            return Err(fault!(
                REPLAY_UNUSABLE,
                "one command has started all ranks of {instance}, so they are replayed together; give --only \
                 {instance}"
            ));
        }
        let of = |names: Vec<String>, token: String, recorded: Option<RecordedCommand>| {
            ReplayCommand::of(options, names, (token, recorded))
        };
        let commands = match together {
            Some(command) => vec![of(names, format!("{REPLAY_TOKEN}:"), Some(command))?],
            None => {
                let each = names.into_iter().map(|name| {
                    let place = rank_parts(&name).1.map_or_else(String::new, |place| format!(":{place}"));
                    let recorded = RecordedCommand::read(&recordings, &name);
                    of(vec![name], format!("{REPLAY_TOKEN}{place}"), recorded)
                });
                each.collect::<Result<_, _>>()?
            }
        };
        Ok(Replay { recordings, commands, directory: options.directory.clone() })
    }

    /// Returns the lines for a shell by which a user can replay each process by hand, for example in a
    /// debugger.
    pub fn lines(&self) -> Vec<String> {
        let line = |command: &ReplayCommand| {
            let mut line = String::from("env");
            command.removed.iter().for_each(|name| _ = write!(line, " -u {name}"));
            for (name, value) in command.variables(&self.recordings) {
                let _ = write!(line, " {name}={}", quote(&value));
            }
            for word in &command.words {
                let _ = write!(line, " {}", quote(&word.to_string_lossy()));
            }
            line
        };
        self.commands.iter().map(line).collect()
    }

    /// Replays all recordings, one process after the other. Its output goes to the terminal.
    ///
    /// # Errors
    /// A program cannot be started, or a directory cannot be made.
    pub fn run(&self) -> Result<Vec<ReplayOutcome>, Fault> {
        let scratch = make_scratch()?;
        let work = match &self.directory {
            Some(directory) => fs::create_dir_all(directory).map(|()| directory.clone()),
            None => fs::create_dir_all(scratch.join("workdir")).map(|()| scratch.join("workdir")),
        };
        let work = work.map_err(|error| fault!(REPLAY_UNUSABLE, "the directory of the program: {error}"))?;
        let mut outcomes = Vec::new();
        for command in &self.commands {
            match command.run(&self.recordings, (&work, &scratch)) {
                Ok(found) => outcomes.extend(found),
                Err(fault) => {
                    let _ = fs::remove_dir_all(&scratch);
                    return Err(fault);
                }
            }
        }
        // The files of a program that did something else may show why.
        if self.directory.is_some() || outcomes.iter().all(|outcome| outcome.state.is_right()) {
            let _ = fs::remove_dir_all(&scratch);
        } else {
            crate::say(&format!("the files of the program are in {}", work.display()));
        }
        Ok(outcomes)
    }
}

impl ReplayCommand {
    fn of(
        options: &ReplayOptions,
        names: Vec<String>,
        (token, recorded): (String, Option<RecordedCommand>),
    ) -> Result<ReplayCommand, Fault> {
        let name = names.first().cloned().unwrap_or_default();
        let known = recorded.unwrap_or_else(|| RecordedCommand {
            version: COMMAND_VERSION,
            words: Vec::new(),
            environment: Vec::new(),
            removed: Vec::new(),
            ranks: None,
            is_of_all_ranks: false,
        });
        let words = match options.program.as_slice() {
            [] => known.words.iter().map(OsString::from).collect(),
            program => program.iter().enumerate().map(|(at, word)| located(word, at == 0)).collect(),
        };
        let words: Vec<OsString> = words;
        if words.is_empty() {
            return Err(fault!(
                REPLAY_UNUSABLE,
                "the run did not start the program of {name}, so it is not known; give it: ligament replay … \
                 -- PROGRAM"
            ));
        }
        Ok(ReplayCommand {
            instance: rank_parts(&name).0.to_owned(),
            names,
            token,
            words,
            environment: known.environment,
            removed: known.removed,
            ranks: known.ranks,
        })
    }

    fn variables(&self, recordings: &Path) -> Vec<(String, String)> {
        let mut all = self.environment.clone();
        all.push((ENV_AGENT.into(), format!("{REPLAY_AGENT}{}", recordings.display())));
        all.push((ENV_INSTANCE.into(), self.instance.clone()));
        all.push((ENV_TOKEN.into(), self.token.clone()));
        all.extend(self.ranks.iter().map(|ranks| (ENV_RANKS.to_owned(), ranks.clone())));
        all
    }

    fn run(&self, recordings: &Path, (work, results): (&Path, &Path)) -> Result<Vec<ReplayOutcome>, Fault> {
        let Some((program, arguments)) = self.words.split_first() else { return Ok(Vec::new()) };
        let mut process = std::process::Command::new(program);
        process.args(arguments).current_dir(work).stdin(std::process::Stdio::null());
        self.removed.iter().for_each(|name| _ = process.env_remove(name));
        process.envs(self.variables(recordings)).env(ENV_REPLAY_RESULTS, results);
        until_parent_ends(&mut process);
        let status = process.status().map_err(|error| {
            fault!(REPLAY_UNUSABLE, "{} cannot be started: {error}", program.to_string_lossy())
        })?;
        let ended = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        Ok(self.names.iter().map(|name| outcome(results, name, &ended)).collect())
    }
}

/// Reads the outcome that the library of a program has written. `ended` says how the program has ended.
fn outcome(results: &Path, name: &str, ended: &str) -> ReplayOutcome {
    let file = results.join(recording_name(name)).with_extension("result");
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut parts = text.splitn(3, '\n');
    let mut next = || parts.next().unwrap_or_default().trim_end();
    let (state, same, text) = (next(), next().parse().unwrap_or(0), next().to_owned());
    let state = match state {
        "same" => ReplayState::Same,
        "cut" => ReplayState::Cut,
        "differs" => ReplayState::Differs,
        "broken" => ReplayState::Broken,
        _ => {
            let text = fault!(
                REPLAY_DIFFERS,
                "the program ended ({ended}) before its instance had done all that was recorded"
            );
            return ReplayOutcome {
                name: name.to_owned(),
                state: ReplayState::Differs,
                same,
                text: text.text().to_owned(),
            };
        }
    };
    ReplayOutcome { name: name.to_owned(), state, same, text }
}

/// Returns the names of the recorded instances and ranks of a run, as their recordings say them.
fn recorded_names(recordings: &Path) -> Vec<String> {
    let entries = fs::read_dir(recordings).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "recording"));
    let name = |path: PathBuf| match RecordingReader::open(&path) {
        Ok(reader) => Some(reader.info.instance),
        // A file that cannot be used still has a name, and the error comes when it is read.
        Err(_) => Some(instance_of(path.file_stem()?.to_str()?)),
    };
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort_by_key(|name| (rank_parts(name).0.to_owned(), rank_parts(name).1));
    names
}

/// Returns the name of the instance to which a file belongs, such as `micro[3]` for `micro-3`.
fn instance_of(stem: &str) -> String {
    let mut parts = stem.split('-');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.strip_prefix('r').and_then(|place| place.parse().ok()) {
            Some(place) => name = rank_name(&name, Some(place)),
            None => _ = write!(name, "[{part}]"),
        }
    }
    name
}

fn not_recorded(options: &ReplayOptions, all: &[String]) -> Fault {
    let (run, wanted) = (options.run.path().display(), &options.only);
    if all.is_empty() {
        return fault!(
            REPLAY_UNUSABLE,
            "{run} has no recordings; record an instance by ligament run --record {wanted} MODEL"
        );
    }
    fault!(REPLAY_UNUSABLE, "{run} has no recording of \"{wanted}\"; it has {}", all.join(", "))
}

/// Reads a whole recording, so that each checksum is compared.
fn examine(path: &Path) -> Result<(), Fault> {
    let mut reader = RecordingReader::open(path)?;
    loop {
        match reader.next_item()? {
            RecordingItem::End | RecordingItem::Cut => return Ok(()),
            RecordingItem::Message(record) => debug_assert!(record.kind != RecordKind::End),
            RecordingItem::Call(..) => {}
        }
    }
}

/// Returns a word of the program's command. A word that names a file becomes the file's full path, because the
/// program runs in another directory. A program without a slash stays a name, which is looked up in PATH.
fn located(word: &OsStr, is_program: bool) -> OsString {
    let path = Path::new(word);
    let has_slash = word.to_string_lossy().contains('/');
    let is_file = path.is_file() && (!is_program || has_slash);
    match std::path::absolute(path) {
        Ok(whole) if is_file || (is_program && has_slash) => whole.into(),
        _ => word.to_owned(),
    }
}

/// Makes a directory for the results of a replay, which only this user can read.
fn make_scratch() -> Result<PathBuf, Fault> {
    for attempt in 0..MAX_DIRECTORIES {
        let name = format!("ligament-replay-{}-{attempt}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(fault!(REPLAY_UNUSABLE, "the directory {} cannot be made: {error}", path.display()))
            }
        }
    }
    Err(fault!(REPLAY_UNUSABLE, "no directory can be made in TMPDIR; remove old ones there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_recording_gives_its_instance() {
        for name in ["micro", "micro[3]", "micro[1][2]", "flow:2", "flow[0]:12"] {
            let file = recording_name(name);
            assert_eq!(instance_of(file.strip_suffix(".recording").expect("its end")), name);
        }
    }
}
