//! Updates for clients that watch the run. A client asks for the next update when the client has read the
//! last one. The agent then sends the changes since that update, but not before the interval that the
//! client has set is over. So no updates pile up for a client that reads slowly or not at all, not even in
//! the client's socket.

use super::Driver;
use crate::action::ConnectionId;
use crate::connection::AgentConnection;
use crate::host::RunView;
use ligament_catalogue::said;
use ligament_wire::control::Notice;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of clients that watch at the same time.
const MAX_WATCHERS: usize = 32;
/// Minimum and maximum of the interval between two updates that a client may set, in ms.
const MIN_UPDATE_INTERVAL_MS: u32 = 100;
const MAX_UPDATE_INTERVAL_MS: u32 = 60_000;

struct Watcher {
    told: Instant,
    due: Instant,
    /// The position of the client's last update, as `Host::status_since` returned it.
    since: u64,
    /// True if the client has asked for an update and has not got this update yet.
    asks: bool,
}

/// All clients that watch the run, by connection.
#[derive(Default)]
pub(super) struct Watchers(BTreeMap<ConnectionId, Watcher>);

impl Watchers {
    /// Returns the time at which the next update is due, or `None` if no client has asked for an update.
    pub fn due(&self) -> Option<Instant> {
        self.0.values().filter(|one| one.asks).map(|one| one.due).min()
    }

    pub fn remove(&mut self, link: ConnectionId) {
        self.0.remove(&link);
    }
}

impl Driver<'_> {
    /// Handles a client's request for the next update. `every` is the interval between two updates, in ms.
    pub(super) fn watches(&mut self, link: ConnectionId, every: u32) {
        let every =
            Duration::from_millis(u64::from(every.clamp(MIN_UPDATE_INTERVAL_MS, MAX_UPDATE_INTERVAL_MS)));
        if let Some(known) = self.watchers.0.get_mut(&link) {
            known.due = known.told + every;
            known.asks = true;
            return;
        }
        if self.watchers.0.len() >= MAX_WATCHERS {
            let why = said!(
                TOO_MANY_WATCH,
                "{MAX_WATCHERS} clients watch this run already; end one of them, and try again"
            );
            self.send_with(link, &Notice::Refused { why }, Vec::new());
            return;
        }
        let now = Instant::now();
        self.watchers.0.insert(link, Watcher { told: now, due: now, since: 0, asks: true });
        self.tell_watchers();
    }

    /// Sends an update to each client that has asked for an update and whose interval is over.
    pub(super) fn tell_watchers(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (&link, one) in self.watchers.0.iter_mut().filter(|(_, one)| one.asks && one.due <= now) {
            // A client that asks but does not read gets no update until its socket has room again.
            if self.connections.get(&link).is_some_and(AgentConnection::is_full) {
                one.due = now + Duration::from_millis(u64::from(MIN_UPDATE_INTERVAL_MS))
            } else {
                due.push((link, one.since))
            }
        }
        if due.is_empty() {
            return;
        }
        let view = RunView::of(&self.core, &self.custody);
        let news: Vec<(ConnectionId, Option<(String, u64)>)> =
            due.into_iter().map(|(link, since)| (link, self.host.status_since(&view, since))).collect();
        for (link, news) in news {
            let Some((json, since)) = news else {
                let why = said!(
                    RUNS_ELSEWHERE,
                    "this agent knows its own part of the run only; ask where the run was begun"
                );
                self.watchers.remove(link);
                self.send_with(link, &Notice::Refused { why }, Vec::new());
                continue;
            };
            if let Some(one) = self.watchers.0.get_mut(&link) {
                one.since = since;
                one.told = now;
                one.asks = false;
            }
            self.send_with(link, &Notice::Answer { json }, Vec::new());
        }
    }
}
