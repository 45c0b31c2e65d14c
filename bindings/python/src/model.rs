//! Models that Python makes, reads, checks and saves: a thin layer over the core's builder and its checks.

use crate::errors;
use crate::settings::{any_settings, Settings};
use ligament_analysis::{check_configuration, CheckOptions, Files, GivenCode, Ignorable};
use ligament_catalogue::fault;
use ligament_model::{
    BaseEnv, BuildError, Conduit, ConduitFilter, ExecutionModel, Model as CoreModel, ModelBuilder,
    Problem as CoreProblem, Program, Reference, Resources,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::collections::HashSet;
use std::path::PathBuf;

/// The problems of a model; and, if it can be run, its instances and its number of channels.
type CheckedModel = (Vec<Problem>, Option<(Vec<String>, usize)>);

/// Something that is wrong with a model: where, what, and what to do. Its text is
/// ``file:line:column: error: what is wrong; what to do``.
#[pyclass(module = "ligament", frozen, get_all)]
pub struct Problem {
    /// "error" or "warning".
    severity: String,
    /// A stable name for programs, such as ``unknown-port``.
    code: String,
    /// The file, or None for a model made in code.
    file: Option<String>,
    /// The line, from 1; 0 if not known.
    line: u32,
    /// The column, from 1; 0 if not known.
    column: u32,
    /// The problem.
    message: String,
    /// The remedy.
    advice: String,
    #[pyo3(name = "_text")]
    text: String,
}

#[pymethods]
impl Problem {
    /// Returns true if the model cannot be run with this problem.
    #[getter]
    fn is_error(&self) -> bool {
        self.severity == "error"
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Problem {}>", self.text)
    }
}

impl From<&CoreProblem> for Problem {
    fn from(problem: &CoreProblem) -> Problem {
        Problem {
            severity: problem.severity.to_string(),
            code: problem.code.name().to_owned(),
            file: problem.file.clone(),
            line: problem.line,
            column: problem.column,
            message: problem.message.clone(),
            advice: problem.advice.clone(),
            text: problem.to_string(),
        }
    }
}

/// The compiled half of `ligament.Model`.
#[pyclass(module = "ligament._ligament", name = "_Model", subclass)]
pub struct Model {
    builder: ModelBuilder,
    settings: Py<Settings>,
    /// The files from which the model was read.
    pub files: Vec<PathBuf>,
}

impl Model {
    /// The model to run; the other models of its configuration are used as implementations.
    fn root(&self) -> Option<&CoreModel> {
        self.builder.configuration().root_model(None).ok()
    }

    /// Returns the builder with the settings that Python has.
    pub fn whole(&self, py: Python<'_>) -> ModelBuilder {
        let mut builder = self.builder.clone();
        builder.configuration_mut().settings = self.settings.borrow(py).inner.clone();
        builder
    }
}

fn built<T>(py: Python<'_>, result: Result<T, BuildError>) -> PyResult<()> {
    result.map(|_| ()).map_err(|error| errors::model(py, error))
}

/// Reads the features that are ignored, by name.
pub fn ignorable(py: Python<'_>, names: &[String]) -> PyResult<HashSet<Ignorable>> {
    let one = |name: &String| {
        Ignorable::from_name(name).ok_or_else(|| {
            let known = Ignorable::NAMES.join(", ");
            errors::usage(py, fault!(BAD_ARGUMENT, "\"{name}\" cannot be ignored; what can is {known}"))
        })
    };
    names.iter().map(one).collect()
}

fn name(py: Python<'_>, text: &str) -> PyResult<Reference> {
    Reference::new(text).map_err(|error| errors::model(py, error))
}

/// Reads model files, of which later ones add to earlier ones. Returns the builder and the problems.
fn load(paths: &[PathBuf]) -> (Option<ModelBuilder>, Vec<CoreProblem>) {
    let mut config = ligament_model::Configuration::default();
    let mut problems = Vec::new();
    let mut rules = None;
    for path in paths {
        let read = ligament_model::read_file(path);
        problems.extend(read.problems);
        let version = match rules {
            Some(ligament_model::Version::V02) => ligament_model::Version::V02,
            _ => read.version,
        };
        problems.extend(config.update(read.configuration, version));
        rules = Some(version);
    }
    problems.extend(config.resolve_imports(&ligament_model::FileModules::from_env()));
    match ModelBuilder::from_configuration(config) {
        Ok(builder) => (Some(builder), problems),
        Err(more) => {
            // A file that could not be read is the reason why there is no model.
            if problems.is_empty() {
                problems.extend(more.0);
            }
            (None, problems)
        }
    }
}

#[pymethods]
impl Model {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Model> {
        let builder = ModelBuilder::new(name).map_err(|error| errors::model(py, error))?;
        let settings = Py::new(py, Settings { inner: ligament_model::Settings::new() })?;
        Ok(Model { builder, settings, files: Vec::new() })
    }

    /// Takes over the contents of files. Returns their problems.
    fn _load(&mut self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<Problem>> {
        let (builder, problems) = load(&paths);
        if let Some(builder) = builder {
            let inner = builder.configuration().settings.clone();
            self.settings = Py::new(py, Settings { inner })?;
            self.builder = builder;
            self.files = paths;
        }
        Ok(problems.iter().map(Problem::from).collect())
    }

    /// The model's name.
    #[getter]
    fn name(&self) -> String {
        self.root().map_or_else(String::new, |model| model.name.to_string())
    }

    /// The settings, which can be read and changed in place.
    #[getter]
    fn settings(&self, py: Python<'_>) -> Py<Settings> {
        self.settings.clone_ref(py)
    }

    #[setter]
    fn set_settings(&mut self, settings: Bound<'_, PyAny>) -> PyResult<()> {
        self.settings = Py::new(settings.py(), Settings { inner: any_settings(&settings)? })?;
        Ok(())
    }

    /// Adds a component. `ports` are pairs of operator and name.
    #[pyo3(signature = (name, implementation, ports, multiplicity))]
    fn _add(
        &mut self,
        py: Python<'_>,
        name: &str,
        implementation: Option<&str>,
        ports: Vec<(String, String)>,
        multiplicity: Vec<usize>,
    ) -> PyResult<()> {
        let ports: Vec<(&str, &str)> =
            ports.iter().map(|(operator, name)| (operator.as_str(), name.as_str())).collect();
        built(py, self.builder.add_component(name, implementation, &ports, &multiplicity))
    }

    /// Adds a program: an executable with arguments, or a script.
    #[pyo3(signature = (
        name, executable=None, args=None, script=None, env=None, virtual_env=None, modules=None, base_env=None,
        execution_model=None
    ))]
    #[allow(clippy::too_many_arguments)] // One for each key that the file format has.
    fn _add_program(
        &mut self,
        py: Python<'_>,
        name: &str,
        executable: Option<String>,
        args: Option<Vec<String>>,
        script: Option<String>,
        env: Option<Bound<'_, PyDict>>,
        virtual_env: Option<String>,
        modules: Option<Vec<String>>,
        base_env: Option<&str>,
        execution_model: Option<&str>,
    ) -> PyResult<()> {
        let unknown = |what: &str, given: &str, known: &[&str]| {
            errors::model(
                py,
                fault!(BAD_ARGUMENT, "there is no {what} \"{given}\"; use one of: {}", known.join(", ")),
            )
        };
        let mut program = Program::new(self::name(py, name)?);
        program.executable = executable;
        program.args = args.filter(|args| !args.is_empty());
        program.script = script;
        program.virtual_env = virtual_env;
        program.modules = modules;
        for (variable, value) in env.iter().flat_map(|env| env.iter()) {
            program.env.insert(variable.extract()?, value.str()?.to_string());
        }
        if let Some(given) = base_env {
            program.base_env =
                BaseEnv::from_name(given).ok_or_else(|| unknown("base_env", given, BaseEnv::NAMES))?;
        }
        if let Some(given) = execution_model {
            program.execution_model = ExecutionModel::from_name(given)
                .ok_or_else(|| unknown("execution model", given, ExecutionModel::NAMES))?;
        }
        built(py, self.builder.add_program(program))
    }

    /// Joins two ports, each given as ``component.port`` (and ``[slot]``): messages that are sent on the first
    /// are received on the second. The filters are yMMSL's, by name, and those of ``ligament: filters:``, in
    /// the form of a model file.
    #[pyo3(signature = (sender, receiver, filters=None))]
    fn connect(
        &mut self,
        py: Python<'_>,
        sender: &str,
        receiver: &str,
        filters: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let (mut ymmsl, own): (Vec<String>, _) = (Vec::new(), PyList::empty(py));
        for filter in filters.into_iter().flatten() {
            match filter.extract::<String>() {
                Ok(name) if ConduitFilter::from_name(&name).is_some() => ymmsl.push(name),
                _ => own.append(filter)?,
            }
        }
        let ymmsl: Vec<&str> = ymmsl.iter().map(String::as_str).collect();
        if own.is_empty() {
            return built(py, self.builder.connect_filtered(sender, receiver, &ymmsl));
        }
        // JSON is valid YAML.
        let text: String = PyModule::import(py, "json")?.getattr("dumps")?.call1((own,))?.extract()?;
        // The filters are read first: if there is a problem with them or the ports, nothing is added.
        built(py, self.builder.set_filters(&format!("{sender} -> {receiver}"), &text))?;
        built(py, self.builder.connect_filtered(sender, receiver, &ymmsl))
    }

    /// Sets the unit of the values that a port, given as ``component.port``, sends or receives.
    fn set_unit(&mut self, py: Python<'_>, port: &str, unit: &str) -> PyResult<()> {
        built(py, self.builder.set_unit(port, unit))
    }

    /// Joins several ports, given as pairs of sender and receiver.
    fn connect_all(slf: &Bound<'_, Model>, conduits: Bound<'_, PyAny>) -> PyResult<()> {
        // All pairs are read first, because their iterator may look at this model.
        let mut pairs: Vec<(Bound<'_, PyString>, Bound<'_, PyString>)> = Vec::new();
        for pair in conduits.try_iter()? {
            pairs.push(pair?.extract()?);
        }
        let mut model = slf.borrow_mut();
        for (sender, receiver) in pairs {
            built(slf.py(), model.builder.connect(sender.to_str()?, receiver.to_str()?))?;
        }
        Ok(())
    }

    /// Sets the number of cores that each instance of a component needs.
    #[pyo3(signature = (component, threads=1, mpi_processes=None))]
    fn set_resources(
        &mut self,
        py: Python<'_>,
        component: &str,
        threads: usize,
        mpi_processes: Option<usize>,
    ) -> PyResult<()> {
        let resources = match mpi_processes {
            None => Resources::Threads { threads },
            Some(mpi_processes) => Resources::MpiProcesses { mpi_processes, threads_per_mpi_process: threads },
        };
        built(py, self.builder.set_resources(component, resources))
    }

    /// The model as yMMSL v0.2.
    fn to_yaml(&self, py: Python<'_>) -> String {
        self.whole(py).to_yaml()
    }

    /// The names of the components.
    #[getter]
    fn components(&self) -> Vec<String> {
        self.root().map_or_else(Vec::new, |model| model.components.keys().map(ToString::to_string).collect())
    }

    /// The conduits, as pairs of sender and receiver.
    #[getter]
    fn conduits(&self) -> Vec<(String, String)> {
        let ends = |conduit: &Conduit| (conduit.sender.to_string(), conduit.receiver.to_string());
        self.root().map_or_else(Vec::new, |model| model.conduits.iter().map(ends).collect())
    }

    /// Returns all problems of the model, as `check` reports them, and the numbers of instances and channels.
    fn _check(
        &self,
        py: Python<'_>,
        given: Option<Vec<String>>,
        files: bool,
        ignore: Vec<String>,
    ) -> PyResult<CheckedModel> {
        let config = self.whole(py).into_configuration();
        let options = CheckOptions {
            given: given.map_or(GivenCode::Everything, |names| GivenCode::Names(names.into_iter().collect())),
            files: if files { Files::MustExist } else { Files::Elsewhere },
            ignore: ignorable(py, &ignore)?,
            ..CheckOptions::default()
        };
        let report = py.detach(|| check_configuration(config, &options));
        let size = report.resolved.as_ref().map(|resolved| {
            (
                resolved.instances.iter().map(|instance| instance.name.to_string()).collect(),
                resolved.channels.len(),
            )
        });
        Ok((report.problems.iter().map(Problem::from).collect(), size))
    }
}
