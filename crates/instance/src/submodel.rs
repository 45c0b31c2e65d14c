//! The formal submodel: functions that the library calls in the order of the execution loop. It is for
//! codes that do not want to write the loop themselves.

use crate::error::Error;
use crate::instance::Instance;

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

    fn finish(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).finish(instance)
    }
}

/// Runs a submodel until `reuse_instance` returns false. An error of the submodel ends the run with its
/// text.
///
/// # Errors
/// The first error of an operator, or of the reuse loop.
pub fn run_submodel(instance: &mut Instance, submodel: &mut impl Submodel) -> Result<(), Error> {
    let result = passes(instance, submodel);
    if let Err(error) = &result {
        // The error itself matters more than a failure to report it.
        let _ = instance.error_shutdown(&error.to_string());
    }
    result
}

fn passes(instance: &mut Instance, submodel: &mut impl Submodel) -> Result<(), Error> {
    while instance.begins_pass()? {
        submodel.initialise(instance)?;
        while !submodel.is_done() {
            submodel.observe(instance)?;
            submodel.solve(instance)?;
        }
        submodel.observe_final(instance)?;
    }
    submodel.finish(instance)?;
    instance.finish()
}
