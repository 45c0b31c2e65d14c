//! A check of settings: each has the type that its program expects, and each is used by a component. Also
//! checks the settings of MUSCLE 3 for the coupling itself.

use ligament_catalogue::Code;
use ligament_model::{
    nearest, read_log_level, At, Configuration, FlatComponent, FlatModel, Identifier, Problem, Reference,
    ReferencePart, SettingType, SettingValue, SupportedSetting, LOCAL_LOG_LEVEL, LOG_LEVELS, REMOTE_LOG_LEVEL,
};
use std::collections::{HashMap, HashSet};

/// A setting: its full name, its value, and the full name without the last part. Example: `macro` is the prefix
/// of `macro.D`.
struct SettingEntry<'a> {
    prefix: &'a [ReferencePart],
    value: &'a SettingValue,
    name: &'a Reference,
}

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    let mut by_name: HashMap<&Identifier, Vec<SettingEntry<'_>>> = HashMap::new();
    for (name, value) in config.settings.iter() {
        if let Some((ReferencePart::Name(last), prefix)) = name.parts().split_last() {
            by_name.entry(last).or_default().push(SettingEntry { prefix, value, name });
        }
    }
    // A setting for many components of one program is reported once.
    let mut reported = HashSet::new();
    for component in &flat.components {
        for supported in supported_by(config, component) {
            let entries = by_name.get(&supported.name).map_or(&[] as &[SettingEntry<'_>], Vec::as_slice);
            for entry in seen_by(component, entries) {
                if reported.insert((entry.name, component.implementation.as_ref())) {
                    check_type(config, component, supported, entry, problems);
                }
            }
        }
    }
    for model in config.models.values().filter(|m| m.name == flat.name) {
        for supported in model.supported_settings.values() {
            let entries = by_name.get(&supported.name).map_or(&[] as &[SettingEntry<'_>], Vec::as_slice);
            for entry in entries.iter().filter(|e| e.prefix.is_empty()) {
                mismatch(config, &format!("the model \"{}\"", model.name), supported, entry, problems);
            }
        }
    }
    for (name, value, at) in config.settings.iter_at() {
        if let Some(ReferencePart::Name(last)) = name.parts().last().filter(|_| is_muscle(name)) {
            check_muscle(last.as_str(), name, value, at, problems);
        }
    }
    unasked(config, flat, problems);
}

/// Beginning of the names of settings for the coupling itself.
const MUSCLE: &str = "muscle_";

fn is_muscle(name: &Reference) -> bool {
    matches!(name.parts().last(), Some(ReferencePart::Name(last)) if last.as_str().starts_with(MUSCLE))
}

/// Settings of MUSCLE 3 that have no effect here, each with the reason.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("muscle_profile_level", "a run always keeps a timeline; \"timeline: 0\" under \"ligament:\" keeps none"),
    ("muscle_deadlock_receive_timeout", "a run always looks for deadlocks"),
];

/// Checks a setting that addresses the coupling itself, such as `muscle_local_log_level`.
fn check_muscle(setting: &str, name: &Reference, value: &SettingValue, at: &At, problems: &mut Vec<Problem>) {
    if [REMOTE_LOG_LEVEL, LOCAL_LOG_LEVEL].contains(&setting) {
        if read_log_level(setting, value).is_none() {
            let message = format!("the setting \"{name}\" is {value}, which is no level; it is ignored");
            let advice = format!("write {LOG_LEVELS}");
            problems.push(Problem::warning(Code::SETTING_TYPE, at, message, advice));
        }
        return;
    }
    let (message, advice) = match WITHOUT_EFFECT.iter().find(|(known, _)| *known == setting) {
        Some((_, why)) => (format!("the setting \"{name}\" has no effect: {why}"), "remove it".to_owned()),
        None => {
            let known =
                WITHOUT_EFFECT.iter().map(|(known, _)| *known).chain([REMOTE_LOG_LEVEL, LOCAL_LOG_LEVEL]);
            let advice = match nearest(setting, known) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("remove it, or call it something that does not begin with \"{MUSCLE}\""),
            };
            (format!("there is no setting \"{setting}\" of MUSCLE 3, whose settings begin so"), advice)
        }
    };
    problems.push(Problem::warning(Code::UNKNOWN_SETTING, at, message, advice));
}

fn supported_by<'a>(
    config: &'a Configuration,
    component: &FlatComponent,
) -> impl Iterator<Item = &'a SupportedSetting> {
    let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
    program.into_iter().flat_map(|p| p.supported_settings.values())
}

