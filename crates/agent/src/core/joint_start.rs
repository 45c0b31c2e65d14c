//! Instances whose ranks are all started by one command, such as `mpirun`. The agent starts only that
//! command, as the process of the first rank's endpoint; the command starts the other ranks. All processes
//! inherit the same environment, so the token in the environment is only a prefix. Each process appends the
//! number of its rank, which the launcher gives to it (`instance/src/identity.rs`).

use super::{how_it_ended, AgentCore, FailedRank};
use crate::action::{Action, AgentReport, InstancePhase};
use crate::outcome::{Exit, RunFailure};
use ligament_catalogue::{fault, Fault};
use ligament_wire::EndpointId;

/// Returns the token of a rank whose instance is started by one command.
pub(super) fn token(secret: &str, place: u32) -> String {
    format!("{secret}:{place}")
}

impl AgentCore {
    /// Returns true if one command in this domain starts all ranks of the endpoint's instance.
    pub(super) fn ranks_start_together(&self, me: EndpointId) -> bool {
        let instance = self.wiring.instance(&self.plan, me.leader());
        instance.together && !instance.elsewhere
    }

    /// Returns true if the command of another rank starts this endpoint.
    pub(super) fn is_started_by_sibling(&self, me: EndpointId) -> bool {
        self.ranks_start_together(me) && self.wiring.ranks().place(me.leader()) > 0
    }

    /// Returns the other endpoints that this endpoint's command starts.
    pub(super) fn siblings_started_by(&self, me: EndpointId) -> impl Iterator<Item = EndpointId> {
        let brings = self.ranks_start_together(me)
            && !self.is_started_by_sibling(me)
            && self.endpoints[me.index()].started_by_agent;
        let ranks = self.wiring.ranks().of(self.wiring.first_instance(me));
        ranks.skip(1).filter(move |_| brings).map(EndpointId::led_by).collect::<Vec<_>>().into_iter()
    }

    /// Returns the token for the environment of a process. If one command starts all ranks, this is the
    /// common prefix of their tokens.
    pub(super) fn token_for(&self, me: EndpointId) -> String {
        let token = &self.endpoints[me.index()].token;
        let common =
            token.rfind(':').filter(|_| self.ranks_start_together(me)).map_or(token.len(), |colon| colon + 1);
        token[..common].to_owned()
    }

    /// Returns the endpoint of rank number `rank` of this endpoint's instance; `None` if the instance has
    /// fewer ranks.
    pub(super) fn sibling_rank(&self, me: EndpointId, rank: u32) -> Option<EndpointId> {
        let ranks = self.wiring.ranks().of(self.wiring.first_instance(me));
        ranks.into_iter().nth(rank as usize).map(EndpointId::led_by)
    }

    /// Ends the run if a rank has ended with status 0 and had never registered. The agent notices the end
    /// of a registered rank in another way.
    pub(super) fn fail_for_who_left(&mut self, me: EndpointId) -> Vec<Action> {
        let mut out = Vec::new();
        let is_awaited = |one: &EndpointId| {
            matches!(self.endpoints[one.index()].phase, InstancePhase::Waiting | InstancePhase::Started)
        };
        let left = &self.endpoints[me.index()].ended_ranks.clean;
        if let Some(one) = left.iter().filter_map(|&rank| self.sibling_rank(me, rank)).find(is_awaited) {
            let exit = Exit::Status(0);
            let what = how_it_ended(InstancePhase::Started, exit);
            self.fail(RunFailure { rank: Some(one.leader()), what, said: None, exit: Some(exit) }, &mut out);
        }
        out
    }

