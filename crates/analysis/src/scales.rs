//! The scales of components: a check that each scale is valid and fits the scales of other components, and the
//! settings that pass the scales to a component's code.

use crate::order::changes_the_number;
use crate::place::{whose, NameOwner};
use crate::times;
use ligament_catalogue::Code;
use ligament_filters::{Measure, Quantity};
use ligament_model::{
    Configuration, DeclaredScales, FlatConduit, FlatEnd, FlatModel, ForConduits, Identifier, LigamentOptions,
    Operator, Problem, Reference, ResolvedModel, Scale, SettingValue,
};
use std::collections::{HashMap, HashSet};

/// The scales of a component: the times and lengths that it resolves, and the times and lengths that it
/// covers in one pass, in s and m. A scale that is not given, or cannot be read, is absent.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ComponentScales {
    /// Length of a step, in s.
    pub time_step: Option<f64>,
    /// Time that a pass covers, in s.
    pub total_time: Option<f64>,
    /// Size of a cell in m: one value for all directions, or one value for each direction.
    pub space_step: Vec<f64>,
    /// Size of the whole domain of space in m: one value for all directions, or one value for each
    /// direction.
    pub extent: Vec<f64>,
}

/// Maximum relative distance of a number of steps from a whole number. A tolerance is necessary because values
/// such as 0.1 are not exact in binary floating point.
const CLOSE: f64 = 1e-6;

impl ComponentScales {
    /// Reads the scales that a model declares.
    pub fn of(scales: &DeclaredScales) -> ComponentScales {
        let read = |key, scale: &Scale| {
            Some(Quantity::parse(&scale.text, measure(key)).ok()?.value).filter(|v| *v > 0.0)
        };
        let mut found = ComponentScales::default();
        for (key, written) in scales.written() {
            let values: Vec<f64> = written.iter().filter_map(|scale| read(key, scale)).collect();
            match key {
                "time_step" => found.time_step = values.first().copied(),
                "total_time" => found.total_time = values.first().copied(),
                "space_step" => found.space_step = values,
                _ => found.extent = values,
            }
        }
        found
    }

    /// Returns the number of steps in a pass, or `None` if the number is unknown or not whole.
    pub fn steps(&self) -> Option<u64> {
        let steps = self.total_time? / self.time_step?;
        let whole = steps.round();
        ((1.0..1e15).contains(&whole) && (steps - whole).abs() <= CLOSE * steps).then_some(whole as u64)
    }

    /// Returns true if there is at least one step in a pass.
    pub fn makes_steps(&self) -> bool {
        matches!((self.time_step, self.total_time), (Some(step), Some(total)) if total >= step * (1.0 - CLOSE))
    }

    /// Returns the scales of all components that have scales.
    pub fn all(options: &LigamentOptions) -> HashMap<&Reference, ComponentScales> {
        options.scales.iter().map(|(name, scales)| (name, ComponentScales::of(scales))).collect()
    }
}

fn measure(key: &str) -> Measure {
    if key.contains("time") {
        Measure::Time
    } else {
        Measure::Length
    }
}

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    for (name, scales) in &config.ligament.scales {
        if !flat.components.iter().any(|component| component.name == *name) {
            let advice = match whose(flat, name) {
                NameOwner::NoComponents(advice) => advice,
                NameOwner::Somebodys | NameOwner::NoInstances(_) => {
                    "name the component, without an index".to_owned()
                }
            };
            let message = format!("\"{name}\" stands under \"scales:\", and there is no such component");
            problems.push(Problem::error(Code::SCALES_FOR_NOBODY, &scales.at, message, advice));
        }
        for (key, written) in scales.written() {
            written.iter().for_each(|scale| each(name, key, scale, problems));
        }
        steps_within(name, scales, problems);
    }
    apart(config, flat, problems);
}

/// Reports each scale that is not a positive number with a unit of time or length.
fn each(name: &Reference, key: &str, scale: &Scale, problems: &mut Vec<Problem>) {
    let measure = measure(key);
    let why = match Quantity::parse(&scale.text, measure) {
        Ok(quantity) if quantity.value > 0.0 => return,
        Ok(_) => "it must be above zero".to_owned(),
        Err(why) => why.to_string(),
    };
    let message = format!("\"{key}\" of \"{name}\" cannot be \"{}\": {why}", scale.text);
    let advice = match measure {
        Measure::Time => "write a number and a unit of time, such as 1 ms, 6 h or 2 years",
        Measure::Length => "write a number and a unit of length, such as 50 µm, 1 mm or 2 km",
    };
    problems.push(Problem::error(Code::BAD_SCALE, &scale.at, message, advice));
}

