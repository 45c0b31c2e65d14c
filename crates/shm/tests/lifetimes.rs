//! Tests of the lifetime of mappings: loans and views whose endpoint is gone, slabs that the sender has given
//! back, and the array of a caller whose wait panics. Also tests the errors of a process that cannot join its
//! run, or that has no memory for a message.

#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line};
use ligament_shm::endpoint::{AgentNotice, Contiguous, RemoteBody, Source};
use ligament_shm::memory::Mapping;
use ligament_shm::ring::Announcement;
use ligament_shm::slab::packed;
use ligament_shm::status::{now, EndpointActivity};
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::{array_head, ArrayOrder, DType, EndpointId, HeaderWords, Value};
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;

const AMPLE_BYTES: u64 = 8 << 30;
const TIMEOUT_NS: u64 = 60_000_000_000;

fn one_way(limit: u64) -> Domain {
    Domain::new(2, &[Conduit { from: 0, to: 1, budget: AMPLE_BYTES }], limit)
}

/// Returns the number of mappings of slabs of this size in this process. No two tests use slabs of one size.
fn mapped(bytes: u64) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let len = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
    };
    maps.lines().filter(|line| line.contains("memfd:slab") && len(line) == Some(bytes)).count()
}

fn send_bytes(endpoint: &mut Endpoint<Line>, data: &[u8]) {
    let mut head = Vec::new();
    array_head(DType::UInt8, &[data.len() as u64], ArrayOrder::RowMajor, None, &mut head).unwrap();
    let source = Contiguous { head: &head, number: data.len() as u64, data };
    endpoint.send(&[0], HeaderWords::data(0.0, None), &source).unwrap();
}

fn receive(endpoint: &mut Endpoint<Line>) -> Value {
    let (mut header, mut value) = (HeaderWords::default(), Value::None);
    endpoint.receive_to(0, Some(now() + TIMEOUT_NS), &mut header, &mut value).unwrap();
    value
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Array(array) => array.data(),
        other => panic!("an array was sent, {other:?} came"),
    }
}

#[test]
fn a_loan_can_be_written_when_its_endpoint_is_gone_and_is_unmapped_with_it() {
    const MESSAGE_BYTES: u64 = 9 << 20;
    let domain = one_way(AMPLE_BYTES);
    let mut endpoint = domain.endpoint(0);
    let mut lent = endpoint.loan(MESSAGE_BYTES).unwrap();
    let mut claimed = endpoint.claim_block(MESSAGE_BYTES, MESSAGE_BYTES).unwrap().expect("there is memory");
    drop((endpoint, domain));
    for loan in [&mut lent, &mut claimed] {
        loan.bytes_mut().fill(7);
        assert_eq!(loan.bytes_mut()[MESSAGE_BYTES as usize - 1], 7);
    }
    assert_eq!(mapped(MESSAGE_BYTES), 2);
    let pages = lent.pages();
    drop((lent, claimed));
    assert_eq!(mapped(MESSAGE_BYTES), 1, "somebody keeps the pages of one");
    drop(pages);
    assert_eq!(mapped(MESSAGE_BYTES), 0);
}

#[test]
fn a_loan_of_another_endpoint_is_refused_and_does_not_become_this_ones() {
    let domain = one_way(AMPLE_BYTES);
    let (mut one, mut other) = (domain.endpoint(0), domain.endpoint(1));
    let own = one.loan(100_000).unwrap();
    let refused = |error: ShmError| assert!(error.to_string().contains("a loan of another"), "{error}");
    let foreign = other.loan(100_000).unwrap();
    refused(one.send_loan(&[0], HeaderWords::data(0.0, None), foreign, (&[], 0), 100_000).unwrap_err());
    let mut foreign = other.loan(100_000).unwrap();
    let mut header = HeaderWords::data(0.0, None);
    header.set_body(1, 1000);
    refused(one.publish(0, header, RemoteBody::Placed(&mut foreign, 0)).unwrap_err());
    let foreign = other.claim_block(100_000, 0).unwrap().unwrap();
    refused(one.place_more(foreign, 10).err().unwrap());
    let foreign = other.loan(100_000).unwrap();
    one.return_loan(foreign);
    let next = one.loan(100_000).unwrap();
    assert_ne!(own.start(), next.start(), "what is lent is not lent again");
}

