//! Failures that the model tolerates: an endpoint that may fail has failed, and the run goes on without it.

use super::{Action, AgentCore, AgentReport, InstancePhase, Notice, ProcessSignal, RunFailure, LEVEL_WARNING};
use ligament_launch::terminal_text;
use ligament_wire::EndpointId;

impl AgentCore {
    /// Returns true if the run goes on when this endpoint ends before it is done.
    pub(super) fn may_fail(&self, me: EndpointId) -> bool {
        self.wiring.instance(&self.plan, me.leader()).may_fail
    }

    /// Handles the failure of an endpoint that may fail: the endpoint has reported an error, or its process
    /// has ended. Its receivers first get everything that it has sent, and then the end of its conduits.
    /// Messages to the endpoint are dropped, but only after its process has ended. Until then the process
    /// may still read messages that it was sent, for example for a file that it writes last, so its senders
    /// must not reuse that memory.
    pub(super) fn go_on_without(&mut self, me: EndpointId, failure: &RunFailure, out: &mut Vec<Action>) {
        let is_gone = self.endpoints[me.index()].is_gone();
        if !std::mem::replace(&mut self.endpoints[me.index()].is_loss_announced, true) {
            let said = failure
                .said
                .as_deref()
                .map_or(String::new(), |said| format!(": {}", terminal_text::clean(said)));
            let text = format!(
                "{}{said}; the model says that it may fail, and the run goes on without it",
                failure.what.text()
            );
            out.push(Action::Report(AgentReport::Said { rank: me.leader(), level: LEVEL_WARNING, text }));
            for receiver in self.wiring.receivers(me).to_vec() {
                self.tell(receiver, Notice::PeerLost { endpoint: me }, Vec::new(), out);
            }
            if !is_gone {
                out.push(Action::StartLingerTimer { endpoint: me });
            }
        }
        if is_gone {
            self.tell_senders_of_end(me, out);
        }
    }

    /// Reports that the period in which a failed endpoint must end has passed. The agent kills the process,
    /// or, if a person started the process, lets the endpoint's senders drop further messages to it.
    pub fn linger_time_is_over(&mut self, me: EndpointId) -> Vec<Action> {
        let own = &self.endpoints[me.index()];
        let mut out = Vec::new();
        match (own.phase, own.started_by_agent) {
            _ if self.ending.is_some() => {}
            (InstancePhase::Gone(_), _) => {}
            (_, true) => out.push(Action::SignalProcess { endpoint: me, push: ProcessSignal::Kill }),
            (_, false) => self.tell_senders_of_end(me, &mut out),
        }
        out
    }

    /// Sends the endpoint's senders a notice: they drop messages to this endpoint from now on.
    pub(super) fn tell_senders_of_end(&mut self, me: EndpointId, out: &mut Vec<Action>) {
        for sender in self.wiring.senders(me).to_vec() {
            self.tell(sender, Notice::PeerEnded { endpoint: me }, Vec::new(), out);
        }
    }
}
