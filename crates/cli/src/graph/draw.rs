//! The picture of a topology in SVG: boxes with ports at their sides, and curves between ports. The signs of
//! ports are from the multiscale modelling language (Falcone, Chopard, Hoekstra, "MML: towards a Multiscale
//! Modeling Language", 2010): filled signs send, open signs receive; round signs are within the loop, square
//! signs are before and after the loop.

use super::{name_of, times};
use crate::picture::xml;
use ligament_analysis::{lay_out, Layout, LinkEnd, Topology, TopologyLink, TopologyNode};
use ligament_model::Operator;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Colours of arrows that are distinct for people with any colour vision (Okabe & Ito, "Color Universal
/// Design", 2008): into the loop of a submodel, out of a loop, from the end of a submodel to the beginning of
/// another, and between two loops.
const CALL: &str = "#0072B2";
const RETURN: &str = "#D55E00";
const NEXT: &str = "#009E73";
const INTERACT: &str = "#CC79A7";
const OTHER: &str = "#555555";

const MARGIN: f64 = 30.0;
const TITLE: f64 = 76.0;
const HEADER: f64 = 44.0;
const PIN: f64 = 20.0;
const BETWEEN_COLUMNS: f64 = 110.0;
/// Approximate width of a bold letter of 13 units, and of a letter of 11 units.
const LETTER: f64 = 8.4;
const SMALL_LETTER: f64 = 6.3;
/// Maximum number of characters of a name that are shown.
const NAME: usize = 34;

/// A topology with the positions of its boxes and ports.
pub(super) struct GraphPicture<'a> {
    topology: &'a Topology,
    layout: Layout,
    /// Width and height of each box.
    sizes: Vec<(f64, f64)>,
    /// Left edge and width of each column.
    columns: Vec<(f64, f64)>,
    /// Indices of the ports at the left and at the right side of each box, from top to bottom.
    pins: Vec<[Vec<usize>; 2]>,
    /// Ports with at least one arrow.
    joined: HashSet<LinkEnd>,
}

pub(crate) fn shortened(name: &str) -> String {
    if name.chars().count() > NAME {
        format!("{}…", name.chars().take(NAME - 1).collect::<String>())
    } else {
        name.to_owned()
    }
}

/// Returns the filters of an arrow as its label, shortened to the available room.
fn label_of(link: &TopologyLink) -> String {
    shortened(&link.filters.join(", "))
}

fn letters(text: &str) -> f64 {
    text.chars().count().min(NAME) as f64
}

/// Returns the number of instances that a box stands for, if there are several, and the number of ranks of
/// each; or the blocks of a grid.
fn many(node: &TopologyNode) -> Option<String> {
    if let Some(grid) = &node.grid {
        return Some(format!("{} blocks", times(&grid.blocks)));
    }
    match (node.instances, node.ranks) {
        (0 | 1, None) => None,
        (0 | 1, Some(ranks)) => Some(format!("{ranks} ranks")),
        (n, None) => Some(format!("× {n}")),
        (n, Some(ranks)) => Some(format!("× {n}, {ranks} ranks")),
    }
}

pub(crate) fn colour(from: Operator, to: Operator) -> &'static str {
    match (from, to) {
        (Operator::OI, Operator::FInit) => CALL,
        (Operator::OF, Operator::S) => RETURN,
        (Operator::OF, Operator::FInit) => NEXT,
        (Operator::OI, Operator::S) => INTERACT,
        _ => OTHER,
    }
}

