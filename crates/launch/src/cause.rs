//! The cause of a program's failure, as far as the program's output shows it: the line that names the
//! cause, and advice for the user.

use crate::launched_program::LaunchedProgram;
use std::path::{Path, PathBuf};

/// The message of a program whose modules cannot be loaded, because there is no command `module`.
pub(crate) const NO_MODULE_COMMAND: &str = "there is no command \"module\" in a login shell here";

/// The circumstances of a failed program, as far as this process knows them.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailureContext<'a> {
    /// The program that was started.
    pub program: Option<&'a LaunchedProgram>,
    /// The working directory of the program.
    pub directory: Option<&'a Path>,
    /// The component that the program runs, and the directory of the model file.
    pub component: &'a str,
    pub model: Option<&'a Path>,
}

/// Words that mark a line as an error.
const ERROR_WORDS: [&str; 16] = [
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
    // MPICH's launcher prints this about a rank. Its advice follows on the next lines.
    "terminated with",
    // Slurm's srun prints this if its job has no room for another step.
    "temporarily disabled",
];

/// Number of lines at the end of the output in which an error of the program itself is searched.
const MAX_LINES_FROM_END: usize = 20;
/// Minimum length of a ruler, in characters. A ruler is a line that repeats one character; launchers frame
/// texts with rulers.
const MIN_RULER_CHARS: usize = 20;

/// Words of a framed text that only reports the end of a process. This end is known already; the cause is
/// in another text.
const CONSEQUENCE_WORDS: [&str; 6] = [
    "exited with non-zero status",
    "exited on signal",
    "a non-zero exit code",
    "MPI_ABORT was invoked",
    "job to be terminated",
    "has exited due to process",
];

/// Lines that launchers add about their own texts.
const LAUNCHER_NOTES: [&str; 3] =
    ["orte_base_help_aggregate", "prte_base_help_aggregate", "has sent help message"];

/// Returns the line of a program's last lines that names the cause of a failure. The first of these that
/// exists is returned: the exception of a Python traceback, the first sentence of a text that a launcher
/// has framed, the last line that mentions an error, the last line.
pub fn error_line(lines: &[String]) -> Option<String> {
    let (frames, outside) = frames(lines);
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let outside: Vec<&str> = outside.into_iter().filter(says).collect();
    let lines = &outside[outside.len().saturating_sub(MAX_LINES_FROM_END)..];
    let traceback = lines.iter().rposition(|line| line.starts_with("Traceback (most recent call last)"));
    let exception = traceback.and_then(|at| lines[at + 1..].iter().find(|line| !line.starts_with([' ', '\t'])));
    let says_why = |line: &&&str| {
        let line = line.to_lowercase();
        // Rust appends a note to the message of a panic. The note is not the cause.
        !line.starts_with("note: ") && ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let is_consequence =
        |frame: &&Vec<&str>| CONSEQUENCE_WORDS.iter().any(|words| frame.join(" ").contains(words));
    let framed =
        frames.iter().rev().find(|frame| !is_consequence(frame)).and_then(|frame| first_sentence(frame));
    let own = |line: &&str| line.trim_start().to_owned();
    exception
        .map(own)
        .or(framed)
        .or_else(|| lines.iter().rev().find(says_why).map(own))
        .or_else(|| lines.last().map(own))
        .or_else(|| frames.last().and_then(|frame| first_sentence(frame)))
}

/// Returns the texts between two rulers, and the lines outside of them.
fn frames(lines: &[String]) -> (Vec<Vec<&str>>, Vec<&str>) {
    let is_ruler = |line: &str| {
        let mut signs = line.trim().chars();
        let first = signs.next().filter(|sign| "-=*".contains(*sign));
        line.trim().len() >= MIN_RULER_CHARS && first.is_some_and(|first| signs.all(|sign| sign == first))
    };
    let lines = || lines.iter().map(|line| line.trim_end());
    // If the number of rulers is odd, the beginning of a framed text is cut off, and the first ruler ends
    // this text.
    let mut inside = lines().filter(|line| is_ruler(line)).count() % 2 == 1;
    let (mut frames, mut frame, mut outside) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines() {
        match (is_ruler(line), inside) {
            (true, true) => {
                frames.push(std::mem::take(&mut frame));
                inside = false;
            }
            (true, false) => inside = true,
            (false, true) => frame.push(line),
            (false, false) if LAUNCHER_NOTES.iter().any(|words| line.contains(words)) => {}
            (false, false) => outside.push(line),
        }
    }
    (frames, outside)
}

/// Returns the first sentence of a text, on one line. If the sentence ends with a colon, the next line is
/// added.
fn first_sentence(text: &[&str]) -> Option<String> {
    let mut lines = text.iter().map(|line| line.trim()).skip_while(|line| line.is_empty());
    let mut sentence = String::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let end = line.find(". ").map(|at| at + 1);
        sentence.push_str(if sentence.is_empty() { "" } else { " " });
        sentence.push_str(&line[..end.unwrap_or(line.len())]);
        if end.is_some() || line.ends_with('.') {
            break;
        }
    }
    if sentence.ends_with(':') {
        sentence.extend(lines.find(|line| !line.is_empty()).map(|line| format!(" {line}")));
    }
    Some(sentence).filter(|sentence| sentence.contains(char::is_alphanumeric))
}

