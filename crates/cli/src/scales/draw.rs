//! The picture of a scale separation map in SVG. On the axis of time, the box of a component reaches from its
//! step to its total time. On the axis of space, it reaches from the space step to the extent. Both axes are
//! logarithmic. Arrows are messages.

use super::{names, span};
use crate::graph::draw::{colour, legend_of_arrows, shortened};
use crate::picture::xml;
use ligament_analysis::{Measure, Quantity, ScaleBox, ScaleMap};
use std::fmt::Write;

/// Colours of boxes, for any colour vision (Okabe & Ito, "Color Universal Design", 2008).
const FILLS: [&str; 6] = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#999999"];

const LEFT_MARGIN_PX: f64 = 76.0;
const TOP: f64 = 60.0;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const RIGHT: f64 = 30.0;
/// Width of the strip beside an axis for boxes that have no scale on that axis.
const STRIP: f64 = 44.0;
const BOTTOM_MARGIN_PX: f64 = 84.0;
/// Minimum width or height of a box.
const MIN_BOX_PX: f64 = 8.0;
const LINE: f64 = 15.0;
/// Approximate width of a letter of 13 units.
const LETTER: f64 = 7.4;

/// Times that have names, in s.
const TIMES: &[(f64, &str)] = &[
    (1e-15, "1 fs"),
    (1e-12, "1 ps"),
    (1e-9, "1 ns"),
    (1e-6, "1 µs"),
    (1e-3, "1 ms"),
    (1.0, "1 s"),
    (60.0, "1 min"),
    (3600.0, "1 h"),
    (86_400.0, "1 d"),
    (31_557_600.0, "1 yr"),
    (31_557_600e3, "1 kyr"),
    (31_557_600e6, "1 Myr"),
    (31_557_600e9, "1 Gyr"),
];
/// Lengths that have names, in m.
const LENGTHS: &[(f64, &str)] = &[
    (1e-12, "1 pm"),
    (1e-9, "1 nm"),
    (1e-6, "1 µm"),
    (1e-3, "1 mm"),
    (1.0, "1 m"),
    (1e3, "1 km"),
    (1e6, "1 Mm"),
    (1e9, "1 Gm"),
];

/// A logarithmic axis.
struct Axis {
    /// Decimal logarithms of the values at both ends of the axis.
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    fn of(ranges: impl Iterator<Item = [f64; 2]>, measure: Measure) -> Option<Axis> {
        let all = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
        let (mut from, mut to) = (all[0].log10() - 0.4, all[1].log10() + 0.4);
        if to - from < 2.0 {
            let middle = (from + to) / 2.0;
            (from, to) = (middle - 1.0, middle + 1.0);
        }
        let known = if measure == Measure::Time { TIMES } else { LENGTHS };
        let within = |value: f64| value.log10() >= from && value.log10() <= to;
        let mut ticks: Vec<(f64, String)> = known
            .iter()
            .filter(|(value, _)| within(*value))
            .map(|(value, name)| (*value, (*name).to_owned()))
            .collect();
        if to - from < 6.0 {
            // Above 11 s the axis has ticks at minutes, hours and days, and none at powers of ten.
            let most = if measure == Measure::Time { 11.0 } else { f64::INFINITY };
            let tens = (from.ceil() as i32..=to.floor() as i32).map(|power| 10f64.powi(power));
            let tens = tens.filter(|value| {
                *value < most && known.iter().all(|(known, _)| (value / known - 1.0).abs() > 1e-6)
            });
            ticks.extend(tens.map(|value| (value, Quantity { value, measure }.to_string())));
            ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Some(Axis { from, to, ticks })
    }

    /// Returns the position of a value on the axis: 0 at its beginning, 1 at its end.
    fn place(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }
}

/// The edges of a box: left, top, right and bottom.
type Area = [f64; 4];

/// A scale map with the positions of its axes and boxes.
pub(super) struct ScalesPicture<'a> {
    map: &'a ScaleMap,
    time: Option<Axis>,
    space: Option<Axis>,
    areas: Vec<Area>,
    left: f64,
    bottom: f64,
    /// Distance from one box without a length to the next.
    pitch: f64,
}

