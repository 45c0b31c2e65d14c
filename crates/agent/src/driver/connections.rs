//! Connections to the agent's socket: accepting, reading, writing, and the questions of clients.

use super::{Driver, DriverEvent};
use crate::action::{Caller, ConnectionId, MemoryRegion};
use crate::agent_socket::MAX_PENDING_CONNECTIONS;
use crate::connection::AgentConnection;
use crate::host::{DrainReason, ExternalRequest, PeekRequest, RunView};
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::file_size_limit;
use ligament_shm::socket::Socket;
use ligament_shm::ShmError;
use ligament_wire::control::{from_bytes, to_bytes, Notice, Question, Request, SteerRequest};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{accept_with, SocketFlags};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Number of connections that are accepted before other events are handled.
const MAX_ACCEPTS_PER_TURN: usize = 64;
/// Limit of connections whose process has not identified itself, in addition to one for each process of the
/// domain.
const MAX_UNIDENTIFIED_CONNECTIONS: usize = 256;
/// Minimum time that a new connection has to identify itself before it may be closed to make room.
const MIN_IDENTIFICATION_TIME: Duration = Duration::from_secs(1);
/// Delay before accepting is tried again when there is no room.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The run fails if no descriptor has been free for this long. Strangers keep none, so the limit is too low,
/// and instances would wait for ever.
const DESCRIPTOR_SHORTAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Admission of connections.
pub(super) struct ConnectionAdmission {
    /// The owner of the run. All other users are refused.
    user: u32,
    most: usize,
    /// Connections that have not identified themselves, with the time at which each was accepted.
    unknown: BTreeMap<ConnectionId, Instant>,
    /// True if an `ArrivingStill` event is pending.
    waits: bool,
    has_said_crowded: bool,
    /// Time since which no descriptor has been free.
    crowded: Option<Instant>,
}

impl ConnectionAdmission {
    /// Admission for a run of this user, with this number of processes in this domain.
    pub fn new(user: u32, processes: usize) -> ConnectionAdmission {
        let most = MAX_UNIDENTIFIED_CONNECTIONS + processes;
        ConnectionAdmission {
            user,
            most,
            unknown: BTreeMap::new(),
            waits: false,
            has_said_crowded: false,
            crowded: None,
        }
    }
}