impl<'a> GraphPicture<'a> {
    pub fn of(topology: &'a Topology) -> GraphPicture<'a> {
        // The layout is computed twice. The first time finds only the columns: they decide how many ports are
        // at each side of a box, and so the box's height.
        let rough: Vec<f64> =
            topology.nodes.iter().map(|node| HEADER + PIN * node.ports.len() as f64).collect();
        let first = lay_out(topology, &rough);
        let pins = pins(topology, &first);
        let sizes: Vec<(f64, f64)> =
            topology.nodes.iter().zip(&pins).map(|(node, pins)| size(node, pins)).collect();
        let heights: Vec<f64> = sizes.iter().map(|(_, height)| *height).collect();
        let layout = lay_out(topology, &heights);
        let mut columns = vec![(0.0, 0.0f64); layout.columns];
        for (place, (width, _)) in layout.nodes.iter().zip(&sizes) {
            columns[place.column].1 = columns[place.column].1.max(*width);
        }
        // The space between columns must hold the labels of the arrows.
        let label = topology.links.iter().map(|link| letters(&label_of(link))).fold(0.0, f64::max);
        let between = (label * SMALL_LETTER + 30.0).max(BETWEEN_COLUMNS);
        let mut x = MARGIN;
        for column in &mut columns {
            column.0 = x;
            x += column.1 + between;
        }
        let joined = topology.links.iter().flat_map(|link| [link.from, link.to]).collect();
        let mut picture = GraphPicture { topology, layout, sizes, columns, pins, joined };
        picture.order_pins();
        picture
    }

    /// Returns the left edge and the top of a box.
    fn corner(&self, node: usize) -> (f64, f64) {
        let place = self.layout.nodes[node];
        let (left, width) = self.columns[place.column];
        let (own, height) = self.sizes[node];
        (left + (width - own) / 2.0, TITLE + place.y - height / 2.0)
    }

    /// Returns the position of a port at one side of its box.
    fn pin(&self, end: LinkEnd, right: bool) -> (f64, f64) {
        let (x, y) = self.corner(end.node);
        let at = self.pins[end.node][usize::from(right)].iter().position(|&port| port == end.port).unwrap_or(0);
        (if right { x + self.sizes[end.node].0 } else { x }, y + HEADER + PIN * (at as f64 + 0.5))
    }

    /// Orders the ports at each side of a box by the mean heights of their arrows' other ends, so that
    /// fewer arrows cross.
    fn order_pins(&mut self) {
        let mut sums: HashMap<(LinkEnd, bool), (f64, f64)> = HashMap::new();
        for (link, passes) in self.topology.links.iter().zip(&self.layout.passes) {
            let (from, to) = (self.layout.nodes[link.from.node], self.layout.nodes[link.to.node]);
            let (from_right, to_right) = sides(&self.layout, link);
            let near = |first: bool| if first { passes.first() } else { passes.last() };
            let mut note = |pin: (LinkEnd, bool), y: f64| {
                let (sum, n) = sums.entry(pin).or_default();
                *sum += y;
                *n += 1.0;
            };
            note((link.from, from_right), near(from_right).copied().unwrap_or(to.y));
            note((link.to, to_right), near(!from_right).copied().unwrap_or(from.y));
        }
        for (node, sides) in self.pins.iter_mut().enumerate() {
            for (right, side) in [false, true].into_iter().zip(sides) {
                let key = |port: &usize| {
                    let end = LinkEnd { node, port: *port };
                    sums.get(&(end, right)).map_or(f64::INFINITY, |(sum, n)| sum / n)
                };
                side.sort_by(|a, b| key(a).total_cmp(&key(b)));
            }
        }
    }

    /// Returns the picture as SVG.
    pub fn svg(&self) -> String {
        let right = self.columns.last().map_or(0.0, |(left, width)| left + width);
        let bottom =
            (0..self.sizes.len()).map(|node| self.corner(node).1 + self.sizes[node].1).fold(TITLE, f64::max);
        let (width, height) = (right.max(480.0) + MARGIN, bottom + 70.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title \
             id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n<rect width=\"{width:.0}\" \
             height=\"{height:.0}\" fill=\"#fff\"/>\n<text x=\"{MARGIN}\" y=\"34\" font-size=\"18\" \
             font-weight=\"bold\">{}</text>\n",
            xml(&self.topology.model),
            xml(&super::in_lines(self.topology)),
            xml(&self.topology.model)
        );
        self.arrows(&mut svg);
        for (at, node) in self.topology.nodes.iter().enumerate() {
            self.draw_box(&mut svg, at, node);
        }
        legend(&mut svg, height - 42.0);
        svg.push_str("</svg>\n");
        svg
    }

    fn arrows(&self, svg: &mut String) {
        for (link, passes) in self.topology.links.iter().zip(&self.layout.passes) {
            let operator = |end: LinkEnd| self.topology.nodes[end.node].ports[end.port].operator;
            let ink = colour(operator(link.from), operator(link.to));
            let path = self.path(link, passes);
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.6\"/>");
            if !link.filters.is_empty() {
                let (from_right, to_right) = sides(&self.layout, link);
                let ((ax, ay), (bx, by)) = (self.pin(link.from, from_right), self.pin(link.to, to_right));
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\" fill=\"{ink}\" \
                     stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\"><title>{}</title>{}</text>",
                    (ax + bx) / 2.0,
                    (ay + by) / 2.0 + 4.0,
                    xml(&link.filters.join(", ")),
                    xml(&label_of(link))
                );
            }
        }
    }

    /// Returns a curve from one port to another. `passes` has the heights at which the curve passes the
    /// columns in between.
    fn path(&self, link: &TopologyLink, passes: &[f64]) -> String {
        let (from, to) = (link.from, link.to);
        let (from_right, to_right) = sides(&self.layout, link);
        let ((ax, ay), (bx, by)) = (self.pin(from, from_right), self.pin(to, to_right));
        let out = |right: bool| if right { 1.0 } else { -1.0 };
        if from.node == to.node {
            // An arrow from a box to itself passes below the box.
            let below = self.corner(from.node).1 + self.sizes[from.node].1 + 22.0;
            let (a, b) = (ax + out(from_right) * 40.0, bx + out(to_right) * 40.0);
            return format!(
                "M{ax:.1} {ay:.1} C{a:.1} {ay:.1} {a:.1} {below:.1} {:.1} {below:.1} S{b:.1} {by:.1} {bx:.1} \
                 {by:.1}",
                (ax + bx) / 2.0
            );
        }
        let (from_column, to_column) = (self.layout.nodes[from.node].column, self.layout.nodes[to.node].column);
        let forward = from_column <= to_column;
        let between: Vec<usize> = if forward {
            (from_column + 1..to_column).collect()
        } else {
            (to_column + 1..from_column).rev().collect()
        };
        let heights: Vec<f64> = if forward { passes.to_vec() } else { passes.iter().rev().copied().collect() };
        let mut path = format!("M{ax:.1} {ay:.1}");
        let (mut x, mut y) = (ax, ay);
        for (column, pass) in between.into_iter().zip(heights) {
            let (left, width) = self.columns[column];
            let (enter, leave) = if forward { (left, left + width) } else { (left + width, left) };
            let pass = pass + TITLE;
            let middle = (x + enter) / 2.0;
            let _ = write!(
                path,
                " C{middle:.1} {y:.1} {middle:.1} {pass:.1} {enter:.1} {pass:.1} L{leave:.1} {pass:.1}"
            );
            (x, y) = (leave, pass);
        }
        let bend = ((bx - x).abs() / 2.0).max(BETWEEN_COLUMNS / 2.0);
        let start = x + if x == ax { out(from_right) } else { out(forward) } * bend;
        let _ = write!(path, " C{start:.1} {y:.1} {:.1} {by:.1} {bx:.1} {by:.1}", bx + out(to_right) * bend);
        path
    }

    fn draw_box(&self, svg: &mut String, at: usize, node: &TopologyNode) {
        let ((x, y), (width, height)) = (self.corner(at), self.sizes[at]);
        let frame = "fill=\"#f7f7f7\" stroke=\"#777\" rx=\"5\"";
        if many(node).is_some() {
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {frame}/>",
                x + 5.0,
                y + 5.0
            );
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {frame}/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\"><title>{}</title>{}</text>",
            x + 12.0,
            y + 18.0,
            xml(&node.name),
            xml(&shortened(&node.name))
        );
        if let Some(many) = many(node) {
            let (x, y) = (x + width - 12.0, y + 18.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{many}</text>");
        }
        if let Some(implementation) = &node.implementation {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"#666\">{}</text>",
                x + 12.0,
                y + 34.0,
                xml(&shortened(implementation))
            );
        }
        for (right, side) in [(false, &self.pins[at][0]), (true, &self.pins[at][1])] {
            for &port in side {
                self.draw_pin(svg, LinkEnd { node: at, port }, right);
            }
        }
    }

    fn draw_pin(&self, svg: &mut String, end: LinkEnd, right: bool) {
        let port = &self.topology.nodes[end.node].ports[end.port];
        let (x, y) = self.pin(end, right);
        let (anchor, beside) = if right { ("end", x - 10.0) } else { ("start", x + 10.0) };
        let joined = self.joined.contains(&end);
        let ink = if joined { "#222" } else { "#999" };
        sign(svg, x, y, port.operator, port.sends, ink);
        let _ = writeln!(
            svg,
            "<text x=\"{beside:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"{anchor}\" \
             fill=\"{ink}\">{}</text>",
            y + 4.0,
            xml(&shortened(&name_of(port)))
        );
    }
}

