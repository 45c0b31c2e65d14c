//! The domains: the real logic of each agent and of the head, and the events that connect them. Messages
//! between agents are bytes that are delayed, and arrive in order.

use super::script::{DomainFault, Script};
use super::verdict;
use super::world::{CarrierItem, Follows, Life, World};
use super::ScheduleResult;
use crate::manager::PlanNames;
use crate::random::Random;
use crate::script::MS;
use ligament_agent::domains::{HeadRequest, RemoteAgent, SnapshotSource};
use ligament_agent::memory::MemoryLedger;
use ligament_agent::{
    Action, AgentCore, AgentOrder, AgentReport, Caller, ChannelView, ConnectionId, Exit, InstanceView,
    ProcessInspection, ProcessSignal, RunOutcome, SocketIdentity,
};
use ligament_manager::domains::{DomainRoster, ExpectedDomain, Head, HeadAction};
use ligament_manager::{Level, Manager, ManagerAction, RunContext};
use ligament_wire::control::{to_bytes, Notice, Request, PROTOCOL};
use ligament_wire::domains::{Extent, FromAgent, Join, VERSION};
use ligament_wire::{DomainId, EndpointId, RankId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

const USER: u32 = 7;
const GRACE_NS: u64 = 2_000 * MS;
/// Time for which a domain may be silent.
pub const PATIENCE_NS: u64 = 10_000 * MS;
const MAX_DURATION_NS: u64 = 300_000 * MS;
const MAX_EVENTS: u64 = 400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Starts(u32),
    Registers(u32),
    Wakes(u32),
    Computed(u32),
    Exits {
        who: u32,
        signal: i32,
    },
    Carries(u32),
    Arrives {
        domain: u32,
        cargo: CarrierItem,
    },
    /// The next message from a domain to the head, or from the head to a domain, arrives.
    Up(u32),
    Down(u32),
    Snapshot(u32),
    HeadLooks,
    GraceEnds(u32),
    Trouble(usize),
}

/// A domain.
pub struct Site {
    pub core: AgentCore,
    remote: Option<RemoteAgent>,
    pub alive: bool,
    pub over: bool,
    done_here: bool,
    /// The time by which its clock is ahead of the stage's.
    ahead: u64,
    up: VecDeque<Vec<u8>>,
    down: VecDeque<Vec<u8>>,
    last_up: u64,
    last_down: u64,
}

/// The events.
pub struct Stage<'s> {
    pub script: &'s Script,
    pub world: World<'s>,
    pub sites: Vec<Site>,
    pub head: Head,
    pub manager: Manager<PlanNames>,
    pub names: PlanNames,
    pub log: Vec<(Level, String, String)>,
    pub clock: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    posted: u64,
    random: Random,
    story: Option<Vec<String>>,
    pub wrong: Vec<String>,
    /// The progress of each instance when the manager named a deadlock.
    pub doomed: Option<Vec<u64>>,
    /// The faults so far.
    pub faults: Vec<DomainFault>,
}

/// Plays the schedule of a seed. With `tells`, records its story.
pub fn run(seed: u64, tells: bool) -> ScheduleResult {
    let mut random = Random::new(seed ^ 0x646f_6d61_696e_7321);
    let script = Script::new(&mut random);
    let mut played = ScheduleResult { seed, domains: script.domains as usize, ..ScheduleResult::default() };
    if let Some(why) = gather(&script, &mut random, &mut played.wrong) {
        played.end = "not joined";
        played.story.push(why);
        return played;
    }
    let mut stage = Stage::new(&script, random, tells);
    played.ranks = script.plan.instances.iter().filter(|instance| instance.ranks.is_some()).count();
    played.events = stage.play();
    let (end, wrong) = verdict::of(&stage);
    played.end = end;
    played.wrong = std::mem::take(&mut stage.wrong);
    played.wrong.extend(wrong);
    played.grown = stage.log.iter().filter(|(_, _, text)| text.contains("the budget of")).count();
    played.story = stage.story.unwrap_or_default();
    played
}

