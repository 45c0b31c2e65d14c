//! From nested models to one flat graph: components that models implement give way to the components in
//! them, and conduits through model ports become one.

use crate::configuration::Configuration;
use crate::graph::{ConduitFilter, Model, Ports};
use crate::identity::{Identifier, Part, Reference};
use crate::problem::{At, Problem};
use crate::structure::component_ports;
use std::collections::HashMap;
use std::sync::Arc;

/// More components than this are refused.
const MAX_COMPONENTS: usize = 4 << 20;
/// More conduits than this are refused.
const MAX_CONDUITS: usize = 64 << 20;

/// A component of the flat graph. A program or nothing implements it.
#[derive(Clone, Debug)]
pub struct FlatComponent {
    /// Its path from the root model, without the root model's name.
    pub name: Reference,
    /// The shape of its set of instances; outer components' shapes come first.
    pub multiplicity: Vec<usize>,
    /// The name of its implementation.
    pub implementation: Option<Reference>,
    /// Its ports.
    pub ports: Arc<Ports>,
    /// Where it is declared.
    pub at: At,
}

/// One end of a conduit of the flat graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatEnd {
    /// Which component, as a position among the flat components.
    pub component: usize,
    /// Its port.
    pub port: Identifier,
    /// The slot, if the model gives one.
    pub slot: Option<usize>,
}

/// A conduit of the flat graph.
#[derive(Clone, Debug)]
pub struct FlatConduit {
    /// Where messages come from.
    pub from: FlatEnd,
    /// Where they go.
    pub to: FlatEnd,
    /// What happens on the way, in order.
    pub filters: Vec<ConduitFilter>,
    /// Where it is declared; for a conduit made of several, the one at the sender.
    pub at: At,
}

/// A model without models in it.
#[derive(Clone, Debug)]
pub struct FlatModel {
    /// The root model's name.
    pub name: Reference,
    /// All components that take part.
    pub components: Vec<FlatComponent>,
    /// All conduits between them.
    pub conduits: Vec<FlatConduit>,
}

/// A use of a model: the root, or where a component is implemented by it.
struct Use<'a> {
    path: Reference,
    model: &'a Model,
    multiplicity: Vec<usize>,
    /// The use that contains this one.
    parent: Option<usize>,
    /// What each component of the model became, by position.
    became: Vec<Became>,
}

#[derive(Clone, Copy)]
enum Became {
    Component(usize),
    Use(usize),
    Nothing,
}

/// One end of a conduit, before conduits through model ports are joined.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Loose {
    Final(usize, Identifier, Option<usize>),
    ModelPort(usize, Identifier),
}

struct Edge<'a> {
    to: Loose,
    filters: &'a [ConduitFilter],
    at: &'a At,
}

impl Configuration {
    /// Flattens the root model (the named one, or the only one). The structure must have been checked and
    /// imports resolved; conduits that make no sense are left out.
    pub fn flatten(&self, selected: Option<&Reference>) -> Result<FlatModel, Problem> {
        let root = self.root_model(selected)?;
        let mut uses = vec![Use {
            path: Reference::empty(),
            model: root,
            multiplicity: Vec::new(),
            parent: None,
            became: Vec::new(),
        }];
        let mut components = Vec::new();
        let mut ports: HashMap<&Reference, Vec<Arc<Ports>>> = HashMap::new();
        let mut next = 0;
        while next < uses.len() {
            let model = uses[next].model;
            let model_ports = ports.entry(&model.name).or_insert_with(|| {
                component_ports(self, model).into_iter().map(|p| Arc::new(p.into_owned())).collect()
            });
            for (i, component) in model.components.values().enumerate() {
                let path = uses[next].path.join(&component.name);
                let mut multiplicity = uses[next].multiplicity.clone();
                multiplicity.extend_from_slice(&component.multiplicity);
                let custom = self.custom_implementations.get(&root.name.join(&path));
                let implementation = match custom {
                    Some((implementation, _)) => implementation.as_ref(),
                    None => component.implementation.as_ref(),
                };
                let nested = implementation.and_then(|name| self.models.get(name));
                let became = if let Some(nested) = nested {
                    let mut up = Some(next);
                    while let Some(index) = up {
                        if uses[index].model.name == nested.name {
                            return Err(model_cycle(&path, nested, &component.implementation_at));
                        }
                        up = uses[index].parent;
                    }
                    uses.push(Use {
                        path,
                        model: nested,
                        multiplicity,
                        parent: Some(next),
                        became: Vec::new(),
                    });
                    Became::Use(uses.len() - 1)
                } else if implementation.is_none() && component.optional {
                    Became::Nothing
                } else {
                    components.push(FlatComponent {
                        name: path,
                        multiplicity,
                        implementation: implementation.cloned(),
                        ports: Arc::clone(&model_ports[i]),
                        at: component.at.clone(),
                    });
                    Became::Component(components.len() - 1)
                };
                if components.len() + uses.len() > MAX_COMPONENTS {
                    return Err(too_large(&component.at, MAX_COMPONENTS, "components", FEWER));
                }
                uses[next].became.push(became);
            }
            next += 1;
        }
        let conduits = join_conduits(&uses)?;
        Ok(FlatModel { name: root.name.clone(), components, conduits })
    }
}

