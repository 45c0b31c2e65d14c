//! Sites: how runs are started at a place, each described in one small YAML file. `read` parses a site's file,
//! `find` finds it by name, `shell` runs scripts there, `template` is the output of `ligament site new`,
//! `duration` parses time limits, `resources` the needs of a job other than cores.

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

/// Time that agents have to join, unless the site sets another.
pub const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(300);

/// The kind of launcher that starts the agents of a run on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    /// Each by ssh.
    Ssh,
    /// All by one `srun` within an allocation.
    Slurm,
    /// All by one `mpirun` or `mpiexec`.
    Mpirun,
    /// Each by `pbs_tmrsh` within a job.
    Pbs,
    /// Each by `blaunch` within a job.
    Lsf,
    /// The user, by hand.
    None,
}

impl LauncherKind {
    /// All names of launchers.
    pub const NAMES: &'static [&'static str] = &["ssh", "slurm", "mpirun", "pbs", "lsf", "none"];

    /// The launcher of this name.
    pub fn from_name(name: &str) -> Option<LauncherKind> {
        use LauncherKind::{Lsf, Mpirun, None as ByHand, Pbs, Slurm, Ssh};
        let kinds = [Ssh, Slurm, Mpirun, Pbs, Lsf, ByHand];
        let at = LauncherKind::NAMES.iter().position(|known| *known == name)?;
        Some(kinds[at])
    }

    /// The launcher's name in a site's file.
    pub fn name(self) -> &'static str {
        LauncherKind::NAMES[self as usize]
    }

    /// The launcher that belongs to a batch system.
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
    /// The address for ssh, such as `me@login.site.org`; `None` if the site is here.
    pub ssh: Option<String>,
    /// Further options of ssh.
    pub ssh_options: Vec<String>,
    /// The launcher of agents; `None`: that of the batch system that this process runs under, else ssh.
    pub launcher: Option<LauncherKind>,
    /// The machines, if no batch system gives them.
    pub hosts: Vec<ComputeNode>,
    /// Modules that are loaded before anything is started.
    pub modules: Vec<String>,
    /// Lines that the shell runs after that.
    pub commands: Vec<String>,
    /// The command `ligament` at the site; `None`: the path of this process's program if it exists there, else
    /// that in `PATH`.
    pub ligament: Option<String>,
    /// A directory at the site, reached by ssh, for run directories.
    pub directory: Option<String>,
    /// A directory on each machine for temporary files of a run.
    pub scratch: Option<String>,
    /// The network interface, or the address, at which agents listen.
    pub interface: Option<String>,
    /// The ports at which they may listen.
    pub ports: Option<RangeInclusive<u16>>,
    /// The files of the relays that lead out of the site, the nearest first.
    pub relays: Vec<PathBuf>,
    /// The machine over which ssh reaches those that are not reached directly.
    pub jump: Option<String>,
    /// Number of connections of a link to another domain; `None`: as many as the link needs.
    pub streams: Option<u16>,
    /// Limit of the rate at which each domain here sends to another one far away, bytes per second.
    pub pace: Option<u64>,
    /// True if the network is trusted, so that agents may send without encryption.
    pub trusted_network: bool,
    /// Number of cores of each machine that are kept for its agent.
    pub agent_cores: Option<u32>,
    /// Number of cores of each machine.
    pub cores_per_node: Option<u32>,
    /// Time that agents have to join.
    pub start_within: Duration,
    pub account: Option<String>,
    pub partition: Option<String>,
    /// The reservation in which jobs run.
    pub reservation: Option<String>,
    /// Accelerators of each node of a job.
    pub gpus_per_node: Option<Gpus>,
    /// Licences that a job needs.
    pub licences: Vec<Licence>,
    /// The time limit of a job, unless the user sets another.
    pub time: Option<Walltime>,
    /// True if the user's group may read run directories.
    pub share_with_group: bool,
    /// True if jobs do not share nodes with others.
    pub whole_nodes: bool,
    /// Further options of jobs, in the batch system's syntax.
    pub batch_options: Vec<String>,
}

impl Default for Site {
    /// This machine, or the allocation that it is part of.
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
    /// Lines for a shell that make the site's programs available: modules, then commands.
    pub fn before(&self) -> Vec<String> {
        let modules =
            self.modules.iter().map(|module| format!("module load {}", crate::command::quote(module)));
        modules.chain(self.commands.iter().cloned()).collect()
    }

    /// The path of the command `ligament` at the site; `~/` becomes the home directory.
    pub fn ligament_here(&self) -> Option<PathBuf> {
        let path = self.ligament.as_deref()?;
        let home = path
            .strip_prefix("~/")
            .and_then(|below| Some(PathBuf::from(std::env::var_os("HOME")?).join(below)));
        Some(home.unwrap_or_else(|| path.into()))
    }
}
