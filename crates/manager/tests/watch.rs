//! Tests of the detector of deadlocks with simulated processes, whose true state is known. The processes send,
//! receive, compute, stop, and notice events late. The detector reads their status pages one after the other,
//! while the processes go on.

use ligament_agent::AwaitedEvent;
use ligament_manager::{
    DeadlockDetector, DetectorAction, InstanceCounters, InstanceState, Observation, ObservedWait,
};
use ligament_wire::RankId;
use proptest::prelude::*;

/// Random numbers from a seed (splitmix64, Steele, Lea & Flood 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A step of a process's program.
#[derive(Debug, Clone)]
enum Step {
    Compute(u8),
    Send(usize),
    /// Receives a message on any of these channels. The flag is true if the wait has a time-out.
    Receive(Vec<usize>, bool),
}

#[derive(Debug, Clone)]
struct Script {
    /// Sending process, receiving process, and budget (messages) of each channel.
    channels: Vec<(usize, usize, u64)>,
    programs: Vec<Vec<Step>>,
}

#[derive(Default)]
struct Process {
    program: Vec<Step>,
    at: usize,
    computing: u8,
    epoch: u64,
    looked: u64,
    asked: Option<u64>,
    /// Number of further turns for which the process is stopped.
    stopped: u32,
    moves: u64,
}

struct Channel {
    from: usize,
    to: usize,
    budget: u64,
    sent: u64,
    received: u64,
    ended: bool,
}

struct World {
    processes: Vec<Process>,
    channels: Vec<Channel>,
}

impl World {
    fn new(script: &Script) -> World {
        let channels = script.channels.iter().map(|&(from, to, budget)| Channel {
            from,
            to,
            budget,
            sent: 0,
            received: 0,
            ended: false,
        });
        let processes = script.programs.iter().map(|p| Process { program: p.clone(), ..Process::default() });
        World { channels: channels.collect(), processes: processes.collect() }
    }

    /// Returns true if process `i` can make this step without waiting.
    fn ready(&self, step: &Step) -> bool {
        match step {
            Step::Compute(_) => true,
            Step::Send(c) => {
                let channel = &self.channels[*c];
                // Messages to a process that has ended are dropped.
                channel.sent - channel.received < channel.budget || self.is_done(channel.to)
            }
            Step::Receive(any, _) => any.iter().any(|&c| self.has_something(c)),
        }
    }

    fn is_done(&self, i: usize) -> bool {
        self.processes[i].at == self.processes[i].program.len()
    }

    fn has_something(&self, c: usize) -> bool {
        let channel = &self.channels[c];
        channel.sent > channel.received || channel.ended
    }

    /// Returns true if the process has ended, or is in a wait that only another process can end.
    fn rests(&self, i: usize) -> bool {
        match self.processes[i].program.get(self.processes[i].at) {
            None => true,
            Some(Step::Receive(_, true)) => false,
            Some(step) => self.processes[i].epoch % 2 == 1 && !self.ready(step),
        }
    }

    /// Gives a process one turn.
    fn turn(&mut self, i: usize, dice: &mut Dice) {
        if self.processes[i].stopped > 0 {
            self.processes[i].stopped -= 1;
            return;
        }
        let process = &self.processes[i];
        let Some(step) = process.program.get(process.at).cloned() else {
            return;
        };
        if let Step::Compute(turns) = step {
            self.processes[i].computing += 1;
            if self.processes[i].computing >= turns {
                self.go_on(i);
            }
            return;
        }
        let waits = process.epoch % 2 == 1;
        let runs_out = matches!(step, Step::Receive(_, true)) && waits && dice.one_in(5);
        if !self.ready(&step) && !runs_out {
            let process = &mut self.processes[i];
            if !waits {
                process.epoch += 1;
            } else if let Some(round) = process.asked.take() {
                process.looked = round;
            }
            return;
        }
        if waits {
            self.processes[i].epoch += 1;
            self.processes[i].moves += 1;
            if runs_out {
                self.go_on(i);
            }
            return;
        }
        match step {
            Step::Send(c) => self.channels[c].sent += 1,
            Step::Receive(any, _) => {
                if let Some(&c) = any.iter().find(|&&c| self.has_something(c)) {
                    if self.channels[c].sent > self.channels[c].received {
                        self.channels[c].received += 1;
                    }
                }
            }
            Step::Compute(_) => {}
        }
        self.go_on(i);
    }

    fn go_on(&mut self, i: usize) {
        let process = &mut self.processes[i];
        process.at += 1;
        process.computing = 0;
        process.moves += 1;
        if process.at == process.program.len() {
            self.channels.iter_mut().filter(|c| c.from == i).for_each(|c| c.ended = true);
        }
    }

