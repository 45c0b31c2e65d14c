//! Tests of the logic with real endpoints and real paths, but without threads, processes and sockets. Each test
//! decides which part moves next, and when a path is cut.

#[path = "../../../shm/tests/common/mod.rs"]
mod domain;
#[path = "../../tests/common/paths.rs"]
mod memory;

use super::*;
use crate::Event;
use domain::{Conduit, Domain, Line};
use ligament_shm::endpoint::{AgentNotice, Contiguous};
use ligament_shm::status::{now as real_now, AwaitedEvent};
use ligament_wire::{
    array_head, Array, ArrayOrder, ConduitEnd, DType, DomainId, Encoder, EndpointId, Header, MessageKind,
    SettingValue, Value, ValueRef,
};
use memory::{joined, MemoryPaths, Scissors};
use std::io::IoSlice;
use std::thread;

const AMPLE_BYTES: u64 = 1 << 30;
const BUDGET_BYTES: u64 = 1 << 20;

/// A run over some domains. Each instance is an endpoint of its domain's world, with the number that it has in
/// the run.
struct Run {
    domain_of: Vec<u32>,
    conduits: Vec<(u32, u32, u64)>,
    worlds: Vec<Domain>,
    carriers: Vec<Logic<Line>>,
    paths: Vec<MemoryPaths>,
    scissors: Scissors,
    now: Nanos,
    heard: Vec<Vec<CarrierReport>>,
}

impl Run {
    /// Makes a run without an attached carrier. `conduits` has the sender, the receiver and the budget (bytes)
    /// of each conduit.
    fn new(domain_of: &[u32], conduits: &[(u32, u32, u64)], limit: u64) -> Run {
        let n = domain_of.len() as u32;
        let domains = domain_of.iter().max().unwrap() + 1;
        let world = |me: u32| {
            let here = |instance: u32| domain_of[instance as usize] == me;
            let conduit = |&(from, to, budget): &(u32, u32, u64)| match (here(from), here(to)) {
                (false, false) => Conduit { from: n + 1, to: n + 1, budget },
                (from_here, to_here) => {
                    Conduit { from: if from_here { from } else { n }, to: if to_here { to } else { n }, budget }
                }
            };
            Domain::new(n + 2, &conduits.iter().map(conduit).collect::<Vec<_>>(), limit)
        };
        let (paths, scissors) = joined(domains);
        Run {
            domain_of: domain_of.to_vec(),
            conduits: conduits.to_vec(),
            worlds: (0..domains).map(world).collect(),
            carriers: (0..domains).map(|_| Logic::new()).collect(),
            paths,
            scissors,
            now: 0,
            heard: vec![Vec::new(); domains as usize],
        }
    }

    fn attached(domain_of: &[u32], conduits: &[(u32, u32, u64)]) -> Run {
        let mut run = Run::new(domain_of, conduits, AMPLE_BYTES);
        (0..run.worlds.len() as u32).for_each(|domain| run.attach(domain));
        run
    }

    fn attach(&mut self, me: u32) {
        let domain = |instance: u32| self.domain_of[instance as usize];
        let info = |id: usize, to: u32| ChannelInfo {
            id: id as u32,
            port: 0,
            slot: None,
            peer: EndpointId::default(),
            credit: 0,
            budget: 0,
            peer_port: format!("instance{to}.in"),
            limit: None,
            steps: None,
            may_fail: None,
            marks: None,
            wants_of: None,
            filters: None,
            member: 0,
        };
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (id, &(from, to, _)) in self.conduits.iter().enumerate() {
            match (domain(from) == me, domain(to) == me) {
                (true, false) => receives.push(info(id, to)),
                (false, true) => sends.push(info(id, to)),
                _ => {}
            }
        }
        let attachment = Attachment {
            agent: String::new(),
            instance: String::new(),
            token: String::new(),
            me: DomainId::new(me),
            domains: self
                .conduits
                .iter()
                .map(|&(from, to, _)| (DomainId::new(domain(from)), DomainId::new(domain(to))))
                .collect(),
        };
        let endpoint = self.worlds[me as usize].endpoint(self.domain_of.len() as u32);
        self.carriers[me as usize].attach(endpoint, &sends, &receives, &attachment);
    }

    /// Returns an instance's endpoint.
    fn endpoint(&self, instance: u32) -> Endpoint<Line> {
        self.worlds[self.domain_of[instance as usize] as usize].endpoint(instance)
    }

    fn world_of(&self, instance: u32) -> &Domain {
        &self.worlds[self.domain_of[instance as usize] as usize]
    }

    /// Tells the carrier of a domain that an endpoint has ended.
    fn ends(&self, instance: u32) {
        let carrier = self.domain_of.len() as u32;
        self.world_of(instance).tell(carrier, AgentNotice::PeerEnded(EndpointId::new(instance)));
    }

    /// Lets each carrier do its due work once. Then 1 ms passes.
    fn step(&mut self) {
        for (domain, carrier) in self.carriers.iter_mut().enumerate() {
            carrier.pass(&mut self.paths[domain], self.now);
            self.heard[domain].extend(carrier.take_heard());
        }
        self.now += 1_000_000;
    }

