//! The order of actions. Each instance has a thread of its own, but only one runs at a time. At its hooks (a
//! look at the clock, a sleep, a frame to or from its agent), a thread passes the turn back, and the director
//! chooses the next one, under a virtual clock. So all events follow from the seed alone.

use crate::cuts::{Ledger, SavedState};
use crate::random::Random;
use crate::requests::AgreedChanges;
use ligament_shm::socket::SocketFrame;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard};

/// The reason why an instance passes the turn back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// It goes on after this time, in ns.
    Pauses(u64),
    /// It sleeps until its bell has another value than this, or until this time (ns) is over.
    Sleeps { seen: u32, at_most: u64 },
    /// It waits for a frame.
    Listens,
    /// Its process has ended.
    Ended(ProcessEnd),
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited by itself with this status.
    Status(i32),
    /// The director ended it.
    Struck,
}

/// The reason why an instance gets the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue {
    Go,
    /// It has slept until its timeout.
    TimeIsOver,
    /// Its process is killed.
    Strike,
}

/// The payload with which the thread of a killed instance unwinds.
pub struct Struck;

/// A message from an instance's socket to the agent.
#[derive(Debug)]
pub enum Upward {
    Connected,
    Frame(Vec<u8>),
    Closed,
}

/// An event at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// An instance goes on, if its turn number is still this one.
    Go { who: u32, turn: u64 },
    /// The timeout of its sleep is over.
    TimeIsOver { who: u32, turn: u64 },
    /// The agent reads the next frame from an instance's socket.
    Arrives { who: u32 },
    /// An instance's socket takes the frames that the agent could not send at once.
    Clears { who: u32 },
    /// The agent's system starts an instance.
    Starts { who: u32 },
    /// The agent sees that an instance's process has ended.
    Exits { who: u32 },
    /// An instance gets SIGTERM.
    Terminates { who: u32 },
    /// An instance gets SIGKILL.
    Kills { who: u32 },
    /// The time in which instances may end by themselves is over.
    GraceEnds,
    /// The manager reads the status page of an instance.
    Reads { who: u32 },
    /// The time in which instances that the manager has called dead may show that they live is over.
    Dooms,
    /// People look at the run, and may steer it.
    Wishes,
    /// The head takes the answers of instances to changes.
    Answers,
}

/// The state that a thread may use while it has the turn.
pub struct Shared {
    /// The virtual time, ns.
    pub clock: u64,
    pub random: Random,
    /// Percentage of hooks at which an instance passes the turn back.
    pub restless: u64,
    pub latency: u64,
    /// The frames from each instance to the agent, and those that wait in its own socket.
    pub up: Vec<VecDeque<Upward>>,
    pub down: Vec<VecDeque<SocketFrame>>,
    /// For each instance: number of actions that an instance which waits for ever cannot make.
    pub moved: Vec<u64>,
    /// True if the agent has closed each instance's connection.
    pub closed: Vec<bool>,
    /// True if the agent has begun to end the run, or has ended.
    pub ending: bool,
    pub agent_gone: bool,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    posted: u64,
    /// The broken rules.
    pub wrong: Vec<String>,
    /// The events, if they are recorded.
    pub story: Option<Vec<String>>,
    /// A digest of all events. Equal schedules have equal digests.
    pub digest: u64,
    /// Number of times that an instance slept to the end of its time.
    pub slept_out: u64,
    /// The files of checkpoints, by the bits of the moment and the instance, and what the head knows of them.
    pub files: BTreeMap<(u64, u32), SavedState>,
    pub ledger: Ledger,
    pub agreed: AgreedChanges,
}

impl Shared {
    /// Makes the state for `count` instances.
    pub fn new(n: usize, random: Random, restless: u64, latency: u64, tells: bool) -> Shared {
        Shared {
            clock: 0,
            random,
            restless,
            latency,
            up: (0..n).map(|_| VecDeque::new()).collect(),
            down: (0..n).map(|_| VecDeque::new()).collect(),
            moved: vec![0; n],
            closed: vec![false; n],
            ending: false,
            agent_gone: false,
            events: BinaryHeap::new(),
            posted: 0,
            wrong: Vec::new(),
            story: tells.then(Vec::new),
            digest: 0,
            slept_out: 0,
            files: BTreeMap::new(),
            ledger: Ledger::default(),
            agreed: AgreedChanges::default(),
        }
    }

