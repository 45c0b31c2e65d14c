//! The task and the answer that both ends of a copy exchange over ssh's channel, one line of JSON each; and
//! the role of each end.

use ligament_catalogue::Fault;
use ligament_files::{receive, send, CopyTally, MessageChannel, ReceiveOptions, SendOptions, WatchOptions};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the task and the answer. Both ends must have the same version.
pub(crate) const VERSION: u32 = 2;
/// Text before the answer. A line without this text comes from a shell and is skipped.
pub(crate) const MARK: &str = "ligament copies ";

/// The transport of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    /// A path if a port can be reached, else ssh.
    #[default]
    Any,
    /// A path of its own, encrypted, over several streams.
    Path,
    /// The standard input and output of ssh.
    Ssh,
}

/// The data that the other end needs for its part of a copy.
#[derive(Serialize, Deserialize)]
pub(crate) struct CopyTask {
    pub version: u32,
    /// Text of an invitation, with the key of the path and the relays.
    pub invitation: String,
    pub over: Transport,
    /// The network interface at which the other end may listen.
    pub interface: Option<String>,
    pub ports: Option<RangeInclusive<u16>>,
    /// Maximum rate at which the other end sends, in bytes per second.
    #[serde(default)]
    pub pace: Option<u64>,
    pub what: CopyRole,
}

/// The role of an end of a copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CopyRole {
    Send {
        sources: Vec<PathBuf>,
        contents: bool,
        dry: bool,
        rate: Option<u64>,
        /// Time between two looks at the directory, and time for which a file must stay unchanged before it is
        /// sent, both in s. If absent, the sender ends when all files are sent.
        watching: Option<(Option<f64>, f64)>,
    },
    Receive {
        into: PathBuf,
        directory: bool,
        dry: bool,
        delete: bool,
        live: bool,
        /// Names that this end has requested. Other names are refused.
        only: Option<Vec<String>>,
    },
}

impl CopyRole {
    /// Replaces `~/` at the beginning of each name by the user's home, because no shell has expanded it.
    pub fn below_home(self, home: Option<&Path>) -> CopyRole {
        let find = |path: PathBuf| match (path.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path,
        };
        match self {
            CopyRole::Send { sources, contents, dry, rate, watching } => {
                let sources = sources.into_iter().map(find).collect();
                CopyRole::Send { sources, contents, dry, rate, watching }
            }
            CopyRole::Receive { into, directory, dry, delete, live, only } => {
                CopyRole::Receive { into: find(into), directory, dry, delete, live, only }
            }
        }
    }

    /// Carries out the role: sends files, or receives them.
    pub fn carry_out(&self, channel: &dyn MessageChannel, tally: &CopyTally) -> Result<(), Fault> {
        match self.clone() {
            CopyRole::Receive { into, directory, dry, delete, live, only } => {
                receive(channel, &ReceiveOptions { into, directory, dry, delete, live, only }, tally)
            }
            CopyRole::Send { sources, contents, dry, rate, watching } => {
                let time = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(30));
                let watching =
                    watching.map(|(look, rest)| WatchOptions { look: look.map(time), rest: time(rest) });
                send(channel, &SendOptions { sources, contents, dry, rate, watching }, tally)
            }
        }
    }
}

/// The other end's answer.
#[derive(Serialize, Deserialize)]
pub(crate) struct CopyAnswer {
    pub version: u32,
    /// The addresses at which the other end listens, the likeliest first; empty if it does not listen.
    pub at: Vec<SocketAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_there() {
        let into = |into: &str| CopyRole::Receive {
            into: into.into(),
            directory: false,
            dry: false,
            delete: false,
            live: false,
            only: None,
        };
        let home = Path::new("/home/me");
        assert_eq!(into("~/a/b").below_home(Some(home)), into("/home/me/a/b"));
        assert_eq!(into("~").below_home(Some(home)), into("/home/me/"));
        assert_eq!(into("a~/b").below_home(Some(home)), into("a~/b"));
        assert_eq!(into("~other/b").below_home(Some(home)), into("~other/b"));
    }
}
