//! The head's logic of steering. All ranks concerned make a change at the same model time, or no rank makes
//! the change. This module has no I/O and no clock, so that tests can drive it through any sequence of
//! events. `settings` has the settings that can be steered.
//!
//! Ranks agree on one change at a time; other changes wait. The head first asks all ranks concerned. A rank
//! that accepts does not advance beyond the change's model time, or beyond its next step if no time was
//! requested. When all ranks have accepted, the head orders them to make the change. If no time was
//! requested, this order has the time too: the earliest time that a rank has reached and that no rank has
//! passed. If a rank cannot accept, or does not answer in time, the head sends all ranks the refusal of the
//! change. A halt is a change too. The end of a halt, or its move to a later time, needs no agreement,
//! because no rank can have passed a later time.

mod settings;

pub use settings::{CheckedChange, ReadingMoment, SettingAssignment, SteerableRecord, SteerableSettings};

use ligament_agent::AgentOrder;
use ligament_catalogue::{fault, Fault};
use ligament_wire::steering::{Matter, ModelTime, Steer, Steers};
use ligament_wire::times::{after, begin_of, in_unit, is_before};
use ligament_wire::RankId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of changes that wait until ranks are asked about them.
const MAX_WAITING_CHANGES: usize = 64;

/// A requested change.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub matter: Matter,
    /// Ranks concerned.
    pub ranks: Vec<RankId>,
    /// Model time of the change, in s. `None` means as soon as all ranks can make the change.
    pub at: Option<f64>,
    /// Time that the ranks may take to agree, in ns.
    pub patience: u64,
    /// For a halt: true if the run ends when all ranks have halted.
    pub stops: bool,
}

/// The answer of a rank to a change.
#[derive(Debug, Clone, PartialEq)]
pub struct RankAnswer {
    pub rank: RankId,
    pub change: u64,
    pub answer: Steers,
}

/// An action that the host carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum SteeringAction {
    Order(AgentOrder),
    /// All ranks have accepted the change. The change holds from model time `at` on.
    Agreed {
        change: u64,
        at: f64,
    },
    Refused {
        change: u64,
        why: Fault,
    },
    /// All ranks concerned have made the change or have ended. At least one rank has made the change.
    InForce {
        change: u64,
    },
}

#[derive(Debug)]
struct OpenChange {
    change: u64,
    proposal: Proposal,
    /// Time at which the change is refused if ranks have not answered by then, in ns.
    until: u64,
    answers: BTreeMap<RankId, Option<Steers>>,
}

/// The progress of an agreed change of settings.
#[derive(Debug, Clone, Default, PartialEq)]
struct ChangeProgress {
    /// Ranks that have not made the change yet.
    left: BTreeSet<RankId>,
    /// True if at least one rank has made the change.
    is_made: bool,
}

impl ChangeProgress {
    fn by(ranks: impl IntoIterator<Item = RankId>) -> ChangeProgress {
        ChangeProgress { left: ranks.into_iter().collect(), is_made: false }
    }
}

/// An agreed halt.
#[derive(Debug, Clone, PartialEq)]
pub struct Halt {
    pub change: u64,
    pub at: f64,
    /// Ranks concerned that have not ended.
    pub ranks: BTreeSet<RankId>,
    /// Ranks that have halted, with the model time at which each rank has halted.
    pub held: BTreeMap<RankId, f64>,
    /// Ranks that had never called `steer` when the halt was agreed on, and have not halted since. Such a
    /// rank halts only if it calls `steer`.
    pub unsteered: BTreeSet<RankId>,
    /// True if the run ends when all ranks have halted.
    pub stops: bool,
}

/// All changes of a run.
///
/// The host passes the changes that are scheduled before the run to [`Steering::begin`]. During the run,
/// the host passes requests of clients to [`Steering::propose`], [`Steering::withdraw`],
/// [`Steering::move_halt`], [`Steering::step`] and [`Steering::stop_at_halt`]. The host passes answers of
/// ranks to [`Steering::answered`], and the present time to [`Steering::tick`]. [`Steering::run_ends`] is
/// the last call. The host carries out the returned actions in their order.
#[derive(Debug, Default)]
pub struct Steering {
    last: u64,
    open: Option<OpenChange>,
    waiting: VecDeque<(u64, Proposal)>,
    /// Agreed changes of settings that some ranks have not made yet, by the number of the change.
    made: BTreeMap<u64, ChangeProgress>,
    halt: Option<Halt>,
    ends: bool,
    /// Unit of model times, if the model declares the unit.
    time_unit: Option<String>,
}

/// Returns the names of a few of these ranks.
fn some(ranks: impl Iterator<Item = RankId>, name: &dyn Fn(RankId) -> String) -> String {
    let names: Vec<String> = ranks.map(name).collect();
    crate::record::list_some(&names, 4)
}