#[test]
fn views_stay_when_both_endpoints_are_gone_and_of_other_slabs_nothing_does() {
    const MESSAGE_BYTES: usize = 10 << 20;
    let domain = one_way(AMPLE_BYTES);
    let (mut from, mut to) = (domain.endpoint(0), domain.endpoint(1));
    send_bytes(&mut from, &vec![5; MESSAGE_BYTES]);
    send_bytes(&mut from, &vec![6; 11 << 20]);
    let (kept, other) = (receive(&mut to), receive(&mut to));
    drop(other);
    drop((from, to, domain));
    assert!(bytes(&kept).iter().all(|&byte| byte == 5));
    assert_eq!((mapped(MESSAGE_BYTES as u64), mapped(11 << 20)), (1, 0));
}

#[test]
fn a_slab_that_its_sender_gave_back_is_unmapped_while_views_of_others_are_held() {
    const MESSAGE_BYTES: u64 = 12 << 20;
    let domain = one_way(AMPLE_BYTES);
    let (mut from, mut to) = (domain.endpoint(0), domain.endpoint(1));
    send_bytes(&mut from, &vec![1; 300_000]);
    let held = receive(&mut to);
    for _ in 0..2 {
        send_bytes(&mut from, &vec![2; MESSAGE_BYTES as usize]);
        drop(receive(&mut to));
    }
    let given_back = |to: &mut Endpoint<Line>, slab: u32| {
        domain.tell(1, AgentNotice::SlabDropped { of: EndpointId::new(0), slab });
        assert!(!to.poll(0).unwrap());
    };
    let before = mapped(MESSAGE_BYTES);
    given_back(&mut to, 1);
    assert_eq!(mapped(MESSAGE_BYTES), before - 1, "a view of another slab is held");
    assert!(bytes(&held).iter().all(|&byte| byte == 1));
    // A wrong sender gives back slabs whose blocks are in use. Their memory stays mapped while views hold it.
    send_bytes(&mut from, &vec![3; 13 << 20]);
    let wrong = receive(&mut to);
    let before = mapped(13 << 20);
    (2..9).for_each(|slab| given_back(&mut to, slab));
    assert_eq!(mapped(13 << 20), before);
    assert!(bytes(&wrong).iter().all(|&byte| byte == 3));
    drop(wrong);
    assert!(!to.poll(0).unwrap());
    assert_eq!(mapped(13 << 20), before - 1, "nobody holds it any more");
}

#[test]
fn nothing_is_written_into_the_array_of_a_receive_that_panicked() {
    const LEN: usize = 200_000;
    let domain = one_way(AMPLE_BYTES);
    // Slab 0 belongs to the announcer, slab 1 to the sender.
    let announcer = domain.wrong_sender(0, 64);
    let (mut from, mut to) = (domain.endpoint(0), domain.endpoint(1));
    send_bytes(&mut from, &[9; LEN]);
    receive(&mut to);
    let place = packed(0, 1, 0).unwrap();
    let announce = || announcer.announce(0, 1, LEN as u64, Announcement { channel: 0, sequence: 1, place });
    let mut array = vec![0; LEN];
    to.set_interrupt_check(Box::new(|| panic!("the caller's own check")));
    thread::scope(|scope| {
        scope.spawn(|| {
            domain.look_until(1, |status| status.state == EndpointActivity::WaitingToReceive);
            domain.tell(1, AgentNotice::Budget { channel: 99, bytes: 1 });
        });
        let waited = catch_unwind(AssertUnwindSafe(|| to.follow_into(0, |_| true, &mut array)));
        assert!(waited.is_err());
    });
    to.set_interrupt_check(Box::new(|| false));
    announce();
    let nothing = to.receive(0, Some(now() + 1_000_000)).map(|_| ());
    assert!(matches!(nothing, Err(ShmError::TimedOut)), "{nothing:?}");
    assert!(array.iter().all(|&byte| byte == 0), "the array is the caller's again");
    // A second receive gets the same announcement, and copies the elements.
    domain.tell(1, AgentNotice::RunEnds("over".into()));
    let ended = to.follow_into(0, |_| true, &mut array);
    assert!(matches!(ended, Err(ShmError::RunEnds(_))), "{ended:?}");
    assert!(array.iter().all(|&byte| byte == 9));
}

