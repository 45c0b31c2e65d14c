//! The two threads of a carrier. One sleeps on the endpoint's doorbell, the other waits for sockets. The
//! thread that wakes takes the lock and does all the work, in both directions, so a message costs one
//! wake-up in each agent. The agent's loop never holds this lock, because the carrier may be waiting for the
//! agent's answer.
//!
//! There are two threads because one thread cannot wait for a futex and for sockets at once. The doorbell is
//! a futex all the same: it needs no descriptor in every process, senders ring it like any other doorbell,
//! and they ring it only when its owner is parked. With an eventfd, the owner would have to announce its
//! park as well. A thread costs nothing while it sleeps. (The eventfd in this module is for the agent's
//! tasks.)
//!
//! After moving messages, a thread lingers: it looks for more messages for 100 µs before it sleeps, and yields
//! after each look. If lingering has found nothing lately, it is tried one time in sixteen. If another process
//! computes on this core, it is not tried at all (`turns`). While one thread is awake, no sender rings the
//! doorbell. If both are awake, the thread of the sockets lingers, because the kernel wakes that thread in any
//! case.

use crate::logic::Logic;
use crate::{Attachment, CarrierReport, Paths, Quiet};
use ligament_catalogue::{fault, Fault};
use ligament_net::{now, DialAddress, Event, LinkReport, Nanos};
use ligament_shm::endpoint::turns::Turns;
use ligament_shm::line::{AgentLine, Identity, Registration};
use ligament_shm::Endpoint;
use ligament_wire::DomainId;
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Time for which a thread looks for another message after the last one, in ns. It is several times as long as
/// a message to the next machine and its answer take, and as a wake-up takes.
const LINGER_NS: Nanos = 100_000;
/// Maximum duration of a sleep.
const MAX_SLEEP: Duration = Duration::from_secs(1);
/// Time between two notes of the state of the links, ns.
const LINK_REPORT_INTERVAL_NS: Nanos = 1_000_000_000;

/// A task from the agent.
pub(crate) enum CarrierTask {
    Dial { domain: DomainId, places: Vec<DialAddress>, streams: u16 },
    Expect { domain: DomainId, places: Vec<DialAddress> },
    End { domain: DomainId },
    Control { domain: DomainId, bytes: Vec<u8> },
    Detach,
}

/// The data that the two threads share.
struct Work {
    paths: Box<dyn Paths>,
    logic: Logic<AgentLine>,
    /// Domains to which paths were begun.
    known: BTreeSet<DomainId>,
    turns: Turns,
    /// Time until which each of the two threads sleeps at most, or 0 while it is awake. One of the two times is
    /// not later than the next work that is due.
    endpoint_until: Nanos,
    paths_until: Nanos,
    stopped: bool,
}

