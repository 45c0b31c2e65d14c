//! A check that the files that programs name are on this machine, and can be started under these names.

use crate::scripts::{first_line, language, script_of, ArgumentKind, Language};
use crate::variables::{fill, starts_in_shell, ExpandedText};
use ligament_catalogue::Code;
use ligament_model::{nearest, variables, At, Configuration, Problem, Program, Reference};
use rustix::fs::{access, Access};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// File name endings of source files, which must be compiled before they can run.
const SOURCES: &[&str] =
    &["c", "cpp", "cc", "cxx", "C", "f90", "F90", "f95", "f03", "f08", "f", "F", "rs", "go", "java", "cu"];

/// A path of a program, as the file has it and with its variables filled in.
#[derive(Clone, Copy)]
struct ProgramPath<'a> {
    written: &'a str,
    filled: &'a str,
}

/// Checks the programs in `used`; other programs are never started. Returns notes about files that can be
/// checked only when a program starts.
pub(crate) fn check(
    config: &Configuration,
    used: &HashSet<&Reference>,
    model_directory: Option<&Path>,
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let staged: HashSet<&str> =
        config.ligament.stage.values().flatten().map(|input| input.name.as_str()).collect();
    let mut notes = Vec::new();
    for program in config.programs.values().filter(|program| used.contains(&program.name)) {
        let mut looking = ProgramCheck { program, model_directory, problems, at_start: Vec::new() };
        looking.check(&staged);
        notes.extend(looking.unset_in_arguments());
        notes.extend(looking.note());
    }
    notes
}

/// The check of one program.
struct ProgramCheck<'a> {
    program: &'a Program,
    model_directory: Option<&'a Path>,
    problems: &'a mut Vec<Problem>,
    /// Descriptions of the files that can be looked for only when the program starts.
    at_start: Vec<String>,
}

impl ProgramCheck<'_> {
    fn check(&mut self, staged: &HashSet<&str>) {
        let program = self.program;
        if let Some(written) = &program.virtual_env {
            let what = format!("the virtual environment \"{written}\"");
            let at = (Code::MISSING_VIRTUAL_ENV, &program.at);
            match self.fill(written, &what, at) {
                Err(()) => return,
                Ok(Some(environment)) if !program.beside_file(&environment).join("bin/python").exists() => {
                    let path = program.beside_file(&environment);
                    self.problems.push(Problem::error(
                        at.0,
                        at.1,
                        format!("\"{written}\" is not a Python virtual environment on this machine"),
                        format!("make it with \"python3 -m venv {}\", or correct the path", path.display()),
                    ));
                    return;
                }
                Ok(_) => {}
            }
        }
        let Some(written) = &program.executable else { return };
        let what = format!("the executable \"{written}\"");
        match self.fill(written, &what, (Code::MISSING_EXECUTABLE, &program.executable_at)) {
            Ok(Some(executable)) if executable.contains('/') => {
                file(program, ProgramPath { written, filled: &executable }, self.problems);
            }
            Ok(Some(executable)) if finds_by_itself(program) => {
                if starts_in_shell(program) && in_path(program, &executable).is_none() {
                    self.at_start.push(format!("the command \"{executable}\""));
                }
            }
            Ok(Some(executable)) => command(program, &executable, self.problems),
            Ok(None) | Err(()) => {}
        }
        self.arguments(written, staged);
    }

    /// Fills in the variables of a text. Returns `None` if some values are known only when the program starts.
    fn fill(&mut self, written: &str, what: &str, (code, at): (Code, &At)) -> Result<Option<String>, ()> {
        match fill(self.program, self.model_directory, written) {
            ExpandedText::Known(filled) => Ok(Some(filled)),
            ExpandedText::AtStart => {
                self.at_start.push(what.to_owned());
                Ok(None)
            }
            ExpandedText::Unset(name) => {
                let message =
                    format!("{what} of \"{}\" has a variable, {name}, that is not set", self.program.name);
                let advice = format!(
                    "set {name} before you start the run, or under \"env:\", or name the module that sets it \
                     under \"modules:\""
                );
                self.problems.push(Problem::error(code, at, message, advice));
                Err(())
            }
        }
    }

    /// Checks the script among an executable's arguments.
    fn arguments(&mut self, executable: &str, staged: &HashSet<&str>) {
        let program = self.program;
        let written = program.args.as_deref().unwrap_or_default();
        let filled: Vec<String> = written
            .iter()
            .map(|one| match fill(program, self.model_directory, one) {
                ExpandedText::Known(filled) => filled,
                ExpandedText::Unset(_) | ExpandedText::AtStart => one.clone(),
            })
            .collect();
        if let ArgumentKind::Script(i) = script_of(executable, &filled) {
            let what = format!("the script \"{}\"", written[i]);
            if !matches!(self.fill(&written[i], &what, (Code::MISSING_SCRIPT, &program.args_at)), Ok(Some(_))) {
                return;
            }
        }
        arguments(program, executable, (written, &filled), staged, self.problems);
    }

    /// Returns the variables in arguments that are not set. This is no error, because the program starts
    /// without their values.
    fn unset_in_arguments(&self) -> Option<String> {
        let program = self.program;
        let mut unset: Vec<String> = Vec::new();
        for argument in program.args.iter().flatten() {
            for name in variables(argument) {
                let one = fill(program, self.model_directory, &format!("${{{name}}}"));
                if one == ExpandedText::Unset(name.to_owned()) && !unset.iter().any(|before| before == name) {
                    unset.push(name.to_owned());
                }
            }
        }
        let (verb, them) = if unset.len() == 1 { ("is", "it") } else { ("are", "them") };
        (!unset.is_empty()).then(|| {
            format!(
                "{} in the arguments of \"{}\" {verb} not set here; where the run is started without {them}, \
                 nothing is filled in",
                unset.join(", "),
                program.name
            )
        })
    }

    fn note(self) -> Option<String> {
        let name = &self.program.name;
        let after = match self.program.modules.as_deref() {
            Some(modules) => format!("after its modules ({})", modules.join(", ")),
            None if starts_in_shell(self.program) => "in a login shell".to_owned(),
            None => "in its own environment".to_owned(),
        };
        let looked_for = self.at_start.join(", ");
        let verb = if self.at_start.len() == 1 { "is" } else { "are" };
        (!self.at_start.is_empty())
            .then(|| format!("{looked_for} of \"{name}\" {verb} looked for when it starts, {after}"))
    }
}

