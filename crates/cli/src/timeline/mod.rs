//! `ligament timeline` and `ligament profile`: show the timeline of a run in words and as a picture.

mod picture;
mod profile;

pub(crate) use profile::profile;

use crate::arguments::{print, print_as_it_is, Timeline as Arguments};
use ligament_catalogue::Fault;
use ligament_manager::timeline::{long_waits, Activity, LongWait, RunTimeline};
use ligament_manager::{find_run, format_count, format_seconds, RunDirectory, RunRecord};
use ligament_runtime::client::{record_of, refresh_timeline};
use ligament_runtime::shown;
use ligament_runtime::timeline::{write_trace, MAX_SEPARATE_INSTANCES};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Maximum number of waits that are shown.
const MAX_WAITS: usize = 25;

/// A run and its timeline.
struct TimelineOfRun {
    run: RunDirectory,
    record: RunRecord,
    timeline: RunTimeline,
    /// True if the run goes on. The timeline then ends at the present time.
    live: bool,
}

fn read(run: &str) -> Result<TimelineOfRun, Fault> {
    let run = find_run(run)?;
    let record = record_of(&run)?;
    let live = refresh_timeline(&run, &record)?;
    let timeline = RunTimeline::of(&run)?;
    Ok(TimelineOfRun { run, record, timeline, live })
}

impl TimelineOfRun {
    /// Returns a headline such as `pair-20261121-030405: done after 12.3 s`.
    fn headline(&self) -> String {
        let took = format_seconds(self.timeline.end() as f64 / 1e9);
        if self.live {
            format!("{}: running for {took}", self.record.run)
        } else {
            // The time is the duration of the run, as in the summary. The last instance may end earlier.
            let took = self.record.duration.map_or(took, format_seconds);
            format!("{}: {} after {took}", self.record.run, self.record.state.name())
        }
    }

    /// Returns the output file: the file that the user names, or `name` in the run directory.
    fn place(&self, wanted: Option<&PathBuf>, name: &str) -> PathBuf {
        wanted.cloned().unwrap_or_else(|| self.run.path().join(name))
    }
}

