//! The people of a simulated run: they set values, halt the instances and let them go on, and ask for
//! checkpoints. The logic of the head is the real one, and the agent carries its orders. The rules: each
//! instance makes a change in its first step from the agreed model time on, and no step passes a halt.

use crate::random::Random;
use crate::script::{Script, MS};
use ligament_agent::AgentOrder;
use ligament_catalogue::fault;
use ligament_checkpoint::Moments;
use ligament_manager::saves::{SaveAction, SaveRequests};
use ligament_manager::steering::{Proposal, RankAnswer, Steering, SteeringAction};
use ligament_wire::steering::Matter;
use ligament_wire::RankId;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of wishes of a run.
const MAX_WISHES: u64 = 12;
/// Runs of the stage are shorter than real ones, so the head's pause between two questions for the time of a
/// checkpoint is shorter, too, by this factor.
const HASTE: u64 = 100;

/// The changes on which the head has agreed with the instances, for the instances to compare with.
#[derive(Debug, Default)]
pub struct AgreedChanges {
    /// For each change of a setting: its model time, and the instances concerned.
    pub settings: BTreeMap<u64, (f64, BTreeSet<u32>)>,
    /// The model time of the halt.
    pub halt: Option<f64>,
    /// Numbers of agreed changes of settings and halts, and of checkpoints that were asked for and are whole.
    pub count: RequestCount,
}

/// Numbers of wishes that came true.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestCount {
    pub settings: usize,
    pub halts: usize,
    pub saves: usize,
    /// Number of proposals for checkpoints that were given up.
    pub given_up: usize,
}

/// The result of a step of the head.
#[derive(Debug, Default)]
pub struct HeadOutcome {
    pub orders: Vec<AgentOrder>,
    /// The moments of checkpoints that are given up.
    pub given_up: Vec<f64>,
}

/// The head of a steered run.
pub struct SteeredHead {
    steering: Steering,
    saves: SaveRequests,
    moments: Moments,
    /// The proposed changes, with the ranks concerned.
    proposed: BTreeMap<u64, (Matter, Vec<RankId>)>,
    ranks: Vec<RankId>,
    /// The model time up to which people think, s.
    horizon: f64,
    wishes: u64,
    random: Random,
}

fn name(rank: RankId) -> String {
    format!("part{rank}")
}

impl SteeredHead {
    /// Makes the head of a script's run, if that is steered.
    pub fn of(script: &Script, mut random: Random) -> Option<SteeredHead> {
        let cuts = script.cuts.as_ref().filter(|cuts| cuts.is_steered)?;
        let count = script.programs.len();
        let end = |(program, (begin, step)): (&Vec<_>, &(f64, f64))| begin + step * program.len() as f64;
        Some(SteeredHead {
            steering: Steering::default(),
            saves: SaveRequests::default(),
            moments: cuts.moments.clone(),
            proposed: BTreeMap::new(),
            ranks: (0..count as u32).map(RankId::new).collect(),
            horizon: script.programs.iter().zip(&cuts.clocks).map(end).fold(0.0, f64::max),
            wishes: random.between(1, MAX_WISHES),
            random,
        })
    }

    /// Returns the time until people look at the run again, ns.
    pub fn pause(&mut self) -> u64 {
        // Without a wish they only let the run go on, and the head looks for answers that are late.
        let longest = if self.wishes > 0 { 4 * MS } else { 60 * MS };
        self.random.scaled(longest)
    }

    /// People look at the run at `now` (ns), and may wish something.
    pub fn look(&mut self, now: u64, agreed: &mut AgreedChanges) -> HeadOutcome {
        let mut turns = self.steering.tick(now, &name);
        let mut actions = self.saves.tick(now * HASTE);
        if self.steering.halt().is_some() && self.random.percent(60) {
            let moved = match self.random.below(3) {
                0 => self.steering.step().map(|(_, turns)| turns),
                _ => self.steering.move_halt(None),
            };
            turns.extend(moved.unwrap_or_default());
        }
        if self.wishes > 0 && self.random.percent(60) {
            self.wishes -= 1;
            match self.random.below(10) {
                0..3 => actions.extend(self.ask_for_checkpoint()),
                3 => turns.extend(
                    self.steering.withdraw(None, "somebody", now, &name).map_or(Vec::new(), |(_, turns)| turns),
                ),
                4 | 5 => turns.extend(self.propose(Matter::Halt, now)),
                _ => turns.extend(self.propose(Matter::Set { settings: Vec::new(), restart: false }, now)),
            }
        }
        self.outcome(turns, actions, agreed)
    }

