//! Makes a timeline coarser: neighbouring short intervals of an instance are joined to one period that has
//! their sums. All sums are preserved. An interval that is at least as long as the resolution stays
//! unchanged.

/// Counters of a part of a timeline. All times are in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimelineSums {
    /// Number of waits that ended.
    pub waits: u64,
    pub waited: u64,
    /// Time spent copying messages that the instance sent.
    pub sending: u64,
    /// Time spent copying messages that the instance received.
    pub receiving: u64,
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// Number of passes of the reuse loop that began.
    pub iterations: u64,
}

impl TimelineSums {
    pub(super) const FIELD_COUNT: usize = 9;

    pub(super) fn values(&self) -> [u64; TimelineSums::FIELD_COUNT] {
        [
            self.waits,
            self.waited,
            self.sending,
            self.receiving,
            self.sent_messages,
            self.sent_bytes,
            self.received_messages,
            self.received_bytes,
            self.iterations,
        ]
    }

    pub(super) fn from_values(values: [u64; TimelineSums::FIELD_COUNT]) -> TimelineSums {
        TimelineSums {
            waits: values[0],
            waited: values[1],
            sending: values[2],
            receiving: values[3],
            sent_messages: values[4],
            sent_bytes: values[5],
            received_messages: values[6],
            received_bytes: values[7],
            iterations: values[8],
        }
    }

    fn both(&self, other: &TimelineSums, with: impl Fn(u64, u64) -> u64) -> TimelineSums {
        let (a, b) = (self.values(), other.values());
        TimelineSums::from_values(std::array::from_fn(|i| with(a[i], b[i])))
    }

    /// Returns the sum of both.
    pub fn plus(&self, other: &TimelineSums) -> TimelineSums {
        self.both(other, u64::saturating_add)
    }

    /// Returns the increase since `before`.
    pub fn since(&self, before: &TimelineSums) -> TimelineSums {
        self.both(before, u64::saturating_sub)
    }

    /// Returns the time not spent computing, in ns.
    pub fn busy_otherwise(&self) -> u64 {
        self.waited.saturating_add(self.sending).saturating_add(self.receiving)
    }
}

/// A piece of an instance's timeline. It begins where the previous piece ends.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelinePiece {
    /// Time from the end of the previous piece to the beginning of the interval, in ns. In this time the
    /// instance computed, or waited for times that are too short to be shown. 0 for a period.
    pub gap: u64,
    /// Length of the interval or period, in ns.
    pub length: u64,
    /// Number of the cause of the interval. The cause of a period is the cause that took most of the
    /// period's time, not counting computing.
    pub cause: Option<u32>,
    /// Time that the cause took, in ns. For an interval, this is the whole length.
    pub share: u64,
    /// True if this piece is a period. A period stands for several intervals and the time between them.
    pub is_period: bool,
    /// Counters of the gap and the length together.
    pub sums: TimelineSums,
    /// Model time at the end of the piece, in s.
    pub time: Option<f64>,
}

#[derive(Debug)]
struct PendingPeriod {
    length: u64,
    sums: TimelineSums,
    time: Option<f64>,
    /// Time spent on each cause, in ns.
    shares: Vec<(u32, u64)>,
}

impl PendingPeriod {
    fn add(&mut self, piece: &TimelinePiece) {
        self.length = self.length.saturating_add(piece.gap).saturating_add(piece.length);
        self.sums = self.sums.plus(&piece.sums);
        self.time = piece.time.or(self.time);
        let Some(cause) = piece.cause else { return };
        match self.shares.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, share)) => *share = share.saturating_add(piece.share),
            None => self.shares.push((cause, piece.share)),
        }
    }

    fn into_piece(self) -> TimelinePiece {
        let most = self.shares.into_iter().max_by_key(|(_, share)| *share);
        TimelinePiece {
            gap: 0,
            length: self.length,
            cause: most.map(|(cause, _)| cause),
            share: most.map_or(0, |(_, share)| share),
            is_period: true,
            sums: self.sums,
            time: self.time,
        }
    }
}

/// Merges the pieces of one instance, in their order.
///
/// Call [`PieceMerger::push`] for each piece. Call [`PieceMerger::flush`] at the end, and whenever all
/// pieces must be written.
#[derive(Debug, Default)]
pub struct PieceMerger {
    pending: Option<PendingPeriod>,
}

impl PieceMerger {
    /// Takes the next piece, and passes finished pieces to `out`. Pieces shorter than `resolution` (ns) are
    /// joined to periods that are at least as long as `resolution`.
    pub fn push(&mut self, piece: TimelinePiece, resolution: u64, out: &mut impl FnMut(TimelinePiece)) {
        if piece.length >= resolution {
            self.push_long(piece, out);
            return;
        }
        match &mut self.pending {
            Some(pending) => pending.add(&piece),
            None => {
                let mut pending =
                    PendingPeriod { length: 0, sums: TimelineSums::default(), time: None, shares: Vec::new() };
                pending.add(&piece);
                self.pending = Some(pending);
            }
        }
        if self.pending.as_ref().is_some_and(|pending| pending.length >= resolution) {
            self.flush(out);
        }
    }

