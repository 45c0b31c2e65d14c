//! The use of a path's streams: their number, and the number of bytes of a message that each stream takes at
//! a time. Both follow from the kernel's reports about the streams. On a link with a short round trip a few
//! streams are enough, and each stream takes as much as it can. On a link with a long round trip a stream
//! carries only what its kernel allows it to have under way in one round trip, and after a pause that is
//! little (10 segments, RFC 6928). Such a link therefore has many streams, and each takes a small part, so
//! that no stream delays the end of a message.

use crate::{LinkShape, Nanos, PathOptions, StreamId};
use std::collections::BTreeMap;

/// Minimum round trip of a long link (ns).
const MIN_LONG_ROUND_TRIP_NS: Nanos = 5_000_000;
/// Number of streams of a link until its round trip is known, and of a link with a short round trip.
const INITIAL_STREAM_COUNT: u16 = 4;
/// Number of streams of a long link. With the first 10 segments of each stream, 1 MiB is under way after a
/// pause.
const LONG_LINK_STREAM_COUNT: u16 = 80;
/// Number of streams of a path over relays. It is smaller than for other long links because each stream must
/// find a waiting connection at the relay.
const RELAYED: u16 = 32;
/// Number of streams of a path over a trunk. The trunk itself handles the long link, so two streams are
/// enough: one of them is for small messages.
const BY_TRUNK: u16 = 2;
/// Maximum number of streams on a link that loses segments although no queue is full.
const MAX_LOSSY_STREAM_COUNT: u16 = 160;
/// Minimum number of streams that carry long messages. On a longer link the number is one for each
/// `ROUND_TRIP_PER_STREAM_NS` in a round trip. More streams would do harm on a link that is not very long:
/// each would have few bytes under way, together they would fill the queue of the link, and each costs
/// processor time.
const MIN_BULK_STREAM_COUNT: u16 = 16;
/// The part of the round trip for which one stream for long messages is used (ns).
const ROUND_TRIP_PER_STREAM_NS: Nanos = 1_000_000;
/// Number of streams that carry long messages if segments are lost because a queue is full. Each stream then
/// has more under way, and recovers sooner from a loss.
const QUEUE_LOSS_STREAM_COUNT: u16 = 16;
/// Messages longer than this are not spread over all streams: they use only the streams for long messages
/// (bytes).
const MIN_LONG_MESSAGE_BYTES: u64 = 4 << 20;
/// Maximum number of bytes of a message that a stream of a long link takes at a time.
const MAX_PIECE_BYTES: u32 = 64 << 10;
/// Minimum number of bytes of a message that a stream of a long link takes at a time.
const MIN_PIECE_BYTES: u32 = 8 << 10;
/// Interval at which the kernel is asked about the streams (ns).
const KERNEL_POLL_INTERVAL_NS: Nanos = 200_000_000;
/// Minimum time without an answer after which a stream is stuck, if it has sent the same bytes again (ns). If
/// `STUCK_ROUND_TRIPS` round trips are longer, they count instead.
const STUCK_TIMEOUT_NS: Nanos = 600_000_000;
/// Minimum number of round trips without an answer after which a stream is stuck.
const STUCK_ROUND_TRIPS: u64 = 3;
/// Interval of the heartbeats on the first stream of a long link, so that a cut is noticed soon (ns).
const HEARTBEAT_INTERVAL_NS: Nanos = 500_000_000;
/// A link counts as lossy if the part of the bytes that were sent again is above this ratio.
const MIN_LOSS_RATIO: f64 = 0.0005;
/// Segments wait in a queue if the round trip is longer than the shortest one by more than this factor.
const QUEUES: f64 = 1.25;
/// The same factor on a short link, where the two ends themselves cause a part of the round trip.
const QUEUES_NEAR: f64 = 2.0;

