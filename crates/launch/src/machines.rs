//! The machines of a run, and the launcher of its agents on them. The machines are the list of the user.
//! Without such a list, they are the machines of the site; without these, the nodes of the batch job that this
//! process belongs to; and without a job, this machine alone.

use crate::agents::ExpectedDomain;
use crate::nodes::{allocation, position, Allocation, ComputeNode};
use crate::site::{LauncherKind, Site};
use ligament_catalogue::Fault;
use ligament_wire::DomainId;

/// The machines of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMachines {
    /// This machine, domain 0. It has no cores for instances if it is not one of the machines to be used.
    pub here: Option<ComputeNode>,
    /// The other machines, numbered from 1.
    pub others: Vec<ExpectedDomain>,
    /// The launcher of agents on the other machines.
    pub launcher: LauncherKind,
}

impl RunMachines {
    /// Returns true if this machine is the only one of the run.
    pub fn is_only_here(&self) -> bool {
        self.others.is_empty()
    }
}

/// Returns the machines of a run that a process with these variables begins on the machine `host`. `listed`
/// is the user's list on the command line.
///
/// # Errors
/// The environment announces an allocation, and cannot be understood.
pub fn machines(
    site: &Site,
    listed: Option<Vec<ComputeNode>>,
    variable: &dyn Fn(&str) -> Option<String>,
    host: &str,
) -> Result<RunMachines, Fault> {
    let MachineList { nodes, here, launcher } = all_machines(site, listed, variable, host)?;
    Ok(divide(nodes, here, launcher))
}

/// The machines of a run, or of one site's part of a run, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineList {
    pub nodes: Vec<ComputeNode>,
    /// The index of this machine, if this machine is in the list.
    pub here: Option<usize>,
    /// The launcher of agents on these machines.
    pub launcher: LauncherKind,
}

/// Returns the machines of a run as one list. The arguments are those of `machines`.
///
/// # Errors
/// Fails like `machines`.
pub fn all_machines(
    site: &Site,
    listed: Option<Vec<ComputeNode>>,
    variable: &dyn Fn(&str) -> Option<String>,
    host: &str,
) -> Result<MachineList, Fault> {
    let of_site = || (!site.hosts.is_empty()).then(|| site.hosts.clone());
    if let Some(nodes) = listed.or_else(of_site) {
        let here = position(&nodes, host);
        return Ok(MachineList { nodes, here, launcher: site.launcher.unwrap_or(LauncherKind::Ssh) });
    }
    Ok(match allocation(variable, host)? {
        Some(Allocation { system, nodes, here, .. }) => {
            MachineList { nodes, here, launcher: site.launcher.unwrap_or(LauncherKind::of(system)) }
        }
        None => MachineList {
            nodes: vec![ComputeNode::new(host, None)],
            here: Some(0),
            launcher: site.launcher.unwrap_or(LauncherKind::Ssh),
        },
    })
}

fn divide(mut nodes: Vec<ComputeNode>, here: Option<usize>, launcher: LauncherKind) -> RunMachines {
    let here = here.map(|here| nodes.remove(here));
    let others = nodes.into_iter().zip((1..).map(DomainId::new));
    let others = others.map(|(node, domain)| ExpectedDomain {
        domain,
        name: node.name,
        cores: node.cores,
        ..ExpectedDomain::default()
    });
    let others = others.collect();
    RunMachines { here, others, launcher }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(site: &Site, listed: Option<&str>, variables: &[(&str, &str)], host: &str) -> RunMachines {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let listed = listed.map(|text| crate::parse_hosts(text).unwrap());
        machines(site, listed, &variable, host).unwrap()
    }

    const JOB: &[(&str, &str)] =
        &[("SLURM_JOB_ID", "1"), ("SLURM_JOB_NODELIST", "n[1-3]"), ("SLURM_JOB_CPUS_PER_NODE", "2(x3)")];

    fn names(machines: &RunMachines) -> Vec<(u32, &str)> {
        machines.others.iter().map(|one| (one.domain.number(), one.name.as_str())).collect()
    }

    #[test]
    fn without_a_job_and_without_hosts_a_run_is_on_this_machine() {
        let found = of(&Site::default(), None, &[], "laptop");
        assert!(found.is_only_here());
        assert_eq!(found.here, Some(ComputeNode::new("laptop", None)));
    }

    #[test]
    fn in_a_job_all_other_nodes_are_domains_from_1() {
        let found = of(&Site::default(), None, JOB, "n2");
        assert_eq!(found.here, Some(ComputeNode::new("n2", 2)));
        assert_eq!(names(&found), [(1, "n1"), (2, "n3")]);
        assert_eq!(found.launcher, LauncherKind::Slurm);
        let ssh = Site { launcher: Some(LauncherKind::Ssh), ..Site::default() };
        assert_eq!(of(&ssh, None, JOB, "n2").launcher, LauncherKind::Ssh);
    }

    #[test]
    fn what_is_listed_comes_before_the_site_and_the_site_before_the_job() {
        let site = Site { hosts: crate::parse_hosts("a,b:4").unwrap(), ..Site::default() };
        assert_eq!(names(&of(&site, None, JOB, "n1")), [(1, "a"), (2, "b")]);
        assert_eq!(names(&of(&site, Some("c"), JOB, "n1")), [(1, "c")]);
        assert_eq!(of(&site, None, JOB, "n1").launcher, LauncherKind::Ssh);
    }

    #[test]
    fn a_machine_that_is_not_listed_runs_no_instances() {
        let found = of(&Site::default(), Some("a,b"), &[], "login");
        assert_eq!((found.here.as_ref(), names(&found)), (None, vec![(1, "a"), (2, "b")]));
        assert_eq!(
            of(&Site::default(), Some("a,login:3"), &[], "login").here,
            Some(ComputeNode::new("login", 3))
        );
    }
}
