//! The bash script that starts a program which needs modules. The script loads the modules, sets the
//! environment, and executes the program. It also fills in variables that modules may set, as the start
//! script of MUSCLE 3 does.

use crate::command::{beside, quote, Command};
use ligament_model::{is_variable_name, pieces, variables, BaseEnv, Program, TextPiece};
use ligament_wire::control::{ENV_IDENTITY, ENV_INSTANCE};
use std::ffi::OsString;

/// A word of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShellWord {
    /// A word that is known before the shell starts.
    Known(OsString),
    /// The executable, with variables that the shell fills in.
    Executable(String),
    /// An argument with variables that the shell fills in.
    Argument(String),
}

/// Returns true if only the shell can complete a text, because the text has variables that modules or a login
/// script may set.
pub(crate) fn is_for_shell(program: &Program, text: &str) -> bool {
    // The shell sets the program's own values again after it has loaded the modules, so these values are
    // known before.
    let is_own = |name: &str| program.env.contains_key(name) && !program.env.contains_key(&format!("+{name}"));
    let is_known = |name: &str| name == "LIGAMENT_MODEL_DIR" || ENV_IDENTITY.contains(&name) || is_own(name);
    !variables(text).into_iter().all(is_known)
}

/// The options of bash that run the script in a login shell.
const LOGIN_SCRIPT: [&str; 2] = ["-l", "-c"];

/// Returns true if a command runs a script in a login shell.
pub(crate) fn starts(command: &Command) -> bool {
    command.arguments.starts_with(&LOGIN_SCRIPT.map(OsString::from))
}

/// Returns the arguments of bash: the script, and the words that are known before the shell starts.
pub(crate) fn arguments(program: &Program, words: Vec<ShellWord>) -> Vec<OsString> {
    let mut script = modules(program);
    environment(program, &mut script);
    if let Some(path) = &program.virtual_env {
        virtual_env(program, path, &mut script);
    }
    let (mut known, mut line) = (Vec::new(), String::new());
    for (i, word) in words.into_iter().enumerate() {
        match word {
            ShellWord::Known(word) => {
                known.push(word);
                line.push_str(&format!(" \"${{{}}}\"", known.len()));
            }
            ShellWord::Executable(text) => {
                executable(program, &text, &mut script);
                line.push_str(" \"$ligament_executable\"");
            }
            ShellWord::Argument(text) => {
                argument(program, &text, i, &mut script);
                line.push_str(&format!(" \"$ligament_word_{i}\""));
            }
        }
    }
    script.push_str(&format!("exec{line}\n"));
    let script = [script.into(), "ligament".into()];
    LOGIN_SCRIPT.map(OsString::from).into_iter().chain(script).chain(known).collect()
}

fn modules(program: &Program) -> String {
    let modules = program.modules.as_deref().unwrap_or_default();
    let mut script = String::new();
    if !modules.is_empty() {
        let why = format!(
            "ligament: cannot load modules: {} (modules: {})",
            crate::cause::NO_MODULE_COMMAND,
            modules.join(", ")
        );
        script.push_str(&format!("command -v module > /dev/null || {}\n", fail(&quote(&why), 1)));
    }
    if program.base_env == BaseEnv::Clean {
        script.push_str("module purge\n");
    }
    for module in modules {
        script.push_str(&format!("module load {} || exit 1\n", quote(module)));
    }
    script
}

/// Adds the program's own variables to the script. A login shell and modules may change these variables, so
/// the script sets them last.
fn environment(program: &Program, script: &mut String) {
    // A shell would execute a word that is not a variable name.
    let is_name = |name: &str| is_variable_name(name.strip_prefix('+').unwrap_or(name));
    for (name, value) in program.env.iter().filter(|(name, _)| is_name(name)) {
        let line = match name.strip_prefix('+') {
            Some(name) => format!("export {name}=\"${{{name}}}\"{}\n", quote(value)),
            None => format!("export {name}={}\n", quote(value)),
        };
        script.push_str(&line);
    }
}

