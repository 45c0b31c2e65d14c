//! Interpolation by radial basis functions: a function of the distance around each known point, and a linear
//! polynomial (Buhmann, Radial Basis Functions, Cambridge, 2003; de Boer et al., Comput. Methods Appl. Mech.
//! Eng. 196, 2007). The system of equations is dense and symmetric, and is factorised once.

use super::{bounds, Point};
use ligament_catalogue::{fault, Fault};

/// The largest number of known points. The time of a factorisation grows with its third power.
const POINT_LIMIT: usize = 4096;
/// The largest number of pairs of a known and an asked point, each of which takes 8 bytes.
const PAIR_LIMIT: usize = 1 << 27;
/// A column of the polynomial whose part beyond the columns before it is smaller than this share is left out.
const DEPENDENT_SHARE: f64 = 1e-8;
/// The value of the Gaussian function at its support radius.
const GAUSSIAN_AT_RADIUS: f64 = 1e-9;

/// A function of the distance. Lengths are those of the coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RadialFunction {
    /// Wendland's function of the smoothness 0, 2, 4, 6 or 8, which is 0 from the radius on (Adv. Comput.
    /// Math. 4, 1995).
    Compact {
        smoothness: u8,
        radius: f64,
    },
    /// A thin plate spline that is cut at the radius.
    CompactSpline {
        radius: f64,
    },
    /// exp(−(shape · distance)²)
    Gaussian {
        shape: f64,
    },
    /// The same, shifted to be 0 from the radius on.
    CutGaussian {
        radius: f64,
    },
    /// √(shape² + distance²)
    Multiquadrics {
        shape: f64,
    },
    /// 1 ∕ √(shape² + distance²)
    InverseMultiquadrics {
        shape: f64,
    },
    ThinPlateSpline,
    VolumeSpline,
}

impl RadialFunction {
    /// Returns the value at a distance.
    pub fn at(self, distance: f64) -> f64 {
        match self {
            RadialFunction::Compact { radius, .. } | RadialFunction::CompactSpline { radius }
                if distance >= radius =>
            {
                0.0
            }
            RadialFunction::Compact { smoothness, radius } => wendland(smoothness, distance / radius),
            RadialFunction::CompactSpline { radius } => cut_spline(distance / radius),
            RadialFunction::Gaussian { shape } => (-(shape * distance).powi(2)).exp(),
            RadialFunction::CutGaussian { radius } if distance >= radius => 0.0,
            RadialFunction::CutGaussian { radius } => {
                let value = (GAUSSIAN_AT_RADIUS.ln() * (distance / radius).powi(2)).exp();
                value - GAUSSIAN_AT_RADIUS
            }
            RadialFunction::Multiquadrics { shape } => shape.hypot(distance),
            RadialFunction::InverseMultiquadrics { shape } => shape.hypot(distance).recip(),
            RadialFunction::ThinPlateSpline if distance == 0.0 => 0.0,
            RadialFunction::ThinPlateSpline => distance * distance * distance.ln(),
            RadialFunction::VolumeSpline => distance,
        }
    }

    /// Returns the distance from which on the function is 0.
    pub fn radius(self) -> Option<f64> {
        match self {
            RadialFunction::Compact { radius, .. }
            | RadialFunction::CompactSpline { radius }
            | RadialFunction::CutGaussian { radius } => Some(radius),
            _ => None,
        }
    }
}

fn wendland(smoothness: u8, p: f64) -> f64 {
    let rest = 1.0 - p;
    match smoothness {
        0 => rest.powi(2),
        2 => rest.powi(4) * (4.0 * p + 1.0),
        4 => rest.powi(6) * ((35.0 * p + 18.0) * p + 3.0) / 3.0,
        6 => rest.powi(8) * (((32.0 * p + 25.0) * p + 8.0) * p + 1.0),
        _ => rest.powi(10) * ((((429.0 * p + 450.0) * p + 210.0) * p + 50.0) * p + 5.0) / 5.0,
    }
}

fn cut_spline(p: f64) -> f64 {
    let logarithm = if p > 0.0 { p.ln() } else { 0.0 };
    1.0 + p * p * (-30.0 + p * (-10.0 - 60.0 * logarithm + p * (45.0 - 6.0 * p)))
}

/// The linear polynomial beside the radial functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polynomial {
    /// It is fitted to the values first, and the functions interpolate the rest.
    Separate,
    /// It is a part of the system of equations.
    On,
    Off,
}

/// A function and its polynomial.
#[derive(Debug, Clone, Copy)]
pub struct RadialBasis {
    pub function: RadialFunction,
    pub polynomial: Polynomial,
}

/// Orthonormal columns of a polynomial: their values at the known and at the asked points.
#[derive(Debug)]
struct PolynomialColumn {
    known: Vec<f64>,
    asked: Vec<f64>,
}

/// The interpolation from known points to asked points.
#[derive(Debug)]
pub(super) struct RadialSystem {
    known: usize,
    asked: usize,
    /// The values of the functions: a row for each asked point.
    functions: Vec<f64>,
    columns: Vec<PolynomialColumn>,
    polynomial: Polynomial,
    factors: Factors,
}

