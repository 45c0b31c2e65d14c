//! `ligament runs`: lists runs. `ligament names`: lists the names of runs and instances, for shells that
//! complete arguments.

use crate::arguments::print;
use clap_complete::Shell;
use ligament_manager::{find_run, format_seconds, instances_of, runs_in, RunDirectory, RunState, UtcTime};
use ligament_runtime::client::{is_alive, is_halted, is_here, record_of, JobRecord};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Runs {
    /// The directory that they are in.
    #[arg(default_value = "runs")]
    directory: PathBuf,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

/// The row of a run in the list.
struct RunRow {
    name: String,
    started: Option<String>,
    state: String,
    duration: Option<f64>,
    why: Option<String>,
    model: Option<String>,
}

/// Returns the row of a run, or none if the directory holds no run.
fn row(run: &RunDirectory) -> Option<RunRow> {
    let name = run.name();
    let record = match record_of(run) {
        Ok(record) => record,
        Err(why) => {
            let job = JobRecord::of(run).ok().flatten();
            let (state, why) = match job {
                Some(job) => ("queued", job.in_words()),
                None if run.record().exists() => ("?", why.to_string()),
                None => return None,
            };
            return Some(RunRow {
                name,
                started: None,
                state: state.into(),
                duration: None,
                why: Some(why),
                model: None,
            });
        }
    };
    let running = record.state == RunState::Running;
    let state = match record.state {
        RunState::Running if is_here(&record) && !is_alive(record.pid) => "lost",
        RunState::Running if is_halted(&record) => "stands still",
        state => state.name(),
    };
    let began = UtcTime::of_rfc3339(&record.started).filter(|_| running);
    let elapsed = began.map(|began| UtcTime::now().0.saturating_sub(began.0) as f64 / 1e3);
    Some(RunRow {
        name,
        started: Some(record.started),
        state: state.into(),
        duration: record.duration.or(elapsed.filter(|_| state != "lost")),
        why: record.reason,
        model: Some(record.model),
    })
}

/// Carries out `ligament runs`. Returns the exit status.
pub(crate) fn runs(arguments: &Runs) -> i32 {
    let mut rows: Vec<RunRow> = runs_in(&arguments.directory).iter().filter_map(row).collect();
    // Runs without a start time wait in a queue, and come last.
    rows.sort_by(|a, b| {
        (a.started.is_none(), &a.started, &a.name).cmp(&(b.started.is_none(), &b.started, &b.name))
    });
    if arguments.json {
        let one = |row: &RunRow| {
            serde_json::json!({
                "name": row.name, "started": row.started, "state": row.state, "duration": row.duration,
                "reason": row.why, "model": row.model,
                "directory": arguments.directory.join(&row.name).display().to_string(),
            })
        };
        let all: Vec<_> = rows.iter().map(one).collect();
        print(&format!("{}\n", serde_json::json!({ "ok": true, "runs": all })));
        return crate::DONE;
    }
    if rows.is_empty() {
        crate::say(&format!(
            "there are no runs in {}; \"ligament run MODEL\" makes one",
            arguments.directory.display()
        ));
        return crate::DONE;
    }
    let heading = ["name", "began (UTC)", "state", "took", "how it ended"].map(str::to_owned);
    let mut cells = vec![heading];
    cells.extend(rows.into_iter().map(|row| {
        // The recorded form is `2026-11-21T03:04:05.678Z`.
        let began = row.started.map_or(String::new(), |at| at.get(..19).unwrap_or(&at).replace('T', " "));
        let took = row.duration.map_or(String::new(), format_seconds);
        [row.name, began, row.state, took, row.why.unwrap_or_default()]
    }));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for [name, began, state, took, why] in &cells {
        let why: String = match why.char_indices().nth(80) {
            Some((at, _)) => format!("{}…", &why[..at]),
            None => why.clone(),
        };
        print(&format!("{}\n", format!("{name:<a$}  {began:<b$}  {state:<c$}  {took:>d$}  {why}").trim_end()));
    }
    crate::DONE
}

/// `ligament names`: prints the names of runs, or of one run's instances, one on each line.
pub(crate) fn names(run: Option<&str>) -> i32 {
    let names = match run {
        None => {
            let latest = find_run("latest").is_ok().then(|| "latest".to_owned());
            let runs = runs_in(std::path::Path::new("runs"));
            runs.iter().filter_map(|run| row(run).map(|row| row.name)).chain(latest).collect()
        }
        // For a run that does not exist, the shell gets no names and no error message.
        Some(run) => find_run(run).map(|run| instances_of(&run)).unwrap_or_default(),
    };
    names.iter().for_each(|name| print(&format!("{name}\n")));
    crate::DONE
}

/// Commands whose first argument is a run. The next constant has the commands that take an instance after the
/// run.
const OF_RUNS: &str = "status view tap logs peek timeline profile stop checkpoint join attach cancel replay";
const OF_INSTANCES: &str = "tap logs peek join";

/// Adds the completion of run and instance names to the completion script of clap.
pub(crate) fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => {
            let bash = BASH.replace("RUNS", &either(1, OF_RUNS)).replace("OTHERS", &either(2, OF_INSTANCES));
            format!("{script}{bash}")
        }
        Shell::Fish => {
            let fish = FISH.replace("RUNS", OF_RUNS).replace("OTHERS", OF_INSTANCES);
            format!("{script}{fish}")
        }
        Shell::Zsh => {
            // clap completes the arguments RUN and INSTANCE as file names. The lines for them are replaced.
            let lines = script.lines().map(|line| {
                let line = match line.trim_start() {
                    one if one.starts_with("'::run -- ") || one.starts_with("':run -- ") => {
                        line.replace(":_default'", ":_ligament_runs'")
                    }
                    one if one.starts_with("'::instance -- ") || one.starts_with("':instance -- ") => {
                        line.replace(":_default'", ":_ligament_instances'")
                    }
                    _ => line.to_owned(),
                };
                line + "\n"
            });
            // The first line declares the completed command, so it must stay first.
            let first = script.lines().next().unwrap_or_default();
            let body: String = lines.skip(1).collect();
            format!("{first}\n{ZSH}{body}")
        }
        _ => script.to_owned(),
    }
}

/// Returns a pattern for `case` in a shell. Example: the words `a b` at position 1 give `1:a|1:b`.
fn either(place: usize, words: &str) -> String {
    let each: Vec<String> = words.split(' ').map(|word| format!("{place}:{word}")).collect();
    each.join("|")
}

const BASH: &str = include_str!("shells/names.bash");
const FISH: &str = include_str!("shells/names.fish");
const ZSH: &str = include_str!("shells/names.zsh");
