//! `ligament cp` and `ligament sync`: files from one site to another. `other_site` starts the other end
//! by ssh, `task` holds its orders, `serve` carries them out there, `progress` shows how far a copy is.

mod cp;
mod other_site;
mod place;
pub(crate) mod progress;
mod serve;
mod sync;
mod task;

pub(crate) use cp::{cp, Copy};
pub(crate) use serve::serve;
pub(crate) use sync::{sync, Sync};

use ligament_catalogue::{fault, Fault};
use ligament_launch::site::parse_rate;
use std::path::PathBuf;

/// How the other end is reached.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ReachOptions {
    /// Give ssh this option, such as -p2222; may be given several times.
    #[arg(short = 'o', long = "ssh-option", value_name = "OPTION", allow_hyphen_values = true)]
    ssh_options: Vec<String>,
    /// The command `ligament` at the other end [default: that of its site's file, else the one in PATH].
    #[arg(long, value_name = "COMMAND")]
    ligament: Option<String>,
    /// Go over this relay, whose file this is, where no port of the other end can be reached; of several in a
    /// row give the nearest first [default: those of its site's file].
    #[arg(long, value_name = "FILE")]
    relay: Vec<PathBuf>,
    /// The transport of the files: a path, ssh's own connection, or a path if a port can be reached.
    #[arg(long, value_enum, default_value_t)]
    over: task::Transport,
    /// Send no more than this in a second (bytes; 10M are ten million).
    #[arg(long, value_name = "BYTES", value_parser = rate)]
    rate: Option<u64>,
}

/// Returns a number of bytes from a number with a unit.
pub(crate) fn rate(text: &str) -> Result<u64, Fault> {
    parse_rate(text).ok_or_else(|| {
        fault!(
            WORD_OF_THE_COMMAND_LINE,
            "\"{text}\" is no number of bytes; write them with a unit, such as 500k or 10M"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_have_a_unit() {
        assert_eq!(rate("500"), Ok(500));
        assert_eq!(rate("1.5M"), Ok(1_500_000));
        assert_eq!(rate("10 MB/s"), Ok(10_000_000));
        assert!(rate("0").is_err() && rate("fast").is_err() && rate("-1k").is_err());
    }
}