fn model_cycle(path: &Reference, model: &Model, at: &At) -> Problem {
    Problem::error(
        "model-cycle",
        at,
        format!("the component \"{path}\" is implemented by the model \"{}\", which contains it", model.name),
        "use another implementation; a model cannot contain itself",
    )
}

/// What to do about a model that is too large.
pub(crate) const FEWER: &str = "reduce the multiplicities";

pub(crate) fn too_large(at: &At, limit: usize, what: &str, remedy: &str) -> Problem {
    Problem::error("too-large", at, format!("the model has more than {limit} {what}"), remedy)
}

fn join_conduits(uses: &[Use<'_>]) -> Result<Vec<FlatConduit>, Problem> {
    let mut conduits = Vec::new();
    let mut starts: Vec<(Loose, Edge<'_>)> = Vec::new();
    let mut onward: HashMap<Loose, Vec<Edge<'_>>> = HashMap::new();
    for (i, used) in uses.iter().enumerate() {
        for conduit in &used.model.conduits {
            let from = conduit.sending_end().and_then(|end| loose(used, i, end));
            let to = conduit.receiving_end().and_then(|end| loose(used, i, end));
            let (Some(from), Some(to)) = (from, to) else { continue };
            let edge = Edge { to, filters: &conduit.filters, at: &conduit.at };
            match from {
                Loose::Final(..) => starts.push((from, edge)),
                Loose::ModelPort(..) => onward.entry(from).or_default().push(edge),
            }
        }
    }
    let mut visited: Vec<(Loose, usize)> = Vec::new();
    for (from, edge) in &starts {
        let Loose::Final(component, port, slot) = from else { continue };
        let from = FlatEnd { component: *component, port: port.clone(), slot: *slot };
        // Depth first along model ports; the stack holds edges with how deep they are.
        let mut stack: Vec<(&Edge<'_>, usize, Vec<ConduitFilter>)> = vec![(edge, 0, Vec::new())];
        visited.clear();
        while let Some((step, depth, mut filters)) = stack.pop() {
            filters.extend_from_slice(step.filters);
            match &step.to {
                Loose::Final(component, port, slot) => {
                    let to = FlatEnd { component: *component, port: port.clone(), slot: *slot };
                    conduits.push(FlatConduit { from: from.clone(), to, filters, at: edge.at.clone() });
                    if conduits.len() > MAX_CONDUITS {
                        return Err(too_large(edge.at, MAX_CONDUITS, "conduits", FEWER));
                    }
                }
                through @ Loose::ModelPort(_, port) => {
                    visited.truncate(visited.iter().take_while(|(_, d)| *d < depth).count());
                    if visited.iter().any(|(port, _)| port == through) {
                        return Err(Problem::error(
                            "conduit-cycle",
                            edge.at,
                            format!("this conduit leads through model ports in a circle, by way of \"{port}\""),
                            "remove one of the conduits that join model ports to each other",
                        ));
                    }
                    visited.push((through.clone(), depth));
                    for next in onward.get(through).into_iter().flatten().rev() {
                        stack.push((next, depth + 1, filters.clone()));
                    }
                }
            }
        }
    }
    Ok(conduits)
}

fn loose(
    used: &Use<'_>,
    index: usize,
    (path, port, slot): (&[Part], &Identifier, Option<usize>),
) -> Option<Loose> {
    if path.is_empty() {
        return Some(Loose::ModelPort(index, port.clone()));
    }
    match used.became[used.model.components.get_index_of(path)?] {
        Became::Component(component) => Some(Loose::Final(component, port.clone(), slot)),
        Became::Use(inner) => Some(Loose::ModelPort(inner, port.clone())),
        Became::Nothing => None,
    }
}
