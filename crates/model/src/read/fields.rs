//! The reading of single values and of mappings with known keys, with reports of their problems.

use crate::identity::{Identifier, Names, Reference};
use crate::problem::{nearest, At, Problem};
use crate::yaml::{key_text, YamlKind, YamlNode};
use ligament_catalogue::Code;
use std::collections::HashMap;

/// Collects problems while a document is read.
#[derive(Debug, Default)]
pub struct FieldReader {
    /// The problems found up to now.
    pub problems: Vec<Problem>,
    /// The names read up to now, each stored once.
    pub(super) names: Names,
}

/// The values of a mapping by their keys. A key without a value (`key:`) is treated as missing.
#[derive(Debug)]
pub struct Fields<'a>(HashMap<String, &'a YamlNode>);

impl<'a> Fields<'a> {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&'a YamlNode> {
        self.0.get(key).copied().filter(|n| n.kind != YamlKind::Null)
    }

    /// Returns true if the mapping has the key, perhaps without a value.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}

impl FieldReader {
    /// Notes an error.
    pub fn error(&mut self, code: Code, at: &At, message: impl Into<String>, advice: impl Into<String>) {
        self.problems.push(Problem::error(code, at, message, advice));
    }

    /// Returns the pairs of a mapping. Null is an empty mapping. Any other node is reported, and has no
    /// pairs.
    pub fn pairs<'a>(&mut self, node: &'a YamlNode, what: &str) -> &'a [(YamlNode, YamlNode)] {
        match &node.kind {
            YamlKind::Map(pairs) => pairs,
            YamlKind::Null => &[],
            _ => {
                self.error(
                    Code::WRONG_TYPE,
                    &node.at,
                    format!("{what} must be a mapping (\"key: value\" lines), and this is {}", node.describe()),
                    "write the keys on lines of their own, indented, each with a colon after it",
                );
                &[]
            }
        }
    }

    /// Returns a mapping whose keys are all known. Other keys are reported, with the key that was probably
    /// meant.
    pub fn mapping<'a>(&mut self, node: &'a YamlNode, what: &str, known: &[&str]) -> Fields<'a> {
        let mut fields = HashMap::new();
        let mut misspelt = Vec::new();
        for (key, value) in self.pairs(node, what) {
            let Some(name) = self.key(key) else { continue };
            if known.contains(&name.as_str()) {
                fields.insert(name, value);
            } else if let Some(meant) = self.unknown_key(&key.at, &name, what, known) {
                // The value is read under the probable key, so that one slip gives only one message.
                misspelt.push((meant, value));
            }
        }
        for (meant, value) in misspelt {
            fields.entry(meant).or_insert(value);
        }
        Fields(fields)
    }

    /// Reports an unknown key, with the key that was probably meant. Returns that key if the value can be
    /// read as its value, which a section of another version cannot.
    pub fn unknown_key(&mut self, at: &At, name: &str, what: &str, known: &[&str]) -> Option<String> {
        let other = other_version(name, known);
        let alike = nearest(name, known.iter().copied());
        let advice = match other.or(alike) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("remove it, or use one of: {}", known.join(", ")),
        };
        self.error(Code::UNKNOWN_KEY, at, format!("{what} has no key \"{name}\""), advice);
        let is_section = |key: &&str| matches!(*key, "model" | "models" | "programs" | "implementations");
        other.filter(|key| !is_section(key)).or(alike.filter(|_| other.is_none())).map(str::to_owned)
    }

    /// Returns the text of a key.
    pub fn key(&mut self, key: &YamlNode) -> Option<String> {
        let text = key_text(key);
        if text.is_none() {
            self.error(
                Code::BAD_KEY,
                &key.at,
                format!("a key must be a name, and this is {}", key.describe()),
                "write a name before the colon",
            );
        }
        text
    }

    fn wrong_type(&mut self, node: &YamlNode, what: &str, wanted: &str, advice: &str) {
        self.error(
            Code::WRONG_TYPE,
            &node.at,
            format!("{what} must be {wanted}, and this is {}", node.describe()),
            advice,
        );
    }

    /// Reads a text.
    pub fn text(&mut self, node: &YamlNode, what: &str) -> Option<String> {
        match &node.kind {
            YamlKind::Str(text) => Some(text.clone()),
            YamlKind::Int(..) | YamlKind::Float(..) | YamlKind::Bool(..) => {
                self.wrong_type(node, what, "text", "put it in quotes");
                None
            }
            _ => {
                self.wrong_type(node, what, "text", "write a single text here");
                None
            }
        }
    }

    /// Reads a list of texts, or a single text.
    pub fn texts(&mut self, node: &YamlNode, what: &str) -> Option<TextOrList> {
        match &node.kind {
            YamlKind::Seq(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push((self.text(item, what)?, item.at.clone()));
                }
                Some(TextOrList::List(list))
            }
            _ => self.text(node, what).map(|t| TextOrList::Text(t, node.at.clone())),
        }
    }

    /// Reads a truth value.
    pub fn truth(&mut self, node: &YamlNode, what: &str) -> Option<bool> {
        match node.kind {
            YamlKind::Bool(value, _) => Some(value),
            _ => {
                self.wrong_type(node, what, "true or false", "write true or false");
                None
            }
        }
    }

    /// Reads a whole number of at least `least`.
    pub fn count(&mut self, node: &YamlNode, what: &str, least: usize) -> Option<usize> {
        let value = match node.kind {
            YamlKind::Int(value, _) => usize::try_from(value).ok().filter(|v| *v >= least),
            _ => None,
        };
        if value.is_none() {
            self.wrong_type(
                node,
                what,
                &format!("a whole number of at least {least}"),
                "write such a number, without quotes and without a decimal point",
            );
        }
        value
    }

    /// Reads a number.
    pub fn number(&mut self, node: &YamlNode, what: &str) -> Option<f64> {
        match node.kind {
            YamlKind::Int(value, _) => Some(value as f64),
            YamlKind::Float(value, _) if !value.is_nan() => Some(value),
            _ => {
                self.wrong_type(node, what, "a number", "write a number without quotes");
                None
            }
        }
    }

    /// Reads one of several words, in upper or lower case.
    pub fn word<T>(
        &mut self,
        node: &YamlNode,
        what: &str,
        names: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(node, what)?;
        let value = parse(&text);
        if value.is_none() {
            let advice = match nearest(&text, names.iter().copied()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("use one of: {}", names.join(", ")),
            };
            self.error(Code::UNKNOWN_WORD, &node.at, format!("{what} cannot be \"{text}\""), advice);
        }
        value
    }

    /// Reads a name such as `a.b[3]`.
    pub fn reference(&mut self, node: &YamlNode, what: &str) -> Option<Reference> {
        let text = self.name_text(node, what)?;
        self.reference_from(&text, &node.at, what)
    }

    /// Reads a name such as `a.b[3]` from its text.
    pub fn reference_from(&mut self, text: &str, at: &At, what: &str) -> Option<Reference> {
        match self.names.reference(text) {
            Ok(reference) => Some(reference),
            Err(error) => {
                self.error(
                    Code::BAD_NAME,
                    at,
                    format!("{what} {error}"),
                    "write a name such as macro or city.macro",
                );
                None
            }
        }
    }

    /// Reads a name without periods.
    pub fn identifier_from(&mut self, text: &str, at: &At, what: &str) -> Option<Identifier> {
        match self.names.identifier(text) {
            Ok(name) => Some(name),
            Err(error) => {
                let advice = if text.contains(['-', ' ']) {
                    format!("write {}", text.replace(['-', ' '], "_"))
                } else {
                    "use letters, digits and underscores, beginning with a letter".to_owned()
                };
                self.error(Code::BAD_NAME, at, format!("{what} {error}"), advice);
                None
            }
        }
    }

    /// Returns the text of a name. A number or truth value is a name that begins wrongly, or a word that
    /// YAML has misread.
    fn name_text(&mut self, node: &YamlNode, what: &str) -> Option<String> {
        match key_text(node) {
            Some(text) => Some(text),
            None => {
                self.wrong_type(node, what, "a name", "write a name such as macro");
                None
            }
        }
    }
}

/// A text or a list of texts, each with its place.
#[derive(Clone, Debug)]
pub enum TextOrList {
    /// A single text.
    Text(String, At),
    /// A list of texts.
    List(Vec<(String, At)>),
}

/// Returns the key of this file's version that corresponds to a key of the other version.
fn other_version(name: &str, known: &[&str]) -> Option<&'static str> {
    let meant = match name {
        "model" => "models",
        "models" => "model",
        "implementations" => "programs",
        "programs" => "implementations",
        "compute_elements" | "submodels" => "components",
        "operator" | "operators" => "ports",
        "command" | "cmd" | "exe" | "binary" | "path" | "program" => "executable",
        "arguments" => "args",
        "environment" => "env",
        "cores" | "ncores" | "cpus" => "threads",
        "processes" | "ranks" => "mpi_processes",
        "instances" | "count" => "multiplicity",
        _ => return None,
    };
    known.contains(&meant).then_some(meant)
}
