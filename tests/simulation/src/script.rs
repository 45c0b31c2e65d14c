//! The script of a schedule: a random model, the actions of each instance, and the faults. The programs follow
//! from one order of all messages, in which each message is sent before it is received. So every run can end,
//! if there is enough room and no fault. Some instances are then made to receive too early, so that they may
//! wait for each other for ever; `truth` finds out if they do.

use crate::cuts::CutPlan;
use crate::random::Random;
use crate::truth::Truth;
use ligament_agent::plan::{PlannedChannel, PlannedEnd, PlannedInstance, PlannedPort, RunPlan};
use ligament_agent::Exit;
use ligament_model::Operator;
use ligament_wire::RankId;
use std::collections::VecDeque;

/// One µs and one ms of virtual time, in ns.
pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// The next action of an instance.
#[derive(Debug, Clone)]
pub enum Step {
    /// Computes for this time, ns.
    Compute(u64),
    /// Sends a message on channels, given by their numbers in the run.
    Send { to: Vec<u32>, message: u32 },
    /// Receives the next message of a channel, and keeps its value for this number of steps.
    Receive { channel: u32, how: How, keep: u32 },
    /// Receives one message of each of these channels, in the order in which they come.
    ReceiveAny { channels: Vec<u32>, keep: u32 },
    /// Receives the end of a channel.
    ReceiveEnd { channel: u32 },
    /// Waits for a message of a channel for at most this time (ns), receives none, and goes on.
    Linger { channel: u32, ns: u64 },
}

/// The way to wait for a message.
#[derive(Debug, Clone, Copy)]
pub enum How {
    Forever,
    /// Waits at most this time (ns), then repeatedly, longer each time.
    InTurns(u64),
    /// Looks at intervals of this time (ns), which grow.
    Polling(u64),
}

/// A message. Its number is the seed of its contents, and its timestamp.
#[derive(Debug, Clone, Copy)]
pub struct Letter {
    /// Number of elements of 8 bytes; `None` for a message without a value.
    pub elements: Option<u32>,
    pub by: By,
}

/// The call that sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Value,
    Elements,
    Loan,
}

/// The reaction of an instance to the end of the run, and its own way to end.
#[derive(Debug, Clone, Copy)]
pub struct Manners {
    /// Dies by SIGTERM, as a program without a handler does.
    pub dies_of_term: bool,
    /// Ends when the library reports the end of the run; otherwise it hangs until it is killed.
    pub obeys: bool,
    /// Drops its endpoint before it ends, as a C++ program does; a program that calls exit() does not.
    pub tidies: bool,
    /// The factor by which the instance is slower than others.
    pub slowness: u64,
    /// Time before the instance registers, ns.
    pub late: u64,
    /// Time from the instance's last call to the end of its process, ns.
    pub lingers: u64,
    /// Percentage of its sleeps that a signal interrupts. It then repeats the call, as a Python code may.
    pub interrupted: u64,
    /// Times at which its process is stopped, as by SIGSTOP, and continued, ns.
    pub stopped: (u64, u64),
    /// True if its process has other threads, which might drop views.
    pub threads: bool,
    /// True if its ordinary messages also take the general way.
    pub generally: bool,
}

/// A deliberate fault.
#[derive(Debug, Clone, Copy)]
pub enum InjectedFault {
    /// The instance's process ends, after this number of actions of the whole run.
    Crash { who: u32, after: u64, exit: Exit },
    /// It reports an error instead of its step with this number.
    Fails { who: u32, step: usize },
    /// It exits with status 0 instead of this step, without reporting that it is done.
    Leaves { who: u32, step: usize },
    /// Its program does not exist.
    NotStarted { who: u32 },
    /// A user stops the run, after this number of actions.
    Stop { after: u64 },
    /// The agent is killed, after this number of actions.
    AgentDies { after: u64 },
}

