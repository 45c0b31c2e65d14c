//! The consequences of the operators' order for a model: who receives what before it begins and in each step,
//! who sends what when, and what filters make of the number of messages. The search for deadlocks and the
//! unrolled order stand on it.

use crate::scales::ComponentScales;
use ligament_model::{ConduitFilter, Configuration, Filter, FlatComponent, FlatModel, ForConduits, Operator};
use std::collections::HashSet;

/// When a component sends on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    /// At the beginning of each step (`O_I`).
    InSteps,
    /// At the end of each pass (`O_F`).
    AtEnd,
    /// The time is unknown.
    AtAnyTime,
}

/// The fate of the messages of a conduit on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageRate {
    /// Each arrives.
    Each,
    /// None arrives before one was sent; then any number may.
    AnyNumber,
    /// The first of so many arrives, and none of the others.
    OneIn(u64),
    /// One arrives for each pass that this component has ended.
    ForEachPass(usize),
    /// None arrives before this component has ended a pass; then any number may.
    AfterPass(usize),
    /// Any number may arrive at any time.
    Unknown,
}

/// A conduit between components.
#[derive(Clone, Debug)]
pub(crate) struct OrderedConduit {
    /// Its position among the model's conduits.
    pub conduit: usize,
    pub from: usize,
    pub to: usize,
    pub sends: Sends,
    pub way: MessageRate,
    /// The number of iterations `last` that waits for, and for how many `repeat` and `pad` give a message
    /// again.
    pub last: usize,
    pub repeats: usize,
    /// A filter under `ligament:` that holds messages back.
    pub holds: Option<HoldingFilter>,
}

/// How a filter holds messages back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The first arrives when another is sent, or the sender has ended.
    UntilMore,
    /// One in so many arrives.
    MostOf(u64),
    /// None arrives before or after a point in time, which nobody knows of a code.
    ByTime,
    /// None arrives until the sender has ended.
    All,
}

/// A filter that holds messages back, as a model file has it: `chunk: 10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HoldingFilter {
    pub filter: String,
    pub hold: Hold,
}

/// A component.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedComponent {
    /// True if the order of its operators is known: its ports are declared, and all on one timeline.
    pub is_certain: bool,
    /// The links that it receives on before it begins.
    pub starts: Vec<usize>,
    /// The links that it receives on in each step.
    pub inputs: Vec<usize>,
    /// The links that it sends on.
    pub outputs: Vec<usize>,
    /// The components that it is called by, the outermost first; none if that is not known.
    pub around: Option<Vec<usize>>,
    /// The number of steps that it makes in each pass, by its scales.
    pub steps: Option<u64>,
    /// True if it makes a step in each pass, by its scales.
    pub makes_steps: bool,
}

/// A model without what the order of operators does not depend on.
#[derive(Clone, Debug)]
pub(crate) struct OperatorOrder {
    pub parts: Vec<OrderedComponent>,
    pub links: Vec<OrderedConduit>,
}

impl OperatorOrder {
    pub fn of(config: &Configuration, flat: &FlatModel) -> OperatorOrder {
        let scales = ComponentScales::all(&config.ligament);
        // An empty set of instances neither sends nor receives.
        let is_there: Vec<bool> =
            flat.components.iter().map(|component| !component.multiplicity.contains(&0)).collect();
        let part = |component: &FlatComponent| OrderedComponent {
            makes_steps: scales.get(&component.name).is_some_and(ComponentScales::makes_steps),
            is_certain: component
                .ports
                .values()
                .all(|port| !port.inferred && port.operator != Operator::None && port.timeline.is_empty()),
            steps: scales.get(&component.name).and_then(ComponentScales::steps),
            ..OrderedComponent::default()
        };
        let mut order = OperatorOrder { parts: flat.components.iter().map(part).collect(), links: Vec::new() };
        let mut own = ForConduits::new(&config.ligament.filters);
        for (number, conduit) in flat.conduits.iter().enumerate() {
            let (from, to) = (conduit.from.component, conduit.to.component);
            if !is_there[from] || !is_there[to] {
                continue;
            }
            let sends = match flat.declared(&conduit.from) {
                Some(port) if !order.parts[from].is_certain || port.inferred => Sends::AtAnyTime,
                Some(port) if port.operator == Operator::OI => Sends::InSteps,
                Some(port) if port.operator == Operator::OF => Sends::AtEnd,
                _ => Sends::AtAnyTime,
            };
            let last = conduit.filters.iter().filter(|filter| **filter == ConduitFilter::Last).count();
            let repeats = conduit.filters.len() - last;
            let filters = own.of(flat, conduit).map_or(&[][..], |filters| filters);
            let holds = holding(filters).filter(|_| last + repeats == 0);
            let way = match &holds {
                Some(HoldingFilter { hold: Hold::MostOf(n), .. }) => MessageRate::OneIn(*n),
                _ if filters.iter().any(changes_the_number) => MessageRate::AnyNumber,
                _ => MessageRate::Each,
            };
            let link = order.links.len();
            let operator = flat.declared(&conduit.to).map(|port| port.operator);
            match operator {
                Some(Operator::S) => order.parts[to].inputs.push(link),
                Some(Operator::FInit) => order.parts[to].starts.push(link),
                // The settings port, which nobody declares.
                None => order.parts[to].starts.push(link),
                _ => order.parts[to].is_certain = false,
            }
            order.parts[from].outputs.push(link);
            order.links.push(OrderedConduit { conduit: number, from, to, sends, way, last, repeats, holds });
        }
        order.nest();
        order.filter();
        order
    }

