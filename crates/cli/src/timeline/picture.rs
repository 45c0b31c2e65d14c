//! The picture of a run in SVG: a row for each instance or component, with wall time from left to right.

use crate::picture::xml;
use ligament_manager::format_seconds;
use ligament_runtime::timeline::{ShareRow, TimeShares, KINDS};
use std::fmt::Write;

/// Colours of `KINDS`, distinct for people with any colour vision (Okabe & Ito, "Color Universal Design",
/// 2008).
pub(super) const COLOURS: [&str; KINDS.len()] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000"];

const WIDTH: f64 = 1350.0;
const LEFT_MARGIN_PX: f64 = 190.0;
const TOP: f64 = 84.0;
/// Width of the chart.
const CHART: f64 = 800.0;
const ROW: f64 = 24.0;
const GAP: f64 = 8.0;
const SHARES: f64 = 110.0;
/// Maximum number of characters of a name that fit beside the chart.
const NAME: usize = 26;

/// The texts around the rows of the picture, such as its title.
pub(super) struct PictureTexts<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    /// Wall time of the run, in s.
    pub seconds: f64,
    /// Number of rows that are left out because the picture has no room for them.
    pub hidden: usize,
}

fn shortened(name: &str) -> String {
    if name.chars().count() > NAME {
        format!("…{}", name.chars().skip(name.chars().count() - NAME + 1).collect::<String>())
    } else {
        name.to_owned()
    }
}

/// Returns a round distance for the ticks of the time axis, such that the axis has about eight ticks.
fn step(seconds: f64) -> f64 {
    const ROUND: [f64; 3] = [1.0, 2.0, 5.0];
    let rough = (seconds / 8.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    ROUND.into_iter().chain([10.0]).map(|round| round * power).find(|&step| step >= rough).unwrap_or(power)
}

/// Returns the label of a tick, with as many digits as the distance of the ticks needs: `0.25`.
fn tick(at: f64, step: f64, unit: f64) -> String {
    let digits = (-(step / unit).log10().floor()).max(0.0) as usize;
    format!("{:.digits$}", at / unit)
}

/// Returns the picture as SVG.
pub(super) fn draw(rows: &[ShareRow], around: &PictureTexts<'_>) -> String {
    let bottom = TOP + rows.len() as f64 * (ROW + GAP);
    let height = bottom + 64.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"title description\" font-family=\"Helvetica, \
         Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title id=\"title\">{}</title>\n<desc \
         id=\"description\">{}</desc>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        xml(around.title),
        xml(&describe(rows))
    );
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT_MARGIN_PX}\" y=\"28\" font-size=\"18\" font-weight=\"bold\">{}</text>\n\
         <text x=\"{LEFT_MARGIN_PX}\" y=\"48\" fill=\"#555\">{}</text>",
        xml(around.title),
        xml(around.subtitle)
    );
    legend(&mut svg);
    axis(&mut svg, around.seconds, bottom);
    for (i, row) in rows.iter().enumerate() {
        draw_row(&mut svg, row, TOP + i as f64 * (ROW + GAP));
    }
    if around.hidden > 0 {
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT_MARGIN_PX}\" y=\"{}\" fill=\"#555\">… and {} more rows</text>",
            bottom + 56.0,
            around.hidden
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the picture in words, for readers who cannot see it.
fn describe(rows: &[ShareRow]) -> String {
    let mut text = String::from("What part of its time each row spent on what.");
    for row in rows {
        let parts = row.parts();
        let of = KINDS.iter().zip(parts).filter(|(_, part)| *part >= 0.005);
        let list: Vec<String> = of.map(|(kind, part)| format!("{kind} {:.0} %", part * 100.0)).collect();
        let _ = write!(text, " {}: {}.", row.name, list.join(", "));
    }
    text
}

fn legend(svg: &mut String) {
    let mut x = LEFT_MARGIN_PX;
    for (kind, colour) in KINDS.iter().zip(COLOURS) {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"60\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"71\">{kind}</text>",
            x + 17.0
        );
        x += 90.0;
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"60\" width=\"12\" height=\"12\" fill=\"#f2f2f2\" stroke=\"#ccc\"/>\
         <text x=\"{}\" y=\"71\">not there</text><text x=\"{}\" y=\"71\" fill=\"#555\">of its time</text>",
        x + 17.0,
        LEFT_MARGIN_PX + CHART + 20.0
    );
}

fn axis(svg: &mut String, seconds: f64, bottom: f64) {
    let (unit, name) = match seconds {
        s if s < 1e-3 => (1e-6, "µs"),
        s if s < 1.0 => (1e-3, "ms"),
        s if s < 7200.0 => (1.0, "s"),
        _ => (3600.0, "h"),
    };
    let step = step(seconds / unit) * unit;
    let mut count = 0;
    while f64::from(count) * step <= seconds * 1.000_001 && seconds > 0.0 {
        let at = f64::from(count) * step;
        let x = LEFT_MARGIN_PX + at / seconds * CHART;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            tick(at, step, unit)
        );
        count += 1;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">wall time since the run began, \
         {name}</text>",
        LEFT_MARGIN_PX + CHART / 2.0,
        bottom + 36.0
    );
}