    /// Decides which rank a failure names after the command that started all ranks has ended, and how that
    /// rank ended. The ranks in `missing` have never registered. The launcher may have ended them, so a
    /// rank that is known to have ended first takes precedence.
    pub(super) fn first_failed_rank(
        &mut self,
        me: EndpointId,
        before: InstancePhase,
        exit: Exit,
        missing: &[EndpointId],
    ) -> FailedRank {
        let own = &mut self.endpoints[me.index()];
        let ended = &mut own.ended_ranks;
        let (left, lost, fell) = (std::mem::take(&mut ended.clean), ended.lost.take(), ended.first);
        let unknown = std::mem::take(&mut ended.unknown);
        let never_came = before == InstancePhase::Started;
        let is_missing = |one: &EndpointId| missing.contains(one) || *one == me && never_came;
        let phase =
            |one: &EndpointId| if is_missing(one) { InstancePhase::Started } else { InstancePhase::Running };
        let mut left = left.iter().filter_map(|&rank| self.sibling_rank(me, rank));
        if let Some(one) = left.find(|one| !self.endpoints[one.index()].finished) {
            let exit = Exit::Status(0);
            return FailedRank { endpoint: one, exit, what: how_it_ended(phase(&one), exit) };
        }
        if let Some((ranks, why)) = lost {
            let endpoints = |ranks: &[u32]| -> Vec<EndpointId> {
                ranks.iter().filter_map(|&rank| self.sibling_rank(me, rank)).collect()
            };
            let (lost, unknown) = (endpoints(&ranks), endpoints(&unknown));
            // The guard could not see which of these ranks ended first, so they count as ended at the same
            // moment.
            let one = fell.filter(|one| lost.contains(one) || unknown.contains(one));
            let Some(one) = one.or(lost.first().copied()) else {
                return FailedRank { endpoint: me, exit, what: why };
            };
            let is_known = lost.contains(&one);
            let exit = if is_known { exit } else { Exit::Unknown };
            let what = self.describe_rank_end(me, phase(&one), exit).filter(|_| !is_known);
            let what = what.unwrap_or_else(|| how_it_ended(phase(&one), exit));
            let mut all = lost;
            if !is_known {
                all.push(one);
                all.sort_unstable();
            }
            if all.len() < 2 {
                return FailedRank { endpoint: one, exit, what };
            }
            let place = |one: &EndpointId| self.wiring.ranks().place(one.leader()).to_string();
            let all = all.iter().map(place).collect::<Vec<_>>().join(", ");
            let what = what.told(|what| format!("{what}; at the same moment ended ranks {all}"));
            return FailedRank { endpoint: one, exit, what };
        }
        let (me, before, how) = match (fell, missing.first()) {
            (Some(one), _) => (one, InstancePhase::Running, Exit::Unknown),
            (None, Some(&one)) if !never_came => (one, InstancePhase::Started, exit),
            (None, _) => (me, before, exit),
        };
        let what = self.describe_rank_end(me, before, how).unwrap_or_else(|| how_it_ended(before, how));
        FailedRank { endpoint: me, exit, what }
    }

    /// Reports that a rank's process has ended. Returns true if the rank was not done and the command that
    /// started the rank still runs. The end of that command will then show the cause, because another rank
    /// that never registered may have ended first.
    pub fn rank_process_ended(&mut self, me: EndpointId) -> bool {
        let own = &self.endpoints[me.index()];
        if !self.ranks_start_together(me) || own.finished || own.failed || own.is_gone() {
            return false;
        }
        let first = EndpointId::led_by(self.wiring.ranks().leader(self.wiring.first_instance(me)));
        let first = &mut self.endpoints[first.index()];
        first.ended_ranks.first.get_or_insert(me);
        first.started_by_agent && !first.is_gone()
    }

    /// Reports that the process that registered for a rank has ended, while the command that started the
    /// process still runs.
    pub fn speaker_gone(&mut self, me: EndpointId) -> Vec<Action> {
        let mut out = Vec::new();
        let own = &self.endpoints[me.index()];
        if !own.finished && !own.failed && !own.is_gone() {
            if let Some(what) = self.describe_rank_end(me, own.phase, Exit::Unknown) {
                self.fail(RunFailure { rank: Some(me.leader()), what, said: None, exit: None }, &mut out);
            }
        }
        out
    }

    /// Marks ranks that have not registered as ended, because the command that starts them has ended.
    /// Returns these ranks' endpoints.
    pub(super) fn give_up_missing(
        &mut self,
        me: EndpointId,
        exit: Exit,
        out: &mut Vec<Action>,
    ) -> Vec<EndpointId> {
        let mut missing = Vec::new();
        for one in self.siblings_started_by(me) {
            let phase = &mut self.endpoints[one.index()].phase;
            if matches!(phase, InstancePhase::Waiting | InstancePhase::Started) {
                *phase = InstancePhase::Gone(exit);
                out.push(Action::Report(AgentReport::Exited { rank: one.leader(), exit }));
                self.drop_unneeded_memory(one, out);
                missing.push(one);
            }
        }
        missing
    }

    /// Describes the end of a rank whose exit status only its launcher knows. Returns `None` if the rank
    /// was started by its own command or never registered.
    pub(super) fn describe_rank_end(&self, me: EndpointId, before: InstancePhase, exit: Exit) -> Option<Fault> {
        if !self.ranks_start_together(me) || matches!(before, InstancePhase::Waiting | InstancePhase::Started) {
            return None;
        }
        Some(match (before, exit) {
            (_, Exit::Unknown) => fault!(
                EXIT_EARLY,
                "ended before it was done: it crashed, was killed, aborted, or went on to its end too soon; \
                its output has what its launcher says"
            ),
            (InstancePhase::Finished, exit) => {
                fault!(EXIT_EARLY, "was done, but the command that started its ranks then ended with {exit}")
            }
            (_, exit) => {
                fault!(EXIT_EARLY, "was not done when the command that started its ranks ended with {exit}")
            }
        })
    }
}
