//! An error as it travels: its text, and the code that was given to it where it was made.

use crate::Code;
use std::fmt;
use std::ops::Deref;

/// Before a code at the end of a text.
pub(crate) const HINT: &str = " (ligament explain ";

/// An error with a code. `errors!` writes this for an enum.
pub trait Coded: fmt::Display {
    /// By which it is explained.
    fn code(&self) -> Code;
}

/// An error in words, and its code. `fault!` makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    code: Code,
    text: String,
}

impl Fault {
    /// A text and its code.
    pub fn new(code: Code, text: impl Into<String>) -> Fault {
        Fault { code, text: text.into() }
    }

    /// A text of another process, which may name its code at the end. Otherwise it has the code given.
    pub fn heard(text: impl Into<String>, otherwise: Code) -> Fault {
        let text = text.into();
        let code = hinted(&text).unwrap_or(otherwise);
        match text.strip_suffix(')').and_then(|text| text.rsplit_once(HINT)) {
            Some((bare, name)) if name == code.name() => Fault { code, text: bare.to_owned() },
            _ => Fault { code, text },
        }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Its words, without the code.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With the code of its cause, which says more than its own.
    pub fn caused_by(self, cause: &Fault) -> Fault {
        Fault { code: cause.code, ..self }
    }

    /// The same error in a longer text.
    pub fn told(self, tell: impl FnOnce(&str) -> String) -> Fault {
        Fault { text: tell(&self.text), code: self.code }
    }

    /// The text with its code at the end, as people and other processes are told it.
    pub fn with_code(&self) -> String {
        WithCode { code: self.code, text: &self.text }.to_string()
    }
}

/// An error is read as its text.
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

/// A text with its code at the end, unless a code stands in it.
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

/// The code that a text names.
pub fn hinted(text: &str) -> Option<Code> {
    let (_, rest) = text.rsplit_once(HINT)?;
    Code::named(rest.split_once(')')?.0)
}

/// Makes a `Fault` of a code, such as `NO_SUCH_PORT`, and a text as for `format!`. The page of all errors is
/// made from these calls, so the text is a literal.
#[macro_export]
macro_rules! fault {
    ($code:ident, $($text:tt)+) => {
        $crate::Fault::new($crate::Code::$code, ::std::fmt::format(::std::format_args!($($text)+)))
    };
}

/// A text as of `format!` that stands in the page of all errors under a code: a warning in the log, or the
/// reason that a longer error gives.
#[macro_export]
macro_rules! said {
    ($code:ident, $($text:tt)+) => {{
        const _: $crate::Code = $crate::Code::$code;
        ::std::fmt::format(::std::format_args!($($text)+))
    }};
}

/// The same, written to a formatter without a text being made of it.
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
