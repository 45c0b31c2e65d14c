//! Steering: once in each step, an instance reports its model time and learns whether a setting has changed.
//! If no change is due, this costs a look at two words.

use super::wait::WaitTarget;
use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::ShmError;
use crate::steering::{Gate, SteeringNotice, SteeringState};
use std::sync::Arc;

impl<C: Custodian> Endpoint<C> {
    /// Returns the steering state, to which the caller can add changes that are known from the start.
    pub fn steering(&mut self) -> &mut SteeringState {
        &mut self.steering
    }

    /// Like `steer`, but only if there is nothing to do. Returns false if `steer` must be called.
    #[inline]
    pub fn steer_at_once(&mut self, member: u32, gate: Gate, time: f64) -> bool {
        let calm = self.bell().control() == self.control_seen && time < self.steering.wakes();
        if calm {
            self.steering.passes(member, gate, time);
            self.status().set_time(time);
        }
        calm
    }

    /// Called before an instance does the work of model time `time`, s. Returns the settings that are in
    /// force from now on, in their order. Waits at halts, and while the endpoints agree on a change that may
    /// be in force at this time.
    ///
    /// # Errors
    /// `Interrupted`, `RunEnds`, `AgentGone`.
    #[inline]
    pub fn steer(&mut self, member: u32, gate: Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        if self.steer_at_once(member, gate, time) {
            Ok(Vec::new())
        } else {
            self.steer_slowly(member, gate, time)
        }
    }

    #[cold]
    fn steer_slowly(&mut self, member: u32, gate: Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        if !self.steering.has_begun() {
            self.bell().begins_to_steer();
        }
        let told = self.steering.arrives(member, gate, time);
        let waited = self.tell(told).and_then(|()| self.hear_agent()).and_then(|()| {
            if self.steering.waits_for().is_some() {
                self.wait_until(WaitTarget::Steering, FOR_MESSAGES, None, |me| {
                    Ok(me.steering.waits_for().is_none())
                })
            } else {
                Ok(())
            }
        });
        if let Err(error) = waited {
            self.steering.gives_up();
            return Err(error);
        }
        self.status().set_time(time);
        let (settings, told) = self.steering.leaves();
        self.tell(told)?;
        Ok(settings)
    }

    /// Like `save_due`, but only if there is nothing to do. Returns false if `save_due` must be called.
    #[inline]
    pub fn saves_nothing(&mut self, time: f64) -> bool {
        let calm = self.bell().control() == self.control_seen && self.steering.saves_nothing();
        if calm {
            self.steering.passes(0, Gate::Save, time);
        }
        calm
    }

    /// Called when the endpoint's instance asks at model time `time`, s, whether to save its state. Returns the
    /// latest requested checkpoint that is due. This does not wait.
    ///
    /// # Errors
    /// `RunEnds`, `AgentGone`.
    pub fn save_due(&mut self, time: f64) -> Result<Option<f64>, ShmError> {
        self.hear_agent()?;
        self.steering.passes(0, Gate::Save, time);
        Ok(self.steering.save_due(0, time))
    }

    /// Notes that the endpoint's instance has saved its state for the checkpoint at `moment`.
    ///
    /// # Errors
    /// The agent cannot be told.
    pub fn notes_save(&mut self, moment: f64) -> Result<(), ShmError> {
        let told = self.steering.saved(0, moment);
        self.tell(told)
    }

    /// Notes that an instance reaches no further model time.
    ///
    /// # Errors
    /// The agent cannot be told.
    pub fn steers_no_more(&mut self, member: u32) -> Result<(), ShmError> {
        let told = self.steering.over(member);
        self.tell(told)
    }

    pub(super) fn tell(&mut self, told: Vec<SteeringNotice>) -> Result<(), ShmError> {
        told.into_iter().try_for_each(|(change, answer)| self.custodian.steers(change, answer))
    }
}
