//! A connection to the agent's socket. The driver's event loop and the tasks that watch the connection
//! share it.

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

/// A connection to the agent's socket. All clones share one socket.
#[derive(Clone)]
pub(crate) struct AgentConnection {
    inner: Rc<AsyncFd<SharedConnection>>,
}

impl AgentConnection {
    /// Makes a connection from an accepted, non-blocking socket.
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

    /// Waits until the socket is readable. Returns true if more bytes may arrive later.
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

    /// Records that a task waits until the socket is writable. Returns false if another task already waits.
    pub fn begin_waiting_to_write(&self) -> bool {
        !self.inner.get_ref().waits_to_write.replace(true)
    }

    /// Returns true if a part of the queue waits until the socket is writable.
    pub fn is_full(&self) -> bool {
        self.inner.get_ref().waits_to_write.get()
    }

    /// Returns the next frame if all its bytes have arrived.
    pub fn try_receive(&self) -> Result<Option<SocketFrame>, ShmError> {
        self.inner.get_ref().socket.borrow_mut().try_receive()
    }

    /// Adds a frame to the queue of frames that are not sent yet.
    pub fn queue(&self, bytes: &[u8], fds: Vec<OwnedFd>) {
        self.inner.get_ref().socket.borrow_mut().queue(bytes, fds);
    }

    /// Sends as much of the queue as the socket takes. Returns true if the queue is empty then.
    pub fn flush(&self) -> Result<bool, ShmError> {
        self.inner.get_ref().socket.borrow_mut().flush()
    }

    /// Shuts down both directions now. The tasks that watch the connection notice this and drop their
    /// clones.
    pub fn shut(&self) {
        let _ =
            rustix::net::shutdown(self.inner.get_ref().socket.borrow().as_fd(), rustix::net::Shutdown::Both);
    }

    /// Marks the connection to be closed after its queue is sent.
    pub fn close_when_flushed(&self) {
        self.inner.get_ref().closing.set(true);
    }

    /// Returns true if the connection is to be closed after its queue is sent.
    pub fn is_closing(&self) -> bool {
        self.inner.get_ref().closing.get()
    }
}
