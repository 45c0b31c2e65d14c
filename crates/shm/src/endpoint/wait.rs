//! The one wait of an endpoint: for messages, for credit, for room. It spins while a core is free for that, then
//! yields, then parks; all the while it takes in what arrives on every ring, so that no peer is held up.

use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::ShmError;
use crate::status::State;
use std::time::Duration;

/// Looks before the clock is read at all: a few hundred nanoseconds.
const BRIEF: u32 = 256;
/// How long to spin while a core is free: many wake-ups from a park (36 µs each, measured), so that an exchange of
/// 16 MiB does not pay for one. Nobody else wants the core meanwhile.
const SPIN_NS: u64 = 1_000_000;
/// Steps of claiming memory between two looks at what is waited for: about a microsecond.
const CLAIMS: u32 = 8;
/// Yields before parking.
const YIELDS: u32 = 50;
/// The longest park: then look whether the agent lives.
const PARK: Duration = Duration::from_secs(1);

/// A point in time, ns of CLOCK_MONOTONIC, at which waiting ends.
pub type Deadline = Option<u64>;

impl<C: Custodian> Endpoint<C> {
    /// Waits until `done` says so. `what` is what others can do about it (`FOR_MESSAGES`, `FOR_CREDIT`).
    ///
    /// # Errors
    /// `TimedOut`, `Interrupted`, `RunEnds`, `AgentGone`, or what taking in messages met.
    pub(crate) fn wait_until(
        &mut self,
        state: State,
        channel: Option<u32>,
        what: u32,
        deadline: Deadline,
        mut done: impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<(), ShmError> {
        self.tidy();
        for i in 0..BRIEF {
            self.take_in()?;
            if done(self)? {
                return Ok(());
            }
            if i % 64 == 0 {
                self.prepare();
                self.hear_agent()?;
                if !self.board.may_spin() {
                    break;
                }
            }
            std::hint::spin_loop();
        }
        let began = self.custodian.now();
        let mut seen = began;
        self.status().begin_wait(state, channel, began);
        let result = self.wait_long(what, deadline, began, &mut seen, &mut done);
        self.status().end_wait(seen);
        result
    }

    /// What a wait can do for the next message to be sent.
    fn prepare(&mut self) {
        self.pool.reclaim(super::send::done_with(&self.out));
        for _ in 0..CLAIMS {
            if !self.pool.claim() {
                break;
            }
        }
    }

    fn wait_long(
        &mut self,
        what: u32,
        deadline: Deadline,
        began: u64,
        seen: &mut u64,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<(), ShmError> {
        let mut looks = 0u32;
        let mut yields = 0;
        let mut spinning = true;
        loop {
            self.take_in()?;
            if done(self)? {
                return Ok(());
            }
            looks = looks.wrapping_add(1);
            if spinning && looks % 32 != 0 {
                std::hint::spin_loop();
                continue;
            }
            if spinning {
                self.prepare();
            }
            self.hear_agent()?;
            *seen = self.custodian.now();
            if deadline.is_some_and(|deadline| *seen >= deadline) {
                return Err(ShmError::TimedOut);
            }
            spinning = spinning && *seen - began < SPIN_NS && self.board.may_spin();
            if spinning {
                continue;
            }
            if yields < YIELDS {
                yields += 1;
                self.custodian.give_way();
                continue;
            }
            self.park(what | FOR_MESSAGES, deadline.map(|deadline| deadline - *seen), done)?;
            *seen = self.custodian.now();
            yields = 0;
            if self.interrupt.as_ref().is_some_and(|check| check()) {
                return Err(ShmError::Interrupted);
            }
        }
    }

    fn park(
        &mut self,
        what: u32,
        left: Option<u64>,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<(), ShmError> {
        let board = self.board.clone();
        let bell = board.doorbell(self.index).expect("checked when the endpoint was made");
        let at_most = left.map_or(PARK, |left| PARK.min(Duration::from_nanos(left)));
        let mut outcome = Ok(());
        board.fall_asleep(bell);
        let ready = |me: &mut Self| {
            outcome = me.take_in();
            outcome.is_err() || bell.control() != me.control_seen || {
                match done(me) {
                    Ok(ready) => ready,
                    Err(error) => {
                        outcome = Err(error);
                        true
                    }
                }
            }
        };
        bell.park(what, self, ready, |me, seen| me.custodian.sleep(bell, seen, at_most));
        board.wake_up(bell);
        outcome?;
        if self.custodian.is_gone() {
            // What it said last explains why.
            self.hear_all()?;
            return Err(ShmError::AgentGone);
        }
        Ok(())
    }

    fn hear_all(&mut self) -> Result<(), ShmError> {
        self.control_seen = self.control_seen.wrapping_sub(1);
        self.hear_agent()
    }
}
