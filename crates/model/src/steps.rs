//! The effects of conduits' filters on messages: the nesting of the iterations in which messages travel,
//! and the senders that must announce the end of an iteration. A conduit that needs none of this has no
//! `ConduitSteps`.

use crate::flatten::{FlatConduit, FlatModel};
use crate::graph::{ConduitFilter, Operator};

/// The steps of a conduit between messages and iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConduitSteps {
    /// Number of numbers in the path of the iteration in which a message is sent.
    pub depth: u8,
    /// Number of iterations, from the innermost on, that let only their last message pass.
    pub last: u8,
    /// Number of iterations, from the innermost on, in which a message is repeated at the receiver.
    pub repeats: u8,
    /// The repeated iterations in which the message arrives only once: one bit for each, the lowest for the
    /// outermost.
    pub pads: u32,
    /// True if the sender announces the end of iterations.
    pub milestones: bool,
}

impl ConduitSteps {
    /// Maximum number of filters of one kind on a conduit, and of nested timelines; more are refused.
    pub const MAX_FILTERS_OF_A_KIND: usize = 32;

    /// Returns the number of numbers in the path of the iteration in which a message travels.
    fn reduced(self) -> u8 {
        self.depth.saturating_sub(self.last)
    }
}

/// Returns the steps of each conduit of a model, in order. If the model has no filters, all are `None`.
pub(crate) fn steps_of(flat: &FlatModel) -> Vec<Option<ConduitSteps>> {
    if flat.conduits.iter().all(|conduit| conduit.filters.is_empty()) {
        return vec![None; flat.conduits.len()];
    }
    let mut all: Vec<ConduitSteps> = flat.conduits.iter().map(|conduit| of(flat, conduit)).collect();
    let hears = who_must_hear(flat, &all);
    for (conduit, steps) in flat.conduits.iter().zip(&mut all) {
        // The end of the conduit is also the end of the outermost timeline's iterations.
        steps.milestones =
            hears[conduit.to.component] && steps.reduced() > 1 && waits_at_start(flat, conduit, *steps);
    }
    let some = |steps: ConduitSteps| (steps.last > 0 || steps.repeats > 0 || steps.milestones).then_some(steps);
    all.into_iter().map(some).collect()
}

fn of(flat: &FlatModel, conduit: &FlatConduit) -> ConduitSteps {
    let sender = &flat.components[conduit.from.component];
    let within = flat.declared(&conduit.from).is_some_and(|port| port.operator == Operator::OI);
    let last = conduit.filters.iter().filter(|filter| **filter == ConduitFilter::Last).count();
    let repeaters: Vec<ConduitFilter> =
        conduit.filters.iter().copied().filter(|filter| *filter != ConduitFilter::Last).collect();
    let pads = repeaters.iter().take(ConduitSteps::MAX_FILTERS_OF_A_KIND).enumerate();
    let pads = pads.filter(|(_, filter)| **filter == ConduitFilter::Pad).map(|(i, _)| 1u32 << i).sum();
    // The check of timelines refuses a larger number.
    let number = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
    ConduitSteps {
        depth: number(sender.depth + usize::from(within)),
        last: number(last),
        repeats: number(repeaters.len()),
        pads,
        milestones: false,
    }
}

/// Returns true if `reuse_instance` of the receiver takes the messages of a conduit.
fn waits_at_start(flat: &FlatModel, conduit: &FlatConduit, steps: ConduitSteps) -> bool {
    steps.repeats > 0 || receives_at_start(flat, conduit)
}

fn receives_at_start(flat: &FlatModel, conduit: &FlatConduit) -> bool {
    // The settings port is not declared, and receives at the start.
    flat.declared(&conduit.to).is_none_or(|port| port.operator == Operator::FInit)
}

/// Returns true for each component that needs the end of its callers' iterations: for a `last` filter of
/// its own, to drop messages that it repeats, or to pass the end on.
fn who_must_hear(flat: &FlatModel, all: &[ConduitSteps]) -> Vec<bool> {
    let mut hears = vec![false; flat.components.len()];
    let mut senders: Vec<Vec<usize>> = vec![Vec::new(); flat.components.len()];
    for (conduit, steps) in flat.conduits.iter().zip(all) {
        let sender = flat.components[conduit.from.component].depth;
        let reduced = usize::from(steps.reduced());
        hears[conduit.from.component] |= steps.last > 0 && 0 < reduced && reduced < sender;
        hears[conduit.to.component] |= steps.repeats > 0;
        if waits_at_start(flat, conduit, *steps) && reduced > 1 && sender > 1 {
            senders[conduit.to.component].push(conduit.from.component);
        }
    }
    let mut open: Vec<usize> = (0..hears.len()).filter(|&component| hears[component]).collect();
    while let Some(component) = open.pop() {
        for &sender in &senders[component] {
            if !std::mem::replace(&mut hears[sender], true) {
                open.push(sender);
            }
        }
    }
    hears
}
