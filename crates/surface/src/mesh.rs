//! A mesh of triangles, and its measures.

use std::collections::HashMap;

/// A surface as triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Coordinates of the corners. A `MeshBuilder` gives them on the lattice of the whole grid, in distances of
    /// points.
    pub points: Vec<[f64; 3]>,
    /// Indices of three points each, counterclockwise for a viewer on the side of lower values.
    pub triangles: Vec<[u32; 3]>,
}

fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|axis| a[axis] * b[axis]).sum()
}

impl Mesh {
    /// Moves each point from the lattice to `origin + point × spacing`, in the unit of these two.
    pub fn scale(&mut self, origin: [f64; 3], spacing: [f64; 3]) {
        for point in &mut self.points {
            *point = std::array::from_fn(|axis| origin[axis] + point[axis] * spacing[axis]);
        }
    }

    fn corners(&self) -> impl Iterator<Item = [[f64; 3]; 3]> + '_ {
        self.triangles.iter().map(|triangle| triangle.map(|point| self.points[point as usize]))
    }

    /// Returns the area, in the square of the points' unit.
    pub fn area(&self) -> f64 {
        let doubled = |[a, b, c]: [[f64; 3]; 3]| {
            let normal = cross(difference(b, a), difference(c, a));
            dot(normal, normal).sqrt()
        };
        self.corners().map(doubled).sum::<f64>() / 2.0
    }

    /// Returns the volume inside a closed mesh, in the cube of the points' unit. It is negative if the values
    /// inside are lower.
    pub fn volume(&self) -> f64 {
        self.corners().map(|[a, b, c]| dot(a, cross(b, c))).sum::<f64>() / 6.0
    }

    /// Returns each edge of a triangle by its two points, with the number of times that it occurs.
    fn edges(&self) -> HashMap<[u32; 2], u32> {
        let mut edges = HashMap::new();
        for &[a, b, c] in &self.triangles {
            for (one, other) in [(a, b), (b, c), (c, a)] {
                *edges.entry([one.min(other), one.max(other)]).or_default() += 1;
            }
        }
        edges
    }

    /// Returns the Euler number: points minus edges plus triangles. It is 2 for a ball.
    pub fn euler_number(&self) -> i64 {
        self.points.len() as i64 - self.edges().len() as i64 + self.triangles.len() as i64
    }

    /// Returns the edges with a triangle on one side only, by their points. A surface that goes on beyond the
    /// grid has such edges.
    pub fn open_edges(&self) -> Vec<[u32; 2]> {
        self.edges().into_iter().filter(|&(_, count)| count != 2).map(|(edge, _)| edge).collect()
    }
}
