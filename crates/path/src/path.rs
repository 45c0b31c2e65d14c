//! One end of a path. It decides which frame each stream sends next, where arriving bytes belong, and which
//! actions are due at a given time.

use crate::frame::{decode_counts, encode_counts, wrong, Count, FrameError, FrameHeader, FrameKind, MAX_PIECE};
use crate::reassembly::{Fate, Inbound};
use crate::send_queue::{MessagePiece, Outbound};
use crate::stream::{Payload, PendingRead, Stream};
use crate::{MessageId, Nanos, StreamId};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Options of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathOptions {
    /// Maximum number of bytes of a message in one frame; at most 4 MiB.
    pub piece: u32,
    /// Maximum length of a small message (bytes). Small messages never queue behind larger ones.
    pub small: u64,
    /// Maximum length of a message that is accepted from the other end (bytes).
    pub longest: u64,
    /// Maximum number of messages of a conduit that may be under way to this end.
    pub most: u64,
    /// Number of conduits. The conduits are numbered from 0 to this number minus 1.
    pub conduits: u64,
    /// Arrivals are acknowledged after this number of bytes, or after the time `tell_after`.
    pub tell_after_bytes: u64,
    /// Maximum time between an arrival and its acknowledgement (ns).
    pub tell_after: Nanos,
    /// A stream that has sent nothing for this time sends a heartbeat (ns).
    pub heartbeat: Nanos,
    /// A stream on which nothing has arrived for this time counts as dead (ns).
    pub silence: Nanos,
    /// A path that has had no stream for this time is given up (ns).
    pub patience: Nanos,
    /// Time for which an end without a stream waits for a new one, if it has received the other end's `End`
    /// frame and lacks only the acknowledgement of its own (ns).
    pub farewell: Nanos,
}

impl Default for PathOptions {
    fn default() -> Self {
        let second = 1_000_000_000;
        PathOptions {
            piece: 256 << 10,
            small: 16 << 10,
            longest: 1 << 46,
            most: 1 << 20,
            conduits: 1 << 32,
            tell_after_bytes: 1 << 20,
            tell_after: 20_000_000,
            heartbeat: 2 * second,
            silence: 10 * second,
            patience: 600 * second,
            farewell: 5 * second,
        }
    }
}

/// A frame that is to be written to a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingFrame {
    /// A header, followed by `len` bytes at `offset` of the message.
    Piece { header: FrameHeader, id: MessageId, offset: u64, len: u32 },
    /// A header, followed by these bytes.
    Control { header: FrameHeader, bytes: Vec<u8> },
}

/// The destination of the bytes that follow a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The bytes belong into the memory of a message. `first` means that this is the message's first piece,
    /// so the message has no memory yet. Call `is_wanted` before each part of the bytes is stored, because
    /// another stream may have completed the message meanwhile.
    Message { id: MessageId, total: u64, offset: u64, len: u32, codec: u8, stored: u32, first: bool },
    /// The bytes are not needed: read `stored` bytes and drop them.
    Nowhere { stored: u32 },
    /// The bytes belong to an acknowledgement: pass them to `acknowledged`.
    Acknowledgement { stored: u32 },
    /// No bytes follow the header.
    Done,
}

/// An action that the owner of a path must perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Deliver the message. It is whole, and all earlier messages of its conduit were delivered.
    Deliver(MessageId),
    /// Release the memory of the message at this end: the other end has the whole message.
    Release(MessageId),
    /// Pass on credit: `bytes` is the total number of bytes of the conduit that were received at the other
    /// end.
    Credit { conduit: u32, bytes: u64 },
    /// Close the stream, because it is dead. The end that dials must then dial it again.
    Close { stream: StreamId },
    /// Write to the streams: at least one of them has a frame to send.
    Write,
    /// Give up: the path has had no stream for longer than its patience.
    GiveUp,
    /// The path has ended: both ends have announced their end, and everything has arrived.
    Ended,
}

/// The use of a link's streams, as computed by `Flow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkShape {
    /// Minimum length of a piece of a large message (bytes).
    pub min_piece: u32,
    /// Maximum length of a piece of a large message (bytes).
    pub max_piece: u32,
    /// Number of streams that carry messages of more than `beyond` bytes.
    pub bulk_streams: u16,
    /// Maximum length of a message that is spread over all streams (bytes).
    pub beyond: u64,
    /// Interval of the heartbeats on the first stream, if it sends nothing else (ns).
    pub pulse: Nanos,
}