fn virtual_env(program: &Program, path: &str, script: &mut String) {
    must_be_set("virtual_env", path, script);
    script.push_str(&format!("VIRTUAL_ENV={}\n", in_quotes(path)));
    beside_file(program, "VIRTUAL_ENV", script);
    let missing = fail(
        "\"ligament: cannot enter the virtual environment $VIRTUAL_ENV: it has no bin/python; make it, or \
        correct \\\"virtual_env:\\\"\"",
        1,
    );
    script.push_str(&format!("[ -e \"$VIRTUAL_ENV/bin/python\" ] || {missing}\n"));
    script.push_str("export VIRTUAL_ENV PATH=\"$VIRTUAL_ENV/bin:$PATH\"\nunset PYTHONHOME\n");
}

fn executable(program: &Program, text: &str, script: &mut String) {
    must_be_set("executable", text, script);
    script.push_str(&format!("ligament_executable={}\n", in_quotes(text)));
    // `exec` looks up a name without a slash in PATH.
    script.push_str("case \"$ligament_executable\" in */*)\n");
    beside_file(program, "ligament_executable", script);
    let missing = fail(
        "\"ligament: cannot start $ligament_executable: it is not there, or may not be executed; build it, or \
        correct \\\"executable:\\\" or what sets its variables\"",
        127,
    );
    script.push_str(&format!(
        "[ -f \"$ligament_executable\" ] && [ -x \"$ligament_executable\" ] || {missing};;\nesac\n"
    ));
}

/// Adds an argument to the script. A relative name becomes the full path of the file beside the file that
/// defines the program, if that file exists.
fn argument(program: &Program, text: &str, i: usize, script: &mut String) {
    let name = format!("ligament_word_{i}");
    let directory = quote(&beside(program, ".").to_string_lossy());
    script.push_str(&format!(
        "{name}={}\ncase \"${name}\" in ''|-*|/*) ;; *) [ ! -f {directory}/\"${name}\" ] || \
        {name}={directory}/\"${name}\";; esac\n",
        in_quotes(text)
    ));
}

/// Adds commands that make the relative path in a shell variable absolute.
fn beside_file(program: &Program, name: &str, script: &mut String) {
    let directory = quote(&beside(program, ".").to_string_lossy());
    script.push_str(&format!("case \"${name}\" in /*) ;; *) {name}={directory}/\"${name}\";; esac\n"));
}

/// Adds a check that the variables of a path are set. A path with an unset variable could lead anywhere.
fn must_be_set(key: &str, text: &str, script: &mut String) {
    for name in variables(text) {
        let why =
            format!("ligament: cannot find \"{key}: {text}\": the variable {name} is not set where it starts");
        script.push_str(&format!("[ \"${{{name}+set}}\" ] || {}\n", fail(&quote(&why), 1)));
    }
}

/// Returns a command that prints a reason and ends the shell. `why` is already quoted for the shell.
fn fail(why: &str, status: u8) -> String {
    format!("{{ echo {why} >&2; exit {status}; }}")
}

