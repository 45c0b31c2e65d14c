//! What an agent has of other domains, and what it does about them: the carrier, what that hears, and who is where.

use super::Driver;
use ligament_carrier::{Attachment, Carrier, Event, Heard};
use tokio::sync::mpsc::UnboundedReceiver;

/// The rest of a run that spreads over several domains, as the agent of one of them has it. The paths to all domains to
/// which conduits lead were begun.
pub struct Elsewhere<'c> {
    pub carrier: &'c Carrier,
    pub heard: &'c mut UnboundedReceiver<Heard>,
    /// The domain of each instance, and this one.
    pub domain_of: &'c [u32],
    pub me: u32,
}

impl Driver<'_> {
    /// The carrier becomes an endpoint, as soon as this loop answers it.
    pub(super) fn attach_carrier(&self) {
        let (Some(elsewhere), Some((name, token))) = (&self.elsewhere, self.core.carrier()) else { return };
        let domain = |instance: u32| elsewhere.domain_of[instance as usize];
        let channels = self.core.plan().channels.iter();
        elsewhere.carrier.attach(Attachment {
            agent: self.core.address().to_owned(),
            instance: name.to_owned(),
            token: token.to_owned(),
            me: elsewhere.me,
            domains: channels.map(|one| (domain(one.from.instance), domain(one.to.instance))).collect(),
        });
    }

    /// The carrier tells something.
    pub(super) fn heard(&mut self, heard: Heard) {
        for order in self.host.heard(&heard) {
            let actions = self.core.obey(order);
            self.act(actions);
        }
        match heard {
            Heard::Detached => {
                let actions = self.core.detached();
                self.act(actions);
            }
            Heard::Failed(why) => self.fail(why),
            Heard::Path(Event::GivenUp { domain, why }) => {
                self.fail(format!("the path to domain {domain} was given up: {why}"));
            }
            Heard::Control { .. } | Heard::Path(_) => {}
        }
    }
}
