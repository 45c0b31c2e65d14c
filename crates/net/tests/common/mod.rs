//! Two domains in one thread, for the tests of this crate. Each has a `Net` and messages; `content` gives the
//! bytes of each message. A proxy between them delays bytes, cuts connections, falls silent, and records all
//! bytes.
#![allow(dead_code)]

use ligament_catalogue::Fault;
use ligament_net::{now, Event, Listen, Listener, MessageId, MessageStore, Nanos, Net, NetOptions, RunKeys};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

pub const SECOND_NS: Nanos = 1_000_000_000;

/// A random number generator (SplitMix64: Steele, Lea, Flood 2014). A seed gives the same numbers on all
/// machines.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Returns the bytes of a message of `total` bytes.
pub fn content(id: MessageId, total: u64) -> Vec<u8> {
    let mut dice = Dice(u64::from(id.conduit) << 32 ^ id.number ^ total << 17);
    let mut bytes = Vec::with_capacity(total as usize + 8);
    while (bytes.len() as u64) < total {
        bytes.extend_from_slice(&dice.next().to_le_bytes());
    }
    bytes.truncate(total as usize);
    bytes
}

/// The owner of a domain's messages.
#[derive(Default)]
pub struct Desk {
    /// Outgoing messages that are not released.
    pub leaving: HashMap<MessageId, Vec<u8>>,
    /// Incoming messages that are not delivered.
    pub arriving: HashMap<MessageId, Vec<u8>>,
    /// Delivered messages of each conduit, in order.
    pub delivered: BTreeMap<u32, Vec<Vec<u8>>>,
    pub credited: BTreeMap<u32, u64>,
    /// True if incoming messages must match `content`.
    pub checks: bool,
    /// The reason with which this end refuses memory for messages, if it does.
    pub full: Option<Fault>,
    /// The number of all messages that were delivered.
    pub count: u64,
}

impl MessageStore for Desk {
    fn slices<'a>(&'a self, _: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
        let bytes = self.leaving.get(&id).unwrap_or_else(|| panic!("{id:?} is asked for after its release"));
        let bytes = &bytes[offset as usize..offset as usize + len as usize];
        // The bytes are in two slices, as those of a message with a head and a body.
        let (one, two) = bytes.split_at(bytes.len().min(64));
        into.extend([one, two].into_iter().filter(|slice| !slice.is_empty()).map(IoSlice::new));
    }

    fn begin(&mut self, _: u32, id: MessageId, total: u64) -> Result<(), Fault> {
        if let Some(why) = &self.full {
            return Err(why.clone());
        }
        let before = self.arriving.insert(id, vec![0; total as usize]);
        assert!(before.is_none(), "memory for {id:?} is asked for twice");
        Ok(())
    }

    fn room(&mut self, _: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
        let bytes =
            self.arriving.get_mut(&id).unwrap_or_else(|| panic!("{id:?} has not begun, or is delivered"));
        &mut bytes[offset as usize..offset as usize + len as usize]
    }

    fn deliver(&mut self, _: u32, id: MessageId) {
        let bytes = self.arriving.remove(&id).unwrap_or_else(|| panic!("{id:?} is delivered twice"));
        if self.checks {
            assert!(bytes == content(id, bytes.len() as u64), "{id:?} has come as it was sent");
        }
        let all = self.delivered.entry(id.conduit).or_default();
        all.push(bytes);
        assert_eq!(all.len() as u64, id.number, "conduit {} delivers in order, once each", id.conduit);
        if self.checks {
            *all.last_mut().unwrap() = Vec::new();
        }
        self.count += 1;
    }

    fn release(&mut self, _: u32, id: MessageId) {
        self.leaving.remove(&id).unwrap_or_else(|| panic!("{id:?} is released twice"));
    }

    fn credit(&mut self, _: u32, conduit: u32, bytes: u64) {
        let known = self.credited.entry(conduit).or_default();
        assert!(bytes > *known, "credit grows");
        *known = bytes;
    }
}

/// A domain of the test.
pub struct End {
    pub net: Net,
    pub desk: Desk,
    pub events: Vec<Event>,
}

impl End {
    pub fn new(keys: &RunKeys, me: u32, encrypt: bool, tuning: NetOptions) -> End {
        End::of(Net::new(keys.clone(), me, encrypt, tuning).unwrap())
    }

