//! Tests of two ends of a path in one process. Every message arrives once and in order, even if connections
//! are cut, and every failure is an error that is returned.

use ligament_link::{Key, Options, Path, PathErrorKind, Request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time after which a test fails. Only a call that hangs takes this long.
const WATCHDOG: Duration = Duration::from_secs(120);
const TIMEOUT: Option<Duration> = Some(WATCHDOG);

fn pair(options: &Options) -> (Path, Path) {
    let key = Key::make();
    let one = Path::listen(&key, "127.0.0.1:0", options).unwrap();
    let other = Path::open(&key, &[&one.addresses()[0].to_string()], options).unwrap();
    (one, other)
}

/// Tests a request again and again until it is done.
fn look_until_done(path: &Path, request: Request) {
    let began = Instant::now();
    while !path.test(request).unwrap() {
        assert!(began.elapsed() < WATCHDOG, "it is never done");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn content(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + number * 7 + (at >> 9)) as u8).collect()
}

#[test]
fn messages_of_all_sizes_arrive_in_order_both_ways() {
    for options in [Options::default(), Options { encrypt: false, streams: 1, ..Options::default() }] {
        let (one, other) = pair(&options);
        let sizes = [0, 1, 39, 64, 1000, 16_385, 300_000, 0, 20 << 20, 5];
        std::thread::scope(|scope| {
            for (from, to) in [(&one, &other), (&other, &one)] {
                scope.spawn(move || {
                    for (number, length) in sizes.into_iter().enumerate() {
                        from.send(&content(number, length), TIMEOUT).unwrap();
                    }
                });
                scope.spawn(move || {
                    for (number, length) in sizes.into_iter().enumerate() {
                        assert_eq!(to.probe(TIMEOUT).unwrap(), length as u64);
                        assert!(to.receive(TIMEOUT).unwrap() == content(number, length), "message {number}");
                    }
                });
            }
        });
        let seen = one.statistics();
        assert_eq!((seen.sent, seen.received), (10, 10));
        assert_eq!(seen.sent_bytes, seen.received_bytes);
        assert!(seen.connected);
        other.close(TIMEOUT).unwrap();
        assert_eq!(one.receive(TIMEOUT).unwrap_err().kind(), PathErrorKind::Closed);
        assert_eq!(one.send(b"x", TIMEOUT).unwrap_err().kind(), PathErrorKind::Closed);
        one.close(TIMEOUT).unwrap();
    }
}

#[test]
fn what_is_begun_is_tested_and_waited_for() {
    let (one, other) = pair(&Options::default());
    let comes = [one.ireceive(), one.ireceive()];
    assert_eq!(one.test(comes[0]), Ok(false));
    let sends = [other.isend(content(1, 3_000_000)).unwrap(), other.isend(vec![7]).unwrap()];
    assert!(one.wait(comes[0], TIMEOUT).unwrap() == content(1, 3_000_000));
    assert_eq!(one.wait(comes[1], TIMEOUT).unwrap(), [7]);
    for request in sends {
        assert!(other.wait(request, TIMEOUT).unwrap().is_empty());
        assert_eq!(other.test(request).unwrap_err().kind(), PathErrorKind::Usage, "it is over");
    }
    let late = one.ireceive();
    assert_eq!(one.wait(late, Some(Duration::from_millis(20))).unwrap_err().kind(), PathErrorKind::TimedOut);
    other.send(b"late", TIMEOUT).unwrap();
    look_until_done(&one, late);
    let error = one.wait_into(late, &mut [0; 2], TIMEOUT).unwrap_err();
    assert_eq!((error.kind(), error.needed()), (PathErrorKind::Unexpected, Some(4)));
    one.cancel(late).unwrap();
    assert!(one.cancel(late).is_err());
    assert_eq!(one.receive(TIMEOUT).unwrap(), b"late", "what was given up comes again");
    let both = std::thread::scope(|scope| {
        let there = scope.spawn(|| other.send_receive(&content(2, 1 << 20), TIMEOUT).unwrap());
        (one.send_receive(&content(3, 2 << 20), TIMEOUT).unwrap(), there.join().unwrap())
    });
    assert!(both.0 == content(2, 1 << 20) && both.1 == content(3, 2 << 20));
}

#[test]
fn a_message_that_is_too_long_stays() {
    let (one, other) = pair(&Options::default());
    one.send(b"eight or", TIMEOUT).unwrap();
    one.send(b"four", TIMEOUT).unwrap();
    let mut place = [0; 4];
    let error = other.receive_into(&mut place, TIMEOUT).unwrap_err();
    assert_eq!((error.kind(), error.code().name()), (PathErrorKind::Unexpected, "path-misused"));
    assert_eq!(other.receive(TIMEOUT).unwrap(), b"eight or");
    assert_eq!(other.receive_into(&mut place, TIMEOUT), Ok(4));
    assert_eq!(&place, b"four");
}

#[test]
fn a_barrier_waits_for_the_other_end() {
    let (one, other) = pair(&Options::default());
    // A call after a time-out waits at the same barrier, so the other end reaches the barrier only once.
    for _ in 0..2 {
        assert_eq!(one.barrier(Some(Duration::from_millis(50))).unwrap_err().kind(), PathErrorKind::TimedOut);
    }
    other.barrier(TIMEOUT).unwrap();
    one.barrier(TIMEOUT).unwrap();
    let reached = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            reached.store(true, Ordering::SeqCst);
            other.barrier(TIMEOUT).unwrap();
        });
        one.barrier(TIMEOUT).unwrap();
        assert!(reached.load(Ordering::SeqCst));
    });
}

