//! The order in which each component receives and sends, as its operators say: the conduits on which it
//! receives before it begins and in each step, the moment at which it sends, and the effect of filters on the
//! number of messages. The search for deadlocks and the unrolled order use this module.

use crate::scales::ComponentScales;
use ligament_model::{ConduitFilter, Configuration, Filter, FlatComponent, FlatModel, ForConduits, Operator};
use std::collections::HashSet;

/// The moment at which a component sends on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    /// The component sends at the beginning of each step (`O_I`).
    InSteps,
    /// The component sends at the end of each pass (`O_F`).
    AtEnd,
    /// The moment is unknown.
    AtAnyTime,
}

/// The relation between the messages that are sent on a conduit and the messages that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageRate {
    /// Each message arrives.
    Each,
    /// No message arrives before the first one is sent. Afterwards any number may arrive.
    AnyNumber,
    /// One message arrives for each group of this many sent messages, and it is the first of its group.
    OneIn(u64),
    /// One message arrives for each pass that the component with this index has ended.
    ForEachPass(usize),
    /// No message arrives before the component with this index has ended a pass. Afterwards any number may
    /// arrive.
    AfterPass(usize),
    /// Any number of messages may arrive at any time.
    Unknown,
}

/// A conduit between components. In this module, a conduit is called a link, and a component a part.
#[derive(Clone, Debug)]
pub(crate) struct OrderedConduit {
    /// Index of the conduit among the model's conduits.
    pub conduit: usize,
    pub from: usize,
    pub to: usize,
    pub sends: Sends,
    pub way: MessageRate,
    /// Number of `last` filters on the conduit. Each passes on only the last message of an iteration. The next
    /// field counts `repeat` and `pad` filters, each of which sends a message again in an iteration.
    pub last: usize,
    pub repeats: usize,
    /// Filter under `ligament:` that holds messages back, if there is one.
    pub holds: Option<HoldingFilter>,
}

/// The way in which a filter holds messages back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The first message arrives when a second message is sent, or when the sender has ended.
    UntilMore,
    /// One message arrives for each group of this many sent messages.
    MostOf(u64),
    /// Messages before, or after, a point in model time do not arrive. The step in which the sender reaches
    /// this point is unknown.
    ByTime,
    /// No message arrives until the sender has ended.
    All,
}

/// A filter that holds messages back. `filter` is its text in a model file, for example `chunk: 10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HoldingFilter {
    pub filter: String,
    pub hold: Hold,
}

/// A component and the links of its ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedComponent {
    /// True if the order of the component's operators is known: the ports are declared and belong to one
    /// timeline.
    pub is_certain: bool,
    /// Indices of the links on which the component receives before it begins.
    pub starts: Vec<usize>,
    /// Indices of the links on which the component receives in each step.
    pub inputs: Vec<usize>,
    /// Indices of the links on which the component sends.
    pub outputs: Vec<usize>,
    /// Components whose steps call this component, outermost first. `None` if its callers are unknown.
    pub around: Option<Vec<usize>>,
    /// Number of steps that the component makes in each pass, according to its scales.
    pub steps: Option<u64>,
    /// True if the component makes at least one step in each pass, according to its scales.
    pub makes_steps: bool,
}

/// The part of a model that is relevant for the order of operators.
#[derive(Clone, Debug)]
pub(crate) struct OperatorOrder {
    pub parts: Vec<OrderedComponent>,
    pub links: Vec<OrderedConduit>,
}

impl OperatorOrder {
    pub fn of(config: &Configuration, flat: &FlatModel) -> OperatorOrder {
        let scales = ComponentScales::all(&config.ligament);
        // A component without instances neither sends nor receives, so its conduits are left out.
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
                // A receiving port that the component does not declare is its settings port.
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

    /// Finds the callers of each component. A component lies within the timeline on which its start messages
    /// are sent.
    fn nest(&mut self) {
        // True for a component that has been handled. Its callers may remain unknown.
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

    /// Returns the timeline on which the messages of a link are sent.
    pub fn timeline(&self, link: &OrderedConduit) -> Option<Vec<usize>> {
        let mut timeline = self.parts[link.from].around.clone()?;
        match link.sends {
            Sends::InSteps => timeline.push(link.from),
            Sends::AtEnd => {}
            Sends::AtAnyTime => return None,
        }
        Some(timeline)
    }

    /// Sets the message rate of each link from its filters.
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

/// Returns true if a filter under `ligament:` may change the number of messages. A user's own filter always
/// may.
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

/// Returns the filter that holds messages back longest, if any filter holds messages back.
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
            // These filters may make several messages of one, so a later filter may get enough messages to pass
            // some on.
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
