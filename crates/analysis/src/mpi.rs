//! A check that the entries about MPI under `ligament:` name programs that exist and are started with MPI.

use crate::light::known_programs;
use crate::CheckOptions;
use ligament_catalogue::Code;
use ligament_model::{At, Configuration, ExecutionModel, Problem, Reference};

pub(crate) fn check(config: &Configuration, options: &CheckOptions, problems: &mut Vec<Problem>) {
    let options_of = &config.ligament;
    let named = options_of.mpich.iter().map(|(name, at)| ("mpich", name, at));
    let started = options_of.mpirun.iter().map(|(name, (_, at))| ("mpirun", name, at));
    for (key, name, at) in named.chain(started) {
        match config.programs.get(name) {
            None if options.given.covers(name, None) => {}
            None => problems.push(unknown(config, key, name, at)),
            Some(program) if key == "mpich" && program.execution_model != ExecutionModel::Direct => {
                let own = program.execution_model.name();
                problems.push(Problem::error(
                    Code::STARTED_IN_TWO_WAYS,
                    at,
                    format!("\"{name}\" is started by MPICH here, and its execution_model is {own}"),
                    "remove one of them",
                ));
            }
            Some(program) if key == "mpirun" && !config.execution_model_of(program).is_mpi() => {
                problems.push(Problem::error(
                    Code::MPIRUN_FOR_NOTHING,
                    at,
                    format!(
                        "a command is named that starts \"{name}\" with MPI, and \"{name}\" is no MPI program"
                    ),
                    "set its execution_model to openmpi, intelmpi or srunmpi, or name it under \"mpich:\"",
                ));
            }
            Some(_) => {}
        }
    }
}

fn unknown(config: &Configuration, key: &str, name: &Reference, at: &At) -> Problem {
    let message = format!("\"{name}\" stands under \"{key}:\", and there is no such program");
    Problem::error(Code::UNKNOWN_MPI_PROGRAM, at, message, known_programs(config, name))
}
