//! Values of a cxa file. Lists and maps stand in a table of their own, and a value holds their index: several
//! values may share one, as in Ruby, and a list may hold itself.

use std::rc::Rc;

/// Maximum length of a text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum depth of lists within lists that are written as text.
const MAX_SHOWN_DEPTH: usize = 8;

/// An object that stands for a part of MUSCLE 2 or of Ruby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinObject {
    /// `$env`.
    Settings,
    Cxa,
    Muscle,
    /// The connection scheme.
    Scheme,
    /// `ENV`.
    Environment,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CxaValue {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    Symbol(Rc<str>),
    List(usize),
    Map(usize),
    /// First and last value that belong to the range, and true if it is written with `...`, so that its end is
    /// the value behind the last one.
    Range(i64, i64, bool),
    /// Index of an instance in the model.
    Instance(usize),
    Builtin(BuiltinObject),
    /// A class, by its name.
    Class(&'static str),
    /// The value of a statement that has failed. Whatever uses it fails silently.
    Unknown,
}

impl CxaValue {
    pub fn text(text: impl AsRef<str>) -> CxaValue {
        CxaValue::Text(text.as_ref().into())
    }

    pub fn is_true(&self) -> bool {
        !matches!(self, CxaValue::Nil | CxaValue::Bool(false))
    }

    /// Returns the kind of the value, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            CxaValue::Nil => "nil",
            CxaValue::Bool(_) => "a truth value",
            CxaValue::Int(_) => "a whole number",
            CxaValue::Float(_) => "a number",
            CxaValue::Text(_) => "a text",
            CxaValue::Symbol(_) => "a symbol",
            CxaValue::List(_) => "a list",
            CxaValue::Map(_) => "a map",
            CxaValue::Range(..) => "a range",
            CxaValue::Instance(_) => "an instance",
            CxaValue::Builtin(BuiltinObject::Settings) => "$env",
            CxaValue::Builtin(BuiltinObject::Cxa) => "the cxa",
            CxaValue::Builtin(BuiltinObject::Muscle) => "MUSCLE",
            CxaValue::Builtin(BuiltinObject::Scheme) => "the connection scheme",
            CxaValue::Builtin(BuiltinObject::Environment) => "ENV",
            CxaValue::Class(_) => "a class",
            CxaValue::Unknown => "unknown",
        }
    }

    /// Returns the name of the value's class in Ruby, for values of Ruby.
    pub fn class(&self) -> Option<&'static str> {
        match self {
            CxaValue::Nil => Some("NilClass"),
            CxaValue::Bool(_) => Some("Boolean"),
            CxaValue::Int(_) => Some("Integer"),
            CxaValue::Float(_) => Some("Float"),
            CxaValue::Text(_) => Some("String"),
            CxaValue::Symbol(_) => Some("Symbol"),
            CxaValue::List(_) => Some("Array"),
            CxaValue::Map(_) => Some("Hash"),
            CxaValue::Range(..) => Some("Range"),
            CxaValue::Instance(_) | CxaValue::Builtin(_) | CxaValue::Class(_) | CxaValue::Unknown => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            CxaValue::Int(number) => Some(*number as f64),
            CxaValue::Float(number) => Some(*number),
            _ => None,
        }
    }
}

/// The lists and maps of a file.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    pub lists: Vec<Vec<CxaValue>>,
    pub maps: Vec<Vec<(CxaValue, CxaValue)>>,
}

impl Heap {
    pub fn list(&mut self, values: Vec<CxaValue>) -> CxaValue {
        self.lists.push(values);
        CxaValue::List(self.lists.len() - 1)
    }

    pub fn map(&mut self, pairs: Vec<(CxaValue, CxaValue)>) -> CxaValue {
        self.maps.push(pairs);
        CxaValue::Map(self.maps.len() - 1)
    }

    /// Writes a value as Ruby's `to_s` does. Returns `None` if the text is too long or too deep.
    pub fn shown(&self, value: &CxaValue) -> Option<String> {
        let mut out = String::new();
        self.show(value, &mut out, 0)?;
        Some(out)
    }

    fn show(&self, value: &CxaValue, out: &mut String, depth: usize) -> Option<()> {
        if depth > MAX_SHOWN_DEPTH || out.len() > MAX_TEXT_BYTES {
            return None;
        }
        match value {
            CxaValue::Nil if depth > 0 => out.push_str("nil"),
            CxaValue::Nil => {}
            CxaValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            CxaValue::Int(number) => out.push_str(&number.to_string()),
            CxaValue::Float(number) => out.push_str(&shown_float(*number)),
            CxaValue::Text(text) if depth > 0 => out.push_str(&format!("{text:?}")),
            CxaValue::Text(text) => out.push_str(text),
            CxaValue::Symbol(name) if depth > 0 => out.push_str(&format!(":{name}")),
            CxaValue::Symbol(name) => out.push_str(name),
            CxaValue::Range(first, last, false) => out.push_str(&format!("{first}..{last}")),
            CxaValue::Range(first, last, true) => {
                out.push_str(&format!("{first}...{}", last.saturating_add(1)))
            }
            CxaValue::List(index) => {
                out.push('[');
                for (at, element) in self.lists[*index].iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    self.show(element, out, depth + 1)?;
                }
                out.push(']');
            }
            CxaValue::Map(index) => {
                out.push('{');
                for (at, (key, element)) in self.maps[*index].iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    self.show(key, out, depth + 1)?;
                    out.push_str("=>");
                    self.show(element, out, depth + 1)?;
                }
                out.push('}');
            }
            CxaValue::Instance(_) | CxaValue::Builtin(_) | CxaValue::Class(_) | CxaValue::Unknown => {
                return None
            }
        }
        Some(())
    }
}

/// Writes a number as Ruby does: with a point always, and with an exponent below 10⁻⁴ and from 10¹⁶ on.
pub(crate) fn shown_float(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-4..1e16).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let point = if digits.contains('.') { "" } else { ".0" };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
    format!("{digits}{point}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ruby_writes_them() {
        for (number, text) in [
            (1.0, "1.0"),
            (1e-14, "1.0e-14"),
            (2.5e20, "2.5e+20"),
            (1e15, "1000000000000000.0"),
            (-0.1, "-0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1.0e-05"),
        ] {
            assert_eq!(shown_float(number), text);
        }
    }

    #[test]
    fn a_list_that_holds_itself_is_not_written() {
        let mut heap = Heap::default();
        let list = heap.list(vec![CxaValue::Int(1)]);
        assert_eq!(heap.shown(&list).as_deref(), Some("[1]"));
        heap.lists[0].push(list.clone());
        assert_eq!(heap.shown(&list), None);
    }
}