/// All domains join, in any order, and some join more than once. Those that never join are reported.
fn gather(script: &Script, random: &mut Random, wrong: &mut Vec<String>) -> Option<String> {
    let never = |domain: &u32| script.troubles.contains(&DomainFault::NeverJoins { domain: *domain });
    let expected = |domain| {
        let name = format!("node{domain}");
        ExpectedDomain { domain: DomainId::new(domain), name, cores: None, site: None, agent_cores: None }
    };
    let mut gathering = DomainRoster::new((1..script.domains).map(expected).collect());
    let mut joins: Vec<u32> = (1..script.domains).filter(|domain| !never(domain)).collect();
    if random.percent(50) {
        joins.reverse();
    }
    if random.percent(20) {
        joins.extend(joins.clone());
    }
    for domain in joins {
        let join = Join { version: VERSION, host: format!("node{domain}"), cores: 1, ..Join::default() };
        if let Err((why, _)) = gathering.heard(DomainId::new(domain), &to_bytes(&FromAgent::Join(join))) {
            wrong.push(why.to_string());
        }
    }
    let missing: Vec<String> =
        (1..script.domains).filter(never).map(|domain| format!("node{domain}")).collect();
    if missing.is_empty() {
        if gathering.complete().is_none() {
            wrong.push("all have joined, and the run does not begin".into());
        }
        return None;
    }
    let why = gathering.too_late(60.0);
    let named = missing.iter().all(|name| why.contains(name.as_str()));
    if gathering.complete().is_some() || gathering.missing() != missing || !named {
        wrong.push(format!("{missing:?} never joined, and it is said: {why}"));
    }
    Some(why.to_string())
}

