//! Processes of a run that are parts of Ligament itself: the shipped components, and instances that had ended
//! before the checkpoint from which a run resumes.

use ligament_catalogue::Fault;

/// Runs the shipped components. Returns the exit status. An error has already been reported to the run.
pub(crate) fn part() -> i32 {
    status(ligament_coupling::run_shipped())
}

/// Takes the place of an instance that had ended. Returns the exit status.
pub(crate) fn ended_part() -> i32 {
    status(ligament_coupling::run_ended_instance())
}

fn status(ended: Result<(), Fault>) -> i32 {
    match ended {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}
