//! The triangles of a cell, and the page's copy of them.

use ligament_surface::{case_triangles, typescript_table};
use std::collections::HashMap;
use std::path::Path;

/// The faces on which an edge of a cell lies, as axis and side.
fn faces(edge: u8) -> [(u8, u8); 2] {
    let (axis, offsets) = (edge / 4, edge % 4);
    let others: Vec<u8> = (0..3).filter(|&other| other != axis).collect();
    [(others[0], offsets & 1), (others[1], offsets >> 1)]
}

/// The corners at the ends of an edge, by the offsets along the other axes.
fn ends(edge: u8) -> [u8; 2] {
    let lower = faces(edge).iter().fold(0, |corner, (axis, side)| corner | side << axis);
    [lower, lower | 1 << (edge / 4)]
}

#[test]
fn the_page_has_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard/src/surface-table.ts");
    let text = typescript_table();
    if std::env::var_os("LIGAMENT_WRITE_PAGES").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{} differs; write it with LIGAMENT_WRITE_PAGES=1", path.display());
}

#[test]
fn triangles_use_each_crossed_edge_and_no_other() {
    for case in 0..=255u8 {
        let mut used = [false; 12];
        case_triangles(case).iter().flatten().for_each(|&edge| used[usize::from(edge)] = true);
        let crossed = std::array::from_fn(|edge| {
            let [lower, upper] = ends(edge as u8);
            (case >> lower ^ case >> upper) & 1 == 1
        });
        assert_eq!(used, crossed, "case {case}");
    }
}

/// The directed sides of triangles that no other triangle of the cell has. The triangles of neighbours continue
/// there.
fn border(case: u8) -> Vec<(u8, u8)> {
    let mut sides: HashMap<(u8, u8), i32> = HashMap::new();
    for &[a, b, c] in case_triangles(case) {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            assert_ne!(from, to);
            *sides.entry((from, to)).or_default() += 1;
        }
    }
    for (side, &count) in &sides {
        assert_eq!(count, 1, "case {case}: {side:?} is twice a side in the same direction");
    }
    sides.keys().filter(|&&(from, to)| !sides.contains_key(&(to, from))).copied().collect()
}

/// The sides that lie in a face, as offsets on the face's two axes, without the number of the face.
fn border_in(case: u8, axis: u8, side: u8) -> Vec<([u8; 2], [u8; 2])> {
    let on_face = |edge: u8| faces(edge).contains(&(axis, side));
    let place = |edge: u8| [edge / 4, faces(edge).iter().find(|face| face.0 != axis).unwrap().1];
    let mut segments: Vec<_> = border(case)
        .into_iter()
        .filter(|&(from, to)| on_face(from) && on_face(to))
        .map(|(from, to)| (place(from), place(to)))
        .collect();
    segments.sort_unstable();
    segments
}

#[test]
fn neighbours_agree_on_their_common_face() {
    for axis in 0..3u8 {
        let upper_corners: Vec<u8> = (0..8).filter(|corner| corner >> axis & 1 == 1).collect();
        let signs = |case: u8, side: u8| -> Vec<u8> {
            upper_corners.iter().map(|corner| case >> (corner & !(1 << axis) | side << axis) & 1).collect()
        };
        for one in 0..=255u8 {
            let mut opposite: Vec<_> = border_in(one, axis, 1).into_iter().map(|(a, b)| (b, a)).collect();
            opposite.sort_unstable();
            for other in (0..=255u8).filter(|&other| signs(other, 0) == signs(one, 1)) {
                assert_eq!(opposite, border_in(other, axis, 0), "cases {one} and {other} along axis {axis}");
            }
        }
    }
}

#[test]
fn all_borders_lie_in_faces_and_no_inner_side_does() {
    for case in 0..=255u8 {
        let border = border(case);
        let in_a_face = |from, to| faces(from).iter().any(|face| faces(to).contains(face));
        for &(from, to) in &border {
            assert!(in_a_face(from, to), "case {case}");
        }
        for &[a, b, c] in case_triangles(case) {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                assert!(border.contains(&(from, to)) || !in_a_face(from, to), "case {case}: {from} {to}");
            }
        }
    }
}

#[test]
fn a_corner_inside_is_seen_from_the_lower_values() {
    // The corner 0 is cut off by points on x, y, z, which are counterclockwise for a viewer at (1, 1, 1).
    let [triangle] = case_triangles(1) else { panic!("one corner has one triangle") };
    assert!([[0, 4, 8], [4, 8, 0], [8, 0, 4]].contains(triangle), "{triangle:?}");
    let [triangle] = case_triangles(254) else { panic!("one corner has one triangle") };
    assert!([[0, 8, 4], [8, 4, 0], [4, 0, 8]].contains(triangle), "{triangle:?}");
}
