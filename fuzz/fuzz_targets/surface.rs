//! Any bytes are a surface or none: each triangle of a surface has three points of the mesh, on edges of the
//! block's lattice, and bytes that are none leave the mesh as it was. Tried as they are, and behind a header
//! that fits their number: its axes, sizes and number of signs are in the first bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_surface::{nan_points, Header, MeshBuilder, HEADER_BYTES};

/// The bytes of the header that are taken from the input.
const CHOICE_BYTES: usize = 7;
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn read(builder: &mut MeshBuilder, bytes: &[u8]) {
    let before = builder.mesh().clone();
    let Ok(header) = builder.add(bytes) else {
        assert_eq!(*builder.mesh(), before);
        return;
    };
    assert_eq!(nan_points(bytes, header.points.map(u64::from)), Ok(header.nan_points));
    let mesh = builder.mesh();
    assert!(mesh.triangles.iter().flatten().all(|&point| (point as usize) < mesh.points.len()));
    for point in &mesh.points[before.points.len()..] {
        for axis in 0..3 {
            let last = f64::from(header.origin[axis]) + f64::from(header.points[axis] - 1);
            assert!((f64::from(header.origin[axis])..=last).contains(&point[axis]));
        }
        assert_eq!(point.iter().filter(|coordinate| coordinate.fract() != 0.0).count(), 1);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut builder = MeshBuilder::new();
    read(&mut builder, bytes);
    let Some((choice, body)) = bytes.split_at_checked(CHOICE_BYTES) else { return };
    let sign_bytes = (usize::from(choice[5]) | usize::from(choice[6]) << 8).min(body.len());
    let header = Header {
        axes: ORDERS[usize::from(choice[0] % 6)],
        first_sign: choice[1] & 1 == 1,
        origin: [u32::from(choice[1]), 5, 0],
        points: [choice[2], choice[3], choice[4]].map(|points| u32::from(points) + 1),
        level: 0.5,
        min: 0.0,
        max: 1.0,
        nan_points: u64::from(choice[1] & 2),
        edges: (body.len() - sign_bytes) as u32,
        sign_bytes: sign_bytes as u32,
    };
    let mut whole = header.to_bytes().to_vec();
    assert_eq!(whole.len(), HEADER_BYTES);
    whole.extend_from_slice(body);
    read(&mut builder, &whole);
    read(&mut builder, &whole);
});
