//! Processes of instances: their start, the signals that end a process, and the end of a process. The guard
//! reports the end of each process that the guard has started. The driver watches all other processes
//! itself.

use super::{Driver, DriverEvent};
use crate::action::{InstancePhase, ProcessSignal};
use crate::host::{DrainReason, StartedProcess};
use crate::outcome::Exit;
use crate::sys::{exit_of, pidfd, push_one, watched};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_launch::{end_group, GuardReport};
use ligament_wire::EndpointId;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Maximum delay between the signals of a sender, such as a batch system, that ends all processes of a job.
/// An instance that obeys such a signal before the agent has received its own signal has not failed.
const EXTERNAL_SIGNAL_DELAY: Duration = Duration::from_millis(500);

/// Time after the clean end of one rank of an instance. Within this time, the instance must report that it is
/// done, or its launcher must end it.
const RANK_END_GRACE: Duration = Duration::from_millis(500);

/// Maximum time from the end of one rank until the reason for this end is known. The reason shows when the
/// launcher ends, or when the guard ends the launcher's ranks.
const LAUNCHER_END_DELAY: Duration = Duration::from_secs(1);

/// A handle of an endpoint's process. The driver uses the handle to watch the process and to send signals.
pub(super) struct ProcessHandle {
    /// Descriptor that becomes readable when the process ends; `None` for a process that the guard has
    /// started.
    pidfd: Option<Rc<AsyncFd<OwnedFd>>>,
    started: StartedProcess,
    ours: bool,
}

