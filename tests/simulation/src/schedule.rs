//! One schedule, from its first action to its last.

use crate::agent::Agent;
use crate::cuts::{Ledger, SavedState};
use crate::part::{PlayedInstance, Progress};
use crate::random::Random;
use crate::requests::RequestCount;
use crate::script::{InjectedFault, Script, MS};
use crate::stage::{Actor, Cue, Event, Handover, ProcessEnd, Shared, Upward};
use crate::verdict;
use ligament_agent::Exit;
use ligament_wire::EndpointId;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};

/// Maximum number of actions of a schedule, and its maximum time (ns).
const MAX_MOVES: u64 = 100_000;
const MAX_DURATION_NS: u64 = 600_000 * MS;

/// The result of a schedule.
#[derive(Debug, Clone, Default)]
pub struct Account {
    pub seed: u64,
    /// The broken rules; empty if all were kept.
    pub wrong: Vec<String>,
    /// The events, one a line, if they were asked for.
    pub story: Vec<String>,
    /// A digest of all events. Equal schedules have equal digests.
    pub digest: u64,
    /// Number of received letters.
    pub received: u64,
    pub moves: u64,
    /// The end of the run: `done`, `failed`, `deadlocked`, `stopped`, `agent gone`.
    pub end: &'static str,
    /// The number of deliberate faults.
    pub troubles: usize,
    /// Number of times that a budget grew.
    pub grown: usize,
    /// Number of instances with several ranks.
    pub ranks: usize,
    /// Number of times that an instance slept until its timeout.
    pub slept_out: u64,
}

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    /// Its process has not been started.
    Outside,
    /// It has passed the move on to another.
    Waits(Handover),
    /// Its process has ended, in this way.
    Gone(Exit),
}

struct Player {
    place: Whereabouts,
    turn: u64,
    /// True if the player is scheduled to go on, so it must not be woken again.
    awaited: bool,
    cue: Sender<Cue>,
    /// True if another player ended this one, or the director did in the place of the system.
    pushed: bool,
}

struct Director<'s> {
    script: &'s Script,
    shared: Arc<Mutex<Shared>>,
    agent: Agent,
    players: Vec<Player>,
    results: &'s [Mutex<Progress>],
    handovers: Receiver<(u32, Handover)>,
    moves: u64,
}

/// The remains of a run beside its account: progress, files and the ledger of checkpoints.
pub struct Played {
    /// Numbers of wishes of people that came true.
    pub requests: RequestCount,
    pub progress: Vec<Progress>,
    pub files: BTreeMap<(u64, u32), SavedState>,
    pub ledger: Ledger,
}

/// Plays the schedule of a seed. With `tells`, records its story.
pub fn run(seed: u64, tells: bool) -> Account {
    let mut random = Random::new(seed ^ 0x6c69_6761_6d65_6e74);
    let script = Script::new(&mut random);
    play(&script, seed, &mut random, tells).0
}

