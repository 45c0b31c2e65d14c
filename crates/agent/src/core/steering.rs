//! The agent's part in steering. The agent passes the head's requests to ranks and the ranks' answers to
//! the head, and it answers for ranks that have ended. An endpoint answers once for all ranks that it
//! serves.

use super::AgentCore;
use crate::action::{Action, AgentReport};
use ligament_wire::control::Notice;
use ligament_wire::steering::{Matter, ScheduledChange, Steer, Steers};
use ligament_wire::{EndpointId, RankId};
use std::collections::BTreeMap;

/// Steering requests that were sent to endpoints and are not completed. The key is the endpoint and the
/// number of the change; the value is the list of the ranks concerned.
pub(super) type PendingSteering = BTreeMap<(EndpointId, u64), Vec<RankId>>;
/// Scheduled changes of each endpoint: the index in the plan's schedule, and the places of the ranks
/// concerned within the endpoint.
pub(super) type EndpointSchedules = BTreeMap<EndpointId, Vec<(usize, Vec<u32>)>>;

/// Returns the number of the halt if the notice prepares one; `None` for other notices.
pub(super) fn halt_of(notice: &Notice) -> Option<u64> {
    match notice {
        Notice::Steer { steer: Steer::Prepare { change, matter: Matter::Halt, .. }, .. } => Some(*change),
        _ => None,
    }
}

impl AgentCore {
    fn by_endpoint(&self, ranks: &[RankId]) -> BTreeMap<EndpointId, Vec<RankId>> {
        let mut found: BTreeMap<EndpointId, Vec<RankId>> = BTreeMap::new();
        for &rank in ranks.iter().filter(|rank| rank.index() < self.wiring.ranks().count()) {
            found.entry(self.wiring.endpoint_of(rank)).or_default().push(rank);
        }
        // The agents of other domains pass the request to the ranks there.
        found.retain(|&endpoint, _| !self.is_carrier(endpoint));
        found
    }

    /// Returns the index of each rank among the ranks that its endpoint serves.
    fn places(&self, ranks: &[RankId]) -> Vec<u32> {
        ranks.iter().map(|&rank| self.wiring.place(rank)).collect()
    }

    /// Returns the scheduled changes that an endpoint gets with its welcome.
    pub(super) fn schedule_of(&self, me: EndpointId) -> Option<Vec<(ScheduledChange, Vec<u32>)>> {
        let own = self.scheduled.get(&me)?.iter();
        Some(own.map(|(place, members)| (self.plan.schedule[*place].0.clone(), members.clone())).collect())
    }

    /// Records all scheduled changes as sent, because each endpoint gets them when it registers.
    pub(super) fn begin_steering(&mut self) {
        for place in 0..self.plan.schedule.len() {
            let (what, ranks) = &self.plan.schedule[place];
            let change = what.change;
            for (endpoint, ranks) in self.by_endpoint(ranks) {
                let members = self.places(&ranks);
                self.scheduled.entry(endpoint).or_default().push((place, members));
                self.steered.insert((endpoint, change), ranks);
            }
        }
    }

    /// Passes a steering request of the head to these ranks.
    pub(super) fn steer(&mut self, ranks: &[RankId], steer: &Steer) -> Vec<Action> {
        let mut out = Vec::new();
        for (endpoint, ranks) in self.by_endpoint(ranks) {
            let own = &self.endpoints[endpoint.index()];
            let over = own.finished || own.is_gone();
            match steer {
                Steer::Prepare { change, .. } if over => {
                    self.steered.insert((endpoint, *change), ranks);
                    self.answered(endpoint, *change, &Steers::Over, &mut out);
                    continue;
                }
                Steer::Prepare { change, .. } => {
                    self.steered.insert((endpoint, *change), ranks.clone());
                }
                Steer::Withdraw { change } | Steer::Move { change, at: None } => {
                    self.steered.remove(&(endpoint, *change));
                }
                Steer::Commit { .. } | Steer::Move { .. } => {}
            }
            if !over {
                let members = self.places(&ranks);
                self.tell(endpoint, Notice::Steer { steer: steer.clone(), members }, Vec::new(), &mut out);
            }
        }
        out
    }

    /// Reports that an endpoint was sent a halt and has never asked whether it may go on. The agent accepts
    /// the halt for the endpoint: before the endpoint passes any model time it asks, and then gets the
    /// halt.
    pub fn never_steered(&mut self, me: EndpointId, change: u64) -> Vec<Action> {
        let mut out = Vec::new();
        self.answered(me, change, &Steers::Accepts { last: None, next: None }, &mut out);
        out
    }

    /// Handles an endpoint's answer to a change. The answer is ignored if the endpoint was not sent that
    /// change.
    pub(super) fn answered(&mut self, me: EndpointId, change: u64, answer: &Steers, out: &mut Vec<Action>) {
        let ranks = match answer {
            Steers::Past { .. } | Steers::Made | Steers::Over => self.steered.remove(&(me, change)),
            _ => self.steered.get(&(me, change)).cloned(),
        };
        for rank in ranks.into_iter().flatten() {
            out.push(Action::Report(AgentReport::Steers { rank, change, answer: answer.clone() }));
        }
    }

    /// Answers all open requests of an endpoint that has ended with `Over`.
    pub(super) fn steers_no_more(&mut self, me: EndpointId, out: &mut Vec<Action>) {
        let open: Vec<u64> =
            self.steered.range((me, 0)..=(me, u64::MAX)).map(|(&(_, change), _)| change).collect();
        for change in open {
            self.answered(me, change, &Steers::Over, out);
        }
    }
}
