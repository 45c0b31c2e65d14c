//! Writer of yMMSL.

use crate::read::{Apply, Coupling, Definition, XmmlModel};
use ligament_catalogue::Code;
use ligament_model::{Operator, Problem};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// True if model files can have scales. If false, scales are written as comments.
const SCALES_ARE_READ: bool = true;

/// Writes a model file, and notes what yMMSL cannot express.
pub(crate) fn write(model: &XmmlModel, problems: &mut Vec<Problem>) -> String {
    let mut text = String::from("ymmsl_version: v0.2\n\nmodels:\n");
    let _ = writeln!(text, "  {}:", model.name);
    if !model.description.is_empty() {
        let _ = writeln!(text, "    description: {}", quoted(&model.description));
    }
    text.push_str("    components:\n");
    for instance in &model.instances {
        let definition = &model.definitions[instance.of];
        let _ = writeln!(text, "      {}:", instance.id);
        if !definition.title.is_empty() {
            let _ = writeln!(text, "        description: {}", quoted(&definition.title));
        }
        if !definition.ports.is_empty() {
            let _ = writeln!(text, "        ports: {{{}}}", ports(definition));
        }
        let _ = writeln!(text, "        implementation: {}", program(definition));
        if let Some(count) = instance.multiplicity {
            let _ = writeln!(text, "        multiplicity: {count}");
        }
    }
    text.push_str(&conduits(model));
    text.push_str("\nprograms:\n");
    let used: HashSet<usize> = model.instances.iter().map(|instance| instance.of).collect();
    for (_, definition) in model.definitions.iter().enumerate().filter(|(at, _)| used.contains(at)) {
        let _ = writeln!(text, "  {}:", program(definition));
        let about = if definition.description.is_empty() { &definition.title } else { &definition.description };
        let language = definition.implementation.language.as_ref().map(|language| format!("in {language}"));
        let about: Vec<&str> = [about.as_str(), language.as_deref().unwrap_or_default()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        if !about.is_empty() {
            let _ = writeln!(text, "    description: {}", quoted(&about.join("; ")));
        }
        let code =
            definition.implementation.code.clone().unwrap_or_else(|| format!("./{}", program(definition)));
        let is_script = definition
            .implementation
            .language
            .as_deref()
            .is_some_and(|language| language.eq_ignore_ascii_case("python"));
        if is_script && code.ends_with(".py") {
            let _ = writeln!(text, "    executable: python3\n    args: [{}]", quoted(&code));
        } else {
            let _ = writeln!(text, "    executable: {}", quoted(&code));
        }
    }
    resources(&mut text, model);
    let scales: Vec<(&str, String)> = (model.instances.iter())
        .filter_map(|instance| {
            let scales = model.definitions[instance.of].scales.with(&instance.scales);
            Some((instance.id.as_str(), scales.written()?))
        })
        .collect();
    for instance in &model.instances {
        let scales = model.definitions[instance.of].scales.with(&instance.scales);
        for (what, count) in scales.incomplete() {
            let message = format!(
                "\"{}\" has {} directions of space, and a {what} for {count} of them; it is left out",
                instance.id,
                scales.space.len()
            );
            let advice = format!("give each <spacescale> a {what}");
            problems.push(Problem::warning(Code::BAD_XMML, &instance.at, message, advice));
        }
    }
    let filters = filters(model, problems);
    if !filters.is_empty() || (SCALES_ARE_READ && !scales.is_empty()) {
        text.push_str("\nligament:\n");
    }
    if !filters.is_empty() {
        let _ = write!(text, "  filters:\n{filters}");
    }
    if !scales.is_empty() {
        let before = if SCALES_ARE_READ { "  " } else { "# " };
        let _ = writeln!(text, "{before}scales:");
        for (name, scales) in scales {
            let _ = writeln!(text, "{before}  {name}: {scales}");
        }
    }
    text
}

/// Returns the name and language of each program whose language the file gives.
pub(crate) fn languages(model: &XmmlModel) -> Vec<(String, String)> {
    let said = |one: &Definition| Some((program(one), one.implementation.language.clone()?));
    model.definitions.iter().filter_map(said).collect()
}

/// Returns the name that the program of a definition has in the model file.
fn program(definition: &Definition) -> String {
    definition.id.clone()
}

fn ports(definition: &Definition) -> String {
    let operators =
        [("f_init", Operator::FInit), ("o_i", Operator::OI), ("s", Operator::S), ("o_f", Operator::OF)];
    let said = operators.into_iter().filter_map(|(key, operator)| {
        let of = definition.ports.iter().filter(|port| port.operator == operator);
        let names: Vec<&str> = of.map(|port| port.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{key}: [{}]", names.join(", ")))
    });
    said.collect::<Vec<_>>().join(", ")
}

fn end(model: &XmmlModel, (instance, port): (usize, usize)) -> String {
    let instance = &model.instances[instance];
    format!("{}.{}", instance.id, model.definitions[instance.of].ports[port].name)
}

fn conduits(model: &XmmlModel) -> String {
    let mut senders: Vec<(String, Vec<String>)> = Vec::new();
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for coupling in &model.couplings {
        let at = *known.entry(coupling.from).or_insert_with(|| {
            senders.push((end(model, coupling.from), Vec::new()));
            senders.len() - 1
        });
        senders[at].1.push(end(model, coupling.to));
    }
    let mut text = String::new();
    for (at, (from, to)) in senders.iter().enumerate() {
        if at == 0 {
            text.push_str("    conduits:\n");
        }
        let _ = match &to[..] {
            [one] => writeln!(text, "      {from}: {one}"),
            several => writeln!(text, "      {from}: [{}]", several.join(", ")),
        };
    }
    text
}

fn resources(text: &mut String, model: &XmmlModel) {
    let mut is_first = true;
    for instance in &model.instances {
        let Some(cores) = model.definitions[instance.of].implementation.cores else { continue };
        if std::mem::take(&mut is_first) {
            text.push_str("\nresources:\n");
        }
        let _ = writeln!(text, "  {}.{}: {{threads: {cores}}}", model.name, instance.id);
    }
}

/// Writes the section `filters`.
fn filters(model: &XmmlModel, problems: &mut Vec<Problem>) -> String {
    let mut text = String::new();
    for coupling in model.couplings.iter().filter(|coupling| !coupling.filters.is_empty()) {
        let lines: Vec<String> =
            coupling.filters.iter().filter_map(|apply| filter(model, coupling, apply, problems)).collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "    {} -> {}:", end(model, coupling.from), end(model, coupling.to));
            lines.iter().for_each(|line| text.push_str(&format!("    - {line}\n")));
        }
    }
    text
}

