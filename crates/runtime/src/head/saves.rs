//! Checkpoints that somebody asks for while the run goes on: requests of clients, and the rules of the model
//! for the clock on the wall.

use super::checkpoints::moment_rule;
use super::steer::WantedChange;
use super::Runtime;
use ligament_agent::ConnectionId;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::Moments;
use ligament_manager::saves::{SaveAction, SaveRequests};
use ligament_manager::steering::{RankAnswer, SteeringAction};
use ligament_manager::{list_some, ChangeState, Names, SteeringRecord, SteeringVerb, UtcTime};
use ligament_model::ResolvedModel;
use ligament_wire::steering::Steers as Said;
use ligament_wire::times::in_unit;
use ligament_wire::RankId;
use serde_json::{json, Value};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of names in a text.
const NAMED: usize = 8;

/// A client that waits for the outcome of its request.
#[derive(Debug)]
struct WaitingClient {
    /// True if it waits until the checkpoint is whole, and false until its time is agreed on.
    for_whole: bool,
    /// Time at which a client that waits for the agreement gets an answer in any case, in ns.
    until: u64,
}

/// The requests for checkpoints, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Saves {
    requests: SaveRequests,
    waiting: HashMap<u64, WaitingClient>,
    /// The instances whose state cannot be saved, with the reason.
    pub unsavable: BTreeMap<String, String>,
    /// Moments by the clock on the wall, s since the begin of the run.
    wall_moments: Moments,
    /// The last of these moments for which a checkpoint was asked for.
    wall_saved: f64,
    /// True if the run ends.
    is_ending: bool,
}

impl Saves {
    pub fn of(model: &ResolvedModel) -> Saves {
        let time_unit = model.ligament.time_unit.as_ref().map(|(unit, _)| unit.clone());
        let rules = model.checkpoints.wallclock_time.iter().map(moment_rule);
        Saves {
            requests: SaveRequests::in_unit(time_unit),
            wall_moments: Moments::new(rules.collect()),
            ..Saves::default()
        }
    }

    /// Returns true if the client of a change is answered when the checkpoint is whole.
    pub fn waits_for_whole(&self, change: u64) -> bool {
        self.waiting.get(&change).is_some_and(|client| client.for_whole)
    }
}

