//! The listener of a domain: one port, on all interfaces or on some.

use crate::socket;
use if_addrs::{get_if_addrs, Interface};
use ligament_catalogue::said;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;

/// Number of ports chosen by the kernel that are tried, if a port is taken at another of the addresses.
const MAX_PORT_ATTEMPTS: u32 = 32;

/// The address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    fn of(address: &IpAddr) -> Family {
        if address.is_ipv4() {
            Family::V4
        } else {
            Family::V6
        }
    }
}

/// The addresses to listen at. By default on all interfaces, both families, any port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listen {
    /// If given, only this interface, such as `ib0`, is used.
    pub interface: Option<String>,
    /// If given, only this address is used.
    pub address: Option<IpAddr>,
    /// If given, the first free port of this range is used.
    pub ports: Option<RangeInclusive<u16>>,
    /// If given, only addresses of this family are used.
    pub family: Option<Family>,
}

/// Listening sockets of a domain, all on one port.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<OwnedFd>,
    addresses: Vec<SocketAddr>,
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// There is no such interface, the interface has no address of the family, or no port of the range is free.
    pub fn bind(listen: &Listen) -> io::Result<Listener> {
        let (wanted, needed) = places(listen)?;
        let any = 0..=0;
        let ports = listen.ports.clone().unwrap_or(any);
        let (first, last) = (*ports.start(), *ports.end());
        let mut trouble = None;
        for port in ports {
            for _ in 0..if port == 0 { MAX_PORT_ATTEMPTS } else { 1 } {
                match bind_all(&wanted, needed, port) {
                    Ok(sockets) => {
                        let addresses = reachable(&sockets)?;
                        return Ok(Listener { sockets, addresses });
                    }
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => trouble = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Err(match trouble {
            Some(error) => io::Error::new(
                error.kind(),
                said!(
                    CANNOT_LISTEN,
                    "{}",
                    if first == last {
                        format!(
                            "the port {first} is taken by another program, or by another listener of this one; \
                             take another one, or 0 for any that is free"
                        )
                    } else {
                        format!("none of the ports {first} to {last} is free; name a wider range, or none")
                    }
                ),
            ),
            None => io::Error::new(
                io::ErrorKind::InvalidInput,
                said!(
                    CANNOT_LISTEN,
                    "there is no port from {first} to {last}; a range begins with its lower end"
                ),
            ),
        })
    }

    /// Returns addresses that others can dial: those of each interface that is listened on, loopback last.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    pub(crate) fn into_sockets(self) -> Vec<OwnedFd> {
        self.sockets
    }
}

/// Returns the addresses to bind, and true if all of them are needed.
fn places(listen: &Listen) -> io::Result<(Vec<IpAddr>, bool)> {
    let fits = |address: &IpAddr| listen.family.is_none_or(|family| family == Family::of(address));
    if let Some(address) = listen.address {
        return Ok((vec![address], true));
    }
    let Some(name) = &listen.interface else {
        let all = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        return Ok((all.into_iter().filter(fits).collect(), listen.family.is_some()));
    };
    let there = get_if_addrs()?;
    let named: Vec<&Interface> = there.iter().filter(|interface| interface.name == *name).collect();
    let addresses: Vec<IpAddr> =
        named.iter().map(|interface| interface.ip()).filter(|ip| fits(ip) && !is_link_local(ip)).collect();
    if !addresses.is_empty() {
        return Ok((addresses, true));
    }
    let mut names: Vec<&str> = there.iter().map(|interface| interface.name.as_str()).collect();
    names.dedup();
    let kind = match listen.family {
        Some(Family::V4) => "IPv4 address",
        Some(Family::V6) => "IPv6 address (other than link-local)",
        None => "address (other than link-local)",
    };
    let names = names.join(", ");
    let why = if named.is_empty() {
        said!(CANNOT_LISTEN, "there is no interface {name}; there are {names}")
    } else {
        said!(
            CANNOT_LISTEN,
            "the interface {name} has no {kind}; choose another of {names}, or give an address"
        )
    };
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, why))
}

/// Returns true if an address is valid only together with an interface of the dialler.
fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Makes one socket for each address, all on one port; if `port` is 0, on a port that the kernel chooses.
fn bind_all(places: &[IpAddr], needed: bool, mut port: u16) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    let mut trouble = None;
    for place in places {
        match socket::listen(&SocketAddr::new(*place, port)) {
            Ok(socket) => {
                port = socket::address_of(&socket)?.port();
                sockets.push(socket);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            // The machine may lack one of the address families.
            Err(error) if !needed => trouble = Some(error),
            Err(error) => return Err(error),
        }
    }
    match trouble {
        Some(error) if sockets.is_empty() => Err(error),
        _ => Ok(sockets),
    }
}

fn reachable(sockets: &[OwnedFd]) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    let mut there = None;
    for socket in sockets {
        let bound = socket::address_of(socket)?;
        if !bound.ip().is_unspecified() {
            addresses.push(bound);
            continue;
        }
        let there: &Vec<Interface> = match &mut there {
            Some(there) => there,
            none => none.insert(get_if_addrs()?),
        };
        let ips = there.iter().map(Interface::ip);
        let same = ips.filter(|ip| ip.is_ipv4() == bound.is_ipv4() && !is_link_local(ip));
        addresses.extend(same.map(|ip| SocketAddr::new(ip, bound.port())));
    }
    addresses.sort_by_key(|address| address.ip().is_loopback());
    Ok(addresses)
}
