//! Blocks of a grid show one surface, independent of the division, the order in memory, and the processor's
//! vectors.

mod common;

use common::{encoded, inner_open_edges, joined, mesh, places, Field, Random};
use ligament_surface::{Block, Encoder, FieldValues, Lanes, MeshBuilder};

/// Cuts an axis at some points. Returns begin and end of each part; a part shares its last point with the next
/// part.
fn cuts(points: u64, random: &mut Random) -> Vec<[u64; 2]> {
    let mut at: Vec<u64> = (0..random.below(4)).map(|_| 1 + random.below(points - 2)).collect();
    at.extend([0, points - 1]);
    at.sort_unstable();
    at.dedup();
    at.windows(2).map(|part| [part[0], part[1] + 1]).collect()
}

fn surfaces_of_blocks(field: &Field, level: f64, random: &mut Random) -> Vec<Vec<u8>> {
    let parts: [_; 3] = std::array::from_fn(|axis| cuts(field.points[axis], random));
    let mut surfaces = Vec::new();
    for x in &parts[0] {
        for y in &parts[1] {
            for z in &parts[2] {
                surfaces.push(encoded(&field.block([x[0], y[0], z[0]], [x[1], y[1], z[1]]), level));
            }
        }
    }
    // Pictures come in any order.
    for i in (1..surfaces.len()).rev() {
        surfaces.swap(i, random.below(i as u64 + 1) as usize);
    }
    surfaces
}

fn fields(seed: u64, random: &mut Random) -> [(Field, f64); 3] {
    let points = std::array::from_fn(|_| 4 + random.below(80));
    let small = points.map(|points| 4 + points / 3);
    [(Field::sphere(points), -20.0), (Field::gyroid(points, 2.3), 0.1), (Field::noise(small, seed), 0.3)]
}

#[test]
fn blocks_have_the_triangles_of_the_whole_and_no_open_seam() {
    for seed in 0..16 {
        let mut random = Random(seed);
        for (number, (field, level)) in fields(seed, &mut random).iter().enumerate() {
            let together = joined(&surfaces_of_blocks(field, *level, &mut random));
            let whole = mesh(&field.whole(), *level);
            let name = format!("seed {seed}, field {number}, {:?}", field.points);
            assert!(places(&together) == places(&whole), "{name}");
            assert_eq!(together.points.len(), whole.points.len(), "{name}");
            assert_eq!(inner_open_edges(&together, field.points), 0, "{name}");
        }
    }
}

/// The field in an array with other strides: for an order of axes, fastest first, with gaps behind rows, and
/// with `step` elements from value to value.
fn stored(field: &Field, order: [usize; 3], step: usize) -> (Vec<f64>, Block<'static>) {
    let mut strides = [0; 3];
    let mut size = step;
    for axis in order {
        strides[axis] = size;
        size = size * field.points[axis] as usize + 3;
    }
    let first = 5;
    let mut values = vec![f64::NAN; first + size];
    for z in 0..field.points[2] {
        for y in 0..field.points[1] {
            for x in 0..field.points[0] {
                let place = [x, y, z];
                let at: usize = (0..3).map(|axis| place[axis] as usize * strides[axis]).sum();
                values[first + at] = field.value(place);
            }
        }
    }
    (values, Block { values: FieldValues::F64(&[]), first, strides, origin: [0; 3], points: field.points })
}

