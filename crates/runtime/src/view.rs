//! The view on a terminal while a model runs: one line for each component, drawn again in place.

use crate::Colours;
use ligament_launch::terminal_text::escaped;
use ligament_manager::{
    component_of, format_bytes, format_count, format_seconds, InstanceRecord, InstanceState,
};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};

const BAR: usize = 16;
/// Number of drawings over which the rates are computed.
const WINDOW: usize = 6;

/// The view on the terminal.
pub struct TerminalView {
    lines: usize,
    /// For each of the last drawings: its time in ns, and the number of all messages and bytes that had been
    /// sent by then.
    history: VecDeque<(u64, u64, u64)>,
    colour: bool,
    /// The unit of model times, if the model gives it.
    pub time_unit: Option<String>,
}

struct Group<'a> {
    name: String,
    all: &'a [InstanceRecord],
}

impl Group<'_> {
    fn count(&self, standing: &InstanceState) -> usize {
        self.all.iter().filter(|one| one.state == standing.name()).count()
    }

    fn has(&self, standing: &InstanceState) -> bool {
        self.count(standing) > 0
    }
}

impl TerminalView {
    /// Makes a view. Returns `None` if standard error is not a terminal that can move its cursor.
    pub fn on_terminal(colours: Colours) -> Option<TerminalView> {
        let able =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let colour = colours.wanted(true);
        able.then(|| TerminalView { lines: 0, history: VecDeque::new(), colour, time_unit: None })
    }

    /// Removes the view from the screen.
    pub fn clear(&mut self) {
        let text = self.erase();
        let _ = std::io::stderr().write_all(text.as_bytes());
        self.lines = 0;
    }

    fn erase(&self) -> String {
        match self.lines {
            0 => String::new(),
            n => format!("\x1b[{n}A\r\x1b[J"),
        }
    }

    /// Prints a line above the view. The line stays on the screen.
    pub fn say(&mut self, text: &str) {
        let text = format!("{}{}\n", self.erase(), escaped(text));
        let _ = std::io::stderr().write_all(text.as_bytes());
        self.lines = 0;
    }

    /// Draws the states of the instances of a run that has taken `seconds`. `now` is a time in ns since any
    /// fixed point in time.
    pub fn draw(&mut self, run: &str, seconds: f64, instances: &[InstanceRecord], now: u64) {
        let (columns, rows) = rustix::termios::tcgetwinsize(std::io::stderr())
            .map_or((80, 24), |size| (usize::from(size.ws_col).max(20), usize::from(size.ws_row).max(4)));
        let mut lines = vec![headline(run, seconds, instances), self.totals(instances, now)];
        lines.extend(self.body(instances, rows.saturating_sub(3).max(1), columns - 1));
        let mut text = self.erase();
        for line in &lines {
            text.push_str(&cut(line, columns - 1));
            text.push_str("\x1b[0m\n");
        }
        self.lines = lines.len();
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn totals(&mut self, instances: &[InstanceRecord], now: u64) -> String {
        let messages = instances.iter().map(|one| one.sent_messages).sum();
        let bytes = instances.iter().map(|one| one.sent_bytes).sum();
        self.history.push_back((now, messages, bytes));
        if self.history.len() > WINDOW {
            self.history.pop_front();
        }
        let (then, old_messages, old_bytes) = self.history[0];
        let seconds = (now.saturating_sub(then) as f64 / 1e9).max(1e-3);
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        let done = instances.iter().filter(|one| one.state == InstanceState::Done.name()).count();
        format!(
            "{done} of {} done; {} messages/s, {}/s",
            format_count(instances.len() as f64),
            format_count(rate(messages, old_messages)),
            format_bytes(rate(bytes, old_bytes)),
        )
    }

    /// Returns a line for each instance. If there is no room for these, returns a line for each component, or
    /// for the first components.
    fn body(&self, instances: &[InstanceRecord], room: usize, columns: usize) -> Vec<String> {
        let mut groups = groups(instances, instances.len() <= room);
        let hidden = groups.len().saturating_sub(room);
        if hidden > 0 {
            groups.truncate(room.saturating_sub(1));
        }
        let cells: Vec<[String; 4]> =
            groups.iter().map(|group| cells(group, self.time_unit.as_deref())).collect();
        let mut widths = [0; 4];
        for row in &cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let [name, bar, time, sent] = widths;
        // The state comes before the other cells, because the end of a line may be cut off.
        let states: Vec<(&str, String)> = groups.iter().map(state).collect();
        let longest = states.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let name = name.min(columns / 2);
        let width = longest.min(columns.saturating_sub(name + 2));
        let line = |(row, (code, text)): (&[String; 4], &(&str, String))| {
            let [n, b, t, s] = row;
            let (n, text) = (cut(n, name), format!("{:<width$}", cut(text, width)));
            let text =
                if self.colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text };
            format!("{n:<name$}  {text}  {b:<bar$}  {t:<time$}  {s:<sent$}").trim_end().to_owned()
        };
        let mut lines: Vec<String> = cells.iter().zip(&states).map(line).collect();
        if hidden > 0 {
            lines.push(format!("… and {} more", hidden + 1));
        }
        lines
    }
}

