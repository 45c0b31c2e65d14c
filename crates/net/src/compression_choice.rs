//! The choice of the conduits whose pieces are compressed. Compression is tried for each conduit while the
//! link limits the speed of messages. If it does not make pieces smaller, it is switched off, and tried again
//! after growing pauses.

use crate::codec::PackingMethod;
use ligament_path::Nanos;
use std::collections::HashMap;

/// Number of pieces that are sent unpacked after the first failure, before the next try.
const FIRST_REST: u32 = 16;
/// Maximum number of pieces that are sent unpacked between two tries.
const MAX_REST_PIECES: u32 = 1 << 14;
/// Number of pieces after which the method is chosen again.
const GOOD_FOR: u32 = 256;
/// Number of pieces in a row that do not get smaller, after which compression counts as failed.
const DISAPPOINTMENTS: u32 = 4;

/// The treatment of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    AsItIs,
    By(PackingMethod),
    /// The caller must look for a method, and report it with `found`.
    Try,
}

#[derive(Debug, Clone, Copy)]
struct ConduitTrial {
    method: Option<PackingMethod>,
    /// Number of pieces until the method is chosen again, or until the next try.
    left: u32,
    rest: u32,
    disappointments: u32,
}

const NEW: ConduitTrial = ConduitTrial { method: None, left: 0, rest: FIRST_REST, disappointments: 0 };

/// The results of compression for each conduit.
#[derive(Debug, Default)]
pub(crate) struct CompressionChoice {
    conduits: HashMap<u32, ConduitTrial>,
}

impl CompressionChoice {
    /// Returns the treatment of the next piece of a conduit. `link` is the same as in `Codec::pack`. After
    /// any answer but `AsItIs`, the caller must call `was`.
    pub fn ask(&mut self, conduit: u32, link: Option<f64>) -> Verdict {
        if link.is_none() && !self.conduits.contains_key(&conduit) {
            return Verdict::AsItIs;
        }
        let state = self.conduits.entry(conduit).or_insert(NEW);
        if link.is_none() {
            // No message waits for the link, so compression gains nothing.
            state.method = None;
            return Verdict::AsItIs;
        }
        match (state.method, state.left) {
            (Some(method), 1..) => {
                state.left -= 1;
                Verdict::By(method)
            }
            (None, 1..) => {
                state.left -= 1;
                Verdict::AsItIs
            }
            (_, 0) => {
                state.method = None;
                Verdict::Try
            }
        }
    }

    /// Notes that a method has been found for a conduit.
    pub fn found(&mut self, conduit: u32, method: PackingMethod) {
        let state = self.conduits.entry(conduit).or_insert(NEW);
        (state.method, state.left) = (Some(method), GOOD_FOR);
    }

    /// Takes in the result of compression: true if the piece got smaller.
    pub fn was(&mut self, conduit: u32, smaller: bool) {
        let state = self.conduits.entry(conduit).or_insert(NEW);
        if smaller {
            (state.disappointments, state.rest) = (0, FIRST_REST);
            return;
        }
        state.disappointments += 1;
        if state.method.is_none() || state.disappointments >= DISAPPOINTMENTS {
            *state = ConduitTrial {
                method: None,
                left: state.rest,
                rest: (2 * state.rest).min(MAX_REST_PIECES),
                ..NEW
            };
        }
    }
}

/// The rate at which a stream takes bytes while the stream is the bottleneck.
#[derive(Debug, Default)]
pub(crate) struct BottleneckRate {
    /// Time since which the stream has always been full while there was more to send.
    since: Option<Nanos>,
    /// Number of bytes that the stream took since then.
    bytes: u64,
    rate: Option<f64>,
}

/// Minimum time for a measurement of the rate (ns).
const MIN_EVIDENCE_NS: Nanos = 5_000_000;

impl BottleneckRate {
    /// Notes that the stream takes nothing more now.
    pub fn is_full(&mut self, now: Nanos) {
        match self.since {
            None => (self.since, self.bytes) = (Some(now), 0),
            Some(since) if now.saturating_sub(since) >= MIN_EVIDENCE_NS && self.bytes > 0 => {
                self.rate = Some(self.bytes as f64 * 1e9 / (now - since) as f64);
                (self.since, self.bytes) = (Some(now), 0);
            }
            Some(_) => {}
        }
    }

    pub fn took(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Notes that the stream would take more than there is to send.
    pub fn is_idle(&mut self) {
        *self = BottleneckRate::default();
    }

    /// Returns the rate in bytes per second, if the link is the bottleneck.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<f64> = Some(1e6);

    #[test]
    fn where_nothing_waits_for_the_link_nothing_is_tried() {
        let mut pays = CompressionChoice::default();
        assert_eq!(pays.ask(1, None), Verdict::AsItIs);
        assert_eq!(pays.ask(1, SLOW), Verdict::Try);
    }

    #[test]
    fn a_method_that_was_found_is_used_until_the_link_is_no_longer_waited_for() {
        let mut pays = CompressionChoice::default();
        assert_eq!(pays.ask(1, SLOW), Verdict::Try);
        pays.found(1, PackingMethod::ALL[1]);
        pays.was(1, true);
        assert_eq!(pays.ask(1, SLOW), Verdict::By(PackingMethod::ALL[1]));
        assert_eq!(pays.ask(2, SLOW), Verdict::Try, "each conduit is on its own");
        assert_eq!(pays.ask(1, None), Verdict::AsItIs);
    }

    #[test]
    fn what_did_not_help_is_tried_ever_more_rarely() {
        let mut pays = CompressionChoice::default();
        let mut tries = Vec::new();
        for piece in 0..10_000 {
            if pays.ask(1, SLOW) == Verdict::Try {
                tries.push(piece);
                pays.was(1, false);
            }
        }
        let pauses: Vec<i32> = tries.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(pauses.windows(2).all(|two| two[1] > two[0]), "{pauses:?}");
        assert_eq!(pauses[0], FIRST_REST as i32 + 1);
    }

    #[test]
    fn a_method_that_disappoints_again_and_again_is_switched_off() {
        let mut pays = CompressionChoice::default();
        pays.ask(1, SLOW);
        pays.found(1, PackingMethod::ALL[0]);
        for _ in 0..DISAPPOINTMENTS {
            assert_eq!(pays.ask(1, SLOW), Verdict::By(PackingMethod::ALL[0]));
            pays.was(1, false);
        }
        assert_eq!(pays.ask(1, SLOW), Verdict::AsItIs);
    }

    #[test]
    fn the_pace_of_a_link_is_known_only_while_it_is_full() {
        let mut link = BottleneckRate::default();
        link.is_full(0);
        link.took(1000);
        link.is_full(10_000_000);
        assert_eq!(link.rate(), Some(100_000.0));
        link.is_idle();
        assert_eq!(link.rate(), None);
    }
}
