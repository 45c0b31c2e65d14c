//! One socket, plain or with TLS: it sends and receives bytes, and knows whether more would pass without
//! waiting.

use crate::gate::Helper;
use crate::tls::Tls;
use ligament_catalogue::Fault;
use rustix::io::Errno;
use rustix::net::{recv, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

/// A socket. epoll reports only edges of its readiness, so the last known readiness is stored here.
pub(crate) struct Connection {
    wire: Wire,
    tls: Option<Box<Tls>>,
    /// Bytes written before TLS began, which the socket has not taken yet.
    unsaid: Vec<u8>,
    /// The process at the other end of the socket, such as ssh, if the connection goes through one. It is
    /// dropped after the socket.
    helper: Option<Box<Helper>>,
}

/// The socket itself.
struct Wire {
    socket: OwnedFd,
    readable: bool,
    writable: bool,
    /// True if the other end has closed. Reading must continue until nothing more arrives.
    closed: bool,
}

/// The result of receiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    Bytes(usize),
    /// No bytes are available now.
    Nothing,
    /// No bytes will ever arrive again.
    End,
}

impl Connection {
    pub fn new(socket: OwnedFd) -> Connection {
        let wire = Wire { socket, readable: false, writable: false, closed: false };
        Connection { wire, tls: None, unsaid: Vec::new(), helper: None }
    }

    /// Makes a connection that goes through a helper process.
    pub fn through(socket: OwnedFd, helper: Helper) -> Connection {
        Connection { helper: Some(Box::new(helper)), ..Connection::new(socket) }
    }

    /// Adds the error message of the helper process, if there is one, to the reason of a failure.
    pub fn explained(&mut self, why: Fault) -> Fault {
        match self.helper.as_mut().map(|helper| helper.said()) {
            Some(said) if !said.is_empty() => why.told(|why| format!("{why}; ssh said: {said}")),
            _ => why,
        }
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.wire.socket
    }

    /// Takes in the kernel's report of readiness.
    pub fn ready(&mut self, readable: bool, writable: bool, closed: bool) {
        self.wire.readable |= readable || closed;
        self.wire.writable |= writable;
        self.wire.closed |= closed;
    }

    /// Returns true if reading may return something, from the socket or from bytes that arrived earlier.
    pub fn is_readable(&self) -> bool {
        self.wire.readable || self.tls.as_ref().is_some_and(|tls| tls.has_more())
    }

    /// Returns true if the socket has taken everything so far, and may take more.
    pub fn is_writable(&self) -> bool {
        self.wire.writable
    }

    /// Returns true if the other end has closed.
    pub fn is_closed(&self) -> bool {
        self.wire.closed
    }

    /// Encrypts all bytes from now on.
    pub fn secure(&mut self, tls: Tls) {
        self.tls = Some(Box::new(tls));
    }

    /// Returns true if bytes still wait here until the socket takes them.
    pub fn has_unsent(&self) -> bool {
        !self.unsaid.is_empty() || self.tls.as_ref().is_some_and(|tls| !tls.unsent().is_empty())
    }

