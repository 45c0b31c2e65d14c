//! Runs that Python starts: the core's runtime, with Python functions as components.

use crate::errors;
use crate::model::{ignorable, Model, Problem};
use crate::settings::any_settings;
use ligament_analysis::{check_configuration, CheckOptions, Files, GivenCode};
use ligament_catalogue::{fault, Code, Fault};
use ligament_model::{At, Reference, ResolvedModel};
use ligament_runtime::{run_model, RunOptions, Show, StartedProcess, Starter, Terminal, ToStart};
use ligament_wire::rank_name;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// A model that was checked and expanded, and can be run.
#[pyclass(module = "ligament._ligament", name = "_Prepared", frozen)]
pub struct Prepared {
    model: ResolvedModel,
    text: String,
    files: Vec<PathBuf>,
    /// The components that have functions, and the names (theirs, or those of their implementations) of the
    /// functions.
    functions: HashMap<String, String>,
}

/// Makes Python give an instance's environment to the process that was forked for it.
struct ForkStarter<'a> {
    components: &'a HashMap<String, String>,
    start: Py<PyAny>,
}

impl Starter for ForkStarter<'_> {
    fn makes(&self, component: &str) -> bool {
        self.components.contains_key(component)
    }

    fn start(&mut self, what: &ToStart<'_>) -> Result<StartedProcess, Fault> {
        Python::attach(|py| {
            let environment = PyDict::new(py);
            for (name, value) in what.environment {
                environment.set_item(name, value)?;
            }
            let process =
                self.start.call1(py, (what.instance, environment, what.directory, what.output, what.cores))?;
            Ok(StartedProcess { pid: process.extract(py)?, leads_group: true })
        })
        .map_err(|error: PyErr| Fault::new(Code::NOT_STARTABLE, error.to_string()))
    }
}

#[pymethods]
impl Prepared {
    /// Checks a model, with settings that override its own and functions for some components. All instances of
    /// a component in `light` share one process. Returns the problems, and the model to run if there are no
    /// errors.
    #[staticmethod]
    fn make(
        py: Python<'_>,
        model: PyRef<'_, Model>,
        functions: Vec<String>,
        light: Vec<String>,
        settings: Option<Bound<'_, PyAny>>,
        ignore: Vec<String>,
    ) -> PyResult<(Vec<Problem>, Option<Prepared>)> {
        let mut config = model.whole(py).into_configuration();
        if let Some(settings) = settings {
            config.settings.update(&any_settings(&settings)?);
        }
        for name in light {
            let name = Reference::new(&name).map_err(|error| errors::model(py, error))?;
            config.ligament.light.insert(name, At::default());
        }
        let names: HashSet<String> = functions.into_iter().collect();
        let options = CheckOptions {
            given: GivenCode::Names(names.clone()),
            files: Files::MustExist,
            ignore: ignorable(py, &ignore)?,
            ..CheckOptions::default()
        };
        let report = py.detach(|| check_configuration(config, &options));
        let problems = report.problems.iter().map(Problem::from).collect();
        if !report.is_ok() {
            return Ok((problems, None));
        }
        let Some(resolved) = report.resolved else { return Ok((problems, None)) };
        let mut used = HashSet::new();
        let mut functions = HashMap::new();
        for component in &resolved.components {
            let of_program = component.implementation.as_ref().map(ToString::to_string);
            let name = component.name.to_string();
            let found =
                [Some(name.clone()), of_program].into_iter().flatten().find(|name| names.contains(name));
            if let Some(found) = found {
                used.insert(found.clone());
                functions.insert(name, found);
            }
        }
        if let Some(unused) = names.iter().find(|name| !used.contains(*name)) {
            let known: Vec<String> = resolved.components.iter().map(|c| c.name.to_string()).collect();
            return Err(errors::model(
                py,
                fault!(
                    NO_FUNCTION_FOR,
                    "a function is given for \"{unused}\", but the model has no such component or \
                     implementation; its components are {}",
                    known.join(", ")
                ),
            ));
        }
        let text = report.configuration.to_yaml();
        Ok((problems, Some(Prepared { model: resolved, text, files: model.files.clone(), functions })))
    }

    /// Returns the processes that run functions, each with the name of its function: the first instance of each
    /// component, or each of its ranks.
    fn functions(&self) -> Vec<(String, String)> {
        let mut light = HashSet::new();
        let first = |i: usize| self.model.light_program(i as u32).is_none_or(|program| light.insert(program));
        let first: Vec<bool> = (0..self.model.instances.len()).map(first).collect();
        let instances = self.model.instances.iter().zip(first).filter(|(_, first)| *first);
        let ranks = instances.filter_map(|(instance, _)| {
            let component = self.model.components[instance.component as usize].name.to_string();
            let (name, function) = (instance.name.to_string(), self.functions.get(&component)?.clone());
            let places: Vec<Option<u32>> =
                instance.ranks.map_or(vec![None], |ranks| (0..ranks).map(Some).collect());
            Some(places.into_iter().map(move |place| (rank_name(&name, place), function.clone())))
        });
        ranks.flatten().collect()
    }

    /// Runs the model to its end, on the calling thread, which must be the one that forked. `start` is called
    /// with an instance's name, environment, directory and output file, and returns the process's number.
    /// Returns the record as JSON, the run directory, and the failed instance with its last lines.
    #[pyo3(signature = (start, run_dir, show))]
    #[allow(clippy::type_complexity)] // A tuple for one caller.
    fn run(
        &self,
        py: Python<'_>,
        start: Py<PyAny>,
        run_dir: Option<PathBuf>,
        show: &str,
    ) -> PyResult<(String, PathBuf, Option<(String, Vec<String>)>)> {
        let show = match show {
            "nothing" => Show::Nothing,
            "log" => Show::Log,
            "view" => Show::View,
            other => {
                return Err(errors::usage(
                    py,
                    fault!(BAD_ARGUMENT, "\"{other}\" cannot be shown; give \"nothing\", \"log\" or \"view\""),
                ))
            }
        };
        let options = RunOptions {
            directory: run_dir,
            show,
            terminal: Terminal::EndsRun,
            model_files: self.files.clone(),
            model_text: self.text.clone(),
            ..RunOptions::default()
        };
        let mut forked = ForkStarter { components: &self.functions, start };
        let result = py.detach(|| run_model(&self.model, options, Some(&mut forked))).map_err(|why| {
            let fault = fault!(NOT_STARTABLE, "the run could not begin: {why}").caused_by(&why);
            errors::raise(py, "RunError", fault)
        })?;
        let record = serde_json::to_string(&result.record).map_err(|error| {
            errors::raise(py, "RunError", Fault::new(Code::FAULT_IN_LIGAMENT, error.to_string()))
        })?;
        Ok((record, result.directory, result.failed))
    }
}

/// Raises the limit of open files of this process, as a run does. Programs that it starts get the old limit.
#[pyfunction]
#[pyo3(name = "_raise_open_files")]
pub fn raise_open_files() {
    ligament_launch::raise_open_files();
}

/// Sets the prefix below which the package was installed.
#[pyfunction]
#[pyo3(name = "_installed_below")]
pub fn installed_below(prefix: PathBuf) {
    ligament_launch::installed_below(prefix);
}

/// Makes this process die with the thread that forked it. Returns false if that thread has ended already.
#[pyfunction]
#[pyo3(name = "_die_with_parent")]
pub fn die_with_parent(parent: i32) -> bool {
    use rustix::process::{getppid, set_parent_process_death_signal, Pid, Signal};
    set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && getppid() == Pid::from_raw(parent)
}
