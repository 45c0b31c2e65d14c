//! Tests of both ends of a trunk's circuits, with queues between them.

use super::*;

/// A message or a credit of one relay that the other relay has not received yet.
enum RelayWord {
    Message(u32, Vec<u8>),
    Credit(u32, u64),
}

/// The two ends of a trunk: the relay that opens circuits, and the other relay.
struct Trunk {
    ends: [Circuits; 2],
    said: [VecDeque<RelayWord>; 2],
}

impl Trunk {
    fn new() -> Trunk {
        Trunk { ends: [Circuits::new(true), Circuits::new(false)], said: Default::default() }
    }

    fn say(&mut self, from: usize, circuit: u32, message: Vec<u8>) {
        self.said[from].push_back(RelayWord::Message(circuit, message));
    }

    fn open(&mut self) -> u32 {
        let (circuit, message) = self.ends[0].open().unwrap();
        self.say(0, circuit, message);
        circuit
    }

    /// Sends as many of these bytes as there is room for. Returns their number.
    fn send(&mut self, from: usize, circuit: u32, bytes: &[u8]) -> usize {
        let some = bytes.len().min(self.ends[from].room(circuit));
        if some > 0 {
            let (message, _) = self.ends[from].send(circuit, &bytes[..some]);
            self.say(from, circuit, message);
        }
        some
    }

    /// Delivers one message or credit to the other end.
    fn hear(&mut self, from: usize) -> Option<CircuitEvent> {
        let to = 1 - from;
        match self.said[from].pop_front()? {
            RelayWord::Credit(circuit, bytes) => {
                self.ends[to].credit(circuit, bytes).unwrap();
                self.settle(to, circuit);
                Some(CircuitEvent::Nothing)
            }
            RelayWord::Message(circuit, message) => {
                self.ends[to].begin(circuit, message.len() as u64).unwrap();
                let came = self.ends[to].deliver(circuit, message).unwrap();
                if let CircuitEvent::BrokenOff(Some(answer)) = &came {
                    self.say(to, circuit, answer.clone());
                }
                self.settle(to, circuit);
                Some(came)
            }
        }
    }

    fn hear_all(&mut self) {
        while self.hear(0).is_some() || self.hear(1).is_some() {}
    }

    /// Passes on at most `most` bytes.
    fn take(&mut self, at: usize, circuit: u32, most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(front) = self.ends[at].front(circuit).filter(|_| all.len() < most) {
            let some = front.len().min(most - all.len());
            all.extend_from_slice(&front[..some]);
            self.ends[at].took(circuit, some);
        }
        self.settle(at, circuit);
        all
    }

    fn settle(&mut self, at: usize, circuit: u32) {
        self.ends[at].forget_if_over(circuit);
        if let Some(bytes) = self.ends[at].credit_due(circuit) {
            self.said[at].push_back(RelayWord::Credit(circuit, bytes));
        }
    }

    fn end(&mut self, from: usize, circuit: u32) {
        let message = self.ends[from].end(circuit);
        self.say(from, circuit, message);
        self.settle(from, circuit);
    }

    fn break_off(&mut self, from: usize, circuit: u32) {
        if let Some(message) = self.ends[from].break_off(circuit) {
            self.say(from, circuit, message);
        }
        self.settle(from, circuit);
    }
}