impl OpenChange {
    fn order(&self, steer: Steer) -> SteeringAction {
        SteeringAction::Order(AgentOrder::Steer { ranks: self.proposal.ranks.clone(), steer })
    }

    /// Returns the model time of the change. If no time was requested, this is the earliest time that a
    /// rank has reached and that no rank has passed. If there is no such time, this is the first time after
    /// the last time that a rank has passed.
    fn time(&self) -> Option<f64> {
        if let Some(at) = self.proposal.at {
            return Some(at);
        }
        let (mut passed, mut next) = (f64::NEG_INFINITY, Vec::new());
        for answer in self.answers.values().flatten() {
            if let Steers::Accepts { last, next: stands } = answer {
                passed = last.map_or(passed, |last| last.0.max(passed));
                next.extend(stands.map(|stands| stands.0));
            }
        }
        let stands = next.into_iter().filter(|&next| is_before(passed, next)).min_by(f64::total_cmp);
        stands.or_else(|| passed.is_finite().then(|| after(passed)))
    }

    /// Returns the reason why there is no agreement yet: the names of the ranks that have not accepted.
    fn why_not_yet(&self, name: &dyn Fn(RankId) -> String) -> Fault {
        let of = |wanted: fn(&Option<Steers>) -> bool| {
            self.answers.iter().filter(move |(_, answer)| wanted(answer)).map(|(&rank, _)| rank)
        };
        let never = some(of(|answer| matches!(answer, Some(Steers::Unsteered))), name);
        let silent = some(of(|answer| answer.is_none()), name);
        let restart = matches!(self.proposal.matter, Matter::Set { restart: true, .. });
        match (never.is_empty(), restart) {
            (false, false) => fault!(
                STEERING_REFUSED,
                "{never} has not called steer(t) yet, and nothing can change in a code that does not; a code \
                calls it once in each step"
            ),
            (false, true) => fault!(
                STEERING_REFUSED,
                "{never} has not begun a pass of its reuse loop with a message, and the setting is read once \
                a pass"
            ),
            _ => fault!(
                STEERING_REFUSED,
                "{silent} has not answered: it computes, and has neither called steer(t) nor waited for a \
                message"
            ),
        }
    }
}

impl Steering {
    /// Makes the state of a run without changes. Texts show model times in this unit.
    pub fn in_unit(time_unit: Option<String>) -> Steering {
        Steering { time_unit, ..Steering::default() }
    }

    /// Takes the changes that were agreed on before the run began: the number of each change, and the ranks
    /// concerned.
    pub fn begin(&mut self, schedule: impl IntoIterator<Item = (u64, Vec<RankId>)>) {
        for (change, ranks) in schedule {
            self.last = self.last.max(change);
            self.made.insert(change, ChangeProgress::by(ranks));
        }
    }

    /// Returns the number of a change that is not proposed here.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the agreed halt.
    pub fn halt(&self) -> Option<&Halt> {
        self.halt.as_ref()
    }

