//! The table and the plot of a coupling: a row, and a bar, for each window.

use super::convergence::Measure;
use crate::files::{name_of, AtomicFile};
use crate::settings;
use crate::tables::{row, written, Separator};
use ligament_instance::{Error, Instance};
use ligament_wire::times::ShownTime;
use std::fmt::Write;

/// Size of the plot in pixels, and the places of its axes.
const WIDTH_PX: f64 = 900.0;
const HEIGHT_PX: f64 = 480.0;
const LEFT_PX: f64 = 70.0;
const RIGHT_PX: f64 = 880.0;
const BARS_TOP_PX: f64 = 40.0;
const BARS_BOTTOM_PX: f64 = 240.0;
const LINE_TOP_PX: f64 = 280.0;
const LINE_BOTTOM_PX: f64 = 430.0;
/// Largest number of bars, an even number; more windows are drawn several to a bar.
const MAX_BARS: usize = 400;
/// Smallest share of a limit that the plot shows. Smaller ones, and 0, lie on its lower edge.
const MIN_SHARE: f64 = 1e-6;

/// A window that has ended.
#[derive(Debug, Clone)]
pub(super) struct WindowRow {
    pub bounds: (f64, f64),
    pub iterations: u64,
    pub converged: bool,
    /// The measures after the last iteration.
    pub measures: Vec<f64>,
    /// The largest measure over its limit.
    pub worst: f64,
}

/// A bar of the plot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar {
    iterations: u64,
    converged: bool,
    worst: f64,
}

/// The table and the plot while they are being written.
pub(super) struct CouplingRecord {
    title: String,
    table: AtomicFile,
    plot: AtomicFile,
    rows: u64,
    /// Number of windows that belong to an earlier run.
    windows_before: u64,
    begin: f64,
    end: f64,
    bars: Vec<Bar>,
    /// Number of windows to a bar.
    per_bar: u64,
    /// Number of windows in the last bar.
    in_last_bar: u64,
}

impl CouplingRecord {
    /// Begins both files. `measures` have a column each, `data` are the names of the data.
    pub fn new(instance: &Instance, measures: &[Measure], data: &[String]) -> Result<CouplingRecord, Error> {
        let file = |setting: &str, default: &str| {
            let template = settings::text(instance, setting)?;
            AtomicFile::create(name_of(template.as_deref().unwrap_or(default), instance.name(), None))
        };
        let mut table = file("table", "{instance}.csv")?;
        let plot = file("plot", "{instance}.svg")?;
        let fixed = ["window", "begin", "end", "iterations", "converged"].map(str::to_owned);
        let own = measures.iter().map(|measure| format!("{}_{}", data[measure.data], measure.kind.name()));
        table.write((row(fixed.into_iter().chain(own), Separator::COMMA) + "\n").as_bytes())?;
        Ok(CouplingRecord {
            title: instance.name().to_owned(),
            table,
            plot,
            rows: 0,
            windows_before: 0,
            begin: 0.0,
            end: 0.0,
            bars: Vec::new(),
            per_bar: 1,
            in_last_bar: 0,
        })
    }

    /// Sets the number of windows before the first one of this table: those of the run that is resumed.
    pub fn begin_at(&mut self, windows: u64) {
        self.windows_before = windows;
    }

    /// Adds a window.
    pub fn add(&mut self, window: &WindowRow) -> Result<(), Error> {
        self.rows += 1;
        if self.rows == 1 {
            self.begin = window.bounds.0;
        }
        self.end = window.bounds.1;
        let fixed = [
            (self.windows_before + self.rows).to_string(),
            written(window.bounds.0),
            written(window.bounds.1),
            window.iterations.to_string(),
            u8::from(window.converged).to_string(),
        ];
        let measures = window.measures.iter().map(|&measure| written(measure));
        self.table.write((row(fixed.into_iter().chain(measures), Separator::COMMA) + "\n").as_bytes())?;
        // NaN is as far from convergence as infinity, and has no place on an axis.
        let worst = if window.worst.is_nan() { f64::INFINITY } else { window.worst };
        let bar = Bar { iterations: window.iterations, converged: window.converged, worst };
        self.add_bar(bar);
        Ok(())
    }

    fn add_bar(&mut self, bar: Bar) {
        match self.bars.last_mut() {
            Some(last) if self.in_last_bar < self.per_bar => {
                *last = joined(*last, bar);
                self.in_last_bar += 1;
            }
            _ => {
                self.bars.push(bar);
                self.in_last_bar = 1;
            }
        }
        if self.bars.len() > MAX_BARS {
            // The last bar, which has just begun, has no neighbour. It goes on.
            self.bars =
                self.bars.chunks(2).map(|two| two.iter().copied().reduce(joined).unwrap_or(two[0])).collect();
            self.per_bar *= 2;
        }
    }

    /// Ends both files.
    pub fn finish(mut self) -> Result<(), Error> {
        let plot = self.drawn();
        self.plot.write(plot.as_bytes())?;
        self.table.finish()?;
        self.plot.finish()
    }

