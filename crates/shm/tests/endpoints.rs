//! Tests of endpoints without an agent and without processes: order, completeness, credit, views, loans,
//! streaming, and the end of every wait.

#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line, Sleep};
use ligament_shm::endpoint::{AgentNotice, Contiguous};
use ligament_shm::ring::ENTRY_BYTES;
use ligament_shm::status::{now, EndpointActivity};
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::{
    array_head, ArrayKind, ArrayOrder, ArrayRef, ConduitEnd, DType, Encoder, EndpointId, Header, HeaderWords,
    MessageKind, Value, ValueRef,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::Duration;

const AMPLE_BUDGET_BYTES: u64 = 64 << 20;
const AMPLE_BYTES: u64 = 8 << 30;

fn one_way(budget: u64, limit: u64) -> Domain {
    Domain::new(2, &[Conduit { from: 0, to: 1, budget }], limit)
}

fn send(endpoint: &mut Endpoint<Line>, to: &[usize], time: f64, value: &ValueRef<'_>) -> Result<(), ShmError> {
    let mut encoder = Encoder::new();
    let header = Header { kind: MessageKind::Data, timestamp: time, ..Header::default() };
    endpoint.send(to, header.into(), &encoder.plan(value).unwrap())
}

/// Returns true if the next message of a channel is the end of the channel.
fn next_is_end(endpoint: &mut Endpoint<Line>, channel: usize) -> bool {
    let (mut header, mut value) = (HeaderWords::default(), Value::None);
    endpoint.receive_to(channel, Some(now() + 60_000_000_000), &mut header, &mut value).unwrap();
    header.is_end()
}

fn receive(endpoint: &mut Endpoint<Line>, channel: usize) -> (f64, Value) {
    let deadline = Some(now() + 60_000_000_000);
    let (mut header, mut value) = (HeaderWords::default(), Value::None);
    endpoint.receive_to(channel, deadline, &mut header, &mut value).unwrap();
    (header.timestamp(), value)
}

fn numbers(count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).collect()
}

fn elements(value: &Value) -> &[u64] {
    match value {
        Value::Array(array) => array.as_slice().expect("uint64, aligned"),
        other => panic!("an array was sent, {other:?} came"),
    }
}

fn send_numbers(endpoint: &mut Endpoint<Line>, to: &[usize], data: &[u64]) -> Result<(), ShmError> {
    let shape = [data.len() as u64];
    send(endpoint, to, 0.0, &ValueRef::Array(ArrayRef::from_slice(data, &shape, ArrayOrder::RowMajor)))
}

#[test]
fn messages_of_every_size_arrive_whole_and_in_order() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let sizes: Vec<usize> = (0..60).chain([100, 1000, 5000, 40_000, 300_000, 2_000_000]).collect();
    let (from, expected) = (domain.clone(), sizes.clone());
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        for (i, size) in sizes.iter().enumerate() {
            let data = numbers(*size, i as u64);
            send_numbers(&mut endpoint, &[0], &data).unwrap();
        }
        endpoint.end_channel(0, ConduitEnd::Done).unwrap();
    });
    let mut endpoint = domain.endpoint(1);
    for (i, size) in expected.iter().enumerate() {
        let (_, value) = receive(&mut endpoint, 0);
        assert_eq!(elements(&value), numbers(*size, i as u64), "message {i}");
    }
    assert!(endpoint.receive(0, None).unwrap().header.is_end());
    sender.join().unwrap();
}

#[test]
fn a_sender_may_be_gone_before_its_receiver_starts() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    for i in 0..1000u64 {
        send_numbers(&mut sender, &[0], &numbers(1 + i as usize % 700, i)).unwrap();
    }
    sender.end_channel(0, ConduitEnd::Done).unwrap();
    drop(sender);
    let mut endpoint = domain.endpoint(1);
    for i in 0..1000u64 {
        assert_eq!(elements(&receive(&mut endpoint, 0).1), numbers(1 + i as usize % 700, i));
    }
}

#[test]
fn what_the_sender_changes_afterwards_is_never_seen() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for size in [4, 4000, 400_000] {
        let mut data = numbers(size, 1);
        send_numbers(&mut sender, &[0], &data).unwrap();
        data.fill(0);
        send_numbers(&mut sender, &[0], &data).unwrap();
        let first = receive(&mut receiver, 0).1;
        assert_eq!(elements(&first), numbers(size, 1));
        assert_eq!(elements(&receive(&mut receiver, 0).1), data);
        // The first array is unchanged although the second one has arrived.
        assert_eq!(elements(&first), numbers(size, 1));
    }
}

