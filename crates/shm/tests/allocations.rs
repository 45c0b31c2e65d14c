//! Counts the allocations in the steady state for each kind of message; docs/concepts/way-of-a-message.md
//! names these numbers. All kinds are in one test, because the count is for the whole process.

#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, Line};
use ligament_shm::endpoint::{Contiguous, EmptySource};
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::{array_head, ArrayOrder, ArrayRef, DType, Encoder, HeaderWords, Value, ValueRef};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// An allocator that counts the requests to it.
struct Counting;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above, for `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above, for `realloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: u64 = 200;
const MESSAGES: u64 = 5000;

fn header() -> HeaderWords {
    HeaderWords::data(0.0, None)
}

/// Sends and receives many messages. Returns the number of allocations per message, rounded: of the sender,
/// and of the receiver.
fn each(send: impl Fn(&mut Endpoint<Line>, &mut Encoder, u64) -> Result<(), ShmError>) -> (u64, u64) {
    let domain = Domain::new(2, &[Conduit { from: 0, to: 1, budget: 1 << 30 }], 1 << 30);
    let (mut sender, mut receiver) = (domain.endpoint(0), domain.endpoint(1));
    let mut encoder = Encoder::new();
    let (mut value, mut came) = (Value::None, HeaderWords::default());
    let mut counts = (0, 0);
    for i in 0..WARM_UP + MESSAGES {
        let before = REQUESTS.load(Ordering::Relaxed);
        send(&mut sender, &mut encoder, i).unwrap();
        let between = REQUESTS.load(Ordering::Relaxed);
        receiver.receive_to(0, None, &mut came, &mut value).unwrap();
        let after = REQUESTS.load(Ordering::Relaxed);
        if i >= WARM_UP {
            counts = (counts.0 + between - before, counts.1 + after - between);
        }
    }
    let rounded = |count: u64| (count + MESSAGES / 2) / MESSAGES;
    // An allocation that is not made for each message may be made for at most one message of 50.
    let rare = |count: u64| count.abs_diff(rounded(count) * MESSAGES) < MESSAGES / 50;
    assert!(rare(counts.0) && rare(counts.1), "{counts:?} for {MESSAGES} messages");
    (rounded(counts.0), rounded(counts.1))
}

#[test]
fn a_message_allocates_as_often_as_the_page_says() {
    let data = vec![1u64; 4096];
    let array = |shape: &'static [u64; 1]| {
        ValueRef::Array(ArrayRef::from_slice(&data[..shape[0] as usize], shape, ArrayOrder::RowMajor))
    };
    let mut head = Vec::new();
    array_head(DType::UInt64, &[1024], ArrayOrder::RowMajor, None, &mut head).unwrap();
    let plan = |value: &ValueRef<'_>, sender: &mut Endpoint<Line>, encoder: &mut Encoder| {
        sender.send(&[0], header(), &encoder.plan(value).unwrap())
    };

    let empty = each(|sender, _, _| sender.send(&[0], header(), &EmptySource));
    assert_eq!(empty, (0, 0), "empty");

    let number = each(|sender, encoder, _| plan(&ValueRef::Owned(&Value::Int(7)), sender, encoder));
    assert_eq!(number, (0, 0), "inline, no array");

    let inline = each(|sender, encoder, _| plan(&array(&[16]), sender, encoder));
    assert_eq!(inline, (0, 2), "inline, with an array");

    let as_before = each(|sender, _, _| {
        let source = Contiguous { head: &head, number: 1, data: bytemuck::cast_slice(&data[..1024]) };
        sender.send(&[0], header(), &source)
    });
    assert_eq!(as_before, (0, 0), "slab, like the one before");

    let domain = Domain::new(2, &[Conduit { from: 0, to: 1, budget: 1 << 30 }], 1 << 30);
    let (mut sender, mut receiver) = (domain.endpoint(0), domain.endpoint(1));
    let (mut value, mut came, mut own) = (Value::None, HeaderWords::default(), vec![0; 8192]);
    let mut before = 0;
    for i in 0..WARM_UP + MESSAGES {
        let source = Contiguous { head: &head, number: 1, data: bytemuck::cast_slice(&data[..1024]) };
        sender.send(&[0], header(), &source).unwrap();
        if !receiver.receive_ordinary_into(0, &mut came, |_| true, &mut own) {
            assert!(i < 2, "message {i} went another way");
            receiver.receive_to(0, None, &mut came, &mut value).unwrap();
        }
        if i == WARM_UP {
            before = REQUESTS.load(Ordering::Relaxed);
        }
    }
    assert_eq!(REQUESTS.load(Ordering::Relaxed) - before, 0, "received into memory");

    let another =
        each(|sender, encoder, i| plan(&array(if i % 2 == 0 { &[1023] } else { &[1024] }), sender, encoder));
    assert_eq!(another, (0, 0), "slab, another array");

    let body = 64 + 8192;
    let loan = each(|sender, _, _| {
        let loan = sender.loan(8192)?;
        sender.send_loan(&[0], header(), loan, (&head, 1), body)
    });
    assert_eq!(loan, (0, 0), "loan");

    let list = each(|sender, encoder, _| {
        let items = [array(&[1024]), array(&[1024]), array(&[1024])];
        plan(&ValueRef::List(&items), sender, encoder)
    });
    assert_eq!(list, (2, 2), "a list of three arrays");
}