impl RadialSystem {
    /// Returns nothing if there is one known point and a polynomial, which then is the value of that point.
    ///
    /// # Errors
    /// Two known points are at one place; the system is singular, or too large; asked points are out of the
    /// reach of all known points.
    pub(super) fn new(
        known: &[Point],
        asked: &[Point],
        basis: RadialBasis,
    ) -> Result<Option<RadialSystem>, Fault> {
        let pairs = known.len().saturating_mul(asked.len());
        if known.len() > POINT_LIMIT || pairs > PAIR_LIMIT {
            return Err(fault!(
                BAD_MESH,
                "radial basis functions from {} to {} points need a dense system that is too large: it has at \
                 most {POINT_LIMIT} points and {PAIR_LIMIT} pairs; \"method: linear\" or \"nearest\" takes \
                 more",
                known.len(),
                asked.len()
            ));
        }
        apart_from_each_other(known)?;
        in_reach(known, asked, basis)?;
        if known.len() == 1 && basis.polynomial != Polynomial::Off {
            return Ok(None);
        }
        let columns = match basis.polynomial {
            Polynomial::Off => Vec::new(),
            Polynomial::On | Polynomial::Separate => polynomial_columns(known, asked),
        };
        let bordering = if basis.polynomial == Polynomial::On { &columns[..] } else { &[] };
        let size = known.len() + bordering.len();
        let mut matrix = vec![0.0; size * size];
        for (i, a) in known.iter().enumerate() {
            for (j, b) in known.iter().enumerate() {
                matrix[i * size + j] = basis.function.at(distance(a, b));
            }
            for (j, column) in (known.len()..).zip(bordering) {
                matrix[i * size + j] = column.known[i];
                matrix[j * size + i] = column.known[i];
            }
        }
        let factors = Factors::new(matrix, size)?;
        let of_asked = |a| known.iter().map(move |b| basis.function.at(distance(a, b)));
        let functions = asked.iter().flat_map(of_asked).collect();
        let (known, asked, polynomial) = (known.len(), asked.len(), basis.polynomial);
        Ok(Some(RadialSystem { known, asked, functions, columns, polynomial, factors }))
    }

    /// Returns the values at the asked points from those at the known points.
    pub(super) fn interpolate(&self, values: &[f64]) -> Vec<f64> {
        let mut rest = values.to_vec();
        let mut shares = Vec::new();
        if self.polynomial == Polynomial::Separate {
            shares = self.columns.iter().map(|column| dot(&column.known, values)).collect();
            for (column, share) in self.columns.iter().zip(&shares) {
                add(&mut rest, -share, &column.known);
            }
        }
        rest.resize(self.factors.size, 0.0);
        self.factors.solve(&mut rest);
        if self.polynomial == Polynomial::On {
            shares = rest[self.known..].to_vec();
        }
        let mut made: Vec<f64> =
            self.functions.chunks_exact(self.known).map(|row| dot(row, &rest[..self.known])).collect();
        for (column, share) in self.columns.iter().zip(&shares) {
            add(&mut made, *share, &column.asked);
        }
        made
    }

    /// Returns values at the known points from those at the asked points, by the transpose of `interpolate`.
    pub(super) fn distribute(&self, values: &[f64]) -> Vec<f64> {
        let mut made = vec![0.0; self.known];
        for (row, &value) in self.functions.chunks_exact(self.known).zip(values).take(self.asked) {
            add(&mut made, value, row);
        }
        let shares: Vec<f64> = self.columns.iter().map(|column| dot(&column.asked, values)).collect();
        if self.polynomial == Polynomial::On {
            made.extend(&shares);
        }
        self.factors.solve(&mut made);
        made.truncate(self.known);
        if self.polynomial == Polynomial::Separate {
            for (column, share) in self.columns.iter().zip(&shares) {
                let part = share - dot(&column.known, &made);
                add(&mut made, part, &column.known);
            }
        }
        made
    }
}

fn distance(a: &Point, b: &Point) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Adds a multiple of some values to others.
fn add(sum: &mut [f64], share: f64, values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
}

/// Refuses points at one place, for which the system has no solution.
fn apart_from_each_other(known: &[Point]) -> Result<(), Fault> {
    let mut order: Vec<usize> = (0..known.len()).collect();
    // Adding 0 makes 0 of −0.
    let axis = |a: usize, b: usize, axis: usize| (known[a][axis] + 0.0).total_cmp(&(known[b][axis] + 0.0));
    order.sort_by(|&a, &b| axis(a, b, 0).then(axis(a, b, 1)).then(axis(a, b, 2)));
    match order.windows(2).find(|pair| known[pair[0]] == known[pair[1]]) {
        None => Ok(()),
        Some(pair) => Err(fault!(
            BAD_MESH,
            "points {} and {} are both at {:?}, and radial basis functions need different places; leave one of \
             them out, or take \"method: nearest\"",
            pair[0].min(pair[1]),
            pair[0].max(pair[1]),
            known[pair[0]]
        )),
    }
}

