//! Tests of the status page of a waiting endpoint, and of its answer to a notice `Look`.

#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line};
use ligament_shm::board::Board;
use ligament_shm::endpoint::AgentNotice;
use ligament_shm::memory::create;
use ligament_shm::status::{now, AwaitedEvent, Status};
use ligament_shm::steering::Gate;
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::steering::{Matter, ModelTime, Steer};
use ligament_wire::{ArrayOrder, ArrayRef, Encoder, EndpointId, Header, MessageKind, ValueRef};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

const AMPLE_BUDGET_BYTES: u64 = 64 << 20;
const AMPLE_BYTES: u64 = 8 << 30;

fn two(budget: u64, limit: u64) -> Domain {
    let forth = Conduit { from: 0, to: 1, budget };
    Domain::new(2, &[forth, forth], limit)
}

fn send(endpoint: &mut Endpoint<Line>, channel: usize, bytes: usize) -> Result<(), ShmError> {
    let data = vec![7u8; bytes];
    let shape = [bytes as u64];
    let array = ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor);
    let mut encoder = Encoder::new();
    let header = Header { kind: MessageKind::Data, ..Header::default() };
    endpoint.send(&[channel], header.into(), &encoder.plan(&ValueRef::Array(array)).unwrap())
}

/// Receives in a thread of its own until the agent ends the run.
fn waiting_receiver(domain: &Domain, channels: &'static [usize], timed: bool) -> JoinHandle<ShmError> {
    let domain = domain.clone();
    thread::spawn(move || {
        let mut endpoint = domain.endpoint(1);
        let deadline = timed.then(|| now() + 60_000_000_000);
        loop {
            match endpoint.wait_any(channels, deadline) {
                Ok(channel) => {
                    endpoint.receive(channel, None).unwrap();
                }
                Err(error) => return error,
            }
        }
    })
}

fn waits(status: &Status) -> bool {
    status.waits.is_some()
}

/// Sends `Look` notices with rising rounds until the endpoint confirms one.
fn confirmed(domain: &Domain, of: u32) -> Status {
    let before = domain.look(of).looked;
    for round in before + 1.. {
        let epoch = domain.look(of).epoch;
        domain.tell(of, AgentNotice::Look(round));
        let status = domain.look_until(of, |status| status.looked == round || status.epoch != epoch);
        if status.looked == round {
            return status;
        }
    }
    unreachable!()
}

fn end(domain: &Domain, thread: JoinHandle<ShmError>) {
    domain.tell(1, AgentNotice::RunEnds("over".into()));
    assert_eq!(thread.join().unwrap(), ShmError::RunEnds("over".into()));
    assert!(domain.look(1).waits.is_none());
}

#[test]
fn nobody_spins_while_others_keep_all_cores_busy_with_ranks_or_threads() {
    let fd = create("board", Board::size(2)).unwrap();
    let board = Board::create(&fd, 2, 4, false).unwrap();
    let [waits, computes] = [0, 1].map(|number| board.doorbell(EndpointId::new(number)).unwrap());
    computes.keeps_busy(4);
    board.wake_up(waits);
    assert!(board.may_spin());
    board.wake_up(computes);
    board.wake_up(computes);
    assert!(!board.may_spin() && !board.has_spare_core());
    board.fall_asleep(computes);
    assert!(board.may_spin() && board.has_spare_core());
}

