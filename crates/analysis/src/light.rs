//! Whether what the model calls light are programs that can run many instances in one process.

use crate::CheckOptions;
use ligament_model::{nearest, Configuration, Problem, Reference};

pub(crate) fn check(config: &Configuration, options: &CheckOptions, problems: &mut Vec<Problem>) {
    for (name, at) in &config.ligament.light {
        let Some(program) = config.programs.get(name) else {
            if !options.given.covers(name, None) {
                problems.push(unknown(config, name, at));
            }
            continue;
        };
        if program.execution_model.is_mpi() {
            problems.push(Problem::error(
                "light-mpi",
                at,
                format!(
                    "\"{name}\" is an MPI program ({}), so it cannot be light: all instances of a light program share \
                     one process",
                    program.execution_model.name()
                ),
                "take it out of \"light:\", or start it directly",
            ));
        }
    }
}

fn unknown(config: &Configuration, name: &Reference, at: &ligament_model::At) -> Problem {
    let known: Vec<String> = config.programs.keys().map(Reference::to_string).collect();
    let advice = match nearest(&name.to_string(), known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("name a program; there is {}", known.join(", ")),
    };
    Problem::error(
        "unknown-light",
        at,
        format!("\"{name}\" is called light, and there is no such program"),
        advice,
    )
}