/// Plays one run of a script.
pub fn play(script: &Script, seed: u64, random: &mut Random, tells: bool) -> (Account, Played) {
    let n = script.programs.len();
    let shared = Shared::new(n, random.split(), script.restless, script.latency, tells);
    let shared = Arc::new(Mutex::new(shared));
    let missing =
        |who| script.troubles.iter().any(|t| matches!(t, InjectedFault::NotStarted { who: w } if *w == who));
    let agent = Agent::new(script, (0..n as u32).map(missing).collect(), random.split());
    let results: Vec<Mutex<Progress>> =
        (0..n).map(|_| Mutex::new(Progress::of(script.plan.channels.len()))).collect();
    std::thread::scope(|scope| {
        let (hand_over, handovers) = channel();
        let mut players = Vec::new();
        for me in 0..n as u32 {
            let (cue, hear) = channel();
            let (shared, script, results) = (shared.clone(), script, &results);
            let (hand_over, identity) = (hand_over.clone(), agent.identity(me));
            scope.spawn(move || {
                let actor = Rc::new(Actor::new(me, shared, hear, hand_over));
                let troubled = |wanted: &dyn Fn(&InjectedFault) -> Option<usize>| {
                    script.troubles.iter().filter_map(wanted).min()
                };
                let fails = troubled(&|t| match t {
                    InjectedFault::Fails { who, step } if *who == me => Some(*step),
                    _ => None,
                });
                let leaves = troubled(&|t| match t {
                    InjectedFault::Leaves { who, step } if *who == me => Some(*step),
                    _ => None,
                });
                let mut part = PlayedInstance::new(actor.clone(), script, fails, leaves);
                let ending = catch_unwind(AssertUnwindSafe(|| {
                    actor.enters();
                    part.play(&identity)
                }));
                let ending = match ending {
                    Ok(ending) => ending,
                    Err(what) if what.is::<crate::stage::Struck>() => ProcessEnd::Struck,
                    Err(_) => {
                        actor.shared().accuse(format!("part{me} panicked"));
                        ProcessEnd::Struck
                    }
                };
                *results[me as usize].lock().expect("nobody panics with it") = part.progress.clone();
                actor.leaves(ending);
            });
            players.push(Player { place: Whereabouts::Outside, turn: 0, awaited: false, cue, pushed: false });
        }
        let mut director =
            Director { script, shared: shared.clone(), agent, players, results: &results, handovers, moves: 0 };
        director.direct();
        let account = director.account(seed);
        director.clear_the_stage();
        let progress = results.iter().map(|one| one.lock().expect("nobody panics with it").clone()).collect();
        let mut shared = shared.lock().expect("nobody panics with it");
        let (files, ledger) = (std::mem::take(&mut shared.files), std::mem::take(&mut shared.ledger));
        (account, Played { requests: shared.agreed.count, progress, files, ledger })
    })
}