impl<'a> ScalesPicture<'a> {
    pub fn of(map: &'a ScaleMap) -> ScalesPicture<'a> {
        let time = Axis::of(map.boxes.iter().filter_map(|one| one.time), Measure::Time);
        let space = Axis::of(map.boxes.iter().filter_map(|one| one.space), Measure::Length);
        let strip = |is_needed: bool| if is_needed { STRIP } else { 0.0 };
        let left = LEFT_MARGIN_PX + 1.8 * strip(map.boxes.iter().any(|one| one.time.is_none()));
        // If no component has a length, the picture has bars below each other in place of boxes.
        let (bottom, pitch) = if space.is_some() { (TOP + HEIGHT, 26.0) } else { (TOP, 52.0) };
        let mut picture = ScalesPicture { map, time, space, areas: Vec::new(), left, bottom, pitch };
        picture.areas = map.boxes.iter().map(|one| picture.area(one)).collect();
        picture
    }

    /// Returns the height of the strip for boxes without a length.
    fn strip(&self) -> f64 {
        let without = self.map.boxes.iter().filter(|one| one.space.is_none()).count();
        if without > 0 {
            STRIP.max(10.0 + self.pitch * without as f64)
        } else {
            0.0
        }
    }

    fn area(&self, one: &ScaleBox) -> Area {
        let wide = |from: f64, to: f64| {
            if to - from < MIN_BOX_PX {
                ((from + to - MIN_BOX_PX) / 2.0, (from + to + MIN_BOX_PX) / 2.0)
            } else {
                (from, to)
            }
        };
        let (left, right) = match (&self.time, one.time) {
            (Some(axis), Some(range)) => {
                wide(self.left + WIDTH * axis.place(range[0]), self.left + WIDTH * axis.place(range[1]))
            }
            _ => (LEFT_MARGIN_PX + 4.0, self.left - 8.0),
        };
        let (top, bottom) = match (&self.space, one.space) {
            (Some(axis), Some(range)) => {
                wide(self.bottom - HEIGHT * axis.place(range[1]), self.bottom - HEIGHT * axis.place(range[0]))
            }
            _ => {
                // Boxes without a length are drawn below each other, in the order of the map.
                let before = self.areas_without_space(one);
                let top = self.bottom + 8.0 + (self.pitch - 26.0) / 2.0 + self.pitch * before as f64;
                (top, top + 20.0)
            }
        };
        [left, top, right, bottom]
    }

    fn areas_without_space(&self, one: &ScaleBox) -> usize {
        let others = self.map.boxes.iter().take_while(|other| !std::ptr::eq(*other, one));
        others.filter(|other| other.space.is_none()).count()
    }

    pub fn svg(&self) -> String {
        let (width, height) = (self.left + WIDTH + RIGHT, self.bottom + self.strip() + BOTTOM_MARGIN_PX);
        let title = xml(&self.map.model);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title \
             id=\"title\">{title}</title>\n<desc id=\"description\">{}</desc>\n<rect width=\"{width:.0}\" \
             height=\"{height:.0}\" fill=\"#fff\"/>\n<text x=\"{LEFT_MARGIN_PX}\" y=\"34\" font-size=\"18\" \
             font-weight=\"bold\">{title}</text>\n",
            xml(&super::in_lines(self.map))
        );
        self.axes(&mut svg);
        for (at, area) in self.areas.iter().enumerate() {
            let [left, top, right, bottom] = area;
            let fill = FILLS[at % FILLS.len()];
            let one = &self.map.boxes[at];
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" \
                 fill=\"{fill}\" fill-opacity=\"0.2\" stroke=\"#444\"><title>{}: {}; {}</title></rect>",
                right - left,
                bottom - top,
                xml(&names(one)),
                span(one.time, Measure::Time),
                span(one.space, Measure::Length)
            );
        }
        self.arrows(&mut svg);
        self.labels(&mut svg);
        legend_of_arrows(&mut svg, LEFT_MARGIN_PX, height - 18.0);
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String) {
        let (left, right, bottom) = (self.left, self.left + WIDTH, self.bottom);
        let end = bottom + self.strip();
        let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, ink: &str| {
            let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1} L{x2:.1} {y2:.1}\" stroke=\"{ink}\"/>");
        };
        for (value, _) in self.time.iter().flat_map(|axis| &axis.ticks) {
            let x = left + WIDTH * self.time.as_ref().map_or(0.0, |axis| axis.place(*value));
            line(x, TOP, x, end + 4.0, "#ddd");
        }
        // Boxes without a time are between the labels of the space axis and the other boxes.
        for (value, _) in self.space.iter().flat_map(|axis| &axis.ticks) {
            let y = bottom - HEIGHT * self.space.as_ref().map_or(0.0, |axis| axis.place(*value));
            line(LEFT_MARGIN_PX - 4.0, y, right, y, "#ddd");
        }
        line(LEFT_MARGIN_PX, TOP, LEFT_MARGIN_PX, end, "#444");
        line(LEFT_MARGIN_PX, end, right, end, "#444");
        if left > LEFT_MARGIN_PX {
            line(left, TOP, left, end, "#bbb");
        }
        if end > bottom && bottom > TOP {
            line(LEFT_MARGIN_PX, bottom, right, bottom, "#bbb");
        }
        let mut words = |x: f64, y: f64, anchor: &str, ink: &str, text: &str| {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" text-anchor=\"{anchor}\" \
                 fill=\"{ink}\">{}</text>",
                xml(text)
            );
        };
        // A label of the time axis is left out if it would touch the label before it.
        let mut free = 0.0;
        if left > LEFT_MARGIN_PX {
            words((LEFT_MARGIN_PX + left) / 2.0, end + 18.0, "middle", "#888", "no time");
            free = left - 8.0;
        }
        for (value, name) in self.time.iter().flat_map(|axis| &axis.ticks) {
            let x = left + WIDTH * self.time.as_ref().map_or(0.0, |axis| axis.place(*value));
            let half = name.chars().count() as f64 * 3.2 + 3.0;
            if x - half >= free {
                words(x, end + 18.0, "middle", "#444", name);
                free = x + half;
            }
        }
        for (value, name) in self.space.iter().flat_map(|axis| &axis.ticks) {
            let y = bottom - HEIGHT * self.space.as_ref().map_or(0.0, |axis| axis.place(*value));
            words(LEFT_MARGIN_PX - 8.0, y + 4.0, "end", "#444", name);
        }
        words(right, end + 36.0, "end", "#444", "time: from the step to the whole");
        if self.space.is_some() {
            words(LEFT_MARGIN_PX - 44.0, TOP - 10.0, "start", "#444", "space: from the step to the extent");
        }
        if end > bottom && bottom > TOP {
            words(LEFT_MARGIN_PX - 8.0, bottom + 20.0, "end", "#888", "no length");
        }
    }

    fn arrows(&self, svg: &mut String) {
        for link in &self.map.links {
            let ink = colour(link.sent_at, link.received_at);
            let (from, to) = (self.areas[link.from], self.areas[link.to]);
            let ((ax, ay), (bx, by)) = ends(from, to);
            let (dx, dy) = (bx - ax, by - ay);
            let length = dx.hypot(dy).max(1.0);
            // The arrow bends to one side, so that two arrows in opposite directions do not overlap.
            let bend = (0.18 * length).clamp(14.0, 46.0);
            let (cx, cy) = ((ax + bx) / 2.0 + dy / length * bend, (ay + by) / 2.0 - dx / length * bend);
            let _ = writeln!(
                svg,
                "<path d=\"M{ax:.1} {ay:.1} Q{cx:.1} {cy:.1} {bx:.1} {by:.1}\" fill=\"none\" stroke=\"{ink}\" \
                 stroke-width=\"1.8\"/>"
            );
            let (tx, ty) = (bx - cx, by - cy);
            let n = tx.hypot(ty).max(1.0);
            let (tx, ty) = (tx / n, ty / n);
            let _ = writeln!(
                svg,
                "<path d=\"M{bx:.1} {by:.1} L{:.1} {:.1} L{:.1} {:.1} z\" fill=\"{ink}\"/>",
                bx - 10.0 * tx - 4.5 * ty,
                by - 10.0 * ty + 4.5 * tx,
                bx - 10.0 * tx + 4.5 * ty,
                by - 10.0 * ty - 4.5 * tx
            );
        }
    }

    /// Writes each name in its box if the box has room, else beside the box.
    fn labels(&self, svg: &mut String) {
        let mut taken: Vec<Area> = Vec::new();
        for (one, &[left, top, right, bottom]) in self.map.boxes.iter().zip(&self.areas) {
            let text = shortened(&names(one));
            let width = text.chars().count() as f64 * LETTER;
            let at = |x: f64, y: f64| [x, y, x + width, y + LINE];
            let inside = right - left > width + 10.0 && bottom - top > LINE + 4.0;
            let mut places = vec![
                at(left, top - LINE - 3.0),
                at(right + 5.0, top),
                at(left, bottom + 3.0),
                at(left - width - 5.0, top),
            ];
            if inside {
                places.splice(
                    0..0,
                    [
                        at(left + 6.0, top + 3.0),
                        at(left + 6.0, bottom - LINE - 4.0),
                        at(right - width - 6.0, top + 3.0),
                    ],
                );
            }
            let end = self.left + WIDTH + RIGHT;
            let is_free = |place: &&Area| {
                let apart = |other: &Area| {
                    place[0] > other[2] || other[0] > place[2] || place[1] > other[3] || other[1] > place[3]
                };
                taken.iter().all(apart) && place[0] >= 2.0 && place[2] <= end && place[1] >= TOP - 26.0
            };
            let place = *places.iter().find(is_free).unwrap_or(&places[0]);
            taken.push(place);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\" stroke=\"#fff\" stroke-width=\"3\" \
                 paint-order=\"stroke\">{}</text>",
                place[0],
                place[1] + 12.0,
                xml(&text)
            );
        }
    }
}