    /// Schedules an event after `delay` ns.
    pub fn post(&mut self, delay: u64, event: Event) {
        self.posted += 1;
        self.events.push(Reverse((self.clock + delay, self.posted, event)));
    }

    /// Returns the next event, and sets the clock to its time.
    pub fn next(&mut self) -> Option<Event> {
        let Reverse((time, _, event)) = self.events.pop()?;
        self.clock = self.clock.max(time);
        Some(event)
    }

    /// Returns a delay of a frame or a wake-up, ns.
    pub fn delay(&mut self) -> u64 {
        let latency = self.latency;
        self.random.scaled(latency)
    }

    /// Records an event.
    pub fn tell(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(format!("{:>12.3} ms  {}", self.clock as f64 / 1e6, words()));
        }
    }

    /// Adds numbers to the digest.
    pub fn note(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.digest = (self.digest ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Records a broken rule.
    pub fn accuse(&mut self, words: String) {
        self.tell(|| format!("WRONG: {words}"));
        self.wrong.push(words);
    }
}

/// The part of the stage that belongs to the thread of one instance.
pub struct Actor {
    pub me: u32,
    shared: Arc<Mutex<Shared>>,
    cue: Receiver<Cue>,
    handover: Sender<(u32, Handover)>,
    /// It has slept until its timeout without a bell. If it finds something now, another part should have rung
    /// the bell.
    untold: Cell<bool>,
}

impl Actor {
    /// Makes the actor. It gets the turn by `cue`, and passes it back by `handover`.
    pub fn new(
        me: u32,
        shared: Arc<Mutex<Shared>>,
        cue: Receiver<Cue>,
        handover: Sender<(u32, Handover)>,
    ) -> Actor {
        Actor { me, shared, cue, handover, untold: Cell::new(false) }
    }

    /// Returns the shared state. Drop it before the next call.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("nobody hands over with it")
    }

    /// Waits for the first turn.
    pub fn enters(&self) {
        self.hear();
    }

    /// Passes the turn back, and returns when it gets the turn again.
    pub fn hand_over(&self, why: Handover) -> Cue {
        self.handover.send((self.me, why)).expect("the director stays to the end");
        self.hear()
    }

    /// Reports the end of the process, and returns at the end of the schedule: until then its memory stays as
    /// it is.
    pub fn leaves(&self, ending: ProcessEnd) {
        self.handover.send((self.me, Handover::Ended(ending))).expect("the director stays to the end");
        while self.cue.recv().is_ok() {}
    }

    fn hear(&self) -> Cue {
        match self.cue.recv().expect("the director stays to the end") {
            Cue::Strike => resume_unwind(Box::new(Struck)),
            cue => cue,
        }
    }

    /// Lets time pass.
    pub fn pauses(&self, ns: u64) {
        self.hand_over(Handover::Pauses(ns));
    }

    /// A point at which others may go on, though mostly they do not.
    pub fn hook(&self) {
        // A thread that slept until its timeout keeps the turn: what it finds now was there while it slept.
        if self.untold.get() {
            return;
        }
        let mut shared = self.shared();
        let restless = shared.restless;
        let pause = shared.random.percent(restless).then(|| shared.delay());
        drop(shared);
        if let Some(pause) = pause {
            self.pauses(pause);
        }
    }

    /// Sleeps; `has_rung` tells if the bell has rung.
    pub fn sleeps(&self, seen: u32, at_most: u64, has_rung: impl Fn() -> bool) {
        self.untold.set(false);
        let cue = self.hand_over(Handover::Sleeps { seen, at_most });
        if cue == Cue::TimeIsOver && !has_rung() {
            self.shared().slept_out += 1;
            self.untold.set(true);
        }
    }

    /// Returns true now and then, to say that a signal interrupted the call.
    pub fn signals(&self, percent: u64) -> Box<dyn Fn() -> bool + Send> {
        let shared = self.shared.clone();
        Box::new(move || shared.lock().expect("nobody hands over with it").random.percent(percent))
    }

    /// Returns true if a finding was there while the instance slept until its timeout.
    pub fn was_untold(&self) -> bool {
        self.untold.replace(false)
    }
}
