//! Vectors in the state that a checkpoint has of the component.

use crate::numbers::numbers_of;
use ligament_instance::{Array, ArrayOrder, Value};
use ligament_wire::fields::Fields;

/// Returns a vector as a value.
pub(super) fn vector(elements: &[f64]) -> Value {
    // One dimension, and as many elements as it says.
    Array::from_slice(elements, &[elements.len()], ArrayOrder::RowMajor).map_or(Value::None, Value::Array)
}

/// Returns several vectors as a value.
pub(super) fn vectors(all: &[Vec<f64>]) -> Value {
    Value::List(all.iter().map(|one| vector(one)).collect())
}

/// Returns the vector of a value that `vector` has returned.
pub(super) fn vector_of(value: &Value) -> Option<Vec<f64>> {
    let numbers = numbers_of(value, "").ok()?;
    Some(numbers.to_f64().into_owned())
}

/// Returns the vectors of a list. `None` if one of them has not the length `len`.
pub(super) fn vectors_of(list: &[Value], len: usize) -> Option<Vec<Vec<f64>>> {
    list.iter().map(|one| vector_of(one).filter(|one| one.len() == len)).collect()
}

/// Returns the vector in a field, which has the length `len`.
pub(super) fn vector_in(fields: &Fields<'_>, key: &str, len: usize) -> Option<Vec<f64>> {
    vector_of(fields.get(key)?).filter(|vector| vector.len() == len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_keep_all_bits_and_other_values_are_refused() {
        for elements in [vec![], vec![0.1, -0.0, f64::MIN_POSITIVE / 3.0, 1e300]] {
            let same = vector_of(&vector(&elements)).unwrap();
            assert!(same.iter().map(|x| x.to_bits()).eq(elements.iter().map(|x| x.to_bits())));
        }
        assert_eq!(vector_of(&Value::String("x".into())), None);
        assert_eq!(vectors_of(&[vector(&[1.0, 2.0])], 3), None);
    }
}
