//! Failures that the model tolerates: the run goes on without an endpoint that may fail and has failed.

use super::{Action, AgentCore, AgentReport, InstancePhase, Notice, ProcessSignal, RunFailure, LEVEL_WARNING};
use ligament_launch::terminal_text;
use ligament_wire::EndpointId;

impl AgentCore {
    /// True if the run goes on if an endpoint ends before it is done.
    pub(super) fn may_fail(&self, me: EndpointId) -> bool {
        self.wiring.instance(&self.plan, me.leader()).may_fail
    }

    /// Handles the failure of an endpoint that may fail: it has reported an error, or its process has ended.
    /// Its receivers meet the end of its conduits after everything that it has sent. Messages to it are
    /// dropped, but only once its process has ended: until then it may still read what it was sent, for example
    /// for a file that it writes last, so its senders must not reuse that memory.
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

    /// Reports that a failed endpoint has had its time to end. The agent kills the process, unless a person
    /// started it; then its senders stop waiting for it.
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

    /// Tells an endpoint's senders that messages to it are dropped from now on.
    pub(super) fn tell_senders_of_end(&mut self, me: EndpointId, out: &mut Vec<Action>) {
        for sender in self.wiring.senders(me).to_vec() {
            self.tell(sender, Notice::PeerEnded { endpoint: me }, Vec::new(), out);
        }
    }
}
