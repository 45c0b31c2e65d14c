//! Agents in a job of PBS, by `pbs_tmrsh` ("PBS Professional Reference Guide", pbs_tmrsh), and in a job of LSF,
//! by `blaunch` ("IBM Spectrum LSF 10.1, Command reference", blaunch). Both take the place of ssh, and the
//! batch system sees, counts and ends what they start. This is written against that documentation. Neither
//! passes on its input reliably, so the invitation is a file, which all nodes must see.

use super::{AgentCommand, Expected, Launcher, Start};
use crate::command::quote;
use crate::site::Site;
use ligament_catalogue::{said, Fault};
use std::ffi::OsString;

pub(super) struct Pbs {
    before: Vec<String>,
}

impl Pbs {
    pub(super) fn new(site: &Site) -> Pbs {
        Pbs { before: site.before() }
    }
}

impl Launcher for Pbs {
    fn name(&self) -> &'static str {
        "pbs_tmrsh"
    }

    /// Tasks do not have the job's environment, so what a site wants run before is run again.
    fn starts(&self, expected: &[Expected], command: &AgentCommand) -> Result<Vec<Start>, Fault> {
        let each = |one: &Expected| {
            let shell = command.in_shell(&self.before, &command.invitation, Some(one.domain));
            let text: Vec<String> = shell.iter().map(|word| quote(word)).collect();
            vec!["pbs_tmrsh".into(), one.name.clone().into(), text.join(" ").into()]
        };
        Ok(expected.iter().map(|one| start(one, each(one))).collect())
    }
}

pub(super) struct Lsf;

impl Launcher for Lsf {
    fn name(&self) -> &'static str {
        "blaunch"
    }

    /// Tasks have the job's environment.
    fn starts(&self, expected: &[Expected], command: &AgentCommand) -> Result<Vec<Start>, Fault> {
        let each = |one: &Expected| {
            let mut words: Vec<OsString> = vec!["blaunch".into(), "-n".into(), one.name.clone().into()];
            words.extend(command.words(&command.invitation, Some(one.domain)));
            words
        };
        Ok(expected.iter().map(|one| start(one, each(one))).collect())
    }
}

fn start(one: &Expected, words: Vec<OsString>) -> Start {
    let what = said!(AGENT_NOT_STARTED, "the agent on {}", one.name);
    Start { words, invitation_as_input: false, domains: vec![one.domain], what }
}
