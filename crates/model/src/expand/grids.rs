//! Grids in a model that is expanded: the ports and channels of their blocks.

use super::{Channel, Endpoint, Expander, PortPlan};
use crate::filters::COMPRESS;
use crate::flatten::{FlatConduit, FlatEnd};
use crate::graph::Operator;
use crate::grid::{Grid, GHOSTS_IN, GHOSTS_OUT};
use crate::identity::Identifier;
use crate::problem::Problem;
use ligament_catalogue::Code;
use std::sync::{Arc, LazyLock};

/// The two ports of a grid: for sending and for receiving.
static PORTS: LazyLock<[(Identifier, Operator); 2]> = LazyLock::new(|| {
    [(Identifier::of_own(GHOSTS_OUT), Operator::OI), (Identifier::of_own(GHOSTS_IN), Operator::S)]
});

/// A grid, and the conduit from its component to itself for which its channels stand.
pub(super) struct GridConduit<'a> {
    pub grid: &'a Grid,
    /// Its name is that of a conduit of a model: `wave.ghosts_out -> wave.ghosts_in`.
    pub conduit: FlatConduit,
}

impl<'a> Expander<'a> {
    /// Checks the grids, and gives the two ports to their components.
    pub(super) fn plan_grids(&mut self) -> Vec<GridConduit<'a>> {
        let config = self.config;
        let grids = config.ligament.grids.iter();
        grids
            .filter_map(|(name, grid)| {
                let found = self.flat.components.iter().position(|component| component.name == *name);
                let Some(component) = found else {
                    let message = format!("\"{name}\" stands under \"grids:\", and there is no such component");
                    let advice = "name a component that a program implements, without an index";
                    self.problems.push(Problem::error(Code::BAD_GRID, &grid.at, message, advice));
                    return None;
                };
                self.check_grid(component, grid).then(|| self.join_grid(component, grid))
            })
            .collect()
    }

    /// Returns true if the blocks of a grid can be the instances or ranks of a component. Adds the problem
    /// otherwise.
    fn check_grid(&mut self, place: usize, grid: &Grid) -> bool {
        let component = &self.flat.components[place];
        let (name, counts, number) = (&component.name, &grid.blocks.counts, grid.blocks.number());
        let (message, advice) = if let Some(ranks) = self.config.ranks_of(name).filter(|ranks| *ranks != number)
        {
            (
                format!("\"{name}\" has {ranks} ranks, and its grid {number} blocks"),
                format!(
                    "each rank is a block; write \"ranks: {{{name}: {number}}}\", or divide the grid otherwise"
                ),
            )
        } else if self.config.ranks_of(name).is_none() && !component.multiplicity.ends_with(counts) {
            (
                format!(
                    "\"{name}\" has the multiplicity {:?}, and its grid the blocks {counts:?}",
                    component.multiplicity
                ),
                "remove the multiplicity; it follows from the blocks".to_owned(),
            )
        } else if self.config.shares_process(component) {
            (
                format!("\"{name}\" has a grid, and shares its process with others"),
                "use a program that is not light and does not come with Ligament".to_owned(),
            )
        } else if let Some((port, _)) =
            PORTS.iter().find(|(port, _)| component.ports.get(port).is_some_and(|port| port.inferred))
        {
            (
                format!(
                    "a conduit is joined to \"{name}.{port}\", which the grid of \"{name}\" brings for itself"
                ),
                "remove the conduit; a code sends its fields on ports of its own".to_owned(),
            )
        } else if let Some((port, _)) = PORTS.iter().find(|(port, _)| component.ports.contains_key(port)) {
            (
                format!("\"{name}\" has a grid, and declares a port \"{port}\", which its grid brings"),
                "remove the port, or give it another name".to_owned(),
            )
        } else {
            return true;
        };
        self.problems.push(Problem::error(Code::BAD_GRID, &grid.at, message, advice));
        false
    }

    fn join_grid(&mut self, component: usize, grid: &'a Grid) -> GridConduit<'a> {
        let [from, to] = PORTS.each_ref().map(|(name, operator)| {
            let ports = &mut self.ports[component];
            let mut plan = PortPlan::new(name, *operator, false);
            (plan.port.vector, plan.port.connected) = (true, true);
            (plan.port.length, plan.port.of_grid) = (Some(grid.blocks.slots()), true);
            ports.push(plan);
            FlatEnd { component, port: name.clone(), place: ports.len() - 1, slot: None }
        });
        let conduit = FlatConduit { from, to, filters: Vec::new(), filters_at: None, at: grid.at.clone() };
        GridConduit { grid, conduit }
    }

    /// Makes the channels of a grid. `endpoints` is the number of endpoints of its component, and `first` its
    /// first instance. `channel` has what all channels have in common.
    pub(super) fn grid_channels(
        &mut self,
        joined: &GridConduit<'_>,
        endpoints: usize,
        first: u32,
        channel: &Channel,
        channels: &mut Vec<Channel>,
    ) {
        let GridConduit { grid, conduit } = joined;
        let filters = channel.own_filters.iter().flat_map(|filters| filters.iter());
        if let Some(filter) = filters.into_iter().find(|filter| filter.name != COMPRESS) {
            let name = &self.flat.components[conduit.from.component].name;
            let message = format!("the ghosts of \"{name}\" have the filter {}", filter.name);
            let advice =
                format!("only {COMPRESS} leaves the values of a grid as they are; remove the other filters");
            self.problems.push(Problem::error(Code::BAD_GRID, &filter.at, message, advice));
        }
        let ranks = self.config.ranks_of(&self.flat.components[conduit.from.component].name).unwrap_or(1);
        let ends = grid.blocks.channels();
        for set in 0..endpoints / grid.blocks.number() {
            let end = |(block, slot): (usize, usize), port: &FlatEnd| {
                let endpoint = set * grid.blocks.number() + block;
                Endpoint {
                    instance: first + (endpoint / ranks) as u32,
                    rank: (endpoint % ranks) as u32,
                    port: port.place as u32,
                    slot: slot as u32,
                }
            };
            for [from, to] in &ends {
                channels.push(Channel {
                    id: channels.len() as u32,
                    from: end(*from, &conduit.from),
                    to: end(*to, &conduit.to),
                    ..channel.clone()
                });
            }
        }
    }

    /// Returns the grid of each component that has one.
    pub(super) fn grids_of_components(&self, grids: &[GridConduit<'_>]) -> Vec<Option<Arc<Grid>>> {
        let mut all = vec![None; self.flat.components.len()];
        for joined in grids {
            all[joined.conduit.from.component] = Some(Arc::new(joined.grid.clone()));
        }
        all
    }
}