/// A message that is larger than any memory.
struct Endless;

const ENDLESS: u64 = 1 << 50;

impl Source for Endless {
    fn head(&self) -> &[u8] {
        &[]
    }
    fn parts(&self) -> u16 {
        1
    }
    fn body_len(&self) -> u64 {
        ENDLESS
    }
    fn parts_len(&self) -> u64 {
        ENDLESS
    }
    fn write_parts(&self, _: &mut [u8]) {
        unreachable!("there is no memory for it")
    }
    fn write_body(&self, _: &mut [u8]) {
        unreachable!("there is no memory for it")
    }
    fn copy_range(&self, _: Range<u64>, _: &mut [u8]) {}
}

#[test]
fn a_streamed_message_that_its_receiver_cannot_hold_says_so_each_time_with_its_size_and_port() {
    for sleeps in [false, true] {
        let domain = one_way(12 << 20);
        let from = domain.clone();
        // The thread is not in a scope: if the test fails before it sends `RunEnds`, a scope would wait
        // forever.
        let sender = thread::spawn(move || {
            if sleeps {
                from.look_until(1, |status| status.state == EndpointActivity::WaitingToReceive);
            }
            from.endpoint(0).send(&[0], HeaderWords::data(0.0, None), &Endless)
        });
        let mut to = domain.endpoint(1);
        if !sleeps {
            domain.look_until(0, |status| status.state == EndpointActivity::WaitingToSend);
        }
        let mut met: Vec<_> = (0..3).map(|_| to.receive(0, Some(now() + TIMEOUT_NS)).map(|_| ())).collect();
        met.push(to.poll(0).map(|_| ()));
        domain.tell(0, AgentNotice::RunEnds("the receiver has failed".into()));
        for one in &met {
            let Err(error @ ShmError::OutOfMemory { bytes: ENDLESS, .. }) = one else { panic!("{met:?}") };
            let text = error.to_string();
            assert!(text.contains("instance0.out") && text.contains("raise \"memory\""), "{text}");
        }
        assert!(matches!(sender.join().unwrap(), Err(ShmError::RunEnds(_))));
    }
}

#[test]
fn a_process_that_may_not_use_the_fence_of_its_run_cannot_take_part() {
    let domain = one_way(AMPLE_BYTES);
    // The filter of system calls holds for this thread only.
    let refused = thread::spawn(move || {
        forbid_membarrier();
        domain.try_endpoint(0).map(|_| ())
    });
    let why = refused.join().unwrap().expect_err("it would sleep, and nobody would wake it").to_string();
    assert!(why.contains("membarrier") && why.contains("seccomp"), "{why}");
}

/// Makes membarrier(2) fail in this thread from now on, as under a batch system or container that filters
/// system calls.
fn forbid_membarrier() {
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_membarrier as u32),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lies on the stack during the calls, which copy it and change this thread only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

#[test]
fn what_a_process_has_no_room_to_map_is_no_memory_and_says_how_much() {
    let fd = ligament_shm::memory::create("slab", 4096).unwrap();
    let refused = Mapping::writable(&fd, 0, 1 << 50).map(|_| ());
    let Err(error @ ShmError::OutOfMemory { bytes, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(*bytes, 1 << 50);
    assert!(error.to_string().contains("map no more"), "{error}");
}
