//! Prepares a program of the model for its start: it resolves the file, the arguments, the environment and
//! the directory. Nothing is started here, so a missing program is found before any program runs.

use crate::cores::of_rank;
use crate::environment::{expand, Environment};
use crate::launched_program::{find_in, is_executable};
use crate::library::{library, own_command, ENV_LIBRARY};
use crate::mpi::MpiProgram;
use crate::shell::{self, is_for_shell, ShellWord};
use ligament_catalogue::{fault, Fault};
use ligament_model::{variables, BaseEnv, ExecutionModel, Packages, Program, Resources};
use ligament_wire::control::ENV_INSTANCE;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The subcommand of `ligament` that runs the sources, sinks and mappers that come with it.
const SHIPPED_PART_COMMAND: &str = "shipped-part";
/// The arguments of Python that run the sources, sinks and mappers that are written in Python.
const SHIPPED_IN_PYTHON: [&str; 2] = ["-m", "ligament._shipped"];

/// A command that is ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The file to execute.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// All variables of the environment.
    pub environment: Environment,
    /// The working directory.
    pub directory: PathBuf,
    /// The file for the command's output and errors.
    pub output: PathBuf,
    /// The cores on which the command runs. An empty list means all cores of its parent.
    pub cores: Vec<u32>,
}

impl Command {
    /// Returns the command for one of several ranks that are started one by one. The rank gets its share of
    /// the cores, and an output file of its own.
    pub fn of_rank(&self, place: u32, ranks: u32, output: PathBuf) -> Command {
        Command { cores: of_rank(&self.cores, place, ranks).to_vec(), output, ..self.clone() }
    }
}

/// The circumstances in which an instance runs.
#[derive(Debug, Clone)]
pub struct InstanceContext<'a> {
    /// The instance's name, for `LIGAMENT_INSTANCE` in texts of the program.
    pub instance: &'a str,
    /// The directory of the model file, for `LIGAMENT_MODEL_DIR`.
    pub model_directory: &'a Path,
    /// The instance's working directory, which must exist.
    pub directory: &'a Path,
    /// The file for its output.
    pub output: &'a Path,
    /// A directory for temporary scripts, which must exist.
    pub scratch: &'a Path,
    /// Inputs of the instance: the staged path for each path of the user.
    pub staged: &'a HashMap<PathBuf, PathBuf>,
    /// The instance's own cores. Empty if the domain has too few cores for all instances.
    pub cores: &'a [u32],
    /// The nodes over which the instance's MPI processes are spread, this node first. Empty if all
    /// processes are on this node.
    pub nodes: &'a [NodeShare],
    /// Variables that describe this process. The instance must not inherit them.
    pub not_inherited: &'a [&'a str],
}

/// A node on which some of an instance's MPI processes run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShare {
    /// The name of the node in the batch system, or for ssh.
    pub name: String,
    pub processes: u32,
}

