//! The model time of the next picture of a grid: a time that none of its blocks has passed. Every block shows
//! its first message from this time on, so the picture has one time.

use ligament_wire::times::after;
use std::time::{Duration, Instant};

/// Shortest and longest time that a request may be on its way to the blocks.
const MIN_LEAD: Duration = Duration::from_millis(10);
const MAX_LEAD: Duration = Duration::from_secs(600);
/// Time within which the blocks answer if their steps are short. Two such answers are needed to measure how
/// fast the model time advances.
const SHORT_STEP: Duration = Duration::from_millis(200);

/// Chooses model times that the blocks have not passed yet.
#[derive(Debug)]
pub(super) struct PictureTime {
    /// The latest time of the blocks at their last answer, and the moment of that answer.
    before: Option<(f64, Instant)>,
    /// The model time that passes in a second of the run, in s.
    rate: f64,
    /// The time that a request may take to the blocks.
    lead: Duration,
    /// The longest time that an answer has taken: the longest step of the run and the way.
    longest: Duration,
}

impl PictureTime {
    pub fn new() -> PictureTime {
        PictureTime { before: None, rate: 0.0, lead: MIN_LEAD, longest: Duration::ZERO }
    }

    /// Takes the times of all blocks, in s, which have answered `took` after they were asked. Returns the
    /// time of the picture, or `None` if the blocks are to be asked once more.
    pub fn next(&mut self, times: &[f64], took: Duration, now: Instant) -> Option<f64> {
        let latest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.longest = self.longest.max(took);
        let before = self.before.replace((latest, now));
        if let Some((earlier, then)) = before {
            let seconds = now.saturating_duration_since(then).as_secs_f64();
            // A time that goes back belongs to the next pass of a reuse loop.
            self.rate = if latest > earlier && seconds > 0.0 { (latest - earlier) / seconds } else { 0.0 };
        } else if took < SHORT_STEP {
            return None;
        }
        let ahead = latest + self.rate * self.lead.max(took.min(MAX_LEAD)).as_secs_f64();
        Some(ahead.max(after(latest)))
    }

    /// Notes that all blocks have answered, and that they have shown one time or not.
    pub fn is_answered(&mut self, is_whole: bool, took: Duration) {
        self.longest = self.longest.max(took);
        self.lead = if is_whole { self.lead * 3 / 4 } else { self.lead * 2 }.clamp(MIN_LEAD, MAX_LEAD);
    }

    /// Returns the time after which blocks that have not answered are asked anew: the model time may have gone
    /// back, and may never reach the one that was asked for.
    pub fn patience(&self) -> Duration {
        (self.longest.max(self.lead) * 20).max(Duration::from_secs(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_as_far_ahead_as_a_request_is_on_its_way() {
        let (mut chooser, begin) = (PictureTime::new(), Instant::now());
        let ms = Duration::from_millis;
        assert_eq!(chooser.next(&[1.0, 1.5], ms(4), begin), None);
        // The model time goes on by 50 s in a second.
        let time = chooser.next(&[6.5, 6.0], ms(4), begin + ms(100)).unwrap();
        assert!((time - 7.0).abs() < 1e-9, "{time}");
        for _ in 0..3 {
            chooser.is_answered(false, ms(10));
        }
        let time = chooser.next(&[11.5], ms(4), begin + ms(200)).unwrap();
        assert!((time - 15.5).abs() < 1e-9, "{time}");
        for _ in 0..20 {
            chooser.is_answered(true, ms(10));
        }
        let time = chooser.next(&[16.5], ms(4), begin + ms(300)).unwrap();
        assert!((time - 17.0).abs() < 1e-9, "{time}");
    }

    #[test]
    fn long_steps_need_one_answer_and_time_that_goes_back_no_lead() {
        let (mut chooser, begin) = (PictureTime::new(), Instant::now());
        let minute = Duration::from_secs(60);
        assert_eq!(chooser.next(&[2.0, 2.0], minute, begin), Some(after(2.0)));
        assert!(chooser.patience() >= minute * 20);
        assert_eq!(chooser.next(&[1.0], minute, begin + minute), Some(after(1.0)));
    }
}
