//! Makes one flat graph of nested models. A component that a model implements is replaced by the components
//! of that model, and conduits that meet at a model's port become one conduit.

use crate::configuration::{is_implicit_port, Configuration};
use crate::graph::{ConduitFilter, Model, Operator, Port, Ports};
use crate::identity::{Identifier, Reference, ReferencePart};
use crate::options::DEFAULT_INSTANCES;
use crate::problem::{At, Problem};
use crate::structure::component_ports;
use crate::timelines::ModelTimelines;
use ligament_catalogue::Code;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Maximum depth of models within models.
const MAX_DEPTH: usize = 64;
/// Maximum length of an instance's name, which is also that of its directory: the system allows no longer
/// names.
const MAX_NAME: usize = 255;
/// Number of ports, conduits, and left-out components that nested models may add for each allowed instance.
const FOR_EACH_INSTANCE: usize = 64;

/// A component of the flat graph. Its implementation is a program, or it has none.
#[derive(Clone, Debug)]
pub struct FlatComponent {
    /// Its path from the root model, without the root model's name.
    pub name: Reference,
    /// The shape of its set of instances; the shapes of the components around it come first.
    pub multiplicity: Vec<usize>,
    /// The name of its implementation.
    pub implementation: Option<Reference>,
    /// Its ports.
    pub ports: Arc<Ports>,
    /// Number of timelines around the component's own timeline. As many numbers count its iterations.
    pub depth: usize,
    /// The place of its declaration.
    pub at: At,
}

/// One end of a conduit of the flat graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlatEnd {
    /// Position of the component among the flat components.
    pub component: usize,
    /// Its port.
    pub port: Identifier,
    /// Position of the port among the component's ports. The settings port, which is never declared, comes
    /// after all of them.
    pub place: usize,
    /// The slot, if the model gives one.
    pub slot: Option<usize>,
}

/// A conduit of the flat graph.
#[derive(Clone, Debug)]
pub struct FlatConduit {
    /// The sender.
    pub from: FlatEnd,
    /// The receiver.
    pub to: FlatEnd,
    /// The filters on the way, in order.
    pub filters: Vec<ConduitFilter>,
    /// The place of the first filter, if there are filters.
    pub filters_at: Option<Box<At>>,
    /// The place of its declaration. For a conduit made of several, the place of the conduit at the sender.
    pub at: At,
}

/// A model without nested models.
#[derive(Clone, Debug)]
pub struct FlatModel {
    /// The root model's name.
    pub name: Reference,
    /// All components of the run.
    pub components: Vec<FlatComponent>,
    /// All conduits between them.
    pub conduits: Vec<FlatConduit>,
}

impl FlatModel {
    /// Returns the name of a conduit's end: component and port.
    pub fn port_of(&self, end: &FlatEnd) -> Reference {
        self.components[end.component].name.child(&end.port)
    }

    /// Returns the declaration of the port at a conduit's end; `None` for the settings port, which has
    /// none.
    pub fn declared(&self, end: &FlatEnd) -> Option<&Port> {
        self.components[end.component].ports.get_index(end.place).map(|(_, port)| port)
    }

    /// Gives operators to ports that the model does not declare. `known` has, for each component, the names
    /// of ports by the names of their operators.
    pub fn declare(&mut self, known: &BTreeMap<String, BTreeMap<String, Vec<String>>>) {
        for component in self.components.iter_mut().filter(|one| one.ports.values().any(|port| port.inferred)) {
            let Some(by_operator) = known.get(&component.name.to_string()) else { continue };
            let ports = Arc::make_mut(&mut component.ports);
            for (operator, names) in by_operator {
                let Some(operator) = Operator::from_name(operator) else { continue };
                for name in names {
                    let port = ports.values_mut().find(|port| port.name.as_str() == name && port.inferred);
                    if let Some(port) = port.filter(|port| port.operator.sends() == operator.sends()) {
                        (port.operator, port.inferred) = (operator, false);
                    }
                }
            }
        }
    }

