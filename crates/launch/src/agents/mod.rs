//! Starting the agents of a run on other machines. A `Launcher` says which commands do it (`ssh`, `slurm`,
//! `mpirun`, `batch` for PBS and LSF) and starts nothing, so every word of a command is tested without the
//! system that would run it. `AgentProcesses` (in `running`) starts these commands, sees them fail, and ends them.
//!
//! The head starts the commands, not its guard: they are no part of its domain, and what they start elsewhere
//! has a guard of its own. The invitation, with the run's keys, is the command's input if the launcher hands
//! that on (ssh, srun), and otherwise a file of mode 0600.

mod batch;
mod mpirun;
mod processes;
mod slurm;
mod ssh;

pub use processes::{AgentProcesses, LostAgents};
pub use ssh::ssh_words;

use crate::command::{plain_or_quoted, quote};
use crate::site::{LauncherKind, Site};
use ligament_catalogue::{fault, Fault};
use ligament_wire::DomainId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A domain whose agent is to be started, by a launcher or by hand, and that then joins the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedDomain {
    /// Its number; the first after the head is 1, and they follow each other.
    pub domain: DomainId,
    /// Its machine, as the launcher calls it; empty if that is not known before it joins.
    pub name: String,
    /// Cores that the run may use there; `None` if only the machine itself knows.
    pub cores: Option<u32>,
    /// The site that it is at, in a run over several.
    pub site: Option<String>,
    /// How many of its cores it keeps for its agent, if not as many as the run's others.
    pub agent_cores: Option<u32>,
}

/// What starts agents, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The file, for its owner alone, that lets an agent join the run.
    pub invitation: PathBuf,
    /// The command `ligament` on those machines: a path, or a name to be found in `PATH`.
    pub ligament: PathBuf,
    /// Further arguments of the agent, such as `--scratch /tmp`.
    pub arguments: Vec<String>,
    /// A directory for files written on the way: host files, and output of launchers.
    pub directory: PathBuf,
}

impl AgentCommand {
    /// The words of the agent's command line. `-` as the invitation means that it comes on standard input.
    fn words(&self, invitation: &Path, domain: Option<DomainId>) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![self.ligament.clone().into(), "agent".into(), "--join".into(), invitation.into()];
        if let Some(domain) = domain {
            words.extend(["--domain".into(), domain.to_string().into()]);
        }
        words.extend(self.arguments.iter().map(OsString::from));
        words
    }

    /// The command as a text for a shell, after the site's modules and commands. If `ligament` is not at the
    /// same path there, it is looked for in `PATH`.
    fn script(&self, before: &[String], invitation: &Path, domain: Option<DomainId>) -> String {
        let mut script = String::new();
        for line in before {
            let failed = quote(&format!("ligament: this line of the site failed: {line}"));
            script.push_str(&format!("{line}\n[ $? -eq 0 ] || {{ echo {failed} >&2; exit 1; }}\n"));
        }
        let words: Vec<String> =
            self.words(invitation, domain).iter().map(|word| quote(&word.to_string_lossy())).collect();
        if self.ligament.is_absolute() {
            script.push_str(&format!("l={}\n[ -x \"$l\" ] || l=ligament\n", words[0]));
            script.push_str(&format!("exec \"$l\" {}", words[1..].join(" ")));
        } else {
            script.push_str(&format!("exec {}", words.join(" ")));
        }
        script
    }

    /// The words that run `script` on another machine: by a login shell if the site has modules or commands,
    /// because only a login shell knows of modules.
    fn in_shell(&self, before: &[String], invitation: &Path, domain: Option<DomainId>) -> [String; 3] {
        let script = self.script(before, invitation, domain);
        match before.is_empty() {
            true => ["/bin/sh".into(), "-c".into(), script],
            false => ["bash".into(), "-lc".into(), script],
        }
    }
}

/// A command that starts one agent or several, and lasts as long as they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherCommand {
    /// The first is looked up in `PATH`.
    pub words: Vec<OsString>,
    /// Whether the invitation is its standard input; else that is empty.
    pub invitation_as_input: bool,
    /// The domains whose agents it starts.
    pub domains: Vec<DomainId>,
    /// What the command starts, for errors: "the agent on n2".
    pub what: String,
}

/// A way to start agents. It starts nothing itself: it says which commands do.
pub trait Launcher {
    /// The command that users know it by.
    fn name(&self) -> &'static str;

    /// The commands that start an agent for each of `expected`. Files that they need are written into
    /// `command.directory`.
    ///
    /// # Errors
    /// It cannot be done; the error says what to do.
    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault>;
}

/// The launcher of a kind, with a site's options; none if the user starts agents by hand.
pub fn launcher(kind: LauncherKind, site: &Site) -> Option<Box<dyn Launcher>> {
    Some(match kind {
        LauncherKind::Ssh => Box::new(ssh::SshLauncher::new(site)),
        LauncherKind::Slurm => Box::new(slurm::SrunLauncher),
        LauncherKind::Mpirun => Box::new(mpirun::MpirunLauncher::new(site)),
        LauncherKind::Pbs => Box::new(batch::PbsLauncher::new(site)),
        LauncherKind::Lsf => Box::new(batch::LsfLauncher),
        LauncherKind::None => return None,
    })
}

/// What a user has to type on each machine, if agents are started by hand.
pub fn by_hand(expected: &[ExpectedDomain], command: &AgentCommand) -> Vec<String> {
    let line = |one: &ExpectedDomain| {
        let words = command.words(&command.invitation, Some(one.domain));
        let words: Vec<String> = words.iter().map(|word| plain_or_quoted(&word.to_string_lossy())).collect();
        format!("on {}: {}", one.name, words.join(" "))
    };
    expected.iter().map(line).collect()
}

/// The command for a launcher that counts its tasks, if the domains are numbered in that order: which is the first.
fn counted(command: &AgentCommand, expected: &[ExpectedDomain], who: &str) -> Result<AgentCommand, Fault> {
    let first = expected.first().map_or(1, |one| one.domain.number());
    match expected.iter().zip(first..).find(|(one, number)| one.domain.number() != *number) {
        None => {
            let mut command = command.clone();
            if first != 1 {
                command.arguments.push(format!("--first={first}"));
            }
            Ok(command)
        }
        Some((one, number)) => Err(fault!(
            TASKS_OUT_OF_ORDER,
            "{who} counts agents from {first}, and the agent on {} is to be of domain {} instead of {number}; this is a mistake \
             in Ligament, please report it",
            one.name, one.domain
        )),
    }
}

#[cfg(test)]
mod tests;
