//! Sobol's sequence, with the direction numbers of Joe and Kuo (SIAM J. Sci. Comput. 30, 2008). Points come in
//! the order of Gray's code (Antonov and Saleev, 1979), so each differs from the one before in one direction
//! number.

/// For each dimension from the second on: the primitive polynomial without its first and last coefficient,
/// and the first direction numbers, as many as the polynomial's degree.
const DIRECTIONS: [(u32, &[u32]); 20] = [
    (0, &[1]),
    (1, &[1, 3]),
    (1, &[1, 3, 1]),
    (2, &[1, 1, 1]),
    (1, &[1, 1, 3, 3]),
    (4, &[1, 3, 5, 13]),
    (2, &[1, 1, 5, 5, 17]),
    (4, &[1, 1, 5, 5, 5]),
    (7, &[1, 1, 7, 11, 19]),
    (11, &[1, 1, 5, 1, 1]),
    (13, &[1, 1, 1, 3, 11]),
    (14, &[1, 3, 5, 5, 31]),
    (1, &[1, 3, 3, 9, 7, 49]),
    (13, &[1, 1, 1, 15, 21, 21]),
    (16, &[1, 3, 1, 13, 27, 49]),
    (19, &[1, 1, 1, 15, 7, 5]),
    (22, &[1, 3, 1, 15, 13, 25]),
    (25, &[1, 1, 5, 5, 19, 61]),
    (1, &[1, 3, 7, 11, 23, 15, 103]),
    (4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// Maximum number of dimensions, for which `DIRECTIONS` has numbers.
pub(crate) const MAX_DIMENSIONS: usize = DIRECTIONS.len() + 1;
const BITS: usize = 32;

/// The sequence. Its first point is 0.
#[derive(Debug)]
pub(crate) struct Sobol {
    /// Direction numbers of each dimension.
    directions: Vec<[u32; BITS]>,
    state: Vec<u32>,
    number: u32,
}

impl Sobol {
    /// Makes the sequence for at most `MAX_DIMENSIONS` dimensions.
    pub fn new(dimensions: usize) -> Sobol {
        let directions = (0..dimensions.min(MAX_DIMENSIONS)).map(directions).collect();
        Sobol { directions, state: vec![0; dimensions], number: 0 }
    }

    /// Returns the next point. Each coordinate is in [0, 1).
    pub fn next(&mut self) -> Vec<f64> {
        let point = self.state.iter().map(|&bits| f64::from(bits) / 2f64.powi(BITS as i32)).collect();
        let bit = self.number.trailing_ones() as usize;
        for (state, directions) in self.state.iter_mut().zip(&self.directions) {
            *state ^= directions[bit.min(BITS - 1)];
        }
        self.number = self.number.wrapping_add(1);
        point
    }
}

fn directions(dimension: usize) -> [u32; BITS] {
    let mut all = [0; BITS];
    let Some(&(polynomial, first)) = dimension.checked_sub(1).and_then(|at| DIRECTIONS.get(at)) else {
        for (at, direction) in all.iter_mut().enumerate() {
            *direction = 1 << (BITS - 1 - at);
        }
        return all;
    };
    let degree = first.len();
    for at in 0..BITS {
        all[at] = match first.get(at) {
            Some(number) => number << (BITS - 1 - at),
            None => {
                let mut next = all[at - degree] ^ (all[at - degree] >> degree);
                for k in 1..degree {
                    if polynomial >> (degree - 1 - k) & 1 == 1 {
                        next ^= all[at - k];
                    }
                }
                next
            }
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_points_are_those_of_joe_and_kuo() {
        let mut sequence = Sobol::new(3);
        let points: Vec<Vec<f64>> = (0..6).map(|_| sequence.next()).collect();
        assert_eq!(
            points,
            [
                [0.0, 0.0, 0.0],
                [0.5, 0.5, 0.5],
                [0.75, 0.25, 0.25],
                [0.25, 0.75, 0.75],
                [0.375, 0.375, 0.625],
                [0.875, 0.875, 0.125]
            ]
        );
    }

    #[test]
    fn each_dimension_fills_each_interval_once() {
        let mut sequence = Sobol::new(MAX_DIMENSIONS);
        let points: Vec<Vec<f64>> = (0..256).map(|_| sequence.next()).collect();
        for dimension in 0..MAX_DIMENSIONS {
            let mut seen = [false; 256];
            for point in &points {
                seen[(point[dimension] * 256.0) as usize] = true;
            }
            assert!(seen.iter().all(|seen| *seen), "dimension {dimension}");
        }
    }
}
