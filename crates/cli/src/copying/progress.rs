//! Shows the progress of a copy: a line on the terminal during the copy, and a sentence at its end.

use ligament_files::{CopyTally, Counts};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two updates of the line. The next constant is the time over which the rate is averaged, in s.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);
const RATE_WINDOW_S: f64 = 3.0;

/// Returns a number of bytes with a unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ if value < 9.995 => format!("{value:.2} {}", units[unit]),
        _ if value < 99.95 => format!("{value:.1} {}", units[unit]),
        _ => format!("{value:.0} {}", units[unit]),
    }
}

/// Returns a time with its units.
pub(crate) fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// Returns a number of files as text.
pub(crate) fn files(count: u64) -> String {
    match count {
        1 => "1 file".into(),
        count => format!("{count} files"),
    }
}

/// Returns the line that shows the progress. `rate` is in bytes per second.
fn line(counts: &Counts, rate: f64) -> String {
    let through = counts.through.min(counts.bytes);
    let mut line = format!("{} of {}", counts.same + counts.copied, files(counts.files));
    line.push_str(&format!(", {} of {}", bytes(through), bytes(counts.bytes)));
    if !counts.complete {
        line.push_str(" so far");
    } else if let Some(percent) = (u128::from(through) * 100).checked_div(counts.bytes.into()) {
        line.push_str(&format!(" ({percent} %)"));
    }
    line.push_str(&format!(", {}/s", bytes(rate as u64)));
    if counts.complete && rate >= 1.0 && through < counts.bytes {
        line.push_str(&format!(", {} left", time((counts.bytes - through) as f64 / rate)));
    }
    line
}

/// Shows the progress until `over` is true, if the standard error is a terminal.
pub(crate) fn show(tally: &CopyTally, over: &AtomicBool) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let (mut before, mut at, mut rate) = (0, Instant::now(), 0.0);
    let mut begun = false;
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(UPDATE_INTERVAL);
        let (counts, took) = (tally.counts(), at.elapsed().as_secs_f64());
        if took >= 0.1 {
            let now = counts.moved.saturating_sub(before) as f64 / took;
            let weight = if begun { (took / RATE_WINDOW_S).min(1.0) } else { 1.0 };
            rate += weight * (now - rate);
            (before, at, begun) = (counts.moved, Instant::now(), begun || now > 0.0);
        }
        let columns =
            rustix::termios::tcgetwinsize(std::io::stderr()).map_or(80, |size| usize::from(size.ws_col));
        let text: String = line(&counts, rate).chars().take(columns.saturating_sub(1)).collect();
        let _ = std::io::stderr().write_all(format!("\r\x1b[K{text}").as_bytes());
    }
    let _ = std::io::stderr().write_all(b"\r\x1b[K");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_times_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500_000), "1.50 MB");
        assert_eq!(bytes(99_960_000), "100 MB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(time(3.12), "3.1 s");
        assert_eq!(time(75.0), "1 min 15 s");
        assert_eq!(time(7320.0), "2 h 02 min");
    }

    #[test]
    fn the_line_has_rate_and_time_left_when_all_is_known() {
        let counts = Counts {
            files: 10,
            bytes: 4_000_000,
            complete: true,
            same: 2,
            copied: 3,
            moved: 500_000,
            resumed: 0,
            through: 1_000_000,
        };
        let expected = "5 of 10 files, 1.00 MB of 4.00 MB (25 %), 100 kB/s, 30 s left";
        assert_eq!(line(&counts, 100_000.0), expected);
        let unknown = Counts { complete: false, ..counts };
        assert_eq!(line(&unknown, 100_000.0), "5 of 10 files, 1.00 MB of 4.00 MB so far, 100 kB/s");
    }
}