/// Returns advice on an error of a program, as the rest of a sentence about the error.
pub fn advice(error: &str, place: &FailureContext<'_>) -> Option<String> {
    python(error, place)
        .or_else(|| launcher(error))
        .or_else(|| library(error))
        .or_else(|| command(error))
        .or_else(|| file(error, place))
}

/// Returns advice on a missing Python module.
fn python(error: &str, place: &FailureContext<'_>) -> Option<String> {
    let interpreter = place.program.and_then(LaunchedProgram::python);
    let python = interpreter.as_ref().map_or("its Python".to_owned(), |path| path.display().to_string());
    let pip = interpreter.map_or("python3".to_owned(), |path| path.display().to_string());
    const ANOTHER_PYTHON: &str = "name another one with \"executable:\" or \"virtual_env:\" in the model";
    let install = format!("install the wheel there ({pip} -m pip install ligament_coupling-….whl)");
    let missing = error.split_once("No module named ").map(|(_, rest)| rest.trim_start_matches(['\'', '"']));
    if let Some(missing) = missing {
        let module: &str = missing.split(['\'', '"', ' ', ';', '.']).next().unwrap_or_default();
        return Some(match module {
            "ligament" => {
                format!("{python} ran it, in which Ligament is not installed: {ANOTHER_PYTHON}, or {install}")
            }
            _ => {
                format!("{python} ran it, which does not find {module}: install it there, or {ANOTHER_PYTHON}")
            }
        });
    }
    let another = (error.contains("cannot import name") && error.contains("from 'ligament'"))
        || error.contains("module 'ligament' has no attribute");
    another.then(|| {
        format!(
            "another module is called ligament where {python} looks: a file ligament.py of yours, or the \
            build tool that \"pip install ligament\" brings (remove it with {pip} -m pip uninstall ligament, \
            then {install})"
        )
    })
}

/// Returns advice on an MPI launcher that starts nothing.
fn launcher(error: &str) -> Option<String> {
    const ADVICE: [(&str, &str); 5] = [
        (
            "attempt to run as root",
            "run it as another user, or, in a container, set OMPI_ALLOW_RUN_AS_ROOT=1 and \
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 before the run",
        ),
        (
            "not enough slots",
            "give it fewer mpi_processes under \"resources:\", or a job or --hosts with more processors",
        ),
        (
            "step creation temporarily disabled",
            "other steps of the job have its processors: ask for a larger job, or fewer mpi_processes under \
            \"resources:\"",
        ),
        (
            "direct launched using \"srun\"",
            "the MPI that the program was built with does not know this Slurm: load the module of one that \
            does, or write \"execution_model: openmpi\"",
        ),
        (
            "PMIX ERROR",
            "the launcher and the program seem to be of different MPIs: name the right launcher in \
            \"mpirun:\" under \"ligament:\", or load the module that the program was built with",
        ),
    ];
    let found = ADVICE.iter().find(|(words, _)| error.contains(words));
    found.map(|(_, advice)| (*advice).to_owned())
}