    /// Lets 300 ms pass. This is longer than every pause of a carrier, so nothing moves any more.
    fn settle(&mut self) {
        (0..300).for_each(|_| self.step());
    }

    fn quiet(&self) -> Vec<Quiet> {
        self.carriers.iter().map(Logic::quiet).collect()
    }
}

fn send(endpoint: &mut Endpoint<Line>, channel: usize, time: f64, value: &Value) {
    send_to(endpoint, &[channel], time, value);
}

fn send_to(endpoint: &mut Endpoint<Line>, channels: &[usize], time: f64, value: &Value) {
    let mut encoder = Encoder::new();
    let header = Header {
        kind: MessageKind::Data,
        timestamp: time,
        next_timestamp: Some(time + 1.0),
        ..Header::default()
    };
    endpoint.send(channels, header.into(), &encoder.plan(&ValueRef::Owned(value)).unwrap()).unwrap();
}

fn receive(endpoint: &mut Endpoint<Line>, channel: usize) -> (HeaderWords, Value) {
    let (mut header, mut value) = (HeaderWords::default(), Value::None);
    let deadline = Some(real_now() + 60_000_000_000);
    endpoint.receive_to(channel, deadline, &mut header, &mut value).unwrap();
    (header, value)
}

fn numbers(count: usize, seed: u64) -> Value {
    let data: Vec<u64> = (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).collect();
    Value::Array(Array::from_slice(&data, &[count], ArrayOrder::RowMajor).unwrap())
}

/// Returns values for every form of a body: no body, a body in the ring's entry, and a body in a block. Lengths
/// near the limits are among them.
fn all_shapes() -> Vec<Value> {
    let text = |len: usize| Value::String("x".repeat(len));
    let map = |len| Value::Map(vec![("name".into(), text(len)), ("field".into(), numbers(len, 3))]);
    let mut all = vec![Value::None, Value::Int(-7), Value::Bool(true), Value::Float(2.5)];
    all.extend([0, 1, 100, 229, 230, 231, 232, 233, 255, 256, 257, 300, 5000, 300_000].map(text));
    all.extend([0, 1, 7, 20, 30, 31, 32, 100, 1000, 40_000, 300_000].map(|count| numbers(count, count as u64)));
    all.extend([1, 50, 300, 10_000].map(map));
    all
}

#[test]
fn values_of_every_shape_arrive_as_they_were_sent_and_in_order() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1 << 30)]);
    let (mut from, mut to) = (run.endpoint(0), run.endpoint(1));
    for round in 0..3 {
        for (i, value) in all_shapes().iter().enumerate() {
            send(&mut from, 0, (round * 1000 + i) as f64, value);
        }
        run.settle();
        for (i, value) in all_shapes().iter().enumerate() {
            let (header, came) = receive(&mut to, 0);
            assert_eq!(came, *value, "message {i} of round {round}");
            let time = (round * 1000 + i) as f64;
            assert_eq!((header.timestamp(), header.next_timestamp()), (time, Some(time + 1.0)));
        }
    }
    run.settle();
    let (sent, credited) = from.progress(0);
    assert_eq!(sent, credited, "a message costs the same in both domains");
    from.end_channel(0, ConduitEnd::WithinPass).unwrap();
    run.settle();
    let end = receive(&mut to, 0).0;
    assert!(end.is_end() && ConduitEnd::of(&end) == ConduitEnd::WithinPass);
    assert!(run.heard.iter().all(Vec::is_empty), "{:?}", run.heard);
}

#[test]
fn many_small_arrays_go_the_short_way_and_arrive() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1 << 30)]);
    let (mut from, mut to) = (run.endpoint(0), run.endpoint(1));
    // After some tens of messages, the bodies lie in slabs, and each refers to the head of the message before
    // it.
    let mut head = Vec::new();
    array_head(DType::UInt64, &[4], ArrayOrder::RowMajor, None, &mut head).unwrap();
    for i in 0..500u64 {
        let data: Vec<u8> = (i..i + 4).flat_map(u64::to_ne_bytes).collect();
        let source = Contiguous { head: &head, number: 1, data: &data };
        from.send(&[0], HeaderWords::data(i as f64, None), &source).unwrap();
        if i % 7 == 0 {
            run.step();
        }
    }
    run.settle();
    for i in 0..500u64 {
        let expected = [i, i + 1, i + 2, i + 3];
        assert_eq!(
            receive(&mut to, 0).1,
            Value::Array(Array::from_slice(&expected, &[4], ArrayOrder::RowMajor).unwrap())
        );
    }
    run.settle();
    let (sent, credited) = from.progress(0);
    assert_eq!(sent, credited, "a message costs the same in both domains");
    assert_eq!(run.quiet()[0].sent, 500);
    assert!(run.quiet().iter().all(|one| one.quiet));
}

