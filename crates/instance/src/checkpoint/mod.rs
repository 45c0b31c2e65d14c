//! Checkpoints: the calls by which a code saves its state and resumes from it, as in MUSCLE 3, and their order.
//! `save` writes what belongs to a checkpoint, `resume` reads it.

mod resume;
mod save;
mod submodel;
pub(crate) mod values;

use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::message::{Message, Outgoing};
use crate::transport::Transport;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{file_name, moment_directory, CheckpointWriter, Moments, SavePoint, FILES_SUFFIX};
use ligament_model::Operator;
use ligament_wire::control::{ChannelInfo, CheckpointOutcome, CheckpointPlan, Welcome};
use std::path::{Path, PathBuf};

pub(crate) use resume::ResumedState;

/// The step of the loop that comes next, as far as the calls for checkpoints are concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LoopStep {
    /// `reuse_instance`. It is always the next one for a code that does not use these calls.
    #[default]
    Reuse,
    /// `resuming`
    Resuming,
    /// `load_snapshot`
    Load,
    /// `should_init`
    Init,
    /// The pass itself: `should_save_snapshot` or `should_save_final_snapshot`.
    Pass,
    /// `save_snapshot`
    Save,
    /// `save_final_snapshot`
    SaveFinal,
    /// `save_snapshot`, by a submodel whose pass has ended: its function `save` is the same in both places.
    SaveOfSubmodel,
}

impl LoopStep {
    fn call(self) -> &'static str {
        match self {
            LoopStep::Reuse => "reuse_instance",
            LoopStep::Resuming => "resuming",
            LoopStep::Load => "load_snapshot",
            LoopStep::Init => "should_init",
            LoopStep::Pass => "should_save_snapshot or should_save_final_snapshot",
            LoopStep::Save | LoopStep::SaveOfSubmodel => "save_snapshot",
            LoopStep::SaveFinal => "save_final_snapshot",
        }
    }
}

/// A channel, by which a resumed run finds it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelName {
    pub port: String,
    pub slot: Option<u32>,
    /// The port at the other end.
    pub from: String,
}

/// The state of checkpoints at an instance whose model asks for them or resumes from one.
pub(crate) struct CheckpointState {
    plan: CheckpointPlan,
    moments: Moments,
    /// The moment of the last checkpoint.
    saved: Option<f64>,
    /// The moment of the state that the code is about to save.
    due: Option<f64>,
    /// The name of the files: the instance, with its rank if its ranks speak for themselves.
    name: String,
    /// The receiving channels, and those on which the instance sends.
    channels: Vec<ChannelName>,
    sends: Vec<ChannelName>,
    /// Files whose cut is not whole yet, by moment. `None` if the file could not be written.
    open: Vec<(f64, Option<CheckpointWriter>)>,
    /// True if `reuse_instance` will begin a pass, once `should_save_final_snapshot` has found out.
    next_pass: Option<bool>,
    resumed: Option<ResumedState>,
    /// True if the run knows that this instance cannot be saved, which turned out while it ran.
    is_unsavable: bool,
}

impl CheckpointState {
    fn saves(&self) -> bool {
        self.plan.at_end || !self.moments.is_empty()
    }

    /// Returns true if there is nothing to do before somebody asks for a checkpoint.
    #[inline]
    fn is_idle(&self) -> bool {
        self.open.is_empty() && self.moments.is_empty()
    }

    /// Returns the file from which an instance resumes. The model names one file for each instance; its ranks
    /// have files of their own beside it.
    fn resume_file(&self, instance: &str) -> Option<PathBuf> {
        let file = Path::new(self.plan.resume.as_deref()?);
        let is_rank = self.name != instance;
        Some(if is_rank { file.with_file_name(file_name(&self.name)) } else { file.to_owned() })
    }
}

fn wrong_call(fault: Fault) -> Error {
    Error::other(ErrorKind::Usage, fault)
}

