//! An instance saves, as `crates/instance/src/checkpoint` does, and goes on from what it saved. It asks in each
//! step whether somebody steers.

use super::{PlayedInstance, Progress, Stop};
use crate::cuts::{SavedState, Start};
use ligament_shm::endpoint::ChannelRemainder;
use ligament_shm::steering::Gate;
use ligament_wire::control::{CheckpointOutcome, Request};
use ligament_wire::steering::ModelTime;
use std::collections::BTreeSet;

/// Maximum number of checkpoints of an instance that are not whole.
const MAX_OPEN_CHECKPOINTS: usize = 8;

impl PlayedInstance<'_> {
    /// Restores the state from which the instance goes on. Returns the number of its first step; it is beyond
    /// the last one if the instance had ended.
    pub(super) fn resume(&mut self) -> usize {
        let Some(cuts) = &self.script.cuts else { return 0 };
        let (progress, first) = match &cuts.starts[self.actor.me as usize] {
            Start::Beginning => return 0,
            Start::Over(progress) => (progress, usize::MAX),
            Start::Saved(state) => {
                self.saved = Some(state.moment);
                for (index, remainder) in state.channels.iter().enumerate() {
                    self.endpoint().restore_channel(index, remainder.clone());
                }
                (&state.progress, state.step)
            }
        };
        let mut channels = progress.channels.clone();
        channels.iter_mut().for_each(|one| one.end_sent = false);
        self.progress = Progress { registered: true, channels, ..Progress::default() };
        let me = self.actor.me;
        self.actor.shared().tell(|| format!("part{me} goes on from step {first}"));
        first
    }

    /// Asks before a step whether somebody steers, and waits at halts.
    pub(super) fn steer(&mut self, number: usize) -> Result<(), Stop> {
        let script = self.script;
        let Some(cuts) = script.cuts.as_ref().filter(|cuts| cuts.is_steered) else { return Ok(()) };
        let me = self.actor.me;
        let time = cuts.time(me, number);
        let settings = self.again(|part| part.endpoint().steer(0, Gate::Step, time))?;
        self.check_told();
        let numbers = settings.iter().map(|body| u64::from_le_bytes(body[..].try_into().expect("eight bytes")));
        for change in numbers {
            if !self.made.insert(change) {
                self.accuse(format!("makes change {change} again at {time}"));
            }
        }
        let mut shared = self.actor.shared();
        let is_due = |at: f64, ranks: &BTreeSet<u32>| at <= time && ranks.contains(&me);
        let agreed = shared.agreed.settings.iter();
        let due: BTreeSet<u64> =
            agreed.filter(|(_, (at, ranks))| is_due(*at, ranks)).map(|(&change, _)| change).collect();
        if due != self.made {
            let words = format!("part{me} at {time} has made {:?}, and {due:?} were agreed on", self.made);
            shared.accuse(words);
        }
        if let Some(at) = shared.agreed.halt.filter(|&at| at <= time) {
            shared.accuse(format!("part{me} goes on at {time} behind the halt at {at}"));
        }
        Ok(())
    }

    /// Saves before a step, if a checkpoint is due.
    pub(super) fn save_if_due(&mut self, number: usize) -> Result<(), Stop> {
        let Some(cuts) = &self.script.cuts else { return Ok(()) };
        self.end_cuts(false)?;
        let me = self.actor.me;
        let time = cuts.time(me, number);
        let ruled = cuts.moments.due(self.saved, time);
        let asked = if cuts.is_steered { self.endpoint().save_due(time)? } else { None };
        let asked = asked.filter(|&at| self.saved.is_none_or(|saved| at > saved));
        let Some(moment) = ruled.into_iter().chain(asked).reduce(f64::max) else { return Ok(()) };
        self.actor.shared().tell(|| format!("part{me} saves at {moment}, before step {number}"));
        self.endpoint().begin_cut(moment)?;
        self.endpoint().notes_save(moment)?;
        self.saved = Some(moment);
        let channels = vec![ChannelRemainder::default(); self.receives.len()];
        self.open.push(SavedState { moment, step: number, progress: self.progress.clone(), channels });
        self.end_cuts(false)
    }

    /// Writes the files of the checkpoints for which all marks have come, and reports them.
    fn end_cuts(&mut self, all: bool) -> Result<(), Stop> {
        if self.open.is_empty() {
            return Ok(());
        }
        for moment in self.endpoint().steering().withdrawn_saves() {
            // A checkpoint of the rules was not withdrawn.
            if self.script.cuts.as_ref().is_some_and(|cuts| !cuts.moments.has(moment)) {
                self.endpoint().void_cut(moment);
            }
        }
        let too_many = self.open.len() > MAX_OPEN_CHECKPOINTS;
        let ended = if all { self.endpoint().end_all_cuts() } else { self.endpoint().ended_cuts()? };
        for (moment, messages) in self.endpoint().take_under_way() {
            match self.open.iter_mut().find(|state| state.moment == moment) {
                Some(state) => state.add_under_way(messages),
                None => self.accuse(format!("has messages of a cut at {moment} that it has not begun")),
            }
        }
        for cut in ended {
            let at = self.open.iter().position(|state| state.moment == cut.moment);
            let Some(at) = at else {
                self.accuse(format!("ended a cut at {} that it has not begun", cut.moment));
                continue;
            };
            let mut state = self.open.remove(at);
            let is_whole = state.add(cut);
            self.report(state, is_whole)?;
        }
        if too_many && !self.open.is_empty() {
            let state = self.open.remove(0);
            self.endpoint().give_up_cut(state.moment);
            self.report(state, false)?;
        }
        Ok(())
    }

    fn report(&mut self, state: SavedState, is_whole: bool) -> Result<(), Stop> {
        let (me, moment) = (self.actor.me, ModelTime(state.moment));
        self.actor.shared().tell(|| format!("part{me} has saved {state:?}: {is_whole}"));
        let outcome = if is_whole { CheckpointOutcome::Saved } else { CheckpointOutcome::Void };
        if is_whole {
            self.actor.shared().files.insert((moment.0.to_bits(), me), state);
        }
        self.endpoint().custodian().agent.tell(&Request::Checkpoint { moment, outcome })?;
        Ok(())
    }

    /// Writes that the instance has ended.
    pub(super) fn save_end(&mut self) -> Result<(), Stop> {
        self.end_cuts(true)?;
        self.actor.shared().ledger.ends.insert(self.actor.me);
        Ok(())
    }
}