    pub fn of(net: Net) -> End {
        End { net, desk: Desk { checks: true, ..Desk::default() }, events: Vec::new() }
    }

    pub fn turn(&mut self) {
        self.net.turn(&mut self.desk, now());
        self.events.extend(std::iter::from_fn(|| self.net.event()));
    }

    /// Sends a message with the bytes that `content` returns for it.
    pub fn send(&mut self, domain: u32, conduit: u32, total: u64) -> MessageId {
        let id = self.net.send(domain, conduit, total);
        self.desk.leaving.insert(id, content(id, total));
        id
    }

    /// Sends a message with these bytes.
    pub fn send_bytes(&mut self, domain: u32, conduit: u32, bytes: Vec<u8>) -> MessageId {
        let id = self.net.send(domain, conduit, bytes.len() as u64);
        self.desk.leaving.insert(id, bytes);
        id
    }

    pub fn has(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(wanted)
    }

    pub fn refusals(&self) -> Vec<&str> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Refused { why, .. } => Some(why.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// Makes a listener on the loopback interface, and returns its address, too.
pub fn listener() -> (Listener, SocketAddr) {
    let listen = Listen { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), ..Listen::default() };
    let listener = Listener::bind(&listen).unwrap();
    let address = listener.addresses()[0];
    (listener, address)
}

/// Makes domain 0, which listens, and domain 1, which dials it, through a proxy if `proxied` is true.
pub fn pair(encrypt: bool, tuning: NetOptions, streams: u16, proxied: bool) -> (End, End, Option<Proxy>) {
    let keys = RunKeys::make();
    let mut ends = [0, 1].map(|me| End::new(&keys, me, encrypt, tuning));
    let (listener, address) = listener();
    ends[0].net.listen(listener);
    ends[0].net.expect(1);
    let proxy = proxied.then(|| Proxy::to(address));
    let address = proxy.as_ref().map_or(address, |proxy| proxy.address);
    ends[1].net.dial(0, vec![address], streams);
    let [zero, one] = ends;
    (zero, one, proxy)
}

/// Runs the domains until a condition holds. Panics after a minute.
pub fn play(
    ends: &mut [&mut End],
    proxy: &mut Option<Proxy>,
    mut until: impl FnMut(&mut [&mut End], &mut Option<Proxy>) -> bool,
) {
    let began = now();
    loop {
        ends.iter_mut().for_each(|end| end.turn());
        if let Some(proxy) = proxy {
            proxy.turn();
        }
        if until(ends, proxy) {
            return;
        }
        assert!(now() - began < 60 * SECOND_NS, "it does not come to pass: {:?}", told(ends));
        wait(ends, proxy);
    }
}

fn told<'a>(ends: &'a [&mut End]) -> Vec<&'a [Event]> {
    ends.iter().map(|end| &end.events[end.events.len().saturating_sub(8)..]).collect()
}

/// Waits until a domain or the proxy has something to do, at most 20 ms, so that conditions can look at the
/// clock.
fn wait(ends: &[&mut End], proxy: &Option<Proxy>) {
    let deadline = ends.iter().filter_map(|end| end.net.deadline()).min();
    let pause = deadline.map_or(u64::MAX, |at| at.saturating_sub(now())).min(20_000_000);
    let fds: Vec<_> = ends.iter().map(|end| end.net.poll_fd()).collect();
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    if let Some(proxy) = proxy {
        proxy.add_to(&mut polled);
    }
    let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: pause as i64 }));
}

/// Passes bytes between a dialler and a listener.
pub struct Proxy {
    pub address: SocketAddr,
    target: SocketAddr,
    listener: TcpListener,
    pub links: Vec<Link>,
    /// The number of connections that were let through.
    pub came: u32,
    /// True if the proxy refuses every connection.
    pub closed: bool,
    /// All bytes that went through in either direction, connection by connection, if the proxy records them.
    pub record: Option<Vec<u8>>,
    /// The delay of each byte (ns).
    pub delay: Nanos,
    /// Number of bytes that went through.
    pub through: u64,
    /// True if the proxy changes all bytes of the listener after its welcome.
    pub garbles: bool,
}