/// Returns the settings that at least one instance of a component receives.
fn seen_by<'e, 'a>(component: &FlatComponent, entries: &'e [SettingEntry<'a>]) -> Vec<&'e SettingEntry<'a>> {
    let path = component.name.parts();
    let dimensions = component.multiplicity.len();
    let mut seen: Vec<&SettingEntry<'a>> = Vec::new();
    let mut single: HashSet<Vec<usize>> = HashSet::new();
    // Settings for single instances have indices after the component's path.
    for entry in entries {
        let Some(indices) = entry.prefix.strip_prefix(path).filter(|rest| !rest.is_empty()) else { continue };
        if let Some(indices) = in_range(indices, &component.multiplicity) {
            seen.push(entry);
            if indices.len() == dimensions {
                single.insert(indices);
            }
        }
    }
    let count = component.multiplicity.iter().try_fold(1usize, |count, length| count.checked_mul(*length));
    if dimensions > 0 && Some(single.len()) == count {
        return seen;
    }
    // Of the settings for all instances, only the most specific one is used.
    let general = entries.iter().filter(|e| path.starts_with(e.prefix)).max_by_key(|e| e.prefix.len());
    seen.extend(general);
    seen
}

/// Returns the indices, if all parts are indices within the component's multiplicity.
fn in_range(parts: &[ReferencePart], shape: &[usize]) -> Option<Vec<usize>> {
    if parts.len() > shape.len() {
        return None;
    }
    parts
        .iter()
        .zip(shape)
        .map(|(part, size)| match part {
            ReferencePart::Index(i) if i < size => Some(*i),
            _ => None,
        })
        .collect()
}

fn check_type(
    config: &Configuration,
    component: &FlatComponent,
    supported: &SupportedSetting,
    entry: &SettingEntry<'_>,
    problems: &mut Vec<Problem>,
) {
    let who = match &component.implementation {
        Some(program) => format!("\"{}\" (the program of \"{}\")", program, component.name),
        None => format!("\"{}\"", component.name),
    };
    // The components that come with Ligament convert a value to the type that they need, so a value that can be
    // converted is accepted.
    let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
    let converts = program.is_some_and(|program| program.shipped().is_some());
    if !converts || entry.value.as_type(supported.setting_type).is_none() {
        mismatch(config, &who, supported, entry, problems);
    }
}

fn mismatch(
    config: &Configuration,
    who: &str,
    supported: &SupportedSetting,
    entry: &SettingEntry<'_>,
    problems: &mut Vec<Problem>,
) {
    let wanted = supported.setting_type;
    let found = entry.value.setting_type();
    if found == wanted {
        return;
    }
    let nowhere = Default::default();
    let at = config.settings.at(entry.name).unwrap_or(&nowhere);
    let message = format!(
        "the setting \"{}\" is {}, of type {found}, but {who} expects {wanted}",
        entry.name, entry.value
    );
    if entry.value.as_type(wanted).is_some() {
        if matches!(entry.value, SettingValue::IntList(l) if l.is_empty()) {
            return;
        }
        problems.push(Problem::warning(
            Code::SETTING_TYPE,
            at,
            message,
            "it will be converted; write it with a decimal point to be exact, since MUSCLE 3 refuses it",
        ));
        return;
    }
    problems.push(Problem::error(Code::SETTING_TYPE, at, message, type_advice(entry.value, wanted)));
}

fn type_advice(value: &SettingValue, wanted: SettingType) -> String {
    match (value, wanted) {
        (SettingValue::Str(text), SettingType::Int | SettingType::Float) if text.parse::<f64>().is_ok() => {
            "remove the quotes".to_owned()
        }
        (SettingValue::Str(text), SettingType::Bool)
            if matches!(text.to_lowercase().as_str(), "yes" | "on" | "y") =>
        {
            "write true".to_owned()
        }
        (SettingValue::Str(text), SettingType::Bool)
            if matches!(text.to_lowercase().as_str(), "no" | "off" | "n") =>
        {
            "write false".to_owned()
        }
        (SettingValue::Float(x), SettingType::Int) if x.fract() == 0.0 && x.abs() < 1e15 => {
            format!("write {}", *x as i64)
        }
        (_, SettingType::Str) => "put it in quotes".to_owned(),
        (_, SettingType::Int) => "write a whole number".to_owned(),
        (_, SettingType::Float) => "write a number, such as 0.5".to_owned(),
        (_, SettingType::Bool) => "write true or false".to_owned(),
        (_, SettingType::IntList) => "write whole numbers in brackets, such as [1, 2]".to_owned(),
        (_, SettingType::FloatList) => "write numbers in brackets, such as [1.0, 2.5]".to_owned(),
        (_, SettingType::FloatListList) => {
            "write lists of numbers in brackets, such as [[1.0, 2.0], [3.0, 4.0]]".to_owned()
        }
    }
}