/// One end of a path: a state machine without I/O and without a clock.
///
/// Times are those of any clock that never goes back; a later call has no earlier time. The owner of a path
/// makes these calls:
///
/// 1. For connections: [`stream_up`](Path::stream_up) and [`stream_down`](Path::stream_down).
/// 2. To send a message: [`send`](Path::send); to return credit: [`credit`](Path::credit); to end the path:
///    [`end`](Path::end). These calls are allowed at any time, with or without streams.
/// 3. When a stream is read: [`begins`](Path::begins) with each header returns where the bytes after the header
///    belong. [`finished`](Path::finished) follows when these bytes have arrived, or
///    [`acknowledged`](Path::acknowledged) for an acknowledgement. [`heard`](Path::heard) reports any arrival.
/// 4. When a stream has room for writing: [`next`](Path::next) returns the next frame, until it returns none.
/// 5. [`tick`](Path::tick) at the time of [`deadline`](Path::deadline), which every call may change.
/// 6. After any of these, [`action`](Path::action) until it returns none: messages to deliver, memory to
///    release, streams to close or to write. After `GiveUp` or `Ended` no call changes anything.
#[derive(Debug)]
pub struct Path {
    tuning: PathOptions,
    streams: BTreeMap<StreamId, Stream>,
    outbound: Outbound,
    inbound: Inbound,
    /// Number of bytes that this end's instances have received, by conduit.
    credits: HashMap<u32, u64>,
    /// Conduits whose number in `credits` must still be reported to the other end.
    credits_due: BTreeSet<u32>,
    /// Number of bytes that the other end's instances have received, by conduit.
    credited: HashMap<u32, u64>,
    /// Time of the first arrival that is not acknowledged yet.
    tell_since: Option<Nanos>,
    /// Time at which the last stream was lost, if the path has no stream.
    alone_since: Option<Nanos>,
    given_up: bool,
    /// Time of the last call of `tick`.
    ticked: Nanos,
    /// Minimum and maximum length of a piece (bytes).
    pieces: (u32, u32),
    /// Time after which the first stream sends a heartbeat if it has sent nothing else (ns).
    pulse: Nanos,
    /// Number of streams, beside the first, that carry messages of more than `beyond` bytes.
    bulk: usize,
    /// Maximum length of a message that is spread over all streams (bytes).
    beyond: u64,
    /// The first of the streams that do not carry messages of more than `beyond` bytes.
    spare: Option<StreamId>,
    ending: ClosingState,
    actions: VecDeque<Action>,
}

#[derive(Debug, Default)]
struct ClosingState {
    /// True if this end has nothing more to send.
    wanted: bool,
    /// True if this end's `End` frame must be sent, perhaps once more.
    due: bool,
    /// True if the other end has acknowledged this end's `End` frame.
    heard: bool,
    /// True if this end has asked for an acknowledgement since the last stream broke.
    asked: bool,
    /// True if the other end has announced its end.
    theirs: bool,
    /// True if the end of the path was reported to the owner.
    told: bool,
}

impl Path {
    /// Makes an end of a path without streams.
    pub fn new(tuning: PathOptions, now: Nanos) -> Path {
        let tuning = PathOptions { piece: tuning.piece.clamp(1, MAX_PIECE), ..tuning };
        Path {
            tuning,
            streams: BTreeMap::new(),
            outbound: Outbound::new(tuning.piece, tuning.small),
            inbound: Inbound::new(tuning.longest, tuning.most),
            credits: HashMap::new(),
            credits_due: BTreeSet::new(),
            credited: HashMap::new(),
            tell_since: None,
            alone_since: Some(now),
            given_up: false,
            ticked: now,
            pieces: (tuning.piece, tuning.piece),
            pulse: tuning.heartbeat,
            bulk: usize::MAX,
            beyond: u64::MAX,
            spare: None,
            ending: ClosingState::default(),
            actions: VecDeque::new(),
        }
    }

    /// Sets the use of the streams. A large message is spread evenly over the streams for large messages, in
    /// pieces of the given sizes. A message of more than `beyond` bytes uses only `bulk_streams` of them.
    pub fn shape(&mut self, shape: LinkShape) {
        (self.bulk, self.beyond) = (usize::from(shape.bulk_streams.max(1)), shape.beyond);
        let most = shape.max_piece.clamp(1, MAX_PIECE);
        self.pieces = (shape.min_piece.clamp(1, most), most);
        self.pulse = shape.pulse.min(self.tuning.heartbeat);
        self.spread();
    }

