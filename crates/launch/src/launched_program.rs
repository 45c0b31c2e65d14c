//! The program that really runs after a start. For a script, this is the script's interpreter.

use crate::command::{plain_or_quoted, Command};
use crate::mpi::own_words;
use crate::shell;
use rustix::fs::{access, Access};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Number of bytes of a script's first line that the kernel reads.
const MAX_FIRST_LINE_BYTES: u64 = 256;

/// A program that was started. It is used to explain the program's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchedProgram {
    program: PathBuf,
    /// The arguments of the program. `None` if only a shell knows them.
    arguments: Option<Vec<OsString>>,
    /// The program's `PATH`.
    path: OsString,
}

impl LaunchedProgram {
    /// Returns the program of this command.
    pub fn of(command: &Command) -> LaunchedProgram {
        let path = command.environment.get("PATH").unwrap_or_default().to_owned();
        let mut words = own_words(command).into_iter();
        let program = words.next().unwrap_or_default().into();
        let arguments = (!shell::starts(command)).then(|| words.collect());
        LaunchedProgram { program, arguments, path }
    }

    /// Returns the program and its arguments in the syntax of a shell, if they are known.
    pub fn words(&self) -> Option<String> {
        let own = std::iter::once(self.program.as_os_str());
        let words = own.chain(self.arguments.as_ref()?.iter().map(OsString::as_os_str));
        let words: Vec<String> = words.map(|word| plain_or_quoted(&word.to_string_lossy())).collect();
        Some(words.join(" "))
    }

    /// Returns the Python interpreter that runs the program, if there is one. Some Python commands are
    /// scripts themselves, which find the real interpreter.
    pub fn python(&self) -> Option<PathBuf> {
        [self.program.clone(), self.interpreter()].into_iter().find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ["python", "pypy"].iter().any(|python| name.starts_with(python)) && !name.ends_with(".py")
        })
    }

    /// Returns the running program: the file itself, or the interpreter that the first line of a script
    /// names.
    pub fn interpreter(&self) -> PathBuf {
        let Some((interpreter, arguments)) = first_line(&self.program) else { return self.program.clone() };
        if interpreter.file_name() != Some(OsStr::new("env")) {
            return interpreter;
        }
        let mut words = arguments.split_whitespace();
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
        named.and_then(|name| find_in(&self.path, name)).unwrap_or(interpreter)
    }
}

/// Returns the file of this command in the first directory of `PATH` that has it.
pub(crate) fn find_in(path: &OsStr, command: &str) -> Option<PathBuf> {
    // A relative entry would refer to the working directory of `ligament`.
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(command))
        .find(|file| is_executable(file))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Returns the interpreter that a script's first line (`#!`) names, and the rest of that line.
fn first_line(script: &Path) -> Option<(PathBuf, String)> {
    let mut bytes = Vec::new();
    std::fs::File::open(script).ok()?.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut bytes).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?.trim_ascii_start();
    let end = line.iter().position(|byte| b" \t".contains(byte)).unwrap_or(line.len());
    let arguments = String::from_utf8_lossy(&line[end..]).trim().to_owned();
    Some((PathBuf::from(OsString::from_vec(line[..end].to_vec())), arguments))
}

