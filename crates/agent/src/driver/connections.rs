//! Connections to the agent's socket: the functions that accept, read and write connections, and that
//! answer the questions of clients.

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

/// Maximum number of connections accepted in one pass, so that the driver handles other events in between.
const MAX_ACCEPTS_PER_TURN: usize = 64;
/// Maximum number of connections whose process has not identified itself, in addition to one connection for
/// each process of the domain.
const MAX_UNIDENTIFIED_CONNECTIONS: usize = 256;
/// Minimum time that a new connection has to identify itself before it may be closed to make room.
const MIN_IDENTIFICATION_TIME: Duration = Duration::from_secs(1);
/// Delay before the agent tries again to accept connections when it has no room for one more.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Time without a free descriptor after which the run fails. Unidentified connections are closed sooner than
/// this and free their descriptors. So a longer shortage means that the limit of descriptors is too low for the
/// run, and instances would wait for ever.
const DESCRIPTOR_SHORTAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The state of accepting connections, and the limit of connections that have not identified themselves.
pub(super) struct ConnectionAdmission {
    /// The user who owns the run. The agent refuses connections of all other users.
    user: u32,
    /// Maximum number of connections in `unknown`.
    most: usize,
    /// Connections that have not identified themselves, each with the time at which it was accepted.
    unknown: BTreeMap<ConnectionId, Instant>,
    /// True if an `ArrivingStill` event is pending.
    waits: bool,
    has_said_crowded: bool,
    /// Time at which a shortage of descriptors began. `None` if the last attempt to accept found no shortage.
    crowded: Option<Instant>,
}

impl ConnectionAdmission {
    /// Makes the state for a run of this user with this number of processes in this domain.
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
        // If an `ArrivingStill` event is pending, that event will accept the connection.
        if !self.admission.waits {
            self.accept_some();
        }
    }

    /// Accepts up to `MAX_ACCEPTS_PER_TURN` pending connections, so that the driver also handles other
    /// events.
    pub(super) fn accept_some(&mut self) {
        self.admission.waits = false;
        self.accept(MAX_ACCEPTS_PER_TURN);
    }

    /// Accepts all connections that are pending now. Does nothing if an `ArrivingStill` event is pending.
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
                // The run fails, because the processes of pending connections would wait for ever.
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

    /// Refuses a connection of another user. The agent sends the reason if this is possible without
    /// waiting, and closes the connection.
    fn turn_away(&mut self, fd: OwnedFd, caller: Caller) {
        let why = self.core.not_for(caller);
        let mut socket = Socket::new(fd);
        socket.queue(&to_bytes(&Notice::Refused { why: why.with_code() }), Vec::new());
        let _ = socket.flush();
        self.host.connection_refused(&format!("user {}", caller.user), why.text(), 0);
    }

    /// Returns true if the agent may accept one more connection. If the limit of unidentified connections
    /// is reached, the function tries to close the oldest of these connections.
    fn has_room_for_one(&mut self) -> bool {
        self.admission.unknown.len() < self.admission.most || self.dismiss_one()
    }

    /// Closes the oldest unidentified connection, if that connection is at least `MIN_IDENTIFICATION_TIME`
    /// old. Returns true if the function has closed a connection.
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

    /// Handles a lack of descriptors or memory while accepting. New connections stay pending at the socket
    /// until the agent can accept them. The run fails after `DESCRIPTOR_SHORTAGE_TIMEOUT`.
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
            // The next read of the connection reports the error.
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
                    // The kernel counts shared memory as a file, so the limit of file sizes applies.
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
            // The core has answered this question already.
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
