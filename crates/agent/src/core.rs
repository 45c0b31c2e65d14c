//! The agent's logic: what happens goes in, what to do comes out. It owns no socket, no process, no memory and no
//! clock, so that tests can drive it through anything.

use crate::memory::Ledger;
use crate::outcome::{Exit, Failure, Outcome};
use crate::plan::{Plan, Wiring};
use crate::ports;
use ligament_wire::control::{
    Notice, Question, Request, Welcome, ENV_AGENT, ENV_INSTANCE, ENV_TOKEN, PROTOCOL,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A connection to the agent's socket.
pub type Link = u64;

/// A piece of shared memory by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    Board,
    Area(u32),
    Outbox(u32),
    /// Of an endpoint, its slab of this number.
    Slab(u32, u32),
}

/// What to do to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// Ask it to end.
    Terminate,
    /// End it.
    Kill,
}

/// Something for the run's log and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    Registered {
        instance: u32,
        pid: u32,
        language: String,
    },
    Exited {
        instance: u32,
        exit: Exit,
    },
    /// An instance's own line.
    Said {
        instance: u32,
        level: u8,
        text: String,
    },
    /// A line of the agent's.
    Remark {
        level: u8,
        text: String,
    },
    /// The run begins to end.
    Ending(Outcome),
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Answer a request.
    Answer { link: Link, notice: Notice, memory: Vec<Memory> },
    /// Say something that was not asked for, and ring the endpoint's doorbell.
    Tell { link: Link, endpoint: u32, notice: Notice, memory: Vec<Memory> },
    /// Make a slab and answer with `Granted`; if it cannot be made, call `Core::slab_refused`.
    MakeSlab { link: Link, endpoint: u32, slab: u32, bytes: u64 },
    /// Let go of a slab.
    DropSlab { endpoint: u32, slab: u32 },
    /// Let go of all memory of an endpoint.
    DropEndpoint { endpoint: u32 },
    /// Close a connection once all is sent.
    Close { link: Link },
    /// Start an instance; if it cannot be started, call `Core::not_started`.
    Start { instance: u32 },
    /// Watch a process that was started by hand.
    Watch { instance: u32, pid: u32 },
    /// Do something to an instance's processes.
    Push { instance: u32, push: Push },
    /// Count an endpoint as asleep, since its process is gone.
    Asleep { endpoint: u32 },
    /// Call `Core::grace_is_over` in a while.
    Grace,
    /// A client asks.
    Ask { link: Link, question: Question },
    /// For the log and the record.
    Report(Report),
    /// All is over.
    Over,
}

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not started yet.
    Waiting,
    /// Its process runs and has not registered.
    Started,
    /// It takes part.
    Running,
    /// It has said that it is done; its process still runs.
    Finished,
    /// Its process is gone.
    Gone(Exit),
}

struct Instance {
    phase: Phase,
    token: String,
    link: Option<Link>,
    pid: Option<u32>,
    /// Started by the agent, not by hand.
    ours: bool,
    finished: bool,
    failed: bool,
    /// Slabs that it holds: bytes, and who has fetched it.
    slabs: BTreeMap<u32, (u64, BTreeSet<u32>)>,
    next_slab: u32,
    /// What it will be told after its `Welcome`.
    untold: Vec<(Notice, Vec<Memory>)>,
    dropped: bool,
}

/// Who is calling, as the kernel knows it.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub user: u32,
    pub pid: u32,
}

enum Who {
    Stranger,
    Instance(u32),
}

/// The agent's logic.
pub struct Core {
    plan: Plan,
    wiring: Wiring,
    instances: Vec<Instance>,
    links: HashMap<Link, (Caller, Who)>,
    ledger: Ledger,
    user: u32,
    token: String,
    address: String,
    ending: Option<Outcome>,
    over: bool,
}

/// Compares without telling by its duration how much is right.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

