//! Reading programs (v0.1: implementations), supported settings and resources.

use super::fields::{FieldReader, Fields, TextOrList};
use super::shell_words::words;
use crate::configuration::{Configuration, Version};
use crate::identity::{Identifier, Reference};
use crate::problem::At;
use crate::program::*;
use crate::settings::{SettingType, SupportedSetting};
use crate::yaml::{key_text, shorten, YamlKind, YamlNode};
use indexmap::IndexMap;
use ligament_catalogue::Code;

const V01: &[&str] = &[
    "name",
    "base_env",
    "modules",
    "virtual_env",
    "env",
    "execution_model",
    "executable",
    "args",
    "script",
    "can_share_resources",
    "keeps_state_for_next_use",
];
const V02: &[&str] = &[
    "name",
    "ports",
    "description",
    "supported_settings",
    "base_env",
    "modules",
    "virtual_env",
    "env",
    "execution_model",
    "executable",
    "args",
    "script",
    "can_share_resources",
    "keeps_state_for_next_use",
];
const RESOURCES: &[&str] =
    &["name", "threads", "mpi_processes", "nodes", "mpi_processes_per_node", "threads_per_mpi_process"];

impl FieldReader {
    pub(super) fn programs(&mut self, node: &YamlNode, version: Version, out: &mut Configuration) {
        let (section, singular) = match version {
            Version::V01 => ("the implementations", "implementation"),
            Version::V02 => ("the programs", "program"),
        };
        for (name, at, body) in self.named_items(node, section, singular) {
            let Some(name) = self.reference_from(&name, &at, &format!("the {singular}'s name")) else {
                continue;
            };
            let mut program = Program::new(name);
            program.at = at;
            self.program(body, version, singular, &mut program);
            if out.programs.contains_key(&program.name) {
                self.duplicate(singular, &program.name, &program.at);
            }
            out.programs.insert(program.name.clone(), program);
        }
    }

    fn program(&mut self, body: &YamlNode, version: Version, singular: &str, program: &mut Program) {
        if version == Version::V01 && matches!(body.kind, YamlKind::Str(_)) {
            program.script = self.text(body, "the script");
            return;
        }
        let keys = if version == Version::V01 { V01 } else { V02 };
        let what = format!("the {singular} \"{}\"", program.name);
        let map = self.mapping(body, &what, keys);
        if let Some(node) = map.get("description") {
            program.description = self.text(node, "the description").unwrap_or_default();
        }
        if let Some(node) = map.get("ports") {
            program.ports = self.ports(node, false);
        }
        if let Some(node) = map.get("supported_settings") {
            program.supported_settings = self.supported_settings(node);
        }
        if let Some(node) = map.get("execution_model") {
            let names = match version {
                Version::V01 => &ExecutionModel::NAMES[..4],
                Version::V02 => &ExecutionModel::NAMES[..5],
            };
            let of_ymmsl =
                |name: &str| ExecutionModel::from_name(name).filter(|model| names.contains(&model.name()));
            program.execution_model =
                self.word(node, "the execution model", names, of_ymmsl).unwrap_or_default();
        }
        if let Some(node) = map.get("can_share_resources") {
            program.can_share_resources = self.truth(node, "can_share_resources").unwrap_or(true);
        }
        if let Some(node) = map.get("keeps_state_for_next_use") {
            program.keeps_state_for_next_use = self
                .word(node, "keeps_state_for_next_use", KeepsState::NAMES, KeepsState::from_name)
                .unwrap_or_default();
        }
        self.start(&map, program);
        if body.kind == YamlKind::Null || matches!(body.kind, YamlKind::Map(_)) {
            self.check_start(&map, &what, program);
        }
    }