#[test]
fn a_sender_with_a_full_budget_waits_for_the_receiver_elsewhere_and_for_nobody_else() {
    let mut run = Run::attached(&[0, 1, 1], &[(0, 1, BUDGET_BYTES), (0, 2, BUDGET_BYTES)]);
    let world = run.worlds[0].clone();
    let mut idle = run.endpoint(2);
    let mut to = run.endpoint(1);
    let sender = thread::spawn(move || {
        let mut from = world.endpoint(0);
        for i in 0..40 {
            send(&mut from, 0, i as f64, &numbers(10_000, i));
        }
        send(&mut from, 1, 0.0, &Value::Int(1));
    });
    let waits = |run: &Run| {
        let status = run.worlds[0].look(0);
        status.waits.is_some_and(|waits| matches!(waits.what, AwaitedEvent::Credit { channel: 0, .. }))
    };
    let mut steps = 0;
    while !waits(&run) {
        run.step();
        steps += 1;
        assert!(steps < 100_000, "the sender never waits");
        thread::yield_now();
    }
    run.settle();
    assert!(waits(&run), "nobody has received");
    assert_eq!(run.worlds[0].look(0).sent_messages, 13, "as many as the budget holds");
    assert!(run.quiet().iter().all(|one| one.quiet), "a sender that waits for a receiver is no traffic");
    for i in 0..40 {
        while !to.poll(0).unwrap() {
            run.step();
        }
        assert_eq!(receive(&mut to, 0).1, numbers(10_000, i));
    }
    while !idle.poll(0).unwrap() {
        run.step();
    }
    sender.join().unwrap();
}

#[test]
fn what_has_arrived_elsewhere_gives_its_memory_back() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1 << 30)]);
    let (mut from, mut to) = (run.endpoint(0), run.endpoint(1));
    for i in 0..300 {
        send(&mut from, 0, 0.0, &numbers(5000, i));
        while !to.poll(0).unwrap() {
            run.step();
        }
        assert_eq!(receive(&mut to, 0).1, numbers(5000, i));
        // Both ends look for returned blocks only when they are not busy.
        (0..5).for_each(|_| run.step());
        to.poll(0).unwrap();
    }
    for world in &run.worlds {
        assert!(world.granted() <= 4 << 20, "12 MB of messages took {} bytes", world.granted());
    }
}

#[test]
fn a_message_larger_than_its_budget_passes() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1000)]);
    let (mut from, mut to) = (run.endpoint(0), run.endpoint(1));
    for round in 0..5 {
        send(&mut from, 0, 0.0, &numbers(200_000, round));
        run.settle();
        assert_eq!(receive(&mut to, 0).1, numbers(200_000, round));
        // The sender gets the credit back. Without it, the next send would wait for ever.
        run.settle();
    }
}

#[test]
fn what_is_cut_again_and_again_arrives_once_and_in_order() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1 << 30), (1, 0, 1 << 30)]);
    let (mut a, mut b) = (run.endpoint(0), run.endpoint(1));
    for i in 0..300 {
        send(&mut a, 0, i as f64, &numbers(1 + i as usize * 37 % 9000, i));
        send(&mut b, 0, i as f64, &Value::Int(i as i64));
        if i % 3 == 0 {
            run.carriers[i as usize % 2].pass(&mut run.paths[i as usize % 2], run.now);
            run.scissors.cut();
        }
        run.step();
    }
    run.settle();
    for i in 0..300 {
        assert_eq!(receive(&mut b, 0).1, numbers(1 + i as usize * 37 % 9000, i));
        assert_eq!(receive(&mut a, 0).1, Value::Int(i as i64));
    }
    run.settle();
    let quiet = run.quiet();
    assert!(quiet.iter().all(|one| one.quiet && one.sent == 300 && one.came == 300), "{quiet:?}");
    assert_eq!((quiet[0].told, quiet[1].told), (quiet[1].credited, quiet[0].credited));
    assert!(quiet[0].told > 0 && quiet[1].told > 0);
}

#[test]
fn senders_of_a_receiver_that_has_ended_are_not_held_up() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, BUDGET_BYTES)]);
    let mut from = run.endpoint(0);
    let mut to = run.endpoint(1);
    send(&mut from, 0, 0.0, &numbers(60_000, 1));
    run.settle();
    receive(&mut to, 0);
    send(&mut from, 0, 1.0, &numbers(60_000, 2));
    to.end(false);
    drop(to);
    run.ends(1);
    run.settle();
    // These messages are far more than the budget. They would wait if the receiver's end were not known.
    for i in 0..40 {
        send(&mut from, 0, i as f64, &numbers(60_000, i));
        run.settle();
    }
    assert!(run.quiet().iter().all(|one| one.quiet));
    let memory = run.worlds.iter().map(Domain::granted).sum::<u64>();
    assert!(memory < 16 << 20, "what nobody receives takes {memory} bytes");
}

#[test]
fn senders_of_a_receiver_that_had_ended_before_their_carrier_took_part_are_not_held_up() {
    let mut run = Run::new(&[0, 1], &[(1, 0, BUDGET_BYTES)], AMPLE_BYTES);
    run.attach(0);
    run.endpoint(0).end(false);
    run.ends(0);
    run.carriers[0].detach();
    run.settle();
    run.attach(1);
    let mut from = run.endpoint(1);
    // These messages are far more than the budget. They would wait without the credit that arrived before the
    // carrier was attached.
    for i in 0..40 {
        send(&mut from, 0, i as f64, &numbers(60_000, i));
        run.settle();
    }
    assert!(run.quiet().iter().all(|one| one.quiet));
}

