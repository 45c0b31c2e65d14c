//! Credit from receivers in this domain to senders in other domains, and the end of receivers. The domains
//! of sender and receiver count the same cost for a message (the flag `PLACED` travels for this purpose), so
//! credit is one number from end to end.
//!
//! Credit is sent at once if the sender may be blocked: half of the budget is used, or so much that the
//! largest message would not fit. Otherwise it is sent together with other traffic, or at the carrier's next
//! look, 5 to 100 ms later. A receiver that has ended grants unlimited credit (`u64::MAX`).

use super::inward::In;
use super::{CarrierStage, EndpointSide, Logic, EVERYTHING};
use crate::{Paths, Quiet};
use ligament_net::Nanos;
use ligament_shm::Custodian;

/// Time from a publication to the next look at the credit of receivers, and maximum time between two looks, in
/// ns. If a sender may be blocked, the receiver wakes the carrier when it returns credit, so the credit is sent
/// sooner.
pub(super) const MIN_CREDIT_PAUSE_NS: Nanos = 5_000_000;
const MAX_CREDIT_PAUSE_NS: Nanos = 100_000_000;

impl<C: Custodian> Logic<C> {
    /// Notices receivers that have ended, and grants unlimited credit to their senders.
    pub(super) fn see_ends(&mut self, paths: &mut dyn Paths) {
        if let CarrierStage::During(side) = &mut self.stage {
            let ended = side.endpoint.ended();
            if ended != side.ended {
                side.ended = ended;
                for channel in 0..side.ins.len() {
                    if side.endpoint.has_ended(channel) {
                        side.end(channel, paths, &mut self.counts);
                    }
                }
            }
        }
    }

    /// Reports to senders in other domains the bytes that receivers in this domain have received.
    pub(super) fn tell_credits(&mut self, paths: &mut dyn Paths, now: Nanos) {
        let CarrierStage::During(side) = &mut self.stage else { return };
        let due = self.look_at.is_some_and(|at| now >= at);
        let mut told = false;
        let mut rest = false;
        let live: Vec<usize> = side.live.iter().copied().collect();
        for channel in live {
            let (sent, credited) = side.endpoint.progress(channel);
            let credited = credited.min(sent);
            let may_wait = side.may_wait(channel);
            let into = &mut side.ins[channel];
            if credited > into.told && (due || may_wait || side.spoken_to.contains(&into.domain)) {
                self.counts.told = self.counts.told.wrapping_add(credited - into.told);
                into.told = credited;
                paths.credit(into.domain, into.id, credited);
                told = true;
            }
            if into.told == sent {
                side.live.remove(&channel);
            } else {
                rest = true;
            }
        }
        side.spoken_to.clear();
        if due || told {
            self.pause = if told { MIN_CREDIT_PAUSE_NS } else { (self.pause * 2).min(MAX_CREDIT_PAUSE_NS) };
            self.look_at = None;
        }
        match (rest, self.look_at) {
            (true, None) => self.look_at = Some(now + self.pause),
            (true, Some(_)) => {}
            (false, _) => (self.look_at, self.pause) = (None, MIN_CREDIT_PAUSE_NS),
        }
    }
}

impl<C: Custodian> EndpointSide<C> {
    /// Returns true if the sender of a channel may be waiting for credit, judging by the last report to it.
    fn may_wait(&self, channel: usize) -> bool {
        let (sent, _) = self.endpoint.progress(channel);
        let In { told, largest, .. } = &self.ins[channel];
        let (outstanding, budget) = (sent.saturating_sub(*told), self.endpoint.budget(channel));
        outstanding > 0 && (outstanding > budget / 2 || outstanding + largest > budget)
    }

    /// Returns true if the carrier must be woken when a receiver returns credit or releases memory.
    pub(super) fn wants_credit(&self) -> bool {
        !self.pending.is_empty() || self.live.iter().any(|&channel| self.may_wait(channel))
    }

    /// Handles the end of a channel's receiver: grants unlimited credit.
    fn end(&mut self, channel: usize, paths: &mut dyn Paths, counts: &mut Quiet) {
        self.drop_pending(channel);
        self.live.remove(&channel);
        let into = &mut self.ins[channel];
        if into.told != EVERYTHING {
            counts.told = counts.told.wrapping_add(EVERYTHING - into.told);
            into.told = EVERYTHING;
            paths.credit(into.domain, into.id, EVERYTHING);
        }
    }

    /// Handles the end of all receivers in this domain.
    pub(super) fn end_all(&mut self, paths: &mut dyn Paths, counts: &mut Quiet) {
        for channel in 0..self.ins.len() {
            self.end(channel, paths, counts);
        }
    }

    /// Returns true if there is nothing to take in, to publish or to report.
    pub(super) fn is_quiet(&self) -> bool {
        let told = |&channel: &usize| self.endpoint.progress(channel).1 <= self.ins[channel].told;
        let nothing_here = self.groups.is_empty() && self.pending.is_empty() && self.bodies.is_empty();
        !self.endpoint.stirs() && nothing_here && self.live.iter().all(told)
    }
}
