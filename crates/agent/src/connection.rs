//! A connection to the agent's socket. The driver's loop uses it, and the tasks that watch it share it.

use ligament_shm::socket::{Frames, Socket, SocketFrame};
use ligament_shm::ShmError;
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

struct SharedConnection {
    socket: RefCell<Socket>,
    raw: RawFd,
    closing: Cell<bool>,
    waits_to_write: Cell<bool>,
}

impl AsRawFd for SharedConnection {
    fn as_raw_fd(&self) -> RawFd {
        self.raw
    }
}

/// A connection. Clones share the same socket.
#[derive(Clone)]
pub(crate) struct AgentConnection {
    inner: Rc<AsyncFd<SharedConnection>>,
}

impl AgentConnection {
    /// Takes an accepted, non-blocking socket.
    pub fn open(fd: OwnedFd) -> Result<AgentConnection, ShmError> {
        let socket = Socket::new(fd);
        let raw = socket.as_fd().as_raw_fd();
        let inner = SharedConnection {
            socket: RefCell::new(socket),
            raw,
            closing: Cell::new(false),
            waits_to_write: Cell::new(false),
        };
        let inner = crate::sys::watched(inner, Interest::READABLE | Interest::WRITABLE)
            .map_err(|error| ShmError::Malformed(error.to_string()))?;
        Ok(AgentConnection { inner: Rc::new(inner) })
    }

    /// Waits until the socket is readable. Returns whether more may arrive later.
    pub async fn readable(&self) -> bool {
        match self.inner.readable().await {
            Ok(mut guard) => {
                let closed = guard.ready().is_read_closed();
                guard.clear_ready();
                !closed
            }
            Err(_) => false,
        }
    }

    /// Waits until the socket is writable.
    pub async fn writable(&self) {
        if let Ok(mut guard) = self.inner.writable().await {
            guard.clear_ready();
        }
        self.inner.get_ref().waits_to_write.set(false);
    }

    /// Notes that a task waits until the socket is writable. Returns false if another task waits already.
    pub fn begin_waiting_to_write(&self) -> bool {
        !self.inner.get_ref().waits_to_write.replace(true)
    }

    /// True if part of the queue is not sent yet.
    pub fn is_full(&self) -> bool {
        self.inner.get_ref().waits_to_write.get()
    }

    /// The next frame, if a whole one has arrived.
    pub fn try_receive(&self) -> Result<Option<SocketFrame>, ShmError> {
        self.inner.get_ref().socket.borrow_mut().try_receive()
    }

    /// Queues a frame.
    pub fn queue(&self, bytes: &[u8], fds: Vec<OwnedFd>) {
        self.inner.get_ref().socket.borrow_mut().queue(bytes, fds);
    }

    /// Sends as much of the queue as the socket takes. Returns whether the queue is empty.
    pub fn flush(&self) -> Result<bool, ShmError> {
        self.inner.get_ref().socket.borrow_mut().flush()
    }

    /// Shuts down both directions now. Tasks that watch the connection notice it and drop their clones.
    pub fn shut(&self) {
        let _ =
            rustix::net::shutdown(self.inner.get_ref().socket.borrow().as_fd(), rustix::net::Shutdown::Both);
    }

    /// Marks the connection to be closed once the queue is sent.
    pub fn close_when_flushed(&self) {
        self.inner.get_ref().closing.set(true);
    }

    /// True if the connection is to be closed once the queue is sent.
    pub fn is_closing(&self) -> bool {
        self.inner.get_ref().closing.get()
    }
}
