//! Compares the short way of ordinary messages (`endpoint/ordinary.rs`) with the general way. A seed draws
//! each series of calls. The test plays the series in two domains of the same kind: in one domain ordinary
//! messages take the short way, in the other all messages take the general way. After each call it compares
//! everything that a user or an agent can see: results, values, headers, errors, counters, credit, entries in
//! the rings, and memory.
#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line, Sleep};
use ligament_shm::area::ChannelCount;
use ligament_shm::endpoint::{Contiguous, EmptySource};
use ligament_shm::ring::STAMPED_MASK;
use ligament_shm::status::now;
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::{
    array_head, flags, ArrayKind, ArrayOrder, ArrayRef, DType, Encoder, Header, HeaderWords, MessageKind,
    Value, ValueRef,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Numbers of elements of the arrays: for an entry, for blocks of several classes, and too large for an
/// ordinary message.
const COUNTS: [usize; 8] = [1, 4, 29, 128, 500, 1000, 8192, 9000];
/// Number of entries that are compared word by word.
const SLOTS: usize = 64;
/// Maximum size of a message, bytes. The largest array exceeds it.
const MESSAGE_LIMIT_BYTES: u64 = 8200 * 8;
/// Maximum number of bytes of other endpoints' memory that views may hold.
const VIEWS_LIMIT_BYTES: u64 = 40_000;

/// One call of a series.
#[derive(Debug, Clone)]
enum Call {
    Nothing { on: Vec<usize>, as_of: AsOf },
    Array { on: Vec<usize>, count: usize, by: By, as_of: AsOf },
    Burst { on: usize, count: usize, messages: usize },
    Receive { channel: usize, keep: bool },
    ReceiveInto { channel: usize, count: usize },
    Poll,
    LetGo,
}

/// The form in which an array is passed to `send`.
#[derive(Debug, Clone, Copy)]
enum By {
    Elements,
    Value,
    Loan,
}

/// The fields of a header beside its time.
#[derive(Debug, Clone, Copy)]
struct AsOf {
    overlay: bool,
    epoch: u16,
    ticks: bool,
    next: bool,
}

impl AsOf {
    fn header(self, time: f64) -> HeaderWords {
        let header = Header {
            kind: MessageKind::Data,
            timestamp: time,
            next_timestamp: self.next.then_some(time + 1.0),
            ticks: self.ticks.then_some(7),
            overlay: u32::from(self.overlay),
            epoch: self.epoch,
            ..Header::default()
        };
        header.into()
    }
}

fn as_of() -> impl Strategy<Value = AsOf> {
    let unusual = (any::<bool>(), 0..3u16, any::<bool>(), any::<bool>());
    let unusual = unusual.prop_map(|(overlay, epoch, ticks, next)| AsOf { overlay, epoch, ticks, next });
    let usual = any::<bool>().prop_map(|next| AsOf { overlay: false, epoch: 0, ticks: false, next });
    prop_oneof![8 => usual, 1 => unusual]
}

fn on() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![4 => Just(vec![0]), 4 => Just(vec![1]), 1 => Just(vec![0, 1]), 1 => Just(vec![2]),
        1 => Just(vec![0, 2])]
}

fn call() -> impl Strategy<Value = Call> {
    let count = || prop_oneof![4 => Just(128usize), 1 => proptest::sample::select(&COUNTS[..])];
    let by = prop_oneof![6 => Just(By::Elements), 1 => Just(By::Value), 1 => Just(By::Loan)];
    prop_oneof![
        2 => (on(), as_of()).prop_map(|(on, as_of)| Call::Nothing { on, as_of }),
        8 => (on(), count(), by, as_of())
            .prop_map(|(on, count, by, as_of)| Call::Array { on, count, by, as_of }),
        1 => (0..3usize, count(), 1..80usize)
            .prop_map(|(on, count, messages)| Call::Burst { on, count, messages }),
        8 => (0..3usize, any::<bool>()).prop_map(|(channel, keep)| Call::Receive { channel, keep }),
        8 => (0..3usize, count()).prop_map(|(channel, count)| Call::ReceiveInto { channel, count }),
        1 => Just(Call::Poll),
        1 => Just(Call::LetGo),
    ]
}

