//! A check that every component can start: a conduit leads to each receiving port, and no component must wait
//! for its own first message.

use crate::notyet::UnsupportedFeatures;
use crate::order::changes_the_number;
use crate::scales::ComponentScales;
use crate::{CheckOptions, Ignorable};
use ligament_catalogue::Code;
use ligament_model::{Configuration, FlatConduit, FlatEnd, FlatModel, ForConduits, Operator, Problem};
use std::collections::{BTreeMap, BTreeSet, HashSet};

pub(crate) fn check(flat: &FlatModel, options: &CheckOptions, problems: &mut Vec<Problem>) {
    unconnected(flat, problems);
    if let Some(circle) = waiting_circle(flat) {
        let names: Vec<String> = circle.iter().map(|c| flat.components[*c].name.to_string()).collect();
        let first = circle[0];
        let conduit = flat
            .conduits
            .iter()
            .find(|c| c.to.component == first && circle.contains(&c.from.component) && starts(flat, &c.to));
        let at = conduit.map_or(&flat.components[first].at, |c| &c.at);
        let message = match names.as_slice() {
            [one] => format!("\"{one}\" cannot start, because its F_INIT port waits for its own output"),
            several => format!(
                "none of these can start, because each waits at F_INIT for the one before: {} -> {}",
                several.join(" -> "),
                several[0]
            ),
        };
        let advice = "let one of them receive on an S port, within its loop, or begin the circle elsewhere";
        UnsupportedFeatures { options, problems }.ignorable(
            Ignorable::Deadlocks,
            Code::WAITING_CIRCLE,
            at,
            message,
            advice,
        );
    }
}

/// Reports receiving ports, and slots of such ports, to which no conduit leads.
fn unconnected(flat: &FlatModel, problems: &mut Vec<Problem>) {
    let mut connected: Vec<Vec<bool>> =
        flat.components.iter().map(|c| vec![false; c.ports.len() + 1]).collect();
    let mut slots: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    for conduit in &flat.conduits {
        let (component, place) = (conduit.to.component, conduit.to.place);
        connected[component][place] = true;
        if let Some(slot) = conduit.to.slot {
            slots.entry((component, place)).or_default().insert(slot);
        }
    }
    for ((component, place), given) in slots {
        let Some(missing) = (0..).zip(&given).find(|(slot, given)| slot != *given).map(|(slot, _)| slot) else {
            continue;
        };
        let (component, port) =
            (&flat.components[component], flat.components[component].ports.get_index(place));
        let Some((_, port)) = port.filter(|(_, port)| !port.inferred) else { continue };
        problems.push(Problem::warning(
            Code::UNCONNECTED_PORT,
            &port.at,
            format!(
                "conduits lead to some slots of \"{}.{}\" ({}), and none to slot {missing}",
                component.name, port.name, port.operator
            ),
            "add one, or number the slots from 0 on without gaps",
        ));
    }
    for (i, component) in flat.components.iter().enumerate() {
        for (place, port) in component.ports.values().enumerate() {
            if port.operator.receives() && !port.inferred && !connected[i][place] {
                problems.push(Problem::warning(
                    Code::UNCONNECTED_PORT,
                    &port.at,
                    format!("no conduit leads to \"{}.{}\" ({})", component.name, port.name, port.operator),
                    "add one, or make sure that the program can do without",
                ));
            }
        }
    }
}

/// Reports a port that sends in each step to both `F_INIT` and `S` of one component. Each message arrives at
/// both ports, so a message that remains at `F_INIT` starts an unwanted pass.
pub(crate) fn start_and_steps(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    let scales = ComponentScales::all(&config.ligament);
    let mut own = ForConduits::new(&config.ligament.filters);
    let operator = |end: &FlatEnd| flat.declared(end).filter(|port| !port.inferred).map(|port| port.operator);
    let mut is_thinned = |conduit| {
        let filters = own.of(flat, conduit).map_or(&[][..], |filters| filters);
        filters.iter().any(changes_the_number)
    };
    let in_steps = flat.conduits.iter().filter(|conduit| operator(&conduit.from) == Some(Operator::OI));
    let mut feeds: BTreeMap<(usize, usize, usize), [Option<&FlatConduit>; 2]> = BTreeMap::new();
    for conduit in in_steps {
        let place = match operator(&conduit.to) {
            // A filter of a timeline, such as `last`, makes one message of many, so `F_INIT` may get fewer
            // messages than `S`.
            Some(Operator::FInit) if conduit.filters.is_empty() && !is_thinned(conduit) => 0,
            Some(Operator::S) => 1,
            _ => continue,
        };
        let key = (conduit.from.component, conduit.from.place, conduit.to.component);
        feeds.entry(key).or_default()[place] = Some(conduit);
    }
    for both in feeds.into_values() {
        let [Some(start), Some(step)] = both else { continue };
        let (from, to) = (flat.port_of(&start.from), &flat.components[start.to.component].name);
        // If a pass has one step, the component takes the same number of messages at both ports.
        if scales.get(to).and_then(ComponentScales::steps) == Some(1) {
            continue;
        }
        problems.push(Problem::warning(
            Code::START_AND_STEPS,
            &start.at,
            format!(
                "each message of \"{from}\" (O_I) goes to \"{to}.{}\" (F_INIT) and to \"{to}.{}\" (S), so each \
                 of them also begins another pass of \"{to}\"",
                start.to.port, step.to.port
            ),
            "begin it by a port that sends once, such as one of another component, or put a filter into the \
             conduit to F_INIT",
        ));
    }
}

/// Returns true if a component waits for a message at this end before it begins.
fn starts(flat: &FlatModel, end: &ligament_model::FlatEnd) -> bool {
    flat.declared(end).is_some_and(|p| p.operator == Operator::FInit && !p.inferred)
}

/// Finds a circle of components in which each waits at `F_INIT` for the component before it. Returns the
/// components in the direction of the messages.
fn waiting_circle(flat: &FlatModel) -> Option<Vec<usize>> {
    let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); flat.components.len()];
    for conduit in flat.conduits.iter().filter(|c| starts(flat, &c.to)) {
        waits_for[conduit.to.component].push(conduit.from.component);
    }
    // Depth-first search without recursion. `open` is the path from the start of the search.
    let mut finished = vec![false; waits_for.len()];
    for root in 0..waits_for.len() {
        let mut open: Vec<(usize, usize)> = if finished[root] { continue } else { vec![(root, 0)] };
        let mut on_path = HashSet::from([root]);
        while let Some((component, next)) = open.last_mut() {
            match waits_for[*component].get(*next) {
                Some(sender) => {
                    *next += 1;
                    let sender = *sender;
                    if on_path.contains(&sender) {
                        let from = open.iter().position(|(c, _)| *c == sender)?;
                        let mut circle: Vec<usize> = open[from..].iter().map(|(c, _)| *c).collect();
                        circle.reverse();
                        return Some(circle);
                    }
                    if !finished[sender] {
                        on_path.insert(sender);
                        open.push((sender, 0));
                    }
                }
                None => {
                    finished[*component] = true;
                    on_path.remove(component);
                    open.pop();
                }
            }
        }
    }
    None
}
