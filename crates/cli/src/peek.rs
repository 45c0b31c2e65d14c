//! `ligament peek`: the working directory of an instance, or one of its files, on whatever machine it runs; while the run
//! is under way from its head where that is needed, else from the run directory.

use crate::arguments::{print, Peek};
use crate::client::{is_alive, is_here, peek_at, record_of};
use crate::files::see;
use crate::shown::Shown;
use ligament_manager::{find_run, in_bytes, no_such_instance, RunDirectory, RunState};
use ligament_wire::peek::{Entry, Sight, MOST};
use std::io;
use std::time::Duration;

/// How often is looked whether a file has grown.
const OFTEN: Duration = Duration::from_millis(250);

/// How often who asks a run that does not answer looks whether it is over.
const WHILE_IT_ENDS: u32 = 8;

/// Shows what an instance has.
pub(crate) fn peek(arguments: &Peek) -> i32 {
    let shown = find_run(&arguments.run).and_then(|run| {
        let files = Files::of(&run, &arguments.instance)?;
        let path = match &arguments.file {
            // One that begins with "/" leads out, and is refused.
            Some(file) => std::path::Path::new("workdir").join(file).to_string_lossy().into_owned(),
            None => "workdir".to_owned(),
        };
        match files.see(&path, 0, 0)?.0 {
            Sight::Nothing(why) => Err(why),
            Sight::Directory(entries) => {
                if entries.is_empty() && !arguments.json {
                    crate::say(&format!("{} is empty", arguments.file.as_deref().unwrap_or("its directory")));
                }
                print(&listing(&entries, arguments.json));
                Ok(())
            }
            Sight::File { .. } if arguments.json => Err("only a directory is shown as JSON".to_owned()),
            Sight::File { size, .. } => {
                if size == 0 {
                    crate::say(&format!("{} is empty", arguments.file.as_deref().unwrap_or("the file")));
                }
                let from = match (arguments.bytes, arguments.lines) {
                    (Some(bytes), _) => size.saturating_sub(bytes),
                    (None, Some(lines)) => files.last_lines(&path, size, lines)?,
                    (None, None) => 0,
                };
                files.show(&path, from, arguments.follow)
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
        let (size, name) = match entry.directory {
            true => (String::new(), format!("{}/", entry.name)),
            false => (in_bytes(entry.bytes as f64), entry.name.clone()),
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

/// The files of an instance, wherever they are.
pub(crate) struct Files<'a> {
    run: &'a RunDirectory,
    instance: &'a str,
}

impl<'a> Files<'a> {
    /// Of an instance that the run has.
    ///
    /// # Errors
    /// The run has none of this name; says which it has.
    pub fn of(run: &'a RunDirectory, instance: &'a str) -> Result<Files<'a>, String> {
        // A name with a slash would lead elsewhere.
        if !instance.contains('/') && !instance.starts_with('.') && run.home(instance).is_dir() {
            return Ok(Files { run, instance });
        }
        Err(no_such_instance(run, instance))
    }

    /// Whether they may be elsewhere than in the run directory now.
    pub fn may_be_elsewhere(&self) -> bool {
        record_of(self.run).is_ok_and(|record| {
            record.state == RunState::Running && record.domains.iter().any(|domain| domain.scratch.is_some())
        })
    }

    /// What there is at a path, and whether more may come.
    fn see(&self, path: &str, offset: u64, most: u32) -> Result<(Sight, bool), String> {
        let here = || see(&self.run.home(self.instance), path, offset, most);
        // One that has not begun, or whose record is being written.
        let Ok(record) = record_of(self.run) else { return Ok((here(), true)) };
        if record.state != RunState::Running {
            return Ok((here(), false));
        }
        if !self.may_be_elsewhere() {
            let runs = !is_here(&record) || is_alive(record.pid);
            return Ok((here(), runs));
        }
        let asked = || peek_at(self.run, &record, self.instance, path, offset, most);
        let mut seen = asked();
        for _ in 0..WHILE_IT_ENDS {
            if seen.is_ok() {
                break;
            }
            // A run that ends just now answers nobody, and has not written down yet that it is over.
            if record_of(self.run).is_ok_and(|now| now.state != RunState::Running) {
                return Ok((here(), false));
            }
            std::thread::sleep(OFTEN);
            seen = asked();
        }
        match seen? {
            Some(sight) => Ok((sight, true)),
            None if !is_here(&record) => Err(format!(
                "{} runs on {}, and not all of its files are to be seen from here before it is over; ask there",
                record.run, record.host
            )),
            None => Ok((here(), false)),
        }
    }

    /// From where on a file of this size has its last lines.
    fn last_lines(&self, path: &str, size: u64, lines: u64) -> Result<u64, String> {
        let (mut end, mut left) = (size, lines);
        let mut last = true;
        while end > 0 {
            let begin = end.saturating_sub(u64::from(MOST));
            let Sight::File { bytes, .. } = self.see(path, begin, (end - begin) as u32)?.0 else {
                return Ok(0);
            };
            for (place, _) in bytes.iter().enumerate().rev().filter(|(_, &byte)| byte == b'\n') {
                let place = begin + place as u64 + 1;
                // The end of the last line begins no other.
                if last && place == size {
                    last = false;
                    continue;
                }
                if left <= 1 {
                    return Ok(if lines == 0 { size } else { place });
                }
                left -= 1;
            }
            end = begin;
        }
        Ok(if lines == 0 { size } else { 0 })
    }

    /// Shows a file from an offset on, and what is added to it until the run is over, if that is wanted.
    ///
    /// # Errors
    /// It cannot be read, or what reads this cannot be written to.
    pub fn show(&self, path: &str, from: u64, follow: bool) -> Result<(), String> {
        let mut out = Shown::begin();
        let (mut at, mut known) = (from, None);
        loop {
            let (sight, more_may_come) = self.see(path, at, MOST)?;
            let grown = match sight {
                Sight::File { offset, bytes, size, identity } => {
                    let replaced = known.is_some_and(|known| known != identity) || size < at;
                    known = Some(identity);
                    if replaced && more_may_come {
                        // Another file in its place, which is shown from its beginning.
                        at = 0;
                        continue;
                    }
                    at = offset + bytes.len() as u64;
                    if let Err(error) = out.show(&bytes) {
                        return match error.kind() {
                            io::ErrorKind::BrokenPipe => Ok(()),
                            _ => Err(format!(
                                "the standard output cannot be written: {error}; give it another file, or make room"
                            )),
                        };
                    }
                    !bytes.is_empty()
                }
                // It may come to be.
                Sight::Nothing(_) if follow && more_may_come => false,
                Sight::Nothing(why) => return Err(why),
                Sight::Directory(_) => return Err("it is a directory now".to_owned()),
            };
            match (grown, follow && more_may_come) {
                (true, _) => {}
                (false, true) => std::thread::sleep(OFTEN),
                (false, false) => return Ok(()),
            }
        }
    }
}