#[test]
fn overlays_of_senders_who_number_alike_are_told_apart() {
    let mut run =
        Run::attached(&[0, 0, 1, 1], &[(0, 2, BUDGET_BYTES), (1, 2, BUDGET_BYTES), (0, 3, BUDGET_BYTES)]);
    let (mut first, mut second) = (run.endpoint(0), run.endpoint(1));
    let (mut both, mut one) = (run.endpoint(2), run.endpoint(3));
    let overlay = |who: i64| Value::Settings(vec![("who".into(), SettingValue::Int(who))]);
    let announce = |endpoint: &mut Endpoint<Line>, channel: usize, value: &Value, number: u32| {
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&ValueRef::Owned(value)).unwrap();
        endpoint.announce_overlay(&[channel], number, &plan).unwrap();
        let header = Header { kind: MessageKind::Data, overlay: number, ..Header::default() };
        let mut encoder = Encoder::new();
        endpoint
            .send(&[channel], header.into(), &encoder.plan(&ValueRef::Owned(&Value::None)).unwrap())
            .unwrap();
    };
    for (endpoint, base) in [(&mut first, 10), (&mut second, 20)] {
        announce(endpoint, 0, &overlay(base + 1), 1);
        announce(endpoint, 0, &overlay(base + 2), 2);
        announce(endpoint, 0, &overlay(base + 1), 1);
    }
    // The carrier has sent this overlay on channel 0 already, but not on channel 1, whose receiver is another
    // instance.
    announce(&mut first, 1, &overlay(12), 2);
    run.settle();
    let came = |endpoint: &mut Endpoint<Line>, channel: usize| {
        let (header, _) = receive(endpoint, channel);
        endpoint.overlay(channel, header.overlay()).map(|value| (**value).clone())
    };
    for who in [11, 12, 11] {
        assert_eq!(came(&mut both, 0), Some(overlay(who)));
        assert_eq!(came(&mut both, 1), Some(overlay(who + 10)));
    }
    assert_eq!(came(&mut one, 0), Some(overlay(12)));
}

#[test]
fn what_comes_before_there_is_an_endpoint_waits_for_it() {
    let mut run = Run::new(&[0, 1], &[(0, 1, 1 << 30)], AMPLE_BYTES);
    run.attach(0);
    let mut from = run.endpoint(0);
    for (i, value) in all_shapes().iter().enumerate() {
        send(&mut from, 0, i as f64, value);
    }
    from.end_channel(0, ConduitEnd::Done).unwrap();
    from.end(false);
    drop(from);
    run.carriers[0].control(&mut run.paths[0], DomainId::new(1), b"here is the plan".to_vec());
    run.carriers[0].detach();
    run.settle();
    assert!(
        run.heard[0].contains(&CarrierReport::Detached),
        "all has arrived in the other domain, if not at its receiver"
    );
    assert!(run.heard[1]
        .contains(&CarrierReport::Control { from: DomainId::HEAD, bytes: b"here is the plan".to_vec() }));
    run.attach(1);
    run.settle();
    let mut to = run.endpoint(1);
    for value in all_shapes() {
        assert_eq!(receive(&mut to, 0).1, value);
    }
    assert!(receive(&mut to, 0).0.is_end());
}

#[test]
fn where_memory_is_short_a_message_is_passed_on_in_pieces() {
    // 40 MB are sent, and messages may take 12 MiB of memory. So both sides have only a window of the message.
    let mut run = Run::new(&[0, 1], &[(0, 1, 1 << 30)], 12 << 20);
    run.attach(0);
    run.attach(1);
    let worlds = run.worlds.clone();
    let (from, to) = (worlds[0].clone(), worlds[1].clone());
    let sender = thread::spawn(move || send(&mut from.endpoint(0), 0, 0.0, &numbers(5_000_000, 7)));
    let receiver = thread::spawn(move || receive(&mut to.endpoint(1), 0).1 == numbers(5_000_000, 7));
    while !receiver.is_finished() {
        run.step();
        assert!(run.heard.iter().all(Vec::is_empty), "{:?}", run.heard);
        thread::yield_now();
    }
    // The receiver is joined first: if it failed, its sender would wait for ever.
    assert!(receiver.join().unwrap());
    sender.join().unwrap();
}

#[test]
fn no_memory_at_all_fails_the_run_and_names_the_conduit() {
    let mut run = Run::new(&[0, 1], &[(0, 1, 1 << 30)], AMPLE_BYTES);
    run.worlds[1].set_limit(0);
    run.attach(0);
    run.attach(1);
    let mut from = run.endpoint(0);
    send(&mut from, 0, 0.0, &numbers(100, 1));
    run.settle();
    let Some(CarrierReport::Failed(why)) = run.heard[1].last() else { panic!("{:?}", run.heard) };
    assert!(why.contains("instance1.in") && why.contains("the test's limit"), "{why}");
}