    fn spread(&mut self) {
        self.spare = self.streams.keys().nth(self.bulk.saturating_add(1)).copied();
        // Messages above a certain length have pieces of the maximum size, so the number of streams for
        // messages of more than `beyond` bytes does not matter here.
        self.outbound.spread(self.pieces, self.carriers(1));
    }

    /// Returns the maximum length of a message of which this stream may carry a part (bytes).
    fn longest_on(&self, stream: StreamId) -> u64 {
        if self.spare.is_some_and(|spare| stream >= spare) {
            self.beyond
        } else {
            u64::MAX
        }
    }

    /// Returns the time for which a stream may send nothing (ns).
    fn heartbeat(&self, first: bool) -> Nanos {
        if first {
            self.pulse
        } else {
            self.tuning.heartbeat
        }
    }

    /// Returns the number of streams that carry a large message of `total` bytes now.
    pub fn carriers(&self, total: u64) -> usize {
        let all = self.streams.len().saturating_sub(1);
        let some = if total > self.beyond { all.min(self.bulk) } else { all };
        some.max(1)
    }

    /// Returns the next action for the owner, if there is any.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Sends a message of `total` bytes. The owner must keep these bytes until the action `Release`.
    pub fn send(&mut self, conduit: u32, total: u64) -> MessageId {
        self.actions.push_back(Action::Write);
        self.outbound.add(conduit, total)
    }

    /// Sends a message as if it were large, however short it is, because it is a part of something large.
    pub fn send_as_large(&mut self, conduit: u32, total: u64) -> MessageId {
        self.actions.push_back(Action::Write);
        self.outbound.add_to_large(conduit, total)
    }

    /// Reports that an instance at this end has received `bytes` bytes of a conduit in total.
    pub fn credit(&mut self, conduit: u32, bytes: u64) {
        let known = self.credits.entry(conduit).or_default();
        if bytes > *known {
            *known = bytes;
            self.credits_due.insert(conduit);
            self.actions.push_back(Action::Write);
        }
    }

    /// Announces that this end sends nothing more.
    pub fn end(&mut self) {
        if !self.ending.wanted {
            self.ending = ClosingState { wanted: true, due: true, ..std::mem::take(&mut self.ending) };
            self.actions.push_back(Action::Write);
        }
    }

    /// Reports that a stream is connected. Both ends know its incarnation. A new incarnation ends the
    /// previous one.
    pub fn stream_up(&mut self, stream: StreamId, incarnation: u32, now: Nanos) {
        self.stream_down(stream, now);
        self.streams.insert(stream, Stream::new(incarnation, now));
        self.spread();
        self.alone_since = None;
        self.actions.push_back(Action::Write);
    }

    /// Reports that a stream has broken. Its unacknowledged frames are sent again on other streams.
    pub fn stream_down(&mut self, stream: StreamId, now: Nanos) {
        let Some(gone) = self.streams.remove(&stream) else { return };
        for cargo in gone.flight {
            match cargo {
                Payload::Piece { id, offset, len } => self.outbound.send_again(id, offset, len),
                Payload::Credit { conduit } => {
                    self.credits_due.insert(conduit);
                }
                Payload::End => self.ending.due = true,
            }
        }
        // Acknowledgements of other streams may have been under way on the broken stream.
        for other in self.streams.values_mut().filter(|other| other.came > 0) {
            other.told = 0;
            self.tell_since = Some(now.saturating_sub(self.tuning.tell_after));
        }
        if self.streams.is_empty() {
            self.alone_since = Some(now);
        }
        self.spread();
        self.ending.asked = false;
        self.actions.push_back(Action::Write);
    }

