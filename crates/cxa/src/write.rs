//! Writer of yMMSL. Ports come from the couplings: those that send are `o_i`, those that receive are `s`,
//! because a cxa file says nothing about the loop of a code.

use crate::filters::{counterpart, part_count, Counterpart};
use crate::model::{CxaCoupling, CxaInstance, CxaModel, InstanceKind};
use crate::place::{SyntaxFault, TextPosition};
use crate::programs::{self, ProgramText};
use crate::value::{shown_float, CxaValue, Heap};
use ligament_model::{quoted, Identifier};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// A conduit of the model file.
struct Conduit {
    from: String,
    to: String,
    filters: Vec<String>,
}

/// Writes a model file.
///
/// # Errors
/// A name is none that a model file may have, or a mapper has no sender. Other things that a model file cannot
/// have become warnings of the model.
pub(crate) fn write(model: &mut CxaModel, heap: &Heap, name: &str) -> Result<String, Vec<SyntaxFault>> {
    let mut writer = CxaWriter { names: Vec::new(), faults: Vec::new(), warnings: Vec::new(), heap };
    writer.name_all(model);
    if !writer.faults.is_empty() {
        return Err(writer.faults);
    }
    warn_of_scales(model, &mut writer.warnings);
    let conduits = writer.conduits(model);
    let text = writer.document(model, &conduits, name);
    if writer.faults.is_empty() {
        model.warnings.append(&mut writer.warnings);
        Ok(text)
    } else {
        Err(writer.faults)
    }
}

/// Warns of a time step or total time that is given for all instances: MUSCLE 2 takes those of an instance, and
/// `default_dt` and `max_timesteps`, but a setting of a model file holds for each instance without its own.
fn warn_of_scales(model: &CxaModel, warnings: &mut Vec<SyntaxFault>) {
    for (scale, otherwise) in [("dt", "default_dt"), ("T", "max_timesteps")] {
        let of_all =
            |(key, value, _): &&(String, CxaValue, TextPosition)| key == scale && *value != CxaValue::Nil;
        let Some((_, value, place)) = model.settings.entries.iter().find(of_all) else { continue };
        let has_none = |one: &&CxaInstance| {
            let of_instance = model.settings.get(&format!("{}:{scale}", one.name));
            shipped(one).is_none() && !is_duplication(one) && one.settings.get(scale).or(of_instance).is_none()
        };
        let first = model.instances.iter().find(has_none);
        if let (Some(first), true) = (first, model.settings.get(otherwise) != Some(value)) {
            let what = format!(
                "the setting \"{scale}\" of all counts for \"{}\" here; in MUSCLE 2 only {}['{scale}'] or \
                 {otherwise} does",
                first.name, first.name
            );
            let advice = "write what is meant, or give the setting another name, here and in the codes";
            warnings.push(place.fault(what, advice));
        }
    }
}

/// Lines of the section `settings`, and the line of each setting.
#[derive(Default)]
struct SettingLines {
    lines: Vec<String>,
    known: HashMap<String, usize>,
}

struct CxaWriter<'a> {
    /// Names of the components, by instance.
    names: Vec<String>,
    faults: Vec<SyntaxFault>,
    warnings: Vec<SyntaxFault>,
    heap: &'a Heap,
}

/// Returns the reason why a text is no name of a model file, or `None` if it is one. The words of YAML for
/// nothing and for truth values are none.
pub(crate) fn name_objection(name: &str) -> Option<String> {
    if ["null", "true", "false"].iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return Some(format!("\"{name}\" is a word of YAML, and no name"));
    }
    Identifier::new(name).err().map(|why| why.to_string())
}

/// Returns the class of an instance, if MUSCLE 2 brings it.
fn own_class(instance: &CxaInstance) -> Option<&str> {
    instance.class.as_deref()?.strip_prefix("muscle.core.")
}

pub(crate) fn is_duplication(instance: &CxaInstance) -> bool {
    own_class(instance) == Some("kernel.DuplicationMapper")
}

/// Returns the sink of Ligament that does the same as a terminal.
pub(crate) fn shipped(instance: &CxaInstance) -> Option<&'static str> {
    match own_class(instance)? {
        "conduit.terminal.NullSink" => Some("ligament.sinks.discard"),
        "conduit.terminal.PrintSink" => Some("ligament.sinks.console"),
        _ => None,
    }
}