/// Returns the reason why the system cannot start an existing file, with advice. Empty if the reason is
/// unknown.
pub(crate) fn explain_start_error(program: &Path, error: &std::io::Error) -> String {
    const ENOEXEC: i32 = 8;
    let named = first_line(program).map(|(interpreter, _)| interpreter);
    let is_dos = named.as_ref().is_some_and(|path| path.as_os_str().as_encoded_bytes().ends_with(b"\r"));
    let interpreter = named.as_ref().map(|path| path.display().to_string().trim_end().to_owned());
    match (error.kind(), interpreter) {
        (std::io::ErrorKind::NotFound, Some(_)) if is_dos => {
            "; its first line (#!) ends with a carriage return, as \
             files from Windows do: remove it with \"sed -i 's/\\r$//'\""
                .to_owned()
        }
        (std::io::ErrorKind::NotFound, Some(interpreter)) => format!(
            "; its first line (#!) names {interpreter}, which is not there: correct that line, or name the \
             interpreter with \"executable:\" and the script with \"args:\""
        ),
        // The file itself was found when the command was prepared, so the interpreter is missing.
        (std::io::ErrorKind::NotFound, None) => {
            "; the loader that it was linked for is not there: build it on \
             this machine, or for it (\"file\" tells what it is)"
                .to_owned()
        }
        (std::io::ErrorKind::PermissionDenied, Some(interpreter))
            if is_executable(program) && !is_executable(Path::new(&interpreter)) =>
        {
            format!("; its first line (#!) names {interpreter}, which may not be executed")
        }
        (std::io::ErrorKind::PermissionDenied, _) => {
            "; is it executable (chmod +x), on a file system whose programs may be executed?".to_owned()
        }
        _ if error.raw_os_error() == Some(ENOEXEC) => {
            "; it is no program of this machine: a script needs a first \
             line such as #!/bin/sh, a program has to be built for this processor"
                .to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(test: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-ran-{}-{test}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_script_is_run_by_what_its_first_line_names() {
        let sh = find_in(OsStr::new("/usr/bin:/bin"), "sh").unwrap();
        let cases = [
            ("plain", "#!/opt/x/python3 -u\nimport x\n", PathBuf::from("/opt/x/python3")),
            ("space", "#! /opt/x/python3\n", PathBuf::from("/opt/x/python3")),
            ("env", "#!/usr/bin/env sh\n", sh.clone()),
            ("split", "#!/usr/bin/env -S A=1 sh -e\n", sh),
            ("lost", "#!/usr/bin/env no-such-program\n", PathBuf::from("/usr/bin/env")),
        ];
        for (test, text, wanted) in cases {
            let program = script(test, text);
            let ran = LaunchedProgram {
                program: program.clone(),
                arguments: None,
                path: "relative:/usr/bin:/bin".into(),
            };
            assert_eq!(ran.interpreter(), wanted, "{text}");
            std::fs::remove_file(program).unwrap();
        }
        let ran = LaunchedProgram { program: "/bin/sh".into(), arguments: None, path: OsString::new() };
        assert_eq!(ran.interpreter(), PathBuf::from("/bin/sh"));
    }

    #[test]
    fn a_python_is_known_by_its_name_also_if_it_is_a_script_itself() {
        let directory = std::env::temp_dir().join(format!("ligament-python-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text, is_python) in [
            ("python3", "#!/bin/sh\nexec /opt/python3 \"$@\"\n", true),
            ("micro.py", "#!/opt/python3.12\n", true),
            ("python_model.py", "#!/bin/sh\n", false),
        ] {
            let program = directory.join(name);
            std::fs::write(&program, text).unwrap();
            let wanted = if name == "micro.py" { PathBuf::from("/opt/python3.12") } else { program.clone() };
            let ran = LaunchedProgram { program, arguments: None, path: OsString::new() };
            assert_eq!(ran.python(), Some(wanted).filter(|_| is_python), "{name}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_the_system_refuses_to_start_is_explained() {
        let cases = [
            ("gone", "#!/no/such/python3\n", "names /no/such/python3, which is not there"),
            ("dos", "#!/bin/sh\r\nexit 0\r\n", "carriage return"),
            ("may-not", "#!/etc/passwd\n", "names /etc/passwd, which may not be executed"),
            ("no-line", "\u{1}no program", "no program of this machine"),
        ];
        for (test, text, wanted) in cases {
            let program = script(test, text);
            let error = std::process::Command::new(&program).spawn().unwrap_err();
            let why = explain_start_error(&program, &error);
            assert!(why.contains(wanted), "{text}: {error}{why}");
            std::fs::remove_file(program).unwrap();
        }
    }
}
