//! The mapper between two meshes. Both meshes come from files, and the weights are computed before the first
//! message of the run.

use super::radial::{only_radial, radial_basis};
use super::{name_of, on};
use crate::files::npy;
use crate::mapping::{Constraint, KdTree, Point, Weights};
use crate::numbers::{in_rows, numbers_of, with_elements};
use crate::settings::{self, bad, unfit, wrong};
use crate::tables::{number, Decimal, TableRows};
use ligament_catalogue::{fault, Fault};
use ligament_filters::{said_of_masked, without_own_zero};
use ligament_instance::{ArrayOrder, Error, Instance, LogLevel, Mapper, MapperInputs, Outputs};

/// A mapping between meshes.
pub(crate) struct Mesh {
    weights: Weights,
    constraint: Constraint,
    masked: MaskFilling,
    warned: bool,
}

/// The treatment of values that are NaN.
enum MaskFilling {
    /// A point is NaN if one of its sources is.
    Keep,
    /// Sources that are NaN are left out.
    Skip,
    /// Sources that are NaN first get the value of the nearest other point.
    Nearest(NearestFilling),
}

/// Finds for each point that is NaN the nearest point with a value.
struct NearestFilling {
    points: Vec<Point>,
    /// The points that were NaN in the last message, and the points nearest to them.
    last: (Vec<u32>, Vec<u32>),
}

impl NearestFilling {
    /// Replaces each NaN by the value of the nearest point that has a value.
    fn fill(&mut self, values: &mut [f64], components: usize) {
        for c in 0..components {
            let of = |i: u32| i as usize * components + c;
            let (masked, known): (Vec<u32>, Vec<u32>) =
                (0..self.points.len() as u32).partition(|&i| values[of(i)].is_nan());
            if masked.is_empty() || known.is_empty() {
                continue;
            }
            if self.last.0 != masked {
                let place = |&i: &u32| self.points[i as usize];
                let places: Vec<Point> = known.iter().map(place).collect();
                let asked: Vec<Point> = masked.iter().map(place).collect();
                let nearest = KdTree::new(&places).nearest_of_all(&asked);
                self.last = (masked, nearest.into_iter().map(|i| known[i as usize]).collect());
            }
            let (masked, nearest) = &self.last;
            masked.iter().zip(nearest).for_each(|(&i, &from)| values[of(i)] = values[of(from)]);
        }
    }
}

impl Mesh {
    pub fn new(instance: &Instance) -> Result<Mesh, Error> {
        let text = |name| settings::text(instance, name);
        let constraint = match text("constraint")?.as_deref() {
            Some("conservative") => Constraint::Conservative,
            _ => Constraint::Consistent,
        };
        let (from, to) = (text("from")?.unwrap_or_default(), text("to")?.unwrap_or_default());
        let (cells, method) = (text("cells")?, text("method")?.unwrap_or_else(|| "nearest".to_owned()));
        only_radial(instance, &method)?;
        let ((width, sources), (other, targets)) = (points(&from)?, points(&to)?);
        if width != other {
            return Err(bad(fault!(
                BAD_MESH,
                "the points in {from} have coordinates in {width} columns, and those in {to} in {other}; give \
                 both meshes as many coordinates, with decimal points"
            )));
        }
        let weights = match method.as_str() {
            "radial" => Weights::radial(&sources, &targets, radial_basis(instance, constraint)?, constraint),
            "linear" => {
                let cells = cells.ok_or_else(|| without_cells(constraint))?;
                Weights::linear(&sources, &targets, &corners(&cells)?, constraint)
            }
            _ => Weights::nearest(&sources, &targets, constraint),
        };
        let masked = match (text("masked")?.as_deref(), constraint) {
            (Some("skip"), _) if method == "radial" => {
                return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"masked: skip\" cannot be had with \"method: radial\", where each value has a share in all \
                     others; \"masked: nearest\" fills masked values before"
            )))
            }
            (Some("skip"), _) => MaskFilling::Skip,
            (Some("nearest"), Constraint::Consistent) => {
                MaskFilling::Nearest(NearestFilling { points: sources, last: (Vec::new(), Vec::new()) })
            }
            (Some("nearest"), Constraint::Conservative) => {
                return Err(wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"masked: nearest\" would add to the sum that \"constraint: conservative\" keeps; \
                     \"masked: skip\" leaves masked values out"
                )))
            }
            _ => MaskFilling::Keep,
        };
        let why = |why: Fault| bad(why.told(|why| format!("the mapping from {from} to {to}: {why}")));
        Ok(Mesh { weights: weights.map_err(why)?, constraint, masked, warned: false })
    }
}

