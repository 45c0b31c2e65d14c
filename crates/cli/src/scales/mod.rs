//! `ligament scales`: the scale separation map of a model, as text, JSON and picture.

mod draw;

use crate::arguments::{print, Scales};
use crate::check::count;
use draw::ScalesPicture;
use ligament_analysis::{Measure, Quantity, ScaleBox, ScaleMap, Separation};
use ligament_catalogue::{fault, Fault};
use ligament_runtime::shown;
use std::fmt::Write;

/// Maximum number of boxes in a picture. More boxes would hide each other.
const MAX_BOXES: usize = 200;

/// Shows the times and lengths that the components of a model resolve and cover. Returns the exit status.
pub(crate) fn scales(arguments: &Scales) -> i32 {
    match told(arguments) {
        Ok((text, status)) => {
            print(&text);
            status
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn told(arguments: &Scales) -> Result<(String, i32), Fault> {
    let options = crate::check::for_a_look();
    let (report, model) = crate::check::drawable(&arguments.models, arguments.model.as_deref(), options)?;
    let status = crate::check::status_of(&report);
    let map = ScaleMap::of(&model);
    if map.boxes.is_empty() {
        return Err(fault!(
            NO_SCALES,
            "no component of \"{}\" has scales; write for example \"{}: {{time_step: 1 ms, total_time: 2 h}}\" \
             under \"ligament: scales:\"",
            map.model,
            map.without.first().map_or("macro", String::as_str)
        ));
    }
    if let Some(path) = &arguments.output {
        if map.boxes.len() > MAX_BOXES {
            return Err(fault!(NO_PNG, "{} boxes are too many for a picture", map.boxes.len()));
        }
        crate::picture::save(&ScalesPicture::of(&map).svg(), path)?;
    }
    if arguments.json {
        let mut json = crate::check::of_shown(&report);
        json["scales"] = serde_json::json!(map);
        if let Some(path) = &arguments.output {
            json["picture"] = path.display().to_string().into();
        }
        return Ok((format!("{json}\n"), status));
    }
    let mut text = in_lines(&map);
    match &arguments.output {
        Some(path) => {
            let _ = writeln!(text, "\npicture: {}", shown(path));
        }
        None => text.push_str("\n(-o FILE.svg or FILE.png draws it)\n"),
    }
    Ok((text, status))
}

/// Returns the names of the components in a box; if there are many, only the first ones.
fn names(one: &ScaleBox) -> String {
    const MAX_NAMES: usize = 3;
    let rest = one.components.len().saturating_sub(MAX_NAMES);
    let shown = one.components.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if rest > 0 {
        format!("{shown} and {rest} more")
    } else {
        shown
    }
}

/// Returns a range as text: `1 ms – 2 h`.
fn span(range: Option<[f64; 2]>, measure: Measure) -> String {
    let shown = |value| Quantity { value, measure }.to_string();
    match range {
        None => "–".to_owned(),
        Some([least, most]) if least == most => shown(least),
        Some([least, most]) => format!("{} – {}", shown(least), shown(most)),
    }
}

fn in_lines(map: &ScaleMap) -> String {
    let with: usize = map.boxes.iter().map(|one| one.components.len()).sum();
    let mut text = format!("{}: {} with scales\n\n", map.model, count(with, "component"));
    let mut rows = vec![["component", "time", "space", "steps"].map(str::to_owned)];
    for one in &map.boxes {
        let steps = one.steps.map_or("–".to_owned(), |steps| steps.to_string());
        rows.push([names(one), span(one.time, Measure::Time), span(one.space, Measure::Length), steps]);
    }
    let widths: Vec<usize> =
        (0..4).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    if !map.links.is_empty() {
        text.push('\n');
    }
    for link in &map.links {
        let how = [("time", link.time), ("space", link.space)];
        let how: Vec<String> =
            how.iter().filter_map(|(what, how)| how.map(|how| format!("{what} {}", words(how)))).collect();
        let _ = writeln!(
            text,
            "{} ({}) → {} ({}){}{}",
            names(&map.boxes[link.from]),
            link.sent_at,
            names(&map.boxes[link.to]),
            link.received_at,
            if how.is_empty() { "" } else { ": " },
            how.join(", ")
        );
    }
    if !map.without.is_empty() {
        let rest = ScaleBox { components: map.without.clone(), ..map.boxes[0].clone() };
        let _ = writeln!(text, "\nwithout scales: {}", names(&rest));
    }
    text
}

fn words(how: Separation) -> String {
    match how {
        Separation::Separated { factor } if factor < 10.0 => format!("separated {factor:.1} times"),
        Separation::Separated { factor } if factor < 1e5 => format!("separated {factor:.0} times"),
        Separation::Separated { factor } => format!("separated {factor:.0e} times"),
        Separation::Contiguous => "contiguous".to_owned(),
        Separation::Overlapping => "overlapping".to_owned(),
    }
}