    /// Returns the number of the change on which ranks are being asked to agree.
    pub fn open(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.change)
    }

    /// Returns the ranks that have not accepted the change returned by `open` yet.
    pub fn ranks_without_answer(&self) -> Vec<RankId> {
        let answers = self.open.iter().flat_map(|open| &open.answers);
        answers
            .filter(|(_, answer)| matches!(answer, None | Some(Steers::Unsteered)))
            .map(|(&rank, _)| rank)
            .collect()
    }

    /// Takes a request for a change at `now` (ns). Returns the number of the change, and the actions that
    /// follow.
    ///
    /// # Errors
    /// The request is impossible.
    pub fn propose(
        &mut self,
        proposal: Proposal,
        now: u64,
        name: &dyn Fn(RankId) -> String,
    ) -> Result<(u64, Vec<SteeringAction>), Fault> {
        if self.ends {
            return Err(fault!(STEERING_REFUSED, "the run ends"));
        }
        if self.waiting.len() >= MAX_WAITING_CHANGES {
            return Err(fault!(
                STEERING_REFUSED,
                "{MAX_WAITING_CHANGES} changes wait to be agreed on; try again later"
            ));
        }
        if proposal.at.is_some_and(|at| !at.is_finite()) {
            return Err(fault!(STEERING_REFUSED, "a model time is a number"));
        }
        self.last += 1;
        let change = self.last;
        self.waiting.push_back((change, proposal));
        Ok((change, self.go_on(now, name)))
    }

    /// Asks ranks about the next waiting change, unless ranks are being asked about another change.
    fn go_on(&mut self, now: u64, name: &dyn Fn(RankId) -> String) -> Vec<SteeringAction> {
        let mut turns = Vec::new();
        while self.open.is_none() {
            let Some((change, proposal)) = self.waiting.pop_front() else { break };
            let halted = self.halt.as_ref().filter(|_| proposal.matter == Matter::Halt);
            if let Some(halt) = halted {
                let why = fault!(
                    STEERING_REFUSED,
                    "the run is to stand still from {} on already",
                    in_unit(halt.at, self.time_unit.as_deref())
                );
                turns.push(SteeringAction::Refused { change, why });
                continue;
            }
            let answers = proposal.ranks.iter().map(|&rank| (rank, None)).collect();
            let until = now.saturating_add(proposal.patience);
            let at = proposal.at.map(ModelTime);
            let steer = Steer::Prepare { change, at, matter: proposal.matter.clone() };
            let open = OpenChange { change, proposal, until, answers };
            turns.push(open.order(steer));
            self.open = Some(open);
            turns.extend(self.settle(name));
        }
        turns
    }

    /// Takes the answer of a rank to a change, at `now` (ns).
    pub fn answered(
        &mut self,
        answer: RankAnswer,
        now: u64,
        name: &dyn Fn(RankId) -> String,
    ) -> Vec<SteeringAction> {
        let RankAnswer { rank, change, answer } = answer;
        let mut turns = Vec::new();
        if let Some(open) = self.open.as_mut().filter(|open| open.change == change) {
            let Some(known) = open.answers.get_mut(&rank) else { return turns };
            if let Steers::Past { last } = answer {
                let shown = |time| in_unit(time, self.time_unit.as_deref());
                let at = shown(open.proposal.at.unwrap_or(last.0));
                let why = fault!(
                    STEERING_REFUSED,
                    "{} has passed {at} already: it is at {}; ask for a later time, or for none",
                    name(rank),
                    shown(last.0)
                );
                turns.extend(self.refuse(why));
            } else {
                *known = Some(answer);
                turns.extend(self.settle(name));
            }
        } else if let Some(halt) = self.halt.as_mut().filter(|halt| halt.change == change) {
            match answer {
                Steers::Halts { at } if halt.ranks.contains(&rank) => {
                    halt.unsteered.remove(&rank);
                    if at.0 >= begin_of(halt.at) {
                        halt.held.insert(rank, at.0);
                    }
                }
                // The rank has reached its first step since the halt was agreed on.
                Steers::Accepts { next: Some(_), .. } => drop(halt.unsteered.remove(&rank)),
                Steers::Over => {
                    halt.ranks.remove(&rank);
                    halt.held.remove(&rank);
                    halt.unsteered.remove(&rank);
                }
                _ => {}
            }
        } else if let Some(making) = self.made.get_mut(&change) {
            if matches!(answer, Steers::Made | Steers::Over) && making.left.remove(&rank) {
                making.is_made |= answer == Steers::Made;
            }
            if making.left.is_empty() {
                // If no rank has made the change, because all ranks ended before its time, the state of the
                // change remains "agreed".
                let is_made = making.is_made;
                self.made.remove(&change);
                turns.extend(is_made.then_some(SteeringAction::InForce { change }));
            }
        }
        turns.extend(self.go_on(now, name));
        turns
    }

    /// Completes the open change if all ranks have accepted the change.
    fn settle(&mut self, name: &dyn Fn(RankId) -> String) -> Vec<SteeringAction> {
        let Some(open) = &self.open else { return Vec::new() };
        let settled = |answer: &Option<Steers>| matches!(answer, Some(Steers::Accepts { .. } | Steers::Over));
        if !open.answers.values().all(settled) {
            return Vec::new();
        }
        let alive: BTreeSet<RankId> = open
            .answers
            .iter()
            .filter(|(_, answer)| matches!(answer, Some(Steers::Accepts { .. })))
            .map(|(&rank, _)| rank)
            .collect();
        if alive.is_empty() {
            let all = some(open.proposal.ranks.iter().copied(), name);
            return self
                .refuse(fault!(STEERING_REFUSED, "no instance is left that it concerns: {all} has ended"));
        }
        let Some(at) = open.time() else {
            return self.refuse(fault!(
                STEERING_REFUSED,
                "no instance has called steer(t) yet, and a code that never calls it neither stands still nor \
                 changes; let a code call it once in each step, or, if it calls it later, give a time (--at)"
            ));
        };
        let turns = vec![
            open.order(Steer::Commit { change: open.change, at: ModelTime(at) }),
            SteeringAction::Agreed { change: open.change, at },
        ];
        let open = self.open.take().expect("looked at above");
        match open.proposal.matter {
            // Checkpoints have a queue of their own (`saves`).
            Matter::Save => {}
            Matter::Set { .. } => drop(self.made.insert(open.change, ChangeProgress::by(alive))),
            Matter::Halt => {
                let (change, stops) = (open.change, open.proposal.stops);
                let never = |rank: &RankId| {
                    matches!(open.answers[rank], Some(Steers::Accepts { last: None, next: None }))
                };
                let unsteered = alive.iter().copied().filter(never).collect();
                self.halt = Some(Halt { change, at, ranks: alive, held: BTreeMap::new(), unsteered, stops });
            }
        }
        turns
    }

    /// Refuses the open change.
    fn refuse(&mut self, why: Fault) -> Vec<SteeringAction> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let change = open.change;
        vec![open.order(Steer::Withdraw { change }), SteeringAction::Refused { change, why }]
    }

    /// Refuses the open change if the ranks have not agreed by `now` (ns). Then asks about the next change.
    pub fn tick(&mut self, now: u64, name: &dyn Fn(RankId) -> String) -> Vec<SteeringAction> {
        let mut turns = Vec::new();
        if let Some(open) = self.open.as_ref().filter(|open| now >= open.until) {
            let why = open.why_not_yet(name);
            turns.extend(self.refuse(why));
        }
        turns.extend(self.go_on(now, name));
        turns
    }

    /// Withdraws the change with this number. If no number is given, withdraws the change on which ranks
    /// are being asked to agree.
    ///
    /// # Errors
    /// The change is agreed on already, or there is no such change.
    pub fn withdraw(
        &mut self,
        change: Option<u64>,
        who: &str,
        now: u64,
        name: &dyn Fn(RankId) -> String,
    ) -> Result<(u64, Vec<SteeringAction>), Fault> {
        let change = change.or(self.open()).ok_or_else(|| {
            fault!(STEERING_REFUSED, "nothing is being agreed on, so there is nothing to withdraw")
        })?;
        let why = fault!(STEERING_REFUSED, "it was withdrawn by {who}");
        if self.open() == Some(change) {
            let mut turns = self.refuse(why);
            turns.extend(self.go_on(now, name));
            return Ok((change, turns));
        }
        if let Some(place) = self.waiting.iter().position(|(waits, _)| *waits == change) {
            self.waiting.remove(place);
            return Ok((change, vec![SteeringAction::Refused { change, why }]));
        }
        Err(if change == 0 || change > self.last {
            fault!(STEERING_REFUSED, "there is no change {change}")
        } else {
            fault!(
                STEERING_REFUSED,
                "change {change} is over, or all have agreed on it; change the setting back, or let the run \
                go on (--resume)"
            )
        })
    }

    /// Ends a halt, or moves it to a later time.
    ///
    /// # Errors
    /// There is no halt, or the halt is at a later time.
    pub fn move_halt(&mut self, at: Option<f64>) -> Result<Vec<SteeringAction>, Fault> {
        let Some(halt) = &mut self.halt else {
            return Err(fault!(STEERING_REFUSED, "the run does not stand still, and is not going to"));
        };
        if let Some(at) = at {
            if !at.is_finite() || at <= halt.at {
                return Err(fault!(
                    STEERING_REFUSED,
                    "the run stands still from {} on already",
                    in_unit(halt.at, self.time_unit.as_deref())
                ));
            }
            halt.at = at;
            halt.held.retain(|_, held| *held >= begin_of(at));
        }
        let steer = Steer::Move { change: halt.change, at: at.map(ModelTime) };
        let order = AgentOrder::Steer { ranks: halt.ranks.iter().copied().collect(), steer };
        if at.is_none() {
            self.halt = None;
        }
        Ok(vec![SteeringAction::Order(order)])
    }

    /// Makes the run end at its halt, even if the instances have not reached the halt yet.
    pub fn stop_at_halt(&mut self) {
        if let Some(halt) = &mut self.halt {
            halt.stops = true;
        }
    }

    /// Lets the halted ranks with the earliest model time make one step. This is a move of the halt to the
    /// first time after that time.
    ///
    /// # Errors
    /// No rank has halted.
    pub fn step(&mut self) -> Result<(f64, Vec<SteeringAction>), Fault> {
        let held = self.halt.as_ref().and_then(|halt| halt.held.values().copied().min_by(f64::total_cmp));
        let Some(first) = held else {
            return Err(fault!(
                STEERING_REFUSED,
                "no instance has come to the halt yet; try again when one has"
            ));
        };
        let at = after(first);
        Ok((at, self.move_halt(Some(at))?))
    }

    /// Refuses all open and waiting changes, because the run ends.
    pub fn run_ends(&mut self) -> Vec<SteeringAction> {
        self.ends = true;
        let why = || fault!(STEERING_REFUSED, "the run ends");
        let mut turns: Vec<SteeringAction> = self.refuse(why());
        turns.retain(|turn| !matches!(turn, SteeringAction::Order(_)));
        let waiting = std::mem::take(&mut self.waiting);
        turns.extend(waiting.into_iter().map(|(change, _)| SteeringAction::Refused { change, why: why() }));
        turns
    }
}

#[cfg(test)]
mod tests;
