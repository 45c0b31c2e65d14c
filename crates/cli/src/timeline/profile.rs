//! `ligament profile`: draws the picture of a run, and prints its contents as a few lines on the terminal.

use super::picture::{draw, PictureTexts};
use super::{colours, json_of, percent, read, refuse, TimelineOfRun};
use crate::arguments::{print, Profile};
use ligament_manager::format_seconds;
use ligament_manager::timeline::RunTimeline;
use ligament_runtime::shown;
use ligament_runtime::timeline::{rows, ShareRow, KINDS, MAX_SEPARATE_INSTANCES};
use std::collections::HashSet;

const COLUMNS: usize = 800;
const MAX_ROWS: usize = 60;
/// Number of characters of a bar in the terminal.
const BAR: usize = 40;
/// ANSI colour, and character for output without colours, of each kind of activity in `KINDS`.
const INKS: [(&str, char); KINDS.len()] = [("34", '█'), ("33", '░'), ("32", '▓'), ("35", '▒'), ("37", '▚')];

/// Draws the picture of a run. Returns the exit status.
pub(crate) fn profile(arguments: &Profile) -> i32 {
    let done = read(&arguments.run).and_then(|told| {
        let path = told.place(arguments.output.as_ref(), "profile.svg");
        let rows = rows(&told.timeline, COLUMNS, MAX_ROWS);
        let hidden = count(&told.timeline).saturating_sub(rows.len());
        let svg = picture(&told, &rows, hidden);
        crate::picture::save(&svg, &path)?;
        Ok((told, path, rows, hidden))
    });
    let (told, path, rows, hidden) = match done {
        Ok(done) => done,
        Err(error) => return refuse(arguments.json, &error),
    };
    if arguments.json {
        let mut json = json_of(&told);
        json["picture"] = path.display().to_string().into();
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let mut text = format!("{}\n\n{}", told.headline(), in_lines(&rows, colours()));
    if hidden > 0 {
        text.push_str(&format!("… and {hidden} more; --json has all\n"));
    }
    text.push_str(&format!("\npicture: {}\n", shown(&path)));
    print(&text);
    crate::DONE
}

/// Returns the number of rows that show all instances or components.
fn count(timeline: &RunTimeline) -> usize {
    match timeline.lanes.len() {
        n if n <= MAX_SEPARATE_INSTANCES => n,
        _ => timeline.lanes.iter().map(|lane| &lane.component).collect::<HashSet<_>>().len(),
    }
}

fn picture(told: &TimelineOfRun, rows: &[ShareRow], hidden: usize) -> String {
    let seconds = told.timeline.end() as f64 / 1e9;
    let header = &told.timeline.header;
    let state = if told.live { "running" } else { told.record.state.name() };
    let subtitle = format!(
        "{} instances of model {}, {state} after {}, begun {}",
        told.timeline.lanes.len(),
        header.model,
        format_seconds(seconds),
        header.started
    );
    draw(rows, &PictureTexts { title: &header.run, subtitle: &subtitle, seconds, hidden })
}

/// Returns a line for each row: a bar that shows how the row's time was spent, and the percentages.
fn in_lines(rows: &[ShareRow], colours: bool) -> String {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let parts = row.parts();
        let list: Vec<String> = (KINDS.iter().zip(parts))
            .filter(|(kind, part)| *part >= 0.0005 || **kind == "compute" || **kind == "wait")
            .map(|(kind, part)| format!("{kind} {}", percent(part)))
            .collect();
        text.push_str(&format!("{:<width$}  {}  {}\n", row.name, bar(&parts, colours), list.join(", ")));
    }
    text
}

fn bar(parts: &[f64], colours: bool) -> String {
    let mut text = String::new();
    let (mut done, mut sum) = (0, 0.0);
    for (part, (code, character)) in parts.iter().zip(INKS) {
        sum += part;
        let to = (sum * BAR as f64).round() as usize;
        let piece = to.saturating_sub(done);
        done = to.max(done);
        match colours {
            true if piece > 0 => text.push_str(&format!("\x1b[{code}m{}\x1b[0m", "█".repeat(piece))),
            _ => text.extend(std::iter::repeat_n(character, piece)),
        }
    }
    text.extend(std::iter::repeat_n(' ', BAR - done.min(BAR)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_whatever_it_shows() {
        for parts in [[0.0; 5], [1.0, 0.0, 0.0, 0.0, 0.0], [0.2; 5], [0.333, 0.333, 0.333, 0.0, 0.001]] {
            assert_eq!(bar(&parts, false).chars().count(), BAR);
        }
        assert!(bar(&[0.5, 0.5, 0.0, 0.0, 0.0], true).contains("\x1b[34m"));
    }
}
