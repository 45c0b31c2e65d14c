//! Which instance this process is: what the launcher leaves in its environment.

use crate::error::{Error, IdentityError};
use ligament_shm::line::Identity;
use ligament_wire::control::{ENV_AGENT, ENV_INSTANCE, ENV_RANKS, ENV_TOKEN};

/// From `LIGAMENT_AGENT`, `LIGAMENT_INSTANCE` and `LIGAMENT_TOKEN`.
pub(crate) fn from_environment() -> Result<Identity, Error> {
    if let Some((rank, ranks)) = other_rank(|name| std::env::var(name).ok()) {
        let instance = std::env::var(ENV_INSTANCE).unwrap_or_default();
        return Err(IdentityError::OtherRank { rank, ranks, instance }.into());
    }
    let get = |name: &str| {
        // Empty where this process, or one that it comes from, is an instance already.
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            return Err(IdentityError::TakesPart);
        }
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.ok_or_else(|| IdentityError::NotInARun { variable: name.to_owned() })
    };
    Ok(Identity { agent: get(ENV_AGENT)?, instance: get(ENV_INSTANCE)?, token: get(ENV_TOKEN)? })
}

/// Which of how many ranks this process is, if it was started with MPI and is not rank 0. Each MPI's launcher, and Slurm,
/// has a variable of its own for it.
fn other_rank(get: impl Fn(&str) -> Option<String>) -> Option<(u32, u32)> {
    let ranks: u32 = get(ENV_RANKS)?.parse().ok()?;
    let of_launchers = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    let rank: u32 = of_launchers.iter().find_map(|name| get(name))?.parse().ok()?;
    (rank > 0).then_some((rank, ranks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_rank_but_0_is_known_by_what_its_launcher_says() {
        let of = |variables: &'static [(&str, &str)]| {
            other_rank(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into()))
        };
        assert_eq!(of(&[(ENV_RANKS, "4"), ("OMPI_COMM_WORLD_RANK", "3")]), Some((3, 4)));
        assert_eq!(of(&[(ENV_RANKS, "2"), ("PMI_RANK", "1")]), Some((1, 2)));
        assert_eq!(of(&[(ENV_RANKS, "2"), ("PMI_RANK", "0")]), None);
        // A code that was not started with MPI by Ligament, in a job.
        assert_eq!(of(&[("SLURM_PROCID", "1")]), None);
        assert_eq!(of(&[(ENV_RANKS, "2")]), None);
    }
}
