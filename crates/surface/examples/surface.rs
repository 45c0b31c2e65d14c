//! The crate as a shared library with a C interface, for programs that compare its surfaces with those of other
//! programs: `benchmarks/isosurface` and `tests/surface`. The process has one encoder and one mesh.

use ligament_surface::{Block, Encoder, FieldValues, Lanes, MeshBuilder};
use std::sync::Mutex;

static ENCODER: Mutex<Option<Encoder>> = Mutex::new(None);
static BYTES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static MESH: Mutex<Option<MeshBuilder>> = Mutex::new(None);

/// Sets the vectors of the processor for all further calls: 0 for scalars, up to the widest kind. Returns the
/// number of kinds.
#[no_mangle]
pub extern "C" fn surface_lanes(number: usize) -> usize {
    let lanes = Lanes::available();
    *ENCODER.lock().unwrap() = Some(Encoder::with_lanes(lanes[number.min(lanes.len() - 1)]));
    lanes.len()
}

/// Makes the surface of a column-major field of doubles. Returns the number of its bytes, 0 if it has none.
///
/// # Safety
/// `points` is of three numbers, and `values` of as many as their product.
#[no_mangle]
pub unsafe extern "C" fn surface_encode(values: *const f64, points: *const u64, level: f64) -> usize {
    // SAFETY: the caller promises both lengths.
    let points: [u64; 3] = unsafe { std::slice::from_raw_parts(points, 3) }.try_into().unwrap();
    // SAFETY: as above.
    let values = unsafe { std::slice::from_raw_parts(values, points.iter().product::<u64>() as usize) };
    let strides = [1, points[0] as usize, (points[0] * points[1]) as usize];
    let block = Block { values: FieldValues::F64(values), first: 0, strides, origin: [0; 3], points };
    let mut encoder = ENCODER.lock().unwrap();
    let Ok(surface) = encoder.get_or_insert_with(Encoder::new).encode(&block, level) else { return 0 };
    let mut bytes = BYTES.lock().unwrap();
    bytes.clear();
    bytes.extend_from_slice(surface.bytes);
    bytes.len()
}

/// Makes triangles from the bytes of the last surface, and writes how many points and triangles they have.
///
/// # Safety
/// `counts` is of two numbers.
#[no_mangle]
pub unsafe extern "C" fn surface_decode(counts: *mut u64) {
    let mut builder = MESH.lock().unwrap();
    let builder = builder.get_or_insert_with(MeshBuilder::new);
    builder.clear();
    builder.add(&BYTES.lock().unwrap()).unwrap();
    let mesh = builder.mesh();
    // SAFETY: the caller promises two numbers.
    let counts = unsafe { std::slice::from_raw_parts_mut(counts, 2) };
    counts.copy_from_slice(&[mesh.points.len() as u64, mesh.triangles.len() as u64]);
}

/// Writes the area, the volume and the Euler number of the last mesh.
///
/// # Safety
/// `measures` is of three numbers.
#[no_mangle]
pub unsafe extern "C" fn surface_measures(measures: *mut f64) {
    let mut builder = MESH.lock().unwrap();
    let mesh = builder.get_or_insert_with(MeshBuilder::new).mesh();
    // SAFETY: the caller promises three numbers.
    let measures = unsafe { std::slice::from_raw_parts_mut(measures, 3) };
    measures.copy_from_slice(&[mesh.area(), mesh.volume(), mesh.euler_number() as f64]);
}
