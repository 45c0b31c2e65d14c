//! Starts agents by one `srun` within an allocation. `srun` passes on this process's environment, in which
//! a site's modules and commands have run already. The invitation is the input of `srun`, which passes it
//! to every task.

use super::{counted, AgentCommand, ExpectedDomain, Launcher, LauncherCommand};
use ligament_catalogue::{said, Fault};
use std::path::Path;

pub(super) struct SrunLauncher;

impl Launcher for SrunLauncher {
    fn name(&self) -> &'static str {
        "srun"
    }

    /// Slurm numbers tasks in the allocation's order of nodes, and domains have the same order. So an agent
    /// finds its domain's number by itself.
    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault> {
        if expected.is_empty() {
            return Ok(Vec::new());
        }
        let command = counted(command, expected, "srun")?;
        let count = expected.len();
        let nodes: Vec<&str> = expected.iter().map(|one| one.name.as_str()).collect();
        let options = [
            format!("--nodes={count}"),
            format!("--ntasks={count}"),
            "--ntasks-per-node=1".into(),
            format!("--nodelist={}", nodes.join(",")),
            "--distribution=block".into(),
            // The step runs beside the step of the batch script and the steps that instances start.
            "--overlap".into(),
            // Without a number of cores, a step has all cores of the job on its nodes; agents place their
            // instances.
            "--cpu-bind=none".into(),
            "--mem=0".into(),
            "--mpi=none".into(),
            // The head handles an agent that ends early.
            "--kill-on-bad-exit=0".into(),
            "--wait=0".into(),
            "--input=all".into(),
            "--unbuffered".into(),
            "--job-name=ligament-agents".into(),
        ];
        let mut words = vec!["srun".into()];
        words.extend(options.into_iter().map(Into::into));
        words.extend(command.words(Path::new("-"), None));
        let what = match nodes.as_slice() {
            [one] => said!(AGENT_NOT_STARTED, "the agent on {one}"),
            _ => said!(AGENT_NOT_STARTED, "the agents on {}", nodes.join(", ")),
        };
        let domains = expected.iter().map(|one| one.domain).collect();
        Ok(vec![LauncherCommand { words, invitation_as_input: true, domains, what }])
    }
}
