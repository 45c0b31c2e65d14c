//! The loop whose steps start the passes of each component. The clocks of two components go together only if
//! both make their passes in the same loop, since a clock begins anew in each pass.

use crate::flatten::{FlatConduit, FlatModel};
use crate::graph::Operator;

/// The loop in which a component makes its passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassLoop {
    /// The loop cannot be known: ports are not declared, filters change the number of messages, or messages
    /// come from two loops.
    Unknown,
    /// No loop starts passes: the component makes one pass in a run.
    Run,
    /// The loop of this component: each of its steps starts a pass.
    Of(usize),
}

/// Returns the loop in which each component of a model makes its passes.
pub(crate) fn pass_loops(flat: &FlatModel) -> Vec<PassLoop> {
    let count = flat.components.len();
    let mut starts: Vec<Vec<&FlatConduit>> = vec![Vec::new(); count];
    for conduit in &flat.conduits {
        if flat.declared(&conduit.to).is_none_or(|port| port.operator == Operator::FInit) {
            starts[conduit.to.component].push(conduit);
        }
    }
    let mut loops = vec![PassLoop::Unknown; count];
    // A component comes after those that start it. One that starts itself stays unknown.
    let mut visited = vec![false; count];
    for first in 0..count {
        let mut open = if visited[first] { Vec::new() } else { vec![(first, 0)] };
        visited[first] = true;
        while let Some((component, next)) = open.last_mut() {
            let component = *component;
            let Some(conduit) = starts[component].get(*next) else {
                open.pop();
                loops[component] = pass_loop(flat, component, &starts[component], &loops);
                continue;
            };
            *next += 1;
            let sender = conduit.from.component;
            if !std::mem::replace(&mut visited[sender], true) {
                open.push((sender, 0));
            }
        }
    }
    loops
}

/// Returns the loop of a component whose `starts` lead to its F_INIT ports. `loops` has those of their senders.
fn pass_loop(flat: &FlatModel, component: usize, starts: &[&FlatConduit], loops: &[PassLoop]) -> PassLoop {
    let ports = &flat.components[component].ports;
    if ports.values().any(|port| port.inferred || !port.timeline.is_empty()) {
        return PassLoop::Unknown;
    }
    let of_messages =
        |conduit: &&FlatConduit| match (flat.declared(&conduit.from), loops[conduit.from.component]) {
            (Some(port), outer) if conduit.filters.is_empty() && outer != PassLoop::Unknown => {
                match port.operator {
                    Operator::OI => PassLoop::Of(conduit.from.component),
                    _ => outer,
                }
            }
            _ => PassLoop::Unknown,
        };
    let mut all = starts.iter().map(of_messages);
    let Some(first) = all.next() else { return PassLoop::Run };
    if all.all(|other| other == first) {
        first
    } else {
        PassLoop::Unknown
    }
}