/// Returns the text as one word of the shell, in which the shell fills in variables.
fn in_quotes(text: &str) -> String {
    let one = |piece| match piece {
        TextPiece::Text(text) => quote(text),
        // The shell's environment has the instance's token. If the shell filled it in, all users would see
        // it among the arguments of the program.
        TextPiece::Variable(name) if name != ENV_INSTANCE && ENV_IDENTITY.contains(&name) => String::new(),
        TextPiece::Variable(name) => format!("\"${{{name}}}\""),
    };
    pieces(text).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::{At, Reference};
    use std::path::{Path, PathBuf};
    use std::process;

    /// A home directory whose login shells have modules, with programs to start.
    struct ShellFixture(PathBuf);

    impl ShellFixture {
        fn new(test: &str) -> ShellFixture {
            let path = std::env::temp_dir().join(format!("ligament-shell-{}-{test}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(path.join("it's/bin")).unwrap();
            let profile = format!(
                "module() {{ [ \"$1\" = purge ] || export ROOT={} PATH=\"/of/$2:$PATH\" NAME=table; }}\n",
                quote(&path.join("it's").to_string_lossy())
            );
            std::fs::write(path.join(".bash_profile"), profile).unwrap();
            std::fs::write(path.join("table.csv"), "").unwrap();
            for name in ["bin/tool", "bin/python"] {
                let file = path.join("it's").join(name);
                std::fs::write(&file, "#!/bin/sh\nprintf '%s|' \"$VIRTUAL_ENV\" \"$PATH\" \"$OWN\" \"$@\"\n")
                    .unwrap();
                let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&file, executable).unwrap();
            }
            ShellFixture(path)
        }

        fn program(&self) -> Program {
            let mut program = Program::new(Reference::new("solver").unwrap());
            let file = self.0.join("m.ymmsl").display().to_string();
            program.at = At { file: Some(file.into()), line: 1, column: 1 };
            program.modules = Some(vec!["solver/1".into()]);
            program
        }

        /// Runs a program by the script. Returns its standard output and its errors.
        fn run(&self, program: &Program, words: Vec<ShellWord>) -> (String, String) {
            let mut command = process::Command::new("bash");
            command
                .args(arguments(program, words))
                .env_clear()
                .env("HOME", &self.0)
                .env("PATH", "/usr/bin:/bin");
            let output = command.output().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr))
        }
    }

    impl Drop for ShellFixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_modules_set_is_known_to_the_environment_the_program_and_its_arguments() {
        let ground = ShellFixture::new("set");
        let mut program = ground.program();
        program.virtual_env = Some("$ROOT".into());
        program.env.insert("+PATH".into(), ":/more".into());
        program.env.insert("OWN".into(), "a $b".into());
        for name in ["Q;echo x;", "+Q[$(echo x >&2)]", "", "A=B", "Q.6"] {
            program.env.insert(name.into(), "1".into());
        }
        let root = ground.0.join("it's").display().to_string();
        let word = |text: &str| ShellWord::Argument(text.into());
        let words = vec![
            ShellWord::Executable("$ROOT/bin/tool".into()),
            word("$ROOT/x y"),
            ShellWord::Known("$ROOT".into()),
            word("$NAME.csv"),
            word("$NONE"),
            word("-$$ROOT"),
        ];
        let (said, why) = ground.run(&program, words);
        let table = ground.0.join("table.csv").display().to_string();
        let told: Vec<&str> = said.split('|').collect();
        assert_eq!(why, "");
        assert_eq!(told[0], root);
        assert!(
            told[1].starts_with(&format!("{root}/bin:/of/solver/1:")) && told[1].ends_with(":/more"),
            "{said}"
        );
        assert_eq!(told[2..], ["a $b", &format!("{root}/x y"), "$ROOT", &table, "", "-$ROOT", ""]);
    }

    #[test]
    fn what_modules_do_not_bring_is_named() {
        let ground = ShellFixture::new("not");
        let start = |program: &Program, executable: &str| {
            let (said, why) = ground.run(program, vec![ShellWord::Executable(executable.into())]);
            assert_eq!(said, "");
            why
        };
        let mut program = ground.program();
        let why = start(&program, "$NONE/bin/tool");
        assert!(why.contains("\"executable: $NONE/bin/tool\": the variable NONE is not set"), "{why}");
        let why = start(&program, "$ROOT/bin/nothing");
        assert!(why.contains("it's/bin/nothing: it is not there"), "{why}");
        program.virtual_env = Some("$ROOT/other".into());
        let why = start(&program, "$ROOT/bin/tool");
        assert!(why.contains("it's/other: it has no bin/python"), "{why}");
        std::fs::remove_file(ground.0.join(".bash_profile")).unwrap();
        let why = start(&program, "$ROOT/bin/tool");
        assert!(why.contains(crate::cause::NO_MODULE_COMMAND) && why.lines().count() == 1, "{why}");
    }

    #[test]
    fn only_the_shell_knows_what_is_not_the_programs_own() {
        let mut program = ShellFixture::new("own").program();
        program.env.insert("OWN".into(), "x".into());
        program.env.insert("+PATH".into(), ":/x".into());
        for (text, wanted) in [
            ("plain", false),
            ("$OWN/${LIGAMENT_MODEL_DIR}/$$ROOT", false),
            ("$OWN/$ROOT", true),
            ("$PATH", true),
        ] {
            assert_eq!(is_for_shell(&program, text), wanted, "{text}");
        }
        assert_eq!(beside(&program, "."), Path::new(program.at.file.as_deref().unwrap()).parent().unwrap());
    }
}
