//! `ligament agent`: the agent of one more domain of a run.

use crate::arguments::Agent;
use ligament_catalogue::{fault, Fault};
use ligament_net::Invitation;
use ligament_runtime::agent::{take_part, AgentOptions};
use std::io::Read;
use std::path::Path;

/// Variables from which a task that a launcher has started knows which of several it is, from 0.
const RANKS: [&str; 4] = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// Takes part in a run.
pub(crate) fn agent(arguments: &Agent) -> i32 {
    match options(arguments).and_then(take_part) {
        Ok(state) => crate::ending::exit_status(state),
        Err(why) => {
            crate::complain(&why);
            crate::FAILED
        }
    }
}

fn options(arguments: &Agent) -> Result<AgentOptions, Fault> {
    let domain = number(arguments)?;
    Ok(AgentOptions {
        invitation: read_invitation(&arguments.join)?,
        domain,
        cores: arguments.cores,
        scratch: arguments.scratch.clone(),
        listen: arguments.listening.listen(),
        patience: arguments.patience,
        quiet: arguments.quiet,
        launched: arguments.launched,
    })
}

/// Which domain this is.
fn number(arguments: &Agent) -> Result<u32, Fault> {
    if let Some(number) = arguments.domain {
        return Ok(number);
    }
    for name in RANKS {
        let Some(rank) = std::env::var(name).ok() else { continue };
        let rank: u32 =
            rank.parse().map_err(|_| fault!(CANNOT_JOIN, "{name} is \"{rank}\", which is no number of a task; say with --domain N, from 1 on, which domain this is"))?;
        return rank.checked_add(1).ok_or_else(|| {
            fault!(CANNOT_JOIN, "{name} is {rank}, which is too large for a number of a task; give --domain N")
        });
    }
    Err(fault!(
        CANNOT_JOIN,
        "which domain is this? Give --domain N, from 1 on, or start it by srun or mpirun (none of {} is set)",
        RANKS.join(", ")
    ))
}

fn read_invitation(from: &Path) -> Result<Invitation, Fault> {
    if from != Path::new("-") {
        return Invitation::read(from);
    }
    let mut text = String::new();
    let read = std::io::stdin().take(1 << 20).read_to_string(&mut text);
    read.map_err(|error| {
        fault!(INVITATION_UNUSABLE, "the invitation cannot be read from the standard input: {error}")
    })?;
    Invitation::from_text(&text).map_err(|error| error.told(|error| format!("standard input: {error}")))
}