/// The part of the route behind the far end of a stream's TCP connection. The kernel knows only the distance
/// to that end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayDistance {
    /// The connection ends at the other end of the path.
    Nothing,
    /// The connection ends at a relay. The rest of the route leads over relays, and may be long.
    Relays,
    /// The connection ends at a relay. A trunk between relays carries everything from one relay to the other.
    Trunk,
}

/// The kernel's report about one stream. All counts start at the beginning of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// The current round trip (ns).
    pub round_trip: Nanos,
    /// The shortest round trip so far (ns).
    pub least_round_trip: Nanos,
    /// Number of bytes that were sent.
    pub sent: u64,
    /// Number of bytes that were sent again.
    pub sent_again: u64,
    /// Number of bytes that have arrived at the other end.
    pub arrived: u64,
    /// Time during which the stream had something to send (ns).
    pub busy: Nanos,
    /// The part of `busy` during which the other end had no room (ns).
    pub no_room: Nanos,
    /// The part of `busy` during which this end's kernel had no memory for the stream (ns).
    pub no_memory: Nanos,
    /// True if bytes are under way.
    pub under_way: bool,
    /// Time since the other end last answered (ns).
    pub unanswered: Nanos,
    /// Number of times in a row that the same bytes were sent again.
    pub again: u8,
}

/// The cause that limits the rate of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing limits the link: there is not enough to send.
    Nothing,
    /// The network between the two ends: its rate, or its losses.
    Way,
    /// The memory that this end's kernel gives a stream.
    Memory,
    /// The speed at which the other end takes the bytes that arrive.
    Receiver,
}

impl Limit {
    /// Returns the name of the limit in the output for programs.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Nothing => "nothing",
            Limit::Way => "way",
            Limit::Memory => "memory",
            Limit::Receiver => "receiver",
        }
    }
}

/// The state of a link, for reports to the user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkReport {
    pub streams: u16,
    /// The shortest round trip of the first stream (ns).
    pub least_round_trip: Nanos,
    /// The current round trip of the first stream (ns).
    pub round_trip: Nanos,
    /// Number of bytes per second that have arrived at the other end lately.
    pub rate: f64,
    /// The part of the sent bytes that had to be sent again, in the last interval with enough traffic.
    pub loss: f64,
    pub limit: Limit,
}

/// The state from which the use of a link's streams follows.
#[derive(Debug)]
pub struct Flow {
    /// The number of streams that the user has set.
    set: Option<u16>,
    piece: u32,
    heartbeat: Nanos,
    long: bool,
    streams: u16,
    /// Number of streams that carry long messages, if not all do.
    bulk: Option<u16>,
    /// True if the streams share a rate that the user has set.
    paced: bool,
    /// True if each loss shrinks the number of bytes that a stream may have under way.
    heeds_losses: bool,
    /// Number of looks in a row at which segments were lost although none waited in a queue.
    lost: u32,
    /// The shortest round trip of all streams at the time when they were connected (ns).
    nearest: Nanos,
    /// The last report about each stream.
    gauges: BTreeMap<StreamId, Gauge>,
    /// Time of the first look at which a stream had bytes under way, if it has had some at each look since
    /// (ns).
    under_way: BTreeMap<StreamId, Nanos>,
    glanced: Nanos,
    report: LinkReport,
}

impl Flow {
    /// Makes the state of a link with `set` streams, or with as many streams as the link needs.
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

