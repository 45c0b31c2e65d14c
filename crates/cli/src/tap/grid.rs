//! `ligament tap` of a field of all blocks of a grid: its values, or surfaces on which it has a value.

use super::{draw, vtk, Tap, RETRY_PAUSE, VALUE_WAIT};
use crate::arguments::print;
use ligament_catalogue::{fault, Code, Fault};
use ligament_coupling::values::{as_json, as_npy};
use ligament_manager::{find_run, format_bytes, GridRecord, RunDirectory, RunRecord};
use ligament_runtime::client::{
    record_of, GridEvent, GridPicture, GridTap, GridTapRequest, PortOf, DEFAULT_BOX_BYTES,
};
use ligament_surface::{nan_points, Header, Mesh, MeshBuilder};
use ligament_wire::tap::text_of;
use ligament_wire::times::in_unit;
use ligament_wire::Value;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A surface of all blocks.
pub(super) struct WholeSurface {
    pub level: f64,
    pub mesh: Mesh,
    /// The least and the greatest value of the field. `None` if no value is a number.
    range: Option<(f64, f64)>,
    /// Number of values that are no number.
    nan_points: u64,
    bytes: u64,
    /// True if the grid has one point along an axis.
    is_flat: bool,
}

/// Returns true if the port is a field of all blocks of a grid.
pub(super) fn is_whole(arguments: &Tap, port: &PortOf) -> bool {
    if !arguments.level.is_empty() {
        return true;
    }
    let record = find_run(&arguments.run).and_then(|run| record_of(&run));
    let names = |grid: &GridRecord| grid.component == port.instance || is_one_of(&port.instance, grid);
    let has_grid = record.is_ok_and(|record| record.grids.iter().any(names));
    has_grid && port.rank.is_none() && port.slot.is_none()
}

/// Returns true if the grid is that of one instance of this component.
fn is_one_of(component: &str, grid: &GridRecord) -> bool {
    grid.component.strip_prefix(component).is_some_and(|rest| rest.starts_with('['))
}

/// Shows a field of all blocks.
pub(super) fn shown(
    arguments: &Tap,
    port: &PortOf,
    every: Duration,
    patience: Option<Duration>,
) -> Result<(), Fault> {
    check(arguments)?;
    let run = find_run(&arguments.run)?;
    let record = record_of(&run)?;
    let request = GridTapRequest {
        component: whole_component(&record, port)?,
        field: port.port.clone(),
        levels: arguments.level.clone(),
        room: arguments.room.unwrap_or(DEFAULT_BOX_BYTES),
        share: arguments.share,
    };
    let mut tapping = begun(&run, &request, patience)?;
    let count_files = arguments.save.as_ref().is_some_and(|name| name.to_string_lossy().contains("{n}"));
    let only_one = arguments.once || arguments.save.is_some() && !count_files;
    let (mut told, mut last) = (0usize, Instant::now());
    loop {
        match tapping.next(patience.unwrap_or(VALUE_WAIT).min(VALUE_WAIT))? {
            GridEvent::Picture(picture) => {
                tell(arguments, port, &Shot { picture: *picture, number: told, record: &record })?;
                told += 1;
                if only_one {
                    return Ok(());
                }
                tapping.rest(every);
                last = Instant::now();
            }
            GridEvent::Nothing => {
                if let Some(patience) = patience.filter(|patience| last.elapsed() >= *patience) {
                    return Err(timed_out(port, &tapping, patience));
                }
            }
            GridEvent::Over(why) if told == 0 => {
                return Err(fault!(TAP_REFUSED, "no whole {port} has come since it is looked at: {why}"))
            }
            GridEvent::Over(why) => {
                if !arguments.json {
                    crate::say(&why);
                }
                return Ok(());
            }
        }
    }
}

/// Returns the error of a tap to which no picture has come in time. It names blocks that have not answered.
fn timed_out(port: &PortOf, tapping: &GridTap, patience: Duration) -> Fault {
    let (seconds, blocks) = (patience.as_secs_f64(), tapping.block_count());
    match tapping.silent_blocks() {
        Some((count, names)) => fault!(
            TIMED_OUT,
            "no whole {port} has come for {seconds} s: {count} of its {blocks} blocks have not answered: \
             {names}. A block answers when it publishes the field; see with \"ligament status\" if it waits, \
             or give it more time (--timeout)"
        ),
        None => fault!(
            TIMED_OUT,
            "no whole {port} has come for {seconds} s; give its {blocks} blocks more time (--timeout), or a \
             larger share of the run's time (--share)"
        ),
    }
}

