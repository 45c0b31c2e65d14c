//! Sockets: dialled, listened on and accepted, all of them non-blocking.

use ligament_catalogue::said;
use rustix::io::Errno;
use rustix::net::{self, sockopt, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

fn made_for(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(net::socket_with(family, SocketType::STREAM, FLAGS, None)?)
}

/// Begins to dial. The socket becomes writable when dialling has succeeded or failed.
pub(crate) fn dial(address: &SocketAddr) -> io::Result<OwnedFd> {
    let socket = made_for(address)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match net::connect(&socket, address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Makes both ends of a connection within this machine. The second end is for another process.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (near, far) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&near, true)?;
    Ok((near, far))
}

/// Makes the kernel test an idle connection regularly, so that the connection ends if its other end has
/// vanished, and so that gateways do not forget the connection.
pub(crate) fn keep_alive(socket: &OwnedFd) -> io::Result<()> {
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(15))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(socket, 3)?;
    Ok(sockopt::set_socket_keepalive(socket, true)?)
}

/// Returns the result of dialling.
pub(crate) fn dialled(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Listens on one address.
pub(crate) fn listen(address: &SocketAddr) -> io::Result<OwnedFd> {
    let socket = made_for(address)?;
    // This option lets leftovers of an earlier run share the port; a live listener still blocks it.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    net::bind(&socket, address)?;
    net::listen(&socket, 1024)?;
    Ok(socket)
}

/// Returns the local address of a socket.
pub(crate) fn address_of(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = net::getsockname(socket)?;
    SocketAddr::try_from(address).map_err(|_| {
        io::Error::other(said!(CANNOT_LISTEN, "a listening socket has an address of its own kind"))
    })
}

/// Accepts the next connection, if there is one.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
    loop {
        match net::acceptfrom_with(listener, FLAGS) {
            Ok((socket, Some(address))) => {
                let Ok(address) = SocketAddr::try_from(address as SocketAddrAny) else { continue };
                // The connection may be gone already; reading from it will show that.
                let _ = sockopt::set_tcp_nodelay(&socket, true);
                return Ok(Some((socket, address)));
            }
            Ok((_, None)) | Err(Errno::CONNABORTED | Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
