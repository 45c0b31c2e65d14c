//! Steering of a run. The head checks a client's request, asks all instances concerned to accept it, and
//! records it. The head also repeats changes of an earlier run.

use super::Runtime;
use ligament_agent::{AgentOrder, ConnectionId, RunOutcome, RunPlan};
use ligament_catalogue::{fault, Fault};
use ligament_manager::steering::{
    CheckedChange, Proposal, RankAnswer, SteerableSettings, Steering, SteeringAction,
};
use ligament_manager::{
    ChangeState, HaltRecord, InstanceState, JournalEvent, Level, Names, Observation, OpenChange,
    SteeringRecord, SteeringVerb, UtcTime,
};
use ligament_model::ResolvedModel;
use ligament_wire::control::{ChangeRequest, SteerRequest, SteerableSetting};
use ligament_wire::steering::{Matter, ModelTime, ScheduledChange, Steers as Said};
use ligament_wire::times::in_unit;
use ligament_wire::RankId;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::time::Duration;

/// Time within which all instances must accept a change: the default and the maximum.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);
const MAX_PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of refused changes that the record keeps.
const REFUSED: usize = 100;
/// Maximum length of a user's name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Maximum number of names of instances that have not accepted a change in the status for viewers.
const NAMED: usize = 8;
/// Number of consecutive checks in which all instances are at rest before the run counts as halted.
const STILL: u32 = 3;

/// The state of steering, and the clients that wait for answers.
#[derive(Default)]
pub(super) struct Steers {
    steering: Steering,
    steerables: SteerableSettings,
    /// Clients that wait for the outcome of a change, by the number of the change.
    clients: HashMap<u64, ConnectionId>,
    orders: Vec<AgentOrder>,
    answers: Vec<(ConnectionId, Result<String, Fault>)>,
    /// The epochs of all ranks at the last check, and the number of consecutive checks with the same epochs.
    still: (Vec<u64>, u32),
}

/// The common part of a request.
pub(super) struct WantedChange {
    pub who: String,
    /// The model time of the change, in s.
    pub at: Option<f64>,
    pub dry: bool,
    /// Time until which all may take to agree, in ns.
    pub until: u64,
}

impl Steers {
    /// Returns the number of a change that has its own queue.
    pub fn number(&mut self) -> u64 {
        self.steering.number()
    }

    /// Notes that a client waits for the outcome of a change.
    pub fn waits(&mut self, change: u64, link: ConnectionId) {
        self.clients.insert(change, link);
    }

    /// Begins the steering of a run that repeats these changes of an earlier run. The changes become part of
    /// the plan and of the record.
    ///
    /// # Errors
    /// One of the changes is not possible in this model.
    pub fn begin(
        model: &ResolvedModel,
        earlier: &[SteeringRecord],
        plan: &mut RunPlan,
    ) -> Result<(Steers, Vec<SteeringRecord>), Fault> {
        let time_unit = model.ligament.time_unit.as_ref().map(|(unit, _)| unit.clone());
        let mut steers = Steers {
            steering: Steering::in_unit(time_unit),
            steerables: SteerableSettings::of(model),
            ..Steers::default()
        };
        let mut records = Vec::new();
        for (one, change) in earlier.iter().filter(|one| one.is_agreed() && !one.settings.is_empty()).zip(1..) {
            let Some(at) = one.model_time else { continue };
            let (matter, ranks) = steers.steerables.restored(&one.settings, one.restart)?;
            plan.schedule.push((ScheduledChange { change, at: ModelTime(at), matter }, ranks.clone()));
            steers.steering.begin([(change, ranks)]);
            steers.steerables.record_agreed(&one.settings, at);
            let state = ChangeState::Agreed;
            records.push(SteeringRecord { change, state, ..one.clone() });
        }
        Ok((steers, records))
    }
}

/// Returns a user's name, without control characters and cut to the maximum length.
fn clean(who: &str) -> String {
    let end = (0..=who.len().min(MAX_NAME_BYTES)).rev().find(|&at| who.is_char_boundary(at)).unwrap_or(0);
    let name: String = who[..end].chars().filter(|c| !c.is_control()).collect();
    if name.trim().is_empty() {
        return "somebody".to_owned();
    }
    name
}

