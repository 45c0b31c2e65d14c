//! Modules that Python packages bring as entry points of the group `ymmsl.module`, as in MUSCLE 3. An entry
//! point names the text of the module. Only Python can find the entry points of packages, so a Python
//! program is run: by the Python beside this program, as in a virtual environment, else by `python3` from
//! the `PATH`. Without Python, no package brings a module.

use std::cell::OnceCell;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time within which Python must import the packages and answer.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum length of Python's answer (bytes).
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// The common part of both Python programs: nothing is imported from the current directory, and the output
/// of packages is not mixed with the answer.
const BEGIN: &str = "\
import sys, os
sys.path[:] = [p for p in sys.path if p]
answer = os.fdopen(os.dup(1), 'w', encoding='utf-8', newline='')
os.dup2(2, 1)
from importlib.metadata import entry_points
try:
    found = list(entry_points(group='ymmsl.module'))
except TypeError:
    found = list(entry_points().get('ymmsl.module', []))
";

/// Program that writes the names of all modules that packages bring, one a line.
const LIST: &str = "answer.writelines(e.name + '\\n' for e in found)\n";

/// Program that writes the text of one module, after lines with its origin and with the origins of other
/// modules of this name. If it fails, it writes the reason.
const LOAD: &str = "\
found = [e for e in found if e.name == sys.argv[1]]
def whence(e):
    dist = getattr(e, 'dist', None)
    return e.value + (' of ' + dist.metadata['Name'] if dist else '')
try:
    text = found[0].load()
    if not isinstance(text, str):
        raise TypeError('it is of type ' + type(text).__name__ + ', and not a text')
    answer.write('text\\n' + whence(found[0]) + '\\n' + ', '.join(map(whence, found[1:])) + '\\n' + text)
except Exception as error:
    answer.write('error\\n' + whence(found[0]) + '\\n' + type(error).__name__ + ': ' + str(error))
";

/// The Python interpreter in which this code runs, if it runs in one.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// A module that a package brings.
#[derive(Debug, PartialEq)]
pub(crate) struct PackagedModule {
    pub text: String,
    /// `module:name of package`
    pub from: String,
    /// Other modules of the same name, which are not used.
    pub others: String,
}

/// The reason why a module that a package brings cannot be read. The caller that reports it adds a code.
#[derive(Debug)]
pub(crate) struct Broken(pub String);

/// The packages of one Python.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    /// The interpreter that is run; if `None`, there are no packages.
    python: Option<PathBuf>,
    names: OnceCell<Vec<String>>,
}

impl Packages {
    /// Sets the interpreter in which this code runs. From now on `of_environment` returns the packages of
    /// this interpreter.
    pub fn run_in(python: PathBuf) {
        let _ = OWN.set(python);
    }

    /// Returns the packages of the Python in which this code runs, else of the Python beside this program,
    /// else of the first Python on the `PATH`.
    pub fn of_environment() -> Packages {
        if let Some(python) = OWN.get() {
            return Packages { python: Some(python.clone()), names: OnceCell::new() };
        }
        let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("python3")));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&path).map(|directory| directory.join("python3"));
        let python = beside.into_iter().chain(others).find(|python| python.is_file());
        Packages { python, names: OnceCell::new() }
    }

    /// Returns the interpreter whose packages these are; `None` if there is no Python.
    pub fn python(&self) -> Option<&Path> {
        self.python.as_deref()
    }

    /// Returns true if a package brings a module of this name.
    fn has(&self, module: &str) -> bool {
        let names = self.names.get_or_init(|| {
            let listed = self.python.as_deref().and_then(|python| ask(python, LIST, &[]).ok());
            listed.unwrap_or_default().lines().map(str::to_owned).collect()
        });
        names.iter().any(|name| name == module)
    }

    /// Returns the module of this name, or `None` if no package brings one.
    ///
    /// # Errors
    /// A package brings the module, and its text cannot be read; the value gives the reason.
    pub(crate) fn find(&self, module: &str) -> Result<Option<PackagedModule>, Broken> {
        let Some(python) = self.python.as_deref().filter(|_| self.has(module)) else { return Ok(None) };
        let said = ask(python, LOAD, &[module])?;
        let mut parts = said.splitn(4, '\n');
        let mut next = || parts.next().unwrap_or_default();
        match (next(), next().to_owned()) {
            ("text", from) => {
                let (others, text) = (next().to_owned(), next().to_owned());
                Ok(Some(PackagedModule { text, from, others }))
            }
            ("error", from) => Err(Broken(format!("{from}: {}", [next(), next()].join(" ").trim_end()))),
            _ => Err(Broken(format!("{} did not say what it is", python.display()))),
        }
    }
}

/// Runs a Python program, and returns its answer.
fn ask(python: &Path, program: &str, arguments: &[&str]) -> Result<String, Broken> {
    let failed = |why: String| Broken(format!("{} cannot say: {why}", python.display()));
    let mut child = Command::new(python)
        .args(["-c", &[BEGIN, program, "answer.flush()\n"].concat()])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let out = child.stdout.take().expect("it is piped");
    // A thread reads the answer, so that the wait for a program that hangs ends in time.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
        let _ = tell.send(read.map(|_| bytes));
    });
    let until = Instant::now() + IMPORT_TIMEOUT;
    let said = told.recv_timeout(IMPORT_TIMEOUT);
    let said = match said {
        Ok(Ok(bytes)) => String::from_utf8(bytes).map_err(|_| failed("it does not speak UTF-8".into())),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("it has not answered for {} s", IMPORT_TIMEOUT.as_secs()))),
    };
    // The program has closed its output, or its time is over. It may still be running.
    while said.is_ok() && Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = child.kill();
    }
    match child.wait() {
        Ok(status) if !status.success() && said.is_ok() => Err(failed(format!("it ended with {status}"))),
        _ => said,
    }
}