    /// Reads the keys that give the way in which the program is started.
    fn start(&mut self, map: &Fields<'_>, program: &mut Program) {
        if let Some(node) = map.get("base_env") {
            program.base_env =
                self.word(node, "base_env", BaseEnv::NAMES, BaseEnv::from_name).unwrap_or_default();
        }
        if let Some(node) = map.get("modules") {
            program.modules = self.texts(node, "modules").map(|t| match t {
                TextOrList::Text(text, _) => text.split(' ').map(str::to_owned).collect(),
                TextOrList::List(list) => list.into_iter().map(|(t, _)| t).collect(),
            });
        }
        if let Some(node) = map.get("virtual_env") {
            program.virtual_env = self.text(node, "virtual_env");
        }
        if let Some(node) = map.get("env") {
            for (key, value) in self.pairs(node, "env") {
                let Some(name) = self.key(key) else { continue };
                if !crate::is_variable_name(name.strip_prefix('+').unwrap_or(&name)) {
                    let message = format!("no environment variable can be called \"{}\"", shorten(&name));
                    let advice =
                        "write a name of letters, digits and underscores that does not begin with a digit; \
                                  a + before it appends to its value";
                    self.error(Code::BAD_NAME, &key.at, message, advice);
                    continue;
                }
                match key_text(value) {
                    Some(text) if text.contains('\0') => {
                        let message = format!(
                            "the value of the environment variable {name} has a character with the number 0"
                        );
                        self.error(Code::WRONG_TYPE, &value.at, message, "write a text without \\0");
                    }
                    Some(text) => {
                        program.env.insert(name, text);
                    }
                    None => {
                        let what = format!("the environment variable {name}");
                        self.text(value, &what);
                    }
                }
            }
        }
        if let Some(node) = map.get("executable") {
            program.executable = self.text(node, "the executable");
            program.executable_at = node.at.clone();
        }
        if let Some(node) = map.get("args") {
            program.args_at = node.at.clone();
            program.args = self.texts(node, "an argument").map(|t| match t {
                TextOrList::Text(text, at) => words(&text).unwrap_or_else(|why| {
                    let message = format!("the arguments \"{}\" cannot be taken apart: {why}", shorten(&text));
                    let advice = "write them as a list, args: [...], or start the program by a \"script:\"";
                    self.error(Code::BAD_ARGUMENTS, &at, message, advice);
                    Vec::new()
                }),
                TextOrList::List(list) => list.into_iter().map(|(t, _)| t).collect(),
            });
        }
        if let Some(node) = map.get("script") {
            program.script = self.texts(node, "the script").map(|t| match t {
                TextOrList::Text(text, _) => text,
                TextOrList::List(lines) => lines.into_iter().map(|(line, _)| line + "\n").collect(),
            });
        }
    }

    fn check_start(&mut self, map: &Fields<'_>, what: &str, program: &Program) {
        if map.get("script").is_some() {
            let beside: Vec<&str> = ["base_env", "modules", "virtual_env", "env", "executable", "args"]
                .into_iter()
                .filter(|k| map.get(k).is_some())
                .collect();
            if !beside.is_empty() {
                self.error(
                    Code::SCRIPT_AND_MORE,
                    &program.at,
                    format!("{what} has a script, and {} beside it", beside.join(", ")),
                    "do these things in the script, or replace the script by an executable",
                );
            }
        } else if map.get("executable").is_none() && program.execution_model != ExecutionModel::Manual {
            self.error(
                Code::NOTHING_TO_START,
                &program.at,
                format!("{what} has neither an executable nor a script"),
                "add \"executable: /path/to/program\"",
            );
        }
    }

    pub(super) fn supported_settings(&mut self, node: &YamlNode) -> IndexMap<Identifier, SupportedSetting> {
        let mut supported = IndexMap::new();
        for (name, at, body) in self.named_items(node, "supported_settings", "supported setting") {
            let Some(name) = self.identifier_from(&name, &at, "the setting's name") else { continue };
            let what = format!("the type of the setting \"{name}\"");
            let read = match &body.kind {
                YamlKind::Map(_) => self.supported_mapping(body, &what),
                _ => self.supported_short(body, &what),
            };
            if let Some((setting_type, description)) = read {
                supported.insert(name.clone(), SupportedSetting { name, setting_type, description, at });
            }
        }
        supported
    }

