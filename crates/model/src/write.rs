//! Writes a configuration as yMMSL v0.2. Reading the result gives the same configuration.

use crate::checkpoints::CheckpointRule;
use crate::configuration::Configuration;
use crate::filters::Filter;
use crate::graph::{Component, ConduitFilter, Model, Operator, Ports};
use crate::program::{BaseEnv, ExecutionModel, KeepsState, Program, Resources};
use crate::settings::{SettingValue, SupportedSetting};
use crate::{Identifier, Reference};
use indexmap::IndexMap;
use std::fmt::Write;

/// A text that grows line by line.
struct Out(String);

impl Out {
    fn line(&mut self, depth: usize, text: &str) {
        for _ in 0..depth {
            self.0.push_str("  ");
        }
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn pair(&mut self, depth: usize, key: &str, value: &str) {
        self.line(depth, &format!("{key}: {value}"));
    }
}

impl Configuration {
    /// Returns the configuration as yMMSL v0.2.
    pub fn to_yaml(&self) -> String {
        let mut out = Out("ymmsl_version: v0.2\n".to_owned());
        if !self.description.is_empty() {
            out.pair(0, "description", &quoted(&self.description));
        }
        if !self.imports.is_empty() {
            out.line(0, "imports:");
            for import in &self.imports {
                out.line(0, &format!("- from {} import implementation {}", import.module, import.name));
            }
        }
        if !self.models.is_empty() {
            out.line(0, "models:");
            self.models.values().for_each(|m| model(&mut out, m));
        }
        if !self.custom_implementations.is_empty() {
            out.line(0, "custom_implementations:");
            for (path, (implementation, _)) in &self.custom_implementations {
                let value = implementation.as_ref().map_or("null".to_owned(), |i| text(&i.to_string()));
                out.pair(1, &text(&path.to_string()), &value);
            }
        }
        if !self.settings.is_empty() {
            out.line(0, "settings:");
            for (name, value) in self.settings.iter() {
                out.pair(1, &text(&name.to_string()), &setting_value(value));
            }
        }
        let mut programs = self.programs.values().filter(|p| p.shipped().is_none()).peekable();
        if programs.peek().is_some() {
            out.line(0, "programs:");
            programs.for_each(|p| program(&mut out, p));
        }
        if !self.resources.is_empty() {
            out.line(0, "resources:");
            for (name, requirements) in &self.resources {
                out.line(1, &format!("{}:", text(&name.to_string())));
                resources(&mut out, requirements.resources);
            }
        }
        self.write_checkpoints(&mut out);
        if !self.resume.is_empty() {
            out.line(0, "resume:");
            for (name, resume) in &self.resume {
                out.pair(1, &text(&name.to_string()), &text(&resume.file));
            }
        }
        self.write_ligament(&mut out);
        out.0
    }

    fn write_checkpoints(&self, out: &mut Out) {
        let checkpoints = &self.checkpoints;
        if checkpoints.is_empty() {
            return;
        }
        out.line(0, "checkpoints:");
        if checkpoints.at_end {
            out.line(1, "at_end: true");
        }
        let lists = [
            ("wallclock_time", &checkpoints.wallclock_time),
            ("simulation_time", &checkpoints.simulation_time),
        ];
        for (key, rules) in lists {
            if rules.is_empty() {
                continue;
            }
            out.line(1, &format!("{key}:"));
            for rule in rules {
                match rule {
                    CheckpointRule::At(moments) => {
                        let moments: Vec<String> = moments.iter().map(|m| float(*m)).collect();
                        out.line(1, &format!("- at: [{}]", moments.join(", ")));
                    }
                    CheckpointRule::Range { start, stop, every } => {
                        out.line(1, &format!("- every: {}", float(*every)));
                        for (key, value) in [("start", start), ("stop", stop)] {
                            if let Some(value) = value {
                                out.pair(2, key, &float(*value));
                            }
                        }
                    }
                }
            }
        }
    }

