//! `ligament tasks`: the unrolled order of a model, as text, JSON and picture.

mod draw;

use crate::arguments::{print, Tasks as Arguments};
use crate::check::count;
use draw::TasksPicture;
use ligament_analysis::{OperatorTask, Tasks};
use ligament_catalogue::{fault, Fault};
use ligament_runtime::shown;
use std::fmt::Write;

/// Maximum number of rounds, and of components, in a picture.
const MAX_DRAWN: (usize, usize) = (150, 100);

/// Shows the unrolled order of the operators. Returns the exit status.
pub(crate) fn tasks(arguments: &Arguments) -> i32 {
    match told(arguments) {
        Ok((text, status)) => {
            print(&text);
            status
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn told(arguments: &Arguments) -> Result<(String, i32), Fault> {
    let (report, model) = arguments.shown.read()?;
    let status = crate::check::status_of(&report);
    let Some(tasks) = Tasks::of(&report, arguments.steps) else {
        return Err(fault!(NO_MODEL, "the model \"{}\" cannot be expanded", model.name));
    };
    if let Some(path) = &arguments.output {
        let (rounds, lanes) = (tasks.rounds, tasks.components.len());
        if rounds > MAX_DRAWN.0 || lanes > MAX_DRAWN.1 {
            return Err(fault!(
                NO_PNG,
                "{rounds} rounds of {lanes} components are too many for a picture; --steps 1 makes fewer rounds"
            ));
        }
        crate::picture::save(&TasksPicture::of(&tasks).svg(), path)?;
    }
    if arguments.json {
        let mut json = crate::check::of_shown(&report);
        json["tasks"] = serde_json::json!(tasks);
        if let Some(path) = &arguments.output {
            json["picture"] = path.display().to_string().into();
        }
        return Ok((format!("{json}\n"), status));
    }
    let mut text = in_lines(&tasks);
    match &arguments.output {
        Some(path) => {
            let _ = writeln!(text, "\npicture: {}", shown(path));
        }
        None => text.push_str("\n(-o FILE.svg or FILE.png draws it)\n"),
    }
    Ok((text, status))
}

/// Returns the label of a task. Example: `O_I 2.1` is the first step of the second pass. The number of the pass
/// is left out for a component with one pass.
fn label(task: &OperatorTask, several: &[bool]) -> String {
    let several = several[task.component];
    let number = match (several, task.step) {
        (true, Some(step)) => format!(" {}.{step}", task.pass),
        (true, None) => format!(" {}", task.pass),
        (false, Some(step)) => format!(" {step}"),
        (false, None) => String::new(),
    };
    format!("{}{number}", task.operator)
}

/// Returns true for each component with several passes.
fn with_passes(tasks: &Tasks) -> Vec<bool> {
    let mut several = vec![false; tasks.components.len()];
    for task in tasks.tasks.iter().filter(|task| task.pass > 1) {
        several[task.component] = true;
    }
    several
}

fn in_lines(tasks: &Tasks) -> String {
    let mut text = format!(
        "{}: {} in {}\n\n",
        tasks.model,
        count(tasks.tasks.len(), "task"),
        count(tasks.rounds, "round")
    );
    let several = with_passes(tasks);
    let mut sorted: Vec<&OperatorTask> = tasks.tasks.iter().collect();
    sorted.sort_by_key(|task| (task.round, task.component));
    let number = tasks.rounds.to_string().len();
    let name = tasks.components.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut before = 0;
    for task in sorted {
        let round = if task.round == before { String::new() } else { task.round.to_string() };
        before = task.round;
        let mut line =
            format!("{round:>number$}  {:name$}  {}", tasks.components[task.component], label(task, &several));
        let mut from: Vec<&str> = task
            .after
            .iter()
            .filter_map(|after| after.message.as_ref())
            .map(|[sender, _]| sender.as_str())
            .collect();
        from.dedup();
        if !from.is_empty() {
            let _ = write!(line, " ← {}", from.join(", "));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (names, what) in [
        (&tasks.stuck, "waits for ever (ligament check says for whom)"),
        (
            &tasks.unknown,
            "left out, because the model does not say when its ports are used; give it \"ports:\", or name a \
             run of the model after --from",
        ),
    ] {
        for name in names {
            let _ = writeln!(text, "\n{name}: {what}");
        }
    }
    if tasks.is_cut {
        text.push_str("\nand more: what comes after is left out\n");
    }
    text
}