#[test]
fn views_that_are_kept_stay_whole_and_take_no_memory_from_the_rest() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    let mut kept = Vec::new();
    for i in 0..500u64 {
        send_numbers(&mut sender, &[0], &numbers(2000, i)).unwrap();
        let (_, value) = receive(&mut receiver, 0);
        if i % 10 == 0 {
            kept.push((i, value));
        }
    }
    for (i, value) in &kept {
        assert_eq!(elements(value), numbers(2000, *i));
    }
    // 50 kept blocks of 16 KiB need one slab of 2 MiB. The other 450 messages must use released blocks again.
    assert!(domain.granted() <= 4 << 20, "{} bytes", domain.granted());
    assert!(receiver.pinned() >= 50 * 16_000);
    kept.clear();
    assert_eq!(receiver.pinned(), 0);
}

#[test]
fn a_sender_goes_on_though_its_receiver_reads_a_few_of_many_messages_and_calls_nothing_more() {
    // Each message has a little more than 40,000 bytes: 25 fit into the budget. A quarter of the budget is more
    // than the two messages that are read.
    let domain = one_way(1_010_000, AMPLE_BYTES);
    let from = domain.clone();
    let (progress, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        for i in 0..27u64 {
            send_numbers(&mut endpoint, &[0], &numbers(5000, i)).unwrap();
            progress.send(i).unwrap();
        }
        // The memory of the messages is this endpoint's, and the receiver still reads them.
        endpoint
    });
    let mut endpoint = domain.endpoint(1);
    for i in 0..25 {
        assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(i));
    }
    assert!(endpoint.poll(0).unwrap());
    for i in 0..2 {
        assert_eq!(elements(&receive(&mut endpoint, 0).1), numbers(5000, i));
    }
    for i in 25..27 {
        assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(i));
    }
    let _sender = sender.join().unwrap();
    for i in 2..27 {
        assert_eq!(elements(&receive(&mut endpoint, 0).1), numbers(5000, i));
    }
}

#[test]
fn a_receiver_that_waits_wakes_a_sender_that_has_credit_again() {
    // A message without a block costs an entry of a ring: 25 fit into the budget. The receiver of a block would
    // also wake its sender when it releases the block.
    let budgets = [25 * ENTRY_BYTES as u64, AMPLE_BUDGET_BYTES];
    let conduits = budgets.map(|budget| Conduit { from: 0, to: 1, budget });
    let domain = Domain::new(2, &conduits, AMPLE_BYTES);
    domain.let_sleep(Sleep::UntilWoken);
    let from = domain.clone();
    // The last two of the 27 messages need credit. The message on the other conduit comes after them.
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        (0..27).for_each(|i| send_numbers(&mut endpoint, &[0], &[i]).unwrap());
        send_numbers(&mut endpoint, &[1], &[7]).unwrap();
    });
    let mut endpoint = domain.endpoint(1);
    for i in 0..2 {
        domain.look_until(0, |status| status.sent_messages == 25 + i && status.waits.is_some());
        domain.wait_until_asleep(0);
        // This look takes in all messages, so the receiver knows that the sender is far ahead.
        assert!(endpoint.poll(0).unwrap());
        assert_eq!(elements(&receive(&mut endpoint, 0).1), [i]);
    }
    assert_eq!(elements(&receive(&mut endpoint, 1).1), [7]);
    sender.join().unwrap();
}

#[test]
fn a_spent_budget_holds_the_sender_until_the_receiver_receives() {
    let domain = one_way(100_000, AMPLE_BYTES);
    let from = domain.clone();
    let (progress, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        for i in 0..20u64 {
            send_numbers(&mut endpoint, &[0], &numbers(5000, i)).unwrap();
            progress.send(i).unwrap();
        }
    });
    // Each message has 40,000 bytes: two fit into the budget, the third must wait for a receive.
    assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(0));
    assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(1));
    assert!(seen.recv_timeout(Duration::from_millis(200)).is_err());
    let mut endpoint = domain.endpoint(1);
    for i in 0..20 {
        assert_eq!(elements(&receive(&mut endpoint, 0).1), numbers(5000, i));
    }
    sender.join().unwrap();
}

