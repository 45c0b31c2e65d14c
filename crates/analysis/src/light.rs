//! A check that the programs that the model declares as light can run many instances in one process.

use crate::CheckOptions;
use ligament_catalogue::Code;
use ligament_model::{nearest, Configuration, Problem, Reference};

pub(crate) fn check(config: &Configuration, options: &CheckOptions, problems: &mut Vec<Problem>) {
    for (name, at) in &config.ligament.light {
        let Some(program) = config.programs.get(name) else {
            if !options.given.covers(name, None) {
                problems.push(unknown(config, name, at));
            }
            continue;
        };
        let execution_model = config.execution_model_of(program);
        if execution_model.is_mpi() {
            problems.push(Problem::error(
                Code::LIGHT_MPI,
                at,
                format!(
                    "\"{name}\" is an MPI program ({}), so it cannot be light: all instances of a light \
                     program share one process",
                    execution_model.name()
                ),
                "take it out of \"light:\", or start it directly",
            ));
        }
    }
}

fn unknown(config: &Configuration, name: &Reference, at: &ligament_model::At) -> Problem {
    Problem::error(
        Code::UNKNOWN_LIGHT,
        at,
        format!("\"{name}\" is called light, and there is no such program"),
        known_programs(config, name),
    )
}

/// Returns advice for a name that is not the name of a program: the program that may be meant, or all
/// programs.
pub(crate) fn known_programs(config: &Configuration, name: &Reference) -> String {
    let known: Vec<String> = config.programs.keys().map(Reference::to_string).collect();
    match nearest(&name.to_string(), known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("name a program; there is {}", known.join(", ")),
    }
}