#[test]
fn bytes_come_as_they_were_sent_and_an_ended_circuit_makes_room_for_another() {
    let mut trunk = Trunk::new();
    for _ in 0..3 {
        let circuit = trunk.open();
        assert_eq!(circuit, 0);
        assert_eq!(trunk.hear(0), Some(CircuitEvent::Opened));
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
        let first = trunk.send(0, circuit, &bytes);
        assert_eq!(first, MAX_MESSAGE_BYTES - 1);
        assert_eq!(trunk.send(0, circuit, &bytes[first..]), bytes.len() - first);
        assert_eq!(trunk.send(1, circuit, b"answer"), 6);
        trunk.end(0, circuit);
        trunk.hear_all();
        assert!(!trunk.ends[1].has_ended(circuit), "not before all is passed on");
        let mut came = trunk.take(1, circuit, 70_001);
        came.extend(trunk.take(1, circuit, usize::MAX));
        assert!(came == bytes);
        assert!(trunk.ends[1].has_ended(circuit) && !trunk.ends[0].has_ended(circuit));
        trunk.end(1, circuit);
        trunk.hear_all();
        assert_eq!(trunk.take(0, circuit, usize::MAX), b"answer");
        trunk.hear_all();
        assert_eq!(trunk.ends.each_ref().map(Circuits::len), [0, 0]);
        assert_eq!(trunk.ends.each_ref().map(Circuits::kept), [0, 0]);
    }
}

#[test]
fn a_circuit_that_is_not_read_has_little_under_way_and_the_others_have_much() {
    let mut trunk = Trunk::new();
    let (still, flows) = (trunk.open(), trunk.open());
    let bytes = vec![7; MAX_MESSAGE_BYTES];
    let (mut sent, mut round) = (0, 0);
    for _ in 0..12 {
        while trunk.send(0, still, &bytes) > 0 {}
        round = std::iter::from_fn(|| Some(trunk.send(0, flows, &bytes)).filter(|&sent| sent > 0)).sum();
        sent += round;
        trunk.hear_all();
        trunk.take(1, flows, usize::MAX);
        trunk.hear_all();
    }
    assert!(trunk.ends[1].kept() <= INITIAL_CREDIT_BYTES, "{}", trunk.ends[1].kept());
    assert!(round > 12 << 20 && sent > round, "{round} in a round trip");
}

#[test]
fn however_many_stand_still_all_together_are_bounded_and_each_may_send_something() {
    let mut trunk = Trunk::new();
    let bytes = vec![7; MAX_MESSAGE_BYTES];
    let all: Vec<u32> = (0..MAX_CIRCUITS).map(|_| trunk.open()).collect();
    assert!(trunk.ends[0].open().is_none(), "there are enough");
    for &circuit in &all {
        assert!(trunk.send(0, circuit, &bytes) > 0);
        while trunk.send(0, circuit, &bytes) > 0 {}
    }
    trunk.hear_all();
    assert!(
        trunk.ends[1].kept() <= MAX_UNACKNOWLEDGED_BYTES + u64::from(MAX_CIRCUITS) * MIN_CIRCUIT_CREDIT_BYTES
    );
    // A circuit that has little credit continues, even if a part of its credit was not reported yet.
    let last = all[all.len() - 1];
    for _ in 0..100 {
        assert!(trunk.take(1, last, 1 << 20).len() > 100);
        trunk.hear_all();
        assert!(trunk.send(0, last, &[7; 700]) > 0);
        while trunk.send(0, last, &[7; 700]) > 0 {}
        trunk.hear_all();
    }
}

#[test]
fn small_parts_of_something_large_are_known() {
    let mut trunk = Trunk::new();
    let circuit = trunk.open();
    assert!(!trunk.ends[0].send(circuit, &[7; 16 << 10]).1);
    assert!(trunk.ends[0].send(circuit, &[7; 100]).1);
}

#[test]
fn what_is_broken_off_is_answered_and_costs_the_next_one_nothing() {
    let mut trunk = Trunk::new();
    for (from, round) in [(0, 1), (1, 2), (0, 3)] {
        let circuit = trunk.open();
        assert_eq!(circuit, 0, "round {round}");
        trunk.hear_all();
        let bytes = vec![7; MAX_MESSAGE_BYTES];
        while trunk.send(1 - from, circuit, &bytes) > 0 {}
        trunk.hear(1 - from);
        trunk.break_off(from, circuit);
        assert_eq!(trunk.ends[from].kept(), 0);
        trunk.hear_all();
        assert_eq!(trunk.ends.each_ref().map(Circuits::len), [0, 0], "round {round}");
        assert_eq!(trunk.ends.each_ref().map(|end| end.under_way), [0, 0], "all was credited");
    }
}

