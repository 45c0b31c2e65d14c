//! Lines on standard error, and the names of runs and paths there.

use ligament_catalogue::Fault;
use ligament_launch::terminal_text::escaped;
use ligament_manager::RunDirectory;
use std::path::Path;

/// Says a line on standard error. That nobody can read it is no reason to end.
pub fn say(text: &str) {
    say_lines(&format!("{text}\n"));
}

/// The same of a text that is made of lines, or empty. Whatever terminals obey in it is escaped.
pub fn say_lines(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(escaped(text).as_bytes());
}

/// Says on standard error what is wrong, and where to read more about it.
pub fn complain(fault: &Fault) {
    say(&format!("ligament: {}", fault.with_code()));
}

/// A path as seen from here, if that is shorter.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// The name of a run for a command from here: its name under ./runs, or its directory.
pub fn called(run: &RunDirectory) -> String {
    let runs = Path::new("runs").canonicalize().ok();
    match run.path().parent() {
        parent if parent.is_some() && parent == runs.as_deref() => run.name(),
        _ => shown(run.path()),
    }
}
