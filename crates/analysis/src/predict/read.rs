//! Reads and writes the file of costs.

use super::costs::{ComponentCosts, ConduitCosts, Cost, Costs};
use ligament_catalogue::Code;
use ligament_model::yaml::{self, YamlKind, YamlNode};
use ligament_model::{parse_bytes, FieldReader, Problem};
use std::fmt::Write;
use std::sync::Arc;

/// First key of the file. Its value is the version of the format.
const VERSION: &str = "ligament_costs";
/// Text between the two ports of a conduit.
const ARROW: &str = "->";

impl Costs {
    /// Reads a file of costs. `file` is the name of the file for messages.
    ///
    /// # Errors
    /// All problems of the file, in the order of the file.
    pub fn read(text: &str, file: &str) -> Result<Costs, Vec<Problem>> {
        let mut reader = FieldReader::default();
        let file: Arc<str> = file.into();
        let mut costs = Costs::default();
        if let Some(root) = yaml::parse(text, Some(file), &mut reader.problems) {
            read_root(&mut reader, &root, &mut costs);
        }
        reader.problems.sort_by_key(|problem| (problem.line, problem.column));
        if reader.problems.iter().any(Problem::is_error) {
            Err(reader.problems)
        } else {
            Ok(costs)
        }
    }

    /// Returns the costs as a text that `read` can read.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}: 1\n# Times in s, sizes in bytes\ncommon:\n");
        for (key, value) in &self.common {
            let _ = writeln!(text, "  {key}: {value}");
        }
        let braces = |costs: Vec<(&str, Option<&Cost>)>| {
            let said = costs.into_iter().filter_map(|(key, cost)| Some(format!("{key}: {}", cost?)));
            said.collect::<Vec<_>>().join(", ")
        };
        text.push_str("components:\n");
        for (name, own) in &self.components {
            let keys = ComponentCosts::KEYS.iter().map(|&key| (key, own.get(key))).collect();
            let _ = writeln!(text, "  {name:?}: {{{}}}", braces(keys));
        }
        text.push_str("conduits:\n");
        for ((from, to), own) in &self.conduits {
            let keys = ConduitCosts::KEYS.iter().map(|&key| (key, own.get(key))).collect();
            let _ = writeln!(text, "  {from} {ARROW} {to}: {{{}}}", braces(keys));
        }
        text
    }
}

fn read_root(reader: &mut FieldReader, root: &YamlNode, costs: &mut Costs) {
    let map = reader.mapping(root, "a file of costs", &[VERSION, "common", "components", "conduits"]);
    match map.get(VERSION).map(|node| &node.kind) {
        Some(YamlKind::Int(1, _)) => {}
        _ => reader.error(
            Code::BAD_COSTS,
            &root.at,
            "this is no file of costs of version 1",
            format!("begin it with \"{VERSION}: 1\""),
        ),
    }
    if let Some(node) = map.get("common") {
        let own = reader.mapping(node, "the common costs", &super::costs::CommonCosts::KEYS);
        for key in super::costs::CommonCosts::KEYS {
            let Some(node) = own.get(key) else { continue };
            let least = if key == "bandwidth" { f64::MIN_POSITIVE } else { 0.0 };
            match reader.number(node, key) {
                Some(value) if value >= least && value.is_finite() => {
                    costs.common.insert(key, value);
                }
                Some(_) if key == "bandwidth" => {
                    wrong(reader, node, key, "give a number of bytes a second, above 0")
                }
                Some(_) => wrong(reader, node, key, "give a number from 0 on"),
                None => {}
            }
        }
    }
    if let Some(node) = map.get("components") {
        for (key, value) in reader.pairs(node, "the costs of components").to_vec() {
            let Some(name) = reader.key(&key) else { continue };
            let own = reader.mapping(&value, &format!("the costs of {name}"), &ComponentCosts::KEYS);
            let mut read = ComponentCosts { at: key.at.clone(), ..ComponentCosts::default() };
            for key in ComponentCosts::KEYS {
                *read.slot(key) = own.get(key).and_then(|node| cost(reader, node, key));
            }
            costs.components.insert(name, read);
        }
    }
    let Some(node) = map.get("conduits") else { return };
    for (key, value) in reader.pairs(node, "the costs of conduits").to_vec() {
        let Some(name) = reader.key(&key) else { continue };
        let Some((from, to)) = name.split_once(ARROW) else {
            reader.error(
                Code::BAD_COSTS,
                &key.at,
                format!("\"{name}\" names no conduit"),
                format!("write both ports, as in \"macro.out {ARROW} micro.in\""),
            );
            continue;
        };
        let own = reader.mapping(&value, &format!("the costs of {name}"), &ConduitCosts::KEYS);
        let mut read = ConduitCosts { at: key.at.clone(), ..ConduitCosts::default() };
        for key in ConduitCosts::KEYS {
            *read.slot(key) = own.get(key).and_then(|node| cost(reader, node, key));
        }
        costs.conduits.insert((from.trim().to_owned(), to.trim().to_owned()), read);
    }
}

fn wrong(reader: &mut FieldReader, node: &YamlNode, key: &str, advice: &str) {
    let message = format!("{key} cannot be {}", node.describe());
    reader.error(Code::BAD_COSTS, &node.at, message, advice);
}

/// Reads a cost: a number, a number of bytes with a unit, or a formula.
fn cost(reader: &mut FieldReader, node: &YamlNode, key: &str) -> Option<Cost> {
    match &node.kind {
        YamlKind::Int(value, _) if *value >= 0 => return Some(Cost::Number(*value as f64)),
        YamlKind::Float(value, _) if *value >= 0.0 && value.is_finite() => return Some(Cost::Number(*value)),
        YamlKind::Str(text) => {
            if matches!(key, "bytes" | "memory") {
                if let Some(bytes) = parse_bytes(text) {
                    return Some(Cost::Number(bytes as f64));
                }
            }
            return Some(Cost::Formula(text.clone(), node.at.clone()));
        }
        _ => {}
    }
    let message = format!("{key} cannot be {}", node.describe());
    reader.error(
        Code::BAD_COSTS,
        &node.at,
        message,
        "give a number from 0 on, or a formula over settings, as \"t_max / dt\"",
    );
    None
}
