//! Arrays that are checked against expected properties, and the origin of messages.

use crate::array::{lig_array_view, too_many_dims, LIG_MAX_DIMS};
use crate::message::{lig_message, received};
use crate::options::{dtype, lig_bool, lig_dtype_code, lig_string, read, SizePrefixed};
use crate::status::{guard, guard_or, lig_error, lig_status, null, out};
use crate::values::{lig_value, tree};
use ligament_instance::{Error, Expected, Origin};

/// The expected properties of an array. A member that is zero allows any value. NULL in place of the struct
/// allows any array:
/// `lig_expected e = {.size = sizeof e, .dtype = LIG_FLOAT64, .has_ndim = true, .ndim = 2};`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_expected {
    /// `sizeof(lig_expected)`
    pub size: usize,
    /// The type of the elements; 0 for any.
    pub dtype: lig_dtype_code,
    /// The number of dimensions: 0 (one element) to 8. Only if `has_ndim` or `has_shape`.
    pub ndim: u32,
    /// True if the number of dimensions is expected.
    pub has_ndim: lig_bool,
    /// True if the shape is expected, and with it the number of dimensions.
    pub has_shape: lig_bool,
    /// The extent of each dimension; below 0 for any. Only if `has_shape`.
    pub shape: [i64; LIG_MAX_DIMS],
}

// SAFETY: numbers and truth values, beginning with the size.
unsafe impl SizePrefixed for lig_expected {
    const NAME: &'static str = "lig_expected";
}

/// An array in place, if it has the expected properties: the value of `message`, or `value`, which is a part of
/// that message. `message` is NULL for a value that is part of no message. The array lives as long as the
/// message or value.
///
/// `LIG_ERR_UNEXPECTED` if it is another array, or none. The text names the port and slot of the message, its
/// sender, the received value and the expected array.
///
/// # Safety
/// All pointers are valid; `message` or `value` (not both), `expected` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_expect_array(
    message: *const lig_message,
    value: *const lig_value,
    expected: *const lig_expected,
    view: *mut lig_array_view,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and below.
        let place = unsafe { out(view, "view") }?;
        let given = unsafe { read(expected) }?;
        let shape = given.shape.map(|extent| u64::try_from(extent).ok());
        let expected = given.expected(&shape)?;
        let array = match (message.is_null(), value.is_null()) {
            (true, true) => return Err(null("message")),
            (true, false) => expected.array_of(unsafe { tree(value) }?, &Origin::default()),
            (false, true) => unsafe { received(message) }?.message.array_as(&expected),
            (false, false) => {
                let origin = unsafe { received(message) }?.message.origin();
                expected.array_of(unsafe { tree(value) }?, origin)
            }
        };
        lig_array_view::write(place, array?);
        Ok(())
    })
}

impl lig_expected {
    #[inline]
    fn expected<'a>(&self, shape: &'a [Option<u64>; LIG_MAX_DIMS]) -> Result<Expected<'a>, Error> {
        let mut expected = Expected::default();
        if self.dtype != 0 {
            expected.dtype = Some(dtype(self.dtype)?);
        }
        if self.has_ndim != 0 || self.has_shape != 0 {
            let ndim = self.ndim as usize;
            let shape = shape.get(..ndim).ok_or_else(|| too_many_dims(self.ndim))?;
            expected.ndim = Some(ndim);
            expected.shape = (self.has_shape != 0).then_some(shape);
        }
        Ok(expected)
    }
}

/// The origin of a message, in words for errors: `port "in[2]" from micro[2].out`. It lives as long as the
/// message; no text for NULL.
///
/// # Safety
/// `message` is NULL or valid; `origin` is writable, or NULL, which is let be.
#[no_mangle]
pub unsafe extern "C" fn lig_message_origin(message: *const lig_message, origin: *mut lig_string) {
    guard_or((), || {
        let Ok(place) = (unsafe { out(origin, "origin") }) else { return };
        let text = unsafe { received(message) }.map(|content| content.message.origin().text());
        place.write(match text {
            Ok(text) if !text.is_empty() => lig_string::of(text),
            _ => lig_string::NONE,
        });
    });
}
