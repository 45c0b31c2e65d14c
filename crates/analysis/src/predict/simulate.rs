//! Plays the run of a model under a virtual clock. Each instance goes through the execution loop: F_INIT;
//! steps of O_I, S and computing; O_F. The instance computes for the time that its costs give, on cores
//! that it shares with other instances. The instance waits if a message, or room for a message, is missing.

use super::costs::{Effort, FittedCosts, Load};
use super::path::{CriticalPath, Record};
use super::processors::{Processors, Seconds};
use ligament_catalogue::{fault, Fault};
use ligament_model::{Operator, ResolvedModel};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Maximum number of steps and messages that are played.
const MAX_EVENTS: u64 = 10_000_000;
/// Maximum duration of a run in s, about a thousand years.
const MAX_RUN_S: f64 = 3.2e10;
/// Budget of a conduit in bytes, if the model does not set a budget.
const DEFAULT_BUDGET_BYTES: u64 = 64 << 20;
/// Size that each message takes of the budget in addition to its body, in bytes.
const MESSAGE_COST_BYTES: f64 = 320.0;
/// Tolerance for rounding errors in the product of a whole number and a rate.
const ROUNDING: f64 = 1e-6;

/// The machines on which a run is played.
#[derive(Debug, Clone)]
pub(super) struct PlayedMachines {
    /// Number of cores of each machine.
    pub machines: Vec<f64>,
    /// Index of the machine of each instance.
    pub of: Vec<u32>,
}

/// The work of an instance. All times are in s.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct InstanceWork {
    pub begins: f64,
    pub ends: f64,
    /// Time that the work would take if no other instance used the same cores.
    pub work: f64,
    pub waiting: f64,
    pub passes: u64,
    pub sent: u64,
    pub received: u64,
}

/// The traffic of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct PlayedTraffic {
    pub messages: u64,
    /// Maximum number of messages that were sent and not received yet.
    pub most: u64,
}

/// The result of a played run.
#[derive(Debug)]
pub(super) struct PlayOutcome {
    /// Duration of the run until the last instance has ended and the run is closed, in s.
    pub duration: f64,
    pub did: Vec<InstanceWork>,
    pub passed: Vec<PlayedTraffic>,
    pub path: CriticalPath,
    /// Number of steps and messages that were played.
    pub operations: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum PlayerPhase {
    Setup,
    Init,
    Observe,
    Solve,
    Final,
    Teardown,
    Ended,
}

/// The resource that an instance waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MissingResource {
    Message(u32),
    Room(u32),
}

/// The progress of an instance that has waited for a message on its way back to a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wakes {
    No,
    /// The processor is busy with waking the instance.
    Now,
    Done,
}

#[derive(Debug)]
struct Player<'a> {
    effort: &'a Effort,
    cores: f64,
    processors: u32,
    /// Channels on which the instance receives before a pass (`init`), receives in a step (`solve`), sends
    /// in a step (`observe`), and sends after a pass (`last`).
    init: Vec<u32>,
    solve: Vec<u32>,
    observe: Vec<u32>,
    last: Vec<u32>,
    phase: PlayerPhase,
    /// Time at which the present computing began, and its work in s. `None` if the instance does not
    /// compute.
    computes: Option<(f64, f64)>,
    wakes: Wakes,
    /// Position within the phase: index of the channel, and number of this channel's messages that are
    /// done.
    cursor: (usize, u64),
    /// Number of steps in this pass (`step`), and in all passes (`steps`).
    step: u64,
    steps: u64,
    lack: Option<(MissingResource, f64)>,
    cause: Record,
    did: InstanceWork,
}

#[derive(Debug)]
struct PlayedMessage {
    sent: f64,
    arrives: f64,
    cause: Record,
}

#[derive(Debug)]
struct Pipe<'a> {
    load: &'a Load,
    from: u32,
    to: u32,
    latency: f64,
    /// Processor time until a receiver that has waited continues, in s.
    switch: f64,
    /// The two machines, if the channel joins different machines.
    link: Option<(u32, u32)>,
    room: usize,
    queue: VecDeque<PlayedMessage>,
    closed: bool,
    passed: PlayedTraffic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlayedEvent {
    Wake(u32),
    /// A task is done on these processors. The event only counts if the processors' stamp still has this
    /// value.
    Computed(u32, u64),
}

