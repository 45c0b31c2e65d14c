//! How a run stands, from its directory alone. A viewer touches a file there; while it is fresh, the manager
//! publishes the status in another file. So it works the same on the manager's machine and on any other that
//! sees the directory; a socket could be reached from its own machine only.

use ligament_manager::{RunDirectory, UtcTime};
use serde_json::Value;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the manager is told that somebody watches: more often than it forgets that.
const ASK: Duration = Duration::from_secs(2);
/// How often somebody looks who waits for one snapshot.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A reader of snapshots.
pub struct Snapshots {
    watched: PathBuf,
    status: PathBuf,
    /// When the manager was told, if it could be.
    asked: Option<Instant>,
    tried: Option<Instant>,
    denied: bool,
    /// When the last one was written, by the manager's clock, and when it was seen here.
    last: Option<String>,
    heard: Instant,
}

impl Snapshots {
    /// Of this run. What was written for others before does not count.
    pub fn of(run: &RunDirectory) -> Snapshots {
        let mut new = Snapshots {
            watched: run.watched(),
            status: run.status(),
            asked: None,
            tried: None,
            denied: false,
            last: None,
            heard: Instant::now(),
        };
        new.news();
        new
    }

    /// Tells the manager, if it is time, that somebody watches. Who may not write into the run directory
    /// cannot.
    pub fn ask(&mut self) {
        if self.tried.is_some_and(|tried| tried.elapsed() < ASK) {
            return;
        }
        self.tried = Some(Instant::now());
        // Never made here: then the run is over.
        let file = File::options().write(true).truncate(true).open(&self.watched);
        let told =
            file.and_then(|mut file| writeln!(file, "{} {}", UtcTime::now().rfc3339(), std::process::id()));
        self.denied = told.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if told.is_ok() {
            if self.asked.is_none() {
                self.heard = Instant::now();
            }
            self.asked = self.tried;
        }
    }

    /// Returns true if the manager could be told.
    pub fn asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns true if this user may not tell it.
    pub fn denied(&self) -> bool {
        self.denied
    }

    /// For how long nothing new has come.
    pub fn silent_for(&self) -> Duration {
        self.heard.elapsed()
    }

    /// How the run stands, as `ligament status --json` says it, if that is new.
    pub fn news(&mut self) -> Option<Value> {
        let text = std::fs::read_to_string(&self.status).ok()?;
        let json: Value = serde_json::from_str(&text).ok()?;
        let at = json["at"].as_str()?.to_owned();
        if self.last.as_ref() == Some(&at) {
            return None;
        }
        self.last = Some(at);
        self.heard = Instant::now();
        Some(json)
    }

    /// One, at most so late.
    pub fn one_within(&mut self, time: Duration) -> Option<Value> {
        let until = Instant::now() + time;
        self.ask();
        while self.asked() && Instant::now() < until {
            if let Some(json) = self.news() {
                return Some(json);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        None
    }
}
