//! The agent of a simulated run: the real logic and custody, with the manager beside it. The stage stands for
//! sockets, processes and timers. It carries out each action as `driver.rs` does.

use crate::manager::Desk;
use crate::random::Random;
use crate::requests::{HeadOutcome, SteeredHead};
use crate::script::{Script, MS, US};
use crate::stage::{Event, Shared, Upward};
use ligament_agent::memory::MemoryLedger;
use ligament_agent::{
    Action, AgentCore, AgentOrder, AgentReport, Caller, ConnectionId, Custody, Exit, InstanceView,
    MemoryRegion, ProcessSignal, RunOutcome, SocketIdentity,
};
use ligament_catalogue::fault;
use ligament_manager::steering::RankAnswer;
use ligament_shm::line::Identity;
use ligament_shm::socket::SocketFrame;
use ligament_wire::control::{from_bytes, to_bytes, Notice, Request};
use ligament_wire::{EndpointId, RankId};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;

/// The user number of all processes.
const USER: u32 = 7;
/// Time that instances have to end by themselves.
const GRACE_NS: u64 = 2_000 * MS;

/// Time that an instance that was called dead has to show that it lives. It is longer than any real delay.
const PATIENCE_NS: u64 = 10_000 * MS;

/// The reason why a run cannot end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The instance with this number has failed.
    Of(u32),
    /// A user stopped the run.
    Stop,
    /// Some instances wait for each other.
    Deadlock,
}

/// The agent.
pub struct Agent {
    pub core: AgentCore,
    pub custody: Custody,
    pub manager: Desk,
    /// The head of a steered run, and the answers that it has not taken yet.
    head: Option<SteeredHead>,
    answers: VecDeque<RankAnswer>,
    /// The manager's order to end the run for a deadlock, and how far each instance had come when the order was
    /// given.
    doom: Option<(AgentOrder, Vec<u64>)>,
    /// Frames for which an instance's socket had no room.
    clogged: Vec<VecDeque<SocketFrame>>,
    /// True if the agent has accepted the instance's connection, and closes it when everything is sent.
    accepted: Vec<bool>,
    closing: Vec<bool>,
    missing: Vec<bool>,
    chance_of_clogging: u64,
    random: Random,
    pub over: bool,
    reading: u64,
    /// The first fault, as the stage sees it.
    pub first_fault: Option<Fault>,
}

impl Agent {
    /// Makes the agent of a script. `missing` are instances whose program does not exist.
    pub fn new(script: &Script, missing: Vec<bool>, mut random: Random) -> Agent {
        let n = script.programs.len();
        let ledger = MemoryLedger::for_run(script.plan.memory);
        let mut secret = random.split();
        let identity = SocketIdentity { user: USER, address: "@stage".into() };
        let core = AgentCore::new(script.plan.clone(), ledger, identity, || secret.next().to_string());
        let custody = Custody::new(core.plan(), core.wiring(), script.cores).expect("a board");
        let desk = Desk::new(script, random.split());
        let is_steered = script.cuts.as_ref().is_some_and(|cuts| cuts.is_steered);
        // Only steered runs draw for it, so that the other schedules stay as they were.
        let head = is_steered.then(|| random.split()).and_then(|stream| SteeredHead::of(script, stream));
        Agent {
            core,
            custody,
            manager: desk,
            head,
            answers: VecDeque::new(),
            doom: None,
            clogged: (0..n).map(|_| VecDeque::new()).collect(),
            accepted: vec![false; n],
            closing: vec![false; n],
            missing,
            chance_of_clogging: script.clogged,
            random,
            over: false,
            reading: script.reading,
            first_fault: None,
        }
    }

    /// Returns the identity that an instance finds in its environment.
    pub fn identity(&self, who: u32) -> Identity {
        let [agent, instance, token] = self.core.environment(EndpointId::new(who)).map(|(_, value)| value);
        Identity { agent, instance, token }
    }

    /// Begins the run.
    pub fn begin(&mut self, shared: &mut Shared) {
        let actions = self.core.begin();
        self.act(actions, shared);
        shared.post(self.manager.pause(), Event::Reads { who: 0 });
        if let Some(head) = &mut self.head {
            shared.post(head.pause(), Event::Wishes);
        }
    }