/// Resolves a program for one instance.
///
/// * An `executable` with a `/` in it is relative to the file that defines the program. Any other executable is
///   looked up in the instance's `PATH`.
/// * `$NAME` and `${NAME}` in the executable, the arguments and the virtual environment are variables of the
///   instance's environment, which has `LIGAMENT_MODEL_DIR` and `LIGAMENT_INSTANCE`. The instance's token
///   is never filled in, because all users see the arguments of a process. If an argument is then the
///   relative name of an existing file beside the file that defines the program, it becomes that file's
///   full path, since the instance runs in another directory.
/// * If an executable or argument names a file that is staged for the instance, it becomes the path of the
///   staged copy.
/// * A login shell is used only for modules and for `base_env: login`; variables are filled in there
///   (`shell.rs`).
/// * The MPI launcher is looked up after the program's modules are loaded (`mpi.rs`). A script starts MPI by
///   itself.
///
/// # Errors
/// The program cannot be started here, with advice.
pub fn prepare(program: &Program, resources: Resources, place: &InstanceContext<'_>) -> Result<Command, Fault> {
    let name = &program.name;
    if program.execution_model == ExecutionModel::Manual {
        return Err(fault!(
            MANUAL_PROGRAM,
            "the program \"{name}\" is started by hand (execution_model: manual)"
        ));
    }
    let mut environment = match program.base_env {
        BaseEnv::Manager => Environment::inherited(),
        BaseEnv::Clean => Environment::clean(),
        BaseEnv::Login => Environment::for_login(),
    };
    for variable in place.not_inherited {
        environment.remove(variable);
    }
    environment.set("LIGAMENT_MODEL_DIR", place.model_directory);
    environment.set(ENV_INSTANCE, place.instance);
    if let Some(library) = library() {
        environment.set_default(ENV_LIBRARY, library);
    }
    if let Resources::Threads { threads } = resources {
        environment.set_default("OMP_NUM_THREADS", threads.to_string());
        // If there are more cores than threads, the cores belong to several processes of the instance.
        if place.cores.len() == threads {
            // Each thread stays on one core. All ranks of an MPI program have the same variables, so their
            // threads are not bound.
            let places: Vec<String> = place.cores.iter().map(|core| format!("{{{core}}}")).collect();
            environment.set_default("OMP_PLACES", places.join(","));
            environment.set_default("OMP_PROC_BIND", "close");
        }
    }
    // The last output of a Python program must reach the file even if the program is killed.
    environment.set_default("PYTHONUNBUFFERED", "1");
    let modules = program.modules.as_deref().unwrap_or_default();
    let in_shell = program.executable.is_some() && (!modules.is_empty() || program.base_env == BaseEnv::Login);
    // The values of modules come before the values that the program appends. So the shell appends the
    // program's values after it has loaded the modules.
    for (variable, value) in program.env.iter().filter(|(name, _)| !(in_shell && name.starts_with('+'))) {
        environment.apply(variable, value);
    }
    if let Some(venv) = program.virtual_env.as_ref().filter(|venv| !(in_shell && is_for_shell(program, venv))) {
        enter_virtual_env(&mut environment, venv, program)?;
    }

    let (file, arguments) = match (&program.script, &program.executable) {
        (Some(script), _) => (write_script(script, place)?, Vec::new()),
        (None, Some(executable)) => {
            let resolution = Resolution { program, place, environment: &environment, in_shell };
            let mut words = vec![first_word(&resolution, executable)?];
            words.extend(resolve_arguments(&resolution));
            let mpi = MpiProgram { program, resources, nodes: place.nodes, in_shell };
            let launcher = mpi.launcher(&mut environment)?;
            words.splice(0..0, launcher.into_iter().map(ShellWord::Known));
            if in_shell {
                let bash = find_executable(program, place, "bash", &Environment::inherited())?;
                (bash, shell::arguments(program, words))
            } else {
                let known = |word| match word {
                    ShellWord::Known(word) => word,
                    ShellWord::Executable(text) | ShellWord::Argument(text) => text.into(),
                };
                let mut words: Vec<OsString> = words.into_iter().map(known).collect();
                (words.remove(0).into(), words)
            }
        }
        (None, None) if program.shipped().is_some_and(|shipped| shipped.in_python) => {
            let packages = Packages::of_environment();
            let python = packages.python().unwrap_or(Path::new("python3"));
            let python = find_executable(program, place, &python.to_string_lossy(), &environment)?;
            (python, SHIPPED_IN_PYTHON.map(OsString::from).to_vec())
        }
        (None, None) if program.shipped().is_some() => {
            let own = find_executable(program, place, &own_command().to_string_lossy(), &environment)?;
            (own, vec![SHIPPED_PART_COMMAND.into()])
        }
        (None, None) => {
            return Err(fault!(
                NO_PROGRAM,
                "the program \"{name}\" has neither an executable nor a script; add \"executable:\" to it"
            ))
        }
    };
    // The variable was set only for texts of the program. The agent tells the process its identity at its
    // start.
    environment.remove(ENV_INSTANCE);
    Ok(Command {
        program: file,
        arguments,
        environment,
        directory: place.directory.to_path_buf(),
        output: place.output.to_path_buf(),
        cores: place.cores.to_vec(),
    })
}

/// Returns the full path, on this machine, of a path in the program's description.
pub(crate) fn beside(program: &Program, path: &str) -> PathBuf {
    let path = program.beside_file(path);
    std::path::absolute(&path).unwrap_or(path)
}

fn enter_virtual_env(environment: &mut Environment, venv: &str, program: &Program) -> Result<(), Fault> {
    if let Some(name) = unset(venv, environment) {
        return Err(fault!(
            VIRTUAL_ENV_MISSING,
            "the variable {name} in \"virtual_env: {venv}\" is not set; set it where the run is started, or \
            under \"env:\", or name the module that sets it under \"modules:\""
        ));
    }
    let path = beside(program, &expand(venv, environment).to_string_lossy());
    if !path.join("bin/python").exists() {
        return Err(fault!(
            VIRTUAL_ENV_MISSING,
            "the virtual environment {} has no bin/python; make it with \"python3 -m venv {}\" or correct \
             \"virtual_env:\"",
            path.display(),
            path.display()
        ));
    }
    environment.prepend("PATH", path.join("bin").as_os_str());
    environment.set("VIRTUAL_ENV", path.as_os_str());
    environment.remove("PYTHONHOME");
    Ok(())
}

