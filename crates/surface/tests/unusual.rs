//! Unusual numbers as values; blocks and bytes that are refused.

mod common;

use common::{encoded, inner_open_edges, joined, mesh, Field, Random};
use ligament_surface::{
    nan_points, Block, Encoder, FieldValues, Header, MeshBuilder, SurfaceError, HEADER_BYTES,
};

#[test]
fn cells_with_nan_have_no_triangles_and_nan_is_counted() {
    let mut field = Field::sphere([30, 31, 70]);
    let whole = mesh(&field.whole(), -12.0);
    let corner = [2, 15, 34];
    for (dx, dz) in [(0, 0), (1, 0), (0, 1)] {
        field.values[(corner[0] + dx + 30 * (corner[1] + 31 * (corner[2] + dz))) as usize] = f64::NAN;
    }
    let bytes = encoded(&field.whole(), -12.0);
    let header = Header::read(&bytes).unwrap();
    assert_eq!(header.nan_points, 3);
    assert_eq!(header.max, Field::sphere([30, 31, 70]).values.iter().copied().fold(f64::MIN, f64::max));
    let torn = joined(&[bytes]);
    assert!(torn.triangles.len() < whole.triangles.len());
    assert!(torn.triangles.len() > whole.triangles.len() - 100);
    // The hole is where cells have a corner that is NaN.
    let near = |point: &[f64; 3]| (0..3).all(|axis| (point[axis] - corner[axis] as f64).abs() <= 2.0);
    assert!(!torn.open_edges().is_empty());
    for edge in torn.open_edges() {
        assert!(edge.iter().all(|&point| near(&torn.points[point as usize])));
    }
    // No point of the mesh is without a triangle.
    let mut used = vec![false; torn.points.len()];
    torn.triangles.iter().flatten().for_each(|&point| used[point as usize] = true);
    assert!(used.iter().all(|&used| used));
}

#[test]
fn blocks_with_nan_have_the_triangles_of_the_whole() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut field = Field::noise([20, 12, 14], seed);
        for _ in 0..60 {
            let at = random.below(field.values.len() as u64) as usize;
            field.values[at] = f64::NAN;
        }
        let cut = 1 + random.below(17);
        let parts = [field.block([0; 3], [cut + 1, 12, 14]), field.block([cut, 0, 0], field.points)];
        let together = joined(&parts.map(|block| encoded(&block, 0.5)));
        assert!(common::places(&together) == common::places(&mesh(&field.whole(), 0.5)), "seed {seed}");
    }
}

#[test]
fn each_point_that_is_nan_is_counted_by_one_block() {
    for (seed, order) in [(1, [140, 12, 14]), (2, [12, 140, 14]), (3, [20, 12, 70])] {
        let mut random = Random(seed);
        let mut field = Field::noise(order, seed);
        for _ in 0..200 {
            let at = random.below(field.values.len() as u64) as usize;
            field.values[at] = f64::NAN;
        }
        let all = field.values.iter().filter(|value| value.is_nan()).count() as u64;
        let mut counted = 0;
        for [x, y] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let cut = [order[0] / 2, order[1] / 3];
            let origin = [x * cut[0], y * cut[1], 0];
            let end = [[cut[0], order[0]][x as usize], [cut[1], order[1]][y as usize], order[2]];
            let own = [end[0] - origin[0], end[1] - origin[1], order[2]];
            let with_layers = [end[0] + 1 - x, end[1] + 1 - y, end[2]];
            counted += nan_points(&encoded(&field.block(origin, with_layers), 0.5), own).unwrap();
        }
        assert_eq!(counted, all);
    }
}

#[test]
fn a_block_of_nan_has_no_surface_and_no_range() {
    let field = Field::new([5, 6, 7], |_| f64::NAN);
    let bytes = encoded(&field.whole(), 1.0);
    let header = Header::read(&bytes).unwrap();
    assert_eq!((header.nan_points, header.edges), (210, 0));
    assert!(header.min.is_nan() && header.max.is_nan());
    assert!(joined(&[bytes]).triangles.is_empty());
}

#[test]
fn an_infinite_value_is_as_far_away_as_can_be() {
    let values = [f64::NEG_INFINITY, 0.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 1e-320, 0.0];
    let field = Field::new([9, 2, 2], |[x, _, _]| values[x as usize]);
    let at = |level: f64| {
        let mesh = mesh(&field.whole(), level);
        assert_eq!(inner_open_edges(&mesh, field.points), 0);
        let mut places: Vec<f64> = mesh.points.iter().map(|point| point[0]).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    };
    let (low, middle, high) = (0.5 / 256.0, 128.5 / 256.0, 255.5 / 256.0);
    assert_eq!(at(1.0), [1.0 + middle, 3.0 + middle, 4.0 + high, 5.0 + middle]);
    assert_eq!(at(-1.0), [high, 3.0 + middle, 4.0 + high, 5.0 + middle, 6.0 + high]);
    assert_eq!(at(5.0), [2.0 + low, 3.0 + middle, 4.0 + high, 5.0 + middle]);
    assert_eq!(at(5e-321)[4..], [6.0 + high, 7.0 + middle]);
}

#[test]
fn a_level_outside_of_the_data_is_empty_and_says_their_range() {
    let field = Field::noise([40, 9, 8], 4);
    for level in [-1.0, 2.0] {
        let bytes = encoded(&field.whole(), level);
        let header = Header::read(&bytes).unwrap();
        assert_eq!((header.edges, bytes.len()), (0, HEADER_BYTES + 8));
        assert_eq!(header.min, field.values.iter().copied().fold(f64::MAX, f64::min));
        assert_eq!(header.max, field.values.iter().copied().fold(f64::MIN, f64::max));
        assert!(joined(&[bytes]).triangles.is_empty());
    }
}

