//! Recognition of scripts: the argument of an interpreter that is its script, and the first line of a script
//! that is executed directly.

use std::path::Path;

/// A language whose programs are run by an interpreter.
pub(crate) struct Language {
    /// Name of the language for messages, as in "a Python script".
    pub name: &'static str,
    /// Ending of the language's files.
    ending: &'static str,
    /// Program that runs the files.
    pub interpreter: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language { name: "Python", ending: "py", interpreter: "python3" },
    Language { name: "shell", ending: "sh", interpreter: "bash" },
    Language { name: "R", ending: "R", interpreter: "Rscript" },
    Language { name: "Julia", ending: "jl", interpreter: "julia" },
    Language { name: "Perl", ending: "pl", interpreter: "perl" },
    Language { name: "Ruby", ending: "rb", interpreter: "ruby" },
    Language { name: "Lua", ending: "lua", interpreter: "lua" },
    Language { name: "JavaScript", ending: "js", interpreter: "node" },
    Language { name: "Octave", ending: "m", interpreter: "octave" },
];

/// Returns the language of a file, by the ending of its name.
pub(crate) fn language(path: &Path) -> Option<&'static Language> {
    let ending = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.ending == ending)
}

/// The position of the script among an interpreter's arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// The argument at this position is the script.
    Script(usize),
    /// The argument at this position has several words. The interpreter would take them for one option.
    SeveralWords(usize),
    /// There is no script, or its position is unknown.
    Nothing,
}

/// Finds the script among the arguments of an executable, if the executable is an interpreter.
pub(crate) fn script_of(executable: &str, arguments: &[String]) -> ArgumentKind {
    let name = Path::new(executable).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    // `valued` has options whose value is the next argument. `attached` has options whose value may follow in
    // the same argument. `instead` has the letters of options that take code in place of a script, such as
    // `-c`.
    let (valued, attached, instead) = match stem {
        "python" | "pypy" | "ipython" => (&["-W", "-X"][..], &["-W", "-X"][..], "cm"),
        "bash" | "sh" | "dash" | "zsh" | "ksh" => {
            (&["-o", "-O", "+o", "+O", "--rcfile", "--init-file"][..], &[][..], "cs")
        }
        // Their options are not listed here. The script is only recognised if no option precedes it.
        "Rscript" | "julia" | "perl" | "ruby" | "lua" | "node" | "octave" => {
            return match arguments.first() {
                Some(first) if !first.starts_with('-') => ArgumentKind::Script(0),
                _ => ArgumentKind::Nothing,
            }
        }
        _ => return ArgumentKind::Nothing,
    };
    let mut next = 0;
    while let Some(argument) = arguments.get(next) {
        let letters = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        match (argument.as_str(), letters) {
            ("-" | "", _) => return ArgumentKind::Nothing,
            ("--", _) => {
                return if next + 1 < arguments.len() {
                    ArgumentKind::Script(next + 1)
                } else {
                    ArgumentKind::Nothing
                }
            }
            (option, _) if valued.contains(&option) => next += 2,
            (option, _) if attached.iter().any(|start| option.starts_with(start)) => next += 1,
            (option, Some(_)) if option.contains(char::is_whitespace) => {
                return ArgumentKind::SeveralWords(next)
            }
            (_, Some(letters)) if letters.contains(|c| instead.contains(c)) => return ArgumentKind::Nothing,
            (option, _) if option.starts_with('-') => next += 1,
            _ => return ArgumentKind::Script(next),
        }
    }
    ArgumentKind::Nothing
}

/// Returns the text after `#!` in the first line of a file, if the first line names an interpreter.
pub(crate) fn first_line(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(executable: &str, arguments: &[&str]) -> ArgumentKind {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        script_of(executable, &arguments)
    }

    #[test]
    fn the_script_is_the_first_argument_that_is_no_option() {
        for (executable, arguments, script) in [
            ("python3", &["micro.py", "-m"][..], 0),
            ("python3.11", &["-u", "-W", "ignore", "-Xdev", "micro.py"], 4),
            ("/opt/venv/bin/python", &["--", "-odd.py"], 1),
            ("bash", &["-eu", "-o", "pipefail", "run.sh"], 3),
            ("Rscript", &["model.R"], 0),
        ] {
            assert_eq!(
                found(executable, arguments),
                ArgumentKind::Script(script),
                "{executable} {arguments:?}"
            );
        }
        for (executable, arguments) in [
            ("python3", &["-m", "solver"][..]),
            ("python3", &["-uc", "print(1)"]),
            ("python3", &["-"]),
            ("python3", &[]),
            ("bash", &["-c", "echo a b"]),
            ("julia", &["-t", "4", "model.jl"]),
            ("./solver", &["input.txt"]),
        ] {
            assert_eq!(found(executable, arguments), ArgumentKind::Nothing, "{executable} {arguments:?}");
        }
        assert_eq!(found("python3", &["-u micro.py"]), ArgumentKind::SeveralWords(0));
    }
}