/// Returns advice on a shared library that the loader does not find.
fn library(error: &str) -> Option<String> {
    let library = match error.split_once("error while loading shared libraries: ") {
        Some((_, rest)) => rest.split(':').next()?,
        // This is the message of Python about a module in C.
        None => error.split_once(": cannot open shared object file")?.0.rsplit(' ').next()?,
    };
    Some(if library.starts_with("libligament.so") {
        format!(
            "the loader does not find {library}: link the program with what \"ligament config --libs\" says, \
            which has the path, or name the directory in the model (env: {{+LD_LIBRARY_PATH: \":DIRECTORY\"}})"
        )
    } else {
        format!(
            "the loader does not find {library}: install it, load its module (\"modules:\"), or name its \
            directory in the model (env: {{+LD_LIBRARY_PATH: \":DIRECTORY\"}})"
        )
    })
}

/// Returns advice on a command that a script does not find.
fn command(error: &str) -> Option<String> {
    // The command that loads modules cannot come from a module itself.
    if error.contains(NO_MODULE_COMMAND)
        || ["module: command not found", "module: not found"].iter().any(|end| error.ends_with(end))
    {
        return Some(
            "this machine has no Environment Modules or Lmod, or only interactive shells have them: set them \
            up for login shells (/etc/profile.d, ~/.bash_profile), or do without, with paths to what is \
            installed"
                .to_owned(),
        );
    }
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

/// Returns advice on a file that is missing where the program looked for it.
fn file(error: &str, place: &FailureContext<'_>) -> Option<String> {
    const NOT_FOUND_WORDS: [&str; 3] = ["No such file or directory", "FileNotFoundError", "kind: NotFound"];
    if !NOT_FOUND_WORDS.iter().any(|words| error.contains(words)) {
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

/// Returns the file that an error names: the quoted text at the end of the error or, if nothing is quoted,
/// the word before the description of the error.
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
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\nPlease see the FAQ \
                page\n",
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            ),
            ("begin\nend\n", "end"),
            ("-----\nthe job has been aborted.\n-----\n", "the job has been aborted."),
        ];
        for (text, wanted) in cases {
            assert_eq!(error_line(&lines(text)).as_deref(), Some(wanted));
        }
        assert_eq!(error_line(&[]), None);
        assert_eq!(error_line(&lines("-----\n")), None);
    }

    /// The texts in this test are those of Open MPI 4 and Slurm 22.
    #[test]
    fn of_a_text_that_a_launcher_frames_the_sentence_is_taken_that_says_why() {
        let ruler = "-".repeat(74);
        let framed = |text: &str| format!("{ruler}\n{text}\n{ruler}\n");
        let root = "mpirun has detected an attempt to run as root.\n\nRunning as root is *strongly* \
            discouraged as any mistake (e.g., in\ndefining TMPDIR) or bug can result in catastrophic damage \
            to the OS\nfile system.\n\nWe reiterate our advice against doing so - please do so at your own \
            risk.";
        let slots = format!(
            "There are not enough slots available in the system to satisfy the 4\nslots that were requested \
            by the application:\n\n  ./flow\n\nEither request fewer procs for your application, or make more \
            slots\navailable for use.\n{}\nslots cannot be counted.",
            "\n  an explanation".repeat(20)
        );
        let direct = "The application appears to have been direct launched using \"srun\",\nbut OMPI was not \
            built with SLURM's PMI support and therefore cannot\nexecute. There are several options for \
            building PMI support under\nSLURM, depending upon the SLURM version you are using:\n\n  version \
            16.05 or later: you can use SLURM's PMIx support.";
        let init = "*** An error occurred in MPI_Init\n*** on a NULL communicator\n[a:1] Local abort before \
            MPI_INIT completed\n";
        let abort = "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n\n\
            NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.";
        let ended = "mpirun detected that one or more processes exited with non-zero status, thus causing\n\
            the job to be terminated. The first process to do so was:\n\n  Process name: [[1,1],0]\n  Exit \
            code:    3";
        let aggregate =
            "[a:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n[a:1] Set MCA parameter \
                         \"orte_base_help_aggregate\" to 0 to see all help / error messages\n";
        let busy = "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n";
        let cases = [
            (
                framed(root),
                "mpirun has detected an attempt to run as root.",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            ),
            (
                framed(&slots),
                "There are not enough slots available in the system to satisfy the 4 slots that were \
                requested by the application: ./flow",
                "fewer mpi_processes",
            ),
            (
                framed(direct) + init,
                "The application appears to have been direct launched using \"srun\", but OMPI was not built \
                with SLURM's PMI support and therefore cannot execute.",
                "execution_model: openmpi",
            ),
            (format!("the mesh is invalid\n{}{aggregate}", framed(abort)), "the mesh is invalid", ""),
            (
                format!(
                    "the mesh is invalid\nbye\n{}{}",
                    framed(
                        "Primary job  terminated normally, but 1 process returned\na non-zero exit \
                    code. Per user-direction, the job has been \
                    aborted."
                    ),
                    framed(ended)
                ),
                "the mesh is invalid",
                "",
            ),
            (
                framed(abort),
                "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD with errorcode 3.",
                "",
            ),
            (
                format!("{busy}srun: Cancelled pending job step with signal 15\n"),
                busy.trim_end(),
                "ask for a larger job",
            ),
            (
                "[a:2] PMIX ERROR: NOT-SUPPORTED in file ../gds_base_fns.c at line 268\n".into(),
                "[a:2] PMIX ERROR: NOT-SUPPORTED in file ../gds_base_fns.c at line 268",
                "of different MPIs",
            ),
        ];
        for (text, wanted, to_do) in cases {
            let line = error_line(&lines(&text)).unwrap();
            assert_eq!(line, wanted);
            let advice = advice(&line, &FailureContext::default());
            assert!(advice.as_deref().unwrap_or_default().contains(to_do), "{line}: {advice:?}");
            // The first line of the text is cut off, as it is if it is no longer among the last lines.
            let cut: Vec<String> = lines(&text).split_off(1);
            assert!(cut.is_empty() || error_line(&cut).is_some());
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let place = FailureContext {
            directory: Some(Path::new("/run/workdir")),
            component: "micro",
            ..FailureContext::default()
        };
        let cases = [
            ("ModuleNotFoundError: No module named 'ligament'", "Ligament is not installed"),
            ("/usr/bin/python3: No module named ligament", "Ligament is not installed"),
            ("ModuleNotFoundError: No module named 'numpy.linalg'", "does not find numpy:"),
            ("ImportError: cannot import name 'Instance' from 'ligament' \
                (/x/ligament/__init__.py)", "another module"),
            ("./a: error while loading shared libraries: libligament.so.0: cannot open shared object file: No \
                such file or directory", "does not find libligament.so.0: link"),
            ("ImportError: libhdf5.so.3: cannot open shared object file: No such file or \
                directory", "find libhdf5.so.3: install"),
            ("env: ‘python9’: No such file or directory", "asks for python9,"),
            ("/x/run.sh: line 2: mesher: command not found", "mesher is not in its PATH"),
            ("/x/run.sh: 2: mesher: not found", "mesher is not in its PATH"),
            ("/x/run.sh: line 2: module: command not found", "no Environment Modules or Lmod"),
            ("ligament: cannot load modules: there is no command \"module\" in a login shell here (modules: \
                a)", "/etc/profile.d"),
            ("FileNotFoundError: [Errno 2] No such file or directory: \
                'data/mesh.txt'", "is /run/workdir; name input"),
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
