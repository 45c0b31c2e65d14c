//! Tests of radial basis functions.

use super::tests::{apart, linear, Random};
use super::*;

const FUNCTIONS: [RadialFunction; 11] = [
    RadialFunction::Compact { smoothness: 0, radius: 0.9 },
    RadialFunction::Compact { smoothness: 2, radius: 0.9 },
    RadialFunction::Compact { smoothness: 4, radius: 0.9 },
    RadialFunction::Compact { smoothness: 6, radius: 0.9 },
    RadialFunction::Compact { smoothness: 8, radius: 0.9 },
    RadialFunction::CompactSpline { radius: 0.9 },
    RadialFunction::Gaussian { shape: 8.0 },
    RadialFunction::CutGaussian { radius: 0.9 },
    RadialFunction::Multiquadrics { shape: 0.05 },
    RadialFunction::ThinPlateSpline,
    RadialFunction::VolumeSpline,
];

fn wavy(point: &Point) -> f64 {
    (3.0 * point[0]).sin() + (2.0 * point[1]).cos() + point[2]
}

fn weights(from: &[Point], to: &[Point], basis: RadialBasis) -> Weights {
    Weights::radial(from, to, basis, Constraint::Consistent).unwrap()
}

fn refusal(from: &[Point], to: &[Point], basis: RadialBasis) -> String {
    Weights::radial(from, to, basis, Constraint::Consistent).unwrap_err().text().to_owned()
}

#[test]
fn radial_functions_with_a_polynomial_keep_linear_functions_and_constants() {
    for flat in [true, false] {
        let mut random = Random(11);
        let (from, to) = (random.points(60, flat), random.points(40, flat));
        for function in FUNCTIONS {
            for polynomial in [Polynomial::Separate, Polynomial::On] {
                let values: Vec<f64> = from.iter().flat_map(|point| [linear(point), 7.0]).collect();
                let made = weights(&from, &to, RadialBasis { function, polynomial }).apply(&values, 2);
                for (point, value) in to.iter().zip(made.chunks(2)) {
                    let off = (value[0] - linear(point)).abs().max((value[1] - 7.0).abs());
                    assert!(off < 1e-8, "{function:?} {polynomial:?}: off by {off:e} at {point:?}");
                }
            }
        }
    }
}

#[test]
fn radial_functions_have_the_known_values_at_the_known_points_and_good_ones_between() {
    let mut random = Random(12);
    let from: Vec<Point> = (0..81).map(|i| [f64::from(i % 9) / 8.0, f64::from(i / 9) / 8.0, 0.0]).collect();
    let between: Vec<Point> = random.points(50, true);
    let values: Vec<f64> = from.iter().map(wavy).collect();
    for function in FUNCTIONS {
        for polynomial in [Polynomial::Separate, Polynomial::On, Polynomial::Off] {
            let basis = RadialBasis { function, polynomial };
            for (found, value) in weights(&from, &from, basis).apply(&values, 1).iter().zip(&values) {
                assert!((found - value).abs() < 1e-8, "{basis:?}: {found} {value}");
            }
            let made = weights(&from, &between, basis).apply(&values, 1);
            let off = made.iter().zip(&between).map(|(x, at)| (x - wavy(at)).abs()).fold(0.0, f64::max);
            assert!(off < 0.2, "{basis:?}: off by {off:e}");
        }
    }
}

#[test]
fn two_points_without_a_polynomial_give_the_solution_by_hand() {
    let (radius, from) = (2.0, [[0.0; 3], [1.0, 0.0, 0.0]]);
    for (smoothness, halfway, quarter) in
        [(0, 0.25, 0.5625), (2, 0.1875, 0.6328125), (6, 0.0595703125, 0.5068216323852539)]
    {
        // The matrix is [1 a; a 1] with the value a at the distance 1, half of the radius.
        let function = RadialFunction::Compact { smoothness, radius };
        let basis = RadialBasis { function, polynomial: Polynomial::Off };
        assert!((function.at(1.0) - halfway).abs() < 1e-15 && (function.at(0.5) - quarter).abs() < 1e-15);
        let shares = [1.0 / (1.0 - halfway * halfway), -halfway / (1.0 - halfway * halfway)];
        let made = weights(&from, &[[0.5, 0.0, 0.0]], basis).apply(&[1.0, 0.0], 1)[0];
        assert!((made - (shares[0] + shares[1]) * quarter).abs() < 1e-14, "{smoothness}: {made}");
    }
}