/// Refuses asked points that no known point reaches. A polynomial has a value there, so then only some
/// of them may be out of reach.
fn in_reach(known: &[Point], asked: &[Point], basis: RadialBasis) -> Result<(), Fault> {
    let Some(radius) = basis.function.radius() else { return Ok(()) };
    let nearest = super::KdTree::new(known).nearest_of_all(asked);
    let far = |&i: &usize| distance(&asked[i], &known[nearest[i] as usize]) >= radius;
    let lost: Vec<usize> = (0..asked.len()).filter(far).collect();
    let (Some(&first), true) = (lost.first(), basis.polynomial == Polynomial::Off || lost.len() == asked.len())
    else {
        return Ok(());
    };
    Err(fault!(
        BAD_MESH,
        "{} of {} points, the first of which is point {first} at {:?}, have no point of the other mesh within \
         the support radius {radius}; the nearest one is {} away. Look whether the \
         meshes lie beside each other, or give a larger \"support_radius\"",
        lost.len(),
        asked.len(),
        asked[first],
        distance(&asked[first], &known[nearest[first] as usize])
    ))
}

/// Returns orthonormal columns for 1, x, y and z (Gram and Schmidt, twice). A column that depends on those
/// before it at the known points, such as z in a plane, is left out.
fn polynomial_columns(known: &[Point], asked: &[Point]) -> Vec<PolynomialColumn> {
    let (low, high) = bounds(known);
    let extent = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
    let scale = if extent > 0.0 { extent } else { 1.0 };
    let monomial = |points: &[Point], axis: Option<usize>| -> Vec<f64> {
        let middle = |axis: usize| low[axis] + (high[axis] - low[axis]) / 2.0;
        points.iter().map(|point| axis.map_or(1.0, |axis| (point[axis] - middle(axis)) / scale)).collect()
    };
    let mut columns: Vec<PolynomialColumn> = Vec::new();
    for axis in [None, Some(0), Some(1), Some(2)] {
        let mut column = PolynomialColumn { known: monomial(known, axis), asked: monomial(asked, axis) };
        for other in columns.iter().chain(&columns) {
            let share = dot(&column.known, &other.known);
            add(&mut column.known, -share, &other.known);
            add(&mut column.asked, -share, &other.asked);
        }
        let norm = dot(&column.known, &column.known).sqrt();
        if norm <= DEPENDENT_SHARE * (known.len() as f64).sqrt() {
            continue;
        }
        column.known.iter_mut().chain(&mut column.asked).for_each(|value| *value /= norm);
        columns.push(column);
    }
    columns
}

/// The factors of a matrix: lower and upper triangle, and the order of the rows.
#[derive(Debug)]
struct Factors {
    size: usize,
    triangles: Vec<f64>,
    rows: Vec<usize>,
}

impl Factors {
    /// Factorises a square matrix with the largest pivot of each column.
    fn new(mut matrix: Vec<f64>, size: usize) -> Result<Factors, Fault> {
        let largest = matrix.iter().fold(0.0f64, |largest, element| largest.max(element.abs()));
        let mut rows: Vec<usize> = (0..size).collect();
        for step in 0..size {
            let size_of = |row: &usize| matrix[row * size + step].abs();
            let pivot = (step..size).max_by(|a, b| size_of(a).total_cmp(&size_of(b))).unwrap_or(step);
            if size_of(&pivot).is_nan() || size_of(&pivot) <= size as f64 * f64::EPSILON * largest {
                return Err(fault!(
                    BAD_MESH,
                    "the system of radial basis functions of {size} unknowns is singular to the precision of \
                     numbers; a smaller \"support_radius\", a larger \"shape_parameter\", or a function \
                     that is less smooth has another one"
                ));
            }
            if pivot != step {
                rows.swap(pivot, step);
                let (upper, lower) = matrix.split_at_mut(pivot * size);
                upper[step * size..][..size].swap_with_slice(&mut lower[..size]);
            }
            let (upper, lower) = matrix.split_at_mut((step + 1) * size);
            let from = &upper[step * size..];
            for row in lower.chunks_exact_mut(size) {
                let share = row[step] / from[step];
                row[step] = share;
                if share != 0.0 {
                    add(&mut row[step + 1..], -share, &from[step + 1..]);
                }
            }
        }
        Ok(Factors { size, triangles: matrix, rows })
    }

    /// Replaces a right-hand side by the solution.
    fn solve(&self, values: &mut [f64]) {
        let mut made: Vec<f64> = self.rows.iter().map(|&row| values[row]).collect();
        for i in 0..self.size {
            made[i] -= dot(&self.triangles[i * self.size..][..i], &made[..i]);
        }
        for i in (0..self.size).rev() {
            let row = &self.triangles[i * self.size..][..self.size];
            made[i] = (made[i] - dot(&row[i + 1..], &made[i + 1..])) / row[i];
        }
        values.copy_from_slice(&made);
    }
}