impl Driver<'_> {
    pub(super) fn watch_listener(&self) {
        let (listener, sender) = (self.listener.clone(), self.sender.clone());
        tokio::task::spawn_local(async move {
            while let Ok(mut guard) = listener.readable().await {
                guard.clear_ready();
                if sender.send(DriverEvent::Arriving).is_err() {
                    break;
                }
            }
        });
    }

    pub(super) fn somebody_arrives(&mut self) {
        // If the event is pending, the socket is watched already.
        if !self.admission.waits {
            self.accept_some();
        }
    }

    /// Accepts pending connections, but only so many that other events have their turn.
    pub(super) fn accept_some(&mut self) {
        self.admission.waits = false;
        self.accept(MAX_ACCEPTS_PER_TURN);
    }

    /// Accepts all connections that are pending now.
    pub(super) fn accept_all_that_wait(&mut self) {
        if !self.admission.waits {
            self.accept(MAX_PENDING_CONNECTIONS as usize + 1);
        }
    }

    fn accept(&mut self, most: usize) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for _ in 0..most {
            if !self.has_room_for_one() {
                return self.accept_later();
            }
            match accept_with(self.listener.get_ref(), flags) {
                Ok(fd) => {
                    self.admission.crowded = None;
                    self.take_in(fd);
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => {
                    self.admission.crowded = None;
                    return;
                }
                Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                    return self.is_crowded(error)
                }
                // The processes behind pending connections would wait for ever.
                Err(error) => return self.fail(cannot_accept(error)),
            }
        }
        self.admission.waits = true;
        let _ = self.sender.send(DriverEvent::ArrivingStill);
    }

    fn take_in(&mut self, fd: OwnedFd) {
        let caller = match rustix::net::sockopt::socket_peercred(&fd) {
            Ok(peer) => Caller { user: peer.uid.as_raw(), pid: peer.pid.as_raw_nonzero().get() as u32 },
            Err(error) => {
                return self.remark(2, said!(CONNECTION_LOST, "a connection was lost at once: {error}"))
            }
        };
        if caller.user != self.admission.user {
            return self.turn_away(fd, caller);
        }
        let connection = match AgentConnection::open(fd) {
            Ok(connection) => connection,
            Err(error) => {
                return self.remark(2, said!(CONNECTION_LOST, "a connection was lost at once: {error}"))
            }
        };
        let link = self.next_link;
        self.next_link += 1;
        self.watch(link, &connection);
        self.connections.insert(link, connection);
        self.admission.unknown.insert(link, Instant::now());
        let actions = self.core.connected(link, caller);
        self.act(actions);
        self.read_all(link);
    }

    /// Tells another user the reason, as far as that is possible without waiting, and closes the connection.
    fn turn_away(&mut self, fd: OwnedFd, caller: Caller) {
        let why = self.core.not_for(caller);
        let mut socket = Socket::new(fd);
        socket.queue(&to_bytes(&Notice::Refused { why: why.with_code() }), Vec::new());
        let _ = socket.flush();
        self.host.connection_refused(&format!("user {}", caller.user), why.text(), 0);
    }

    /// True if one more unidentified connection may be accepted. If need be, the oldest is closed, unless it is
    /// very new.
    fn has_room_for_one(&mut self) -> bool {
        self.admission.unknown.len() < self.admission.most || self.dismiss_one()
    }

    /// Closes the oldest unidentified connection.
    fn dismiss_one(&mut self) -> bool {
        let first = self.admission.unknown.iter().next().map(|(&link, &since)| (link, since));
        let Some((link, _)) = first.filter(|(_, since)| since.elapsed() >= MIN_IDENTIFICATION_TIME) else {
            return false;
        };
        self.admission.unknown.remove(&link);
        if let Some(connection) = self.connections.remove(&link) {
            connection.shut();
        }
        self.watchers.remove(link);
        let actions = self.core.closed(link);
        self.act(actions);
        true
    }

    /// Handles a lack of descriptors. Connections stay pending at the socket until a descriptor is free.
    fn is_crowded(&mut self, error: Errno) {
        let since = *self.admission.crowded.get_or_insert_with(Instant::now);
        if since.elapsed() >= DESCRIPTOR_SHORTAGE_TIMEOUT {
            return self.fail(cannot_accept(error));
        }
        if !std::mem::replace(&mut self.admission.has_said_crowded, true) {
            self.remark(
                2,
                said!(
                    LIMIT_OF_FILES,
                    "{}; whoever wants to take part waits until it can",
                    cannot_accept(error)
                ),
            );
        }
        self.dismiss_one();
        self.accept_later();
    }

    fn accept_later(&mut self) {
        self.admission.waits = true;
        let sender = self.sender.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            let _ = sender.send(DriverEvent::ArrivingStill);
        });
    }

    pub(super) fn watch(&self, link: ConnectionId, connection: &AgentConnection) {
        let (connection, sender) = (connection.clone(), self.sender.clone());
        tokio::task::spawn_local(async move {
            while connection.readable().await && sender.send(DriverEvent::Readable(link)).is_ok() {}
            let _ = sender.send(DriverEvent::Readable(link));
        });
    }

    pub(super) fn read_all(&mut self, link: ConnectionId) {
        loop {
            let Some(connection) = self.connections.get(&link) else {
                return;
            };
            let actions = match connection.try_receive() {
                Ok(Some(frame)) => match from_bytes::<Request>(&frame.bytes) {
                    Ok(request) => {
                        let actions = self.core.request(link, request);
                        if self.core.knows(link) {
                            self.admission.unknown.remove(&link);
                        }
                        actions
                    }
                    Err(what) => self.core.malformed_request(link, what.to_string()),
                },
                Ok(None) => return,
                Err(ShmError::Interrupted) => continue,
                Err(ShmError::Malformed(what)) => self.core.malformed_request(link, what),
                Err(_) => {
                    self.connections.remove(&link);
                    self.admission.unknown.remove(&link);
                    self.watchers.remove(link);
                    let actions = self.core.closed(link);
                    self.act(actions);
                    return;
                }
            };
            self.act(actions);
        }
    }

    pub(super) fn flush(&mut self, link: ConnectionId) {
        let Some(connection) = self.connections.get(&link) else {
            return;
        };
        match connection.flush() {
            Ok(true) if connection.is_closing() => {
                connection.shut();
                self.connections.remove(&link);
                self.admission.unknown.remove(&link);
                self.watchers.remove(link);
                let actions = self.core.closed(link);
                self.act(actions);
            }
            Ok(true) => {}
            Ok(false) => {
                let (connection, sender) = (connection.clone(), self.sender.clone());
                if connection.begin_waiting_to_write() {
                    tokio::task::spawn_local(async move {
                        connection.writable().await;
                        let _ = sender.send(DriverEvent::Writable(link));
                    });
                }
            }
            // The reading side will report the error.
            Err(_) => {}
        }
    }

    pub(super) fn send(&mut self, link: ConnectionId, notice: &Notice, memory: &[MemoryRegion]) {
        let fds: Result<Vec<OwnedFd>, ShmError> = memory.iter().map(|&m| self.custody.descriptor(m)).collect();
        match fds {
            Ok(fds) => self.send_with(link, notice, fds),
            Err(error) => {
                let why = fault!(MEMORY_OF_MACHINE, "the agent could not hand out shared memory: {error}");
                self.fail(match file_size_limit() {
                    // The kernel counts it as a file.
                    Some(limit) => why.told(|why| {
                        format!(
                            "{why}; no file of this process may have more than {limit} bytes, and shared \
                            memory counts as one: raise that limit (ulimit -f) before the run"
                        )
                    }),
                    None => why,
                });
            }
        }
    }

    pub(super) fn send_with(&mut self, link: ConnectionId, notice: &Notice, fds: Vec<OwnedFd>) {
        if let Some(connection) = self.connections.get(&link) {
            connection.queue(&to_bytes(notice), fds);
            self.flush(link);
        }
    }

    pub(super) fn ask(&mut self, link: ConnectionId, question: Question) {
        match &question {
            Question::Stop => self.host.external_request(&ExternalRequest::Stop),
            Question::Join { instance } => self.host.external_request(&ExternalRequest::Join(instance.clone())),
            Question::Status
            | Question::Timeline
            | Question::Peek { .. }
            | Question::Watch { .. }
            | Question::Tap { .. }
            | Question::Steer { .. } => {}
        }
        let json = match question {
            Question::Status => {
                let view = RunView::of(&self.core, &self.custody);
                self.host.status(&view)
            }
            Question::Stop => serde_json::json!({ "ok": true }).to_string(),
            Question::Timeline => {
                self.drain_timelines(DrainReason::OnDemand);
                serde_json::json!({ "ok": true }).to_string()
            }
            Question::Watch { every } => return self.watches(link, every),
            // This question goes to the core, which has answered it.
            Question::Tap { .. } => return,
            question @ Question::Steer { .. } => {
                let Some(wanted) = SteerRequest::of(question) else { return };
                let view = RunView::of(&self.core, &self.custody);
                if let Some(why) = self.host.steer(link, wanted, &view) {
                    self.send_with(link, &Notice::Refused { why: why.with_code() }, Vec::new());
                }
                return;
            }
            Question::Peek { instance, path, offset, most } => {
                let instance = self.core.instance_named(&instance).unwrap_or_default();
                let peek = PeekRequest { instance, path, offset, most };
                if let Some(sight) = self.host.peek(link, &peek) {
                    self.send_with(link, &Notice::Peeked(sight), Vec::new());
                }
                return;
            }
            Question::Join { instance: name } => {
                let instance = self.core.instance_named(&name).unwrap_or_default();
                let endpoint = self.core.joins_as(instance).unwrap_or_default();
                let environment: serde_json::Map<String, serde_json::Value> = self
                    .core
                    .environment(endpoint)
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v.into()))
                    .collect();
                let directory = self.host.directory(instance);
                serde_json::json!({ "ok": true, "environment": environment, "directory": directory })
                    .to_string()
            }
        };
        self.send_with(link, &Notice::Answer { json }, Vec::new());
    }
}

fn cannot_accept(error: Errno) -> Fault {
    let why = match error {
        Errno::MFILE => {
            said!(
                LIMIT_OF_FILES,
                "it has as many files open as it may; raise the hard limit of open files (\"ulimit -Hn\")"
            )
        }
        Errno::NFILE => said!(LIMIT_OF_FILES, "the machine has as many files open as it may (fs.file-max)"),
        error => error.to_string(),
    };
    fault!(LIMIT_OF_FILES, "the agent cannot take in the connection of an instance: {why}")
}
