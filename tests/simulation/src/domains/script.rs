//! The script of a schedule: domains, instances with their programs, channels, and faults. Also the set of
//! instances that must wait for ever, found by going through the programs without any limit on room.

use crate::random::Random;
use crate::script::{as_ranks, MS};
use ligament_agent::plan::{PlannedChannel, PlannedEnd, PlannedInstance, PlannedPort};
use ligament_agent::RunPlan;
use ligament_model::Operator;
use ligament_wire::{DomainId, InstanceId, RankId};

/// A step of an instance's program. Channels are given by number.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Compute(u64),
    Send(u32),
    Receive(u32),
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainFault {
    /// The process of an instance crashes at this time, if it runs.
    Crash { who: u32, at: u64 },
    /// The agent of a domain is killed.
    AgentDies { domain: u32, at: u64 },
    /// A user stops the run.
    Stop { at: u64 },
    /// A domain never joins.
    NeverJoins { domain: u32 },
}

/// A script.
pub struct Script {
    pub domains: u32,
    pub placement: Vec<u32>,
    pub plan: RunPlan,
    pub programs: Vec<Vec<Step>>,
    pub troubles: Vec<DomainFault>,
    /// Longest delay of a message from agent to agent, and from carrier to carrier, in ns.
    pub control_delay: u64,
    pub path_delay: u64,
    /// The times at which lines between agents are cut, and for how long.
    pub cut: Option<(u64, u64)>,
    /// The times at which an instance's process is stopped and continued.
    pub stopped: Option<(u32, u64, u64)>,
    /// For each instance: true if it must wait for ever.
    pub stuck: Vec<bool>,
}

impl Script {
    /// Draws a script.
    pub fn new(random: &mut Random) -> Script {
        let domains = random.between(2, 3) as u32;
        let n = random.between(2, 6) as u32;
        let placement: Vec<u32> = (0..n).map(|_| random.below(u64::from(domains)) as u32).collect();
        let ends = channels(random, n);
        let mut programs = programs(random, n, &ends);
        if random.percent(35) {
            receive_too_early(random, &mut programs);
        }
        let stuck = truth(&programs, ends.len());
        let last = random.scaled(3_000 * MS);
        let troubles = troubles(random, n, domains, last);
        let when = random.scaled(500 * MS);
        let mut plan = plan(&ends, n, random);
        let mut own = Random::new(random.clone().next());
        as_ranks(&mut plan, |one, other| placement[one] == placement[other], &mut own);
        Script {
            plan,
            control_delay: *random.of(&[MS / 10, 5 * MS, 100 * MS]),
            path_delay: *random.of(&[MS / 10, 5 * MS, 300 * MS]),
            cut: random.percent(20).then(|| (when, random.scaled(5_000 * MS))),
            stopped: random
                .percent(15)
                .then(|| (random.below(u64::from(n)) as u32, when, when + random.scaled(4_000 * MS))),
            domains,
            placement,
            programs,
            troubles,
            stuck,
        }
    }

    /// Returns the domain of each instance. The ranks of one instance are in the same domain.
    pub fn placement_of_instances(&self) -> Vec<DomainId> {
        let ranks = self.plan.ranks();
        let domain = |instance| DomainId::new(self.placement[ranks.leader(instance).index()]);
        InstanceId::first(self.plan.instances.len()).map(domain).collect()
    }

    /// Returns true if an instance must come to wait for good.
    pub fn deadlocks(&self) -> bool {
        self.stuck.contains(&true)
    }

    /// Returns true if a channel leads from one domain to another.
    pub fn is_far(&self, channel: u32) -> bool {
        let channel = &self.plan.channels[channel as usize];
        self.placement[channel.from.rank.index()] != self.placement[channel.to.rank.index()]
    }
}

fn channels(random: &mut Random, n: u32) -> Vec<(u32, u32)> {
    let mut ends: Vec<(u32, u32)> = Vec::new();
    for _ in 0..random.between(1, 7) {
        let from = random.below(u64::from(n)) as u32;
        let to = (from + random.between(1, u64::from(n) - 1) as u32) % n;
        ends.push((from, to));
        if random.percent(40) {
            ends.push((to, from));
        }
    }
    ends
}