/// Returns the filter of Ligament that does the same as a filter of xMML, if there is one.
fn filter(
    model: &XmmlModel,
    coupling: &Coupling,
    apply: &Apply,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let filter = &model.filters[apply.filter];
    let in_time = filter.dimension.as_deref().is_none_or(|dimension| matches!(dimension, "t" | "time"));
    let found = match (filter.what.as_str(), in_time, apply.factor.or(filter.factor)) {
        ("reduction", true, Some(n)) => Some(format!("every: {n}")),
        ("interpolation", true, Some(n)) => Some(format!("interpolate_time: {n}")),
        ("interpolation", false, Some(n)) => Some(format!("interpolate_space: {n}")),
        _ => None,
    };
    if found.is_none() {
        let why = match (filter.what.as_str(), in_time) {
            ("interpolation", _) | ("reduction", true) => "has no factor",
            ("reduction", false) => "reduces space, for which the new shape must be given",
            _ => "is a code of its own",
        };
        problems.push(Problem::warning(
            Code::BAD_XMML,
            &coupling.at,
            format!("the filter \"{}\" {why}; it is left out", filter.id),
            "add the one that does this under \"filters\" (docs/reference/filters.md)",
        ));
    }
    found
}

/// Returns a text in the double quotes of YAML. Control characters become blanks.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
