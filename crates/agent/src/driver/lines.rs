//! The lines to the driver: connections as they come, what is heard on them and said, and the questions of clients.

use super::{Driver, Event};
use crate::action::{Caller, Link, Memory};
use crate::connection::Connection;
use crate::host::{Drain, Peek, RunView, Wish};
use ligament_shm::ShmError;
use ligament_wire::control::{from_bytes, to_bytes, Notice, Question, Request};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    accept_with, bind, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};

impl Driver<'_> {
    pub(super) fn watch_listener(&self) {
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

    pub(super) fn accept_all(&mut self) {
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

    pub(super) fn watch(&self, link: Link, connection: &Connection) {
        let (connection, sender) = (connection.clone(), self.sender.clone());
        tokio::task::spawn_local(async move {
            while connection.readable().await && sender.send(Event::Readable(link)).is_ok() {}
            let _ = sender.send(Event::Readable(link));
        });
    }

    pub(super) fn read_all(&mut self, link: Link) {
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

    pub(super) fn flush(&mut self, link: Link) {
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

    pub(super) fn send(&mut self, link: Link, notice: &Notice, memory: &[Memory]) {
        let fds: Result<Vec<OwnedFd>, ShmError> = memory.iter().map(|&m| self.custody.descriptor(m)).collect();
        match fds {
            Ok(fds) => self.send_with(link, notice, fds),
            Err(error) => self.fail(format!("the agent could not hand out shared memory: {error}")),
        }
    }

    pub(super) fn send_with(&mut self, link: Link, notice: &Notice, fds: Vec<OwnedFd>) {
        if let Some(connection) = self.connections.get(&link) {
            connection.queue(&to_bytes(notice), fds);
            self.flush(link);
        }
    }

    pub(super) fn ask(&mut self, link: Link, question: Question) {
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

/// A socket that listens at an abstract name.
pub(super) fn listen_at(name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    listen(&socket, 4096)?;
    Ok(socket)
}
