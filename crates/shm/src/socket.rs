//! The connection between an endpoint and its agent: frames with file descriptors over a Unix stream socket.
//! The reader keeps incomplete frames until the rest arrives. The writer queues frames that the other side
//! does not accept yet.

use crate::memory::{during, ShmError};
use ligament_catalogue::{said, Code, Coded};
use ligament_wire::control::MAX_FRAME;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    connect, recvmsg, sendmsg, socket_with, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage,
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::collections::VecDeque;
use std::fmt;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Maximum number of descriptors in a frame.
const MAX_FDS: usize = 4;
const FRAME_HEADER_BYTES: usize = 8;

/// A frame: its bytes and its descriptors.
#[derive(Debug)]
pub struct SocketFrame {
    pub bytes: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

/// Parses the address of an agent in the format of `LIGAMENT_AGENT`: `@name` is an abstract Unix socket,
/// anything else is a path.
///
/// # Errors
/// The address is longer than the system allows, or contains a NUL byte.
pub fn address_of(agent: &str) -> Result<SocketAddrUnix, Errno> {
    match agent.strip_prefix('@') {
        Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        None => SocketAddrUnix::new(agent),
    }
}

/// The reason for a failed connection to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectFailure {
    /// No process listens at the address.
    Nobody(Errno),
    /// The socket, or the process that answers at the address, belongs to another user. Nothing was sent to
    /// that process.
    Stranger { user: Option<u32> },
}

impl Coded for ConnectFailure {
    fn code(&self) -> Code {
        match self {
            ConnectFailure::Nobody(_) => Code::AGENT_SILENT,
            ConnectFailure::Stranger { .. } => Code::ANOTHER_USER,
        }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let me = rustix::process::geteuid().as_raw();
        f.write_str(&match self {
            ConnectFailure::Nobody(error) => said!(
                AGENT_SILENT,
                "it does not answer ({error}); has the run \
                                                                  ended?"
            ),
            ConnectFailure::Stranger { user: None } => {
                said!(ANOTHER_USER, "its socket is not for user {me}; is the run yours?")
            }
            ConnectFailure::Stranger { user: Some(user) } => said!(
                ANOTHER_USER,
                "the program that answers there belongs to user {user}, and you are user {me}, so nothing was \
                 sent to it; has the run ended?"
            ),
        })
    }
}

/// A connection to an agent that carries frames.
pub trait Frames {
    /// Sends a frame and waits until the kernel has taken it.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ShmError>;
    /// Waits for the next frame.
    ///
    /// # Errors
    /// `AgentGone` if the other side has closed the connection; `Interrupted` on a signal.
    fn receive(&mut self) -> Result<SocketFrame, ShmError>;
    /// Returns the next frame if it has arrived already.
    fn try_receive(&mut self) -> Result<Option<SocketFrame>, ShmError>;
    /// Returns true if the other side has closed the connection. Does not wait.
    fn is_gone(&self) -> bool;
}

/// One end of a connection.
pub struct Socket {
    fd: OwnedFd,
    incoming: Vec<u8>,
    incoming_fds: VecDeque<OwnedFd>,
    outgoing: VecDeque<(Vec<u8>, usize, Vec<OwnedFd>)>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// Wraps a connected stream socket.
    pub fn new(fd: OwnedFd) -> Socket {
        Socket { fd, incoming: Vec::new(), incoming_fds: VecDeque::new(), outgoing: VecDeque::new() }
    }

    /// Connects to an agent and checks the user of the process that answers. If the agent has ended, any
    /// program may use its address.
    ///
    /// # Errors
    /// No process listens at the address, or a process of another user does.
    pub fn connect(agent: &str) -> Result<Socket, ConnectFailure> {
        let address = address_of(agent).map_err(ConnectFailure::Nobody)?;
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let fd = fd.map_err(ConnectFailure::Nobody)?;
        loop {
            match connect(&fd, &address) {
                Ok(()) => break,
                Err(Errno::INTR | Errno::AGAIN) => rustix::thread::sched_yield(),
                Err(Errno::ACCESS | Errno::PERM) => return Err(ConnectFailure::Stranger { user: None }),
                Err(error) => return Err(ConnectFailure::Nobody(error)),
            }
        }
        let socket = Socket::new(fd);
        // `peer` names the process that called listen(), even if another process accepts the connection.
        match socket.peer() {
            Ok((user, _)) if user == rustix::process::geteuid().as_raw() => Ok(socket),
            Ok((user, _)) => Err(ConnectFailure::Stranger { user: Some(user) }),
            Err(_) => Err(ConnectFailure::Stranger { user: None }),
        }
    }

