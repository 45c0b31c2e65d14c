//! The wait of an endpoint, for messages, credit, memory or room. The endpoint spins while a core is free
//! for it, then yields, then parks. Meanwhile it takes in all messages that arrive on its rings, so that no
//! peer is blocked.

use super::arrived::BodyPlace;
use super::{Custodian, Endpoint};
use crate::board::{FOR_CREDIT, FOR_MESSAGES};
use crate::memory::ShmError;
use crate::status::Awaits;
use crate::timeline::{Activity, Cause};
use ligament_wire::EndpointId;
use std::time::Duration;

/// Number of looks at the begin of a wait, which take some microseconds.
const BRIEF_POLLS: u32 = 256;
/// Number of looks for the awaited event between two looks at everything else, one or two microseconds.
const POLLS_BETWEEN_SCANS: u32 = 64;
/// Maximum time of spinning while a core is free, ns: many times the cost of a wake-up from a park (36 µs,
/// measured), so that an exchange of 16 MiB does not need a wake-up. No other endpoint needs the core
/// meanwhile.
const SPIN_NS: u64 = 1_000_000;
/// Maximum number of channels for which a wait checks that the peer is awake on the same core or in another
/// domain.
const PEERS_LOOKED_AT: usize = 8;
/// Maximum time that a wait only yields before it is shown on the status page, ns.
const MAX_UNREPORTED_YIELD_NS: u64 = 50_000;
/// Time of yielding before a park, ns: as long as a token takes to pass through a ring of 32 processes on
/// two cores. With a shorter time, all processes soon need wake-ups: four processes took 4 µs per hop
/// instead of 1.
const YIELD_NS: u64 = 500_000;
/// Maximum duration of a park. After it, the endpoint checks that the agent lives.
const PARK: Duration = Duration::from_secs(1);
/// Maximum duration of a park for credit. A receiver that takes a few messages of many does not wake the sender
/// at once (`Endpoint::return_credit`). If its code then computes for long, the sender continues by itself.
const PARK_FOR_CREDIT: Duration = Duration::from_millis(50);

/// The time at which a wait ends in any case, ns of CLOCK_MONOTONIC.
pub type Deadline = Option<u64>;

/// The target of a wait, in the endpoint's own indices.
pub(crate) enum WaitTarget<'a> {
    /// A message on any of these incoming channels.
    Message(&'a [usize]),
    /// Credit for `cost` more bytes on an outgoing channel.
    Credit { channel: usize, cost: u64 },
    /// Room in the ring to a peer.
    Slots { peer: usize },
    /// A block of memory that a receiver releases.
    Memory,
    /// The agreement on a change, or the end of a halt.
    Steering,
}

/// The progress of a wait: its begin, the last look at the clock (`seen`), and its deadline, in ns. `far` is
/// true if the awaited endpoint is a carrier: then the endpoint yields but does not spin. If `may_yield` is
/// false, it parks at once.
struct WaitProgress {
    began: u64,
    seen: u64,
    deadline: Deadline,
    far: bool,
    may_yield: bool,
}