/// Returns two values: true if the arrow begins at the right side of its first box, and true if it ends at
/// the right side of its last box.
fn sides(layout: &Layout, link: &TopologyLink) -> (bool, bool) {
    let column = |end: LinkEnd| layout.nodes[end.node].column;
    let (from, to) = (column(link.from), column(link.to));
    if link.from.node == link.to.node {
        (true, false)
    } else {
        (from <= to, to <= from)
    }
}

/// Returns the ports at the left and at the right side of each box. A port is at each side at which an arrow
/// needs it, so it may be at both. A port without an arrow is at the right if it sends, else at the left.
fn pins(topology: &Topology, layout: &Layout) -> Vec<[Vec<usize>; 2]> {
    let mut used: HashSet<(LinkEnd, bool)> = HashSet::new();
    for link in &topology.links {
        let (from_right, to_right) = sides(layout, link);
        used.extend([(link.from, from_right), (link.to, to_right)]);
    }
    let nodes = topology.nodes.iter().enumerate().map(|(node, of)| {
        [false, true].map(|right| {
            let is_here = |&port: &usize| {
                let end = LinkEnd { node, port };
                let nowhere = !used.contains(&(end, false)) && !used.contains(&(end, true));
                used.contains(&(end, right)) || (nowhere && of.ports[port].sends == right)
            };
            (0..of.ports.len()).filter(is_here).collect()
        })
    });
    nodes.collect()
}