impl CxaWriter<'_> {
    /// Makes a name valid in a model file: `-` becomes `_`.
    fn name(&mut self, text: &str, place: TextPosition) -> String {
        let name = text.replace('-', "_");
        if let Some(why) = name_objection(&name) {
            self.faults.push(place.fault(why, "give it another name"));
        }
        name
    }

    fn name_all(&mut self, model: &CxaModel) {
        let mut known: HashMap<String, u32> = HashMap::new();
        for instance in &model.instances {
            let name = self.name(&instance.name, instance.place);
            if name != instance.name {
                let what =
                    format!("\"{}\" is \"{name}\" in a model file, and its code gets that name", instance.name);
                let advice = "look for the name in the code, if it asks for the name of its kernel";
                self.warnings.push(instance.place.fault(what, advice));
            }
            if let Some(line) = known.insert(name.clone(), instance.place.line) {
                let what =
                    format!("\"{}\" has the same name in a model file as that of line {line}", instance.name);
                self.faults.push(instance.place.fault(what, "give one of them another name"));
            }
            self.names.push(name);
        }
    }

    /// Returns the conduits. A mapper that duplicates messages becomes several conduits of one port.
    fn conduits(&mut self, model: &CxaModel) -> Vec<Conduit> {
        let incoming: HashMap<usize, &CxaCoupling> =
            model.couplings.iter().map(|coupling| (coupling.to.0, coupling)).collect();
        let mut conduits = Vec::new();
        for coupling in &model.couplings {
            if is_duplication(&model.instances[coupling.to.0]) {
                continue;
            }
            let Some(way) = self.way(model, &incoming, coupling) else { continue };
            let filters = self.filters(&way);
            let from = self.end(&way[0].from, coupling.place);
            let to = match shipped(&model.instances[coupling.to.0]) {
                Some(_) => format!("{}.in", self.names[coupling.to.0]),
                None => self.end(&coupling.to, coupling.place),
            };
            conduits.push(Conduit { from, to, filters });
        }
        conduits
    }

    /// Returns the couplings from a component over mappers that duplicate to the last coupling.
    fn way<'m>(
        &mut self,
        model: &'m CxaModel,
        incoming: &HashMap<usize, &'m CxaCoupling>,
        last: &'m CxaCoupling,
    ) -> Option<Vec<&'m CxaCoupling>> {
        let mut way = vec![last];
        let mut from = last.from.0;
        while is_duplication(&model.instances[from]) {
            let name = &model.instances[from].name;
            let Some(before) = incoming.get(&from).filter(|_| way.len() <= model.instances.len()) else {
                let what = format!("nothing that is no DuplicationMapper leads to \"{name}\"");
                self.faults.push(last.place.fault(what, "couple an instance with it"));
                return None;
            };
            way.insert(0, before);
            from = before.from.0;
        }
        Some(way)
    }

    fn end(&mut self, (instance, port): &(usize, String), place: TextPosition) -> String {
        let port = self.name(port, place);
        format!("{}.{port}", self.names[*instance])
    }

    fn filters(&mut self, way: &[&CxaCoupling]) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut parts = 0;
        for (at, coupling) in way.iter().enumerate() {
            for (filter, is_sender) in coupling
                .sender_filters
                .iter()
                .map(|filter| (filter, at == 0))
                .chain(coupling.receiver_filters.iter().map(|filter| (filter, false)))
            {
                parts += part_count(filter);
                let line = match counterpart(filter) {
                    Counterpart::None => continue,
                    Counterpart::Filter(line) => line,
                    Counterpart::Differs(line, how) => {
                        let what = format!("the filter \"{filter}\" becomes \"{line}\": {how}");
                        self.warnings.push(coupling.place.fault(what, "compare the times that the code takes"));
                        line
                    }
                    Counterpart::Unknown(what) => {
                        let advice = "add the one that does this under \"filters\" (docs/reference/filters.md)";
                        self.warnings.push(coupling.place.fault(format!("{what}; it is left out"), advice));
                        continue;
                    }
                };
                // Ligament's filter compresses at the sender and undoes that at the receiver.
                let is_compressed = lines.iter().any(|line| line == "compress");
                match line.as_str() {
                    "decompress" => {}
                    "compress" if is_compressed => {}
                    "compress" => lines.push(line),
                    _ if is_sender && !is_compressed => {
                        lines.extend(line.lines().map(|line| format!("{line}\n      at: sender")));
                    }
                    _ => lines.extend(line.lines().map(str::to_owned)),
                }
            }
        }
        if let (Some(last), true) = (way.last(), parts != 0) {
            let what =
                "the filters \"chunk\" and \"dechunk\" of this coupling do not undo each other; they are \
                        left out, and each message comes whole";
            self.warnings.push(last.place.fault(what, "cut the messages in the code that sends them"));
        }
        lines
    }

    fn document(&mut self, model: &CxaModel, conduits: &[Conduit], name: &str) -> String {
        let mut text = format!("ymmsl_version: v0.2\n\nmodels:\n  {name}:\n    components:\n");
        let ports = self.ports(model);
        let mut texts = String::new();
        let mut asked = String::new();
        let mut mpirun = Vec::new();
        for (at, instance) in model.instances.iter().enumerate() {
            if is_duplication(instance) {
                continue;
            }
            let component = &self.names[at];
            let _ = writeln!(text, "      {component}:");
            if let Some(shipped) = shipped(instance) {
                let _ = writeln!(text, "        implementation: {shipped}");
                continue;
            }
            if let Some(ports) = ports.get(&at) {
                let _ = writeln!(text, "        ports: {{{ports}}}");
            }
            let _ = writeln!(text, "        implementation: {component}");
            let ProgramText { text, processes, mpiexec } =
                programs::program(instance, (model, self.heap), &mut self.warnings);
            let _ = write!(texts, "  {component}:\n{text}");
            if let Some(processes) = processes {
                let _ = writeln!(asked, "  {name}.{component}: {{mpi_processes: {processes}}}");
            }
            mpirun.extend(mpiexec.map(|command| (component.clone(), command)));
        }
        programs::warn_of_languages(model, &mut self.warnings);
        text.push_str(&conduit_lines(conduits));
        for (section, lines) in [("programs", texts), ("resources", asked), ("settings", self.settings(model))]
        {
            if !lines.is_empty() {
                let _ = write!(text, "\n{section}:\n{lines}");
            }
        }
        text.push_str(&options(conduits, &mpirun));
        text
    }

    /// Returns the ports of each component as a model file has them.
    fn ports(&mut self, model: &CxaModel) -> BTreeMap<usize, String> {
        let mut found: BTreeMap<usize, [Vec<String>; 2]> = BTreeMap::new();
        let mut known: HashSet<(usize, String)> = HashSet::new();
        for coupling in &model.couplings {
            for (end, operator) in [(&coupling.from, 0), (&coupling.to, 1)] {
                let port = end.1.replace('-', "_");
                if is_duplication(&model.instances[end.0]) || shipped(&model.instances[end.0]).is_some() {
                    continue;
                }
                if !known.insert((end.0, port.clone())) {
                    let what = format!("\"{}\" has two ports \"{port}\" in a model file", self.names[end.0]);
                    let advice = "give one of them another name, here and in the code";
                    self.faults.push(coupling.place.fault(what, advice));
                }
                found.entry(end.0).or_default()[operator].push(port);
            }
        }
        let written = found.into_iter().map(|(at, [sent, received])| {
            let parts = [("o_i", sent), ("s", received)];
            let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
            let parts: Vec<String> =
                parts.map(|(operator, names)| format!("{operator}: [{}]", names.join(", "))).collect();
            (at, parts.join(", "))
        });
        written.collect()
    }

    fn settings(&mut self, model: &CxaModel) -> String {
        let mut table = SettingLines::default();
        for (name, value, place) in &model.settings.entries {
            // A key of the form `instance:name` is a setting of an instance.
            let owner = name.split_once(':').and_then(|(of, name)| Some((model.instance(of)?, name)));
            match owner {
                Some((at, name)) => {
                    let prefix = format!("{}.", self.names[at]);
                    self.setting(&mut table, (&prefix, name), value, *place);
                }
                None => self.setting(&mut table, ("", name), value, *place),
            }
        }
        for (at, instance) in model.instances.iter().enumerate() {
            let prefix = format!("{}.", self.names[at]);
            for (name, value, place) in &instance.settings.entries {
                if !programs::is_of_program(instance.kind, name) {
                    self.setting(&mut table, (&prefix, name), value, *place);
                }
            }
        }
        table.lines.concat()
    }

    fn setting(
        &mut self,
        table: &mut SettingLines,
        (prefix, name): (&str, &str),
        value: &CxaValue,
        place: TextPosition,
    ) {
        let valid = name.replace('-', "_");
        match self.setting_value(value) {
            Some(value) if name_objection(&valid).is_none() => {
                let key = format!("{prefix}{valid}");
                let line = format!("  {key}: {value}\n");
                if let Some(at) = table.known.get(&key) {
                    let what =
                        format!("the setting \"{key}\" of a model file has two values; the later one counts");
                    self.warnings.push(place.fault(what, "give one of the two another name"));
                    table.lines[*at] = line;
                } else {
                    table.known.insert(key, table.lines.len());
                    table.lines.push(line);
                }
            }
            _ if matches!(value, CxaValue::Nil | CxaValue::Unknown) => {}
            Some(_) => {
                let what = format!("no setting of a model file can have the name \"{name}\"; it is left out");
                self.warnings.push(place.fault(what, "give it a name of letters, digits and underscores"));
            }
            None => {
                let what = format!("the setting \"{name}\" is {}, and is left out", value.kind());
                let advice = "a setting is a text, a number, true, false, or a list of numbers";
                self.warnings.push(place.fault(what, advice));
            }
        }
    }

    fn setting_value(&self, value: &CxaValue) -> Option<String> {
        match value {
            CxaValue::Bool(value) => Some(value.to_string()),
            CxaValue::Int(number) => Some(number.to_string()),
            CxaValue::Float(number) if number.is_finite() => Some(shown_float(*number)),
            CxaValue::Text(text) | CxaValue::Symbol(text) => Some(quoted(text)),
            CxaValue::List(list) => {
                let numbers = self.heap.lists[*list].iter().map(|value| value.as_number().map(shown_float));
                Some(format!("[{}]", numbers.collect::<Option<Vec<String>>>()?.join(", ")))
            }
            _ => None,
        }
    }
}

