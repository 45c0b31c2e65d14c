//! Schedules of steering. Instances make steps, some of them in passes of several steps, and some together in
//! one process; they wait for each other as coupled ones do. There are changes, halts, withdrawals and
//! timeouts; lines are cut, instances end, and one crashes. The logic of the head and of the endpoints is the
//! real one. The rule: each instance that a change concerns makes it in its first step, or pass, at or after
//! one model time; or no instance makes it. Meanwhile checkpoints are asked for (`saving`).

mod saving;

use crate::random::Random;
use ligament_agent::AgentOrder;
use ligament_manager::saves::SaveRequests;
use ligament_manager::steering::{Proposal, RankAnswer, Steering, SteeringAction};
use ligament_shm::steering::{Gate, SteeringState as Endpoint};
use ligament_wire::steering::{Matter, Steer, Steers};
use ligament_wire::RankId;
use saving::SavedMoments;
use std::collections::{BTreeMap, VecDeque};

/// The result of a schedule.
#[derive(Debug, Default)]
pub struct Account {
    /// The broken rules.
    pub wrong: Vec<String>,
    pub agreed: usize,
    /// Number of these that change settings which are read once a pass, and number of halts that some instance
    /// did not hear of before.
    pub once_a_pass: usize,
    pub unsteered: usize,
    pub refused: usize,
    pub steps: usize,
    /// Number of requests for a checkpoint that all have saved for, and of times that were given up.
    pub whole: usize,
    pub given_up: usize,
    pub story: Vec<String>,
}

enum Up {
    Says(u64, Steers),
    Finished,
}

/// One instance.
struct Member {
    rank: RankId,
    time: f64,
    step: f64,
    end: f64,
    /// Number of steps in a pass of its reuse loop; `None` if it has only one pass.
    pass: Option<u64>,
    /// Number of its steps, and true if the pass of the next step has begun.
    steps: u64,
    in_pass: bool,
    /// The last times at which it passed each of the two gates.
    passed: [f64; 2],
    over: bool,
    /// The changes that its settings show: those of steps, and those of passes.
    made: [Vec<u64>; 2],
    steers: bool,
    /// The moments for which it has saved, and the last time at which it asked.
    saved: Vec<f64>,
    asked_at: f64,
}

impl Member {
    /// The gate that the member comes to next.
    fn gate(&self) -> Gate {
        match self.pass {
            Some(pass) if self.steps % pass == 0 && !self.in_pass => Gate::Pass,
            _ => Gate::Step,
        }
    }

    /// Returns the last time at which it passed the gate that matters for a change.
    fn passed(&self, matter: &Matter) -> f64 {
        match matter {
            Matter::Set { .. } => self.passed[gate_of(matter) as usize],
            Matter::Halt => self.passed[0].max(self.passed[1]),
            Matter::Save => self.asked_at,
        }
    }
}

/// Returns true if a time, which is a sum of steps, has come to another one. Each of the at most 120 additions
/// may have rounded it down.
fn has_come(time: f64, at: f64) -> bool {
    time >= at - 120.0 * f64::EPSILON * at.abs()
}

fn gate_of(matter: &Matter) -> Gate {
    match matter {
        Matter::Set { restart: true, .. } => Gate::Pass,
        _ => Gate::Step,
    }
}

/// A process with one instance or several, and the line to its agent.
struct Process {
    members: Vec<Member>,
    endpoint: Endpoint,
    /// The instances at each gate.
    at_gate: Option<(usize, Gate)>,
    turn: usize,
    up: VecDeque<Up>,
    down: VecDeque<(Steer, Vec<u32>)>,
    cut_until: u64,
    /// Number of its reports that the agent has already passed on, so that a cut of the agent's line does not
    /// delay them.
    told: usize,
    /// The agent's state: which instances have not yet made each change, and if the process has ended.
    asked: BTreeMap<u64, Vec<RankId>>,
    finished: bool,
}

struct World {
    random: Random,
    head: Steering,
    processes: Vec<Process>,
    now: u64,
    /// The proposed changes: the settings, and the instances that they concern.
    proposed: BTreeMap<u64, (Matter, Vec<RankId>)>,
    agreed: BTreeMap<u64, f64>,
    saves: SavedMoments,
    account: Account,
    told: bool,
}