    /// Returns the next frame for a stream that has room. The frame then counts as sent.
    pub fn next(&mut self, stream: StreamId, now: Nanos) -> Option<OutgoingFrame> {
        let first = *self.streams.keys().next()? == stream;
        let only = self.streams.len() == 1;
        let frame = if first { self.next_control(now).or_else(|| self.next_small()) } else { None };
        let frame = match frame {
            Some(frame) => Some(frame),
            None if !first || only => self.outbound.next_large(self.longest_on(stream)).map(outgoing),
            None => None,
        };
        let frame = match frame {
            None if first && self.may_tell(now) => Some(self.tell()),
            frame => frame,
        };
        let frame = match frame {
            None if first && self.may_ask() => Some(self.ask()),
            frame => frame,
        };
        let heartbeat = self.heartbeat(first);
        let state = self.streams.get_mut(&stream)?;
        let frame = match frame {
            Some(frame) => frame,
            None if now.saturating_sub(state.spoke) >= heartbeat => OutgoingFrame::Control {
                header: FrameHeader::control(FrameKind::Heartbeat, 0),
                bytes: Vec::new(),
            },
            None => return None,
        };
        state.spoke = now;
        if self.tell_since.is_none() {
            self.end_if_over();
        }
        let state = self.streams.get_mut(&stream)?;
        let header = match &frame {
            OutgoingFrame::Piece { header, .. } | OutgoingFrame::Control { header, .. } => header,
        };
        match header.kind {
            FrameKind::Piece => state.flight.push_back(Payload::Piece {
                id: MessageId { conduit: header.conduit, number: header.number },
                offset: header.offset,
                len: header.len,
            }),
            FrameKind::Credit => state.flight.push_back(Payload::Credit { conduit: header.conduit }),
            FrameKind::End => state.flight.push_back(Payload::End),
            FrameKind::Acknowledgement | FrameKind::Heartbeat => {}
        }
        Some(frame)
    }

    /// Returns true if `next` would return a frame for the stream.
    pub fn has_next(&self, stream: StreamId, now: Nanos) -> bool {
        let Some(state) = self.streams.get(&stream) else { return false };
        let first = self.streams.keys().next() == Some(&stream);
        let only = self.streams.len() == 1;
        let control = self.must_tell(now) || !self.credits_due.is_empty() || self.ending_is_due();
        first && (control || self.outbound.has_small() || self.may_tell(now) || self.may_ask())
            || (!first || only) && self.outbound.has_large(self.longest_on(stream))
            || now.saturating_sub(state.spoke) >= self.heartbeat(first)
    }

    fn next_control(&mut self, now: Nanos) -> Option<OutgoingFrame> {
        if self.must_tell(now) {
            return Some(self.tell());
        }
        if let Some(conduit) = self.credits_due.pop_first() {
            let header = FrameHeader {
                conduit,
                number: self.credits[&conduit],
                ..FrameHeader::control(FrameKind::Credit, 0)
            };
            return Some(OutgoingFrame::Control { header, bytes: Vec::new() });
        }
        if self.ending_is_due() {
            self.ending.due = false;
            let header = FrameHeader::control(FrameKind::End, 0);
            return Some(OutgoingFrame::Control { header, bytes: Vec::new() });
        }
        None
    }

    fn next_small(&mut self) -> Option<OutgoingFrame> {
        self.outbound.next_small().map(outgoing)
    }

    fn ending_is_due(&self) -> bool {
        self.ending.due && self.outbound.len() == 0
    }

    fn must_tell(&self, now: Nanos) -> bool {
        self.tell_since.is_some_and(|since| {
            now.saturating_sub(since) >= self.tuning.tell_after
                || self.streams.values().any(|stream| stream.untold >= self.tuning.tell_after_bytes)
        })
    }

    /// Returns true if an acknowledgement is due to go with the frames that the first stream sends now. The
    /// other end is then woken once for both. Frames that arrived at this very moment are acknowledged later.
    fn may_tell(&self, now: Nanos) -> bool {
        self.tell_since.is_some_and(|since| since < now)
            && self.streams.values().next().is_some_and(|first| first.spoke == now)
    }

    /// Returns true if this end only needs acknowledgements before it can announce its end.
    fn may_ask(&self) -> bool {
        let ClosingState { wanted, asked, .. } = self.ending;
        wanted
            && !asked
            && self.outbound.len() > 0
            && !self.outbound.has_small()
            && !self.outbound.has_large(u64::MAX)
    }

    /// Makes a heartbeat that asks for an acknowledgement at once.
    fn ask(&mut self) -> OutgoingFrame {
        self.ending.asked = true;
        let header = FrameHeader { number: 1, ..FrameHeader::control(FrameKind::Heartbeat, 0) };
        OutgoingFrame::Control { header, bytes: Vec::new() }
    }

    fn tell(&mut self) -> OutgoingFrame {
        self.tell_since = None;
        let news = self.streams.iter_mut().filter(|(_, stream)| stream.came != stream.told);
        let bytes = encode_counts(news.map(|(&number, stream)| {
            (stream.untold, stream.told) = (0, stream.came);
            Count { stream: number, incarnation: stream.incarnation, frames: stream.came }
        }));
        let header = FrameHeader::control(FrameKind::Acknowledgement, bytes.len() as u32);
        OutgoingFrame::Control { header, bytes }
    }

