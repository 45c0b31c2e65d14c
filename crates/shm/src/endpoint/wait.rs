//! The one wait of an endpoint: for messages, for credit, for room. It spins while a core is free for that,
//! then yields, then parks; all the while it takes in what arrives on every ring, so that no peer is held up.

use super::arrived::BodyPlace;
use super::{Custodian, Endpoint};
use crate::board::FOR_MESSAGES;
use crate::memory::ShmError;
use crate::status::Awaits;
use crate::timeline::{Activity, Cause};
use ligament_wire::EndpointId;
use std::time::Duration;

/// The first looks: some microseconds.
const BRIEF_POLLS: u32 = 256;
/// Looks at what is awaited between two looks at everything else, one or two microseconds.
const POLLS_BETWEEN_SCANS: u32 = 64;
/// How long to spin while a core is free: many wake-ups from a park (36 µs each, measured), so that an exchange
/// of 16 MiB does not pay for one. Nobody else wants the core meanwhile.
const SPIN_NS: u64 = 1_000_000;
/// The number of channels that are looked at for a peer on the same core.
const PEERS_LOOKED_AT: usize = 8;
/// How long a wait that only yields goes on before it is shown on the status page.
const MAX_UNREPORTED_YIELD_NS: u64 = 50_000;
/// How long to yield before parking: as long as a token takes round a ring of 32 processes on two cores. Less,
/// and all of them soon pay for wake-ups: four processes took 4 µs a hop and not one.
const YIELD_NS: u64 = 500_000;
/// The longest park: then look whether the agent lives.
const PARK: Duration = Duration::from_secs(1);

/// A point in time, ns of CLOCK_MONOTONIC, at which waiting ends.
pub type Deadline = Option<u64>;

/// The target of a wait, in the endpoint's own numbers.
pub(crate) enum WaitTarget<'a> {
    /// A message on any of these incoming channels.
    Message(&'a [usize]),
    /// Credit for `cost` more bytes on an outgoing channel.
    Credit { channel: usize, cost: u64 },
    /// Slots of the ring to a peer.
    Slots { peer: usize },
    /// A block that comes back.
    Memory,
    /// That a change is agreed on, or a halt over.
    Steering,
}

/// How far a wait has come: since when it goes on, when the clock was last looked at, when it is to end, ns;
/// and whether the endpoint spins and yields, yields only (for who is `far`), or sleeps at once.
struct WaitProgress {
    began: u64,
    seen: u64,
    deadline: Deadline,
    far: bool,
    may_yield: bool,
}