impl Mapper for Mesh {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let mut numbers = numbers_of(&on(inputs, "in", &who)?.data, &who)?;
        if self.constraint == Constraint::Conservative {
            // A point may get the sum of several values, or a part of a value.
            without_own_zero(numbers.frame.unit.as_deref(), "sum")
                .map_err(|why| unfit(fault!(CANNOT_MAP, "{who}: {why}")))?;
        }
        let shape = &numbers.frame.shape;
        if shape.first() != Some(&(self.weights.sources() as u64)) {
            return Err(unfit(fault!(
                CANNOT_MAP,
                "{who}: its mesh \"from\" has {} points, and an array with shape {shape:?} came, whose first \
                 axis has another length",
                self.weights.sources()
            )));
        }
        let components = shape[1..].iter().product::<u64>() as usize;
        let mut values = in_rows(&numbers);
        let masked = values.iter().filter(|value| value.is_nan()).count();
        let made = match &mut self.masked {
            _ if masked == 0 => self.weights.apply(&values, components),
            MaskFilling::Keep => {
                if !std::mem::replace(&mut self.warned, true) {
                    let text = said_of_masked(masked, values.len(), outputs.times().timestamp);
                    outputs.instance().log(LogLevel::Warning, &text)?;
                }
                self.weights.apply(&values, components)
            }
            MaskFilling::Skip => self.weights.apply_without_masked(&values, components),
            MaskFilling::Nearest(filling) => {
                filling.fill(&mut values, components);
                self.weights.apply(&values, components)
            }
        };
        numbers.frame.shape[0] = self.weights.targets() as u64;
        numbers.frame.order = ArrayOrder::RowMajor;
        outputs.send_to_all(&with_elements(&numbers, made).into_value())
    }
}

fn without_cells(constraint: Constraint) -> Error {
    let whose = if constraint == Constraint::Consistent { "from" } else { "to" };
    wrong(fault!(
        SHIPPED_SETTING_WRONG,
        "\"method: linear\" needs \"cells\", a file with the corners of the cells of the mesh \"{whose}\""
    ))
}

/// Reads a table of numbers from a `.npy` file, or from a text with or without a header.
fn table(name: &str) -> Result<(usize, Vec<f64>), Error> {
    if name.ends_with(".npy") {
        let mut reader = npy::NpyReader::open(name)?;
        let [_, width] = reader.shape[..] else {
            let (path, shape) = (reader.path.display(), &reader.shape);
            return Err(bad(fault!(
                BAD_MESH,
                "{path} has shape {shape:?}, and a row for each point or cell is wanted"
            )));
        };
        return Ok((width as usize, in_rows(&numbers_of(&reader.whole()?, name)?)));
    }
    let mut rows = TableRows::open(name, None).map_err(bad)?;
    let (mut width, mut all) = (None, Vec::new());
    while let Some(cells) = rows.next().map_err(bad)? {
        let numbers: Vec<Option<f64>> = cells.iter().map(|cell| number(cell, Decimal::Point)).collect();
        if width.is_none() && !cells.iter().any(|cell| is_like_a_number(cell)) {
            // The first row is a header.
            width = Some(cells.len());
            continue;
        }
        let (has, others) = (cells.len(), *width.get_or_insert(cells.len()));
        if has != others {
            return Err(bad(rows.malformed(&format!("this row has {has} numbers, and others have {others}"))));
        }
        for (number, cell) in numbers.into_iter().zip(&cells) {
            all.push(number.ok_or_else(|| bad(rows.malformed(&format!("\"{cell}\" is no number"))))?);
        }
    }
    Ok((width.unwrap_or(0), all))
}

/// Returns true if a cell is a number, or a number with a typing error such as `0.o`, and not the name of a
/// column.
fn is_like_a_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-', '.']);
    number(cell, Decimal::Point).is_some() || digits.starts_with(|c: char| c.is_ascii_digit())
}

fn of_file(name: &str, why: Fault) -> Error {
    bad(why.told(|why| format!("{name}: {why}")))
}

/// Reads the points in a file. Returns the number of coordinates, and the points.
fn points(name: &str) -> Result<(usize, Vec<Point>), Error> {
    let (width, numbers) = table(name)?;
    if !(1..=3).contains(&width) {
        return Err(of_file(
            name,
            fault!(BAD_MESH, "points have one to three coordinates, and these have {width}"),
        ));
    }
    let point = |row: &[f64]| std::array::from_fn(|axis| row.get(axis).copied().unwrap_or(0.0));
    Ok((width, numbers.chunks_exact(width).map(point).collect()))
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
