//! Tests that compare mappings with their definitions.

use super::*;

/// A random number generator (splitmix64; Steele et al., OOPSLA 2014). Its numbers are between 0 and 1.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn points(&mut self, count: usize, flat: bool) -> Vec<Point> {
        (0..count).map(|_| [self.next(), self.next(), if flat { 0.0 } else { self.next() }]).collect()
    }
}

pub(super) fn apart(a: &Point, b: &Point) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum()
}

pub(super) fn linear(point: &Point) -> f64 {
    2.0 + 3.0 * point[0] - 5.0 * point[1] + 0.5 * point[2]
}

/// Makes a square of triangles, or a cube of tetrahedra (six in each small cube; Freudenthal, Ann. Math. 43,
/// 1942).
fn grid(n: usize, flat: bool) -> (Vec<Point>, Vec<Vec<u32>>) {
    let layers = if flat { 1 } else { n + 1 };
    let number = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let mut points = Vec::new();
    let mut cells = Vec::new();
    for k in 0..layers {
        for j in 0..=n {
            for i in 0..=n {
                points.push([i, j, k].map(|c| c as f64 / n as f64));
                if i == n || j == n || !flat && k == n {
                    continue;
                }
                let paths: &[&[usize]] = if flat {
                    &[&[0, 1], &[1, 0]]
                } else {
                    &[&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]]
                };
                for path in paths {
                    let mut at = [i, j, k];
                    let mut cell = vec![number(i, j, k)];
                    for &axis in *path {
                        at[axis] += 1;
                        cell.push(number(at[0], at[1], at[2]));
                    }
                    cells.push(cell);
                }
            }
        }
    }
    (points, cells)
}

#[test]
fn the_nearest_is_the_one_that_a_search_through_all_finds() {
    let mut random = Random(1);
    for (count, flat) in [(1, false), (7, true), (13, false), (500, true), (2000, false)] {
        let known = random.points(count, flat);
        let mut asked = random.points(300, flat);
        // Some points are far outside the mesh, and one is equal to a known point.
        asked.extend([[-40.0, 3.0, 0.5], [7.0, -9.0, 100.0], known[count / 2]]);
        let tree = KdTree::new(&known);
        for (point, &found) in asked.iter().zip(&tree.nearest_of_all(&asked)) {
            let best = (0..count)
                .min_by(|&a, &b| apart(&known[a], point).total_cmp(&apart(&known[b], point)))
                .unwrap();
            assert_eq!(found as usize, best);
            assert_eq!(tree.nearest(point).0, found);
        }
    }
}

#[test]
fn of_points_at_one_distance_the_first_is_nearest() {
    let known = vec![[1.0, 1.0, 0.0]; 100];
    assert_eq!(KdTree::new(&known).nearest_of_all(&[[0.0; 3], [1.0, 1.0, 0.0]]), [0, 0]);
    let grid: Vec<Point> = (0..400).map(|i| [f64::from(i % 20), f64::from(i / 20), 0.0]).collect();
    assert_eq!(KdTree::new(&grid).nearest(&[4.5, 7.5, 0.0]).0, 7 * 20 + 4);
}

#[test]
fn linear_functions_stay_the_same_in_two_and_three_dimensions() {
    let mut random = Random(2);
    for flat in [true, false] {
        let (points, cells) = grid(6, flat);
        let targets = random.points(500, flat);
        let weights = Weights::linear(&points, &targets, &cells, Constraint::Consistent).unwrap();
        let values: Vec<f64> = points.iter().flat_map(|point| [linear(point), 1.0]).collect();
        let made = weights.apply(&values, 2);
        for (target, value) in targets.iter().zip(made.chunks(2)) {
            assert!(
                (value[0] - linear(target)).abs() < 1e-12 && (value[1] - 1.0).abs() < 1e-15,
                "{target:?} {value:?}"
            );
        }
    }
}

#[test]
fn outside_of_the_mesh_the_closest_place_in_it_counts() {
    for (flat, outside, closest) in [
        (true, [1.5, 0.3, 0.0], [1.0, 0.3, 0.0]),
        (true, [-2.0, -1.0, 0.0], [0.0, 0.0, 0.0]),
        (true, [0.4, 0.3, 7.0], [0.4, 0.3, 0.0]),
        (false, [0.2, 1.25, 0.7], [0.2, 1.0, 0.7]),
        (false, [2.0, 0.5, 2.0], [1.0, 0.5, 1.0]),
    ] {
        let (points, cells) = grid(4, flat);
        let weights = Weights::linear(&points, &[outside], &cells, Constraint::Consistent).unwrap();
        let values: Vec<f64> = points.iter().map(linear).collect();
        let made = weights.apply(&values, 1)[0];
        assert!((made - linear(&closest)).abs() < 1e-12, "{outside:?}: {made}");
    }
}

#[test]
fn thin_triangles_lose_no_more_digits_than_their_shape_takes() {
    for thin in [1e-3, 1e-5, 1e-7] {
        // A thin triangle that is not parallel to any axis.
        let at = |x: f64, y: f64| [0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y, 0.25 * x];
        let points = [at(0.0, 0.0), at(1.0, 0.0), at(0.45, thin)];
        let values: Vec<f64> = points.iter().map(linear).collect();
        for shares in [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.45, 0.45, 0.1]] {
            let target: Point =
                std::array::from_fn(|axis| (0..3).map(|i| shares[i] * points[i][axis]).sum::<f64>());
            let weights = Weights::linear(&points, &[target], &[vec![0, 1, 2]], Constraint::Consistent);
            let made = weights.unwrap().apply(&values, 1)[0];
            let off = (made - linear(&target)).abs();
            assert!(off < 2e-14 / thin, "{thin}, {shares:?}: off by {off:e}");
        }
    }
}