/// Reports each step that is longer than the time or length that it divides.
fn steps_within(name: &Reference, scales: &DeclaredScales, problems: &mut Vec<Problem>) {
    let times = (scales.time_step.as_slice(), scales.total_time.as_slice());
    for ((key, steps), (whole, all), measure) in [
        (("time_step", times.0), ("total_time", times.1), Measure::Time),
        (("space_step", scales.space_step.as_slice()), ("extent", scales.extent.as_slice()), Measure::Length),
    ] {
        if steps.len() > 1 && all.len() > 1 && steps.len() != all.len() {
            let message = format!(
                "\"{key}\" of \"{name}\" has {} directions, and \"{whole}\" {}",
                steps.len(),
                all.len()
            );
            let advice = "give as many of both, or one for all directions";
            problems.push(Problem::error(Code::BAD_SCALE, &all[0].at, message, advice));
            continue;
        }
        for direction in 0..steps.len().max(all.len()) {
            let of = |scales: &'_ [Scale]| scales.get(direction.min(scales.len().saturating_sub(1))).cloned();
            let (Some(step), Some(total)) = (of(steps), of(all)) else { continue };
            let read = |scale: &Scale| Quantity::parse(&scale.text, measure).map(|quantity| quantity.value);
            let (Ok(short), Ok(long)) = (read(&step), read(&total)) else { continue };
            if short > long * (1.0 + CLOSE) {
                let message = format!(
                    "\"{key}\" of \"{name}\", {}, is more than its \"{whole}\", {}",
                    step.text, total.text
                );
                problems.push(Problem::error(
                    Code::BAD_SCALE,
                    &step.at,
                    message,
                    "make it smaller, or the other larger",
                ));
            }
        }
    }
}

/// Reports each component that is called in every step of another component, and covers more time than this
/// step. The numbers of messages of two interacting components are not compared, because scales do not
/// determine them: a code may use a port only in every tenth step.
fn apart(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    if config.ligament.scales.is_empty() {
        return;
    }
    let scales = ComponentScales::all(&config.ligament);
    let operator =
        |end: &FlatEnd| flat.declared(end).filter(|port| port.timeline.is_empty()).map(|port| port.operator);
    // Only conduits whose filters leave the number of messages unchanged are checked.
    let mut own = ForConduits::new(&config.ligament.filters);
    let mut plain = |conduit: &&FlatConduit| {
        let filters = own.of(flat, conduit).map_or(&[][..], |filters| filters);
        conduit.filters.is_empty() && !filters.iter().any(changes_the_number)
    };
    let plain: Vec<&FlatConduit> = flat.conduits.iter().filter(|conduit| plain(conduit)).collect();
    let returns: HashSet<(usize, usize)> = (plain.iter())
        .filter(|conduit| operator(&conduit.from) == Some(Operator::OF))
        .filter(|conduit| operator(&conduit.to) == Some(Operator::S))
        .map(|conduit| (conduit.from.component, conduit.to.component))
        .collect();
    for conduit in plain {
        let (from, to) = (conduit.from.component, conduit.to.component);
        let names = [from, to].map(|component| &flat.components[component].name);
        let (Some(one), Some(other)) = (scales.get(names[0]), scales.get(names[1])) else { continue };
        let written = [0, 1].map(|end| &config.ligament.scales[names[end]]);
        let text = |scale: &Option<Scale>| scale.as_ref().map_or("", |scale| scale.text.as_str()).to_owned();
        let calls = (operator(&conduit.from), operator(&conduit.to));
        if calls != (Some(Operator::OI), Some(Operator::FInit)) || !returns.contains(&(to, from)) {
            continue;
        }
        let (Some(step), Some(total)) = (one.time_step, other.total_time) else { continue };
        if total > step * (1.0 + CLOSE) {
            let message = format!(
                "\"{}\" is called in each step of \"{}\", which is {} long, and covers {}",
                names[1],
                names[0],
                text(&written[0].time_step),
                text(&written[1].total_time)
            );
            let advice = "lengthen the step, or let what is called cover no more than a step";
            let at = written[1].total_time.as_ref().map_or(&written[1].at, |scale| &scale.at);
            problems.push(Problem::warning(Code::SCALES_APART, at, message, advice));
        }
    }
}

/// Adds the scales to the settings under names such as `COMPONENT.scale.time_step`, so that codes in every
/// language can read them. Times are in the model's unit of time, or in seconds if the model has none. Lengths
/// are in metres. A setting that the user has set keeps its value.
pub(crate) fn give_to_the_code(model: &mut ResolvedModel) {
    let Ok(scale) = Identifier::new(DeclaredScales::SETTINGS) else { return };
    let unit = times::unit_of(&model.ligament);
    for (name, scales) in &model.ligament.scales {
        let scales = ComponentScales::of(scales);
        let single = |value: Option<f64>| value.map(SettingValue::Float);
        let time = |value: Option<f64>| single(value.map(|value| value / unit));
        let several = |values: Vec<f64>| match values.as_slice() {
            [] => None,
            [one] => Some(SettingValue::Float(*one)),
            _ => Some(SettingValue::FloatList(values)),
        };
        let all = [
            time(scales.time_step),
            time(scales.total_time),
            several(scales.space_step),
            several(scales.extent),
        ];
        for (key, value) in DeclaredScales::KEYS.iter().zip(all) {
            let (Some(value), Ok(key)) = (value, Identifier::new(key)) else { continue };
            let setting = name.child(&scale).child(&key);
            if model.settings.exact(&setting).is_none() {
                model.settings.set(setting, value);
            }
        }
    }
}