#[test]
fn a_receiver_that_never_reads_holds_up_nobody_else() {
    let conduits = [Conduit { from: 0, to: 1, budget: 10_000 }, Conduit { from: 0, to: 2, budget: 10_000 }];
    let domain = Domain::new(3, &conduits, AMPLE_BYTES);
    let from = domain.clone();
    let _idle = domain.endpoint(1);
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        send_numbers(&mut endpoint, &[0], &numbers(1000, 0)).unwrap();
        for i in 0..1000 {
            send_numbers(&mut endpoint, &[1], &numbers(1000, i)).unwrap();
        }
    });
    let mut reader = domain.endpoint(2);
    for i in 0..1000 {
        assert_eq!(elements(&receive(&mut reader, 0).1), numbers(1000, i));
    }
    sender.join().unwrap();
}

#[test]
fn one_message_always_fits_whatever_its_size() {
    let domain = one_way(1000, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for i in 0..3 {
        send_numbers(&mut sender, &[0], &numbers(100_000, i)).unwrap();
        assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(100_000, i));
    }
}

#[test]
fn one_write_serves_many_receivers_each_counted_apart() {
    let conduits: Vec<_> = (1..4).map(|to| Conduit { from: 0, to, budget: AMPLE_BUDGET_BYTES }).collect();
    let domain = Domain::new(4, &conduits, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receivers: Vec<_> = (1..4).map(|me| domain.endpoint(me)).collect();
    let mut held = Vec::new();
    for i in 0..100u64 {
        send_numbers(&mut sender, &[0, 1, 2], &numbers(50_000, i)).unwrap();
        for (who, receiver) in receivers.iter_mut().enumerate() {
            let (_, value) = receive(receiver, 0);
            assert_eq!(elements(&value), numbers(50_000, i));
            if who == 1 && i == 7 {
                held.push(value);
            }
        }
    }
    assert_eq!(elements(&held[0]), numbers(50_000, 7));
    // A message of 400,000 bytes takes a block of 425,984 bytes. A receiver holds one block, and the sender
    // uses another one again and again. The limit leaves room for one block more.
    assert!(domain.granted() <= 3 * 425_984, "{} bytes", domain.granted());
}

#[test]
fn a_message_larger_than_memory_allows_is_streamed() {
    let domain = one_way(AMPLE_BUDGET_BYTES, 20 << 20);
    let from = domain.clone();
    let data = numbers(8 << 20, 3);
    let copy = data.clone();
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        send_numbers(&mut endpoint, &[0], &copy).unwrap();
        send_numbers(&mut endpoint, &[0], &[1, 2, 3]).unwrap();
        send_numbers(&mut endpoint, &[0], &copy).unwrap();
    });
    let mut receiver = domain.endpoint(1);
    assert_eq!(elements(&receive(&mut receiver, 0).1), data);
    assert_eq!(elements(&receive(&mut receiver, 0).1), [1, 2, 3]);
    assert_eq!(elements(&receive(&mut receiver, 0).1), data);
    assert!(domain.granted() <= 20 << 20);
    sender.join().unwrap();
}

/// Sends an array that is too large for the memory of the domain to a receiver that does not read, until a
/// signal ends the wait.
fn send_and_be_interrupted(sender: &mut Endpoint<Line>, to: &[usize], data: &[u64]) {
    let asked = Arc::new(AtomicBool::new(false));
    let once = asked.clone();
    sender.set_interrupt_check(Box::new(move || !once.swap(true, Ordering::Relaxed)));
    assert_eq!(send_numbers(sender, to, data), Err(ShmError::Interrupted));
    assert!(asked.load(Ordering::Relaxed));
}

#[test]
fn a_streamed_message_that_a_signal_ended_is_as_if_it_had_not_been_sent() {
    const LARGE: usize = 5_000_000;
    // The budget has room for one such message and not for two: an unsent message must not take credit.
    let budget = 60_000_000;
    let conduits = [Conduit { from: 0, to: 1, budget }, Conduit { from: 0, to: 2, budget }];
    let domain = Domain::new(3, &conduits, 12 << 20);
    let mut sender = domain.endpoint(0);
    send_numbers(&mut sender, &[0, 1], &[1]).unwrap();
    send_and_be_interrupted(&mut sender, &[0, 1], &numbers(LARGE, 2));
    let sending = thread::spawn(move || {
        send_numbers(&mut sender, &[1, 0], &[3]).unwrap();
        send_numbers(&mut sender, &[0, 1], &numbers(LARGE, 4)).unwrap();
        send_numbers(&mut sender, &[0, 1], &[5]).unwrap();
    });
    let receiving = [1, 2].map(|me| {
        let mut receiver = domain.endpoint(me);
        thread::spawn(move || {
            for (count, seed) in [(1, 1), (1, 3), (LARGE, 4), (1, 5)] {
                let (_, value) = receive(&mut receiver, 0);
                match count {
                    1 => assert_eq!(elements(&value), [seed]),
                    _ => assert!(elements(&value) == numbers(count, seed)),
                }
            }
        })
    });
    for receiver in receiving {
        receiver.join().unwrap();
    }
    sending.join().unwrap();
}

