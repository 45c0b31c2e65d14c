//! Reads from the environment which instance this process is, and which rank of the instance. The agent
//! sets the variables of the instance, and the launcher of MPI sets the variable of the rank.
//!
//! All processes that one `mpirun` starts have the same environment. If each rank speaks for itself, the
//! token in the environment ends with a colon, and each process appends its rank.

use crate::error::{Error, IdentityError};
use ligament_shm::line::Identity;
use ligament_wire::control::{ENV_AGENT, ENV_INSTANCE, ENV_RANKS, ENV_TOKEN};

/// Returns the identity that `LIGAMENT_AGENT`, `LIGAMENT_INSTANCE` and `LIGAMENT_TOKEN` give.
pub(crate) fn from_environment() -> Result<Identity, Error> {
    let get = |name: &str| {
        // An instance blanks these variables. An empty one means that this process, or a process that
        // started it, is already an instance.
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            return Err(IdentityError::TakesPart);
        }
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.ok_or_else(|| IdentityError::NotInARun { variable: name.to_owned() })
    };
    let told = Identity { agent: get(ENV_AGENT)?, instance: get(ENV_INSTANCE)?, token: get(ENV_TOKEN)? };
    Ok(as_rank(told, |name| std::env::var(name).ok())?)
}

/// Variables in which the launchers of MPI, and Slurm, give a process its rank.
const OF_LAUNCHERS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Returns the identity of this process among the processes that MPI started. If each rank speaks for
/// itself, the token gets the rank. Otherwise only rank 0 has an identity.
fn as_rank(told: Identity, get: impl Fn(&str) -> Option<String>) -> Result<Identity, IdentityError> {
    let ranks: Option<u32> = get(ENV_RANKS).and_then(|ranks| ranks.parse().ok());
    let rank: Option<u32> = OF_LAUNCHERS.iter().find_map(|name| get(name)).and_then(|rank| rank.parse().ok());
    let each = told.token.ends_with(':');
    let Identity { agent, instance, token } = told;
    match (each, rank, ranks) {
        (true, None, _) => Err(IdentityError::RankUnknown { instance, variables: OF_LAUNCHERS.join(", ") }),
        (true, Some(rank), Some(ranks)) if rank >= ranks => {
            Err(IdentityError::RankBeyond { rank, last: ranks.saturating_sub(1), instance })
        }
        (true, Some(rank), _) => Ok(Identity { agent, instance, token: format!("{token}{rank}") }),
        (false, Some(rank), Some(ranks)) if rank > 0 => Err(IdentityError::OtherRank { rank, ranks, instance }),
        (false, ..) => Ok(Identity { agent, instance, token }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the token with which a process registers, from the token that the agent gave it and the
    /// variables of its launcher; or the error.
    fn of(token: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let told = Identity { agent: "@a".into(), instance: "flow".into(), token: token.into() };
        let get = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        as_rank(told, get).map(|identity| identity.token).map_err(|why| why.to_string())
    }

    #[test]
    fn any_rank_but_0_is_known_by_what_its_launcher_says() {
        let refused = |variables: &[(&str, &str)], rank: &str| {
            let why = of("t", variables).unwrap_err();
            assert!(why.contains(&format!("this is rank {rank}")), "{why}");
        };
        refused(&[(ENV_RANKS, "4"), ("OMPI_COMM_WORLD_RANK", "3")], "3 of the 4");
        refused(&[(ENV_RANKS, "2"), ("PMI_RANK", "1")], "1 of the 2");
        let may = |variables: &[(&str, &str)]| assert_eq!(of("t", variables), Ok("t".into()));
        may(&[(ENV_RANKS, "2"), ("PMI_RANK", "0")]);
        // A code in a batch job that Ligament has not started with MPI.
        may(&[("SLURM_PROCID", "1")]);
        may(&[(ENV_RANKS, "2")]);
    }

    #[test]
    fn where_each_rank_speaks_its_number_is_part_of_its_token() {
        assert_eq!(of("t:", &[(ENV_RANKS, "4"), ("PMI_RANK", "3")]), Ok("t:3".into()));
        assert_eq!(of("t:", &[("OMPI_COMM_WORLD_RANK", "0")]), Ok("t:0".into()));
        let beyond = of("t:", &[(ENV_RANKS, "4"), ("PMI_RANK", "4")]).unwrap_err();
        assert!(beyond.contains("this is rank 4, and the model gives flow the ranks 0 to 3"), "{beyond}");
        let unknown = of("t:", &[(ENV_RANKS, "4")]).unwrap_err();
        assert!(unknown.contains("OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID"), "{unknown}");
    }
}