#[test]
fn a_circuit_is_not_opened_anew_while_the_far_relay_still_has_something_of_it() {
    let mut trunk = Trunk::new();
    let circuit = trunk.open();
    assert_eq!(trunk.send(0, circuit, b"not passed on yet"), 17);
    trunk.end(0, circuit);
    trunk.hear_all();
    trunk.end(1, circuit);
    trunk.hear_all();
    assert_ne!(trunk.open(), circuit);
    trunk.hear_all();
    assert_eq!(trunk.take(1, circuit, usize::MAX), b"not passed on yet");
    trunk.hear_all();
    assert_eq!(trunk.open(), circuit);
}

#[test]
fn one_that_is_broken_off_after_its_end_does_not_break_the_next_one_off() {
    let mut trunk = Trunk::new();
    let circuit = trunk.open();
    trunk.hear_all();
    // Both relays send their end at once. Then relay 1, which has not received the end, breaks the circuit
    // off.
    trunk.end(1, circuit);
    trunk.end(0, circuit);
    trunk.break_off(1, circuit);
    trunk.hear(1);
    assert_eq!(trunk.open(), circuit, "it is free again");
    assert_eq!(trunk.hear(1), Some(CircuitEvent::Nothing));
    trunk.hear_all();
    assert!(trunk.ends[0].room(circuit) > 0 && trunk.ends[1].room(circuit) > 0);
    assert_eq!(trunk.ends.each_ref().map(Circuits::len), [1, 1]);
}

#[test]
fn the_end_of_one_and_the_beginning_of_the_next_may_come_together() {
    for breaks_off in [false, true] {
        let mut trunk = Trunk::new();
        let circuit = trunk.open();
        trunk.hear_all();
        trunk.end(1, circuit);
        trunk.hear_all();
        if breaks_off {
            trunk.break_off(0, circuit)
        } else {
            trunk.end(0, circuit)
        }
        assert_eq!(trunk.open(), circuit, "it is free at once");
        let here = &mut trunk.ends[1];
        let mut came = None;
        for said in trunk.said[0].drain(..) {
            let RelayWord::Message(circuit, message) = said else { continue };
            here.begin(circuit, message.len() as u64).unwrap();
            came = Some(here.deliver(circuit, message).unwrap());
        }
        assert_eq!(came, Some(CircuitEvent::Opened));
        assert_eq!((here.len(), here.kept()), (1, 0));
        assert!(here.room(circuit) > 0);
    }
}

#[test]
fn whoever_breaks_the_rules_is_found_out() {
    let opened = || {
        let mut here = Circuits::new(false);
        here.begin(5, 1).unwrap();
        assert_eq!(here.deliver(5, vec![OPEN]), Ok(CircuitEvent::Opened));
        here
    };
    let future = [&[RESET][..], &2_u64.to_le_bytes()].concat();
    for (circuit, message) in [
        (5, vec![OPEN]),
        (6, vec![DATA, 1]),
        (6, vec![END]),
        (5, vec![DATA]),
        (5, vec![END, 1]),
        (5, vec![RESET]),
        (5, future),
        (5, vec![0]),
        (6, vec![OPEN, 0]),
        (5, vec![9; 100]),
    ] {
        let mut here = opened();
        here.begin(circuit, message.len() as u64).unwrap();
        assert!(here.deliver(circuit, message.clone()).is_err(), "{circuit} {message:?}");
    }
    let mut here = opened();
    here.begin(5, 1).unwrap();
    here.deliver(5, vec![END]).unwrap();
    here.begin(5, 2).unwrap();
    assert!(here.deliver(5, vec![DATA, 1]).is_err(), "nothing comes after the end");
    let mut dials = Circuits::new(true);
    dials.begin(0, 1).unwrap();
    assert!(dials.deliver(0, vec![OPEN]).is_err(), "only who dials opens");
    // The circuit was never opened. Its number would otherwise be free twice.
    let mut dials = Circuits::new(true);
    let never = [&[RESET][..], &0_u64.to_le_bytes()].concat();
    dials.begin(1, never.len() as u64).unwrap();
    assert!(dials.deliver(1, never).is_err(), "it was never opened");
    for (circuit, total) in
        [(MAX_CIRCUITS, 1), (u32::MAX, 1), (5, 0), (5, MAX_MESSAGE_BYTES as u64 + 1), (5, u64::MAX)]
    {
        assert!(opened().begin(circuit, total).is_err(), "{circuit} {total}");
    }
    let mut here = opened();
    here.send(5, &[7; 100]);
    assert!(here.credit(6, 1).is_err() && here.credit(5, 10_000).is_err());
}