#[test]
fn a_streamed_message_can_follow_at_once_on_one_that_a_signal_ended() {
    let domain = one_way(AMPLE_BUDGET_BYTES, 12 << 20);
    let mut sender = domain.endpoint(0);
    send_and_be_interrupted(&mut sender, &[0], &numbers(5_000_000, 1));
    send_and_be_interrupted(&mut sender, &[0], &numbers(4_000_000, 2));
    let sending = thread::spawn(move || send_numbers(&mut sender, &[0], &numbers(3_000_000, 3)).unwrap());
    let mut receiver = domain.endpoint(1);
    assert!(elements(&receive(&mut receiver, 0).1) == numbers(3_000_000, 3));
    sending.join().unwrap();
}

#[test]
fn a_sender_without_any_memory_gets_an_error_and_can_go_on() {
    let domain = one_way(AMPLE_BUDGET_BYTES, 1000);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    let refused = send_numbers(&mut sender, &[0], &numbers(100_000, 0));
    assert!(matches!(refused, Err(ShmError::OutOfMemory { .. })), "{refused:?}");
    send_numbers(&mut sender, &[0], &[5]).unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), [5]);
}

#[test]
fn a_message_that_could_not_be_stored_takes_nothing_of_its_conduits_budget() {
    let domain = one_way(100_000, 1000);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    send_numbers(&mut sender, &[0], &[1]).unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), [1]);
    let (done, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        let refused = send_numbers(&mut sender, &[0], &numbers(100_000, 0));
        assert!(refused.unwrap_err().to_string().contains("the test's limit"));
        send_numbers(&mut sender, &[0], &[2]).unwrap();
        done.send(()).unwrap();
    });
    assert_eq!(
        seen.recv_timeout(Duration::from_secs(60)),
        Ok(()),
        "the sender waits for credit that nobody owes"
    );
    sender.join().unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), [2]);
}

#[test]
fn memory_of_small_messages_that_were_read_serves_large_ones() {
    // The limit has room for slabs of three size classes.
    let domain = one_way(AMPLE_BUDGET_BYTES, 6 << 20);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for (i, size) in [100, 1000, 5000, 30_000, 100_000, 100].into_iter().enumerate() {
        send_numbers(&mut sender, &[0], &numbers(size, i as u64)).unwrap();
        assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(size, i as u64));
    }
    assert!(domain.granted() <= 6 << 20);
}

#[test]
fn a_sender_waits_for_memory_only_while_somebody_may_give_some_back() {
    let domain = one_way(AMPLE_BUDGET_BYTES, 2 << 20);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    send_numbers(&mut sender, &[0], &numbers(100, 0)).unwrap();
    let (done, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        let refused = send_numbers(&mut sender, &[0], &numbers(1 << 20, 1));
        done.send(refused).unwrap();
    });
    // The receiver releases the block of the first message, which is too small for the second one.
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(100, 0));
    assert!(matches!(receiver.receive(0, Some(now() + 1)), Err(ShmError::TimedOut)));
    let refused = seen.recv_timeout(Duration::from_secs(60)).expect("the sender waits for what nobody has");
    assert!(matches!(refused, Err(ShmError::OutOfMemory { .. })), "{refused:?}");
    sender.join().unwrap();
}

#[test]
fn a_receiver_that_only_polls_gives_memory_back() {
    let domain = one_way(AMPLE_BUDGET_BYTES, 2 << 20);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    send_numbers(&mut sender, &[0], &numbers(100, 0)).unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(100, 0));
    assert!(!receiver.poll(0).unwrap());
    // This message needs a block of another size class. The limit has no room for it beside the first slab.
    let (done, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        send_numbers(&mut sender, &[0], &numbers(1000, 1)).unwrap();
        done.send(()).unwrap();
    });
    assert_eq!(
        seen.recv_timeout(Duration::from_secs(60)),
        Ok(()),
        "the sender waits for a block that was read"
    );
    sender.join().unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 1));
}

