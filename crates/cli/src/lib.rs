//! The command `ligament`, as a library, so that the Python package has the same command; and `runtime`, which
//! puts manager and agent together into a run.

mod agent;
mod arguments;
mod attach;
mod check;
mod client;
mod colour;
mod config;
mod detach;
mod ear;
mod ending;
mod explain;
mod files;
mod job;
mod launched;
mod limits;
mod logs;
mod lost;
mod new;
mod observe;
mod pages;
mod paths;
mod peek;
mod places;
mod play;
mod remote;
mod run;
mod runs;
pub mod runtime;
mod shown;
mod site;
mod spread;
mod strangers;
mod submit;
mod timeline;
mod view;

pub use arguments::{main, main_of};

/// Exit status: all is done.
pub const DONE: i32 = 0;
/// Exit status: the run failed.
pub const FAILED: i32 = 1;
/// Exit status: bad use, or a bad model.
pub const BAD_USE: i32 = 2;
/// Exit status: interrupted.
pub const INTERRUPTED: i32 = 130;

/// Says a line on standard error. That nobody can read it is no reason to end.
fn say(text: &str) {
    say_lines(&format!("{text}\n"));
}

/// The same of a text that is made of lines, or empty.
fn say_lines(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Says on standard error what is wrong, and where to read more about it.
fn complain(text: &str) {
    say(&format!("ligament: {}", ligament_catalogue::with_code(text)));
}

/// Says that a command has failed, as the user wants to read it. Gives back the exit status.
fn fail(json: bool, error: &str, status: i32) -> i32 {
    if json {
        let code = ligament_catalogue::code_of(error);
        arguments::print(&format!("{}\n", serde_json::json!({ "ok": false, "error": error, "code": code })));
    } else {
        complain(error);
    }
    status
}