#[test]
fn who_sends_without_credit_is_stopped_before_memory_is() {
    let mut here = Circuits::new(false);
    here.begin(0, 1).unwrap();
    here.deliver(0, vec![OPEN]).unwrap();
    let mut came = 0;
    while here.begin(0, MAX_MESSAGE_BYTES as u64).is_ok() {
        here.deliver(0, vec![DATA; MAX_MESSAGE_BYTES]).unwrap();
        came += MAX_MESSAGE_BYTES;
        assert!(came < 128 << 20);
    }
    // Empty messages cost credit, too.
    let mut here = Circuits::new(false);
    let many = (0..10_000_000).take_while(|_| here.begin(0, 1).is_ok()).count();
    assert!(many < 1_000_000, "{many}");
}

#[test]
fn whatever_the_order_of_things_every_circuit_is_over_in_the_end() {
    for seed in 0..200_u64 {
        let mut dice = seed;
        let mut roll = |below: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) as usize % below
        };
        let mut trunk = Trunk::new();
        let mut ended = [BTreeSet::new(), BTreeSet::new()];
        let mut gone = [BTreeSet::new(), BTreeSet::new()];
        let mut live: Vec<u32> = Vec::new();
        for _ in 0..600 {
            let (side, one) = (roll(2), roll(live.len().max(1)));
            match (roll(8), live.get(one).copied()) {
                (0, _) if live.len() < 6 => {
                    let circuit = trunk.open();
                    assert!(!live.contains(&circuit));
                    (0..2).for_each(|side| {
                        ended[side].remove(&circuit);
                        gone[side].remove(&circuit);
                    });
                    live.push(circuit);
                }
                (1 | 2, Some(circuit)) => drop(trunk.send(side, circuit, &vec![7; 1 + roll(90_000)])),
                (3, Some(circuit)) => drop(trunk.take(side, circuit, roll(90_000))),
                // The other end learns of the circuit's end only by this message.
                (4, Some(circuit)) if trunk.ends[side].room(circuit) > 0 && ended[side].insert(circuit) => {
                    trunk.end(side, circuit);
                }
                (5, Some(circuit)) if roll(4) == 0 && gone[side].insert(circuit) => {
                    trunk.break_off(side, circuit);
                }
                _ => drop(trunk.hear(side)),
            }
            live.retain(|circuit| trunk.ends[0].slots[circuit].lives);
        }
        for _ in 0..3 {
            for &circuit in &live {
                (0..2).for_each(|side| trunk.break_off(side, circuit));
            }
            trunk.hear_all();
            for circuit in 0..6 {
                (0..2).for_each(|side| drop(trunk.take(side, circuit, usize::MAX)));
            }
            trunk.hear_all();
        }
        assert_eq!(trunk.ends.each_ref().map(Circuits::len), [0, 0], "seed {seed}");
        assert_eq!(trunk.ends.each_ref().map(Circuits::kept), [0, 0], "seed {seed}");
        assert_eq!(trunk.ends.each_ref().map(|end| end.under_way), [0, 0], "seed {seed}");
    }
}
