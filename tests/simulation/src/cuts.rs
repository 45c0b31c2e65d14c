//! Schedules of checkpoints. Each instance has a model time of its own, and saves in its first step that has
//! come to a moment; so the cuts are seldom consistent. A run ends as its script says, or by a fault. The next
//! run goes on from one of its checkpoints that are whole, with other delays and faults, and the last one has
//! no faults. In half of the schedules people steer, and ask for checkpoints beside those of the rules. The rule: each message is received exactly once and in order over all runs, or there is no
//! checkpoint. The endpoints and the computation of moments are the real ones.

use crate::part::Progress;
use crate::random::Random;
use crate::requests::RequestCount;
use crate::schedule::{play, Account, Played};
use crate::script::Script;
use ligament_agent::AgentReport;
use ligament_checkpoint::Moments;
use ligament_shm::endpoint::{ChannelRemainder, EndedCut, MessageUnderWay};
use ligament_wire::control::{CheckpointOutcome, MomentRule};
use ligament_wire::steering::ModelTime;
use ligament_wire::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Number of runs of a schedule.
const RUNS: usize = 3;

/// The checkpoints of a run: when its instances save, and from where they go on.
#[derive(Debug, Clone, Default)]
pub struct CutPlan {
    /// True if people steer the run, and ask for checkpoints beside those of its rules.
    pub is_steered: bool,
    pub moments: Moments,
    /// For each instance: the model time of its first step, and of a step.
    pub clocks: Vec<(f64, f64)>,
    pub starts: Vec<Start>,
}

/// The state from which an instance begins.
#[derive(Debug, Clone, Default)]
pub enum Start {
    #[default]
    Beginning,
    /// It goes on from a checkpoint.
    Saved(Box<SavedState>),
    /// It had ended before the checkpoint.
    Over(Progress),
}

/// The state of an instance at a checkpoint.
#[derive(Debug, Clone)]
pub struct SavedState {
    pub moment: f64,
    /// The next step of its program.
    pub step: usize,
    pub progress: Progress,
    /// The contents of each receiving channel, by its place at the receiver.
    pub channels: Vec<ChannelRemainder>,
}

impl CutPlan {
    /// Returns the model time of a step of an instance.
    pub fn time(&self, who: u32, step: usize) -> f64 {
        let (begin, width) = self.clocks[who as usize];
        begin + width * step as f64
    }

    /// Returns the number of messages of a channel that its receiver had in the run before, or has from its
    /// checkpoint.
    pub fn brought(&self, receiver: usize, channel: usize) -> usize {
        match &self.starts[receiver] {
            Start::Beginning => 0,
            Start::Over(progress) => progress.channels[channel].received,
            Start::Saved(state) => {
                let under_way: usize = state.channels.iter().map(|one| one.under_way.len()).sum();
                state.progress.channels[channel].received + under_way
            }
        }
    }
}

impl SavedState {
    /// Adds messages that were under way. The copy lets go of the sender's memory, as a file does.
    pub fn add_under_way(&mut self, messages: Vec<MessageUnderWay>) {
        for one in messages {
            let body = [&one.head[..], &vec![0; one.zeros], &one.parts].concat();
            self.channels[one.channel].under_way.push((one.header, Bytes::from(body), one.overlay));
        }
    }

    /// Adds the contents of a cut.
    pub fn add(&mut self, cut: EndedCut) -> bool {
        let Some(contents) = cut.contents else { return false };
        self.add_under_way(contents.under_way);
        for (channel, count) in contents.dropped {
            self.channels[channel].dropped += count;
        }
        true
    }
}

/// The list of saved checkpoints that the head of a run keeps (`runtime/src/head/checkpoints.rs`).
#[derive(Debug, Default)]
pub struct Ledger {
    saved: BTreeMap<u64, BTreeSet<u32>>,
    pub void: BTreeSet<u64>,
    over: BTreeSet<u32>,
    /// The instances that have written a file of their end.
    pub ends: BTreeSet<u32>,
    /// The moments of the checkpoints that are whole, and the instances that have saved at them.
    pub whole: Vec<(f64, BTreeSet<u32>)>,
}

impl Ledger {
    /// Notes a report of the agent in a run with `count` instances.
    pub fn report(&mut self, report: &AgentReport, count: usize) {
        match report {
            AgentReport::Checkpoint { rank, moment, outcome } => {
                let (who, moment) = (rank.number(), moment.0);
                match outcome {
                    CheckpointOutcome::Saved if !self.void.contains(&moment.to_bits()) => {
                        self.saved.entry(moment.to_bits()).or_default().insert(who);
                        self.complete(moment, count);
                        let earlier = |(bits, ranks): &(&u64, &BTreeSet<u32>)| {
                            f64::from_bits(**bits) < moment && !ranks.contains(&who)
                        };
                        let skipped: Vec<u64> = self.saved.iter().filter(earlier).map(|one| *one.0).collect();
                        skipped.into_iter().for_each(|bits| self.give_up(bits));
                    }
                    CheckpointOutcome::Saved => {}
                    _ => self.give_up(moment.to_bits()),
                }
            }
            AgentReport::Exited { rank, exit } if exit.is_clean() => {
                self.over.insert(rank.number());
                let open: Vec<u64> = self.saved.keys().copied().collect();
                open.into_iter().for_each(|bits| self.complete(f64::from_bits(bits), count));
            }
            _ => {}
        }
    }

