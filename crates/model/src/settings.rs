//! Settings: their values and types, the lookup by longest prefix, and assignments from a command line.

use crate::identity::{Identifier, Reference, ReferencePart};
use crate::problem::At;
use crate::yaml::{self, YamlKind, YamlNode};
use indexmap::IndexMap;
use ligament_catalogue::{errors, said, Code};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// Text.
    Str(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A list of whole numbers. An empty list has this kind, and can be used as a list of any kind.
    IntList(Vec<i64>),
    /// Numbers.
    FloatList(Vec<f64>),
    /// Rows of numbers, which may differ in length.
    FloatListList(Vec<Vec<f64>>),
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SettingType {
    /// `str`
    #[serde(rename = "str")]
    Str,
    /// `int`
    #[serde(rename = "int")]
    Int,
    /// `float`
    #[serde(rename = "float")]
    Float,
    /// `bool`
    #[serde(rename = "bool")]
    Bool,
    /// `[int]`
    #[serde(rename = "[int]")]
    IntList,
    /// `[float]`
    #[serde(rename = "[float]")]
    FloatList,
    /// `[[float]]`
    #[serde(rename = "[[float]]")]
    FloatListList,
}

impl SettingType {
    /// All names.
    pub const NAMES: &'static [&'static str] =
        &["str", "int", "float", "bool", "[int]", "[float]", "[[float]]"];

    /// Reads a name such as `[float]`.
    pub fn from_name(name: &str) -> Option<SettingType> {
        Some(match name {
            "str" => SettingType::Str,
            "int" => SettingType::Int,
            "float" => SettingType::Float,
            "bool" => SettingType::Bool,
            "[int]" => SettingType::IntList,
            "[float]" => SettingType::FloatList,
            "[[float]]" => SettingType::FloatListList,
            _ => return None,
        })
    }

    /// The name in a file.
    pub fn name(self) -> &'static str {
        match self {
            SettingType::Str => "str",
            SettingType::Int => "int",
            SettingType::Float => "float",
            SettingType::Bool => "bool",
            SettingType::IntList => "[int]",
            SettingType::FloatList => "[float]",
            SettingType::FloatListList => "[[float]]",
        }
    }
}

impl fmt::Display for SettingType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SettingValue {
    /// Returns the value's own type.
    pub fn setting_type(&self) -> SettingType {
        match self {
            SettingValue::Str(_) => SettingType::Str,
            SettingValue::Int(_) => SettingType::Int,
            SettingValue::Float(_) => SettingType::Float,
            SettingValue::Bool(_) => SettingType::Bool,
            SettingValue::IntList(_) => SettingType::IntList,
            SettingValue::FloatList(_) => SettingType::FloatList,
            SettingValue::FloatListList(_) => SettingType::FloatListList,
        }
    }

    /// Returns the value as one of the wanted type, or `None` if it is of another type. A whole number can
    /// become a number, and an empty list any list.
    pub fn as_type(&self, wanted: SettingType) -> Option<SettingValue> {
        Some(match (self, wanted) {
            (value, wanted) if value.setting_type() == wanted => value.clone(),
            (SettingValue::Int(i), SettingType::Float) => SettingValue::Float(*i as f64),
            (SettingValue::IntList(l), SettingType::FloatList) => {
                SettingValue::FloatList(l.iter().map(|i| *i as f64).collect())
            }
            (SettingValue::IntList(l), SettingType::FloatListList) if l.is_empty() => {
                SettingValue::FloatListList(Vec::new())
            }
            _ => return None,
        })
    }

