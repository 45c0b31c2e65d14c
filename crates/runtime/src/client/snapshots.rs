//! The state of a run, read in its directory alone. A viewer touches a file there. As long as this file is
//! fresh, the manager publishes the state in another file. This works on each machine that sees the directory,
//! while a socket can be reached only on its own machine.

use ligament_manager::{RunDirectory, UtcTime};
use serde_json::Value;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval at which a viewer touches its file. It is shorter than the time after which the manager stops
/// publishing.
const ASK: Duration = Duration::from_secs(2);
/// Interval at which a viewer checks for a snapshot.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A reader of snapshots.
pub struct Snapshots {
    watched: PathBuf,
    status: PathBuf,
    /// Time at which the viewer's file was last touched. `None` if it could not be touched.
    asked: Option<Instant>,
    tried: Option<Instant>,
    denied: bool,
    /// Time of the last snapshot by the manager's clock. The next field has the time at which it was read here.
    last: Option<String>,
    heard: Instant,
}

impl Snapshots {
    /// Makes a reader for a run. Ignores a snapshot that was written for an earlier viewer.
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

    /// Touches the viewer's file if the interval is over. A user who may not write to the run directory cannot
    /// touch the file.
    pub fn ask(&mut self) {
        if self.tried.is_some_and(|tried| tried.elapsed() < ASK) {
            return;
        }
        self.tried = Some(Instant::now());
        // The file is never made here: if it does not exist, the run is over.
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

    /// Returns true if the viewer's file could be touched.
    pub fn asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns true if this user may not touch the viewer's file.
    pub fn denied(&self) -> bool {
        self.denied
    }

    /// Returns the time since the last new snapshot.
    pub fn silent_for(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Returns the state of the run, in the form of `ligament status --json`, if a new snapshot exists.
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

    /// Waits for a snapshot, for this time at most.
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
