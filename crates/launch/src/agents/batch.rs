//! Starts agents in a job of PBS by `pbs_tmrsh` ("PBS Professional Reference Guide", pbs_tmrsh), and in a
//! job of LSF by `blaunch` ("IBM Spectrum LSF 10.1, Command reference", blaunch). Both commands replace
//! ssh, and the batch system sees, counts and ends the processes that they start. The code follows this
//! documentation. Neither command passes on its input reliably, so the invitation is a file, which must be
//! visible on all nodes.

use super::{AgentCommand, ExpectedDomain, Launcher, LauncherCommand};
use crate::command::quote;
use crate::site::Site;
use ligament_catalogue::{said, Fault};
use std::ffi::OsString;

pub(super) struct PbsLauncher {
    before: Vec<String>,
}

impl PbsLauncher {
    pub(super) fn new(site: &Site) -> PbsLauncher {
        PbsLauncher { before: site.before() }
    }
}

impl Launcher for PbsLauncher {
    fn name(&self) -> &'static str {
        "pbs_tmrsh"
    }

    /// Tasks of PBS do not have the job's environment, so each task runs the site's modules and commands
    /// again.
    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault> {
        let each = |one: &ExpectedDomain| {
            let shell = command.in_shell(&self.before, &command.invitation, Some(one.domain));
            let text: Vec<String> = shell.iter().map(|word| quote(word)).collect();
            vec!["pbs_tmrsh".into(), one.name.clone().into(), text.join(" ").into()]
        };
        Ok(expected.iter().map(|one| start(one, each(one))).collect())
    }
}

pub(super) struct LsfLauncher;

impl Launcher for LsfLauncher {
    fn name(&self) -> &'static str {
        "blaunch"
    }

    /// Tasks of LSF have the job's environment.
    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault> {
        let each = |one: &ExpectedDomain| {
            let mut words: Vec<OsString> = vec!["blaunch".into(), "-n".into(), one.name.clone().into()];
            words.extend(command.words(&command.invitation, Some(one.domain)));
            words
        };
        Ok(expected.iter().map(|one| start(one, each(one))).collect())
    }
}

fn start(one: &ExpectedDomain, words: Vec<OsString>) -> LauncherCommand {
    let what = said!(AGENT_NOT_STARTED, "the agent on {}", one.name);
    LauncherCommand { words, invitation_as_input: false, domains: vec![one.domain], what }
}
