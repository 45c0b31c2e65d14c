//! Meshes have the area, the volume and the Euler number of what they show, and no hole.

mod common;

use common::{inner_open_edges, mesh, places, Field};
use std::f64::consts::PI;

fn assert_near(measured: f64, exact: f64, tolerance: f64) {
    assert!((measured / exact - 1.0).abs() < tolerance, "{measured} instead of {exact}");
}

#[test]
fn a_sphere_has_its_area_and_volume() {
    let mesh = mesh(&Field::sphere([70, 75, 80]).whole(), -30.0);
    assert_near(mesh.area(), 4.0 * PI * 30.0f64.powi(2), 0.002);
    assert_near(mesh.volume(), 4.0 / 3.0 * PI * 30.0f64.powi(3), 0.002);
    assert_eq!((mesh.euler_number(), mesh.open_edges().len()), (2, 0));
}

#[test]
fn a_hollow_sphere_has_a_negative_volume() {
    let mut field = Field::sphere([40, 41, 42]);
    field.values.iter_mut().for_each(|value| *value = -*value);
    let mesh = mesh(&field.whole(), 15.0);
    assert_near(mesh.volume(), -4.0 / 3.0 * PI * 15.0f64.powi(3), 0.005);
    assert_eq!((mesh.euler_number(), mesh.open_edges().len()), (2, 0));
}

#[test]
fn a_torus_has_the_euler_number_0() {
    let field = Field::new([64, 64, 32], |[x, y, z]| {
        let [x, y, z] = [x as f64 - 31.3, y as f64 - 31.6, z as f64 - 15.2];
        -(((x * x + y * y).sqrt() - 20.0).powi(2) + z * z).sqrt()
    });
    let mesh = mesh(&field.whole(), -8.0);
    assert_near(mesh.area(), 4.0 * PI * PI * 20.0 * 8.0, 0.01);
    assert_near(mesh.volume(), 2.0 * PI * PI * 20.0 * 64.0, 0.01);
    assert_eq!((mesh.euler_number(), mesh.open_edges().len()), (0, 0));
}

#[test]
fn noise_has_no_hole_within() {
    let field = Field::noise([33, 70, 29], 5);
    let mesh = mesh(&field.whole(), 0.5);
    assert!(mesh.triangles.len() > 50_000);
    assert_eq!(inner_open_edges(&mesh, field.points), 0);
}

#[test]
fn points_are_within_a_512th_of_a_cell() {
    let field = Field::noise([21, 22, 23], 8);
    let mesh = mesh(&field.whole(), 0.4);
    assert!(mesh.points.len() > 5000);
    for point in &mesh.points {
        let axis = (0..3).find(|&axis| point[axis].fract() != 0.0).expect("a point lies within an edge");
        let lower = point.map(|coordinate| coordinate as u64);
        let mut upper = lower;
        upper[axis] += 1;
        let [a, b] = [field.value(lower), field.value(upper)];
        let exact = lower[axis] as f64 + (0.4 - a) / (b - a);
        assert!((point[axis] - exact).abs() <= 1.0 / 512.0, "{point:?}: {exact}");
    }
}

#[test]
fn a_plane_through_points_at_the_level_is_one_layer() {
    // Values equal to the level belong to the inside: the plane lies between them and the points below.
    for axis in 0..3 {
        let field = Field::new([9, 10, 11], |place| place[axis] as f64);
        let mesh = mesh(&field.whole(), 4.0);
        let sides: Vec<f64> = (0..3).filter(|&i| i != axis).map(|i| field.points[i] as f64 - 1.0).collect();
        assert_eq!(mesh.area(), sides[0] * sides[1]);
        assert!(mesh.points.iter().all(|point| point[axis] == 4.0 - 0.5 / 256.0));
        assert_eq!(inner_open_edges(&mesh, field.points), 0);
    }
}

#[test]
fn whole_numbers_with_many_values_at_the_level_have_no_hole() {
    let mut random = common::Random(3);
    let field = Field::new([20, 21, 22], |_| random.below(3) as f64);
    let mesh = mesh(&field.whole(), 1.0);
    assert!(mesh.triangles.len() > 10_000);
    assert_eq!(inner_open_edges(&mesh, field.points), 0);
}

#[test]
fn a_scaled_mesh_is_in_the_users_unit() {
    let field = Field::sphere([30, 30, 30]);
    let mut mesh = mesh(&field.whole(), -10.0);
    let (area, before) = (mesh.area(), mesh.points.clone());
    mesh.scale([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]);
    assert_near(mesh.area(), area / 4.0, 1e-12);
    assert_eq!(mesh.points[7][1], 2.0 + before[7][1] * 0.5);
    mesh.scale([0.0; 3], [2.0; 3]);
    assert_ne!(places(&mesh).len(), 0);
}
