//! Makes the bytes of a block's surface, plane by plane: first the signs of a plane, then the fractions on its
//! crossed edges, while the plane is still in the caches. Two planes of bits are kept.

use crate::block::{Block, BlockLayout, FieldValues};
use crate::header::{Header, HEADER_BYTES};
use crate::planes::{next, BitPlane, NANS, SIGNS};
use crate::sys::{Lanes, Range, Signs, Value};
use crate::SurfaceError;

/// Makes surfaces of blocks. Its buffers are reused, and keep the size of the largest surface.
#[derive(Debug)]
pub struct Encoder {
    lanes: Lanes,
    /// The present plane, and the one before it.
    planes: [PlaneBits; 2],
    signs: Vec<u8>,
    fractions: Vec<u8>,
    /// A copy of a block whose rows are not contiguous.
    contiguous: Vec<f64>,
    bytes: Vec<u8>,
}

/// The bytes of a surface, and the content of their header.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    pub header: Header,
    pub bytes: &'a [u8],
}

/// Signs of the points of a plane, and those that are NaN.
#[derive(Debug, Default)]
struct PlaneBits {
    signs: BitPlane,
    nans: BitPlane,
    /// Some point is NaN.
    any_nan: bool,
}

/// The method that makes the signs of values.
#[derive(Clone, Copy)]
struct Scan<V> {
    lanes: Lanes,
    threshold: V,
}

/// The values of a block in the order of memory.
#[derive(Clone, Copy)]
struct Points<'a, V> {
    values: &'a [V],
    layout: BlockLayout,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::new()
    }
}

impl Encoder {
    /// Makes an encoder that uses the widest vectors of this processor.
    pub fn new() -> Encoder {
        Encoder::with_lanes(*Lanes::available().last().expect("every processor has scalars"))
    }

