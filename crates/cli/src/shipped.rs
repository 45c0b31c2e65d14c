//! `ligament shipped-part`: the process that runs the shipped components of a run.

/// Runs the shipped components. Returns the exit status. An error has already been reported to the run.
pub(crate) fn part() -> i32 {
    match ligament_coupling::run_shipped() {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}