#[test]
fn a_line_of_segments_interpolates_too() {
    let points: Vec<Point> = (0..5).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let cells: Vec<Vec<u32>> = (0..4).map(|i| vec![i, i + 1]).collect();
    let weights = Weights::linear(&points, &[[2.25, 0.0, 0.0]], &cells, Constraint::Consistent).unwrap();
    assert_eq!(weights.apply(&[0.0, 10.0, 20.0, 40.0, 50.0], 1), [25.0]);
}

#[test]
fn conservative_mappings_keep_the_sum() {
    let mut random = Random(3);
    for flat in [true, false] {
        let (targets, cells) = grid(5, flat);
        let sources = random.points(700, flat);
        let values: Vec<f64> = (0..2 * sources.len()).map(|_| random.next() - 0.3).collect();
        let sums = |values: &[f64]| [0, 1].map(|c| values.iter().skip(c).step_by(2).sum::<f64>());
        let by_cells = Weights::linear(&sources, &targets, &cells, Constraint::Conservative).unwrap();
        let to_nearest = Weights::nearest(&sources, &targets, Constraint::Conservative).unwrap();
        for weights in [by_cells, to_nearest] {
            assert_eq!((weights.sources(), weights.targets()), (700, targets.len()));
            let made = sums(&weights.apply(&values, 2));
            let was = sums(&values);
            assert!((made[0] - was[0]).abs() < 1e-10 && (made[1] - was[1]).abs() < 1e-10, "{made:?} {was:?}");
        }
    }
}

#[test]
fn nearest_mappings_take_whole_values() {
    let from = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
    let to = [[1.9, 0.0, 0.0], [0.1, 0.0, 0.0]];
    let weights = Weights::nearest(&from, &to, Constraint::Consistent).unwrap();
    assert_eq!(weights.apply(&[5.0, 6.0, 7.0], 1), [7.0, 5.0]);
    assert_eq!(weights.apply(&[5.0, -5.0, 6.0, -6.0, 7.0, -7.0], 2), [7.0, -7.0, 5.0, -5.0]);
    let back = Weights::nearest(&from, &to, Constraint::Conservative).unwrap();
    assert_eq!(back.apply(&[5.0, 6.0, 7.0], 1), [13.0, 5.0]);
}

#[test]
fn meshes_that_cannot_be_are_refused_by_name() {
    let points = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let wrong = |cells: &[Vec<u32>]| {
        Weights::linear(&points, &points, cells, Constraint::Consistent).unwrap_err().text().to_owned()
    };
    assert!(wrong(&[vec![0, 1, 3]]).contains("corner 3"));
    assert!(wrong(&[vec![0, 1, 2], vec![0, 1, 1]]).contains("cell 1"));
    assert!(wrong(&[vec![0]]).contains("1 corners"));
    assert!(wrong(&[]).contains("0 cells"));
    let lost = [[0.0, f64::NAN, 0.0]];
    assert!(Weights::nearest(&lost, &points, Constraint::Consistent).unwrap_err().contains("no place"));
    assert!(Weights::nearest(&points, &[], Constraint::Consistent).unwrap_err().contains("0 points"));
}

#[test]
fn corners_without_a_share_hand_on_nothing_and_masked_ones_are_left_out() {
    let points: Vec<Point> = [0.0, 1.0, 2.0].map(|x| [x, 0.0, 0.0]).to_vec();
    let cells = [vec![0, 1], vec![1, 2]];
    let asked: Vec<Point> = [0.0, 0.25, 1.0, 1.5].map(|x| [x, 0.0, 0.0]).to_vec();
    let same = |found: Vec<f64>, expected: &[f64]| {
        let pairs = found.iter().zip(expected);
        found.len() == expected.len() && pairs.into_iter().all(|(a, b)| a == b || a.is_nan() && b.is_nan())
    };
    let linear = Weights::linear(&points, &asked, &cells, Constraint::Consistent).unwrap();
    for gone in [f64::NAN, f64::INFINITY] {
        let values = [3.0, gone, 5.0];
        assert!(same(linear.apply(&values, 1), &[3.0, gone, gone, gone]));
    }
    assert!(same(linear.apply_without_masked(&[3.0, f64::NAN, 5.0], 1), &[3.0, 3.0, f64::NAN, 5.0]));
    assert!(same(linear.apply(&[f64::MAX; 3], 1), &[f64::MAX; 4]));
    let two = linear.apply_without_masked(&[3.0, 1.0, f64::NAN, 2.0, 5.0, f64::NAN], 2);
    assert!(same(two, &[3.0, 1.0, 3.0, 1.25, f64::NAN, 2.0, 5.0, 2.0]));
    // This mapping spreads the values of the four points over the three points by their shares.
    let conservative = Weights::linear(&asked, &points, &cells, Constraint::Conservative).unwrap();
    let values = [3.0, f64::NAN, 5.0, 7.0];
    assert!(same(conservative.apply(&values, 1), &[f64::NAN, f64::NAN, 3.5]));
    assert!(same(conservative.apply_without_masked(&values, 1), &[3.0, 8.5, 3.5]));
    let large = [1.7e308, 0.0, 1.7e308, 0.0];
    assert!(same(conservative.apply(&large, 1), &[1.7e308, 1.7e308, 0.0]));
}
