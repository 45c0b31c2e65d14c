//! Cuts (`endpoint/cut.rs`), drawn by a seed: two endpoints send, receive and save in any order. At the end
//! each message is in exactly one place: received before the save, under way, or sent again.
#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line};
use ligament_shm::endpoint::{ChannelRemainder, Contiguous, CutContents, EndedCut, MessageUnderWay};
use ligament_shm::Endpoint;
use ligament_wire::{array_head, ArrayOrder, Bytes, ConduitEnd, DType, HeaderWords, Value};
use proptest::prelude::*;

/// Channels: two from endpoint 0 to 1, one back.
const CONDUITS: [(u32, u32); 3] = [(0, 1), (0, 1), (1, 0)];
/// Numbers of elements of a message: none, in an entry, in a block.
const COUNTS: [usize; 3] = [0, 3, 500];
/// Budget of a channel, bytes.
const BUDGET_BYTES: u64 = 1 << 20;
const MOMENT: f64 = 5.0;

#[derive(Debug, Clone, Copy)]
enum Step {
    Send { channel: usize, count: usize },
    Receive { channel: usize },
    Save { endpoint: usize },
    End { channel: usize },
}

/// Number of messages of each channel.
type Counts = [u64; 3];

struct TwoEndpoints {
    endpoints: [Endpoint<Line>; 2],
    sent: Counts,
    received: Counts,
    ended: [bool; 3],
    /// For each endpoint at its save: the numbers of sent and received messages.
    saved: [Option<(Counts, Counts, [bool; 3])>; 2],
    cuts: [Vec<EndedCut>; 2],
    /// The messages under way that `take_under_way` has returned.
    under_way: [Vec<MessageUnderWay>; 2],
}