/// Makes programs that fit each other: every sent message is received, and no instance waits if the steps run
/// in the order in which they were drawn.
fn programs(random: &mut Random, n: u32, ends: &[(u32, u32)]) -> Vec<Vec<Step>> {
    let mut programs: Vec<Vec<Step>> = vec![Vec::new(); n as usize];
    let longest = *random.of(&[MS, 20 * MS, 400 * MS]);
    for _ in 0..random.between(1, 40) {
        let channel = random.below(ends.len() as u64) as u32;
        let (from, to) = ends[channel as usize];
        programs[from as usize].push(Step::Send(channel));
        programs[to as usize].push(Step::Receive(channel));
        if random.percent(40) {
            let who = random.below(u64::from(n)) as usize;
            programs[who].push(Step::Compute(random.scaled(longest)));
        }
    }
    programs
}

fn receive_too_early(random: &mut Random, programs: &mut [Vec<Step>]) {
    for _ in 0..random.between(1, 3) {
        let program = &mut programs[random.below(programs.len() as u64) as usize];
        let receives: Vec<usize> =
            (0..program.len()).filter(|&at| matches!(program[at], Step::Receive(_))).collect();
        if receives.is_empty() {
            continue;
        }
        let from = *random.of(&receives);
        let step = program.remove(from);
        program.insert(random.between(0, from as u64) as usize, step);
    }
}

fn truth(programs: &[Vec<Step>], channels: usize) -> Vec<bool> {
    let (mut at, mut under_way) = (vec![0; programs.len()], vec![0u32; channels]);
    loop {
        let mut moved = false;
        for (program, at) in programs.iter().zip(&mut at) {
            while let Some(step) = program.get(*at) {
                match step {
                    Step::Compute(_) => {}
                    Step::Send(channel) => under_way[*channel as usize] += 1,
                    Step::Receive(channel) if under_way[*channel as usize] == 0 => break,
                    Step::Receive(channel) => under_way[*channel as usize] -= 1,
                }
                *at += 1;
                moved = true;
            }
        }
        if !moved {
            return programs.iter().zip(&at).map(|(program, &at)| at < program.len()).collect();
        }
    }
}

fn troubles(random: &mut Random, n: u32, domains: u32, last: u64) -> Vec<DomainFault> {
    let count = *random.of(&[0, 0, 0, 1, 1, 2]);
    (0..count)
        .map(|_| {
            let at = random.scaled(last.max(1));
            let domain = random.between(1, u64::from(domains) - 1) as u32;
            match random.below(20) {
                0..=8 => DomainFault::Crash { who: random.below(u64::from(n)) as u32, at },
                9..=15 => DomainFault::AgentDies { domain, at },
                16..=18 => DomainFault::Stop { at },
                _ => DomainFault::NeverJoins { domain },
            }
        })
        .collect()
}

fn plan(ends: &[(u32, u32)], n: u32, random: &mut Random) -> RunPlan {
    let mut ports: Vec<Vec<PlannedPort>> = (0..n).map(|_| Vec::new()).collect();
    let mut channels = Vec::new();
    let is_tight = random.percent(50);
    for (number, &(from, to)) in ends.iter().enumerate() {
        let mut end = |instance: u32, operator: Operator| {
            ports[instance as usize].push(PlannedPort {
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
            PlannedEnd {
                rank: RankId::new(instance),
                port: ports[instance as usize].len() as u32 - 1,
                slot: None,
            }
        };
        let (from, to) = (end(from, Operator::OI), end(to, Operator::S));
        // The budget counts messages, as all sizes do here.
        let budget = if is_tight && random.percent(80) { random.between(1, 2) } else { 1000 };
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
    let instances = ports.into_iter().enumerate().map(instance).collect();
    RunPlan { run: "simulated".into(), instances, channels, memory: Some(1 << 30), ..RunPlan::default() }
}