/// Warns of settings that no component uses: the component does not exist, or all its programs declare their
/// settings and none declares this setting.
fn unasked(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    let mut components: HashMap<&[ReferencePart], Option<&FlatComponent>> = HashMap::new();
    for component in &flat.components {
        let path = component.name.parts();
        (1..path.len()).for_each(|n| {
            components.entry(&path[..n]).or_insert(None);
        });
        components.insert(path, Some(component));
    }
    let names: Vec<String> = flat.components.iter().map(|c| c.name.to_string()).collect();
    let all_say =
        !flat.components.is_empty() && flat.components.iter().all(|c| supported_by(config, c).next().is_some());
    let known: HashSet<&str> = flat
        .components
        .iter()
        .flat_map(|c| supported_by(config, c))
        .map(|s| s.name.as_str())
        .chain(config.models.values().flat_map(|m| m.supported_settings.keys()).map(|n| n.as_str()))
        .collect();
    let Ok(scale) = Identifier::new(ligament_model::DeclaredScales::SETTINGS) else { return };
    for (name, _, at) in config.settings.iter_at() {
        let Some((ReferencePart::Name(last), prefix)) = name.parts().split_last() else { continue };
        if prefix.is_empty() {
            if all_say && !is_muscle(name) && !known.contains(last.as_str()) {
                let advice = match nearest(last.as_str(), known.iter().copied()) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => "remove it, or add it to the supported_settings of a program".to_owned(),
                };
                let message = format!("no program of the model knows the setting \"{name}\"");
                problems.push(Problem::warning(Code::UNKNOWN_SETTING, at, message, advice));
            }
            continue;
        }
        // A setting that replaces a scale.
        if prefix.last().is_some_and(|part| *part == ReferencePart::Name(scale.clone())) {
            continue;
        }
        let stem = prefix.iter().rposition(|p| matches!(p, ReferencePart::Name(_))).map_or(0, |i| i + 1);
        match components.get(&prefix[..stem]) {
            None => {
                let path = Reference::from_parts(prefix[..stem].to_vec()).unwrap_or_default().to_string();
                let advice = match nearest(&path, names.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean \"{meant}.{last}\"?"),
                    None if prefix.first() == flat.name.parts().first() => {
                        "leave out the model's name; settings begin with the component's".to_owned()
                    }
                    None => "remove it, or begin it with the name of a component".to_owned(),
                };
                problems.push(Problem::warning(
                    Code::SETTING_FOR_NOBODY,
                    at,
                    format!("the setting \"{name}\" is for \"{path}\", which is no component of the model"),
                    advice,
                ));
            }
            Some(None) => {}
            Some(Some(component)) => for_component(config, component, name, last, &prefix[stem..], problems),
        }
    }
}

fn for_component(
    config: &Configuration,
    component: &FlatComponent,
    name: &Reference,
    last: &Identifier,
    indices: &[ReferencePart],
    problems: &mut Vec<Problem>,
) {
    let nowhere = Default::default();
    let at = config.settings.at(name).unwrap_or(&nowhere);
    if in_range(indices, &component.multiplicity).is_none() {
        let shape: Vec<String> = component.multiplicity.iter().map(usize::to_string).collect();
        let has = if shape.is_empty() {
            "which is a single instance".to_owned()
        } else {
            format!("whose multiplicity is [{}]", shape.join(", "))
        };
        problems.push(Problem::warning(
            Code::SETTING_FOR_NOBODY,
            at,
            format!(
                "the setting \"{name}\" is for an instance that does not exist of \"{}\", {has}",
                component.name
            ),
            "correct the index; the first instance is [0]",
        ));
        return;
    }
    if last.as_str().starts_with(MUSCLE) {
        return;
    }
    let known: Vec<&str> = supported_by(config, component).map(|s| s.name.as_str()).collect();
    if !known.is_empty() && !known.contains(&last.as_str()) {
        let advice = match nearest(last.as_str(), known.iter().copied()) {
            Some(meant) => format!("did you mean \"{}.{meant}\"?", component.name),
            None => format!("it knows: {}", known.join(", ")),
        };
        problems.push(Problem::warning(
            Code::UNKNOWN_SETTING,
            at,
            format!("the program of \"{}\" does not know the setting \"{last}\"", component.name),
            advice,
        ));
    }
}
