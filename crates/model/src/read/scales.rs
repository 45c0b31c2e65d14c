//! Reading `ligament: scales:`.

use super::fields::FieldReader;
use crate::identity::Reference;
use crate::scales::{DeclaredScales, Scale};
use crate::yaml::{YamlKind, YamlNode};
use indexmap::IndexMap;
use ligament_catalogue::Code;

impl FieldReader {
    /// Reads components, with the scales of each.
    pub(super) fn scales(&mut self, node: &YamlNode, scales: &mut IndexMap<Reference, DeclaredScales>) {
        for (key, value) in self.pairs(node, "scales") {
            let Some(name) = self.reference(key, "the component whose scales these are") else { continue };
            let map = self.mapping(value, "the scales of a component", DeclaredScales::KEYS);
            let mut read = |key| map.get(key).map_or(Vec::new(), |node| self.directions(node, key));
            let [time_step, total_time, space_step, extent] =
                ["time_step", "total_time", "space_step", "extent"].map(&mut read);
            for (key, times) in [("time_step", &time_step), ("total_time", &total_time)] {
                if let [_, second, ..] = times.as_slice() {
                    let message = format!("\"{key}\" of \"{name}\" has several values, and there is one time");
                    self.error(Code::BAD_SCALE, &second.at, message, "write one");
                }
            }
            let [time_step, total_time] = [time_step, total_time].map(|times| times.into_iter().next());
            scales
                .insert(name, DeclaredScales { time_step, total_time, space_step, extent, at: key.at.clone() });
        }
    }

    /// Reads one scale, or one for each direction.
    fn directions(&mut self, node: &YamlNode, what: &str) -> Vec<Scale> {
        let items = match &node.kind {
            YamlKind::Seq(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if let Some(more) = items.get(DeclaredScales::DIRECTIONS) {
            let message = format!("\"{what}\" has {} values, and space has three directions", items.len());
            self.error(Code::BAD_SCALE, &more.at, message, "write one for all directions, or one for each");
        }
        items.iter().filter_map(|item| self.scale(item, what)).collect()
    }

    fn scale(&mut self, node: &YamlNode, what: &str) -> Option<Scale> {
        match &node.kind {
            YamlKind::Str(text) => return Some(Scale { text: text.clone(), at: node.at.clone() }),
            YamlKind::Int(..) | YamlKind::Float(..) => {
                let example = if what.contains("time") { "1 ms, or 2 years" } else { "1 mm" };
                let message = format!("\"{what}\" is {}, without a unit", node.describe());
                self.error(Code::BAD_SCALE, &node.at, message, format!("write for example {example}"));
            }
            _ => {
                let message =
                    format!("\"{what}\" must be a number with a unit, and this is {}", node.describe());
                self.error(Code::BAD_SCALE, &node.at, message, "write for example 1 ms, 2 years or 1 mm");
            }
        }
        None
    }
}