    /// Reads a value from a YAML node. An error has two texts: the problem and the remedy.
    pub(crate) fn from_node(node: &YamlNode) -> Result<SettingValue, (String, String)> {
        let unfit = || {
            Err((
                said!(BAD_SETTING_VALUE, "a setting cannot be {}", node.describe()),
                "give a text, a number, true or false, a list of numbers, or a list of lists of numbers"
                    .to_owned(),
            ))
        };
        match &node.kind {
            YamlKind::Str(text) => Ok(SettingValue::Str(text.clone())),
            YamlKind::Int(i, _) => Ok(SettingValue::Int(*i)),
            YamlKind::Float(x, _) => Ok(SettingValue::Float(*x)),
            YamlKind::Bool(b, _) => Ok(SettingValue::Bool(*b)),
            YamlKind::Null | YamlKind::Map(_) => unfit(),
            YamlKind::Seq(items) => {
                if items.iter().all(|i| matches!(i.kind, YamlKind::Int(..))) {
                    return Ok(SettingValue::IntList(items.iter().filter_map(whole).collect()));
                }
                if items.iter().all(|i| number(i).is_some()) {
                    return Ok(SettingValue::FloatList(items.iter().filter_map(number).collect()));
                }
                let cells = items.iter().flat_map(|item| match &item.kind {
                    YamlKind::Seq(cells) => &cells[..],
                    _ => std::slice::from_ref(item),
                });
                let mut unheld = cells.filter(|cell| whole(cell).is_some() && number(cell).is_none());
                if let Some(whole) = unheld.next() {
                    return Err((
                        said!(
                            BAD_SETTING_VALUE,
                            "{} has more digits than a number in a list of float64 can have",
                            whole.describe()
                        ),
                        "round it, or make a list of whole numbers only".to_owned(),
                    ));
                }
                let rows: Option<Vec<Vec<f64>>> = items
                    .iter()
                    .map(|row| match &row.kind {
                        YamlKind::Seq(cells) => cells.iter().map(number).collect(),
                        _ => None,
                    })
                    .collect();
                match rows {
                    Some(rows) => Ok(SettingValue::FloatListList(rows)),
                    None => {
                        let bad = items.iter().find(|i| number(i).is_none()).unwrap_or(node);
                        Err((
                            said!(BAD_SETTING_VALUE, "a list in a setting cannot contain {}", bad.describe()),
                            "use numbers only, or lists of numbers only".to_owned(),
                        ))
                    }
                }
            }
        }
    }
}

fn whole(node: &YamlNode) -> Option<i64> {
    match node.kind {
        YamlKind::Int(i, _) => Some(i),
        _ => None,
    }
}

fn number(node: &YamlNode) -> Option<f64> {
    match node.kind {
        // A whole number that float64 cannot hold exactly would become another number, so it is not
        // accepted.
        YamlKind::Int(i, _) => Some(i as f64).filter(|&x| x as i128 == i128::from(i)),
        YamlKind::Float(x, _) => Some(x),
        _ => None,
    }
}

impl fmt::Display for SettingValue {
    /// Writes the value as a model file has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::write::setting_value(self))
    }
}

/// A setting that a program or model declares to understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedSetting {
    /// Its name.
    pub name: Identifier,
    /// The type of its value.
    pub setting_type: SettingType,
    /// Its description, in words.
    pub description: String,
    /// The place of its declaration.
    pub at: At,
}

errors! {
    /// The reason why a setting cannot be read.
    pub enum SettingError {
        /// The setting is not set for this instance.
        NotSet {
            /// The name that was asked for.
            name: Reference,
            /// The instance.
            instance: Reference,
        } => SETTING_UNSET,
            "the setting \"{name}\" is not set for {instance}; add \"{name}: value\" or \"{}: value\" to the \
             settings of the model",
            instance.join(name);
        /// The setting is not set, but one of nearly the same name is.
        Misspelt {
            /// The name that was asked for.
            name: Reference,
            /// The instance.
            instance: Reference,
            /// The similar name that is set.
            meant: String,
        } => SETTING_UNSET,
            "the setting \"{name}\" is not set for {instance}; did you mean \"{meant}\", which is set? Make \
             the names in the code and in the settings of the model the same";
        /// The value is of another type.
        WrongType {
            /// The name under which the value was found.
            name: Reference,
            /// The value.
            value: SettingValue,
            /// The type that was asked for.
            wanted: SettingType,
        } => SETTING_WRONG_TYPE,
            "the setting \"{name}\" is {value}, of type {}, where {wanted} is needed; correct its value in the \
             settings",
            value.setting_type();
        /// The text of an assignment cannot be read.
        BadAssignment {
            /// The text.
            text: String,
            /// The problem, and the remedy.
            reason: String,
        } => BAD_SETTING_TEXT, "cannot read \"{text}\" as a setting: {reason}";
    }
}

/// Settings by name, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    entries: IndexMap<Reference, (SettingValue, At)>,
}

impl Settings {
    /// No settings.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Returns the number of settings.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets a value. An earlier value of the same name is replaced, and its position in the order stays.
    pub fn set(&mut self, name: Reference, value: SettingValue) {
        self.set_at(name, value, At::default());
    }

    /// Sets a value, and remembers its place in the file.
    pub fn set_at(&mut self, name: Reference, value: SettingValue, at: At) {
        self.entries.insert(name, (value, at));
    }

    /// Removes a setting, and returns its value.
    pub fn remove(&mut self, name: &Reference) -> Option<SettingValue> {
        self.entries.shift_remove(name).map(|(value, _)| value)
    }

    /// Returns the value of the setting with exactly this name.
    pub fn exact(&self, name: &Reference) -> Option<&SettingValue> {
        self.exact_parts(name.parts()).map(|(_, value)| value)
    }

    fn exact_parts(&self, name: &[ReferencePart]) -> Option<(&Reference, &SettingValue)> {
        let (_, name, (value, _)) = self.entries.get_full(name)?;
        Some((name, value))
    }

