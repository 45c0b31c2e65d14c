//! `ligament run`.

use crate::arguments::{print, Run};
use crate::check::read;
use crate::launched::Launched;
use crate::runtime::{check_instance, run_over, RunOptions, RunResult, Show};
use crate::spread::ByHand;
use ligament_analysis::Files;
use ligament_manager::{in_seconds, summary_table, RunState};

/// More instances than this are shown by component.
const MOST_ROWS: usize = 40;

/// Runs a model.
pub(crate) fn run(arguments: &Run) -> i32 {
    let (model, mut limits) = (arguments.model.as_deref(), arguments.limits.options());
    arguments.places.add_to(&mut limits);
    let machines = arguments.hosts.site().and_then(|site| Ok((arguments.hosts.machines(&site)?, site)));
    let (machines, site) = match machines {
        Ok(found) => found,
        Err(error) => return refuse(arguments, &error),
    };
    let mut report = match read(&arguments.models, &arguments.settings, model, limits, Files::MustExist) {
        Ok(report) => report,
        Err(error) => return refuse(arguments, &error),
    };
    if !arguments.quiet || !report.is_ok() {
        eprint!("{}", report.to_text());
    }
    let found = report.is_ok().then(|| report.resolved.take()).flatten();
    let Some(model) = found else {
        if arguments.json {
            print(&format!("{}\n", report.to_json()));
        }
        return crate::BAD_USE;
    };
    let model_text = report.configuration.to_yaml();
    // Of a large model that is half of the memory, and nobody asks for it again.
    drop(report);
    for name in &arguments.manual {
        if let Err(error) = check_instance(&model, name) {
            return refuse(arguments, &format!("--manual: {error}"));
        }
    }
    let options = RunOptions {
        directory: arguments.run_dir.clone(),
        manual: arguments.manual.clone(),
        show: if arguments.quiet || arguments.json { Show::Nothing } else { Show::View },
        model_files: arguments.models.clone(),
        model_text,
    };
    // This process is a run and nothing else.
    ligament_launch::adopt_orphans();
    let mut agents = ByHand;
    let mut launched = Launched::new(&machines, &site, &arguments.spreading);
    let spread = match arguments.spreading.by_hand(&model, &mut agents) {
        None if !machines.is_only_here() => Some(launched.spread(&machines, &arguments.spreading, &model)),
        by_hand => by_hand,
    };
    match run_over(&model, &options, None, spread) {
        Ok(result) => {
            tell(arguments, &result);
            result.exit_status()
        }
        Err(error) => refuse(arguments, &error),
    }
}

fn refuse(arguments: &Run, error: &str) -> i32 {
    crate::fail(arguments.json, error, crate::BAD_USE)
}

/// How it went: the reason first.
fn tell(arguments: &Run, result: &RunResult) {
    let record = &result.record;
    if arguments.json {
        let mut json = serde_json::to_value(record).unwrap_or_default();
        json["ok"] = (record.state == RunState::Done).into();
        json["directory"] = result.directory.display().to_string().into();
        if let Some(reason) = &record.reason {
            json["code"] = ligament_catalogue::code_of(reason).into();
        }
        if let Some((_, lines)) = &result.failed {
            json["last_lines"] = lines.clone().into();
        }
        print(&format!("{json}\n"));
        return;
    }
    let took = in_seconds(record.duration.unwrap_or(0.0));
    if let Some(reason) = &record.reason {
        crate::complain(&format!("the run failed after {took}: {reason}"));
        if let Some((instance, lines)) = &result.failed {
            let run = ligament_manager::RunDirectory::open(&result.directory);
            let file = run.output(instance);
            if lines.is_empty() {
                eprintln!("{instance} printed nothing ({})", file.display());
            } else {
                eprintln!("the last lines of {instance} ({}):", file.display());
                lines.iter().for_each(|line| eprintln!("  {line}"));
            }
        }
    }
    if !arguments.quiet {
        if record.reason.is_none() {
            print(&format!("{}: {} after {took}\n", record.run, record.state.name()));
        }
        print(&format!("\n{}\n", summary_table(&record.instances, MOST_ROWS)));
        print(&format!("run directory: {}\n", shown(&result.directory)));
    } else if record.state != RunState::Done {
        eprintln!("run directory: {}", shown(&result.directory));
    }
}

/// A path as seen from here, if that is shorter.
fn shown(path: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
