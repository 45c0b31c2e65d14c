//! Texts of Python's that may hold what no text of Ligament's can: lone surrogates, as in file names that are
//! not UTF-8.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::borrow::Cow;
use std::ops::Deref;

/// A name, or words for people: a lone surrogate stands in it as Python writes it, `\udc80`. So an unknown name
/// is looked for and shown, and a reason is told.
pub struct Text<'a>(Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> FromPyObject<'a, '_> for Text<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, '_, PyAny>) -> PyResult<Text<'a>> {
        match <&'a str>::extract(object) {
            Ok(text) => Ok(Text(Cow::Borrowed(text))),
            Err(error) if !object.is_instance_of::<PyString>() => Err(error),
            Err(_) => {
                let bytes: Vec<u8> = object.call_method1("encode", ("utf-8", "backslashreplace"))?.extract()?;
                Ok(Text(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())))
            }
        }
    }
}
