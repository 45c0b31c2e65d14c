//! Reading imports, custom implementations, settings, checkpoints, resume and `ligament:`.

use super::fields::{FieldReader, TextOrList};
use crate::checkpoints::{CheckpointRule, Resume};
use crate::configuration::{Configuration, Import};
use crate::grid::Grid;
use crate::identity::{Reference, ReferencePart};
use crate::options::{
    parse_bytes, ForConduit, InDomain, LigamentOptions, StagedInput, SteerableOption, WaitMode,
};
use crate::problem::At;
use crate::settings::SettingValue;
use crate::yaml::{YamlKind, YamlNode};
use indexmap::IndexMap;
use ligament_catalogue::Code;
use std::collections::HashMap;
use std::path::Path;

impl FieldReader {
    pub(super) fn imports(&mut self, node: &YamlNode, out: &mut Configuration) {
        let YamlKind::Seq(items) = &node.kind else {
            self.error(
                Code::WRONG_TYPE,
                &node.at,
                format!("imports must be a list, and this is {}", node.describe()),
                "write \"- from module import implementation name\", a line for each",
            );
            return;
        };
        for item in items {
            if let Some(import) = self.import(item) {
                out.imports.push(import);
            }
        }
    }

    fn import(&mut self, node: &YamlNode) -> Option<Import> {
        let text = self.text(node, "an import")?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["from", module, "import", kind, name] = words.as_slice() else {
            self.error(
                Code::BAD_IMPORT,
                &node.at,
                format!("the import \"{text}\" cannot be understood"),
                "write it as \"from module import implementation name\"",
            );
            return None;
        };
        if !kind.eq_ignore_ascii_case("implementation") {
            self.error(
                Code::BAD_IMPORT,
                &node.at,
                format!("a \"{kind}\" cannot be imported"),
                "programs and models are both imported with the word \"implementation\"",
            );
            return None;
        }
        let module = self.reference_from(module, &node.at, "the module's name")?;
        let name = self.identifier_from(name, &node.at, "the name to import")?;
        if module.parts().iter().any(|p| matches!(p, ReferencePart::Index(_))) {
            self.error(Code::BAD_IMPORT, &node.at, "a module's name has no index", "remove the brackets");
            return None;
        }
        Some(Import { module, name, at: node.at.clone() })
    }

    pub(super) fn custom_implementations(&mut self, node: &YamlNode, out: &mut Configuration) {
        for (key, value) in self.pairs(node, "custom_implementations") {
            let Some(path) = self.plain_reference(key, "the component's path") else { continue };
            if path.len() < 2 {
                self.error(
                    Code::BAD_CUSTOM_IMPLEMENTATION,
                    &key.at,
                    format!("\"{path}\" names a model, not a component"),
                    "write model.component, with the model's name first",
                );
                continue;
            }
            let implementation = match value.kind {
                YamlKind::Null => None,
                _ => match self.plain_reference(value, "the implementation's name") {
                    Some(name) => Some(name),
                    None => continue,
                },
            };
            out.custom_implementations.insert(path, (implementation, key.at.clone()));
        }
    }

    pub(super) fn settings(&mut self, node: &YamlNode, out: &mut Configuration) {
        for (key, value) in self.pairs(node, "the settings") {
            let Some(name) = self.reference(key, "the setting's name") else { continue };
            match SettingValue::from_node(value) {
                Ok(value) => out.settings.set_at(name, value, key.at.clone()),
                Err((message, advice)) => {
                    let at = if value.at.line > 0 { &value.at } else { &key.at };
                    self.error(Code::BAD_SETTING, at, format!("the setting \"{name}\": {message}"), advice);
                }
            }
        }
    }

    pub(super) fn checkpoints(&mut self, node: &YamlNode, out: &mut Configuration) {
        let map = self.mapping(node, "checkpoints", &["at_end", "wallclock_time", "simulation_time"]);
        if let Some(node) = map.get("at_end") {
            out.checkpoints.at_end = self.truth(node, "at_end").unwrap_or(false);
        }
        if let Some(node) = map.get("wallclock_time") {
            out.checkpoints.wallclock_time = self.rules(node);
        }
        if let Some(node) = map.get("simulation_time") {
            out.checkpoints.simulation_time = self.rules(node);
        }
    }

    fn rules(&mut self, node: &YamlNode) -> Vec<CheckpointRule> {
        match &node.kind {
            YamlKind::Seq(items) => items.iter().filter_map(|item| self.rule(item)).collect(),
            _ => {
                self.error(
                    Code::WRONG_TYPE,
                    &node.at,
                    format!("checkpoint rules must be a list, and this is {}", node.describe()),
                    "put a \"- \" before each rule",
                );
                Vec::new()
            }
        }
    }

