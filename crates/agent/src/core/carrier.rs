//! The carrier: the endpoint that stands for all instances of other domains. The carrier runs in the
//! agent's own process, so the agent never starts it, signals it or waits for its end. In all other
//! respects the carrier is like any other endpoint: it registers and asks for memory.

use super::{AgentCore, CarrierPhase};
use crate::action::{Action, AgentReport};
use crate::outcome::{RunFailure, RunOutcome};
use crate::plan::PlannedInstance;
use crate::ports::{agree_on_conduit, agree_with_peers};
use ligament_catalogue::{fault, Fault};
use ligament_wire::{EndpointId, InstanceId, RankId};
use std::sync::Arc;

impl AgentCore {
    /// Returns true if this endpoint is the carrier.
    pub(super) fn is_carrier(&self, endpoint: EndpointId) -> bool {
        self.wiring.carrier() == Some(endpoint)
    }

    /// Returns the name under which the carrier registers, and its token. Returns `None` if all instances
    /// are in this domain.
    pub fn carrier(&self) -> Option<(&str, &str)> {
        let carrier = self.wiring.carrier()?;
        let name = &self.wiring.instance(&self.plan, carrier.leader()).name;
        Some((name, &self.endpoints[carrier.index()].token))
    }

    /// Returns the reason why an instance of another domain cannot take part in this domain. Returns `None`
    /// for an instance of this domain.
    pub(super) fn is_elsewhere(&self, instance: InstanceId) -> Option<Fault> {
        let PlannedInstance { name, elsewhere, .. } = &self.plan.instances[instance.index()];
        elsewhere.then(|| fault!(INSTANCE_ELSEWHERE, "\"{name}\" takes part in another domain of this run"))
    }

    /// Reports which ports have slots, for each rank of the endpoint that has conduits to other domains.
    pub(super) fn tell_slots(&self, endpoint: EndpointId, out: &mut Vec<Action>) {
        let is_elsewhere = |rank: RankId| self.wiring.instance(&self.plan, rank).elsewhere;
        for &rank in self.wiring.members(endpoint) {
            let mut ends = self.wiring.ends(&self.plan, rank);
            if !ends.any(|(_, peer)| is_elsewhere(peer.rank)) {
                continue;
            }
            if let Some(slots) = &self.slotted[rank.index()] {
                out.push(Action::Report(AgentReport::Slots { rank, slots: slots.to_vec() }));
            }
        }
    }

    /// Reports the sending ports of an endpoint's ranks to the head, if the run has several domains.
    pub(super) fn tell_senders(&self, endpoint: EndpointId, out: &mut Vec<Action>) {
        if !self.held {
            return;
        }
        for &rank in self.wiring.members(endpoint) {
            if let Some(ports) = &self.senders[rank.index()] {
                out.push(Action::Report(AgentReport::Sends { rank, ports: ports.clone() }));
            }
        }
    }

    /// Handles the registration of a rank in another domain. `slots` says for each of its ports whether the
    /// port has slots. Only the head can check that these ports fit the ports of their peers, because every
    /// agent reports to the head.
    pub(super) fn slots_elsewhere(&mut self, rank: RankId, slots: Arc<[bool]>) -> Vec<Action> {
        let mut out = Vec::new();
        self.slotted[rank.index()] = Some(slots);
        if self.ending.is_some() {
            self.explain_by_ports();
            return out;
        }
        let agreed =
            agree_with_peers(&self.plan, &self.wiring, rank, |one| self.slotted[one.index()].as_deref());
        if let Err(why) = agreed {
            let what = cannot_take_part(&why);
            self.fail(RunFailure { rank: Some(rank), what, said: None, exit: None }, &mut out);
        }
        out
    }

    /// Replaces the reason of the run's failure if the rank that failed receives on a port that does not fit
    /// the port of a sender.
    ///
    /// The report of a rank's ports and the first message of that rank take different ways: the report goes
    /// to the head, and the message to its receiver. A receiver that cannot take the message may fail before
    /// the head has both reports. The ports are the cause all the same, and the head hears of them in any
    /// case: a domain reports the ports of a rank before the domain's end, for which the head waits. So the
    /// reason does not depend on the order in which messages arrive.
    fn explain_by_ports(&mut self) {
        let Some(RunOutcome::Failed(failure)) = &mut self.ending else { return };
        let Some(failed) = failure.rank else { return };
        let slotted = |one: RankId| self.slotted[one.index()].as_deref();
        if slotted(failed).is_none() {
            return;
        }
        let ends = self.wiring.receiving_ends(&self.plan, failed);
        let mut agreed = ends.map(|both| agree_on_conduit(&self.plan, &self.wiring, both, slotted));
        if let Some(why) = agreed.find_map(Result::err) {
            failure.what = cannot_take_part(&why);
            failure.said = None;
        }
    }

