//! The topology of a model as a picture: a box for each component, and an arrow for each pair of ports that
//! conduits join. Many similar components, or the components of a nested model, can share one box.

use ligament_model::{Endpoint, Filter, Operator, Reference, ReferencePart, ResolvedModel};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The boxes and arrows of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// Name of the model.
    pub model: String,
    /// Boxes of the picture.
    pub nodes: Vec<TopologyNode>,
    /// Arrows of the picture, without repetition.
    pub links: Vec<TopologyLink>,
}

/// A box of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyNode {
    /// Name of the component, or the common part of several components' names.
    pub name: String,
    /// Number of components that the box represents.
    pub components: usize,
    /// Number of instances that the box represents.
    pub instances: usize,
    /// Number of ranks of each instance, if the ranks speak for themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// The grid, if the instances or the ranks are the blocks of one. Its own ports and arrows are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridShape>,
    /// Implementation, if all components of the box have the same implementation.
    pub implementation: Option<String>,
    /// Ports of the box.
    pub ports: Vec<NodePort>,
}

/// A grid: the numbers of points and of blocks along each axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GridShape {
    pub shape: Vec<u64>,
    pub blocks: Vec<usize>,
}

/// A port of a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodePort {
    /// Name of the port. If the box is a folded nested model, the name of the inner component precedes it.
    pub name: String,
    /// Operator in which the port is used.
    pub operator: Operator,
    /// True if the port sends.
    pub sends: bool,
    /// True if the model declares the port as a vector port.
    pub vector: bool,
}

/// An arrow of the picture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TopologyLink {
    /// Sending end.
    pub from: LinkEnd,
    /// Receiving end.
    pub to: LinkEnd,
    /// Filters of the conduit. Filters under `ligament:` have a form such as `chunk: 10`.
    pub filters: Vec<String>,
}

/// An end of an arrow, given by indices in `Topology::nodes` and `TopologyNode::ports`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LinkEnd {
    /// Index of the box.
    pub node: usize,
    /// Index of the port in the box.
    pub port: usize,
}

/// The rule that assigns components to boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boxes {
    /// Every component has its own box.
    Components,
    /// Similar components, whose names differ only in numbers, share a box.
    Alike,
    /// Similar components share a box, and a nested model is one box.
    Folded,
}

impl Topology {
    /// Makes the topology of a model.
    pub fn of(model: &ResolvedModel, boxes: Boxes) -> Topology {
        let mut instances: Vec<Vec<usize>> = vec![Vec::new(); model.components.len()];
        for (at, instance) in model.instances.iter().enumerate() {
            instances[instance.component as usize].push(at);
        }
        let (nodes, by_key) = (Vec::new(), HashMap::new());
        let mut made = TopologyBuilder {
            model,
            instances,
            nodes,
            by_key,
            folded: HashSet::new(),
            of_component: Vec::new(),
        };
        for component in 0..model.components.len() {
            made.place(component, boxes);
        }
        made.finished()
    }
}

