//! Making of instances: the arguments of each class of instance, and the settings that start its program.

use crate::calls::CallRequest;
use crate::evaluate::{Evaluated, Evaluation};
use crate::model::{CxaInstance, InstanceKind, SettingTable};
use crate::place::TextPosition;
use crate::value::CxaValue;

/// Options of the classes, by their names in versions of MUSCLE 2, and the setting that each one becomes.
const OPTIONS: &[(&str, &str)] = &[
    ("args", "args"),
    ("java_class", "java_class"),
    ("mpiexec", "mpiexec_command"),
    ("mpiexec_command", "mpiexec_command"),
    ("mpi_command", "mpiexec_command"),
    ("mpiexec_args", "mpiexec_args"),
    ("mpi_args", "mpiexec_args"),
    ("python", "python"),
    ("matlab", "matlab_command"),
    ("matlab_command", "matlab_command"),
    ("matlab_args", "matlab_args"),
    ("debugger", "debugger"),
];

/// Returns the kind of an instance that a class of MUSCLE 2 in Java makes.
fn kind_of_class(class: &str) -> InstanceKind {
    match class {
        "muscle.core.standalone.NativeKernel" => InstanceKind::Native,
        "muscle.core.standalone.MPIKernel" => InstanceKind::Mpi,
        "muscle.core.standalone.MatlabKernel" => InstanceKind::Matlab,
        _ => InstanceKind::Java,
    }
}

impl Evaluation<'_> {
    /// Makes an instance of a class of the cxa file.
    pub(crate) fn new_instance(&mut self, class: &str, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let name = self.word(place, &request.argument(0), "the name of an instance")?;
        let mut settings = SettingTable::default();
        let (kind, java) = match class {
            "NativeInstance" => (InstanceKind::Native, None),
            "MPIInstance" => (InstanceKind::Mpi, None),
            "PythonInstance" => (InstanceKind::Python, None),
            "MatlabInstance" => (InstanceKind::Matlab, None),
            _ => {
                let java = self.word(place, &request.argument(1), "the class of an instance")?;
                match class {
                    "Terminal" => (InstanceKind::Terminal, Some(java)),
                    _ => (kind_of_class(&java), Some(java)),
                }
            }
        };
        match kind {
            InstanceKind::Python | InstanceKind::Matlab if java.is_none() => {
                let script = self.word(place, &request.argument(1), "the script of an instance")?;
                settings.set("script", CxaValue::text(script), place);
            }
            InstanceKind::Native | InstanceKind::Mpi if java.is_none() => {
                let command = self.word(place, &request.argument(1), "the command of an instance")?;
                settings.set("command", CxaValue::text(command), place);
            }
            _ => {}
        }
        self.options(request, &name, &mut settings)?;
        let at = self.model.add(CxaInstance { name, kind, class: java, settings, place })?;
        Ok(CxaValue::Instance(at))
    }

    fn options(&mut self, request: &CallRequest, name: &str, settings: &mut SettingTable) -> Evaluated<()> {
        let place = request.place;
        let pairs = match request.argument(2) {
            CxaValue::Nil => return Ok(()),
            CxaValue::Map(map) => self.heap.maps[map].clone(),
            other => {
                let what = format!("the options of \"{name}\" are given as {}", other.kind());
                return Err(place.fault(what, "write option: value").into());
            }
        };
        for (key, value) in pairs {
            match &key {
                CxaValue::Symbol(option) => match OPTIONS.iter().find(|(known, _)| *known == &**option) {
                    Some((_, setting)) => settings.set(setting, value, place),
                    None => {
                        let known = OPTIONS.iter().map(|(known, _)| *known);
                        let advice = ligament_model::nearest(option, known)
                            .map_or("take it out".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
                        let what = format!("\"{option}\" is no option of an instance");
                        return Err(place.fault(what, advice).into());
                    }
                },
                // MUSCLE 2 takes options whose keys are texts as settings.
                _ => {
                    let key = self.shown(place, &key)?;
                    settings.set(&key, value, place);
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, place: TextPosition, value: &CxaValue, what: &str) -> Evaluated<String> {
        match value {
            CxaValue::Text(_) | CxaValue::Symbol(_) => self.shown(place, value),
            other => Err(place.fault(format!("{what} is {}", other.kind()), "write a text").into()),
        }
    }
}