    /// Returns the observation that the manager would make of the process's status page.
    fn page(&self, i: usize) -> Observation {
        let process = &self.processes[i];
        let step = process.program.get(process.at);
        let waits = (process.epoch % 2 == 1).then(|| step.expect("who is done does not wait"));
        let waits = waits.map(|step| {
            let (what, timed) = match step {
                Step::Send(c) => {
                    let needs = self.channels[*c].sent - self.channels[*c].received + 1;
                    (AwaitedEvent::Credit { channel: *c as u32, needs }, false)
                }
                Step::Receive(any, timed) => {
                    (AwaitedEvent::Message { channels: any.iter().map(|&c| c as u32).collect() }, *timed)
                }
                Step::Compute(_) => unreachable!("nobody waits for himself"),
            };
            ObservedWait { what, seconds: 0.0, timed, holds: true, may_release: true }
        });
        Observation {
            name: format!("p{i}"),
            component: 0,
            pid: None,
            gone: step.is_none(),
            state: if step.is_none() { InstanceState::Done } else { InstanceState::Computing },
            waits,
            epoch: process.epoch,
            looked: process.looked,
            stopped: false,
            ranks: None,
            model_time: None,
            counters: InstanceCounters::default(),
        }
    }

    /// Observes all processes one after the other, beginning with a random process, while the processes go on.
    /// Up to `turns` random processes get a turn after each observation.
    fn look(&mut self, dice: &mut Dice, turns: usize) -> Vec<Observation> {
        let n = self.processes.len();
        let mut pages: Vec<Option<Observation>> = vec![None; n];
        let first = dice.below(n);
        for k in 0..n {
            let i = (first + k) % n;
            pages[i] = Some(self.page(i));
            for _ in 0..dice.below(turns + 1) {
                let one = dice.below(n);
                self.turn(one, dice);
            }
        }
        pages.into_iter().flatten().collect()
    }

    fn obey(&mut self, remedy: &DetectorAction) {
        match remedy {
            DetectorAction::Ask { round, ranks } => {
                ranks.iter().for_each(|one| self.processes[one.index()].asked = Some(*round));
            }
            DetectorAction::Grow { channel, from, to } => {
                assert_eq!(self.channels[*channel as usize].budget, *from);
                self.channels[*channel as usize].budget = *to;
            }
            DetectorAction::Deadlock(_) => {}
            DetectorAction::Suspicion(_) => panic!("nobody here waits for memory"),
        }
    }
}

/// Limit of each budget, and of the total growth of all budgets, in messages.
const MEMORY_LIMIT: u64 = 6;

/// Runs the script to its end, with this seed, under the detector. Returns the knot that was found.
fn watched(script: &Script, seed: u64, stops: bool) -> Result<Vec<u32>, TestCaseError> {
    let mut dice = Dice(seed);
    let mut world = World::new(script);
    let n = script.programs.len();
    let ends = script.channels.iter().map(|&(from, to, budget)| ((RankId::at(from), RankId::at(to)), budget));
    let mut watch = DeadlockDetector::new(ends);
    // Number of checks since the world came to rest, and number of all checks.
    let (mut quiet, mut looks) = (0, 0);
    while quiet < 60 {
        looks += 1;
        prop_assert!(looks < 20_000, "the world does not come to rest");
        let turns = dice.below(6);
        let seen = world.look(&mut dice, turns);
        let remedies = watch.check(&seen, MEMORY_LIMIT, &[]);
        for remedy in &remedies {
            world.obey(remedy);
        }
        if let Some(DetectorAction::Deadlock(found)) =
            remedies.iter().find(|o| matches!(o, DetectorAction::Deadlock(_)))
        {
            let doomed: Vec<u32> =
                found.knot.waits.iter().chain(&found.behind).map(|wait| wait.rank.number()).collect();
            let before: Vec<u64> = doomed.iter().map(|&i| world.processes[i as usize].moves).collect();
            for _ in 0..2000 {
                let one = dice.below(n);
                world.turn(one, &mut dice);
            }
            let after: Vec<u64> = doomed.iter().map(|&i| world.processes[i as usize].moves).collect();
            prop_assert_eq!(before, after, "a false alarm about {:?}", doomed);
            return Ok(found.knot.waits.iter().map(|wait| wait.rank.number()).collect());
        }
        if stops && quiet == 0 && dice.one_in(20) {
            let one = dice.below(n);
            world.processes[one].stopped = dice.below(200) as u32;
        }
        // Every process that is not stopped gets a turn from time to time.
        for i in 0..n {
            world.turn(i, &mut dice);
        }
        let nothing_left = (0..n).all(|i| world.rests(i) && world.processes[i].stopped == 0);
        let grew = remedies.iter().any(|remedy| matches!(remedy, DetectorAction::Grow { .. }));
        quiet = if nothing_left && !grew { quiet + 1 } else { 0 };
    }
    let left: Vec<usize> = (0..n).filter(|&i| world.processes[i].at < script.programs[i].len()).collect();
    prop_assert!(left.is_empty(), "{:?} wait for ever, and nobody said so", left);
    Ok(Vec::new())
}