impl Core {
    /// A run that has not begun. `tokens` makes secrets; `address` is the agent's socket as `LIGAMENT_AGENT` has
    /// it; `user` owns the run.
    pub fn new(
        plan: Plan,
        ledger: Ledger,
        user: u32,
        address: String,
        mut tokens: impl FnMut() -> String,
    ) -> Core {
        let instances = plan.instances.iter().map(|instance| Instance {
            phase: Phase::Waiting,
            token: tokens(),
            link: None,
            pid: None,
            ours: !instance.by_hand,
            finished: false,
            failed: false,
            slabs: BTreeMap::new(),
            next_slab: 0,
            untold: Vec::new(),
            dropped: false,
        });
        let instances = instances.collect();
        let wiring = Wiring::new(&plan);
        let links = HashMap::new();
        Core {
            plan,
            wiring,
            instances,
            links,
            ledger,
            user,
            token: tokens(),
            address,
            ending: None,
            over: false,
        }
    }

    /// The run's plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Who is joined to whom.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// The run's own token, for clients.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where an instance stands, and its process.
    pub fn instance(&self, instance: u32) -> (Phase, Option<u32>) {
        let instance = &self.instances[instance as usize];
        (instance.phase, instance.pid)
    }

    /// Bytes of memory for messages: given out, and the most that may be.
    pub fn memory(&self) -> (u64, u64) {
        (self.ledger.used(), self.ledger.limit())
    }

    /// How the run ended or is ending, if it is.
    pub fn ending(&self) -> Option<&Outcome> {
        self.ending.as_ref()
    }

    /// The connection of an instance.
    pub fn link_of(&self, instance: u32) -> Option<Link> {
        self.instances[instance as usize].link
    }

