//! Marks in the place of numbers. They reveal a function that reads or writes a field without declaring it. A
//! mark is a quiet NaN with the number of the field in its bits. Processors copy these bits from an operand to
//! the result, and from single to double precision. Fields of integers have no marks; of these, only writing is
//! noticed.

use crate::block::FieldArray;
use crate::declaration::FieldPoints;
use crate::plan::FieldValidity;
use crate::simulation::{PlacedFunction, Simulation};
use ligament_grid::{Domain, Edges};
use ligament_wire::{ArrayOrder, DType};

/// The value of bits 21 to 14 in each mark.
const MAGIC: u32 = 0b1011_0101;
/// The bit of a mark on a point that the function must write.
const TARGET_BIT: u32 = 1 << 13;
/// Number of bits in single precision below the bit that makes a NaN quiet.
const MARK_BITS: u32 = 22;
/// Number of bits by which a mark is shifted to the left in double precision.
const DOUBLE_SHIFT_BITS: u32 = 29;

/// The content of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of the field.
    pub field: usize,
    /// True if the mark is on a point that the function must write.
    pub is_target: bool,
}

impl Mark {
    fn bits(self) -> u32 {
        let target = if self.is_target { TARGET_BIT } else { 0 };
        MAGIC << 14 | target | (self.field as u32 & (TARGET_BIT - 1))
    }

    fn of_bits(bits: u32) -> Option<Mark> {
        let field = (bits & (TARGET_BIT - 1)) as usize;
        (bits >> 14 == MAGIC).then_some(Mark { field, is_target: bits & TARGET_BIT != 0 })
    }

    /// Returns the mark in a number of double precision, if it is one.
    pub fn of_double(number: u64) -> Option<Mark> {
        const QUIET: u64 = 0x7ff8 << 48;
        let bits = (number >> DOUBLE_SHIFT_BITS) as u32 & ((1 << MARK_BITS) - 1);
        (number & QUIET == QUIET).then(|| Mark::of_bits(bits)).flatten()
    }

    fn of_single(number: u32) -> Option<Mark> {
        const QUIET: u32 = 0x7fc0 << 16;
        (number & QUIET == QUIET).then(|| Mark::of_bits(number & ((1 << MARK_BITS) - 1))).flatten()
    }

    /// Writes the mark into each number of an element.
    fn write(self, width: usize, element: &mut [u8]) {
        for number in element.chunks_exact_mut(width) {
            if width == 8 {
                let bits = 0x7ff8 << 48 | u64::from(self.bits()) << DOUBLE_SHIFT_BITS;
                number.copy_from_slice(&bits.to_ne_bytes());
            } else {
                number.copy_from_slice(&(0x7fc0 << 16 | self.bits()).to_ne_bytes());
            }
        }
    }

    /// Returns the first mark in an element.
    fn read(width: usize, element: &[u8]) -> Option<Mark> {
        element.chunks_exact(width).find_map(|number| {
            if width == 8 {
                Mark::of_double(u64::from_ne_bytes(number.try_into().ok()?))
            } else {
                Mark::of_single(u32::from_ne_bytes(number.try_into().ok()?))
            }
        })
    }
}

/// Returns the size of a type's numbers, in bytes, if they can be marks.
fn number_width(dtype: DType) -> Option<usize> {
    match dtype {
        DType::Float32 | DType::Complex64 => Some(4),
        DType::Float64 | DType::Complex128 => Some(8),
        _ => None,
    }
}

/// The zone of an array in which a point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zone {
    Interior,
    Ghosts,
    Edges,
}

impl Zone {
    const ALL: [Zone; 3] = [Zone::Interior, Zone::Ghosts, Zone::Edges];

    fn name(self) -> &'static str {
        match self {
            Zone::Interior => "interior",
            Zone::Ghosts => "ghosts",
            Zone::Edges => "edges",
        }
    }

    fn is_in(self, extent: Option<FieldPoints>) -> bool {
        match extent {
            None => false,
            Some(FieldPoints::Everywhere) => true,
            Some(FieldPoints::Interior) => self == Zone::Interior,
            Some(FieldPoints::Edges) => self == Zone::Edges,
        }
    }
}

