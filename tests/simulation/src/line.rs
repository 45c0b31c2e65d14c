//! The connection of an instance to its agent, its clock and its sleep: the real `AgentLine`, over a socket of
//! the stage.

use crate::stage::{Actor, Event, Handover, Upward};
use ligament_shm::board::Doorbell;
use ligament_shm::endpoint::{AgentNotice, OpenedRing};
use ligament_shm::line::AgentLine;
use ligament_shm::socket::{Frames, SocketFrame};
use ligament_shm::{Custodian, ShmError};
use ligament_wire::steering::Steers;
use ligament_wire::EndpointId;
use rustix::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

/// Longest time between two looks at the clock, ns; mostly it is much shorter.
const MAX_CLOCK_STEP_NS: u64 = 8_000;

/// An instance's socket.
pub struct Pipe {
    actor: Rc<Actor>,
}

impl Pipe {
    /// Connects to the agent.
    pub fn connect(actor: Rc<Actor>) -> Pipe {
        let pipe = Pipe { actor };
        pipe.put(Upward::Connected);
        pipe
    }

    fn put(&self, what: Upward) {
        let mut shared = self.actor.shared();
        let who = self.actor.me;
        shared.up[who as usize].push_back(what);
        let delay = shared.delay();
        shared.post(delay, Event::Arrives { who });
    }
}

impl Frames for Pipe {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ShmError> {
        self.actor.hook();
        if self.is_gone() {
            return Err(ShmError::AgentGone);
        }
        self.put(Upward::Frame(bytes.to_vec()));
        Ok(())
    }

    fn receive(&mut self) -> Result<SocketFrame, ShmError> {
        loop {
            if let Some(frame) = self.try_receive()? {
                return Ok(frame);
            }
            self.actor.hand_over(Handover::Listens);
        }
    }

    fn try_receive(&mut self) -> Result<Option<SocketFrame>, ShmError> {
        self.actor.hook();
        if let Some(frame) = self.actor.shared().down[self.actor.me as usize].pop_front() {
            return Ok(Some(frame));
        }
        if self.is_gone() {
            return Err(ShmError::AgentGone);
        }
        Ok(None)
    }

    fn is_gone(&self) -> bool {
        let shared = self.actor.shared();
        shared.agent_gone || shared.closed[self.actor.me as usize]
    }
}

/// The connection.
pub struct Line {
    pub agent: AgentLine<Pipe>,
    actor: Rc<Actor>,
}

impl Line {
    /// Makes the connection.
    pub fn new(agent: AgentLine<Pipe>, actor: Rc<Actor>) -> Line {
        Line { agent, actor }
    }
}

impl Custodian for Line {
    fn new_slab(&mut self, bytes: u64) -> Result<(u32, OwnedFd), ShmError> {
        self.agent.new_slab(bytes)
    }

    fn drop_slab(&mut self, slab: u32) -> Result<(), ShmError> {
        self.agent.drop_slab(slab)
    }

    fn open_ring(&mut self, to: EndpointId, offset: u64, slots: u32) -> Result<OpenedRing, ShmError> {
        self.agent.open_ring(to, offset, slots)
    }

    fn fetch_slab(&mut self, of: EndpointId, slab: u32) -> Result<(OwnedFd, u64), ShmError> {
        self.agent.fetch_slab(of, slab)
    }

    fn steers(&mut self, change: u64, answer: Steers) -> Result<(), ShmError> {
        self.agent.steers(change, answer)
    }

    fn notices(&mut self) -> Result<Vec<AgentNotice>, ShmError> {
        self.agent.notices()
    }

    fn is_gone(&self) -> bool {
        self.agent.is_gone()
    }

    fn now(&self) -> u64 {
        self.actor.hook();
        let mut shared = self.actor.shared();
        shared.clock += shared.random.scaled(MAX_CLOCK_STEP_NS);
        shared.clock
    }

    /// Each endpoint has a core of its own.
    fn core(&self) -> u32 {
        self.actor.me
    }

    fn give_way(&mut self) {
        self.actor.hook();
    }

    fn sleep(&mut self, bell: &Doorbell, seen: u32, at_most: Duration) {
        self.actor.sleeps(seen, at_most.as_nanos() as u64, || bell.has_rung(seen));
    }
}
