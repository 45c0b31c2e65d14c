//! Lines on standard error, and the names of runs and paths there.

use ligament_catalogue::Fault;
use ligament_launch::terminal_text::escaped;
use ligament_manager::RunDirectory;
use std::path::Path;

/// Prints a line on standard error. Ignores errors, because a closed output must not end the program.
pub fn say(text: &str) {
    say_lines(&format!("{text}\n"));
}

/// Prints a text of whole lines. The text may be empty. Control characters in it are escaped.
pub fn say_lines(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(escaped(text).as_bytes());
}

/// Prints an error on standard error, with the command that explains it.
pub fn complain(fault: &Fault) {
    say(&format!("ligament: {}", fault.with_code()));
}

/// Returns a path relative to the present directory, if the path is below it.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// Returns the name of a run for a command in the present directory: the name below `./runs`, or else the path
/// of the run directory.
pub fn called(run: &RunDirectory) -> String {
    let runs = Path::new("runs").canonicalize().ok();
    match run.path().parent() {
        parent if parent.is_some() && parent == runs.as_deref() => run.name(),
        _ => shown(run.path()),
    }
}
