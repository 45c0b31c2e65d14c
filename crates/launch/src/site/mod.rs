//! Sites: one small YAML file describes how runs are started at a site. `read` parses a site's file, `find`
//! finds it by name, `shell` runs scripts at the site, `template` is the output of `ligament site new`,
//! `duration` parses time limits, and `resources` parses the needs of a job other than cores.

mod duration;
mod find;
mod read;
mod resources;
mod shell;
mod template;

pub use duration::{parse_duration, Walltime};
pub use find::{find_site, known_sites, own_directory, SITES_DIRECTORY};
pub use read::{read_site, SITE_KEYS};
pub use resources::{parse_rate, Gpus, Licence};
pub use shell::{ScriptOutput, SiteShell};
pub use template::template;

use crate::nodes::{BatchSystem, ComputeNode};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Default time that agents have to join the run.
pub const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(300);

/// The kind of launcher that starts the agents of a run on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    /// The launcher starts each agent by ssh.
    Ssh,
    /// The launcher starts all agents by one `srun` within an allocation.
    Slurm,
    /// The launcher starts all agents by one `mpirun` or `mpiexec`.
    Mpirun,
    /// The launcher starts each agent by `pbs_tmrsh` within a job.
    Pbs,
    /// The launcher starts each agent by `blaunch` within a job.
    Lsf,
    /// The user starts the agents by hand.
    None,
}

impl LauncherKind {
    /// All names of launchers.
    pub const NAMES: &'static [&'static str] = &["ssh", "slurm", "mpirun", "pbs", "lsf", "none"];

    /// Returns the launcher of this name.
    pub fn from_name(name: &str) -> Option<LauncherKind> {
        use LauncherKind::{Lsf, Mpirun, None as ByHand, Pbs, Slurm, Ssh};
        let kinds = [Ssh, Slurm, Mpirun, Pbs, Lsf, ByHand];
        let at = LauncherKind::NAMES.iter().position(|known| *known == name)?;
        Some(kinds[at])
    }

    /// Returns the launcher's name in a site's file.
    pub fn name(self) -> &'static str {
        LauncherKind::NAMES[self as usize]
    }

    /// Returns the launcher that belongs to a batch system.
    pub fn of(system: BatchSystem) -> LauncherKind {
        match system {
            BatchSystem::Slurm => LauncherKind::Slurm,
            BatchSystem::Pbs => LauncherKind::Pbs,
            BatchSystem::Lsf => LauncherKind::Lsf,
        }
    }
}

/// The description of a site, and how runs are started there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The site's name: its file's name without `.yaml`.
    pub name: String,
    /// The site's file; `None` for a site without one.
    pub file: Option<PathBuf>,
    pub description: String,
    /// The address for ssh, such as `me@login.site.org`; `None` if the site is reached without ssh.
    pub ssh: Option<String>,
    /// Further options of ssh.
    pub ssh_options: Vec<String>,
    /// The launcher of agents. `None` means the launcher of the batch system that this process runs under,
    /// or else ssh.
    pub launcher: Option<LauncherKind>,
    /// The machines, if no batch system gives them.
    pub hosts: Vec<ComputeNode>,
    /// Modules that are loaded before anything is started.
    pub modules: Vec<String>,
    /// Lines that the shell runs after it has loaded the modules.
    pub commands: Vec<String>,
    /// The command `ligament` at the site. `None` means the path of this process's program if it exists at
    /// the site, or else the command in `PATH`.
    pub ligament: Option<String>,
    /// A directory at the site, reached by ssh, for run directories.
    pub directory: Option<String>,
    /// A directory on each machine for temporary files of a run.
    pub scratch: Option<String>,
    /// The network interface, or the address, at which agents listen.
    pub interface: Option<String>,
    /// The ports at which agents may listen.
    pub ports: Option<RangeInclusive<u16>>,
    /// The files of the relays between the site and the outside, the nearest relay first.
    pub relays: Vec<PathBuf>,
    /// The machine over which ssh reaches machines that it does not reach directly.
    pub jump: Option<String>,
    /// Number of connections of a link to another domain. `None` means as many as the link needs.
    pub streams: Option<u16>,
    /// Maximum rate at which each domain of this site sends to a far domain, in bytes per second.
    pub pace: Option<u64>,
    /// True if the network is trusted, so that agents may send without encryption.
    pub trusted_network: bool,
    /// Number of cores of each machine that are reserved for its agent.
    pub agent_cores: Option<u32>,
    /// Number of cores of each machine.
    pub cores_per_node: Option<u32>,
    /// Time that agents have to join the run.
    pub start_within: Duration,
    pub account: Option<String>,
    pub partition: Option<String>,
    /// The reservation in which jobs run.
    pub reservation: Option<String>,
    /// Accelerators on each node of a job.
    pub gpus_per_node: Option<Gpus>,
    /// Licences that a job needs.
    pub licences: Vec<Licence>,
    /// The time limit of a job, unless the user sets another.
    pub time: Option<Walltime>,
    /// True if the user's group may read run directories.
    pub share_with_group: bool,
    /// True if a job does not share its nodes with other jobs.
    pub whole_nodes: bool,
    /// Further options of jobs, in the batch system's syntax.
    pub batch_options: Vec<String>,
}

impl Default for Site {
    /// Makes a site that is this machine, or the allocation that this machine is part of.
    fn default() -> Site {
        Site {
            name: "here".into(),
            file: None,
            description: String::new(),
            ssh: None,
            ssh_options: Vec::new(),
            launcher: None,
            hosts: Vec::new(),
            modules: Vec::new(),
            commands: Vec::new(),
            ligament: None,
            directory: None,
            scratch: None,
            interface: None,
            ports: None,
            relays: Vec::new(),
            jump: None,
            streams: None,
            pace: None,
            trusted_network: false,
            agent_cores: None,
            cores_per_node: None,
            start_within: DEFAULT_START_TIMEOUT,
            account: None,
            partition: None,
            reservation: None,
            gpus_per_node: None,
            licences: Vec::new(),
            time: None,
            share_with_group: false,
            whole_nodes: true,
            batch_options: Vec::new(),
        }
    }
}

impl Site {
    /// Returns lines for a shell that make the site's programs available: modules, then commands.
    pub fn before(&self) -> Vec<String> {
        let modules =
            self.modules.iter().map(|module| format!("module load {}", crate::command::quote(module)));
        modules.chain(self.commands.iter().cloned()).collect()
    }

    /// Returns the path of the command `ligament` at the site. `~/` becomes the home directory.
    pub fn ligament_here(&self) -> Option<PathBuf> {
        let path = self.ligament.as_deref()?;
        let home = path
            .strip_prefix("~/")
            .and_then(|below| Some(PathBuf::from(std::env::var_os("HOME")?).join(below)));
        Some(home.unwrap_or_else(|| path.into()))
    }
}
