//! The head's logic of checkpoints that somebody asks for while the run goes on. No rank waits for them. The
//! head first asks all ranks how far they are, and then proposes a model time beyond the furthest one. A rank
//! that accepts saves in its first step from that time on. If a rank has passed the time meanwhile, the head
//! gives the time up, and proposes a later one. Changes of settings and halts do not wait for checkpoints. This
//! module has no I/O and no clock.

use crate::list_some;
use crate::steering::{RankAnswer, SteeringAction};
use ligament_agent::AgentOrder;
use ligament_catalogue::{fault, Fault};
use ligament_wire::steering::{Matter, ModelTime, Steer, Steers};
use ligament_wire::times::{after, after_steps, in_unit};
use ligament_wire::RankId;
use std::collections::BTreeMap;

/// Maximum number of requests that are open.
const MAX_OPEN_REQUESTS: usize = 64;
/// The numbers of proposals begin here, so that they differ from those of other changes.
const FIRST_PROPOSAL: u64 = 1 << 48;
/// Time between two questions to ranks of which none has asked yet whether to save, in ns.
const PAUSE_NS: u64 = 200_000_000;
/// After each proposal that came too late, the next one lies twice as many steps ahead, up to this power of 2.
const MAX_DOUBLINGS: u32 = 16;

/// An action that the host carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum SaveAction {
    /// An order, an agreement or a refusal, as for other changes.
    Steering(SteeringAction),
    /// The ranks do not save for this moment any more.
    GivenUp { moment: f64 },
    /// A checkpoint is whole that was asked for by this change.
    Saved { change: u64, number: u32, moment: f64 },
}

/// A request, and the proposal for it.
#[derive(Debug)]
struct SaveRequest {
    /// The numbers of the changes by which people know it.
    changes: Vec<u64>,
    /// True if a rule of the model asks for it, too.
    is_ruled: bool,
    /// The model time that was asked for, s.
    at: Option<f64>,
    ranks: Vec<RankId>,
    /// Number of the question or proposal to which the answers belong.
    number: u64,
    answers: BTreeMap<RankId, Option<Steers>>,
    /// The proposed model time, s. `None` while the ranks are asked how far they are.
    moment: Option<f64>,
    is_agreed: bool,
    /// Number of proposals that came too late.
    doublings: u32,
    /// Time at which the ranks are asked again, in ns.
    pause_until: Option<u64>,
}

/// The open requests for checkpoints of a run.
#[derive(Debug, Default)]
pub struct SaveRequests {
    open: Vec<SaveRequest>,
    proposals: u64,
    /// Unit of model times, if the model declares the unit.
    time_unit: Option<String>,
}

impl SaveRequest {
    fn order(&self, steer: Steer) -> SaveAction {
        SaveAction::Steering(SteeringAction::Order(AgentOrder::Steer { ranks: self.ranks.clone(), steer }))
    }

    fn withdrawal(&self) -> SaveAction {
        self.order(Steer::Withdraw { change: self.number })
    }

    /// Asks the ranks about the proposed time, or how far they are.
    fn ask(&mut self, number: u64, moment: Option<f64>) -> SaveAction {
        (self.number, self.moment, self.pause_until) = (number, moment, None);
        self.answers = self.ranks.iter().map(|&rank| (rank, None)).collect();
        self.order(Steer::Prepare { change: number, at: moment.map(ModelTime), matter: Matter::Save })
    }

    fn refused(&self, why: &Fault) -> Vec<SaveAction> {
        let refused = |&change| SaveAction::Steering(SteeringAction::Refused { change, why: why.clone() });
        self.changes.iter().map(refused).collect()
    }

    /// Returns a time beyond the furthest rank, if any rank has a time.
    fn beyond_the_furthest(&self) -> Option<f64> {
        let (mut furthest, mut last_of_widest, mut step) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0);
        for answer in self.answers.values().flatten() {
            let Steers::Accepts { last: Some(last), next } = answer else { continue };
            furthest = furthest.max(last.0);
            if let Some(width) = next.map(|next| next.0 - last.0).filter(|width| *width > step) {
                (last_of_widest, step) = (last.0, width);
            }
        }
        if furthest == f64::NEG_INFINITY {
            return None;
        }
        let steps = 1 << self.doublings.min(MAX_DOUBLINGS);
        let ahead = (step > 0.0).then(|| {
            let behind = ((furthest - last_of_widest) / step).floor().max(0.0);
            after_steps(last_of_widest, step, behind as u64 + steps)
        });
        let ahead = ahead.filter(|at| at.is_finite() && *at > furthest);
        Some(ahead.unwrap_or_else(|| after(furthest)))
    }
}

