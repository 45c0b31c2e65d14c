//! How a run stands, again and again, as its head tells over one connection.

use super::{broken, hear, reach, say, wait_for_answer};
use ligament_catalogue::Fault;
use ligament_manager::{RunDirectory, RunRecord};
use ligament_shm::socket::Socket;
use ligament_wire::control::{Notice, Question};
use serde_json::Value;
use std::time::Duration;

/// A client that watches a run that is under way.
pub struct WatchSession {
    socket: Socket,
    record: RunRecord,
    token: String,
    every: u32,
}

impl WatchSession {
    /// Begins to watch, with news no more often than `every`. None if the run is not under way, or its head
    /// cannot be reached from this machine.
    ///
    /// # Errors
    /// It does not answer, or is another user's.
    pub fn begin(
        run: &RunDirectory,
        record: &RunRecord,
        every: Duration,
    ) -> Result<Option<WatchSession>, Fault> {
        let Some((socket, token)) = reach(run, record)? else { return Ok(None) };
        let every = u32::try_from(every.as_millis()).unwrap_or(u32::MAX);
        Ok(Some(WatchSession { socket, record: record.clone(), token, every }))
    }

    /// News: the first time all, then what has changed, as `head/news.rs` tells it.
    ///
    /// # Errors
    /// The run is gone, or stands still. There is no use in asking again on this connection.
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