impl Instance {
    /// Prepares the checkpoints of this instance, and restores its state if it resumes.
    ///
    /// # Errors
    /// `Registration` if the code has no flag for checkpoints, or has something that they cannot save, or if
    /// the file from which it resumes cannot be used.
    pub(crate) fn join_checkpoints(&mut self, welcome: &Welcome) -> Result<(), Error> {
        let Some(plan) = &welcome.checkpoints else { return Ok(()) };
        match self.can_save() {
            Err(why) if !plan.required => {
                let outcome = CheckpointOutcome::Unsavable { why: why.to_string() };
                return self.report_checkpoint(f64::NEG_INFINITY, outcome);
            }
            can_save => can_save?,
        }
        let name = match welcome.rank {
            Some(rank) => format!("{}:{}", self.name(), rank.number),
            _ => self.name().to_owned(),
        };
        let named = |channel: &ChannelInfo| ChannelName {
            port: welcome.ports.get(channel.port as usize).map_or_else(String::new, |port| port.name.clone()),
            slot: channel.slot,
            from: channel.peer_port.clone(),
        };
        let mut state = CheckpointState {
            plan: plan.clone(),
            moments: Moments::new(plan.moments.clone()),
            saved: None,
            due: None,
            name,
            channels: welcome.receives.iter().map(named).collect(),
            sends: welcome.sends.iter().map(named).collect(),
            open: Vec::new(),
            next_pass: None,
            resumed: None,
            is_unsavable: false,
        };
        if let Some(file) = state.resume_file(self.name()) {
            state.resumed = Some(self.restore(&file, &state)?);
            state.saved = state.resumed.as_ref().map(|resumed| resumed.moment).filter(|at| at.is_finite());
        }
        self.checkpoints = Some(Box::new(state));
        Ok(())
    }

    /// Fails if checkpoints cannot save the state of this instance.
    fn can_save(&mut self) -> Result<(), Error> {
        let refused = |fault: Fault| Err(Error::other(ErrorKind::Registration, fault));
        let name = self.name().to_owned();
        let flags = self.flags;
        let keeps_nothing = flags.keeps_no_state_for_next_use || flags.state_not_required_for_next_use;
        if !flags.uses_checkpoint_api && !keeps_nothing {
            return refused(fault!(
                CHECKPOINT_FLAGS,
                "checkpoints are asked for, and {name} does not say what it keeps from one pass to the next; \
                 give its Instance one of the flags USES_CHECKPOINT_API, KEEPS_NO_STATE_FOR_NEXT_USE, \
                 STATE_NOT_REQUIRED_FOR_NEXT_USE"
            ));
        }
        for port in &mut self.table.ports {
            if let Some(hidden) = port.chains.as_mut().and_then(|chains| chains.hidden()) {
                return refused(fault!(CHECKPOINT_UNSUPPORTED, "{name}: {hidden}"));
            }
        }
        Ok(())
    }

    /// Returns true if the run has been asked for checkpoints from its start.
    pub(crate) fn needs_checkpoints(&self) -> bool {
        self.checkpoints.as_ref().is_some_and(|state| state.plan.required)
    }

    /// Tells the run, once, that this instance cannot be saved. Nobody has asked for checkpoints so far.
    pub(crate) fn cannot_be_saved(&mut self, why: &str) -> Result<(), Error> {
        let known =
            self.checkpoints.as_mut().is_none_or(|state| std::mem::replace(&mut state.is_unsavable, true));
        if known {
            return Ok(());
        }
        let why = format!("{}: {why}", self.name());
        self.report_checkpoint(f64::NEG_INFINITY, CheckpointOutcome::Unsavable { why })
    }

    /// Says that this instance keeps no state, although its flags say that it saves some. A process with
    /// several kinds of components learns only from its settings which one it is.
    #[doc(hidden)]
    pub fn keeps_no_state(&mut self) {
        (self.flags.uses_checkpoint_api, self.flags.keeps_no_state_for_next_use) = (false, true);
    }

    /// Checks that a call is the next one, and otherwise says which is.
    fn expect_step(&self, call: &str, wanted: LoopStep) -> Result<(), Error> {
        self.alive()?;
        if !self.flags.uses_checkpoint_api {
            return Err(wrong_call(fault!(
                CHECKPOINT_CALLS,
                "{call}: this code does not say that it saves checkpoints; give its Instance the flag \
                 USES_CHECKPOINT_API"
            )));
        }
        if self.loop_step == wanted {
            Ok(())
        } else {
            Err(wrong_call(fault!(CHECKPOINT_CALLS, "{call}: the next call must be {}", self.loop_step.call())))
        }
    }