/// A domain in which a series is played: endpoint 0 sends to 1 on two channels, of which the second has a
/// small budget, and to 2 on a third.
struct Stage {
    domain: Domain,
    sender: Endpoint<Line>,
    receivers: [Endpoint<Line>; 2],
    /// Values that were received and are kept, each with the elements that it had when it arrived.
    kept: VecDeque<(Value, Vec<u64>)>,
    /// The last received value that is not kept. The next receive uses it again.
    value: Value,
    time: f64,
    /// The preamble of an array of each size.
    heads: Vec<(Vec<u8>, u64)>,
}

/// Returns the receiver of a channel (index in `Stage::receivers`), and the index of the channel there.
fn receiver_of(channel: usize) -> (usize, usize) {
    [(0, 0), (0, 1), (1, 0)][channel]
}

fn numbers(count: usize, time: f64) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ time.to_bits()).collect()
}

impl Stage {
    fn new(generally: bool) -> Stage {
        let conduits =
            [(1, 16 << 20), (1, 24_000), (2, 16 << 20)].map(|(to, budget)| Conduit { from: 0, to, budget });
        let domain = Domain::new(3, &conduits, 1 << 30);
        domain.limit_messages(MESSAGE_LIMIT_BYTES);
        domain.limit_views(VIEWS_LIMIT_BYTES);
        domain.let_sleep(Sleep::Never);
        let made = |me| {
            let mut endpoint = domain.endpoint(me);
            endpoint.set_generally(generally);
            // A wait ends at once, because the test has no thread that could end it.
            endpoint.set_interrupt_check(Box::new(|| true));
            endpoint
        };
        let (sender, receivers) = (made(0), [made(1), made(2)]);
        let heads = COUNTS.map(|count| {
            let mut head = Vec::new();
            let shape = [count as u64];
            let len = array_head(DType::UInt64, &shape, ArrayOrder::RowMajor, None, &mut head).unwrap();
            (head, len)
        });
        Stage {
            domain,
            sender,
            receivers,
            kept: VecDeque::new(),
            value: Value::None,
            time: 0.0,
            heads: heads.into(),
        }
    }

    /// Plays one call, and returns its result as text.
    fn play(&mut self, call: &Call) -> String {
        match *call {
            Call::Nothing { ref on, as_of } => {
                let header = self.header(on, as_of);
                said(self.sender.send(on, header, &EmptySource))
            }
            Call::Array { ref on, count, by, as_of } => said(self.send(on, count, by, as_of)),
            Call::Burst { on, count, messages } => {
                let usual = AsOf { overlay: false, epoch: 0, ticks: false, next: false };
                let sent = |_| said(self.send(&[on], count, By::Elements, usual));
                (0..messages).map(sent).collect()
            }
            Call::Receive { channel, keep } => self.receive(channel, keep),
            Call::ReceiveInto { channel, count } => self.receive_into(channel, count),
            Call::Poll => {
                let polled = self.receivers.each_mut().map(|endpoint| endpoint.poll(0));
                format!("{polled:?}")
            }
            Call::LetGo => self.let_go(),
        }
    }

    /// Returns the header of the next message on these channels, and announces its overlay to the receivers.
    fn header(&mut self, on: &[usize], as_of: AsOf) -> HeaderWords {
        self.time += 1.0;
        if as_of.overlay {
            let mut encoder = Encoder::new();
            let plan = encoder.plan(&ValueRef::Int(5)).unwrap();
            self.sender.announce_overlay(on, 1, &plan).unwrap();
        }
        as_of.header(self.time)
    }

