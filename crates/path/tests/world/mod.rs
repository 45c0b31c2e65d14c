//! A simulated path: two ends and their streams under a virtual clock. The streams are slow, are cut and
//! replaced, or go silent without a notice. `relays` has the relays between the ends.

mod relays;

use ligament_path::{
    Action, Destination, FrameHeader, LinkShape, MessageId, Nanos, OutgoingFrame, Path, PathOptions, StreamId,
    HEADER_BYTES,
};
use relays::Relays;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A random number generator (SplitMix64: Steele, Lea, Flood 2014). A seed gives the same numbers on all
/// machines.
pub struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn content(id: MessageId, at: u64) -> u8 {
    (u64::from(id.conduit) * 31 + id.number * 7 + at * 13 + (at >> 8)) as u8
}

/// The bytes that an end is reading on a stream.
#[derive(Default)]
struct Reader {
    header: Vec<u8>,
    /// The destination of the next bytes. `got` is their number so far; `bytes` holds those of a control
    /// frame.
    place: Option<Destination>,
    got: u64,
    bytes: Vec<u8>,
}

struct End {
    path: Path,
    /// For each stream: the incarnation that this end knows, and the bytes that it is reading.
    streams: BTreeMap<StreamId, (u32, Reader)>,
    /// Lengths of the messages that are sent and not released.
    leaving: HashMap<MessageId, u64>,
    /// Memory of the arriving messages.
    arriving: HashMap<MessageId, Vec<u8>>,
    lengths: BTreeMap<u32, Vec<u64>>,
    delivered: BTreeMap<u32, u64>,
    received: BTreeMap<u32, u64>,
    credited: BTreeMap<u32, u64>,
    ended: bool,
}

/// One incarnation of a stream. `pipes` has, for each end, the bytes under way from there: to the first
/// relay, from each relay to the next, and to the other end.
struct Connection {
    incarnation: u32,
    pipes: [Vec<VecDeque<u8>>; 2],
    dead: bool,
}

pub struct World {
    pub dice: Dice,
    now: Nanos,
    ends: [End; 2],
    connections: BTreeMap<StreamId, Connection>,
    incarnations: BTreeMap<StreamId, u32>,
    capacity: usize,
    cuts: u64,
    /// A tenth of the average number of steps between two cuts.
    between_cuts: u64,
    relays: Relays,
}

const TUNING: PathOptions = PathOptions {
    piece: 700,
    small: 300,
    longest: 1 << 20,
    most: 1000,
    conduits: 1 << 32,
    tell_after_bytes: 3000,
    tell_after: 2_000_000,
    heartbeat: 20_000_000,
    silence: 100_000_000,
    patience: 100_000_000_000,
    farewell: 100_000_000_000,
};

impl World {
    /// Makes a world. Its streams go over at most `relays` relays.
    pub fn new(seed: u64, relays: u64) -> World {
        let mut dice = Dice(seed);
        let tuning = PathOptions { piece: 1 + dice.below(2000) as u32, ..TUNING };
        let end = |tuning| End {
            path: Path::new(tuning, 0),
            streams: BTreeMap::new(),
            leaving: HashMap::new(),
            arriving: HashMap::new(),
            lengths: BTreeMap::new(),
            delivered: BTreeMap::new(),
            received: BTreeMap::new(),
            credited: BTreeMap::new(),
            ended: false,
        };
        let streams = 1 + dice.below(4) as StreamId;
        let mut ends = [end(tuning), end(TUNING)];
        if dice.one_in(2) {
            let beyond = [0, 1000, u64::MAX][dice.below(3) as usize];
            let min_piece = 1 + dice.below(100) as u32;
            let pulse = TUNING.heartbeat / 4;
            let shape = LinkShape { min_piece, max_piece: tuning.piece, bulk_streams: 1, beyond, pulse };
            ends[0].path.shape(shape);
        }
        let capacity = 100 + dice.below(10_000) as usize;
        let relays = Relays::new(if relays > 0 { 1 + dice.below(relays) as usize } else { 0 });
        World {
            now: 0,
            ends,
            connections: BTreeMap::new(),
            incarnations: (0..streams).map(|stream| (stream, 0)).collect(),
            capacity,
            cuts: 0,
            between_cuts: 1 + dice.below(400),
            relays,
            dice,
        }
    }

