//! From the points of one mesh to those of another. Both meshes come from files, and the weights are computed before the
//! run's first message.

use super::{name_of, on};
use crate::files::{npy, Lines};
use crate::mapping::{Constraint, Point, Weights};
use crate::numbers::{in_rows, numbers_of, with_elements};
use crate::settings::{self, bad, unfit, wrong};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Error, Inputs, Instance, Mapper, Order, Outputs};

/// A mapping between meshes.
pub(crate) struct Mesh(Weights);

impl Mesh {
    pub fn new(instance: &Instance) -> Result<Mesh, Error> {
        let text = |name| settings::text(instance, name);
        let constraint = match text("constraint")?.as_deref() {
            Some("conservative") => Constraint::Conservative,
            _ => Constraint::Consistent,
        };
        let (from, to) = (text("from")?.unwrap_or_default(), text("to")?.unwrap_or_default());
        let (cells, linear) = (text("cells")?, text("method")?.as_deref() == Some("linear"));
        let (sources, targets) = (points(&from)?, points(&to)?);
        let weights = match (linear, cells) {
            (false, _) => Weights::nearest(&sources, &targets, constraint),
            (true, Some(cells)) => Weights::linear(&sources, &targets, &corners(&cells)?, constraint),
            (true, None) => {
                let whose = if constraint == Constraint::Consistent { "from" } else { "to" };
                return Err(wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"method: linear\" needs \"cells\", a file with the corners of the cells of the mesh \"{whose}\""
                )));
            }
        };
        weights.map(Mesh).map_err(|why| bad(why.told(|why| format!("the mapping from {from} to {to}: {why}"))))
    }
}

impl Mapper for Mesh {
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let mut numbers = numbers_of(&on(inputs, "in", &who)?.data, &who)?;
        let shape = &numbers.frame.shape;
        if shape.first() != Some(&(self.0.sources() as u64)) {
            return Err(unfit(fault!(
                CANNOT_MAP,
                "{who}: its mesh \"from\" has {} points, and an array with shape {shape:?} came, whose first axis has another \
                 length",
                self.0.sources()
            )));
        }
        let components = shape[1..].iter().product::<u64>() as usize;
        let made = self.0.apply(&in_rows(&numbers), components);
        numbers.frame.shape[0] = self.0.targets() as u64;
        numbers.frame.order = Order::RowMajor;
        outputs.send_to_all(&with_elements(numbers, made).into_value())
    }
}

/// A table of numbers from a `.npy` file, or from text with or without a header.
fn table(name: &str) -> Result<(usize, Vec<f64>), Error> {
    if name.ends_with(".npy") {
        let mut reader = npy::Reader::open(name)?;
        let [_, width] = reader.shape[..] else {
            let (path, shape) = (reader.path.display(), &reader.shape);
            return Err(bad(fault!(
                BAD_MESH,
                "{path} has shape {shape:?}, and a row for each point or cell is wanted"
            )));
        };
        return Ok((width as usize, in_rows(&numbers_of(&reader.whole()?, name)?)));
    }
    let mut lines = Lines::open(name)?;
    let (mut width, mut all) = (None, Vec::new());
    while let Some(line) = lines.next()? {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<String> =
            line.split([',', ';', '\t', ' ']).filter(|cell| !cell.is_empty()).map(str::to_owned).collect();
        let numbers: Result<Vec<f64>, &String> =
            cells.iter().map(|cell| cell.parse().map_err(|_| cell)).collect();
        match numbers {
            // The header.
            Err(_) if width.is_none() && all.is_empty() => width = Some(cells.len()),
            Err(cell) => return Err(lines.malformed(&format!("\"{cell}\" is no number"))),
            Ok(numbers) => {
                let (has, others) = (numbers.len(), *width.get_or_insert(numbers.len()));
                if has != others {
                    return Err(
                        lines.malformed(&format!("this row has {has} numbers, and others have {others}"))
                    );
                }
                all.extend(numbers);
            }
        }
    }
    Ok((width.unwrap_or(0), all))
}

fn of_file(name: &str, why: Fault) -> Error {
    bad(why.told(|why| format!("{name}: {why}")))
}

fn points(name: &str) -> Result<Vec<Point>, Error> {
    let (width, numbers) = table(name)?;
    if !(1..=3).contains(&width) {
        return Err(of_file(
            name,
            fault!(BAD_MESH, "points have one to three coordinates, and these have {width}"),
        ));
    }
    let point = |row: &[f64]| std::array::from_fn(|axis| row.get(axis).copied().unwrap_or(0.0));
    Ok(numbers.chunks_exact(width).map(point).collect())
}

fn corners(name: &str) -> Result<Vec<Vec<u32>>, Error> {
    let (width, numbers) = table(name)?;
    if !(2..=4).contains(&width) {
        return Err(of_file(name, fault!(BAD_MESH, "cells have two to four corners, and these have {width}")));
    }
    let is_number = |&number: &f64| number.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&number);
    if let Some(other) = numbers.iter().find(|number| !is_number(number)) {
        return Err(of_file(
            name,
            fault!(BAD_MESH, "{other} is no number of a point, which are counted from 0 on"),
        ));
    }
    Ok(numbers.chunks_exact(width).map(|row| row.iter().map(|&number| number as u32).collect()).collect())
}
