//! `ligament graph`: shows the topology of a model as text, as JSON, or as a picture.

pub(crate) mod draw;

use crate::arguments::{print, Graph};
use crate::check::count;
use draw::GraphPicture;
use ligament_analysis::{Boxes, GridShape, LinkEnd, NodePort, Topology, TopologyLink};
use ligament_catalogue::{fault, Fault};
use ligament_model::{Operator, ResolvedModel};
use ligament_runtime::shown;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Maximum number of boxes in an uncluttered picture. In a larger model, similar components share a box and
/// each nested model becomes one box.
const MAX_CLEAR_BOXES: usize = 40;
/// Maximum number of boxes in a picture. Nobody could read a larger picture, and arrows across many columns
/// need much memory.
const MAX_BOXES: usize = 1000;

/// Shows how the components of a model are coupled. Returns the exit status.
pub(crate) fn graph(arguments: &Graph) -> i32 {
    match told(arguments) {
        Ok((text, status)) => {
            print(&text);
            status
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn told(arguments: &Graph) -> Result<(String, i32), Fault> {
    let (report, model) = arguments.shown.read()?;
    let status = crate::check::status_of(&report);
    let topology = boxed(&model, arguments);
    if let Some(path) = &arguments.output {
        let boxes = topology.nodes.len();
        if boxes > MAX_BOXES {
            return Err(fault!(
                NO_PNG,
                "{boxes} boxes are too many for a picture; without --all alike ones share one, and --folded \
                 makes one of each nested model"
            ));
        }
        crate::picture::save(&GraphPicture::of(&topology).svg(), path)?;
    }
    if arguments.json {
        let mut json = crate::check::of_shown(&report);
        json["topology"] = serde_json::json!(topology);
        if let Some(path) = &arguments.output {
            json["picture"] = path.display().to_string().into();
        }
        return Ok((format!("{json}\n"), status));
    }
    let mut text = in_lines(&topology);
    let is_open = |port: &NodePort| port.operator == Operator::None;
    if topology.nodes.iter().any(|node| node.ports.iter().any(is_open)) {
        text.push_str(
            "\n(the model does not say when some ports are used; give it \"ports:\", or name a run of the \
             model after --from)\n",
        );
    }
    match &arguments.output {
        Some(path) => {
            let _ = writeln!(text, "\npicture: {}", shown(path));
        }
        None => text.push_str("\n(-o FILE.svg or FILE.png draws it)\n"),
    }
    Ok((text, status))
}

/// Returns the topology, with boxes joined if there are too many to read. Options of the user take precedence.
fn boxed(model: &ResolvedModel, arguments: &Graph) -> Topology {
    if arguments.folded {
        return Topology::of(model, Boxes::Folded);
    }
    let mut topology = Topology::of(model, Boxes::Components);
    for boxes in [Boxes::Alike, Boxes::Folded] {
        if topology.nodes.len() > MAX_CLEAR_BOXES && !arguments.all {
            topology = Topology::of(model, boxes);
        }
    }
    topology
}

fn in_lines(topology: &Topology) -> String {
    let components = topology.nodes.iter().map(|node| node.components).sum();
    let instances = topology.nodes.iter().map(|node| node.instances).sum();
    let mut text =
        format!("{}: {}, {}\n", topology.model, count(components, "component"), count(instances, "instance"));
    let mut leaving: HashMap<LinkEnd, Vec<String>> = HashMap::new();
    for link in &topology.links {
        leaving.entry(link.from).or_default().push(receiver(topology, link));
    }
    let entered: HashSet<LinkEnd> = topology.links.iter().map(|link| link.to).collect();
    for (at, node) in topology.nodes.iter().enumerate() {
        let _ = write!(text, "\n{}", node.name);
        if let Some(implementation) = node.implementation.as_ref().filter(|other| **other != node.name) {
            let _ = write!(text, " ({implementation})");
        }
        let _ = match (node.components, node.instances) {
            (1, 1) => Ok(()),
            (1, n) => write!(text, ", {}", count(n, "instance")),
            (n, m) => write!(text, ", {}, {}", count(n, "component"), count(m, "instance")),
        };
        let _ = match (node.ranks, node.instances) {
            (None, _) => Ok(()),
            (Some(n), 1) => write!(text, ", {}", count(n as usize, "rank")),
            (Some(n), _) => write!(text, " of {}", count(n as usize, "rank")),
        };
        let _ = match &node.grid {
            None => writeln!(text),
            Some(GridShape { shape, blocks }) => {
                writeln!(text, ": a grid of {} points in {} blocks", times(shape), times(blocks))
            }
        };
        for (number, port) in node.ports.iter().enumerate() {
            let end = LinkEnd { node: at, port: number };
            let rest = match leaving.get(&end) {
                Some(to) => format!(" → {}", to.join(", ")),
                None if entered.contains(&end) => continue,
                None => " (not connected)".to_owned(),
            };
            let _ = writeln!(text, "  {} {}{rest}", when(port), name_of(port));
        }
    }
    text
}

/// Returns numbers along axes as a text: `2 × 3`.
pub(crate) fn times<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(" × ")
}

fn receiver(topology: &Topology, link: &TopologyLink) -> String {
    let node = &topology.nodes[link.to.node];
    let port = &node.ports[link.to.port];
    let filters = match &link.filters[..] {
        [] => String::new(),
        filters => format!("({}) ", filters.join(", ")),
    };
    format!("{filters}{}.{} ({})", node.name, name_of(port), when(port))
}

/// Returns the name of a port, with brackets after the name of a vector port: `state[]`.
pub(crate) fn name_of(port: &NodePort) -> String {
    format!("{}{}", port.name, if port.vector { "[]" } else { "" })
}

/// Returns the operator of a port. For an undeclared port, returns its direction.
fn when(port: &NodePort) -> &'static str {
    match (port.operator, port.sends) {
        (Operator::None, true) => "sends",
        (Operator::None, false) => "receives",
        (operator, _) => operator.name(),
    }
}
