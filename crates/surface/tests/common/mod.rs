//! Fields with known surfaces, and blocks of them.
#![allow(dead_code)]

use ligament_surface::{Block, Encoder, FieldValues, Mesh, MeshBuilder};
use std::f64::consts::TAU;

/// Seeded random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number from 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A field on a lattice, column-major: x runs fastest.
#[derive(Clone)]
pub struct Field {
    pub points: [u64; 3],
    pub values: Vec<f64>,
}

impl Field {
    pub fn new(points: [u64; 3], mut value: impl FnMut([u64; 3]) -> f64) -> Field {
        let mut values = Vec::new();
        for z in 0..points[2] {
            for y in 0..points[1] {
                values.extend((0..points[0]).map(|x| value([x, y, z])));
            }
        }
        Field { points, values }
    }

    /// The distance from the centre, with a negative sign, so that the inside of a sphere is above the level.
    pub fn sphere(points: [u64; 3]) -> Field {
        let centre = points.map(|points| (points - 1) as f64 / 2.0);
        Field::new(points, |place| {
            -(0..3).map(|axis| (place[axis] as f64 - centre[axis]).powi(2)).sum::<f64>().sqrt()
        })
    }

    /// A gyroid with this many periods along each axis.
    pub fn gyroid(points: [u64; 3], periods: f64) -> Field {
        Field::new(points, |place| {
            let [x, y, z]: [f64; 3] =
                std::array::from_fn(|i| TAU * periods * place[i] as f64 / points[i] as f64);
            x.sin() * y.cos() + y.sin() * z.cos() + z.sin() * x.cos()
        })
    }

    pub fn noise(points: [u64; 3], seed: u64) -> Field {
        let mut random = Random(seed);
        Field::new(points, |_| random.fraction())
    }

    pub fn value(&self, [x, y, z]: [u64; 3]) -> f64 {
        self.values[(x + self.points[0] * (y + self.points[1] * z)) as usize]
    }

    /// The part of the field between two corners, `end` not included.
    pub fn block(&self, origin: [u64; 3], end: [u64; 3]) -> Block<'_> {
        let [sx, sy] = [self.points[0] as usize, self.points[1] as usize];
        let strides = [1, sx, sx * sy];
        Block {
            values: FieldValues::F64(&self.values),
            first: (0..3).map(|axis| origin[axis] as usize * strides[axis]).sum(),
            strides,
            origin,
            points: std::array::from_fn(|axis| end[axis] - origin[axis]),
        }
    }

    pub fn whole(&self) -> Block<'_> {
        self.block([0; 3], self.points)
    }
}

/// The bytes of a block's surface.
pub fn encoded(block: &Block<'_>, level: f64) -> Vec<u8> {
    Encoder::new().encode(block, level).unwrap().bytes.to_vec()
}

/// The mesh of a block's surface.
pub fn mesh(block: &Block<'_>, level: f64) -> Mesh {
    joined(&[encoded(block, level)])
}

/// The mesh of several surfaces.
pub fn joined(surfaces: &[Vec<u8>]) -> Mesh {
    let mut builder = MeshBuilder::new();
    for bytes in surfaces {
        builder.add(bytes).unwrap();
    }
    builder.finish()
}

/// The triangles by the coordinates of their corners, in an order that depends on these alone.
pub fn places(mesh: &Mesh) -> Vec<[[u64; 3]; 3]> {
    let mut triangles: Vec<_> = mesh
        .triangles
        .iter()
        .map(|triangle| {
            let mut corners = triangle.map(|point| mesh.points[point as usize].map(f64::to_bits));
            let smallest = (0..3).min_by_key(|&i| corners[i]).unwrap();
            corners.rotate_left(smallest);
            corners
        })
        .collect();
    triangles.sort_unstable();
    triangles
}

/// Open edges that do not lie on the outer faces of a lattice.
pub fn inner_open_edges(mesh: &Mesh, points: [u64; 3]) -> usize {
    let on_face = |point: u32, axis: usize, at: f64| mesh.points[point as usize][axis] == at;
    let outside = |[one, other]: [u32; 2]| {
        (0..3).any(|axis| {
            [0.0, (points[axis] - 1) as f64]
                .iter()
                .any(|&at| on_face(one, axis, at) && on_face(other, axis, at))
        })
    };
    mesh.open_edges().into_iter().filter(|&edge| !outside(edge)).count()
}