    /// Removes components for which `stays` returns false, and the conduits that join them.
    pub fn retain(&mut self, stays: impl Fn(&FlatComponent) -> bool) {
        let mut left = 0;
        let places: Vec<Option<usize>> = self
            .components
            .iter()
            .map(|component| {
                stays(component).then(|| {
                    left += 1;
                    left - 1
                })
            })
            .collect();
        if left == self.components.len() {
            return;
        }
        self.components.retain(stays);
        self.conduits.retain_mut(|conduit| {
            let (from, to) = (places[conduit.from.component], places[conduit.to.component]);
            let (Some(from), Some(to)) = (from, to) else { return false };
            (conduit.from.component, conduit.to.component) = (from, to);
            true
        });
    }
}

/// A use of a model: as the root model, or as the implementation of a component.
struct Use<'a> {
    path: Reference,
    model: &'a Model,
    multiplicity: Vec<usize>,
    /// The use that contains this one.
    parent: Option<usize>,
    /// Number of uses that contain this one.
    depth: usize,
    /// Minimum number of timelines around those of its components.
    timelines: usize,
    /// The result for each component of the model, by position.
    became: Vec<FlatResult>,
}

#[derive(Clone, Copy)]
enum FlatResult {
    Component(usize),
    Use(usize),
    Nothing,
}

/// One end of a conduit, before conduits that meet at model ports are joined.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Loose {
    Final(FlatEnd),
    ModelPort(usize, Identifier),
}

struct Edge<'a> {
    to: Loose,
    filters: &'a [ConduitFilter],
    filters_at: &'a At,
    at: &'a At,
}

/// The limits on the size of a model. Everything that a file declares is allowed; only the multiples that
/// nested models make are limited.
struct ExpansionBudget {
    instances: usize,
    left: usize,
    all: usize,
}

impl ExpansionBudget {
    fn of(config: &Configuration) -> ExpansionBudget {
        let ports =
            |model: &Model| model.components.values().flat_map(|c| &c.ports).map(Ports::len).sum::<usize>();
        let declared = |model: &Model| model.components.len() + model.conduits.len() + ports(model);
        let instances = config.instance_limit();
        let multiplied = FOR_EACH_INSTANCE.saturating_mul(instances.max(DEFAULT_INSTANCES as usize));
        let all = config.models.values().map(declared).sum::<usize>().saturating_add(multiplied);
        ExpansionBudget { instances, left: all, all }
    }

    /// Counts this many ports, conduits or components. Returns an error if the limit is exceeded.
    fn take(&mut self, many: usize, at: &At) -> Result<(), Problem> {
        match self.left.checked_sub(many) {
            Some(left) => self.left = left,
            None => return Err(too_large(at, self.all, "ports and conduits", ADVICE_FEWER_OR_ALLOWED)),
        }
        Ok(())
    }
}

