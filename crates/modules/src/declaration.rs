//! The declaration of a module: its parameters, fields and functions. It is a text in YAML, in every language.

use crate::error::ModuleError;
use ligament_model::yaml::{self, YamlKind, YamlNode};
use ligament_model::{Reference, SettingType, SettingValue};
use ligament_wire::{ArrayOrder, DType};
use std::fmt;

/// A part of a step, in which functions are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bin {
    /// Once in each pass, before the first step.
    Initial,
    /// In each step, before its fields are advanced.
    Prestep,
    /// In each step: advances the fields.
    Evol,
    /// In each step, after the fields were advanced.
    Poststep,
    /// In each step, at its end: looks at the fields.
    Analysis,
}

impl Bin {
    /// All bins, in the order of a pass.
    pub const ALL: [Bin; 5] = [Bin::Initial, Bin::Prestep, Bin::Evol, Bin::Poststep, Bin::Analysis];

    /// Returns the name by which declarations call the bin.
    pub fn name(self) -> &'static str {
        match self {
            Bin::Initial => "initial",
            Bin::Prestep => "prestep",
            Bin::Evol => "evol",
            Bin::Poststep => "poststep",
            Bin::Analysis => "analysis",
        }
    }
}

/// The points of a field's array that a function reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPoints {
    /// The block's own points.
    Interior,
    /// The ghosts beyond the open edges of the grid.
    Edges,
    /// All points: the block's own and all ghosts.
    Everywhere,
}

impl FieldPoints {
    const ALL: [FieldPoints; 3] = [FieldPoints::Interior, FieldPoints::Edges, FieldPoints::Everywhere];

    /// Returns the name by which declarations call the points.
    pub fn name(self) -> &'static str {
        match self {
            FieldPoints::Interior => "interior",
            FieldPoints::Edges => "edges",
            FieldPoints::Everywhere => "everywhere",
        }
    }

    /// Returns true if some points are in both.
    pub fn overlaps(self, other: FieldPoints) -> bool {
        self == other || self == FieldPoints::Everywhere || other == FieldPoints::Everywhere
    }
}

/// A number or truth value that the model sets.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleParameter {
    pub name: String,
    /// A whole number, a number or a truth value.
    pub kind: SettingType,
    /// The value if the model sets none.
    pub default: Option<SettingValue>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The unit, for people.
    pub unit: String,
    /// True if the parameter may change during the run.
    pub steerable: bool,
}

/// A field as a module declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleField {
    pub name: String,
    pub unit: String,
    pub dtype: DType,
    pub ghosts: usize,
    pub order: ArrayOrder,
    /// True if the field is published at the end of each step.
    pub published: bool,
}

impl fmt::Display for ModuleField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            ArrayOrder::RowMajor => "row-major",
            ArrayOrder::ColumnMajor => "column-major",
        };
        write!(f, "type {}, {} ghosts, {order}, unit \"{}\"", self.dtype.name(), self.ghosts, self.unit)?;
        if self.published {
            Ok(())
        } else {
            f.write_str(", not published")
        }
    }
}

/// A field, and the points of it that a function reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldUse {
    pub field: String,
    pub extent: FieldPoints,
}

/// A function of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleFunction {
    pub name: String,
    pub bin: Bin,
    /// Functions or modules of the same bin that must come after this function.
    pub before: Vec<String>,
    /// Functions or modules of the same bin that must come before this function.
    pub after: Vec<String>,
    pub reads: Vec<FieldUse>,
    pub writes: Vec<FieldUse>,
}

/// The declaration of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleDeclaration {
    pub name: String,
    pub parameters: Vec<ModuleParameter>,
    pub fields: Vec<ModuleField>,
    pub functions: Vec<ModuleFunction>,
}

/// Reads the declaration of a module. `origin` is the file that it is from, for errors.
///
/// # Errors
/// The place and the remedy, if the text is no declaration.
pub fn read_declaration(text: &str, origin: &str) -> Result<ModuleDeclaration, ModuleError> {
    read(text, Reader { origin, json: None })
}