/// Returns a component's name with each number replaced by `#`. Similar components have the same result.
fn stem(name: &Reference) -> String {
    let mut text = String::new();
    for c in name.to_string().chars() {
        if !c.is_ascii_digit() {
            text.push(c);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}

/// Returns the first part of a name with several parts: `city` for `city.street.house`. Returns `None` for
/// other names.
fn outermost(name: &Reference) -> Option<String> {
    match name.parts() {
        [ReferencePart::Name(first), _, ..] => Some(first.to_string()),
        _ => None,
    }
}

struct TopologyBuilder<'a> {
    model: &'a ResolvedModel,
    /// For each component, the indices of its instances.
    instances: Vec<Vec<usize>>,
    nodes: Vec<TopologyNode>,
    /// Index of each box, by the property that its components share.
    by_key: HashMap<String, usize>,
    /// Indices of the boxes that are folded models.
    folded: HashSet<usize>,
    /// For each component, its box and the indices of its ports in this box. The box does not show the ports
    /// of a grid.
    of_component: Vec<(usize, Vec<Option<usize>>)>,
}

impl TopologyBuilder<'_> {
    /// Assigns a component to a box.
    fn place(&mut self, at: usize, boxes: Boxes) {
        let component = &self.model.components[at];
        let ports: &[_] = self.instances[at].first().map_or(&[], |&first| &self.model.instances[first].ports);
        let implementation = component.implementation.as_ref().map(Reference::to_string);
        let folded = outermost(&component.name).filter(|_| boxes == Boxes::Folded);
        let key = match (&folded, boxes) {
            (Some(outer), _) => format!("model {outer}"),
            (None, Boxes::Components) => component.name.to_string(),
            (None, _) => {
                let names: Vec<String> = ports.iter().map(|port| port.name.to_string()).collect();
                format!("{} {implementation:?} {names:?}", stem(&component.name))
            }
        };
        let ranks = self.instances[at].first().and_then(|&first| self.model.instances[first].ranks);
        let grid = self.instances[at].first().and_then(|&first| self.model.instances[first].grid.as_ref());
        let grid = grid.map(|grid| GridShape { shape: grid.shape.clone(), blocks: grid.blocks.counts.clone() });
        let name = folded.clone().unwrap_or_else(|| component.name.to_string());
        let number = *self.by_key.entry(key).or_insert(self.nodes.len());
        if number == self.nodes.len() {
            let (implementation, ports, grid) = (implementation.clone(), Vec::new(), grid.clone());
            let (components, instances) = (0, 0);
            self.nodes.push(TopologyNode { name, components, instances, ranks, grid, implementation, ports });
        }
        if folded.is_some() {
            self.folded.insert(number);
        }
        let node = &mut self.nodes[number];
        if node.components > 0 && folded.is_none() {
            node.name = stem(&component.name);
        }
        node.components += 1;
        node.instances += self.instances[at].len();
        if node.implementation != implementation {
            node.implementation = None;
        }
        node.ranks = node.ranks.filter(|_| node.ranks == ranks);
        if node.grid != grid {
            node.grid = None;
        }
        let inner = folded.map(|outer| component.name.to_string()[outer.len() + 1..].to_owned());
        let mut positions = Vec::new();
        for port in ports {
            if port.of_grid {
                positions.push(None);
                continue;
            }
            let name = match &inner {
                Some(inner) => format!("{inner}.{}", port.name),
                None => port.name.to_string(),
            };
            let found = node.ports.iter().position(|other| other.name == name);
            positions.push(Some(found.unwrap_or_else(|| {
                let (operator, sends, vector) = (port.operator, port.sends, port.has_visible_slots());
                node.ports.push(NodePort { name, operator, sends, vector });
                node.ports.len() - 1
            })));
        }
        self.of_component.push((number, positions));
    }

    fn end(&self, end: Endpoint) -> Option<LinkEnd> {
        let component = self.model.instances[end.instance as usize].component as usize;
        let (node, ports) = &self.of_component[component];
        Some(LinkEnd { node: *node, port: ports[end.port as usize]? })
    }

    fn finished(self) -> Topology {
        let mut links: BTreeMap<(LinkEnd, LinkEnd), Vec<String>> = BTreeMap::new();
        for channel in &self.model.channels {
            let filters = || {
                let own = channel.own_filters.iter().flat_map(|own| own.iter()).map(Filter::written);
                own.chain(channel.filters.iter().map(|filter| filter.name().to_owned())).collect()
            };
            if let Some(ends) = self.end(channel.from).zip(self.end(channel.to)) {
                links.entry(ends).or_insert_with(filters);
            }
        }
        let inside = |(from, to): &(LinkEnd, LinkEnd)| from.node == to.node && self.folded.contains(&from.node);
        // A folded model is one box, so its inner conduits, and the ports that only they use, are not shown.
        let links: Vec<TopologyLink> = (links.into_iter().filter(|(ends, _)| !inside(ends)))
            .map(|((from, to), filters)| TopologyLink { from, to, filters })
            .collect();
        let mut topology = Topology { model: self.model.name.clone(), nodes: self.nodes, links };
        topology.forget_inner_ports(&self.folded);
        topology
    }
}

impl Topology {
    /// Removes the ports of folded models to which no arrow leads.
    fn forget_inner_ports(&mut self, folded: &HashSet<usize>) {
        let mut used: HashMap<LinkEnd, usize> = HashMap::new();
        for link in &self.links {
            used.extend([(link.from, 0), (link.to, 0)]);
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let mut kept = Vec::new();
            for (number, port) in std::mem::take(&mut node.ports).into_iter().enumerate() {
                let end = LinkEnd { node: at, port: number };
                if let Some(place) = used.get_mut(&end) {
                    *place = kept.len();
                } else if folded.contains(&at) {
                    continue;
                }
                used.insert(end, kept.len());
                kept.push(port);
            }
            node.ports = kept;
        }
        for link in &mut self.links {
            link.from.port = used[&link.from];
            link.to.port = used[&link.to];
        }
    }
}