    /// Sends a few bytes, now or as soon as the socket takes them.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => {
                tls.seal(&[IoSlice::new(bytes)])?;
            }
            None => self.unsaid.extend(bytes),
        }
        self.flush()
    }

    /// Gives the waiting bytes to the socket, as far as the socket takes them.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.unsaid.is_empty() && self.wire.writable {
            let taken = self.wire.send(&[IoSlice::new(&self.unsaid)])?;
            self.unsaid.drain(..taken);
        }
        let Some(tls) = self.tls.as_mut().filter(|_| self.unsaid.is_empty()) else { return Ok(()) };
        while !tls.unsent().is_empty() && self.wire.writable {
            let taken = self.wire.send(&[IoSlice::new(tls.unsent())])?;
            tls.sent(taken);
        }
        Ok(())
    }

    /// Sends as many bytes of these slices as possible now. Returns the number of bytes.
    pub fn send(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.flush()?;
        if self.has_unsent() || !self.wire.writable {
            return Ok(0);
        }
        match &mut self.tls {
            Some(tls) => {
                let taken = tls.seal(slices)?;
                self.flush()?;
                Ok(taken)
            }
            None => self.wire.send(slices),
        }
    }

    /// Receives the available bytes, as far as there is room in `into`, filling the first slice first.
    pub fn receive(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<ReadOutcome> {
        let Some(tls) = &mut self.tls else { return self.wire.receive(into) };
        loop {
            let taken = tls.take(into)?;
            if taken > 0 {
                return Ok(ReadOutcome::Bytes(taken));
            }
            if tls.is_closed() {
                return Ok(ReadOutcome::End);
            }
            match self.wire.receive(&mut [IoSliceMut::new(tls.room())])? {
                ReadOutcome::Bytes(bytes) => tls.came(bytes)?,
                other => return Ok(other),
            }
            // Handshake messages are answered at once.
            while self.unsaid.is_empty() && !tls.unsent().is_empty() && self.wire.writable {
                let taken = self.wire.send(&[IoSlice::new(tls.unsent())])?;
                tls.sent(taken);
            }
        }
    }
}

impl Wire {
    fn send(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.writable {
            return Ok(0);
        }
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        let mut control = SendAncillaryBuffer::default();
        loop {
            match rustix::net::sendmsg(&self.socket, slices, &mut control, SendFlags::NOSIGNAL) {
                Ok(taken) => {
                    self.writable = taken == wanted;
                    return Ok(taken);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.writable = false;
                    return Ok(0);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn receive(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<ReadOutcome> {
        if !self.readable {
            return Ok(ReadOutcome::Nothing);
        }
        let wanted: usize = into.iter().map(|slice| slice.len()).sum();
        loop {
            let outcome = match &mut *into {
                [only] => recv(&self.socket, &mut only[..], RecvFlags::empty()).map(|(bytes, _)| bytes),
                several => rustix::io::readv(&self.socket, several),
            };
            match outcome {
                Ok(0) => return Ok(ReadOutcome::End),
                Ok(bytes) => {
                    // The socket is empty: more bytes will raise a new edge, but an end of the stream has had
                    // its edge already.
                    self.readable = bytes == wanted || self.closed;
                    return Ok(ReadOutcome::Bytes(bytes));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    return Ok(ReadOutcome::Nothing);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::Security;
    use crate::RunKeys;
    use std::os::unix::net::UnixStream;

    fn everything_is_possible(connection: &mut Connection) {
        connection.ready(true, true, false);
    }

    #[test]
    fn what_waits_behind_the_socket_is_there_to_be_read_until_all_of_it_is() {
        let security = Security::new(&RunKeys::make());
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        let (mut near, mut far) = (Connection::new(near.into()), Connection::new(far.into()));
        near.secure(security.dialler().unwrap());
        far.secure(security.listener().unwrap());
        // These bytes need two records, because a record has at most 16 KiB.
        let said: Vec<u8> = (0..20_000).map(|at| at as u8).collect();
        near.say(&said).unwrap();
        let mut heard = Vec::new();
        let mut place = [0; 1000];
        for _ in 0..20 {
            everything_is_possible(&mut near);
            near.flush().unwrap();
            near.receive(&mut [IoSliceMut::new(&mut [])]).unwrap();
            everything_is_possible(&mut far);
            if let ReadOutcome::Bytes(bytes) = far.receive(&mut [IoSliceMut::new(&mut place)]).unwrap() {
                heard.extend_from_slice(&place[..bytes]);
                break;
            }
        }
        // The socket reports no edge from here on, so the bytes in memory must count as readable.
        while heard.len() < said.len() {
            assert!(far.is_readable(), "after {} bytes", heard.len());
            match far.receive(&mut [IoSliceMut::new(&mut place)]).unwrap() {
                ReadOutcome::Bytes(bytes) => heard.extend_from_slice(&place[..bytes]),
                other => panic!("{other:?} after {} bytes", heard.len()),
            }
        }
        assert!(heard == said);
        assert!(!far.is_readable());
    }
}