/// Reads the declaration of a class, which the host has made into JSON, each key on a line of its own that is
/// indented by one more space. Errors have the keys that lead to a mistake, since nobody sees the lines.
///
/// # Errors
/// As `read_declaration`.
pub fn read_class_declaration(json: &str, origin: &str) -> Result<ModuleDeclaration, ModuleError> {
    read(json, Reader { origin, json: Some(json) })
}

fn read(text: &str, reader: Reader<'_>) -> Result<ModuleDeclaration, ModuleError> {
    let mut problems = Vec::new();
    let root = yaml::parse(text, None, &mut problems);
    if let Some(problem) = problems.first() {
        return Err(reader.at_line(problem.line, format!("{}; {}", problem.message, problem.advice)));
    }
    let root = root.ok_or_else(|| reader.at_line(1, "it cannot be read".into()))?;
    let keys = ["name", "parameters", "fields", "functions"];
    let mut parts = Parts::default();
    for (key, node) in reader.entries(&root, "a module", &keys)? {
        match key {
            "name" => parts.name = Some(reader.name(node)?),
            "parameters" => parts.parameters = reader.each(node, |name, node| reader.parameter(name, node))?,
            "fields" => parts.fields = reader.each(node, |name, node| reader.field(name, node))?,
            _ => parts.functions = reader.each(node, |name, node| reader.function(name, node))?,
        }
    }
    let Some(name) = parts.name else {
        return Err(reader.at(&root, "a module needs a name: \"name: wave\"".into()));
    };
    let Parts { parameters, fields, functions, .. } = parts;
    Ok(ModuleDeclaration { name, parameters, fields, functions })
}

/// The parts of a declaration that have been read.
#[derive(Default)]
struct Parts {
    name: Option<String>,
    parameters: Vec<ModuleParameter>,
    fields: Vec<ModuleField>,
    functions: Vec<ModuleFunction>,
}

/// The names and values of a mapping.
type Entries<'a> = Vec<(&'a str, &'a YamlNode)>;

/// Reads nodes of a declaration.
struct Reader<'a> {
    origin: &'a str,
    /// The text, if it is JSON that was made of a class.
    json: Option<&'a str>,
}

/// Returns the keys that lead to a line of JSON, such as `fields.u.ghosts`.
fn keys_to(json: &str, line: u32) -> String {
    let mut keys: Vec<&str> = Vec::new();
    for text in json.lines().take(line as usize) {
        let entry = text.trim_start();
        if let Some((key, _)) = entry.strip_prefix('"').and_then(|entry| entry.split_once("\": ")) {
            keys.truncate((text.len() - entry.len()).saturating_sub(1));
            keys.push(key);
        }
    }
    keys.join(".")
}