    /// Notes that the checkpoint at this moment (its bits) cannot become whole.
    pub fn give_up(&mut self, bits: u64) {
        self.void.insert(bits);
        self.saved.remove(&bits);
    }

    fn complete(&mut self, moment: f64, count: usize) {
        let Some(saved) = self.saved.get(&moment.to_bits()) else { return };
        if (0..count as u32).all(|who| saved.contains(&who) || self.over.contains(&who)) {
            let saved = self.saved.remove(&moment.to_bits()).unwrap_or_default();
            if (0..count as u32).all(|who| saved.contains(&who) || self.ends.contains(&who)) {
                self.whole.push((moment, saved));
            } else {
                self.void.insert(moment.to_bits());
            }
        }
    }
}

/// The result of all runs of a schedule.
#[derive(Debug, Default)]
pub struct CutAccount {
    pub wrong: Vec<String>,
    pub story: Vec<String>,
    pub runs: usize,
    pub whole: usize,
    pub void: usize,
    /// Number of runs that went on from a checkpoint, of messages that were under way in these, and of those
    /// that were dropped.
    pub resumed: usize,
    pub under_way: usize,
    pub dropped: u64,
    pub over: usize,
    /// Number of runs that a fault has ended.
    pub ended: usize,
    /// Numbers of wishes of people that came true.
    pub requests: RequestCount,
}

impl CutAccount {
    fn add(&mut self, account: Account, played: &Played) {
        self.runs += 1;
        self.wrong.extend(account.wrong);
        self.story.extend(account.story);
        self.ended += usize::from(account.end != "done");
        self.whole += played.ledger.whole.len();
        self.void += played.ledger.void.len();
        self.requests.settings += played.requests.settings;
        self.requests.halts += played.requests.halts;
        self.requests.saves += played.requests.saves;
        self.requests.given_up += played.requests.given_up;
    }

    fn count_starts(&mut self, starts: &[Start]) {
        self.resumed += 1;
        for start in starts {
            match start {
                Start::Saved(state) => {
                    self.under_way += state.channels.iter().map(|one| one.under_way.len()).sum::<usize>();
                    self.dropped += state.channels.iter().map(|one| one.dropped).sum::<u64>();
                }
                Start::Over(_) => self.over += 1,
                Start::Beginning => {}
            }
        }
    }
}

fn moments(length: f64, random: &mut Random) -> Moments {
    let any = |random: &mut Random| random.below(1000) as f64 / 1000.0 * length;
    let at = (0..random.between(0, 3)).map(|_| ModelTime(any(random))).collect();
    let every = ModelTime((0.02 + random.below(400) as f64 / 1000.0) * length);
    let range = MomentRule::Range { start: None, stop: None, every };
    Moments::new(if random.percent(60) { vec![range] } else { vec![MomentRule::At(at)] })
}

/// Returns a script whose run can end, so that what does not end is a mistake.
fn script(random: &mut Random) -> Script {
    loop {
        let script = Script::new(random);
        if script.truth.ends() && !script.short_of_memory {
            return script;
        }
    }
}

/// Plays the schedule of a seed; `tells` records its story.
pub fn cut(seed: u64, tells: bool) -> CutAccount {
    let mut random = Random::new(seed ^ 0x0063_7574_7363_7574);
    let mut script = script(&mut random);
    let count = script.programs.len();
    let longest = script.programs.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let together = random.percent(50);
    let clock = |random: &mut Random| {
        if together {
            (0.0, 1.0)
        } else {
            (random.below(3) as f64, 0.25 * random.between(1, 8) as f64)
        }
    };
    script.cuts = Some(CutPlan {
        moments: moments(longest, &mut random),
        clocks: (0..count).map(|_| clock(&mut random)).collect(),
        starts: vec![Start::default(); count],
        is_steered: random.percent(50),
    });
    let mut all = CutAccount::default();
    for number in 0..RUNS {
        script.draw_run(&mut random, number + 1 < RUNS);
        let (account, played) = play(&script, seed, &mut random, tells);
        all.add(account, &played);
        if !all.wrong.is_empty() {
            break;
        }
        let whole = &played.ledger.whole;
        let Some(last) = whole.len().checked_sub(1) else { continue };
        let chosen = if random.percent(60) { last } else { random.below(whole.len() as u64) as usize };
        let starts = played.starts(&whole[chosen]);
        all.count_starts(&starts);
        if let Some(cuts) = &mut script.cuts {
            cuts.starts = starts;
        }
    }
    all
}

impl Played {
    /// Returns the states from which the instances go on. An instance that has not saved had ended.
    fn starts(&self, (moment, saved): &(f64, BTreeSet<u32>)) -> Vec<Start> {
        let start = |(who, progress): (u32, &Progress)| {
            if saved.contains(&who) {
                Start::Saved(Box::new(self.files[&(moment.to_bits(), who)].clone()))
            } else {
                Start::Over(progress.clone())
            }
        };
        (0..).zip(&self.progress).map(start).collect()
    }
}