impl<'s> Stage<'s> {
    fn new(script: &'s Script, mut random: Random, tells: bool) -> Stage<'s> {
        let ranks = script.plan.ranks();
        let placement = script.placement_of_instances();
        let mut sites = Vec::new();
        for me in 0..script.domains {
            let plan = script.plan.clone().in_domain(&placement, DomainId::new(me));
            let ledger = MemoryLedger::for_run(plan.memory);
            let mut secret = random.split();
            let identity = SocketIdentity { user: USER, address: "@stage".into() };
            let mut core = AgentCore::new(plan, ledger, identity, || secret.next().to_string());
            core.hold();
            sites.push(Site {
                core,
                remote: (me > 0).then(|| RemoteAgent::new(&placement, &ranks, DomainId::new(me))),
                alive: true,
                over: false,
                done_here: false,
                // The clocks of domains may be hours apart.
                ahead: random.below(100_000_000 * MS),
                up: VecDeque::new(),
                down: VecDeque::new(),
                last_up: 0,
                last_down: 0,
            });
        }
        let names = (1..script.domains).map(|domain| format!("node{domain}")).collect();
        let (channels, now) = (script.plan.channels.len(), sites[0].ahead);
        let patience = Duration::from_nanos(PATIENCE_NS);
        let mut manager = Manager::new(&script.plan, PlanNames::of(&script.plan));
        let of_ranks: Vec<DomainId> = script.placement.iter().copied().map(DomainId::new).collect();
        manager.spread_over(&of_ranks);
        Stage {
            world: World::new(script),
            head: Head::new(Extent { placement, ranks, channels, inputs: 0 }, names, patience, now),
            manager,
            names: PlanNames::of(&script.plan),
            script,
            sites,
            log: Vec::new(),
            clock: 0,
            events: BinaryHeap::new(),
            posted: 0,
            random,
            story: tells.then(Vec::new),
            wrong: Vec::new(),
            doomed: None,
            faults: Vec::new(),
        }
    }

    fn tell(&mut self, words: impl FnOnce() -> String) {
        let clock = self.clock;
        if let Some(story) = &mut self.story {
            story.push(format!("{:>12.3} ms  {}", clock as f64 / 1e6, words()));
        }
    }

    fn post(&mut self, delay: u64, event: Event) {
        self.posted += 1;
        self.events.push(Reverse((self.clock + delay, self.posted, event)));
    }

    /// Schedules an event that happens soon, but not at once.
    fn soon(&mut self, longest: u64, event: Event) {
        let delay = self.random.scaled(longest);
        self.post(delay, event);
    }

    fn play(&mut self) -> u64 {
        for domain in 0..self.script.domains {
            let actions = self.sites[domain as usize].core.begin();
            self.act(domain, actions);
            self.soon(20 * MS, if domain == 0 { Event::HeadLooks } else { Event::Snapshot(domain) });
        }
        for (number, trouble) in self.script.troubles.iter().enumerate() {
            match *trouble {
                DomainFault::Crash { at, .. }
                | DomainFault::AgentDies { at, .. }
                | DomainFault::Stop { at } => {
                    self.post(at, Event::Trouble(number));
                }
                DomainFault::NeverJoins { .. } => {}
            }
        }
        let mut count = 0;
        self.see_who_is_done();
        while self.sites.iter().any(|site| site.alive && !site.over) {
            let Some(Reverse((time, _, event))) = self.events.pop() else {
                self.wrong.push("nothing can happen any more, and the run has not ended".into());
                break;
            };
            self.clock = self.clock.max(time);
            count += 1;
            if self.clock > MAX_DURATION_NS || count > MAX_EVENTS {
                let seconds = self.clock / (1000 * MS);
                self.wrong.push(format!("the run had not ended after {count} events and {seconds} s"));
                break;
            }
            self.happens(event);
            self.see_who_is_done();
        }
        count
    }

    /// Returns true if a signal has stopped an instance's process.
    fn is_stopped(&self, who: u32) -> Option<u64> {
        let (whom, from, until) = self.script.stopped?;
        let ending = self.sites[self.script.placement[who as usize] as usize].core.ending().is_some();
        (whom == who && (from..until).contains(&self.clock) && !ending).then(|| until - self.clock)
    }

    fn lives(&self, who: u32) -> bool {
        self.sites[self.script.placement[who as usize] as usize].alive
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Starts(who) | Event::Registers(who) | Event::Wakes(who) | Event::Computed(who) => {
                if let Some(rest) = self.is_stopped(who) {
                    return self.post(rest, event);
                }
                if self.world.processes[who as usize].life == Life::Gone || !self.lives(who) {
                    return;
                }
                match event {
                    Event::Starts(_) => self.soon(5 * MS, Event::Registers(who)),
                    Event::Registers(_) => self.registers(who),
                    Event::Computed(_) => {
                        self.world.processes[who as usize].busy = false;
                        self.goes_on(who);
                    }
                    _ => self.goes_on(who),
                }
            }
            Event::Exits { who, signal } => self.exits(who, signal),
            Event::Carries(domain) => {
                if self.sites[domain as usize].alive {
                    for (to, cargo) in self.world.carries(domain) {
                        self.soon(self.script.path_delay, Event::Arrives { domain: to, cargo });
                    }
                }
            }
            Event::Arrives { domain, cargo } => self.arrives(domain, cargo),
            Event::Up(domain) => self.head_hears(domain),
            Event::Down(domain) => self.agent_hears(domain),
            Event::Snapshot(domain) => self.snapshot(domain),
            Event::HeadLooks => self.head_looks(),
            Event::GraceEnds(domain) => {
                if self.sites[domain as usize].alive {
                    let actions = self.sites[domain as usize].core.grace_is_over();
                    self.act(domain, actions);
                }
            }
            Event::Trouble(number) => self.trouble(self.script.troubles[number]),
        }
    }