/// The rights of a function on a zone of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ZoneRights {
    reads: bool,
    writes: bool,
}

/// Puts marks before a call, and checks them after it.
pub(crate) struct Poison {
    /// The zone of each element of each field.
    zones: Vec<Vec<Zone>>,
    /// The arrays before the call.
    copies: Vec<Vec<u8>>,
    /// The rights on the zones of each field.
    rights: Vec<[ZoneRights; Zone::ALL.len()]>,
}

impl Poison {
    pub fn new(domain: &Domain, arrays: &[FieldArray]) -> Poison {
        let zones = arrays.iter().map(|array| zones(domain, array)).collect();
        Poison { zones, copies: Vec::new(), rights: Vec::new() }
    }

    /// Puts marks on all points that the function may not read.
    pub fn put(&mut self, function: &PlacedFunction, validity: &[FieldValidity], arrays: &mut [FieldArray]) {
        self.copies = arrays.iter_mut().map(|array| array.memory.bytes().to_vec()).collect();
        self.rights = (0..arrays.len()).map(|field| rights(function, field, validity[field])).collect();
        for (field, array) in arrays.iter_mut().enumerate() {
            let (size, Some(width)) = (array.dtype.size(), number_width(array.dtype)) else { continue };
            let elements = array.memory.bytes().chunks_exact_mut(size);
            for (element, zone) in elements.zip(&self.zones[field]) {
                let ZoneRights { reads, writes } = self.rights[field][*zone as usize];
                if !reads {
                    Mark { field, is_target: writes }.write(width, element);
                }
            }
        }
    }

    /// Removes the marks. Returns the fault of the function if it did something that it does not declare.
    pub fn take(
        &self,
        simulation: &Simulation,
        function: &PlacedFunction,
        arrays: &mut [FieldArray],
    ) -> Option<String> {
        let mut fault = None;
        for (field, array) in arrays.iter_mut().enumerate() {
            let (size, width) = (array.dtype.size(), number_width(array.dtype));
            let mut found = None;
            let elements =
                array.memory.bytes().chunks_exact_mut(size).zip(self.copies[field].chunks_exact(size));
            for (number, ((element, copy), zone)) in elements.zip(&self.zones[field]).enumerate() {
                let rights = self.rights[field][*zone as usize];
                let what = Inspection { field, width, element, copy, rights }.fault();
                found = found.or(what.map(|what| (what, number, *zone)));
                if !rights.writes {
                    element.copy_from_slice(copy);
                }
            }
            let words = found.map(|(what, number, zone)| {
                let at = format!("{} (point {:?} of the grid's)", zone.name(), point(array, number));
                what.words(simulation, function, (&array.name, &at))
            });
            fault = fault.or(words);
        }
        fault
    }
}

/// A fault at an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessFault {
    Written,
    Unwritten,
    Read(Mark),
}

impl AccessFault {
    fn words(self, simulation: &Simulation, function: &PlacedFunction, (field, at): (&str, &str)) -> String {
        match self {
            AccessFault::Written => {
                format!("writes the field \"{field}\" in its {at}, and does not declare it")
            }
            AccessFault::Unwritten => format!(
                "declares that it writes the field \"{field}\", and has not written it in its {at}; or it has \
                 read there what it only declares to write"
            ),
            AccessFault::Read(mark) => {
                let what = read_fault(simulation, function, mark);
                format!("{what}: the field \"{field}\" depends on it in its {at}")
            }
        }
    }
}

/// An element after a call.
struct Inspection<'a> {
    field: usize,
    width: Option<usize>,
    element: &'a [u8],
    copy: &'a [u8],
    rights: ZoneRights,
}

