//! Tests of paths whose dialling end cannot reach the listening end. The listening end then makes the
//! connections.

mod common;

use common::{listener, play, End, Proxy, SECOND_NS};
use ligament_net::{Event, NetOptions, RunKeys};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};

/// An address without a listener.
const WALL: &str = "127.0.0.1:1";

/// Makes domain 0, which cannot be dialled and makes connections to domain 1, through a proxy.
fn walled(streams: u16) -> (End, End, Option<Proxy>) {
    let keys = RunKeys::make();
    let [mut zero, mut one] = [0, 1].map(|me| End::new(&keys, me, true, NetOptions::default()));
    let (listener, address) = listener();
    let proxy = Proxy::to(address);
    one.net.listen(listener);
    one.net.dial(0, vec![WALL.parse::<SocketAddr>().unwrap()], streams);
    zero.net.expect_at(1, vec![proxy.address]);
    (zero, one, Some(proxy))
}

fn exchange(zero: &mut End, one: &mut End, proxy: &mut Option<Proxy>) {
    let before = [zero.desk.count, one.desk.count];
    for (conduit, size) in [0, 64, 20_000, 3 << 20].into_iter().enumerate() {
        zero.send(1, 2 * conduit as u32, size);
        one.send(0, 2 * conduit as u32 + 1, size);
    }
    play(&mut [zero, one], proxy, |ends, _| {
        ends.iter().zip(before).all(|(end, before)| end.desk.count == before + 4)
    });
}

#[test]
fn a_domain_that_nobody_can_dial_may_be_the_one_that_is_dialled() {
    for streams in [1, 4] {
        let (mut zero, mut one, mut proxy) = walled(streams);
        exchange(&mut zero, &mut one, &mut proxy);
        play(&mut [&mut zero, &mut one], &mut proxy, |_, proxy| {
            proxy.as_ref().is_some_and(|proxy| proxy.came >= u32::from(streams))
        });
        zero.net.end(1);
        one.net.end(0);
        let is_end = |event: &Event| matches!(event, Event::Ended { .. });
        play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends.iter().all(|end| end.has(is_end)));
    }
}

#[test]
fn connections_that_break_are_offered_anew() {
    let (mut zero, mut one, mut proxy) = walled(3);
    for _ in 0..5 {
        exchange(&mut zero, &mut one, &mut proxy);
        zero.send(1, 0, 2 << 20);
        one.send(0, 1, 2 << 20);
        let before = [zero.desk.count, one.desk.count];
        proxy.as_mut().unwrap().cut();
        play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| {
            ends.iter().zip(before).all(|(end, before)| end.desk.count == before + 1)
        });
    }
}

#[test]
fn where_a_domain_comes_by_itself_nothing_is_offered() {
    // An offered connection would reach this domain 1 of another run, which would report a refusal.
    let mut one = End::new(&RunKeys::make(), 1, true, NetOptions::default());
    let (elsewhere, address) = listener();
    one.net.listen(elsewhere);
    let mut none = None;
    let keys = RunKeys::make();
    let [mut zero, mut other] = [0, 1].map(|me| End::new(&keys, me, true, NetOptions::default()));
    let (at, direct) = listener();
    zero.net.listen(at);
    zero.net.expect_at(1, vec![address]);
    other.net.dial(0, vec![direct], 2);
    let began = ligament_net::now();
    exchange(&mut zero, &mut other, &mut none);
    play(&mut [&mut zero, &mut other, &mut one], &mut none, |_, _| ligament_net::now() - began > 1_500_000_000);
    assert!(one.refusals().is_empty(), "{:?}", one.refusals());
}

#[test]
fn an_offer_that_is_repeated_or_that_nobody_wants_is_refused() {
    let (mut zero, mut one, mut proxy) = walled(1);
    proxy.as_mut().unwrap().record = Some(Vec::new());
    exchange(&mut zero, &mut one, &mut proxy);
    let hello = proxy.as_ref().unwrap().record.as_ref().unwrap()[..128].to_vec();
    let mut stranger = std::net::TcpStream::connect(proxy.as_ref().unwrap().target()).unwrap();
    std::io::Write::write_all(&mut stranger, &hello).unwrap();
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| !ends[1].refusals().is_empty());
    assert!(one.refusals()[0].contains("heard before"), "{:?}", one.refusals());
    exchange(&mut zero, &mut one, &mut proxy);
    // Domain 0 dials no path, so it refuses offers.
    let keys = RunKeys::make();
    let [mut zero, mut one] = [0, 1].map(|me| End::new(&keys, me, true, NetOptions::default()));
    let (at, address) = listener();
    zero.net.listen(at);
    zero.net.expect(1);
    one.net.expect_at(0, vec![address]);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| !ends[0].refusals().is_empty());
    assert!(zero.refusals()[0].contains("nobody wants"), "{:?}", zero.refusals());
}

/// Makes domain 0, which makes connections to domain 1 and tries a wrong place first.
fn looked_for_at(wrong: SocketAddr) -> (End, End, Option<Proxy>) {
    let (keys, tuning) = (
        RunKeys::make(),
        NetOptions { connect: SECOND_NS / 4, greeting: SECOND_NS / 4, ..NetOptions::default() },
    );
    let [mut zero, mut one] = [0, 1].map(|me| End::new(&keys, me, true, tuning));
    let (listener, address) = listener();
    let proxy = Proxy::to(address);
    one.net.listen(listener);
    one.net.dial(0, vec![WALL.parse::<SocketAddr>().unwrap()], 3);
    zero.net.expect_at(1, vec![wrong, proxy.address]);
    (zero, one, Some(proxy))
}

#[test]
fn where_somebody_listens_who_says_nothing_the_next_place_is_tried() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut zero, mut one, mut proxy) = looked_for_at(silent.local_addr().unwrap());
    exchange(&mut zero, &mut one, &mut proxy);
}

#[test]
fn whoever_only_says_something_is_not_taken_for_the_domain() {
    for banner in [&b"S"[..], b"SSH-2.0-somebody else\r\n", &[b'x'; 300]] {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let mut zero = End::new(&RunKeys::make(), 0, true, NetOptions::default());
        zero.net.expect_at(1, vec![other.local_addr().unwrap()]);
        let (began, mut came) = (ligament_net::now(), Vec::new());
        play(&mut [&mut zero], &mut None, |_, _| {
            while let Ok((mut socket, _)) = other.accept() {
                let _ = socket.write_all(banner);
                came.push(socket);
            }
            ligament_net::now() - began > SECOND_NS
        });
        assert!((1..20).contains(&came.len()), "{} connections", came.len());
    }
    // A wrong place that closes connections does not prevent the path, either.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let (mut zero, mut one, mut proxy) = looked_for_at(other.local_addr().unwrap());
    let mut came = Vec::new();
    zero.send(1, 0, 64);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| {
        while let Ok((mut socket, _)) = other.accept() {
            let _ = socket.write_all(b"S");
            came.push(socket);
        }
        ends[1].desk.count == 1
    });
}
