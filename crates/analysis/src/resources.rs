//! A check of resources: each component exists, and its resources have the form that its program needs.

use ligament_catalogue::Code;
use ligament_model::{nearest, Configuration, FlatModel, Problem, Reference};
use std::collections::HashSet;

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    let names: HashSet<&Reference> = flat.components.iter().map(|c| &c.name).collect();
    let paths: HashSet<Reference> = flat.components.iter().map(|c| flat.name.join(&c.name)).collect();
    for (name, requirements) in &config.resources {
        if paths.contains(name) || names.contains(name) {
            continue;
        }
        if config.models.keys().any(|m| *m != flat.name && name.parts().starts_with(m.parts())) {
            continue;
        }
        let names: Vec<String> = paths.iter().map(Reference::to_string).collect();
        let wanted = name.to_string();
        let advice = match nearest(&wanted, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("write {}.component, with the model's name first", flat.name),
        };
        problems.push(Problem::warning(
            Code::RESOURCES_FOR_NOBODY,
            &requirements.at,
            format!("resources are asked for \"{name}\", which is no component of the model"),
            advice,
        ));
    }
    for component in &flat.components {
        let Some(program) = component.implementation.as_ref().and_then(|i| config.programs.get(i)) else {
            continue;
        };
        let (resources, given) = config.resources_of(&flat.name, &component.name);
        let execution_model = config.execution_model_of(program);
        let is_mpi = execution_model.is_mpi();
        let at = config
            .resources
            .get(&flat.name.join(&component.name))
            .or_else(|| config.resources.get(&component.name))
            .map_or(&component.at, |r| &r.at);
        let model = execution_model.name();
        if is_mpi && !given {
            problems.push(Problem::error(
                Code::MISSING_RESOURCES,
                at,
                format!(
                    "the component \"{}\" runs the MPI program \"{}\" ({model}), but nothing says with how \
                     many processes",
                    component.name, program.name
                ),
                format!(
                    "add \"{}: {{mpi_processes: n}}\" under \"resources:\"",
                    flat.name.join(&component.name)
                ),
            ));
        } else if is_mpi && !resources.is_mpi() {
            problems.push(Problem::error(
                Code::RESOURCES_MISMATCH,
                at,
                format!("\"{}\" is an MPI program ({model}), but threads are asked for it", program.name),
                "write \"mpi_processes: n\" instead of \"threads: n\"",
            ));
        } else if !is_mpi && resources.is_mpi() && program.script.is_none() && model == "direct" {
            problems.push(Problem::error(
                Code::RESOURCES_MISMATCH,
                at,
                format!(
                    "MPI processes are asked for \"{}\", which is not started as an MPI program",
                    program.name
                ),
                "set its execution_model to openmpi, intelmpi or srunmpi, or ask for threads",
            ));
        }
    }
}