    /// Returns true if this is the first pass after the run was resumed, and the code must load its state. It
    /// is the first call in each pass.
    ///
    /// # Errors
    /// `Usage` if this is not the next call of the pass.
    pub fn resuming(&mut self) -> Result<bool, Error> {
        self.expect_step("resuming", LoopStep::Resuming)?;
        let resumes = self.checkpoints.as_ref().and_then(|state| state.resumed.as_ref());
        let resumes = resumes.is_some_and(|resumed| resumed.state.is_some());
        self.loop_step = if resumes { LoopStep::Load } else { LoopStep::Init };
        Ok(resumes)
    }

    /// Returns the message that was saved. It is called if `resuming` has returned true.
    ///
    /// # Errors
    /// `Usage` if `resuming` has not returned true.
    pub fn load_snapshot(&mut self) -> Result<Message, Error> {
        self.expect_step("load_snapshot", LoopStep::Load)?;
        let resumed = self.checkpoints.as_mut().and_then(|state| state.resumed.as_mut());
        let message = resumed.and_then(|resumed| resumed.state.take());
        self.loop_step = LoopStep::Init;
        message.ok_or_else(|| {
            wrong_call(fault!(CHECKPOINT_CALLS, "load_snapshot: there is no state to resume from"))
        })
    }

    /// Returns true if the code must receive its `F_INIT` messages and set its state. It returns false if the
    /// state was saved within a pass, which now goes on.
    ///
    /// # Errors
    /// `Usage` if this is not the next call of the pass.
    pub fn should_init(&mut self) -> Result<bool, Error> {
        self.expect_step("should_init", LoopStep::Init)?;
        self.loop_step = LoopStep::Pass;
        let resumed = self.checkpoints.as_mut().and_then(|state| state.resumed.take());
        Ok(resumed.is_none_or(|resumed| resumed.point != SavePoint::WithinPass))
    }

    /// Returns true if the code must save its state now, by `save_snapshot`. It is called once in each step
    /// after the messages of the step, with the model time in s. Without checkpoints it takes some nanoseconds.
    ///
    /// # Errors
    /// `Usage` if the time is not finite, or if another call must come first. `RunEnds`.
    #[inline]
    pub fn should_save_snapshot(&mut self, time: f64) -> Result<bool, Error> {
        if self.saves_nothing(time) {
            Ok(false)
        } else {
            self.is_save_due(time)
        }
    }

    /// Returns true if no checkpoint is asked for and `should_save_snapshot` is the next call, so that its
    /// result is false. The call takes some nanoseconds.
    #[inline]
    pub fn saves_nothing(&mut self, time: f64) -> bool {
        if self.loop_step != LoopStep::Pass || !time.is_finite() || !self.is_alive() {
            return false;
        }
        match (&self.checkpoints, &mut self.endpoint) {
            (None, _) => true,
            (Some(state), Transport::Own(endpoint)) => state.is_idle() && endpoint.saves_nothing(time),
            _ => false,
        }
    }

    #[inline(never)]
    fn is_save_due(&mut self, time: f64) -> Result<bool, Error> {
        self.expect_step("should_save_snapshot", LoopStep::Pass)?;
        if !time.is_finite() {
            return Err(wrong_call(fault!(
                CHECKPOINT_CALLS,
                "should_save_snapshot: a model time is a finite number, and this is {time}"
            )));
        }
        self.end_cuts(false)?;
        let due = self.due_moment(time)?;
        let Some(state) = &mut self.checkpoints else { return Ok(false) };
        state.due = due;
        if state.due.is_some() {
            self.loop_step = LoopStep::Save;
        }
        Ok(self.loop_step == LoopStep::Save)
    }