#[test]
fn a_loan_is_received_where_it_was_written() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for i in 0..20u64 {
        let data = numbers(30_000, i);
        let mut loan = sender.loan(240_000).unwrap();
        for (eight, number) in loan.bytes_mut().chunks_exact_mut(8).zip(&data) {
            eight.copy_from_slice(&number.to_le_bytes());
        }
        let mut head = Vec::new();
        let len = array_head(DType::UInt64, &[30_000], ArrayOrder::RowMajor, None, &mut head).unwrap();
        let header = Header { kind: MessageKind::Data, ..Header::default() };
        sender.send_loan(&[0], header.into(), loan, (&head, 1), len).unwrap();
        assert_eq!(elements(&receive(&mut receiver, 0).1), data);
    }
    let unused = sender.loan(240_000).unwrap();
    sender.return_loan(unused);
}

#[test]
fn a_wait_with_a_time_out_ends_and_loses_nothing() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut receiver = domain.endpoint(1);
    let waited = receiver.receive(0, Some(now() + 5_000_000));
    assert!(matches!(waited, Err(ShmError::TimedOut)));
    let mut sender = domain.endpoint(0);
    send_numbers(&mut sender, &[0], &[1]).unwrap();
    assert_eq!(elements(&receive(&mut receiver, 0).1), [1]);
}

#[test]
fn a_parked_receiver_is_woken_by_the_message() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    domain.let_sleep(Sleep::UntilWoken);
    let mut sender = domain.endpoint(0);
    // The first message opens the ring. Afterwards the doorbell rings only for messages.
    send(&mut sender, &[0], 0.0, &ValueRef::None).unwrap();
    let to = domain.clone();
    let receiver = thread::spawn(move || {
        let mut endpoint = to.endpoint(1);
        (0..50).map(|_| receive(&mut endpoint, 0).0).collect::<Vec<_>>()
    });
    for i in 1..50 {
        domain.look_until(1, |status| status.received_messages == i && status.waits.is_some());
        // This time is long enough for a waiting receiver to park.
        thread::sleep(Duration::from_millis(2));
        let i = i as u32;
        send(&mut sender, &[0], f64::from(i), &ValueRef::None).unwrap();
    }
    assert_eq!(receiver.join().unwrap(), (0..50).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn any_of_several_channels_ends_a_wait() {
    let conduits = [
        Conduit { from: 0, to: 2, budget: AMPLE_BUDGET_BYTES },
        Conduit { from: 1, to: 2, budget: AMPLE_BUDGET_BYTES },
    ];
    let domain = Domain::new(3, &conduits, AMPLE_BYTES);
    let mut receiver = domain.endpoint(2);
    let mut second = domain.endpoint(1);
    send_numbers(&mut second, &[0], &[9]).unwrap();
    assert_eq!(receiver.wait_any(&[0, 1], None).unwrap(), 1);
    assert_eq!(elements(&receive(&mut receiver, 1).1), [9]);
    assert!(matches!(receiver.wait_any(&[0, 1], Some(now() + 1_000_000)), Err(ShmError::TimedOut)));
}

#[test]
fn an_endpoint_can_send_to_itself() {
    let domain = Domain::new(1, &[Conduit { from: 0, to: 0, budget: AMPLE_BUDGET_BYTES }], AMPLE_BYTES);
    let mut endpoint = domain.endpoint(0);
    for i in 0..200 {
        send_numbers(&mut endpoint, &[0], &numbers(i, 1)).unwrap();
        assert_eq!(elements(&receive(&mut endpoint, 0).1), numbers(i, 1));
    }
}

#[test]
fn the_end_of_the_run_ends_every_wait() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let to = domain.clone();
    let receiver = thread::spawn(move || to.endpoint(1).receive(0, None).map(|_| ()));
    domain.tell(1, AgentNotice::RunEnds("a test says so".into()));
    assert_eq!(receiver.join().unwrap(), Err(ShmError::RunEnds("a test says so".into())));
}

