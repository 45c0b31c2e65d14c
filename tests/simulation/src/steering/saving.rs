//! Checkpoints that are asked for while others steer. The rule: all instances save for a moment that is agreed
//! on, each in its first step at or after it, and nobody waits for that.

use super::{has_come, name, World};
use ligament_catalogue::fault;
use ligament_manager::saves::{SaveAction, SaveRequests};
use ligament_manager::steering::{RankAnswer, SteeringAction};
use ligament_shm::steering::Gate;
use ligament_wire::RankId;
use std::collections::BTreeMap;

/// Number of the first request. Changes of steering have smaller numbers.
const FIRST_REQUEST: u64 = 1 << 32;
/// Duration of one move of a schedule, ns.
const MOVE_NS: u64 = 1 << 30;

/// The requests for checkpoints in a schedule.
#[derive(Default)]
pub(super) struct SavedMoments {
    requests: SaveRequests,
    asked: u64,
    /// The moments that were agreed on and not given up, by request.
    agreed: BTreeMap<u64, f64>,
    whole: u32,
}

impl World {
    pub(super) fn somebody_saves(&mut self) {
        let ranks: Vec<RankId> = self.members().map(|one| one.rank).collect();
        let furthest = self.members().map(|one| one.time).fold(0.0, f64::max);
        let at = self.random.percent(40).then(|| (furthest * 8.0 + self.random.below(24) as f64 - 4.0) / 8.0);
        if self.random.percent(10) && self.saves.asked > 0 {
            let change = FIRST_REQUEST + self.random.below(self.saves.asked);
            self.saves.agreed.remove(&change);
            let why = fault!(STEERING_REFUSED, "somebody withdraws it");
            let actions = self.saves.requests.withdraw(change, why).unwrap_or_default();
            return self.take_saves(actions);
        }
        let change = FIRST_REQUEST + self.saves.asked;
        self.saves.asked += 1;
        if let Ok(actions) = self.saves.requests.ask(Some(change), at, &ranks) {
            self.take_saves(actions);
        }
    }

    pub(super) fn answers_a_save(&mut self, answer: RankAnswer) {
        let actions = self.saves.requests.answered(answer, self.now * MOVE_NS, &name);
        self.take_saves(actions);
    }

    pub(super) fn tick_saves(&mut self) {
        let actions = self.saves.requests.tick(self.now * MOVE_NS);
        self.take_saves(actions);
    }

    /// The run ends: what is still open is refused.
    pub(super) fn saves_end(&mut self) {
        let why = |_| fault!(STEERING_REFUSED, "the run ends");
        let actions = self.saves.requests.run_ends(&why);
        self.take_saves(actions);
    }

    fn take_saves(&mut self, actions: Vec<SaveAction>) {
        let mut agreed = Vec::new();
        for action in actions {
            self.say(|| format!("{action:?}"));
            match action {
                SaveAction::Steering(SteeringAction::Agreed { change, at }) => {
                    self.saves.agreed.insert(change, at);
                    let late: Vec<String> = (self.members())
                        .filter(|one| !one.over && has_come(one.asked_at, at) && !one.has_saved(at))
                        .map(|one| format!("{} is at {}, and has not saved for {at}", name(one.rank), one.time))
                        .collect();
                    late.into_iter().for_each(|text| self.wrong(text));
                    agreed.push(at);
                }
                SaveAction::Steering(SteeringAction::Refused { change, .. }) => {
                    self.saves.agreed.remove(&change);
                }
                SaveAction::Steering(other) => self.take(vec![other]),
                SaveAction::GivenUp { moment } => {
                    self.account.given_up += 1;
                    if self.saves.agreed.values().any(|at| *at == moment) && !self.saves.requests.wants(moment)
                    {
                        self.wrong(format!(
                            "the checkpoint at {moment} is given up after all have agreed on it"
                        ));
                    }
                }
                SaveAction::Saved { change, moment, .. } => {
                    self.account.whole += 1;
                    // A later checkpoint also answers requests for earlier moments.
                    if self.saves.agreed.remove(&change).is_some_and(|at| at > moment) {
                        self.wrong(format!(
                            "request {change} got a checkpoint at {moment}, which is too early"
                        ));
                    }
                }
            }
        }
        agreed.into_iter().for_each(|at| self.look_if_whole(at));
    }

    /// An instance asks whether to save, after the messages of its step.
    pub(super) fn saves_if_due(&mut self, p: usize, place: usize) {
        let process = &mut self.processes[p];
        let member = &mut process.members[place];
        let (rank, time) = (member.rank, member.time);
        process.endpoint.passes(place as u32, Gate::Save, time);
        member.asked_at = member.asked_at.max(time);
        if let Some(moment) = process.endpoint.save_due(place as u32, time) {
            if member.has_saved(moment) {
                return self.wrong(format!("{} saves for {moment} twice", name(rank)));
            }
            member.saved.push(moment);
            let told = process.endpoint.saved(place as u32, moment);
            self.tell(p, told);
            self.say(|| format!("{} saves for {moment}, at {time}", name(rank)));
            self.look_if_whole(moment);
        }
        let member = &self.processes[p].members[place];
        let due = self.saves.agreed.values().filter(|at| has_come(time, **at));
        let missed: Vec<f64> = due.copied().filter(|at| !member.has_saved(*at)).collect();
        missed.iter().for_each(|at| self.wrong(format!("{} at {time} has not saved for {at}", name(rank))));
    }

    /// The part of the head's list of files: a checkpoint is whole if all instances have saved that go on.
    fn look_if_whole(&mut self, moment: f64) {
        let is_agreed = self.saves.agreed.values().any(|at| *at == moment);
        if is_agreed && self.members().all(|one| one.over || one.saved.contains(&moment)) {
            self.saves.whole += 1;
            let actions = self.saves.requests.whole(self.saves.whole, moment);
            self.take_saves(actions);
        }
    }
}

impl super::Member {
    /// Returns true if it has saved for a moment, or for a later one, which counts for all earlier ones.
    fn has_saved(&self, moment: f64) -> bool {
        self.saved.iter().any(|saved| *saved >= moment)
    }
}
