//! The array that a code expects, and the error if the code receives something else.

use crate::error::{Error, ReceiveError};
use crate::message::kind_of;
use ligament_wire::{Array, DType, Value};
use std::fmt;
use std::sync::Arc;

/// The origin of a message, in words: `port "in[2]" from micro[2].out`. `None` for a message that was made
/// by this code itself.
#[derive(Debug, Clone, Default)]
pub struct Origin(pub(crate) Option<Arc<str>>);

impl Origin {
    /// Returns the words. They are empty for a message that was made by this code itself.
    pub fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// The properties of the array that a code expects. A property that is `None` may have any value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected<'a> {
    /// The type of the elements.
    pub dtype: Option<DType>,
    /// The number of dimensions.
    pub ndim: Option<usize>,
    /// The extent of each dimension. The array must have exactly as many dimensions. An extent of `None`
    /// may have any value.
    pub shape: Option<&'a [Option<u64>]>,
}

impl Expected<'_> {
    /// Returns the array that the value holds.
    ///
    /// # Errors
    /// `Unexpected` if the value is no array, or an array with other properties.
    #[inline]
    pub fn array_of<'v>(&self, value: &'v Value, origin: &Origin) -> Result<&'v Array, Error> {
        match value {
            Value::Array(array) if self.fits(array.dtype(), array.shape()) => Ok(array),
            Value::Array(array) => Err(self.unmet(&kind_of(value), Some(array.dtype()), origin)),
            other => Err(self.unmet(&kind_of(other), None, origin)),
        }
    }

    /// Returns true if an array of this type and shape has the expected properties.
    #[inline]
    pub fn fits(&self, dtype: DType, shape: &[u64]) -> bool {
        self.dtype.is_none_or(|expected| expected == dtype)
            && self.ndim.is_none_or(|ndim| ndim == shape.len())
            && self.shape.is_none_or(|expected| is_shape(shape, expected))
    }

    /// Makes the error for a value without the expected properties. `came` describes the value in words.
    /// `dtype` is the type of its elements, or `None` if the value is no array.
    #[cold]
    pub fn unmet(&self, came: &str, dtype: Option<DType>, origin: &Origin) -> Error {
        let expected = self.to_string();
        let found = match origin.text() {
            "" => format!("the value is {came}"),
            origin => format!("{came} came on {origin}"),
        };
        let error = match dtype {
            None => ReceiveError::NoArray { found, expected },
            Some(dtype) if self.dtype.is_some_and(|wanted| wanted != dtype) => {
                ReceiveError::OtherType { found, expected }
            }
            Some(_) => ReceiveError::OtherShape { found, expected },
        };
        error.into()
    }
}

fn is_shape(shape: &[u64], expected: &[Option<u64>]) -> bool {
    shape.len() == expected.len()
        && shape.iter().zip(expected).all(|(&came, wanted)| wanted.is_none_or(|wanted| wanted == came))
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")?;
        if let Some(dtype) = self.dtype {
            write!(f, " of {}", dtype.name())?;
        }
        if let Some(shape) = self.shape {
            let extents: Vec<String> = shape
                .iter()
                .map(|extent| extent.map_or("any".to_owned(), |extent| extent.to_string()))
                .collect();
            write!(f, " with shape [{}]", extents.join(", "))?;
        } else if let Some(ndim) = self.ndim {
            write!(f, " with {ndim} dimension{}", if ndim == 1 { "" } else { "s" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::{ArrayOrder, Bytes};

    fn array() -> Value {
        Value::Array(
            Array::new(DType::Float64, &[2, 3], ArrayOrder::RowMajor, Bytes::from(vec![0; 48]), None).unwrap(),
        )
    }

    #[test]
    fn each_part_of_what_is_expected_may_be_open() {
        let shape = [Some(2), None];
        let (value, origin) = (array(), Origin::default());
        for expected in [
            Expected::default(),
            Expected { dtype: Some(DType::Float64), ..Expected::default() },
            Expected { ndim: Some(2), ..Expected::default() },
            Expected { dtype: Some(DType::Float64), ndim: Some(2), shape: Some(&shape) },
        ] {
            assert!(expected.array_of(&value, &origin).is_ok(), "{expected:?}");
        }
        for (expected, words) in [
            (Expected { dtype: Some(DType::Int32), ..Expected::default() }, "an array of int32 was expected"),
            (Expected { ndim: Some(1), ..Expected::default() }, "an array with 1 dimension was expected"),
            (
                Expected { shape: Some(&[Some(3), None]), ..Expected::default() },
                "an array with shape [3, any] was expected",
            ),
            (
                Expected { shape: Some(&[None]), ..Expected::default() },
                "an array with shape [any] was expected",
            ),
        ] {
            let text = expected.array_of(&value, &origin).unwrap_err().to_string();
            let came = "the value is an array of float64 with shape [2, 3], where ";
            assert!(text.starts_with(&format!("{came}{words}")), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_message_is_said_with_where_it_came_from() {
        let origin = Origin(Some("port \"in[2]\" from micro[2].out".into()));
        let text = Expected::default().array_of(&Value::String("x".into()), &origin).unwrap_err().to_string();
        assert!(
            text.starts_with("text came on port \"in[2]\" from micro[2].out, where an array was expected"),
            "{text}"
        );
    }
}