/// A schedule's script.
pub struct Script {
    pub plan: RunPlan,
    /// The programs, by instance.
    pub programs: Vec<Vec<Step>>,
    pub manners: Vec<Manners>,
    pub letters: Vec<Letter>,
    /// By channel: the numbers of its letters.
    pub sent: Vec<Vec<u32>>,
    /// By channel: the number of letters that its reader receives; mostly all.
    pub wanted: Vec<usize>,
    pub troubles: Vec<InjectedFault>,
    /// Number of processors for the instances.
    pub cores: u32,
    /// True if memory is so short that a sender may get none.
    pub short_of_memory: bool,
    /// The instances that must wait for ever if there is no other fault.
    pub truth: Truth,
    /// The factor by which the manager reads the status pages more often than usual.
    pub haste: u64,
    /// Longest time from the reading of one page to that of the next, ns.
    pub reading: u64,
    /// Percentage of hooks at which an instance lets others go on.
    pub restless: u64,
    /// Percentage of the agent's frames for which an instance's socket has no room at once.
    pub clogged: u64,
    /// The longest delay of a frame, ns.
    pub latency: u64,
    /// The checkpoints of the run, if it has any.
    pub cuts: Option<CutPlan>,
}

impl Script {
    /// Writes a script.
    pub fn new(random: &mut Random) -> Script {
        let n = random.between(2, 5) as u32;
        let pairs = pairs(random, n);
        // The messages are large for the memory, so they are passed on in pieces.
        let huge = random.percent(4);
        let small_budgets = random.percent(40);
        let short_of_memory = huge || random.percent(5);
        // A budget that is too small may grow; memory cannot.
        let in_step = short_of_memory || (small_budgets && random.percent(30));
        let memory = match (huge, short_of_memory) {
            (true, _) => 10 << 20,
            (false, true) => (2 << 20) * random.between(1, u64::from(n)),
            (false, false) => 1 << 30,
        };
        let budgets: Vec<u64> =
            pairs.iter().map(|_| if small_budgets { random.between(320, 3000) } else { 64 << 20 }).collect();
        let mut script = Script {
            plan: plan(n, &pairs, &budgets, memory, random),
            programs: vec![Vec::new(); n as usize],
            manners: (0..n).map(|_| manners(random)).collect(),
            letters: Vec::new(),
            sent: vec![Vec::new(); pairs.len()],
            wanted: vec![0; pairs.len()],
            troubles: Vec::new(),
            cores: if random.percent(85) { 0 } else { random.between(1, 2) as u32 },
            short_of_memory,
            truth: Truth::default(),
            haste: *random.of(&[1, 50, 250]),
            reading: *random.of(&[US, 50 * US, 2 * MS]),
            restless: *random.of(&[0, 1, 3, 10]),
            clogged: *random.of(&[0, 0, 10, 40]),
            latency: *random.of(&[US, 50 * US, 5 * MS]),
            cuts: None,
        };
        let mut own = Random::new(random.clone().next());
        as_ranks(&mut script.plan, |_, _| true, &mut own);
        script.write_programs(&pairs, huge, in_step, random);
        script.add_lingering(random);
        let too_early = !short_of_memory && random.percent(35);
        if too_early {
            script.receive_too_early(random);
        }
        script.truth = Truth::of(&script);
        // An instance that polls instead of waiting never counts as waiting: no budget would grow for it, and
        // no run would end.
        if !script.truth.ends() || (small_budgets && (too_early || !in_step)) {
            script.wait_for_good();
        }
        script.add_troubles(random);
        script
    }

    /// Draws what may differ in another run of the same programs.
    pub fn draw_run(&mut self, random: &mut Random, faulty: bool) {
        self.manners = self.manners.iter().map(|_| manners(random)).collect();
        self.restless = *random.of(&[0, 1, 3, 10]);
        self.latency = *random.of(&[US, 50 * US, 5 * MS]);
        self.troubles.clear();
        if faulty {
            self.add_troubles(random);
        }
    }

