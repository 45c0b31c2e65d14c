//! A limit on the number of bytes that are sent per second.

use std::time::{Duration, Instant};

/// Amount of data that may be sent at once after a pause, in seconds of the rate.
const BURST_S: f64 = 0.1;

pub(crate) struct Limit {
    /// Bytes per second.
    rate: f64,
    /// Time at which all bytes sent so far would have passed at this rate.
    through: Instant,
}

impl Limit {
    pub fn new(rate: u64) -> Limit {
        Limit { rate: rate.max(1) as f64, through: Instant::now() }
    }

    /// Records that `bytes` were sent, and returns the time to wait before the next bytes.
    pub fn pause_after(&mut self, bytes: usize, now: Instant) -> Duration {
        let oldest = now.checked_sub(Duration::from_secs_f64(BURST_S)).unwrap_or(now);
        self.through = self.through.max(oldest) + Duration::from_secs_f64(bytes as f64 / self.rate);
        self.through.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_takes_as_long_as_the_rate_says() {
        let begin = Instant::now();
        let mut limit = Limit::new(1000);
        let mut now = begin;
        for _ in 0..50 {
            now += limit.pause_after(100, now);
        }
        let took = (now - begin).as_secs_f64();
        assert!((4.8..=5.01).contains(&took), "{took}");
        // After a pause, the data of a tenth of a second may be sent at once, and no more.
        now += Duration::from_secs(100);
        assert!(limit.pause_after(1000, now) >= Duration::from_millis(890));
    }
}
