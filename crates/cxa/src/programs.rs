//! Programs of the instances: the commands that MUSCLE 2 makes of their settings.

use crate::model::{CxaInstance, CxaModel, InstanceKind};
use crate::place::SyntaxFault;
use crate::value::{CxaValue, Heap};
use crate::write::needs_rewriting;
use ligament_model::quoted;
use std::fmt::Write;

/// Settings that start the program of a native instance.
const NATIVE: &[&str] = &["command", "args", "debugger", "java_class"];
const MPI: &[&str] = &["mpiexec_command", "mpiexec_args"];
const PYTHON: &[&str] = &["script", "python"];
const MATLAB: &[&str] = &["script", "args", "matlab_command", "matlab_args", "java_class"];

/// The option of `java` that lets classes call Ligament's library. Without it, newer JDKs print a warning.
const NATIVE_ACCESS: &str = "--enable-native-access=ALL-UNNAMED";

/// The variable that stays one: MUSCLE 2's own folder.
const HOME: &str = "${MUSCLE_HOME}";

/// A program in a model file.
#[derive(Debug, Default)]
pub(crate) struct ProgramText {
    /// Lines of the program.
    pub text: String,
    /// Number of processes, if MPI starts them.
    pub processes: Option<u64>,
    /// The command that starts them, if it is not `mpirun` or `mpiexec`.
    pub mpiexec: Option<String>,
}

/// Returns true for a setting that starts the program. Codes that ask for their command get it from the face.
pub(crate) fn is_of_program(kind: InstanceKind, name: &str) -> bool {
    match kind {
        InstanceKind::Native => NATIVE.contains(&name),
        InstanceKind::Mpi => NATIVE.contains(&name) || MPI.contains(&name),
        InstanceKind::Python => NATIVE.contains(&name) || PYTHON.contains(&name),
        InstanceKind::Matlab => MATLAB.contains(&name),
        InstanceKind::Java | InstanceKind::Terminal => false,
    }
}

struct CxaCommand<'a> {
    instance: &'a CxaInstance,
    heap: &'a Heap,
}

