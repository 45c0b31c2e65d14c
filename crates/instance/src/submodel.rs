//! The formal submodel: functions that the library calls in the order of the execution loop. It is for
//! codes that do not want to write the loop themselves.

use crate::error::Error;
use crate::instance::Instance;

/// The functions of a submodel whose state belongs to checkpoints. Its instance has the flag
/// `uses_checkpoint_api`, and the library makes the other calls for checkpoints.
pub trait SubmodelState {
    /// Returns the model time that the state has reached, s. The library asks for it after each step, because
    /// it decides when the state is saved.
    fn model_time(&mut self) -> Result<f64, Error>;
    /// Saves the state by one call of `Instance::save_snapshot`. Called after a step, or after `observe_final`.
    fn save(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// Sets the state from the message that `Instance::load_snapshot` returns. If the state was saved between
    /// two passes, `initialise` follows; otherwise the pass goes on.
    fn restore(&mut self, instance: &mut Instance) -> Result<(), Error>;
}

/// A submodel, given by its four operators and its end condition.
pub trait Submodel {
    /// `F_INIT`: sets the state, from messages where there are any.
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// Returns true if this pass is over. Called before each step.
    fn is_done(&self) -> bool;
    /// `O_I`: sends the state.
    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// `S`: advances the state by one step.
    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// `O_F`: sends the final state.
    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// Returns true if the next `solve` receives on this port. A light component waits only for the messages
    /// of such ports. The default is all ports of `S`.
    fn awaits(&self, _port: &str) -> bool {
        true
    }
    /// Returns the functions that save the state and restore it. The default is `None`: the submodel cannot be
    /// saved, unless its instance has a flag that says that it keeps no state.
    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        None
    }
    /// Closes the files that the submodel has written. Called after the last pass, unless an error ends the
    /// instance. An error of this function ends the run. The default does nothing.
    fn finish(&mut self, _instance: &mut Instance) -> Result<(), Error> {
        Ok(())
    }
}

impl<S: Submodel + ?Sized> Submodel for Box<S> {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).initialise(instance)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).observe(instance)
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).solve(instance)
    }

    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).observe_final(instance)
    }

    fn awaits(&self, port: &str) -> bool {
        (**self).awaits(port)
    }

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        (**self).state()
    }

    fn finish(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).finish(instance)
    }
}

/// Runs a submodel until `reuse_instance` returns false. An error of the submodel ends the run with its
/// text. If the instance has the flag `uses_checkpoint_api`, this saves and restores the state, too.
///
/// # Errors
/// The first error of an operator, or of the reuse loop. `Registration` if the model asks for checkpoints, the
/// instance has the flag `uses_checkpoint_api`, and the submodel has no functions for its state.
pub fn run_submodel(instance: &mut Instance, submodel: &mut impl Submodel) -> Result<(), Error> {
    let result = passes(instance, submodel);
    if let Err(error) = &result {
        // The error itself matters more than a failure to report it.
        let _ = instance.error_shutdown(&error.to_string());
    }
    result
}

fn passes(instance: &mut Instance, submodel: &mut impl Submodel) -> Result<(), Error> {
    instance.join_submodel(submodel)?;
    while instance.begins_pass()? {
        instance.begin_pass_of(submodel)?;
        while !submodel.is_done() {
            submodel.observe(instance)?;
            submodel.solve(instance)?;
            instance.end_step_of(submodel)?;
        }
        submodel.observe_final(instance)?;
        instance.end_pass_of(submodel)?;
    }
    submodel.finish(instance)?;
    instance.finish()
}
