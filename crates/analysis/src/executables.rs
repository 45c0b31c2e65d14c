//! Whether the files that programs name are on this machine.

use ligament_model::{nearest, BaseEnv, Configuration, Problem, Program};
use rustix::fs::{access, Access};
use std::path::Path;

pub(crate) fn check(config: &Configuration, problems: &mut Vec<Problem>) {
    for program in config.programs.values() {
        if let Some(environment) = &program.virtual_env {
            let path = program.beside_file(environment);
            if !path.join("bin/activate").exists() {
                problems.push(Problem::error(
                    "missing-virtual-env",
                    &program.at,
                    format!("\"{environment}\" is not a Python virtual environment on this machine"),
                    format!("make it with \"python3 -m venv {}\", or correct the path", path.display()),
                ));
                continue;
            }
        }
        let Some(executable) = &program.executable else { continue };
        if executable.contains('/') {
            file(program, executable, problems);
        } else {
            command(program, executable, problems);
        }
    }
}

fn file(program: &Program, executable: &str, problems: &mut Vec<Problem>) {
    let path = program.beside_file(executable);
    let shown = match path == Path::new(executable) {
        true => String::new(),
        false => format!(" (looked for at {})", path.display()),
    };
    let mut report = |code, message: String, advice: String| {
        problems.push(Problem::error(code, &program.executable_at, message, advice));
    };
    let Ok(metadata) = std::fs::metadata(&path) else {
        let advice = match similar(&path) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => "build it, or correct the path; a path is relative to the file that names it".to_owned(),
        };
        let message = format!("the executable \"{executable}\" of \"{}\" is not there{shown}", program.name);
        return report("missing-executable", message, advice);
    };
    if metadata.is_dir() {
        let message = format!("the executable \"{executable}\" of \"{}\" is a directory{shown}", program.name);
        report("not-executable", message, "name the program in it".to_owned());
    } else if access(&path, Access::EXEC_OK).is_err() {
        let message =
            format!("\"{executable}\" of \"{}\" is there, but may not be executed{shown}", program.name);
        report("not-executable", message, format!("run \"chmod +x {}\"", path.display()));
    }
}

/// A name without a directory is looked up as a shell does. Modules and login scripts may change where, so
/// nothing is said of programs that use them.
fn command(program: &Program, executable: &str, problems: &mut Vec<Problem>) {
    if program.modules.is_some()
        || program.base_env == BaseEnv::Login
        || program.env.keys().any(|k| k == "PATH" || k == "+PATH")
    {
        return;
    }
    let own = program.virtual_env.as_ref().map(|v| program.beside_file(v).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = own.into_iter().chain(std::env::split_paths(&path)).any(|directory| {
        let file = directory.join(executable);
        file.is_file() && access(&file, Access::EXEC_OK).is_ok()
    });
    if !found {
        problems.push(Problem::error(
            "missing-executable",
            &program.executable_at,
            format!("the command \"{executable}\" of \"{}\" is not found", program.name),
            "install it, or write the path to it (with a \"/\" in it)",
        ));
    }
}

/// A file in the same directory whose name is nearly the same.
fn similar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> =
        std::fs::read_dir(parent).ok()?.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    let meant = nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(meant).display().to_string())
}