/// The data that the threads share with the agent.
pub(crate) struct SharedWork {
    work: Mutex<Work>,
    /// Tasks of the agent that no thread has begun. Unlike the lock of `work`, this lock is held only for
    /// moments.
    tasks: Mutex<Vec<CarrierTask>>,
    /// State of the links, and the time at which it was noted. The lock is held only for moments.
    links: Mutex<(Nanos, Vec<(DomainId, LinkReport)>)>,
    /// Wakes the thread that waits for sockets when there are tasks.
    called: OwnedFd,
    sockets: OwnedFd,
    heard: UnboundedSender<CarrierReport>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics has reported that the run fails.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedWork {
    pub fn new(paths: Box<dyn Paths>, heard: UnboundedSender<CarrierReport>) -> std::io::Result<SharedWork> {
        let called = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let sockets = paths.poll_fd().try_clone_to_owned()?;
        let work = Work {
            paths,
            logic: Logic::new(),
            known: BTreeSet::new(),
            turns: Turns::default(),
            endpoint_until: Nanos::MAX,
            paths_until: Nanos::MAX,
            stopped: false,
        };
        Ok(SharedWork {
            work: Mutex::new(work),
            tasks: Mutex::default(),
            links: Mutex::default(),
            called,
            sockets,
            heard,
        })
    }

    /// Adds a task and wakes a thread for it.
    pub fn give(&self, task: CarrierTask) {
        lock(&self.tasks).push(task);
        self.call();
    }

    fn call(&self) {
        // This write fails only if the eventfd is full of calls that are not handled yet.
        let _ = rustix::io::write(&self.called, &1u64.to_ne_bytes());
    }

    pub fn tell(&self, heard: CarrierReport) {
        let _ = self.heard.send(heard);
    }

    /// Returns the state of the links, as last noted.
    pub fn links(&self) -> Vec<(DomainId, LinkReport)> {
        lock(&self.links).1.clone()
    }

    /// Ends both threads.
    pub fn stop(&self) {
        let mut work = lock(&self.work);
        work.stopped = true;
        work.logic.rouse();
        drop(work);
        self.call();
    }

    /// Returns the present traffic. It is never quiet while a thread is at work.
    pub fn quiet(&self) -> Quiet {
        let tasks = !lock(&self.tasks).is_empty();
        match self.work.try_lock() {
            Ok(work) => {
                let quiet = work.logic.quiet();
                Quiet { quiet: quiet.quiet && !tasks, ..quiet }
            }
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => Quiet::default(),
        }
    }

    /// Does all work that is due. Returns the time at which `pass` must be called again at the latest.
    fn pass(&self, work: &mut Work) -> Nanos {
        for task in std::mem::take(&mut *lock(&self.tasks)) {
            self.do_task(work, task);
        }
        let Work { paths, logic, .. } = work;
        logic.pass(&mut **paths, now());
        for heard in logic.take_heard() {
            self.tell(heard);
        }
        while let Some(event) = paths.event() {
            self.tell(CarrierReport::Path(event));
        }
        let noted = now();
        if noted >= lock(&self.links).0 + LINK_REPORT_INTERVAL_NS {
            *lock(&self.links) = (noted, paths.reports(noted));
        }
        let deadlines = paths.deadline().into_iter().chain(logic.deadline());
        deadlines.min().unwrap_or(Nanos::MAX)
    }

    /// Looks for more messages for a while before the thread sleeps. An answer that arrives soon then needs no
    /// wake-up. Yields the core after each look. Returns at once if lingering has not found messages lately, or
    /// if `instead` returns true because the other thread is awake. Returns the time at which the next work is
    /// due.
    fn linger<'a>(
        &'a self,
        mut work: MutexGuard<'a, Work>,
        mut due: Nanos,
        instead: impl Fn(&Work) -> bool,
    ) -> (MutexGuard<'a, Work>, Nanos) {
        if instead(&work) || !work.turns.may_yield() || !work.turns.may_linger() {
            return (work, due);
        }
        let (mut since, mut moved, mut paid) = (now(), work.logic.moved(), false);
        loop {
            drop(work);
            let before = now();
            rustix::thread::sched_yield();
            let after = now();
            work = lock(&self.work);
            due = self.pass(&mut work);
            let came = work.logic.moved() != moved;
            if came {
                (since, moved, paid) = (after, work.logic.moved(), true);
                work.turns.lingered(true);
                work.turns.paid();
            }
            let kept = work.turns.took(after - before);
            if kept || work.stopped || instead(&work) {
                return (work, due);
            }
            if after - since > LINGER_NS {
                if !paid {
                    work.turns.lingered(false);
                }
                return (work, due);
            }
        }
    }

    /// Lets senders ring the doorbell from now on, because the last awake thread is about to sleep. Returns the
    /// time at which work is due, or `None` if new work has arrived meanwhile.
    fn lie_down(&self, work: &mut Work, mut due: Nanos) -> Option<Nanos> {
        work.logic.lie_down();
        if work.logic.heeds_credit() {
            due = self.pass(work);
        }
        (!work.logic.looks_again() && due > now()).then_some(due)
    }

