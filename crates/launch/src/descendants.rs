//! Finds all descendants of this process in `/proc`, and ends them. A subreaper sees all its descendants: a
//! process that loses its parent becomes the subreaper's child, in whatever session or group it is.

use rustix::io::Errno;
use rustix::process::{getpid, kill_process, wait, Pid, Signal, WaitOptions};
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// Time after SIGKILL from which a process counts as unkillable: it hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns all descendants of this process, without zombies.
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

/// Returns the children of any process, including zombies, as far as the kernel lists them.
pub(crate) fn children_of(pid: Pid) -> Vec<Pid> {
    // Each thread of the process has its own list of children.
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut found = Vec::new();
    for list in lists {
        found.extend(list.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)));
    }
    found
}

/// Returns the parent of a process, and true if the process is a zombie.
pub(crate) fn parent_of(pid: Pid) -> Option<(Pid, bool)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name of the process is in parentheses and may contain any character.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    Some((Pid::from_raw(fields.next()?.parse().ok()?)?, state == "Z"))
}

/// Ends all descendants of this process and waits for their end. This process must be a subreaper. Returns
/// the number of descendants.
///
/// # Errors
/// Some descendants still exist after ten seconds. The error has the number of all descendants, and the
/// remaining ones.
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

/// Returns true if this process has children; it has descendants only then. Reaps children that have ended,
/// whose own children this process may inherit.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            // The only possible error is that this process has no children.
            Err(_) => return false,
        }
    }
}