#[test]
fn an_endpoint_is_let_go_of_when_all_has_arrived_and_not_before() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, 1 << 30), (1, 0, BUDGET_BYTES)]);
    let (mut a, mut b) = (run.endpoint(0), run.endpoint(1));
    send(&mut a, 0, 0.0, &numbers(50_000, 1));
    a.end_channel(0, ConduitEnd::Done).unwrap();
    a.end(false);
    drop(a);
    run.carriers[0].detach();
    run.carriers[0].pass(&mut run.paths[0], run.now);
    assert!(run.scissors.under_way() > 0 && run.carriers[0].take_heard().len() < 2, "nobody has taken it");
    run.settle();
    assert!(run.heard[0].contains(&CarrierReport::Detached));
    assert_eq!(receive(&mut b, 0).1, numbers(50_000, 1));
    // The receiver is gone, so its sender does not wait for credit.
    for i in 0..40 {
        send(&mut b, 0, 0.0, &numbers(10_000, i));
        run.settle();
    }
    assert!(run.quiet().iter().all(|one| one.quiet));
}

#[test]
fn what_is_not_for_this_domain_gives_the_path_up() {
    let mut run = Run::attached(&[0, 1], &[(0, 1, BUDGET_BYTES)]);
    let mut stranger = run.paths.remove(0);
    crate::Paths::send(&mut stranger, DomainId::new(1), 7, 80);
    struct Junk;
    impl MessageStore for Junk {
        fn slices<'a>(&'a self, _: u32, _: MessageId, _: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
            into.push(IoSlice::new(&[0xff; 80][..len as usize]));
        }
        fn begin(&mut self, _: u32, _: MessageId, _: u64) -> Result<(), Fault> {
            Err(fault!(CARRIER_FAILED, "nothing is sent here"))
        }
        fn room(&mut self, _: u32, _: MessageId, _: u64, _: u32) -> &mut [u8] {
            &mut []
        }
        fn deliver(&mut self, _: u32, _: MessageId) {}
        fn release(&mut self, _: u32, _: MessageId) {}
        fn credit(&mut self, _: u32, _: u32, _: u64) {}
    }
    crate::Paths::turn(&mut stranger, &mut Junk, 0);
    run.carriers[1].pass(&mut run.paths[0], 0);
    let events: Vec<Event> = std::iter::from_fn(|| crate::Paths::event(&mut run.paths[0])).collect();
    let given_up =
        |event: &Event| matches!(event, Event::GivenUp { domain: 0, why } if why.contains("conduit 7"));
    assert!(events.iter().any(given_up), "{events:?}");
}

/// Makes a run with a sender in domain 0, and receivers in the domains `receivers_in`. Each receiver has a
/// conduit with this budget.
fn fanned_out(receivers_in: &[u32], budget: u64) -> (Run, Endpoint<Line>, Vec<Endpoint<Line>>) {
    let domain_of: Vec<u32> = std::iter::once(0).chain(receivers_in.iter().copied()).collect();
    let receivers = 1..domain_of.len() as u32;
    let conduits: Vec<_> = receivers.clone().map(|to| (0, to, budget)).collect();
    let run = Run::attached(&domain_of, &conduits);
    let from = run.endpoint(0);
    let to = receivers.map(|to| run.endpoint(to)).collect();
    (run, from, to)
}

/// Returns the number of bytes that go over all paths when ten messages of 400 kB go to all receivers.
fn bytes_on_paths(receivers_in: &[u32]) -> u64 {
    let (mut run, mut from, mut to) = fanned_out(receivers_in, AMPLE_BYTES);
    let all: Vec<usize> = (0..to.len()).collect();
    for i in 0..10 {
        send_to(&mut from, &all, i as f64, &numbers(50_000, i));
        run.step();
    }
    run.settle();
    for i in 0..10 {
        for receiver in &mut to {
            assert_eq!(receive(receiver, 0).1, numbers(50_000, i));
        }
    }
    run.settle();
    assert!(all.iter().all(|&channel| from.progress(channel).0 == from.progress(channel).1));
    let (sent, came) = run.quiet().iter().fold((0, 0), |(sent, came), one| (sent + one.sent, came + one.came));
    assert_eq!(sent, came);
    assert!(run.quiet().iter().all(|one| one.quiet), "{:?}", run.quiet());
    run.scissors.carried_bytes()
}

#[test]
fn a_body_for_several_receivers_travels_once_to_each_domain() {
    let one = bytes_on_paths(&[1]);
    assert!(one > 4_000_000 && one < 4_100_000, "{one} bytes for ten messages of 400 kB");
    for (receivers_in, bodies) in [(&[1, 1, 1, 1][..], 1), (&[1, 0, 2, 1, 2, 0, 2], 2), (&[0, 1, 0], 1)] {
        let all = bytes_on_paths(receivers_in);
        let excess = all.saturating_sub(bodies * one);
        assert!(excess < one / 50, "{all} bytes to {receivers_in:?}, where one receiver takes {one}");
    }
}