    fn write_programs(&mut self, pairs: &[(u32, u32)], huge: bool, in_step: bool, random: &mut Random) {
        let n = self.programs.len();
        let count = if huge { random.between(2, 5) } else { random.scaled(120) + 3 };
        let channels: Vec<u32> = (0..pairs.len() as u32).collect();
        let mut due: Vec<VecDeque<u32>> = vec![VecDeque::new(); n];
        for message in 0..count as u32 {
            let first = *random.of(&channels);
            let (sender, _) = pairs[first as usize];
            let mut to = vec![first];
            for &other in &channels {
                if other != first && pairs[other as usize].0 == sender && random.percent(30) {
                    to.push(other);
                }
            }
            if random.percent(40) {
                self.programs[sender as usize].push(Step::Compute(random.scaled(3 * MS)));
            }
            self.letters.push(letter(random, huge));
            for &channel in &to {
                self.sent[channel as usize].push(message);
                due[pairs[channel as usize].1 as usize].push_back(channel);
            }
            self.programs[sender as usize].push(Step::Send { to, message });
            for (reader, due) in due.iter_mut().enumerate() {
                if !due.is_empty() && (in_step || random.percent(25)) {
                    self.read(reader, due, in_step, random);
                }
            }
        }
        for (reader, due) in due.iter_mut().enumerate() {
            self.read(reader, due, in_step, random);
        }
        // Some instances do not wait for the end of a channel.
        for (channel, &(sender, reader)) in pairs.iter().enumerate() {
            if sender != reader && random.percent(60) {
                self.programs[reader as usize].push(Step::ReceiveEnd { channel: channel as u32 });
            }
        }
        self.untie_ends(pairs);
        for (who, program) in self.programs.iter_mut().enumerate() {
            // An instance that does not read its own messages would wait for room on its own channel.
            if !pairs.contains(&(who as u32, who as u32)) {
                lose_interest(program, random);
            }
        }
        for step in self.programs.iter().flatten() {
            match step {
                Step::Receive { channel, .. } => self.wanted[*channel as usize] += 1,
                Step::ReceiveAny { channels, .. } => {
                    channels.iter().for_each(|&channel| self.wanted[channel as usize] += 1);
                }
                _ => {}
            }
        }
    }

    /// The sender of a channel must not wait for an instance that waits for the end of this channel. So only
    /// ends of later instances are waited for.
    fn untie_ends(&mut self, pairs: &[(u32, u32)]) {
        for program in &mut self.programs {
            program.retain(|step| match step {
                Step::ReceiveEnd { channel } => {
                    let (sender, reader) = pairs[*channel as usize];
                    sender > reader
                }
                _ => true,
            });
        }
    }

    /// Adds the receives of a reader.
    fn read(&mut self, reader: usize, due: &mut VecDeque<u32>, in_step: bool, random: &mut Random) {
        let program = &mut self.programs[reader];
        while !due.is_empty() {
            let keep = if in_step || random.percent(70) { 0 } else { random.below(8) as u32 };
            if random.percent(20) {
                program.push(Step::Compute(random.scaled(3 * MS)));
            }
            let mut different: Vec<u32> = Vec::new();
            for &channel in due.iter() {
                if !different.contains(&channel) {
                    different.push(channel);
                }
            }
            if different.len() > 1 && random.percent(30) {
                for channel in &different {
                    let at = due.iter().position(|c| c == channel).expect("it came from there");
                    due.remove(at);
                }
                program.push(Step::ReceiveAny { channels: different, keep });
                continue;
            }
            // Any channel may be next, because the reader decides the order of its channels.
            let channel = *random.of(&different);
            let at = due.iter().position(|&c| c == channel).expect("it came from there");
            due.remove(at);
            let how = match random.below(10) {
                0 => How::InTurns(20 * US + random.scaled(5 * MS)),
                1 => How::Polling(50 * US + random.scaled(MS)),
                _ => How::Forever,
            };
            program.push(Step::Receive { channel, how, keep });
        }
    }

