//! A check that costs fit a model: every name in the costs exists in the model, and no part of the model
//! lacks a cost.

use super::costs::{component_of, conduit_of, place, Costs};
use ligament_catalogue::{fault, Fault};
use ligament_model::{nearest, Operator, ResolvedInstance, ResolvedModel};
use std::collections::{BTreeSet, HashSet};

/// Maximum number of missing costs, or of components, that an error names.
const NAMED: usize = 10;

/// # Errors
/// The costs have a name that the model does not have, or lack costs of the model's parts.
pub(super) fn check(model: &ResolvedModel, costs: &Costs) -> Result<(), Fault> {
    let components: HashSet<String> = model.components.iter().map(|one| one.name.to_string()).collect();
    let instances: HashSet<String> = model.instances.iter().map(|one| one.name.to_string()).collect();
    let conduits: BTreeSet<(String, String)> =
        model.channels.iter().map(|channel| conduit_of(model, channel)).collect();
    for (name, own) in &costs.components {
        if !components.contains(name) && !instances.contains(name) {
            let hint = hint(component_of(name), components.iter().map(String::as_str));
            return Err(fault!(
                BAD_COSTS,
                "{}the model {} has no component \"{name}\"{hint}",
                place(&own.at),
                model.name
            ));
        }
    }
    for (name, own) in &costs.conduits {
        if !conduits.contains(name) {
            let written = format!("{} -> {}", name.0, name.1);
            let known: Vec<String> = conduits.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            let hint = hint(&written, known.iter().map(String::as_str));
            return Err(fault!(
                BAD_COSTS,
                "{}the model {} has no conduit \"{written}\"{hint}",
                place(&own.at),
                model.name
            ));
        }
    }
    declared(model)?;
    let missing = missing(model, costs, &conduits);
    match missing.len() {
        0 => Ok(()),
        n => {
            let more = n.saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            Err(fault!(
                NO_COSTS,
                "no costs are known of: {}{more}; add them to the costs, or take them from a run that has them \
                 (--from)",
                missing[..n.min(NAMED)].join(", ")
            ))
        }
    }
}

/// # Errors
/// The model does not declare when some ports are used.
fn declared(model: &ResolvedModel) -> Result<(), Fault> {
    let is_open = |instance: &&ResolvedInstance| {
        instance.ports.iter().any(|port| port.connected && port.operator == Operator::None)
    };
    let open = model.instances.iter().filter(is_open);
    let mut names: Vec<String> =
        open.map(|one| model.components[one.component as usize].name.to_string()).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    match names.len() {
        0 => Ok(()),
        n => Err(fault!(
            CANNOT_PREDICT,
            "the model {} does not declare the ports of: {}{more}, so it is not known when they send and \
             receive; name a run of it after --from, which has recorded that, or give them \"ports:\" in the \
             model",
            model.name,
            names[..n.min(NAMED)].join(", ")
        )),
    }
}

fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(meant) => format!("; did you mean \"{meant}\"?"),
        None => "; take it out, or correct the name".to_owned(),
    }
}

fn missing(model: &ResolvedModel, costs: &Costs, conduits: &BTreeSet<(String, String)>) -> Vec<String> {
    let mut missing = Vec::new();
    let mut seen = HashSet::new();
    for instance in &model.instances {
        let component = model.components[instance.component as usize].name.to_string();
        let own = costs.components.get(&instance.name.to_string());
        let Some(own) = own.or_else(|| costs.components.get(&component)) else {
            if seen.insert(component.clone()) {
                missing.push(component);
            }
            continue;
        };
        // For a component that sends in its steps, the number of steps must be known.
        let sends = instance.ports.iter().any(|port| port.operator == Operator::OI && port.connected);
        if sends && own.steps.is_none() && seen.insert(component.clone()) {
            missing.push(format!("{component} (steps)"));
        }
    }
    for name in conduits {
        if costs.conduits.get(name).is_none_or(|own| own.bytes.is_none()) {
            missing.push(format!("{} -> {} (bytes)", name.0, name.1));
        }
    }
    missing
}