    fn rule(&mut self, node: &YamlNode) -> Option<CheckpointRule> {
        let map = self.mapping(node, "a checkpoint rule", &["every", "start", "stop", "at"]);
        if let Some(at) = map.get("at") {
            if map.get("every").is_some() {
                self.error(
                    Code::BAD_CHECKPOINT,
                    &node.at,
                    "this rule has both \"at\" and \"every\"",
                    "make two rules of it",
                );
                return None;
            }
            let items = match &at.kind {
                YamlKind::Seq(items) => items.as_slice(),
                _ => std::slice::from_ref(at),
            };
            let mut moments: Vec<f64> =
                items.iter().filter_map(|i| self.number(i, "a checkpoint's time")).collect();
            moments.sort_by(f64::total_cmp);
            return Some(CheckpointRule::At(moments));
        }
        let mut number = |key: &str| map.get(key).and_then(|n| self.number(n, key));
        let (every, start, stop) = (number("every"), number("start"), number("stop"));
        let Some(every) = every.filter(|e| *e > 0.0) else {
            self.error(
                Code::BAD_CHECKPOINT,
                &node.at,
                "this rule needs an \"every\" above zero, or an \"at\"",
                "write \"every: 10\" or \"at: [10, 20]\"",
            );
            return None;
        };
        if matches!((start, stop), (Some(start), Some(stop)) if start > stop) {
            self.error(
                Code::BAD_CHECKPOINT,
                &node.at,
                "this rule stops before it starts",
                "exchange start and stop",
            );
            return None;
        }
        Some(CheckpointRule::Range { start, stop, every })
    }

    pub(super) fn resume(&mut self, node: &YamlNode, out: &mut Configuration) {
        for (key, value) in self.pairs(node, "resume") {
            if let (Some(name), Some(path)) =
                (self.reference(key, "the instance's name"), self.text(value, "the file to resume from"))
            {
                out.resume.insert(name, Resume { file: path, at: key.at.clone() });
            }
        }
    }