/// A program, and the data with which its executable and its arguments are found.
struct Resolution<'a> {
    program: &'a Program,
    place: &'a InstanceContext<'a>,
    environment: &'a Environment,
    /// True if a shell loads modules before it starts the program.
    in_shell: bool,
}

fn first_word(resolution: &Resolution<'_>, executable: &str) -> Result<ShellWord, Fault> {
    let &Resolution { program, place, environment, in_shell } = resolution;
    if in_shell && is_for_shell(program, executable) {
        return Ok(ShellWord::Executable(executable.to_owned()));
    }
    if let Some(name) = unset(executable, environment) {
        return Err(fault!(
            EXECUTABLE_MISSING,
            "the variable {name} in \"executable: {executable}\" is not set; set it where the run is started, \
            or under \"env:\", or name the module that sets it under \"modules:\""
        ));
    }
    let executable = expand(executable, environment).to_string_lossy().into_owned();
    // Modules may add a bare name to PATH, so the shell looks it up.
    Ok(ShellWord::Known(if in_shell && !executable.contains('/') {
        executable.into()
    } else {
        find_executable(program, place, &executable, environment)?.into_os_string()
    }))
}

/// Returns the first variable of a text that is not set. A path with such a variable could lead anywhere.
fn unset<'t>(text: &'t str, environment: &Environment) -> Option<&'t str> {
    variables(text).into_iter().find(|name| environment.get(name).is_none())
}

fn resolve_arguments(resolution: &Resolution<'_>) -> Vec<ShellWord> {
    let &Resolution { program, place, environment, in_shell } = resolution;
    let arguments = program.args.iter().flatten();
    arguments
        .map(|argument| {
            if in_shell && is_for_shell(program, argument) {
                return ShellWord::Argument(argument.clone());
            }
            let argument = expand(argument, environment);
            let Some(text) = argument.to_str().filter(|text| !text.is_empty() && !text.starts_with(['-', '/']))
            else {
                return ShellWord::Known(argument);
            };
            let file = beside(program, text);
            ShellWord::Known(match place.staged.get(&file) {
                Some(there) => there.clone().into_os_string(),
                None if file.is_file() => file.into_os_string(),
                None => argument,
            })
        })
        .collect()
}

fn find_executable(
    program: &Program,
    place: &InstanceContext<'_>,
    wanted: &str,
    environment: &Environment,
) -> Result<PathBuf, Fault> {
    if !wanted.contains('/') {
        let path = environment.get("PATH").unwrap_or_default();
        return find_in(path, wanted).ok_or_else(|| {
            fault!(
                EXECUTABLE_MISSING,
                "the command \"{wanted}\" is not in PATH; install it, or write the path to it (with a \"/\" \
                in it)"
            )
        });
    }
    let path = beside(program, wanted);
    let path = place.staged.get(&path).cloned().unwrap_or(path);
    if is_executable(&path) {
        return Ok(path);
    }
    let is_there = path.is_file();
    let path = path.display();
    Err(if is_there {
        fault!(EXECUTABLE_NOT_EXECUTABLE, "the executable {path} may not be executed; run \"chmod +x {path}\"")
    } else {
        fault!(EXECUTABLE_MISSING, "the executable {path} is not there; build it, or correct \"executable:\"")
    })
}

fn write_script(script: &str, place: &InstanceContext<'_>) -> Result<PathBuf, Fault> {
    let path = place.scratch.join("run.sh");
    let text = if script.starts_with("#!") { script.to_owned() } else { format!("#!/bin/bash\n{script}") };
    std::fs::write(&path, text)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)))
        .map_err(|error| fault!(NOT_STARTABLE, "the script {} cannot be written: {error}", path.display()))?;
    Ok(path)
}

/// Returns the text, quoted as one word for a shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a path at a site, quoted as one word for a shell there. A path that begins with `~/` is below
/// the home directory.
pub fn quote_path(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(below) => format!("\"$HOME\"/{}", quote(below)),
        None if path == "~" => "\"$HOME\"".to_owned(),
        None => quote(path),
    }
}