    fn do_task(&self, work: &mut Work, task: CarrierTask) {
        let Work { paths, logic, known, .. } = work;
        match task {
            CarrierTask::Dial { domain, places, streams } => {
                known.insert(domain);
                paths.dial(domain, places, streams);
            }
            CarrierTask::Expect { domain, places } => {
                known.insert(domain);
                paths.expect(domain, places);
            }
            CarrierTask::End { domain } if known.remove(&domain) => paths.end(domain),
            CarrierTask::Control { domain, bytes } if known.contains(&domain) => {
                logic.control(&mut **paths, domain, bytes);
            }
            CarrierTask::End { .. } => {}
            CarrierTask::Control { domain, .. } => {
                let why = fault!(PATH_GIVEN_UP, "there is something to say to it, and no path was begun");
                self.tell(CarrierReport::Path(Event::GivenUp { domain: domain.number(), why }));
            }
            CarrierTask::Detach => logic.detach(),
        }
    }
}

/// A guard of a thread: when the thread panics, the guard reports that the run fails.
struct Witness<'a>(&'a SharedWork);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.tell(CarrierReport::Failed(fault!(
                CARRIER_FAILED,
                "the carrier of messages between domains crashed (a bug in Ligament)"
            )));
        }
    }
}

/// Returns the duration of a sleep until the time `then`.
fn until(then: Nanos) -> Duration {
    Duration::from_nanos(then.saturating_sub(now())).min(MAX_SLEEP)
}

/// The thread that waits for sockets and for the agent's tasks.
pub(crate) fn paths_thread(shared: Arc<SharedWork>) {
    let _witness = Witness(&shared);
    loop {
        let mut work = lock(&shared.work);
        work.paths_until = 0;
        work.logic.get_up();
        let due = shared.pass(&mut work);
        let (mut work, mut due) = shared.linger(work, due, |_| false);
        if work.stopped {
            return work.logic.rouse();
        }
        if work.endpoint_until != 0 {
            match shared.lie_down(&mut work, due) {
                Some(then) => due = then,
                None => continue,
            }
        }
        let due = if work.endpoint_until <= due { Nanos::MAX } else { due };
        work.paths_until = due;
        drop(work);
        let time = until(due);
        let time =
            rustix::time::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut ready =
            [PollFd::new(&shared.sockets, PollFlags::IN), PollFd::new(&shared.called, PollFlags::IN)];
        // A signal ends the wait too. The loop then looks for work, as after an event of a socket.
        let _ = poll(&mut ready, Some(&time));
        if ready[1].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(shared.called.as_fd(), &mut [0u8; 8]);
        }
    }
}

/// The thread that registers with the agent and then sleeps on the endpoint's doorbell.
pub(crate) fn endpoint_thread(shared: Arc<SharedWork>, attachment: Attachment) {
    let _witness = Witness(&shared);
    let Attachment { agent, instance, token, .. } = &attachment;
    let identity = Identity { agent: agent.clone(), instance: instance.clone(), token: token.clone() };
    let registered = AgentLine::register(&identity, None, "ligament", true).and_then(|registered| {
        let Registration { line, welcome, foundation } = registered;
        let endpoint = Endpoint::new(foundation, &welcome.sends, &welcome.receives, line);
        endpoint.map(|endpoint| (endpoint, welcome)).map_err(Fault::from)
    });
    let (endpoint, welcome) = match registered {
        Ok(registered) => registered,
        Err(why) => {
            let why = fault!(
                CARRIER_FAILED,
                "the carrier of messages to and from other domains cannot take part: {why}"
            );
            return shared.tell(CarrierReport::Failed(why));
        }
    };
    let mut work = lock(&shared.work);
    work.logic.attach(endpoint, &welcome.sends, &welcome.receives, &attachment);
    drop((welcome, attachment));
    loop {
        work.endpoint_until = 0;
        work.logic.get_up();
        let due = shared.pass(&mut work);
        let (held, mut due) = shared.linger(work, due, |work| work.paths_until == 0);
        work = held;
        let Some(bed) = work.logic.bed() else { break };
        if work.stopped {
            break;
        }
        if work.paths_until != 0 {
            match shared.lie_down(&mut work, due) {
                Some(then) => due = then,
                None => continue,
            }
        }
        work.endpoint_until = if work.paths_until <= due { Nanos::MAX } else { due };
        let at_most = until(work.endpoint_until);
        drop(work);
        bed.sleep(at_most);
        work = lock(&shared.work);
    }
    work.endpoint_until = Nanos::MAX;
    drop(work);
    // From now on, the other thread does all work that is due.
    shared.call();
}
