//! An error text with its code. The code is assigned where the error is made and stays with the text from
//! process to process.

use crate::Code;
use std::fmt;
use std::ops::Deref;

/// Text between an error and the name of its code, as in `… (ligament explain no-such-port)`.
pub(crate) const HINT: &str = " (ligament explain ";

/// An error that has a code. `errors!` implements this trait for an enum.
pub trait Coded: fmt::Display {
    /// Returns the code under which `ligament explain` explains the error.
    fn code(&self) -> Code;
}

/// An error text and its code. The macro `fault!` makes a `Fault`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    code: Code,
    text: String,
}

impl Fault {
    /// Makes a fault from a code and a text.
    pub fn new(code: Code, text: impl Into<String>) -> Fault {
        Fault { code, text: text.into() }
    }

    /// Makes a fault from the text of another process. If the text names a code at its end, the fault gets this
    /// code, or else `otherwise`.
    pub fn heard(text: impl Into<String>, otherwise: Code) -> Fault {
        let text = text.into();
        let code = hinted(&text).unwrap_or(otherwise);
        match text.strip_suffix(')').and_then(|text| text.rsplit_once(HINT)) {
            Some((bare, name)) if name == code.name() => Fault { code, text: bare.to_owned() },
            _ => Fault { code, text },
        }
    }

    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the text without the code.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the code by the code of the cause, which is more specific.
    pub fn caused_by(self, cause: &Fault) -> Fault {
        Fault { code: cause.code, ..self }
    }

    /// Replaces the text by the result of `tell`, and keeps the code.
    pub fn told(self, tell: impl FnOnce(&str) -> String) -> Fault {
        Fault { text: tell(&self.text), code: self.code }
    }

    /// Returns the text with its code at the end. Users and other processes get this form.
    pub fn with_code(&self) -> String {
        WithCode { code: self.code, text: &self.text }.to_string()
    }
}

/// A fault derefs to its text.
impl Deref for Fault {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for String {
    fn from(fault: Fault) -> String {
        fault.text
    }
}

impl<E: Coded> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault { code: error.code(), text: error.to_string() }
    }
}

/// Displays a text with its code at the end, unless the text already names a code.
pub(crate) struct WithCode<'a> {
    pub code: Code,
    pub text: &'a str,
}

impl fmt::Display for WithCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)?;
        if self.text.contains(HINT) {
            Ok(())
        } else {
            write!(f, "{HINT}{})", self.code)
        }
    }
}

/// Returns the code that a text names.
pub fn hinted(text: &str) -> Option<Code> {
    let (_, rest) = text.rsplit_once(HINT)?;
    Code::named(rest.split_once(')')?.0)
}

/// Makes a `Fault` from a code, such as `NO_SUCH_PORT`, and the arguments of `format!`. The text must be a
/// literal, because the page of errors is made from the calls in the sources.
#[macro_export]
macro_rules! fault {
    ($code:ident, $($text:tt)+) => {
        $crate::Fault::new($crate::Code::$code, ::std::fmt::format(::std::format_args!($($text)+)))
    };
}

/// Formats a text, as `format!` does, and lists it on the page of errors below a code. Used for warnings in the
/// log, and for reasons that are part of a longer error.
#[macro_export]
macro_rules! said {
    ($code:ident, $($text:tt)+) => {{
        const _: $crate::Code = $crate::Code::$code;
        ::std::fmt::format(::std::format_args!($($text)+))
    }};
}

/// Writes a text to a formatter, and lists it on the page of errors as `said!` does.
#[macro_export]
macro_rules! said_to {
    ($to:expr, $code:ident, $($text:tt)+) => {{
        const _: $crate::Code = $crate::Code::$code;
        ::std::write!($to, $($text)+)
    }};
}

/// Makes an enum of errors. Each variant has its fields, its code, and its text, in which fields stand in
/// braces:
///
/// ```
/// ligament_catalogue::errors! {
///     /// A port cannot be used.
///     pub enum PortError {
///         /// There is none of this name.
///         Unknown { port: String } => NO_SUCH_PORT, "there is no port \"{port}\"";
///     }
/// }
/// ```
#[macro_export]
macro_rules! errors {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[$what:meta])*
                $variant:ident $({ $($(#[$means:meta])* $field:ident: $kind:ty),+ $(,)? })?
                    => $code:ident, $text:literal $(, $value:expr)* $(,)?;
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        $vis enum $name {
            $($(#[$what])* $variant $({ $($(#[$means])* $field: $kind),+ })?,)+
        }

        impl $crate::Coded for $name {
            fn code(&self) -> $crate::Code {
                match self {
                    $($name::$variant { .. } => $crate::Code::$code,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            #[allow(unused_variables)]
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($name::$variant $({ $($field),+ })? => ::std::write!(f, $text $(, $value)*),)+
                }
            }
        }

        impl ::std::error::Error for $name {}
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    errors! {
        enum SampleError {
            Lost { port: String, slot: u32 } => NO_SUCH_SLOT, "port {port} has no slot {slot}, {}", slot + 1;
            Gone => AGENT_GONE, "gone";
        }
    }

    #[test]
    fn an_enum_of_errors_has_texts_and_codes() {
        let lost = SampleError::Lost { port: "in".into(), slot: 3 };
        assert_eq!((lost.to_string().as_str(), lost.code()), ("port in has no slot 3, 4", Code::NO_SUCH_SLOT));
        assert_eq!(Fault::from(SampleError::Gone), fault!(AGENT_GONE, "gone"));
    }

    #[test]
    fn an_error_names_its_code_once_however_long_its_text_becomes() {
        let once = fault!(AGENT_GONE, "the agent is gone").with_code();
        assert_eq!(once, "the agent is gone (ligament explain agent-gone)");
        let again = fault!(REPORTED_AN_ERROR, "macro reported an error: {once}");
        assert_eq!(again.with_code(), format!("macro reported an error: {once}"));
    }

    #[test]
    fn a_text_of_another_process_has_the_code_that_it_names() {
        let told = fault!(DEADLOCK, "nobody can go on").with_code();
        assert_eq!(Fault::heard(told, Code::RUN_ENDS), fault!(DEADLOCK, "nobody can go on"));
        assert_eq!(Fault::heard("over", Code::RUN_ENDS), fault!(RUN_ENDS, "over"));
        let within = "macro: lost (ligament explain deadlock) (a.py:3)";
        assert_eq!(Fault::heard(within, Code::RUN_ENDS), fault!(DEADLOCK, "{within}"));
        assert_eq!(hinted("see (ligament explain no-code-of-ours)"), None);
    }
}
