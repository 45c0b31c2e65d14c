//! Where a domain can be reached: one listening port, on all interfaces or on one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Which of the two internets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// Where to listen. By default on all interfaces, both families, any port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listen {
    /// Only on this interface, such as `ib0`.
    pub interface: Option<String>,
    /// Only on this address.
    pub address: Option<IpAddr>,
    /// Only on one of these ports; the first that is free is taken.
    pub ports: Option<RangeInclusive<u16>>,
    /// Only this family.
    pub family: Option<Family>,
}

/// Listening sockets of a domain, all on one port.
#[derive(Debug)]
pub struct Listener {}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// There is no such interface, it has no address of that family, or no port of the range is free.
    pub fn bind(listen: &Listen) -> io::Result<Listener> {
        let _ = listen;
        todo!()
    }

    /// Where others can dial: each address of each interface that is listened on, loopback last.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        todo!()
    }
}
