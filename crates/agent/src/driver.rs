//! The driver of the agent: sockets, processes and timers around the logic in `core`. The driver has one
//! thread. This thread must last until the end of the run, because the thread's child processes die with
//! the thread.

mod connections;
mod other_domains;
mod processes;
mod remote_taps;
mod taps;
mod watchers;

pub use other_domains::OtherDomains;

use crate::action::{Action, AgentReport, ConnectionId};
use crate::agent_socket::{AgentSocket, SocketDirectory};
use crate::connection::AgentConnection;
use crate::core::{AgentCore, SocketIdentity};
use crate::custody::{ChannelView, Custody};
use crate::host::{DrainReason, ExternalRequest, Host, InstanceView, RunView, StartedProcess};
use crate::memory::MemoryLedger;
use crate::outcome::{Exit, RunOutcome};
use crate::plan::RunPlan;
use crate::sys::{random_hex, watched};
use connections::ConnectionAdmission;
use ligament_catalogue::{fault, Fault};
use ligament_launch::{raise_open_files, Guard};
use ligament_wire::control::Notice;
use ligament_wire::EndpointId;
use processes::ProcessHandle;
use remote_taps::RemoteTaps;
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use watchers::Watchers;

/// Time that instances have to end by themselves when a run ends early.
const END_GRACE: Duration = Duration::from_secs(2);
/// Time that a failed instance has to end if the run goes on without the instance. The time is limited
/// because the senders to this instance wait for its end.
const FAILED_INSTANCE_GRACE: Duration = Duration::from_secs(5);

/// Estimated number of file descriptors that every run needs, and that every process of a run needs in
/// addition (connection, area, outbox, two slabs).
const MIN_FILES_OF_RUN: u64 = 64;
const MIN_FILES_PER_PROCESS: u64 = 5;

enum DriverEvent {
    Arriving,
    /// The driver has interrupted accepting connections to handle other events, and now continues to
    /// accept.
    ArrivingStill,
    Readable(ConnectionId),
    Writable(ConnectionId),
    Exited(EndpointId),
    /// The process that registered for a rank has ended. A different process, such as `mpirun`, was started
    /// for the rank.
    SpeakerGone(EndpointId),
    /// `LAUNCHER_END_DELAY` has passed since the event `SpeakerGone`.
    Silent(EndpointId),
    /// The delay after the end of a process has passed, and the driver now handles the end.
    Over(EndpointId, Exit),
    GuardTells,
    /// `RANK_END_GRACE` has passed since an MPI rank has ended cleanly.
    Left(EndpointId),
    /// The time that a failed endpoint had to end has passed.
    Lingered(EndpointId),
}

/// The end of a run, or of its part in one domain.
pub struct DomainResult {
    pub outcome: RunOutcome,
    /// The state of each rank at the end, by rank number.
    pub instances: Vec<InstanceView>,
    /// The counts of messages of each channel, by channel number.
    pub channels: Vec<ChannelView>,
}

