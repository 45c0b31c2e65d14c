//! How a link is used: over how many streams, and how much of a message each takes at a time. It follows from
//! what the kernel says of the streams. Over a short way a few streams are enough, and each takes what it can.
//! Over a long way a stream carries only what its kernel lets it have under way in a round trip, and after a
//! pause that is little (10 segments, RFC 6928): there are many streams, and each takes a small part, so that
//! none holds up the end of a message.

use crate::{LinkShape, Nanos, PathOptions, StreamId};
use std::collections::BTreeMap;

/// From this round trip on a way is long (ns).
const MIN_LONG_ROUND_TRIP_NS: Nanos = 5_000_000;
/// Streams of a link until its round trip is known, and where that is short.
const INITIAL_STREAM_COUNT: u16 = 4;
/// Streams of a long way: with the first 10 segments of each, 1 MiB is under way after a pause.
const LONG_LINK_STREAM_COUNT: u16 = 80;
/// Streams of a way over relays: each must find one there that waits.
const RELAYED: u16 = 32;
/// Streams of a path over a trunk, which sees to the long way itself: one is for small messages.
const BY_TRUNK: u16 = 2;
/// The most that there will be where segments are lost and no queue explains it.
const MAX_LOSSY_STREAM_COUNT: u16 = 160;
/// Streams that carry long messages, at least, and one for each of these times in a round trip (ns): what is
/// under way over a way that is not so long is little for each of many, they fill the queue before it, and each
/// costs processor time.
const MIN_BULK_STREAM_COUNT: u16 = 16;
const ROUND_TRIP_PER_STREAM_NS: Nanos = 1_000_000;
/// Streams that carry long messages where segments are lost because a queue is full: each has more under way
/// then, and comes back sooner from a loss.
const QUEUE_LOSS_STREAM_COUNT: u16 = 16;
/// Longer messages are not spread over all streams, but go over those for long ones (bytes).
const MIN_LONG_MESSAGE_BYTES: u64 = 4 << 20;
/// Over a long way, the most bytes of a message that a stream takes at a time, and the least.
const MAX_PIECE_BYTES: u32 = 64 << 10;
const MIN_PIECE_BYTES: u32 = 8 << 10;
/// How often the kernel is asked (ns).
const KERNEL_POLL_INTERVAL_NS: Nanos = 200_000_000;
/// A stream is stuck if what it sent was sent again and nothing has come back for so long, or for some round
/// trips.
const STUCK_TIMEOUT_NS: Nanos = 600_000_000;
const STUCK_ROUND_TRIPS: u64 = 3;
/// How often the first stream of a long way gives a sign of life, so that a cut is noticed soon (ns).
const HEARTBEAT_INTERVAL_NS: Nanos = 500_000_000;
/// The part of bytes sent again from which on a way counts as one that loses, and how much longer than the
/// shortest a round trip is if segments wait in a queue; over a short way the ends themselves take a part of
/// it.
const MIN_LOSS_RATIO: f64 = 0.0005;
const QUEUES: f64 = 1.25;
const QUEUES_NEAR: f64 = 2.0;

/// The part of the way behind the end of a stream's connection. The kernel knows only how far away that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayDistance {
    /// Nothing: it is the other end of the path.
    Nothing,
    /// A way over relays, which may be long.
    Relays,
    /// Relays with a trunk between them, which carries all that goes from one to the other.
    Trunk,
}

/// The kernel's report about one stream. What is counted is counted from the stream's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// The round trip now, and the shortest one (ns).
    pub round_trip: Nanos,
    pub least_round_trip: Nanos,
    /// Bytes that were sent, those of them that were sent again, and those that have arrived.
    pub sent: u64,
    pub sent_again: u64,
    pub arrived: u64,
    /// For how long there was something to send; for how long of that the other end had no room, and this end
    /// no memory for the stream (ns).
    pub busy: Nanos,
    pub no_room: Nanos,
    pub no_memory: Nanos,
    /// True if something is under way, for how long nothing has come back (ns), and how often in a row the same
    /// was sent again.
    pub under_way: bool,
    pub unanswered: Nanos,
    pub again: u8,
}

/// The limit of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// There is not enough to send.
    Nothing,
    /// The way between: its rate, or what it loses.
    Way,
    /// The memory that this end's kernel gives a stream.
    Memory,
    /// How fast the other end takes what comes.
    Receiver,
}

impl Limit {
    /// Its name in the output for programs.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Nothing => "nothing",
            Limit::Way => "way",
            Limit::Memory => "memory",
            Limit::Receiver => "receiver",
        }
    }
}

/// How a link does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkReport {
    pub streams: u16,
    /// The shortest round trip and that of now, of the first stream (ns).
    pub least_round_trip: Nanos,
    pub round_trip: Nanos,
    /// Bytes in a second that have arrived at the other end lately.
    pub rate: f64,
    /// The part of the bytes sent that had to be sent again, lately while something was sent.
    pub loss: f64,
    pub limit: Limit,
}

