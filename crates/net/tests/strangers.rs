//! Tests of strangers, which do not have the run's keys. They learn nothing, and the run continues.

mod common;

use common::{listener, pair, play, End, Proxy, SECOND_NS};
use ligament_net::{now, Event, Listen, Listener, NetOptions, RunKeys};
use rustix::net::{bind, connect, AddressFamily, SocketType};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Returns options with a short time for greetings, so that the tests do not take long.
fn hurried() -> NetOptions {
    NetOptions { greeting: SECOND_NS / 2, ..NetOptions::default() }
}

/// A program that connects and sends arbitrary bytes.
struct Stranger {
    socket: TcpStream,
    heard: Vec<u8>,
    closed: bool,
}

impl Stranger {
    fn at(address: SocketAddr) -> Stranger {
        Stranger::of(TcpStream::connect(address).unwrap())
    }

    fn of(socket: TcpStream) -> Stranger {
        socket.set_nonblocking(true).unwrap();
        Stranger { socket, heard: Vec::new(), closed: false }
    }

    /// Sends bytes, as many as the socket takes.
    fn say(&mut self, bytes: &[u8]) {
        let _ = self.socket.write(bytes);
    }

    /// Reads the bytes that have arrived. Returns true if the other end has closed.
    fn listen(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.closed = true,
                Ok(some) => {
                    self.heard.extend_from_slice(&bytes[..some]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.closed = true,
            }
            return self.closed;
        }
    }
}

/// A run of two domains that exchange messages. The proxy between them records bytes, which a stranger can
/// repeat.
struct Run {
    zero: End,
    one: End,
    proxy: Option<Proxy>,
    /// The address of domain 0.
    address: SocketAddr,
    keys: RunKeys,
}

fn run(encrypt: bool) -> Run {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, encrypt, hurried());
    let mut one = End::new(&keys, 1, encrypt, hurried());
    let (listener, address) = listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    let mut proxy = Proxy::to(address);
    proxy.record = Some(Vec::new());
    one.net.dial(0, vec![proxy.address], 2);
    let mut run = Run { zero, one, proxy: Some(proxy), address, keys };
    run.goes_on();
    run
}

impl Run {
    /// Sends one message in each direction, and waits for both.
    fn goes_on(&mut self) {
        let before = [self.zero.desk.count, self.one.desk.count];
        self.zero.send(1, 2, 100_000);
        self.one.send(0, 3, 10);
        play(&mut [&mut self.zero, &mut self.one], &mut self.proxy, |ends, _| {
            ends.iter().zip(before).all(|(end, before)| end.desk.count > before)
        });
    }

    /// Runs until a stranger's connection is closed. Checks that the stranger has received nothing, and that
    /// the run continues. Returns the reason that domain 0 reports.
    fn is_silent_to(&mut self, stranger: &mut Stranger, mut meanwhile: impl FnMut(&mut Stranger)) -> String {
        let refused = self.zero.refusals().len();
        play(&mut [&mut self.zero, &mut self.one], &mut self.proxy, |_, _| {
            meanwhile(stranger);
            stranger.listen()
        });
        assert!(stranger.heard.is_empty(), "they were told {} bytes", stranger.heard.len());
        let refusals = self.zero.refusals();
        assert_eq!(refusals.len(), refused + 1, "the log says who came, once: {refusals:?}");
        let why = refusals.last().unwrap().to_string();
        self.goes_on();
        why
    }

    /// Returns the dialler's first hello, of 128 bytes.
    fn overheard_hello(&self) -> Vec<u8> {
        self.proxy.as_ref().unwrap().record.as_ref().unwrap()[..128].to_vec()
    }
}