/// Checks that what is wanted of a whole grid fits together.
fn check(arguments: &Tap) -> Result<(), Fault> {
    let Tap { slice, thin, histogram, key, .. } = arguments;
    if slice.is_some() || thin.is_some() || histogram.is_some() || !key.is_empty() {
        return Err(fault!(
            BAD_ARGUMENT,
            "a slice, every n-th element, a histogram and a key are of one block; name it: plate[0].u, or \
             plate:0.u if the blocks are ranks"
        ));
    }
    let ending = arguments.save.as_deref().and_then(Path::extension).map(|ending| ending.to_string_lossy());
    match (ending.as_deref(), arguments.level.is_empty()) {
        (Some("vtp"), true) => {
            Err(fault!(BAD_ARGUMENT, "a .vtp file holds surfaces; say with --level at which value"))
        }
        (Some("pvti" | "npy"), false) => {
            Err(fault!(BAD_ARGUMENT, "surfaces are saved as .vtp; leave --level out to save all values"))
        }
        _ => Ok(()),
    }
}

/// Returns the component of a grid that the port names without an index.
fn whole_component(record: &RunRecord, port: &PortOf) -> Result<String, Fault> {
    let component = &port.instance;
    if GridTap::grid(record, component).is_some() && port.rank.is_none() && port.slot.is_none() {
        return Ok(component.clone());
    }
    let grids: Vec<&str> = record.grids.iter().map(|grid| grid.component.as_str()).collect();
    let grids = if grids.is_empty() { "no grid".to_owned() } else { grids.join(", ") };
    Err(fault!(
        TAP_REFUSED,
        "{port} is no field of a whole grid; name one as COMPONENT.FIELD, or as INSTANCE.FIELD if the blocks \
         are ranks; the run has {grids}"
    ))
}

/// Begins to view the field. Waits until all blocks have published it.
fn begun(run: &RunDirectory, request: &GridTapRequest, patience: Option<Duration>) -> Result<GridTap, Fault> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        match GridTap::begin(run, &record_of(run)?, request) {
            Ok(Some(tapping)) => return Ok(tapping),
            Ok(None) => {
                return Err(fault!(
                    TAP_REFUSED,
                    "{} is not under way, or not on this machine: there is nothing to look at",
                    run.name()
                ))
            }
            Err(why)
                if why.code() == Code::TAP_TOO_EARLY && until.is_none_or(|until| Instant::now() < until) =>
            {
                std::thread::sleep(RETRY_PAUSE);
            }
            Err(why) => return Err(why),
        }
    }
}

/// A picture, and its place among those of this tap.
struct Shot<'a> {
    picture: GridPicture,
    number: usize,
    record: &'a RunRecord,
}