fn name(rank: RankId) -> String {
    format!("i{rank}")
}

impl World {
    fn new(seed: u64, told: bool) -> World {
        let mut random = Random::new(seed ^ 0x5eed_57ee);
        let mut processes = Vec::new();
        let mut rank = 0;
        for _ in 0..random.between(1, 4) {
            let together = if random.percent(20) { random.between(2, 3) } else { 1 };
            let members = (0..together).map(|_| {
                rank += 1;
                let step = [0.125, 0.25, 0.5, 1.0, 0.1, 0.3][random.below(6) as usize];
                Member {
                    rank: RankId::new(rank - 1),
                    time: [0.0, 0.0, 1.0][random.below(3) as usize],
                    step,
                    end: random.between(1, 12) as f64,
                    pass: random.percent(50).then(|| random.between(1, 4)),
                    steps: 0,
                    in_pass: false,
                    passed: [f64::NEG_INFINITY; 2],
                    over: false,
                    made: [Vec::new(), Vec::new()],
                    steers: !random.percent(4),
                    saved: Vec::new(),
                    asked_at: f64::NEG_INFINITY,
                }
            });
            processes.push(Process {
                members: members.collect(),
                endpoint: Endpoint::default(),
                at_gate: None,
                turn: 0,
                up: VecDeque::new(),
                down: VecDeque::new(),
                cut_until: 0,
                told: 0,
                asked: BTreeMap::new(),
                finished: false,
            });
        }
        World {
            random,
            head: Steering::default(),
            processes,
            now: 0,
            proposed: BTreeMap::new(),
            agreed: BTreeMap::new(),
            saves: SavedMoments::default(),
            account: Account::default(),
            told,
        }
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.told {
            let line = format!("{:6}  {}", self.now, text());
            self.account.story.push(line);
        }
    }

    fn wrong(&mut self, text: String) {
        self.say(|| format!("WRONG: {text}"));
        self.account.wrong.push(text);
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        self.processes.iter().flat_map(|process| &process.members)
    }

    // --- the head ---

    fn take(&mut self, turns: Vec<SteeringAction>) {
        for turn in turns {
            self.say(|| format!("{turn:?}"));
            match turn {
                SteeringAction::Order(AgentOrder::Steer { ranks, steer }) => self.order(&ranks, &steer),
                SteeringAction::Order(other) => self.wrong(format!("the head orders {other:?}")),
                SteeringAction::Agreed { change, at } => {
                    self.account.agreed += 1;
                    self.agreed.insert(change, at);
                    let (matter, ranks) = self.proposed[&change].clone();
                    self.account.once_a_pass += usize::from(gate_of(&matter) == Gate::Pass);
                    if matter == Matter::Halt {
                        self.account.unsteered +=
                            usize::from(self.head.halt().is_some_and(|halt| !halt.unsteered.is_empty()));
                    }
                    let late: Vec<String> = (self.members())
                        .filter(|one| {
                            ranks.contains(&one.rank) && !one.over && has_come(one.passed(&matter), at)
                        })
                        .map(|one| {
                            format!("{} has passed {at} when change {change} is agreed on", name(one.rank))
                        })
                        .collect();
                    late.into_iter().for_each(|text| self.wrong(text));
                }
                SteeringAction::Refused { change, .. } => {
                    self.account.refused += 1;
                    if self.agreed.contains_key(&change) {
                        self.wrong(format!("change {change} is refused after all have agreed on it"));
                    }
                }
                SteeringAction::InForce { change } => {
                    let (matter, ranks) = self.proposed[&change].clone();
                    let gate = gate_of(&matter) as usize;
                    let missing: Vec<String> = (self.members())
                        .filter(|one| {
                            ranks.contains(&one.rank) && !one.over && !one.made[gate].contains(&change)
                        })
                        .map(|one| format!("change {change} is not in force in {}", name(one.rank)))
                        .collect();
                    missing.into_iter().for_each(|text| self.wrong(text));
                }
            }
        }
    }

