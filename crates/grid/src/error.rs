//! Errors of a grid.

use ligament_catalogue::errors;
use ligament_instance::{Error, ErrorKind};

errors! {
    /// The reason why a block cannot take part in its grid.
    pub enum GridError {
        /// An instance that is no block.
        NoGrid { instance: String, component: String } => NO_GRID,
            "\"{instance}\" is no block of a grid; give its component a grid under \"ligament:\" in the \
             model, for example \"grids: {{{component}: {{shape: [256, 256], blocks: [2, 1]}}}}\"";
        /// A grid that cannot be.
        Malformed { instance: String } => MALFORMED_DATA,
            "the agent described a grid for \"{instance}\" that cannot be";
        /// Ghosts beyond a neighbour.
        WideGhosts { field: String, ghosts: usize, points: u64, axis: &'static str } => BAD_FIELD,
            "the field \"{field}\" has {ghosts} ghosts, and the smallest block has {points} points along \
             {axis}; give the field fewer ghosts, or the grid fewer blocks";
        /// A name that is taken, or empty.
        FieldName { field: String } => BAD_FIELD,
            "a field needs a name of its own, and \"{field}\" is taken or empty";
        /// A field that would not fit into memory.
        FieldSize { field: String } => BAD_FIELD,
            "a block's part of the field \"{field}\" does not fit into memory";
        /// An array of another size than declared.
        FieldBytes { field: String, expected: usize, bytes: usize } => BAD_FIELD,
            "the array of the field \"{field}\" has {bytes} bytes, and the block with its ghosts has \
             {expected}; use an array of the declared type, with the shape of the block and its ghosts";
        /// An array of another shape than declared.
        FieldShape { field: String, expected: Vec<u64>, shape: Vec<u64> } => BAD_FIELD,
            "the array of the field \"{field}\" has the shape {shape:?}, and the block with its ghosts has \
             {expected:?}";
        /// An array of another type or order than declared.
        FieldKind { field: String, expected: String } => BAD_FIELD,
            "the array of the field \"{field}\" has another type or order than the field: {expected}";
        /// No field with this number.
        NoField { field: usize } => BAD_FIELD,
            "the grid has no field with the number {field}; use the number that the call to add the field gave";
        /// A direction with another number of axes than the grid, or a step of more than one point.
        Direction { field: String, direction: Vec<i32>, axes: usize } => BAD_FIELD,
            "the direction of the field \"{field}\" is {direction:?}; give -1, 0 or 1 for each axis of the \
             grid, which has {axes}";
        /// A published field without all ghosts.
        OneDirection { field: String } => BAD_FIELD,
            "the values of the field \"{field}\" travel in one direction, so an exchange does not fill all of \
             its ghosts, and surfaces need them; publish another field";
        /// A field without a time.
        NotExchanged { field: String } => BAD_FIELD,
            "the field \"{field}\" was in no exchange yet, so it has no time; call exchange with it before \
             publish";
        /// A field that stands twice in an exchange.
        FieldTwice { field: String } => BAD_FIELD,
            "the field \"{field}\" stands twice in one exchange; name each field once";
        /// A second exchange before the first has ended.
        Begun => GRID_IN_EXCHANGE,
            "an exchange of ghosts has begun and not ended; call end before the next exchange or reduction";
        /// A call after an exchange that has failed.
        Failed => GRID_IN_EXCHANGE,
            "an exchange of ghosts, or a reduction, has failed before, and its messages are on their way; what \
             comes would not fit what this block expects. End the run";
        /// A time that no message can have.
        Time { time: f64 } => BAD_ARGUMENT, "the time of an exchange is {time}; give a finite number";
        /// The end of no exchange.
        NotBegun => GRID_IN_EXCHANGE,
            "no exchange of ghosts has begun; call begin first";
        /// The end of an exchange with other fields than at its begin.
        OtherFields { begun: String } => GRID_IN_EXCHANGE,
            "an exchange of ghosts ends with the fields with which it began, in the same order: {begun}";
        /// The end of an exchange with another array than at its begin.
        OtherArray { field: String } => GRID_IN_EXCHANGE,
            "the field \"{field}\" has another array than at the begin of its exchange; give it another one \
             after the end";
        /// A neighbour with other fields.
        FieldsDiffer { own: String, peer: String, theirs: String } => FIELDS_DIFFER,
            "this block exchanges the fields {own}, and its neighbour {peer} {theirs}; let all blocks \
             exchange the same fields, in the same order";
        /// A neighbour at another time.
        TimesDiffer { own: String, peer: String, theirs: String } => FIELDS_DIFFER,
            "this block is at the time {own}, and {peer} at {theirs}; let all blocks exchange at the same \
             times";
        /// Another reduction.
        ReductionsDiffer { own: &'static str, peer: String, theirs: &'static str } => FIELDS_DIFFER,
            "this block calls {own}, and {peer} {theirs}; all blocks make the same calls in the same order";
        /// A neighbour that does something else.
        Unexpected { peer: String } => FIELDS_DIFFER,
            "{peer} sent something else than this block expects: all blocks must make the same calls in the \
             same order, with the same fields";
    }
}

impl From<GridError> for Error {
    fn from(error: GridError) -> Error {
        let kind = match error {
            GridError::FieldsDiffer { .. }
            | GridError::TimesDiffer { .. }
            | GridError::ReductionsDiffer { .. }
            | GridError::Unexpected { .. } => ErrorKind::Unexpected,
            GridError::Malformed { .. } => ErrorKind::System,
            _ => ErrorKind::Usage,
        };
        Error::other(kind, error)
    }
}
