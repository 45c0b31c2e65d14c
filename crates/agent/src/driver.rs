//! The agent's body: its socket, its processes, its timers, around the logic in `core`. One thread, which must
//! last as long as the run, because the children die with it.

mod elsewhere;

pub use elsewhere::Elsewhere;

use crate::action::{Action, Caller, Link, Memory, Order, Phase, Push, Report};
use crate::connection::Connection;
use crate::core::Core;
use crate::custody::{Custody, Gained};
use crate::memory::Ledger;
use crate::outcome::{Exit, Outcome};
use crate::plan::Plan;
use crate::sys::{exit_of, pidfd, push_one, random_hex, watched};
use ligament_carrier::Heard;
use ligament_launch::{end_group, raise_open_files, Guard, Told};
use ligament_shm::status::Status;
use ligament_shm::ShmError;
use ligament_wire::control::{from_bytes, to_bytes, Notice, Question, Request};
use ligament_wire::peek::Sight;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    accept_with, bind, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};
use rustix::process::Signal;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

/// How long it takes at most until whoever asks all processes of a job to end, as batch systems do, has asked the agent too:
/// then an instance that obeyed sooner has not failed.
const ASKED: Duration = Duration::from_millis(500);
/// How long instances have to end by themselves when a run ends early.
const GRACE: Duration = Duration::from_secs(2);

/// Descriptors that every run needs, and every process: connection, area, outbox, two slabs.
const FILES_OF_A_RUN: u64 = 64;
const FILES_PER_INSTANCE: u64 = 5;

/// A process that was started for an instance, as a child of the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    pub pid: u32,
    /// Whether it leads a process group of its own, so that all of that can be ended.
    pub leads_group: bool,
}

/// An instance as it is now.
#[derive(Debug, Clone)]
pub struct InstanceView {
    pub phase: Phase,
    pub pid: Option<u32>,
    /// The process that registered.
    pub speaker: Option<u32>,
    /// Its status page, once it has one.
    pub status: Option<Status>,
}

/// A run as it is now.
pub struct RunView<'a> {
    pub core: &'a Core,
    /// By instance number.
    pub instances: Vec<InstanceView>,
    /// ns of CLOCK_MONOTONIC.
    pub now: u64,
}

/// Why timelines are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// Every now and then.
    Tick,
    /// Somebody wants to see them as they are now.
    Asked,
    /// The instance's process has ended: nothing more will come.
    Over,
}

/// What a client wants to see of an instance's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// By its number.
    pub instance: u32,
    /// Below the directory of its process.
    pub path: String,
    /// Of a file: from where on, and at most how many bytes.
    pub offset: u64,
    pub most: u32,
}

/// What somebody outside wants of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// By a signal, such as `SIGINT`, that it ends.
    Signal(&'static str),
    /// A client, that it ends.
    Stop,
    /// A client, to take part as this instance.
    Join(String),
}