impl Reader<'_> {
    fn at(&self, node: &YamlNode, why: String) -> ModuleError {
        self.at_line(node.at.line, why)
    }

    fn at_line(&self, line: u32, why: String) -> ModuleError {
        let at = self.json.map_or_else(|| format!("line {line}"), |json| keys_to(json, line));
        let place = format!("the declaration of the module {}, {at}", self.origin);
        ModuleError::Declaration { place, why }
    }

    /// Returns the entries of a mapping. None counts as an empty one.
    fn mapping<'n>(&self, node: &'n YamlNode) -> Result<Entries<'n>, ModuleError> {
        let pairs = match &node.kind {
            YamlKind::Null => return Ok(Vec::new()),
            YamlKind::Map(pairs) => pairs,
            _ => return Err(self.at(node, format!("a mapping stands here, and not {}", node.describe()))),
        };
        let named = |(key, value): &'n (YamlNode, YamlNode)| match &key.kind {
            YamlKind::Str(key) => Ok((key.as_str(), value)),
            _ => Err(self.at(key, format!("a key is a text, and this is {}", key.describe()))),
        };
        pairs.iter().map(named).collect()
    }

    /// Returns the entries of a mapping. Only some keys are allowed.
    fn entries<'n>(&self, node: &'n YamlNode, what: &str, keys: &[&str]) -> Result<Entries<'n>, ModuleError> {
        let entries = self.mapping(node)?;
        match entries.iter().find(|(key, _)| !keys.contains(key)) {
            Some((key, value)) => {
                Err(self.at(value, format!("{what} has no \"{key}\"; it has {}", keys.join(", "))))
            }
            None => Ok(entries),
        }
    }

    /// Reads each entry of a mapping from names.
    fn each<T>(
        &self,
        node: &YamlNode,
        read: impl Fn(String, &YamlNode) -> Result<T, ModuleError>,
    ) -> Result<Vec<T>, ModuleError> {
        let entries = self.mapping(node)?;
        entries.into_iter().map(|(name, node)| read(self.checked(name, node)?, node)).collect()
    }

    fn checked(&self, name: &str, node: &YamlNode) -> Result<String, ModuleError> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let fits = name.chars().all(is_word) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if fits && Reference::new(name).is_ok() {
            return Ok(name.to_owned());
        }
        Err(self.at(node, format!("\"{name}\" is no name; take letters, digits and _, first a letter")))
    }

    fn text<'n>(&self, node: &'n YamlNode) -> Result<&'n str, ModuleError> {
        match &node.kind {
            YamlKind::Str(text) => Ok(text),
            YamlKind::Null => Ok(""),
            // A unit of 1 is a text, too.
            YamlKind::Int(_, text) | YamlKind::Float(_, text) => Ok(text),
            _ => Err(self.at(node, format!("a text stands here, and not {}", node.describe()))),
        }
    }

    fn name(&self, node: &YamlNode) -> Result<String, ModuleError> {
        self.checked(self.text(node)?, node)
    }

    fn flag(&self, node: &YamlNode) -> Result<bool, ModuleError> {
        match &node.kind {
            YamlKind::Bool(value, _) => Ok(*value),
            _ => Err(self.at(node, format!("true or false stands here, and not {}", node.describe()))),
        }
    }

    fn number(&self, node: &YamlNode) -> Result<f64, ModuleError> {
        match &node.kind {
            YamlKind::Int(value, _) => Ok(*value as f64),
            YamlKind::Float(value, _) if !value.is_nan() => Ok(*value),
            _ => Err(self.at(node, format!("a number stands here, and not {}", node.describe()))),
        }
    }

    /// Returns the choice whose name is at a node.
    fn choice<T: Copy>(&self, node: &YamlNode, choices: &[(&str, T)]) -> Result<T, ModuleError> {
        let text = self.text(node)?;
        choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.at(node, format!("\"{text}\" is none of {}", names.join(", ")))
        })
    }

    fn parameter(&self, name: String, node: &YamlNode) -> Result<ModuleParameter, ModuleError> {
        const KINDS: [(&str, SettingType); 3] =
            [("float", SettingType::Float), ("int", SettingType::Int), ("bool", SettingType::Bool)];
        let unit = String::new();
        let kind = SettingType::Float;
        let mut made =
            ModuleParameter { name, kind, default: None, min: None, max: None, unit, steerable: false };
        let mut default = None;
        let keys = ["type", "default", "min", "max", "unit", "steerable"];
        for (key, node) in self.entries(node, "a parameter", &keys)? {
            match key {
                "type" => made.kind = self.choice(node, &KINDS)?,
                "default" => default = Some(node),
                "min" => made.min = Some(self.number(node)?),
                "max" => made.max = Some(self.number(node)?),
                "unit" => made.unit = self.text(node)?.to_owned(),
                _ => made.steerable = self.flag(node)?,
            }
        }
        let has_range = made.min.is_some() || made.max.is_some();
        if has_range && made.kind == SettingType::Bool {
            return Err(
                self.at(node, format!("the parameter \"{}\" is a truth value without range", made.name))
            );
        }
        if matches!((made.min, made.max), (Some(min), Some(max)) if min > max) {
            return Err(self.at(node, format!("the range of the parameter \"{}\" is empty", made.name)));
        }
        if let Some(node) = default {
            made.default = Some(self.default(&made, node)?);
        }
        Ok(made)
    }

    fn default(&self, parameter: &ModuleParameter, node: &YamlNode) -> Result<SettingValue, ModuleError> {
        let value = match &node.kind {
            YamlKind::Int(value, _) => Some(SettingValue::Int(*value)),
            YamlKind::Float(value, _) => Some(SettingValue::Float(*value)),
            YamlKind::Bool(value, _) => Some(SettingValue::Bool(*value)),
            _ => None,
        };
        let value = value.and_then(|value| value.as_type(parameter.kind)).ok_or_else(|| {
            let (name, kind) = (&parameter.name, parameter.kind.name());
            self.at(node, format!("the parameter \"{name}\" has the type {kind}, and its default another one"))
        })?;
        if parameter.admits(&value) {
            Ok(value)
        } else {
            let (name, range) = (&parameter.name, parameter.range());
            Err(self.at(node, format!("the default of the parameter \"{name}\" is outside its range, {range}")))
        }
    }

    fn field(&self, name: String, node: &YamlNode) -> Result<ModuleField, ModuleError> {
        let orders = [("row-major", ArrayOrder::RowMajor), ("column-major", ArrayOrder::ColumnMajor)];
        let types = DType::ALL.map(|dtype| (dtype.name(), dtype));
        let (unit, dtype, order) = (String::new(), DType::Float64, ArrayOrder::RowMajor);
        let mut made = ModuleField { name, unit, dtype, ghosts: 1, order, published: true };
        let keys = ["type", "ghosts", "order", "unit", "published"];
        for (key, node) in self.entries(node, "a field", &keys)? {
            match key {
                "type" => made.dtype = self.choice(node, &types)?,
                "ghosts" => {
                    let YamlKind::Int(ghosts @ 0..=0xffff, _) = node.kind else {
                        return Err(self.at(node, "\"ghosts\" is a number of points from 0 to 65535".into()));
                    };
                    made.ghosts = ghosts as usize;
                }
                "order" => made.order = self.choice(node, &orders)?,
                "unit" => made.unit = self.text(node)?.to_owned(),
                _ => made.published = self.flag(node)?,
            }
        }
        Ok(made)
    }

    fn function(&self, name: String, node: &YamlNode) -> Result<ModuleFunction, ModuleError> {
        let mut bin = None;
        let (before, after, reads, writes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut made = ModuleFunction { name, bin: Bin::Evol, before, after, reads, writes };
        for (key, node) in self.entries(node, "a function", &["bin", "before", "after", "reads", "writes"])? {
            match key {
                "bin" => bin = Some(self.choice(node, &Bin::ALL.map(|bin| (bin.name(), bin)))?),
                "before" => made.before = self.names(node)?,
                "after" => made.after = self.names(node)?,
                "reads" => made.reads = self.uses(node, &[FieldPoints::Interior, FieldPoints::Everywhere])?,
                _ => made.writes = self.uses(node, &FieldPoints::ALL)?,
            }
        }
        made.bin = bin.ok_or_else(|| {
            let bins = Bin::ALL.map(Bin::name).join(", ");
            self.at(node, format!("the function \"{}\" needs a bin: one of {bins}", made.name))
        })?;
        Ok(made)
    }

    fn names(&self, node: &YamlNode) -> Result<Vec<String>, ModuleError> {
        match &node.kind {
            YamlKind::Seq(items) => items.iter().map(|item| Ok(self.text(item)?.to_owned())).collect(),
            _ => Ok(vec![self.text(node)?.to_owned()]),
        }
    }

    fn uses(&self, node: &YamlNode, extents: &[FieldPoints]) -> Result<Vec<FieldUse>, ModuleError> {
        let extents: Vec<_> = extents.iter().map(|extent| (extent.name(), *extent)).collect();
        self.each(node, |field, node| Ok(FieldUse { field, extent: self.choice(node, &extents)? }))
    }
}