    /// Takes a piece that stays unchanged. If a period is pending, the piece's gap is added to this period.
    fn push_long(&mut self, piece: TimelinePiece, out: &mut impl FnMut(TimelinePiece)) {
        let Some(pending) = self.pending.as_mut().filter(|_| piece.gap > 0) else {
            self.flush(out);
            return out(piece);
        };
        // The piece's sums also count waits and copies in its gap. These are counted for the pending
        // period.
        let others = piece.sums.busy_otherwise().saturating_sub(piece.share).min(piece.gap);
        let waited = others.min(piece.sums.waited);
        let sums =
            TimelineSums { waited, waits: piece.sums.waits.saturating_sub(1), ..TimelineSums::default() };
        pending.length = pending.length.saturating_add(piece.gap);
        pending.sums = pending.sums.plus(&sums);
        self.flush(out);
        out(TimelinePiece { gap: 0, sums: piece.sums.since(&sums), ..piece });
    }

    /// Passes the pending period to `out`, if there is one.
    pub fn flush(&mut self, out: &mut impl FnMut(TimelinePiece)) {
        if let Some(pending) = self.pending.take() {
            out(pending.into_piece());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(gap: u64, length: u64, cause: u32) -> TimelinePiece {
        let sums = TimelineSums { waits: 1, waited: length, sent_messages: 1, ..TimelineSums::default() };
        TimelinePiece {
            gap,
            length,
            cause: Some(cause),
            share: length,
            is_period: false,
            sums,
            time: Some(1.0),
        }
    }

    fn merged(pieces: &[TimelinePiece], resolution: u64) -> Vec<TimelinePiece> {
        let (mut merger, mut out) = (PieceMerger::default(), Vec::new());
        for piece in pieces {
            merger.push(piece.clone(), resolution, &mut |piece| out.push(piece));
        }
        merger.flush(&mut |piece| out.push(piece));
        out
    }

    fn total(pieces: &[TimelinePiece]) -> (u64, TimelineSums) {
        pieces.iter().fold((0, TimelineSums::default()), |(time, sums), piece| {
            (time + piece.gap + piece.length, sums.plus(&piece.sums))
        })
    }

    #[test]
    fn short_waits_become_one_period_that_says_how_many_and_how_long() {
        let out = merged(&[interval(10, 20, 0), interval(10, 30, 1), interval(10, 25, 0)], 1000);
        assert_eq!(out.len(), 1);
        let period = &out[0];
        assert!(period.is_period && period.length == 105 && period.gap == 0);
        assert_eq!((period.sums.waits, period.sums.waited, period.sums.sent_messages), (3, 75, 3));
        assert_eq!((period.cause, period.share), (Some(0), 45), "the cause of most of it");
    }

    #[test]
    fn a_long_wait_among_short_ones_stays_as_it_is() {
        let out = merged(&[interval(10, 20, 0), interval(100, 5000, 1), interval(10, 20, 0)], 1000);
        assert_eq!(out.len(), 3);
        assert_eq!((out[0].length, out[0].sums.waited), (130, 20));
        assert!(!out[1].is_period);
        assert_eq!((out[1].gap, out[1].length, out[1].sums.waited), (0, 5000, 5000));
    }

    #[test]
    fn without_a_resolution_everything_stays() {
        let pieces = [interval(10, 20, 0), interval(0, 0, 1)];
        assert_eq!(merged(&pieces, 0), pieces);
    }

    fn any_piece() -> impl Strategy<Value = TimelinePiece> {
        let numbers = (0u64..100_000, 0u64..100_000, 0u32..5, any::<bool>(), 0u64..1000);
        numbers.prop_map(|(gap, length, cause, sends, brief)| {
            let (waited, sending) = if sends { (0, length) } else { (length, 0) };
            let waited = waited + brief.min(gap);
            let waits = u64::from(!sends) + u64::from(brief > 0);
            let sums =
                TimelineSums { waits, waited, sending, sent_bytes: cause.into(), ..TimelineSums::default() };
            TimelinePiece { gap, length, cause: Some(cause), share: length, is_period: false, sums, time: None }
        })
    }

    proptest! {
        #[test]
        fn merging_again_and_again_loses_nothing_in_sum(
            pieces in proptest::collection::vec(any_piece(), 0..200),
            resolutions in proptest::collection::vec(0u64..1_000_000, 1..5),
        ) {
            let mut now = pieces.clone();
            for resolution in resolutions {
                now = merged(&now, resolution);
                prop_assert_eq!(total(&now), total(&pieces));
                let span: u64 = total(&now).0;
                prop_assert!(resolution == 0 || now.len() as u64 <= 2 * (span / resolution + 1));
                for piece in &now {
                    prop_assert!(piece.sums.busy_otherwise() <= piece.gap + piece.length);
                    prop_assert!(piece.share <= piece.length);
                    prop_assert!(!piece.is_period || piece.gap == 0);
                }
            }
        }
    }
}