impl SaveRequests {
    /// Makes the state of a run without requests. Texts show model times in this unit.
    pub fn in_unit(time_unit: Option<String>) -> SaveRequests {
        SaveRequests { time_unit, ..SaveRequests::default() }
    }

    /// Returns true if answers with this number belong to a request for a checkpoint.
    pub fn has(number: u64) -> bool {
        number >= FIRST_PROPOSAL
    }

    fn number(&mut self) -> u64 {
        self.proposals += 1;
        FIRST_PROPOSAL + self.proposals
    }

    /// Takes a request for a checkpoint at a model time, or as soon as it can be without a wait. `change` is
    /// the number by which people know it, and `None` for a rule of the model. A request without a time joins
    /// another one that is open.
    ///
    /// # Errors
    /// The time is no number, or too many requests are open.
    pub fn ask(
        &mut self,
        change: Option<u64>,
        at: Option<f64>,
        ranks: &[RankId],
    ) -> Result<Vec<SaveAction>, Fault> {
        if at.is_some_and(|at| !at.is_finite()) {
            return Err(fault!(STEERING_REFUSED, "a model time is a number"));
        }
        // The negative zero is the same moment as zero.
        let at = at.map(|at| at + 0.0);
        if let Some(known) = self.open.iter_mut().find(|known| at.is_none() && known.at.is_none()) {
            known.changes.extend(change);
            known.is_ruled |= change.is_none();
            let agreed = known.moment.filter(|_| known.is_agreed).zip(change);
            return Ok(agreed.map(|(at, change)| agreement(change, at)).into_iter().collect());
        }
        if self.open.len() >= MAX_OPEN_REQUESTS {
            return Err(fault!(
                STEERING_REFUSED,
                "{MAX_OPEN_REQUESTS} checkpoints are asked for and are not whole; try again later"
            ));
        }
        let number = self.number();
        let mut request = SaveRequest {
            changes: change.into_iter().collect(),
            is_ruled: change.is_none(),
            at,
            ranks: ranks.to_vec(),
            number,
            answers: BTreeMap::new(),
            moment: None,
            is_agreed: false,
            doublings: 0,
            pause_until: None,
        };
        let order = request.ask(number, at);
        self.open.push(request);
        Ok(vec![order])
    }

    /// Takes the answer of a rank, at `now` (ns).
    pub fn answered(
        &mut self,
        answer: RankAnswer,
        now: u64,
        name: &dyn Fn(RankId) -> String,
    ) -> Vec<SaveAction> {
        let RankAnswer { rank, change: number, answer } = answer;
        let Some(place) = self.open.iter().position(|one| one.number == number) else { return Vec::new() };
        let request = &mut self.open[place];
        let Some(known) = request.answers.get_mut(&rank) else { return Vec::new() };
        if let Steers::Past { last } = answer {
            return self.too_late(place, &name(rank), last.0);
        }
        // An end that comes after the agreement changes nothing: the rank's last file belongs to it.
        if !request.is_agreed && matches!(answer, Steers::Accepts { .. } | Steers::Over) {
            *known = Some(answer);
            return self.settle(place, now, name);
        }
        Vec::new()
    }

    /// Gives up a proposal whose time a rank has passed.
    fn too_late(&mut self, place: usize, name: &str, last: f64) -> Vec<SaveAction> {
        let next = self.number();
        let request = &mut self.open[place];
        let mut actions = vec![request.withdrawal()];
        actions.extend(request.moment.map(|moment| SaveAction::GivenUp { moment }));
        if let Some(at) = request.at {
            let shown = |time| in_unit(time, self.time_unit.as_deref());
            let why = fault!(
                STEERING_REFUSED,
                "{name} has passed {} already: it is at {}; ask for a later time, or for none",
                shown(at),
                shown(last)
            );
            actions.extend(self.open.remove(place).refused(&why));
        } else {
            request.doublings += 1;
            actions.push(request.ask(next, None));
        }
        actions
    }

