//! Starts agents by ssh, one by one. The invitation is the input of the remote command and so goes over
//! ssh's own channel. No key appears on a command line or on the other machine's disk.

use super::{AgentCommand, ExpectedDomain, Launcher, LauncherCommand};
use crate::command::quote;
use crate::site::Site;
use ligament_catalogue::{said, Fault};
use std::ffi::OsString;
use std::path::Path;

pub(super) struct SshLauncher {
    options: Vec<String>,
    before: Vec<String>,
    /// Timeout of a connection attempt, in s.
    connect_timeout_s: u64,
}

impl SshLauncher {
    pub(super) fn new(site: &Site) -> SshLauncher {
        let patience = site.start_within.as_secs().clamp(1, 60);
        SshLauncher { options: site.ssh_options.clone(), before: site.before(), connect_timeout_s: patience }
    }
}

/// Returns the words that reach a machine by ssh; the words of a command are appended to them. The words
/// have options that keep ssh from asking and from hanging, and then the user's options. ssh uses the first
/// option of a kind, so the user cannot override the options of Ligament.
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

impl Launcher for SshLauncher {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault> {
        let start = |one: &ExpectedDomain| {
            let shell = command.in_shell(&self.before, Path::new("-"), Some(one.domain));
            // ssh joins its words with blanks and passes the text to a shell on the other machine.
            let text: Vec<String> = shell.iter().map(|word| quote(word)).collect();
            let mut words = ssh_words(&self.options, self.connect_timeout_s, &one.name);
            words.push(format!("exec {}", text.join(" ")).into());
            let what = said!(AGENT_NOT_STARTED, "the agent on {}", one.name);
            LauncherCommand { words, invitation_as_input: true, domains: vec![one.domain], what }
        };
        Ok(expected.iter().map(start).collect())
    }
}