    /// Returns the plot as SVG.
    fn drawn(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH_PX} {HEIGHT_PX}\" \
             width=\"{WIDTH_PX}\" height=\"{HEIGHT_PX}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT_PX}\" y=\"24\" font-size=\"15\">{}: iterations of {} windows</text>\n",
            self.title, self.rows
        );
        let most = self.bars.iter().map(|bar| bar.iterations).max().unwrap_or(1);
        let width = (RIGHT_PX - LEFT_PX) / (self.bars.len().max(1) as f64);
        let mut line = String::new();
        for (at, bar) in self.bars.iter().enumerate() {
            let x = LEFT_PX + width * at as f64;
            let height = (BARS_BOTTOM_PX - BARS_TOP_PX) * bar.iterations as f64 / most as f64;
            let colour = if bar.converged { "#0072B2" } else { "#D55E00" };
            let (top, shown) = (BARS_BOTTOM_PX - height, (width * 0.9).max(0.5));
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{shown:.2}\" height=\"{height:.2}\" \
                 fill=\"{colour}\"/>"
            );
            let _ = write!(line, "{:.2},{:.2} ", x + width * 0.45, share_height(bar.worst));
        }
        let _ = writeln!(svg, "<polyline points=\"{line}\" fill=\"none\" stroke=\"#009E73\"/>");
        self.draw_axes(&mut svg, most);
        svg += "</svg>\n";
        svg
    }

    fn draw_axes(&self, svg: &mut String, most: u64) {
        let limit = share_height(1.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT_PX} {BARS_TOP_PX}V{BARS_BOTTOM_PX}H{RIGHT_PX}\
             M{LEFT_PX} {LINE_TOP_PX}V{LINE_BOTTOM_PX}H{RIGHT_PX}\" fill=\"none\" stroke=\"#000000\"/>\n\
             <path d=\"M{LEFT_PX} {limit:.2}H{RIGHT_PX}\" stroke=\"#D55E00\" stroke-dasharray=\"4 3\"/>"
        );
        let mut text = |x: f64, y: f64, anchor: &str, what: &str| {
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{what}</text>");
        };
        let left = LEFT_PX - 6.0;
        text(left, BARS_TOP_PX + 4.0, "end", &most.to_string());
        text(left, BARS_BOTTOM_PX + 4.0, "end", "0");
        text(left, limit + 4.0, "end", "1");
        text(left, share_height(1e-3) + 4.0, "end", "1e-3");
        text(left, share_height(MIN_SHARE) + 4.0, "end", "1e-6");
        let last = "the largest change of the last iteration over its limit (dashed: the limit)";
        text(LEFT_PX, LINE_TOP_PX - 8.0, "start", last);
        text(LEFT_PX, HEIGHT_PX - 28.0, "start", &ShownTime(self.begin).to_string());
        text(RIGHT_PX, HEIGHT_PX - 28.0, "end", &ShownTime(self.end).to_string());
        let legend = if self.per_bar > 1 {
            format!("Each bar is the largest of {} windows. Orange: no convergence", self.per_bar)
        } else {
            "Orange: no convergence".to_owned()
        };
        text(LEFT_PX, HEIGHT_PX - 8.0, "start", &legend);
    }
}

/// Returns a bar for two neighbours.
fn joined(one: Bar, other: Bar) -> Bar {
    Bar {
        iterations: one.iterations.max(other.iterations),
        converged: one.converged && other.converged,
        worst: one.worst.max(other.worst),
    }
}

/// Returns the height of a share of the limit on the logarithmic axis, which ends at ten times the limit.
fn share_height(share: f64) -> f64 {
    let (low, high) = (MIN_SHARE.log10(), 1.0);
    let place = share.clamp(MIN_SHARE, 10.0).log10();
    LINE_BOTTOM_PX - (LINE_BOTTOM_PX - LINE_TOP_PX) * (place - low) / (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a test, which ends with it.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("ligament-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn record(folder: &std::path::Path) -> CouplingRecord {
        CouplingRecord {
            title: "coupling".to_owned(),
            table: AtomicFile::create(folder.join("a.csv")).unwrap(),
            plot: AtomicFile::create(folder.join("a.svg")).unwrap(),
            rows: 0,
            windows_before: 0,
            begin: 0.0,
            end: 0.0,
            bars: Vec::new(),
            per_bar: 1,
            in_last_bar: 0,
        }
    }

    fn window(iterations: u64, converged: bool) -> WindowRow {
        WindowRow { bounds: (0.0, 1.0), iterations, converged, measures: vec![], worst: 0.1 }
    }

    #[test]
    fn many_windows_share_bars_and_none_is_lost() {
        let folder = Folder::new("shared-bars");
        let mut record = record(&folder.0);
        for number in 1..=5000 {
            record.add(&window(number, number != 4321)).unwrap();
        }
        assert!(record.bars.len() <= MAX_BARS);
        assert_eq!(record.bars.last().unwrap().iterations, 5000);
        assert_eq!(record.bars.iter().filter(|bar| !bar.converged).count(), 1);
        let svg = record.drawn();
        assert!(svg.contains("iterations of 5000 windows") && svg.contains("largest of 16 windows"), "{svg}");
        let drawn = svg.matches("<rect x=").count();
        assert_eq!(drawn, record.bars.len());
    }

    #[test]
    fn heights_follow_the_numbers() {
        let folder = Folder::new("heights");
        let mut record = record(&folder.0);
        record.add(&window(4, true)).unwrap();
        record.add(&window(2, false)).unwrap();
        let svg = record.drawn();
        assert!(svg.contains("height=\"200.00\" fill=\"#0072B2\""), "{svg}");
        assert!(svg.contains("height=\"100.00\" fill=\"#D55E00\""), "{svg}");
        assert_eq!((share_height(0.0), share_height(1e9)), (LINE_BOTTOM_PX, LINE_TOP_PX));
    }

    #[test]
    fn the_table_has_a_row_for_each_window() {
        let folder = Folder::new("rows");
        let mut record = record(&folder.0);
        let row = WindowRow { measures: vec![1e-7, 0.5], ..window(3, true) };
        record.add(&row).unwrap();
        record.finish().unwrap();
        let table = std::fs::read_to_string(folder.0.join("a.csv")).unwrap();
        assert_eq!(table, "1,0.0,1.0,3,1,1e-7,0.5\n");
        assert!(folder.0.join("a.svg").exists());
    }
}
