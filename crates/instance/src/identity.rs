//! Which instance this process is: what the launcher leaves in its environment.

use crate::error::Error;
use ligament_shm::line::Identity;
use ligament_wire::control::{ENV_AGENT, ENV_INSTANCE, ENV_TOKEN};

/// From `LIGAMENT_AGENT`, `LIGAMENT_INSTANCE` and `LIGAMENT_TOKEN`.
pub(crate) fn from_environment() -> Result<Identity, Error> {
    let get = |name: &str| {
        // Empty where this process, or one that it comes from, is an instance already.
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            return Err(Error::Registration(
                "this process, or one that it comes from, takes part in the run already; a program makes one Instance and no \
                 more"
                    .to_owned(),
            ));
        }
        std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| {
            Error::Registration(format!(
                "this program takes part in a coupled model, but {name} is not set, so it does not know in which run; \
                 start it with `ligament run MODEL`, or by hand with `ligament join RUN INSTANCE -- PROGRAM`"
            ))
        })
    };
    Ok(Identity { agent: get(ENV_AGENT)?, instance: get(ENV_INSTANCE)?, token: get(ENV_TOKEN)? })
}
