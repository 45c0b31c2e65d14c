//! The processes of instances: their start, the signals that end them, and their end, by way of the guard or seen from here.

use super::{Driver, Event};
use crate::action::{Phase, Push};
use crate::host::{Drain, Started};
use crate::outcome::Exit;
use crate::sys::{exit_of, pidfd, push_one, watched};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_launch::{end_group, Told};
use ligament_wire::EndpointId;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// How long it takes at most until whoever asks all processes of a job to end, as batch systems do, has asked the agent too:
/// then an instance that obeyed sooner has not failed.
const ASKED: Duration = Duration::from_millis(500);

/// How to reach the process of an instance.
pub(super) struct Process {
    /// For those that the guard did not start.
    pidfd: Option<Rc<AsyncFd<OwnedFd>>>,
    started: Started,
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
                if sender.send(Event::GuardTells).is_err() || closed {
                    break;
                }
            }
        });
        Ok(())
    }

    /// What the guard tells: who runs, who has ended and how, or, by its silence, that it is gone itself.
    pub(super) fn hear_guard(&mut self) {
        while let Some(told) = self.guard.next_told() {
            match told {
                Told::Started { number, pid } => self.guard_started(EndpointId::new(number), pid),
                Told::NotStarted { number, why } => {
                    let why = Fault::heard(why, Code::NOT_STARTABLE);
                    let actions = self.core.not_started(EndpointId::new(number), &why);
                    self.act(actions);
                }
                Told::Ended { pid, ended } => {
                    if let Some(endpoint) = self.guarded.remove(&pid) {
                        self.gone(endpoint, ended.into());
                    }
                }
            }
        }
        if !self.guard.lives() && !std::mem::replace(&mut self.mourned, true) {
            let (pid, machine) = (self.guard.pid(), rustix::system::uname());
            let machine = machine.nodename().to_string_lossy();
            self.fail(fault!(
                GUARD_GONE,
                "the run's guard (process {pid} on {machine}) is gone: it was killed, or it crashed"
            ));
            // Its children die with it, and how they ended is known to nobody.
            for (pid, endpoint) in std::mem::take(&mut self.guarded) {
                end_group(pid, Signal::KILL);
                self.gone(endpoint, Exit::Unknown);
            }
        }
    }

    pub(super) fn guard_started(&mut self, endpoint: EndpointId, pid: u32) {
        if matches!(self.core.rank(endpoint.leader()).0, Phase::Gone(_)) {
            // The run began to end before it was there.
            return end_group(pid, Signal::KILL);
        }
        self.core.started(endpoint, pid);
        self.host.started(endpoint.leader(), pid);
        self.guarded.insert(pid, endpoint);
        let started = Started { pid, leads_group: true };
        self.processes.insert(endpoint, Process { pidfd: None, started, ours: true });
        if self.core.ending().is_some() {
            self.push(endpoint, Push::Terminate);
        }
    }

    pub(super) fn start(&mut self, endpoint: EndpointId) {
        // A run that has begun to end starts nobody.
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
        // What it told meanwhile.
        let _ = self.sender.send(Event::GuardTells);
    }

    pub(super) fn watch_process(&mut self, endpoint: EndpointId, started: Started, ours: bool) {
        let opened = pidfd(started.pid).and_then(|fd| watched(fd, Interest::READABLE));
        match opened {
            Ok(fd) => {
                let fd = Rc::new(fd);
                let (watched, sender) = (fd.clone(), self.sender.clone());
                tokio::task::spawn_local(async move {
                    let _ = watched.readable().await;
                    let _ = sender.send(Event::Exited(endpoint));
                });
                self.processes.insert(endpoint, Process { pidfd: Some(fd), started, ours });
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

    pub(super) fn push(&mut self, endpoint: EndpointId, push: Push) {
        let Some(process) = self.processes.get(&endpoint) else {
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

    /// A process that the guard did not start has ended.
    pub(super) fn exited(&mut self, endpoint: EndpointId) {
        let Some(Process { pidfd: Some(pidfd), started, ours }) = self.processes.get(&endpoint) else {
            return;
        };
        // Still a zombie: its number, and its group's, cannot have been given to others.
        if started.leads_group && *ours {
            end_group(started.pid, Signal::KILL);
            self.guard.forget(started.pid);
        }
        let exit = exit_of(pidfd.get_ref());
        self.gone(endpoint, exit);
    }

    pub(super) fn gone(&mut self, endpoint: EndpointId, exit: Exit) {
        self.processes.remove(&endpoint);
        // What it said last comes before its end.
        if let Some(link) = self.core.link_of(endpoint) {
            self.read_all(link);
        }
        // One that connected and ended at once.
        self.accept_all_that_wait();
        self.custody.process_ended(endpoint, ligament_shm::status::now());
        self.drain_timeline(endpoint, Drain::Over);
        if exit.was_asked_for() && self.core.ending().is_none() {
            let sender = self.sender.clone();
            tokio::task::spawn_local(async move {
                tokio::time::sleep(ASKED).await;
                let _ = sender.send(Event::Over(endpoint, exit));
            });
            return;
        }
        self.over(endpoint, exit);
    }

    pub(super) fn over(&mut self, endpoint: EndpointId, exit: Exit) {
        let actions = self.core.exited(endpoint, exit);
        self.act(actions);
    }
}
