//! Exchanges in a model that is expanded: the ports that they join, and the contents of these ports.

use super::{Expander, Shape};
use crate::exchange::Exchange;
use crate::flatten::{FlatComponent, FlatConduit, FlatEnd};
use crate::identity::Reference;
use crate::problem::{At, Problem};
use ligament_catalogue::Code;
use std::fmt::{self, Display};
use std::rc::Rc;
use std::sync::Arc;

/// The contents of a port's conduits.
#[derive(Clone, PartialEq)]
pub(super) enum Content {
    Messages,
    Array(Arc<[u64]>),
    /// Events with this number of ids.
    Events(u64),
    /// Samples of an array of this shape.
    Signal(Arc<[u64]>),
}

impl Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Messages => f.write_str("messages"),
            Content::Array(shape) => write!(f, "parts of an array of the shape {shape:?}"),
            Content::Events(ids) => write!(f, "events with {ids} ids"),
            Content::Signal(shape) => write!(f, "a signal of the shape {shape:?}"),
        }
    }
}

impl<'a> Expander<'a> {
    /// Works out how an exchange determines the two ports that it joins.
    pub(super) fn plan_exchange(
        &mut self,
        index: usize,
        conduit: &FlatConduit,
        exchange: &Exchange,
        [from, to]: [u32; 2],
    ) -> Option<(u32, u32, Shape)> {
        let flat = self.flat;
        let [sender, receiver] = [&conduit.from, &conduit.to].map(|end| &flat.components[end.component]);
        let (s_ranks, r_ranks) = (self.config.ranks_of(&sender.name), self.config.ranks_of(&receiver.name));
        let names = [flat.port_of(&conduit.from), flat.port_of(&conduit.to)];
        if sender.multiplicity != receiver.multiplicity {
            let advice = "an exchange joins the ranks of single instances; give both the same multiplicity";
            self.problem(Code::MULTIPLICITY_MISMATCH, &conduit.at, conduit, advice);
            return None;
        }
        let error = if conduit.from.slot.is_some() || conduit.to.slot.is_some() {
            Some((
                Code::SLOT_AND_MULTIPLICITY,
                format!("the exchange \"{} -> {}\" has a slot", names[0], names[1]),
                "an exchange joins all ranks; remove the slot",
            ))
        } else if *exchange == Exchange::Messages && r_ranks.is_none() {
            Some((
                Code::BAD_EXCHANGE,
                format!("\"{}\" is to get the messages of an exchange, and has no ranks", receiver.name),
                "remove the entry under \"exchange:\": then the port has a slot for each rank of the sender",
            ))
        } else if let (true, Some(name)) =
            (self.has_parts(conduit, exchange), self.without_parts([sender, receiver]))
        {
            Some((
                Code::BAD_EXCHANGE,
                format!("\"{name}\" is to have a part of an array, and shares its process with others"),
                "use a program that is not light and does not come with Ligament; it calls map on each rank",
            ))
        } else if !exchange.takes_filters() && !conduit.filters.is_empty() {
            self.problems.push(filters_on_exchange(&conduit.at, &names[0], &names[1]));
            return None;
        } else {
            None
        };
        if let Some((code, message, advice)) = error {
            self.problems.push(Problem::error(code, &conduit.at, message, advice));
            return None;
        }
        // Each rank of the sender is a slot of the receiving port. The code of a port of an array does not see
        // these slots.
        let slots = match self.content_at(&conduit.to, exchange) {
            Content::Messages => s_ranks,
            Content::Array(_) | Content::Events(_) | Content::Signal(_) => Some(s_ranks.unwrap_or(1)),
        };
        let [s_shape, r_shape] = [&conduit.from, &conduit.to].map(|end| Rc::clone(&self.shapes[end.component]));
        self.decide(conduit.from.component, from, index, &s_shape, None, None);
        let peer = if slots.is_some() { &s_shape } else { &r_shape };
        self.decide(conduit.to.component, to, index, peer, slots, None);
        Some((from, to, Shape::AllToAll))
    }

    /// Returns the first component that cannot have a part of an array: its program is light, or comes with
    /// Ligament.
    fn without_parts(&self, components: [&'a FlatComponent; 2]) -> Option<&'a Reference> {
        components.into_iter().find(|one| self.config.shares_process(one)).map(|component| &component.name)
    }

    /// Returns true if both ends of an exchange have parts of an array.
    fn has_parts(&self, conduit: &FlatConduit, exchange: &Exchange) -> bool {
        let is_part = |end| matches!(self.content_at(end, exchange), Content::Array(_) | Content::Signal(_));
        is_part(&conduit.from) && is_part(&conduit.to)
    }

    /// Returns the contents of an exchange at one end. A receiver without a clock gets events and samples as
    /// messages.
    fn content_at(&self, end: &FlatEnd, exchange: &Exchange) -> Content {
        let component = &self.flat.components[end.component];
        let sends = self.flat.declared(end).is_some_and(|port| port.operator.sends());
        match exchange {
            Exchange::Messages => Content::Messages,
            Exchange::Array(shape) => Content::Array(Arc::from(shape.as_slice())),
            _ if !sends && !self.config.ligament.ticks.contains_key(&component.name) => Content::Messages,
            Exchange::Events(events) => Content::Events(events.ids),
            Exchange::Signal(signal) => Content::Signal(Arc::from(signal.shape.as_slice())),
        }
    }

    /// Gives the ports of exchanges the shapes of their arrays. All conduits of a port must agree.
    pub(super) fn give_contents(&mut self) {
        for (conduit, exchange) in self.flat.conduits.iter().zip(&self.exchanges) {
            for end in [&conduit.from, &conduit.to] {
                let content = exchange.map_or(Content::Messages, |exchange| self.content_at(end, exchange));
                let Some(plan) = self.ports[end.component].get_mut(end.place) else { continue };
                match plan.content {
                    None => plan.content = Some((content, &conduit.at)),
                    Some((ref earlier, at)) if *earlier != content => {
                        let port = self.flat.port_of(end);
                        let message =
                            format!("\"{port}\" carries {content} here, and {earlier} in line {}", at.line);
                        let advice =
                            "give all conduits of the port the same entry under \"exchange:\", or use a \
                                      port for each";
                        self.problems.push(Problem::error(Code::BAD_EXCHANGE, &conduit.at, message, advice));
                    }
                    Some(_) => {}
                }
            }
        }
        for plan in self.ports.iter_mut().flatten() {
            plan.port.array = match plan.content.take() {
                Some((Content::Array(shape) | Content::Signal(shape), _)) => Some(shape),
                _ => None,
            };
        }
    }
}

/// Returns the problem of a conduit that has filters and carries parts of an array, or events.
pub(super) fn filters_on_exchange(at: &At, from: &Reference, to: &Reference) -> Problem {
    Problem::error(
        Code::BAD_EXCHANGE,
        at,
        format!("\"{from} -> {to}\" carries parts of an array or events, and has filters"),
        "remove the filters, or let the code of one side do their work",
    )
}