struct Playback<'a> {
    model: &'a ResolvedModel,
    fitted: &'a FittedCosts,
    now: f64,
    players: Vec<Player<'a>>,
    pipes: Vec<Pipe<'a>>,
    processors: Vec<Processors>,
    stamps: Vec<u64>,
    /// Time until which earlier messages occupy the link between two machines, in s.
    links: HashMap<(u32, u32), f64>,
    events: BinaryHeap<Reverse<(Seconds, PlayedEvent)>>,
    path: CriticalPath,
    done: u64,
}

/// Plays a run.
///
/// # Errors
/// The run is too long to be played, or comes to a stop.
pub(super) fn simulate(
    model: &ResolvedModel,
    fitted: &FittedCosts,
    place: &PlayedMachines,
) -> Result<PlayOutcome, Fault> {
    let mut play = Playback::new(model, fitted, place);
    play.run()?;
    let ends = play.players.iter().map(|player| player.did.ends);
    let last =
        (0..play.players.len()).max_by(|&a, &b| play.players[a].did.ends.total_cmp(&play.players[b].did.ends));
    let duration = ends.fold(0.0, f64::max) + fitted.common.end;
    let operations = play.done;
    let mut path = play.path;
    if let Some(last) = last {
        path.ends_with(play.players[last].cause);
    }
    Ok(PlayOutcome {
        duration,
        did: play.players.into_iter().map(|player| player.did).collect(),
        passed: play.pipes.into_iter().map(|pipe| pipe.passed).collect(),
        path,
        operations,
    })
}

/// Returns the number of messages that are sent until the end of an operation. The first operation has
/// number 0. The number is rounded up, so messages are sent early.
fn sent_by(operation: u64, rate: f64) -> u64 {
    ((operation + 1) as f64 * rate - ROUNDING).ceil().max(0.0) as u64
}

/// Returns the number of messages that are received until the end of an operation. The number is rounded
/// down, so that no instance waits for a message that is not needed yet.
fn received_by(operation: u64, rate: f64) -> u64 {
    ((operation + 1) as f64 * rate + ROUNDING).floor().max(0.0) as u64
}

/// Returns the number of messages that belong to this operation, according to the function `by`.
fn in_this(operation: u64, rate: f64, by: fn(u64, f64) -> u64) -> u64 {
    let before = operation.checked_sub(1).map_or(0, |before| by(before, rate));
    by(operation, rate).saturating_sub(before)
}