#[test]
fn a_message_that_came_for_a_request_that_is_given_up_goes_to_the_one_that_waits_longest() {
    let (one, other) = pair(&Options::default());
    let (first, second) = (one.ireceive(), one.ireceive());
    other.send(b"1", TIMEOUT).unwrap();
    look_until_done(&one, first);
    one.cancel(first).unwrap();
    assert_eq!(one.wait(second, TIMEOUT).unwrap(), b"1");
    other.send(b"2", TIMEOUT).unwrap();
    assert_eq!(one.receive(TIMEOUT).unwrap(), b"2");
}

#[test]
fn messages_of_requests_that_are_given_up_stay_in_order() {
    let (one, other) = pair(&Options::default());
    let requests = [one.ireceive(), one.ireceive(), one.ireceive()];
    for word in [b"1", b"2", b"3", b"4"] {
        other.send(word, TIMEOUT).unwrap();
    }
    look_until_done(&one, requests[2]);
    for at in [1, 0, 2] {
        one.cancel(requests[at]).unwrap();
    }
    for word in [b"1", b"2", b"3", b"4"] {
        assert_eq!(one.receive(TIMEOUT).unwrap(), word);
    }
}

/// A message whose count of owners shows if the path still has it.
struct Counted(Arc<Vec<u8>>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[test]
fn bytes_of_a_request_that_cannot_be_done_are_the_senders_again() {
    // The message is larger than both windows, so it is under way when the other end closes.
    let (one, other) = pair(&Options { window: 1 << 20, ..Options::default() });
    let bytes = Arc::new(content(1, 8 << 20));
    let requests = [one.isend(Counted(bytes.clone())).unwrap(), one.isend(Counted(bytes.clone())).unwrap()];
    other.probe(TIMEOUT).unwrap();
    other.close(TIMEOUT).unwrap();
    for request in requests {
        // The first message may have arrived.
        let _ = one.wait(request, TIMEOUT);
    }
    assert_eq!(Arc::strong_count(&bytes), 1);
}

#[test]
fn who_does_not_receive_stops_the_sender_and_not_for_ever() {
    let (one, other) = pair(&Options { window: 1 << 20, ..Options::default() });
    let mut sent = 0;
    let error = loop {
        match one.send(&content(sent, 200_000), Some(Duration::from_millis(200))) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 10, "the window is open");
    };
    assert_eq!(error.kind(), PathErrorKind::TimedOut);
    for number in 0..sent {
        assert!(other.receive(TIMEOUT).unwrap() == content(number, 200_000));
    }
    one.send(&content(9, 3 << 20), TIMEOUT).unwrap();
    assert!(other.receive(TIMEOUT).unwrap() == content(9, 3 << 20), "one message always has room");
}

