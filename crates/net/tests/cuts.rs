//! Tests of streams that are cut, silent or delayed, one or all at once. Every message arrives once and in
//! order, and both ends of the path end.

mod common;

use common::{pair, play, Dice, End, Proxy, SECOND_NS};
use ligament_net::{now, Event, Nanos, NetOptions};

/// Returns options with which an end notices silence soon, and dials again soon.
fn impatient() -> NetOptions {
    let mut tuning =
        NetOptions { first_pause: SECOND_NS / 200, longest_pause: SECOND_NS / 20, ..NetOptions::default() };
    tuning.path.heartbeat = SECOND_NS / 10;
    tuning.path.silence = SECOND_NS / 2;
    tuning.path.farewell = SECOND_NS;
    tuning
}

/// The disturbances of the streams. A seed gives their times and kinds.
struct Disturbances {
    dice: Dice,
    cuts: u64,
    next: Nanos,
    reopen: Nanos,
}

impl Disturbances {
    fn new(seed: u64, cuts: u64) -> Disturbances {
        Disturbances { dice: Dice(seed), cuts, next: now() + SECOND_NS / 50, reopen: 0 }
    }

    fn strikes(&mut self, proxy: &mut Proxy) {
        let time = now();
        if proxy.closed && time >= self.reopen {
            proxy.closed = false;
        }
        if self.cuts == 0 || time < self.next || proxy.closed || proxy.links.is_empty() {
            return;
        }
        self.cuts -= 1;
        self.next = time + self.dice.below(SECOND_NS / 10);
        let which = self.dice.below(proxy.links.len() as u64) as usize;
        match self.dice.below(5) {
            // All links break, and no connection is possible for a while.
            0 => {
                proxy.cut();
                proxy.closed = true;
                self.reopen = time + self.dice.below(SECOND_NS / 5);
            }
            // One link goes silent, and neither end gets a notice.
            1 => proxy.links[which].silent = true,
            // One link breaks within a message.
            2 => proxy.links[which].breaks_after = Some(self.dice.below(1 << 20)),
            3 => proxy.delay = self.dice.below(SECOND_NS / 50),
            _ => drop(proxy.links.remove(which)),
        }
    }
}

fn with_cuts(seed: u64, encrypt: bool, streams: u16, compression: ligament_net::Compression) {
    let tuning = NetOptions { compression, ..impatient() };
    let (mut zero, mut one, mut proxy) = pair(encrypt, tuning, streams, true);
    let mut dice = Dice(seed ^ 0xbeef);
    let mut left = 260u64;
    let mut sent = [0u64; 2];
    let mut trouble = Disturbances::new(seed, 12);
    let seen = |ends: &mut [&mut End], proxy: &mut Option<Proxy>| {
        trouble.strikes(proxy.as_mut().unwrap());
        // Some messages are sent only after later cuts.
        let due = left.saturating_sub(20 * trouble.cuts);
        for _ in 0..dice.below(4).min(due) {
            left -= 1;
            let which = dice.below(2) as usize;
            let size = match dice.below(8) {
                0 => 0,
                1 => dice.below(3 << 20),
                2 => dice.below(200_000),
                _ => dice.below(3000),
            };
            ends[which].send(1 - which as u32, dice.below(4) as u32, size);
            sent[which] += 1;
            if left == 0 {
                ends[0].net.end(1);
                ends[1].net.end(0);
            }
        }
        assert!(left > 0 || trouble.cuts == 0);
        left == 0 && ends.iter().all(|end| end.has(|event| matches!(event, Event::Ended { .. })))
    };
    play(&mut [&mut zero, &mut one], &mut proxy, seen);
    assert_eq!([one.desk.count, zero.desk.count], sent, "seed {seed}: nothing is lost, nothing comes twice");
    for end in [&zero, &one] {
        assert!(end.desk.arriving.is_empty() && end.desk.leaving.is_empty(), "seed {seed}");
        assert!(!end.has(|event| matches!(event, Event::GivenUp { .. })), "seed {seed}: {:?}", end.events);
    }
}

#[test]
fn whatever_is_cut_every_message_arrives_once_and_in_order() {
    for seed in 0..6 {
        with_cuts(seed, false, 1 + seed as u16 % 4, ligament_net::Compression::Never);
    }
}

#[test]
fn whatever_is_cut_every_message_arrives_once_and_in_order_encrypted_and_packed() {
    for seed in 10..14 {
        with_cuts(seed, true, 1 + seed as u16 % 3, ligament_net::Compression::Always);
    }
}