    /// Makes some instances wait with a timeout on channels where no message need come. Their senders must be
    /// alive.
    fn add_lingering(&mut self, random: &mut Random) {
        if !random.percent(25) {
            return;
        }
        for _ in 0..random.between(1, 3) {
            let channel = random.below(self.plan.channels.len() as u64) as u32;
            let reader = self.plan.channels[channel as usize].to.rank.index();
            let program = &mut self.programs[reader];
            // A channel that has ended is not waited for any more.
            let end = program.iter().position(|step| matches!(step, Step::ReceiveEnd { .. }));
            let at = random.between(0, end.unwrap_or(program.len()) as u64) as usize;
            program.insert(at, Step::Linger { channel, ns: random.scaled(2_000 * MS) });
        }
    }

    /// Makes some instances receive before they have sent the messages that their senders wait for, or merely
    /// earlier than necessary.
    fn receive_too_early(&mut self, random: &mut Random) {
        for _ in 0..random.between(1, 3) {
            let who = random.below(self.programs.len() as u64) as usize;
            let program = &mut self.programs[who];
            let receives = |step: &Step| matches!(step, Step::Receive { .. } | Step::ReceiveAny { .. });
            let places: Vec<usize> = (0..program.len()).filter(|&at| receives(&program[at])).collect();
            if places.is_empty() {
                continue;
            }
            let from = *random.of(&places);
            let step = program.remove(from);
            program.insert(random.between(0, from as u64) as usize, step);
        }
    }

    /// Makes all instances that receive wait until there is a message.
    fn wait_for_good(&mut self) {
        for step in self.programs.iter_mut().flatten() {
            if let Step::Receive { how, .. } = step {
                *how = How::Forever;
            }
        }
    }

    fn add_troubles(&mut self, random: &mut Random) {
        let mut count = match random.below(10) {
            0..=4 => 0,
            5..=8 => 1,
            _ => 2,
        };
        while count > 0 {
            count -= 1;
            let who = random.below(self.programs.len() as u64) as u32;
            let step = random.below(self.programs[who as usize].len() as u64 + 1) as usize;
            let after = random.scaled(800);
            self.troubles.push(match random.below(20) {
                0..=8 => InjectedFault::Crash { who, after, exit: Exit::Signal(*random.of(&[9, 11, 6])) },
                9..=11 => InjectedFault::Crash { who, after, exit: Exit::Status(random.between(1, 3) as i32) },
                12..=14 => InjectedFault::Fails { who, step },
                15..=16 => InjectedFault::Leaves { who, step },
                17 => InjectedFault::NotStarted { who },
                18 => InjectedFault::Stop { after },
                _ => InjectedFault::AgentDies { after },
            });
        }
    }
}

/// Makes some instances end before they have read all messages, but after they have sent all that others wait
/// for.
fn lose_interest(program: &mut Vec<Step>, random: &mut Random) {
    let last_send = program.iter().rposition(|step| matches!(step, Step::Send { .. }));
    let rest = last_send.map_or(0, |at| at + 1);
    if rest < program.len() && random.percent(15) {
        program.truncate(random.between(rest as u64, program.len() as u64 - 1) as usize);
    }
}

/// Returns sender and receiver of each channel.
fn pairs(random: &mut Random, n: u32) -> Vec<(u32, u32)> {
    let count = random.between(1, 8);
    let any = |random: &mut Random| random.below(u64::from(n)) as u32;
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for _ in 0..count {
        let pair = match pairs.last() {
            Some(&last) if random.percent(15) => last,
            Some(&(from, to)) if random.percent(20) => (to, from),
            _ => (any(random), any(random)),
        };
        // A channel from an instance to itself is rare.
        if pair.0 != pair.1 || random.percent(10) {
            pairs.push(pair);
        }
    }
    if pairs.is_empty() {
        pairs.push((0, 1));
    }
    pairs
}

