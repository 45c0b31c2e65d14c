//! The instances, and the messages under way between them. Within a domain a message arrives at once. Between
//! domains it goes through rings, carriers and paths, with a delay in each. An instance that waits sees a
//! message when it wakes, or when the agent asks it to look.

use super::script::{Script, Step};
use ligament_agent::{AwaitedEvent, EndpointActivity, Status, WaitRecord};
use ligament_wire::domains::CarrierLoad;
use ligament_wire::RankId;

/// The activity of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Outside,
    Runs,
    /// It has reported that it is done.
    Done,
    Gone,
}

/// An instance.
#[derive(Debug, Clone)]
pub struct Process {
    pub life: Life,
    pub at: usize,
    /// True while the instance computes.
    pub busy: bool,
    /// True once the instance has reported that it is done.
    done: bool,
    waits: Option<(AwaitedEvent, u64)>,
    epoch: u64,
    looked: u64,
    asked: Option<u64>,
    started: u64,
    /// Number of its actions that an instance which waits for ever cannot make.
    pub moved: u64,
}

/// The messages under way on a channel.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelTraffic {
    pub budget: u64,
    sent: u64,
    received: u64,
    /// The messages that the sender knows to be received.
    known: u64,
    /// The messages that wait for the carrier, and for the receiver.
    ring: u64,
    inbox: u64,
    /// The received messages that the far carrier has reported.
    told: u64,
}

/// A message or report between two carriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarrierItem {
    Messages {
        channel: u32,
        count: u64,
    },
    Credit {
        channel: u32,
        count: u64,
    },
    /// A message has arrived.
    Word {
        domain: u32,
        count: u64,
    },
}

/// The result of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// An instance may see something new.
    Wakes(u32),
    /// The instance goes on after this time, in ns.
    Computes(u32, u64),
    /// A carrier has a message to take.
    Carries(u32),
    /// The instance is done.
    Finishes(u32),
}

/// All instances and channels.
pub struct World<'s> {
    script: &'s Script,
    pub processes: Vec<Process>,
    pub ways: Vec<ChannelTraffic>,
    /// For each domain: the carrier's counts, and the number of its messages that have not arrived yet.
    carriers: Vec<(CarrierLoad, u64)>,
}