/// How a link is used.
#[derive(Debug)]
pub struct Flow {
    /// The number of streams that the user has set.
    set: Option<u16>,
    piece: u32,
    heartbeat: Nanos,
    long: bool,
    streams: u16,
    /// The number of them that carry long messages, if not all.
    bulk: Option<u16>,
    /// True if the streams share a rate that the user has set.
    paced: bool,
    /// True if what a stream may have under way shrinks with each loss.
    heeds_losses: bool,
    /// For how many looks in a row segments were lost although none waited in a queue.
    lost: u32,
    /// The shortest round trip with which any stream came (ns).
    nearest: Nanos,
    /// The last report about each stream, and since when it has had something under way at each look.
    gauges: BTreeMap<StreamId, Gauge>,
    under_way: BTreeMap<StreamId, Nanos>,
    glanced: Nanos,
    report: LinkReport,
}

impl Flow {
    /// Of a link with so many streams, or as many as it needs.
    pub fn new(set: Option<u16>, tuning: &PathOptions) -> Flow {
        let streams = set.unwrap_or(INITIAL_STREAM_COUNT);
        Flow {
            set,
            piece: tuning.piece,
            heartbeat: tuning.heartbeat,
            long: false,
            streams,
            bulk: None,
            paced: false,
            heeds_losses: true,
            lost: 0,
            nearest: Nanos::MAX,
            gauges: BTreeMap::new(),
            under_way: BTreeMap::new(),
            glanced: 0,
            report: LinkReport {
                streams: 0,
                least_round_trip: 0,
                round_trip: 0,
                rate: 0.0,
                loss: 0.0,
                limit: Limit::Nothing,
            },
        }
    }

    /// The round trip of a new stream is known: as far as the nearest relay, if the way leads over relays. What
    /// is behind a relay counts as far away, but streams are not many there: each must find one that waits. A
    /// stream that comes while others fill a queue had a long round trip over a short way.
    pub fn is_joined(&mut self, least_round_trip: Nanos, behind: RelayDistance) {
        if behind == RelayDistance::Trunk {
            return self.goes_by_trunk();
        }
        self.nearest = self.nearest.min(least_round_trip);
        let relayed = behind == RelayDistance::Relays;
        if (self.nearest >= MIN_LONG_ROUND_TRIP_NS || relayed) && !self.long {
            self.long = true;
            self.streams = self.set.unwrap_or(if relayed { RELAYED } else { LONG_LINK_STREAM_COUNT });
            if relayed && self.set.is_none() {
                // How far it is behind the relay, the kernel does not know.
                self.bulk = Some(RELAYED);
            }
        }
    }

    /// Its streams go by a trunk: to them the way is short.
    pub fn goes_by_trunk(&mut self) {
        if !self.long {
            self.streams = self.set.unwrap_or(BY_TRUNK);
        }
    }

    /// Returns true if the way is long.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// Returns true if streams are to go by the rate at which bytes arrive, and not by single losses: over a
    /// long way, and over one that loses segments though none wait in a queue.
    pub fn goes_by_rate(&self) -> bool {
        self.long || self.lost >= 2
    }

    /// Returns true if what a stream may have under way shrinks with each loss.
    pub fn heeds_losses(&mut self, heeds: bool) {
        self.heeds_losses = heeds;
    }

    /// True if the streams share a rate that the user has set: one that carried short messages only would waste
    /// its share.
    pub fn set_paced(&mut self, paced: bool) {
        self.paced = paced;
    }

    /// The number of streams that there should be.
    pub fn streams(&self) -> u16 {
        self.streams
    }

    /// The use of the streams.
    pub fn shape(&self) -> LinkShape {
        let usual = u16::try_from(self.nearest / ROUND_TRIP_PER_STREAM_NS)
            .unwrap_or(u16::MAX)
            .max(MIN_BULK_STREAM_COUNT);
        let bulk_streams = self.bulk.unwrap_or(if self.set.is_some() { u16::MAX } else { usual });
        let beyond = if self.paced { 0 } else { MIN_LONG_MESSAGE_BYTES };
        let (min_piece, max_piece, pulse) = if self.long {
            let (least, most) = (MIN_PIECE_BYTES.min(self.piece), MAX_PIECE_BYTES.min(self.piece));
            (least, most, HEARTBEAT_INTERVAL_NS.min(self.heartbeat))
        } else {
            (self.piece, self.piece, self.heartbeat)
        };
        LinkShape { min_piece, max_piece, bulk_streams, beyond, pulse }
    }

    /// The number of bytes that may wait in a stream's socket, if there is a limit.
    pub fn unsent(&self) -> Option<u32> {
        self.long.then_some(MAX_PIECE_BYTES)
    }

    /// When the kernel is to be asked next; over a short way only while something is under way. `quiet`:
    /// nothing is.
    pub fn due(&self, quiet: bool) -> Option<Nanos> {
        (self.long || !quiet)
            .then(|| self.glanced + if quiet { HEARTBEAT_INTERVAL_NS } else { KERNEL_POLL_INTERVAL_NS })
    }