    pub fn play(&mut self, sends: u64, cuts: u64) {
        let mut left = [sends, sends / 2];
        let mut steps = 0u64;
        while !self.ends.iter().all(|end| end.ended) || !self.all_credit_is_known() {
            steps += 1;
            // A schedule whose pieces have one byte takes some millions of steps.
            assert!(steps < 30_000_000, "the path does not come to its end: {:?}", self.state());
            self.now += self.dice.below(200_000);
            let which = self.dice.below(2) as usize;
            match self.dice.below(10) {
                0 if left[which] > 0 => {
                    left[which] -= 1;
                    self.send(which);
                    if left[which] == 0 {
                        self.ends[which].path.end();
                    }
                }
                1 if self.cuts < cuts && self.dice.one_in(self.between_cuts) => self.cut(),
                2 => self.connect(),
                3 => self.notice(which),
                4 | 5 => self.write(which),
                6 => self.ends[which].path.tick(self.now),
                7 if self.dice.one_in(50) => self.now += self.dice.below(150_000_000),
                _ => self.read(which),
            }
            self.pass_on();
            self.act(0);
            self.act(1);
        }
        self.check_the_end();
    }

    fn all_credit_is_known(&self) -> bool {
        (0..2).all(|which| self.ends[which].received == self.ends[1 - which].credited)
    }

    fn state(&self) -> Vec<((usize, usize), usize)> {
        self.ends.iter().map(|end| (end.path.under_way(), end.streams.len())).collect()
    }

    fn send(&mut self, which: usize) {
        // A conduit goes one way. Conduits with even numbers go from end 0 to end 1.
        let conduit = 2 * self.dice.below(4) as u32 + which as u32;
        let total = match self.dice.below(4) {
            0 => 0,
            1 => self.dice.below(20_000),
            _ => self.dice.below(400),
        };
        let end = &mut self.ends[which];
        let id = end.path.send(conduit, total);
        end.leaving.insert(id, total);
        end.lengths.entry(conduit).or_default().push(total);
    }

    fn cut(&mut self) {
        let streams: Vec<StreamId> = self.connections.keys().copied().collect();
        if streams.is_empty() {
            return;
        }
        self.cuts += 1;
        if self.relays.count() > 0 && self.dice.one_in(2) {
            return self.trouble_a_relay();
        }
        match self.dice.below(4) {
            // All connections are cut at once.
            0 => self.connections.clear(),
            // One connection goes silent, and neither end gets a notice.
            1 => {
                let stream = streams[self.dice.below(streams.len() as u64) as usize];
                self.connections.get_mut(&stream).unwrap().dead = true;
            }
            _ => {
                let stream = streams[self.dice.below(streams.len() as u64) as usize];
                self.connections.remove(&stream);
            }
        }
    }

    fn connect(&mut self) {
        if !self.relays.all_are_there(self.now) {
            return;
        }
        for (&stream, incarnation) in &mut self.incarnations {
            let broken = self.connections.get(&stream).is_none_or(|connection| connection.dead);
            // End 0 dials a stream when it knows that the stream has no connection.
            if broken && !self.ends[0].streams.contains_key(&stream) {
                *incarnation += 1;
                let pipes = [(); 2].map(|()| vec![VecDeque::new(); self.relays.count() + 1]);
                let connection = Connection { incarnation: *incarnation, pipes, dead: false };
                self.connections.insert(stream, connection);
                break;
            }
        }
    }