/// Returns the longest present wait of these instances, if it is longer than usual waits.
fn longest_wait(all: &[InstanceRecord]) -> Option<(&InstanceRecord, f64)> {
    const LONG_WAIT_S: f64 = 0.5;
    let waits =
        all.iter().filter_map(|one| Some((one, one.waits_since.filter(|since| *since >= LONG_WAIT_S)?)));
    waits.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the name of the run, the time that it has taken, the remaining time if it is known, and the longest
/// wait.
fn headline(run: &str, seconds: f64, instances: &[InstanceRecord]) -> String {
    let mut text = format!("{run}: {}", roughly(seconds));
    if let Some(left) = left(seconds, instances) {
        text.push_str(&format!(", about {} left", roughly(left)));
    }
    if let Some((one, since)) = longest_wait(instances) {
        let port = one.waits_for.as_deref().unwrap_or("?");
        text.push_str(&format!("; longest wait: {} for {port}, {}", one.name, roughly(since)));
    }
    text
}

/// Returns a time in whole seconds, because fractions would change with each drawing.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 59.5 => format!("{s:.0} s"),
        s => format_seconds(s),
    }
}

/// Returns the remaining time of a run in s, if its instances continue at the same speed. Returns `None` if the
/// last model time of an instance is not known.
fn left(seconds: f64, instances: &[InstanceRecord]) -> Option<f64> {
    /// Minimum time in s, and minimum progress, for a forecast.
    const MIN_PROGRESS: (f64, f64) = (2.0, 0.01);
    let part = |one: &InstanceRecord| match (one.model_time, one.model_end) {
        _ if one.state == InstanceState::Done.name() => Some(1.0),
        (Some(time), Some(end)) if end > 0.0 && time >= 0.0 => Some(time / end),
        _ => None,
    };
    let least = instances.iter().map(part).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)?;
    let known = seconds >= MIN_PROGRESS.0 && (MIN_PROGRESS.1..1.0).contains(&least);
    known.then(|| seconds * (1.0 - least) / least)
}

/// Returns the common state of the instances in a line: the code of a colour, which may be empty, and the text.
fn state(group: &Group<'_>) -> (&'static str, String) {
    if let Some((record, since)) = longest_wait(group.all) {
        let port = record.waits_for.as_deref().unwrap_or("?");
        let who = if group.all.len() > 1 { format!("{} ", record.name) } else { String::new() };
        return ("33", format!("{who}{} {port} since {}", record.state, roughly(since)));
    }
    for (standing, code) in [(InstanceState::Failed, "31"), (InstanceState::Stopped, "33")] {
        if group.has(&standing) {
            return (code, standing.name().to_owned());
        }
    }
    if group.count(&InstanceState::Done) == group.all.len() {
        return ("32", "done".to_owned());
    }
    match (group.has(&InstanceState::Starting), group.has(&InstanceState::NotStarted)) {
        (false, false) => ("", "running".to_owned()),
        (false, true) => ("33", "waits to be started by hand".to_owned()),
        (true, _) => ("", "starting".to_owned()),
    }
}