/// Returns ` (looked for at PATH)`, or an empty text if the model file has the same path.
fn looked_for(path: &Path, written: &str) -> String {
    if path == Path::new(written) {
        String::new()
    } else {
        format!(" (looked for at {})", path.display())
    }
}

fn file(
    program: &Program,
    ProgramPath { written: executable, filled }: ProgramPath<'_>,
    problems: &mut Vec<Problem>,
) {
    let path = program.beside_file(filled);
    let shown = looked_for(&path, executable);
    let mut report = |code, message: String, advice: String| {
        problems.push(Problem::error(code, &program.executable_at, message, advice));
    };
    let Ok(metadata) = std::fs::metadata(&path) else {
        let advice = build(program, &path).or_else(|| meant(&path, executable)).unwrap_or_else(|| {
            "build it, or correct the path; a path is relative to the file that names it".to_owned()
        });
        let message = format!("the executable \"{executable}\" of \"{}\" is not there{shown}", program.name);
        return report(Code::MISSING_EXECUTABLE, message, advice);
    };
    if metadata.is_dir() {
        let message = format!("the executable \"{executable}\" of \"{}\" is a directory{shown}", program.name);
        return report(Code::NOT_EXECUTABLE, message, "name the program in it".to_owned());
    }
    // Reading a pipe or a device could block forever.
    if !metadata.is_file() {
        let message = format!("the executable \"{executable}\" of \"{}\" is no file{shown}", program.name);
        return report(
            Code::NOT_EXECUTABLE,
            message,
            "name a program: a pipe, a socket or a device is none".to_owned(),
        );
    }
    let script = language(&path);
    if access(&path, Access::EXEC_OK).is_err() {
        let message =
            format!("\"{executable}\" of \"{}\" is there, but may not be executed{shown}", program.name);
        let advice = match script {
            Some(language) if first_line(&path).is_none() => by_interpreter(language, executable),
            _ if is_source(&path) => {
                "it is the text of a program: compile it, and name what comes of that".to_owned()
            }
            _ => format!("run \"chmod +x {}\"", path.display()),
        };
        return report(Code::NOT_EXECUTABLE, message, advice);
    }
    match (first_line(&path), script) {
        (Some(line), _) => {
            if let Some((what, advice)) = wrong_interpreter(program, &line) {
                let message = format!(
                    "\"{executable}\" of \"{}\" begins with \"#!{}\", {what}{shown}",
                    program.name,
                    line.trim_end()
                );
                report(Code::NOT_EXECUTABLE, message, advice);
            }
        }
        (None, Some(language)) => {
            let message = format!(
                "\"{executable}\" of \"{}\" is a {} script, and its first line does not say what runs \
                 it{shown}",
                program.name, language.name
            );
            report(Code::NOT_EXECUTABLE, message, by_interpreter(language, executable));
        }
        (None, None) => {}
    }
}