    /// Takes the round trip of a new stream. On a path over relays, this is the round trip to the nearest
    /// relay. A path over relays counts as long, but it does not get many streams: each must find a waiting
    /// connection at the relay. Only the shortest round trip counts, because a stream that is connected while
    /// other streams fill a queue has a long round trip on a short link.
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
                // The kernel does not know the distance behind the relay.
                self.bulk = Some(RELAYED);
            }
        }
    }

    /// Takes note that the path's streams go by a trunk, so that the link counts as short.
    pub fn goes_by_trunk(&mut self) {
        if !self.long {
            self.streams = self.set.unwrap_or(BY_TRUNK);
        }
    }

    /// Returns true if the link has a long round trip.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// Returns true if the streams should follow the rate at which bytes arrive, and not react to single
    /// losses. This is so on a long link, and on a link that loses segments although none wait in a queue.
    pub fn goes_by_rate(&self) -> bool {
        self.long || self.lost >= 2
    }

    /// Sets whether each loss shrinks the number of bytes that a stream may have under way.
    pub fn heeds_losses(&mut self, heeds: bool) {
        self.heeds_losses = heeds;
    }

    /// Sets whether the streams share a rate that the user has set. If they do, all streams carry long
    /// messages, because a stream with short messages only would waste its share.
    pub fn set_paced(&mut self, paced: bool) {
        self.paced = paced;
    }

    /// Returns the number of streams that the link should have.
    pub fn streams(&self) -> u16 {
        self.streams
    }

    /// Returns how the path should use its streams.
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

    /// Returns the maximum number of bytes that may wait in a stream's socket, if there is a limit.
    pub fn unsent(&self) -> Option<u32> {
        self.long.then_some(MAX_PIECE_BYTES)
    }

    /// Returns the time at which the kernel should be asked next. `quiet` means that nothing is under way;
    /// the kernel is then asked less often, and on a short link not at all.
    pub fn due(&self, quiet: bool) -> Option<Nanos> {
        (self.long || !quiet)
            .then(|| self.glanced + if quiet { HEARTBEAT_INTERVAL_NS } else { KERNEL_POLL_INTERVAL_NS })
    }

    /// Returns the time that a new connection for a stuck stream may take (ns).
    pub fn patience(&self) -> Nanos {
        STUCK_TIMEOUT_NS.max(8 * self.report.least_round_trip)
    }

    /// Takes the kernel's reports about all streams. Returns the streams that are stuck.
    pub fn look(&mut self, gauges: BTreeMap<StreamId, Gauge>, now: Nanos) -> Vec<StreamId> {
        // Bytes before the first look say nothing about the rate.
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
                // A queue can be seen only while bytes are under way. At other times, losses without a queue
                // are not counted.
                self.lost = if loses && !queues { self.lost + 1 } else { 0 };
            }
        }
        // A stream without bytes under way has no answers either. So its time without an answer counts only
        // from the moment at which bytes were under way.
        let sent = gauges.iter().filter(|(_, gauge)| gauge.under_way);
        let since = |stream: &StreamId| self.under_way.get(stream).copied().unwrap_or(now);
        self.under_way = sent.map(|(stream, _)| (*stream, since(stream))).collect();
        let waits = |stream: &StreamId| now - self.under_way.get(stream).copied().unwrap_or(now);
        let stuck = gauges.iter().filter(|(stream, gauge)| self.long && is_stuck(gauge, waits(stream)));
        let stuck = stuck.map(|(&stream, _)| stream).collect();
        self.gauges = gauges;
        stuck
    }

    /// Returns true if the last reports are so old that the kernel should be asked again.
    pub fn is_stale(&self, now: Nanos) -> bool {
        now >= self.glanced + KERNEL_POLL_INTERVAL_NS
    }

    /// Adapts the number of streams to a link on which each loss shrinks the number of bytes that a stream
    /// may have under way. If the losses come from a full queue, fewer streams lose less. If the network
    /// itself loses segments, more streams have more bytes under way together.
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

    /// Returns the last state of the link.
    pub fn report(&self) -> LinkReport {
        self.report
    }
}

/// Returns true if a stream is stuck that has had bytes under way for `under_way` (ns).
fn is_stuck(gauge: &Gauge, under_way: Nanos) -> bool {
    let unanswered = gauge.unanswered.min(under_way);
    gauge.again > 0 && unanswered >= STUCK_TIMEOUT_NS.max(STUCK_ROUND_TRIPS * gauge.round_trip)
}