    pub(super) fn ligament(&mut self, node: &YamlNode, out: &mut Configuration) {
        let map = self.mapping(node, "the section \"ligament\"", LigamentOptions::KEYS);
        let options = &mut out.ligament;
        for (key, size) in [
            ("memory", &mut options.memory),
            ("budget", &mut options.budget),
            ("reader_pinned", &mut options.reader_pinned),
            ("message_size", &mut options.message_size),
            ("log", &mut options.log),
            ("output", &mut options.output),
        ] {
            if let Some(node) = map.get(key) {
                *size = self.bytes(node, key);
            }
        }
        if let Some(node) = map.get("timeline") {
            options.timeline = self.bytes(node, "timeline");
        }
        if let Some(node) = map.get("time_unit") {
            let unit = self.text(node, "the unit of the model's times");
            options.time_unit = unit.map(|unit| (unit, node.at.clone()));
        }
        if let Some(node) = map.get("instances") {
            options.instances = self.count(node, "instances", 1).map(|count| count as u64);
        }
        if let Some(node) = map.get("restarts") {
            options.restarts = self
                .count(node, "the number of restarts", 0)
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        }
        if let Some(node) = map.get("checkpoints") {
            let map = self.mapping(node, "checkpoints", &["keep"]);
            if let Some(node) = map.get("keep") {
                options.kept_checkpoints = self.count(node, "the number of checkpoints to keep", 1);
            }
        }
        if let Some(node) = map.get("wait") {
            options.wait = self.word(node, "wait", WaitMode::NAMES, WaitMode::from_name);
            options.wait_at = node.at.clone();
        }
        for (key, what, programs) in [
            ("light", "the name of a light program", &mut options.light),
            ("may_fail", "the name of a component that may fail", &mut options.may_fail),
            ("mpich", "the name of a program that MPICH starts", &mut options.mpich),
        ] {
            let Some(node) = map.get(key) else { continue };
            let names = match self.texts(node, what) {
                None => Vec::new(),
                Some(TextOrList::Text(name, at)) => vec![(name, at)],
                Some(TextOrList::List(names)) => names,
            };
            for (name, at) in names {
                if let Some(name) = self.reference_from(&name, &at, what) {
                    programs.insert(name, at);
                }
            }
        }
        if let Some(node) = map.get("mpirun") {
            for (key, value) in self.pairs(node, "mpirun") {
                if let (Some(program), Some(command)) =
                    (self.reference(key, "the program's name"), self.text(value, "the command that starts it"))
                {
                    options.mpirun.insert(program, (command, key.at.clone()));
                }
            }
        }
        if let Some(node) = map.get("units") {
            for (key, value) in self.pairs(node, "units") {
                let port = self.reference(key, "the port whose unit this is");
                if let (Some(port), Some(unit)) = (port, self.text(value, "a unit")) {
                    options.units.insert(port, (unit, key.at.clone()));
                }
            }
        }
        if let Some(node) = map.get("ranks") {
            for (key, value) in self.pairs(node, "ranks") {
                let name = self.reference(key, "the component whose ranks these are");
                let count = self.count(value, "the number of ranks", 1);
                if let (Some(name), Some(count)) = (name, count) {
                    options.ranks.insert(name, (count, key.at.clone()));
                }
            }
        }
        if let Some(node) = map.get("ticks") {
            for (key, value) in self.pairs(node, "ticks") {
                let name = self.reference(key, "the component whose tick this is");
                let tick = self.tick(value);
                if let Some(name) = name {
                    options.ticks.insert(name, (tick, key.at.clone()));
                }
            }
        }
        if let Some(node) = map.get("grids") {
            for (key, value) in self.pairs(node, "grids") {
                let name = self.plain_reference(key, "the component whose grid this is");
                if let (Some(name), Some(grid)) = (name, self.grid(value)) {
                    options.grids.insert(name, Grid { at: key.at.clone(), ..grid });
                }
            }
        }
        if let Some(node) = map.get("steerable") {
            self.steerable(node, &mut options.steerable);
        }
        if let Some(node) = map.get("scales") {
            self.scales(node, &mut options.scales);
        }
        if let Some(node) = map.get("place") {
            self.place(node, &mut options.place);
        }
        if let Some(node) = map.get("stage") {
            self.stage(node, &mut options.stage);
        }
        for (key, value) in [("spread", &mut options.spread), ("overcommit", &mut options.overcommit)] {
            if let Some(node) = map.get(key) {
                *value = self.truth(node, key);
            }
        }
        if let Some(node) = map.get("budgets") {
            self.sizes(node, "budgets", "the budget", &mut options.budget, &mut options.budgets);
        }
        if let Some(node) = map.get("message_sizes") {
            let (default, sizes) = (&mut options.message_size, &mut options.message_sizes);
            self.sizes(node, "message_sizes", "the message size", default, sizes);
        }
        if let Some(node) = map.get("filters") {
            for (key, value) in self.pairs(node, "filters") {
                let (Some(name), Some(filters)) = (self.key(key), self.own_filters(value)) else { continue };
                if let Some(filters) = self.for_conduit(&name, &key.at, filters.into()) {
                    options.filters.insert(name, filters);
                }
            }
        }
        if let Some(node) = map.get("exchange") {
            for (key, value) in self.pairs(node, "exchange") {
                let (Some(name), Some(exchange)) = (self.key(key), self.exchange(value)) else { continue };
                if let Some(exchange) = self.for_conduit(&name, &key.at, exchange) {
                    options.exchange.insert(name, exchange);
                }
            }
        }
    }

    /// Reads the settings that may change while the model runs.
    fn steerable(&mut self, node: &YamlNode, steerable: &mut IndexMap<Reference, SteerableOption>) {
        for (key, value) in self.pairs(node, "steerable") {
            let Some(name) = self.plain_reference(key, "the setting's name") else { continue };
            if matches!(value.kind, YamlKind::Null) {
                steerable.insert(name, SteerableOption { at: key.at.clone(), ..SteerableOption::default() });
                continue;
            }
            let map = self.mapping(value, "a steerable setting", &["min", "max", "unit", "apply"]);
            let mut number = |key: &str| map.get(key).and_then(|n| self.number(n, key));
            let (min, max) = (number("min"), number("max"));
            let unit = map.get("unit").and_then(|n| self.text(n, "a unit")).unwrap_or_default();
            let apply = map.get("apply").and_then(|n| {
                self.word(n, "apply", &["step", "restart"], |word| match word {
                    "step" => Some(false),
                    "restart" => Some(true),
                    _ => None,
                })
            });
            if matches!((min, max), (Some(min), Some(max)) if min > max) {
                self.error(
                    Code::BAD_STEERABLE,
                    &key.at,
                    format!("the least of \"{name}\" is more than its most"),
                    "exchange min and max",
                );
                continue;
            }
            let restart = apply.unwrap_or_default();
            steerable.insert(name, SteerableOption { min, max, unit, restart, at: key.at.clone() });
        }
    }

