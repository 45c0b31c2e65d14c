//! `ligament agent`: runs the agent of a domain away from the head.

use crate::arguments::Agent;
use ligament_catalogue::{fault, Fault};
use ligament_launch::allocation;
use ligament_net::Invitation;
use ligament_runtime::agent::{take_part, AgentOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Variables that hold the number of a task among the tasks that a launcher has started, from 0.
const RANKS: [&str; 4] = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// Variable with the node of a Slurm task. The host name is the same for all nodes of a test cluster on one
/// machine, so it cannot distinguish them.
const NODE: &str = "SLURMD_NODENAME";

/// Takes part in a run as the agent of a domain. Returns the exit status.
pub(crate) fn agent(arguments: &Agent) -> i32 {
    match options(arguments).and_then(take_part) {
        Ok(state) => crate::summary::exit_status(state),
        Err(why) => {
            crate::complain(&why);
            crate::FAILED
        }
    }
}

fn options(arguments: &Agent) -> Result<AgentOptions, Fault> {
    let domain = number(arguments)?;
    let invitation = read_invitation(&arguments.join)?;
    Ok(AgentOptions {
        way: arguments.relaying.way_to(&invitation)?,
        invitation,
        domain,
        cores: arguments.cores.or_else(|| cores_of_job().filter(|_| arguments.cores_of_job)),
        scratch: arguments.scratch.as_deref().map(of_this_machine).transpose()?,
        listen: arguments.listening.listen(),
        node: std::env::var(NODE).ok().filter(|name| !name.is_empty()),
        streams: arguments.linking.streams,
        pace: arguments.linking.pace,
        patience: arguments.patience,
        quiet: arguments.quiet,
        launched: arguments.launched,
        of_job: arguments.of_job,
    })
}

/// Replaces a variable at the beginning of a path by its value on this machine. Example: `$TMPDIR/runs`.
fn of_this_machine(path: &Path) -> Result<PathBuf, Fault> {
    let Some(rest) = path.to_str().and_then(|text| text.strip_prefix('$')) else {
        return Ok(path.to_path_buf());
    };
    let (name, below) = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some(found) => found,
        None => rest.split_at(rest.find('/').unwrap_or(rest.len())),
    };
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Ok(PathBuf::from(value + below)),
        _ => Err(fault!(CANNOT_JOIN, "--scratch {}: the variable {name} is not set here", path.display())),
    }
}

/// Returns the number of cores that the batch system has given to the job on this machine, if a variable of the
/// batch system tells it.
fn cores_of_job() -> Option<u32> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let job = allocation(&|name| std::env::var(name).ok(), &host).ok().flatten()?;
    job.nodes.get(job.here?)?.cores
}

/// Returns the number of this agent's domain.
fn number(arguments: &Agent) -> Result<u32, Fault> {
    if let Some(number) = arguments.domain {
        return Ok(number);
    }
    for name in RANKS {
        let Some(rank) = std::env::var(name).ok() else { continue };
        let rank: u32 = rank.parse().map_err(|_| {
            fault!(
                CANNOT_JOIN,
                "{name} is \"{rank}\", which is no number of a task; \
                                                          say with --domain N, from 1 on, which domain this \
                                                          is"
            )
        })?;
        return rank.checked_add(arguments.first).ok_or_else(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_may_begin_with_a_variable() {
        let home = std::env::var("HOME").unwrap();
        for (text, meant) in
            [("/tmp/x", "/tmp/x".to_owned()), ("$HOME", home.clone()), ("${HOME}/x", format!("{home}/x"))]
        {
            assert_eq!(of_this_machine(Path::new(text)).unwrap(), PathBuf::from(meant));
        }
        let why = of_this_machine(Path::new("$NO_SUCH_VARIABLE_HERE/x")).unwrap_err();
        assert!(why.contains("NO_SUCH_VARIABLE_HERE is not set"), "{why}");
    }
}