    /// The part of the agents in an order (`agent/src/core/steering.rs`).
    fn order(&mut self, ranks: &[RankId], steer: &Steer) {
        for p in 0..self.processes.len() {
            let process = &mut self.processes[p];
            let places: Vec<u32> = (0u32..)
                .zip(&process.members)
                .filter(|(_, one)| ranks.contains(&one.rank))
                .map(|(place, _)| place)
                .collect();
            if places.is_empty() {
                continue;
            }
            let own = places.iter().map(|&place| process.members[place as usize].rank).collect();
            match steer {
                Steer::Prepare { change, .. } => drop(process.asked.insert(*change, own)),
                Steer::Withdraw { change } | Steer::Move { change, at: None } => {
                    drop(process.asked.remove(change))
                }
                Steer::Commit { .. } | Steer::Move { .. } => {}
            }
            match (process.finished, steer) {
                (true, Steer::Prepare { change, .. }) => process.up.push_back(Up::Says(*change, Steers::Over)),
                (true, _) => {}
                (false, _) => process.down.push_back((steer.clone(), places)),
            }
            // An instance that never calls `steer` gets a halt before its first step. Its agent sees by itself
            // that it has told it.
            let halt = match steer {
                Steer::Prepare { change, matter: Matter::Halt, .. } => Some(*change),
                _ => None,
            };
            let is_told = process.cut_until <= self.now && !process.finished;
            if let Some(change) = halt.filter(|_| is_told && !process.endpoint.has_begun()) {
                process.told = process.down.len();
                process.up.push_back(Up::Says(change, Steers::Accepts { last: None, next: None }));
            }
        }
    }

    /// A report of a process reaches the head.
    fn hears(&mut self, p: usize) {
        let process = &mut self.processes[p];
        let says = match process.up.pop_front() {
            None => return,
            Some(Up::Says(change, answer)) => vec![(change, answer)],
            Some(Up::Finished) => {
                process.finished = true;
                process.asked.keys().map(|&change| (change, Steers::Over)).collect()
            }
        };
        for (change, answer) in says {
            let process = &mut self.processes[p];
            let ranks = match answer {
                Steers::Past { .. } | Steers::Made | Steers::Over => process.asked.remove(&change),
                _ => process.asked.get(&change).cloned(),
            };
            for rank in ranks.into_iter().flatten() {
                self.say(|| format!("{} says of {change}: {answer:?}", name(rank)));
                if SaveRequests::has(change) {
                    self.answers_a_save(RankAnswer { rank, change, answer: answer.clone() });
                    continue;
                }
                let turns =
                    self.head.answered(RankAnswer { rank, change, answer: answer.clone() }, self.now, &name);
                self.take(turns);
            }
        }
    }

    /// A user asks for a change.
    fn somebody_steers(&mut self) {
        let all: Vec<RankId> = self.members().map(|one| one.rank).collect();
        let furthest = self.members().map(|one| one.time).fold(0.0, f64::max);
        let at = match self.random.below(3) {
            0 => None,
            _ => Some((furthest * 8.0 + self.random.below(24) as f64 - 6.0) / 8.0),
        };
        let patience = self.random.between(20, 400);
        let turns = match self.random.below(10) {
            0 => self.head.withdraw(None, "somebody", self.now, &name).map(|(_, turns)| turns),
            1 => self.head.move_halt(None),
            2 => self.head.move_halt(at),
            3 => self.head.step().map(|(_, turns)| turns),
            4 => self.propose(Matter::Halt, all, at, patience),
            _ => {
                let mut ranks = all;
                let few = self.random.percent(40);
                let mut chosen = self.random.split();
                ranks.retain(|_| !few || chosen.percent(50));
                if ranks.is_empty() {
                    Ok(Vec::new())
                } else {
                    let restart = chosen.percent(30);
                    self.propose(Matter::Set { settings: Vec::new(), restart }, ranks, at, patience)
                }
            }
        };
        if let Ok(turns) = turns {
            self.take(turns);
        }
    }

