//! The picture of an unrolled order, in SVG: a lane for each component, a column for each round, arrows for
//! messages.

use super::{label, with_passes};
use crate::graph::draw::{colour, legend_of_arrows, shortened, sign};
use crate::picture::xml;
use ligament_analysis::Tasks;
use std::collections::HashSet;
use std::fmt::Write;

const MARGIN: f64 = 24.0;
const TOP: f64 = 84.0;
const COLUMN: f64 = 108.0;
const BOX: f64 = 78.0;
const LANE: f64 = 52.0;
const TALL: f64 = 26.0;
/// Approximate width of a bold letter of 13 units.
const LETTER: f64 = 8.0;

/// An unrolled order with the positions of its lanes.
pub(super) struct TasksPicture<'a> {
    tasks: &'a Tasks,
    /// The lane of each component that has tasks; none for a component without tasks.
    lanes: Vec<Option<usize>>,
    left: f64,
}

impl<'a> TasksPicture<'a> {
    pub fn of(tasks: &'a Tasks) -> TasksPicture<'a> {
        let active: HashSet<usize> = tasks.tasks.iter().map(|task| task.component).collect();
        let mut next = 0;
        let lanes = (0..tasks.components.len()).map(|component| {
            active.contains(&component).then(|| {
                next += 1;
                next - 1
            })
        });
        let lanes = lanes.collect();
        let longest = tasks.components.iter().map(|name| shortened(name).chars().count()).max().unwrap_or(0);
        TasksPicture { tasks, lanes, left: MARGIN + longest as f64 * LETTER + 18.0 }
    }

    /// Returns the left edge of a task's box, and the height of its middle.
    fn place(&self, task: usize) -> (f64, f64) {
        let task = &self.tasks.tasks[task];
        let lane = self.lanes[task.component].unwrap_or(0);
        (self.left + COLUMN * (task.round - 1) as f64, TOP + LANE * (lane as f64 + 0.5))
    }

    pub fn svg(&self) -> String {
        let count = self.lanes.iter().flatten().count() as f64;
        let (width, bottom) =
            ((self.left + COLUMN * self.tasks.rounds as f64).max(480.0) + MARGIN, TOP + LANE * count);
        let height = bottom + 50.0;
        let title = xml(&self.tasks.model);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title \
             id=\"title\">{title}</title>\n<desc id=\"description\">{}</desc>\n<rect width=\"{width:.0}\" \
             height=\"{height:.0}\" fill=\"#fff\"/>\n<text x=\"{MARGIN}\" y=\"34\" font-size=\"18\" \
             font-weight=\"bold\">{title}</text>\n",
            xml(&super::in_lines(self.tasks))
        );
        for round in 1..=self.tasks.rounds {
            let x = self.left + COLUMN * (round - 1) as f64 + BOX / 2.0;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\" \
                 fill=\"#666\">{round}</text>",
                TOP - 12.0
            );
        }
        for (component, lane) in
            self.lanes.iter().enumerate().filter_map(|(component, lane)| Some((component, (*lane)?)))
        {
            let y = TOP + LANE * lane as f64;
            let fill = if lane % 2 == 0 { "#f7f7f7" } else { "#fff" };
            let name = &self.tasks.components[component];
            let _ = writeln!(
                svg,
                "<rect x=\"0\" y=\"{y:.1}\" width=\"{width:.0}\" height=\"{LANE}\" fill=\"{fill}\"/>\n\
                 <text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\"><title>{}</title>{}</text>",
                y + LANE / 2.0 + 4.5,
                xml(name),
                xml(&shortened(name))
            );
        }
        self.arrows(&mut svg);
        self.boxes(&mut svg);
        legend_of_arrows(&mut svg, MARGIN, bottom + 26.0);
        svg.push_str("</svg>\n");
        svg
    }

    fn arrows(&self, svg: &mut String) {
        for (at, task) in self.tasks.tasks.iter().enumerate() {
            let (x, y) = self.place(at);
            for after in &task.after {
                let (from_x, from_y) = self.place(after.task);
                let from_x = from_x + BOX;
                if after.message.is_none() {
                    let _ =
                        writeln!(svg, "<path d=\"M{from_x:.1} {from_y:.1} L{x:.1} {y:.1}\" stroke=\"#999\"/>");
                    continue;
                }
                let ink = colour(self.tasks.tasks[after.task].operator, task.operator);
                let bend = ((x - from_x) / 2.0).max(12.0);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{from_x:.1} {from_y:.1} C{:.1} {from_y:.1} {:.1} {y:.1} {x:.1} {y:.1}\" \
                     fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.6\"/>\n<path d=\"M{x:.1} {y:.1} l-8 -4 l0 \
                     8 z\" fill=\"{ink}\"/>",
                    from_x + bend,
                    x - bend
                );
            }
        }
    }

    fn boxes(&self, svg: &mut String) {
        let several = with_passes(self.tasks);
        for (at, task) in self.tasks.tasks.iter().enumerate() {
            let (x, y) = self.place(at);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{BOX}\" height=\"{TALL}\" rx=\"4\" \
                 fill=\"#fff\" stroke=\"#777\"/>",
                y - TALL / 2.0
            );
            sign(svg, x + 11.0, y, task.operator, task.operator.sends(), "#222");
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
                x + 21.0,
                y + 4.0,
                xml(&label(task, &several))
            );
        }
    }
}
