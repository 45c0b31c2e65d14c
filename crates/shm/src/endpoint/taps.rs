//! Taps: ports whose latest values a viewer wants to see. The agent announces taps with the same word that
//! every send reads anyway. A send without a tap therefore has no extra cost.

use super::{Custodian, Endpoint};
use crate::tap::TapBox;
use ligament_wire::control::Tap;
use rustix::fd::OwnedFd;

/// Value of `heard` while there are taps. No count of calls has this value.
const TAPPED: u64 = u64::MAX;

/// A tap of a port.
pub struct PortTap {
    pub tap: Tap,
    /// The box for values of the port.
    pub bin: TapBox,
    /// Number of messages that the port has sent since the tap began.
    pub passed: u64,
}

/// The taps of an endpoint.
#[derive(Default)]
pub(super) struct Taps {
    /// The agent's count of calls at the last reading of its notices; `TAPPED` while there are taps.
    heard: u64,
    all: Vec<PortTap>,
}

impl Taps {
    /// Stores the agent's count of calls after its notices were read.
    pub fn has_heard(&mut self, calls: u32) {
        self.heard = if self.all.is_empty() { u64::from(calls) } else { TAPPED };
    }

    /// Adds a tap. If its memory cannot be mapped, the tap is ignored, and the run continues without it.
    pub fn add(&mut self, tap: Tap, memory: &OwnedFd) {
        if let Ok(bin) = TapBox::open(memory, tap.room) {
            self.all.push(PortTap { tap, bin, passed: 0 });
        }
    }

    /// Removes a tap.
    pub fn remove(&mut self, tap: u32) {
        self.all.retain(|one| one.tap.tap != tap);
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Returns true if a viewer may want to see a value: there are taps, or the agent has called and its
    /// notices are not read yet.
    #[inline(always)]
    pub fn may_be_tapped(&self) -> bool {
        !cfg!(ligament_unwatched) && u64::from(self.bell().control()) != self.taps.heard
    }

    /// Reads the agent's notices if it has called, and returns the taps. Notices that are not about taps
    /// take effect at the next wait.
    pub fn taps(&mut self) -> &mut [PortTap] {
        // The notices are used up even if one of them failed, so the next wait must fail with this error.
        if let Err(error) = self.hear_agent() {
            if self.run_ends.is_none() {
                self.refused.get_or_insert(error);
            }
        }
        &mut self.taps.all
    }

    /// Returns true if there are taps.
    pub fn is_tapped(&self) -> bool {
        !self.taps.all.is_empty()
    }
}
