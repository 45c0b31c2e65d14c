//! Why a program failed, as far as its output tells: the line that says it, and what a user can do.

use crate::ran::Ran;
use std::path::{Path, PathBuf};

/// Where a program ran, as far as that is known here.
#[derive(Debug, Clone, Copy, Default)]
pub struct Where<'a> {
    /// What was started.
    pub ran: Option<&'a Ran>,
    /// Its working directory.
    pub directory: Option<&'a Path>,
    /// The component that it runs, and the directory of the model file.
    pub component: &'a str,
    pub model: Option<&'a Path>,
}

/// Words that mark a line as an error.
const TELLING: [&str; 15] = [
    "error",
    "exception",
    "no such",
    "not found",
    "cannot",
    "can't",
    "could not",
    "failed",
    "fatal",
    "denied",
    "panicked",
    "what():",
    "undefined",
    "invalid",
    // MPICH's launcher, of a rank; what it says after that is advice.
    "terminated with",
];

/// Picks the line that says why a program failed from its last lines: the exception of a Python traceback, else
/// the last line that mentions an error, else the last line.
pub fn error_line(lines: &[String]) -> Option<&str> {
    // Launchers frame what they say with rulers.
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).filter(says).collect();
    let traceback = lines.iter().rposition(|line| line.starts_with("Traceback (most recent call last)"));
    let exception = traceback.and_then(|at| lines[at + 1..].iter().find(|line| !line.starts_with([' ', '\t'])));
    let says_why = |line: &&&str| {
        let line = line.to_lowercase();
        // What Rust adds to a panic.
        !line.starts_with("note: ") && TELLING.iter().any(|word| line.contains(word))
    };
    let found = exception.or_else(|| lines.iter().rev().find(says_why)).or(lines.last());
    found.map(|line| line.trim_start())
}

/// What can be done about an error that a program printed, as the rest of a sentence about it.
pub fn advice(error: &str, place: &Where<'_>) -> Option<String> {
    python(error, place).or_else(|| library(error)).or_else(|| command(error)).or_else(|| file(error, place))
}

/// The advice for a missing module.
fn python(error: &str, place: &Where<'_>) -> Option<String> {
    let interpreter = place.ran.and_then(Ran::python);
    let python = interpreter.as_ref().map_or("its Python".to_owned(), |path| path.display().to_string());
    let pip = interpreter.map_or("python3".to_owned(), |path| path.display().to_string());
    const ANOTHER: &str = "name another one with \"executable:\" or \"virtual_env:\" in the model";
    let install = format!("install the wheel there ({pip} -m pip install ligament_coupling-….whl)");
    let missing = error.split_once("No module named ").map(|(_, rest)| rest.trim_start_matches(['\'', '"']));
    if let Some(missing) = missing {
        let module: &str = missing.split(['\'', '"', ' ', ';', '.']).next().unwrap_or_default();
        return Some(match module {
            "ligament" => {
                format!("{python} ran it, in which Ligament is not installed: {ANOTHER}, or {install}")
            }
            _ => format!("{python} ran it, which does not find {module}: install it there, or {ANOTHER}"),
        });
    }
    let another = (error.contains("cannot import name") && error.contains("from 'ligament'"))
        || error.contains("module 'ligament' has no attribute");
    another.then(|| {
        format!(
            "another module is called ligament where {python} looks: a file ligament.py of yours, or the build tool \
             that \"pip install ligament\" brings (remove it with {pip} -m pip uninstall ligament, then {install})"
        )
    })
}

/// A shared library that the loader does not find.
fn library(error: &str) -> Option<String> {
    let library = match error.split_once("error while loading shared libraries: ") {
        Some((_, rest)) => rest.split(':').next()?,
        // As Python says it of a module in C.
        None => error.split_once(": cannot open shared object file")?.0.rsplit(' ').next()?,
    };
    Some(match library.starts_with("libligament.so") {
        true => format!(
            "the loader does not find {library}: link the program with what \"ligament config --libs\" says, which has \
             the path, or name the directory in the model (env: {{+LD_LIBRARY_PATH: \":DIRECTORY\"}})"
        ),
        false => format!(
            "the loader does not find {library}: install it, load its module (\"modules:\"), or name its directory in \
             the model (env: {{+LD_LIBRARY_PATH: \":DIRECTORY\"}})"
        ),
    })
}

/// A command that a script asks for.
fn command(error: &str) -> Option<String> {
    const ADVICE: &str =
        "install it, load its module (\"modules:\"), or add its directory to PATH under \"env:\"";
    if let Some(rest) = error.strip_prefix("env: ") {
        let name = rest.split([':']).next()?.trim_matches(|c| "'\"‘’".contains(c));
        return Some(format!(
            "the script's first line (#!) asks for {name}, which is not in its PATH: {ADVICE}"
        ));
    }
    let (before, _) = error.split_once(": command not found").or_else(|| error.split_once(": not found"))?;
    let name = before.rsplit(' ').next()?;
    Some(format!("{name} is not in its PATH: {ADVICE}"))
}

