//! The positions of the model's boxes on the page, and of the arrows between them. They are made from the
//! model in the run directory, with the layout of `ligament graph`.

use ligament_analysis::{lay_out, Boxes, CheckOptions, Files, Ignorable, Layout, Topology, TopologyLink};
use ligament_manager::RunDirectory;
use serde_json::{json, Value};

/// Lengths on the page, in pixels at zoom 1.
const MARGIN: f64 = 24.0;
const HEADER: f64 = 46.0;
const WIDTH: f64 = 196.0;
const BETWEEN_COLUMNS: f64 = 190.0;
/// Side of a tile with its gap, for components with few and with many instances.
const TILE: f64 = 16.0;
const SMALL_TILE: f64 = 8.0;
const MAX_LARGE_BOXES: usize = 96;
/// Length of a box's side that the arrow of a conduit needs, with two lines of text.
const PIN: f64 = 42.0;
/// Maximum number of boxes that are drawn. The list of instances still has all of them.
const MAX_BOXES: usize = 1000;

struct Size {
    height: f64,
    tile: f64,
    per_row: usize,
}

fn size(instances: usize, pins: usize) -> Size {
    let tile = if instances <= MAX_LARGE_BOXES { TILE } else { SMALL_TILE };
    let per_row = ((WIDTH - 16.0) / tile) as usize;
    let tiles = instances.div_ceil(per_row) as f64 * tile + 12.0;
    Size { height: HEADER + tiles.max(pins as f64 * PIN), tile, per_row }
}

/// Returns boxes and arrows, or the reason why the model cannot be drawn.
pub fn plan(run: &RunDirectory) -> Value {
    let ignore = Ignorable::NAMES.iter().filter_map(|name| Ignorable::from_name(name)).collect();
    let options = CheckOptions { files: Files::Elsewhere, ignore, ..CheckOptions::default() };
    let report = ligament_analysis::check(&[run.path().join("model.ymmsl")], &options);
    let problem = report.problems.iter().find(|problem| problem.is_error()).map(|problem| problem.to_string());
    let Some(model) = report.resolved else {
        return json!({ "nodes": [], "links": [], "why": problem.unwrap_or_else(|| "the model cannot be \
                                                                                   read".into()) });
    };
    let topology = Topology::of(&model, Boxes::Components);
    if topology.nodes.len() > MAX_BOXES {
        let why =
            format!("{} components are too many to be drawn; the list has all instances", topology.nodes.len());
        return json!({ "nodes": [], "links": [], "why": why });
    }
    placed(&topology)
}

/// Rounds to a hundredth of a pixel. The difference is invisible, and a browser reads fewer digits faster.
fn shorter(y: f64) -> f64 {
    (y * 100.0).round() / 100.0
}

