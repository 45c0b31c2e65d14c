//! Features that only the C library offers: the kernel's data about a TCP connection, and options that tell
//! the kernel how to send.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Number of bytes of the kernel's `tcp_info` that are read here, as in Linux 5.4. A field that a kernel does
/// not fill is 0.
const INFO_BYTES: usize = 232;

/// The kernel's data about a connection (`TCP_INFO`).
pub(crate) struct TcpInfo([u8; INFO_BYTES]);

impl TcpInfo {
    /// Returns the data, or `None` if the socket is not a TCP connection.
    pub fn of(socket: &OwnedFd) -> Option<TcpInfo> {
        let mut bytes = [0; INFO_BYTES];
        let mut length = INFO_BYTES as libc::socklen_t;
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

    /// Returns how often the kernel has sent the same segment again without an answer. Each pause is twice as
    /// long as the pause before.
    pub fn backoff(&self) -> u8 {
        self.0[4]
    }

    /// Returns the number of segments that were sent and not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.u32_at(24)
    }

    /// Returns the time since the last acknowledgement arrived (ms).
    pub fn unanswered(&self) -> u32 {
        self.u32_at(56)
    }

    /// Returns the smoothed round trip (µs).
    pub fn round_trip(&self) -> u32 {
        self.u32_at(68)
    }

    /// Returns the shortest round trip of the recent past (µs).
    pub fn least_round_trip(&self) -> u32 {
        self.u32_at(148)
    }

    /// Returns the number of bytes that were sent, without headers.
    pub fn sent(&self) -> u64 {
        self.u64_at(200)
    }

    /// Returns the number of bytes that were sent again.
    pub fn sent_again(&self) -> u64 {
        self.u64_at(208)
    }

    /// Returns the number of bytes that have arrived.
    pub fn arrived(&self) -> u64 {
        self.u64_at(120)
    }

    /// Returns three times (µs): the time in which there was something to send; the part of it in which the
    /// other end had no room; and the part in which this end had no memory for the connection.
    pub fn busy(&self) -> [u64; 3] {
        [168, 176, 184].map(|at| self.u64_at(at))
    }
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes, the size of `value`.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes the socket take no more bytes while this many bytes in it were never sent.
pub(crate) fn limit_unsent(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Makes the socket send at most this many bytes per second, evenly.
pub(crate) fn limit_pace(socket: &OwnedFd, bytes: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes)
}

/// Returns the pace that `limit_pace` has set.
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
