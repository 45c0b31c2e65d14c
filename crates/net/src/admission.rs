//! A limit on the number of connections from outside that have not identified themselves. If there are too
//! many, the relay or the domain closes one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of connections from outside that have not identified themselves. If there are more, one is
/// closed: the oldest one of the machine with the most connections. A connection that has proved its keys is
/// never closed.
const MAX_UNIDENTIFIED_CONNECTIONS: usize = 256;

/// The part of an address that a machine cannot choose by itself: in IPv6 the first 64 bits.
type Machine = [u8; 8];

fn machine(address: &SocketAddr) -> Machine {
    let mut all = match address.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    // Mapped IPv4 addresses differ in their last bytes only.
    if address.is_ipv4() {
        all.rotate_right(8);
    }
    std::array::from_fn(|i| all[i])
}

/// Returns the unidentified connection that must be closed before another one is let in; `None` while there
/// is room.
pub(crate) fn one_too_many(unknown: impl Iterator<Item = (u64, SocketAddr)>) -> Option<u64> {
    let mut machines: HashMap<Machine, (usize, u64)> = HashMap::new();
    let mut all = 0;
    for (token, address) in unknown {
        let one = machines.entry(machine(&address)).or_insert((0, token));
        // Tokens grow, so the connection with the smaller token came first.
        *one = (one.0 + 1, one.1.min(token));
        all += 1;
    }
    let first = machines.into_values().max_by_key(|&(count, token)| (count, Reverse(token)));
    first.filter(|_| all >= MAX_UNIDENTIFIED_CONNECTIONS).map(|(_, token)| token)
}
