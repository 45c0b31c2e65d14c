//! All descendants of this process, from `/proc`, and how to end them. A subreaper sees every one of them: a
//! process that loses its parent becomes the subreaper's child, in whatever session or group it is.

use rustix::io::Errno;
use rustix::process::{getpid, kill_process, wait, Pid, Signal, WaitOptions};
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// A process that survives SIGKILL for this long hangs in the kernel, where it cannot be ended.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// All descendants of this process, without zombies.
pub fn descendants() -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<(Pid, bool)>> = HashMap::new();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in numbers {
        let Some(pid) = Pid::from_raw(pid) else { continue };
        if let Some((parent, zombie)) = parent_of(pid) {
            children.entry(parent).or_default().push((pid, zombie));
        }
    }
    let mut found = Vec::new();
    let mut to_visit = vec![getpid()];
    while let Some(parent) = to_visit.pop() {
        for &(child, zombie) in children.get(&parent).into_iter().flatten() {
            to_visit.push(child);
            found.extend((!zombie).then_some(child));
        }
    }
    found
}

/// The children of any process, with zombies, as far as the kernel lists them.
pub(crate) fn children_of(pid: Pid) -> Vec<Pid> {
    // Each thread has a list of its own.
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut found = Vec::new();
    for list in lists {
        found.extend(list.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)));
    }
    found
}

/// The parent of a process, and whether it is a zombie.
pub(crate) fn parent_of(pid: Pid) -> Option<(Pid, bool)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name stands in parentheses and may hold any character.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    Some((Pid::from_raw(fields.next()?.parse().ok()?)?, state == "Z"))
}

/// Ends all descendants of this process, which must be a subreaper, and waits for their end. Returns their
/// number.
///
/// # Errors
/// The number of descendants, and those that still exist after ten seconds.
pub fn end_descendants() -> Result<usize, (usize, Vec<Pid>)> {
    let began = Instant::now();
    let mut ended = std::collections::HashSet::new();
    while has_children() {
        if began.elapsed() > KILL_TIMEOUT {
            let left = descendants();
            ended.retain(|pid| !left.contains(pid));
            return Err((ended.len(), left));
        }
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
            ended.insert(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(ended.len())
}

/// True if this process has children, and so descendants. Children that have ended are reaped; this process may
/// then inherit their children.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            // There are no children; no other error is possible.
            Err(_) => return false,
        }
    }
}
