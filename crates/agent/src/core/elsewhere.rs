//! The carrier: the endpoint that stands for all instances of other domains. It is in the agent's own process, so it is
//! never started, signalled or awaited; else it registers and asks for memory as all do.

use super::{Carries, Core};
use crate::action::Action;
use crate::plan::PlannedInstance;

impl Core {
    /// The endpoints of this domain's own instances.
    pub fn own_endpoints(&self) -> impl Iterator<Item = u32> + '_ {
        self.endpoints().filter(|&endpoint| !self.is_carrier(endpoint))
    }

    /// Whether this is the carrier's endpoint.
    pub(super) fn is_carrier(&self, endpoint: u32) -> bool {
        self.plan.instances[endpoint as usize].elsewhere
    }

    /// The name under which the carrier registers, and its token; none if all instances are here.
    pub fn carrier(&self) -> Option<(&str, &str)> {
        let carrier = self.plan.carrier()? as usize;
        Some((&self.plan.instances[carrier].name, &self.instances[carrier].token))
    }

    /// Why an instance of another domain cannot take part here.
    pub(super) fn is_elsewhere(&self, instance: u32) -> Option<String> {
        let PlannedInstance { name, elsewhere, .. } = &self.plan.instances[instance as usize];
        elsewhere.then(|| format!("\"{name}\" takes part in another domain of this run"))
    }

    /// The carrier has brought to others all that was sent here.
    pub fn detached(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        self.carries = Carries::Nothing;
        self.end_if_all_gone(&mut out);
        out
    }
}