#[test]
fn a_body_for_several_receivers_takes_the_memory_of_one() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1, 1, 1], AMPLE_BYTES);
    let mut before = 0;
    for i in 0..40 {
        send_to(&mut from, &[0, 1, 2, 3], i as f64, &numbers(1_000_000, i));
        run.settle();
        assert!(to.iter_mut().all(|receiver| receive(receiver, 0).1 == numbers(1_000_000, i)));
        (0..5).for_each(|_| run.step());
        to.iter_mut().for_each(|receiver| assert!(!receiver.poll(0).unwrap()));
        run.settle();
        if i == 4 {
            before = run.worlds.iter().map(Domain::granted).sum();
        }
    }
    let memory = run.worlds.iter().map(Domain::granted).sum::<u64>();
    assert_eq!(memory, before, "the memory of later messages is that of earlier ones");
    assert!(run.worlds[1].granted() < 20 << 20, "8 MB for four take {} bytes", run.worlds[1].granted());
}

#[test]
fn values_of_every_shape_arrive_at_all_receivers_in_order_through_cuts() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1, 2, 1, 2], AMPLE_BYTES);
    let groups = [&[0, 1, 2, 3, 4][..], &[1], &[3, 0], &[0, 1], &[4, 2, 1], &[2]];
    let mut expected: Vec<Vec<(f64, Value)>> = vec![Vec::new(); to.len()];
    for (i, value) in all_shapes().iter().cycle().take(150).enumerate() {
        let group = groups[i % groups.len()];
        send_to(&mut from, group, i as f64, value);
        group.iter().for_each(|&channel| expected[channel].push((i as f64, value.clone())));
        if i % 5 == 0 {
            run.carriers[0].pass(&mut run.paths[0], run.now);
            run.carriers[i % 3].pass(&mut run.paths[i % 3], run.now);
            run.scissors.cut();
        }
        if i % 4 == 0 {
            run.step();
        }
    }
    run.settle();
    for (receiver, expected) in to.iter_mut().zip(expected) {
        for (time, value) in expected {
            let (header, came) = receive(receiver, 0);
            assert_eq!((header.timestamp(), came), (time, value));
        }
    }
    run.settle();
    assert!((0..to.len()).all(|channel| from.progress(channel).0 == from.progress(channel).1));
    assert!(run.heard.iter().all(Vec::is_empty), "{:?}", run.heard);
    assert!(run.quiet().iter().all(|one| one.quiet), "{:?}", run.quiet());
}

#[test]
fn a_loan_for_several_receivers_arrives_at_each() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1, 1], AMPLE_BYTES);
    let mut head = Vec::new();
    array_head(DType::UInt64, &[20_000], ArrayOrder::RowMajor, None, &mut head).unwrap();
    let Value::Array(array) = numbers(20_000, 9) else { unreachable!("numbers are an array") };
    for i in 0..20 {
        let mut loan = from.loan(160_000).unwrap();
        loan.bytes_mut().copy_from_slice(array.data());
        let body_len = ligament_wire::align_part(head.len() as u64) + 160_000;
        from.send_loan(&[0, 1, 2], HeaderWords::data(i as f64, None), loan, (&head, 1), body_len).unwrap();
        run.step();
    }
    run.settle();
    for receiver in &mut to {
        (0..20).for_each(|_| assert_eq!(receive(receiver, 0).1, numbers(20_000, 9)));
    }
    assert!(run.scissors.carried_bytes() < 20 * 170_000);
}

#[test]
fn a_receiver_that_does_not_receive_holds_up_no_other() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1, 1], BUDGET_BYTES);
    let sender = thread::spawn(move || {
        for i in 0..40 {
            send_to(&mut from, &[0, 1, 2], i as f64, &numbers(10_000, i));
        }
    });
    let mut idle = to.remove(1);
    // The budget of the idle receiver allows 13 messages. The others get all of these.
    for i in 0..40 {
        for receiver in &mut to {
            while !receiver.poll(0).unwrap() {
                run.step();
            }
            assert_eq!(receive(receiver, 0).1, numbers(10_000, i));
        }
        if i >= 12 {
            assert_eq!(receive(&mut idle, 0).1, numbers(10_000, i - 12));
        }
    }
    sender.join().unwrap();
    (28..40).for_each(|i| assert_eq!(receive(&mut idle, 0).1, numbers(10_000, i)));
}

#[test]
fn a_receiver_that_has_ended_does_not_keep_what_others_share_with_it() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1, 1], BUDGET_BYTES);
    send_to(&mut from, &[0, 1, 2], 0.0, &numbers(60_000, 0));
    run.settle();
    send_to(&mut from, &[0, 1, 2], 1.0, &numbers(60_000, 1));
    let mut first = to.remove(0);
    receive(&mut first, 0);
    first.end(false);
    drop(first);
    run.ends(1);
    for i in 2..60 {
        for receiver in &mut to {
            while !receiver.poll(0).unwrap() {
                run.step();
            }
            assert_eq!(receive(receiver, 0).1, numbers(60_000, i - 2));
        }
        // The sender's credit arrives.
        run.settle();
        send_to(&mut from, &[0, 1, 2], i as f64, &numbers(60_000, i));
        run.settle();
    }
    let memory = run.worlds.iter().map(Domain::granted).sum::<u64>();
    assert!(memory < 16 << 20, "what one of three does not receive takes {memory} bytes");
    assert!(run.quiet().iter().all(|one| one.quiet));
    let CarrierStage::During(side) = &run.carriers[1].stage else { panic!("the carrier is an endpoint") };
    assert!(side.bodies.is_empty());
}

