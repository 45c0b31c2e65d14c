//! Python texts with characters that texts of Ligament cannot hold: lone surrogates, as in file names that are
//! not UTF-8.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::borrow::Cow;
use std::ops::Deref;

/// Returns a name or a text for people. A lone surrogate is shown in Python's notation, `\udc80`. So an unknown
/// name can be looked up and shown, and a reason can be reported.
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
