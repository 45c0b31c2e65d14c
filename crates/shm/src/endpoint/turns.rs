//! Giving way: whether those who run meanwhile give the core back soon, or keep it for a slice of time, as a
//! program that computes does. Then a process does better to sleep: who is woken comes before those who
//! compute.

/// A yield that takes longer has let somebody compute. The kernel's slices are longer than this, and a round of
/// 32 processes that hand on to each other is shorter.
const KEPT_NS: u64 = 500_000;
/// The most waits that go by before yielding is tried again.
const MAX_SKIPPED_YIELDS: u32 = 256;
/// Yields without lingering before it is tried again.
const TRY_AFTER: u32 = 16;
/// How much lingering that paid is remembered.
const MAX_LINGER_CREDIT: u32 = 8;

/// The experience of a waiting endpoint with its core.
#[derive(Debug, Default)]
pub struct Turns {
    /// Waits that are not to yield any more.
    without: u32,
    /// Their number the last time.
    last: u32,
    /// How often lingering after a yield has been worth while lately.
    luck: u32,
    /// Yields since it was tried.
    untried: u32,
}

impl Turns {
    /// A wait begins: whether it may yield, or is to sleep after its first looks.
    pub fn may_yield(&mut self) -> bool {
        let may = self.without == 0;
        self.without = self.without.saturating_sub(1);
        may
    }

    /// A yield, or a few, took so many ns. Whether somebody kept the core, so that there should be no more of
    /// them.
    pub fn took(&mut self, ns: u64) -> bool {
        let kept = ns > KEPT_NS;
        if kept {
            self.last = (2 * self.last).clamp(1, MAX_SKIPPED_YIELDS);
            self.without = self.last;
        }
        kept
    }

    /// A yield is over and nothing has come: whether to look on for a moment before the next one.
    pub fn may_linger(&mut self) -> bool {
        self.untried += 1;
        self.luck > 0 || self.untried >= TRY_AFTER
    }

    /// Looked on for a moment, and something came or not.
    pub fn lingered(&mut self, came: bool) {
        self.untried = 0;
        // One that pays saves a switch of processes, which costs twice as much as one in vain.
        self.luck = if came { (self.luck + 2).min(MAX_LINGER_CREDIT) } else { self.luck.saturating_sub(1) };
    }

    /// A wait ended while it yielded.
    pub fn paid(&mut self) {
        self.last /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_go_on_while_they_are_short() {
        let mut turns = Turns::default();
        for _ in 0..1000 {
            assert!(turns.may_yield());
            assert!(!turns.took(20_000));
        }
    }

    #[test]
    fn lingering_goes_on_while_it_pays_one_time_in_three_and_is_tried_again_after_it_did_not() {
        let mut turns = Turns::default();
        let until_tried = |turns: &mut Turns| (1..).find(|_| turns.may_linger()).unwrap();
        until_tried(&mut turns);
        turns.lingered(true);
        for i in 0..300 {
            assert!(turns.may_linger(), "after {i}");
            turns.lingered(i % 3 == 1);
        }
        for _ in 0..20 {
            turns.lingered(false);
        }
        assert_eq!(until_tried(&mut turns), TRY_AFTER);
        turns.lingered(false);
        assert_eq!(until_tried(&mut turns), TRY_AFTER);
    }

    #[test]
    fn the_longer_others_compute_the_rarer_are_yields_until_they_pay_again() {
        let mut turns = Turns::default();
        let mut yielded = 0;
        for _ in 0..10_000 {
            if turns.may_yield() {
                yielded += 1;
                assert!(turns.took(3_000_000));
            }
        }
        assert!(yielded < 60, "{yielded} of 10,000 waits");
        let until_next = |turns: &mut Turns| (0..).find(|_| turns.may_yield()).unwrap();
        until_next(&mut turns);
        (0..10).for_each(|_| turns.paid());
        assert!(turns.took(3_000_000));
        assert_eq!(until_next(&mut turns), 1);
    }
}