/// Returns the sender and the receiver of a channel, each with its index there.
fn ends_of(channel: usize) -> ((usize, usize), (usize, usize)) {
    [((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (0, 0))][channel]
}

/// Returns the channel whose index at its receiver is this one.
fn channel_of(receiver: usize, index: usize) -> usize {
    (0..3).find(|&channel| ends_of(channel).1 == (receiver, index)).expect("a channel")
}

fn elements(number: u64, count: usize) -> Vec<u64> {
    (0..count as u64).map(|at| number * 1000 + at).collect()
}

fn number_in(value: &Value) -> Option<u64> {
    match value {
        Value::Array(array) => array.as_slice::<u64>()?.first().map(|first| first / 1000),
        _ => None,
    }
}

impl TwoEndpoints {
    fn new() -> TwoEndpoints {
        let conduits = CONDUITS.map(|(from, to)| Conduit { from, to, budget: BUDGET_BYTES });
        let domain = Domain::new(2, &conduits, 1 << 30);
        TwoEndpoints {
            endpoints: [domain.endpoint(0), domain.endpoint(1)],
            sent: [0; 3],
            received: [0; 3],
            ended: [false; 3],
            saved: [None, None],
            cuts: [Vec::new(), Vec::new()],
            under_way: [Vec::new(), Vec::new()],
        }
    }

    fn send(&mut self, channel: usize, count: usize) {
        if self.ended[channel] {
            return;
        }
        let (sender, index) = ends_of(channel).0;
        let number = self.sent[channel];
        let header = HeaderWords::data(number as f64, None);
        let data = elements(number, count);
        let (mut head, shape) = (Vec::new(), [count as u64]);
        array_head(DType::UInt64, &shape, ArrayOrder::RowMajor, None, &mut head).expect("a head");
        let source = Contiguous { head: &head, number: count as u64 + 1, data: bytemuck::cast_slice(&data) };
        self.endpoints[sender].send(&[index], header, &source).expect("there is room");
        self.sent[channel] += 1;
    }

    fn receive(&mut self, channel: usize) -> bool {
        let (receiver, index) = ends_of(channel).1;
        if !self.endpoints[receiver].poll(index).expect("alive")
            || self.endpoints[receiver].next_is_end(index) == Some(true)
        {
            return false;
        }
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        self.endpoints[receiver].receive_to(index, None, &mut header, &mut value).expect("it is here");
        assert_eq!(header.timestamp(), self.received[channel] as f64, "channel {channel}: none lost or twice");
        if let Some(number) = number_in(&value) {
            assert_eq!(number, self.received[channel]);
        }
        self.received[channel] += 1;
        true
    }

    /// Sends a message without a value on channel 0.
    fn send_no_value(&mut self) {
        let header = HeaderWords::data(self.sent[0] as f64, None);
        let source = Contiguous { head: &[], number: 0, data: &[] };
        self.endpoints[0].send(&[0], header, &source).expect("there is room");
        self.sent[0] += 1;
    }

    /// Receives a message of channel 0 that has come and was not asked for, so it may take the short way, and
    /// returns its time.
    fn receive_at_once(&mut self) -> f64 {
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        self.endpoints[1].receive_to(0, None, &mut header, &mut value).expect("it is here");
        header.timestamp()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send { channel, count } => self.send(channel, count),
            Step::Receive { channel } => {
                self.receive(channel);
            }
            Step::Save { endpoint } if self.saved[endpoint].is_none() => {
                self.endpoints[endpoint].begin_cut(MOMENT).expect("alive");
                self.saved[endpoint] = Some((self.sent, self.received, self.ended));
            }
            Step::Save { .. } => {}
            Step::End { channel } if !self.ended[channel] => {
                let (sender, index) = ends_of(channel).0;
                self.endpoints[sender].end_channel(index, ConduitEnd::Done).expect("alive");
                self.ended[channel] = true;
            }
            Step::End { .. } => {}
        }
        for endpoint in 0..2 {
            self.cuts[endpoint].extend(self.endpoints[endpoint].ended_cuts().expect("alive"));
            for (moment, messages) in self.endpoints[endpoint].take_under_way() {
                assert!(moment == MOMENT && self.cuts[endpoint].is_empty());
                self.under_way[endpoint].extend(messages);
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3usize, proptest::sample::select(&COUNTS[..]))
            .prop_map(|(channel, count)| Step::Send { channel, count }),
        8 => (0..3usize).prop_map(|channel| Step::Receive { channel }),
        1 => (0..2usize).prop_map(|endpoint| Step::Save { endpoint }),
        1 => (0..3usize).prop_map(|channel| Step::End { channel }),
    ]
}

/// Plays the steps until both endpoints have saved, and returns two endpoints that go on from there.
fn resumed_after(mut pair: TwoEndpoints, steps: &[Step]) -> TwoEndpoints {
    steps.iter().for_each(|&one| pair.step(one));
    (0..2).for_each(|endpoint| pair.step(Step::Save { endpoint }));
    let saved = pair.saved.map(|saved| saved.expect("both have saved"));
    let mut resumed = TwoEndpoints::new();
    for receiver in 0..2 {
        assert_eq!(pair.cuts[receiver].len(), 1, "the marks have come");
        let contents = pair.cuts[receiver][0].contents.take().expect("both save at one moment");
        let CutContents { under_way, dropped } = contents;
        let under_way = [std::mem::take(&mut pair.under_way[receiver]), under_way].concat();
        for index in 0..(2 - receiver.abs_diff(1)) {
            let channel = channel_of(receiver, index);
            let ((sent, ..), (_, received, _)) = (saved[ends_of(channel).0 .0], saved[receiver]);
            let (sent, received) = (sent[channel], received[channel]);
            let mut remainder = ChannelRemainder::default();
            for one in under_way.iter().filter(|one| one.channel == index) {
                let body = [&one.head[..], &vec![0; one.zeros], &one.parts].concat();
                assert_eq!(body.len() as u64, one.header.body_len);
                remainder.under_way.push((one.header, Bytes::from(body), None));
            }
            remainder.dropped = dropped.iter().filter(|one| one.0 == index).map(|one| one.1).sum();
            assert_eq!(remainder.under_way.len() as u64, sent.saturating_sub(received), "channel {channel}");
            // A sender that had ended sends nothing again.
            if !saved[ends_of(channel).0 .0].2[channel] {
                assert_eq!(remainder.dropped, received.saturating_sub(sent), "channel {channel}");
            }
            resumed.endpoints[receiver].restore_channel(index, remainder);
            (resumed.sent[channel], resumed.received[channel]) = (sent, received);
        }
    }
    // A sender that had ended a channel ends it once more, and sends nothing on it.
    for channel in (0..3).filter(|&channel| saved[ends_of(channel).0 .0].2[channel]) {
        resumed.step(Step::End { channel });
    }
    resumed
}

/// Plays steps, resumes, plays further steps, and resumes once more.
fn play(steps: &[Step], further: &[Step]) {
    let resumed = resumed_after(TwoEndpoints::new(), steps);
    let mut resumed = resumed_after(resumed, further);
    for channel in 0..3 {
        let ended = resumed.ended[channel];
        let goal = resumed.sent[channel].max(resumed.received[channel]) + u64::from(!ended) * 4;
        while !ended && resumed.sent[channel] < goal {
            resumed.send(channel, COUNTS[resumed.sent[channel] as usize % COUNTS.len()]);
        }
        resumed.step(Step::End { channel });
        while resumed.receive(channel) {}
        assert_eq!(resumed.received[channel], goal, "channel {channel}");
        let (receiver, index) = ends_of(channel).1;
        assert_eq!(resumed.endpoints[receiver].next_is_end(index), Some(true), "and then it ends, once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn each_message_is_received_once(
        steps in proptest::collection::vec(step(), 0..60),
        further in proptest::collection::vec(step(), 0..60),
    ) {
        play(&steps, &further);
    }
}

#[test]
fn messages_that_are_still_to_be_dropped_at_a_mark_are_dropped_again() {
    // The receiver saves before its sender's mark comes, or after it, and has one message to drop at the mark.
    for saves_late in [false, true] {
        let mut pair = TwoEndpoints::new();
        pair.endpoints[1].restore_channel(0, ChannelRemainder { dropped: 2, ..ChannelRemainder::default() });
        pair.received[0] = 2;
        pair.send(0, 0);
        let savers = if saves_late { [0, 1] } else { [1, 0] };
        savers.iter().for_each(|&endpoint| pair.step(Step::Save { endpoint }));
        let contents = pair.cuts[1][0].contents.take().expect("both save at one moment");
        assert_eq!(contents.dropped, [(0, 1)]);
        assert!(contents.under_way.is_empty());
    }
}

#[test]
fn a_cut_that_a_sender_passes_over_is_void() {
    let mut pair = TwoEndpoints::new();
    pair.endpoints[1].begin_cut(1.0).expect("alive");
    assert!(pair.endpoints[1].ended_cuts().expect("alive").is_empty());
    pair.endpoints[0].begin_cut(2.0).expect("alive");
    let [void] = pair.endpoints[1].ended_cuts().expect("alive").try_into().expect("one cut");
    assert!(void.moment == 1.0 && void.contents.is_none());
    // The one that comes late finds the mark of the later moment, and saves at that.
    pair.endpoints[1].begin_cut(2.0).expect("alive");
    let [whole] = pair.endpoints[1].ended_cuts().expect("alive").try_into().expect("one cut");
    assert!(whole.moment == 2.0 && whole.contents.is_some());
    let [whole] = pair.endpoints[0].ended_cuts().expect("alive").try_into().expect("one cut");
    assert!(whole.moment == 2.0 && whole.contents.is_some());
}

#[test]
fn a_cut_is_void_if_its_sender_has_passed_it_over_before() {
    let mut pair = TwoEndpoints::new();
    pair.endpoints[0].begin_cut(2.0).expect("alive");
    assert!(pair.endpoints[1].ended_cuts().expect("alive").is_empty());
    pair.endpoints[1].begin_cut(1.0).expect("alive");
    let [void] = pair.endpoints[1].ended_cuts().expect("alive").try_into().expect("one cut");
    assert!(void.moment == 1.0 && void.contents.is_none());
}

#[test]
fn messages_that_a_resumed_code_need_not_receive_count_as_received() {
    let mut pair = TwoEndpoints::new();
    let [_, receiver] = &mut pair.endpoints;
    receiver.restore_channel(0, ChannelRemainder { dropped: 2, ..ChannelRemainder::default() });
    (0..3).for_each(|_| pair.send(0, 0));
    assert_eq!(pair.endpoints[1].received_from().next(), Some((0, 2)));
    pair.received[0] = 2;
    assert!(pair.receive(0));
    assert_eq!(pair.endpoints[1].received_from().next(), Some((0, 3)));
}

#[test]
fn a_message_that_is_received_at_once_is_under_way_at_an_open_cut() {
    let mut pair = TwoEndpoints::new();
    pair.send_no_value();
    assert_eq!(pair.receive_at_once(), 0.0);
    pair.endpoints[1].begin_cut(MOMENT).expect("alive");
    pair.send_no_value();
    assert_eq!(pair.receive_at_once(), 1.0);
    pair.endpoints[0].begin_cut(MOMENT).expect("alive");
    let [cut] = pair.endpoints[1].ended_cuts().expect("alive").try_into().expect("one cut");
    let under_way = cut.contents.expect("both save at one moment").under_way;
    let times: Vec<f64> = under_way.iter().map(|one| one.header.timestamp).collect();
    assert_eq!(times, [1.0]);
}

#[test]
fn a_message_that_comes_again_is_dropped_although_it_is_received_at_once() {
    let mut pair = TwoEndpoints::new();
    pair.endpoints[1].restore_channel(0, ChannelRemainder { dropped: 2, ..ChannelRemainder::default() });
    // The ring is open, so the short way is not shut for another reason.
    pair.send(1, 0);
    assert!(pair.receive(1));
    (0..4).for_each(|_| pair.send_no_value());
    assert_eq!((pair.receive_at_once(), pair.receive_at_once()), (2.0, 3.0));
}

#[test]
fn a_cut_does_not_wait_for_a_sender_that_has_ended() {
    let mut pair = TwoEndpoints::new();
    pair.endpoints[1].begin_cut(MOMENT).expect("alive");
    (0..2).for_each(|channel| pair.step(Step::End { channel }));
    let [cut] = pair.cuts[1].as_slice() else { panic!("one cut") };
    assert!(cut.contents.is_some());
}

#[test]
fn an_end_is_not_dropped_in_place_of_a_message() {
    let mut pair = TwoEndpoints::new();
    pair.endpoints[1].restore_channel(0, ChannelRemainder { dropped: 2, ..ChannelRemainder::default() });
    pair.step(Step::End { channel: 0 });
    assert!(pair.endpoints[1].poll(0).expect("alive"));
    assert_eq!(pair.endpoints[1].next_is_end(0), Some(true));
}