impl Director<'_> {
    fn direct(&mut self) {
        let shared = self.shared.clone();
        self.agent.begin(&mut shared.lock().expect("nobody panics with it"));
        while !self.is_over() {
            let clock = self.lock().clock;
            if self.moves > MAX_MOVES || clock > MAX_DURATION_NS {
                let (moves, seconds) = (self.moves, clock / (1000 * MS));
                self.lock().accuse(format!("the run had not ended after {moves} moves and {seconds} s"));
                break;
            }
            let event = shared.lock().expect("nobody panics with it").next();
            let Some(event) = event else {
                let mut shared = shared.lock().expect("nobody panics with it");
                shared.accuse("nothing can happen any more, and the run has not ended".into());
                break;
            };
            if !matches!(event, Event::Reads { .. } | Event::Wishes) {
                self.moves += 1;
                self.trouble();
            }
            self.happens(event);
            self.wake();
        }
    }

    fn is_over(&self) -> bool {
        let gone = || {
            self.players
                .iter()
                .all(|player| matches!(player.place, Whereabouts::Gone(_) | Whereabouts::Outside))
        };
        self.agent.over || (self.lock().agent_gone && gone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().expect("nobody panics with it")
    }

    /// Injects the next fault.
    fn trouble(&mut self) {
        for trouble in &self.script.troubles {
            match *trouble {
                InjectedFault::Crash { who, after, exit } if after == self.moves => {
                    self.lock().tell(|| format!("part{who} crashes: {exit}"));
                    self.strike(who, exit, false);
                }
                InjectedFault::Stop { after } if after == self.moves && !self.lock().agent_gone => {
                    let shared = self.shared.clone();
                    self.agent.stop(&mut shared.lock().expect("nobody panics with it"));
                }
                InjectedFault::AgentDies { after } if after == self.moves => {
                    let mut shared = self.shared.lock().expect("nobody panics with it");
                    shared.tell(|| "the agent is killed".into());
                    shared.agent_gone = true;
                    // The death signal of the system ends the instances, mostly at once; the guard ends the
                    // others.
                    for who in 0..self.players.len() as u32 {
                        let at_once = shared.random.percent(50);
                        let delay = shared.random.scaled(if at_once { MS } else { 5000 * MS });
                        shared.post(delay, Event::Kills { who });
                    }
                }
                _ => {}
            }
        }
    }

    fn happens(&mut self, event: Event) {
        let shared = self.shared.clone();
        let dead = self.lock().agent_gone;
        match event {
            Event::Go { who, .. } | Event::TimeIsOver { who, .. } | Event::Starts { who }
                if self.is_stopped(who) =>
            {
                let (_, until) = self.script.manners[who as usize].stopped;
                let mut shared = self.lock();
                let rest = until.saturating_sub(shared.clock);
                shared.post(rest, event);
            }
            Event::Go { who, turn } => self.cue(who, turn, Cue::Go),
            Event::TimeIsOver { who, turn } => {
                if self.players[who as usize].turn == turn && !self.players[who as usize].awaited {
                    self.cue(who, turn, Cue::TimeIsOver);
                }
            }
            Event::Starts { who } => {
                let player = &self.players[who as usize];
                if player.place == Whereabouts::Outside {
                    let turn = player.turn;
                    self.cue(who, turn, Cue::Go);
                }
            }
            Event::Terminates { who } if self.script.manners[who as usize].dies_of_term => {
                self.strike(who, Exit::Signal(15), true);
            }
            Event::Terminates { .. } => {}
            Event::Kills { who } => self.strike(who, Exit::Signal(9), true),
            _ if dead => {}
            Event::Arrives { who } => {
                self.agent.arrives(who, &mut shared.lock().expect("nobody panics with it"))
            }
            Event::Clears { who } => self.agent.clears(who, &mut shared.lock().expect("nobody panics with it")),
            Event::Exits { who } => {
                let Whereabouts::Gone(exit) = self.players[who as usize].place else {
                    unreachable!("it is posted when it is gone")
                };
                let clean =
                    self.has_finished(who) && exit == Exit::Status(0) || self.players[who as usize].pushed;
                self.agent.exits(who, exit, clean, &mut shared.lock().expect("nobody panics with it"));
            }
            Event::GraceEnds => self.agent.grace_ends(&mut shared.lock().expect("nobody panics with it")),
            Event::Reads { who } => self.agent.reads(who, &mut shared.lock().expect("nobody panics with it")),
            Event::Wishes => self.agent.wishes(&mut shared.lock().expect("nobody panics with it")),
            Event::Answers => self.agent.takes_answers(&mut shared.lock().expect("nobody panics with it")),
            Event::Dooms => self.agent.dooms(&mut shared.lock().expect("nobody panics with it")),
        }
    }

    /// Returns true if an instance's process is stopped. A process that is to end is continued.
    fn is_stopped(&self, who: u32) -> bool {
        let (from, until) = self.script.manners[who as usize].stopped;
        let shared = self.lock();
        (from..until).contains(&shared.clock) && !shared.ending && !shared.agent_gone
    }

    fn has_finished(&self, who: u32) -> bool {
        self.results[who as usize].lock().expect("nobody panics with it").finished
    }

    /// Lets an instance go on until it passes the move on.
    fn cue(&mut self, who: u32, turn: u64, cue: Cue) {
        let player = &mut self.players[who as usize];
        if player.turn != turn || matches!(player.place, Whereabouts::Gone(_)) {
            return;
        }
        player.turn += 1;
        player.awaited = false;
        player.cue.send(cue).expect("its thread waits");
        let (whose, why) = self.handovers.recv().expect("its thread does not end");
        assert_eq!(whose, who, "only one moves at a time");
        let mut shared = self.shared.lock().expect("nobody panics with it");
        let clock = shared.clock;
        shared.note(&[3, u64::from(who), clock]);
        let turn = player.turn;
        player.place = Whereabouts::Waits(why);
        match why {
            Handover::Pauses(ns) => shared.post(ns, Event::Go { who, turn }),
            Handover::Sleeps { at_most, .. } => {
                shared.post(at_most, Event::TimeIsOver { who, turn });
                // A signal ends a sleep, although no bell has rung.
                if self.script.manners[who as usize].interrupted > 0 && shared.random.percent(20) {
                    let delay = shared.delay();
                    shared.post(delay, Event::Go { who, turn });
                }
            }
            Handover::Listens => {}
            Handover::Ended(ending) => {
                let exit = match ending {
                    ProcessEnd::Status(status) => Exit::Status(status),
                    // The caller that ended the process has stored how.
                    ProcessEnd::Struck => Exit::Signal(6),
                };
                drop(shared);
                self.is_gone(who, exit);
            }
        }
    }

    /// Ends an instance's process as a signal does.
    fn strike(&mut self, who: u32, exit: Exit, pushed: bool) {
        let player = &mut self.players[who as usize];
        if matches!(player.place, Whereabouts::Gone(_)) {
            return;
        }
        player.pushed = pushed;
        player.cue.send(Cue::Strike).expect("its thread waits");
        let (whose, why) = self.handovers.recv().expect("its thread does not end");
        assert!(whose == who && matches!(why, Handover::Ended(_)), "{why:?}");
        self.is_gone(who, exit);
    }

    /// The process has ended. The agent sees the closed connection and the end of the process, in any order.
    fn is_gone(&mut self, who: u32, exit: Exit) {
        self.players[who as usize].place = Whereabouts::Gone(exit);
        let told = self.results[who as usize].lock().expect("nobody panics with it").told;
        self.players[who as usize].pushed |= told;
        let mut shared = self.lock();
        shared.tell(|| format!("part{who} is gone: {exit}"));
        shared.up[who as usize].push_back(Upward::Closed);
        let (first, second) = (shared.delay(), shared.delay());
        shared.post(first, Event::Arrives { who });
        shared.post(second, Event::Exits { who });
    }

    /// Schedules each instance that sleeps and whose bell has rung, or that waits for a frame and has one.
    fn wake(&mut self) {
        let mut shared = self.shared.lock().expect("nobody panics with it");
        for (who, player) in self.players.iter_mut().enumerate() {
            let Whereabouts::Waits(why) = player.place else { continue };
            let ready = match why {
                Handover::Sleeps { seen, .. } => {
                    let bell = self.agent.custody.board().doorbell(EndpointId::at(who));
                    bell.expect("the board has a line for each").has_rung(seen)
                }
                Handover::Listens => !shared.down[who].is_empty() || shared.closed[who] || shared.agent_gone,
                _ => false,
            };
            if ready && !player.awaited {
                player.awaited = true;
                let slowness = self.script.manners[who].slowness;
                let delay = shared.random.scaled(60_000) * slowness;
                shared.post(delay, Event::Go { who: who as u32, turn: player.turn });
            }
        }
    }

    fn account(&mut self, seed: u64) -> Account {
        let progress: Vec<Progress> =
            self.results.iter().map(|result| result.lock().expect("nobody panics with it").clone()).collect();
        let mut shared = self.shared.lock().expect("nobody panics with it");
        let complete = shared.wrong.is_empty();
        if complete {
            let wrong = verdict::of(self.script, &mut self.agent, &progress, shared.agent_gone);
            wrong.into_iter().for_each(|words| shared.accuse(words));
        }
        Account {
            seed,
            wrong: std::mem::take(&mut shared.wrong),
            story: shared.story.take().unwrap_or_default(),
            digest: shared.digest,
            received: progress.iter().flat_map(|p| &p.channels).map(|passed| passed.received as u64).sum(),
            moves: self.moves,
            end: if shared.agent_gone { "agent gone" } else { verdict::name(self.agent.core.ending()) },
            troubles: self.script.troubles.len(),
            grown: self.agent.manager.grown(),
            ranks: self.script.plan.instances.iter().filter(|instance| instance.ranks.is_some()).count(),
            slept_out: shared.slept_out,
        }
    }

    /// Ends all threads.
    fn clear_the_stage(self) {
        for player in &self.players {
            if !matches!(player.place, Whereabouts::Gone(_)) {
                player.cue.send(Cue::Strike).expect("its thread waits");
                let _ = self.handovers.recv();
            }
        }
    }
}
