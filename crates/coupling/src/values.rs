//! Single values in the formats that sinks write, for other crates that show the contents of messages.

use crate::files::{in_rows, json, npy};
use ligament_wire::{Array, ArrayOrder, Value};

/// Returns a value as JSON on one line, in the form of case files (`docs/reference/case-file.md`). A number
/// that is not finite is `NaN`, `Infinity` or `-Infinity`, which strict JSON does not allow.
pub fn as_json(value: &Value) -> String {
    json::text_of(value)
}

/// Returns an array as the bytes of a `.npy` file of NumPy, the last index running fastest.
pub fn as_npy(array: &Array) -> Vec<u8> {
    let mut bytes = npy::header(array.dtype(), array.shape(), ArrayOrder::RowMajor);
    bytes.reserve(array.nbytes() as usize);
    in_rows(array, |element| bytes.extend_from_slice(element));
    bytes
}
