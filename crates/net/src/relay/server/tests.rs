//! Tests of a relay and of callers that hold its key, all in one thread.

use super::super::greeting::{proof, Want};
use super::*;
use crate::keys::random;
use crate::Listen;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::Instant;

/// Time after which a test fails. The tests take much less.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A relay, and the key and the address by which callers reach it.
struct Scene {
    relay: Relay,
    station: Station,
    address: SocketAddr,
}

fn scene() -> Scene {
    let listen = Listen { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), ..Listen::default() };
    let listener = Listener::bind(&listen).unwrap();
    let address = listener.addresses()[0];
    let station = Station::new(vec![address.to_string()]);
    let next = Station::new(vec!["127.0.0.1:1".into()]);
    let relay = Relay::new(&station, listener, &[next]).unwrap();
    Scene { relay, station, address }
}

impl Scene {
    fn turns(&mut self) {
        for _ in 0..20 {
            self.relay.turn(Duration::from_millis(1));
        }
    }

    /// Makes a connection, sends the request, and proves that the caller has the key. Returns `None` if the
    /// relay closes the connection.
    fn caller(&mut self, want: Want, circuit: [u8; 16]) -> Option<TcpStream> {
        let mut socket = TcpStream::connect(self.address).unwrap();
        let prover = self.station.keys.prover();
        let ask = Ask { want, circuit, nonce: random() }.encode(&prover);
        socket.write_all(&ask).unwrap();
        self.turns();
        socket.set_nonblocking(true).unwrap();
        let answer = self.challenge(&socket)?;
        socket.write_all(&proof(&prover, &ask, &answer)).unwrap();
        self.turns();
        Some(socket)
    }