/// Runs a plan to its end. `guard` is the run's guard, which starts the programs, and ends their remaining
/// processes at the end of the run. `plan` is always the plan of the whole run. `elsewhere` has the domain
/// of each instance, if the run has several domains. The run is over when the instances of this domain have
/// ended and everything that these instances sent has arrived.
///
/// # Errors
/// The run could not begin, because the agent got no memory, no socket or no event loop.
pub fn run(
    plan: RunPlan,
    guard: &mut Guard,
    host: &mut dyn Host,
    elsewhere: Option<OtherDomains<'_>>,
) -> Result<DomainResult, Fault> {
    let plan = match &elsewhere {
        Some(elsewhere) => plan.in_domain(elsewhere.domain_of, elsewhere.me),
        None => plan,
    };
    let files = raise_open_files();
    let processes = plan.wiring().own_endpoints().count();
    let needed = MIN_FILES_OF_RUN + MIN_FILES_PER_PROCESS * processes as u64;
    if files < needed {
        return Err(fault!(
            LIMIT_OF_FILES,
            "a run of {} processes needs about {needed} open files, and this process may have {files}; raise \
            the hard limit (\"ulimit -Hn\")",
            processes
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| fault!(CANNOT_WATCH, "no event loop: {error}"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut driver = Driver::new(plan, guard, host, elsewhere)?;
        driver.drive().await?;
        driver.guard.sweep();
        driver.drain_timelines(DrainReason::ProcessEnded);
        let outcome = driver.core.ending().cloned().unwrap_or(RunOutcome::Done);
        let view = RunView::of(&driver.core, &driver.custody);
        Ok(DomainResult { outcome, channels: view.channels(), instances: view.instances })
    })
}

struct Driver<'h> {
    core: AgentCore,
    custody: Custody,
    host: &'h mut dyn Host,
    elsewhere: Option<OtherDomains<'h>>,
    listener: Rc<AsyncFd<OwnedFd>>,
    /// The directory of the listening socket. It is removed when this value is dropped.
    _directory: Option<SocketDirectory>,
    admission: ConnectionAdmission,
    connections: HashMap<ConnectionId, AgentConnection>,
    next_link: ConnectionId,
    /// The running process of each endpoint.
    processes: HashMap<EndpointId, ProcessHandle>,
    /// The endpoint of each process that the guard has started, by process number.
    guarded: HashMap<u32, EndpointId>,
    guard: &'h mut Guard,
    /// True if the driver has reported that the guard is lost.
    is_guard_loss_reported: bool,
    events: UnboundedReceiver<DriverEvent>,
    sender: UnboundedSender<DriverEvent>,
    grace: Option<Instant>,
    watchers: Watchers,
    remote_taps: RemoteTaps,
    over: bool,
    /// True if the driver has reported to the host that all processes of this domain have ended.
    done_here: bool,
}

impl<'h> Driver<'h> {
    fn new(
        plan: RunPlan,
        guard: &'h mut Guard,
        host: &'h mut dyn Host,
        elsewhere: Option<OtherDomains<'h>>,
    ) -> Result<Driver<'h>, Fault> {
        let listening = AgentSocket::find(guard)?;
        let address = listening.address().to_owned();
        let (socket, directory) = listening.into_parts();
        let listener = watched(socket, Interest::READABLE)
            .map_err(|error| fault!(CANNOT_WATCH, "the run's socket cannot be watched: {error}"))?;
        let mut secrets = Vec::new();
        for _ in 0..=plan.ranks().count() {
            secrets.push(random_hex()?);
        }
        let ledger = MemoryLedger::for_run(plan.memory);
        let user = rustix::process::geteuid().as_raw();
        let socket_identity = SocketIdentity { user, address: address.clone() };
        let core = AgentCore::new(plan, ledger, socket_identity, || secrets.pop().unwrap_or_default());
        let cores = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
        let custody = Custody::new(core.plan(), core.wiring(), cores)?;
        host.begins(&address, core.token());
        let doorway = ConnectionAdmission::new(user, core.wiring().own_endpoints().count());
        let (sender, events) = unbounded_channel();
        Ok(Driver {
            core,
            custody,
            host,
            elsewhere,
            listener: Rc::new(listener),
            _directory: directory,
            admission: doorway,
            connections: HashMap::new(),
            next_link: 0,
            processes: HashMap::new(),
            guarded: HashMap::new(),
            guard,
            is_guard_loss_reported: false,
            events,
            sender,
            grace: None,
            watchers: Watchers::default(),
            remote_taps: RemoteTaps::default(),
            over: false,
            done_here: false,
        })
    }

    async fn drive(&mut self) -> Result<(), Fault> {
        use tokio::signal::unix::{signal, SignalKind};
        let no_signals = |error: std::io::Error| fault!(CANNOT_WATCH, "signals cannot be watched: {error}");
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
            self.settle();
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
            let watchers = self.watchers.due();
            let watchers_due = async {
                match watchers {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let far_taps = self.remote_taps.due();
            let far_taps_due = async {
                match far_taps {
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
                () = watchers_due => self.tell_watchers(),
                () = far_taps_due => self.poll_remote_taps(),
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

    /// Handles a signal that interrupts the run. The first signal ends the run in order, and the second
    /// signal ends the run at once.
    fn interrupted(&mut self, signal: &'static str) {
        self.host.external_request(&ExternalRequest::Signal(signal));
        let actions = match self.core.ending() {
            None => {
                let outcome = self.host.interruption(signal);
                self.core.stop(outcome)
            }
            Some(_) => {
                self.grace = None;
                self.host.grace_cut_short();
                self.core.grace_is_over()
            }
        };
        self.act(actions);
    }

    fn drain_timelines(&mut self, why: DrainReason) {
        for endpoint in EndpointId::first(self.core.wiring().ranks().count()) {
            self.drain_timeline(endpoint, why);
        }
        self.host.timelines_seen();
    }

    fn drain_timeline(&mut self, endpoint: EndpointId, why: DrainReason) {
        if let Some(gained) = self.custody.timeline(endpoint) {
            self.host.timeline(endpoint.leader(), &gained, ligament_shm::status::now(), why);
        }
    }

    fn tick(&mut self) {
        self.drain_timelines(DrainReason::Tick);
        let view = RunView::of(&self.core, &self.custody);
        for order in self.host.tick(&view) {
            let actions = self.core.carry_out_order(order);
            self.act(actions);
        }
        self.show_sights();
    }

    /// Carries out the orders of the host, and sends the host's replies to clients. The event loop calls
    /// this function after each event.
    fn settle(&mut self) {
        loop {
            let orders = self.host.orders();
            if orders.is_empty() {
                break;
            }
            for order in orders {
                let actions = self.core.carry_out_order(order);
                self.act(actions);
            }
        }
        for talk in self.host.taps() {
            self.hear_of_tap(talk);
        }
        for (link, answer) in self.host.steer_replies() {
            let notice = match answer {
                Ok(json) => Notice::Answer { json },
                Err(why) => Notice::Refused { why: why.with_code() },
            };
            self.send_with(link, &notice, Vec::new());
        }
    }

    /// Sends the host's replies to clients that asked for a file.
    fn show_sights(&mut self) {
        for (link, sight) in self.host.peek_replies() {
            self.send_with(link, &Notice::Peeked(sight), Vec::new());
        }
    }

    fn show(&mut self) {
        let view = RunView::of(&self.core, &self.custody);
        self.host.show(&view);
    }

    fn handle(&mut self, event: DriverEvent) {
        match event {
            DriverEvent::Arriving => self.somebody_arrives(),
            DriverEvent::ArrivingStill => self.accept_some(),
            DriverEvent::Readable(link) => self.read_all(link),
            DriverEvent::Writable(link) => {
                self.flush(link);
                let actions = self.core.sent_late(link);
                self.act(actions);
            }
            DriverEvent::Exited(endpoint) => self.exited(endpoint),
            DriverEvent::SpeakerGone(endpoint) => self.speaker_gone(endpoint),
            DriverEvent::Silent(endpoint) => self.silent(endpoint),
            DriverEvent::Over(endpoint, exit) => self.over(endpoint, exit),
            DriverEvent::GuardTells => self.hear_guard(),
            DriverEvent::Lingered(endpoint) => {
                let actions = self.core.linger_time_is_over(endpoint);
                self.act(actions);
            }
            DriverEvent::Left(endpoint) => {
                let actions = self.core.end_if_rank_ended_cleanly(endpoint);
                self.act(actions);
            }
        }
    }

    /// Ends the run because of a failure that is not the failure of an instance.
    fn fail(&mut self, what: Fault) {
        let actions = self.core.stop(RunOutcome::failed(what));
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
            Action::AskWhetherSteers { link, endpoint, change } => {
                // If the notice of the change could not be sent yet, the endpoint may take its first step
                // without the notice. So the agent must not accept the change for the endpoint then.
                let is_told = self.connections.get(&link).is_some_and(|connection| !connection.is_full());
                let bell = self.custody.board().doorbell(endpoint);
                if is_told && bell.is_some_and(|bell| !bell.steers()) {
                    let actions = self.core.never_steered(endpoint, change);
                    self.act(actions);
                }
            }
            Action::Call { endpoint } => self.call(endpoint),
            Action::MakeSlab { link, endpoint, slab, bytes } => {
                match self.custody.make_slab(endpoint, slab, bytes) {
                    Ok(fd) => self.send_with(link, &Notice::Granted { slab }, vec![fd]),
                    Err(why) => {
                        let actions = self.core.slab_refused(link, endpoint, slab, &why);
                        self.act(actions);
                    }
                }
            }
            Action::MakeTap { viewer, to, endpoint, tap } => self.make_tap(viewer, to, endpoint, tap),
            Action::EndTap { ticket, why } => self.end_tap_of_head(ticket, why),
            Action::TapElsewhere { link, port } => self.tap_elsewhere(link, port),
            Action::UntapElsewhere { link } => self.untap_elsewhere(link),
            Action::DropSlab { endpoint, slab } => self.custody.drop_slab(endpoint, slab),
            Action::DropEndpoint { endpoint } => self.custody.drop_endpoint(endpoint),
            Action::Close { link } => {
                if let Some(connection) = self.connections.get(&link) {
                    connection.close_when_flushed();
                    self.flush(link);
                }
            }
            Action::Start { endpoint } => self.start(endpoint),
            Action::Watch { endpoint, pid } => {
                self.watch_process(endpoint, StartedProcess { pid, leads_group: false }, false);
            }
            Action::WatchSpeaker { endpoint, pid } => self.watch_speaker(endpoint, pid),
            Action::SignalProcess { endpoint, push } => self.push(endpoint, push),
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
            Action::Detach => {
                if let Some(elsewhere) = &self.elsewhere {
                    elsewhere.carrier.detach();
                }
            }
            Action::StartGraceTimer => self.grace = Some(Instant::now() + END_GRACE),
            Action::StartLingerTimer { endpoint } => {
                self.later(FAILED_INSTANCE_GRACE, DriverEvent::Lingered(endpoint))
            }
            Action::Ask { link, question } => self.ask(link, question),
            Action::Report(report) => self.host.report(report),
            Action::Over => self.over = true,
        }
    }

    fn call(&self, endpoint: EndpointId) {
        if let Some(bell) = self.custody.board().doorbell(endpoint) {
            bell.call();
        }
    }

    fn remark(&mut self, level: u8, text: String) {
        self.host.report(AgentReport::Remark { level, text });
    }
}