    /// Reads the domains in which components and instances run.
    fn place(&mut self, node: &YamlNode, place: &mut IndexMap<Reference, InDomain>) {
        for (key, value) in self.pairs(node, "place") {
            let Some(domain) = self.key(key) else { continue };
            let names = match self.texts(value, "what runs in a domain") {
                None => Vec::new(),
                Some(TextOrList::Text(name, at)) => vec![(name, at)],
                Some(TextOrList::List(names)) => names,
            };
            for (name, at) in names {
                let Some(name) = self.reference_from(&name, &at, "what runs in a domain") else { continue };
                if let Some(earlier) = place.get(&name) {
                    let message = format!(
                        "\"{name}\" is placed in the domain \"{domain}\" here, and in \"{}\" in line {}",
                        earlier.domain, earlier.at.line
                    );
                    self.error(Code::PLACED_TWICE, &at, message, "remove one of them");
                }
                place.insert(name, InDomain { domain: domain.clone(), at });
            }
        }
    }

    /// Reads the inputs of components and instances: a file, a list of files, or files by their names in
    /// the working directory.
    fn stage(&mut self, node: &YamlNode, stage: &mut IndexMap<Reference, Vec<StagedInput>>) {
        for (key, value) in self.pairs(node, "stage") {
            let Some(whose) = self.reference(key, "whose inputs these are") else { continue };
            let mut inputs: Vec<StagedInput> = Vec::new();
            let named = |(source, at): (String, At)| {
                let name = Path::new(&source).file_name().and_then(|name| name.to_str()).unwrap_or_default();
                StagedInput { name: name.to_owned(), source, at }
            };
            match &value.kind {
                YamlKind::Map(pairs) => {
                    for (name, source) in pairs {
                        let (Some(name), Some(text)) = (self.key(name), self.text(source, "an input file"))
                        else {
                            continue;
                        };
                        inputs.push(StagedInput { source: text, name, at: source.at.clone() });
                    }
                }
                _ => match self.texts(value, "an input file") {
                    None => {}
                    Some(TextOrList::Text(source, at)) => inputs.push(named((source, at))),
                    Some(TextOrList::List(sources)) => inputs.extend(sources.into_iter().map(named)),
                },
            }
            self.check_staged(&whose, &mut inputs);
            stage.insert(whose, inputs);
        }
    }

    /// Keeps the inputs whose names are valid in a working directory and differ from each other, and
    /// reports the rest.
    fn check_staged(&mut self, whose: &Reference, inputs: &mut Vec<StagedInput>) {
        let mut names: HashMap<String, String> = HashMap::new();
        inputs.retain(|input| {
            let StagedInput { source, name, at } = input;
            if !StagedInput::is_name(name) {
                let message =
                    format!("the input \"{source}\" of {whose} cannot be called \"{name}\" where {whose} runs");
                self.error(
                    Code::BAD_INPUT_NAME,
                    at,
                    message,
                    "write \"name: file\", with a name below that directory",
                );
                return false;
            }
            match names.insert(name.clone(), source.clone()) {
                Some(other) => {
                    let message =
                        format!("\"{other}\" and \"{source}\" would both be \"{name}\" where {whose} runs");
                    self.error(
                        Code::STAGED_TWICE,
                        at,
                        message,
                        "write \"name: file\" for each, with different names",
                    );
                    false
                }
                None => true,
            }
        });
    }

    /// Reads sizes for single conduits, by the text that names the conduit. The size of `default` is for
    /// all others.
    fn sizes(
        &mut self,
        node: &YamlNode,
        key: &str,
        what: &str,
        default: &mut Option<u64>,
        sizes: &mut IndexMap<String, ForConduit<u64>>,
    ) {
        for (key, value) in self.pairs(node, key) {
            let Some(name) = self.key(key) else { continue };
            let Some(bytes) = self.bytes(value, &format!("{what} of {name}")) else { continue };
            if name == "default" {
                *default = Some(bytes);
            } else if let Some(size) = self.for_conduit(&name, &key.at, bytes) {
                sizes.insert(name, size);
            }
        }
    }

    /// Makes the entry for the conduit that a text names, or for all conduits of the port that it names.
    fn for_conduit<T>(&mut self, name: &str, at: &At, value: T) -> Option<ForConduit<T>> {
        let (port, receiver) = match name.split_once("->") {
            Some((from, to)) => (from.trim(), Some(to.trim())),
            None => (name, None),
        };
        let port = self.reference_from(port, at, "the port");
        let receiver = match receiver {
            Some(to) => Some(self.reference_from(to, at, "the port")?),
            None => None,
        };
        Some(ForConduit { port: port?, receiver, value, at: at.clone() })
    }

    fn bytes(&mut self, node: &YamlNode, what: &str) -> Option<u64> {
        let bytes = match &node.kind {
            YamlKind::Int(i, _) => u64::try_from(*i).ok(),
            YamlKind::Str(text) => parse_bytes(text),
            _ => None,
        };
        if bytes.is_none() {
            self.error(
                Code::BAD_SIZE,
                &node.at,
                format!("{what} must be a number of bytes, and this is {}", node.describe()),
                "write for example 64 MiB or 4 GiB",
            );
        }
        bytes
    }
}
