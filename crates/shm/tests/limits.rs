//! Tests of the limits of an endpoint: the maximum size of a message, and the number of polls after which a
//! code learns that its agent is gone.

#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line};
use ligament_shm::status::now;
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::{ArrayOrder, ArrayRef, Encoder, Header, HeaderWords, ValueRef};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const AMPLE_BYTES: u64 = 1 << 30;
/// Number of polls without a message after which the endpoint must have noticed that the agent is gone.
const MAX_POLLS: usize = 10_000;

fn one_way(budget: u64) -> Domain {
    Domain::new(2, &[Conduit { from: 0, to: 1, budget }], AMPLE_BYTES)
}

/// Sends an array of `bytes` bytes.
fn send(endpoint: &mut Endpoint<Line>, bytes: usize) -> Result<(), ShmError> {
    let data = vec![7u64; bytes / 8];
    let mut encoder = Encoder::new();
    let shape = [data.len() as u64];
    let value = ValueRef::Array(ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor));
    let plan = encoder.plan(&value).unwrap();
    endpoint.send(&[0], HeaderWords::from(Header::default()), &plan)
}

#[test]
fn a_message_over_the_limit_is_refused_and_those_around_it_arrive() {
    for budget in [1000, AMPLE_BYTES] {
        let domain = one_way(budget);
        domain.limit_messages(4096);
        let (mut sender, mut receiver) = (domain.endpoint(0), domain.endpoint(1));
        for bytes in [8, 2000, 3900, 64] {
            send(&mut sender, bytes).unwrap();
            receiver.receive(0, None).unwrap();
            let refused = send(&mut sender, 4096).unwrap_err();
            assert!(matches!(refused, ShmError::TooLarge { bytes: 4097.., limit: 4096 }), "{refused:?}");
        }
        let taken = receiver.receive(0, Some(now()));
        assert!(matches!(taken, Err(ShmError::TimedOut)), "nothing of what was refused arrives");
    }
}

#[test]
fn a_limited_conduit_holds_as_much_as_its_budget_allows() {
    let domain = one_way(100_000);
    domain.limit_messages(4096);
    let mut sender = domain.endpoint(0);
    // No endpoint receives. The budget has room for 20 messages.
    let (done, seen) = mpsc::channel();
    let sender = thread::spawn(move || {
        (0..20).for_each(|_| send(&mut sender, 4000).unwrap());
        done.send(()).unwrap();
    });
    seen.recv_timeout(Duration::from_secs(60)).expect("the sender waits within its budget");
    sender.join().unwrap();
}

#[test]
fn a_loan_over_the_limit_is_refused_and_its_memory_is_free_again() {
    let domain = one_way(AMPLE_BYTES);
    domain.limit_messages(4096);
    let mut sender = domain.endpoint(0);
    for _ in 0..10_000 {
        let loan = sender.loan(1 << 20).unwrap();
        let refused =
            sender.send_loan(&[0], HeaderWords::from(Header::default()), loan, (&[0; 16], 0), 64 + (1 << 20));
        assert!(matches!(refused, Err(ShmError::TooLarge { limit: 4096, .. })), "{refused:?}");
    }
    assert!(domain.granted() < 64 << 20);
}

#[test]
fn who_only_polls_learns_that_the_agent_is_gone() {
    let domain = one_way(AMPLE_BYTES);
    let mut receiver = domain.endpoint(1);
    (0..MAX_POLLS).for_each(|_| assert!(!receiver.poll(0).unwrap()));
    domain.agent_vanishes();
    let learnt = (0..MAX_POLLS).find_map(|_| receiver.poll(0).err());
    assert_eq!(learnt, Some(ShmError::AgentGone));
}

#[test]
fn who_only_receives_without_waiting_learns_that_the_agent_is_gone() {
    let domain = one_way(AMPLE_BYTES);
    let mut receiver = domain.endpoint(1);
    assert!(matches!(receiver.receive(0, Some(now())), Err(ShmError::TimedOut)));
    domain.agent_vanishes();
    let learnt = (0..MAX_POLLS)
        .find_map(|_| receiver.receive(0, Some(now())).err().filter(|e| *e != ShmError::TimedOut));
    assert_eq!(learnt, Some(ShmError::AgentGone));
}