/// A proxy that passes bytes on. The test cuts its connections in `links`.
struct Cable {
    address: SocketAddr,
    links: Arc<Mutex<Vec<TcpStream>>>,
}

fn cable(to: SocketAddr) -> Cable {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let links: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let all = links.clone();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(to) else { return };
            all.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
            for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                std::thread::spawn(move || {
                    let mut bytes = [0; 64 << 10];
                    while let Ok(some) = from.read(&mut bytes) {
                        if some == 0 || to.write_all(&bytes[..some]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    Cable { address, links }
}

/// Sets a flag when it is dropped, also if the test fails. Otherwise the scope would wait for its threads
/// forever.
struct DropFlag<'a>(&'a AtomicBool);

impl Drop for DropFlag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_path_that_is_cut_ten_times_loses_and_repeats_nothing() {
    let key = Key::make();
    let one = Path::listen(&key, "127.0.0.1:0", &Options::default()).unwrap();
    let cable = cable(one.addresses()[0]);
    let other = Path::open(&key, &[&cable.address.to_string()], &Options::default()).unwrap();
    let count = 200;
    let length = |number: usize| [10, 1000, 50_000, 2_000_000][number % 4];
    let (is_over, came) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = DropFlag(&is_over);
        scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(30));
                // Without this check, each connection would be cut before it is ready if that takes more than
                // 30 ms. An end with another key cannot connect.
                if came.load(Ordering::SeqCst) == seen {
                    continue;
                }
                seen = came.load(Ordering::SeqCst);
                for link in cable.links.lock().unwrap().drain(..) {
                    let _ = link.shutdown(std::net::Shutdown::Both);
                }
            }
        });
        let sends = scope.spawn(|| {
            for number in 0..count {
                other.send(&content(number, length(number)), TIMEOUT).unwrap();
                one.send(&[number as u8], TIMEOUT).unwrap();
            }
        });
        for number in 0..count {
            assert!(one.receive(TIMEOUT).unwrap() == content(number, length(number)), "message {number}");
            assert_eq!(other.receive(TIMEOUT).unwrap(), [number as u8]);
            came.store(number + 1, Ordering::SeqCst);
        }
        sends.join().unwrap();
    });
    assert!(one.statistics().cuts > 0);
}

#[test]
fn what_cannot_be_is_an_error_and_no_end_of_the_program() {
    let key = Key::make();
    let plain = Options::default();
    for wrong in ["", "nowhere", "127.0.0.1:x", "127.0.0.1:99999", "no.such.host.invalid:1"] {
        assert_eq!(Path::listen(&key, wrong, &plain).err().unwrap().kind(), PathErrorKind::Usage, "{wrong}");
        assert_eq!(Path::open(&key, &[wrong], &plain).err().unwrap().kind(), PathErrorKind::Usage, "{wrong}");
    }
    assert!(Path::open(&key, &[], &plain).is_err());
    assert!(Path::open(&key, &["127.0.0.1:1"], &Options { streams: 257, ..plain.clone() }).is_err());
    let missing = Options { relays: vec!["/no/such.relay".into()], ..plain.clone() };
    assert!(Path::listen(&key, "127.0.0.1:0", &missing).is_err());
    let impatient = Options { patience: Duration::from_millis(300), ..plain.clone() };
    let lonely = Path::open(&key, &["127.0.0.1:1"], &impatient).unwrap();
    lonely.send(b"into the void", TIMEOUT).unwrap();
    let error = lonely.receive(TIMEOUT).unwrap_err();
    assert_eq!((error.kind(), error.code().name()), (PathErrorKind::System, "path-given-up"));
    assert!(lonely.close(TIMEOUT).is_err());
    // Another key.
    let one = Path::listen(&key, "127.0.0.1:0", &impatient).unwrap();
    let at = one.addresses()[0].to_string();
    let stranger = Path::open(&Key::make(), &[&at], &impatient).unwrap();
    assert_eq!(stranger.wait_connected(TIMEOUT).unwrap_err().kind(), PathErrorKind::System);
    let taken = Path::listen(&key, &at, &plain).err().unwrap();
    assert_eq!(taken.kind(), PathErrorKind::System);
    // A dropped end sends no notice to the other end.
    let (one, other) = pair(&impatient);
    one.send(b"last", TIMEOUT).unwrap();
    assert_eq!(other.receive(TIMEOUT).unwrap(), b"last");
    drop(one);
    assert_eq!(other.receive(TIMEOUT).unwrap_err().kind(), PathErrorKind::System);
}