impl ModuleParameter {
    /// Returns true if a value is in the range.
    pub fn admits(&self, value: &SettingValue) -> bool {
        let number = match value {
            SettingValue::Int(value) => *value as f64,
            SettingValue::Float(value) => *value,
            _ => return true,
        };
        let beyond =
            |bound: Option<f64>, beyond: fn(f64, f64) -> bool| bound.is_some_and(|b| beyond(number, b));
        number.is_finite() && !beyond(self.min, |x, min| x < min) && !beyond(self.max, |x, max| x > max)
    }

    /// Returns the range in words.
    pub fn range(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{min} to {max}{unit}"),
            (Some(min), None) => format!("{min}{unit} or more"),
            (None, Some(max)) => format!("{max}{unit} or less"),
            (None, None) => "all finite numbers".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAVE: &str = "
name: wave
parameters:
  speed: {type: float, default: 1, min: 0, max: 2.5, unit: m/s, steerable: true}
fields:
  u: {ghosts: 2, unit: m, order: column-major}
  v:
functions:
  step: {bin: evol, after: [source, echo.mirror], reads: {u: everywhere}, writes: {v: interior}}
";

    #[test]
    fn a_declaration_is_read_with_its_defaults() {
        let wave = read_declaration(WAVE, "wave.so").unwrap();
        let speed = &wave.parameters[0];
        assert_eq!((&*wave.name, &*speed.unit, speed.steerable), ("wave", "m/s", true));
        assert_eq!(
            (speed.default.clone(), speed.range()),
            (Some(SettingValue::Float(1.0)), "0 to 2.5 m/s".into())
        );
        assert_eq!(wave.fields[0].to_string(), "type float64, 2 ghosts, column-major, unit \"m\"");
        assert_eq!(wave.fields[1].to_string(), "type float64, 1 ghosts, row-major, unit \"\"");
        assert_eq!(wave.functions[0].after, ["source", "echo.mirror"]);
        assert_eq!(wave.functions[0].reads, [FieldUse { field: "u".into(), extent: FieldPoints::Everywhere }]);
    }

    #[test]
    fn a_mistake_of_a_class_is_named_with_its_keys() {
        let json = "{\n \"name\": \"wave\",\n \"fields\": {\n  \"u\": {\n   \"unit\": \"m\"\n  },\n  \
                    \"v\": {\n   \"ghosts\": -1\n  }\n }\n}";
        let error = read_class_declaration(json, "__main__.Wave").unwrap_err().to_string();
        assert!(error.contains("the module __main__.Wave, fields.v.ghosts: \"ghosts\" is a number"), "{error}");
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (change, to, line, why) in [
            ("name: wave", "", 3, "needs a name"),
            ("type: float", "type: text", 4, "\"text\" is none of float, int, bool"),
            ("default: 1", "default: 7", 4, "outside its range, 0 to 2.5 m/s"),
            ("min: 0", "min: 3", 4, "range of the parameter \"speed\" is empty"),
            ("max: 2.5", "most: 2.5", 4, "a parameter has no \"most\""),
            ("ghosts: 2", "ghosts: -2", 6, "number of points"),
            ("v:", "v w:", 7, "\"v w\" is no name"),
            ("bin: evol, ", "", 9, "\"step\" needs a bin"),
            ("bin: evol", "bin: evolve", 9, "none of initial, prestep, evol"),
            ("{u: everywhere}", "{u: edges}", 9, "\"edges\" is none of interior, everywhere"),
            ("functions:", "functions: [", 9, ""),
        ] {
            let error = read_declaration(&WAVE.replacen(change, to, 1), "wave.so").unwrap_err().to_string();
            assert!(error.contains("the module wave.so, line ") && error.contains(why), "{error}");
            assert!(why.is_empty() || error.contains(&format!("line {line}:")), "{error}");
        }
    }
}