    /// Makes an encoder that uses these vectors, which this processor must have.
    pub fn with_lanes(lanes: Lanes) -> Encoder {
        assert!(Lanes::available().contains(&lanes), "this processor has no {lanes:?}");
        Encoder {
            lanes,
            planes: Default::default(),
            signs: Vec::new(),
            fractions: Vec::new(),
            contiguous: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Makes the surface on which the block has the value `level`. A point belongs to the inside if its value
    /// is not below the level. An infinite value is a value like others: the surface is as far from it as it
    /// can be. A surface without crossed edges is no error: the header has the range of the block's values.
    pub fn encode(&mut self, block: &Block<'_>, level: f64) -> Result<Surface<'_>, SurfaceError> {
        if !level.is_finite() {
            return Err(SurfaceError::Level { level });
        }
        let layout = block.layout()?;
        let header = match block.values {
            FieldValues::F32(values) => self.encode_values(Points { values, layout }, level),
            FieldValues::F64(values) => self.encode_values(Points { values, layout }, level),
        }?;
        let place = |numbers: [u64; 3]| numbers.map(|number| number as u32);
        let header = Header { origin: place(block.origin), points: place(block.points), ..header };
        self.bytes.clear();
        self.bytes.reserve(HEADER_BYTES + self.signs.len() + self.fractions.len());
        self.bytes.extend_from_slice(&header.to_bytes());
        self.bytes.extend_from_slice(&self.signs);
        self.bytes.extend_from_slice(&self.fractions);
        Ok(Surface { header, bytes: &self.bytes })
    }

    fn encode_values<V: Value>(&mut self, points: Points<'_, V>, level: f64) -> Result<Header, SurfaceError> {
        let BlockLayout { points: [row_points, rows, _], strides, .. } = points.layout;
        if strides[0] == 1 || row_points == 1 {
            return self.encode_rows(points, level);
        }
        let mut values = std::mem::take(&mut self.contiguous);
        points.copy(&mut values);
        let layout = BlockLayout { first: 0, strides: [1, row_points, row_points * rows], ..points.layout };
        let header = self.encode_rows(Points { values: &values, layout }, level);
        self.contiguous = values;
        header
    }

    fn encode_rows<V: Value>(&mut self, points: Points<'_, V>, level: f64) -> Result<Header, SurfaceError> {
        let BlockLayout { points: [row_points, rows, planes], axes, .. } = points.layout;
        let scan = Scan { lanes: self.lanes, threshold: V::threshold(level) };
        let first_sign = points.row(0, 0)[0] >= scan.threshold;
        for plane in &mut self.planes {
            plane.signs.reset(row_points, rows, first_sign);
            plane.nans.reset(row_points, rows, false);
            plane.any_nan = false;
        }
        self.signs.clear();
        self.fractions.clear();
        let mut range = Range::EMPTY;
        let mut nan_points = 0;
        for plane in 0..planes {
            self.planes.swap(0, 1);
            let [now, before] = &mut self.planes;
            nan_points += now.read(scan, (0..rows).map(|row| points.row(row, plane)), &mut range);
            now.write_changes(before, &mut self.signs);
            let mut crossings = Crossings { points, level, fractions: &mut self.fractions };
            if plane > 0 {
                crossings.between_planes([before, now], plane - 1);
            }
            crossings.within_plane(now, plane);
        }
        let some = range.min <= range.max;
        // A zero has no sign, which would depend on the order of comparisons.
        let (min, max) = (range.min + 0.0, range.max + 0.0);
        Ok(Header {
            axes,
            first_sign,
            origin: [0; 3],
            points: [0; 3],
            level,
            min: if some { min } else { f64::NAN },
            max: if some { max } else { f64::NAN },
            nan_points,
            edges: u32::try_from(self.fractions.len()).map_err(|_| SurfaceError::Edges)?,
            sign_bytes: u32::try_from(self.signs.len()).map_err(|_| SurfaceError::Edges)?,
        })
    }
}

impl<'a, V: Value> Points<'a, V> {
    /// The values of a row of a plane, which are contiguous.
    fn row(&self, row: usize, plane: usize) -> &'a [V] {
        let BlockLayout { first, strides, points, .. } = self.layout;
        &self.values[first + row * strides[1] + plane * strides[2]..][..points[0]]
    }

    /// Copies all values to `values`, row after row.
    fn copy(&self, values: &mut Vec<f64>) {
        let BlockLayout { first, strides, points, .. } = self.layout;
        values.clear();
        values.reserve(points.iter().product());
        for plane in 0..points[2] {
            for row in 0..points[1] {
                let start = first + row * strides[1] + plane * strides[2];
                values.extend((0..points[0]).map(|i| self.values[start + i * strides[0]].to_f64()));
            }
        }
    }
}

impl PlaneBits {
    /// Takes the signs of a plane's rows, and returns the number of points that are NaN.
    fn read<'a, V: Value + 'a>(
        &mut self,
        scan: Scan<V>,
        rows: impl Iterator<Item = &'a [V]>,
        range: &mut Range,
    ) -> u64 {
        let mut nan_points = 0;
        let had_nan = std::mem::replace(&mut self.any_nan, false);
        for (number, row) in rows.enumerate() {
            range.nan = false;
            V::signs(scan.lanes, row, scan.threshold, Signs { words: self.signs.row_mut(number), range });
            if had_nan || range.nan {
                nan_points += mark_nans(row, self.nans.row_mut(number));
            }
            self.any_nan |= range.nan;
        }
        nan_points
    }

    /// Writes the differences from the plane before.
    fn write_changes(&self, before: &PlaneBits, bytes: &mut Vec<u8>) {
        let kind = bytes.len();
        bytes.push(0);
        if self.signs.write_changes(&before.signs, bytes) {
            bytes[kind] |= SIGNS;
        }
        if (self.any_nan || before.any_nan) && self.nans.write_changes(&before.nans, bytes) {
            bytes[kind] |= NANS;
        }
    }
}

/// Sets the bits of the values that are NaN, and returns their number.
fn mark_nans<V: Value>(row: &[V], words: &mut [u64]) -> u64 {
    let mut nan_points = 0;
    for (chunk, word) in row.chunks(64).zip(words) {
        *word = chunk.iter().enumerate().fold(0, |bits, (i, value)| bits | u64::from(value.is_nan()) << i);
        nan_points += u64::from(word.count_ones());
    }
    nan_points
}

/// The crossed edges of a block, in the order of their bytes.
struct Crossings<'a, V> {
    points: Points<'a, V>,
    level: f64,
    fractions: &'a mut Vec<u8>,
}

impl<V: Value> Crossings<'_, V> {
    /// Adds the edges along the rows of a plane, and from row to row.
    fn within_plane(&mut self, bits: &PlaneBits, plane: usize) {
        let rows = bits.signs.rows();
        for number in 0..rows {
            let row = self.points.row(number, plane);
            let signs = bits.signs.row(number);
            let nans = bits.any_nan.then(|| bits.nans.row(number));
            for word in 0..signs.len() {
                let mut crossed = signs[word] ^ next(signs, word);
                if let Some(nans) = nans {
                    crossed &= !(nans[word] | next(nans, word));
                }
                // The last point of a row has no edge.
                let edges = row.len() - 1 - 64 * word;
                if edges < 64 {
                    crossed &= (1 << edges) - 1;
                }
                self.add(crossed, 64 * word, [row, &row[1..]]);
            }
            if number + 1 < rows {
                self.between_rows(
                    [(bits, number), (bits, number + 1)],
                    [row, self.points.row(number + 1, plane)],
                );
            }
        }
    }