    fn write_ligament(&self, out: &mut Out) {
        let options = &self.ligament;
        if options.is_empty() {
            return;
        }
        out.line(0, "ligament:");
        let sizes = [
            ("memory", options.memory),
            ("budget", options.budget),
            ("reader_pinned", options.reader_pinned),
            ("message_size", options.message_size),
            ("log", options.log),
            ("output", options.output),
            ("timeline", options.timeline),
            ("instances", options.instances),
        ];
        for (key, value) in sizes {
            if let Some(value) = value {
                out.pair(1, key, &value.to_string());
            }
        }
        if let Some(restarts) = options.restarts {
            out.pair(1, "restarts", &restarts.to_string());
        }
        if let Some(kept) = options.kept_checkpoints {
            out.line(1, "checkpoints:");
            out.pair(2, "keep", &kept.to_string());
        }
        if let Some((unit, _)) = &options.time_unit {
            out.pair(1, "time_unit", &quoted(unit));
        }
        if let Some(wait) = options.wait {
            out.pair(1, "wait", wait.name());
        }
        for (key, named) in
            [("light", &options.light), ("may_fail", &options.may_fail), ("mpich", &options.mpich)]
        {
            if !named.is_empty() {
                let names: Vec<String> = named.keys().map(Reference::to_string).collect();
                out.pair(1, key, &list(&names));
            }
        }
        if !options.mpirun.is_empty() {
            out.line(1, "mpirun:");
            for (program, (command, _)) in &options.mpirun {
                out.pair(2, &quoted(&program.to_string()), &quoted(command));
            }
        }
        if !options.ranks.is_empty() {
            out.line(1, "ranks:");
            for (component, (count, _)) in &options.ranks {
                out.pair(2, &quoted(&component.to_string()), &count.to_string());
            }
        }
        if !options.ticks.is_empty() {
            out.line(1, "ticks:");
            for (component, (tick, _)) in &options.ticks {
                out.pair(2, &quoted(&component.to_string()), &tick.to_string());
            }
        }
        if !options.grids.is_empty() {
            out.line(1, "grids:");
            for (component, grid) in &options.grids {
                out.line(2, &format!("{}:", quoted(&component.to_string())));
                for (key, value) in grid.written() {
                    out.pair(3, key, &value);
                }
            }
        }
        if !options.scales.is_empty() {
            out.line(1, "scales:");
            for (component, scales) in &options.scales {
                out.line(2, &format!("{}:", quoted(&component.to_string())));
                for (key, written) in scales.written() {
                    let all: Vec<String> = written.iter().map(|scale| quoted(&scale.text)).collect();
                    let value =
                        if let [one] = all.as_slice() { one.clone() } else { format!("[{}]", all.join(", ")) };
                    out.pair(3, key, &value);
                }
            }
        }
        for (key, sizes) in [("budgets", &options.budgets), ("message_sizes", &options.message_sizes)] {
            if !sizes.is_empty() {
                out.line(1, &format!("{key}:"));
                for (name, size) in sizes {
                    out.pair(2, &text(name), &size.value.to_string());
                }
            }
        }
        if !options.filters.is_empty() {
            out.line(1, "filters:");
            for (name, filters) in &options.filters {
                out.pair(2, &text(name), &Filter::write(&filters.value));
            }
        }
        if !options.exchange.is_empty() {
            out.line(1, "exchange:");
            for (name, exchange) in &options.exchange {
                out.pair(2, &text(name), &exchange.value.to_string());
            }
        }
        if !options.units.is_empty() {
            out.line(1, "units:");
            for (port, (unit, _)) in &options.units {
                out.pair(2, &quoted(&port.to_string()), &quoted(unit));
            }
        }
        let mut domains: IndexMap<&str, Vec<String>> = IndexMap::new();
        for (name, place) in &options.place {
            domains.entry(&place.domain).or_default().push(name.to_string());
        }
        if !domains.is_empty() {
            out.line(1, "place:");
            for (domain, names) in domains {
                out.pair(2, &quoted(domain), &list(&names));
            }
        }
        if !options.stage.is_empty() {
            out.line(1, "stage:");
            for (whose, inputs) in &options.stage {
                out.line(2, &format!("{}:", quoted(&whose.to_string())));
                for input in inputs {
                    out.pair(3, &quoted(&input.name), &quoted(&input.source));
                }
            }
        }
        if !options.steerable.is_empty() {
            out.line(1, "steerable:");
            for (name, one) in &options.steerable {
                out.line(2, &format!("{}:", quoted(&name.to_string())));
                for (key, bound) in [("min", one.min), ("max", one.max)] {
                    if let Some(bound) = bound {
                        out.pair(3, key, &float(bound));
                    }
                }
                if !one.unit.is_empty() {
                    out.pair(3, "unit", &quoted(&one.unit));
                }
                out.pair(3, "apply", if one.restart { "restart" } else { "step" });
            }
        }
        for (key, value) in [("spread", options.spread), ("overcommit", options.overcommit)] {
            if let Some(value) = value {
                out.pair(1, key, &value.to_string());
            }
        }
    }
}

fn model(out: &mut Out, model: &Model) {
    out.line(1, &format!("{}:", text(&model.name.to_string())));
    if !model.description.is_empty() {
        out.pair(2, "description", &quoted(&model.description));
    }
    if !model.ports.is_empty() {
        ports(out, 2, &model.ports);
    }
    supported(out, &model.supported_settings);
    if !model.components.is_empty() {
        out.line(2, "components:");
        model.components.values().for_each(|c| component(out, c));
    } else if model.description.is_empty() && model.ports.is_empty() && model.conduits.is_empty() {
        out.line(2, "components: {}");
    }
    if !model.matching_timelines.is_empty() {
        out.line(2, "matching_timelines:");
        for matching in &model.matching_timelines {
            let others: Vec<String> = matching.matches.iter().map(|t| quoted(&t.to_string())).collect();
            out.pair(3, &quoted(&matching.head.to_string()), &format!("[{}]", others.join(", ")));
        }
    }
    conduits(out, model);
}

fn component(out: &mut Out, component: &Component) {
    out.line(3, &format!("{}:", text(&component.name.to_string())));
    // The reference implementation reads only components that have both a description and ports.
    out.pair(4, "description", &quoted(&component.description));
    if let Some(declared) = &component.ports {
        ports(out, 4, declared);
    }
    if let Some(implementation) = &component.implementation {
        out.pair(4, "implementation", &text(&implementation.to_string()));
    }
    if component.optional {
        out.line(4, "optional: true");
    }
    match component.multiplicity.as_slice() {
        [] => {}
        [one] => out.pair(4, "multiplicity", &one.to_string()),
        several => {
            let several: Vec<String> = several.iter().map(usize::to_string).collect();
            out.pair(4, "multiplicity", &format!("[{}]", several.join(", ")));
        }
    }
}

fn ports(out: &mut Out, depth: usize, ports: &Ports) {
    if ports.is_empty() {
        return out.line(depth, "ports: {}");
    }
    out.line(depth, "ports:");
    let mut groups: IndexMap<String, IndexMap<&str, Vec<&str>>> = IndexMap::new();
    for port in ports.values() {
        let key = match port.operator {
            Operator::FInit | Operator::None => "f_init",
            Operator::OI => "o_i",
            Operator::S => "s",
            Operator::OF => "o_f",
        };
        let timeline = port.timeline.to_string();
        groups.entry(timeline).or_default().entry(key).or_default().push(port.name.as_str());
    }
    for (timeline, operators) in groups {
        let depth = if timeline.is_empty() {
            depth + 1
        } else {
            out.line(depth + 1, &format!("{}:", quoted(&format!("timeline {timeline}"))));
            depth + 2
        };
        for (operator, names) in operators {
            let names: Vec<String> = names.into_iter().map(text).collect();
            out.pair(depth, operator, &format!("[{}]", names.join(", ")));
        }
    }
}

fn conduits(out: &mut Out, model: &Model) {
    if model.conduits.is_empty() {
        return;
    }
    // A mapping would group the conduits of one sender. If that changes their order, a list is written
    // instead.
    let mut by_sender: IndexMap<String, Vec<usize>> = IndexMap::new();
    for (i, conduit) in model.conduits.iter().enumerate() {
        by_sender.entry(conduit.sender.to_string()).or_default().push(i);
    }
    let in_order = by_sender.values().flatten().copied().eq(0..model.conduits.len());
    let receiver = |i: usize| {
        let conduit = &model.conduits[i];
        let mut value: String =
            conduit.filters.iter().map(|f: &ConduitFilter| format!("{} ", f.name())).collect();
        let _ = write!(value, "{}", conduit.receiver);
        text(&value)
    };
    out.line(2, "conduits:");
    if in_order {
        for (sender, conduits) in by_sender {
            match conduits.as_slice() {
                [one] => out.pair(3, &text(&sender), &receiver(*one)),
                several => {
                    out.line(3, &format!("{}:", text(&sender)));
                    several.iter().for_each(|i| out.line(3, &format!("- {}", receiver(*i))));
                }
            }
        }
    } else {
        for (i, conduit) in model.conduits.iter().enumerate() {
            out.line(2, &format!("- sender: {}", text(&conduit.sender.to_string())));
            out.pair(3, "receiver", &receiver(i));
        }
    }
}

fn supported(out: &mut Out, settings: &IndexMap<Identifier, SupportedSetting>) {
    if settings.is_empty() {
        return;
    }
    out.line(2, "supported_settings:");
    for setting in settings.values() {
        out.line(3, &format!("{}:", text(setting.name.as_str())));
        out.pair(4, "type", setting.setting_type.name());
        if !setting.description.is_empty() {
            out.pair(4, "description", &quoted(&setting.description));
        }
    }
}

fn program(out: &mut Out, program: &Program) {
    out.line(1, &format!("{}:", text(&program.name.to_string())));
    if !program.description.is_empty() {
        out.pair(2, "description", &quoted(&program.description));
    }
    if !program.ports.is_empty() {
        ports(out, 2, &program.ports);
    }
    supported(out, &program.supported_settings);
    if program.base_env != BaseEnv::default() {
        out.pair(2, "base_env", program.base_env.name());
    }
    if let Some(modules) = &program.modules {
        out.pair(2, "modules", &list(modules));
    }
    if let Some(path) = &program.virtual_env {
        out.pair(2, "virtual_env", &text(path));
    }
    if !program.env.is_empty() {
        out.line(2, "env:");
        for (name, value) in &program.env {
            out.pair(3, &text(name), &quoted(value));
        }
    }
    if program.execution_model != ExecutionModel::default() {
        out.pair(2, "execution_model", program.execution_model.name());
    }
    if let Some(path) = &program.executable {
        out.pair(2, "executable", &text(path));
    }
    if let Some(args) = &program.args {
        out.pair(2, "args", &list(args));
    }
    if let Some(script) = &program.script {
        out.pair(2, "script", &quoted(script));
    }
    if !program.can_share_resources {
        out.line(2, "can_share_resources: false");
    }
    if program.keeps_state_for_next_use != KeepsState::default() {
        out.pair(2, "keeps_state_for_next_use", program.keeps_state_for_next_use.name());
    }
}

fn resources(out: &mut Out, resources: Resources) {
    let mut number = |key: &str, value: usize| out.pair(2, key, &value.to_string());
    match resources {
        Resources::Threads { threads } => number("threads", threads),
        Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
            number("mpi_processes", mpi_processes);
            if threads_per_mpi_process != 1 {
                number("threads_per_mpi_process", threads_per_mpi_process);
            }
        }
        Resources::MpiNodes { nodes, mpi_processes_per_node, threads_per_mpi_process } => {
            number("nodes", nodes);
            number("mpi_processes_per_node", mpi_processes_per_node);
            if threads_per_mpi_process != 1 {
                number("threads_per_mpi_process", threads_per_mpi_process);
            }
        }
    }
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|i| quoted(i)).collect::<Vec<_>>().join(", "))
}

