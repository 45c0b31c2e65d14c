//! The state of a run as the head reports it again and again over one connection.

use super::{broken, hear, reach, say, wait_for_answer};
use ligament_catalogue::Fault;
use ligament_manager::{RunDirectory, RunRecord};
use ligament_shm::socket::Socket;
use ligament_wire::control::{Notice, Question};
use serde_json::Value;
use std::time::Duration;

/// A client that watches a running run.
pub struct WatchSession {
    socket: Socket,
    record: RunRecord,
    token: String,
    every: u32,
}

impl WatchSession {
    /// Begins to watch a run, with at least the time `every` between two updates. Returns `None` if the run is
    /// over, or if its head cannot be reached from this machine.
    ///
    /// # Errors
    /// The run does not answer, or belongs to another user.
    pub fn begin(
        run: &RunDirectory,
        record: &RunRecord,
        every: Duration,
    ) -> Result<Option<WatchSession>, Fault> {
        let Some((socket, token)) = reach(run, record)? else { return Ok(None) };
        let every = u32::try_from(every.as_millis()).unwrap_or(u32::MAX);
        Ok(Some(WatchSession { socket, record: record.clone(), token, every }))
    }

    /// Waits for an update, in the form of `head/picture.rs`. The first update has the whole state, and later
    /// updates have only the changes.
    ///
    /// # Errors
    /// The run is over or stopped. In both cases, this session gets no further update.
    pub fn news(&mut self) -> Result<Value, Fault> {
        say(&mut self.socket, &self.record, &self.token, Question::Watch { every: self.every })?;
        wait_for_answer(&self.socket, &self.record)?;
        match hear(&mut self.socket, &self.record)?.0 {
            Notice::Answer { json } => {
                serde_json::from_str(&json).map_err(|error| broken(&self.record, &error))
            }
            other => Err(broken(&self.record, &format!("it said {other:?}"))),
        }
    }
}