/// Delivers a whole message to a carrier, as a path does.
fn deliver(carrier: &mut Logic<Line>, id: MessageId, bytes: &[u8]) {
    carrier.begin(0, id, bytes.len() as u64).unwrap();
    carrier.room(0, id, 0, bytes.len() as u32).copy_from_slice(bytes);
    carrier.deliver(0, id);
}

#[test]
fn references_and_their_body_arrive_in_any_order_and_receivers_end_in_between() {
    let value = numbers(1000, 4);
    let mut encoder = Encoder::new();
    let plan = encoder.plan(&ValueRef::Owned(&value)).unwrap();
    let mut body = shared::before_body(3).to_vec();
    body.resize(HEADER_BYTES + plan.body_len() as usize, 0);
    plan.write_body(&mut body[HEADER_BYTES..]);
    let body_id = MessageId { conduit: shared::BODIES, number: 1 };
    let reference = |conduit: u32| {
        let mut header = HeaderWords::data(0.0, None);
        header.set_body(plan.parts(), plan.body_len());
        header.set_carrier_flag(ligament_wire::flags::PLACED);
        header.set_conduit(conduit, 0);
        shared::reference(header, body_id)
    };
    // Each number is a reference of that receiver's conduit, or the body (3), or the end of receiver 1 (4).
    for order in [[0, 1, 2, 3, 4], [3, 4, 2, 1, 0], [1, 4, 0, 3, 2], [4, 1, 3, 0, 2], [1, 3, 4, 2, 0]] {
        let (mut run, _, mut to) = fanned_out(&[1, 1, 1], BUDGET_BYTES);
        let mut first = Some(to.remove(1));
        for event in order {
            match event {
                4 => {
                    first.take().unwrap().end(false);
                    run.ends(2);
                }
                3 => deliver(&mut run.carriers[1], body_id, &body),
                conduit => {
                    let id = MessageId { conduit, number: 1 };
                    deliver(&mut run.carriers[1], id, &reference(conduit));
                }
            }
            run.step();
        }
        assert!(to.iter_mut().all(|receiver| receive(receiver, 0).1 == value), "{order:?}");
        run.settle();
        let CarrierStage::During(side) = &run.carriers[1].stage else { panic!("{:?}", run.heard) };
        assert!(side.bodies.is_empty() && run.carriers[1].quiet().quiet, "{order:?}");
    }
}

#[test]
fn a_reference_to_a_body_of_another_domain_or_of_another_length_is_refused() {
    for (conduit, len) in [(shared::BODIES + 1, 8), (shared::BODIES, 9), (7, 8)] {
        let mut run = Run::attached(&[0, 1, 2], &[(0, 1, BUDGET_BYTES), (2, 1, BUDGET_BYTES)]);
        let mut header = HeaderWords::data(0.0, None);
        header.set_body(0, len);
        header.set_conduit(0, 0);
        let reference = shared::reference(header, MessageId { conduit, number: 1 });
        deliver(&mut run.carriers[1], MessageId { conduit: 0, number: 1 }, &reference);
        let mut body = shared::before_body(1).to_vec();
        body.extend([0; 8]);
        deliver(&mut run.carriers[1], MessageId { conduit: shared::BODIES, number: 1 }, &body);
        run.step();
        assert!(matches!(run.heard[1][..], [CarrierReport::Failed(_)]), "{conduit}: {:?}", run.heard);
    }
}

#[test]
fn messages_with_one_body_wait_for_the_last_of_them_unless_their_sender_is_lost() {
    let (mut run, mut from, mut to) = fanned_out(&[1, 1], AMPLE_BYTES);
    send_to(&mut from, &[0, 1], 0.0, &numbers(1000, 0));
    let Run { carriers, paths, .. } = &mut run;
    let CarrierStage::During(side) = &mut carriers[0].stage else { panic!("the carrier is an endpoint") };
    let mut arrived = Vec::new();
    side.endpoint.gather(&mut arrived).unwrap();
    assert_eq!(arrived, [0, 1]);
    // The entry for the second receiver is put back, as if its sender had not written it yet.
    side.arrived = vec![0];
    carriers[0].collect(&mut paths[0]);
    assert!(carriers[0].outgoing.is_empty() && !carriers[0].quiet().quiet);
    let CarrierStage::During(side) = &mut carriers[0].stage else { panic!("the carrier is an endpoint") };
    side.arrived = vec![1];
    carriers[0].collect(&mut paths[0]);
    assert_eq!(carriers[0].outgoing.len(), 3, "a body and two references");
    run.settle();
    assert!(to.iter_mut().all(|receiver| receive(receiver, 0).1 == numbers(1000, 0)));
    // The second entry never comes, and its receiver has ended: only the end of the first conduit follows.
    to.pop().unwrap().end(false);
    run.ends(2);
    run.settle();
    send_to(&mut from, &[0, 1], 0.0, &numbers(1000, 1));
    drop(from);
    let Run { carriers, paths, worlds, .. } = &mut run;
    let CarrierStage::During(side) = &mut carriers[0].stage else { panic!("the carrier is an endpoint") };
    side.endpoint.gather(&mut arrived).unwrap();
    side.endpoint.take_off(1);
    side.arrived = vec![0];
    carriers[0].collect(&mut paths[0]);
    assert!(carriers[0].outgoing.is_empty());
    worlds[0].tell(3, AgentNotice::PeerLost(EndpointId::new(0)));
    run.settle();
    assert_eq!(receive(&mut to[0], 0).1, numbers(1000, 1));
    assert!(receive(&mut to[0], 0).0.is_end());
}

