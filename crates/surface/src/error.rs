//! Errors of surfaces.

use ligament_catalogue::errors;

errors! {
    /// The reason why a surface cannot be made or read.
    pub enum SurfaceError {
        /// The level is NaN or infinite, so no value can be compared with it.
        Level { level: f64 } => BAD_ARGUMENT, "the level of a surface is {level}; give a finite number";
        /// The block has no point.
        NoPoints { axis: &'static str } => BAD_FIELD,
            "a block for a surface has no point along {axis}; it needs one at least";
        /// The array is shorter than the block.
        Bounds { values: usize, points: [u64; 3], strides: [usize; 3], first: usize } => BAD_FIELD,
            "a block for a surface with {points:?} points and the strides {strides:?} from element {first} on \
             does not lie within an array of {values} elements";
        /// The format cannot have such a block.
        Size { points: [u64; 3], origin: [u64; 3] } => BAD_FIELD,
            "a block for a surface has {points:?} points from {origin:?} on; it may have up to 2^20 points in \
             a row, 2^28 in a plane, 2^34 in all, and coordinates below 2^32. Divide the grid into more blocks";
        /// The surface has too many points to be numbered.
        Edges => BAD_FIELD,
            "a surface crosses 2^32 edges or more; divide the grid into more blocks";
        /// The bytes are not a surface.
        Malformed { reason: &'static str } => MALFORMED_DATA, "the bytes of a surface cannot be read: {reason}";
    }
}