    /// Queues a frame; `flush` sends it.
    pub fn queue(&mut self, bytes: &[u8], fds: Vec<OwnedFd>) {
        assert!(fds.len() <= MAX_FDS && bytes.len() <= MAX_FRAME);
        let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + bytes.len());
        frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        frame.extend_from_slice(&(fds.len() as u32).to_le_bytes());
        frame.extend_from_slice(bytes);
        self.outgoing.push_back((frame, 0, fds));
    }

    /// Sends the queued frames as far as the other side accepts them at once. Returns true if all are sent.
    pub fn flush(&mut self) -> Result<bool, ShmError> {
        self.send_queued(SendFlags::DONTWAIT)
    }

    fn send_queued(&mut self, flags: SendFlags) -> Result<bool, ShmError> {
        while let Some((frame, sent, fds)) = self.outgoing.front_mut() {
            let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(|fd| fd.as_fd()).collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if *sent == 0 && !borrowed.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
            }
            let data = [IoSlice::new(&frame[*sent..])];
            match sendmsg(&self.fd, &data, &mut ancillary, flags | SendFlags::NOSIGNAL) {
                Ok(n) => {
                    *sent += n;
                    if *sent == frame.len() {
                        self.outgoing.pop_front();
                    }
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Err(ShmError::AgentGone),
                Err(error) => return Err(during("sendmsg")(error)),
            }
        }
        Ok(true)
    }

    /// Reads once from the socket. Returns false if no bytes were available.
    fn read(&mut self, flags: RecvFlags) -> Result<bool, ShmError> {
        let mut chunk = [0u8; 16 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(
            &self.fd,
            &mut [IoSliceMut::new(&mut chunk)],
            &mut ancillary,
            flags | RecvFlags::CMSG_CLOEXEC,
        );
        let bytes = match got {
            Ok(message) => message.bytes,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => return Err(ShmError::Interrupted),
            Err(Errno::CONNRESET) => return Err(ShmError::AgentGone),
            Err(error) => return Err(during("recvmsg")(error)),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.incoming_fds.extend(fds);
            }
        }
        if bytes == 0 {
            return Err(ShmError::AgentGone);
        }
        self.incoming.extend_from_slice(&chunk[..bytes]);
        Ok(true)
    }

    fn take_frame(&mut self) -> Result<Option<SocketFrame>, ShmError> {
        if self.incoming.len() < FRAME_HEADER_BYTES {
            return Ok(None);
        }
        let word =
            |at: usize| u32::from_le_bytes(self.incoming[at..at + 4].try_into().expect("four bytes")) as usize;
        let (len, fds) = (word(0), word(4));
        if len > MAX_FRAME || fds > MAX_FDS {
            return Err(ShmError::Malformed(format!("a control frame of {len} bytes with {fds} descriptors")));
        }
        if self.incoming.len() < FRAME_HEADER_BYTES + len {
            return Ok(None);
        }
        if self.incoming_fds.len() < fds {
            return Err(ShmError::Malformed(format!(
                "a control frame promised {fds} descriptors and {} came (is the limit of open files reached?)",
                self.incoming_fds.len()
            )));
        }
        let bytes = self.incoming[FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + len].to_vec();
        self.incoming.drain(..FRAME_HEADER_BYTES + len);
        Ok(Some(SocketFrame { bytes, fds: self.incoming_fds.drain(..fds).collect() }))
    }

    /// Returns the user id and the process id of the other end, as the kernel knows them.
    pub fn peer(&self) -> Result<(u32, i32), ShmError> {
        let credentials = rustix::net::sockopt::socket_peercred(&self.fd).map_err(during("SO_PEERCRED"))?;
        Ok((credentials.uid.as_raw(), credentials.pid.as_raw_nonzero().get()))
    }
}

impl Frames for Socket {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ShmError> {
        self.queue(bytes, Vec::new());
        self.send_queued(SendFlags::empty()).map(|_| ())
    }

    fn receive(&mut self) -> Result<SocketFrame, ShmError> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(frame);
            }
            self.read(RecvFlags::empty())?;
        }
    }

    fn try_receive(&mut self) -> Result<Option<SocketFrame>, ShmError> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(Some(frame));
            }
            if !self.read(RecvFlags::DONTWAIT)? {
                return Ok(None);
            }
        }
    }

    fn is_gone(&self) -> bool {
        use rustix::event::{poll, PollFd, PollFlags};
        let mut fds = [PollFd::new(&self.fd, PollFlags::empty())];
        let none = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&none)).is_ok_and(|n| n > 0)
            && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}