/// Prints, draws or saves one picture.
fn tell(arguments: &Tap, port: &PortOf, shot: &Shot<'_>) -> Result<(), Fault> {
    let Shot { picture, number, record } = shot;
    let time_unit = record.time_unit.as_deref();
    let time = in_unit(picture.time, time_unit);
    let name = arguments.save.as_ref().map(|name| name.to_string_lossy().replace("{n}", &number.to_string()));
    let field = vtk::FieldInfo { name: &port.port, unit: &picture.unit, time: picture.time };
    let about = serde_json::json!({
        "ok": true,
        "port": port.to_string(),
        "timestamp": picture.time,
        "unit": picture.unit,
        "shape": picture.shape,
        "blocks": picture.blocks.len(),
        "bytes": picture.bytes(),
        "cost": picture.cost.as_secs_f64(),
    });
    if arguments.level.is_empty() {
        let whole = picture.whole()?;
        match name.map(PathBuf::from) {
            Some(name) if name.extension().is_some_and(|ending| ending == "npy") => {
                crate::picture::write_file(&name, |out| out.write_all(&as_npy(&whole)))?;
            }
            Some(name) => vtk::write_images(&name, &field, picture, &whole)?,
            None => {}
        }
        let value = Value::Array(whole);
        if arguments.json {
            let about = about.to_string();
            print(&format!("{},\"value\":{}}}\n", about.trim_end_matches('}'), as_json(&value)));
            return Ok(());
        }
        let blocks = picture.blocks.len();
        print(&format!("{port} at {time} ({blocks} blocks): {}\n", draw::in_words(&value, false)));
        if arguments.plot || std::io::stdout().is_terminal() {
            print(&draw::drawn(&value, false));
        }
        return Ok(());
    }
    let levels = arguments.level.iter().enumerate();
    let surfaces = levels.map(|(place, level)| surface(picture, place, *level));
    let surfaces = surfaces.collect::<Result<Vec<WholeSurface>, Fault>>()?;
    if let Some(name) = name {
        vtk::write_surfaces(Path::new(&name), &field, &surfaces)?;
    }
    if arguments.json {
        let mut about = about;
        about["levels"] = surfaces.iter().map(|one| one.as_json()).collect();
        print(&format!("{about}\n"));
        return Ok(());
    }
    for one in &surfaces {
        print(&format!("{port} at {time}: {}\n", one.in_words(&picture.unit)));
    }
    Ok(())
}

/// Joins the surfaces of the blocks at a level.
fn surface(picture: &GridPicture, place: usize, level: f64) -> Result<WholeSurface, Fault> {
    let mut builder = MeshBuilder::new();
    let mut headers: Vec<Header> = Vec::new();
    let (mut bytes, mut nans) = (0, 0);
    for (block, one) in picture.blocks.iter().zip(picture.surfaces(place)) {
        bytes += one.len() as u64;
        headers.push(builder.add(one).map_err(Fault::from)?);
        // A surface has three axes, as the picture has checked.
        let own = std::array::from_fn(|axis| block.range.get(axis).map_or(0, |(begin, end)| end - begin));
        nans += nan_points(one, own).map_err(Fault::from)?;
    }
    let numbers = headers.iter().filter(|header| header.min <= header.max);
    let range = numbers.map(|header| (header.min, header.max));
    let range = range.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let ends = |axis: usize| picture.blocks.iter().filter_map(move |block| Some(block.range.get(axis)?.1));
    let is_flat = (0..3).any(|axis| ends(axis).max() == Some(1));
    Ok(WholeSurface { level, mesh: builder.finish(), range, nan_points: nans, bytes, is_flat })
}

impl WholeSurface {
    fn as_json(&self) -> serde_json::Value {
        let WholeSurface { level, mesh, range, nan_points, bytes, .. } = self;
        // JSON has no form for infinities. The sum of no areas is a negative zero, which nobody expects.
        let bound = |bound: f64| bound.is_finite().then_some(bound);
        serde_json::json!({
            "level": level,
            "triangles": mesh.triangles.len(),
            "points": mesh.points.len(),
            "area": mesh.area() + 0.0,
            "min": range.and_then(|range| bound(range.0)),
            "max": range.and_then(|range| bound(range.1)),
            "nan": nan_points,
            "bytes": bytes,
        })
    }

    fn in_words(&self, unit: &str) -> String {
        let WholeSurface { level, mesh, range, nan_points, bytes, is_flat } = self;
        let with_unit = |number: f64| match unit {
            "" => text_of(number),
            unit => format!("{} {unit}", text_of(number)),
        };
        let mut words = format!("the surface at {}", with_unit(*level));
        words += &match (mesh.triangles.len(), range) {
            (0, None) => " is empty: no value is a number".to_owned(),
            (0, Some((low, high))) => {
                let words = format!(" is empty: the values go from {} to {}", text_of(*low), with_unit(*high));
                let is_between = *low < *level && *level < *high;
                let reason = if is_between && *is_flat {
                    "; the grid has only one point along an axis, so there are no cells between points"
                } else {
                    ""
                };
                words + reason
            }
            (triangles, _) => {
                format!(
                    " has {triangles} triangles, area {:.6}, {}",
                    mesh.area() + 0.0,
                    format_bytes(*bytes as f64)
                )
            }
        };
        if *nan_points > 0 {
            words += &format!("; {nan_points} values are no number, and there is no surface next to them");
        }
        words
    }
}