    /// A model time, or none for "as soon as it can be".
    fn time(&mut self) -> Option<f64> {
        let eighths = (self.horizon * 8.0) as u64 + 1;
        (!self.random.percent(60)).then(|| self.random.below(eighths) as f64 / 8.0)
    }

    fn ask_for_checkpoint(&mut self) -> Vec<SaveAction> {
        let (change, at) = (self.steering.number(), self.time());
        self.saves.ask(Some(change), at, &self.ranks).unwrap_or_default()
    }

    fn propose(&mut self, matter: Matter, now: u64) -> Vec<SteeringAction> {
        // The value of the setting is the number of the change.
        let number = self.steering.number() + 1;
        let mut ranks = self.ranks.clone();
        let matter = match matter {
            Matter::Set { restart, .. } => {
                let mut chosen = self.random.split();
                let few = self.random.percent(40);
                ranks.retain(|_| !few || chosen.percent(50));
                Matter::Set { settings: number.to_le_bytes().to_vec(), restart }
            }
            matter => matter,
        };
        if ranks.is_empty() {
            return Vec::new();
        }
        self.proposed.insert(number, (matter.clone(), ranks.clone()));
        let patience = self.random.scaled(50 * MS);
        let proposal = Proposal { matter, ranks, at: self.time(), patience, stops: false };
        self.steering.propose(proposal, now, &name).map_or(Vec::new(), |(change, turns)| {
            assert_eq!(change, number, "numbers follow each other");
            turns
        })
    }

    /// Handles the answer of a rank, at `now` (ns).
    pub fn answered(&mut self, answer: RankAnswer, now: u64, agreed: &mut AgreedChanges) -> HeadOutcome {
        let (turns, actions) = if SaveRequests::has(answer.change) {
            (Vec::new(), self.saves.answered(answer, now * HASTE, &name))
        } else {
            (self.steering.answered(answer, now, &name), Vec::new())
        };
        self.outcome(turns, actions, agreed)
    }

    /// Notes that a checkpoint is whole.
    pub fn is_whole(&mut self, number: u32, moment: f64, agreed: &mut AgreedChanges) {
        agreed.count.saves += self.saves.whole(number, moment).len();
    }

    /// Notes that the run ends.
    pub fn run_ends(&mut self) {
        self.wishes = 0;
        self.steering.run_ends();
        self.saves.run_ends(&|_| fault!(STEERING_REFUSED, "the run ends"));
    }

    fn outcome(
        &mut self,
        mut turns: Vec<SteeringAction>,
        actions: Vec<SaveAction>,
        agreed: &mut AgreedChanges,
    ) -> HeadOutcome {
        let mut outcome = HeadOutcome::default();
        for action in actions {
            match action {
                SaveAction::Steering(turn @ SteeringAction::Order(_)) => turns.push(turn),
                SaveAction::GivenUp { moment } => {
                    agreed.count.given_up += 1;
                    if !self.moments.has(moment) && !self.saves.wants(moment) {
                        outcome.given_up.push(moment);
                    }
                }
                SaveAction::Steering(_) | SaveAction::Saved { .. } => {}
            }
        }
        for turn in turns {
            match turn {
                SteeringAction::Order(order) => outcome.orders.push(order),
                SteeringAction::Agreed { change, at } => match &self.proposed[&change] {
                    (Matter::Set { .. }, ranks) => {
                        agreed.count.settings += 1;
                        let ranks = ranks.iter().map(|rank| rank.number()).collect();
                        agreed.settings.insert(change, (at, ranks));
                    }
                    _ => agreed.count.halts += 1,
                },
                SteeringAction::Refused { .. } | SteeringAction::InForce { .. } => {}
            }
        }
        agreed.halt = self.steering.halt().map(|halt| halt.at);
        outcome
    }
}