    /// How long a stream may take to be dialled beside one that is stuck (ns).
    pub fn patience(&self) -> Nanos {
        STUCK_TIMEOUT_NS.max(8 * self.report.least_round_trip)
    }

    /// The kernel was asked about all streams. Returns those that are stuck.
    pub fn look(&mut self, gauges: BTreeMap<StreamId, Gauge>, now: Nanos) -> Vec<StreamId> {
        // Bytes before the first look tell nothing about the rate.
        let elapsed = if self.glanced == 0 { Nanos::MAX } else { now.saturating_sub(self.glanced).max(1) };
        self.glanced = now;
        let mut all = Gauge::default();
        for (stream, gauge) in &gauges {
            let before = self.gauges.get(stream).filter(|before| before.sent <= gauge.sent);
            let before = before.copied().unwrap_or_default();
            all.sent += gauge.sent - before.sent;
            all.sent_again += gauge.sent_again.saturating_sub(before.sent_again);
            all.arrived += gauge.arrived.saturating_sub(before.arrived);
            all.busy += gauge.busy.saturating_sub(before.busy);
            all.no_room += gauge.no_room.saturating_sub(before.no_room);
            all.no_memory += gauge.no_memory.saturating_sub(before.no_memory);
        }
        let waits = gauges.values().filter(|gauge| gauge.under_way);
        let longer = if self.long { QUEUES } else { QUEUES_NEAR };
        let queues =
            waits.clone().filter(|gauge| gauge.round_trip as f64 > longer * gauge.least_round_trip as f64);
        let queues = 2 * queues.count() > waits.count();
        if let Some(first) = gauges.values().next() {
            self.report.least_round_trip = first.least_round_trip;
            self.report.round_trip = first.round_trip;
        }
        self.report.streams = gauges.len() as u16;
        self.report.rate = all.arrived as f64 * 1e9 / elapsed as f64;
        let much = all.sent > 100 * u64::from(MAX_PIECE_BYTES / 8);
        if much {
            self.report.loss = all.sent_again as f64 / all.sent as f64;
        }
        self.report.limit = match all {
            _ if all.busy < elapsed / 2 => Limit::Nothing,
            _ if 2 * all.no_room > all.busy => Limit::Receiver,
            _ if 2 * all.no_memory > all.busy => Limit::Memory,
            _ => Limit::Way,
        };
        if much {
            let loses = self.report.loss > MIN_LOSS_RATIO;
            if self.long {
                if self.heeds_losses && self.set.is_none() {
                    self.adapt(loses, queues);
                }
            } else if gauges.values().any(|gauge| gauge.under_way) {
                // With nothing under way, a queue cannot be seen.
                self.lost = if loses && !queues { self.lost + 1 } else { 0 };
            }
        }
        // Of a stream that was quiet, nothing has come back for long either: it counts from when something was
        // on its way.
        let sent = gauges.iter().filter(|(_, gauge)| gauge.under_way);
        let since = |stream: &StreamId| self.under_way.get(stream).copied().unwrap_or(now);
        self.under_way = sent.map(|(stream, _)| (*stream, since(stream))).collect();
        let waits = |stream: &StreamId| now - self.under_way.get(stream).copied().unwrap_or(now);
        let stuck = gauges.iter().filter(|(stream, gauge)| self.long && is_stuck(gauge, waits(stream)));
        let stuck = stuck.map(|(&stream, _)| stream).collect();
        self.gauges = gauges;
        stuck
    }

    /// Returns true if what was last said is old enough to be asked for again.
    pub fn is_stale(&self, now: Nanos) -> bool {
        now >= self.glanced + KERNEL_POLL_INTERVAL_NS
    }

    /// Adapts to a link where each loss shrinks what a stream may have under way: if a full queue loses, fewer
    /// streams lose less; if the way itself does, more of them have more under way together.
    fn adapt(&mut self, loses: bool, queues: bool) {
        self.lost = if loses && !queues { self.lost + 1 } else { 0 };
        if loses && queues {
            self.bulk = Some(QUEUE_LOSS_STREAM_COUNT);
        } else if self.lost >= 2 {
            self.lost = 0;
            let bulk = self.shape().bulk_streams.min(self.streams);
            self.bulk = Some((2 * bulk).min(MAX_LOSSY_STREAM_COUNT));
            self.streams = self.streams.max(2 * bulk).min(MAX_LOSSY_STREAM_COUNT);
        }
    }

    /// How the link does.
    pub fn report(&self) -> LinkReport {
        self.report
    }
}

/// Returns true if it is, if something has been under way for so long (ns).
fn is_stuck(gauge: &Gauge, under_way: Nanos) -> bool {
    let unanswered = gauge.unanswered.min(under_way);
    gauge.again > 0 && unanswered >= STUCK_TIMEOUT_NS.max(STUCK_ROUND_TRIPS * gauge.round_trip)
}