    fn trouble(&mut self, trouble: DomainFault) {
        self.tell(|| format!("TROUBLE: {trouble:?}"));
        match trouble {
            DomainFault::Crash { who, .. } => {
                if !matches!(self.world.processes[who as usize].life, Life::Runs | Life::Done)
                    || !self.lives(who)
                {
                    return;
                }
                self.exits(who, 11);
            }
            DomainFault::AgentDies { domain, .. } => {
                let site = &mut self.sites[domain as usize];
                if !site.alive || site.over {
                    return;
                }
                site.alive = false;
                // The guard ends the instances that it had started.
                for who in 0..self.script.placement.len() {
                    if self.script.placement[who] == domain {
                        self.world.processes[who].life = Life::Gone;
                    }
                }
            }
            DomainFault::Stop { .. } => {
                if self.sites[0].core.ending().is_some() {
                    return;
                }
                self.faults.push(trouble);
                let actions = self.sites[0].core.stop(RunOutcome::Stopped);
                return self.act(0, actions);
            }
            DomainFault::NeverJoins { .. } => return,
        }
        self.faults.push(trouble);
    }

    fn registers(&mut self, who: u32) {
        let domain = self.script.placement[who as usize];
        let core = &mut self.sites[domain as usize].core;
        let [_, (_, instance), (_, token)] = core.environment(EndpointId::new(who));
        let (link, pid) = (ConnectionId::from(who), 100 + who);
        let mut actions = core.connected(link, Caller { user: USER, pid });
        let hello = Request::Hello {
            protocol: PROTOCOL,
            instance,
            token,
            pid,
            ports: None,
            language: "simulation".into(),
            light: false,
        };
        actions.extend(core.request(link, hello));
        if core.link_of(EndpointId::new(who)).is_none() {
            // The run is ending already, and the agent knows it.
            return;
        }
        self.world.registers(who, self.clock);
        self.act(domain, actions);
        self.goes_on(who);
    }

    fn goes_on(&mut self, who: u32) {
        for follows in self.world.goes_on(who, self.clock) {
            match follows {
                Follows::Wakes(other) => self.soon(MS, Event::Wakes(other)),
                Follows::Computes(who, ns) => self.post(ns, Event::Computed(who)),
                Follows::Carries(domain) => self.soon(2 * MS, Event::Carries(domain)),
                Follows::Finishes(who) => {
                    let domain = self.script.placement[who as usize];
                    let actions =
                        self.sites[domain as usize].core.request(ConnectionId::from(who), Request::Finished);
                    self.act(domain, actions);
                    self.soon(MS, Event::Exits { who, signal: 0 });
                }
            }
        }
    }

    fn exits(&mut self, who: u32, signal: i32) {
        let domain = self.script.placement[who as usize];
        let process = &mut self.world.processes[who as usize];
        if process.life == Life::Gone || !self.sites[domain as usize].alive {
            return;
        }
        process.life = Life::Gone;
        let exit = if signal == 0 { Exit::Status(0) } else { Exit::Signal(signal) };
        self.tell(|| format!("part{who} is gone: {exit}"));
        let actions = self.sites[domain as usize].core.exited(EndpointId::new(who), exit);
        self.act(domain, actions);
    }

    fn arrives(&mut self, domain: u32, cargo: CarrierItem) {
        if !self.sites[domain as usize].alive {
            return;
        }
        let (who, word) = self.world.arrives(domain, cargo);
        if let Some(who) = who {
            self.soon(MS, Event::Wakes(who));
        }
        if let Some((to, word)) = word {
            self.soon(self.script.path_delay, Event::Arrives { domain: to, cargo: word });
        }
    }

    /// Returns the time at which the lines between agents work again, if they are cut.
    fn cut(&self) -> u64 {
        match self.script.cut {
            Some((from, lasts)) if (from..from + lasts).contains(&self.clock) => from + lasts - self.clock,
            _ => 0,
        }
    }

    fn says(&mut self, domain: u32, up: bool, bytes: Vec<u8>) {
        let delay = self.cut() + self.random.scaled(self.script.control_delay);
        let clock = self.clock;
        let site = &mut self.sites[domain as usize];
        let last = if up { &mut site.last_up } else { &mut site.last_down };
        // Messages stay in order.
        *last = (*last).max(clock + delay);
        let delay = *last - clock;
        if up { &mut site.up } else { &mut site.down }.push_back(bytes);
        self.post(delay, if up { Event::Up(domain) } else { Event::Down(domain) });
    }

