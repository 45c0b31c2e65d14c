//! Exchanges: conduits that lead from all ranks of one component to all ranks of another. The section
//! `exchange` under `ligament:` names them.

use crate::ticks::Nanoseconds;
use std::fmt::{self, Display};

/// The number of elements that a distributed array may have: as many as a signed 64-bit index can count.
pub const MAX_ARRAY_ELEMENTS: u64 = i64::MAX as u64;
/// The number of dimensions that a distributed array may have.
pub const MAX_ARRAY_DIMENSIONS: usize = 8;
/// The number of different ids that events may have: ids are signed 32-bit numbers.
pub const MAX_EVENT_IDS: u64 = i32::MAX as u64;

/// The contents of a conduit from all ranks to all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Every message of a rank goes to every rank of the receiver.
    Messages,
    /// An array of this shape. Each rank has a part of it, which its code declares.
    Array(Vec<u64>),
    /// Events, each with a time and an id.
    Events(EventExchange),
    /// An array that the sender samples at its ticks.
    Signal(SignalExchange),
}

/// An exchange of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventExchange {
    /// Number of ids: an event has an id from 0 on below this number.
    pub ids: u64,
    /// The time by which an event is delivered at the latest, counted from the event.
    pub latency: Nanoseconds,
    /// Number of ticks of the sender that one exchange covers.
    pub buffer: Option<u64>,
    /// The way from all ranks to all ranks.
    pub routing: Routing,
}

/// The way of events from all ranks of a sender to all ranks of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// Each rank of the sender sends all its events to all ranks of the receiver, which choose.
    #[default]
    Shared,
    /// Each rank of the sender sorts its events: each rank of the receiver gets those that it wants.
    Pairwise,
}

impl Routing {
    /// All names.
    pub const NAMES: &'static [&'static str] = &["shared", "pairwise"];

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<Routing> {
        match name {
            "shared" => Some(Routing::Shared),
            "pairwise" => Some(Routing::Pairwise),
            _ => None,
        }
    }
}

/// An exchange of a sampled array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalExchange {
    /// The shape of the whole array.
    pub shape: Vec<u64>,
    /// The age of the value that the receiver has at each of its ticks.
    pub delay: Nanoseconds,
    /// The value between two samples.
    pub interpolation: Interpolation,
}

/// The value of a signal between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The value on the straight line between both samples.
    #[default]
    Linear,
    /// The value of the nearest sample, or of the later one if both are equally near.
    Nearest,
}

impl Interpolation {
    /// All names.
    pub const NAMES: &'static [&'static str] = &["linear", "nearest"];

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<Interpolation> {
        match name {
            "linear" => Some(Interpolation::Linear),
            "nearest" => Some(Interpolation::Nearest),
            _ => None,
        }
    }
}

impl Exchange {
    /// The keys of an entry in a file.
    pub const KEYS: &'static [&'static str] =
        &["messages", "array", "events", "latency", "buffer", "routing", "signal", "delay", "interpolation"];

    /// Returns true if each rank of the receiver gets only the events that it wants.
    pub fn is_pairwise(&self) -> bool {
        matches!(self, Exchange::Events(EventExchange { routing: Routing::Pairwise, .. }))
    }

    /// Returns true if the conduit may have filters.
    pub fn takes_filters(&self) -> bool {
        matches!(self, Exchange::Messages | Exchange::Signal(_))
    }
}

/// A list of numbers as a file has it.
struct Numbers<'a>(&'a [u64]);

impl Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        write!(f, "[{}]", numbers.join(", "))
    }
}

impl Display for Exchange {
    /// Writes the entry as a file has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exchange::Messages => f.write_str("{messages: all}"),
            Exchange::Array(shape) => write!(f, "{{array: {}}}", Numbers(shape)),
            Exchange::Events(EventExchange { ids, latency, buffer, routing }) => {
                write!(f, "{{events: {ids}, latency: {latency}")?;
                if let Some(buffer) = buffer {
                    write!(f, ", buffer: {buffer}")?;
                }
                if *routing == Routing::Pairwise {
                    f.write_str(", routing: pairwise")?;
                }
                f.write_str("}")
            }
            Exchange::Signal(SignalExchange { shape, delay, interpolation }) => {
                write!(f, "{{signal: {}, delay: {delay}", Numbers(shape))?;
                if *interpolation == Interpolation::Nearest {
                    f.write_str(", interpolation: nearest")?;
                }
                f.write_str("}")
            }
        }
    }
}