#[test]
fn what_is_meant_for_an_endpoint_that_has_ended_is_dropped() {
    let domain = one_way(10_000, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    send_numbers(&mut sender, &[0], &numbers(1000, 0)).unwrap();
    domain.tell(0, AgentNotice::PeerEnded(EndpointId::new(1)));
    for i in 0..100 {
        send_numbers(&mut sender, &[0], &numbers(1000, i)).unwrap();
    }
}

#[test]
fn channels_of_a_peer_that_is_lost_end_after_all_that_it_has_sent() {
    let conduits = [0, 0, 2].map(|from| Conduit { from, to: 1, budget: AMPLE_BUDGET_BYTES });
    let domain = Domain::new(3, &conduits, AMPLE_BYTES);
    let (mut lost, mut other) = (domain.endpoint(0), domain.endpoint(2));
    let mut receiver = domain.endpoint(1);
    send_numbers(&mut lost, &[0], &numbers(1000, 1)).unwrap();
    send_numbers(&mut lost, &[0], &numbers(3, 2)).unwrap();
    lost.end_channel(1, ConduitEnd::Done).unwrap();
    // The process of the sender ends without any further notice.
    std::mem::forget(lost);
    for _ in 0..2 {
        domain.tell(1, AgentNotice::PeerLost(EndpointId::new(0)));
    }
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 1));
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(3, 2));
    for channel in [0, 1] {
        assert!(next_is_end(&mut receiver, channel));
        assert!(!receiver.poll(channel).unwrap(), "a channel ends once");
    }
    send_numbers(&mut other, &[0], &numbers(5, 3)).unwrap();
    assert_eq!(elements(&receive(&mut receiver, 2).1), numbers(5, 3));
}

#[test]
fn who_waits_for_a_peer_that_is_lost_is_woken() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let to = domain.clone();
    let receiver = thread::spawn(move || next_is_end(&mut to.endpoint(1), 0));
    domain.tell(1, AgentNotice::PeerLost(EndpointId::new(0)));
    assert!(receiver.join().unwrap());
}

#[test]
fn messages_with_the_head_of_the_one_before_are_told_apart_whether_queued_or_taken_at_once() {
    let domain = Domain::new(
        2,
        &[
            Conduit { from: 0, to: 1, budget: AMPLE_BUDGET_BYTES },
            Conduit { from: 0, to: 1, budget: AMPLE_BUDGET_BYTES },
        ],
        AMPLE_BYTES,
    );
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    let plan = |number: u64| {
        let count = 100 + number;
        let mut head = Vec::new();
        array_head(DType::UInt64, &[count], ArrayOrder::RowMajor, None, &mut head).unwrap();
        (head, numbers(count as usize, number))
    };
    let send = |sender: &mut Endpoint<Line>, to: &[usize], number: u64| {
        let (head, data) = plan(number);
        let header = Header { kind: MessageKind::Data, ..Header::default() };
        let source = Contiguous { head: &head, number, data: bytemuck::cast_slice(&data) };
        sender.send(to, header.into(), &source).unwrap();
    };
    // Each round: the channels, the number of the array, and true if all messages are received after it.
    let rounds: [(&[usize], u64, bool); 10] = [
        (&[0], 1, true),
        (&[0], 1, true),
        (&[0, 1], 1, false),
        (&[0, 1], 1, true),
        (&[1], 2, false),
        (&[1], 2, false),
        (&[0, 1], 3, false),
        (&[1, 0], 3, true),
        (&[0], 3, false),
        (&[0], 1, true),
    ];
    let mut due: [Vec<u64>; 2] = Default::default();
    for (to, number, then_receive) in rounds {
        send(&mut sender, to, number);
        to.iter().for_each(|&channel| due[channel].push(number));
        if then_receive {
            for channel in [1, 0] {
                for number in due[channel].drain(..) {
                    assert_eq!(elements(&receive(&mut receiver, channel).1), plan(number).1);
                }
            }
        }
    }
}

/// Sends an array whose preamble has the number `count`, so that the endpoint knows it again.
fn send_known(sender: &mut Endpoint<Line>, count: usize, seed: u64) -> Result<(), ShmError> {
    send_known_to(sender, 0, count, seed)
}

/// Like `send_known`, on any channel.
fn send_known_to(sender: &mut Endpoint<Line>, channel: usize, count: usize, seed: u64) -> Result<(), ShmError> {
    let mut head = Vec::new();
    array_head(DType::UInt64, &[count as u64], ArrayOrder::RowMajor, None, &mut head).unwrap();
    let data = numbers(count, seed);
    let source = Contiguous { head: &head, number: count as u64, data: bytemuck::cast_slice(&data) };
    sender.send(&[channel], HeaderWords::from(Header { kind: MessageKind::Data, ..Header::default() }), &source)
}