    /// Reports that the carrier has delivered everything that the instances of this domain sent.
    pub fn detached(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        self.carrier_phase = CarrierPhase::Idle;
        self.end_if_all_gone(&mut out);
        out
    }
}

/// Returns why an endpoint fails whose ports do not fit.
pub(super) fn cannot_take_part(why: &Fault) -> Fault {
    fault!(PORTS_DO_NOT_FIT, "cannot take part: {why}").caused_by(why)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{core_of, hello, join, join_with, link, plan, refusal, CALLER, MACRO, MICRO};
    use crate::action::{Action, AgentOrder, ProcessSignal, TapViewer};
    use crate::outcome::{Exit, RunFailure, RunOutcome};
    use crate::plan::PlannedInstance;
    use crate::AgentCore;
    use ligament_catalogue::fault;
    use ligament_wire::control::{Notice, Question, Request, Welcome, PROTOCOL};
    use ligament_wire::domains::TapPort;
    use ligament_wire::tap::TapSelection;
    use ligament_wire::{DomainId, EndpointId, InstanceId, RankId};

    const HEAD: DomainId = DomainId::HEAD;
    const OTHER: DomainId = DomainId::new(1);

    /// Makes the logic of the agent of `macro`'s domain. `micro` is in another domain.
    fn spread() -> AgentCore {
        core_of(plan().in_domain(&[HEAD, OTHER], HEAD))
    }

    fn welcome(actions: &[Action]) -> &Welcome {
        let welcomed = actions.iter().find_map(|action| match action {
            Action::Answer { notice: Notice::Welcome(welcome), .. } => Some(welcome),
            _ => None,
        });
        welcomed.expect("it is welcomed")
    }

    fn ends(core: &mut AgentCore, endpoint: EndpointId) -> Vec<Action> {
        core.request(link(endpoint), Request::Finished);
        core.exited(endpoint, Exit::Status(0))
    }

    #[test]
    fn the_carrier_has_the_conduits_to_all_instances_elsewhere_and_is_neither_watched_nor_reported() {
        // Two of three instances are in another domain, and connected to each other too.
        let mut three = plan();
        three.instances.push(PlannedInstance { name: "third".into(), ..three.instances[1].clone() });
        let mut back = three.channels[1];
        back.from.rank = RankId::new(2);
        three.channels.push(back);
        let mut aside = three.channels[0];
        (aside.from.rank, aside.to.rank) = (RankId::new(1), RankId::new(2));
        three.channels.push(aside);
        let mut core = core_of(three.in_domain(&[HEAD, OTHER, DomainId::new(2)], HEAD));
        assert_eq!(core.carrier(), Some(("micro", "token-2")));
        let actions = join(&mut core, MICRO);
        let carrier = welcome(&actions);
        let ids = |channels: &[ligament_wire::control::ChannelInfo]| -> Vec<u32> {
            channels.iter().map(|channel| channel.id).collect()
        };
        assert_eq!((ids(&carrier.sends), ids(&carrier.receives)), (vec![1, 2], vec![0]));
        assert!(carrier.ports.is_empty() && carrier.light.is_none());
        assert_eq!(actions.len(), 1, "{actions:?}");
        let macro_model = join(&mut core, MACRO);
        let peers = welcome(&macro_model).sends.iter().chain(&welcome(&macro_model).receives);
        assert!(peers.map(|channel| channel.peer).all(|peer| peer == MICRO));
    }

    #[test]
    fn nobody_can_register_as_an_instance_elsewhere() {
        let mut core = spread();
        let Request::Hello { protocol, instance, pid, ports, language, light, .. } = hello(&core, MICRO) else {
            unreachable!("hello makes a Hello")
        };
        core.connected(9, CALLER);
        let token = "guessed".to_owned();
        let actions =
            core.request(9, Request::Hello { protocol, instance, token, pid, ports, language, light });
        assert!(refusal(&actions).contains("token"), "{actions:?}");
    }

    #[test]
    fn nobody_is_let_in_as_a_second_instance_elsewhere_with_an_empty_token_or_the_carriers() {
        let mut three = plan();
        three.instances.push(PlannedInstance { name: "other".into(), ..three.instances[1].clone() });
        let mut core = core_of(three.in_domain(&[HEAD, OTHER, OTHER], HEAD));
        let carriers = core.carrier().map(|(_, token)| token.to_owned()).unwrap();
        for (link, token, words) in [(9, String::new(), "token"), (10, carriers, "in another domain")] {
            let Request::Hello { protocol, pid, ports, language, light, .. } = hello(&core, MICRO) else {
                unreachable!("hello makes a Hello")
            };
            core.connected(link, CALLER);
            let instance = "other".to_owned();
            let actions =
                core.request(link, Request::Hello { protocol, instance, token, pid, ports, language, light });
            assert!(refusal(&actions).contains(words), "{actions:?}");
        }
    }

    #[test]
    fn the_run_is_over_here_when_what_was_sent_has_arrived() {
        let mut core = spread();
        assert!(!core.begin().contains(&Action::Start { endpoint: MICRO }));
        join(&mut core, MICRO);
        join(&mut core, MACRO);
        let actions = ends(&mut core, MACRO);
        assert!(actions.contains(&Action::Detach) && !actions.contains(&Action::Over), "{actions:?}");
        let told = |action: &Action| {
            matches!(
                action,
                Action::Tell { endpoint: MICRO, notice: Notice::PeerEnded { endpoint: MACRO }, .. }
            )
        };
        assert!(actions.iter().any(told), "{actions:?}");
        assert_eq!(core.detached(), [Action::Over]);
        assert_eq!(core.ending(), Some(&RunOutcome::Done));
    }

    #[test]
    fn a_run_that_fails_waits_for_no_carrier_and_signals_none() {
        let mut core = spread();
        join(&mut core, MICRO);
        join(&mut core, MACRO);
        ends(&mut core, MACRO);
        let failure = RunFailure { rank: None, what: fault!(DOMAIN_VANISHED, "lost"), said: None, exit: None };
        let actions = core.stop(RunOutcome::Failed(failure));
        assert!(actions.contains(&Action::Over), "{actions:?}");
        let told = |action: &Action| {
            matches!(action, Action::Tell { endpoint: MICRO, notice: Notice::RunEnds { .. }, .. })
        };
        assert!(actions.iter().any(told), "{actions:?}");
        let pushed = |action: &Action| {
            matches!(action, Action::SignalProcess { endpoint: MICRO, push: ProcessSignal::Terminate })
        };
        assert!(!actions.iter().any(pushed), "{actions:?}");
        assert!(core.grace_is_over().iter().all(|action| !matches!(action, Action::SignalProcess { .. })));
    }

    /// Reports to a head from another domain which ports of a rank have slots.
    fn hears_of_slots(core: &mut AgentCore, endpoint: EndpointId, slots: [bool; 2]) -> Vec<Action> {
        core.carry_out_order(AgentOrder::Slots { rank: endpoint.leader(), slots: slots.to_vec() })
    }

    fn failure(core: &AgentCore) -> &RunFailure {
        let Some(RunOutcome::Failed(failure)) = core.ending() else { panic!("{:?}", core.ending()) };
        failure
    }

    /// Makes a head without instances, to which another domain has reported that `failed` ended with exit
    /// status 1.
    fn after_the_failure_of(failed: EndpointId) -> AgentCore {
        let mut core = core_of(plan().in_domain(&[OTHER, DomainId::new(2)], HEAD));
        core.hold();
        hears_of_slots(&mut core, MICRO, [true, false]);
        let (rank, what) = (Some(failed.leader()), fault!(EXIT_STATUS, "ended with exit status 1"));
        let failure = RunFailure { rank, what, said: None, exit: Some(Exit::Status(1)) };
        core.carry_out_order(AgentOrder::End(RunOutcome::Failed(failure)));
        core
    }

    const UNFIT: &str =
        "cannot take part: micro.init declares a vector port, but it is joined to a scalar port \
                         of macro.out";

    #[test]
    fn a_receiver_here_that_fails_over_a_message_before_the_ports_of_its_sender_are_known_fails_for_them() {
        let mut core = core_of(plan().in_domain(&[OTHER, HEAD], HEAD));
        core.hold();
        join_with(&mut core, MICRO, &[("init", "f_init", true), ("final", "o_f", false)]);
        core.request(link(MICRO), Request::Failed { why: "a message for no slot".into(), of: None });
        assert!(failure(&core).what.contains("reported an error"));
        assert_eq!(hears_of_slots(&mut core, MACRO, [false, false]), []);
        core.exited(MICRO, Exit::Status(1));
        let RunFailure { rank, what, said, exit } = failure(&core);
        assert_eq!((*rank, said, *exit), (Some(MICRO.leader()), &None, Some(Exit::Status(1))));
        assert!(what.contains(UNFIT), "{what}");
    }

    #[test]
    fn a_receiver_elsewhere_that_fails_before_the_ports_of_its_sender_are_known_fails_for_them() {
        let mut core = after_the_failure_of(MICRO);
        assert_eq!(hears_of_slots(&mut core, MACRO, [false, false]), []);
        let RunFailure { rank, what, exit, .. } = failure(&core);
        assert_eq!((*rank, *exit), (Some(MICRO.leader()), Some(Exit::Status(1))));
        assert!(what.contains(UNFIT), "{what}");
    }

    #[test]
    fn a_failure_for_which_ports_are_not_the_cause_stays_the_reason() {
        let stays = |core: &AgentCore| failure(core).what.contains("ended with exit status 1");
        // The ports fit.
        let mut core = after_the_failure_of(MICRO);
        assert_eq!(hears_of_slots(&mut core, MACRO, [true, false]), []);
        assert!(stays(&core), "{:?}", core.ending());
        // A sender gets nothing from its receiver, so it cannot fail for the receiver's ports.
        let mut core = after_the_failure_of(MACRO);
        assert_eq!(hears_of_slots(&mut core, MACRO, [false, false]), []);
        assert!(stays(&core), "{:?}", core.ending());
        let mut core = core_of(plan().in_domain(&[OTHER, DomainId::new(2)], HEAD));
        core.hold();
        core.stop(RunOutcome::Interrupted);
        hears_of_slots(&mut core, MICRO, [true, false]);
        hears_of_slots(&mut core, MACRO, [false, false]);
        assert_eq!(core.ending(), Some(&RunOutcome::Interrupted));
    }

    fn taps(core: &mut AgentCore, link: u64, instance: &str) -> Vec<Action> {
        let token = core.token().to_owned();
        core.connected(link, CALLER);
        let (instance, port, slot) = (instance.into(), "out".into(), None);
        let wanted = TapSelection::default();
        let question = Question::Tap { instance, rank: 0, port, slot, wanted, room: 64 };
        core.request(link, Request::Client { protocol: PROTOCOL, token, question })
    }

    #[test]
    fn a_tap_of_an_instance_elsewhere_is_for_the_agent_there_as_long_as_its_client_is() {
        let mut core = spread();
        let wanted = taps(&mut core, 7, "micro");
        let [Action::TapElsewhere { link: 7, port }] = &wanted[..] else { panic!("{wanted:?}") };
        assert_eq!((port.instance, &*port.port, port.room), (InstanceId::new(1), "out", 64));
        assert!(refusal(&taps(&mut core, 7, "micro")).contains("another"));
        assert_eq!(core.closed(7), [Action::UntapElsewhere { link: 7 }]);
        assert_eq!(core.closed(7), []);
        // The limit counts the taps of all domains. When a tap of another domain ends, a further tap is
        // allowed.
        for link in 100..4196 {
            assert!(matches!(taps(&mut core, link, "micro")[..], [Action::TapElsewhere { .. }]), "{link}");
        }
        assert!(refusal(&taps(&mut core, 5000, "micro")).contains("4096"));
        core.tap_elsewhere_is_over(130);
        assert!(matches!(taps(&mut core, 5000, "micro")[..], [Action::TapElsewhere { .. }]));
        assert_eq!(core.closed(130), []);
    }

    #[test]
    fn the_head_taps_ports_of_this_domain_and_no_others() {
        let mut core = spread();
        let port = |instance| TapPort {
            instance: InstanceId::new(instance),
            port: "out".into(),
            room: 64,
            ..TapPort::default()
        };
        let refused = |actions: Vec<Action>, words: &str| {
            let [Action::EndTap { ticket: 9, why }] = &actions[..] else { panic!("{actions:?}") };
            assert!(why.contains(words), "{why}");
        };
        refused(core.tap_for_head(9, port(0)), "tap-too-early");
        for instance in [1, 2, u32::MAX] {
            refused(core.tap_for_head(9, port(instance)), "does not run here");
        }
        join(&mut core, MACRO);
        let made = core.tap_for_head(9, port(0));
        let [Action::MakeTap { viewer: TapViewer::Head(9), endpoint: MACRO, tap, .. }] = &made[..] else {
            panic!("{made:?}")
        };
        let told = |actions: &[Action]| {
            actions.iter().any(|one| match one {
                Action::Tell { notice: Notice::Untap { tap: over }, .. } => *over == tap.tap,
                _ => false,
            })
        };
        assert!(told(&core.untap(TapViewer::Head(9))));
        assert!(!told(&core.untap(TapViewer::Head(9))));
        core.tap_for_head(9, port(0));
        let over = core.request(link(MACRO), Request::Finished);
        assert!(over.iter().any(|one| matches!(one, Action::EndTap { ticket: 9, .. })), "{over:?}");
        refused(core.tap_for_head(9, port(0)), "is over");
    }

    #[test]
    fn where_no_instance_is_the_run_is_over_at_once() {
        let mut core = core_of(plan().in_domain(&[OTHER, OTHER], HEAD));
        assert!(core.ending().is_none());
        assert_eq!(core.detached(), [Action::Over]);
    }
}
