//! Reading exchanges and ticks.

use super::fields::FieldReader;
use crate::exchange::{
    EventExchange, Exchange, Interpolation, Routing, SignalExchange, MAX_ARRAY_DIMENSIONS, MAX_ARRAY_ELEMENTS,
    MAX_EVENT_IDS,
};
use crate::ticks::{InvalidSpan, Nanoseconds};
use crate::yaml::{YamlKind, YamlNode};
use ligament_catalogue::Code;

/// A span in place of one that cannot be read. No loop of exchanges is too short with it.
const STAND_IN: Nanoseconds = Nanoseconds(1 << 50);
/// The keys that say what an exchange carries. An exchange has exactly one of them.
const CONTENTS: [&str; 4] = ["messages", "array", "events", "signal"];

impl FieldReader {
    /// Reads an exchange.
    pub(super) fn exchange(&mut self, node: &YamlNode) -> Option<Exchange> {
        let map = self.mapping(node, "an exchange", Exchange::KEYS);
        let contents: Vec<&str> = CONTENTS.into_iter().filter(|key| map.get(key).is_some()).collect();
        let [content] = contents[..] else {
            self.error(
                Code::BAD_EXCHANGE,
                &node.at,
                "an exchange is of messages, of an array, of events, or of a signal",
                "write \"{messages: all}\", \"{array: [512, 512]}\" with the shape of the whole array, \
                 \"{events: 1000, latency: 5 ms}\" with the number of ids, or \"{signal: [6], delay: 2 ms}\"",
            );
            return None;
        };
        let others: &[&str] = match content {
            "events" => &["latency", "buffer", "routing"],
            "signal" => &["delay", "interpolation"],
            _ => &[],
        };
        for key in ["latency", "buffer", "routing", "delay", "interpolation"] {
            if let Some(node) = map.get(key).filter(|_| !others.contains(&key)) {
                self.error(
                    Code::BAD_EXCHANGE,
                    &node.at,
                    format!("an exchange with \"{content}\" has no \"{key}\""),
                    "remove the key: events have \"latency\", \"buffer\" and \"routing\", and signals have \
                     \"delay\" and \"interpolation\"",
                );
            }
        }
        let node = map.get(content)?;
        // A wrong value is reported, and the exchange is read nevertheless, so that one slip gives one message.
        let mut span = |key: &str| match map.get(key) {
            Some(node) => self.span(node, &format!("the {key} of an exchange")).unwrap_or(STAND_IN),
            None => Nanoseconds::default(),
        };
        match content {
            "messages" => {
                let all = |word: &str| (word == "all").then_some(Exchange::Messages);
                self.word(node, "messages", &["all"], all)
            }
            "array" => self.array_shape(node).map(Exchange::Array),
            "events" => {
                let latency = span("latency");
                let ids = self.count(node, "the number of ids", 1).unwrap_or(1) as u64;
                if ids > MAX_EVENT_IDS {
                    let message = format!("events have at most {MAX_EVENT_IDS} different ids");
                    self.error(Code::BAD_EXCHANGE, &node.at, message, "write a smaller number of ids");
                }
                let buffer = map.get("buffer");
                let buffer = buffer.and_then(|node| self.count(node, "the number of ticks in an exchange", 1));
                let buffer = buffer.map(|ticks| ticks as u64);
                let routing = map.get("routing");
                let routing = routing
                    .and_then(|node| self.word(node, "the routing", Routing::NAMES, Routing::from_name))
                    .unwrap_or_default();
                Some(Exchange::Events(EventExchange { ids, latency, buffer, routing }))
            }
            _ => {
                let delay = span("delay");
                let shape = self.array_shape(node)?;
                let names = Interpolation::NAMES;
                let interpolation = map.get("interpolation");
                let interpolation = interpolation
                    .and_then(|node| self.word(node, "the interpolation", names, Interpolation::from_name))
                    .unwrap_or_default();
                Some(Exchange::Signal(SignalExchange { shape, delay, interpolation }))
            }
        }
    }

    /// Reads a span of model time.
    pub(super) fn span(&mut self, node: &YamlNode, what: &str) -> Option<Nanoseconds> {
        let span = match &node.kind {
            YamlKind::Str(text) => text.parse(),
            _ => Err(InvalidSpan::Form),
        };
        match span {
            Ok(span) => Some(span),
            Err(why) => {
                let message = format!("{what} cannot be {}: {why}", node.describe());
                let advice = "write a whole number of nanoseconds in any unit, for example 5 ms or 0.1 ms";
                self.error(Code::BAD_TICK, &node.at, message, advice);
                None
            }
        }
    }

    /// Reads a tick. A wrong one is reported, and another one stands in for it, so that one slip gives one
    /// message.
    pub(super) fn tick(&mut self, node: &YamlNode) -> Nanoseconds {
        let tick = self.span(node, "a tick");
        if tick == Some(Nanoseconds(0)) {
            self.error(Code::BAD_TICK, &node.at, "a tick of 0 does not advance", "write a longer one");
        }
        tick.filter(|tick| tick.0 > 0).unwrap_or(Nanoseconds(1))
    }

    /// Reads the shape of a distributed array: the length of each dimension.
    fn array_shape(&mut self, node: &YamlNode) -> Option<Vec<u64>> {
        let lengths = match &node.kind {
            YamlKind::Seq(lengths) => lengths.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let shape: Option<Vec<u64>> = lengths
            .iter()
            .map(|length| self.count(length, "the length of a dimension", 1).map(|length| length as u64))
            .collect();
        let shape = shape?;
        let elements = shape.iter().try_fold(1u64, |product, length| product.checked_mul(*length));
        let fits = elements.is_some_and(|elements| elements <= MAX_ARRAY_ELEMENTS);
        if fits && !shape.is_empty() && shape.len() <= MAX_ARRAY_DIMENSIONS {
            return Some(shape);
        }
        self.error(
            Code::BAD_EXCHANGE,
            &node.at,
            format!(
                "an array of an exchange has 1 to {MAX_ARRAY_DIMENSIONS} dimensions and fewer than 2^63 \
                 elements"
            ),
            "write the length of each dimension of the whole array, for example \"[512, 512]\"",
        );
        None
    }
}