    fn fault(&mut self, fault: Fault) {
        if self.core.ending().is_none() {
            self.first_fault.get_or_insert(fault);
        }
    }

    /// Returns the manager's view of an instance.
    pub fn page(&self, who: u32) -> InstanceView {
        let rank = RankId::new(who);
        let (phase, pid) = self.core.rank(rank);
        InstanceView { phase, pid, speaker: self.core.speaker(rank), status: self.custody.status(rank) }
    }

    /// The manager reads a status page. After the last page, it decides what to do.
    pub fn reads(&mut self, who: u32, shared: &mut Shared) {
        if self.core.ending().is_some() {
            return;
        }
        if let Some(who) = self.manager.read(self.page(who)) {
            let delay = self.random.scaled(self.reading);
            return shared.post(delay, Event::Reads { who });
        }
        for order in self.manager.look(shared.clock, self.core.memory()) {
            shared.tell(|| format!("manager orders: {order:?}"));
            match order {
                AgentOrder::Fail(_) => {
                    self.doom = Some((order, shared.moved.clone()));
                    let delay = if self.random.percent(50) { PATIENCE_NS } else { 0 };
                    shared.post(delay, Event::Dooms);
                }
                order => self.obey(order, shared),
            }
        }
        shared.post(self.manager.pause(), Event::Reads { who: 0 });
    }

    /// Ends the run for a deadlock that the manager has found, if the run has not ended meanwhile. No instance
    /// that it called dead may have moved.
    pub fn dooms(&mut self, shared: &mut Shared) {
        let Some((order, before)) = self.doom.take() else {
            return;
        };
        let found = self.manager.logic.deadlock().expect("it has said so");
        for wait in found.knot.waits.iter().chain(&found.behind) {
            let who = wait.rank.index();
            if shared.moved[who] != before[who] {
                shared.accuse(format!("part{who} was called dead, and went on"));
            }
        }
        self.fault(Fault::Deadlock);
        self.obey(order, shared);
    }

    fn obey(&mut self, order: AgentOrder, shared: &mut Shared) {
        let actions = self.core.carry_out_order(order);
        self.act(actions, shared);
    }

    /// People look at the run, and may steer it.
    pub fn wishes(&mut self, shared: &mut Shared) {
        let Some(head) = self.head.as_mut().filter(|_| self.core.ending().is_none()) else { return };
        let outcome = head.look(shared.clock, &mut shared.agreed);
        shared.post(head.pause(), Event::Wishes);
        self.carry_out(outcome, shared);
    }

    /// The head takes the answers of instances.
    pub fn takes_answers(&mut self, shared: &mut Shared) {
        while let Some(answer) = self.answers.pop_front() {
            let Some(head) = &mut self.head else { return };
            shared.tell(|| format!("head hears {answer:?}"));
            let outcome = head.answered(answer, shared.clock, &mut shared.agreed);
            self.carry_out(outcome, shared);
        }
    }

    fn carry_out(&mut self, outcome: HeadOutcome, shared: &mut Shared) {
        for moment in outcome.given_up {
            shared.tell(|| format!("head gives up the checkpoint at {moment}"));
            shared.ledger.give_up(moment.to_bits());
        }
        for order in outcome.orders {
            shared.tell(|| format!("head orders: {order:?}"));
            self.obey(order, shared);
        }
    }

    /// A user stops the run.
    pub fn stop(&mut self, shared: &mut Shared) {
        self.fault(Fault::Stop);
        let actions = self.core.stop(RunOutcome::Stopped);
        self.act(actions, shared);
    }

    /// Handles the next frame from an instance's socket.
    pub fn arrives(&mut self, who: u32, shared: &mut Shared) {
        if let Some(what) = shared.up[who as usize].pop_front() {
            self.take(who, what, shared);
        }
    }