impl Driver<'_> {
    pub(super) fn watch_guard(&self) -> Result<(), Fault> {
        let line = self.guard.as_fd().try_clone_to_owned();
        let line = line.and_then(|line| watched(line, Interest::READABLE));
        let line = line.map_err(|error| fault!(CANNOT_WATCH, "the run's guard cannot be watched: {error}"))?;
        let sender = self.sender.clone();
        tokio::task::spawn_local(async move {
            while let Ok(mut told) = line.readable().await {
                let closed = told.ready().is_read_closed();
                told.clear_ready();
                if sender.send(DriverEvent::GuardTells).is_err() || closed {
                    break;
                }
            }
        });
        Ok(())
    }

    /// Handles the guard's reports of started and ended processes. Also handles the end of the guard
    /// itself: the guard's connection is then closed.
    pub(super) fn hear_guard(&mut self) {
        while let Some(told) = self.guard.next_report() {
            match told {
                GuardReport::Started { number, pid } => self.guard_started(EndpointId::new(number), pid),
                GuardReport::NotStarted { number, why } => {
                    let why = Fault::heard(why, Code::NOT_STARTABLE);
                    let actions = self.core.not_started(EndpointId::new(number), &why);
                    self.act(actions);
                }
                GuardReport::Ended { pid, ended, lost } => {
                    if let Some(endpoint) = self.guarded.remove(&pid) {
                        let first = lost.as_ref().and_then(|lost| lost.ended).unwrap_or(ended);
                        if let Some(lost) = lost {
                            self.core.launcher_lost_ranks(
                                endpoint,
                                lost.ranks.clone(),
                                lost.unknown.clone(),
                                lost.why(),
                            );
                        }
                        self.gone(endpoint, first.into());
                    }
                }
                GuardReport::Left { pid, rank } => {
                    if let Some(&endpoint) = self.guarded.get(&pid) {
                        self.core.rank_ended_cleanly(endpoint, rank);
                        self.later(RANK_END_GRACE, DriverEvent::Left(endpoint));
                    }
                }
            }
        }
        if !self.guard.is_alive() && !std::mem::replace(&mut self.is_guard_loss_reported, true) {
            let (pid, machine) = (self.guard.pid(), rustix::system::uname());
            let machine = machine.nodename().to_string_lossy();
            self.fail(fault!(
                GUARD_GONE,
                "the run's guard (process {pid} on {machine}) is gone: it was killed, or it crashed"
            ));
            // The guard's children die with the guard, so the agent cannot learn their exit status.
            for (pid, endpoint) in std::mem::take(&mut self.guarded) {
                end_group(pid, Signal::KILL);
                self.gone(endpoint, Exit::Unknown);
            }
        }
    }

    pub(super) fn guard_started(&mut self, endpoint: EndpointId, pid: u32) {
        if matches!(self.core.rank(endpoint.leader()).0, InstancePhase::Gone(_)) {
            // The run began to end before the guard started the process, so the process is killed.
            return end_group(pid, Signal::KILL);
        }
        self.core.started(endpoint, pid);
        self.host.started(endpoint.leader(), pid);
        self.guarded.insert(pid, endpoint);
        let started = StartedProcess { pid, leads_group: true };
        self.processes.insert(endpoint, ProcessHandle { pidfd: None, started, ours: true });
        if self.core.ending().is_some() && !self.core.ends_by_itself(endpoint) {
            self.push(endpoint, ProcessSignal::Terminate);
        }
    }

    pub(super) fn start(&mut self, endpoint: EndpointId) {
        // A run that has begun to end starts no processes.
        if self.core.ending().is_some() {
            return;
        }
        let environment = self.core.environment(endpoint);
        let instance = self.core.wiring().first_instance(endpoint);
        match self.host.start(self.guard, endpoint, instance, &environment) {
            Ok(None) => {}
            Ok(Some(started)) => {
                self.core.started(endpoint, started.pid);
                self.host.started(endpoint.leader(), started.pid);
                if started.leads_group {
                    self.guard.watch(started.pid);
                }
                self.watch_process(endpoint, started, true);
            }
            Err(why) => {
                let actions = self.core.not_started(endpoint, &why);
                self.act(actions);
            }
        }
        // Reports of the guard may have arrived while the host started the process.
        let _ = self.sender.send(DriverEvent::GuardTells);
    }

    pub(super) fn watch_process(&mut self, endpoint: EndpointId, started: StartedProcess, ours: bool) {
        let opened = pidfd(started.pid).and_then(|fd| watched(fd, Interest::READABLE));
        match opened {
            Ok(fd) => {
                let fd = Rc::new(fd);
                let (watched, sender) = (fd.clone(), self.sender.clone());
                tokio::task::spawn_local(async move {
                    let _ = watched.readable().await;
                    let _ = sender.send(DriverEvent::Exited(endpoint));
                });
                self.processes.insert(endpoint, ProcessHandle { pidfd: Some(fd), started, ours });
            }
            Err(error) => {
                self.remark(2, said!(CANNOT_WATCH, "process {} cannot be watched: {error}", started.pid));
                if ours {
                    end_group(started.pid, Signal::KILL);
                }
                let actions = self.core.exited(endpoint, Exit::Unknown);
                self.act(actions);
            }
        }
    }

    /// Watches the process that registered for a rank, if this is not the process that was started for the
    /// rank. The driver watches the started process already.
    pub(super) fn watch_speaker(&mut self, endpoint: EndpointId, pid: u32) {
        let opened = pidfd(pid).and_then(|fd| watched(fd, Interest::READABLE));
        let sender = self.sender.clone();
        tokio::task::spawn_local(async move {
            // If the descriptor of the process cannot be opened, the process has ended already.
            if let Ok(fd) = opened {
                let _ = fd.readable().await;
            }
            let _ = sender.send(DriverEvent::SpeakerGone(endpoint));
        });
    }

    pub(super) fn speaker_gone(&mut self, endpoint: EndpointId) {
        if let Some(link) = self.core.link_of(endpoint) {
            self.read_all(link);
        }
        if self.core.rank_process_ended(endpoint) {
            self.later(LAUNCHER_END_DELAY, DriverEvent::Silent(endpoint))
        } else {
            self.silent(endpoint)
        }
    }

    /// Reports to the core that the process that registered for a rank has ended, even if the rank's
    /// launcher still runs.
    pub(super) fn silent(&mut self, endpoint: EndpointId) {
        let actions = self.core.speaker_gone(endpoint);
        self.act(actions);
    }

    pub(super) fn later(&self, wait: Duration, event: DriverEvent) {
        let sender = self.sender.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(wait).await;
            let _ = sender.send(event);
        });
    }

    pub(super) fn push(&mut self, endpoint: EndpointId, push: ProcessSignal) {
        let Some(process) = self.processes.get(&endpoint) else {
            return;
        };
        // A stopped process handles no signal but SIGKILL until the process continues.
        let signals: &[Signal] = match push {
            ProcessSignal::Terminate => &[Signal::TERM, Signal::CONT],
            ProcessSignal::Kill => &[Signal::KILL],
        };
        for &signal in signals {
            match &process.pidfd {
                _ if process.started.leads_group && process.ours => end_group(process.started.pid, signal),
                Some(pidfd) => push_one(pidfd.get_ref(), signal),
                None => {}
            }
        }
    }

    /// Handles the end of a process that the guard did not start.
    pub(super) fn exited(&mut self, endpoint: EndpointId) {
        let Some(ProcessHandle { pidfd: Some(pidfd), started, ours }) = self.processes.get(&endpoint) else {
            return;
        };
        // The process is still a zombie, so its number and the number of its group cannot belong to another
        // process or group.
        if started.leads_group && *ours {
            end_group(started.pid, Signal::KILL);
            self.guard.forget(started.pid);
        }
        let exit = exit_of(pidfd.get_ref());
        self.gone(endpoint, exit);
    }

    pub(super) fn gone(&mut self, endpoint: EndpointId, exit: Exit) {
        self.processes.remove(&endpoint);
        // The driver handles the last requests of a process before the end of the process.
        if let Some(link) = self.core.link_of(endpoint) {
            self.read_all(link);
        }
        // A process may have connected just before its end, so the driver accepts pending connections
        // first.
        self.accept_all_that_wait();
        self.custody.process_ended(endpoint, ligament_shm::status::now());
        self.drain_timeline(endpoint, DrainReason::ProcessEnded);
        let is_ending = self.core.ending().is_some();
        match exit {
            _ if is_ending => self.over(endpoint, exit),
            _ if exit.was_asked_for() => self.later(EXTERNAL_SIGNAL_DELAY, DriverEvent::Over(endpoint, exit)),
            Exit::Unknown if self.core.rank_process_ended(endpoint) => {
                self.later(LAUNCHER_END_DELAY, DriverEvent::Over(endpoint, exit))
            }
            _ => self.over(endpoint, exit),
        }
    }

    pub(super) fn over(&mut self, endpoint: EndpointId, exit: Exit) {
        let actions = self.core.exited(endpoint, exit);
        self.act(actions);
    }
}