#[test]
fn a_wait_names_all_channels_each_once_and_whether_it_ends_by_itself() {
    let cases: [(&'static [usize], bool, Vec<u32>); 3] =
        [(&[0, 1], false, vec![0, 1]), (&[1], true, vec![1]), (&[1, 1, 0, 1], false, vec![0, 1])];
    for (channels, timed, shown) in cases {
        let domain = two(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
        let receiver = waiting_receiver(&domain, channels, timed);
        let status = domain.look_until(1, waits);
        let waits = status.waits.unwrap();
        assert_eq!((waits.what, waits.timed), (AwaitedEvent::Message { channels: shown }, timed));
        assert!(status.epoch % 2 == 1 && waits.since > 0);
        end(&domain, receiver);
    }
}

#[test]
fn one_that_is_asked_to_look_again_confirms_only_while_nothing_has_come() {
    let domain = two(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let receiver = waiting_receiver(&domain, &[0], false);
    let before = domain.look_until(1, waits);
    domain.tell(1, AgentNotice::Look(1));
    assert_eq!(domain.look_until(1, |status| status.looked == 1).epoch, before.epoch);
    // A message on the other channel does not end the wait. A message on the awaited channel ends it, and the
    // endpoint waits again.
    let mut sender = domain.endpoint(0);
    send(&mut sender, 1, 10).unwrap();
    // The endpoint does not confirm the first round after it has taken in a message, because its sender may
    // have got memory back.
    domain.tell(1, AgentNotice::Look(2));
    let stirred = domain.look_until(1, |status| status.epoch != before.epoch);
    assert_eq!((stirred.looked, stirred.epoch % 2), (1, 1));
    domain.tell(1, AgentNotice::Look(3));
    assert_eq!(domain.look_until(1, |status| status.looked == 3).epoch, stirred.epoch);
    send(&mut sender, 0, 10).unwrap();
    domain.tell(1, AgentNotice::Look(4));
    domain.look_until(1, |status| status.epoch != stirred.epoch);
    end(&domain, receiver);
}

#[test]
fn a_full_conduit_tells_the_budget_that_would_do_and_that_budget_does() {
    let domain = two(10_000, AMPLE_BYTES);
    let from = domain.clone();
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        for _ in 0..3 {
            send(&mut endpoint, 0, 4000)?;
        }
        Ok(())
    });
    let status = domain.look_until(0, waits);
    let Some(AwaitedEvent::Credit { channel: 0, needs }) = status.waits.map(|waits| waits.what) else {
        panic!()
    };
    assert!((12_000..14_000).contains(&needs), "{needs}");
    domain.tell(0, AgentNotice::Budget { channel: 0, bytes: needs - 1 });
    assert!(waits(&confirmed(&domain, 0)));
    domain.tell(0, AgentNotice::Budget { channel: 0, bytes: needs });
    assert_eq!(sender.join().unwrap(), Ok::<(), ShmError>(()));
}

#[test]
fn one_that_lacks_memory_asks_once_more_when_it_looks_again() {
    // The limit has room for two messages of 4 MiB.
    let domain = two(AMPLE_BUDGET_BYTES, 10 << 20);
    let from = domain.clone();
    let sender = thread::spawn(move || {
        let mut endpoint = from.endpoint(0);
        for _ in 0..3 {
            send(&mut endpoint, 0, 4 << 20)?;
        }
        Ok(())
    });
    domain.look_until(0, |status| matches!(&status.waits, Some(w) if w.what == AwaitedEvent::Memory));
    confirmed(&domain, 0);
    domain.set_limit(64 << 20);
    domain.tell(0, AgentNotice::Look(2));
    assert_eq!(sender.join().unwrap(), Ok::<(), ShmError>(()));
}

#[test]
fn views_count_as_held_only_when_the_code_has_them() {
    let domain = two(AMPLE_BUDGET_BYTES, AMPLE_BYTES);
    let mut sender = domain.endpoint(0);
    send(&mut sender, 1, 10_000).unwrap();
    let to = domain.clone();
    let (go, may_go) = std::sync::mpsc::channel();
    let receiver = thread::spawn(move || {
        let mut endpoint = to.endpoint(1);
        // The arrived message is in a queue of the endpoint.
        assert!(matches!(endpoint.wait_any(&[0], None), Ok(0)));
        let mut held = endpoint.receive(1, None).unwrap();
        let view = held.take_value().unwrap();
        let _ = endpoint.receive(0, None).unwrap();
        may_go.recv().unwrap();
        let error = endpoint.receive(0, None).map(|_| ()).unwrap_err();
        drop(view);
        error
    });
    domain.look_until(1, waits);
    assert!(!confirmed(&domain, 1).waits.unwrap().holding);
    send(&mut sender, 0, 10).unwrap();
    go.send(()).unwrap();
    domain.look_until(1, |status| status.received_messages == 2 && waits(status));
    assert!(confirmed(&domain, 1).waits.unwrap().holding);
    end(&domain, receiver);
}

#[test]
fn who_comes_to_a_first_step_says_so_and_hears_before_it_of_a_halt() {
    let domain = Arc::new(two(AMPLE_BUDGET_BYTES, AMPLE_BYTES));
    let mut endpoint = domain.endpoint(0);
    let tell = |steer| domain.tell(0, AgentNotice::Steer(steer, vec![0]));
    tell(Steer::Prepare { change: 1, at: None, matter: Matter::Halt });
    tell(Steer::Commit { change: 1, at: ModelTime(0.5) });
    // An agent that sends a halt, and then sees that the endpoint has not begun to steer, knows that the halt
    // comes before the first step.
    assert!(!domain.steers(0));
    let agent = domain.clone();
    let other = thread::spawn(move || {
        let held = |status: &Status| {
            status.waits.as_ref().is_some_and(|one| one.what == AwaitedEvent::Steering { change: 1 })
        };
        agent.look_until(0, held);
        assert!(agent.steers(0));
        agent.tell(0, AgentNotice::Steer(Steer::Move { change: 1, at: None }, vec![0]));
    });
    assert!(endpoint.steer(0, Gate::Step, 0.5).unwrap().is_empty());
    other.join().unwrap();
    // After the halt, a step without changes takes the short way again.
    assert!(endpoint.steer_at_once(0, Gate::Step, 1.0));
}
