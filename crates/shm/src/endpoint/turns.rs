//! Decides if a waiting endpoint yields its core or sleeps. A yield is good if the other processes return the
//! core soon. It is bad if another process computes and keeps the core for a time slice. A sleep is then
//! better, because the kernel runs a woken process before a computing one.

/// Duration above which a yield has let another process compute, ns. The kernel's time slices are longer
/// than this. A round of 32 processes that pass a message on to each other is shorter.
const KEPT_NS: u64 = 500_000;
/// Maximum number of waits without yields before a yield is tried again.
const MAX_SKIPPED_YIELDS: u32 = 256;
/// Number of yields without lingering before lingering is tried again. Lingering means: looking on for a
/// moment after a yield.
const TRY_AFTER: u32 = 16;
/// Maximum of `luck`, the memory of lingering that paid.
const MAX_LINGER_CREDIT: u32 = 8;

/// The experience of a waiting endpoint with its core.
#[derive(Debug, Default)]
pub struct Turns {
    /// Number of future waits that are not to yield.
    without: u32,
    /// Value of `without` when it was last set.
    last: u32,
    /// Credit of lingering: rises when lingering after a yield pays, and falls when it does not.
    luck: u32,
    /// Number of yields since lingering was last tried.
    untried: u32,
}

impl Turns {
    /// Called at the begin of a wait. Returns true if the wait may yield; otherwise it is to sleep after its
    /// first looks.
    pub fn may_yield(&mut self) -> bool {
        let may = self.without == 0;
        self.without = self.without.saturating_sub(1);
        may
    }

    /// Called after yields that took `ns` nanoseconds. Returns true if another process kept the core, so
    /// that the wait should not yield again.
    pub fn took(&mut self, ns: u64) -> bool {
        let kept = ns > KEPT_NS;
        if kept {
            self.last = (2 * self.last).clamp(1, MAX_SKIPPED_YIELDS);
            self.without = self.last;
        }
        kept
    }

    /// Called after a yield without a message. Returns true if the endpoint should look on for a moment
    /// before the next yield.
    pub fn may_linger(&mut self) -> bool {
        self.untried += 1;
        self.luck > 0 || self.untried >= TRY_AFTER
    }

    /// Called after lingering: `came` says whether a message arrived meanwhile.
    pub fn lingered(&mut self, came: bool) {
        self.untried = 0;
        // Lingering that pays saves a switch of processes, which costs twice as much as lingering in vain.
        self.luck = if came { (self.luck + 2).min(MAX_LINGER_CREDIT) } else { self.luck.saturating_sub(1) };
    }

    /// Called when a wait ended while it was yielding.
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
