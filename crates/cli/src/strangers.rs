//! What the log says of those who knocked at the run's port and were not let in: whoever knocks a thousand times a second
//! does not fill it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// So many in a row are told one by one; then those of this time together.
const ONE_BY_ONE: u32 = 8;
const TOGETHER: Duration = Duration::from_secs(10);

/// Those who were not let in.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// Since when they are counted, and how many were told since.
    since: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Strangers {
    /// Somebody was not let in; what the log is to say now.
    pub fn turned_away(&mut self, from: SocketAddr, why: &str, now: Instant) -> Option<String> {
        let mut others = String::new();
        if self.since.is_none_or(|since| now.duration_since(since) >= TOGETHER) {
            if self.untold > 0 {
                others = format!(" (and {} others before that)", self.untold);
            }
            *self = Strangers { since: Some(now), ..Strangers::default() };
        }
        if self.told == ONE_BY_ONE {
            self.untold += 1;
            return None;
        }
        self.told += 1;
        Some(format!("somebody at {from} was not let in: {why}{others}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_that_knock_at_once_are_eight_lines_and_a_number() {
        let from: SocketAddr = "192.0.2.1:9".parse().unwrap();
        let (mut strangers, began) = (Strangers::default(), Instant::now());
        let said = (0..1000).filter_map(|_| strangers.turned_away(from, "it wants another run", began)).count();
        assert_eq!(said, 8);
        let later = strangers.turned_away(from, "it wants another run", began + TOGETHER).unwrap();
        assert_eq!(
            later,
            "somebody at 192.0.2.1:9 was not let in: it wants another run (and 992 others before that)"
        );
        let again = strangers.turned_away(from, "late", began + TOGETHER).unwrap();
        assert!(again.ends_with("late"), "what was told is not told again: {again}");
    }
}