    /// Whom each component is called by: it lies within the timeline that its start messages are on.
    fn nest(&mut self) {
        // Of those that are done, it may be unknown.
        let mut done = vec![false; self.parts.len()];
        for first in 0..self.parts.len() {
            let mut open = if done[first] { Vec::new() } else { vec![(first, 0)] };
            let mut on_path = HashSet::from([first]);
            while let Some((part, next)) = open.last_mut() {
                let part = *part;
                let Some(&link) = self.parts[part].starts.get(*next) else {
                    open.pop();
                    on_path.remove(&part);
                    self.parts[part].around = self.timeline_of_starts(part);
                    done[part] = true;
                    continue;
                };
                *next += 1;
                let sender = self.links[link].from;
                if !done[sender] && on_path.insert(sender) {
                    open.push((sender, 0));
                }
            }
        }
    }

    fn timeline_of_starts(&self, part: usize) -> Option<Vec<usize>> {
        if self.parts[part].starts.is_empty() {
            return Some(Vec::new());
        }
        let direct =
            self.parts[part].starts.iter().map(|&link| &self.links[link]).find(|link| link.repeats == 0)?;
        let mut timeline = self.timeline(direct)?;
        timeline.truncate(timeline.len().checked_sub(direct.last)?);
        Some(timeline)
    }

    /// The timeline on which messages are sent.
    pub fn timeline(&self, link: &OrderedConduit) -> Option<Vec<usize>> {
        let mut timeline = self.parts[link.from].around.clone()?;
        match link.sends {
            Sends::InSteps => timeline.push(link.from),
            Sends::AtEnd => {}
            Sends::AtAnyTime => return None,
        }
        Some(timeline)
    }

    /// Applies filters to the number of messages.
    fn filter(&mut self) {
        for at in 0..self.links.len() {
            let link = &self.links[at];
            let any = link.way != MessageRate::Each || link.repeats > 0;
            let way = match (link.sends, link.last) {
                (Sends::AtAnyTime, _) => MessageRate::Unknown,
                (_, 0) if matches!(link.way, MessageRate::OneIn(_)) => link.way,
                (_, 0) if any => MessageRate::AnyNumber,
                (_, 0) => MessageRate::Each,
                (_, last) => {
                    let whose = self.timeline(link).and_then(|timeline| {
                        let place = timeline.len().checked_sub(last)?;
                        timeline.get(place).copied()
                    });
                    match whose {
                        Some(part) if any => MessageRate::AfterPass(part),
                        Some(part) => MessageRate::ForEachPass(part),
                        None => MessageRate::Unknown,
                    }
                }
            };
            self.links[at].way = way;
        }
    }
}

/// True if a filter under `ligament:` makes more or fewer messages of one, as far as anybody knows.
pub(crate) fn changes_the_number(filter: &Filter) -> bool {
    let changes = [
        "every",
        "block_until",
        "block_after",
        "interpolate_time",
        "moving_average",
        "chunk",
        "dechunk",
        "discard",
    ];
    filter.is_own() || changes.contains(&filter.name)
}

/// Which filter holds messages back the longest, if one does.
fn holding(filters: &[Filter]) -> Option<HoldingFilter> {
    let is_alone = filters.iter().filter(|filter| changes_the_number(filter)).count() == 1;
    let mut found: Option<HoldingFilter> = None;
    for filter in filters {
        let n = filter.count("n").unwrap_or(1);
        let hold = match filter.name {
            "discard" => Hold::All,
            "chunk" if n > 1 => Hold::UntilMore,
            "every" if n > 1 && is_alone => Hold::MostOf(n),
            "block_until" | "block_after" => Hold::ByTime,
            // The messages behind these may be several for one.
            "dechunk" | "interpolate_time" => break,
            _ if filter.is_own() => break,
            _ => continue,
        };
        let is_first = found.as_ref().is_none_or(|one| one.hold == Hold::ByTime);
        if hold == Hold::All || is_first {
            found = Some(HoldingFilter { filter: filter.written(), hold });
        }
    }
    found
}