/// Returns true for each machine on which the instances want more cores than the machine has.
fn crowded(players: &[Player<'_>], machines: &[f64]) -> Vec<bool> {
    let mut wanted = vec![0.0; machines.len()];
    for player in players {
        if let Some(wanted) = wanted.get_mut(player.processors as usize) {
            *wanted += player.cores;
        }
    }
    wanted.iter().zip(machines).map(|(wanted, cores)| wanted > cores).collect()
}

impl<'a> Playback<'a> {
    fn new(model: &'a ResolvedModel, fitted: &'a FittedCosts, place: &PlayedMachines) -> Playback<'a> {
        let mut processors: Vec<Processors> =
            place.machines.iter().map(|&cores| Processors::new(cores)).collect();
        let mut light: HashMap<String, u32> = HashMap::new();
        let mut path = CriticalPath::default();
        let mut players: Vec<Player<'a>> = Vec::new();
        for (at, (instance, effort)) in (0u32..).zip(model.instances.iter().zip(&fitted.efforts)) {
            let mut own = place.of[at as usize];
            if let Some(program) = model.light_program(at) {
                own = *light.entry(program.to_string()).or_insert_with(|| {
                    processors.push(Processors::new(1.0));
                    processors.len() as u32 - 1
                });
            }
            let cores = f64::from(instance.resources.cores_on_node().max(1));
            players.push(Player {
                effort,
                // Cores beyond those of the machine do not help.
                cores: cores.min(place.machines[place.of[at as usize] as usize]).max(1.0),
                processors: own,
                init: Vec::new(),
                solve: Vec::new(),
                observe: Vec::new(),
                last: Vec::new(),
                phase: PlayerPhase::Setup,
                computes: None,
                wakes: Wakes::No,
                cursor: (0, 0),
                step: 0,
                steps: 0,
                lack: None,
                cause: path.starts(at, effort.start),
                did: InstanceWork { begins: effort.start, ..InstanceWork::default() },
            });
        }
        let crowded = crowded(&players, &place.machines);
        let mut pipes = Vec::new();
        for (number, (channel, load)) in (0u32..).zip(model.channels.iter().zip(&fitted.loads)) {
            let (from, to) = (channel.from.instance, channel.to.instance);
            let ends = (place.of[from as usize], place.of[to as usize]);
            let link = (ends.0 != ends.1).then_some(ends);
            let (latency, switch) = match (link, crowded.get(players[to as usize].processors as usize)) {
                (Some(_), _) => (fitted.common.network_latency, 0.0),
                // An instance that waits has no core. On a crowded machine, the time until it continues is
                // spent in the kernel, on a core that other instances want.
                (None, Some(true)) => (0.0, fitted.common.latency),
                (None, _) => (fitted.common.latency, 0.0),
            };
            let budget = channel.budget.or(model.ligament.budget).unwrap_or(DEFAULT_BUDGET_BYTES) as f64;
            let room = ((budget / (load.bytes + MESSAGE_COST_BYTES)) as usize).max(1);
            let passed = PlayedTraffic::default();
            pipes.push(Pipe {
                load,
                from,
                to,
                latency,
                switch,
                link,
                room,
                queue: VecDeque::new(),
                closed: false,
                passed,
            });
            let sender = &mut players[from as usize];
            match model.port(channel.from).operator {
                Operator::OI => sender.observe.push(number),
                _ => sender.last.push(number),
            }
            let receiver = &mut players[to as usize];
            match model.port(channel.to).operator {
                Operator::S => receiver.solve.push(number),
                _ => receiver.init.push(number),
            }
        }
        let events = (0u32..)
            .zip(&players)
            .map(|(at, player)| Reverse((Seconds(player.effort.start), PlayedEvent::Wake(at))));
        let events = events.collect();
        let stamps = vec![0; processors.len()];
        let links = HashMap::new();
        Playback { model, fitted, now: 0.0, players, pipes, processors, stamps, links, events, path, done: 0 }
    }

    fn run(&mut self) -> Result<(), Fault> {
        while let Some(Reverse((Seconds(at), event))) = self.events.pop() {
            self.now = self.now.max(at);
            match event {
                PlayedEvent::Wake(who) => self.advance(who)?,
                PlayedEvent::Computed(which, stamp) if self.stamps[which as usize] == stamp => {
                    let players = &self.players;
                    let cores_of = |who: u32| players[who as usize].cores;
                    if let Some(who) = self.processors[which as usize].end(self.now, cores_of) {
                        self.look_at(which);
                        self.computed(who);
                        self.advance(who)?;
                    }
                }
                PlayedEvent::Computed(..) => {}
            }
        }
        if self.now > MAX_RUN_S {
            return Err(fault!(
                CANNOT_PREDICT,
                "with these costs the run would take {:e} s; give costs in seconds",
                self.now
            ));
        }
        self.all_have_ended()
    }

    /// Counts one more operation. Fails if the maximum is exceeded.
    fn count(&mut self) -> Result<(), Fault> {
        self.done += 1;
        if self.done <= MAX_EVENTS {
            return Ok(());
        }
        Err(fault!(
            CANNOT_PREDICT,
            "the run has more than {MAX_EVENTS} steps and messages, of which {:.3} s are played by then; \
             predict one of fewer steps, whose time grows with their number",
            self.now
        ))
    }

    /// Schedules the event for the next task that will be done on these processors.
    fn look_at(&mut self, which: u32) {
        self.stamps[which as usize] += 1;
        if let Some(next) = self.processors[which as usize].next() {
            self.events
                .push(Reverse((Seconds(next), PlayedEvent::Computed(which, self.stamps[which as usize]))));
        }
    }

    fn wake(&mut self, who: u32, at: f64) {
        self.events.push(Reverse((Seconds(at), PlayedEvent::Wake(who))));
    }

    /// Begins to compute. Returns true if there is anything to compute.
    fn compute(&mut self, who: u32, work: f64) -> Result<bool, Fault> {
        if work <= 0.0 {
            return Ok(false);
        }
        self.count()?;
        let player = &mut self.players[who as usize];
        player.computes = Some((self.now, work));
        player.did.work += work;
        let which = player.processors;
        let cores = player.cores;
        self.processors[which as usize].begin(self.now, who, work, cores);
        self.look_at(which);
        Ok(true)
    }

    fn computed(&mut self, who: u32) {
        let now = self.now;
        let player = &mut self.players[who as usize];
        let Some((began, work)) = player.computes.take() else { return };
        if player.wakes == Wakes::Now {
            player.wakes = Wakes::Done;
        } else {
            player.cause = self.path.computes(who, player.cause, now - began, work);
        }
    }

    /// Advances an instance as far as possible.
    fn advance(&mut self, who: u32) -> Result<(), Fault> {
        if self.players[who as usize].computes.is_some() {
            return Ok(());
        }
        loop {
            let player = &self.players[who as usize];
            let effort = player.effort;
            let (next, work) = match player.phase {
                PlayerPhase::Ended => return Ok(()),
                PlayerPhase::Teardown => return self.end(who),
                PlayerPhase::Setup => (PlayerPhase::Init, effort.setup),
                PlayerPhase::Init => {
                    let over = if player.init.is_empty() {
                        player.did.passes >= effort.passes
                    } else {
                        player.init.iter().all(|&pipe| self.pipes[pipe as usize].is_over())
                    };
                    match if over { ReceiveOutcome::Ended } else { self.receive_all(who)? } {
                        ReceiveOutcome::All => {
                            self.players[who as usize].step = 0;
                            (PlayerPhase::Observe, effort.pass)
                        }
                        ReceiveOutcome::Waits => return Ok(()),
                        ReceiveOutcome::Ended => {
                            self.has_waited(who);
                            (PlayerPhase::Teardown, effort.teardown)
                        }
                    }
                }
                PlayerPhase::Observe => {
                    let is_done = match effort.steps {
                        Some(steps) => player.step >= steps,
                        // The pass has steps until no more messages can arrive.
                        None => player.solve.iter().all(|&pipe| self.pipes[pipe as usize].is_over()),
                    };
                    if is_done {
                        (PlayerPhase::Final, 0.0)
                    } else if self.send_all(who)? {
                        (PlayerPhase::Solve, 0.0)
                    } else {
                        return Ok(());
                    }
                }
                PlayerPhase::Solve => {
                    if let ReceiveOutcome::Waits = self.receive_all(who)? {
                        return Ok(());
                    }
                    let player = &mut self.players[who as usize];
                    player.step += 1;
                    player.steps += 1;
                    (PlayerPhase::Observe, effort.step)
                }
                PlayerPhase::Final => {
                    if !self.send_all(who)? {
                        return Ok(());
                    }
                    self.players[who as usize].did.passes += 1;
                    (PlayerPhase::Init, 0.0)
                }
            };
            let player = &mut self.players[who as usize];
            player.phase = next;
            player.cursor = (0, 0);
            // The step is counted so that a loop without work also reaches the maximum and ends.
            self.count()?;
            if self.compute(who, work)? {
                return Ok(());
            }
        }
    }

    /// Sends all messages that are due in this phase. Returns true if the conduits had room for all of
    /// them.
    fn send_all(&mut self, who: u32) -> Result<bool, Fault> {
        loop {
            let player = &self.players[who as usize];
            let (pipes, operation) = match player.phase {
                PlayerPhase::Observe => (&player.observe, player.steps),
                _ => (&player.last, player.did.passes),
            };
            let Some(&number) = pipes.get(player.cursor.0) else { return Ok(true) };
            let pipe = &self.pipes[number as usize];
            if player.cursor.1 >= in_this(operation, pipe.load.sent, sent_by) {
                let cursor = player.cursor.0 + 1;
                self.players[who as usize].cursor = (cursor, 0);
                continue;
            }
            // A receiver that has ended accepts any number of messages.
            if pipe.queue.len() >= pipe.room && self.players[pipe.to as usize].phase != PlayerPhase::Ended {
                self.lacks(who, MissingResource::Room(number));
                return Ok(false);
            }
            self.count()?;
            self.got_room(who, number);
            self.send(who, number);
        }
    }

    fn send(&mut self, who: u32, number: u32) {
        let (now, common) = (self.now, &self.fitted.common);
        let pipe = &mut self.pipes[number as usize];
        let player = &mut self.players[who as usize];
        player.cursor.1 += 1;
        player.did.sent += 1;
        pipe.passed.messages += 1;
        let mut arrives = now + pipe.latency;
        if let Some(link) = pipe.link {
            let busy = self.links.entry(link).or_insert(0.0);
            *busy = busy.max(now) + pipe.load.bytes / common.bandwidth;
            arrives = *busy + pipe.latency;
        }
        let to = pipe.to;
        if self.players[to as usize].phase == PlayerPhase::Ended {
            return;
        }
        let cause = self.players[who as usize].cause;
        pipe.queue.push_back(PlayedMessage { sent: now, arrives, cause });
        pipe.passed.most = pipe.passed.most.max(pipe.queue.len() as u64);
        if matches!(self.players[to as usize].lack,
            Some((MissingResource::Message(waited), _)) if waited == number)
        {
            self.wake(to, arrives);
        }
    }

    /// Receives all messages that are due in this phase.
    fn receive_all(&mut self, who: u32) -> Result<ReceiveOutcome, Fault> {
        loop {
            let player = &self.players[who as usize];
            let starts = player.phase == PlayerPhase::Init;
            let (pipes, operation) =
                if starts { (&player.init, player.did.passes) } else { (&player.solve, player.steps) };
            let Some(&number) = pipes.get(player.cursor.0) else { return Ok(ReceiveOutcome::All) };
            let pipe = &self.pipes[number as usize];
            let due = in_this(operation, pipe.load.received, received_by);
            let ready = pipe.queue.front().map(|message| message.arrives);
            match ready {
                _ if player.cursor.1 >= due => {
                    let cursor = player.cursor.0 + 1;
                    self.players[who as usize].cursor = (cursor, 0);
                }
                Some(at) if at <= self.now => {
                    self.count()?;
                    if self.wakes_up(who, number) {
                        return Ok(ReceiveOutcome::Waits);
                    }
                    self.receive(who, number);
                }
                Some(at) => {
                    self.lacks(who, MissingResource::Message(number));
                    self.wake(who, at);
                    return Ok(ReceiveOutcome::Waits);
                }
                None if pipe.closed => {
                    self.has_waited(who);
                    if starts {
                        return Ok(ReceiveOutcome::Ended);
                    }
                    // No more messages arrive on this channel. The rest of the loop continues without this
                    // channel.
                    let cursor = self.players[who as usize].cursor.0 + 1;
                    self.players[who as usize].cursor = (cursor, 0);
                }
                None => {
                    self.lacks(who, MissingResource::Message(number));
                    return Ok(ReceiveOutcome::Waits);
                }
            }
        }
    }

    /// Returns true if an instance that has waited for a message must first be woken on a processor. In
    /// this case the waking begins.
    fn wakes_up(&mut self, who: u32, number: u32) -> bool {
        let work = self.pipes[number as usize].switch;
        let player = &mut self.players[who as usize];
        let waited = matches!(player.lack, Some((MissingResource::Message(lacked), _)) if lacked == number);
        let begins = work > 0.0 && waited && player.wakes != Wakes::Done;
        player.wakes = if begins { Wakes::Now } else { Wakes::No };
        if begins {
            player.computes = Some((self.now, work));
            let (which, cores) = (player.processors, player.cores);
            self.processors[which as usize].begin(self.now, who, work, cores);
            self.look_at(which);
        }
        begins
    }

    fn receive(&mut self, who: u32, number: u32) {
        let pipe = &mut self.pipes[number as usize];
        let from = pipe.from;
        if let Some(message) = pipe.queue.pop_front() {
            let player = &mut self.players[who as usize];
            player.cursor.1 += 1;
            player.did.received += 1;
            if let Some((MissingResource::Message(_), since)) = player.lack {
                if message.arrives > since {
                    player.cause = self.path.carries(number, message.cause, self.now - message.sent);
                }
            }
        }
        self.has_waited(who);
        if matches!(self.players[from as usize].lack,
            Some((MissingResource::Room(waited), _)) if waited == number)
        {
            self.wake(from, self.now);
        }
    }

    fn lacks(&mut self, who: u32, lack: MissingResource) {
        let now = self.now;
        let player = &mut self.players[who as usize];
        let since = player.lack.map_or(now, |(_, since)| since);
        player.lack = Some((lack, since));
    }

    fn has_waited(&mut self, who: u32) {
        let now = self.now;
        let player = &mut self.players[who as usize];
        if let Some((_, since)) = player.lack.take() {
            player.did.waiting += now - since;
        }
    }

    /// If the sender has waited for room, the receiver becomes the cause of the sender's next activity.
    fn got_room(&mut self, who: u32, number: u32) {
        if matches!(self.players[who as usize].lack, Some((MissingResource::Room(_), _))) {
            let receiver = self.pipes[number as usize].to;
            self.players[who as usize].cause = self.players[receiver as usize].cause;
            self.has_waited(who);
        }
    }

    fn end(&mut self, who: u32) -> Result<(), Fault> {
        self.has_waited(who);
        let player = &mut self.players[who as usize];
        player.phase = PlayerPhase::Ended;
        player.did.ends = self.now;
        let mut concerned = Vec::new();
        let player = &self.players[who as usize];
        for &number in player.observe.iter().chain(&player.last) {
            let pipe = &mut self.pipes[number as usize];
            pipe.closed = true;
            concerned.push((pipe.to, MissingResource::Message(number)));
        }
        for &number in player.init.iter().chain(&player.solve) {
            let pipe = &mut self.pipes[number as usize];
            pipe.queue.clear();
            concerned.push((pipe.from, MissingResource::Room(number)));
        }
        for (other, lack) in concerned {
            if matches!(self.players[other as usize].lack, Some((waited, _)) if waited == lack) {
                // The end of this instance is the cause of the other instance's next activity.
                self.players[other as usize].cause = self.players[who as usize].cause;
                self.wake(other, self.now);
            }
        }
        Ok(())
    }

    /// # Errors
    /// An instance still waits, and no instance is left that could end this wait.
    fn all_have_ended(&self) -> Result<(), Fault> {
        let waits: Vec<String> = self
            .players
            .iter()
            .enumerate()
            .filter_map(|(at, player)| {
                let name = &self.model.instances[at].name;
                match player.lack.filter(|_| player.phase != PlayerPhase::Ended)?.0 {
                    MissingResource::Message(pipe) => {
                        let from = self.model.end_name(self.model.channels[pipe as usize].from);
                        Some(format!("{name} waits for {from}"))
                    }
                    MissingResource::Room(pipe) => {
                        let to = self.model.end_name(self.model.channels[pipe as usize].to);
                        Some(format!("{name} waits until {to} is read"))
                    }
                }
            })
            .take(4)
            .collect();
        if waits.is_empty() {
            Ok(())
        } else {
            Err(fault!(
                CANNOT_PREDICT,
                "with these costs the run would stop after {:.3} s: {}; \"ligament check\" knows of deadlocks, \
                 and the numbers of steps and messages in the costs must fit each other",
                self.now,
                waits.join(", ")
            ))
        }
    }
}

impl Pipe<'_> {
    /// Returns true if no more messages arrive on this channel.
    fn is_over(&self) -> bool {
        self.closed && self.queue.is_empty()
    }
}

enum ReceiveOutcome {
    All,
    Waits,
    /// The sender has ended before all messages were received.
    Ended,
}