/// Returns the cells of a line: name, bar, model time, and the number of sent messages.
fn cells(group: &Group<'_>, time_unit: Option<&str>) -> [String; 4] {
    let time = group.all.iter().filter_map(|one| one.model_time).reduce(f64::min);
    let shown = time.map_or_else(|| "-".to_owned(), short);
    let (bar, time) = match group.all[0].model_end.filter(|end| *end > 0.0) {
        Some(end) => {
            let part = (time.unwrap_or(0.0) / end).clamp(0.0, 1.0);
            let full = (part * BAR as f64).round() as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
            (bar, format!("{shown} of {}", short(end)))
        }
        None => (String::new(), shown),
    };
    let time = match time_unit.filter(|_| time != "-") {
        Some(unit) => format!("{time} {unit}"),
        None => time,
    };
    let sent: u64 = group.all.iter().map(|one| one.sent_messages).sum();
    let bytes: u64 = group.all.iter().map(|one| one.sent_bytes).sum();
    [
        group.name.clone(),
        bar,
        time,
        format!("sent {} ({})", format_count(sent as f64), format_bytes(bytes as f64)),
    ]
}

/// Returns a number in a few characters.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e7).contains(&size) {
        let digits = if size >= 1000.0 { 1 } else { 4 };
        let text = format!("{x:.digits$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{x:.3e}")
}

/// Divides the instances into lines: one line for each instance, or one for all instances of a component.
fn groups(instances: &[InstanceRecord], each: bool) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    let mut rest = instances;
    while let Some(first) = rest.first() {
        let component = component_of(&first.name);
        let count =
            if each { 1 } else { rest.iter().take_while(|one| component_of(&one.name) == component).count() };
        let (all, others) = rest.split_at(count);
        let name = if count == 1 { first.name.clone() } else { format!("{component} ×{count}") };
        groups.push(Group { name, all });
        rest = others;
    }
    groups
}

/// Cuts a line to the width of the screen. Codes of colours have no width.
fn cut(line: &str, columns: usize) -> String {
    let mut out = String::new();
    let (mut width, mut escape) = (0, false);
    for c in line.chars() {
        if c == '\x1b' {
            escape = true;
        }
        if escape {
            out.push(c);
            escape = c != 'm';
            continue;
        }
        if width == columns {
            break;
        }
        width += 1;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{cut, headline, short, TerminalView};
    use ligament_manager::InstanceRecord;
    use std::collections::VecDeque;

    fn instance(name: &str, state: &str) -> InstanceRecord {
        let (name, state) = (name.to_owned(), state.to_owned());
        InstanceRecord { name, state, model_time: Some(2.0), model_end: Some(8.0), ..InstanceRecord::default() }
    }

    #[test]
    fn the_first_line_says_which_run_how_long_what_is_left_and_the_longest_wait() {
        let mut waits = instance("micro", "waiting to receive");
        (waits.waits_for, waits.waits_since) = (Some("macro.out".into()), Some(65.0));
        let both = [instance("macro", "computing"), waits];
        let text = headline("pair", 100.0, &both);
        assert_eq!(
            text,
            "pair: 1 min 40 s, about 5 min 0 s left; longest wait: micro for macro.out, 1 min 5 s"
        );
        let unknown = InstanceRecord { model_end: None, ..instance("macro", "computing") };
        assert_eq!(headline("pair", 3.0, &[unknown]), "pair: 3 s");
    }

    #[test]
    fn the_state_is_not_what_a_narrow_window_cuts() {
        let view = TerminalView { lines: 0, history: VecDeque::new(), colour: false, time_unit: None };
        let all = [instance("a_component_of_a_long_name", "failed"), instance("micro", "computing")];
        for columns in [30, 40, 80] {
            let lines = view.body(&all, 10, columns);
            let lines: Vec<String> = lines.iter().map(|line| cut(line, columns)).collect();
            assert!(lines[0].contains("failed") && lines[1].contains("running"), "{columns}: {lines:?}");
        }
    }

    #[test]
    fn model_times_are_short() {
        let pairs = [(0.0, "0"), (0.5, "0.5"), (123456.0, "123456"), (1e-9, "1.000e-9"), (0.12345, "0.1235")];
        for (x, text) in pairs {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(cut("\x1b[31mabcdef\x1b[0m", 3), "\x1b[31mabc");
        assert_eq!(cut("ab", 3), "ab");
    }
}