fn scripts() -> impl Strategy<Value = Script> {
    (2..5usize).prop_flat_map(|n| {
        let channels = prop::collection::vec((0..n, 0..n, 1..3u64), 1..7);
        channels.prop_flat_map(move |channels| {
            let program = |i: usize| {
                let sends: Vec<usize> = (0..channels.len()).filter(|&c| channels[c].0 == i).collect();
                let receives: Vec<usize> = (0..channels.len()).filter(|&c| channels[c].1 == i).collect();
                let mut steps: Vec<BoxedStrategy<Step>> = vec![(1..5u8).prop_map(Step::Compute).boxed()];
                if !sends.is_empty() {
                    steps.push(prop::sample::select(sends).prop_map(Step::Send).boxed());
                }
                if !receives.is_empty() {
                    let most = receives.len().min(2);
                    let any = prop::sample::subsequence(receives, 1..=most);
                    let timed = prop::bool::weighted(0.1);
                    steps.push((any, timed).prop_map(|(any, timed)| Step::Receive(any, timed)).boxed());
                }
                prop::collection::vec(prop::strategy::Union::new(steps), 1..12)
            };
            let programs: Vec<_> = (0..n).map(program).collect();
            (Just(channels.clone()), programs).prop_map(|(channels, programs)| Script { channels, programs })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10000))]

    #[test]
    fn every_deadlock_is_found_and_nothing_else(script in scripts(), seed in any::<u64>()) {
        watched(&script, seed, false)?;
    }

    #[test]
    fn processes_that_are_stopped_for_long_make_no_difference(script in scripts(), seed in any::<u64>()) {
        watched(&script, seed, true)?;
    }
}

fn outcome(channels: &[(usize, usize, u64)], programs: &[&[Step]]) -> Vec<u32> {
    let programs = programs.iter().map(|steps| steps.to_vec()).collect();
    let script = Script { channels: channels.to_vec(), programs };
    let mut outcomes: Vec<Vec<u32>> = (0..20)
        .map(|seed| {
            let mut doomed = watched(&script, seed, seed % 2 == 0).unwrap();
            doomed.sort_unstable();
            doomed
        })
        .collect();
    outcomes.dedup();
    assert_eq!(outcomes.len(), 1, "it depends on chance: {outcomes:?}");
    outcomes.remove(0)
}

use Step::{Compute, Receive, Send};

const NOBODY: [u32; 0] = [];

#[test]
fn a_cycle_of_receivers_is_a_knot_and_who_waits_behind_it_is_not() {
    let receive = |c| vec![Receive(vec![c], false)];
    let channels = [(0, 1, 1), (1, 0, 1), (0, 2, 1)];
    assert_eq!(outcome(&channels, &[&receive(1), &receive(0), &receive(2)]), [0, 1]);
}

#[test]
fn one_way_out_of_several_is_enough_while_somebody_may_take_it() {
    let channels = [(0, 1, 1), (1, 0, 1), (2, 0, 1)];
    let either = [Receive(vec![1, 2], false), Send(0)];
    assert_eq!(outcome(&channels, &[&either, &[Receive(vec![0], false)], &[Compute(50)]]), NOBODY);
}

#[test]
fn a_full_conduit_grows_until_the_run_goes_on_or_memory_ends() {
    let channels = [(0, 1, 1), (0, 1, 1)];
    let sender = |n: usize| [vec![Send(0); n], vec![Send(1)]].concat();
    let receiver = |n: usize| [vec![Receive(vec![1], false)], vec![Receive(vec![0], false); n]].concat();
    assert_eq!(outcome(&channels, &[&sender(5), &receiver(5)]), NOBODY);
    assert_eq!(outcome(&channels, &[&sender(50), &receiver(50)]), [0, 1]);
}

#[test]
fn one_that_sends_to_itself_before_it_receives_goes_on_and_the_other_way_round_does_not() {
    let channels = [(0, 0, 1)];
    assert_eq!(outcome(&channels, &[&[Send(0), Receive(vec![0], false)]]), NOBODY);
    assert_eq!(outcome(&channels, &[&[Receive(vec![0], false), Send(0)]]), [0]);
}