/// What is around an agent: who starts processes, writes logs, and shows what happens.
pub trait Host {
    /// The run begins; clients reach it at this address (as `LIGAMENT_AGENT` has it) with this token.
    fn begins(&mut self, address: &str, token: &str);
    /// Starts an instance's process, with this added to its environment: by asking the guard to launch it under the
    /// instance's number, and then gives none; or as a child of this process, started by the calling thread.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that begins "could not be started:".
    fn start(
        &mut self,
        guard: &mut Guard,
        instance: u32,
        environment: &[(&'static str, String)],
    ) -> Result<Option<Started>, String>;
    /// The process of an instance of this domain runs.
    fn started(&mut self, instance: u32, pid: u32) {
        let _ = (instance, pid);
    }
    /// Something happened.
    fn report(&mut self, report: Report);
    /// Somebody outside wants something of the run; what comes of that is reported.
    fn ordered(&mut self, wish: &Wish) {
        let _ = wish;
    }
    /// The terminal went away (SIGHUP). Gives whether the run goes on without; else it ends.
    fn hung_up(&mut self) -> bool {
        false
    }
    /// A client asks for the state of the run: JSON.
    fn status(&mut self, view: &RunView<'_>) -> String;
    /// A client wants to see what there is at a path below the directory of an instance's process; none: what is seen comes
    /// later, out of `sights`, under this link.
    fn peek(&mut self, link: Link, what: &Peek) -> Option<Sight> {
        let _ = (link, what);
        Some(Sight::Nothing(
            "this agent knows its own part of the run only; ask where the run was begun".into(),
        ))
    }
    /// What clients were waiting for. Asked after whatever was heard from elsewhere, and at every tick.
    fn sights(&mut self) -> Vec<(Link, Sight)> {
        Vec::new()
    }
    /// The working directory of an instance that is started by hand.
    fn directory(&self, instance: u32) -> String;
    /// How long after this `tick` is to be called; none: never.
    fn tick_every(&self) -> Option<Duration>;
    /// Time to look.
    fn tick(&mut self, view: &RunView<'_>) -> Vec<Order>;
    /// What an instance's timeline has gained until now, ns of CLOCK_MONOTONIC.
    fn timeline(&mut self, instance: u32, gained: &Gained, now: u64, why: Drain);
    /// All timelines were looked at: what they gained can be written down.
    fn timelines_seen(&mut self);
    /// Somebody wants to see on the terminal how the run stands (SIGQUIT).
    fn show(&mut self, view: &RunView<'_>);
    /// The carrier heard something from elsewhere. What it says of failures the agent heeds by itself, after this.
    fn heard(&mut self, heard: &Heard) -> Vec<Order> {
        let _ = heard;
        Vec::new()
    }
    /// The time for ending cleanly is over: somebody does not want to wait.
    fn hurries(&mut self) {}
    /// Of a run over several domains: no process of this domain is left. All that can be seen of them has been. The run
    /// goes on until `Order::Release` comes of it; none: it is over when what was sent here has arrived.
    fn is_done_here(&mut self, view: &RunView<'_>) -> Option<Vec<Order>> {
        let _ = view;
        None
    }
}

enum Event {
    Arriving,
    Readable(Link),
    Writable(Link),
    Exited(u32),
    /// It ended a while ago, and now that counts.
    Over(u32, Exit),
    GuardTells,
}

/// Runs a plan to its end. `guard` is the run's: it starts programs, and at the end of the run ends what is left of
/// them. Of a run that spreads over several domains the plan is the whole run's all the same: those of its instances that
/// are `elsewhere` others run. It is over when the instances here have ended and what they sent has arrived.
///
/// # Errors
/// The run could not even begin: memory, socket or event loop could not be made.
pub fn run(
    plan: Plan,
    guard: &mut Guard,
    host: &mut dyn Host,
    elsewhere: Option<Elsewhere<'_>>,
) -> Result<(Outcome, Vec<InstanceView>), String> {
    let plan = match &elsewhere {
        Some(elsewhere) => plan.in_domain(elsewhere.domain_of, elsewhere.me),
        None => plan,
    };
    let files = raise_open_files();
    let own = |&i: &u32| plan.endpoint_of(i) == i && !plan.instances[i as usize].elsewhere;
    let processes = (0..plan.instances.len() as u32).filter(own).count();
    let needed = FILES_OF_A_RUN + FILES_PER_INSTANCE * processes as u64;
    if files < needed {
        return Err(format!(
            "a run of {} processes needs about {needed} open files, and this process may have {files}; raise the hard \
             limit (\"ulimit -Hn\")",
            processes
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no event loop: {error}"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut driver = Driver::new(plan, guard, host, elsewhere)?;
        driver.drive().await?;
        driver.guard.sweep();
        driver.drain_timelines(Drain::Over);
        let outcome = driver.core.ending().cloned().unwrap_or(Outcome::Done);
        Ok((outcome, driver.view()))
    })
}

struct Driver<'h> {
    core: Core,
    custody: Custody,
    host: &'h mut dyn Host,
    elsewhere: Option<Elsewhere<'h>>,
    listener: Rc<AsyncFd<OwnedFd>>,
    connections: HashMap<Link, Connection>,
    next_link: Link,
    /// How to reach each instance's processes.
    processes: HashMap<u32, Process>,
    /// The instance of each process that the guard started.
    guarded: HashMap<u32, u32>,
    guard: &'h mut Guard,
    /// Whether it has been said that the guard is gone.
    mourned: bool,
    events: UnboundedReceiver<Event>,
    sender: UnboundedSender<Event>,
    grace: Option<Instant>,
    over: bool,
    /// Whether the host was told that no process of this domain is left.
    done_here: bool,
}

struct Process {
    /// For those that the guard did not start.
    pidfd: Option<Rc<AsyncFd<OwnedFd>>>,
    started: Started,
    ours: bool,
}

impl<'h> Driver<'h> {
    fn new(
        plan: Plan,
        guard: &'h mut Guard,
        host: &'h mut dyn Host,
        elsewhere: Option<Elsewhere<'h>>,
    ) -> Result<Driver<'h>, String> {
        let name = format!("ligament-{}", random_hex()?);
        let socket = listen_at(&name).map_err(|error| format!("the run's socket cannot be made: {error}"))?;
        let listener = watched(socket, Interest::READABLE)
            .map_err(|error| format!("the run's socket cannot be watched: {error}"))?;
        let mut secrets = Vec::new();
        for _ in 0..=plan.instances.len() {
            secrets.push(random_hex()?);
        }
        let ledger = Ledger::for_run(plan.memory);
        let user = rustix::process::getuid().as_raw();
        let address = format!("@{name}");
        let core = Core::new(plan, ledger, user, address.clone(), || secrets.pop().unwrap_or_default());
        let cores = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
        let custody = Custody::new(core.plan(), core.wiring(), cores).map_err(|error| error.to_string())?;
        host.begins(&address, core.token());
        let (sender, events) = unbounded_channel();
        Ok(Driver {
            core,
            custody,
            host,
            elsewhere,
            listener: Rc::new(listener),
            connections: HashMap::new(),
            next_link: 0,
            processes: HashMap::new(),
            guarded: HashMap::new(),
            guard,
            mourned: false,
            events,
            sender,
            grace: None,
            over: false,
            done_here: false,
        })
    }

    async fn drive(&mut self) -> Result<(), String> {
        use tokio::signal::unix::{signal, SignalKind};
        let no_signals = |error: std::io::Error| format!("signals cannot be watched: {error}");
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
        let mut quit = signal(SignalKind::quit()).map_err(no_signals)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(no_signals)?;
        self.watch_listener();
        self.watch_guard()?;
        self.attach_carrier();
        let actions = self.core.begin();
        self.act(actions);
        let mut tick_at = self.host.tick_every().map(|every| Instant::now() + every);
        loop {
            self.tell_if_done_here();
            if self.over {
                break;
            }
            let grace = self.grace;
            let grace_over = async {
                match grace {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let tick = async {
                match tick_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let heard = async {
                match &mut self.elsewhere {
                    Some(elsewhere) => elsewhere.heard.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(event) = self.events.recv() => self.handle(event),
                Some(heard) = heard => self.heard(heard),
                _ = interrupt.recv() => self.interrupted("SIGINT"),
                _ = terminate.recv() => self.interrupted("SIGTERM"),
                _ = hangup.recv() => if !self.host.hung_up() { self.interrupted("SIGHUP") },
                _ = quit.recv() => self.show(),
                () = grace_over => {
                    self.grace = None;
                    let actions = self.core.grace_is_over();
                    self.act(actions);
                }
                () = tick => {
                    self.tick();
                    tick_at = self.host.tick_every().map(|every| Instant::now() + every);
                }
            }
        }
        for connection in self.connections.values() {
            let _ = connection.flush();
        }
        Ok(())
    }

    /// The first time the run ends in order, the second time at once.
    fn interrupted(&mut self, signal: &'static str) {
        self.host.ordered(&Wish::Signal(signal));
        let actions = match self.core.ending() {
            None => self.core.stop(Outcome::Interrupted),
            Some(_) => {
                self.grace = None;
                self.host.hurries();
                self.core.grace_is_over()
            }
        };
        self.act(actions);
    }

    fn view(&self) -> Vec<InstanceView> {
        let n = self.core.plan().instances.len() as u32;
        let one = |i| {
            let (phase, pid) = self.core.instance(i);
            InstanceView { phase, pid, speaker: self.core.speaker(i), status: self.custody.status(i) }
        };
        (0..n).map(one).collect()
    }

    fn drain_timelines(&mut self, why: Drain) {
        for instance in 0..self.core.plan().instances.len() as u32 {
            self.drain_timeline(instance, why);
        }
        self.host.timelines_seen();
    }

    fn drain_timeline(&mut self, instance: u32, why: Drain) {
        if let Some(gained) = self.custody.timeline(instance) {
            self.host.timeline(instance, &gained, ligament_shm::status::now(), why);
        }
    }

    fn tick(&mut self) {
        self.drain_timelines(Drain::Tick);
        let view = RunView { core: &self.core, instances: self.view(), now: ligament_shm::status::now() };
        for order in self.host.tick(&view) {
            let actions = self.core.obey(order);
            self.act(actions);
        }
        self.show_sights();
    }

    /// Answers clients that waited to see something.
    fn show_sights(&mut self) {
        for (link, sight) in self.host.sights() {
            self.send_with(link, &Notice::Peeked(sight), Vec::new());
        }
    }

    fn show(&mut self) {
        let view = RunView { core: &self.core, instances: self.view(), now: ligament_shm::status::now() };
        self.host.show(&view);
    }

    fn watch_listener(&self) {
        let (listener, sender) = (self.listener.clone(), self.sender.clone());
        tokio::task::spawn_local(async move {
            while let Ok(mut guard) = listener.readable().await {
                guard.clear_ready();
                if sender.send(Event::Arriving).is_err() {
                    break;
                }
            }
        });
    }

    fn watch_guard(&self) -> Result<(), String> {
        let line = self.guard.as_fd().try_clone_to_owned();
        let line = line.and_then(|line| watched(line, Interest::READABLE));
        let line = line.map_err(|error| format!("the run's guard cannot be watched: {error}"))?;
        let sender = self.sender.clone();
        tokio::task::spawn_local(async move {
            while let Ok(mut told) = line.readable().await {
                let closed = told.ready().is_read_closed();
                told.clear_ready();
                if sender.send(Event::GuardTells).is_err() || closed {
                    break;
                }
            }
        });
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arriving => self.accept_all(),
            Event::Readable(link) => self.read_all(link),
            Event::Writable(link) => {
                self.flush(link);
                let actions = self.core.sent_late(link);
                self.act(actions);
            }
            Event::Exited(instance) => self.exited(instance),
            Event::Over(instance, exit) => self.over(instance, exit),
            Event::GuardTells => self.hear_guard(),
        }
    }

    fn accept_all(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let fd = match accept_with(self.listener.get_ref(), flags) {
                Ok(fd) => fd,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(Errno::AGAIN) => return,
                // Who is waiting there would wait for ever.
                Err(error) => return self.fail(cannot_accept(error)),
            };
            let link = self.next_link;
            self.next_link += 1;
            let opened = Connection::open(fd).and_then(|connection| Ok((connection.peer()?, connection)));
            match opened {
                Ok(((user, pid), connection)) => {
                    self.watch(link, &connection);
                    self.connections.insert(link, connection);
                    let actions = self.core.connected(link, Caller { user, pid: pid as u32 });
                    self.act(actions);
                    self.read_all(link);
                }
                Err(error) => self.remark(2, format!("a connection was lost at once: {error}")),
            }
        }
    }

    fn watch(&self, link: Link, connection: &Connection) {
        let (connection, sender) = (connection.clone(), self.sender.clone());
        tokio::task::spawn_local(async move {
            while connection.readable().await && sender.send(Event::Readable(link)).is_ok() {}
            let _ = sender.send(Event::Readable(link));
        });
    }

    fn read_all(&mut self, link: Link) {
        loop {
            let Some(connection) = self.connections.get(&link) else {
                return;
            };
            let actions = match connection.try_receive() {
                Ok(Some(frame)) => match from_bytes::<Request>(&frame.bytes) {
                    Ok(request) => self.core.request(link, request),
                    Err(what) => self.core.garbled(link, what),
                },
                Ok(None) => return,
                Err(ShmError::Interrupted) => continue,
                Err(ShmError::Malformed(what)) => self.core.garbled(link, what),
                Err(_) => {
                    self.connections.remove(&link);
                    self.core.closed(link);
                    return;
                }
            };
            self.act(actions);
        }
    }

    fn flush(&mut self, link: Link) {
        let Some(connection) = self.connections.get(&link) else {
            return;
        };
        match connection.flush() {
            Ok(true) if connection.is_closing() => {
                connection.shut();
                self.connections.remove(&link);
                self.core.closed(link);
            }
            Ok(true) => {}
            Ok(false) => {
                let (connection, sender) = (connection.clone(), self.sender.clone());
                if connection.begin_waiting_to_write() {
                    tokio::task::spawn_local(async move {
                        connection.writable().await;
                        let _ = sender.send(Event::Writable(link));
                    });
                }
            }
            // Its reading side will tell.
            Err(_) => {}
        }
    }

    /// What the guard tells: who runs, who has ended and how, or, by its silence, that it is gone itself.
    fn hear_guard(&mut self) {
        while let Some(told) = self.guard.next_told() {
            match told {
                Told::Started { number, pid } => self.guard_started(number, pid),
                Told::NotStarted { number, why } => {
                    let actions = self.core.not_started(number, why);
                    self.act(actions);
                }
                Told::Ended { pid, ended } => {
                    if let Some(instance) = self.guarded.remove(&pid) {
                        self.gone(instance, ended.into());
                    }
                }
            }
        }
        if !self.guard.lives() && !std::mem::replace(&mut self.mourned, true) {
            let pid = self.guard.pid();
            self.fail(format!("the run's guard (process {pid}) is gone: it was killed, or it crashed"));
            // Its children die with it, and how they ended is known to nobody.
            for (pid, instance) in std::mem::take(&mut self.guarded) {
                end_group(pid, Signal::KILL);
                self.gone(instance, Exit::Unknown);
            }
        }
    }

    fn guard_started(&mut self, instance: u32, pid: u32) {
        if matches!(self.core.instance(instance).0, Phase::Gone(_)) {
            // The run began to end before it was there.
            return end_group(pid, Signal::KILL);
        }
        self.core.started(instance, pid);
        self.host.started(instance, pid);
        self.guarded.insert(pid, instance);
        let started = Started { pid, leads_group: true };
        self.processes.insert(instance, Process { pidfd: None, started, ours: true });
        if self.core.ending().is_some() {
            self.push(instance, Push::Terminate);
        }
    }

    /// A process that the guard did not start has ended.
    fn exited(&mut self, instance: u32) {
        let Some(Process { pidfd: Some(pidfd), started, ours }) = self.processes.get(&instance) else {
            return;
        };
        // Still a zombie: its number, and its group's, cannot have been given to others.
        if started.leads_group && *ours {
            end_group(started.pid, Signal::KILL);
            self.guard.forget(started.pid);
        }
        let exit = exit_of(pidfd.get_ref());
        self.gone(instance, exit);
    }

    fn gone(&mut self, instance: u32, exit: Exit) {
        self.processes.remove(&instance);
        // What it said last comes before its end.
        if let Some(link) = self.core.link_of(instance) {
            self.read_all(link);
        }
        // One that connected and ended at once.
        self.accept_all();
        self.drain_timeline(instance, Drain::Over);
        if exit.was_asked_for() && self.core.ending().is_none() {
            let sender = self.sender.clone();
            tokio::task::spawn_local(async move {
                tokio::time::sleep(ASKED).await;
                let _ = sender.send(Event::Over(instance, exit));
            });
            return;
        }
        self.over(instance, exit);
    }

    fn over(&mut self, instance: u32, exit: Exit) {
        let actions = self.core.exited(instance, exit);
        self.act(actions);
    }

    /// The run fails for a reason that no instance gave.
    fn fail(&mut self, what: String) {
        let actions = self.core.stop(Outcome::failed(what));
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            self.act_once(action);
        }
    }

    fn act_once(&mut self, action: Action) {
        match action {
            Action::Answer { link, notice, memory } => self.send(link, &notice, &memory),
            Action::Tell { link, endpoint, notice, memory } => {
                self.send(link, &notice, &memory);
                self.call(endpoint);
            }
            Action::Call { endpoint } => self.call(endpoint),
            Action::MakeSlab { link, endpoint, slab, bytes } => {
                match self.custody.make_slab(endpoint, slab, bytes) {
                    Ok(fd) => self.send_with(link, &Notice::Granted { slab }, vec![fd]),
                    Err(why) => {
                        let actions = self.core.slab_refused(link, endpoint, slab, why);
                        self.act(actions);
                    }
                }
            }
            Action::DropSlab { endpoint, slab } => self.custody.drop_slab(endpoint, slab),
            Action::DropEndpoint { endpoint } => self.custody.drop_endpoint(endpoint),
            Action::Close { link } => {
                if let Some(connection) = self.connections.get(&link) {
                    connection.close_when_flushed();
                    self.flush(link);
                }
            }
            Action::Start { instance } => self.start(instance),
            Action::Watch { instance, pid } => {
                self.watch_process(instance, Started { pid, leads_group: false }, false);
            }
            Action::Push { instance, push } => self.push(instance, push),
            Action::Asleep { endpoint } => {
                let board = self.custody.board();
                if let Some(bell) = board.doorbell(endpoint) {
                    board.fall_asleep(bell);
                }
            }
            Action::Detach => {
                if let Some(elsewhere) = &self.elsewhere {
                    elsewhere.carrier.detach();
                }
            }
            Action::Grace => self.grace = Some(Instant::now() + GRACE),
            Action::Ask { link, question } => self.ask(link, question),
            Action::Report(report) => self.host.report(report),
            Action::Over => self.over = true,
        }
    }

    fn call(&self, endpoint: u32) {
        if let Some(bell) = self.custody.board().doorbell(endpoint) {
            bell.call();
        }
    }

    fn send(&mut self, link: Link, notice: &Notice, memory: &[Memory]) {
        let fds: Result<Vec<OwnedFd>, ShmError> = memory.iter().map(|&m| self.custody.descriptor(m)).collect();
        match fds {
            Ok(fds) => self.send_with(link, notice, fds),
            Err(error) => self.fail(format!("the agent could not hand out shared memory: {error}")),
        }
    }

    fn send_with(&mut self, link: Link, notice: &Notice, fds: Vec<OwnedFd>) {
        if let Some(connection) = self.connections.get(&link) {
            connection.queue(&to_bytes(notice), fds);
            self.flush(link);
        }
    }

    fn start(&mut self, instance: u32) {
        // A run that has begun to end starts nobody.
        if self.core.ending().is_some() {
            return;
        }
        let environment = self.core.environment(instance);
        match self.host.start(self.guard, instance, &environment) {
            Ok(None) => {}
            Ok(Some(started)) => {
                self.core.started(instance, started.pid);
                self.host.started(instance, started.pid);
                if started.leads_group {
                    self.guard.watch(started.pid);
                }
                self.watch_process(instance, started, true);
            }
            Err(why) => {
                let actions = self.core.not_started(instance, why);
                self.act(actions);
            }
        }
        // What it told meanwhile.
        let _ = self.sender.send(Event::GuardTells);
    }

    fn watch_process(&mut self, instance: u32, started: Started, ours: bool) {
        let opened = pidfd(started.pid).and_then(|fd| watched(fd, Interest::READABLE));
        match opened {
            Ok(fd) => {
                let fd = Rc::new(fd);
                let (watched, sender) = (fd.clone(), self.sender.clone());
                tokio::task::spawn_local(async move {
                    let _ = watched.readable().await;
                    let _ = sender.send(Event::Exited(instance));
                });
                self.processes.insert(instance, Process { pidfd: Some(fd), started, ours });
            }
            Err(error) => {
                self.remark(2, format!("process {} cannot be watched: {error}", started.pid));
                if ours {
                    end_group(started.pid, Signal::KILL);
                }
                let actions = self.core.exited(instance, Exit::Unknown);
                self.act(actions);
            }
        }
    }

    fn push(&mut self, instance: u32, push: Push) {
        let Some(process) = self.processes.get(&instance) else {
            return;
        };
        // One that is stopped heeds no signal but SIGKILL until it goes on.
        let signals: &[Signal] = match push {
            Push::Terminate => &[Signal::TERM, Signal::CONT],
            Push::Kill => &[Signal::KILL],
        };
        for &signal in signals {
            match &process.pidfd {
                _ if process.started.leads_group && process.ours => end_group(process.started.pid, signal),
                Some(pidfd) => push_one(pidfd.get_ref(), signal),
                None => {}
            }
        }
    }

    fn ask(&mut self, link: Link, question: Question) {
        match &question {
            Question::Stop => self.host.ordered(&Wish::Stop),
            Question::Join { instance } => self.host.ordered(&Wish::Join(instance.clone())),
            Question::Status | Question::Timeline | Question::Peek { .. } => {}
        }
        let json = match question {
            Question::Status => {
                let view =
                    RunView { core: &self.core, instances: self.view(), now: ligament_shm::status::now() };
                self.host.status(&view)
            }
            Question::Stop => serde_json::json!({ "ok": true }).to_string(),
            Question::Timeline => {
                self.drain_timelines(Drain::Asked);
                serde_json::json!({ "ok": true }).to_string()
            }
            Question::Peek { instance, path, offset, most } => {
                let found = self.core.plan().instances.iter().position(|one| one.name == instance);
                let peek = Peek { instance: found.unwrap_or_default() as u32, path, offset, most };
                if let Some(sight) = self.host.peek(link, &peek) {
                    self.send_with(link, &Notice::Peeked(sight), Vec::new());
                }
                return;
            }
            Question::Join { instance: name } => {
                let found = self.core.plan().instances.iter().position(|instance| instance.name == name);
                let index = found.unwrap_or_default() as u32;
                let environment: serde_json::Map<String, serde_json::Value> =
                    self.core.environment(index).into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
                let directory = self.host.directory(index);
                serde_json::json!({ "ok": true, "environment": environment, "directory": directory })
                    .to_string()
            }
        };
        self.send_with(link, &Notice::Answer { json }, Vec::new());
    }

    fn remark(&mut self, level: u8, text: String) {
        self.host.report(Report::Remark { level, text });
    }
}

fn cannot_accept(error: Errno) -> String {
    let why = match error {
        Errno::MFILE => {
            "it has as many files open as it may; raise the hard limit of open files (\"ulimit -Hn\")"
                .to_owned()
        }
        Errno::NFILE => "the machine has as many files open as it may (fs.file-max)".to_owned(),
        error => error.to_string(),
    };
    format!("the agent cannot take in the connection of an instance: {why}")
}

fn listen_at(name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    listen(&socket, 4096)?;
    Ok(socket)
}