/// Returns advice to write a script as an argument of its interpreter.
fn by_interpreter(language: &Language, script: &str) -> String {
    let Language { interpreter, .. } = language;
    let script = script.strip_prefix("./").unwrap_or(script);
    format!("write \"executable: {interpreter}\" and \"args: {script}\"")
}

/// Returns the problem and the advice if a script's first line names an interpreter that is not usable.
fn wrong_interpreter(program: &Program, line: &str) -> Option<(&'static str, String)> {
    if line.ends_with('\r') {
        let advice = "save the file with the line ends of Unix, for example with dos2unix";
        return Some(("and a carriage return, which is taken for part of the name", advice.to_owned()));
    }
    let mut words = line.split_whitespace();
    let interpreter = Path::new(words.next()?);
    if !interpreter.exists() {
        return Some(("which is not there", "name what is to run it, in its first line".to_owned()));
    }
    if interpreter.file_name().is_some_and(|name| name == "env") && !finds_by_itself(program) {
        let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        if !name.contains('/') && in_path(program, name).is_none() {
            return Some(("which is not found", format!("install {name}, or name another in the first line")));
        }
    }
    None
}

/// Returns true if the search path is known only when the program starts, because modules or login scripts
/// may change it.
fn finds_by_itself(program: &Program) -> bool {
    starts_in_shell(program) || program.env.keys().any(|key| key == "PATH" || key == "+PATH")
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Returns the directories in which a name without a `/` is looked up.
fn search_path(program: &Program) -> Vec<PathBuf> {
    let own = program.virtual_env.as_ref().map(|environment| program.beside_file(environment).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    own.into_iter().chain(path).collect()
}

fn in_path(program: &Program, name: &str) -> Option<PathBuf> {
    search_path(program).into_iter().map(|directory| directory.join(name)).find(|file| is_executable(file))
}

/// Checks a name without a directory, which is looked up in the search path as a shell does.
fn command(program: &Program, executable: &str, problems: &mut Vec<Problem>) {
    if in_path(program, executable).is_some() {
        return;
    }
    let mut message = format!("the command \"{executable}\" of \"{}\" is not found", program.name);
    if let Some((first, rest)) =
        executable.split_once(' ').filter(|(first, _)| in_path(program, first).is_some())
    {
        let advice = format!("write \"executable: {first}\" and \"args: [{}]\"", words(rest));
        return problems.push(Problem::error(
            Code::MISSING_EXECUTABLE,
            &program.executable_at,
            message,
            advice,
        ));
    }
    // A user who writes a name without a directory most often means the file beside the model.
    let beside = program.beside_file(executable);
    let advice = match language(Path::new(executable)) {
        Some(language) => {
            message = format!("{message}: it is no program, but a {} script", language.name);
            let script = if beside.is_file() { None } else { similar(&beside, |path| path.is_file()) };
            by_interpreter(language, script.as_deref().unwrap_or(executable))
        }
        None if is_executable(&beside) => {
            format!("write \"executable: ./{executable}\" for the file beside the model")
        }
        None => build(program, &beside)
            .map(|advice| format!("{advice}, and write \"executable: ./{executable}\""))
            .or_else(|| {
                let names = search_path(program).into_iter().flat_map(std::fs::read_dir).flatten().flatten();
                let names: Vec<String> =
                    names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
                let like = nearest(executable, names.iter().map(String::as_str))?;
                Some(format!("did you mean \"{like}\"?"))
            })
            .or_else(|| {
                let like = similar(&beside, is_executable)?;
                Some(format!("did you mean \"./{like}\", beside the model?"))
            })
            .unwrap_or_else(|| "install it, or write the path to it (with a \"/\" in it)".to_owned()),
    };
    problems.push(Problem::error(Code::MISSING_EXECUTABLE, &program.executable_at, message, advice));
}

/// Checks the arguments of an executable that runs a script. The first list has the arguments of the file,
/// and the second list has the arguments with variables filled in.
fn arguments(
    program: &Program,
    executable: &str,
    (written, arguments): (&[String], &[String]),
    staged: &HashSet<&str>,
    problems: &mut Vec<Problem>,
) {
    let mut report = |code, message: String, advice: String| {
        problems.push(Problem::error(code, &program.args_at, message, advice));
    };
    match script_of(executable, arguments) {
        ArgumentKind::Nothing => {
            let [only] = arguments else { return };
            if only.starts_with("--") && only.contains(' ') && !only.contains('=') || is_option_and_more(only) {
                problems.push(Problem::warning(
                    Code::ONE_ARGUMENT,
                    &program.args_at,
                    format!(
                        "\"{only}\" is a single argument of \"{}\", although it has several words",
                        program.name
                    ),
                    format!("write args: [{}] to give several", words(only)),
                ));
            }
        }
        ArgumentKind::SeveralWords(i) => report(
            Code::ONE_ARGUMENT,
            format!(
                "\"{}\" is a single argument of \"{}\", and {executable} has no such option",
                arguments[i], program.name
            ),
            format!("write args: [{}]", words(&arguments[i])),
        ),
        ArgumentKind::Script(i) => {
            let (script, path) = (&written[i], program.beside_file(&arguments[i]));
            if staged.contains(script.as_str()) || path.exists() {
                return;
            }
            let shown = looked_for(&path, script);
            let first = script.split_whitespace().next().unwrap_or_default();
            if first != script && (i == 0 && arguments.len() == 1 || program.beside_file(first).is_file()) {
                let message = format!(
                    "\"{script}\" is a single argument of \"{}\", and no file has this name{shown}",
                    program.name
                );
                return report(Code::ONE_ARGUMENT, message, format!("write args: [{}]", words(script)));
            }
            let ending = path.extension().map(ToOwned::to_owned);
            let alike = similar(&path, |path| path.is_file() && path.extension() == ending.as_deref());
            let advice = match alike {
                Some(alike) => {
                    format!("did you mean \"{}\"?", Path::new(script).with_file_name(alike).display())
                }
                None => {
                    "put it there, or correct the path; a path is relative to the file that names it".to_owned()
                }
            };
            let message = format!(
                "the script \"{script}\" that {executable} is to run for \"{}\" is not there{shown}",
                program.name
            );
            report(Code::MISSING_SCRIPT, message, advice);
        }
    }
}

/// Returns true for a short option with more text in the same argument, such as `-n 3`.
fn is_option_and_more(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(option, _)| option.len() == 2 && option.starts_with('-'))
}

/// Returns the words of a text, separated by commas, as in a list of arguments in YAML.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(", ")
}