impl<C: Custodian> Endpoint<C> {
    /// Waits until `done` returns true. `what` is the kind of event for which other endpoints must wake this
    /// one (`FOR_MESSAGES`, `FOR_CREDIT`).
    ///
    /// # Errors
    /// `TimedOut`, `Interrupted`, `RunEnds`, `AgentGone`, or an error of taking in messages.
    pub(crate) fn wait_until(
        &mut self,
        awaiting: WaitTarget<'_>,
        what: u32,
        deadline: Deadline,
        mut done: impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<(), ShmError> {
        self.tidy();
        let mut began = None;
        let far = self.is_for_afar(&awaiting);
        if std::mem::take(&mut self.rang) && !far {
            // The endpoint that was woken may be queued for this core, and its answer takes a while in any
            // case.
            began = self.step_aside();
        }
        for i in 0..BRIEF_POLLS {
            self.take_in()?;
            if done(self)? {
                if let Some(began) = began {
                    let now = self.custodian.now();
                    self.waited(&awaiting, began, now);
                }
                return Ok(());
            }
            self.follow();
            if i % POLLS_BETWEEN_SCANS == 0 {
                // A wait that ends before the first of these points is not counted and does not read the
                // clock.
                if i == POLLS_BETWEEN_SCANS && began.is_none() {
                    began = Some(self.custodian.now());
                }
                self.hear_agent()?;
                if far || self.crowded || !self.board.may_spin() {
                    // The awaited endpoint needs the core more than this endpoint needs the earliest
                    // possible message.
                    self.reclaim();
                    break;
                }
                self.prepare();
            }
            std::hint::spin_loop();
        }
        let seen = self.custodian.now();
        let began = began.unwrap_or(seen);
        let mut wait = WaitProgress { began, seen, deadline, far, may_yield: self.turns.may_yield() };
        let result = match self.yield_shortly(&mut wait, &mut done) {
            Ok(false) => {
                self.stirred = false;
                self.begin_wait(&awaiting, deadline.is_some(), began);
                let result = self.wait_long(&awaiting, what, &mut wait, &mut done);
                self.status().end_wait();
                result
            }
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if result.is_err() {
            wait.seen = self.custodian.now();
        }
        self.waited(&awaiting, began, wait.seen);
        result
    }

    /// Counts a wait that has ended, on the status page and in the timeline.
    fn waited(&mut self, awaiting: &WaitTarget<'_>, began: u64, ended: u64) {
        self.status().count_wait(ended.saturating_sub(began));
        let cause = self.cause(awaiting);
        self.timeline.note(&self.front, cause, began, ended);
    }

    /// Called at the end of each send. If this endpoint has woken another one, and more cores would be busy
    /// than there are, lets the other endpoint run now. Otherwise it would run only at this endpoint's next
    /// wait.
    #[inline(always)]
    pub(super) fn make_way_if_rang(&mut self) {
        if self.rang {
            self.make_way();
        }
    }

    #[cold]
    fn make_way(&mut self) {
        if !self.board.may_spin() {
            self.rang = false;
            self.step_aside();
        }
    }

    /// Yields once, if yields pay at present. Returns the begin of the yield, ns, or None without a yield.
    fn step_aside(&mut self) -> Option<u64> {
        if !self.turns.may_yield() {
            return None;
        }
        let began = self.custodian.now();
        self.custodian.give_way();
        let took = self.custodian.now().saturating_sub(began);
        self.turns.took(took);
        Some(began)
    }

    /// Yields a few times before the wait is shown on the status page, if more endpoints are awake than there
    /// are cores. A few yields are enough for processes that pass messages on to each other. Returns true if
    /// the wait is over.
    fn yield_shortly(
        &mut self,
        wait: &mut WaitProgress,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<bool, ShmError> {
        let until = wait.deadline.unwrap_or(u64::MAX).min(wait.began + MAX_UNREPORTED_YIELD_NS);
        while wait.may_yield && (wait.far || !self.board.may_spin()) && wait.seen < until {
            self.custodian.give_way();
            self.take_in()?;
            let over = done(self)?;
            let kept = !self.look_at_clock(wait);
            if over {
                if !kept {
                    self.turns.paid();
                }
                return Ok(true);
            }
            self.follow();
            self.hear_agent()?;
        }
        Ok(false)
    }

    /// Notes the time. Returns true if no other process has kept the core since the last note. Otherwise the
    /// wait does not yield any more.
    fn look_at_clock(&mut self, wait: &mut WaitProgress) -> bool {
        let now = self.custodian.now();
        let kept = self.turns.took(now.saturating_sub(wait.seen));
        (wait.seen, wait.may_yield) = (now, wait.may_yield && !kept);
        !kept
    }

    /// Returns true if an awaited endpoint is awake on this core, where spinning would keep it from running.
    fn shares_core(&mut self, awaiting: &WaitTarget<'_>) -> bool {
        let core = self.custodian.core();
        self.bell().waits_on(core);
        let on_core = |endpoint: EndpointId| {
            endpoint != self.index && self.board.doorbell(endpoint).is_some_and(|bell| bell.is_awake_on(core))
        };
        match *awaiting {
            WaitTarget::Message(channels) => channels
                .iter()
                .take(PEERS_LOOKED_AT)
                .any(|&channel| on_core(self.inn[self.receives[channel].peer].endpoint)),
            WaitTarget::Credit { channel, .. } => on_core(self.out[self.sends[channel].peer].endpoint),
            WaitTarget::Slots { peer } => on_core(self.out[peer].endpoint),
            WaitTarget::Memory => self.out.iter().take(PEERS_LOOKED_AT).any(|peer| on_core(peer.endpoint)),
            WaitTarget::Steering => false,
        }
    }

    /// Returns true if all awaited endpoints are carriers, so that the event comes from another machine. The
    /// carrier then needs the core more than this endpoint needs the earliest possible message: the message
    /// must pass a network, and two processes must be woken for it.
    fn is_for_afar(&self, awaiting: &WaitTarget<'_>) -> bool {
        let is_far = |endpoint: EndpointId| self.board.doorbell(endpoint).is_some_and(|bell| bell.is_far());
        match *awaiting {
            WaitTarget::Message([]) | WaitTarget::Memory | WaitTarget::Steering => false,
            WaitTarget::Message(channels) => {
                let mut peers = channels.iter().take(PEERS_LOOKED_AT).map(|&one| self.receives[one].peer);
                peers.all(|peer| is_far(self.inn[peer].endpoint))
            }
            WaitTarget::Credit { channel, .. } => is_far(self.out[self.sends[channel].peer].endpoint),
            WaitTarget::Slots { peer } => is_far(self.out[peer].endpoint),
        }
    }

    /// Does the work of a wait that prepares the next send.
    fn prepare(&mut self) {
        self.reclaim();
        self.pool.claim(|| self.custodian.now());
    }

    /// Takes back the blocks that readers have released.
    fn reclaim(&mut self) {
        self.pool.reclaim(super::send::done_with(&self.out));
    }

    /// Shows the wait and its target on the status page.
    fn begin_wait(&self, awaiting: &WaitTarget<'_>, timed: bool, began: u64) {
        let mut numbers;
        let what = match *awaiting {
            WaitTarget::Message(channels) => {
                numbers = channels.iter().map(|&channel| self.receives[channel].id);
                Awaits::Message(&mut numbers)
            }
            WaitTarget::Credit { channel, .. } => {
                Awaits::Credit { channel: self.sends[channel].id, needs: self.needs(awaiting) }
            }
            WaitTarget::Slots { peer } => Awaits::Slots { endpoint: self.out[peer].endpoint },
            WaitTarget::Memory => Awaits::Memory,
            WaitTarget::Steering => Awaits::Steering { change: self.steering.waits_for().unwrap_or_default() },
        };
        self.status().begin_wait(what, timed, self.front.waits(), began);
    }

    /// Returns the cause of a wait that is over. If several channels were awaited, this is the first one
    /// with a message.
    fn cause(&self, awaiting: &WaitTarget<'_>) -> Cause {
        let (activity, id) = match *awaiting {
            WaitTarget::Message(channels) => {
                let has_come = |&&channel: &&usize| !self.receives[channel].queue.is_empty();
                let came = if channels.len() == 1 { channels.first() } else { channels.iter().find(has_come) };
                match came {
                    Some(&channel) => (Activity::AwaitsMessage, self.receives[channel].id),
                    None => (Activity::AwaitsAny, 0),
                }
            }
            WaitTarget::Credit { channel, .. } => (Activity::AwaitsCredit, self.sends[channel].id),
            WaitTarget::Slots { peer } => (Activity::AwaitsSlots, self.out[peer].endpoint.number()),
            WaitTarget::Memory => (Activity::AwaitsMemory, 0),
            WaitTarget::Steering => (Activity::AwaitsSteering, 0),
        };
        Cause { activity, id }
    }

    /// Returns the budget with which a wait for credit would be over.
    fn needs(&self, awaiting: &WaitTarget<'_>) -> u64 {
        match *awaiting {
            WaitTarget::Credit { channel, cost } => {
                let channel = &self.sends[channel];
                channel.sent.saturating_sub(channel.credited).saturating_add(cost)
            }
            _ => 0,
        }
    }

    /// Returns true if the code has views of other endpoints' memory: leases that do not belong to a message
    /// in a queue.
    pub(super) fn code_holds_views(&mut self) -> bool {
        let mut lent = 0;
        for ring in self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()) {
            let (leases, told) = ring.lent.leases();
            lent += leases;
            self.stirred |= told;
        }
        let mut queued = 0;
        for message in self.receives.iter().flat_map(|channel| &channel.queue) {
            match message.place {
                BodyPlace::Beside(_) => queued += 1,
                // The body is a lease or was put together here. The two cases are not distinguished.
                BodyPlace::Whole => return true,
                BodyPlace::Nowhere | BodyPlace::Inline | BodyPlace::Restored => {}
            }
        }
        lent > queued
    }

    /// Looks once more for the event because the agent has asked for it. If the event has not come, and no
    /// other endpoint could have noticed anything of this look, confirms this on the status page. Returns
    /// true if the wait is over.
    fn look_once_more(
        &mut self,
        round: u64,
        awaiting: &WaitTarget<'_>,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<bool, ShmError> {
        // All messages that were sent before the agent asked have arrived by now, and all rings that were
        // opened are known.
        self.take_in()?;
        let over = done(self)?;
        self.look_again = None;
        if over {
            return Ok(true);
        }
        let (holding, needs) = (self.code_holds_views(), self.needs(awaiting));
        if std::mem::take(&mut self.stirred) {
            // A sender that has looked already may have got memory back since. The agent will start a new
            // round.
            self.status().stir();
        } else {
            self.status().confirm(round, holding, needs);
        }
        Ok(false)
    }

    fn wait_long(
        &mut self,
        awaiting: &WaitTarget<'_>,
        what: u32,
        wait: &mut WaitProgress,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<(), ShmError> {
        let mut looks = 0u32;
        let mut yielded = false;
        let mut spinning = wait.may_yield && !wait.far && self.board.may_spin();
        if spinning {
            self.crowded = self.shares_core(awaiting);
            spinning = !self.crowded;
        }
        let mut awake_since = wait.began;
        loop {
            self.take_in()?;
            if done(self)? {
                if yielded {
                    self.look_at_clock(wait);
                }
                if wait.may_yield {
                    self.turns.paid();
                }
                return Ok(());
            }
            if self.follow() {
                // The message is being copied, so the endpoint must not sleep now.
                awake_since = self.custodian.now();
                continue;
            }
            looks = looks.wrapping_add(1);
            if spinning && looks % POLLS_BETWEEN_SCANS != 0 {
                std::hint::spin_loop();
                continue;
            }
            if spinning {
                self.prepare();
            }
            self.hear_agent()?;
            if let Some(round) = self.look_again {
                if self.served.as_ref().is_some_and(|served| served.idle) {
                    return Ok(());
                }
                if self.look_once_more(round, awaiting, done)? {
                    return Ok(());
                }
            }
            self.look_at_clock(wait);
            if wait.deadline.is_some_and(|deadline| wait.seen >= deadline) {
                self.looked_in_vain()?;
                return Err(ShmError::TimedOut);
            }
            spinning = spinning && wait.may_yield && wait.seen - wait.began < SPIN_NS && self.board.may_spin();
            if spinning {
                self.crowded = self.shares_core(awaiting);
                spinning = !self.crowded;
                continue;
            }
            if wait.may_yield && wait.seen - awake_since < YIELD_NS {
                yielded = true;
                self.custodian.give_way();
                continue;
            }
            let parked = wait.seen;
            let over =
                self.park(what | FOR_MESSAGES, wait.deadline.map(|deadline| deadline - wait.seen), done)?;
            wait.seen = self.custodian.now();
            if over {
                return Ok(());
            }
            if self.custodian.is_gone() {
                return Err(self.agent_gone());
            }
            yielded = false;
            // A sender that slept until it looked by itself looks once and sleeps again. Yields pay only if
            // somebody has woken it.
            if what & FOR_CREDIT == 0 || wait.seen - parked < PARK_FOR_CREDIT.as_nanos() as u64 {
                awake_since = wait.seen;
            }
            self.crowded = self.shares_core(awaiting);
            if self.interrupt.as_ref().is_some_and(|check| check()) {
                return Err(ShmError::Interrupted);
            }
        }
    }

    /// Parks until another process wakes this endpoint. Returns true if the wait is over.
    fn park(
        &mut self,
        what: u32,
        left: Option<u64>,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<bool, ShmError> {
        let board = self.board.clone();
        let bell = board.doorbell(self.index).expect("checked when the endpoint was made");
        let park = if what & FOR_CREDIT != 0 { PARK_FOR_CREDIT } else { PARK };
        let at_most = left.map_or(park, |left| park.min(Duration::from_nanos(left)));
        let mut outcome = Ok(());
        board.fall_asleep(bell);
        let ready = |me: &mut Self| {
            // After an error, this function may run again. The first error ends the wait.
            if outcome.is_ok() {
                outcome = me.take_in();
            }
            outcome.is_err() || bell.control() != me.control_seen || me.follow() || {
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
        self.take_in()?;
        done(self)
    }

    /// Returns the error for the end of the agent's connection. If the agent has sent a reason, that is the
    /// error.
    #[cold]
    pub(super) fn agent_gone(&mut self) -> ShmError {
        self.control_seen = self.control_seen.wrapping_sub(1);
        self.hear_agent().err().unwrap_or(ShmError::AgentGone)
    }
}
