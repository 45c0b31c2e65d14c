//! The use of the machine by each instance: processor time and memory of its process and of all processes
//! below it, from /proc. It is measured only for instances on this machine, and only while a viewer is
//! present.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time between two measurements.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum number of instances that are measured, because each measurement makes news for all of them.
const MAX_INSTANCES: usize = 1000;

/// A process: its parent, the ticks of processor time of it and of its children that have ended, and its
/// pages of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Process {
    parent: u32,
    ticks: u64,
    pages: u64,
}

/// Reads a process from `/proc/PID/stat` (proc(5)). The name of the program may contain spaces and
/// brackets.
fn process_of(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ticks = (11..15).map(number).sum::<Option<u64>>()?;
    Some(Process { parent: u32::try_from(number(1)?).ok()?, ticks, pages: number(21)? })
}

/// Returns all processes that this user may see.
fn processes() -> HashMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, process_of(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect()
}

/// Returns the ticks and pages of a process and of all processes below it.
fn sum(root: u32, all: &HashMap<u32, Process>, children: &HashMap<u32, Vec<u32>>) -> Option<(u64, u64)> {
    let mut found = all.get(&root).map(|one| (one.ticks, one.pages))?;
    let mut left = children.get(&root).cloned().unwrap_or_default();
    // Each process has one parent, so none is counted twice.
    while let Some(pid) = left.pop() {
        let Some(one) = all.get(&pid) else { continue };
        found = (found.0 + one.ticks, found.1 + one.pages);
        left.extend(children.get(&pid).into_iter().flatten());
    }
    Some(found)
}

/// The use of the machine by the process of an instance and by all that it has started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InstanceUsage {
    /// Number of cores in use. `None` until there are two measurements.
    pub cores: Option<f64>,
    /// Resident memory, in bytes.
    pub memory: u64,
}

/// The last measurement.
#[derive(Default)]
pub struct Usage {
    looked: Option<Instant>,
    ticks: HashMap<u32, u64>,
}

impl Usage {
    /// Measures instances, given by their numbers and processes. Returns the cores in use, once two
    /// measurements exist, and the bytes of memory. Returns `None` if it is too early for the next
    /// measurement.
    pub fn of(&mut self, instances: &[(u32, u32)]) -> Option<Value> {
        let since = self.looked.map(|looked| looked.elapsed());
        if since.is_some_and(|since| since < EVERY) || instances.len() > MAX_INSTANCES {
            return None;
        }
        let all = processes();
        self.looked = Some(Instant::now());
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (&pid, process) in &all {
            children.entry(process.parent).or_default().push(pid);
        }
        let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        let page = rustix::param::page_size() as u64;
        let mut ticks = HashMap::new();
        let mut told = Map::new();
        for &(number, pid) in instances {
            let Some((now, pages)) = sum(pid, &all, &children) else { continue };
            let before = self.ticks.get(&pid).zip(since);
            let cores = before.map(|(&before, since)| {
                let used = now.saturating_sub(before) as f64 * tick / since.as_secs_f64();
                (used * 100.0).round() / 100.0
            });
            ticks.insert(pid, now);
            let usage = InstanceUsage { cores, memory: pages * page };
            told.insert(number.to_string(), serde_json::to_value(usage).unwrap_or_default());
        }
        self.ticks = ticks;
        Some(Value::Object(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let stat =
            "7 (a) b (c) S 3 7 7 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 1000 50 18446744073709551615 1";
        assert_eq!(process_of(stat), Some(Process { parent: 3, ticks: 110, pages: 50 }));
        for broken in ["", "7 (a", "7 (a) S", "7 (a) S x 7 7 0 -1 0 0 0 0 0 1 1 1 1 0 0 0 0 0 0 1"] {
            assert_eq!(process_of(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_a_process_has_started_counts_as_its_own() {
        let of = |parent, ticks, pages| Process { parent, ticks, pages };
        let all = HashMap::from([(1, of(0, 1, 1)), (2, of(1, 10, 20)), (3, of(2, 100, 200)), (4, of(1, 5, 5))]);
        let children = HashMap::from([(1, vec![2, 4]), (2, vec![3])]);
        assert_eq!(sum(2, &all, &children), Some((110, 220)));
        assert_eq!(sum(9, &all, &children), None);
    }

    #[test]
    fn this_process_has_memory_and_after_two_looks_a_share_of_a_core() {
        let mut usage = Usage::default();
        let own = [(0, std::process::id()), (1, u32::MAX)];
        let first = usage.of(&own).unwrap();
        assert!(first["0"]["memory"].as_u64().unwrap() > 100_000 && first["0"]["cores"].is_null(), "{first}");
        assert_eq!((first.as_object().unwrap().len(), usage.of(&own)), (1, None));
        usage.looked = usage.looked.and_then(|looked| looked.checked_sub(EVERY));
        assert!(usage.of(&own).unwrap()["0"]["cores"].as_f64().unwrap() >= 0.0);
    }
}
