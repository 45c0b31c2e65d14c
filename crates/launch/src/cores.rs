//! Assigns cores to the processes of a domain. Each process gets cores of its own if there are enough cores
//! for all processes.

use crate::command::NodeShare;
use crate::placement::{place, reserved, DomainCapacity, PlacementOptions, ResourceNeed};
use ligament_model::Resources;
use ligament_wire::{DomainId, InstanceId};
use rustix::thread::{sched_getaffinity, CpuSet};

/// Returns the cores that this process may use, by the system's numbers.
fn cores_here() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect()
}

/// Returns the cores to which other processes are bound. A process counts as bound if it may not use all of
/// the given cores, such as an instance of another run. Threads of the kernel do not count.
fn bound_to(cores: &[u32]) -> Vec<u32> {
    let mut bound = Vec::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit()) {
        let Ok(status) = std::fs::read_to_string(process.path().join("status")) else { continue };
        // A thread of the kernel has no memory of its own.
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let (Some(_), Some(allowed)) = (field("VmSize:"), field("Cpus_allowed_list:")) else { continue };
        let here: Vec<u32> = parsed(allowed.trim()).filter(|core| cores.binary_search(core).is_ok()).collect();
        if here.len() < cores.len() {
            bound.extend(here);
        }
    }
    bound.sort_unstable();
    bound.dedup();
    bound
}

/// Parses a list of the kernel, such as `0-3,6`.
fn parsed(list: &str) -> impl Iterator<Item = u32> + '_ {
    list.split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => first..last.saturating_add(1),
            _ => 0..0,
        }
    })
}

/// Returns the part of these resources that is needed on this machine, if the instance's processes are
/// spread over `nodes`. This machine is the first of the nodes.
pub fn needed_here(resources: Resources, nodes: &[NodeShare]) -> Resources {
    match (resources, nodes.first()) {
        (
            Resources::MpiProcesses { threads_per_mpi_process, .. }
            | Resources::MpiNodes { threads_per_mpi_process, .. },
            Some(here),
        ) => Resources::MpiProcesses { mpi_processes: here.processes as usize, threads_per_mpi_process },
        _ => resources,
    }
}

/// Returns cores for each of these processes of this machine. Cores to which another process is bound are
/// left out.
pub fn cores_for(needs: &[Resources]) -> Vec<Vec<u32>> {
    let mut cores = cores_here();
    let taken = bound_to(&cores);
    cores.retain(|core| !taken.contains(core));
    share_cores(&cores, needs)
}

/// Gives every process cores of its own, as `place` does on one machine. The agent's cores come first. If
/// there are not enough cores, no process gets cores of its own, and all processes share all cores.
fn share_cores(cores: &[u32], needs: &[Resources]) -> Vec<Vec<u32>> {
    let count = cores.len() as u32;
    let need = |(i, &resources): (usize, &Resources)| {
        let instances = vec![InstanceId::at(i)];
        ResourceNeed {
            name: String::new(),
            instances,
            resources,
            fixed: Some(DomainId::HEAD),
            site: None,
            whole: false,
        }
    };
    let needs: Vec<ResourceNeed> = needs.iter().enumerate().map(need).collect();
    // If only one core is lacking, the agent's core is given to an instance.
    for reserved in [reserved(None, count), 0] {
        let room = DomainCapacity { name: String::new(), cores: count, reserved, site: None };
        let placed = place(&needs, &[room], PlacementOptions::default()).unwrap_or_default();
        if placed.overcommitted.is_empty() {
            let own = |given: Vec<(DomainId, Vec<u32>)>| {
                let places = given.into_iter().flat_map(|(_, places)| places);
                places.filter_map(|place| cores.get(place as usize).copied()).collect()
            };
            return placed.cores.into_iter().map(own).collect();
        }
    }
    vec![Vec::new(); needs.len()]
}

/// Returns one rank's part of the cores that several ranks share.
pub fn of_rank(cores: &[u32], place: u32, ranks: u32) -> &[u32] {
    let each = cores.len() / ranks.max(1) as usize;
    cores.chunks(each.max(1)).nth(place as usize).unwrap_or_default()
}

/// Returns a list of cores as text for people: `0-3,6`.
pub fn format_core_list(cores: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &core in cores {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(core) => *last = core,
            _ => ranges.push((core, core)),
        }
    }
    let words = ranges
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(counts: &[usize]) -> Vec<Resources> {
        counts.iter().map(|&threads| Resources::Threads { threads }).collect()
    }

    #[test]
    fn each_has_its_own_and_the_agent_keeps_one_of_four() {
        let cores = [0, 1, 2, 3, 8, 9];
        assert_eq!(share_cores(&cores, &threads(&[2, 1])), [vec![1, 2], vec![3]]);
        let mpi = Resources::MpiProcesses { mpi_processes: 2, threads_per_mpi_process: 2 };
        assert_eq!(share_cores(&cores, &[mpi]), [vec![1, 2, 3, 8]]);
    }

    #[test]
    fn the_agent_gives_its_core_away_if_only_that_lacks() {
        assert_eq!(share_cores(&[4, 5, 6, 7], &threads(&[2, 2])), [vec![4, 5], vec![6, 7]]);
        assert_eq!(share_cores(&[0, 1], &threads(&[1, 1])), [vec![0], vec![1]]);
    }

    #[test]
    fn where_there_are_too_few_nobody_is_bound() {
        assert_eq!(share_cores(&[0, 1], &threads(&[1, 1, 1])), [vec![], vec![], vec![]]);
        assert_eq!(share_cores(&[], &threads(&[1])), [Vec::<u32>::new()]);
        assert_eq!(share_cores(&[0, 1], &threads(&[usize::MAX, usize::MAX])), [vec![], vec![]]);
    }

    #[test]
    fn a_process_that_is_bound_keeps_its_core() {
        let cores = cores_here();
        if cores.len() < 2 {
            return;
        }
        let mut child = std::process::Command::new("taskset");
        let mut child = child.args(["-c", &cores[0].to_string(), "sleep", "600"]).spawn().expect("taskset");
        let began = std::time::Instant::now();
        let mut found = Vec::new();
        while !found.contains(&cores[0]) && began.elapsed().as_secs() < 60 {
            found = bound_to(&cores);
        }
        let _ = child.kill();
        let _ = child.wait();
        assert!(found.contains(&cores[0]), "{found:?}");
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(parsed("0-2,5").collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!(parsed("").count() + parsed("x-1").count(), 0);
    }

    #[test]
    fn ranks_share_the_cores_of_their_instance() {
        let of = |place| of_rank(&[4, 5, 6, 7], place, 2);
        assert_eq!((of(0), of(1)), (&[4, 5][..], &[6, 7][..]));
        assert_eq!(of_rank(&[], 1, 2), &[] as &[u32]);
    }

    #[test]
    fn cores_are_said_in_ranges() {
        assert_eq!(format_core_list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(format_core_list(&[]), "");
        assert_eq!(format_core_list(&[u32::MAX - 1, u32::MAX, 0]), "4294967294-4294967295,0");
    }
}