#[test]
fn small_arrays_of_one_shape_soon_share_a_slab_and_kept_ones_do_not_fill_it() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    let mut kept = Vec::new();
    for i in 0..50_000 {
        send_known(&mut sender, 8, i).unwrap();
        if i == 10 {
            assert_eq!(domain.granted(), 0, "a few small messages are not worth a slab");
        }
        kept.push(receive(&mut receiver, 0).1);
        if i == 1000 {
            assert_ne!(receiver.pinned(), 0, "many go by way of a slab");
        }
    }
    for (i, value) in kept.iter().enumerate() {
        assert_eq!(elements(value), numbers(8, i as u64), "message {i}");
    }
    assert!(receiver.pinned() < 64 << 10, "{} bytes", receiver.pinned());
    assert!(domain.granted() <= 2 << 20, "{} bytes", domain.granted());
}

#[test]
fn small_arrays_go_on_where_there_is_no_memory_for_slabs() {
    let domain = one_way(100_000, 1000);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for i in 0..1000 {
        send_known(&mut sender, 8, i).unwrap();
        assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(8, i));
    }
}

/// Receives an array of `count` numbers into memory, if it arrives as an ordinary message.
fn receive_known_into(receiver: &mut Endpoint<Line>, count: usize) -> Option<Vec<u64>> {
    let (mut header, mut data) = (HeaderWords::default(), vec![0u64; count]);
    let fits = |kind: &ArrayKind| kind.is(DType::UInt64, &[count as u64], ArrayOrder::RowMajor);
    let into = bytemuck::cast_slice_mut(&mut data);
    receiver.receive_ordinary_into(0, &mut header, fits, into).then_some(data)
}

#[test]
fn arrays_alike_are_received_into_memory_and_their_blocks_come_back() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    // An array before the loop makes the kind known to the receiver.
    for count in [128, 1000, 8000] {
        send_known(&mut sender, count, 0).unwrap();
        assert_eq!(receive_known_into(&mut receiver, count), None, "its kind was not known");
        assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(count, 0));
        for i in 1..5000 {
            // In some rounds, up to seven messages are under way.
            let burst = 1 + i % 7 * u64::from(i % 50 == 0);
            (0..burst).for_each(|k| send_known(&mut sender, count, i + k).unwrap());
            for k in 0..burst {
                assert_eq!(
                    receive_known_into(&mut receiver, count),
                    Some(numbers(count, i + k)),
                    "message {i}"
                );
            }
        }
    }
    assert_eq!(receiver.pinned(), 0);
    assert!(domain.granted() <= 6 << 20, "{} bytes for three sizes", domain.granted());
}

#[test]
fn what_does_not_fit_the_callers_memory_is_left_as_it_was() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    let arrives = |receiver: &mut Endpoint<Line>, count: usize| {
        let into = receive_known_into(receiver, count);
        into.map(|data| assert!(data == numbers(count, 5))).is_some()
    };
    send_known(&mut sender, 1000, 5).unwrap();
    assert!(!arrives(&mut receiver, 1000), "its kind was not known");
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 5));
    assert!(!arrives(&mut receiver, 1000), "nothing has come");
    (0..3).for_each(|_| send_known(&mut sender, 1000, 5).unwrap());
    assert!(!arrives(&mut receiver, 999), "another length");
    assert!(arrives(&mut receiver, 1000));
    let (mut header, mut data) = (HeaderWords::default(), vec![7u8; 8000]);
    let refused = !receiver.receive_ordinary_into(0, &mut header, |_| false, &mut data);
    assert!(refused && data == [7; 8000], "what does not fit is not written");
    assert!(arrives(&mut receiver, 1000));
    send_known(&mut sender, 1001, 5).unwrap();
    assert!(arrives(&mut receiver, 1000) && !arrives(&mut receiver, 1000), "one of another kind is next");
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1001, 5));
    send(&mut sender, &[0], 9.0, &ValueRef::None).unwrap();
    assert!(!arrives(&mut receiver, 1001), "nothing is no array");
    assert_eq!(receive(&mut receiver, 0), (9.0, Value::None));
    // A message that waits in the queue behind another one keeps its place.
    (0..3).for_each(|_| send_known(&mut sender, 1000, 5).unwrap());
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 5));
    send_known(&mut sender, 1000, 6).unwrap();
    assert!(!arrives(&mut receiver, 1000));
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 5));
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 5));
    assert_eq!(elements(&receive(&mut receiver, 0).1), numbers(1000, 6));
}