impl<C: Custodian> Endpoint<C> {
    /// Waits until `done` says so. `what` is what others can do about it (`FOR_MESSAGES`, `FOR_CREDIT`).
    ///
    /// # Errors
    /// `TimedOut`, `Interrupted`, `RunEnds`, `AgentGone`, or what taking in messages met.
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
            // An endpoint that was woken may stand on this core's queue, and takes a while in any case.
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
                // A wait that is over by the first of these is not counted, and reads no clock.
                if i == POLLS_BETWEEN_SCANS && began.is_none() {
                    began = Some(self.custodian.now());
                }
                self.hear_agent()?;
                if far || self.crowded || !self.board.may_spin() {
                    // Whoever is waited for needs the core more than the next message does.
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

    /// A wait is over: counts it.
    fn waited(&mut self, awaiting: &WaitTarget<'_>, began: u64, ended: u64) {
        self.status().count_wait(ended.saturating_sub(began));
        let cause = self.cause(awaiting);
        self.timeline.note(&self.front, cause, began, ended);
    }

    /// At the end of each send: if somebody was woken, and more are awake than there are cores, lets it run
    /// now. It starts sooner, by all that this code does before it waits itself.
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

    /// Yields once, where that is worth while. When, if so.
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

    /// If more endpoints are awake than there are cores: a few yields before anything is shown or asked, which
    /// is all that it takes where processes hand on to each other. Whether the wait is over.
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

    /// Notes the time. Whether nobody has kept the core since it was last noted; otherwise there is no more
    /// yielding.
    fn look_at_clock(&mut self, wait: &mut WaitProgress) -> bool {
        let now = self.custodian.now();
        let kept = self.turns.took(now.saturating_sub(wait.seen));
        (wait.seen, wait.may_yield) = (now, wait.may_yield && !kept);
        !kept
    }

    /// Returns true if somebody who is waited for is awake on this very core, where spinning would keep it from
    /// running.
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

    /// Returns true if whoever is waited for is on another machine. Then the carrier needs the core more than
    /// the next message does: on its way are a network and two processes that must be woken.
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

    /// The work of a wait for the next message to be sent.
    fn prepare(&mut self) {
        self.reclaim();
        self.pool.claim(|| self.custodian.now());
    }

    /// Takes back what readers have released.
    fn reclaim(&mut self) {
        self.pool.reclaim(super::send::done_with(&self.out));
    }

    /// Shows on the status page who is waited for.
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

    /// The cause of a wait that is over. Of several channels that on which something has come.
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

    /// The budget with which a wait for credit would be over.
    fn needs(&self, awaiting: &WaitTarget<'_>) -> u64 {
        match *awaiting {
            WaitTarget::Credit { channel, cost } => {
                let channel = &self.sends[channel];
                channel.sent.saturating_sub(channel.credited).saturating_add(cost)
            }
            _ => 0,
        }
    }

    /// Returns true if the code has views of others' memory: what is lent and does not lie in a queue here.
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
                // Lent, or put together here: not worth telling apart.
                BodyPlace::Whole => return true,
                BodyPlace::Nowhere | BodyPlace::Inline => {}
            }
        }
        lent > queued
    }

    /// Looks once more, because the agent asks for it, and says so if nothing has come and nobody could have
    /// noticed anything of this look. Whether the wait is over.
    fn look_once_more(
        &mut self,
        round: u64,
        awaiting: &WaitTarget<'_>,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<bool, ShmError> {
        // Everything sent before the agent asked is here by now, and a ring that was opened is known.
        self.take_in()?;
        let over = done(self)?;
        self.look_again = None;
        if over {
            return Ok(true);
        }
        let (holding, needs) = (self.code_holds_views(), self.needs(awaiting));
        if std::mem::take(&mut self.stirred) {
            // A sender that has looked already may have got memory back since. The agent will ask all anew.
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
                // The message is on its way: this is no time to sleep.
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
            let over =
                self.park(what | FOR_MESSAGES, wait.deadline.map(|deadline| deadline - wait.seen), done)?;
            wait.seen = self.custodian.now();
            if over {
                return Ok(());
            }
            if self.custodian.is_gone() {
                return Err(self.agent_gone());
            }
            (yielded, awake_since) = (false, wait.seen);
            self.crowded = self.shares_core(awaiting);
            if self.interrupt.as_ref().is_some_and(|check| check()) {
                return Err(ShmError::Interrupted);
            }
        }
    }

    /// Sleeps until somebody wakes this endpoint. Whether the wait is over.
    fn park(
        &mut self,
        what: u32,
        left: Option<u64>,
        done: &mut impl FnMut(&mut Self) -> Result<bool, ShmError>,
    ) -> Result<bool, ShmError> {
        let board = self.board.clone();
        let bell = board.doorbell(self.index).expect("checked when the endpoint was made");
        let at_most = left.map_or(PARK, |left| PARK.min(Duration::from_nanos(left)));
        let mut outcome = Ok(());
        board.fall_asleep(bell);
        let ready = |me: &mut Self| {
            // Asked again after an error, it is that error that ends the wait.
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

    /// Why nothing comes of the agent any more: what it said last explains it.
    #[cold]
    pub(super) fn agent_gone(&mut self) -> ShmError {
        self.control_seen = self.control_seen.wrapping_sub(1);
        self.hear_agent().err().unwrap_or(ShmError::AgentGone)
    }
}