    fn send(&mut self, on: &[usize], count: usize, by: By, as_of: AsOf) -> Result<(), ShmError> {
        let header = self.header(on, as_of);
        let data = numbers(count, self.time);
        let which = COUNTS.iter().position(|&each| each == count).unwrap();
        let ((head, len), number) = (&self.heads[which], which as u64 + 1);
        match by {
            By::Elements => {
                let data = bytemuck::cast_slice(&data);
                self.sender.send(on, header, &Contiguous { head, number, data })
            }
            By::Value => {
                let (mut encoder, shape) = (Encoder::new(), [count as u64]);
                let array = ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor);
                self.sender.send(on, header, &encoder.plan(&ValueRef::Array(array)).unwrap())
            }
            By::Loan => {
                let mut loan = self.sender.loan(8 * count as u64)?;
                loan.bytes_mut().copy_from_slice(bytemuck::cast_slice(&data));
                self.sender.send_loan(on, header, loan, (head, number), *len)
            }
        }
    }

    fn receive(&mut self, channel: usize, keep: bool) -> String {
        let (who, index) = receiver_of(channel);
        // The value of the last message is received into again, as programs do with a message that they have.
        let (mut header, mut value) = (HeaderWords::default(), std::mem::take(&mut self.value));
        match self.receivers[who].receive_to(index, Some(now()), &mut header, &mut value) {
            Err(error) => error.to_string(),
            Ok(()) => {
                let elements = elements(&value);
                let text = format!("{} {elements:?}", all_of(&header));
                if keep {
                    self.kept.push_back((value, elements))
                } else {
                    self.value = value
                }
                text
            }
        }
    }

    /// Receives an array as an instance does: as an ordinary message, or else as a view that is copied.
    fn receive_into(&mut self, channel: usize, count: usize) -> String {
        let (who, index) = receiver_of(channel);
        let (mut header, mut data) = (HeaderWords::default(), vec![0u64; count]);
        let fits = |kind: &ArrayKind| kind.is(DType::UInt64, &[count as u64], ArrayOrder::RowMajor);
        let into = bytemuck::cast_slice_mut(&mut data);
        if self.receivers[who].receive_ordinary_into(index, &mut header, fits, into) {
            return format!("{} {data:?}", all_of(&header));
        }
        assert!(data.iter().all(|&each| each == 0), "what does not come this way is not written");
        self.receive(channel, false)
    }

    /// Receives all messages that are left.
    fn receive_all(&mut self) -> String {
        let mut all = String::new();
        for channel in 0..3 {
            loop {
                let came = self.receive(channel, false);
                if came == ShmError::TimedOut.to_string() {
                    break;
                }
                all += &came;
            }
        }
        self.value = Value::None;
        all
    }

    fn let_go(&mut self) -> String {
        for (value, before) in self.kept.drain(..) {
            assert_eq!(elements(&value), before, "what is kept stays what it was");
        }
        String::new()
    }

    /// Returns all counts that the agent and the code can see, as text.
    fn seen(&mut self) -> String {
        let counted = [0, 1, 2].map(|me| {
            let status = self.domain.look(me);
            let bytes = (status.sent_bytes, status.received_bytes);
            (status.sent_messages, status.received_messages, bytes, status.time)
        });
        let passed = [0, 1, 2].map(|me| {
            let (status, (sent, received)) = (self.domain.look(me), self.domain.passed(me));
            // The counts of all channels of an endpoint add up to the counts of the endpoint.
            assert_eq!(sent.iter().map(|end| end.bytes).sum::<u64>(), status.sent_bytes);
            let of = |count: fn(&ChannelCount) -> u64| received.iter().map(count).sum::<u64>();
            assert_eq!(
                (of(|end| end.messages), of(|end| end.bytes)),
                (status.received_messages, status.received_bytes)
            );
            (sent, received)
        });
        let credits = [1, 2].map(|me| self.domain.credits(me));
        let sent: Vec<_> = self.sender.sent_on().collect();
        let received: Vec<Vec<_>> = self.receivers.iter().map(|each| each.received_from().collect()).collect();
        let memory = self.domain.granted();
        format!("{counted:?} {passed:?} {credits:?} {sent:?} {received:?} {memory}")
    }

    /// Returns the messages in the rings by channel and number. The places of their bodies are left out,
    /// because they depend on when views were dropped. The places of the entries are left out, because rings
    /// grow at different times.
    fn messages(&self) -> BTreeMap<(u32, u64), Vec<u64>> {
        let mut messages = BTreeMap::new();
        for slot in self.domain.written(0, SLOTS) {
            let header = HeaderWords(slot[..8].try_into().unwrap());
            if !header.is_data() {
                continue;
            }
            let used = if header.flags() & flags::PLACED != 0 {
                7
            } else {
                8 + (header.body_len() as usize).div_ceil(8)
            };
            let mut words = slot[..used].to_vec();
            words.iter_mut().skip(7).take(1).for_each(|word| *word &= STAMPED_MASK);
            messages.insert((header.conduit(), header.sequence()), words);
        }
        messages
    }
}

fn said(result: Result<(), ShmError>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "sent".into())
}

/// Returns all fields of a header that do not say where its body lies.
fn all_of(header: &HeaderWords) -> String {
    format!("{:?}", header.decode().unwrap().without_carrier())
}

