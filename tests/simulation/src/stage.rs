//! The order of moves. Each instance plays on a thread of its own, but only one moves at a time: it hands over
//! at its hooks (a look at the clock, sleep, a frame to or from its agent), and the director says who goes on,
//! under a virtual clock. So what happens follows from the seed alone.

use crate::random::Random;
use ligament_shm::socket::SocketFrame;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard};

/// Why an instance handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// It goes on after so many ns.
    Pauses(u64),
    /// It sleeps until its bell is no longer this, or so many ns have passed.
    Sleeps { seen: u32, at_most: u64 },
    /// It waits for a frame.
    Listens,
    /// Its process is gone.
    Ended(ProcessEnd),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this exit status.
    Status(i32),
    /// As the director wanted.
    Struck,
}

/// Why it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue {
    Go,
    /// It has slept for as long as it wanted.
    TimeIsOver,
    /// Its process is no more.
    Strike,
}

/// The payload with which an instance's thread unwinds when its process is struck.
pub struct Struck;

/// A message from an instance's socket to the agent.
#[derive(Debug)]
pub enum Upward {
    Connected,
    Frame(Vec<u8>),
    Closed,
}

/// An event at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// An instance goes on, if it still is where it was when its turn had this number.
    Go { who: u32, turn: u64 },
    /// It has slept long enough.
    TimeIsOver { who: u32, turn: u64 },
    /// The agent reads the next thing from an instance's socket.
    Arrives { who: u32 },
    /// An instance's socket takes what the agent could not send at once.
    Clears { who: u32 },
    /// The agent's system starts an instance.
    Starts { who: u32 },
    /// The agent sees that an instance's process is gone.
    Exits { who: u32 },
    /// An instance gets SIGTERM.
    Terminates { who: u32 },
    /// An instance gets SIGKILL.
    Kills { who: u32 },
    /// The agent's time of grace is over.
    GraceEnds,
    /// The manager reads the status page of an instance.
    Reads { who: u32 },
    /// The instances that the manager has called dead have had time to show that they live.
    Dooms,
}

/// The state that all may look at when it is their move.
pub struct Shared {
    /// ns.
    pub clock: u64,
    pub random: Random,
    /// Percent of hooks at which an instance hands over.
    pub restless: u64,
    pub latency: u64,
    /// From each instance to the agent, and what its socket holds for it to read.
    pub up: Vec<VecDeque<Upward>>,
    pub down: Vec<VecDeque<SocketFrame>>,
    /// How often each instance has done something that one who waits for ever cannot do.
    pub moved: Vec<u64>,
    /// True if the agent has closed each instance's connection.
    pub closed: Vec<bool>,
    /// True if the agent has begun to end the run, or is no more.
    pub ending: bool,
    pub agent_gone: bool,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    posted: u64,
    /// The broken rules.
    pub wrong: Vec<String>,
    /// The events, if they are wanted.
    pub story: Option<Vec<String>>,
    /// Stands for all that happened.
    pub digest: u64,
    /// How often an instance slept out its time.
    pub slept_out: u64,
}

impl Shared {
    /// For so many instances.
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
        }
    }

    /// Has something happen in `delay` ns.
    pub fn post(&mut self, delay: u64, event: Event) {
        self.posted += 1;
        self.events.push(Reverse((self.clock + delay, self.posted, event)));
    }

    /// The next event; the clock follows.
    pub fn next(&mut self) -> Option<Event> {
        let Reverse((time, _, event)) = self.events.pop()?;
        self.clock = self.clock.max(time);
        Some(event)
    }

    /// A delay of a frame or a wake-up, ns.
    pub fn delay(&mut self) -> u64 {
        let latency = self.latency;
        self.random.scaled(latency)
    }

    /// Notes what happens.
    pub fn tell(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(format!("{:>12.3} ms  {}", self.clock as f64 / 1e6, words()));
        }
    }

    /// Folds numbers that stand for what happens into the digest.
    pub fn note(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.digest = (self.digest ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Notes that something is wrong.
    pub fn accuse(&mut self, words: String) {
        self.tell(|| format!("WRONG: {words}"));
        self.wrong.push(words);
    }
}

/// The part of the stage that an instance's thread has. It is that thread's alone.
pub struct Actor {
    pub me: u32,
    shared: Arc<Mutex<Shared>>,
    cue: Receiver<Cue>,
    handover: Sender<(u32, Handover)>,
    /// It has slept out its time, and its bell had not rung: what it finds now, somebody should have told it.
    untold: Cell<bool>,
}

impl Actor {
    /// An actor; `cue` is where it hears the director, and `handover` where that hears it.
    pub fn new(
        me: u32,
        shared: Arc<Mutex<Shared>>,
        cue: Receiver<Cue>,
        handover: Sender<(u32, Handover)>,
    ) -> Actor {
        Actor { me, shared, cue, handover, untold: Cell::new(false) }
    }

    /// The shared state. Let go of it before the next call.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("nobody hands over with it")
    }

    /// Waits for the first cue.
    pub fn enters(&self) {
        self.hear();
    }

    /// Lets the director say who goes on, and returns when that is this one.
    pub fn hand_over(&self, why: Handover) -> Cue {
        self.handover.send((self.me, why)).expect("the director stays to the end");
        self.hear()
    }

    /// Says how the process ended, and returns when the curtain has fallen: until then its memory stays as it
    /// is.
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

    /// Passes some time.
    pub fn pauses(&self, ns: u64) {
        self.hand_over(Handover::Pauses(ns));
    }

    /// A point at which others may go on, mostly not.
    pub fn hook(&self) {
        // A forgotten instance goes on alone, so that its finds were there already.
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

    /// Sleeps; `has_rung` says whether the bell has.
    pub fn sleeps(&self, seen: u32, at_most: u64, has_rung: impl Fn() -> bool) {
        self.untold.set(false);
        let cue = self.hand_over(Handover::Sleeps { seen, at_most });
        if cue == Cue::TimeIsOver && !has_rung() {
            self.shared().slept_out += 1;
            self.untold.set(true);
        }
    }

    /// Says, now and then, that a signal came.
    pub fn signals(&self, percent: u64) -> Box<dyn Fn() -> bool + Send> {
        let shared = self.shared.clone();
        Box::new(move || shared.lock().expect("nobody hands over with it").random.percent(percent))
    }

    /// Returns true if what was just found had been there while it slept out its time.
    pub fn was_untold(&self) -> bool {
        self.untold.replace(false)
    }
}
