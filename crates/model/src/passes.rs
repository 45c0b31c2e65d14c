//! The loops whose steps start the passes of each component. The clocks of two components go together only if
//! both make their passes in the same loops, since a clock begins anew in each pass.

use crate::flatten::{FlatConduit, FlatModel};
use crate::graph::Operator;

/// The components in whose loops a component makes its passes, outermost first. Empty for a component that
/// makes one pass in a run.
type Loops = Vec<usize>;

/// For each component of a model: the loops in which it makes its passes. `None` if they are not known, because
/// ports are not declared, filters change how many messages there are, or timelines match by declaration.
pub(crate) struct PassLoops(Vec<Option<Loops>>);

impl PassLoops {
    pub fn of(flat: &FlatModel) -> PassLoops {
        let mut finder = Finder {
            flat,
            starts: vec![Vec::new(); flat.components.len()],
            found: vec![None; flat.components.len()],
        };
        for conduit in &flat.conduits {
            if flat.declared(&conduit.to).is_none_or(|port| port.operator == Operator::FInit) {
                finder.starts[conduit.to.component].push(conduit);
            }
        }
        PassLoops((0..flat.components.len()).map(|component| finder.loops(component)).collect())
    }

    /// Returns the loops of two components if they are known and differ.
    pub fn differ(&self, one: usize, other: usize) -> Option<(&[usize], &[usize])> {
        match (&self.0[one], &self.0[other]) {
            (Some(one), Some(other)) if one != other => Some((one, other)),
            _ => None,
        }
    }
}

struct Finder<'a> {
    flat: &'a FlatModel,
    /// For each component: the conduits to its F_INIT ports.
    starts: Vec<Vec<&'a FlatConduit>>,
    /// The loops that were found. `Some(None)`: they are not known, or the search for them is under way.
    found: Vec<Option<Option<Loops>>>,
}

impl Finder<'_> {
    fn loops(&mut self, component: usize) -> Option<Loops> {
        if let Some(found) = &self.found[component] {
            return found.clone();
        }
        self.found[component] = Some(None);
        let ports = &self.flat.components[component].ports;
        let certain = ports.values().all(|port| !port.inferred && port.timeline.is_empty());
        let starts = self.starts[component].clone();
        let mut loops: Option<Loops> = certain.then(Vec::new);
        for (place, conduit) in starts.into_iter().enumerate() {
            let of_conduit = self.loops_of(conduit);
            loops = loops.filter(|known| place == 0 || of_conduit.as_ref() == Some(known)).and(of_conduit);
        }
        self.found[component] = Some(loops.clone());
        loops
    }

    /// Returns the loops in whose steps messages are sent on a conduit.
    fn loops_of(&mut self, conduit: &FlatConduit) -> Option<Loops> {
        let operator = self.flat.declared(&conduit.from)?.operator;
        let mut loops = self.loops(conduit.from.component).filter(|_| conduit.filters.is_empty())?;
        if operator == Operator::OI {
            loops.push(conduit.from.component);
        }
        Some(loops)
    }
}