    fn take(&mut self, who: u32, what: Upward, shared: &mut Shared) {
        let link = ConnectionId::from(who);
        match what {
            Upward::Connected => {
                self.accepted[who as usize] = true;
                let actions = self.core.connected(link, Caller { user: USER, pid: 100 + who });
                self.act(actions, shared);
            }
            Upward::Closed => {
                let actions = self.core.closed(link);
                self.act(actions, shared);
            }
            Upward::Frame(bytes) => {
                let request = from_bytes::<Request>(&bytes).expect("instances of ours make sense");
                shared.tell(|| format!("agent hears from part{who}: {request:?}"));
                if matches!(request, Request::Failed { .. }) {
                    self.fault(Fault::Of(who));
                }
                let actions = self.core.request(link, request);
                self.act(actions, shared);
            }
        }
    }

    /// An instance's process has ended. Its earlier frames come first.
    pub fn exits(&mut self, who: u32, exit: Exit, clean: bool, shared: &mut Shared) {
        if self.core.link_of(EndpointId::new(who)).is_some() || !self.accepted[who as usize] {
            while let Some(what) = shared.up[who as usize].pop_front() {
                self.take(who, what, shared);
            }
        }
        shared.tell(|| format!("agent sees that part{who} is gone: {exit}"));
        if !clean {
            self.fault(Fault::Of(who));
        }
        let actions = self.core.exited(EndpointId::new(who), exit);
        self.act(actions, shared);
    }

    /// An instance's socket has room again.
    pub fn clears(&mut self, who: u32, shared: &mut Shared) {
        while let Some(frame) = self.clogged[who as usize].pop_front() {
            shared.down[who as usize].push_back(frame);
        }
        if self.closing[who as usize] {
            shared.closed[who as usize] = true;
            let actions = self.core.closed(ConnectionId::from(who));
            self.act(actions, shared);
        }
        let actions = self.core.sent_late(ConnectionId::from(who));
        self.act(actions, shared);
    }

    /// The time in which instances may end by themselves is over.
    pub fn grace_ends(&mut self, shared: &mut Shared) {
        let actions = self.core.grace_is_over();
        self.act(actions, shared);
    }

    fn act(&mut self, actions: Vec<Action>, shared: &mut Shared) {
        for action in actions {
            self.act_once(action, shared);
        }
    }

