//! `ligament shipped-part`: the process of a run's shipped components.

/// Is that process. An error has been told to the run already.
pub(crate) fn part() -> i32 {
    match ligament_coupling::run_shipped() {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(false, &error, crate::FAILED),
    }
}
