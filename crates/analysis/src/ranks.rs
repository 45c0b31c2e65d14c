//! A check of `ranks`: each component exists, and can have this number of ranks.

use crate::place::{whose, NameOwner};
use ligament_catalogue::Code;
use ligament_model::{Configuration, FlatModel, Problem, Resources};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    for (name, (_, at)) in &config.ligament.ranks {
        if flat.components.iter().any(|component| component.name == *name) {
            continue;
        }
        let advice = match whose(flat, name) {
            NameOwner::NoComponents(advice) => advice,
            NameOwner::Somebodys | NameOwner::NoInstances(_) => {
                "name the component, without an index".to_owned()
            }
        };
        let message = format!("\"{name}\" stands under \"ranks:\", and there is no such component");
        problems.push(Problem::error(Code::RANKS_FOR_NOBODY, at, message, advice));
    }
    for component in &flat.components {
        let Some((ranks, at)) = config.ligament.ranks.get(&component.name) else { continue };
        let Some(name) = &component.implementation else { continue };
        let mut problem = |code, message, advice| problems.push(Problem::error(code, at, message, advice));
        if config.ligament.light.contains_key(name) {
            problem(
                Code::LIGHT_RANKS,
                format!(
                    "\"{}\" has ranks, and its program \"{name}\" is light: all of it is one process",
                    component.name
                ),
                "take it out of \"ranks:\" or out of \"light:\"",
            );
        }
        let Some(program) = config.programs.get(name) else { continue };
        let processes = match config.resources_of(&flat.name, &component.name).0 {
            _ if !config.execution_model_of(program).is_mpi() => continue,
            Resources::Threads { .. } => continue,
            Resources::MpiProcesses { mpi_processes, .. } => mpi_processes,
            Resources::MpiNodes { nodes, mpi_processes_per_node, .. } => {
                if nodes > 1 {
                    problem(
                        Code::RANKS_OVER_NODES,
                        format!(
                            "the ranks of \"{}\" are to be on {nodes} nodes, and each is to speak for \
                                 itself",
                            component.name
                        ),
                        "ask for \"mpi_processes\" on one node, or take it out of \"ranks:\": then rank 0 \
                         speaks for all",
                    );
                }
                nodes.saturating_mul(mpi_processes_per_node)
            }
        };
        if processes != *ranks {
            problem(
                Code::RANKS_AND_PROCESSES,
                format!(
                    "\"{}\" has {ranks} ranks, and {processes} MPI processes under \"resources:\"",
                    component.name
                ),
                "give both the same number",
            );
        }
    }
}
