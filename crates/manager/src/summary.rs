//! The table that is shown at the end of a run, and the formats of numbers for people.

use crate::record::{list_some, InstanceRecord};
use std::fmt::Write;

/// Formats a duration for people: `1.2 ms`, `3.45 s`, `2 min 5 s`, `1 h 2 min`, `3 d 4 h`.
pub fn format_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        s if s < 0.999_5 => format!("{:.1} ms", s * 1e3),
        s if s < 59.995 => format!("{s:.2} s"),
        s if s < 3599.5 => format!("{} min {} s", s.round() as u64 / 60, s.round() as u64 % 60),
        s if s < 86_370.0 => {
            format!("{} h {} min", (s / 60.0).round() as u64 / 60, (s / 60.0).round() as u64 % 60)
        }
        s => format!("{} d {} h", (s / 3600.0).round() as u64 / 24, (s / 3600.0).round() as u64 % 24),
    }
}

/// Formats a count for people: `999`, `12,345`, `1.2 M`.
pub fn format_count(count: f64) -> String {
    const UNITS: [&str; 4] = ["M", "G", "T", "P"];
    if count < 999_999.5 {
        let whole = count.round() as u64;
        return match whole / 1000 {
            0 => whole.to_string(),
            thousands => format!("{thousands},{:03}", whole % 1000),
        };
    }
    let (mut value, mut unit) = (count / 1e6, 0);
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats a number of bytes for people.
pub fn format_bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{value:.0} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

const HEADINGS: [&str; 8] = ["instance", "compute", "wait", "transfer", "sent", "", "received", ""];

fn cells(name: String, records: &[&InstanceRecord]) -> [String; 8] {
    let n = records.len().max(1) as f64;
    let mean =
        |field: fn(&InstanceRecord) -> f64| format_seconds(records.iter().map(|r| field(r)).sum::<f64>() / n);
    let sum = |field: fn(&InstanceRecord) -> u64| records.iter().map(|r| field(r)).sum::<u64>();
    [
        name,
        mean(|r| r.computing),
        mean(|r| r.waiting),
        mean(|r| r.transferring),
        format_count(sum(|r| r.sent_messages) as f64),
        format_bytes(sum(|r| r.sent_bytes) as f64),
        format_count(sum(|r| r.received_messages) as f64),
        format_bytes(sum(|r| r.received_bytes) as f64),
    ]
}

/// Returns the component's name in the name of an instance or of a rank.
pub fn component_of(name: &str) -> &str {
    name.split_once(['[', ':']).map_or(name, |(component, _)| component)
}

/// Returns the table with one line per instance. If there are more than `most` instances, the table has one
/// line per component instead, with mean times and sums of messages, and at most `most` of these lines.
pub fn summary_table(records: &[InstanceRecord], most: usize) -> String {
    let mut rows: Vec<[String; 8]> = Vec::new();
    if records.len() <= most {
        rows.extend(records.iter().map(|record| cells(record.name.clone(), &[record])));
    } else {
        let mut rest = records;
        while let Some(first) = rest.first() {
            let stem = component_of(&first.name);
            let count = rest.iter().take_while(|record| component_of(&record.name) == stem).count();
            let (these, others) = rest.split_at(count);
            let all: Vec<&InstanceRecord> = these.iter().collect();
            let name = if count == 1 { first.name.clone() } else { format!("{stem} (mean of {count})") };
            rows.push(cells(name, &all));
            rest = others;
        }
    }
    let hidden = rows.len().saturating_sub(most);
    rows.truncate(most);
    let mut widths = HEADINGS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut table = String::new();
    let headings = HEADINGS.map(str::to_owned);
    for row in std::iter::once(&headings).chain(&rows) {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            let _ = write!(line, "  {cell:>width$}");
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
    if hidden > 0 {
        let _ = writeln!(table, "… and {hidden} more, in run.json");
    }
    table
}

/// Formats a list of cores, such as `0-3,6`, for people: `core 2`, `cores 0-3,6`.
pub fn format_cores(cores: &str) -> String {
    let several = cores.contains(['-', ',']);
    format!("core{} {cores}", if several { "s" } else { "" })
}

/// Returns a text with the cores of each instance, or `None` if no instance has more than one core.
pub fn core_assignments(records: &[InstanceRecord]) -> Option<String> {
    const MAX_NAMED_INSTANCES: usize = 20;
    let is_several = |one: &InstanceRecord| one.cores.as_ref().is_some_and(|cores| cores.contains(['-', ',']));
    let said = |one: &InstanceRecord| {
        let cores = one.cores.as_ref()?;
        let on = one.on.as_ref().map_or(String::new(), |on| format!(" of {on}"));
        Some(format!("{} {cores}{on}", one.name))
    };
    let all: Vec<String> = records.iter().filter_map(said).collect();
    records.iter().any(is_several).then(|| list_some(&all, MAX_NAMED_INSTANCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_said_where_somebody_has_several() {
        assert_eq!((format_cores("2").as_str(), format_cores("0-3").as_str()), ("core 2", "cores 0-3"));
        let record = |name: &str, cores: Option<&str>, on: Option<&str>| InstanceRecord {
            name: name.into(),
            cores: cores.map(str::to_owned),
            on: on.map(str::to_owned),
            ..InstanceRecord::default()
        };
        let all = [
            record("macro", Some("0"), None),
            record("flow", Some("1-4"), Some("n1")),
            record("x", None, None),
        ];
        assert_eq!(core_assignments(&all).as_deref(), Some("macro 0, flow 1-4 of n1"));
        assert_eq!(core_assignments(&all[..1]), None);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(format_seconds(0.000_012), "12 µs");
        assert_eq!(format_seconds(0.25), "250.0 ms");
        assert_eq!(format_seconds(0.9999), "1.00 s");
        assert_eq!(format_seconds(59.999), "1 min 0 s");
        assert_eq!(format_seconds(125.0), "2 min 5 s");
        assert_eq!(format_seconds(3725.0), "1 h 2 min");
        assert_eq!(format_seconds(90_000.0), "1 d 1 h");
        let counts =
            [(7.0, "7"), (1234.0, "1,234"), (999_999.0, "999,999"), (1_234_567.0, "1.2 M"), (5e9, "5.0 G")];
        counts.iter().for_each(|&(count, text)| assert_eq!(format_count(count), text));
        assert_eq!(format_bytes(1023.0), "1023 B");
        assert_eq!(format_bytes(1024.0 * 1024.0), "1.0 MiB");
    }

    #[test]
    fn many_instances_become_a_line_for_each_component() {
        let record = |name: &str, sent| InstanceRecord {
            name: name.into(),
            state: "done".into(),
            domain: None,
            on: None,
            pid: None,
            cores: None,
            exit: None,
            model_time: None,
            model_end: None,
            iterations: 1,
            total: 1.0,
            computing: 0.5,
            waiting: 0.5,
            transferring: 0.0,
            sent_messages: sent,
            sent_bytes: 0,
            received_messages: 0,
            received_bytes: 0,
            waits_for: None,
            waits_since: None,
            waits_on: Vec::new(),
            waits_with_timeout: false,
            stopped: false,
            ranks: None,
            ranks_since: None,
        };
        let all = [record("macro", 4), record("micro[0]", 1), record("micro[1]", 2)];
        let table = summary_table(&all, 2);
        assert!(table.contains("micro (mean of 2)") && table.lines().count() == 3, "{table}");
        assert_eq!(summary_table(&all, 3).lines().count(), 4);
        let cut = summary_table(&all, 1);
        assert!(cut.contains("… and 1 more") && !cut.contains("micro"), "{cut}");
    }
}