    /// Goes on with a request if all ranks have answered.
    fn settle(&mut self, place: usize, now: u64, name: &dyn Fn(RankId) -> String) -> Vec<SaveAction> {
        let request = &mut self.open[place];
        if request.answers.values().any(Option::is_none) {
            return Vec::new();
        }
        if request.answers.values().all(|answer| *answer == Some(Steers::Over)) {
            let names: Vec<String> = request.ranks.iter().map(|&rank| name(rank)).collect();
            let all = list_some(&names, 4);
            let why =
                fault!(STEERING_REFUSED, "no instance is left that could save its state: {all} has ended");
            return self.open.remove(place).refused(&why);
        }
        match (request.moment, request.beyond_the_furthest()) {
            (Some(at), _) => {
                request.is_agreed = true;
                let commit = request.order(Steer::Commit { change: request.number, at: ModelTime(at) });
                let agreed = request.changes.iter().map(|&change| agreement(change, at));
                std::iter::once(commit).chain(agreed).collect()
            }
            (None, Some(at)) => {
                let withdrawal = request.withdrawal();
                let number = self.number();
                vec![withdrawal, self.open[place].ask(number, Some(at))]
            }
            (None, None) => {
                request.pause_until = Some(now.saturating_add(PAUSE_NS));
                vec![request.withdrawal()]
            }
        }
    }

    /// Asks ranks again of which none had a time before.
    pub fn tick(&mut self, now: u64) -> Vec<SaveAction> {
        let mut actions = Vec::new();
        for place in 0..self.open.len() {
            if self.open[place].pause_until.is_some_and(|until| now >= until) {
                let number = self.number();
                actions.push(self.open[place].ask(number, None));
            }
        }
        actions
    }

    /// Notes that a checkpoint is whole. It answers all requests for its moment and for earlier ones.
    pub fn whole(&mut self, number: u32, moment: f64) -> Vec<SaveAction> {
        let is_met = |one: &SaveRequest| one.moment.is_some_and(|at| at <= moment) || moment.is_infinite();
        let (met, open) = std::mem::take(&mut self.open).into_iter().partition(is_met);
        self.open = open;
        let changes = met.into_iter().flat_map(|one: SaveRequest| one.changes);
        changes.map(|change| SaveAction::Saved { change, number, moment }).collect()
    }

    /// Refuses the requests for a moment, because a file cannot be written.
    pub fn failed(&mut self, moment: f64, why: &Fault) -> Vec<SaveAction> {
        let has_failed = |one: &SaveRequest| one.moment.is_some_and(|at| at == moment);
        let (failed, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open).into_iter().partition(has_failed);
        self.open = open;
        failed.iter().flat_map(|one| one.refused(why)).collect()
    }

    /// Returns true if a request is open for this moment.
    pub fn wants(&self, moment: f64) -> bool {
        self.open.iter().any(|one| one.moment == Some(moment))
    }

    /// Returns the ranks that have not answered a request yet.
    pub fn ranks_without_answer(&self, change: u64) -> Vec<RankId> {
        let request = self.open.iter().find(|one| one.changes.contains(&change));
        let answers = request.into_iter().flat_map(|one| &one.answers);
        answers.filter(|(_, answer)| answer.is_none()).map(|(&rank, _)| rank).collect()
    }

    /// Withdraws what was asked for by this change. Returns `None` if it is no open request for a checkpoint.
    pub fn withdraw(&mut self, change: u64, why: Fault) -> Option<Vec<SaveAction>> {
        let place = self.open.iter().position(|one| one.changes.contains(&change))?;
        let request = &mut self.open[place];
        request.changes.retain(|known| *known != change);
        let mut actions = vec![SaveAction::Steering(SteeringAction::Refused { change, why })];
        if request.changes.is_empty() && !request.is_ruled {
            let request = self.open.remove(place);
            actions.push(request.withdrawal());
            actions.extend(request.moment.map(|moment| SaveAction::GivenUp { moment }));
        }
        Some(actions)
    }

    /// Refuses all open requests, because the run ends. `why` says it of a moment.
    pub fn run_ends(&mut self, why: &dyn Fn(Option<f64>) -> Fault) -> Vec<SaveAction> {
        let open = std::mem::take(&mut self.open);
        open.iter().flat_map(|one| one.refused(&why(one.moment))).collect()
    }
}

fn agreement(change: u64, at: f64) -> SaveAction {
    SaveAction::Steering(SteeringAction::Agreed { change, at })
}

#[cfg(test)]
mod tests;