    fn propose(
        &mut self,
        matter: Matter,
        ranks: Vec<RankId>,
        at: Option<f64>,
        patience: u64,
    ) -> Result<Vec<SteeringAction>, ligament_catalogue::Fault> {
        // The value of the setting is the number of the change.
        let number = self.proposed.keys().last().map_or(1, |last| last + 1);
        let matter = match matter {
            Matter::Set { restart, .. } => Matter::Set { settings: number.to_le_bytes().to_vec(), restart },
            matter => matter,
        };
        let proposed = (matter.clone(), ranks.clone());
        let proposal = Proposal { matter, ranks, at, patience, stops: false };
        // A change that is refused at once has no number.
        let (change, turns) = self.head.propose(proposal, self.now, &name)?;
        self.proposed.insert(number, proposed);
        if change != number {
            self.wrong(format!("change {number} has the number {change}"));
        }
        Ok(turns)
    }

    // --- the processes ---

    fn tell(&mut self, p: usize, told: Vec<(u64, Steers)>) {
        self.processes[p].up.extend(told.into_iter().map(|(change, answer)| Up::Says(change, answer)));
    }

    fn hear_agent(&mut self, p: usize) {
        while self.processes[p].cut_until <= self.now || self.processes[p].told > 0 {
            let Some((steer, members)) = self.processes[p].down.pop_front() else { break };
            self.processes[p].told = self.processes[p].told.saturating_sub(1);
            let told = self.processes[p].endpoint.hear(steer, &members);
            self.tell(p, told);
        }
    }

    /// A process acts: it goes to its next gate, or passes it.
    fn moves(&mut self, p: usize) {
        if let Some((place, gate)) = self.processes[p].at_gate {
            self.hear_agent(p);
            return self.goes_on(p, place, gate);
        }
        let process = &self.processes[p];
        let Some(place) = (0..process.members.len())
            .map(|offset| (process.turn + offset) % process.members.len())
            .find(|&place| !process.members[place].over)
        else {
            return;
        };
        let member = &process.members[place];
        let (time, steers, gate) = (member.time, member.steers, member.gate());
        // Coupled instances stay close to each other. An instance that waits for others still gets messages of
        // its agent.
        let slowest = self.members().filter(|one| !one.over).map(|one| one.time).fold(f64::INFINITY, f64::min);
        if time > slowest + 2.0 {
            self.processes[p].turn = (place + 1) % self.processes[p].members.len();
            return self.hear_agent(p);
        }
        if !steers {
            return self.has_passed(p, place);
        }
        let told = self.processes[p].endpoint.arrives(place as u32, gate, time);
        self.tell(p, told);
        self.hear_agent(p);
        self.processes[p].at_gate = Some((place, gate));
        self.goes_on(p, place, gate);
    }

    fn goes_on(&mut self, p: usize, place: usize, gate: Gate) {
        if self.processes[p].endpoint.waits_for().is_some() {
            return;
        }
        let (settings, told) = self.processes[p].endpoint.leaves();
        self.tell(p, told);
        self.processes[p].at_gate = None;
        let member = &mut self.processes[p].members[place];
        let made = &mut member.made[gate as usize];
        for body in settings {
            made.push(u64::from_le_bytes(body[..8].try_into().expect("eight bytes")));
        }
        let (rank, time, made) = (member.rank, member.time, made.clone());
        self.say(|| format!("{} goes on at {time}, in its {gate:?}, with {made:?}", name(rank)));
        self.check(rank, gate, time, &made);
        let member = &mut self.processes[p].members[place];
        let passed = &mut member.passed[gate as usize];
        *passed = passed.max(time);
        if gate == Gate::Pass {
            // All instances make their first step at the same time.
            member.in_pass = true;
            return;
        }
        self.has_passed(p, place);
    }

    fn has_passed(&mut self, p: usize, place: usize) {
        self.account.steps += 1;
        self.saves_if_due(p, place);
        let many = self.processes[p].members.len();
        let process = &mut self.processes[p];
        let member = &mut process.members[place];
        member.time += member.step;
        member.steps += 1;
        member.in_pass = false;
        if member.time > member.end {
            member.over = true;
            let told = process.endpoint.over(place as u32);
            process.turn = (place + 1) % many;
            let done = process.members.iter().all(|one| one.over);
            self.tell(p, told);
            if done {
                self.processes[p].up.push_back(Up::Finished);
            }
        } else {
            process.turn = (place + 1) % many;
        }
    }