impl Runtime<'_> {
    /// Writes the settings that can be steered into the record, and the changes that this run repeats into the
    /// journal.
    pub(super) fn tell_steerable(&mut self) {
        self.record.steerable = self.steers.steerables.list();
        for one in self.record.steering.clone() {
            self.note_steering(&one);
        }
    }

    /// Handles a client's request. Returns the reason if the request is refused at once.
    pub(super) fn steer_for(&mut self, link: ConnectionId, what: SteerRequest, now: u64) -> Option<Fault> {
        let done = self.wanted(link, what, now);
        match done {
            Ok(Some(answer)) => {
                self.steers.answers.push((link, Ok(answer.to_string())));
                None
            }
            Ok(None) => None,
            Err(why) => Some(why),
        }
    }

    /// Returns the answer to a request, if it is known at once.
    fn wanted(&mut self, link: ConnectionId, what: SteerRequest, now: u64) -> Result<Option<Value>, Fault> {
        let SteerRequest { who, wanted, at, patience, dry } = what;
        let who = clean(&who);
        let patience = patience.unwrap_or(DEFAULT_PATIENCE).min(MAX_PATIENCE).as_nanos() as u64;
        let halt = |stops| (Matter::Halt, self.steers.steerables.all(), Vec::new(), stops);
        let Some(verb) = SteeringVerb::of(&wanted) else { return Ok(Some(self.steering_in_all())) };
        let is_halted = self.steers.steering.halt().is_some();
        let (matter, ranks, settings, stops) = match wanted {
            ChangeRequest::Nothing => return Ok(Some(self.steering_in_all())),
            ChangeRequest::Checkpoint { wait } => {
                let until = now.saturating_add(patience);
                return self.wanted_checkpoint(link, WantedChange { who, at, dry, until }, wait);
            }
            ChangeRequest::Set(texts) => {
                let CheckedChange { matter, ranks, assignments } = self.steers.steerables.check(&texts)?;
                (matter, ranks, assignments, false)
            }
            ChangeRequest::Until if at.is_none() => {
                return Err(fault!(BAD_STEERING, "the model time until which the run is to go on is missing"))
            }
            ChangeRequest::Until | ChangeRequest::Resume | ChangeRequest::Step if is_halted => {
                if dry {
                    return Ok(Some(json!({ "ok": true, "dry": true })));
                }
                let (until, turns) = match wanted {
                    ChangeRequest::Step => self.steers.steering.step().map(|(at, turns)| (Some(at), turns))?,
                    ChangeRequest::Until => (at, self.steers.steering.move_halt(at)?),
                    _ => (None, self.steers.steering.move_halt(None)?),
                };
                self.note_moved(&who, verb, until);
                self.take_turns(turns);
                self.show_halt();
                self.save();
                return Ok(Some(json!({ "ok": true, "until": until })));
            }
            ChangeRequest::Resume => {
                return Err(fault!(STEERING_REFUSED, "the run does not stand still, and is not going to"))
            }
            ChangeRequest::Pause | ChangeRequest::Step | ChangeRequest::Until => halt(false),
            // The run is halted already, or is about to be halted.
            ChangeRequest::Stop if is_halted && at.is_none() => {
                if !dry {
                    self.steers.steering.stop_at_halt();
                    let order = format!("{}, by {who}: end where the run stands still", verb.name());
                    self.log.add(Level::Info, "run", &order);
                    self.journal.note(JournalEvent::Order { order, instance: None });
                    self.show_halt();
                    self.save();
                }
                let at = self.steers.steering.halt().map(|halt| halt.at);
                return Ok(Some(json!({ "ok": true, "dry": dry, "at": at })));
            }
            ChangeRequest::Stop => halt(true),
            ChangeRequest::Withdraw(_) if dry => return Ok(Some(json!({ "ok": true, "dry": true }))),
            ChangeRequest::Withdraw(Some(change)) if self.withdraw_save(change, &who) => {
                return Ok(Some(json!({ "ok": true, "change": change })));
            }
            ChangeRequest::Withdraw(change) => {
                let names = self.manager.names();
                let name = |rank| names.rank(rank);
                let (change, turns) = self.steers.steering.withdraw(change, &who, now, &name)?;
                self.take_turns(turns);
                return Ok(Some(json!({ "ok": true, "change": change })));
            }
        };
        if dry {
            let names: Vec<String> = ranks.iter().map(|&rank| self.manager.names().rank(rank)).collect();
            return Ok(Some(json!({ "ok": true, "dry": true, "settings": settings, "instances": names })));
        }
        let restart = matches!(matter, Matter::Set { restart: true, .. });
        let proposal = Proposal { matter, ranks, at, patience, stops };
        let names = self.manager.names();
        let (change, turns) = self.steers.steering.propose(proposal, now, &|rank| names.rank(rank))?;
        self.steers.clients.insert(change, link);
        let asked = UtcTime::now().rfc3339();
        let record = SteeringRecord {
            change,
            who,
            asked,
            what: verb,
            settings,
            model_time: at,
            time_unit: self.record.time_unit.clone(),
            restart,
            state: ChangeState::Asked,
            reason: None,
            checkpoint: None,
        };
        self.note_steering(&record);
        self.record.steering.push(record);
        self.take_turns(turns);
        Ok(None)
    }

    /// Returns the settings that can be steered, and the changes that were made.
    fn steering_in_all(&self) -> Value {
        json!({
            "ok": true,
            "steerable": self.steers.steerables.list(),
            "changes": self.record.steering,
            "halt": self.record.halt,
            "time_unit": self.record.time_unit,
        })
    }

    /// Returns the change on which ranks are being asked to agree, for viewers: its number, the number of ranks
    /// that have not accepted it, and the names of the first of these ranks.
    pub(super) fn agreeing(&self) -> Option<OpenChange> {
        let change = self.steers.steering.open()?;
        let lacks = self.steers.steering.ranks_without_answer();
        let names: Vec<String> =
            lacks.iter().take(NAMED).map(|&rank| self.manager.names().rank(rank)).collect();
        Some(OpenChange { change, lacks: lacks.len(), names })
    }

    /// Takes a rank's answer to a change.
    pub(super) fn rank_steers(&mut self, rank: RankId, change: u64, answer: Said) {
        let now = ligament_shm::status::now();
        let names = self.manager.names();
        let answer = RankAnswer { rank, change, answer };
        let turns = self.steers.steering.answered(answer, now, &|rank| names.rank(rank));
        self.take_turns(turns);
        self.show_halt();
    }

    /// Takes a code's declaration that a setting can be steered.
    pub(super) fn rank_declares(&mut self, rank: RankId, setting: &SteerableSetting) {
        match self.steers.steerables.declare(rank, setting) {
            Ok(()) => self.record.steerable = self.steers.steerables.list(),
            Err(why) => {
                let who = self.manager.names().rank(rank);
                self.add(Level::Warning, &who, why.text());
            }
        }
    }

    /// Handles a tick: the time that has passed, and the observed state of the run.
    pub(super) fn steering_tick(&mut self, seen: &[Observation], now: u64) {
        let names = self.manager.names();
        let turns = self.steers.steering.tick(now, &|rank| names.rank(rank));
        self.take_turns(turns);
        self.saves_tick(now);
        if self.steers.steering.halt().is_some_and(|halt| halt.stops) && self.nobody_moves(seen) {
            self.steers.orders.push(AgentOrder::End(RunOutcome::Stopped));
        }
    }

    /// Returns true if an instance is at a halt, and all instances have been at rest for several checks.
    fn nobody_moves(&mut self, seen: &[Observation]) -> bool {
        // An instance at a halt also stops the other instances of its process. Only its own status row shows
        // the halt.
        let held = self.steers.steering.halt().map(|halt| &halt.held);
        let rests = |rank: RankId, one: &Observation| match one.state {
            InstanceState::Held => true,
            InstanceState::WaitingToReceive | InstanceState::WaitingToSend => {
                one.waits.as_ref().is_some_and(|waits| !waits.timed)
            }
            _ => {
                one.gone
                    || one.state == InstanceState::Done
                    || held.is_some_and(|held| held.contains_key(&rank))
            }
        };
        let epochs: Vec<u64> = seen.iter().map(|one| one.epoch).collect();
        let rest = RankId::first(seen.len()).zip(seen).all(|(rank, one)| rests(rank, one))
            && seen.iter().any(|one| one.state == InstanceState::Held);
        let (before, looks) = &mut self.steers.still;
        *looks = if rest && *before == epochs { *looks + 1 } else { 0 };
        *before = epochs;
        *looks >= STILL
    }

    /// Answers all waiting clients, because the run ends.
    pub(super) fn steering_ends(&mut self) {
        let turns = self.steers.steering.run_ends();
        self.take_turns(turns);
    }

    pub(super) fn take_turns(&mut self, turns: Vec<SteeringAction>) {
        for turn in turns {
            match turn {
                SteeringAction::Order(order) => {
                    let own = self.pass_on(order);
                    self.steers.orders.extend(own);
                }
                SteeringAction::Agreed { change, at } => {
                    if let Some(record) = self.change_record(change, ChangeState::Agreed) {
                        record.model_time = Some(at);
                        let mut record = record.clone();
                        self.steers.steerables.renew(&mut record.settings, at);
                        if let Some(kept) = self.change_record(change, ChangeState::Agreed) {
                            kept.settings.clone_from(&record.settings);
                        }
                        self.steers.steerables.record_agreed(&record.settings, at);
                        self.record.steerable = self.steers.steerables.list();
                        self.show_halt();
                        let halt = self.record.halt.as_ref().filter(|halt| halt.change == change);
                        let unsteered = halt.map(|halt| halt.unsteered.clone()).unwrap_or_default();
                        if !self.saves.waits_for_whole(change) {
                            self.answer(
                                change,
                                Ok(json!({
                                    "ok": true, "change": change, "at": at, "what": record.what,
                                    "settings": record.settings, "unsteered": unsteered,
                                })),
                            );
                        }
                        self.note_steering(&record);
                        self.log.add(Level::Info, "run", &record.describe());
                        if let Some(line) = HaltRecord::not_held(&unsteered) {
                            self.log.add(Level::Warning, "run", &line);
                        }
                        // The record is written now, because a later run can repeat the change from it.
                        self.save();
                    }
                }
                SteeringAction::InForce { change } => {
                    if let Some(record) = self.change_record(change, ChangeState::InForce) {
                        let record = record.clone();
                        self.note_steering(&record);
                    }
                }
                SteeringAction::Refused { change, why } => {
                    if let Some(record) = self.change_record(change, ChangeState::Refused) {
                        record.reason = Some(why.to_string());
                        let record = record.clone();
                        self.note_steering(&record);
                        self.log.add(Level::Info, "run", &record.describe());
                    }
                    self.answer(change, Err(why));
                    self.forget_refused();
                }
            }
        }
    }

    pub(super) fn change_record(&mut self, change: u64, state: ChangeState) -> Option<&mut SteeringRecord> {
        let record = self.record.steering.iter_mut().rev().find(|one| one.change == change)?;
        record.state = state;
        Some(record)
    }

    fn forget_refused(&mut self) {
        let refused = |one: &SteeringRecord| one.state == ChangeState::Refused;
        if self.record.steering.iter().filter(|one| refused(one)).count() > REFUSED {
            let first = self.record.steering.iter().position(refused);
            first.map(|first| self.record.steering.remove(first));
        }
    }

    pub(super) fn answer(&mut self, change: u64, answer: Result<Value, Fault>) {
        if let Some(link) = self.steers.clients.remove(&change) {
            self.steers.answers.push((link, answer.map(|json| json.to_string())));
        }
    }

    /// Writes the instances at a halt to the record.
    fn show_halt(&mut self) {
        self.record.halt = self.steers.steering.halt().map(|halt| HaltRecord {
            change: halt.change,
            at: halt.at,
            stops: halt.stops,
            held: halt.held.keys().map(|&rank| self.manager.names().rank(rank)).collect(),
            unsteered: halt.unsteered.iter().map(|&rank| self.manager.names().rank(rank)).collect(),
        });
    }

    pub(super) fn note_steering(&mut self, record: &SteeringRecord) {
        self.journal.note(JournalEvent::Steering(record.clone()));
    }

    fn note_moved(&mut self, who: &str, verb: SteeringVerb, until: Option<f64>) {
        let word = verb.name();
        let order = match until {
            Some(at) => {
                format!("{word}, by {who}: go on until {}", in_unit(at, self.record.time_unit.as_deref()))
            }
            None => format!("{word}, by {who}: go on"),
        };
        self.log.add(Level::Info, "run", &order);
        self.journal.note(JournalEvent::Order { order, instance: None });
        self.show_halt();
    }

    /// Returns the orders for the agent.
    pub(super) fn steering_orders(&mut self) -> Vec<AgentOrder> {
        std::mem::take(&mut self.steers.orders)
    }

    /// Returns the answers for clients.
    pub(super) fn steering_answers(&mut self) -> Vec<(ConnectionId, Result<String, Fault>)> {
        std::mem::take(&mut self.steers.answers)
    }
}