#[test]
fn a_level_that_is_no_number_is_refused() {
    let field = Field::sphere([4, 4, 4]);
    for level in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Encoder::new().encode(&field.whole(), level).unwrap_err();
        assert!(error.to_string().contains(&format!("is {level}; give a finite number")), "{error}");
    }
}

#[test]
fn blocks_that_cannot_be_are_refused() {
    let field = Field::sphere([4, 5, 6]);
    let refused = |block: Block<'_>| Encoder::new().encode(&block, 0.0).unwrap_err();
    let whole = field.whole();
    assert_eq!(refused(Block { points: [4, 0, 6], ..whole }), SurfaceError::NoPoints { axis: "y" });
    for block in [
        Block { points: [4, 5, 7], ..whole },
        Block { first: 1, ..whole },
        Block { strides: [1, 4, usize::MAX / 2], ..whole },
        Block { first: usize::MAX, ..whole },
        Block { values: FieldValues::F32(&[]), ..whole },
    ] {
        assert!(matches!(refused(block), SurfaceError::Bounds { .. }), "{block:?}");
    }
    for block in [
        Block { origin: [0, 1 << 32, 0], ..whole },
        Block { origin: [u64::MAX, 0, 0], ..whole },
        Block { points: [1 << 21, 5, 6], strides: [0, 0, 0], ..whole },
        Block { points: [1 << 20, 1 << 9, 6], strides: [0, 0, 0], ..whole },
        Block { points: [1 << 18, 1 << 10, 1 << 7], strides: [0, 0, 0], ..whole },
        Block { points: [u64::MAX, u64::MAX, u64::MAX], ..whole },
    ] {
        assert!(matches!(refused(block), SurfaceError::Size { .. }), "{block:?}");
    }
}

#[test]
fn a_block_without_cells_has_no_triangles() {
    let field = Field::noise([9, 8, 7], 6);
    for block in [field.block([3, 0, 0], [4, 8, 7]), field.block([0, 3, 3], [9, 4, 4])] {
        assert!(mesh(&block, 0.5).triangles.is_empty());
    }
}

#[test]
fn the_last_coordinates_can_be_used() {
    let field = Field::noise([9, 8, 7], 6);
    let origin = field.points.map(|points| (1 << 32) - points);
    let far = mesh(&Block { origin, ..field.whole() }, 0.5);
    let near = mesh(&field.whole(), 0.5);
    assert_eq!(far.triangles, near.triangles);
    for (far, near) in far.points.iter().zip(&near.points) {
        assert_eq!(*far, std::array::from_fn(|axis| near[axis] + origin[axis] as f64));
    }
}

/// A block with NaN, so that all parts of the format are there.
fn sample() -> Vec<u8> {
    let mut field = Field::noise([70, 5, 4], 12);
    field.values[500] = f64::NAN;
    encoded(&field.whole(), 0.9)
}

#[test]
fn bytes_that_were_cut_are_refused() {
    let bytes = sample();
    for length in 0..bytes.len() {
        assert!(MeshBuilder::new().add(&bytes[..length]).is_err(), "{length}");
        // The header claims this many, too.
        if length >= HEADER_BYTES {
            let mut shorter = bytes[..length].to_vec();
            let header = Header::read(&bytes).unwrap();
            let signs = (length - HEADER_BYTES).min(header.sign_bytes as usize);
            shorter[64..68].copy_from_slice(&((length - HEADER_BYTES - signs) as u32).to_le_bytes());
            shorter[68..72].copy_from_slice(&(signs as u32).to_le_bytes());
            assert!(MeshBuilder::new().add(&shorter).is_err(), "{length}");
        }
    }
}

#[test]
fn changed_bytes_are_refused_or_read_and_a_mesh_stays_whole() {
    let bytes = sample();
    let mut random = Random(99);
    let mut builder = MeshBuilder::new();
    builder.add(&bytes).unwrap();
    let whole = builder.finish();
    let mut refused = 0;
    for _ in 0..3000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(changed.len() as u64) as usize;
            changed[at] ^= 1 << random.below(8);
        }
        let mut builder = MeshBuilder::new();
        builder.add(&bytes).unwrap();
        if let Err(error) = builder.add(&changed) {
            assert!(matches!(error, SurfaceError::Malformed { .. }), "{error}");
            assert!(builder.finish() == whole);
            refused += 1;
        }
    }
    assert!((300..2999).contains(&refused), "{refused}");
}

#[test]
fn a_header_of_a_huge_block_takes_no_memory_for_it() {
    let mut header = Header::read(&sample()).unwrap();
    header.points = [1 << 20, 1 << 8, 1 << 6];
    (header.edges, header.sign_bytes) = (0, 1);
    let mut bytes = header.to_bytes().to_vec();
    bytes.push(0);
    assert!(matches!(MeshBuilder::new().add(&bytes), Err(SurfaceError::Malformed { .. })));
    for points in [[1 << 20, 1 << 20, 2], [1 << 20, 1 << 8, 1 << 7], [4, 4, u32::MAX], [0, 1, 1]] {
        header.points = points;
        assert!(Header::read(&[&header.to_bytes()[..], &[0]].concat()).is_err());
    }
}