    /// Returns the relay's answer to a request, or `None` if the relay closes the connection. The relay runs
    /// meanwhile, because it may not have read the request yet.
    fn challenge(&mut self, mut socket: &TcpStream) -> Option<[u8; CHALLENGE_BYTES]> {
        let (mut answer, mut came, began) = ([0; CHALLENGE_BYTES], 0, Instant::now());
        while came < answer.len() {
            match socket.read(&mut answer[came..]) {
                Ok(0) => return None,
                Ok(some) => came += some,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(began.elapsed() < WATCHDOG, "the relay does not answer");
                    self.turns();
                }
                Err(_) => return None,
            }
        }
        Some(answer)
    }

    /// Returns the next bytes that arrive, or `None` if the connection is closed.
    fn hears(&mut self, mut socket: &TcpStream) -> Option<Vec<u8>> {
        let mut bytes = [0; 64];
        let began = Instant::now();
        while began.elapsed() < WATCHDOG {
            self.turns();
            match socket.read(&mut bytes) {
                Ok(some) => return (some > 0).then(|| bytes[..some].to_vec()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
        panic!("nothing is heard");
    }

    fn pair(&mut self) -> (TcpStream, TcpStream) {
        let meeting = MeetingPoint { run: [1; 16], domain: 2 };
        let waits = self.caller(Want::Wait(meeting), random()).unwrap();
        let wants = self.caller(Want::Meet(meeting), random()).unwrap();
        (waits, wants)
    }
}

#[test]
fn who_does_not_read_makes_the_relay_keep_next_to_nothing() {
    let mut scene = scene();
    let pairs: Vec<(TcpStream, TcpStream)> = (0..20).map(|_| scene.pair()).collect();
    let some = vec![7; 1 << 20];
    for _ in 0..50 {
        for (one, other) in &pairs {
            let _ = (&*one).write(&some);
            let _ = (&*other).write(&some);
        }
        scene.turns();
    }
    let load = scene.relay.load();
    assert_eq!(load.pairs, 20);
    assert!(load.kept > 0 && load.kept <= 40 * MAX_DIRECTION_BYTES, "{load:?}");
}

#[test]
fn what_one_says_before_the_other_comes_is_passed_on_and_so_is_its_end() {
    let mut scene = scene();
    let meeting = MeetingPoint { run: [1; 16], domain: 2 };
    let mut wants = scene.caller(Want::Meet(meeting), random()).unwrap();
    wants.write_all(b"early").unwrap();
    scene.turns();
    let mut waits = scene.caller(Want::Wait(meeting), random()).unwrap();
    wants.write_all(b", late").unwrap();
    wants.shutdown(std::net::Shutdown::Write).unwrap();
    waits.write_all(b"answer").unwrap();
    scene.turns();
    assert_eq!(scene.hears(&waits).unwrap(), b"early, late");
    assert_eq!(scene.hears(&waits), None);
    drop(waits);
    assert_eq!(scene.hears(&wants).unwrap(), b"answer");
    assert_eq!(scene.hears(&wants), None);
    scene.turns();
    assert_eq!((scene.relay.load().connections, scene.relay.load().pairs), (0, 0));
}

#[test]
fn a_loop_of_relays_and_a_way_on_to_nowhere_are_refused() {
    let mut scene = scene();
    let meeting = MeetingPoint { run: [1; 16], domain: 2 };
    let first = scene.caller(Want::Wait(meeting), [9; 16]);
    assert!(first.is_some());
    assert!(scene.caller(Want::Meet(meeting), [9; 16]).is_none(), "it has come here before");
    let onward = scene.caller(Want::Onward([3; 16]), random()).unwrap();
    assert_eq!(scene.hears(&onward), None, "nobody knows that relay");
    let known = *scene.relay.onward.keys().next().unwrap();
    scene.relay.tuning.path.patience = SECOND_NS / 4;
    let onward = scene.caller(Want::Onward(known), random()).unwrap();
    assert_eq!(scene.hears(&onward), None, "nobody listens there");
    drop((first, onward));
    scene.turns();
    assert_eq!(scene.relay.load().connections, 0);
}

#[test]
fn the_newest_of_those_that_wait_is_found_first_and_only_so_many_wait() {
    let mut scene = scene();
    let meeting = MeetingPoint { run: [1; 16], domain: 2 };
    let of_one_life = || {
        let mut circuit: [u8; 16] = random();
        circuit[..LIFE_PREFIX_BYTES].fill(3);
        circuit
    };
    let all: Vec<TcpStream> = (0..MAX_WAITING_OF_A_DOMAIN + 3)
        .map(|_| scene.caller(Want::Wait(meeting), of_one_life()).unwrap())
        .collect();
    assert_eq!(scene.relay.load().wait, MAX_WAITING_OF_A_DOMAIN);
    let other = scene.caller(Want::Wait(meeting), [4; 16]).unwrap();
    assert_eq!(scene.hears(&other), None, "another life of the domain waits there");
    let mut wants = scene.caller(Want::Meet(meeting), random()).unwrap();
    wants.write_all(b"you").unwrap();
    assert_eq!(scene.hears(&all[MAX_WAITING_OF_A_DOMAIN + 2]).unwrap(), b"you");
    assert_eq!(scene.hears(&all[0]), None, "the oldest had to go");
}

#[test]
fn who_intercepts_a_request_and_sends_it_instead_gets_no_further() {
    let mut scene = scene();
    let prover = scene.station.keys.prover();
    let want = Want::Wait(MeetingPoint { run: [1; 16], domain: 2 });
    let ask = Ask { want, circuit: random(), nonce: random() }.encode(&prover);
    let mut socket = TcpStream::connect(scene.address).unwrap();
    socket.write_all(&ask).unwrap();
    socket.set_nonblocking(true).unwrap();
    assert_eq!(scene.hears(&socket).unwrap().len(), CHALLENGE_BYTES, "a random number and a proof");
    socket.write_all(&[7; PROOF_BYTES]).unwrap();
    assert_eq!(scene.hears(&socket), None);
    assert_eq!((scene.relay.load().wait, scene.relay.load().connections), (0, 0));
    // The relay does not answer a repeated request.
    let mut socket = TcpStream::connect(scene.address).unwrap();
    socket.write_all(&ask).unwrap();
    socket.set_nonblocking(true).unwrap();
    assert_eq!(scene.hears(&socket), None);
}

/// Makes a socket that listens and accepts nothing. Its queue of connections is full, so the kernel does not
/// answer a new one.
fn silent() -> (OwnedFd, SocketAddr, Vec<OwnedFd>) {
    use rustix::net::{bind, getsockname, listen, socket as make, AddressFamily, SocketType};
    let port = make(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&port, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&port, 0).unwrap();
    let address = SocketAddr::try_from(getsockname(&port).unwrap()).unwrap();
    let wait = (0..4).filter_map(|_| socket::dial(&address).ok()).collect();
    (port, address, wait)
}

#[test]
fn where_the_next_relay_is_silent_at_one_address_the_next_one_is_tried() {
    let (_port, nobody, _wait) = silent();
    let next = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    next.set_nonblocking(true).unwrap();
    let onward = Station::new(vec![nobody.to_string(), next.local_addr().unwrap().to_string()]);
    let listen = Listen { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), ..Listen::default() };
    let listener = Listener::bind(&listen).unwrap();
    let address = listener.addresses()[0];
    let station = Station::new(vec![address.to_string()]);
    let relay = Relay::new(&station, listener, std::slice::from_ref(&onward)).unwrap();
    let mut scene = Scene { relay, station, address };
    let _caller = scene.caller(Want::Onward(onward.keys.relay()), random()).unwrap();
    let (mut joined, began) = (None, Instant::now());
    while joined.is_none() {
        assert!(began.elapsed() < WATCHDOG, "the next one is not tried");
        scene.relay.turn(Duration::from_millis(50));
        joined = next.accept().ok();
    }
    let (mut next, _) = joined.unwrap();
    next.set_nonblocking(true).unwrap();
    let mut request = [0; ASK_BYTES];
    while let Err(error) = next.read_exact(&mut request) {
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() < WATCHDOG, "nothing is asked of it");
        scene.relay.turn(Duration::from_millis(1));
    }
    let me = MeetingPoint { run: onward.keys.run(), domain: 0 };
    assert_eq!(Ask::decode(&request, &onward.keys.prover()).unwrap().want, Want::Meet(me), "a trunk to it");
}
