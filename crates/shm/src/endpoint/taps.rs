//! Taps: ports whose latest values somebody looks at. The agent says which, with a word that each send looks at
//! anyway, so that a send of which nobody wants to see anything does nothing for it.

use super::{Custodian, Endpoint};
use crate::tap::TapBox;
use ligament_wire::control::Tap;
use rustix::fd::OwnedFd;

/// While there are taps, `heard` is what no count of calls is.
const TAPPED: u64 = u64::MAX;

/// A tap of a port.
pub struct PortTap {
    pub tap: Tap,
    /// The box for values.
    pub bin: TapBox,
    /// Messages that the port has sent since the tap began.
    pub passed: u64,
}

/// The taps of an endpoint.
#[derive(Default)]
pub(super) struct Taps {
    /// How often the agent had called when it was last listened to; `TAPPED` while there are taps.
    heard: u64,
    all: Vec<PortTap>,
}

impl Taps {
    /// The agent was listened to after so many calls.
    pub fn has_heard(&mut self, calls: u32) {
        self.heard = if self.all.is_empty() { u64::from(calls) } else { TAPPED };
    }

    /// A port is to be shown. What cannot be mapped is not: the run goes on without.
    pub fn add(&mut self, tap: Tap, memory: &OwnedFd) {
        if let Ok(bin) = TapBox::open(memory, tap.room) {
            self.all.push(PortTap { tap, bin, passed: 0 });
        }
    }

    /// It is to be shown no more.
    pub fn remove(&mut self, tap: u32) {
        self.all.retain(|one| one.tap.tap != tap);
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Returns true if somebody may want to see what is sent: there are taps, or the agent has called and was
    /// not listened to yet.
    #[inline(always)]
    pub fn may_be_tapped(&self) -> bool {
        !cfg!(ligament_unwatched) && u64::from(self.bell().control()) != self.taps.heard
    }

    /// Listens to the agent if it has called, and gives the taps. What else it said has its effect at the next
    /// wait.
    pub fn taps(&mut self) -> &mut [PortTap] {
        // A notice that could not be heeded is gone from the line: the next wait must fail by it.
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