impl Configuration {
    /// Flattens the root model (the named one, or the only one). The structure must have been checked and
    /// imports resolved. Conduits that make no sense are left out.
    pub fn flatten(&self, selected: Option<&Reference>) -> Result<FlatModel, Problem> {
        let root = self.root_model(selected)?;
        let mut uses = vec![Use {
            path: Reference::empty(),
            model: root,
            multiplicity: Vec::new(),
            parent: None,
            depth: 0,
            timelines: 0,
            became: Vec::new(),
        }];
        let mut room = ExpansionBudget::of(self);
        let mut components = Vec::new();
        let mut ports: HashMap<&Reference, Vec<Arc<Ports>>> = HashMap::new();
        // The ports of a program are the same for all components that it implements.
        let mut shared: HashMap<*const Ports, Arc<Ports>> = HashMap::new();
        let mut depths: HashMap<&Reference, Vec<usize>> = HashMap::new();
        let mut next = 0;
        while next < uses.len() {
            let model = uses[next].model;
            let model_ports = ports.entry(&model.name).or_insert_with(|| {
                let all = component_ports(self, model).into_iter();
                all.map(|ports| match ports {
                    Cow::Borrowed(ports) => {
                        Arc::clone(shared.entry(ports).or_insert_with(|| Arc::new(ports.clone())))
                    }
                    Cow::Owned(ports) => Arc::new(ports),
                })
                .collect()
            });
            let inner = depths.entry(&model.name).or_insert_with(|| ModelTimelines::of(self, model).depths());
            room.take(model.conduits.len(), &model.at)?;
            for (i, component) in model.components.values().enumerate() {
                let path = uses[next].path.join(&component.name);
                let timelines = uses[next].timelines + inner[i];
                let mut multiplicity = uses[next].multiplicity.clone();
                let grid = self.ligament.grids.get(&path).filter(|_| self.ranks_of(&path).is_none());
                multiplicity.extend_from_slice(match grid {
                    Some(grid) if component.multiplicity.is_empty() => &grid.blocks.counts,
                    _ => &component.multiplicity,
                });
                check_name(&path, &multiplicity, &component.at)?;
                room.take(1 + model_ports[i].len(), &component.at)?;
                let custom = self.custom_implementations.get(&root.name.join(&path));
                let implementation = match custom {
                    Some((implementation, _)) => implementation.as_ref(),
                    None => component.implementation.as_ref(),
                };
                // A program of the same name is reported elsewhere. The program is preferred here, so that
                // no other error follows.
                let nested = implementation
                    .filter(|name| !self.programs.contains_key(*name))
                    .and_then(|name| self.models.get(name));
                let became = if let Some(nested) = nested {
                    let mut up = Some(next);
                    while let Some(index) = up {
                        if uses[index].model.name == nested.name {
                            return Err(model_cycle(&path, nested, &component.implementation_at));
                        }
                        up = uses[index].parent;
                    }
                    let depth = uses[next].depth + 1;
                    if depth > MAX_DEPTH {
                        return Err(too_deep(&path, &component.implementation_at));
                    }
                    uses.push(Use {
                        path,
                        model: nested,
                        multiplicity,
                        parent: Some(next),
                        depth,
                        timelines,
                        became: Vec::new(),
                    });
                    if uses.len() > room.instances.max(DEFAULT_INSTANCES as usize) {
                        return Err(too_large(
                            &component.at,
                            uses.len() - 1,
                            "uses of models",
                            ADVICE_FEWER_OR_ALLOWED,
                        ));
                    }
                    FlatResult::Use(uses.len() - 1)
                } else if implementation.is_none() && component.optional {
                    FlatResult::Nothing
                } else {
                    components.push(FlatComponent {
                        name: path,
                        multiplicity,
                        implementation: implementation.cloned(),
                        ports: Arc::clone(&model_ports[i]),
                        depth: timelines,
                        at: component.at.clone(),
                    });
                    FlatResult::Component(components.len() - 1)
                };
                // Each component has at least one instance.
                if components.len() > room.instances {
                    return Err(too_large(&component.at, room.instances, "instances", ADVICE_FEWER_OR_ALLOWED));
                }
                uses[next].became.push(became);
            }
            next += 1;
        }
        let conduits = join_conduits(&uses, &components, &mut room)?;
        Ok(FlatModel { name: root.name.clone(), components, conduits })
    }
}

fn model_cycle(path: &Reference, model: &Model, at: &At) -> Problem {
    Problem::error(
        Code::MODEL_CYCLE,
        at,
        format!("the component \"{path}\" is implemented by the model \"{}\", which contains it", model.name),
        "use another implementation; a model cannot contain itself",
    )
}

fn too_deep(path: &Reference, at: &At) -> Problem {
    Problem::error(
        Code::NESTED_TOO_DEEP,
        at,
        format!("models contain each other more than {MAX_DEPTH} deep here, at \"{path}\""),
        "put the components of some of them into the model that contains them",
    )
}