fn size(node: &TopologyNode, pins: &[Vec<usize>; 2]) -> (f64, f64) {
    let widest =
        |side: &[usize]| side.iter().map(|&port| letters(&name_of(&node.ports[port]))).fold(0.0, f64::max);
    let ports = (widest(&pins[0]) + widest(&pins[1])) * SMALL_LETTER + 50.0;
    let name = (letters(&node.name) + many(node).map_or(0.0, |many| letters(&many) + 2.0)) * LETTER + 24.0;
    let implementation = node.implementation.as_ref().map_or(0.0, |text| letters(text) * SMALL_LETTER + 24.0);
    let rows = pins.iter().map(Vec::len).max().unwrap_or(0);
    (ports.max(name).max(implementation).max(90.0), HEADER + PIN * rows as f64 + 6.0)
}

/// Draws the sign of a port.
pub(crate) fn sign(svg: &mut String, x: f64, y: f64, operator: Operator, sends: bool, ink: &str) {
    let fill = if sends { ink } else { "#fff" };
    let _ = match operator {
        Operator::OI | Operator::S => {
            writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{fill}\" stroke=\"{ink}\"/>")
        }
        _ => writeln!(
            svg,
            "<path d=\"M{:.1} {y:.1} l5.5 -5.5 l5.5 5.5 l-5.5 5.5 z\" fill=\"{fill}\" stroke=\"{ink}\"/>",
            x - 5.5
        ),
    };
}

/// Draws the legend of the arrows' colours.
pub(crate) fn legend_of_arrows(svg: &mut String, x: f64, y: f64) {
    let mut x = x;
    let lines = [(CALL, "starts"), (RETURN, "answers"), (NEXT, "goes on to"), (INTERACT, "interacts with")];
    for (ink, words) in lines {
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1} h24\" stroke=\"{ink}\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{words}</text>",
            x + 30.0,
            y + 4.0
        );
        x += 48.0 + letters(words) * SMALL_LETTER;
    }
}

fn legend(svg: &mut String, y: f64) {
    legend_of_arrows(svg, MARGIN, y);
    let (mut x, y) = (MARGIN + 6.0, y + 22.0);
    for operator in [Operator::FInit, Operator::OI, Operator::S, Operator::OF] {
        sign(svg, x, y, operator, operator.sends(), "#222");
        let words = operator.name();
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{words}</text>", x + 11.0, y + 4.0);
        x += 34.0 + letters(words) * LETTER;
    }
}