    fn head_hears(&mut self, domain: u32) {
        let Some(bytes) = self.sites[domain as usize].up.pop_front() else { return };
        let now = self.clock + self.sites[0].ahead;
        let doings = self.head.heard(DomainId::new(domain), &bytes, now);
        self.do_all(doings);
        let release = self.head.release().into_iter().collect();
        self.do_all(release);
    }

    fn agent_hears(&mut self, domain: u32) {
        let site = &mut self.sites[domain as usize];
        let (Some(bytes), Some(remote), true) = (site.down.pop_front(), &mut site.remote, site.alive) else {
            return;
        };
        let heard = remote.heard(&bytes).expect("the head makes sense");
        for heard in heard {
            let order = match heard {
                HeadRequest::Order(order) => order,
                HeadRequest::Bye => AgentOrder::Release,
                HeadRequest::Wrote(_)
                | HeadRequest::NotWritten { .. }
                | HeadRequest::Look(_)
                | HeadRequest::Tap(_)
                | HeadRequest::Refused(_) => continue,
            };
            self.tell(|| format!("domain {domain} is to do: {order:?}"));
            let actions = self.sites[domain as usize].core.carry_out_order(order);
            self.act(domain, actions);
        }
    }

    fn views(&self, domain: u32) -> Vec<InstanceView> {
        let site = &self.sites[domain as usize];
        let one = |who: u32| {
            let (phase, pid) = site.core.rank(RankId::new(who));
            let own = self.script.placement[who as usize] == domain;
            let status = own.then(|| self.world.page(who, site.ahead)).flatten();
            InstanceView { phase, pid, speaker: None, status }
        };
        (0..self.script.placement.len() as u32).map(one).collect()
    }

    fn take_snapshot(&mut self, domain: u32) {
        let views = self.views(domain);
        let carried = self.world.carried(domain);
        let clock = self.clock;
        let site = &mut self.sites[domain as usize];
        let Some(remote) = &mut site.remote else { return };
        let bytes = remote.snapshot(
            SnapshotSource {
                views: &views,
                memory: site.core.memory(),
                inspect: |_| ProcessInspection::default(),
                ends: |_: &mut dyn FnMut(u32, ChannelView)| (),
                carried: || carried,
            },
            clock + site.ahead,
        );
        self.says(domain, true, bytes);
    }

    fn snapshot(&mut self, domain: u32) {
        if !self.sites[domain as usize].alive || self.sites[domain as usize].over {
            return;
        }
        self.take_snapshot(domain);
        let next = self.sites[domain as usize].remote.as_ref().map(RemoteAgent::next_snapshot);
        self.post(next.unwrap_or_default().as_nanos() as u64, Event::Snapshot(domain));
    }

    fn head_looks(&mut self) {
        if self.sites[0].over {
            return;
        }
        let now = self.clock + self.sites[0].ahead;
        let doings = self.head.tick(now);
        self.do_all(doings);
        let release = self.head.release().into_iter().collect();
        self.do_all(release);
        let mut views = self.views(0);
        self.head.fill_views(&mut views);
        let seen = self.manager.observe(&views, now);
        let carriers = self.head.carriers(|| self.world.carried(0));
        let memory = self.head.memory(self.sites[0].core.memory());
        let around = RunContext { memory, carriers: &carriers, channels: &Vec::new, now };
        for deed in self.manager.check(&seen, &around) {
            match deed {
                ManagerAction::Announce { level, who, text } | ManagerAction::Write { level, who, text } => {
                    self.log.push((level, who, text));
                }
                ManagerAction::Order(order) => {
                    self.tell(|| format!("the manager orders: {order:?}"));
                    if matches!(order, AgentOrder::Fail(_)) {
                        self.doomed = Some(self.world.processes.iter().map(|one| one.moved).collect());
                    }
                    let doings = self.head.pass_on(order);
                    self.do_all(doings);
                }
            }
        }
        let next = self.manager.next_check().as_nanos() as u64;
        self.post(next, Event::HeadLooks);
    }