impl CxaCommand<'_> {
    fn setting(&self, name: &str) -> Option<String> {
        self.instance.settings.get(name).and_then(|value| match value {
            CxaValue::Unknown => None,
            value => self.heap.shown(value),
        })
    }

    /// Returns the words of a setting. MUSCLE 2 parts them at blanks and knows no quotes.
    fn words(&self, name: &str) -> Vec<String> {
        self.setting(name).map(|text| text.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// Writes the program of an instance.
pub(crate) fn program(
    instance: &CxaInstance,
    (model, heap): (&CxaModel, &Heap),
    warnings: &mut Vec<SyntaxFault>,
) -> ProgramText {
    let command = CxaCommand { instance, heap };
    let mut made = ProgramText::default();
    let mut words: Vec<String> = Vec::new();
    match instance.kind {
        InstanceKind::Native | InstanceKind::Mpi => {
            words.extend(command.setting("debugger"));
            words.push(command.setting("command").unwrap_or_else(|| {
                let what = format!("\"{}\" has no command", instance.name);
                warnings.push(instance.place.fault(what, "write the program under \"executable\""));
                format!("./{}", instance.name)
            }));
            words.extend(command.words("args"));
        }
        InstanceKind::Python => {
            words.push(command.setting("python").unwrap_or_else(|| "python3".to_owned()));
            words.extend(command.setting("script"));
            words.extend(command.words("args"));
        }
        InstanceKind::Matlab => {
            words.push(command.setting("matlab_command").unwrap_or_else(|| "matlab".to_owned()));
            words.extend(command.words("matlab_args"));
            words.extend(["-nosplash".to_owned(), "-nodisplay".to_owned(), "-r".to_owned()]);
            let script = command.setting("script").unwrap_or_default();
            words.push(format!("run('{}'); exit", script.replace('\'', "''")));
            words.extend(command.words("args"));
        }
        InstanceKind::Java | InstanceKind::Terminal => {
            words.extend(["java".to_owned(), NATIVE_ACCESS.to_owned()]);
            if !model.classpath.is_empty() {
                words.extend(["-cp".to_owned(), model.classpath.join(":")]);
            }
            words.extend(instance.class.clone());
        }
    }
    let mut words = words.iter().map(|word| quoted(&escaped(word)));
    let _ = writeln!(made.text, "    executable: {}", words.next().unwrap_or_default());
    let arguments: Vec<String> = words.collect();
    if !arguments.is_empty() {
        let _ = writeln!(made.text, "    args: [{}]", arguments.join(", "));
    }
    if instance.kind == InstanceKind::Mpi {
        mpi(&command, &mut made, warnings);
    }
    made
}

/// Adds what MPI needs to a program.
fn mpi(command: &CxaCommand, made: &mut ProgramText, warnings: &mut Vec<SyntaxFault>) {
    let (name, place) = (&command.instance.name, command.instance.place);
    made.text.push_str("    execution_model: openmpi\n");
    let mut left = Vec::new();
    let mut words = command.words("mpiexec_args").into_iter();
    while let Some(word) = words.next() {
        if !matches!(word.as_str(), "-np" | "-n" | "--np" | "-c") {
            left.push(word);
            continue;
        }
        let count = words.next().unwrap_or_default();
        made.processes = count.parse().ok().filter(|count| *count > 0);
        if made.processes.is_none() {
            let what = format!("\"{name}\" has \"{count}\" for the number of its processes");
            warnings.push(place.fault(what, "write a whole number above 0 under \"resources\""));
            made.processes = Some(1);
        }
    }
    if !left.is_empty() {
        let what = format!("\"{}\" for mpiexec of \"{name}\" is left out", left.join(" "));
        warnings.push(place.fault(what, "see docs/guides/mpi.md for what a model file says instead"));
    }
    if made.processes.is_none() {
        let what = format!("\"{name}\" does not say how many processes MPI starts; 1 is written");
        warnings.push(place.fault(what, "write mpi_processes under \"resources\""));
        made.processes = Some(1);
    }
    let own = |command: &String| !matches!(command.as_str(), "mpiexec" | "mpirun");
    made.mpiexec = command.setting("mpiexec_command").filter(own);
}

/// Returns a word in which a `$` is no variable, but for MUSCLE 2's folder.
fn escaped(word: &str) -> String {
    let parts: Vec<String> = word.split(HOME).map(|part| part.replace('$', "$$")).collect();
    parts.join(HOME).replace("$$ ", "$ ")
}

/// Warns of programs that do not run as they are, once for each kind.
pub(crate) fn warn_of_languages(model: &CxaModel, warnings: &mut Vec<SyntaxFault>) {
    const NOT_THERE: &str = "the calls of MUSCLE 2 are not there for them";
    const REWRITE: &str = "use Ligament's calls (docs/guides/coming-from-muscle3-or-precice.md)";
    const CLASS_PATH: &str = "add it to the class path in the model file, behind -cp \
                              (docs/guides/coming-from-muscle3-or-precice.md)";
    for (kind, what, lack, advice) in [
        (InstanceKind::Java, "classes of Java", "they need muscle2.jar", CLASS_PATH),
        (InstanceKind::Terminal, "classes of Java that MUSCLE 2 starts itself", NOT_THERE, REWRITE),
        (InstanceKind::Python, "Python with MUSCLE 2's module", NOT_THERE, REWRITE),
        (InstanceKind::Matlab, "MATLAB", NOT_THERE, REWRITE),
    ] {
        let mut found = model.instances.iter().filter(|one| one.kind == kind && needs_rewriting(one));
        let Some(first) = found.next() else { continue };
        let more = match found.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        warnings.push(first.place.fault(format!("\"{}\"{more}: {what}; {lack}", first.name), advice));
    }
    for instance in model.instances.iter().filter(|one| one.kind == InstanceKind::Java) {
        let of_all = model.settings.get(&format!("{}:command", instance.name));
        if instance.settings.get("command").or(of_all).is_some() {
            let what = format!(
                "\"{}\" has a command, as classes of Java that extend NativeKernel have; that class is not \
                 there",
                instance.name
            );
            warnings.push(instance.place.fault(what, "write NativeInstance.new with the command"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_muscle_2_is_a_variable() {
        assert_eq!(escaped("${MUSCLE_HOME}/$x"), "${MUSCLE_HOME}/$$x");
    }
}
