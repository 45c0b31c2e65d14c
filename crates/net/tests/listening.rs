//! Tests of the addresses at which a domain listens: interfaces, addresses, families, ports.

mod common;

use common::{play, End};
use ligament_net::{Family, Listen, Listener, NetOptions, RunKeys};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn without_a_word_it_is_all_interfaces_on_one_port_with_loopback_last() {
    let addresses = Listener::bind(&Listen::default()).unwrap().addresses();
    assert!(addresses.iter().all(|address| address.port() == addresses[0].port() && address.port() != 0));
    assert!(addresses.iter().any(|address| address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let first_loopback = addresses.iter().position(|address| address.ip().is_loopback()).unwrap();
    assert!(addresses[first_loopback..].iter().all(|address| address.ip().is_loopback()), "{addresses:?}");
    assert!(addresses.iter().all(|address| !address.ip().is_unspecified()));
}

#[test]
fn an_interface_is_found_by_its_name_and_an_unknown_one_is_refused_with_those_there_are() {
    let listen = Listen { interface: Some("lo".into()), ..Listen::default() };
    let addresses = Listener::bind(&listen).unwrap().addresses();
    assert!(!addresses.is_empty() && addresses.iter().all(|address| address.ip().is_loopback()));
    let listen = Listen { interface: Some("ib9".into()), ..Listen::default() };
    let error = Listener::bind(&listen).unwrap_err().to_string();
    assert!(error.contains("no interface ib9") && error.contains("lo"), "{error}");
}

#[test]
fn a_family_can_be_chosen_and_both_work() {
    for family in [Family::V4, Family::V6] {
        if family == Family::V6 && !has_ipv6() {
            continue;
        }
        let listen = Listen { interface: Some("lo".into()), family: Some(family), ..Listen::default() };
        let listener = Listener::bind(&listen).unwrap();
        let addresses = listener.addresses();
        assert!(addresses.iter().all(|address| address.is_ipv4() == (family == Family::V4)), "{addresses:?}");
        let keys = RunKeys::make();
        let mut zero = End::new(&keys, 0, true, NetOptions::default());
        let mut one = End::new(&keys, 1, true, NetOptions::default());
        zero.net.listen(listener);
        zero.net.expect(1);
        one.net.dial(0, addresses, 2);
        one.send(0, 1, 100_000);
        play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.count == 1);
    }
}

#[test]
fn the_first_free_port_of_a_range_is_taken_and_a_range_without_one_is_named() {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let taken = TcpListener::bind((address, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let listen = |ports| Listen { address: Some(address), ports: Some(ports), ..Listen::default() };
    let error = Listener::bind(&listen(port..=port)).unwrap_err().to_string();
    assert!(error.contains(&format!("the port {port} is taken by another program")), "{error}");
    let also = TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port();
    let pair = TcpListener::bind((address, also.saturating_add(1)))
        .and_then(|one| Ok((one, TcpListener::bind((address, also))?)));
    if let (Ok(_both), Some(next)) = (pair, also.checked_add(1)) {
        let error = Listener::bind(&listen(also..=next)).unwrap_err().to_string();
        assert!(error.contains(&format!("ports {also} to {next}")), "{error}");
    }
    let last = port.saturating_add(50).max(port);
    if last > port {
        let found = Listener::bind(&listen(port..=last)).unwrap().addresses()[0].port();
        assert!(found > port && found <= last);
    }
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = Listener::bind(&listen(4000..=3000)).unwrap_err().to_string();
    assert!(backwards.contains("lower end"), "{backwards}");
}

#[test]
fn an_address_that_this_machine_does_not_have_is_refused() {
    // No machine has this address: it is from the block for documentation (RFC 3849).
    let nowhere = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    let listen = Listen { address: Some(nowhere), ..Listen::default() };
    assert!(Listener::bind(&listen).is_err());
}

#[test]
fn a_net_may_be_used_by_one_thread_and_then_by_another() {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, NetOptions::default());
    zero.net.listen(common::listener().0);
    let mut zero = std::thread::spawn(move || {
        zero.turn();
        zero
    })
    .join()
    .unwrap();
    zero.turn();
    assert!(zero.events.is_empty());
}