#[test]
fn the_order_and_the_strides_in_memory_do_not_matter() {
    let points = [23, 19, 17];
    for (field, level) in [(Field::sphere(points), -7.3), (Field::noise(points, 1), 0.6)] {
        let reference = mesh(&field.whole(), level);
        assert_eq!(reference.open_edges().is_empty(), level < 0.0);
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for step in [1, 2] {
                let (values, block) = stored(&field, order, step);
                let surface = mesh(&Block { values: FieldValues::F64(&values), ..block }, level);
                assert_eq!(surface.triangles.len(), reference.triangles.len(), "{order:?} {step}");
                assert_eq!(inner_open_edges(&surface, points), 0, "{order:?} {step}");
                if reference.open_edges().is_empty() {
                    let volume = (surface.volume() / reference.volume() - 1.0).abs();
                    assert!(volume < 0.001, "{order:?} {step}: {}", surface.volume());
                }
                let sorted = |mesh: &ligament_surface::Mesh| {
                    let mut points: Vec<_> = mesh.points.iter().map(|point| point.map(f64::to_bits)).collect();
                    points.sort_unstable();
                    points
                };
                assert!(sorted(&surface) == sorted(&reference), "{order:?} {step}");
            }
        }
    }
}

#[test]
fn seams_between_blocks_of_other_order_in_memory_are_closed() {
    let field = Field::noise([20, 15, 14], 9);
    let (values, block) = stored(&field, [2, 1, 0], 1);
    let left = field.block([0; 3], [11, 15, 14]);
    let first = block.first + 10 * block.strides[0];
    let right =
        Block { values: FieldValues::F64(&values), first, origin: [10, 0, 0], points: [10, 15, 14], ..block };
    let together = joined(&[encoded(&left, 0.5), encoded(&right, 0.5)]);
    assert_eq!(together.triangles.len(), mesh(&field.whole(), 0.5).triangles.len());
    assert_eq!(inner_open_edges(&together, field.points), 0);
}

#[test]
fn all_vectors_of_the_processor_make_the_same_bytes() {
    for seed in 0..30 {
        let mut random = Random(1000 + seed);
        for (mut field, level) in fields(seed, &mut random) {
            for _ in 0..seed % 4 {
                let at = random.below(field.values.len() as u64) as usize;
                field.values[at] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][random.below(3) as usize];
            }
            if seed % 5 == 0 {
                field.values.iter_mut().for_each(|value| *value = value.signum() * 0.0);
            }
            let narrow: Vec<f32> = field.values.iter().map(|&value| value as f32).collect();
            for values in [FieldValues::F64(&field.values), FieldValues::F32(&narrow)] {
                let block = Block { values, ..field.whole() };
                let scalar = Encoder::with_lanes(Lanes::Scalar).encode(&block, level).unwrap().bytes.to_vec();
                for lanes in Lanes::available() {
                    let bytes = Encoder::with_lanes(lanes).encode(&block, level).unwrap().bytes.to_vec();
                    assert!(bytes == scalar, "seed {seed}, {lanes:?}");
                }
            }
        }
    }
}

#[test]
fn an_encoder_and_a_mesh_that_are_used_again_have_no_trace_of_earlier_blocks() {
    let mut encoder = Encoder::new();
    let mut random = Random(77);
    let mut builder = MeshBuilder::new();
    for seed in 0..10 {
        for (field, level) in fields(seed, &mut random) {
            let surface = encoder.encode(&field.whole(), level).unwrap();
            assert!(surface.bytes == encoded(&field.whole(), level));
            builder.clear();
            builder.add(surface.bytes).unwrap();
            assert!(*builder.mesh() == mesh(&field.whole(), level));
        }
    }
}

#[test]
fn single_precision_makes_the_surface_of_the_same_numbers_in_double_precision() {
    let field = Field::noise([30, 20, 10], 2);
    let narrow: Vec<f32> = field.values.iter().map(|&value| value as f32).collect();
    let wide = Field { values: narrow.iter().map(|&value| value.into()).collect(), ..field };
    let block = Block { values: FieldValues::F32(&narrow), ..wide.whole() };
    // Levels equal to a value, and levels whose difference from a value is too small for single precision.
    let value = wide.values[100];
    for level in [0.3, value, value * (1.0 + 1e-12), value * (1.0 - 1e-12), 0.0, -1.0, 1e300, -1e300, 1e-50] {
        assert!(encoded(&block, level) == encoded(&wide.whole(), level), "{level}");
    }
}