    /// Takes a header that was read from a stream, and returns where the bytes after it belong. The owner
    /// must call `finished` when these bytes have arrived.
    ///
    /// # Errors
    /// Fails if the other end breaks the rules of the protocol. The stream must then be closed.
    pub fn begins(
        &mut self,
        stream: StreamId,
        header: &FrameHeader,
        now: Nanos,
    ) -> Result<Destination, FrameError> {
        let Some(state) = self.streams.get_mut(&stream) else {
            return wrong(format!("a frame on stream {stream}, which is not connected"));
        };
        state.heard = now;
        if state.reading.is_some() {
            return wrong("a frame within a frame");
        }
        let carried = matches!(header.kind, FrameKind::Piece | FrameKind::Credit);
        if carried && u64::from(header.conduit) >= self.tuning.conduits {
            return wrong(format!("conduit {}, where there are {}", header.conduit, self.tuning.conduits));
        }
        match header.kind {
            FrameKind::Heartbeat => {
                if header.number == 1 && self.tell_since.is_some() {
                    self.tell_at_once(now);
                }
                Ok(Destination::Done)
            }
            FrameKind::Credit => {
                // A credit frame without news must not add an entry to the map.
                let known = self.credited.get(&header.conduit).copied().unwrap_or(0);
                if header.number > known {
                    self.credited.insert(header.conduit, header.number);
                    self.actions.push_back(Action::Credit { conduit: header.conduit, bytes: header.number });
                }
                self.count(stream, 0, now);
                Ok(Destination::Done)
            }
            FrameKind::End => {
                self.ending.theirs = true;
                self.count(stream, 0, now);
                // The other end sends no further frames that could carry the acknowledgement.
                self.tell_at_once(now);
                self.end_if_over();
                Ok(Destination::Done)
            }
            FrameKind::Acknowledgement => {
                let id = MessageId { conduit: 0, number: 0 };
                state.reading = Some(PendingRead { id, offset: 0, len: 0, acknowledgement: true });
                Ok(Destination::Acknowledgement { stored: header.stored })
            }
            FrameKind::Piece => {
                let &FrameHeader { codec, stored, len, conduit, number, offset, total, .. } = header;
                let id = MessageId { conduit, number };
                let fate = self.inbound.begin(header)?;
                state.reading = Some(PendingRead { id, offset, len, acknowledgement: false });
                Ok(match fate {
                    Fate::Wanted { first } => {
                        Destination::Message { id, total, offset, len, codec, stored, first }
                    }
                    Fate::Twice => Destination::Nowhere { stored },
                })
            }
        }
    }

    /// Returns true if bytes of a message still have to be stored.
    pub fn is_wanted(&self, id: MessageId) -> bool {
        self.inbound.is_wanted(id)
    }

