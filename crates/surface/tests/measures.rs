//! Meshes have the area, the volume and the Euler number of the shown shape, and no hole.

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
    // FieldValues equal to the level belong to the inside: the plane lies between them and the points below.
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

/// Gives all faces the value 0, so that the surface has no border.
fn closed(mut field: Field) -> Field {
    let points = field.points;
    let mut at = 0;
    for z in 0..points[2] {
        for y in 0..points[1] {
            for x in 0..points[0] {
                if [x, y, z].iter().zip(points).any(|(&place, points)| place == 0 || place + 1 == points) {
                    field.values[at] = 0.0;
                }
                at += 1;
            }
        }
    }
    field
}

/// The fields of `tests/surface/figures.py`, with level and tolerance for areas and volumes.
fn fields_of_vtk() -> Vec<(&'static str, Field, [f64; 2])> {
    let (large, small) = ([64, 60, 56], [40, 36, 32]);
    let mut random = common::Random(6);
    let integers = Field::new(small, |_| random.below(3) as f64);
    vec![
        ("sphere", Field::sphere(large), [-20.3, 1e-4]),
        ("gyroid", closed(Field::gyroid(large, 2.3)), [0.1, 1e-3]),
        ("noise", closed(Field::noise(small, 5)), [0.5, 0.01]),
        ("integers", closed(integers), [1.0, 0.04]),
    ]
}

#[test]
fn surfaces_have_the_triangles_area_volume_and_euler_number_of_vtk() {
    let figures = include_str!("vtk.txt");
    for (name, field, [level, tolerance]) in fields_of_vtk() {
        let line = figures.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let vtk: Vec<f64> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let mesh = mesh(&field.whole(), level);
        let counts = [mesh.triangles.len() as f64, mesh.points.len() as f64, mesh.euler_number() as f64];
        assert_eq!(counts, [vtk[0], vtk[1], vtk[4]], "{name}");
        assert!(mesh.open_edges().is_empty(), "{name}");
        assert_near(mesh.area(), vtk[2], tolerance);
        assert_near(mesh.volume(), vtk[3], tolerance);
    }
}