fn draw_row(svg: &mut String, row: &ShareRow, y: f64) {
    let middle = y + ROW / 2.0 + 4.5;
    let parts = row.parts();
    let spent: Vec<String> = (KINDS.iter().zip(row.seconds).zip(parts))
        .map(|((kind, seconds), part)| format!("{kind} {} ({:.1} %)", format_seconds(seconds), part * 100.0))
        .collect();
    let _ = writeln!(
        svg,
        "<g><title>{}: {}</title>\n<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>\n\
         <rect x=\"{LEFT_MARGIN_PX}\" y=\"{y}\" width=\"{CHART}\" height=\"{ROW}\" fill=\"#f2f2f2\"/>",
        xml(&row.name),
        spent.join(", "),
        LEFT_MARGIN_PX - 10.0,
        xml(&shortened(&row.name))
    );
    for (kind, colour) in COLOURS.iter().enumerate() {
        let path = area(&row.columns, kind, y);
        if !path.is_empty() {
            let _ = writeln!(svg, "<path fill=\"{colour}\" d=\"{path}\"/>");
        }
    }
    let mut x = LEFT_MARGIN_PX + CHART + 20.0;
    for (part, colour) in parts.iter().zip(COLOURS) {
        let width = part * SHARES;
        if width >= 0.05 {
            let _ = write!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"{}\" fill=\"{colour}\"/>",
                y + 4.0,
                ROW - 8.0
            );
        }
        x += width;
    }
    let percent = |kind: usize| format!("{:.0} %", parts[kind] * 100.0);
    let copying = parts[2] + parts[3];
    let copies = if copying >= 0.005 { format!(", copy {:.0} %", copying * 100.0) } else { String::new() };
    let _ = writeln!(
        svg,
        "\n<text x=\"{}\" y=\"{middle}\" font-size=\"11\">compute {}, wait {}{copies}</text></g>",
        LEFT_MARGIN_PX + CHART + 20.0 + SHARES + 8.0,
        percent(0),
        percent(1)
    );
}

/// Returns the area of one kind of activity, stacked upon the kinds before it. Neighbouring columns of
/// equal height are joined.
fn area(columns: &[TimeShares], kind: usize, y: f64) -> String {
    /// Number of steps to which heights are rounded.
    const STEPS: f64 = 48.0;
    let rounded = |part: f64| (part.clamp(0.0, 1.0) * STEPS).round() / STEPS;
    let ends = |column: &TimeShares| {
        let below: f64 = column[..kind].iter().sum();
        (rounded(below), rounded(below + column[kind]))
    };
    let width = CHART / columns.len().max(1) as f64;
    let mut path = String::new();
    let mut i = 0;
    while i < columns.len() {
        let (low, high) = ends(&columns[i]);
        let count = columns[i..].iter().take_while(|&column| ends(column) == (low, high)).count();
        if high > low {
            let _ = write!(
                path,
                "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z",
                LEFT_MARGIN_PX + i as f64 * width,
                y + ROW * (1.0 - high),
                count as f64 * width,
                ROW * (high - low),
                count as f64 * width
            );
        }
        i += count;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_not_too_many() {
        for seconds in [1e-6, 0.0031, 0.25, 1.0, 7.3, 99.0, 3601.0, 1e6] {
            let step = step(seconds);
            assert!((4.0..=9.0).contains(&(seconds / step)), "{seconds}: {step}");
        }
        assert_eq!(tick(0.5, 0.25, 1.0), "0.5");
        assert_eq!(tick(0.004, 0.002, 1e-3), "4");
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let row = ShareRow {
            name: "<a>&\"b\u{1}".into(),
            columns: vec![[0.5, 0.5, 0.0, 0.0, 0.0]; 4],
            seconds: [1.0; 5],
        };
        let svg = draw(&[row], &PictureTexts { title: "<t>", subtitle: "", seconds: 4.0, hidden: 2 });
        assert!(svg.contains("&lt;a&gt;&amp;&quot;b") && !svg.contains("<a>") && !svg.contains('\u{1}'));
        assert!(svg.contains("… and 2 more rows"));
    }

    #[test]
    fn equal_columns_become_one_block() {
        let columns = vec![[1.0, 0.0, 0.0, 0.0, 0.0]; 10];
        assert_eq!(area(&columns, 0, 0.0).matches('M').count(), 1);
        assert_eq!(area(&columns, 1, 0.0), "");
    }
}