    /// Returns the latest moment that is due at the model time `time`, s: one of the model's rules, or one that
    /// somebody has asked for.
    fn due_moment(&mut self, time: f64) -> Result<Option<f64>, Error> {
        let (Some(state), Transport::Own(endpoint)) = (&self.checkpoints, &mut self.endpoint) else {
            return Ok(None);
        };
        let ruled = state.moments.due(state.saved, time);
        let asked =
            endpoint.save_due(time).map_err(|error| Error::during(error, || "saving a checkpoint".into()))?;
        let asked = asked.filter(|&at| state.saved.is_none_or(|saved| at > saved));
        Ok(ruled.into_iter().chain(asked).reduce(f64::max))
    }

    /// Returns a directory in which the code, and all of its ranks, may keep files of their own beside the
    /// message of a checkpoint. It is called between `should_save_snapshot` (or the final one) and the save,
    /// and gives a directory that exists; or between `resuming` and `should_init`, and gives the directory of
    /// the checkpoint from which the run resumes. The files are kept and removed with their checkpoint.
    ///
    /// # Errors
    /// `Usage` outside of these calls; `System` if the directory cannot be made.
    pub fn snapshot_directory(&mut self) -> Result<PathBuf, Error> {
        self.alive()?;
        let due = self.checkpoints.as_ref().and_then(|state| state.due);
        let Some(state) = &self.checkpoints else {
            return Err(wrong_call(fault!(
                CHECKPOINT_CALLS,
                "snapshot_directory: no checkpoint is being saved or loaded"
            )));
        };
        match self.loop_step {
            LoopStep::Save | LoopStep::SaveFinal | LoopStep::SaveOfSubmodel => {
                let file = state.path(&moment_directory(due.unwrap_or(f64::INFINITY)));
                let directory = file.with_extension(FILES_SUFFIX);
                let made = std::fs::create_dir_all(&directory).map(|()| directory.clone());
                made.map_err(|error| {
                    let at = directory.display();
                    let fault = fault!(CHECKPOINT_UNWRITABLE, "the directory {at} cannot be made: {error}");
                    Error::other(ErrorKind::System, fault)
                })
            }
            LoopStep::Load | LoopStep::Init if state.resumed.is_some() => {
                let file = state.resume_file(self.name()).unwrap_or_default();
                Ok(file.with_extension(FILES_SUFFIX))
            }
            _ => Err(wrong_call(fault!(
                CHECKPOINT_CALLS,
                "snapshot_directory: call it between should_save_snapshot and save_snapshot, or between \
                 resuming and should_init of a run that resumes"
            ))),
        }
    }

    /// Saves the code's state: a message with its model time and any value. A disk that is full costs this
    /// checkpoint; the run goes on, and the run's log says so.
    ///
    /// # Errors
    /// `Usage` if `should_save_snapshot` has not returned true, or if no message can have this value.
    pub fn save_snapshot(&mut self, message: &Outgoing<'_>) -> Result<(), Error> {
        let (point, next) = match self.loop_step {
            LoopStep::SaveOfSubmodel => (SavePoint::BetweenPasses, LoopStep::Reuse),
            _ => {
                self.expect_step("save_snapshot", LoopStep::Save)?;
                (SavePoint::WithinPass, LoopStep::Pass)
            }
        };
        self.alive()?;
        self.save(point, Some(message))?;
        self.loop_step = next;
        Ok(())
    }

    /// Returns true if the code must save its state at the end of a pass, by `save_final_snapshot`. It is the
    /// last call of each pass, after all messages of the pass. It waits for the `F_INIT` messages of the next
    /// pass, since their time decides.
    ///
    /// # Errors
    /// As `reuse_instance`; `Usage` if another call must come first.
    pub fn should_save_final_snapshot(&mut self) -> Result<bool, Error> {
        self.expect_step("should_save_final_snapshot", LoopStep::Pass)?;
        self.loop_step = LoopStep::Reuse;
        if self.checkpoints.is_none() {
            return Ok(false);
        }
        let again = self.receive_pass()?;
        self.end_cuts(false)?;
        let due = self.due_between_passes(again)?;
        if let Some(state) = &mut self.checkpoints {
            (state.next_pass, state.due) = (Some(again), due);
        }
        if due.is_some() {
            self.loop_step = LoopStep::SaveFinal;
        }
        Ok(due.is_some())
    }

