//! A check that components have implementations, and that the ports of a component and its implementation
//! agree.

use crate::{CheckOptions, GivenCode};
use ligament_catalogue::Code;
use ligament_model::{
    nearest, Component, Configuration, FlatComponent, FlatModel, Identifier, Model, Ports, Problem, Reference,
    SHIPPED,
};
use std::collections::HashSet;

pub(crate) fn check(
    config: &Configuration,
    options: &CheckOptions,
    failed_imports: &HashSet<Identifier>,
    problems: &mut Vec<Problem>,
) {
    for name in config.programs.keys().filter(|name| config.models.contains_key(*name)) {
        problems.push(Problem::error(
            Code::DUPLICATE_NAME,
            &config.programs[name].at,
            format!("\"{name}\" is the name of a program and of a model"),
            "rename one of them",
        ));
    }
    for model in config.models.values() {
        for component in model.components.values() {
            match &component.implementation {
                None => {}
                Some(name) => with(config, model, component, name, options, failed_imports, problems),
            }
        }
    }
}

/// Removes the components without an implementation. They are reported as an error if a script gives code for
/// some components by name: then the user probably forgot these.
pub(crate) fn leave_out(flat: &mut FlatModel, options: &CheckOptions, problems: &mut Vec<Problem>) {
    let is_left_out = |component: &FlatComponent| {
        component.implementation.is_none() && !options.given.covers(&component.name, None)
    };
    let by_script = matches!(options.given, GivenCode::Names(_));
    for component in flat.components.iter().filter(|component| is_left_out(component)) {
        let nothing = format!("the component \"{}\" has no implementation", component.name);
        problems.push(if by_script {
            Problem::error(
                Code::MISSING_IMPLEMENTATION,
                &component.at,
                nothing,
                "give a function for it, or add \"implementation: name\" with the name of a program or model",
            )
        } else {
            Problem::warning(
                Code::MISSING_IMPLEMENTATION,
                &component.at,
                format!("{nothing}, so it is left out, with its conduits"),
                "add \"implementation: name\" with the name of a program or model, or \"optional: true\"",
            )
        });
    }
    flat.retain(|component| !is_left_out(component));
}

fn with(
    config: &Configuration,
    model: &Model,
    component: &Component,
    name: &Reference,
    options: &CheckOptions,
    failed_imports: &HashSet<Identifier>,
    problems: &mut Vec<Problem>,
) {
    let ports = if let Some(program) = config.programs.get(name) {
        &program.ports
    } else if let Some(inner) = config.models.get(name) {
        &inner.ports
    } else {
        let expected = name.as_identifier().is_some_and(|n| failed_imports.contains(n));
        if !expected && !options.given.covers(&component.name, Some(name)) {
            problems.push(unknown(config, model, component, name, options));
        }
        return;
    };
    if let Some(declared) = &component.ports {
        if !ports.is_empty() {
            compare(component, name, declared, ports, problems);
        }
    }
}

fn unknown(
    config: &Configuration,
    model: &Model,
    component: &Component,
    name: &Reference,
    options: &CheckOptions,
) -> Problem {
    let known: Vec<String> = if name.to_string().starts_with("ligament.") {
        SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect()
    } else {
        let models = config.models.keys().filter(|m| **m != model.name);
        config.programs.keys().chain(models).map(Reference::to_string).collect()
    };
    let advice = match nearest(&name.to_string(), known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if matches!(options.given, GivenCode::Names(_)) => {
            "define it in the file, or give a function for it".to_owned()
        }
        None => format!("define a program \"{name}\" in this file, or import it"),
    };
    Problem::error(
        Code::UNKNOWN_IMPLEMENTATION,
        &component.implementation_at,
        format!("there is no program or model \"{name}\", which is to implement \"{}\"", component.name),
        advice,
    )
}

fn compare(
    component: &Component,
    implementation: &Reference,
    declared: &Ports,
    ports: &Ports,
    problems: &mut Vec<Problem>,
) {
    for port in declared.values() {
        match ports.get(&port.name) {
            None => {
                let advice = match nearest(port.name.as_str(), ports.keys().map(|n| n.as_str())) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => {
                        let names: Vec<&str> = ports.keys().map(|n| n.as_str()).collect();
                        format!("it has: {}", names.join(", "))
                    }
                };
                problems.push(Problem::error(
                    Code::PORT_NOT_IMPLEMENTED,
                    &port.at,
                    format!(
                        "the component \"{}\" has a port \"{}\" that its implementation \"{implementation}\" \
                         does not have",
                        component.name, port.name
                    ),
                    advice,
                ));
            }
            Some(other) if other.operator != port.operator || other.timeline != port.timeline => {
                problems.push(Problem::error(
                    Code::PORT_DIFFERS,
                    &port.at,
                    format!(
                        "the port \"{}\" is one of {} here, and of {} in the implementation \
                         \"{implementation}\"",
                        port.name,
                        on(port),
                        on(other)
                    ),
                    "make both the same",
                ));
            }
            Some(_) => {}
        }
    }
}

fn on(port: &ligament_model::Port) -> String {
    if port.timeline.is_empty() {
        port.operator.to_string()
    } else {
        format!("{} on the timeline {}", port.operator, port.timeline)
    }
}
