//! Boxes of points in the array of a field, and the copying of their elements.

use ligament_wire::ArrayOrder;
use std::ops::Range;

/// Number of axes of a region: shorter shapes get axes of length 1 in front.
const AXES: usize = 3;

/// A box of points in the array of a field. It has rows: runs of elements that lie side by side in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Place of the first byte.
    start: usize,
    /// Number of planes, and number of rows in a plane.
    counts: [usize; 2],
    /// Distance of two planes, and of two rows of a plane, in bytes.
    strides: [usize; 2],
    /// Length of a row, in bytes.
    row_bytes: usize,
}

impl Region {
    /// Makes a region of an array with this shape. `ranges` has the points along each axis.
    pub fn new(shape: &[usize], order: ArrayOrder, element_bytes: usize, ranges: &[Range<usize>]) -> Region {
        // From the slowest axis in memory to the fastest one.
        let mut axes: Vec<(usize, Range<usize>)> = shape.iter().copied().zip(ranges.iter().cloned()).collect();
        if order == ArrayOrder::ColumnMajor {
            axes.reverse();
        }
        while axes.len() < AXES {
            axes.insert(0, (1, 0..1));
        }
        let mut strides = [element_bytes; AXES];
        for axis in (0..AXES - 1).rev() {
            strides[axis] = strides[axis + 1] * axes[axis + 1].0;
        }
        Region {
            start: axes.iter().zip(strides).map(|((_, range), stride)| range.start * stride).sum(),
            counts: [axes[0].1.len(), axes[1].1.len()],
            strides: [strides[0], strides[1]],
            row_bytes: axes[2].1.len() * element_bytes,
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.counts[0] * self.counts[1]
    }

    /// Returns the length of a row, in bytes.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Copies rows into `out`, one after the other.
    pub fn pack(&self, data: &[u8], rows: Range<usize>, out: &mut [u8]) {
        // Rows of some elements, as at a face across the fastest axis, are copied without a call.
        match self.row_bytes {
            4 => self.pack_short::<4>(data, rows, out),
            8 => self.pack_short::<8>(data, rows, out),
            16 => self.pack_short::<16>(data, rows, out),
            24 => self.pack_short::<24>(data, rows, out),
            _ => {
                for (at, row) in self.row_places(rows).zip(out.chunks_exact_mut(self.row_bytes)) {
                    row.copy_from_slice(&data[at..at + row.len()]);
                }
            }
        }
    }

    /// Copies rows out of `packed`, where they lie one after the other.
    pub fn unpack(&self, packed: &[u8], rows: Range<usize>, data: &mut [u8]) {
        match self.row_bytes {
            4 => self.unpack_short::<4>(packed, rows, data),
            8 => self.unpack_short::<8>(packed, rows, data),
            16 => self.unpack_short::<16>(packed, rows, data),
            24 => self.unpack_short::<24>(packed, rows, data),
            _ => {
                for (at, row) in self.row_places(rows).zip(packed.chunks_exact(self.row_bytes)) {
                    data[at..at + row.len()].copy_from_slice(row);
                }
            }
        }
    }

    fn pack_short<const BYTES: usize>(&self, data: &[u8], rows: Range<usize>, mut out: &mut [u8]) {
        for (place, count) in self.runs(rows) {
            let (here, rest) = out.split_at_mut(count * BYTES);
            let from = &data[place..];
            for number in 0..count {
                let at = number * self.strides[1];
                here[number * BYTES..][..BYTES].copy_from_slice(&from[at..at + BYTES]);
            }
            out = rest;
        }
    }

    fn unpack_short<const BYTES: usize>(&self, mut packed: &[u8], rows: Range<usize>, data: &mut [u8]) {
        for (place, count) in self.runs(rows) {
            let (here, rest) = packed.split_at(count * BYTES);
            let to = &mut data[place..];
            for number in 0..count {
                let at = number * self.strides[1];
                to[at..at + BYTES].copy_from_slice(&here[number * BYTES..][..BYTES]);
            }
            packed = rest;
        }
    }

    /// Returns the runs of rows that lie in one plane each: the place of the first byte, and the number of
    /// rows.
    fn runs(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut next = rows.start;
        std::iter::from_fn(move || {
            if next >= rows.end {
                return None;
            }
            let (plane, row) = (next / self.counts[1], next % self.counts[1]);
            let count = (self.counts[1] - row).min(rows.end - next);
            next += count;
            Some((self.start + plane * self.strides[0] + row * self.strides[1], count))
        })
    }

    /// Copies this region into another one of the same shape in the same array.
    pub fn copy_to(&self, other: &Region, data: &mut [u8]) {
        for (from, to) in self.row_places(0..self.rows()).zip(other.row_places(0..other.rows())) {
            data.copy_within(from..from + self.row_bytes, to);
        }
    }

    /// Returns the place of the first byte of each of these rows.
    fn row_places(&self, rows: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let (mut plane, mut place) = (rows.start / self.counts[1].max(1), rows.start % self.counts[1].max(1));
        rows.map(move |_| {
            let at = self.start + plane * self.strides[0] + place * self.strides[1];
            place += 1;
            if place == self.counts[1] {
                (plane, place) = (plane + 1, 0);
            }
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_packed_and_unpacked_in_both_orders() {
        let data: Vec<u8> = (0..60).collect();
        for (order, expected) in [
            (ArrayOrder::RowMajor, [26u8, 27, 31, 32, 46, 47, 51, 52]),
            (ArrayOrder::ColumnMajor, [16, 19, 28, 31, 17, 20, 29, 32]),
        ] {
            let shape = [3, 4, 5];
            let region = Region::new(&shape, order, 1, &[1..3, 1..3, 1..3]);
            let mut packed = vec![0; 8];
            region.pack(&data, 0..region.rows(), &mut packed);
            if order == ArrayOrder::RowMajor {
                assert_eq!(packed, expected);
            } else {
                // Element (x, y, z) lies at x + 3·y + 12·z.
                let at = |x: u8, y: u8, z: u8| x + 3 * y + 12 * z;
                let all: Vec<u8> =
                    (1..3).flat_map(|z| (1..3).flat_map(move |y| (1..3).map(move |x| at(x, y, z)))).collect();
                assert_eq!(packed, all);
            }
            let mut back = vec![0; 60];
            region.unpack(&packed[4..], 2..4, &mut back);
            assert_eq!(back.iter().filter(|byte| **byte > 0).count(), 4);
        }
    }

    #[test]
    fn short_rows_that_begin_within_a_plane_are_packed_as_all_rows_are() {
        // Rows of 4, 8, 16 and 24 bytes are copied without a call, and those of 12 bytes with one.
        for element in [4, 8, 12, 16, 24] {
            let shape = [3, 4, 2];
            let data: Vec<u8> = (0..shape.iter().product::<usize>() * element).map(|i| i as u8).collect();
            let region = Region::new(&shape, ArrayOrder::RowMajor, element, &[1..3, 1..4, 1..2]);
            // Point (x, y, z) is the element 8·x + 2·y + z.
            let places = (1..3).flat_map(|x| (1..4).map(move |y| (8 * x + 2 * y + 1) * element));
            let rows: Vec<&[u8]> = places.map(|at| &data[at..at + element]).collect();
            for begin in 0..rows.len() {
                for end in begin..=rows.len() {
                    let mut packed = vec![0; (end - begin) * element];
                    region.pack(&data, begin..end, &mut packed);
                    assert_eq!(packed, rows[begin..end].concat(), "rows {begin} to {end} of {element} bytes");
                    let mut back = vec![0; data.len()];
                    region.unpack(&packed, begin..end, &mut back);
                    let mut again = vec![0; packed.len()];
                    region.pack(&back, begin..end, &mut again);
                    assert_eq!(again, packed);
                }
            }
        }
    }

    #[test]
    fn a_region_of_one_axis_is_one_row() {
        let region = Region::new(&[10], ArrayOrder::RowMajor, 8, std::slice::from_ref(&(2..5)));
        assert_eq!((region.rows(), region.row_bytes()), (1, 24));
    }
}
