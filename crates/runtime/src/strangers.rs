//! Log lines about refused connections to the run's port or socket. The first refused connection is logged at
//! once, and further ones are counted. So a program that connects a thousand times per second does not fill the
//! log.

use ligament_catalogue::said;
use std::time::{Duration, Instant};

/// Interval between two lines about counted connections.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The refused connections of a run.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    count: u64,
    /// Number of refused connections that the log has already. The next field has the time of the last line.
    told: u64,
    since: Option<Instant>,
    /// The last refused connection, and the reason.
    last: String,
}

impl Strangers {
    /// Counts a refused connection, and `others` that were refused before it. Returns a line for the log, if a
    /// line is due.
    pub fn turned_away(&mut self, who: &str, why: &str, others: u64, now: Instant) -> Option<String> {
        self.count += 1 + others;
        self.last = format!("{who}: {why}");
        if self.since.is_some_and(|since| now.duration_since(since) < REPORT_INTERVAL) {
            return None;
        }
        let first = self.since.replace(now).is_none();
        let untold = self.count - std::mem::replace(&mut self.told, self.count);
        Some(match (first, untold) {
            (true, 1) => said!(NOT_LET_IN, "a stranger was not let in, {}; others will be counted", self.last),
            _ => said!(NOT_LET_IN, "{untold} strangers were not let in, the last {}", self.last),
        })
    }

    /// Returns a line for the end of the run with the number of all refused connections. Returns `None` if
    /// there were none.
    pub fn in_all(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(said!(NOT_LET_IN, "one stranger was not let in during the run, {}", self.last)),
            count => Some(said!(
                NOT_LET_IN,
                "{count} strangers were not let in during the run, the last {}",
                self.last
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_that_knock_at_once_are_one_line_and_a_number() {
        let (mut strangers, began) = (Strangers::default(), Instant::now());
        let mut knock = |others, at| strangers.turned_away("192.0.2.1:9", "it wants another run", others, at);
        let said: Vec<String> = (0..1000).filter_map(|_| knock(0, began)).collect();
        let first = "a stranger was not let in, 192.0.2.1:9: it wants another run; others will be counted";
        assert_eq!(said, [first]);
        let later = knock(9, began + REPORT_INTERVAL).unwrap();
        assert_eq!(later, "1009 strangers were not let in, the last 192.0.2.1:9: it wants another run");
        assert_eq!(knock(0, began + REPORT_INTERVAL), None, "what was told is not told again");
        let all = strangers.in_all().unwrap();
        assert!(
            all.starts_with("1011 strangers were not let in during the run, the last 192.0.2.1:9"),
            "{all}"
        );
    }

    #[test]
    fn of_nobody_nothing_is_said() {
        assert_eq!(Strangers::default().in_all(), None);
    }
}
