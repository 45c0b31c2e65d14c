//! `ligament peek`: shows the working directory of an instance, or one of its files, on any machine. The files
//! are read from the run directory, or requested from the head during the run.

use crate::arguments::{print, Peek};
use crate::program_output::ProgramOutput;
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::{find_run, format_bytes};
use ligament_runtime::client::InstanceFiles;
use ligament_wire::peek::{Entry, Sight, MAX_ANSWER_BYTES};
use std::io;
use std::time::Duration;

/// Time between two checks whether a file has grown.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Shows the working directory of an instance, or one of its files. Returns the exit status.
pub(crate) fn peek(arguments: &Peek) -> i32 {
    let shown = find_run(&arguments.run).and_then(|run| {
        let files = InstanceFiles::of(&run, &arguments.instance)?;
        let path = match &arguments.file {
            // An absolute path leads out of the working directory, and is refused.
            Some(file) => std::path::Path::new("workdir").join(file).to_string_lossy().into_owned(),
            None => "workdir".to_owned(),
        };
        match files.see(&path, 0, 0)?.0 {
            Sight::Nothing(why) => Err(Fault::heard(why, Code::NOTHING_TO_SEE)),
            Sight::Directory(entries) => {
                if entries.is_empty() && !arguments.json {
                    crate::say(&format!("{} is empty", arguments.file.as_deref().unwrap_or("its directory")));
                }
                print(&listing(&entries, arguments.json));
                Ok(())
            }
            Sight::File { .. } if arguments.json => {
                Err(fault!(NOTHING_TO_SEE, "only a directory is shown as JSON"))
            }
            Sight::File { size, .. } => {
                if size == 0 {
                    crate::say(&format!("{} is empty", arguments.file.as_deref().unwrap_or("the file")));
                }
                let from = match (arguments.bytes, arguments.lines) {
                    (Some(bytes), _) => size.saturating_sub(bytes),
                    (None, Some(lines)) => files.last_lines(&path, size, lines)?,
                    (None, None) => 0,
                };
                show(&files, &path, from, arguments.follow)
            }
        }
    });
    match shown {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn listing(entries: &[Entry], json: bool) -> String {
    if json {
        let one = |entry: &Entry| {
            serde_json::json!({
                "name": entry.name, "directory": entry.directory, "bytes": entry.bytes, "age": entry.age
            })
        };
        let all: Vec<_> = entries.iter().map(one).collect();
        return format!("{}\n", serde_json::json!({ "ok": true, "files": all }));
    }
    let line = |entry: &Entry| {
        let (size, name) = if entry.directory {
            (String::new(), format!("{}/", entry.name))
        } else {
            (format_bytes(entry.bytes as f64), entry.name.clone())
        };
        format!("{size:>10}  {:>10}  {name}\n", ago(entry.age))
    };
    entries.iter().map(line).collect()
}

fn ago(seconds: u64) -> String {
    match seconds {
        0 => "now".to_owned(),
        1..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86400),
    }
}

/// Shows a file from an offset on. With `follow`, shows further bytes until the end of the run, too.
///
/// # Errors
/// Fails if the file cannot be read, or if the standard output cannot be written.
pub(crate) fn show(files: &InstanceFiles<'_>, path: &str, from: u64, follow: bool) -> Result<(), Fault> {
    let mut out = ProgramOutput::begin();
    let (mut at, mut known) = (from, None);
    loop {
        let (sight, more_may_come) = files.see(path, at, MAX_ANSWER_BYTES)?;
        let grown = match sight {
            Sight::File { offset, bytes, size, identity } => {
                let replaced = known.is_some_and(|known| known != identity) || size < at;
                known = Some(identity);
                if replaced && more_may_come {
                    // Another file has taken the place of this file, so it is shown from its beginning.
                    at = 0;
                    continue;
                }
                at = offset + bytes.len() as u64;
                if let Err(error) = out.show(&bytes) {
                    return match error.kind() {
                        io::ErrorKind::BrokenPipe => Ok(()),
                        _ => Err(fault!(
                            OUTPUT_LOST,
                            "the standard output cannot be written: {error}; give it another file, or make room"
                        )),
                    };
                }
                !bytes.is_empty()
            }
            // The instance may create the file later.
            Sight::Nothing(_) if follow && more_may_come => false,
            Sight::Nothing(why) => return Err(Fault::heard(why, Code::NOTHING_TO_SEE)),
            Sight::Directory(_) => return Err(fault!(NOTHING_TO_SEE, "it is a directory now")),
        };
        match (grown, follow && more_may_come) {
            (true, _) => {}
            (false, true) => std::thread::sleep(POLL_INTERVAL),
            (false, false) => return Ok(()),
        }
    }
}