impl<'s> World<'s> {
    /// The state before the first event.
    pub fn new(script: &'s Script) -> World<'s> {
        let process = Process {
            life: Life::Outside,
            at: 0,
            busy: false,
            done: false,
            waits: None,
            epoch: 0,
            looked: 0,
            asked: None,
            started: 0,
            moved: 0,
        };
        let way = |channel: &ligament_agent::plan::PlannedChannel| ChannelTraffic {
            budget: channel.budget,
            ..ChannelTraffic::default()
        };
        World {
            processes: vec![process; script.programs.len()],
            ways: script.plan.channels.iter().map(way).collect(),
            carriers: vec![(CarrierLoad::default(), 0); script.domains as usize],
            script,
        }
    }

    /// An instance has registered.
    pub fn registers(&mut self, who: u32, now: u64) {
        let process = &mut self.processes[who as usize];
        (process.life, process.started) = (Life::Runs, now.max(1));
    }

    /// An instance looks again, because the agent asks it to.
    pub fn is_asked(&mut self, who: u32, round: u64) {
        self.processes[who as usize].asked = Some(round);
    }

    /// An instance goes on as far as it can.
    pub fn goes_on(&mut self, who: u32, now: u64) -> Vec<Follows> {
        let mut out = Vec::new();
        while self.processes[who as usize].life == Life::Runs && !self.processes[who as usize].busy {
            let process = &self.processes[who as usize];
            let step = self.script.programs[who as usize].get(process.at).copied();
            let lacks = match step {
                None => {
                    let process = &mut self.processes[who as usize];
                    (process.life, process.done) = (Life::Done, true);
                    out.push(Follows::Finishes(who));
                    break;
                }
                Some(Step::Compute(ns)) => {
                    self.processes[who as usize].busy = true;
                    out.push(Follows::Computes(who, ns));
                    None
                }
                Some(Step::Send(channel)) => self.sends(channel, &mut out),
                Some(Step::Receive(channel)) => self.receives(channel, &mut out),
            };
            let process = &mut self.processes[who as usize];
            let Some(lacks) = lacks else {
                process.at += 1;
                process.moved += 1;
                // The instance no longer waits, if it did.
                process.epoch += process.epoch % 2;
                process.waits = None;
                continue;
            };
            if process.waits.is_none() {
                process.epoch += 1;
                process.waits = Some((lacks, now));
            }
            if let Some(round) = process.asked.take() {
                process.looked = round;
            }
            break;
        }
        out
    }

    fn sends(&mut self, channel: u32, out: &mut Vec<Follows>) -> Option<AwaitedEvent> {
        let ends = &self.script.plan.channels[channel as usize];
        let far = self.script.is_far(channel);
        let way = &mut self.ways[channel as usize];
        let under_way = way.sent - way.known;
        if under_way >= way.budget {
            return Some(AwaitedEvent::Credit { channel, needs: under_way + 1 });
        }
        way.sent += 1;
        if far {
            way.ring += 1;
            out.push(Follows::Carries(self.script.placement[ends.from.rank.index()]));
        } else {
            way.inbox += 1;
            out.push(Follows::Wakes(ends.to.rank.number()));
        }
        None
    }

    fn receives(&mut self, channel: u32, out: &mut Vec<Follows>) -> Option<AwaitedEvent> {
        let ends = &self.script.plan.channels[channel as usize];
        let far = self.script.is_far(channel);
        let way = &mut self.ways[channel as usize];
        if way.inbox == 0 {
            return Some(AwaitedEvent::Message { channels: vec![channel] });
        }
        way.inbox -= 1;
        way.received += 1;
        if far {
            out.push(Follows::Carries(self.script.placement[ends.to.rank.index()]));
        } else {
            way.known += 1;
            out.push(Follows::Wakes(ends.from.rank.number()));
        }
        None
    }

    /// A carrier takes all messages that wait for it. Returns the domains to which they go.
    pub fn carries(&mut self, domain: u32) -> Vec<(u32, CarrierItem)> {
        let mut out = Vec::new();
        for channel in (0..self.ways.len() as u32).filter(|&channel| self.script.is_far(channel)) {
            let ends = &self.script.plan.channels[channel as usize];
            let from = self.script.placement[ends.from.rank.index()];
            let to = self.script.placement[ends.to.rank.index()];
            let (way, carrier) = (&mut self.ways[channel as usize], &mut self.carriers[domain as usize]);
            let count = if from == domain { std::mem::take(&mut way.ring) } else { 0 };
            if count > 0 {
                carrier.0.sent += count;
                carrier.1 += 1;
                out.push((to, CarrierItem::Messages { channel, count }));
            }
            let count = way.received - way.told;
            if to == domain && count > 0 {
                way.told += count;
                carrier.0.told += count;
                carrier.1 += 1;
                out.push((from, CarrierItem::Credit { channel, count }));
            }
        }
        out
    }

    /// A message arrives at a carrier. Returns the instances that may see it, and the report of its arrival.
    pub fn arrives(&mut self, domain: u32, cargo: CarrierItem) -> (Option<u32>, Option<(u32, CarrierItem)>) {
        let ends = |channel: u32| &self.script.plan.channels[channel as usize];
        match cargo {
            CarrierItem::Messages { channel, count } => {
                self.carriers[domain as usize].0.came += count;
                self.ways[channel as usize].inbox += count;
                let from = self.script.placement[ends(channel).from.rank.index()];
                (
                    Some(ends(channel).to.rank.number()),
                    Some((from, CarrierItem::Word { domain: from, count: 1 })),
                )
            }
            CarrierItem::Credit { channel, count } => {
                self.carriers[domain as usize].0.credited += count;
                self.ways[channel as usize].known += count;
                let to = self.script.placement[ends(channel).to.rank.index()];
                (Some(ends(channel).from.rank.number()), Some((to, CarrierItem::Word { domain: to, count: 1 })))
            }
            CarrierItem::Word { domain, count } => {
                self.carriers[domain as usize].1 -= count;
                (None, None)
            }
        }
    }

    /// Returns the report of a carrier about its load. The carrier takes all messages first.
    pub fn carried(&self, domain: u32) -> CarrierLoad {
        let (counts, under_way) = self.carriers[domain as usize];
        let lies = |channel: u32| {
            let ends = &self.script.plan.channels[channel as usize];
            let way = &self.ways[channel as usize];
            let here = |rank: RankId| self.script.placement[rank.index()] == domain;
            (here(ends.from.rank) && way.ring > 0) || (here(ends.to.rank) && way.received > way.told)
        };
        let far = (0..self.ways.len() as u32).filter(|&channel| self.script.is_far(channel));
        CarrierLoad { quiet: under_way == 0 && !far.into_iter().any(lies), ..counts }
    }

    /// Returns the status page of an instance, on a clock that is ahead by `ahead`.
    pub fn page(&self, who: u32, ahead: u64) -> Option<Status> {
        let process = &self.processes[who as usize];
        if process.started == 0 {
            return None;
        }
        let waits = process.waits.as_ref().map(|(what, since)| WaitRecord {
            what: what.clone(),
            since: since + ahead,
            timed: false,
            holding: false,
        });
        let state = match (process.done, &process.waits) {
            (true, _) => EndpointActivity::Ended,
            (_, None) => EndpointActivity::Computing,
            (_, Some((AwaitedEvent::Message { .. }, _))) => EndpointActivity::WaitingToReceive,
            (_, Some(_)) => EndpointActivity::WaitingToSend,
        };
        Some(Status {
            state,
            epoch: process.epoch,
            waits,
            looked: process.looked,
            time: None,
            iterations: 0,
            pinned: 0,
            sent_messages: process.moved,
            sent_bytes: 0,
            received_messages: 0,
            received_bytes: 0,
            waited: 0,
            transferred: 0,
            receiving: 0,
            wait_count: 0,
            started: process.started + ahead,
            ended: 0,
        })
    }
}