fn plan(n: u32, pairs: &[(u32, u32)], budgets: &[u64], memory: u64, random: &mut Random) -> RunPlan {
    let mut ports_of: Vec<Vec<PlannedPort>> = (0..n).map(|_| Vec::new()).collect();
    let mut channels = Vec::new();
    for (number, (&(from, to), &budget)) in pairs.iter().zip(budgets).enumerate() {
        let mut end = |instance: u32, operator: Operator| {
            let ports = &mut ports_of[instance as usize];
            ports.push(PlannedPort {
                name: format!("port{number}").into(),
                operator,
                sends: operator.sends(),
                vector: false,
                length: None,
                connected: true,
                implicit: false,
                array: None,
                clock: None,
                resizable: false,
            });
            PlannedEnd { rank: RankId::new(instance), port: ports.len() as u32 - 1, slot: None }
        };
        let (from, to) = (end(from, Operator::OI), end(to, Operator::S));
        channels.push(PlannedChannel {
            from,
            to,
            budget,
            limit: None,
            steps: None,
            filters: None,
            wants_of: None,
        });
    }
    let instance = |(i, ports): (usize, Vec<PlannedPort>)| PlannedInstance {
        name: format!("part{i}"),
        ports: ports.into(),
        log_level: 1,
        ..PlannedInstance::default()
    };
    let instances = ports_of.into_iter().enumerate().map(instance).collect();
    let pinned_limit = if random.percent(10) { Some(random.scaled(100_000)) } else { None };
    let run = "simulated".into();
    RunPlan {
        run,
        instances,
        channels,
        memory: Some(memory),
        pinned_limit,
        timeline: true,
        ..RunPlan::default()
    }
}

/// Makes some consecutive instances ranks of one instance, if they may be `together`. Only their names change.
pub fn as_ranks(plan: &mut RunPlan, together: impl Fn(usize, usize) -> bool, random: &mut Random) {
    if !random.percent(40) {
        return;
    }
    // The first of the ports that belong to this rank alone.
    let mut offsets = Vec::new();
    let mut instances: Vec<PlannedInstance> = Vec::new();
    for (i, alone) in std::mem::take(&mut plan.instances).into_iter().enumerate() {
        match instances.last_mut().filter(|_| together(i - 1, i) && random.percent(50)) {
            Some(instance) => {
                offsets.push(instance.ports.len() as u32);
                instance.ports = instance.ports.iter().chain(alone.ports.iter()).cloned().collect();
                instance.ranks = Some(instance.ranks.unwrap_or(1) + 1);
            }
            None => {
                offsets.push(0);
                instances.push(alone);
            }
        }
    }
    plan.instances = instances;
    for end in plan.channels.iter_mut().flat_map(|channel| [&mut channel.from, &mut channel.to]) {
        end.port += offsets[end.rank.index()];
    }
}

fn manners(random: &mut Random) -> Manners {
    Manners {
        dies_of_term: random.percent(50),
        obeys: random.percent(80),
        tidies: random.percent(50),
        slowness: *random.of(&[1, 1, 1, 4, 40]),
        late: if random.percent(20) { random.scaled(400 * MS) } else { random.scaled(MS) },
        lingers: if random.percent(20) { random.scaled(400 * MS) } else { random.scaled(MS) },
        interrupted: if random.percent(15) { random.between(5, 60) } else { 0 },
        stopped: if random.percent(10) {
            let from = random.scaled(50 * MS);
            (from, from + random.scaled(1_500 * MS))
        } else {
            (0, 0)
        },
        threads: random.percent(20),
        generally: random.percent(25),
    }
}

fn letter(random: &mut Random, huge: bool) -> Letter {
    let elements = match random.below(10) {
        _ if huge => Some(random.between(600_000, 1_100_000) as u32),
        0 => None,
        1..=3 => Some(random.between(1, 25) as u32),
        // A letter is often like the one before it.
        4..=7 if random.percent(50) => Some(*random.of(&[30, 100, 700])),
        4..=7 => Some(random.between(26, 1000) as u32),
        8 => Some(random.between(1001, 9000) as u32),
        _ => Some(random.between(9000, 40_000) as u32),
    };
    let by = if huge {
        *random.of(&[By::Value, By::Elements])
    } else {
        *random.of(&[By::Value, By::Elements, By::Loan])
    };
    Letter { elements, by }
}