/// Carries out `ligament timeline`. Returns the exit status.
pub(crate) fn timeline(arguments: &Arguments) -> i32 {
    let done = read(&arguments.run).and_then(|told| {
        let path = told.place(arguments.output.as_ref(), "trace.json");
        let write = |out: &mut dyn Write| write_trace(&told.timeline, &told.record, out);
        crate::picture::write_file(&path, write).map(|()| (told, path))
    });
    let (told, path) = match done {
        Ok(done) => done,
        Err(error) => return refuse(arguments.json, &error),
    };
    if arguments.json {
        let mut json = json_of(&told);
        json["trace"] = path.display().to_string().into();
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let waits = long_waits(&told.timeline, told.timeline.lanes.len() <= MAX_SEPARATE_INSTANCES);
    let mut text = format!("{}\n\n{}\n", told.headline(), table_of(&waits, colours()));
    if told.timeline.header.resolution > 0 {
        let resolution = format_seconds(told.timeline.header.resolution as f64 / 1e9);
        text.push_str(&format!("what lasted less than {resolution} was merged; the sums are exact\n"));
    }
    text.push_str(&format!("trace: {} (open it with ui.perfetto.dev or chrome://tracing)\n", shown(&path)));
    print_as_it_is(&text);
    crate::DONE
}

fn refuse(json: bool, error: &Fault) -> i32 {
    if json {
        print(&format!("{}\n", serde_json::json!({ "ok": false, "error": error.text() })));
    } else {
        crate::complain(error);
    }
    crate::BAD_USE
}

fn colours() -> bool {
    crate::colour::chosen().wanted(std::io::stdout().is_terminal())
}

/// Describes the event for which an instance waited.
fn lack(wait: &LongWait) -> String {
    let on = wait.on.as_deref().unwrap_or("others");
    let port = wait.port.as_deref().unwrap_or(on);
    match wait.activity {
        Activity::Message if wait.on.is_none() => "messages".into(),
        Activity::Message => port.to_owned(),
        Activity::AnyMessage => "any of several ports".into(),
        Activity::Room => format!("{port} to be read"),
        Activity::Slots => format!("{on} to take what was sent"),
        Activity::Memory => "memory".into(),
        Activity::Steering => "who steers".into(),
        Activity::Send | Activity::Receive => on.to_owned(),
    }
}

/// Returns the waits of instances for other instances, the longest first.
fn table_of(waits: &[LongWait], colours: bool) -> String {
    if waits.is_empty() {
        return "nobody waited for anybody\n".into();
    }
    let many = waits.iter().any(|wait| wait.instances > 1);
    let who = |wait: &LongWait| match wait.instances {
        1 => wait.who.clone(),
        n => format!("{} (mean of {n})", wait.who),
    };
    let mut rows =
        vec![["who".to_owned(), "waited for".into(), "how long".into(), "of its time".into(), "times".into()]];
    rows.extend(waits.iter().take(MAX_WAITS).map(|wait| {
        let each = wait.seconds / wait.instances.max(1) as f64;
        [who(wait), lack(wait), format_seconds(each), percent(wait.part), format_count(wait.count as f64)]
    }));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let [a, b, c, d, e] = widths;
    let mut text = String::new();
    for (i, [who, lack, long, part, times]) in rows.iter().enumerate() {
        let line = format!("{who:<a$}  {lack:<b$}  {long:>c$}  {part:>d$}  {times:>e$}");
        let code = match i.checked_sub(1).map(|i| waits[i].part) {
            None => "1",
            Some(part) if part >= 0.5 => "31",
            Some(part) if part >= 0.2 => "33",
            Some(_) => "",
        };
        if colours && !code.is_empty() {
            text.push_str(&format!("\x1b[{code}m{line}\x1b[0m\n"))
        } else {
            text.push_str(&format!("{line}\n"))
        }
    }
    if waits.len() > MAX_WAITS {
        text.push_str(&format!("… and {} more; --json has all\n", waits.len() - MAX_WAITS));
    }
    if many {
        text.push_str("(times and parts are means over the instances of a component, numbers are sums)\n");
    }
    text
}

fn percent(part: f64) -> String {
    match part * 100.0 {
        p if p > 0.0 && p < 0.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Returns the timeline of a run as JSON. It has sums for each instance, and no single intervals. Times are in
/// s.
fn json_of(told: &TimelineOfRun) -> serde_json::Value {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let instances: Vec<serde_json::Value> = (told.timeline.lanes.iter())
        .map(|lane| {
            serde_json::json!({
                "name": lane.name,
                "component": lane.component,
                "began": lane.began.map(seconds),
                "ended": lane.ended.as_ref().map(|(at, _)| seconds(*at)),
                "how": lane.ended.as_ref().map(|(_, how)| how),
                "total": seconds(lane.total()),
                "computing": seconds(lane.computing()),
                "waiting": seconds(lane.sums.waited),
                "sending": seconds(lane.sums.sending),
                "receiving": seconds(lane.sums.receiving),
                "waits": lane.sums.waits,
                "sent_messages": lane.sums.sent_messages,
                "sent_bytes": lane.sums.sent_bytes,
                "received_messages": lane.sums.received_messages,
                "received_bytes": lane.sums.received_bytes,
                "iterations": lane.sums.iterations,
            })
        })
        .collect();
    let waits: Vec<serde_json::Value> = (long_waits(&told.timeline, true).iter())
        .map(|wait| {
            serde_json::json!({
                "instance": wait.who,
                "lack": wait.activity.name(),
                "on": wait.on,
                "port": wait.port,
                "seconds": wait.seconds,
                "count": wait.count,
                "part": wait.part,
            })
        })
        .collect();
    serde_json::json!({
        "ok": true,
        "run": told.record.run,
        "state": told.record.state.name(),
        "running": told.live,
        "directory": told.run.path().display().to_string(),
        "duration": seconds(told.timeline.end()),
        "resolution": seconds(told.timeline.header.resolution),
        "instances": instances,
        "waits": waits,
    })
}