/// Returns the points at which an arrow leaves the box `from` and enters the box `to`. They are on the borders,
/// on the line between the centres. If the centre of one box is within the other box, the arrow goes from
/// border to border on the side with the shortest gap, or on the right side if all gaps are too small.
fn ends(from: Area, to: Area) -> ((f64, f64), (f64, f64)) {
    let middle = |[left, top, right, bottom]: Area| ((left + right) / 2.0, (top + bottom) / 2.0);
    let (a, b) = (middle(from), middle(to));
    let holds = |[left, top, right, bottom]: Area, (x, y): (f64, f64)| {
        x >= left && x <= right && y >= top && y <= bottom
    };
    if holds(from, b) || holds(to, a) {
        let (inner, outer) = if holds(from, b) { (to, from) } else { (from, to) };
        // The arrow goes straight to the nearest border with enough room.
        let (x, y) = middle(inner);
        let ways = [
            ((inner[0], y), (outer[0], y), inner[0] - outer[0]),
            ((inner[2], y), (outer[2], y), outer[2] - inner[2]),
            ((x, inner[1]), (x, outer[1]), inner[1] - outer[1]),
            ((x, inner[3]), (x, outer[3]), outer[3] - inner[3]),
        ];
        let free = ways.iter().filter(|way| way.2 > 16.0).min_by(|a, b| a.2.total_cmp(&b.2));
        let (inside, outside, _) = free.copied().unwrap_or(((inner[2], y), (outer[2], y), 0.0));
        return if holds(from, b) { (outside, inside) } else { (inside, outside) };
    }
    let border = |area: Area, to: (f64, f64)| {
        let (x, y) = middle(area);
        let (dx, dy) = (to.0 - x, to.1 - y);
        let reach = |half: f64, d: f64| if d.abs() < 1e-9 { f64::INFINITY } else { half / d.abs() };
        let t = reach((area[2] - area[0]) / 2.0, dx).min(reach((area[3] - area[1]) / 2.0, dy)).min(1.0);
        (x + dx * t, y + dy * t)
    };
    (border(from, b), border(to, a))
}
