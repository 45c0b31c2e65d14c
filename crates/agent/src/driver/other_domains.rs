//! The part of the driver for runs over several domains. This part attaches the carrier, and handles the
//! events of the carrier.

use super::Driver;
use crate::host::{DrainReason, RunView};
use ligament_carrier::{Attachment, Carrier, CarrierReport, Event};
use ligament_catalogue::fault;
use ligament_wire::DomainId;
use tokio::sync::mpsc::UnboundedReceiver;

/// The other domains of a run, as the agent of one domain needs them. The carrier already has a path to
/// each domain to which conduits lead, or the path is being made.
pub struct OtherDomains<'c> {
    pub carrier: &'c Carrier,
    pub heard: &'c mut UnboundedReceiver<CarrierReport>,
    /// The domain of each instance, by instance number.
    pub domain_of: &'c [DomainId],
    /// The domain of this agent.
    pub me: DomainId,
}

impl Driver<'_> {
    /// Attaches the carrier as an endpoint of this agent. The driver calls this function when its event
    /// loop can answer the carrier.
    pub(super) fn attach_carrier(&mut self) {
        let Some(elsewhere) = &self.elsewhere else { return };
        self.core.hold();
        let Some((name, token)) = self.core.carrier() else { return };
        let ranks = self.core.wiring().ranks();
        let domain = |rank| elsewhere.domain_of[ranks.instance(rank).index()];
        let channels = self.core.plan().channels.iter();
        elsewhere.carrier.attach(Attachment {
            agent: self.core.address().to_owned(),
            instance: name.to_owned(),
            token: token.to_owned(),
            me: elsewhere.me,
            domains: channels.map(|one| (domain(one.from.rank), domain(one.to.rank))).collect(),
        });
    }

    /// Reports to the host, once, that all processes of this domain have ended, if the run may go on in
    /// other domains.
    pub(super) fn tell_if_done_here(&mut self) {
        if self.elsewhere.is_none() || self.done_here || !self.core.is_done_here() {
            return;
        }
        self.done_here = true;
        self.guard.sweep();
        self.drain_timelines(DrainReason::ProcessEnded);
        let view = RunView::of(&self.core, &self.custody);
        let Some(orders) = self.host.is_done_here(&view) else {
            let actions = self.core.let_go();
            return self.act(actions);
        };
        for order in orders {
            let actions = self.core.carry_out_order(order);
            self.act(actions);
        }
    }

    /// Handles an event of the carrier.
    pub(super) fn heard(&mut self, heard: CarrierReport) {
        for order in self.host.heard(&heard) {
            let actions = self.core.carry_out_order(order);
            self.act(actions);
        }
        self.show_sights();
        if let CarrierReport::Path(Event::GivenUp { domain, .. } | Event::Gone { domain, .. }) = &heard {
            self.end_taps_in(DomainId::new(*domain));
        }
        match heard {
            CarrierReport::Detached => {
                let actions = self.core.detached();
                self.act(actions);
            }
            CarrierReport::Failed(why) => self.fail(why),
            CarrierReport::Path(Event::GivenUp { domain, why }) => {
                let given_up = fault!(PATH_GIVEN_UP, "the path to domain {domain} was given up: {why}");
                self.fail(given_up.caused_by(&why));
            }
            CarrierReport::Path(Event::Gone { domain, why }) => {
                self.fail(fault!(DOMAIN_KILLED, "the agent of domain {domain} is gone: {why}"));
            }
            CarrierReport::Control { .. } | CarrierReport::Path(_) => {}
        }
    }
}
