//! Starts the agents of a run on other machines. A `Launcher` makes the commands that start agents (`ssh`,
//! `slurm`, `mpirun`, `batch` for PBS and LSF). It starts nothing itself, so every word of a command is
//! tested without the system that would run it. `AgentProcesses` (in `processes`) starts these commands,
//! notices their failures, and ends them.
//!
//! The head starts the commands, not its guard: the commands are no part of the head's domain, and the
//! agents on other machines have guards of their own. The invitation, with the run's keys, is the command's
//! input if the launcher passes its input on (ssh, srun), and otherwise a file of mode 0600.

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

/// A domain whose agent is started, by a launcher or by hand, and then joins the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedDomain {
    /// The domain's number. Numbers begin with 1, after the head's number 0, and have no gaps.
    pub domain: DomainId,
    /// The machine's name, as its launcher uses it; empty if it is not known before the domain joins.
    pub name: String,
    /// Number of cores that the run may use on the machine; `None` if only the machine itself knows.
    pub cores: Option<u32>,
    /// The machine's site, in a run over several sites.
    pub site: Option<String>,
    /// Number of the machine's cores that are reserved for its agent; `None` means as many as on other
    /// machines.
    pub agent_cores: Option<u32>,
}

/// The command line of an agent, and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The file that lets an agent join the run. Only its owner may read it.
    pub invitation: PathBuf,
    /// The command `ligament` on the machines of the agents: a path, or a name that is looked up in `PATH`.
    pub ligament: PathBuf,
    /// Further arguments of the agent, such as `--scratch /tmp`.
    pub arguments: Vec<String>,
    /// A directory for temporary files: host files, and the output of launchers.
    pub directory: PathBuf,
}

impl AgentCommand {
    /// Returns the words of the agent's command line. The invitation `-` means standard input.
    fn words(&self, invitation: &Path, domain: Option<DomainId>) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![self.ligament.clone().into(), "agent".into(), "--join".into(), invitation.into()];
        if let Some(domain) = domain {
            words.extend(["--domain".into(), domain.to_string().into()]);
        }
        words.extend(self.arguments.iter().map(OsString::from));
        words
    }

    /// Returns the command as a shell script that runs after the site's modules and commands. If `ligament`
    /// is not at the same path on the other machine, the script looks it up in `PATH`.
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

    /// Returns the words that run the agent's script on another machine. If the site has modules or commands, a
    /// login shell runs the script, because only a login shell knows of modules.
    fn in_shell(&self, before: &[String], invitation: &Path, domain: Option<DomainId>) -> [String; 3] {
        let script = self.script(before, invitation, domain);
        if before.is_empty() {
            ["/bin/sh".into(), "-c".into(), script]
        } else {
            ["bash".into(), "-lc".into(), script]
        }
    }
}

/// A command that starts one or more agents, and ends when they end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherCommand {
    /// The words of the command. The first is looked up in `PATH`.
    pub words: Vec<OsString>,
    /// True if the command reads the invitation from standard input. If false, its standard input is empty.
    pub invitation_as_input: bool,
    /// The domains whose agents the command starts.
    pub domains: Vec<DomainId>,
    /// A description of the started agents, for errors: "the agent on n2".
    pub what: String,
}

/// A way to start agents. A launcher makes the commands, and starts nothing itself.
pub trait Launcher {
    /// The launcher's name for users.
    fn name(&self) -> &'static str;

    /// Returns the commands that start an agent for each of `expected`. Writes the files that the commands
    /// need into `command.directory`.
    ///
    /// # Errors
    /// The agents cannot be started in this way. The error has the reason and advice.
    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault>;
}

/// Returns the launcher of a kind, with a site's options, or `None` if the user starts agents by hand.
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

/// Returns the command that the user types on each machine, if agents are started by hand.
pub fn by_hand(expected: &[ExpectedDomain], command: &AgentCommand) -> Vec<String> {
    let line = |one: &ExpectedDomain| {
        let words = command.words(&command.invitation, Some(one.domain));
        let words: Vec<String> = words.iter().map(|word| plain_or_quoted(&word.to_string_lossy())).collect();
        format!("on {}: {}", one.name, words.join(" "))
    };
    expected.iter().map(line).collect()
}

/// Returns the agent's command for a launcher that numbers its tasks. The number of the first domain
/// becomes an argument. The domains must be numbered in order.
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
            "{who} counts agents from {first}, and the agent on {} is to be of domain {} instead of {number}; \
            this is a mistake in Ligament, please report it",
            one.name,
            one.domain
        )),
    }
}

#[cfg(test)]
mod tests;
