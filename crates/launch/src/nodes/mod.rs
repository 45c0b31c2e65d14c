//! The machines that a run may use: the nodes that a batch system has assigned to this job (`slurm`, `pbs`,
//! `lsf`), or the machines that the user lists (`hostfile`).

mod hostfile;
mod lsf;
mod pbs;
mod slurm;

pub use hostfile::{parse_hosts, read_hostfile};

use ligament_catalogue::Fault;
use std::path::Path;

/// Maximum number of machines. A larger number is refused, so that a mistake such as `n[1-1000000000]` does
/// not fill the memory.
const MAX_NODES: usize = 1 << 20;

/// A machine, by the name that its launcher uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeNode {
    pub name: String,
    /// Number of cores that the run may use on the machine; `None` if only the machine itself knows.
    pub cores: Option<u32>,
}

impl ComputeNode {
    /// Makes a machine with this number of cores.
    pub fn new(name: impl Into<String>, cores: impl Into<Option<u32>>) -> ComputeNode {
        ComputeNode { name: name.into(), cores: cores.into() }
    }
}

/// A batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSystem {
    Slurm,
    Pbs,
    Lsf,
}

impl BatchSystem {
    /// Returns the name of this batch system, as users know it.
    pub fn name(self) -> &'static str {
        match self {
            BatchSystem::Slurm => "Slurm",
            BatchSystem::Pbs => "PBS",
            BatchSystem::Lsf => "LSF",
        }
    }
}

/// The allocation of the job that this process is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    pub system: BatchSystem,
    /// The job's number.
    pub job: String,
    /// The nodes in the batch system's order, each once.
    pub nodes: Vec<ComputeNode>,
    /// The index of this process's node; `None` if the process runs elsewhere, for example on a login node.
    pub here: Option<usize>,
}

/// Returns the allocation that this process is part of, according to its environment. `variable` looks up a
/// variable; `host` is this machine's name.
///
/// # Errors
/// The environment announces an allocation that cannot be understood.
pub fn allocation(variable: &dyn Fn(&str) -> Option<String>, host: &str) -> Result<Option<Allocation>, Fault> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(job) = variable("SLURM_JOB_ID").filter(|_| variable("SLURM_JOB_NODELIST").is_some()) {
        let nodes = slurm::nodes(&variable)?;
        // If several daemons of Slurm share one machine, only they know their names.
        let name = variable("SLURMD_NODENAME").unwrap_or_else(|| host.to_owned());
        let here = position(&nodes, &name);
        return Ok(Some(Allocation { system: BatchSystem::Slurm, job, nodes, here }));
    }
    if let Some(file) = variable("PBS_NODEFILE") {
        let nodes = pbs::nodes(Path::new(&file))?;
        let (job, here) = (variable("PBS_JOBID").unwrap_or_default(), position(&nodes, host));
        return Ok(Some(Allocation { system: BatchSystem::Pbs, job, nodes, here }));
    }
    if let Some(job) = variable("LSB_JOBID").filter(|_| lsf::in_allocation(&variable)) {
        let nodes = lsf::nodes(&variable)?;
        let here = position(&nodes, host);
        return Ok(Some(Allocation { system: BatchSystem::Lsf, job, nodes, here }));
    }
    Ok(None)
}

/// Returns the index of a machine in the list of nodes. Compares the whole names first, and then the parts
/// before the first period.
pub fn position(nodes: &[ComputeNode], host: &str) -> Option<usize> {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_address = |name: &str| name.parse::<std::net::IpAddr>().is_ok();
    let same = |node: &ComputeNode| !is_address(&node.name) && short(&node.name) == short(host);
    let this_machine = |node: &ComputeNode| {
        node.name == "localhost" || node.name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    nodes
        .iter()
        .position(|node| node.name == host)
        .or_else(|| nodes.iter().position(same))
        .or_else(|| nodes.iter().position(this_machine))
}

/// Returns the different names in their order, each with its number of occurrences.
fn counted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(String, u32)> {
    let mut places = std::collections::HashMap::new();
    let mut counts: Vec<(String, u32)> = Vec::new();
    for name in names {
        let place = *places.entry(name).or_insert(counts.len());
        match counts.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counts.push((name.to_owned(), 1)),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn found(variables: &[(&str, &str)], host: &str) -> Result<Option<Allocation>, Fault> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        allocation(&|name| variables.get(name).map(|value| (*value).to_owned()), host)
    }

    #[test]
    fn outside_of_a_job_there_is_no_allocation() {
        assert_eq!(found(&[("SLURM_CONF", "/etc/slurm.conf"), ("SLURM_JOB_ID", "")], "a"), Ok(None));
    }

    #[test]
    fn in_a_slurm_job_the_nodes_are_those_of_the_job_and_this_one_is_the_daemons() {
        let job = found(
            &[
                ("SLURM_JOB_ID", "17"),
                ("SLURM_JOB_NODELIST", "n[1-2],big"),
                ("SLURM_JOB_CPUS_PER_NODE", "2(x2),64"),
                ("SLURMD_NODENAME", "n2"),
            ],
            "host",
        );
        let job = job.unwrap().unwrap();
        assert_eq!(
            job.nodes,
            [ComputeNode::new("n1", 2), ComputeNode::new("n2", 2), ComputeNode::new("big", 64)]
        );
        assert_eq!((job.job.as_str(), job.here, job.system), ("17", Some(1), BatchSystem::Slurm));
    }

    #[test]
    fn on_a_login_node_with_an_allocation_this_machine_is_none_of_its_nodes() {
        let job = found(
            &[("SLURM_JOB_ID", "17"), ("SLURM_JOB_NODELIST", "n1"), ("SLURM_JOB_CPUS_PER_NODE", "2")],
            "login",
        );
        assert_eq!(job.unwrap().unwrap().here, None);
    }

    #[test]
    fn in_an_lsf_job_hosts_come_with_their_slots() {
        let job = found(&[("LSB_JOBID", "3"), ("LSB_MCPU_HOSTS", "h1 4 h2.site.org 2")], "h2.other").unwrap();
        let job = job.unwrap();
        assert_eq!(job.nodes, [ComputeNode::new("h1", 4), ComputeNode::new("h2.site.org", 2)]);
        assert_eq!(job.here, Some(1));
    }

    #[test]
    fn a_machine_is_found_by_its_name_with_or_without_the_domain_and_by_localhost() {
        let nodes = [
            ComputeNode::new("n1.site.org", None),
            ComputeNode::new("n10", None),
            ComputeNode::new("10.0.0.1", None),
        ];
        assert_eq!(position(&nodes, "n1"), Some(0));
        assert_eq!(position(&nodes, "n10.site.org"), Some(1));
        assert_eq!(position(&nodes, "10"), None);
        assert_eq!(position(&[ComputeNode::new("a", 1), ComputeNode::new("::1", 1)], "anything"), Some(1));
    }
}