/// Receives a large array of the same kind as the one before into memory, as an instance does. Returns the
/// array, and the number of its bytes that were copied before it had arrived as a whole.
fn follow_known_into(receiver: &mut Endpoint<Line>, channel: usize, count: usize) -> (Vec<u64>, usize) {
    let mut data = vec![0u64; count];
    let into: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
    let fits = |kind: &ArrayKind| kind.is(DType::UInt64, &[count as u64], ArrayOrder::RowMajor);
    let there = receiver.follow_into(channel, fits, into).unwrap();
    let (_, value) = receive(receiver, channel);
    into[there..].copy_from_slice(&bytemuck::cast_slice(elements(&value))[there..]);
    (data, there)
}

#[test]
fn a_large_array_is_received_while_it_is_still_being_sent() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let (from, ended) = (domain.clone(), Arc::new(AtomicBool::new(false)));
    let enough = ended.clone();
    let sender = thread::spawn(move || {
        let mut sender = from.endpoint(0);
        let is_over = || enough.load(Ordering::SeqCst);
        for i in 0.. {
            // A sender that is ahead by its whole budget would stay ahead for ever. So now and then it lets its
            // receiver wait.
            while i % 7 == 2 && from.look(1).state != EndpointActivity::WaitingToReceive && !is_over() {
                thread::yield_now();
            }
            // The kind of the array changes now and then. Two messages may be under way.
            let count = if i % 7 < 4 { 1 << 20 } else { 20_000 };
            send_known(&mut sender, count, i).unwrap();
            if is_over() {
                return;
            }
        }
    });
    let mut receiver = domain.endpoint(1);
    let (mut early, began) = (0, std::time::Instant::now());
    for i in 0.. {
        let count = if i % 7 < 4 { 1 << 20 } else { 20_000 };
        let (data, there) = follow_known_into(&mut receiver, 0, count);
        assert!(data == numbers(count, i), "message {i}, of which {there} bytes came early");
        early += u32::from(there > 0);
        if i >= 30 && early > 0 {
            break;
        }
        assert!(began.elapsed().as_secs() < 60, "{i} messages came, and none of them early");
    }
    ended.store(true, Ordering::SeqCst);
    drop(receiver);
    domain.tell(0, AgentNotice::PeerEnded(EndpointId::new(1)));
    sender.join().unwrap();
}

#[test]
fn who_follows_one_conduit_takes_nothing_of_another() {
    const COUNT: usize = 1 << 18;
    let conduit = Conduit { from: 0, to: 1, budget: AMPLE_BUDGET_BYTES };
    let domain = Domain::new(2, &[conduit, conduit], AMPLE_BYTES);
    let from = domain.clone();
    let sender = thread::spawn(move || {
        let mut sender = from.endpoint(0);
        for i in 0..40 {
            // The message on the channel that the receiver does not wait for arrives first.
            from.look_until(1, |status| status.state == EndpointActivity::WaitingToReceive);
            send_known_to(&mut sender, 1, COUNT, 1000 + i).unwrap();
            send_known_to(&mut sender, 0, COUNT, i).unwrap();
        }
    });
    let mut receiver = domain.endpoint(1);
    for i in 0..40 {
        for (channel, seed) in [(0, i), (1, 1000 + i)] {
            let (data, there) = follow_known_into(&mut receiver, channel, COUNT);
            assert!(
                data == numbers(COUNT, seed),
                "message {i} of {channel}, of which {there} bytes came early"
            );
        }
    }
    sender.join().unwrap();
}

#[test]
fn what_cannot_be_followed_comes_as_ever() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for count in [1 << 20, 1 << 20, 1 << 18, 1 << 18, 100, 100] {
        send_known(&mut sender, count, 3).unwrap();
        send_known(&mut sender, count, 4).unwrap();
        for seed in [3, 4] {
            assert!(follow_known_into(&mut receiver, 0, count) == (numbers(count, seed), 0));
        }
    }
    domain.tell(1, AgentNotice::RunEnds("over".into()));
    let ended = receiver.follow_into(0, |_| true, &mut vec![0; 8 << 20]);
    assert!(matches!(ended, Ok(0)), "of another length, it is not waited for: {ended:?}");
}

#[test]
fn many_small_arrays_can_be_under_way_and_arrive_in_order() {
    let domain = one_way(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    let mut receiver = domain.endpoint(1);
    for round in 0..5 {
        for i in 0..20_000 {
            send_known(&mut sender, 1 + i % 3, (round * 20_000 + i) as u64).unwrap();
        }
        for i in 0..20_000 {
            let (_, value) = receive(&mut receiver, 0);
            assert_eq!(elements(&value), numbers(1 + i % 3, (round * 20_000 + i) as u64));
        }
    }
}