    /// Reports that all bytes of a piece have arrived.
    pub fn finished(&mut self, stream: StreamId, now: Nanos) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        state.heard = now;
        let Some(PendingRead { id, offset, len, acknowledgement: false }) = state.reading.take() else {
            return;
        };
        self.count(stream, u64::from(len), now);
        let actions = &mut self.actions;
        self.inbound.end(id, offset, len, |id| actions.push_back(Action::Deliver(id)));
    }

    /// Returns true if anything has arrived on a stream at or after the time `since`.
    pub fn was_heard(&self, stream: StreamId, since: Nanos) -> bool {
        self.streams.get(&stream).is_some_and(|state| state.heard >= since)
    }

    /// Reports that some bytes of a frame have arrived, so the stream is alive.
    pub fn heard(&mut self, stream: StreamId, now: Nanos) {
        if let Some(state) = self.streams.get_mut(&stream) {
            state.heard = now;
        }
    }

    /// Takes the bytes of an acknowledgement.
    ///
    /// # Errors
    /// Fails if the bytes are invalid. The stream must then be closed.
    pub fn acknowledged(&mut self, stream: StreamId, bytes: &[u8], now: Nanos) -> Result<(), FrameError> {
        if let Some(state) = self.streams.get_mut(&stream) {
            (state.heard, state.reading) = (now, None);
        }
        for Count { stream, incarnation, frames } in decode_counts(bytes)? {
            let Some(state) = self.streams.get_mut(&stream).filter(|s| s.incarnation == incarnation) else {
                // Frames of an earlier incarnation were moved to other streams already.
                continue;
            };
            let Some(arrived) = state.take_acknowledged(frames) else {
                return wrong(format!(
                    "{frames} frames are said to have come on stream {stream}: more than were sent"
                ));
            };
            for cargo in arrived {
                match cargo {
                    Payload::Piece { id, len, .. } => {
                        if self.outbound.arrived(id, len) {
                            self.actions.push_back(Action::Release(id));
                        }
                    }
                    Payload::Credit { .. } => {}
                    Payload::End => self.ending.heard = true,
                }
            }
        }
        if self.ending_is_due() {
            self.actions.push_back(Action::Write);
        }
        self.end_if_over();
        Ok(())
    }

    fn tell_at_once(&mut self, now: Nanos) {
        self.tell_since = Some(now.saturating_sub(self.tuning.tell_after));
        self.actions.push_back(Action::Write);
    }

    /// Counts a frame that has arrived.
    fn count(&mut self, stream: StreamId, bytes: u64, now: Nanos) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        state.came += 1;
        state.untold += bytes;
        self.tell_since.get_or_insert(now);
        if state.untold >= self.tuning.tell_after_bytes {
            self.actions.push_back(Action::Write);
        }
    }

    /// Returns true if this end has everything, and only does not know if its last frame has arrived. The
    /// process at the other end may have ended already.
    fn lacks_only_a_farewell(&self) -> bool {
        let ClosingState { wanted, theirs, told, .. } = self.ending;
        wanted && theirs && !told && self.outbound.len() == 0
    }

    fn patience(&self) -> Nanos {
        if self.lacks_only_a_farewell() {
            self.tuning.farewell.min(self.tuning.patience)
        } else {
            self.tuning.patience
        }
    }

    fn end_if_over(&mut self) {
        let ClosingState { heard, theirs, told, .. } = self.ending;
        // The path ends only after the other end's `End` frame was acknowledged.
        if heard && theirs && !told && self.tell_since.is_none() {
            self.ending.told = true;
            self.actions.push_back(Action::Ended);
        }
    }

    /// Returns the time at which `tick` is due next. Frames that an earlier `tick` has queued are not counted
    /// again: these frames wait for their stream.
    pub fn deadline(&self) -> Option<Nanos> {
        let tell =
            self.tell_since.filter(|_| !self.streams.is_empty()).map(|since| since + self.tuning.tell_after);
        let speak =
            self.streams.values().enumerate().map(|(at, stream)| stream.spoke + self.heartbeat(at == 0));
        let unsaid = speak.chain(tell).filter(|&at| at > self.ticked);
        let silent = self.streams.values().map(|stream| stream.heard + self.tuning.silence);
        let waiting = !self.given_up && !self.ending.told;
        let alone = self.alone_since.filter(|_| waiting).map(|since| since.saturating_add(self.patience()));
        unsaid.chain(silent).chain(alone).min()
    }

    /// Handles everything that is due at the time `now`: dead streams, the end of the patience, and frames to
    /// write.
    pub fn tick(&mut self, now: Nanos) {
        self.ticked = now;
        let silent = |stream: &Stream| now.saturating_sub(stream.heard) >= self.tuning.silence;
        let dead: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| silent(stream)).map(|(&number, _)| number).collect();
        for stream in dead {
            self.stream_down(stream, now);
            self.actions.push_back(Action::Close { stream });
        }
        let alone = self.alone_since.is_some_and(|since| now.saturating_sub(since) >= self.patience());
        if alone && !self.given_up && !self.ending.told {
            if self.lacks_only_a_farewell() {
                self.ending.told = true;
                self.actions.push_back(Action::Ended);
            } else {
                self.given_up = true;
                self.actions.push_back(Action::GiveUp);
            }
        }
        if self.streams.keys().any(|&stream| self.has_next(stream, now)) {
            self.actions.push_back(Action::Write);
        }
    }

    /// Returns true if nothing is under way in either direction, and all sent frames are acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.under_way() == (0, 0)
            && self.credits_due.is_empty()
            && self.streams.values().all(|stream| stream.flight.is_empty())
    }

    /// Returns the number of sent messages that are not fully acknowledged, and the number of arriving
    /// messages that have not been delivered.
    pub fn under_way(&self) -> (usize, usize) {
        (self.outbound.len(), self.inbound.len())
    }
}

fn outgoing(piece: MessagePiece) -> OutgoingFrame {
    let MessagePiece { id, offset, len, total } = piece;
    let header = FrameHeader {
        kind: FrameKind::Piece,
        codec: 0,
        stored: len,
        len,
        conduit: id.conduit,
        number: id.number,
        offset,
        total,
    };
    OutgoingFrame::Piece { header, id, offset, len }
}