/// Checks the length of an instance's name, because an instance has a directory of its name.
fn check_name(path: &Reference, multiplicity: &[usize], at: &At) -> Result<(), Problem> {
    let names = path.parts().iter().map(|part| match part {
        ReferencePart::Name(name) => name.as_str().len() + 1,
        ReferencePart::Index(index) => digits(*index) + 2,
    });
    let indices = multiplicity.iter().map(|length| digits(length.saturating_sub(1)) + 2);
    let letters = names.sum::<usize>().saturating_sub(1) + indices.sum::<usize>();
    if letters <= MAX_NAME {
        return Ok(());
    }
    let text = path.to_string();
    Err(Problem::error(
        Code::NAME_TOO_LONG,
        at,
        format!(
            "the instances of \"{}\" have names of {letters} letters, and each has a directory of its name, \
             which may have {MAX_NAME}",
            crate::yaml::shorten(&text)
        ),
        "shorten the names of the component and of those that contain it",
    ))
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Advice for a model that is too large.
pub(crate) const ADVICE_FEWER: &str = "reduce the multiplicities";
pub(crate) const ADVICE_FEWER_OR_ALLOWED: &str =
    "reduce the multiplicities and the nested models, or allow more with \"instances:\" under \"ligament:\"";

pub(crate) fn too_large(at: &At, limit: usize, what: &str, remedy: &str) -> Problem {
    Problem::error(Code::TOO_LARGE, at, format!("the model has more than {limit} {what}"), remedy)
}

fn join_conduits(
    uses: &[Use<'_>],
    components: &[FlatComponent],
    room: &mut ExpansionBudget,
) -> Result<Vec<FlatConduit>, Problem> {
    let mut conduits = Vec::new();
    let mut starts: Vec<(Loose, Edge<'_>)> = Vec::new();
    let mut onward: HashMap<Loose, Vec<Edge<'_>>> = HashMap::new();
    for (i, used) in uses.iter().enumerate() {
        for conduit in &used.model.conduits {
            let from = conduit.sending_end().and_then(|end| loose(used, i, components, end));
            let to = conduit.receiving_end().and_then(|end| loose(used, i, components, end));
            let (Some(from), Some(to)) = (from, to) else { continue };
            let edge = Edge { to, filters: &conduit.filters, filters_at: &conduit.filters_at, at: &conduit.at };
            match from {
                Loose::Final(..) => starts.push((from, edge)),
                Loose::ModelPort(..) => onward.entry(from).or_default().push(edge),
            }
        }
    }
    let mut visited: Vec<(Loose, usize)> = Vec::new();
    for (from, edge) in &starts {
        let Loose::Final(from) = from else { continue };
        // A search along model ports, depth first. The stack holds edges, with their depths.
        let mut stack: Vec<(&Edge<'_>, usize, Vec<ConduitFilter>, Option<&At>)> =
            vec![(edge, 0, Vec::new(), None)];
        visited.clear();
        while let Some((step, depth, mut filters, mut filters_at)) = stack.pop() {
            if filters.is_empty() && !step.filters.is_empty() {
                filters_at = Some(step.filters_at);
            }
            filters.extend_from_slice(step.filters);
            match &step.to {
                Loose::Final(to) => {
                    // The conduits of a single model were counted already.
                    if depth > 0 {
                        room.take(1, edge.at)?;
                    }
                    let filters_at = filters_at.map(|at| Box::new(at.clone()));
                    let at = edge.at.clone();
                    conduits.push(FlatConduit { from: from.clone(), to: to.clone(), filters, filters_at, at });
                }
                through @ Loose::ModelPort(_, port) => {
                    visited.truncate(visited.iter().take_while(|(_, d)| *d < depth).count());
                    if visited.iter().any(|(port, _)| port == through) {
                        return Err(Problem::error(
                            Code::CONDUIT_CYCLE,
                            edge.at,
                            format!("this conduit leads through model ports in a circle, by way of \"{port}\""),
                            "remove one of the conduits that join model ports to each other",
                        ));
                    }
                    visited.push((through.clone(), depth));
                    for next in onward.get(through).into_iter().flatten().rev() {
                        stack.push((next, depth + 1, filters.clone(), filters_at));
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
    components: &[FlatComponent],
    (path, port, slot): (&[ReferencePart], &Identifier, Option<usize>),
) -> Option<Loose> {
    if path.is_empty() {
        return Some(Loose::ModelPort(index, port.clone()));
    }
    match used.became[used.model.components.get_index_of(path)?] {
        FlatResult::Component(component) => {
            let ports = &components[component].ports;
            let place = ports.get_index_of(port).or_else(|| is_implicit_port(port).then_some(ports.len()))?;
            Some(Loose::Final(FlatEnd { component, port: port.clone(), place, slot }))
        }
        FlatResult::Use(inner) => Some(Loose::ModelPort(inner, port.clone())),
        FlatResult::Nothing => None,
    }
}