/// Returns a setting's value as a file has it.
pub(crate) fn setting_value(value: &SettingValue) -> String {
    let floats = |row: &[f64]| format!("[{}]", row.iter().map(|x| float(*x)).collect::<Vec<_>>().join(", "));
    match value {
        SettingValue::Str(s) => quoted(s),
        SettingValue::Int(i) => i.to_string(),
        SettingValue::Float(x) => float(*x),
        SettingValue::Bool(b) => b.to_string(),
        SettingValue::IntList(l) => {
            format!("[{}]", l.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
        }
        SettingValue::FloatList(l) => floats(l),
        SettingValue::FloatListList(rows) => {
            format!("[{}]", rows.iter().map(|r| floats(r)).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a number in a form that is read back as the same float.
pub(crate) fn float(x: f64) -> String {
    if x.is_nan() {
        ".nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { ".inf" } else { "-.inf" }.into()
    } else {
        format!("{x:?}")
    }
}

/// Returns text without quotes if it is certain to be read back as the same text, else in double quotes.
fn text(s: &str) -> String {
    let plain_start = s.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '.'));
    let plain = s.chars().all(|c| c.is_ascii_alphanumeric() || "_./[] -".contains(c) && c != '\n');
    let word = matches!(
        s.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n" | ".inf" | ".nan"
    );
    let risky = s.starts_with('.') && !s.starts_with("./") && !s.starts_with("../");
    // The reference implementation takes "trueish" for a truth value.
    let lower = s.to_ascii_lowercase();
    let boolish = lower.starts_with("true") || lower.starts_with("false");
    let bracketed = s.contains(['[', ']']) && !s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if plain_start
        && plain
        && !word
        && !risky
        && !boolish
        && !bracketed
        && !s.ends_with(' ')
        && !s.contains(" -")
    {
        s.to_owned()
    } else {
        quoted(s)
    }
}

/// Returns text in the double quotes of YAML, with escapes.
pub fn quoted(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' | '\u{a0}'..='\u{d7ff}' if !matches!(c, '\u{2028}' | '\u{2029}') => out.push(c),
            c if (c as u32) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if (c as u32) < 0x10000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
    out
}