impl Runtime<'_> {
    /// Takes a client's request for a checkpoint. Returns the answer, if it is known at once.
    ///
    /// # Errors
    /// The run cannot save checkpoints.
    pub(super) fn wanted_checkpoint(
        &mut self,
        link: ConnectionId,
        wanted: WantedChange,
        wait: bool,
    ) -> Result<Option<Value>, Fault> {
        let WantedChange { who, at, dry, until } = wanted;
        if let Some(why) = self.no_checkpoints() {
            return Err(why);
        }
        let ranks: Vec<RankId> = self.ranks.all().collect();
        if dry {
            let names: Vec<String> = ranks.iter().map(|&rank| self.manager.names().rank(rank)).collect();
            return Ok(Some(json!({ "ok": true, "dry": true, "settings": [], "instances": names })));
        }
        let change = self.steers.number();
        let actions = self.saves.requests.ask(Some(change), at, &ranks)?;
        self.steers.waits(change, link);
        self.saves.waiting.insert(change, WaitingClient { for_whole: wait, until });
        let record = SteeringRecord {
            change,
            who,
            asked: UtcTime::now().rfc3339(),
            what: SteeringVerb::Checkpoint,
            model_time: at,
            time_unit: self.record.time_unit.clone(),
            state: ChangeState::Asked,
            ..SteeringRecord::default()
        };
        self.note_steering(&record);
        self.record.steering.push(record);
        self.take_save_actions(actions);
        Ok(None)
    }

    /// Returns the reason why nobody can save a checkpoint of this run, if there is one.
    fn no_checkpoints(&self) -> Option<Fault> {
        let why = self.saves.unsavable.values().next()?;
        let more = match self.saves.unsavable.len() {
            1 => String::new(),
            _ => {
                let names: Vec<String> = self.saves.unsavable.keys().cloned().collect();
                format!(" (in all: {})", list_some(&names, NAMED))
            }
        };
        Some(fault!(CHECKPOINT_UNSUPPORTED, "no checkpoint of this run can be saved: {why}{more}"))
    }

    /// Withdraws a request for a checkpoint. Returns false if this change is none that is open.
    pub(super) fn withdraw_save(&mut self, change: u64, who: &str) -> bool {
        let why = fault!(STEERING_REFUSED, "it was withdrawn by {who}");
        let actions = self.saves.requests.withdraw(change, why);
        let is_open = actions.is_some();
        self.take_save_actions(actions.unwrap_or_default());
        is_open
    }

    /// Notes that the state of an instance cannot be saved.
    pub(super) fn is_unsavable(&mut self, instance: String, why: String) {
        self.saves.unsavable.insert(instance, why);
        if let Some(why) = self.no_checkpoints() {
            let actions = self.saves.requests.run_ends(&|_| why.clone());
            self.take_save_actions(actions);
        }
    }

    /// Takes a rank's answer to a proposal.
    pub(super) fn rank_saves(&mut self, rank: RankId, change: u64, answer: Said) {
        let now = ligament_shm::status::now();
        let names = self.manager.names();
        let answer = RankAnswer { rank, change, answer };
        let actions = self.saves.requests.answered(answer, now, &|rank| names.rank(rank));
        self.take_save_actions(actions);
    }

    /// Handles a tick: asks for the checkpoints that are due by the clock on the wall, and answers clients that
    /// have waited long enough.
    pub(super) fn saves_tick(&mut self, now: u64) {
        let due = self.saves.wall_moments.due(Some(self.saves.wall_saved), self.lasts());
        if let Some(moment) = due {
            let ranks: Vec<RankId> = self.ranks.all().collect();
            // If too many requests are open, the next tick asks again.
            if let Ok(actions) = self.saves.requests.ask(None, None, &ranks) {
                self.saves.wall_saved = moment;
                self.take_save_actions(actions);
            }
        }
        let actions = self.saves.requests.tick(now);
        self.take_save_actions(actions);
        let is_late = |client: &WaitingClient| !client.for_whole && now >= client.until;
        let late = self.saves.waiting.iter().filter(|(_, client)| is_late(client)).map(|(&change, _)| change);
        for change in late.collect::<Vec<u64>>() {
            let lacks = self.saves.requests.ranks_without_answer(change);
            let names = lacks.iter().take(NAMED).map(|&rank| self.manager.names().rank(rank));
            let names: Vec<String> = names.collect();
            self.saves.waiting.remove(&change);
            self.answer(change, Ok(json!({ "ok": true, "change": change, "lacks": names })));
        }
    }

    /// Answers all requests for a checkpoint that is whole.
    pub(super) fn checkpoint_is_whole(&mut self, number: u32, moment: f64) {
        let actions = self.saves.requests.whole(number, moment);
        self.take_save_actions(actions);
    }

    /// Refuses the requests for a checkpoint of which a file cannot be written.
    pub(super) fn checkpoint_has_failed(&mut self, moment: f64, why: &str) {
        let why = fault!(
            CHECKPOINT_UNWRITABLE,
            "the checkpoint was given up, because a file cannot be written: {why}"
        );
        let actions = self.saves.requests.failed(moment, &why);
        self.take_save_actions(actions);
    }

    /// Notes that the run ends. Requests wait no longer than for files that are on their way.
    pub(super) fn saves_end_soon(&mut self) {
        self.saves.is_ending = true;
        self.refuse_late_requests();
    }

    /// Refuses the requests that are left if the run ends and no files are on their way.
    pub(super) fn refuse_late_requests(&mut self) {
        if self.saves.is_ending && !self.checkpoints.awaits_any() {
            self.saves_end();
        }
    }

    /// Refuses the requests that are left, because the run ends.
    fn saves_end(&mut self) {
        let time_unit = self.record.time_unit.clone();
        let why = |moment: Option<f64>| {
            let Some(moment) = moment else {
                return fault!(STEERING_REFUSED, "the run ends, and no instance had come to a checkpoint");
            };
            let at = in_unit(moment, time_unit.as_deref());
            let lacks = self.checkpoints.lacking(moment, self.ranks.all());
            let names: Vec<String> = lacks.iter().map(|&rank| self.manager.names().rank(rank)).collect();
            if names.is_empty() {
                return fault!(
                    STEERING_REFUSED,
                    "the run ends, and the checkpoint at {at} was given up: an instance had passed that time, \
                     or could not write its file, of which the log of the run has a warning"
                );
            }
            fault!(
                STEERING_REFUSED,
                "the run ends, and the checkpoint at {at} is not whole: no state for it has come from {}",
                list_some(&names, NAMED)
            )
        };
        let mut requests = std::mem::take(&mut self.saves.requests);
        let actions = requests.run_ends(&why);
        self.take_save_actions(actions);
    }

    fn take_save_actions(&mut self, actions: Vec<SaveAction>) {
        for action in actions {
            match action {
                SaveAction::Steering(action) => {
                    let answered = match &action {
                        SteeringAction::Refused { change, .. } => Some(*change),
                        SteeringAction::Agreed { change, .. } => {
                            Some(*change).filter(|change| !self.saves.waits_for_whole(*change))
                        }
                        _ => None,
                    };
                    self.take_turns(vec![action]);
                    answered.map(|change| self.saves.waiting.remove(&change));
                }
                SaveAction::GivenUp { moment } => {
                    if !self.checkpoints.is_ruled(moment) && !self.saves.requests.wants(moment) {
                        self.void_checkpoint(moment);
                    }
                }
                SaveAction::Saved { change, number, moment } => {
                    if let Some(record) = self.change_record(change, ChangeState::InForce) {
                        record.checkpoint = Some(number);
                        let record = record.clone();
                        self.note_steering(&record);
                        self.save();
                    }
                    self.saves.waiting.remove(&change);
                    let at = moment.is_finite().then_some(moment);
                    self.answer(
                        change,
                        Ok(json!({
                            "ok": true, "change": change, "at": at, "checkpoint": number,
                        })),
                    );
                }
            }
        }
    }
}
