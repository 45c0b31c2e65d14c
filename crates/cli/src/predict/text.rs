//! Prints a prediction, and compares it with a measured run.

use super::measured_run::{leading, MeasuredRun};
use crate::check::count;
use ligament_analysis::predict::Prediction;
use ligament_manager::{component_of, format_bytes, format_count, format_seconds};
use ligament_wire::rank_parts;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of rows of a table that are shown.
const MAX_TABLE_ROWS: usize = 25;
/// Maximum number of parts of the critical path that are shown.
const MAX_PATH_PARTS: usize = 8;

/// Returns the summary of a prediction.
pub(super) fn of(prediction: &Prediction) -> String {
    let mut text = format!(
        "{}: {} on {}\n\n",
        prediction.model,
        format_seconds(prediction.duration),
        cores(&prediction.machines)
    );
    text.push_str(&instances(prediction));
    if prediction.machines.len() > 1 {
        text.push('\n');
        text.push_str(&placement(prediction));
    }
    text.push('\n');
    text.push_str(&conduits(prediction));
    let _ = writeln!(
        text,
        "\n{} messages, {} in all",
        format_count(prediction.messages as f64),
        format_bytes(prediction.bytes)
    );
    text.push_str("\ncritical path\n");
    for part in prediction.critical_path.iter().take(MAX_PATH_PARTS) {
        let (what, share) = (part.what.name(), percent(part.part));
        let who = if part.who.is_empty() { what.to_owned() } else { format!("{} {what}", part.who) };
        let _ = writeln!(text, "  {share:>5}  {:>8}  {who}", format_seconds(part.seconds));
    }
    if !prediction.speed_up.is_empty() {
        text.push_str("\nspeed-up\n");
    }
    for one in &prediction.speed_up {
        let cores = one.cores.map_or("any number of cores".to_owned(), |cores| count(cores as usize, "core"));
        let _ = writeln!(text, "  {:>5.2} ×  {:>8}  {cores}", one.speed_up, format_seconds(one.duration));
    }
    text
}

fn cores(machines: &[u32]) -> String {
    match machines {
        [one] => count(*one as usize, "core"),
        several => {
            let each: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("{} machines of {} cores", several.len(), each.join(", "))
        }
    }
}

fn percent(part: f64) -> String {
    match part * 100.0 {
        p if p > 0.0 && p < 0.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Returns a table of these cells. The first column is aligned to the left, all others to the right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match at {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns a table of the predicted activities of instances. If there are many instances, those of a component
/// share a row.
fn instances(prediction: &Prediction) -> String {
    let many = prediction.instances.len() > MAX_TABLE_ROWS;
    let mut groups: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, one) in prediction.instances.iter().enumerate() {
        let name = if many { component_of(&one.name) } else { &one.name };
        let place = *first.entry(name).or_insert(at);
        groups.entry((place, name)).or_default().push(at);
    }
    let heads = ["", "computes", "waits", "sent", "bytes", "received", "bytes", "memory"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for ((_, name), members) in groups.iter().take(MAX_TABLE_ROWS) {
        let n = members.len() as f64;
        let sum = |of: &dyn Fn(usize) -> f64| members.iter().map(|&at| of(at)).sum::<f64>();
        let all = &prediction.instances;
        let who =
            if members.len() > 1 { format!("{name} (mean of {})", members.len()) } else { (*name).to_owned() };
        rows.push(vec![
            who,
            format_seconds(sum(&|at| all[at].computing) / n),
            format_seconds(sum(&|at| all[at].waiting) / n),
            format_count(sum(&|at| all[at].sent_messages as f64)),
            format_bytes(sum(&|at| all[at].sent_bytes)),
            format_count(sum(&|at| all[at].received_messages as f64)),
            format_bytes(sum(&|at| all[at].received_bytes)),
            format_bytes(sum(&|at| all[at].memory.unwrap_or(0.0) + all[at].messages_memory)),
        ]);
    }
    let mut text = table(&rows);
    more(&mut text, groups.len());
    text
}

fn more(text: &mut String, rows: usize) {
    if rows > MAX_TABLE_ROWS {
        let _ = writeln!(text, "… and {} more; --json has all", rows - MAX_TABLE_ROWS);
    }
}

fn placement(prediction: &Prediction) -> String {
    let mut text = String::from("the best placement found\n");
    for (at, cores) in prediction.machines.iter().enumerate() {
        let there = prediction.instances.iter().filter(|one| one.machine as usize == at);
        let names: Vec<String> = there.map(|one| one.name.clone()).collect();
        let names = ligament_manager::list_some(&names, MAX_TABLE_ROWS);
        let _ = writeln!(
            text,
            "  {}: {}",
            count(*cores as usize, "core"),
            if names.is_empty() { "nobody" } else { &names }
        );
    }
    text
}

fn conduits(prediction: &Prediction) -> String {
    let heads = ["", "messages", "bytes", "most under way"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut all: Vec<_> = prediction.conduits.iter().collect();
    all.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    rows.extend(all.iter().take(MAX_TABLE_ROWS).map(|one| {
        vec![
            format!("{} → {}", one.from, one.to),
            format_count(one.messages as f64),
            format_bytes(one.bytes),
            format_count(one.most_under_way as f64),
        ]
    }));
    let mut text = table(&rows);
    more(&mut text, all.len());
    text
}

/// Returns a table that compares the prediction with the run.
pub(super) fn beside(prediction: &Prediction, run: &MeasuredRun) -> String {
    let off = |predicted: f64, happened: f64| {
        if happened > 0.0 {
            format!("{:+.0} %", (predicted / happened - 1.0) * 100.0)
        } else {
            String::new()
        }
    };
    let row = |what: String, predicted: f64, happened: f64| {
        vec![what, format_seconds(predicted), format_seconds(happened), off(predicted, happened)]
    };
    let mut rows = vec![vec![run.record.run.clone(), "predicted".into(), "happened".into(), "off by".into()]];
    rows.push(row("the run".into(), prediction.duration, run.duration()));
    for one in leading(&run.record.instances) {
        let name = rank_parts(&one.name).0;
        let Some(predicted) = prediction.instances.iter().find(|other| other.name == name) else {
            continue;
        };
        rows.push(row(format!("{} computes", one.name), predicted.computing, one.computing + one.transferring));
        rows.push(row(format!("{} waits", one.name), predicted.waiting, one.waiting));
    }
    let shown = rows.len().min(2 + 2 * MAX_TABLE_ROWS);
    let mut text = table(&rows[..shown]);
    if shown < rows.len() {
        let _ = writeln!(text, "… and {} more; --json has all", (rows.len() - shown) / 2);
    }
    text
}

/// Returns the measured values of the run as JSON.
pub(super) fn happened(run: &MeasuredRun) -> serde_json::Value {
    let instances: Vec<serde_json::Value> = (run.record.instances.iter())
        .map(|one| {
            serde_json::json!({
                "name": one.name,
                "computing": one.computing + one.transferring,
                "waiting": one.waiting,
                "sent_messages": one.sent_messages,
                "sent_bytes": one.sent_bytes,
                "received_messages": one.received_messages,
                "received_bytes": one.received_bytes,
            })
        })
        .collect();
    serde_json::json!({
        "run": run.record.run,
        "duration": run.duration(),
        "instances": instances,
        "conduits": run.record.conduits,
    })
}
