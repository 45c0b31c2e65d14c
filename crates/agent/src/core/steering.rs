//! Steering, as an agent takes part in it: it passes on what the head wants of ranks, and what these say, and answers for
//! those that have ended. An endpoint answers once for all ranks that it serves.

use super::AgentCore;
use crate::action::{Action, AgentReport, InstancePhase};
use ligament_wire::control::Notice;
use ligament_wire::steering::{Matter, ScheduledChange, Steer, Steers};
use ligament_wire::{EndpointId, RankId};
use std::collections::BTreeMap;

/// What endpoints were told and have not made yet, and whom of those that they serve it concerns.
pub(super) type PendingSteering = BTreeMap<(EndpointId, u64), Vec<RankId>>;
/// Of each endpoint, what is scheduled, by its place in the plan, and whom it concerns, by their places there.
pub(super) type EndpointSchedules = BTreeMap<EndpointId, Vec<(usize, Vec<u32>)>>;

/// The halt that somebody is asked whether they accept it.
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
        // Who is in another domain is told by the agent there.
        found.retain(|&endpoint, _| !self.is_carrier(endpoint));
        found
    }

    /// The places of ranks among those that their endpoint serves.
    fn places(&self, ranks: &[RankId]) -> Vec<u32> {
        ranks.iter().map(|&rank| self.wiring.place(rank)).collect()
    }

    /// What an endpoint learns of this when it registers.
    pub(super) fn schedule_of(&self, me: EndpointId) -> Option<Vec<(ScheduledChange, Vec<u32>)>> {
        let own = self.scheduled.get(&me)?.iter();
        Some(own.map(|(place, members)| (self.plan.schedule[*place].0.clone(), members.clone())).collect())
    }

    /// What is scheduled is known to all from the beginning on.
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

    /// The head wants something of these ranks.
    pub(super) fn steer(&mut self, ranks: &[RankId], steer: &Steer) -> Vec<Action> {
        let mut out = Vec::new();
        for (endpoint, ranks) in self.by_endpoint(ranks) {
            let own = &self.endpoints[endpoint.index()];
            let over = own.finished || matches!(own.phase, InstancePhase::Gone(_));
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

    /// A halt was told to an endpoint that has never asked whether it may go on, and hears of it when it does: until then it
    /// passes no model time, and nobody needs to wait until it says so.
    pub fn never_steered(&mut self, me: EndpointId, change: u64) -> Vec<Action> {
        let mut out = Vec::new();
        self.answered(me, change, &Steers::Accepts { last: None, next: None }, &mut out);
        out
    }

    /// An endpoint says something of a change; what it was not told of is not believed.
    pub(super) fn answered(&mut self, me: EndpointId, change: u64, answer: &Steers, out: &mut Vec<Action>) {
        let ranks = match answer {
            Steers::Past { .. } | Steers::Made | Steers::Over => self.steered.remove(&(me, change)),
            _ => self.steered.get(&(me, change)).cloned(),
        };
        for rank in ranks.into_iter().flatten() {
            out.push(Action::Report(AgentReport::Steers { rank, change, answer: answer.clone() }));
        }
    }

    /// An endpoint has ended: nothing will happen there any more.
    pub(super) fn steers_no_more(&mut self, me: EndpointId, out: &mut Vec<Action>) {
        let open: Vec<u64> =
            self.steered.range((me, 0)..=(me, u64::MAX)).map(|(&(_, change), _)| change).collect();
        for change in open {
            self.answered(me, change, &Steers::Over, out);
        }
    }
}