    /// What an instance's process needs in its environment.
    pub fn environment(&self, instance: u32) -> [(&'static str, String); 3] {
        [
            (ENV_AGENT, self.address.clone()),
            (ENV_INSTANCE, self.plan.instances[instance as usize].name.clone()),
            (ENV_TOKEN, self.instances[instance as usize].token.clone()),
        ]
    }

    /// The run begins.
    pub fn begin(&mut self) -> Vec<Action> {
        let mut out: Vec<Action> = (0..self.instances.len() as u32)
            .filter(|&i| self.instances[i as usize].ours)
            .map(|instance| Action::Start { instance })
            .collect();
        self.end_if_all_gone(&mut out);
        out
    }

    /// An instance's process runs.
    pub fn started(&mut self, instance: u32, pid: u32) {
        let instance = &mut self.instances[instance as usize];
        instance.phase = Phase::Started;
        instance.pid = Some(pid);
    }

    /// An instance could not be started.
    pub fn not_started(&mut self, instance: u32, why: String) -> Vec<Action> {
        let mut out = Vec::new();
        self.instances[instance as usize].phase = Phase::Gone(Exit::Unknown);
        let what = format!("could not be started: {why}");
        self.fail(Failure { instance: Some(instance), what, said: None, exit: None }, &mut out);
        self.end_if_all_gone(&mut out);
        out
    }

    /// Somebody connected.
    pub fn connected(&mut self, link: Link, caller: Caller) -> Vec<Action> {
        self.links.insert(link, (caller, Who::Stranger));
        if caller.user == self.user {
            return Vec::new();
        }
        let why = format!("this run belongs to user {}, and you are user {}", self.user, caller.user);
        vec![answer(link, Notice::Refused { why }), Action::Close { link }]
    }

    /// A connection is closed. That a process lives on without it is no error yet.
    pub fn closed(&mut self, link: Link) {
        if let Some((_, Who::Instance(instance))) = self.links.remove(&link) {
            self.instances[instance as usize].link = None;
        }
    }

    /// A connection brought something that is no request.
    pub fn garbled(&mut self, link: Link, what: String) -> Vec<Action> {
        let mut out = Vec::new();
        if let Some((_, Who::Instance(instance))) = self.links.get(&link) {
            let (instance, what) =
                (Some(*instance), format!("sent its agent what it does not understand: {what}"));
            self.fail(Failure { instance, what, said: None, exit: None }, &mut out);
        }
        out.push(Action::Close { link });
        out
    }

    /// A request came.
    pub fn request(&mut self, link: Link, request: Request) -> Vec<Action> {
        let mut out = Vec::new();
        match self.links.get(&link) {
            None => {}
            Some((caller, Who::Stranger)) => {
                let caller = *caller;
                self.first_request(link, caller, request, &mut out);
            }
            Some((_, Who::Instance(instance))) => {
                let instance = *instance;
                self.request_of(instance, link, request, &mut out);
            }
        }
        out
    }

    fn first_request(&mut self, link: Link, caller: Caller, request: Request, out: &mut Vec<Action>) {
        let refused = match request {
            Request::Hello { protocol, instance, token, ports, language, .. } => {
                match self.admit(protocol, &instance, &token, ports.as_deref(), caller) {
                    Ok((index, ports)) => return self.welcome(link, caller, index, ports, language, out),
                    Err((index, why)) => {
                        // A port that does not fit ends the run: the code will not come back.
                        if let Some(instance) = index {
                            let what = format!("cannot take part: {why}");
                            let failure = Failure { instance: Some(instance), what, said: None, exit: None };
                            self.fail(failure, out);
                        }
                        why
                    }
                }
            }
            Request::Client { protocol, token, question } => match self.check_client(protocol, &token) {
                Ok(()) => return self.client(link, question, out),
                Err(why) => why,
            },
            other => format!("the first message must say who is calling, and not {other:?}"),
        };
        out.push(answer(link, Notice::Refused { why: refused }));
        out.push(Action::Close { link });
    }

    fn check_client(&self, protocol: u32, token: &str) -> Result<(), String> {
        check_protocol(protocol)?;
        if !same(token, &self.token) {
            return Err("the token is not this run's; is the run directory that of an earlier run?".into());
        }
        Ok(())
    }

    fn client(&mut self, link: Link, question: Question, out: &mut Vec<Action>) {
        if let Question::Join { instance: name } = &question {
            let refused = match self.plan.instances.iter().position(|instance| instance.name == *name) {
                None => Some(format!("this run has no instance \"{name}\"")),
                Some(i) => match &self.instances[i] {
                    Instance { ours: true, .. } => Some(format!(
                        "\"{name}\" was started by the run; to start it by hand, run the model with --manual {name}"
                    )),
                    Instance { phase: Phase::Waiting, .. } => None,
                    _ => Some(format!("\"{name}\" takes part already")),
                },
            };
            if let Some(why) = refused {
                out.push(answer(link, Notice::Refused { why }));
                return;
            }
        }
        let stop = question == Question::Stop;
        out.push(Action::Ask { link, question });
        if stop {
            self.end(Outcome::Stopped, out);
        }
    }

    /// Whether the caller is the instance that it says it is. The error has the instance's number if it is, but
    /// its ports do not fit.
    #[allow(clippy::type_complexity)]
    fn admit(
        &self,
        protocol: u32,
        name: &str,
        token: &str,
        ports: Option<&[ligament_wire::control::PortDeclaration]>,
        caller: Caller,
    ) -> Result<(u32, Vec<ligament_wire::control::PortInfo>), (Option<u32>, String)> {
        check_protocol(protocol).map_err(|why| (None, why))?;
        let no = |why: String| (None, why);
        let index = self
            .plan
            .instances
            .iter()
            .position(|instance| instance.name == name)
            .ok_or_else(|| no(format!("this run has no instance \"{name}\"")))?;
        let instance = &self.instances[index];
        if !same(token, &instance.token) {
            return Err(no(format!(
                "the token for \"{name}\" is not this run's; start it by the run, or with \"ligament join\""
            )));
        }
        match instance.phase {
            Phase::Waiting | Phase::Started => {}
            Phase::Gone(_) => return Err(no(format!("\"{name}\" has ended already"))),
            Phase::Running | Phase::Finished => {
                return Err(no(format!(
                    "\"{name}\" has registered already, as process {}; a program must make one Instance and no more",
                    instance.pid.unwrap_or(caller.pid)
                )))
            }
        }
        if self.ending.is_some() {
            return Err(no("the run is ending".into()));
        }
        match ports::agree(&self.plan.instances[index], ports) {
            Ok(ports) => Ok((index as u32, ports)),
            Err(why) => Err((Some(index as u32), why)),
        }
    }

    fn welcome(
        &mut self,
        link: Link,
        caller: Caller,
        index: u32,
        ports: Vec<ligament_wire::control::PortInfo>,
        language: String,
        out: &mut Vec<Action>,
    ) {
        let welcome = Welcome {
            endpoint: index,
            channels: self.wiring.incoming(index),
            inboxes: self.wiring.senders(index).len() as u32,
            ports,
            sends: self.wiring.sends(&self.plan, index),
            receives: self.wiring.receives(&self.plan, index),
            settings: self.plan.settings.clone(),
            pinned_limit: self.plan.pinned_limit.unwrap_or(self.ledger.limit() / 2),
            log_level: self.plan.instances[index as usize].log_level,
            run: self.plan.run.clone(),
        };
        let memory = vec![Memory::Board, Memory::Area(index), Memory::Outbox(index)];
        out.push(Action::Answer { link, notice: Notice::Welcome(Box::new(welcome)), memory });
        self.links.insert(link, (caller, Who::Instance(index)));
        let instance = &mut self.instances[index as usize];
        instance.phase = Phase::Running;
        instance.link = Some(link);
        for (notice, memory) in std::mem::take(&mut instance.untold) {
            out.push(Action::Tell { link, endpoint: index, notice, memory });
        }
        // A script may stand between us and the program: what we started is what we watch.
        if !instance.ours {
            instance.pid = Some(caller.pid);
            out.push(Action::Watch { instance: index, pid: caller.pid });
        }
        out.push(Action::Report(Report::Registered { instance: index, pid: caller.pid, language }));
    }

    fn request_of(&mut self, me: u32, link: Link, request: Request, out: &mut Vec<Action>) {
        match request {
            Request::OpenRing { to, offset, slots } => self.open_ring(me, link, to, offset, slots, out),
            Request::NewSlab { bytes } => match self.ledger.take(bytes) {
                Ok(()) => {
                    let instance = &mut self.instances[me as usize];
                    let slab = instance.next_slab;
                    instance.next_slab += 1;
                    instance.slabs.insert(slab, (bytes, BTreeSet::new()));
                    out.push(Action::MakeSlab { link, endpoint: me, slab, bytes });
                }
                Err(why) => out.push(answer(link, Notice::Denied { why })),
            },
            Request::DropSlab { slab } => {
                if let Some((bytes, readers)) = self.instances[me as usize].slabs.remove(&slab) {
                    self.ledger.give_back(bytes);
                    for reader in readers {
                        self.tell(reader, Notice::SlabDropped { of: me, slab }, Vec::new(), out);
                    }
                    out.push(Action::DropSlab { endpoint: me, slab });
                }
            }
            Request::FetchSlab { of, slab } => {
                let joined = self.wiring.inbox(me, of).is_some();
                let owner = self.instances.get_mut(of as usize).filter(|_| joined);
                let (bytes, memory) = match owner.and_then(|owner| owner.slabs.get_mut(&slab)) {
                    Some((bytes, readers)) => {
                        readers.insert(me);
                        (*bytes, vec![Memory::Slab(of, slab)])
                    }
                    None => (0, Vec::new()),
                };
                out.push(Action::Answer { link, notice: Notice::Slab { of, slab, bytes }, memory });
            }
            Request::Log { level, text } => {
                out.push(Action::Report(Report::Said { instance: me, level, text }));
            }
            Request::Finished => {
                let instance = &mut self.instances[me as usize];
                instance.finished = true;
                instance.phase = Phase::Finished;
            }
            Request::Failed { why } => {
                self.instances[me as usize].failed = true;
                let what = "reported an error".to_owned();
                self.fail(Failure { instance: Some(me), what, said: Some(why), exit: None }, out);
            }
            Request::Hello { .. } | Request::Client { .. } => {
                let what = "said a second time who it is".to_owned();
                self.fail(Failure { instance: Some(me), what, said: None, exit: None }, out);
            }
        }
    }

    fn open_ring(&mut self, me: u32, link: Link, to: u32, offset: u64, slots: u32, out: &mut Vec<Action>) {
        let Some(inbox) = self.wiring.inbox(to, me) else {
            let what = format!("opened a ring to endpoint {to}, to which no conduit leads");
            return self.fail(Failure { instance: Some(me), what, said: None, exit: None }, out);
        };
        let notice = Notice::RingOpened { from: me, offset, slots, inbox };
        self.tell(to, notice, vec![Memory::Outbox(me)], out);
        let (channels, inboxes) = (self.wiring.incoming(to), self.wiring.senders(to).len() as u32);
        let notice = Notice::Opened { to, inbox, channels, inboxes };
        out.push(Action::Answer { link, notice, memory: vec![Memory::Area(to)] });
    }

    /// Tells an instance something, now or after its welcome.
    fn tell(&mut self, to: u32, notice: Notice, memory: Vec<Memory>, out: &mut Vec<Action>) {
        let instance = &mut self.instances[to as usize];
        match (instance.link, instance.phase) {
            (Some(link), _) => out.push(Action::Tell { link, endpoint: to, notice, memory }),
            (None, Phase::Waiting | Phase::Started) => instance.untold.push((notice, memory)),
            (None, _) => {}
        }
    }

    /// The budget of a channel becomes so many bytes.
    pub fn set_budget(&mut self, channel: u32, bytes: u64) -> Vec<Action> {
        let mut out = Vec::new();
        if let Some(planned) = self.plan.channels.get_mut(channel as usize) {
            planned.budget = bytes;
            let sender = planned.from.instance;
            // Who has not registered gets it with its welcome.
            if self.instances[sender as usize].link.is_some() {
                self.tell(sender, Notice::Budget { channel, bytes }, Vec::new(), &mut out);
            }
        }
        out
    }

    /// A slab could not be made.
    pub fn slab_refused(&mut self, link: Link, endpoint: u32, slab: u32, why: String) -> Vec<Action> {
        if let Some((bytes, _)) = self.instances[endpoint as usize].slabs.remove(&slab) {
            self.ledger.give_back(bytes);
        }
        vec![answer(link, Notice::Denied { why })]
    }

    /// An instance's process is gone. What it had said before was handled before.
    pub fn exited(&mut self, me: u32, exit: Exit) -> Vec<Action> {
        let mut out = vec![Action::Asleep { endpoint: me }];
        let instance = &mut self.instances[me as usize];
        if matches!(instance.phase, Phase::Gone(_)) {
            return Vec::new();
        }
        let before = instance.phase;
        instance.phase = Phase::Gone(exit);
        out.push(Action::Report(Report::Exited { instance: me, exit }));
        if instance.finished && exit.is_clean() && !instance.failed {
            for i in 0..self.wiring.senders(me).len() {
                let sender = self.wiring.senders(me)[i];
                self.tell(sender, Notice::PeerEnded { endpoint: me }, Vec::new(), &mut out);
            }
        } else {
            let what = how_it_ended(before, exit);
            match &mut self.ending {
                None => self.fail(Failure { instance: Some(me), what, said: None, exit: Some(exit) }, &mut out),
                Some(Outcome::Failed(failure)) if failure.instance == Some(me) && failure.exit.is_none() => {
                    failure.exit = Some(exit);
                }
                Some(_) => {}
            }
        }
        self.drop_what_nobody_needs(me, &mut out);
        self.end_if_all_gone(&mut out);
        out
    }

    /// Custody ends when the sender and all its receivers are gone.
    fn drop_what_nobody_needs(&mut self, gone: u32, out: &mut Vec<Action>) {
        let is_gone = |i: u32| matches!(self.instances[i as usize].phase, Phase::Gone(_));
        let around = self.wiring.senders(gone).iter().copied().chain([gone]);
        let free: BTreeSet<u32> = around
            .filter(|&i| !self.instances[i as usize].dropped)
            .filter(|&i| is_gone(i) && self.wiring.receivers(i).iter().all(|&reader| is_gone(reader)))
            .collect();
        for endpoint in free {
            let instance = &mut self.instances[endpoint as usize];
            instance.dropped = true;
            let bytes = std::mem::take(&mut instance.slabs).values().map(|(bytes, _)| bytes).sum();
            self.ledger.give_back(bytes);
            out.push(Action::DropEndpoint { endpoint });
        }
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<Action>) {
        self.end(Outcome::Failed(failure), out);
    }

    /// Somebody wants the run to end.
    pub fn stop(&mut self, outcome: Outcome) -> Vec<Action> {
        let mut out = Vec::new();
        self.end(outcome, &mut out);
        out
    }

    fn end(&mut self, outcome: Outcome, out: &mut Vec<Action>) {
        if self.ending.is_some() || self.over {
            return;
        }
        let why = match &outcome {
            Outcome::Failed(failure) => self.describe(failure),
            Outcome::Stopped => "it was stopped".to_owned(),
            Outcome::Interrupted => "it was interrupted".to_owned(),
            Outcome::Done => "it is done".to_owned(),
        };
        self.ending = Some(outcome.clone());
        out.push(Action::Report(Report::Ending(outcome.clone())));
        for me in 0..self.instances.len() as u32 {
            let instance = &mut self.instances[me as usize];
            match instance.phase {
                Phase::Gone(_) => continue,
                Phase::Waiting => {
                    instance.phase = Phase::Gone(Exit::Unknown);
                    continue;
                }
                _ => {}
            }
            self.tell(me, Notice::RunEnds { why: why.clone() }, Vec::new(), out);
            // An instance that reported its error ends by itself, within the grace that all have.
            let guilty = matches!(&outcome, Outcome::Failed(f) if f.instance == Some(me));
            if !guilty {
                out.push(Action::Push { instance: me, push: Push::Terminate });
            }
        }
        out.push(Action::Grace);
        self.end_if_all_gone(out);
    }

    /// A failure as a sentence.
    pub fn describe(&self, failure: &Failure) -> String {
        let mut text = match failure.instance {
            Some(instance) => format!("{} {}", self.plan.instances[instance as usize].name, failure.what),
            None => failure.what.clone(),
        };
        if let Some(said) = &failure.said {
            text.push_str(": ");
            text.push_str(said);
        }
        text
    }

    /// The time for ending cleanly has passed: what still runs is killed. Processes that were started by hand
    /// are left to whoever did.
    pub fn grace_is_over(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        for (me, instance) in self.instances.iter_mut().enumerate() {
            match (instance.phase, instance.ours) {
                (Phase::Gone(_), _) => {}
                (_, true) => out.push(Action::Push { instance: me as u32, push: Push::Kill }),
                (_, false) => instance.phase = Phase::Gone(Exit::Unknown),
            }
        }
        self.end_if_all_gone(&mut out);
        out
    }

    fn end_if_all_gone(&mut self, out: &mut Vec<Action>) {
        if !self.over && self.instances.iter().all(|instance| matches!(instance.phase, Phase::Gone(_))) {
            self.over = true;
            self.ending.get_or_insert(Outcome::Done);
            out.push(Action::Over);
        }
    }
}

fn answer(link: Link, notice: Notice) -> Action {
    Action::Answer { link, notice, memory: Vec::new() }
}

fn check_protocol(protocol: u32) -> Result<(), String> {
    if protocol == PROTOCOL {
        return Ok(());
    }
    Err(format!(
        "the caller's version of Ligament speaks protocol {protocol}, and this run's speaks {PROTOCOL}; build or \
         install both from the same version"
    ))
}

fn how_it_ended(before: Phase, exit: Exit) -> String {
    match (exit, before) {
        (Exit::Status(0), Phase::Started | Phase::Waiting) => {
            "ended with exit status 0 and never registered; its program must make an Instance, and end only when \
             reuse_instance says so"
                .to_owned()
        }
        (Exit::Unknown, Phase::Started | Phase::Waiting) => "ended and never registered".to_owned(),
        (Exit::Status(0) | Exit::Unknown, _) => {
            "ended without saying that it is done; a program must go on until reuse_instance returns false, and \
             close its Instance"
                .to_owned()
        }
        (Exit::Status(status), Phase::Finished) => {
            format!("was done, but then ended with exit status {status}")
        }
        (Exit::Status(status), Phase::Started) => {
            format!("ended with exit status {status} before it had registered")
        }
        (Exit::Status(status), _) => format!("ended with exit status {status}"),
        (Exit::Signal(_), _) => format!("was ended by {exit}"),
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