#[test]
fn a_stream_that_is_half_open_is_noticed_and_dialled_again() {
    let (mut zero, mut one, mut proxy) = pair(true, impatient(), 2, true);
    one.send(0, 1, 1000);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].desk.count == 1);
    proxy.as_mut().unwrap().links.iter_mut().for_each(|link| link.silent = true);
    one.send(0, 1, 1000);
    zero.send(1, 2, 3 << 20);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends.iter().all(|end| end.desk.count > 0));
    let lost =
        |event: &Event| matches!(event, Event::StreamLost { why, .. } if why.contains("nothing was heard"));
    assert!(one.has(lost), "{:?}", one.events);
    let ups = one.events.iter().filter(|event| matches!(event, Event::PathUp { .. })).count();
    assert_eq!(ups, 2);
}

#[test]
fn an_end_that_cannot_go_on_waits_and_does_not_turn_in_circles() {
    let tuning = NetOptions { longest_pause: SECOND_NS / 20, ..NetOptions::default() };
    let (mut zero, mut one, mut proxy) = pair(false, tuning, 2, true);
    one.send(0, 1, 1000);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].desk.count == 1);
    // In the first round the links take no bytes. In the second round there is no stream.
    for silent in [true, false] {
        let proxied = proxy.as_mut().unwrap();
        proxied.links.iter_mut().for_each(|link| link.silent = true);
        if !silent {
            proxied.cut();
            proxied.closed = true;
        }
        one.send(0, 1, 20 << 20);
        zero.send(1, 2, 20 << 20);
        one.net.credit(0, 2, if silent { 1 } else { 2 });
        let (began, mut turns) = (now(), 0);
        play(&mut [&mut zero, &mut one], &mut proxy, |_, _| {
            turns += 1;
            now() - began > SECOND_NS / 2
        });
        assert!(turns < 500, "{turns} turns in half a second");
    }
}

#[test]
fn an_end_whose_partner_is_gone_after_all_was_said_comes_to_its_end_soon() {
    let (mut zero, mut one, mut proxy) = pair(false, impatient(), 2, true);
    one.send(0, 1, 1000);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].desk.count == 1 && ends[1].net.idle(0));
    zero.net.end(1);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].net.idle(1));
    // Domain 1 now knows the end of domain 0, and announces its own, but the frame does not arrive.
    drop(zero);
    proxy.as_mut().unwrap().cut();
    proxy.as_mut().unwrap().closed = true;
    one.net.end(0);
    play(&mut [&mut one], &mut proxy, |ends, _| ends[0].has(|event| matches!(event, Event::Ended { .. })));
    assert!(!one.has(|event| matches!(event, Event::GivenUp { .. })));
}

#[test]
fn a_partner_that_was_started_anew_is_not_taken_for_the_old_one() {
    let keys = ligament_net::RunKeys::make();
    let mut one = End::new(&keys, 1, true, impatient());
    let mut proxy = None;
    let (listener, address) = common::listener();
    let mut zero = End::new(&keys, 0, true, impatient());
    zero.net.listen(listener);
    zero.net.expect(1);
    one.net.dial(0, vec![address], 1);
    one.send(0, 1, 10);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].desk.count == 1);
    drop(zero);
    let mut anew = End::new(&keys, 0, true, impatient());
    let listen = ligament_net::Listen {
        address: Some(address.ip()),
        ports: Some(address.port()..=address.port()),
        ..Default::default()
    };
    anew.net.listen(ligament_net::Listener::bind(&listen).unwrap());
    anew.net.expect(1);
    play(&mut [&mut anew, &mut one], &mut proxy, |ends, _| {
        ends[1].has(|event| matches!(event, Event::GivenUp { why, .. } if why.contains("started anew")))
    });
}

#[test]
fn of_several_addresses_those_that_do_not_answer_are_passed_over() {
    let keys = ligament_net::RunKeys::make();
    let mut zero = End::new(&keys, 0, false, impatient());
    let mut one = End::new(&keys, 1, false, impatient());
    let (listener, address) = common::listener();
    zero.net.listen(listener);
    zero.net.expect(1);
    // The first address has no listener. At the second one, a listener closes each connection.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = vec![nobody, other.local_addr().unwrap(), address];
    let closes = std::thread::spawn(move || drop(other.accept()));
    one.net.dial(0, addresses, 1);
    one.send(0, 1, 10);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.count == 1 && closes.is_finished());
    closes.join().unwrap();
}