    fn act_once(&mut self, action: Action, shared: &mut Shared) {
        match action {
            Action::Answer { link, notice, memory } => self.send(link, &notice, &memory, shared),
            Action::Tell { link, endpoint, notice, memory } => {
                self.send(link, &notice, &memory, shared);
                self.call(endpoint);
            }
            Action::Call { endpoint } => self.call(endpoint),
            Action::MakeSlab { link, endpoint, slab, bytes } => {
                match self.custody.make_slab(endpoint, slab, bytes) {
                    Ok(fd) => self.send_with(link, &Notice::Granted { slab }, vec![fd], shared),
                    Err(why) => {
                        let actions = self.core.slab_refused(link, endpoint, slab, &why);
                        self.act(actions, shared);
                    }
                }
            }
            Action::DropSlab { endpoint, slab } => self.custody.drop_slab(endpoint, slab),
            Action::DropEndpoint { endpoint } => self.custody.drop_endpoint(endpoint),
            Action::Close { link } => {
                self.closing[link as usize] = true;
                if self.clogged[link as usize].is_empty() {
                    shared.closed[link as usize] = true;
                    let actions = self.core.closed(link);
                    self.act(actions, shared);
                }
            }
            Action::Start { endpoint } => self.start(endpoint.number(), shared),
            Action::Watch { .. }
            | Action::WatchSpeaker { .. }
            | Action::Ask { .. }
            | Action::StartLingerTimer { .. }
            | Action::MakeTap { .. }
            | Action::EndTap { .. }
            | Action::TapElsewhere { .. }
            | Action::UntapElsewhere { .. } => {
                unreachable!("no instance is by hand or may fail, nobody asks")
            }
            // As `driver.rs` does it.
            Action::AskWhetherSteers { link, endpoint, change } => {
                let is_told = self.clogged[link as usize].is_empty();
                let bell = self.custody.board().doorbell(endpoint);
                if is_told && bell.is_some_and(|bell| !bell.steers()) {
                    let actions = self.core.never_steered(endpoint, change);
                    self.act(actions, shared);
                }
            }
            Action::SignalProcess { endpoint, push } => {
                let who = endpoint.number();
                shared.tell(|| format!("agent pushes part{who}: {push:?}"));
                let delay = self.random.scaled(MS);
                shared.post(
                    delay,
                    match push {
                        ProcessSignal::Terminate => Event::Terminates { who },
                        ProcessSignal::Kill => Event::Kills { who },
                    },
                );
            }
            Action::Awake { endpoint } => {
                let board = self.custody.board();
                if let Some(bell) = board.doorbell(endpoint) {
                    board.wake_up(bell);
                }
            }
            Action::Asleep { endpoint } => {
                let board = self.custody.board();
                if let Some(bell) = board.doorbell(endpoint) {
                    board.fall_asleep(bell);
                }
            }
            Action::StartGraceTimer => shared.post(GRACE_NS, Event::GraceEnds),
            Action::Report(AgentReport::Ending(outcome)) => {
                shared.tell(|| format!("agent ends the run: {outcome:?}"));
                shared.ending = true;
                if let Some(head) = &mut self.head {
                    head.run_ends();
                }
                self.manager.report(AgentReport::Ending(outcome));
            }
            Action::Report(AgentReport::Steers { rank, change, answer }) => {
                self.answers.push_back(RankAnswer { rank, change, answer });
                shared.post(0, Event::Answers);
            }
            Action::Report(report) => {
                let whole = shared.ledger.whole.len();
                shared.ledger.report(&report, self.accepted.len());
                for place in whole..shared.ledger.whole.len() {
                    let moment = shared.ledger.whole[place].0;
                    if let Some(head) = &mut self.head {
                        head.is_whole(place as u32 + 1, moment, &mut shared.agreed);
                    }
                }
                self.manager.report(report);
            }
            // All instances of a simulated run are in this domain.
            Action::Detach => {}
            Action::Over => self.over = true,
        }
    }

    fn start(&mut self, who: u32, shared: &mut Shared) {
        if self.core.ending().is_some() {
            return;
        }
        if self.missing[who as usize] {
            self.fault(Fault::Of(who));
            let actions =
                self.core.not_started(EndpointId::new(who), &fault!(NOT_STARTABLE, "there is no such program"));
            return self.act(actions, shared);
        }
        self.core.started(EndpointId::new(who), 100 + who);
        let delay = self.random.scaled(500 * US);
        shared.post(delay, Event::Starts { who });
    }

    fn call(&self, endpoint: EndpointId) {
        if let Some(bell) = self.custody.board().doorbell(endpoint) {
            bell.call();
        }
    }

    fn send(&mut self, link: ConnectionId, notice: &Notice, memory: &[MemoryRegion], shared: &mut Shared) {
        let fds: Result<Vec<OwnedFd>, _> =
            memory.iter().map(|&memory| self.custody.descriptor(memory)).collect();
        match fds {
            Ok(fds) => self.send_with(link, notice, fds, shared),
            Err(error) => shared.accuse(format!("the agent has not what it wants to hand out: {error}")),
        }
    }

    fn send_with(&mut self, link: ConnectionId, notice: &Notice, fds: Vec<OwnedFd>, shared: &mut Shared) {
        let who = link as u32;
        shared.tell(|| format!("agent says to part{who}: {}", brief(notice)));
        let frame = SocketFrame { bytes: to_bytes(notice), fds };
        let clogged = &mut self.clogged[who as usize];
        if clogged.is_empty() {
            if !self.random.percent(self.chance_of_clogging) {
                shared.down[who as usize].push_back(frame);
                return;
            }
            let delay = self.random.scaled(3 * MS);
            shared.post(delay, Event::Clears { who });
        }
        clogged.push_back(frame);
    }
}

fn brief(notice: &Notice) -> String {
    match notice {
        Notice::Welcome(_) => "Welcome".into(),
        other => format!("{other:?}"),
    }
}