/// Returns true if a file is source code that must be compiled.
fn is_source(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| SOURCES.contains(&ending))
}

/// Returns advice for an executable that is missing although its source exists.
fn build(program: &Program, path: &Path) -> Option<String> {
    let name = path.file_stem()?;
    let places = [path.to_path_buf(), program.beside_file(name.to_str()?)];
    let sources =
        places.iter().flat_map(|place| SOURCES.iter().map(move |ending| place.with_extension(ending)));
    let source = sources.into_iter().find(|source| source != path && source.is_file())?;
    let compiler = match source.extension().and_then(|ending| ending.to_str()) {
        Some("c") if program.execution_model.is_mpi() => "mpicc",
        Some("c") => "cc",
        Some("cpp" | "cc" | "cxx" | "C") if program.execution_model.is_mpi() => "mpicxx -std=c++17",
        Some("cpp" | "cc" | "cxx" | "C") => "c++ -std=c++17",
        _ => return Some(format!("build it from {}", source.display())),
    };
    Some(format!(
        "build it: {compiler} {} -o {} $(ligament config --cflags --libs)",
        source.display(),
        path.display()
    ))
}

/// Returns advice with the path that the user probably meant. The path has the same form, relative or absolute,
/// as the path in the model file.
fn meant(path: &Path, written: &str) -> Option<String> {
    let like = similar(path, |path| is_executable(path) || language(path).is_some())?;
    Some(format!("did you mean \"{}\"?", Path::new(written).with_file_name(like).display()))
}

/// Returns the name of a file in the same directory whose name is similar.
pub(crate) fn similar(path: &Path, fits: impl Fn(&Path) -> bool) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(parent).ok()?.flatten().filter(|entry| fits(&entry.path()));
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.filter(|other| other != name).collect();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}