/// A file that is missing where the program looked for it.
fn file(error: &str, place: &Where<'_>) -> Option<String> {
    const SAYING: [&str; 3] = ["No such file or directory", "FileNotFoundError", "kind: NotFound"];
    if !SAYING.iter().any(|words| error.contains(words)) {
        return None;
    }
    let named = named_in(error);
    if named.as_ref().is_some_and(|path| path.is_absolute()) {
        return None;
    }
    let mut advice = match place.directory {
        Some(directory) => format!("its working directory is {}", directory.display()),
        None => "it has a working directory of its own".to_owned(),
    };
    advice.push_str("; name input files under \"stage:\" in the model");
    let beside = place.model.zip(named).filter(|(model, named)| model.join(named).exists());
    if let Some((_, named)) = beside {
        let what = crate::command::plain_or_quoted(&named.to_string_lossy());
        advice.push_str(&format!(" ({what} lies beside it: \"stage: {{{}: {what}}}\")", place.component));
    }
    Some(advice)
}

/// The file that an error names: the quoted text at its end, else the word before the description of the error.
fn named_in(error: &str) -> Option<PathBuf> {
    for quote in ['\'', '"', '`'] {
        let mut parts = error.rsplit(quote);
        if let (Some(_), Some(named), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            if !named.is_empty() && !named.contains("No such file") {
                return Some(named.into());
            }
        }
    }
    let (before, _) = error.split_once(": No such file").or_else(|| error.split_once(" not found"))?;
    let named = before.rsplit(' ').next()?;
    Some(named.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn of_the_last_lines_the_one_is_taken_that_says_why() {
        let traceback = "Traceback (most recent call last):\n  File \"errors.py\", line 1, in <module>\n    \
                         raise Problem('x')\nmine.Problem: too hot\nsee the manual\nTime: 3 s\n";
        let cases = [
            (traceback, "mine.Problem: too hot"),
            (
                "  File \"x.py\", line 1\n    f(\n     ^\nSyntaxError: '(' was never closed\n\n",
                "SyntaxError: '(' was never closed",
            ),
            ("reading\nmesh.txt: No such file or directory\nbye\n", "mesh.txt: No such file or directory"),
            (
                "thread 'main' panicked at x.rs:1:\nnote: run with `RUST_BACKTRACE=1` for an error\n",
                "thread 'main' panicked at x.rs:1:",
            ),
            ("terminate called after throwing an instance of 'X'\n  what():  no mesh\n", "what():  no mesh"),
            (
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\nPlease see the FAQ page\n",
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            ),
            ("begin\nend\n", "end"),
            ("-----\nthe job has been aborted.\n-----\n", "the job has been aborted."),
        ];
        for (text, wanted) in cases {
            assert_eq!(error_line(&lines(text)), Some(wanted));
        }
        assert_eq!(error_line(&[]), None);
        assert_eq!(error_line(&lines("-----\n")), None);
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let place =
            Where { directory: Some(Path::new("/run/workdir")), component: "micro", ..Where::default() };
        let cases = [
            ("ModuleNotFoundError: No module named 'ligament'", "Ligament is not installed"),
            ("/usr/bin/python3: No module named ligament", "Ligament is not installed"),
            ("ModuleNotFoundError: No module named 'numpy.linalg'", "does not find numpy:"),
            ("ImportError: cannot import name 'Instance' from 'ligament' (/x/ligament/__init__.py)", "another module"),
            ("./a: error while loading shared libraries: libligament.so.0: cannot open shared object file: No such \
              file or directory", "does not find libligament.so.0: link"),
            ("ImportError: libhdf5.so.3: cannot open shared object file: No such file or directory", "find libhdf5.so.3: install"),
            ("env: ‘python9’: No such file or directory", "asks for python9,"),
            ("/x/run.sh: line 2: mesher: command not found", "mesher is not in its PATH"),
            ("/x/run.sh: 2: mesher: not found", "mesher is not in its PATH"),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'data/mesh.txt'", "is /run/workdir; name input"),
            ("mesh.txt: No such file or directory", "\"stage:\""),
            ("FileNotFoundError: mesh.npy not found.", "\"stage:\""),
        ];
        for (error, wanted) in cases {
            let advice = advice(error, &place).unwrap_or_default();
            assert!(advice.contains(wanted), "{error}: {advice}");
        }
        for error in [
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/mesh.txt'",
            "cat: /data/mesh.txt: No such file or directory",
            "ValueError: negative",
        ] {
            assert_eq!(advice(error, &place), None, "{error}");
        }
    }
}