fn elements(value: &Value) -> Vec<u64> {
    match value {
        Value::Array(array) => array.as_slice().expect("uint64, aligned").to_vec(),
        Value::None => Vec::new(),
        other => panic!("nothing or an array was sent, {other:?} came"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_mean_the_same(series in proptest::collection::vec(call(), 1..150)) {
        let mut stages = [Stage::new(false), Stage::new(true)];
        for (number, call) in series.iter().enumerate() {
            let [own, general] = stages.each_mut().map(|stage| stage.play(call));
            prop_assert_eq!(own, general, "call {}: {:?}", number, call);
            let [own, general] = stages.each_mut().map(Stage::seen);
            prop_assert_eq!(own, general, "after call {}: {:?}", number, call);
        }
        let [own, mut general] = stages.each_ref().map(Stage::messages);
        for (number, words) in own {
            let other = general.remove(&number).unwrap_or_else(|| words.clone());
            prop_assert_eq!(words, other, "message {:?}", number);
        }
        // In the end all messages are received, and no view holds memory.
        let [own, general] = stages.each_mut().map(Stage::receive_all);
        prop_assert_eq!(own, general, "what was left");
        for stage in &mut stages {
            stage.let_go();
            prop_assert_eq!(stage.receivers.each_mut().map(|endpoint| endpoint.pinned()), [0, 0]);
        }
    }
}

#[test]
fn views_hold_no_more_than_they_may_either_way() {
    for generally in [false, true] {
        let mut stage = Stage::new(generally);
        let as_of = AsOf { overlay: false, epoch: 0, ticks: false, next: false };
        for i in 0..30 {
            stage.play(&Call::Array { on: vec![0], count: 1000, by: By::Elements, as_of });
            stage.play(&Call::Receive { channel: 0, keep: true });
            let pinned = stage.receivers[0].pinned();
            assert!(
                pinned <= VIEWS_LIMIT_BYTES + 8 * 1000 + 64,
                "{pinned} after message {i}, generally: {generally}"
            );
        }
        stage.let_go();
    }
}

/// Returns the outcome of both ways for an entry that a wrong sender has written after a right one.
fn outcomes(second: Header) -> [String; 2] {
    [false, true].map(|generally| {
        let domain = Domain::new(2, &[Conduit { from: 0, to: 1, budget: 1 << 20 }], 1 << 30);
        let wrong = domain.wrong_sender(0, 64);
        let mut head = Vec::new();
        let body_len = array_head(DType::UInt8, &[1024], ArrayOrder::RowMajor, None, &mut head).unwrap();
        let mut body = vec![0, 0, head.len() as u64];
        head.resize(head.len().next_multiple_of(8), 0);
        body.extend(head.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
        let first = Header {
            kind: MessageKind::Data,
            carrier_flags: flags::PLACED,
            parts: 1,
            body_len,
            ..Header::default()
        };
        wrong.publish(0, 0, first.encode(), &body);
        let mut receiver = domain.endpoint(1);
        receiver.set_generally(generally);
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        let mut receive = || receiver.receive_to(0, Some(now() + 1_000_000), &mut header, &mut value);
        receive().unwrap();
        wrong.publish(0, 1, second.encode(), &[]);
        let second = receive();
        format!("{second:?} {:?} {:?}", domain.credits(1), domain.look(1).received_messages)
    })
}

proptest! {
    #[test]
    fn both_ways_refuse_the_same(
        placed in any::<bool>(), as_before in any::<bool>(), stream in any::<bool>(), conduit in 0..2u32,
        sequence in 0..3u64, parts in 0..3u16, epoch in 0..2u16,
        body_len in prop_oneof![Just(0u64), Just(1 << 18), 0..2048u64, any::<u64>()],
    ) {
        let mut carrier_flags = 0;
        for (flag, set) in [(flags::PLACED, placed), (flags::AS_BEFORE, as_before), (flags::STREAM, stream)] {
            carrier_flags |= if set { flag } else { 0 };
        }
        let body_len = body_len & STAMPED_MASK;
        let second =
            Header {
                kind: MessageKind::Data, carrier_flags, conduit, sequence, parts, epoch, body_len,
                ..Header::default()
            };
        let [own, general] = outcomes(second);
        prop_assert_eq!(own, general, "{:?}", second);
    }
}