/// Returns the text as one word for a shell, quoted only if necessary.
pub(crate) fn plain_or_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        quote(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::{At, Reference};

    /// A directory with a model file, a script beside it, and the directories of an instance.
    struct CommandFixture {
        path: PathBuf,
    }

    impl CommandFixture {
        fn new(test: &str) -> CommandFixture {
            let path = std::env::temp_dir().join(format!("ligament-command-{}-{test}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(path.join("bin")).unwrap();
            for (file, mode) in [("micro.py", 0o644), ("tool", 0o755), ("bin/found", 0o755), ("plain", 0o644)] {
                std::fs::write(path.join(file), "#!/bin/sh\n").unwrap();
                std::fs::set_permissions(path.join(file), std::fs::Permissions::from_mode(mode)).unwrap();
            }
            CommandFixture { path }
        }

        fn program(&self, executable: &str, args: &[&str]) -> Program {
            let mut program = Program::new(Reference::new("micro").unwrap());
            let file = self.path.join("m.ymmsl").display().to_string();
            program.at = At { file: Some(file.into()), line: 1, column: 1 };
            program.executable = Some(executable.into());
            program.args = Some(args.iter().map(|arg| (*arg).to_owned()).collect());
            program
        }

        fn prepare(&self, program: &Program) -> Result<Command, Fault> {
            self.prepare_with(program, &HashMap::new())
        }

        fn prepare_with(
            &self,
            program: &Program,
            staged: &HashMap<PathBuf, PathBuf>,
        ) -> Result<Command, Fault> {
            let place = InstanceContext {
                staged,
                instance: "micro[2]",
                model_directory: &self.path,
                directory: &self.path,
                output: &self.path.join("output.log"),
                scratch: &self.path,
                not_inherited: &["CARGO_MANIFEST_DIR"],
                cores: &[],
                nodes: &[],
            };
            prepare(program, Resources::Threads { threads: 3 }, &place)
        }
    }

    impl Drop for CommandFixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }

    #[test]
    fn files_beside_the_model_are_named_in_full_and_other_arguments_kept() {
        let ground = CommandFixture::new("arguments");
        let args = ["micro.py", "${LIGAMENT_MODEL_DIR}/data", "-n", "nothing.py", "bin", ""];
        let command = ground.prepare(&ground.program("./tool", &args)).unwrap();
        let full = |name: &str| ground.path.join(name).into_os_string();
        assert_eq!(command.program, ground.path.join("tool"));
        let wanted =
            [full("micro.py"), full("data"), "-n".into(), "nothing.py".into(), "bin".into(), "".into()];
        assert_eq!(command.arguments, wanted);
    }

    #[test]
    fn a_program_and_a_script_that_are_staged_are_those_where_the_instance_runs() {
        let ground = CommandFixture::new("staged");
        let there = |name: &str| ground.path.join("bin").join(name);
        std::fs::copy(ground.path.join("tool"), there("tool")).unwrap();
        let staged = ["tool", "micro.py"].map(|name| (ground.path.join(name), there(name)));
        std::fs::remove_file(ground.path.join("tool")).unwrap();
        let command =
            ground.prepare_with(&ground.program("./tool", &["micro.py", "plain"]), &staged.into()).unwrap();
        assert_eq!(command.program, there("tool"));
        assert_eq!(command.arguments, [there("micro.py").into_os_string(), ground.path.join("plain").into()]);
    }

    #[test]
    fn a_bare_name_is_looked_up_in_the_path_that_the_program_gives_itself() {
        let ground = CommandFixture::new("path");
        let mut program = ground.program("found", &[]);
        assert!(ground.prepare(&program).unwrap_err().contains("not in PATH"));
        program.env.insert("+PATH".into(), format!(":{}/bin", ground.path.display()));
        assert_eq!(ground.prepare(&program).unwrap().program, ground.path.join("bin/found"));
    }

    #[test]
    fn a_program_that_cannot_be_started_says_why() {
        let ground = CommandFixture::new("why");
        let why = |program: &Program| ground.prepare(program).unwrap_err();
        assert!(why(&ground.program("./plain", &[])).contains("chmod +x"));
        assert!(why(&ground.program("./nowhere", &[])).contains("is not there"));
        let mut empty = ground.program("./tool", &[]);
        empty.executable = None;
        assert!(why(&empty).contains("neither an executable nor a script"));
    }

    #[test]
    fn threads_are_told_unless_the_program_says_otherwise() {
        let ground = CommandFixture::new("threads");
        let mut program = ground.program("./tool", &[]);
        program.base_env = BaseEnv::Clean;
        program.env.insert("OMP_NUM_THREADS".into(), "7".into());
        let command = ground.prepare(&program).unwrap();
        assert_eq!(command.environment.get("OMP_NUM_THREADS").unwrap(), "7");
        assert_eq!(command.environment.get("PYTHONUNBUFFERED").unwrap(), "1");
    }

    #[test]
    fn variables_that_say_who_this_process_is_are_not_inherited() {
        let ground = CommandFixture::new("identity");
        let mut program = ground.program("./tool", &[]);
        program.base_env = BaseEnv::Manager;
        let command = ground.prepare(&program).unwrap();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo test sets it");
        assert!(command.environment.get("CARGO_MANIFEST_DIR").is_none());
        assert!(command.environment.get("PATH").is_some());
    }

    #[test]
    fn modules_are_loaded_by_a_login_shell_that_becomes_the_program() {
        let ground = CommandFixture::new("modules");
        let mut program = ground.program("./tool", &["a b"]);
        program.modules = Some(vec!["it's".into()]);
        program.env.insert("X".into(), "y z".into());
        let command = ground.prepare(&program).unwrap();
        assert!(command.program.ends_with("bash"));
        let script = command.arguments[2].to_str().unwrap();
        assert!(script.contains(r"module load 'it'\''s' || exit 1"), "{script}");
        assert!(script.contains("export X='y z'"), "{script}");
        assert!(script.ends_with("exec \"${1}\" \"${2}\"\n"), "{script}");
        assert_eq!(command.arguments[4..], [ground.path.join("tool").into_os_string(), "a b".into()]);
    }

    #[test]
    fn variables_are_filled_in_wherever_a_program_names_something() {
        let ground = CommandFixture::new("variables");
        std::fs::create_dir_all(ground.path.join("venv/bin")).unwrap();
        std::fs::write(ground.path.join("venv/bin/python"), "").unwrap();
        let mut program = ground.program("$ROOT/tool", &["$ROOT/micro.py", "$NAME.py", "$$ROOT", "x$NONE"]);
        program.env.insert("ROOT".into(), ground.path.display().to_string());
        program.env.insert("NAME".into(), "micro".into());
        program.virtual_env = Some("${ROOT}/venv".into());
        let full = |name: &str| ground.path.join(name).into_os_string();
        for modules in [None, Some(vec!["solver".to_owned()])] {
            let command = ground.prepare(&Program { modules: modules.clone(), ..program.clone() }).unwrap();
            let (words, python) = match modules {
                None => (
                    std::iter::once(command.program.into()).chain(command.arguments).collect(),
                    &command.environment,
                ),
                // All values are the program's own, so they are known before modules are loaded.
                Some(_) => (command.arguments[4..].to_vec(), &command.environment),
            };
            let wanted: [OsString; 5] =
                [full("tool"), full("micro.py"), full("micro.py"), "$ROOT".into(), "x".into()];
            let known = if words.len() == 5 { &wanted[..] } else { &wanted[..4] };
            assert_eq!(words, known);
            assert_eq!(python.get("VIRTUAL_ENV").unwrap(), &full("venv"));
        }
        program.executable = Some("$NONE/tool".into());
        let why = ground.prepare(&program).unwrap_err();
        assert!(why.contains("the variable NONE in \"executable: $NONE/tool\" is not set"), "{why}");
        program.virtual_env = Some("$NONE/venv".into());
        assert!(ground.prepare(&program).unwrap_err().contains("NONE in \"virtual_env: $NONE/venv\""));
    }

    #[test]
    fn an_instance_s_name_is_filled_in_and_its_token_never_is_however_it_is_started() {
        let ground = CommandFixture::new("identity-in-arguments");
        let mut program =
            ground.program("./tool", &["$LIGAMENT_INSTANCE", "-x${LIGAMENT_TOKEN}$LIGAMENT_AGENT"]);
        for base_env in [BaseEnv::Manager, BaseEnv::Login] {
            program.base_env = base_env;
            let command = ground.prepare(&program).unwrap();
            let words = &command.arguments[command.arguments.len() - 2..];
            assert_eq!(words, ["micro[2]", "-x"], "{base_env:?}");
            assert!(command.environment.get(ENV_INSTANCE).is_none());
        }
        program.args = Some(vec!["$OF_A_MODULE$LIGAMENT_TOKEN".into()]);
        let script = ground.prepare(&program).unwrap().arguments[2].to_str().unwrap().to_owned();
        assert!(script.contains("${OF_A_MODULE}") && !script.contains("TOKEN"), "{script}");
    }

    #[test]
    fn a_script_is_written_and_started_as_it_is() {
        let ground = CommandFixture::new("script");
        let mut program = ground.program("./tool", &[]);
        program.executable = None;
        program.script = Some("echo hello\n".into());
        let command = ground.prepare(&program).unwrap();
        assert_eq!(std::fs::read_to_string(&command.program).unwrap(), "#!/bin/bash\necho hello\n");
    }
}