#[test]
fn garbage_of_any_length_is_answered_by_nothing() {
    for encrypt in [false, true] {
        let mut run = run(encrypt);
        for len in [128, 129, 4096, 300_000] {
            let mut stranger = Stranger::at(run.address);
            stranger.say(&vec![b'x'; len]);
            let why = run.is_silent_to(&mut stranger, |_| ());
            assert!(why.contains("not of Ligament"), "{why}");
        }
        let mut stranger = Stranger::at(run.address);
        stranger.say(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody who looks for web servers\r\n\
            Accept: */*\r\nAccept-Language: en\r\nConnection: close\r\n\r\n",
        );
        run.is_silent_to(&mut stranger, |_| ());
    }
}

#[test]
fn whoever_says_nothing_or_too_little_or_one_byte_at_a_time_is_closed_after_a_while() {
    let mut run = run(false);
    let hello = run.overheard_hello();
    for many in [0, 1, 127] {
        let mut stranger = Stranger::at(run.address);
        stranger.say(&hello[..many]);
        let why = run.is_silent_to(&mut stranger, |_| ());
        assert!(why.contains("did not say who it is in time"), "{why}");
    }
    let mut stranger = Stranger::at(run.address);
    let (mut last, mut said) = (now(), 0);
    let why = run.is_silent_to(&mut stranger, |stranger| {
        if now() - last > SECOND_NS / 20 && said < 128 {
            stranger.say(&hello[said..=said]);
            (last, said) = (now(), said + 1);
        }
    });
    assert!(why.contains("in time") && said < 128, "{why}, after {said} bytes");
}

#[test]
fn whoever_goes_away_in_the_middle_of_a_greeting_is_forgotten() {
    let mut run = run(false);
    let hello = run.overheard_hello();
    for many in [0, 100] {
        let mut stranger = Stranger::at(run.address);
        stranger.say(&hello[..many]);
        stranger.socket.shutdown(std::net::Shutdown::Write).unwrap();
        let why = run.is_silent_to(&mut stranger, |_| ());
        assert!(why.contains("closed the connection"), "{why}");
    }
}

#[test]
fn a_greeting_that_was_overheard_and_is_said_again_is_answered_by_nothing() {
    for encrypt in [false, true] {
        let mut run = run(encrypt);
        let hello = run.overheard_hello();
        let mut stranger = Stranger::at(run.address);
        stranger.say(&hello);
        let why = run.is_silent_to(&mut stranger, |_| ());
        assert!(why.contains("heard before"), "{why}");
    }
}

#[test]
fn whole_connections_that_were_recorded_and_are_said_again_bring_nothing() {
    for encrypt in [false, true] {
        let mut run = run(encrypt);
        // At least the hello, the proof and some frames of each connection.
        let said = |proxy: &Option<Proxy>| -> Vec<Vec<u8>> {
            proxy.iter().flat_map(|proxy| &proxy.links).map(|link| link.dialler_said.clone()).collect()
        };
        play(&mut [&mut run.zero, &mut run.one], &mut run.proxy, |_, proxy| {
            let said = said(proxy);
            said.len() == 2 && said.iter().all(|said| said.len() > 128 + 32)
        });
        let recorded = said(&run.proxy);
        for said in &recorded {
            let mut stranger = Stranger::at(run.address);
            stranger.say(said);
            let why = run.is_silent_to(&mut stranger, |_| ());
            assert!(why.contains("heard before"), "{why}");
        }
        // A new domain with the same keys has not recorded these greetings, and refuses them, too.
        let mut fresh = End::new(&run.keys, 0, encrypt, hurried());
        let (listener, address) = listener();
        fresh.net.listen(listener);
        fresh.net.expect(1);
        for (said, known) in recorded.iter().zip(1..) {
            let mut stranger = Stranger::at(address);
            stranger.say(said);
            play(&mut [&mut fresh], &mut None, |ends, _| {
                stranger.listen();
                ends[0].refusals().len() == known
            });
        }
        assert_eq!(fresh.desk.count, 0, "nothing of it was taken for a message");
        assert!(!fresh.has(|event| matches!(event, Event::PathUp { .. })));
    }
}

#[test]
fn a_greeting_with_any_byte_changed_is_answered_by_nothing() {
    for encrypt in [false, true] {
        let mut run = run(encrypt);
        let hello = run.overheard_hello();
        for at in [0, 8, 12, 20, 40, 48, 52, 56, 58, 60, 61, 80, 96, 127] {
            let mut changed = hello.clone();
            changed[at] ^= 1;
            let mut stranger = Stranger::at(run.address);
            stranger.say(&changed);
            let why = run.is_silent_to(&mut stranger, |_| ());
            let known = ["not of Ligament", "version", "another run", "does not hold the run's keys"];
            assert!(known.iter().any(|known| why.contains(known)), "byte {at}: {why}");
        }
    }
}

/// Returns domain 0 and a hello that never reached it, because the proxy kept it.
fn hello_that_was_held_back(encrypt: bool) -> (End, SocketAddr, Vec<u8>) {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, encrypt, hurried());
    let (listener, address) = listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let mut one = End::new(&keys, 1, encrypt, hurried());
    one.net.dial(0, vec![trap.local_addr().unwrap()], 1);
    let mut caught: Option<TcpStream> = None;
    let mut hello = vec![0; 128];
    play(&mut [&mut zero, &mut one], &mut None, |_, _| {
        if caught.is_none() {
            caught = trap.accept().ok().map(|(socket, _)| socket);
        }
        let Some(socket) = &mut caught else { return false };
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        socket.read_exact(&mut hello).is_ok()
    });
    (zero, address, hello)
}

#[test]
fn a_greeting_that_was_held_back_and_is_said_by_somebody_else_lets_nobody_in() {
    for encrypt in [false, true] {
        let (mut zero, address, hello) = hello_that_was_held_back(encrypt);
        zero.send(1, 2, 1000);
        let mut thief = Stranger::at(address);
        thief.say(&hello);
        thief.say(&[7; 32]);
        play(&mut [&mut zero], &mut None, |_, _| thief.listen());
        assert_eq!(zero.refusals().len(), 1, "{:?}", zero.events);
        assert!(!zero.has(|event| matches!(event, Event::PathUp { .. })));
        // Without encryption the thief receives a welcome, which has only random numbers and a proof. With
        // encryption it receives the end of TLS.
        assert!(thief.heard.len() <= 80, "{} bytes", thief.heard.len());
    }
}

#[test]
fn who_has_the_keys_of_another_run_is_answered_by_nothing_and_hears_that_it_is_so() {
    for encrypt in [false, true] {
        let mut run = run(encrypt);
        let mut other = End::new(&RunKeys::make(), 1, encrypt, hurried());
        let mut proxy = Proxy::to(run.address);
        proxy.record = Some(Vec::new());
        other.net.dial(0, vec![proxy.address], 1);
        let mut proxy = Some(proxy);
        play(&mut [&mut run.zero, &mut other], &mut proxy, |ends, _| ends[0].refusals().len() >= 3);
        assert!(run.zero.refusals().iter().all(|why| why.contains("another run")), "{:?}", run.zero.refusals());
        assert!(!other.has(|event| matches!(event, Event::PathUp { .. })));
        run.goes_on();
    }
}

#[test]
fn a_dialler_gives_nothing_to_a_listener_without_the_keys() {
    for encrypt in [false, true] {
        let trap = TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let mut one = End::new(&RunKeys::make(), 1, encrypt, hurried());
        one.desk.checks = false;
        one.send_to(&trap, b"what only the other end may know");
        let mut heard = Vec::new();
        let mut sockets = Vec::new();
        play(&mut [&mut one], &mut None, |_, _| {
            if let Ok((mut socket, _)) = trap.accept() {
                socket.set_nonblocking(true).unwrap();
                socket.write_all(&[0x16; 200]).unwrap();
                sockets.push(socket);
            }
            for socket in &mut sockets {
                let mut bytes = [0; 4096];
                if let Ok(some) = socket.read(&mut bytes) {
                    heard.extend_from_slice(&bytes[..some]);
                }
            }
            sockets.len() >= 3
        });
        assert!(heard.len() >= 128 && !contains(&heard, b"only the other end"));
        assert!(!one.has(|event| matches!(event, Event::PathUp { .. })));
    }
}

impl End {
    /// Dials the listener, and sends this message.
    fn send_to(&mut self, listener: &TcpListener, bytes: &[u8]) {
        self.net.dial(0, vec![listener.local_addr().unwrap()], 1);
        self.send_bytes(0, 1, bytes.to_vec());
    }
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[test]
fn nothing_that_is_said_and_no_key_can_be_read_on_the_way() {
    let text = b"the temperature in the core is 1.5e7 K, and nobody else shall know";
    for encrypt in [true, false] {
        let (mut zero, mut one, mut proxy) = pair(encrypt, NetOptions::default(), 2, true);
        proxy.as_mut().unwrap().record = Some(Vec::new());
        (zero.desk.checks, one.desk.checks) = (false, false);
        zero.send_bytes(1, 2, text.to_vec());
        one.send_bytes(0, 3, text.repeat(5000));
        play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends.iter().all(|end| end.desk.count == 1));
        let record = proxy.unwrap().record.unwrap();
        // The word is found in unencrypted bytes, so the search works.
        assert_eq!(contains(&record, b"temperature"), !encrypt);
        assert_eq!(contains(&record, b"shall know"), !encrypt);
    }
}

#[test]
fn the_secret_of_the_run_never_travels() {
    for encrypt in [true, false] {
        let invitation = ligament_net::Invitation::new("a run", Vec::new(), encrypt, RunKeys::make());
        let text = invitation.to_text();
        let hex = text.split("\"secret\": \"").nth(1).unwrap()[..64].to_string();
        let secret: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
        let mut ends = [0, 1].map(|me| End::new(&invitation.keys, me, encrypt, NetOptions::default()));
        let (listener, address) = listener();
        let mut proxy = Proxy::to(address);
        proxy.record = Some(Vec::new());
        ends[0].net.listen(listener);
        ends[0].net.expect(1);
        ends[1].net.dial(0, vec![proxy.address], 2);
        ends[1].send(0, 3, 1000);
        let mut proxy = Some(proxy);
        let [zero, one] = &mut ends;
        play(&mut [zero, one], &mut proxy, |ends, _| ends[0].desk.count == 1);
        let record = proxy.unwrap().record.unwrap();
        assert!(!contains(&record, &secret[..8]) && !contains(&record, hex.as_bytes()));
        assert!(!format!("{invitation:?}").contains(&hex[..8]), "nor is it printed");
    }
}

#[test]
fn one_end_that_encrypts_and_one_that_does_not_do_not_meet() {
    for encrypt in [false, true] {
        let keys = RunKeys::make();
        let mut zero = End::new(&keys, 0, encrypt, NetOptions::default());
        let mut one = End::new(&keys, 1, !encrypt, NetOptions::default());
        let (listener, address) = listener();
        zero.net.listen(listener);
        zero.net.expect(1);
        one.net.dial(0, vec![address], 1);
        play(&mut [&mut zero, &mut one], &mut None, |ends, _| !ends[0].refusals().is_empty());
        assert!(zero.refusals()[0].contains("encrypt"), "{:?}", zero.refusals());
    }
}

#[test]
fn a_domain_that_is_not_expected_or_has_joined_already_is_not_let_in() {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, NetOptions::default());
    let (listener, address) = listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    let mut one = End::new(&keys, 1, true, NetOptions::default());
    one.net.dial(0, vec![address], 1);
    one.send(0, 3, 10);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.count == 1);
    for (me, because) in [(2, "not expected"), (1, "joined already")] {
        let mut other = End::new(&keys, me, true, NetOptions::default());
        other.net.dial(0, vec![address], 1);
        let before = zero.refusals().len();
        play(&mut [&mut zero, &mut other], &mut None, |ends, _| ends[0].refusals().len() > before);
        assert!(zero.refusals().last().unwrap().contains(because), "{:?}", zero.refusals());
        assert!(!other.has(|event| matches!(event, Event::PathUp { .. })));
    }
    one.send(0, 3, 10);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.count == 2);
}

#[test]
fn a_crowd_that_says_nothing_does_not_keep_the_others_out() {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, NetOptions::default());
    let (listener, address) = listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    let mut crowd = Vec::new();
    while crowd.len() < 600 {
        crowd.push(Stranger::at(address));
        zero.turn();
    }
    let mut one = End::new(&keys, 1, true, NetOptions::default());
    one.net.dial(0, vec![address], 2);
    one.send(0, 3, 10);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.count == 1);
    assert!(crowd.iter_mut().map(Stranger::listen).filter(|closed| *closed).count() > 300);
    assert!(crowd.iter().all(|stranger| stranger.heard.is_empty()));
}

/// Holds back all bytes after a domain's hello until a crowd of connections has filled all places. The
/// connection then continues.
fn held_back_in_a_crowd(ends: [&mut End; 2], proxy: &mut Option<Proxy>, address: SocketAddr) {
    let [zero, one] = ends;
    let before = zero.desk.count;
    one.send(0, 3, 10);
    play(&mut [zero, one], proxy, |_, proxy| {
        let link = proxy.as_mut().unwrap().links.iter_mut().find(|link| link.has_said(0) >= 128);
        link.map(|link| link.silent = true).is_some()
    });
    let mut crowd = Vec::new();
    while crowd.len() < 600 {
        crowd.push(Stranger::at(address));
        zero.turn();
    }
    assert!(crowd.iter_mut().map(Stranger::listen).filter(|closed| *closed).count() > 300);
    proxy.as_mut().unwrap().links[0].silent = false;
    play(&mut [zero, one], proxy, |ends, _| ends[0].desk.count > before);
    assert_eq!(proxy.as_ref().unwrap().came, 1, "the domain had to dial again");
}

#[test]
fn a_crowd_closes_no_connection_of_a_domain_that_has_proved_its_hello() {
    let (mut zero, mut one, mut proxy) = pair(true, NetOptions::default(), 1, true);
    let address = proxy.as_ref().unwrap().target();
    held_back_in_a_crowd([&mut zero, &mut one], &mut proxy, address);
    // The same must hold for the connection after a cut.
    let proxied = proxy.as_mut().unwrap();
    (proxied.came, proxied.record) = (0, None);
    proxied.cut();
    held_back_in_a_crowd([&mut zero, &mut one], &mut proxy, address);
    assert!(one.has(|event| matches!(event, Event::StreamLost { .. })));
}

#[test]
fn a_crowd_on_one_machine_closes_no_connection_of_another() {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, NetOptions::default());
    let listen = Listen { address: Some("0.0.0.0".parse().unwrap()), ..Listen::default() };
    let listener = Listener::bind(&listen).unwrap();
    let port = listener.addresses()[0].port();
    zero.net.listen(listener);
    // All addresses of 127.0.0.0/8 belong to this machine.
    let far = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&far, &SocketAddr::new("127.0.0.2".parse().unwrap(), 0)).unwrap();
    connect(&far, &SocketAddr::new("127.0.0.1".parse().unwrap(), port)).unwrap();
    let mut quiet = Stranger::of(far.into());
    quiet.say(b"LIG");
    let mut crowd = Vec::new();
    while crowd.len() < 600 {
        crowd.push(Stranger::at(SocketAddr::new("127.0.0.1".parse().unwrap(), port)));
        zero.turn();
    }
    assert!(!quiet.listen(), "the one that came first had to go for the crowd of another machine");
    assert!(crowd.iter_mut().map(Stranger::listen).filter(|closed| *closed).count() > 300);
}

#[test]
fn whoever_joined_and_then_talks_nonsense_is_given_up_and_not_for_ever_taken_in_again() {
    // The proxy garbles unencrypted bytes. Each time the stream is closed, and in the end the path is given
    // up.
    let (mut zero, mut one, mut proxy) = pair(false, NetOptions::default(), 1, true);
    proxy.as_mut().unwrap().garbles = true;
    zero.send(1, 2, 1000);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| {
        ends[1].has(|event| matches!(event, Event::GivenUp { why, .. } if why.contains("makes no sense")))
    });
    assert!(one.has(|event| matches!(event, Event::StreamLost { .. })));
}

#[test]
fn earlier_attempts_of_a_peer_to_dial_are_no_strangers() {
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, hurried());
    let mut one = End::new(&keys, 1, true, NetOptions { connect: SECOND_NS / 20, ..hurried() });
    let (listener, address) = listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    one.net.dial(0, vec![address], 2);
    // Domain 0 accepts no connections yet, as on a busy machine. So domain 1 dials again and again.
    let mut proxy = None;
    let mut since = now();
    play(&mut [&mut one], &mut proxy, |_, _| now() - since > SECOND_NS / 2);
    since = now();
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| {
        let both = ends.iter().all(|end| end.has(|event| matches!(event, Event::PathUp { .. })));
        // After this time, domain 0 has closed all connections that are late.
        both && now() - since > SECOND_NS
    });
    assert_eq!(zero.refusals(), [] as [&str; 0]);
}
