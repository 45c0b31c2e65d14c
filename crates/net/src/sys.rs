//! Features that only the C library offers: what the kernel knows of a TCP connection, and how it may be told
//! to send.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of the kernel's `tcp_info` that are read here: those of Linux 5.4. Whatever a kernel does not say is
/// 0.
const INFO: usize = 232;

/// The kernel's data about a connection (`TCP_INFO`).
pub(crate) struct TcpInfo([u8; INFO]);

impl TcpInfo {
    /// None of what is not a TCP connection.
    pub fn of(socket: &OwnedFd) -> Option<TcpInfo> {
        let mut bytes = [0; INFO];
        let mut length = INFO as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes there.
        let status = unsafe {
            let place = bytes.as_mut_ptr().cast();
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut length)
        };
        (status == 0).then_some(TcpInfo(bytes))
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    /// How often the kernel has sent the same again, each time after twice as long, without an answer.
    pub fn backoff(&self) -> u8 {
        self.0[4]
    }

    /// Segments that were sent and not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.u32_at(24)
    }

    /// For how long nothing has come back (ms).
    pub fn unanswered(&self) -> u32 {
        self.u32_at(56)
    }

    /// The round trip, smoothed, and the shortest that there was lately (µs).
    pub fn round_trip(&self) -> u32 {
        self.u32_at(68)
    }

    pub fn least_round_trip(&self) -> u32 {
        self.u32_at(148)
    }

    /// Bytes that were sent, without headers; of those, bytes that were sent again; and bytes that have
    /// arrived.
    pub fn sent(&self) -> u64 {
        self.u64_at(200)
    }

    pub fn sent_again(&self) -> u64 {
        self.u64_at(208)
    }

    pub fn arrived(&self) -> u64 {
        self.u64_at(120)
    }

    /// For how long there was something to send, for how long of that the other end's room was the limit, and
    /// for how long this end's memory for the connection was (µs).
    pub fn busy(&self) -> [u64; 3] {
        [168, 176, 184].map(|at| self.u64_at(at))
    }
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads so many bytes of a number.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The socket takes no more while so many bytes are in it that were never sent.
pub(crate) fn limit_unsent(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// The socket sends at most so many bytes in a second, evenly.
pub(crate) fn limit_pace(socket: &OwnedFd, bytes: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes)
}

/// The pace that `limit_pace` has set.
#[cfg(test)]
pub(crate) fn pace_of(socket: &OwnedFd) -> io::Result<u64> {
    let (mut pace, mut length) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes there.
    let status = unsafe {
        let place = (&raw mut pace).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, place, &raw mut length)
    };
    if status == 0 {
        Ok(pace)
    } else {
        Err(io::Error::last_os_error())
    }
}
