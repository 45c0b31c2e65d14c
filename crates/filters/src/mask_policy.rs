//! Masked values: elements of a grid that are NaN because the cell has no value. The nearest value that is
//! not NaN is found axis by axis (Felzenszwalb and Huttenlocher, Theory of Computing 8, 2012).

use crate::numbers::Float;
use crate::view::between;
use ligament_wire::ArrayOrder;

/// Returns the number of elements that are NaN.
pub(crate) fn count<T: Float>(elements: &[T]) -> usize {
    elements.iter().map(|x| usize::from(x.to_f64().is_nan())).sum()
}

/// Replaces each NaN by the nearest element that is not NaN. The distance is that of the elements' indices.
/// If all elements are NaN, nothing changes.
pub(crate) fn fill<T: Float>(elements: &mut [T], shape: &[u64], order: ArrayOrder) {
    let mut places: Vec<NearestElement> = elements
        .iter()
        .enumerate()
        .map(|(i, x)| NearestElement {
            from: i,
            distance: if x.to_f64().is_nan() { f64::INFINITY } else { 0.0 },
        })
        .collect();
    let mut line = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        let (extent, inner) = (extent as usize, between(shape, order, axis));
        for first in (0..places.len()).filter(|i| i / inner % extent == 0) {
            line.clear();
            line.extend((0..extent).map(|i| places[first + i * inner]));
            for (i, nearest) in nearest_along(&line).into_iter().enumerate() {
                places[first + i * inner] = nearest;
            }
        }
    }
    for i in 0..elements.len() {
        // An element whose value is copied to others keeps its own value, so the order of this loop does
        // not matter.
        elements[i] = elements[places[i].from];
    }
}

/// The nearest element that is not NaN. The search takes one axis after the other, and this is the best result
/// so far: the element's index in the array, and the square of its distance, which is infinite if no element
/// has been found yet.
#[derive(Debug, Clone, Copy)]
struct NearestElement {
    from: usize,
    distance: f64,
}

/// Returns the nearest element for each position of a line. A position with a finite distance is the vertex
/// of a parabola over the line. At each position, the lowest parabola belongs to the nearest element.
fn nearest_along(line: &[NearestElement]) -> Vec<NearestElement> {
    // The parabolas that are lowest somewhere on the line: the position of each vertex, and the position
    // from which the parabola is the lowest.
    let mut lowest: Vec<(usize, f64)> = Vec::new();
    let height = |i: usize| line[i].distance + (i * i) as f64;
    for i in (0..line.len()).filter(|&i| line[i].distance.is_finite()) {
        let begin = loop {
            let Some(&(before, from)) = lowest.last() else { break f64::NEG_INFINITY };
            let crossing = (height(i) - height(before)) / (2 * (i - before)) as f64;
            if crossing > from {
                break crossing;
            }
            lowest.pop();
        };
        lowest.push((i, begin));
    }
    let mut at = 0;
    let nearest = |i: usize| {
        while lowest.get(at + 1).is_some_and(|&(_, begin)| begin < i as f64) {
            at += 1;
        }
        match lowest.get(at) {
            Some(&(place, _)) => {
                let away = i.abs_diff(place) as f64;
                NearestElement { distance: line[place].distance + away * away, ..line[place] }
            }
            None => line[i],
        }
    };
    (0..line.len()).map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_masked_value_becomes_the_nearest_of_the_others() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for case in 0..200 {
            let shape = [1 + draw(6), 1 + draw(7), 1 + draw(4)];
            let order = if draw(2) == 0 { ArrayOrder::RowMajor } else { ArrayOrder::ColumnMajor };
            let len = shape.iter().product::<u64>();
            let share = 1 + draw(9);
            let given: Vec<f64> =
                (0..len).map(|i| if draw(10) < share { f64::NAN } else { i as f64 }).collect();
            let mut filled = given.clone();
            fill(&mut filled, &shape, order);
            let index = |i: usize| -> Vec<f64> {
                (0..3).map(|axis| (i / between(&shape, order, axis) % shape[axis] as usize) as f64).collect()
            };
            let away = |i: usize, j: usize| -> f64 {
                index(i).iter().zip(index(j)).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            for (i, value) in filled.iter().enumerate() {
                let nearest =
                    (0..given.len()).filter(|&j| !given[j].is_nan()).map(|j| away(i, j)).reduce(f64::min);
                match nearest {
                    None => assert!(value.is_nan()),
                    Some(nearest) => {
                        assert_eq!(
                            away(i, *value as usize),
                            nearest,
                            "case {case}, place {i}: {given:?}, {filled:?}"
                        );
                    }
                }
            }
        }
    }
}