    /// Returns the place in the file of the setting with exactly this name.
    pub fn at(&self, name: &Reference) -> Option<&At> {
        self.entries.get(name).map(|(_, at)| at)
    }

    /// Returns all settings in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Reference, &SettingValue)> {
        self.entries.iter().map(|(name, (value, _))| (name, value))
    }

    /// Returns all settings in order, with their places in the file.
    pub fn iter_at(&self) -> impl Iterator<Item = (&Reference, &SettingValue, &At)> {
        self.entries.iter().map(|(name, (value, at))| (name, value, at))
    }

    /// Sets all settings of the overlay here. They replace settings of the same names.
    pub fn update(&mut self, overlay: &Settings) {
        for (name, (value, at)) in &overlay.entries {
            self.entries.insert(name.clone(), (value.clone(), at.clone()));
        }
    }

    /// Returns the value of a setting for an instance, and the name under which it was found. For the
    /// instance `a.b[1]` and the setting `x`, these names are tried in turn: `a.b[1].x`, `a.b.x`, `a.x`,
    /// `x`.
    pub fn get(&self, instance: &Reference, name: &Reference) -> Option<(&Reference, &SettingValue)> {
        Settings::layered(&[self], instance, name)
    }

    /// Does the same as `get` in several layers of settings, the highest first. A more specific name in a
    /// lower layer takes precedence over a more general name in a higher layer, as in MUSCLE 3.
    pub fn layered<'a>(
        layers: &[&'a Settings],
        instance: &Reference,
        name: &Reference,
    ) -> Option<(&'a Reference, &'a SettingValue)> {
        let mut full: Vec<ReferencePart> = Vec::with_capacity(instance.len() + name.len());
        for length in (0..=instance.len()).rev() {
            full.clear();
            full.extend_from_slice(&instance.parts()[..length]);
            full.extend_from_slice(name.parts());
            for layer in layers {
                if let Some(found) = layer.exact_parts(&full) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Returns the same as `get`, as a value of the wanted type. A whole number is accepted as a number.
    pub fn get_as(
        &self,
        instance: &Reference,
        name: &Reference,
        wanted: SettingType,
    ) -> Result<SettingValue, SettingError> {
        Settings::layered_as(&[self], instance, name, wanted)
    }

    /// Returns the same as `layered`, as a value of the wanted type. A whole number is accepted as a
    /// number.
    pub fn layered_as(
        layers: &[&Settings],
        instance: &Reference,
        name: &Reference,
        wanted: SettingType,
    ) -> Result<SettingValue, SettingError> {
        let (found, value) = Settings::layered(layers, instance, name)
            .ok_or_else(|| SettingError::NotSet { name: name.clone(), instance: instance.clone() })?;
        value.as_type(wanted).ok_or_else(|| SettingError::WrongType {
            name: found.clone(),
            value: value.clone(),
            wanted,
        })
    }

    /// Returns the names by which an instance can ask for settings, sorted: all names without a period,
    /// and, of the names that begin with the instance's own name, the rest. A rest that begins with an index
    /// is no name.
    pub fn names_for(&self, instance: &Reference) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .keys()
            .filter_map(|name| match name.parts() {
                [ReferencePart::Name(only)] => Some(only.to_string()),
                parts => parts
                    .strip_prefix(instance.parts())
                    .filter(|rest| matches!(rest, [ReferencePart::Name(_), ..]))
                    .map(crate::identity::parts_to_string),
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl<S: AsRef<str>> FromIterator<(S, SettingValue)> for Settings {
    /// Makes settings from names and values. A name that is not a valid reference is left out.
    fn from_iter<T: IntoIterator<Item = (S, SettingValue)>>(pairs: T) -> Settings {
        let mut settings = Settings::new();
        for (name, value) in pairs {
            if let Ok(name) = Reference::new(name.as_ref()) {
                settings.set(name, value);
            }
        }
        settings
    }
}

/// Reads `key=value` from a command line. The value is read as in a model file: `3` is a whole number,
/// `3.0` a number, `[1, 2]` a list, and everything else a text. Quotes make a text of a number.
pub fn parse_assignment(text: &str) -> Result<(Reference, SettingValue), SettingError> {
    let bad = |reason: String| SettingError::BadAssignment { text: text.to_owned(), reason };
    let (name, value) =
        text.split_once('=').ok_or_else(|| bad("it has no \"=\"; write it as name=value".into()))?;
    let name = Reference::new(name.trim()).map_err(|e| bad(e.to_string()))?;
    let value = value.trim();
    let mut problems = Vec::new();
    let node = yaml::parse(value, None, &mut problems);
    match node {
        Some(node) if problems.is_empty() && !matches!(node.kind, YamlKind::Map(_) | YamlKind::Null) => {
            SettingValue::from_node(&node)
                .map(|value| (name, value))
                .map_err(|(what, todo)| bad(format!("{what}; {todo}")))
        }
        _ if value.starts_with(['[', '"', '\'']) || problems.iter().any(|p| p.code == Code::BAD_VALUE) => {
            let what = problems.first().map_or("it is no value".to_owned(), |p| p.message.clone());
            Err(bad(format!("{what}; check its brackets, quotes and numbers")))
        }
        _ => Ok((name, SettingValue::Str(value.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Reference {
        Reference::new(text).unwrap()
    }

    #[test]
    fn the_longest_prefix_of_the_instance_wins() {
        let mut settings = Settings::new();
        settings.set(r("x"), SettingValue::Int(0));
        settings.set(r("a.x"), SettingValue::Int(1));
        settings.set(r("a.b.x"), SettingValue::Int(2));
        settings.set(r("a.b[1].x"), SettingValue::Int(3));
        for (instance, value) in [("a.b[1]", 3), ("a.b[2]", 2), ("a.c", 1), ("q", 0)] {
            let (_, found) = settings.get(&r(instance), &r("x")).unwrap();
            assert_eq!(found, &SettingValue::Int(value), "{instance}");
        }
        assert!(settings.get(&r("a"), &r("y")).is_none());
    }

    #[test]
    fn an_overlay_wins_only_over_names_that_are_not_more_specific() {
        let base = Settings::from_iter([("m.x", SettingValue::Int(1)), ("y", SettingValue::Int(2))]);
        let overlay = Settings::from_iter([("x", SettingValue::Int(10)), ("y", SettingValue::Int(20))]);
        let get = |name| Settings::layered(&[&overlay, &base], &r("m"), &r(name)).unwrap().1.clone();
        assert_eq!(get("x"), SettingValue::Int(1));
        assert_eq!(get("y"), SettingValue::Int(20));
    }

    #[test]
    fn a_value_of_another_type_is_an_error_that_names_both_types() {
        let settings = Settings::from_iter([("m.x", SettingValue::Str("high".into()))]);
        let error = settings.get_as(&r("m[2]"), &r("x"), SettingType::Float).unwrap_err().to_string();
        assert!(error.contains("m.x") && error.contains("high") && error.contains("float"), "{error}");
        let error = settings.get_as(&r("m"), &r("y"), SettingType::Int).unwrap_err().to_string();
        assert!(error.contains("m.y"), "{error}");
    }

    #[test]
    fn a_whole_number_serves_as_a_number_but_not_the_other_way() {
        assert_eq!(SettingValue::Int(3).as_type(SettingType::Float), Some(SettingValue::Float(3.0)));
        assert_eq!(SettingValue::Float(3.0).as_type(SettingType::Int), None);
        assert_eq!(
            SettingValue::IntList(vec![]).as_type(SettingType::FloatListList),
            Some(SettingValue::FloatListList(vec![]))
        );
    }

    #[test]
    fn assignments_are_read_as_in_a_file() {
        for (text, value) in [
            ("a.x=3", SettingValue::Int(3)),
            ("a.x = 3.5", SettingValue::Float(3.5)),
            ("a.x=true", SettingValue::Bool(true)),
            ("a.x=[1, 2]", SettingValue::IntList(vec![1, 2])),
            ("a.x=[[1, 2.5]]", SettingValue::FloatListList(vec![vec![1.0, 2.5]])),
            ("a.x=\"3\"", SettingValue::Str("3".into())),
            ("a.x=C: or not", SettingValue::Str("C: or not".into())),
            ("a.x=", SettingValue::Str(String::new())),
            ("a.x=b=c", SettingValue::Str("b=c".into())),
        ] {
            assert_eq!(parse_assignment(text), Ok((r("a.x"), value)), "{text}");
        }
        for text in [
            "ax",
            "1x=3",
            "x=[1, a]",
            "x=[1",
            "x=99999999999999999999",
            "x=1e400",
            "x=[0.5, 9007199254740993]",
            "x=[[1, 9007199254740993]]",
        ] {
            assert!(parse_assignment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_instance_sees_its_own_names_and_the_general_ones() {
        let one = SettingValue::Int(1);
        let names = ["x", "m.y", "n.z", "m.k.w", "m[1].y", "m[1][0].v", "m[1].u"];
        let settings = Settings::from_iter(names.map(|n| (n, one.clone())));
        assert_eq!(settings.names_for(&r("m")), ["k.w", "x", "y"]);
        assert_eq!(settings.names_for(&r("m[1]")), ["u", "x", "y"]);
    }
}