    fn do_all(&mut self, doings: Vec<HeadAction>) {
        for doing in doings {
            match doing {
                HeadAction::Tell { domain, bytes } => self.says(domain.number(), false, bytes),
                HeadAction::Order(order) => {
                    let actions = self.sites[0].core.carry_out_order(order);
                    self.act(0, actions);
                }
                HeadAction::Report(report) => self.note(report),
                HeadAction::Gained { .. }
                | HeadAction::Write { .. }
                | HeadAction::WriteCheckpoint { .. }
                | HeadAction::Ready { .. }
                | HeadAction::Cores(_)
                | HeadAction::Leaves { .. }
                | HeadAction::Tapped { .. }
                | HeadAction::Seen { .. } => {}
            }
        }
    }

    fn note(&mut self, report: AgentReport) {
        if let Some(ManagerAction::Announce { level, who, text } | ManagerAction::Write { level, who, text }) =
            self.manager.report(report)
        {
            self.log.push((level, who, text));
        }
    }

    fn reports(&mut self, domain: u32, report: AgentReport) {
        self.tell(|| format!("domain {domain} reports: {report:?}"));
        if domain == 0 {
            if let AgentReport::Ending(outcome) = &report {
                let doings = self.head.ending(outcome);
                self.do_all(doings);
            }
            return self.note(report);
        }
        let Some(remote) = &mut self.sites[domain as usize].remote else { return };
        remote.report(&report);
        if let Some(bytes) = remote.news() {
            self.says(domain, true, bytes);
        }
    }

    fn act(&mut self, domain: u32, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start { endpoint } if self.sites[domain as usize].core.ending().is_none() => {
                    let who = endpoint.number();
                    self.sites[domain as usize].core.started(endpoint, 100 + who);
                    self.soon(20 * MS, Event::Starts(who));
                }
                Action::SignalProcess { endpoint, push } => {
                    let signal = if push == ProcessSignal::Kill { 9 } else { 15 };
                    if push == ProcessSignal::Kill || self.random.percent(70) {
                        self.soon(5 * MS, Event::Exits { who: endpoint.number(), signal });
                    }
                }
                Action::Tell { endpoint, notice: Notice::Look { round }, .. } => {
                    self.world.is_asked(endpoint.number(), round);
                    self.soon(MS, Event::Wakes(endpoint.number()));
                }
                Action::Tell { endpoint, notice: Notice::Budget { channel, bytes }, .. } => {
                    self.world.ways[channel as usize].budget = bytes;
                    self.soon(MS, Event::Wakes(endpoint.number()));
                }
                Action::Report(report) => self.reports(domain, report),
                Action::StartGraceTimer => self.post(GRACE_NS, Event::GraceEnds(domain)),
                Action::Over => self.sites[domain as usize].over = true,
                _ => {}
            }
        }
        if domain == 0 && self.sites[0].over {
            let last = self.head.dismiss_agents();
            for doing in last {
                if let HeadAction::Tell { domain, bytes } = doing {
                    self.says(domain.number(), false, bytes);
                }
            }
        }
    }

    /// A domain whose processes have all ended reports this once.
    fn see_who_is_done(&mut self) {
        for domain in 0..self.script.domains {
            let site = &mut self.sites[domain as usize];
            if !site.alive || site.done_here || !site.core.is_done_here() {
                continue;
            }
            site.done_here = true;
            self.tell(|| format!("domain {domain} has no process left"));
            if domain == 0 {
                self.head.done_here();
                let release = self.head.release().into_iter().collect();
                self.do_all(release);
                continue;
            }
            self.take_snapshot(domain);
            let site = &mut self.sites[domain as usize];
            let ending = site.core.ending().cloned();
            let last = site.remote.as_mut().and_then(|remote| remote.over(ending.as_ref()));
            if let Some(bytes) = last {
                self.says(domain, true, bytes);
            }
        }
    }

    /// Returns the head's view of all instances at the end.
    pub fn last_views(&self) -> Vec<InstanceView> {
        let mut views = self.views(0);
        self.head.fill_views(&mut views);
        views
    }
}