#[test]
fn where_memory_is_short_a_shared_body_is_passed_on_in_pieces_to_each_receiver() {
    let mut run = Run::new(&[0, 1, 1], &[(0, 1, 1 << 30), (0, 2, 1 << 30)], AMPLE_BYTES);
    run.worlds[1].set_limit(12 << 20);
    run.attach(0);
    run.attach(1);
    let mut from = run.endpoint(0);
    send_to(&mut from, &[0, 1], 0.0, &numbers(5_000_000, 7));
    let receive_in_thread = |to: u32| {
        let world = run.worlds[1].clone();
        thread::spawn(move || receive(&mut world.endpoint(to), 0).1 == numbers(5_000_000, 7))
    };
    let receivers = [1, 2].map(receive_in_thread);
    while !receivers.iter().all(|receiver| receiver.is_finished()) {
        run.step();
        assert!(run.heard.iter().all(Vec::is_empty), "{:?}", run.heard);
        thread::yield_now();
    }
    assert!(receivers.into_iter().all(|receiver| receiver.join().unwrap()));
    run.settle();
    assert!(run.scissors.carried_bytes() < 41_000_000);
    assert!((0..2).all(|channel| from.progress(channel).0 == from.progress(channel).1));
}

/// Returns the number of mappings of slabs of this length (bytes) in this process.
fn mapped(bytes: u64) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ends = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
    };
    let slabs = maps.lines().filter(|line| line.contains("memfd:slab"));
    slabs.filter_map(ends).filter(|(from, to)| to - from == bytes).count()
}

/// Ends the run in one of three ways, while a message is arriving at the carrier of a domain.
fn end_in_midst(run: &mut Run, domain: usize, way: u32) {
    let carrier = run.domain_of.len() as u32;
    match way {
        0 => run.worlds[domain].tell(carrier, AgentNotice::RunEnds("somebody was killed".into())),
        1 => run.worlds[domain].agent_vanishes(),
        _ => run.carriers[domain].fail(fault!(CARRIER_FAILED, "something else failed")),
    }
    run.carriers[domain].let_go(true);
}

#[test]
fn what_goes_on_arriving_when_the_run_ends_is_written_nowhere_and_keeps_no_memory() {
    // No other test uses this length, so `mapped` counts only slabs of this test.
    const MESSAGE_BYTES: u64 = 41 << 20;
    for way in 0..3 {
        let mut run = Run::attached(&[0, 1], &[(0, 1, AMPLE_BYTES)]);
        let one = MessageId { conduit: 0, number: 0 };
        let into = &mut run.carriers[1];
        into.begin(0, one, MESSAGE_BYTES).unwrap();
        into.room(0, one, 0, 1 << 16).fill(1);
        let before = mapped(MESSAGE_BYTES.next_multiple_of(4 << 20));
        end_in_midst(&mut run, 1, way);
        let into = &mut run.carriers[1];
        for offset in [1 << 16, 4 << 20, MESSAGE_BYTES - (1 << 16)] {
            into.room(0, one, offset, 1 << 16).fill(2);
        }
        assert_eq!(mapped(MESSAGE_BYTES.next_multiple_of(4 << 20)), before - 1);
        into.deliver(0, one);
        assert!(run.heard[1].is_empty() && run.carriers[1].incoming.is_empty());
        // Messages that arrive from now on have no receiver.
        let next = MessageId { conduit: 0, number: 1 };
        run.carriers[1].begin(0, next, MESSAGE_BYTES).unwrap();
        run.carriers[1].room(0, next, 0, 1 << 16).fill(3);
    }
}

#[test]
fn what_goes_on_being_sent_when_the_run_ends_is_what_the_instance_sent() {
    for way in 0..3 {
        let mut run = Run::attached(&[0, 1], &[(0, 1, AMPLE_BYTES)]);
        let sent = numbers(1_100_000, 5);
        send(&mut run.endpoint(0), 0, 0.0, &sent);
        run.carriers[0].collect(&mut run.paths[0]);
        let keys: Vec<(DomainId, MessageId)> = run.carriers[0].outgoing.keys().copied().collect();
        let [(domain, one)] = keys[..] else { panic!("{keys:?}") };
        let domain = domain.number();
        end_in_midst(&mut run, 0, way);
        let mut slices = Vec::new();
        run.carriers[0].slices(domain, one, HEADER_BYTES as u64 + 64, 8_800_000, &mut slices);
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let Value::Array(array) = &sent else { unreachable!("numbers are an array") };
        assert!(bytes == array.data()[..], "the elements, from where the instance wrote them");
        run.carriers[0].release(domain, one);
        assert!(run.carriers[0].outgoing.is_empty());
    }
}