    /// A process crashes, and the run goes on without it. Its earlier reports still arrive.
    fn falls(&mut self, p: usize) {
        self.say(|| format!("process {p} crashes"));
        let process = &mut self.processes[p];
        if process.members.iter().all(|one| one.over) {
            return;
        }
        process.at_gate = None;
        process.members.iter_mut().for_each(|one| one.over = true);
        process.up.push_back(Up::Finished);
    }

    /// Returns true if exactly those changes are in force that were agreed on for this time or an earlier one.
    fn check(&mut self, rank: RankId, gate: Gate, time: f64, made: &[u64]) {
        let due: Vec<u64> = (self.proposed.iter())
            .filter(|(change, (matter, ranks))| {
                let is_due = self.agreed.get(change).is_some_and(|&at| has_come(time, at));
                is_due && *matter != Matter::Halt && gate_of(matter) == gate && ranks.contains(&rank)
            })
            .map(|(&change, _)| change)
            .collect();
        let mut sorted = made.to_vec();
        sorted.sort_unstable();
        if sorted != due {
            self.wrong(format!("{} at {time} has made {made:?}, and {due:?} were agreed on", name(rank)));
        }
        if let Some(at) = self.head.halt().map(|halt| halt.at).filter(|&at| has_come(time, at)) {
            self.wrong(format!("{} goes on at {time} behind the halt at {at}", name(rank)));
        }
    }

    fn play(&mut self) {
        let moves = self.random.between(200, 3000);
        let crash = self.random.percent(15).then(|| self.random.below(moves));
        let falls = self.random.percent(15).then(|| self.random.below(moves));
        for i in 0..moves {
            self.now += 1;
            if crash == Some(i) {
                // The run ends. No instance that is still alive makes a step that breaks a rule, and its
                // reports still reach the head.
                let turns = self.head.run_ends();
                self.take(turns);
                self.saves_end();
                let agreed = self.agreed.len();
                for _ in 0..200 {
                    self.now += 1;
                    let p = self.random.below(self.processes.len() as u64) as usize;
                    match self.random.below(3) {
                        0 => self.hears(p),
                        1 => self.moves(p),
                        _ => {
                            self.tick();
                        }
                    }
                }
                if self.agreed.len() != agreed {
                    self.wrong("something was agreed on in a run that ends".to_owned());
                }
                return;
            }
            let p = self.random.below(self.processes.len() as u64) as usize;
            if falls == Some(i) {
                self.falls(p);
            }
            match self.random.below(100) {
                0..3 => self.somebody_steers(),
                3..5 => self.tick(),
                94..96 => self.somebody_saves(),
                5 => self.processes[p].cut_until = self.now + self.random.between(10, 300),
                6..40 if self.processes[p].cut_until <= self.now => self.hears(p),
                _ => self.moves(p),
            }
        }
        self.ends();
    }

    fn tick(&mut self) {
        let turns = self.head.tick(self.now, &name);
        self.take(turns);
        self.tick_saves();
    }

    /// No more changes are asked for, and all lines work: every instance reaches its end.
    fn ends(&mut self) {
        self.processes.iter_mut().for_each(|process| process.cut_until = 0);
        for _ in 0..20_000 {
            if self.members().all(|one| one.over) {
                self.saves_end();
                return;
            }
            self.now += 50;
            self.tick();
            if let Ok(turns) = self.head.move_halt(None) {
                self.take(turns);
            }
            for p in 0..self.processes.len() {
                while !self.processes[p].up.is_empty() {
                    self.hears(p);
                }
                self.moves(p);
            }
        }
        let left: Vec<String> = self.members().filter(|one| !one.over).map(|one| name(one.rank)).collect();
        self.wrong(format!("{} never came to its end", left.join(", ")));
    }
}

/// Plays the schedule of a seed; `told` records its story.
pub fn steer(seed: u64, told: bool) -> Account {
    let mut world = World::new(seed, told);
    world.play();
    world.account
}