#[test]
fn ends_that_make_the_same_call_meet_whoever_is_first() {
    let key = Key::make();
    let free = Path::listen(&key, "127.0.0.1:0", &Options::default()).unwrap().addresses()[0].to_string();
    let first = Path::meet(&key, &free, &Options::default()).unwrap();
    let second = Path::meet(&key, &free, &Options::default()).unwrap();
    assert_eq!((first.addresses().len(), second.addresses().len()), (1, 0));
    second.send(b"met", TIMEOUT).unwrap();
    assert_eq!(first.receive(TIMEOUT).unwrap(), b"met");
    // The pace of an open path can be set and removed.
    for pace in [Some(1 << 20), None] {
        first.set_pace(pace).unwrap();
        first.send(b"back", TIMEOUT).unwrap();
        assert_eq!(second.receive(TIMEOUT).unwrap(), b"back");
    }
    // No machine has this address, so the path is opened and finds no other end.
    let options = Options { patience: Duration::from_millis(100), ..Options::default() };
    let alone = Path::meet(&key, "192.0.2.1:7", &options).unwrap();
    assert!(alone.addresses().is_empty());
    assert_eq!(Path::meet(&key, "nowhere", &options).err().unwrap().kind(), PathErrorKind::Usage);
}

#[test]
fn ends_meet_at_no_port_that_each_would_have_of_its_own() {
    for at in [":0", "*:0", "127.0.0.1:0"] {
        let error = Path::meet(&Key::make(), at, &Options::default()).err().unwrap();
        assert_eq!(
            (error.kind(), error.code().to_string().as_str()),
            (PathErrorKind::Usage, "path-address"),
            "{at}"
        );
        assert!(error.to_string().contains("port 0 is any that is free"), "{error}");
    }
}

#[test]
fn an_end_that_may_not_listen_where_it_meets_says_so_at_once() {
    // A link-local address cannot be used without the name of an interface.
    let at = "[fe80::1]:7";
    let [listens, meets] = [Path::listen, Path::meet].map(|call| call(&Key::make(), at, &Options::default()));
    let [listens, meets] = [listens, meets].map(|path| path.err().unwrap());
    assert_eq!(meets.kind(), PathErrorKind::System);
    assert_eq!(meets, listens);
}

#[test]
fn a_path_whose_port_is_taken_is_told_what_it_can_do() {
    let key = Key::make();
    let one = Path::listen(&key, "127.0.0.1:0", &Options::default()).unwrap();
    let why =
        Path::listen(&key, &one.addresses()[0].to_string(), &Options::default()).err().unwrap().to_string();
    assert!(why.contains("take another one, or 0 for any that is free"), "{why}");
}

#[test]
fn a_key_lies_in_a_file_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let file = std::env::temp_dir().join(format!("ligament-link-{}.key", std::process::id()));
    let key = Key::make();
    key.write(&file).unwrap();
    assert!(Key::read(&file).unwrap() == key);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Key::read(&file).unwrap_err().code().name(), "path-key");
    std::fs::remove_file(&file).unwrap();
    assert!(Key::read(&file).is_err());
}
