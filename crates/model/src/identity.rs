//! Names in a model: identifiers (`macro`) and references (`city.macro[3].port`).

use ligament_catalogue::{said, Code, Coded};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A name made of ASCII letters, digits and underscores that does not begin with a digit. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier(Arc<str>);

/// The reason why a text is not a valid name, in words for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    /// The offending text.
    pub text: String,
    /// The problem.
    pub reason: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&said!(BAD_SETTING_NAME, "\"{}\" is not a valid name: {}", self.text, self.reason))
    }
}

impl Coded for InvalidName {
    fn code(&self) -> Code {
        Code::BAD_SETTING_NAME
    }
}

impl std::error::Error for InvalidName {}

impl Identifier {
    /// Checks the text and makes an identifier of it.
    pub fn new(text: &str) -> Result<Identifier, InvalidName> {
        let fail = |reason: String| Err(InvalidName { text: text.to_owned(), reason });
        let Some(first) = text.chars().next() else {
            return fail("it is empty".into());
        };
        if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_')) {
            return fail(format!(
                "it contains {bad:?}, and only the letters a-z and A-Z, digits and underscores are allowed"
            ));
        }
        if first.is_ascii_digit() {
            return fail("it begins with a digit".into());
        }
        Ok(Identifier(text.into()))
    }

    /// Makes the name of a port that Ligament brings. The caller must know that it is a valid name.
    pub(crate) fn of_own(text: &str) -> Identifier {
        Identifier(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text, which is shared with this name and its clones.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for Identifier {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Identifier {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Identifier {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Identifier {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl FromStr for Identifier {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Identifier::new(text)
    }
}

/// Names that occur often, such as those of ports. Each is stored once: two names that share one text in
/// memory are compared without reading the text.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<Identifier>);

impl Names {
    /// Does the same as `Identifier::new`, with stored names.
    pub fn identifier(&mut self, text: &str) -> Result<Identifier, InvalidName> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let name = Identifier::new(text)?;
        self.0.insert(name.clone());
        Ok(name)
    }

    /// Does the same as `Reference::new`, with stored names.
    pub fn reference(&mut self, text: &str) -> Result<Reference, InvalidName> {
        Reference::read(text, |name| self.identifier(name))
    }
}

/// One part of a reference: a name, or a number in square brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferencePart {
    /// `[3]`
    Index(usize),
    /// `name`
    Name(Identifier),
}

/// A path of names and indices, such as `a.b[3].c`; empty for the model itself. The first part of a
/// reference that has any is always a name.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference(Vec<ReferencePart>);

impl Reference {
    /// The reference with no parts.
    pub fn empty() -> Reference {
        Reference::default()
    }

    /// Reads `a.b[3].c`.
    pub fn new(text: &str) -> Result<Reference, InvalidName> {
        Reference::read(text, Identifier::new)
    }

    /// Reads `a.b[3].c`; the function `name` makes the names.
    fn read(
        text: &str,
        mut name: impl FnMut(&str) -> Result<Identifier, InvalidName>,
    ) -> Result<Reference, InvalidName> {
        let fail = |reason: String| InvalidName { text: text.to_owned(), reason };
        let within = |e: InvalidName| {
            if e.text == text {
                e
            } else if e.text.is_empty() {
                fail("there is no name before or after one of its periods".into())
            } else {
                fail(format!("in the part \"{}\", {}", e.text, e.reason))
            }
        };
        let next = |from: usize| text[from..].find(['.', '[']).map_or(text.len(), |i| from + i);
        let mut parts = Vec::with_capacity(2);
        let mut at = next(0);
        parts.push(ReferencePart::Name(name(&text[..at]).map_err(within)?));
        while at < text.len() {
            match text.as_bytes()[at] {
                b'.' => {
                    let end = next(at + 1);
                    parts.push(ReferencePart::Name(name(&text[at + 1..end]).map_err(within)?));
                    at = end;
                }
                b'[' => {
                    let end = text[at..]
                        .find(']')
                        .map(|i| at + i)
                        .ok_or_else(|| fail("it has a \"[\" without a \"]\"".into()))?;
                    let index = text[at + 1..end].trim().parse().map_err(|_| {
                        fail(format!(
                            "between its brackets stands \"{}\", where a whole number from 0 is needed",
                            &text[at + 1..end]
                        ))
                    })?;
                    parts.push(ReferencePart::Index(index));
                    at = end + 1;
                }
                _ => return Err(fail("after \"]\" only \".\" or \"[\" may follow".into())),
            }
        }
        Ok(Reference(parts))
    }

    /// Makes a reference of parts; `None` if the first is an index.
    pub fn from_parts(parts: Vec<ReferencePart>) -> Option<Reference> {
        match parts.first() {
            Some(ReferencePart::Index(_)) => None,
            _ => Some(Reference(parts)),
        }
    }

    /// The parts in order.
    pub fn parts(&self) -> &[ReferencePart] {
        &self.0
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if this is the reference to the model itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this reference with `.name` appended.
    pub fn child(&self, name: &Identifier) -> Reference {
        let mut parts = Vec::with_capacity(self.0.len() + 1);
        parts.extend_from_slice(&self.0);
        parts.push(ReferencePart::Name(name.clone()));
        Reference(parts)
    }

    /// Returns this reference with all parts of the other one appended.
    pub fn join(&self, other: &Reference) -> Reference {
        self.join_parts(other.parts())
    }

    /// Returns this reference with these parts appended.
    pub(crate) fn join_parts(&self, other: &[ReferencePart]) -> Reference {
        let mut parts = Vec::with_capacity(self.0.len() + other.len());
        parts.extend_from_slice(&self.0);
        parts.extend_from_slice(other);
        Reference(parts)
    }

    /// Returns this reference with `[i][j]…` appended.
    pub fn indexed(&self, indices: &[usize]) -> Reference {
        let mut parts = Vec::with_capacity(self.0.len() + indices.len());
        parts.extend_from_slice(&self.0);
        parts.extend(indices.iter().map(|i| ReferencePart::Index(*i)));
        Reference(parts)
    }

    /// Returns the part before the trailing indices, and those indices: `a.b[1][2]` gives `a.b` and `[1,
    /// 2]`.
    pub fn split_indices(&self) -> (&[ReferencePart], Vec<usize>) {
        let stem = self.0.iter().rposition(|p| matches!(p, ReferencePart::Name(_))).map_or(0, |i| i + 1);
        let indices = self.0[stem..]
            .iter()
            .map(|p| match p {
                ReferencePart::Index(i) => *i,
                ReferencePart::Name(_) => unreachable!("the stem ends at the last name"),
            })
            .collect();
        (&self.0[..stem], indices)
    }

    /// Returns the only part, if the reference is a single name.
    pub fn as_identifier(&self) -> Option<&Identifier> {
        match self.0.as_slice() {
            [ReferencePart::Name(name)] => Some(name),
            _ => None,
        }
    }
}

impl From<Identifier> for Reference {
    fn from(name: Identifier) -> Reference {
        Reference(vec![ReferencePart::Name(name)])
    }
}

impl Borrow<[ReferencePart]> for Reference {
    fn borrow(&self) -> &[ReferencePart] {
        &self.0
    }
}

impl FromStr for Reference {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Reference::new(text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&parts_to_string(&self.0))
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes parts as text, `a.b[3]`.
pub(crate) fn parts_to_string(parts: &[ReferencePart]) -> String {
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        match part {
            ReferencePart::Index(index) => text.push_str(&format!("[{index}]")),
            ReferencePart::Name(name) => {
                if i > 0 {
                    text.push('.');
                }
                text.push_str(name.as_str());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_and_written_the_same() {
        for text in ["a", "a.b", "a[3].b", "_a1.b[0][12].c_d"] {
            assert_eq!(Reference::new(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_text_that_is_no_reference_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("a..b", "period"),
            ("a.1b", "digit"),
            ("a-b", "'-'"),
            ("a[1", "without"),
            ("a[x]", "whole number"),
            ("a[1]b", "after"),
            ("é", "letters"),
        ] {
            let error = Reference::new(text).unwrap_err();
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn trailing_indices_are_split_off() {
        let reference = Reference::new("a[1].b[2][3]").unwrap();
        let (stem, indices) = reference.split_indices();
        assert_eq!(parts_to_string(stem), "a[1].b");
        assert_eq!(indices, [2, 3]);
    }
}