    fn supported_mapping(&mut self, body: &YamlNode, what: &str) -> Option<(SettingType, String)> {
        let map = self.mapping(body, "a supported setting", &["name", "type", "description"]);
        let description = map.get("description");
        let Some(node) = map.get("type") else {
            return match description {
                Some(node) => self.supported_short(node, what),
                None => {
                    self.error(
                        Code::MISSING_KEY,
                        &body.at,
                        format!("{what} is missing"),
                        format!("add \"type: …\", one of {}", SettingType::NAMES.join(", ")),
                    );
                    None
                }
            };
        };
        let text = type_text(node).unwrap_or_default();
        let setting_type = self.setting_type(&text, &node.at, what)?;
        let description = description.and_then(|d| self.text(d, "the description")).unwrap_or_default();
        Some((setting_type, description))
    }

    /// Reads a setting in its short form: `float How fast it goes`, or `[float]`.
    fn supported_short(&mut self, node: &YamlNode, what: &str) -> Option<(SettingType, String)> {
        if let YamlKind::Str(text) = &node.kind {
            let text = text.trim_start();
            let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            return Some((self.setting_type(word, &node.at, what)?, rest.trim_start().to_owned()));
        }
        let text = type_text(node).unwrap_or_default();
        Some((self.setting_type(&text, &node.at, what)?, String::new()))
    }

    fn setting_type(&mut self, text: &str, at: &At, what: &str) -> Option<SettingType> {
        let found = SettingType::from_name(text);
        if found.is_none() {
            let synonym = match text {
                "string" | "text" => Some("str"),
                "integer" | "long" => Some("int"),
                "double" | "real" | "number" => Some("float"),
                "boolean" => Some("bool"),
                _ => crate::nearest(text, SettingType::NAMES.iter().copied()),
            };
            let advice = match synonym {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("use one of: {}", SettingType::NAMES.join(", ")),
            };
            self.error(Code::UNKNOWN_TYPE, at, format!("{what} cannot be \"{text}\""), advice);
        }
        found
    }

    pub(super) fn resources(&mut self, node: &YamlNode, prefix: &Reference, out: &mut Configuration) {
        for (name, at, body) in self.named_items(node, "the resources", "resource request") {
            let Some(name) = self.reference_from(&name, &at, "the component's name") else { continue };
            let what = format!("the resources of \"{name}\"");
            let map = self.mapping(body, &what, RESOURCES);
            let per_process = match map.get("threads_per_mpi_process") {
                Some(node) => self.count(node, "threads_per_mpi_process", 1).unwrap_or(1),
                None => 1,
            };
            let keys = ["threads", "mpi_processes", "nodes", "mpi_processes_per_node"];
            let given: Vec<&str> = keys.into_iter().filter(|k| map.get(k).is_some()).collect();
            let mut number = |key: &str| map.get(key).and_then(|n| self.count(n, key, 1)).unwrap_or(1);
            let resources = match given.as_slice() {
                ["threads"] if map.get("threads_per_mpi_process").is_none() => {
                    Resources::Threads { threads: number("threads") }
                }
                ["mpi_processes"] => Resources::MpiProcesses {
                    mpi_processes: number("mpi_processes"),
                    threads_per_mpi_process: per_process,
                },
                ["nodes", "mpi_processes_per_node"] => Resources::MpiNodes {
                    nodes: number("nodes"),
                    mpi_processes_per_node: number("mpi_processes_per_node"),
                    threads_per_mpi_process: per_process,
                },
                _ => {
                    let message = match given.as_slice() {
                        [] => format!("{what} ask for nothing"),
                        several => format!("{what} cannot be given by {}", several.join(" and ")),
                    };
                    self.error(
                        Code::BAD_RESOURCES,
                        &at,
                        message,
                        "give \"threads: n\", or \"mpi_processes: n\", or \"nodes: n\" with \
                         \"mpi_processes_per_node: m\"",
                    );
                    continue;
                }
            };
            let name = prefix.join(&name);
            out.resources.insert(name.clone(), ResourceRequirements { name, resources, at });
        }
    }
}

/// Returns the text of a type. YAML reads `[float]` as a list with one text.
fn type_text(node: &YamlNode) -> Option<String> {
    match &node.kind {
        YamlKind::Str(text) => Some(text.trim().to_owned()),
        YamlKind::Seq(items) => match items.as_slice() {
            [one] => Some(format!("[{}]", type_text(one)?)),
            _ => None,
        },
        _ => None,
    }
}