    /// Tells an end about one change of a stream: a break, or a new incarnation.
    fn notice(&mut self, which: usize) {
        let end = &mut self.ends[which];
        for &stream in self.incarnations.keys() {
            let real = self.connections.get(&stream).filter(|connection| !connection.dead);
            let believed = end.streams.get(&stream).map(|(incarnation, _)| *incarnation);
            match (real.map(|connection| connection.incarnation), believed) {
                (Some(real), believed) if believed != Some(real) => {
                    end.streams.insert(stream, (real, Reader::default()));
                    self.relays.forget(which, stream);
                    end.path.stream_up(stream, real, self.now);
                    return;
                }
                // The end first reads the bytes that a relay had passed on. Only then does it notice the
                // break.
                (None, Some(believed)) if self.relays.has_left(which, stream, believed) => {}
                (None, Some(_)) if !self.connections.contains_key(&stream) => {
                    end.streams.remove(&stream);
                    end.path.stream_down(stream, self.now);
                    return;
                }
                _ => {}
            }
        }
    }

    fn write(&mut self, which: usize) {
        let streams: Vec<StreamId> = self.ends[which].streams.keys().copied().collect();
        if streams.is_empty() {
            return;
        }
        let stream = streams[self.dice.below(streams.len() as u64) as usize];
        for _ in 0..1 + self.dice.below(4) {
            let believed = self.ends[which].streams[&stream].0;
            let connection = self.connections.get_mut(&stream).filter(|c| c.incarnation == believed);
            if connection.as_ref().is_some_and(|c| c.pipes[which][0].len() >= self.capacity) {
                return;
            }
            let promised = self.ends[which].path.has_next(stream, self.now);
            let frame = self.ends[which].path.next(stream, self.now);
            assert_eq!(promised, frame.is_some(), "what is said to be there is there");
            let Some(frame) = frame else { return };
            let mut bytes = Vec::new();
            match frame {
                OutgoingFrame::Piece { header, id, offset, len } => {
                    assert!(self.ends[which].leaving.contains_key(&id), "{id:?} is sent after its release");
                    bytes.extend(header.encode());
                    bytes.extend((offset..offset + u64::from(len)).map(|at| content(id, at)));
                }
                OutgoingFrame::Control { header, bytes: control } => {
                    bytes.extend(header.encode());
                    bytes.extend(control);
                }
            }
            if let Some(connection) = connection.filter(|c| !c.dead) {
                connection.pipes[which][0].extend(bytes);
            }
        }
    }

    fn read(&mut self, which: usize) {
        let streams: Vec<StreamId> = self.ends[which].streams.keys().copied().collect();
        if streams.is_empty() {
            return;
        }
        let stream = streams[self.dice.below(streams.len() as u64) as usize];
        let believed = self.ends[which].streams[&stream].0;
        let connection = self.connections.get_mut(&stream).filter(|c| c.incarnation == believed && !c.dead);
        let came = connection.and_then(|connection| connection.pipes[1 - which].last_mut());
        let Some(pipe) = came.or_else(|| self.relays.left(which, stream, believed)) else { return };
        let some = 1 + self.dice.below(3000) as usize;
        let bytes: Vec<u8> = pipe.drain(..some.min(pipe.len())).collect();
        self.ends[which].take(stream, &bytes, self.now);
    }

    fn act(&mut self, which: usize) {
        while let Some(action) = self.ends[which].path.action() {
            let end = &mut self.ends[which];
            match action {
                Action::Deliver(id) => {
                    let next = end.delivered.entry(id.conduit).or_default();
                    *next += 1;
                    assert_eq!(id.number, *next, "conduit {} delivers in order, once each", id.conduit);
                    let bytes = end.arriving.remove(&id).expect("what is delivered has come");
                    assert!(
                        bytes.iter().enumerate().all(|(at, &byte)| byte == content(id, at as u64)),
                        "{id:?} is whole"
                    );
                    let received = end.received.entry(id.conduit).or_default();
                    *received += bytes.len() as u64 + 1;
                    let received = *received;
                    end.path.credit(id.conduit, received);
                }
                Action::Release(id) => {
                    let total = end.leaving.remove(&id).expect("what is released was under way");
                    let there = &self.ends[1 - which];
                    let delivered = there.delivered.get(&id.conduit).is_some_and(|&last| id.number <= last);
                    let held = there.arriving.get(&id).is_some_and(|bytes| bytes.len() as u64 == total);
                    assert!(delivered || held, "{id:?} is released before the other end has it");
                }
                Action::Credit { conduit, bytes } => {
                    let known = end.credited.entry(conduit).or_default();
                    assert!(bytes > *known, "credit grows");
                    *known = bytes;
                }
                Action::Close { stream } => {
                    let (closed, _) = end.streams.remove(&stream).expect("it was connected");
                    if self.connections.get(&stream).is_some_and(|c| c.incarnation == closed) {
                        self.connections.remove(&stream);
                    }
                }
                Action::Write => {}
                Action::GiveUp => panic!("given up within its patience"),
                Action::Ended => {
                    assert!(end.leaving.is_empty(), "it ends before all was acknowledged");
                    end.ended = true;
                }
            }
        }
    }