    /// Adds the edges from a plane to the next.
    fn between_planes(&mut self, bits: [&PlaneBits; 2], plane: usize) {
        for number in 0..bits[0].signs.rows() {
            let values = [self.points.row(number, plane), self.points.row(number, plane + 1)];
            self.between_rows(bits.map(|bits| (bits, number)), values);
        }
    }

    /// Adds the edges between two rows, whose bits are the rows with these numbers of planes.
    fn between_rows(&mut self, bits: [(&PlaneBits, usize); 2], values: [&[V]; 2]) {
        let [one, other] = bits.map(|(plane, row)| plane.signs.row(row));
        let any_nan = bits[0].0.any_nan || bits[1].0.any_nan;
        for word in 0..one.len() {
            let mut crossed = one[word] ^ other[word];
            if any_nan && crossed != 0 {
                crossed &= !bits.iter().fold(0, |nans, (plane, row)| nans | plane.nans.row(*row)[word]);
            }
            self.add(crossed, 64 * word, values);
        }
    }

    /// Adds the fractions on the edges whose bits are set, from point `first + bit` of one row to that of
    /// another.
    fn add(&mut self, mut crossed: u64, first: usize, rows: [&[V]; 2]) {
        if crossed == 0 {
            return;
        }
        let [lower, upper] = rows.map(|row| &row[first..]);
        while crossed != 0 {
            let point = crossed.trailing_zeros() as usize;
            crossed &= crossed - 1;
            self.fractions.push(fraction([lower[point].to_f64(), upper[point].to_f64()], self.level));
        }
    }
}

/// Returns where the level lies between two values, in steps of 1/256 of the edge, rounded down.
fn fraction([lower, upper]: [f64; 2], level: f64) -> u8 {
    let difference = upper - lower;
    if difference.is_finite() {
        // A level equal to the upper value is in the last step.
        ((level - lower) / difference * 256.0) as u8
    } else {
        wide_fraction([lower, upper], level)
    }
}

/// The same, for values whose difference is infinite.
#[cold]
fn wide_fraction([lower, upper]: [f64; 2], level: f64) -> u8 {
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => fraction([lower / 2.0, upper / 2.0], level / 2.0),
        (true, false) => 0,
        (false, true) => u8::MAX,
        (false, false) => 128,
    }
}