fn conduit_lines(conduits: &[Conduit]) -> String {
    let mut senders: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for conduit in conduits {
        let at = *known.entry(&conduit.from).or_insert_with(|| {
            senders.push((&conduit.from, Vec::new()));
            senders.len() - 1
        });
        senders[at].1.push(&conduit.to);
    }
    let mut text = String::new();
    for (at, (from, to)) in senders.iter().enumerate() {
        text.push_str(if at == 0 { "    conduits:\n" } else { "" });
        let _ = match &to[..] {
            [one] => writeln!(text, "      {from}: {one}"),
            several => writeln!(text, "      {from}: [{}]", several.join(", ")),
        };
    }
    text
}

/// Writes the section `ligament`.
fn options(conduits: &[Conduit], mpirun: &[(String, String)]) -> String {
    let mut text = String::new();
    if !mpirun.is_empty() {
        text.push_str("  mpirun:\n");
        mpirun.iter().for_each(|(name, command)| text.push_str(&format!("    {name}: {}\n", quoted(command))));
    }
    let mut filters = String::new();
    for conduit in conduits.iter().filter(|conduit| !conduit.filters.is_empty()) {
        let _ = writeln!(filters, "    {} -> {}:", conduit.from, conduit.to);
        conduit.filters.iter().for_each(|line| filters.push_str(&format!("    - {line}\n")));
    }
    if !filters.is_empty() {
        let _ = write!(text, "  filters:\n{filters}");
    }
    if text.is_empty() {
        text
    } else {
        format!("\nligament:\n{text}")
    }
}

/// Returns true for a kind whose programs need a language that has no face.
pub(crate) fn needs_rewriting(instance: &CxaInstance) -> bool {
    match instance.kind {
        InstanceKind::Native | InstanceKind::Mpi => false,
        InstanceKind::Python | InstanceKind::Matlab => true,
        InstanceKind::Java | InstanceKind::Terminal => !is_duplication(instance) && shipped(instance).is_none(),
    }
}