    fn check_the_end(&self) {
        for which in 0..2 {
            let (from, to) = (&self.ends[which], &self.ends[1 - which]);
            for (conduit, lengths) in &from.lengths {
                assert_eq!(to.delivered.get(conduit), Some(&(lengths.len() as u64)), "all of {conduit}");
                let credit: u64 = lengths.iter().map(|len| len + 1).sum();
                assert_eq!(to.received[conduit], credit);
            }
            assert_eq!(from.path.under_way(), (0, 0));
            assert!(to.arriving.is_empty());
        }
    }
}

impl End {
    fn take(&mut self, stream: StreamId, mut bytes: &[u8], now: Nanos) {
        let (_, reader) = self.streams.get_mut(&stream).unwrap();
        while !bytes.is_empty() {
            let Some(place) = reader.place else {
                let (now_read, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - reader.header.len()));
                reader.header.extend(now_read);
                bytes = rest;
                if reader.header.len() == HEADER_BYTES {
                    let header = FrameHeader::decode(reader.header[..].try_into().unwrap()).unwrap();
                    reader.header.clear();
                    let place = self.path.begins(stream, &header, now).unwrap();
                    if let Destination::Message { id, total, first, .. } = place {
                        let fresh = self.arriving.insert(id, vec![0; total as usize]);
                        assert_eq!(fresh.is_none(), first, "memory is asked for once");
                        if let Some(before) = fresh {
                            self.arriving.insert(id, before);
                        }
                    }
                    if place != Destination::Done {
                        reader.place = Some(place);
                        (reader.got, reader.bytes) = (0, Vec::new());
                        Self::finish_if_all(&mut self.path, reader, stream, now);
                    }
                }
                continue;
            };
            let (offset, stored) = match place {
                Destination::Message { offset, stored, .. } => (offset, stored),
                Destination::Nowhere { stored } | Destination::Acknowledgement { stored } => (0, stored),
                Destination::Done => unreachable!(),
            };
            let some = bytes.len().min((u64::from(stored) - reader.got) as usize);
            let (now_read, rest) = bytes.split_at(some);
            bytes = rest;
            match place {
                Destination::Message { id, .. } if self.path.is_wanted(id) => {
                    let at = (offset + reader.got) as usize;
                    self.arriving.get_mut(&id).expect("wanted means in memory")[at..at + some]
                        .copy_from_slice(now_read);
                }
                Destination::Acknowledgement { .. } => reader.bytes.extend(now_read),
                _ => {}
            }
            reader.got += some as u64;
            Self::finish_if_all(&mut self.path, reader, stream, now);
        }
    }

    fn finish_if_all(path: &mut Path, reader: &mut Reader, stream: StreamId, now: Nanos) {
        let stored = match reader.place {
            Some(Destination::Message { stored, .. } | Destination::Nowhere { stored }) => stored,
            Some(Destination::Acknowledgement { stored }) => stored,
            Some(Destination::Done) | None => return,
        };
        if reader.got < u64::from(stored) {
            return;
        }
        match reader.place.take() {
            Some(Destination::Acknowledgement { .. }) => path.acknowledged(stream, &reader.bytes, now).unwrap(),
            _ => path.finished(stream, now),
        }
    }
}
