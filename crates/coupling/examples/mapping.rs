//! Measures mappings between meshes: `mapping KNOWN ASKED`. The arguments are two files of points, three
//! doubles each. Prints one line of JSON with times in s. For the nearest point of KNOWN to each point of
//! ASKED, these are the times of building the tree, of the search, and of applying the mapping. The same
//! follows for linear interpolation in a mesh of triangles or tetrahedra with about as many points.
//! `benchmarks/mapping` runs this program.

use ligament_coupling::mapping::{Constraint, KdTree, Point, Weights};
use std::hint::black_box;
use std::time::Instant;

fn points(path: &str) -> Vec<Point> {
    let bytes = std::fs::read(path).expect("the points can be read");
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes
        .chunks_exact(24)
        .map(|point| std::array::from_fn(|axis| number(&point[8 * axis..8 * axis + 8])))
        .collect()
}

/// Makes a square of triangles, two in each small square, or a cube of tetrahedra, six in each small cube.
fn grid(n: usize, flat: bool) -> (Vec<Point>, Vec<Vec<u32>>) {
    let number = |at: [usize; 3]| ((at[2] * (n + 1) + at[1]) * (n + 1) + at[0]) as u32;
    let high = if flat { 0 } else { n };
    let places = || (0..=high).flat_map(move |k| (0..=n).flat_map(move |j| (0..=n).map(move |i| [i, j, k])));
    let points = places().map(|at| at.map(|c| c as f64 / n as f64)).collect();
    let paths: &[&[usize]] = if flat {
        &[&[0, 1], &[1, 0]]
    } else {
        &[&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]]
    };
    let mut cells = Vec::new();
    for corner in places().filter(|at| at[0] < n && at[1] < n && (flat || at[2] < n)) {
        for &path in paths {
            let mut at = corner;
            let mut cell = vec![number(at)];
            for &axis in path {
                at[axis] += 1;
                cell.push(number(at));
            }
            cells.push(cell);
        }
    }
    (points, cells)
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let made = black_box(work());
    (began.elapsed().as_secs_f64(), made)
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [known, asked] = &files[..] else { panic!("mapping KNOWN ASKED") };
    let (known, asked) = (points(known), points(asked));
    let (tree, made) = timed(|| KdTree::new(&known));
    let (search, _) = timed(|| made.nearest_of_all(&asked));
    drop(made);
    let (nearest, weights) =
        timed(|| Weights::nearest(&known, &asked, Constraint::Consistent).expect("points"));
    let values: Vec<f64> = known.iter().map(|point| point[0]).collect();
    let (apply, _) = timed(|| weights.apply(&values, 1));
    let flat = known.iter().all(|point| point[2] == 0.0);
    let count = known.len() as f64;
    let n = if flat { count.sqrt() } else { count.cbrt() }.round() as usize - 1;
    let (corners, cells) = grid(n.max(1), flat);
    let (linear, weights) =
        timed(|| Weights::linear(&corners, &asked, &cells, Constraint::Consistent).expect("a mesh"));
    let values: Vec<f64> = corners.iter().map(|point| point[0]).collect();
    let (apply_linear, made) = timed(|| weights.apply(&values, 1));
    let off = made
        .iter()
        .zip(&asked)
        .map(|(value, point)| (value - point[0].clamp(0.0, 1.0)).abs())
        .fold(0.0, f64::max);
    assert!(off < 1e-9, "linear interpolation is off by {off}");
    println!(
        "{{\"tree\": {tree}, \"search\": {search}, \"nearest\": {nearest}, \"apply\": {apply}, \"linear\": \
         {linear}, \"apply_linear\": {apply_linear}}}"
    );
}
