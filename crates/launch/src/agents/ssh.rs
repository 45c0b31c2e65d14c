//! Agents by ssh, one by one. The invitation goes over ssh's own channel, as the remote command's input, so that no
//! key stands on a command line or on the other machine's disk.

use super::{AgentCommand, Expected, Launcher, Start};
use crate::command::quote;
use crate::site::Site;
use ligament_catalogue::{said, Fault};
use std::ffi::OsString;
use std::path::Path;

pub(super) struct Ssh {
    options: Vec<String>,
    before: Vec<String>,
    /// Seconds until a machine that does not answer is given up.
    patience: u64,
}

impl Ssh {
    pub(super) fn new(site: &Site) -> Ssh {
        let patience = site.start_within.as_secs().clamp(1, 60);
        Ssh { options: site.ssh_options.clone(), before: site.before(), patience }
    }
}

/// The words that reach a machine by ssh, to which the words of a command are added: `ssh` with options that
/// keep it from asking and from hanging, then the user's options. ssh takes the first option of a kind, so ours
/// stay.
pub fn ssh_words(options: &[String], patience: u64, target: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["ssh".into(), "-T".into()];
    for option in
        ["BatchMode=yes".to_owned(), format!("ConnectTimeout={patience}"), "ServerAliveInterval=30".into()]
    {
        words.extend(["-o".into(), option.into()]);
    }
    words.extend(options.iter().map(OsString::from));
    words.extend(["--".into(), target.into()]);
    words
}

impl Launcher for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn starts(&self, expected: &[Expected], command: &AgentCommand) -> Result<Vec<Start>, Fault> {
        let start = |one: &Expected| {
            let shell = command.in_shell(&self.before, Path::new("-"), Some(one.domain));
            // ssh joins its words with blanks and gives them to a shell.
            let text: Vec<String> = shell.iter().map(|word| quote(word)).collect();
            let mut words = ssh_words(&self.options, self.patience, &one.name);
            words.push(format!("exec {}", text.join(" ")).into());
            let what = said!(AGENT_NOT_STARTED, "the agent on {}", one.name);
            Start { words, invitation_as_input: true, domains: vec![one.domain], what }
        };
        Ok(expected.iter().map(start).collect())
    }
}