fn placed(topology: &Topology) -> Value {
    // The height of a box follows from the number of arrows at its sides, and this follows from the
    // columns. So the columns are computed first.
    let rough: Vec<f64> = topology.nodes.iter().map(|node| size(node.instances, 1).height).collect();
    let first = lay_out(topology, &rough);
    let mut pins = vec![[0, 0]; topology.nodes.len()];
    for TopologyLink { from, to, .. } in &topology.links {
        pins[from.node][usize::from(is_right(&first, from.node, to.node, true))] += 1;
        pins[to.node][usize::from(is_right(&first, to.node, from.node, false))] += 1;
    }
    let sizes: Vec<Size> = (topology.nodes.iter().zip(&pins))
        .map(|(node, [left, right])| size(node.instances, *left.max(right)))
        .collect();
    let heights: Vec<f64> = sizes.iter().map(|size| size.height).collect();
    let layout = lay_out(topology, &heights);
    let left = |column: usize| MARGIN + column as f64 * (WIDTH + BETWEEN_COLUMNS);
    let lowest = |edge: f64, bottom: f64| edge.min(bottom);
    let tops = layout.nodes.iter().zip(&heights).map(|(place, height)| place.y - height / 2.0);
    let above =
        MARGIN - layout.passes.iter().flatten().copied().chain(tops).fold(f64::INFINITY, lowest).min(1e9);
    let mut bottom: f64 = 0.0;
    let nodes: Vec<Value> = (topology.nodes.iter().zip(&sizes).zip(&layout.nodes))
        .map(|((node, size), place)| {
            let y = place.y - size.height / 2.0 + above;
            bottom = bottom.max(y + size.height);
            json!({
                "name": node.name, "implementation": node.implementation, "instances": node.instances,
                "x": left(place.column), "y": shorter(y), "width": WIDTH, "height": size.height,
                "tile": size.tile, "per_row": size.per_row,
            })
        })
        .collect();
    let ends = ends(topology, &layout, &heights);
    let links: Vec<Value> = (topology.links.iter().enumerate())
        .map(|(i, link)| {
            let port = |end: ligament_analysis::LinkEnd| {
                let node = &topology.nodes[end.node];
                format!("{}.{}", node.name, node.ports[end.port].name)
            };
            let points = points(link, &layout, ends[i], &layout.passes[i], left);
            let points: Vec<[f64; 2]> = points.into_iter().map(|[x, y]| [x, shorter(y + above)]).collect();
            bottom = points.iter().map(|point| point[1]).fold(bottom, f64::max);
            json!({ "from": port(link.from), "to": port(link.to), "filters": link.filters, "points": points })
        })
        .collect();
    let width = left(layout.columns.max(1)) - BETWEEN_COLUMNS + MARGIN;
    json!({ "nodes": nodes, "links": links, "width": width, "height": bottom + MARGIN })
}

/// Returns true if an end of a link is at the right side of its box, which is the side towards the other
/// end.
fn is_right(layout: &Layout, own: usize, other: usize, sends: bool) -> bool {
    let (own, other) = (layout.nodes[own].column, layout.nodes[other].column);
    own < other || (own == other && sends)
}

/// Returns the heights of both ends of each link. The ends at a side of a box are spread over it, in the
/// order of the heights of their other ends.
fn ends(topology: &Topology, layout: &Layout, heights: &[f64]) -> Vec<[f64; 2]> {
    let mut ends = vec![[0.0; 2]; topology.links.len()];
    // For each node and side: the height of the other end, the index of the link, and the index of its end.
    let mut sides: Vec<[Vec<(f64, usize, usize)>; 2]> = vec![Default::default(); heights.len()];
    for (i, link) in topology.links.iter().enumerate() {
        for (at, own, other) in [(0, link.from.node, link.to.node), (1, link.to.node, link.from.node)] {
            let right = is_right(layout, own, other, at == 0);
            sides[own][usize::from(right)].push((layout.nodes[other].y, i, at));
        }
    }
    for (node, (height, sides)) in heights.iter().zip(sides).enumerate() {
        for mut here in sides {
            here.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let step = (height - HEADER) / here.len().max(1) as f64;
            let top = layout.nodes[node].y - height / 2.0 + HEADER;
            for (place, (_, link, at)) in here.into_iter().enumerate() {
                ends[link][at] = top + step * (place as f64 + 0.5);
            }
        }
    }
    ends
}

/// Returns the points through which the arrow of a link passes.
fn points(
    link: &TopologyLink,
    layout: &Layout,
    [from_y, to_y]: [f64; 2],
    passes: &[f64],
    left: impl Fn(usize) -> f64,
) -> Vec<[f64; 2]> {
    let column = |node: usize| layout.nodes[node].column;
    let side = |own: usize, other: usize, sends: bool| {
        left(column(own)) + if is_right(layout, own, other, sends) { WIDTH } else { 0.0 }
    };
    let (from, to) = (link.from.node, link.to.node);
    let mut points = vec![[side(from, to, true), from_y]];
    let first = column(from).min(column(to)) + 1;
    let mut between: Vec<[[f64; 2]; 2]> = (passes.iter().enumerate())
        .map(|(i, &y)| [[left(first + i), y], [left(first + i) + WIDTH, y]])
        .collect();
    if column(from) > column(to) {
        between.reverse();
        between.iter_mut().for_each(|pair| pair.reverse());
    }
    points.extend(between.into_iter().flatten());
    points.push([side(to, from, false), to_y]);
    points
}