#[test]
fn conservative_radial_functions_keep_the_sum_and_are_the_transpose() {
    let mut random = Random(13);
    let (from, to) = (random.points(50, false), random.points(30, false));
    let forces: Vec<f64> = (0..100).map(|_| random.next() - 0.3).collect();
    let fields: Vec<f64> = (0..60).map(|_| random.next()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for function in FUNCTIONS {
        for polynomial in [Polynomial::Separate, Polynomial::On, Polynomial::Off] {
            let basis = RadialBasis { function, polynomial };
            let forth = Weights::radial(&from, &to, basis, Constraint::Conservative).unwrap();
            let back = weights(&to, &from, basis);
            let made = forth.apply(&forces, 2);
            assert_eq!((forth.sources(), forth.targets(), made.len()), (50, 30, 60));
            let (work, same) = (dot(&made, &fields), dot(&forces, &back.apply(&fields, 2)));
            assert!((work - same).abs() < 1e-7 * same.abs().max(1.0), "{basis:?}: {work} {same}");
            if polynomial == Polynomial::Off {
                continue;
            }
            for c in 0..2 {
                let sum = |values: &[f64]| values.iter().skip(c).step_by(2).sum::<f64>();
                assert!((sum(&made) - sum(&forces)).abs() < 1e-9, "{basis:?}");
            }
        }
    }
}

#[test]
fn meshes_in_a_line_or_a_tilted_plane_and_those_of_one_point_are_mapped() {
    let function = RadialFunction::Compact { smoothness: 6, radius: 3.0 };
    let line: Vec<Point> = (0..6).map(|i| [f64::from(i), 2.0 * f64::from(i), 1.0]).collect();
    let plane: Vec<Point> =
        (0..25).map(|i| [f64::from(i % 5), f64::from(i / 5), f64::from(i % 5 + i / 5)]).collect();
    for (points, asked) in [(line, [2.5, 5.0, 1.0]), (plane, [1.5, 2.25, 3.75])] {
        let values: Vec<f64> = points.iter().map(linear).collect();
        for polynomial in [Polynomial::Separate, Polynomial::On] {
            let made = weights(&points, &[asked], RadialBasis { function, polynomial }).apply(&values, 1)[0];
            assert!((made - linear(&asked)).abs() < 1e-9, "{polynomial:?}: {made}");
        }
    }
    let one = [[0.5, 0.5, 0.0]];
    for function in FUNCTIONS {
        for polynomial in [Polynomial::Separate, Polynomial::On] {
            let basis = RadialBasis { function, polynomial };
            assert_eq!(weights(&one, &[[0.6; 3], [0.5; 3]], basis).apply(&[4.0], 1), [4.0, 4.0]);
            let all = Weights::radial(&[[0.6; 3], [0.5; 3]], &one, basis, Constraint::Conservative).unwrap();
            assert_eq!(all.apply(&[4.0, 0.5], 1), [4.5]);
        }
    }
}

#[test]
fn a_masked_value_masks_all_that_radial_functions_make_of_it() {
    let mut random = Random(14);
    let (from, to) = (random.points(20, true), random.points(5, true));
    let basis = RadialBasis { function: FUNCTIONS[2], polynomial: Polynomial::Separate };
    let mut values = vec![1.0; 20];
    values[3] = f64::NAN;
    assert!(weights(&from, &to, basis).apply(&values, 1).iter().all(|value| value.is_nan()));
}

#[test]
fn points_that_radial_functions_cannot_take_are_named() {
    let mut random = Random(15);
    let (from, to) = (random.points(20, true), random.points(5, true));
    let basis = |function, polynomial| RadialBasis { function, polynomial };
    let mut twice = from.clone();
    twice[17] = twice[4];
    let text = refusal(&twice, &to, basis(FUNCTIONS[3], Polynomial::Separate));
    assert!(text.contains("points 4 and 17 are both at"), "{text}");
    let zeros = [[0.0, 1.0, 0.0], [-0.0, 1.0, -0.0]];
    assert!(refusal(&zeros, &to, basis(FUNCTIONS[3], Polynomial::On)).contains("points 0 and 1"));
    let away: Vec<Point> = to.iter().map(|point| [point[0] + 10.0, point[1], 0.0]).collect();
    for polynomial in [Polynomial::Separate, Polynomial::On, Polynomial::Off] {
        let text = refusal(&from, &away, basis(FUNCTIONS[3], polynomial));
        assert!(text.contains("5 of 5 points") && text.contains("support radius 0.9"), "{text}");
        assert!(refusal(&from[..1], &away, basis(FUNCTIONS[3], polynomial)).contains("5 of 5 points"));
    }
    // A point out of reach has the value of the polynomial, or 0, which is none.
    let mixed = [to[0], away[0]];
    let nearest = from.iter().map(|point| apart(point, &away[0])).fold(f64::INFINITY, f64::min).sqrt();
    let text = refusal(&from, &mixed, basis(FUNCTIONS[3], Polynomial::Off));
    assert!(text.contains("1 of 2 points") && text.contains(&format!("{nearest} away")), "{text}");
    let values: Vec<f64> = from.iter().map(linear).collect();
    let made = weights(&from, &mixed, basis(FUNCTIONS[3], Polynomial::Separate)).apply(&values, 1);
    assert!((made[1] - linear(&away[0])).abs() < 1e-9, "{made:?}");
    let smooth = RadialFunction::Gaussian { shape: 1e-4 };
    assert!(refusal(&from, &to, basis(smooth, Polynomial::Off)).contains("singular"));
    let many = random.points(4097, true);
    assert!(refusal(&many, &to, basis(FUNCTIONS[3], Polynomial::Off)).contains("4097"));
}
