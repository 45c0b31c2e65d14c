//! The calls for checkpoints that the library makes for a submodel. Its functions `save` and `restore` call
//! only `save_snapshot` and `load_snapshot`.

use super::{wrong_call, LoopStep};
use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::submodel::Submodel;
use ligament_catalogue::fault;

impl Instance {
    /// Notes that the instance cannot be saved if its flags say that it has a state, and its submodel has no
    /// functions for that.
    ///
    /// # Errors
    /// `Registration` if the run asks for checkpoints from its start.
    pub(crate) fn join_submodel(&mut self, submodel: &mut impl Submodel) -> Result<(), Error> {
        let has_functions = submodel.state().is_some();
        self.note_state_functions(has_functions)
    }

    /// Does the same as `join_submodel` for a binding that drives submodels by itself.
    ///
    /// # Errors
    /// `Registration` if the run asks for checkpoints from its start.
    #[doc(hidden)]
    pub fn note_state_functions(&mut self, has_functions: bool) -> Result<(), Error> {
        if has_functions || !self.flags.uses_checkpoint_api {
            return Ok(());
        }
        let fault = fault!(
            CHECKPOINT_FLAGS,
            "{} says that it saves its state, and has no functions save and restore; add both, or give it the \
             flag KEEPS_NO_STATE_FOR_NEXT_USE instead if it keeps nothing from one pass to the next",
            self.name()
        );
        if self.needs_checkpoints() {
            return Err(Error::other(ErrorKind::Registration, fault));
        }
        self.cannot_be_saved(fault.text())?;
        self.keeps_no_state();
        Ok(())
    }

    /// Returns true if a driver of submodels makes the calls for checkpoints.
    #[doc(hidden)]
    pub fn saves_state(&self) -> bool {
        self.flags.uses_checkpoint_api
    }

    /// Begins a pass of a submodel: the state is restored, or `initialise` sets it.
    pub(crate) fn begin_pass_of(&mut self, submodel: &mut impl Submodel) -> Result<(), Error> {
        if !self.saves_state() {
            return submodel.initialise(self);
        }
        if self.resuming()? {
            if let Some(state) = submodel.state() {
                state.restore(self)?;
            }
            self.check_state_call("restore")?;
        }
        if self.should_init()? {
            submodel.initialise(self)?;
        }
        Ok(())
    }

    /// Ends a step of a submodel: the state is saved if a checkpoint is due at its model time.
    pub(crate) fn end_step_of(&mut self, submodel: &mut impl Submodel) -> Result<(), Error> {
        if !self.saves_state() {
            return Ok(());
        }
        let Some(state) = submodel.state() else { return Ok(()) };
        let time = state.model_time()?;
        if self.should_save_snapshot(time)? {
            state.save(self)?;
            self.check_state_call("save")?;
        }
        Ok(())
    }

    /// Ends a pass of a submodel: the state is saved if a checkpoint is due.
    pub(crate) fn end_pass_of(&mut self, submodel: &mut impl Submodel) -> Result<(), Error> {
        if self.saves_state() && self.is_save_of_submodel_due()? {
            if let Some(state) = submodel.state() {
                state.save(self)?;
            }
            self.check_state_call("save")?;
        }
        Ok(())
    }

    /// Asks whether the state of a submodel is to be saved at the end of a pass. If so, `save_snapshot` saves
    /// it.
    ///
    /// # Errors
    /// As `should_save_final_snapshot`.
    #[doc(hidden)]
    pub fn is_save_of_submodel_due(&mut self) -> Result<bool, Error> {
        let is_due = self.should_save_final_snapshot()?;
        if is_due {
            self.loop_step = LoopStep::SaveOfSubmodel;
        }
        Ok(is_due)
    }

    /// Checks that the function `save` or `restore` of a submodel has made its call.
    ///
    /// # Errors
    /// `Usage` if it has not.
    #[doc(hidden)]
    pub fn check_state_call(&self, function: &str) -> Result<(), Error> {
        if !matches!(self.loop_step, LoopStep::Load | LoopStep::Save | LoopStep::SaveOfSubmodel) {
            return Ok(());
        }
        let (name, call) = (self.name(), self.loop_step.call());
        let fault = fault!(
            CHECKPOINT_CALLS,
            "the function {function} of {name} has returned without a call of {call}; it calls it once"
        );
        Err(wrong_call(fault))
    }
}