/// One connection through a proxy.
pub struct Link {
    sides: [TcpStream; 2],
    /// The bytes from each side, each piece with the time at which it is passed on (ns).
    under_way: [VecDeque<(Nanos, Vec<u8>)>; 2],
    /// True if the link neither reads nor writes.
    pub silent: bool,
    /// The link breaks after this number of bytes.
    pub breaks_after: Option<u64>,
    through: u64,
    /// Number of bytes that each side has sent.
    said: [u64; 2],
    /// All bytes from the dialler, if the proxy keeps a record.
    pub dialler_said: Vec<u8>,
    gone: bool,
}

impl Proxy {
    pub fn to(target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        Proxy {
            address,
            target,
            listener,
            links: Vec::new(),
            came: 0,
            closed: false,
            record: None,
            delay: 0,
            through: 0,
            garbles: false,
        }
    }

    /// Returns the address of the listener.
    pub fn target(&self) -> SocketAddr {
        self.target
    }

    pub fn turn(&mut self) {
        while let Ok((near, _)) = self.listener.accept() {
            if self.closed {
                continue;
            }
            let far = TcpStream::connect(self.target).unwrap();
            self.came += 1;
            for side in [&near, &far] {
                side.set_nonblocking(true).unwrap();
                side.set_nodelay(true).unwrap();
            }
            let sides = [near, far];
            let under_way = Default::default();
            self.links.push(Link {
                sides,
                under_way,
                silent: false,
                breaks_after: None,
                through: 0,
                said: [0; 2],
                dialler_said: Vec::new(),
                gone: false,
            });
        }
        let time = now();
        for link in self.links.iter_mut().filter(|link| !link.silent) {
            self.through += link.carry(time, self.delay, self.garbles, &mut self.record);
        }
        self.links.retain(|link| !link.gone);
    }

    /// Breaks all links.
    pub fn cut(&mut self) {
        self.links.clear();
    }

    fn add_to<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        polled.push(PollFd::new(&self.listener, PollFlags::IN));
        for link in self.links.iter().filter(|link| !link.silent) {
            for (from, to) in [(0, 1), (1, 0)] {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, link.waiting(from) < MAX_PROXY_BYTES);
                flags.set(PollFlags::OUT, link.waiting(to) > 0 && self.delay == 0);
                polled.push(PollFd::from_borrowed_fd(link.sides[from].as_fd(), flags));
            }
        }
    }
}

/// Maximum number of bytes that wait in a link for one side.
const MAX_PROXY_BYTES: usize = 1 << 20;
/// Length of a listener's welcome (bytes).
const WELCOME_BYTES: u64 = 80;

impl Link {
    /// Returns the number of bytes that a side has sent.
    pub fn has_said(&self, side: usize) -> u64 {
        self.said[side]
    }

    fn waiting(&self, from: usize) -> usize {
        self.under_way[from].iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Passes on the bytes that can be passed on now. Returns the number of bytes read.
    fn carry(&mut self, time: Nanos, delay: Nanos, garbles: bool, record: &mut Option<Vec<u8>>) -> u64 {
        let mut taken = 0;
        for (from, to) in [(0, 1), (1, 0)] {
            let mut buffer = vec![0; 64 << 10];
            while self.waiting(from) < MAX_PROXY_BYTES {
                match self.sides[from].read(&mut buffer) {
                    Ok(bytes) if bytes > 0 => {
                        if garbles && from == 1 && self.said[1] >= WELCOME_BYTES {
                            buffer[..bytes].iter_mut().for_each(|byte| *byte ^= 0x55);
                        }
                        self.said[from] += bytes as u64;
                        self.under_way[from].push_back((time + delay, buffer[..bytes].to_vec()));
                        taken += bytes as u64;
                        if let Some(record) = record {
                            record.extend_from_slice(&buffer[..bytes]);
                            if from == 0 {
                                self.dialler_said.extend_from_slice(&buffer[..bytes]);
                            }
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    _ => {
                        // Delayed bytes under way are lost, as when a machine vanishes.
                        self.gone |= self.under_way[from].is_empty() || delay > 0;
                        break;
                    }
                }
            }
            while let Some((due, bytes)) = self.under_way[from].front_mut() {
                if *due > time {
                    break;
                }
                match self.sides[to].write(bytes) {
                    Ok(written) => {
                        bytes.drain(..written);
                        if bytes.is_empty() {
                            self.under_way[from].pop_front();
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => {
                        self.gone = true;
                        break;
                    }
                }
            }
        }
        self.through += taken;
        self.gone |= self.breaks_after.is_some_and(|limit| self.through >= limit);
        taken
    }
}