impl Inspection<'_> {
    fn fault(&self) -> Option<AccessFault> {
        let ZoneRights { reads, writes } = self.rights;
        let mark = self.width.and_then(|width| Mark::read(width, self.element));
        if writes {
            let mark = mark?;
            let is_own = mark == Mark { field: self.field, is_target: true };
            return Some(if is_own && !reads { AccessFault::Unwritten } else { AccessFault::Read(mark) });
        }
        let is_as_before = match self.width {
            Some(_) if !reads => mark == Some(Mark { field: self.field, is_target: false }),
            _ => self.element == self.copy,
        };
        (!is_as_before).then_some(AccessFault::Written)
    }
}

/// Describes the field from which this mark in a result comes.
pub(crate) fn read_fault(simulation: &Simulation, function: &PlacedFunction, mark: Mark) -> String {
    let name = simulation.fields.get(mark.field).map_or("", |field| &field.name);
    match function.reads(mark.field) {
        _ if mark.is_target => format!("reads the field \"{name}\", and declares only that it writes it"),
        None => format!("reads the field \"{name}\", and does not declare it"),
        Some(extent) => {
            format!(
                "reads the ghosts of the field \"{name}\", and declares that it reads its {}",
                extent.name()
            )
        }
    }
}

fn rights(function: &PlacedFunction, field: usize, validity: FieldValidity) -> [ZoneRights; Zone::ALL.len()] {
    Zone::ALL.map(|zone| {
        let is_valid = zone != Zone::Edges || validity.edges;
        let reads = zone.is_in(function.reads(field)) && is_valid;
        ZoneRights { reads, writes: zone.is_in(function.writes(field)) }
    })
}

/// Returns the position of an element along each axis of its array, without the ghosts: ghosts have positions
/// below 0 or beyond the block.
fn place(array: &FieldArray, number: usize) -> Vec<i64> {
    let mut rest = number;
    let mut place = vec![0; array.shape.len()];
    let mut axes: Vec<usize> = (0..array.shape.len()).collect();
    if array.order == ArrayOrder::RowMajor {
        axes.reverse();
    }
    for axis in axes {
        place[axis] = (rest % array.shape[axis]) as i64 - array.ghosts as i64;
        rest /= array.shape[axis];
    }
    place
}

fn point(array: &FieldArray, number: usize) -> Vec<i64> {
    place(array, number).iter().zip(&array.begin).map(|(place, begin)| place + *begin as i64).collect()
}

fn zones(domain: &Domain, array: &FieldArray) -> Vec<Zone> {
    let zone = |number: usize| {
        let mut zone = Zone::Interior;
        for (axis, place) in place(array, number).into_iter().enumerate() {
            let own = (array.shape[axis] - 2 * array.ghosts) as i64;
            let [lower, upper] = domain.at_edge(axis);
            let is_open = domain.edges()[axis] == Edges::Open;
            if is_open && (place < 0 && lower || place >= own && upper) {
                return Zone::Edges;
            }
            if place < 0 || place >= own {
                zone = Zone::Ghosts;
            }
        }
        zone
    };
    (0..array.shape.iter().product()).map(zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_through_sums_products_and_both_precisions() {
        for mark in [Mark { field: 5, is_target: false }, Mark { field: 8191, is_target: true }] {
            let mut double = [0; 8];
            mark.write(8, &mut double);
            let number = f64::from_ne_bytes(double);
            let result = std::hint::black_box(number) * 0.25 + 3.0;
            assert_eq!(Mark::of_double(result.to_bits()), Some(mark));
            let single = std::hint::black_box(result) as f32 - 1.0;
            assert_eq!(Mark::of_single(single.to_bits()), Some(mark));
            assert_eq!(Mark::of_double((-f64::from(single)).to_bits()), Some(mark));
        }
        assert_eq!(Mark::of_double(f64::NAN.to_bits()), None);
        assert_eq!(Mark::of_double(f64::INFINITY.to_bits()), None);
        assert_eq!(Mark::of_double(1.5f64.to_bits()), None);
    }
}
