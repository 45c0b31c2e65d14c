//! The formal submodel: four functions that the library calls in the order of the execution loop, for codes
//! that would rather not write the loop themselves.

use crate::error::Error;
use crate::instance::Instance;

/// A submodel by its four operators and its end condition.
pub trait Submodel {
    /// `F_INIT`: sets the state, from messages where there are any.
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// Returns true if this pass is over; asked before each step.
    fn is_done(&self) -> bool;
    /// `O_I`: shows the state to others.
    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// `S`: advances the state by one step.
    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// `O_F`: shows the final state.
    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error>;
    /// After the last pass, unless an error ends the instance: closes what the submodel has written. An error
    /// ends the run. Does nothing by default.
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

    fn finish(&mut self, instance: &mut Instance) -> Result<(), Error> {
        (**self).finish(instance)
    }
}

/// Runs a submodel for as long as there are start messages. An error of the submodel ends the run with its
/// text.
///
/// # Errors
/// The first error of an operator, or of the reuse loop.
pub fn run_submodel(instance: &mut Instance, submodel: &mut impl Submodel) -> Result<(), Error> {
    let result = passes(instance, submodel);
    if let Err(error) = &result {
        // The reason matters more than whether it could be passed on.
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