    /// Returns the moment for which the state is to be saved between two passes.
    fn due_between_passes(&mut self, again: bool) -> Result<Option<f64>, Error> {
        if !again {
            let at_end = self.checkpoints.as_ref().is_some_and(|state| state.plan.at_end);
            return Ok(at_end.then_some(f64::INFINITY));
        }
        let times = self.initial.values().map(|(message, _)| message.timestamp);
        let Some(time) = times.filter(|time| time.is_finite()).reduce(f64::max) else { return Ok(None) };
        self.due_moment(time)
    }

    /// Saves the code's state at the end of a pass, as `save_snapshot` does.
    ///
    /// # Errors
    /// As `save_snapshot`.
    pub fn save_final_snapshot(&mut self, message: &Outgoing<'_>) -> Result<(), Error> {
        self.expect_step("save_final_snapshot", LoopStep::SaveFinal)?;
        self.save(SavePoint::BetweenPasses, Some(message))?;
        self.loop_step = LoopStep::Reuse;
        Ok(())
    }

    /// Finds out whether there is another pass, as far as checkpoints know it already. `Some(true)` without
    /// messages if a pass goes on that was saved.
    pub(crate) fn known_pass(&mut self) -> Option<bool> {
        if self.loop_step != LoopStep::Reuse || self.checkpoints.is_none() {
            return None;
        }
        let has_initial = self.has_initial();
        let is_first = !self.looping;
        let state = self.checkpoints.as_mut()?;
        if let Some(again) = state.next_pass.take() {
            return Some(again);
        }
        let resumed = state.resumed.as_ref().filter(|_| is_first)?;
        match (resumed.point, resumed.again) {
            (SavePoint::WithinPass, _) => Some(true),
            (SavePoint::Over, _) => Some(false),
            (SavePoint::BetweenPasses, true) => Some(true),
            // The run had come to its end and goes on, for example because a setting has changed.
            (SavePoint::BetweenPasses, false) => (!has_initial).then_some(true),
        }
    }

    /// Returns true if a pass goes on that was saved, and none begins.
    pub(crate) fn goes_on_within_pass(&self) -> bool {
        let resumed = self.checkpoints.as_ref().and_then(|state| state.resumed.as_ref());
        !self.looping && resumed.is_some_and(|resumed| resumed.point == SavePoint::WithinPass)
    }

    /// Checks that the pass that ends has made all calls for checkpoints.
    pub(crate) fn check_pass_end(&self) -> Result<(), Error> {
        match self.loop_step {
            LoopStep::Reuse => Ok(()),
            step => Err(wrong_call(fault!(
                CHECKPOINT_CALLS,
                "reuse_instance: the pass has ended without a call of {}; a code with the flag \
                 USES_CHECKPOINT_API asks in each pass whether to resume, to initialise and to save",
                step.call()
            ))),
        }
    }

    /// Saves an instance that keeps no state from one pass to the next, if a checkpoint is due.
    pub(crate) fn save_without_state(&mut self, again: bool) -> Result<(), Error> {
        if self.flags.uses_checkpoint_api {
            return Ok(());
        }
        self.end_cuts(false)?;
        let due = self.due_between_passes(again)?;
        let Some(state) = self.checkpoints.as_mut().filter(|_| due.is_some()) else { return Ok(()) };
        (state.due, state.next_pass) = (due, Some(again));
        self.save(SavePoint::BetweenPasses, None)?;
        if let Some(state) = &mut self.checkpoints {
            state.next_pass = None;
        }
        Ok(())
    }

    /// Sets the step of the loop after `reuse_instance`.
    pub(crate) fn begin_steps(&mut self) {
        if self.flags.uses_checkpoint_api {
            self.loop_step = LoopStep::Resuming;
        } else if let Some(state) = &mut self.checkpoints {
            state.resumed = None;
        }
    }

    pub(crate) fn has_initial(&self) -> bool {
        self.table.ports.iter().any(|port| port.operator == Operator::FInit && port.is_connected())
    }
}
