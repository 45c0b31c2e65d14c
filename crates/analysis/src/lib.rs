//! Checks and views of a model, without running the model. A check finds all problems at once. Each problem has
//! its place, a description of the mistake, and advice. The crate prints nothing and starts no process.

mod deadlocks;
mod executables;
mod filters;
mod functions;
mod implementations;
mod layout;
mod light;
mod may_fail;
mod mpi;
mod notyet;
mod order;
mod place;
pub mod predict;
mod ranks;
mod report;
mod resources;
mod scales;
mod scripts;
mod self_conduits;
mod separation;
mod settings;
mod shipped;
mod startup;
mod tasks;
mod timelines;
mod times;
mod topology;
mod variables;

pub use layout::{lay_out, BoxPosition, Layout};
pub use ligament_filters::{Measure, Quantity};
pub use notyet::Ignorable;
pub use report::CheckReport;
pub use scales::ComponentScales;
pub use separation::{ScaleBox, ScaleLink, ScaleMap, Separation};
pub use tasks::{After, OperatorTask, Tasks};
pub use times::model_time;
pub use topology::{Boxes, GridShape, LinkEnd, NodePort, Topology, TopologyLink, TopologyNode};

use ligament_catalogue::Code;
use ligament_model::{
    check_structure, read_file, At, Configuration, FileModules, FlatModel, Identifier, LigamentOptions,
    Modules, Problem, Reference, ResolvedModel, SettingValue, Version,
};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The options for the check of a model.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Name of the model to run. `None` means the only model that is not used as an implementation.
    pub model: Option<Reference>,
    /// Settings from the command line, which replace settings of the files.
    pub settings: Vec<(Reference, SettingValue)>,
    /// Components that need no program in the files, because code is given for them.
    pub given: GivenCode,
    /// Limits that replace those of the files.
    pub limits: LigamentOptions,
    /// The search for executables and other files on this machine.
    pub files: Files,
    /// Unsupported features that the user allows to be ignored.
    pub ignore: HashSet<Ignorable>,
    /// True if the report must contain the text of the whole model, which goes into the run directory.
    pub with_text: bool,
    /// Ports that are known from an earlier run, for components whose ports the files do not declare. Indexed
    /// by component name, then by operator name.
    pub declared_ports: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// The components for which a script gives code, so that they need no program in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GivenCode {
    /// Code is given for no component.
    #[default]
    Nothing,
    /// Code is given for the components with these names. A name may be the component's own or that of its
    /// implementation.
    Names(HashSet<String>),
    /// Code is given for all components that have no program.
    Everything,
}

impl GivenCode {
    /// Returns true if code is given for a component with this name and implementation.
    fn covers(&self, component: &Reference, implementation: Option<&Reference>) -> bool {
        match self {
            GivenCode::Nothing => false,
            GivenCode::Everything => true,
            GivenCode::Names(names) => {
                names.contains(&component.to_string())
                    || implementation.is_some_and(|i| names.contains(&i.to_string()))
            }
        }
    }
}

/// A choice to check the files that a model names, or to skip this check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// The files must be on this machine.
    #[default]
    MustExist,
    /// The model is for another machine, so no files are looked for.
    Elsewhere,
}

/// Reads model files and checks the result. Each file adds to the files before it. Modules are looked for
/// in the directories of `YMMSL_PATH`, and beside the files that import the modules.
pub fn check<P: AsRef<Path>>(paths: &[P], options: &CheckOptions) -> CheckReport {
    check_with_modules(paths, options, &FileModules::from_env())
}

/// Does the same as `check`, but takes modules from `modules`.
pub fn check_with_modules<P: AsRef<Path>>(
    paths: &[P],
    options: &CheckOptions,
    modules: &dyn Modules,
) -> CheckReport {
    let mut config = Configuration::default();
    let mut problems = Vec::new();
    let mut version = None;
    for path in paths {
        let read = read_file(path.as_ref());
        problems.extend(read.problems);
        // If the files have different versions of yMMSL, the rules of the newer version hold.
        let rules = match version {
            Some(Version::V02) => Version::V02,
            _ => read.version,
        };
        problems.extend(config.update(read.configuration, rules));
        version = Some(rules);
    }
    let unreadable = problems.iter().any(|p| p.is_error() && config_is_missing(p.code));
    if unreadable {
        return CheckReport::new(config, None, problems);
    }
    let first_file = paths.first().map(|p| p.as_ref().display().to_string().into());
    finish(config, problems, options, modules, first_file)
}

/// Checks a configuration that is already in memory.
pub fn check_configuration(config: Configuration, options: &CheckOptions) -> CheckReport {
    finish(config, Vec::new(), options, &FileModules::from_env(), None)
}

/// Returns true if no further check is possible after a problem with this code.
fn config_is_missing(code: Code) -> bool {
    matches!(
        code,
        Code::YAML_SYNTAX
            | Code::CANNOT_READ_FILE
            | Code::NOT_UTF8
            | Code::NOT_A_MODEL
            | Code::FILE_TOO_LARGE
            | Code::TOO_DEEP
            | Code::ALIAS_EXPANSION
            | Code::BAD_ALIAS
            | Code::UNKNOWN_TAG
    )
}

fn finish(
    mut config: Configuration,
    mut problems: Vec<Problem>,
    options: &CheckOptions,
    modules: &dyn Modules,
    first_file: Option<Arc<str>>,
) -> CheckReport {
    for (name, value) in &options.settings {
        config.settings.set(name.clone(), value.clone());
    }
    config.ligament.update(options.limits.clone());
    // If an import failed, its definitions are missing as a consequence, and are not reported again.
    let mut imported: HashSet<Identifier> = config.imports.iter().map(|i| i.name.clone()).collect();
    problems.extend(config.resolve_imports(modules));
    imported.retain(|name| {
        let full = |n: &Reference| n.parts().last() == Some(&ligament_model::ReferencePart::Name(name.clone()));
        !config.models.keys().chain(config.programs.keys()).any(full)
    });
    let origin = Origin { imported, first_file };
    // Writing the text of a large model takes as long as checking the model, so a second thread writes the
    // text.
    let (found, text) = std::thread::scope(|scope| {
        let text = options.with_text.then(|| scope.spawn(|| config.to_yaml()));
        let found = examine(&config, options, &origin, &mut problems);
        (found, text.and_then(|text| text.join().ok()))
    });
    let ExaminedModel { notes, flat, resolved } = found;
    CheckReport { notes, flat, text, ..CheckReport::new(config, resolved, problems) }
}

/// The origin of a configuration.
struct Origin {
    /// Names that failed imports would have defined.
    imported: HashSet<Identifier>,
    first_file: Option<Arc<str>>,
}

/// A model that was examined, and its expanded form if the model can be expanded.
#[derive(Default)]
struct ExaminedModel {
    notes: Vec<String>,
    flat: Option<FlatModel>,
    resolved: Option<ResolvedModel>,
}

/// Looks for problems in a configuration, and adds them to `problems`.
fn examine(
    config: &Configuration,
    options: &CheckOptions,
    origin: &Origin,
    problems: &mut Vec<Problem>,
) -> ExaminedModel {
    let structure = check_structure(config);
    let structure_fits = structure.is_empty();
    problems.extend(structure);
    implementations::check(config, options, &origin.imported, problems);
    filters::check(config, options.files, problems);
    light::check(config, options, problems);
    mpi::check(config, options, problems);
    notyet::check_configuration(config, options, problems);
    if config.models.is_empty() {
        // If the file has another problem, a model is probably in the file and could not be read.
        if problems.is_empty() {
            let at = At { file: origin.first_file.clone(), line: 1, column: 1 };
            problems.push(Problem::error(
                Code::NO_MODEL,
                &at,
                "there is no model in this file",
                "add a \"models:\" section, or give the file that has the model as well",
            ));
        }
        return ExaminedModel::default();
    }
    let mut flat = match config.flatten(options.model.as_ref()) {
        Ok(flat) => flat,
        Err(problem) => {
            problems.push(problem);
            return ExaminedModel::default();
        }
    };
    flat.declare(&options.declared_ports);
    implementations::leave_out(&mut flat, options, problems);
    let mut notes = Vec::new();
    if options.files == Files::MustExist {
        let used = flat.components.iter().filter_map(|component| component.implementation.as_ref()).collect();
        let directory = origin.first_file.as_deref().and_then(|file| std::path::absolute(file).ok());
        let directory = directory.as_deref().and_then(Path::parent);
        notes = executables::check(config, &used, directory, problems);
        functions::check(config, &flat, origin.first_file.as_deref(), problems);
    }
    filters::check_ports(config, &flat, problems);
    settings::check(config, &flat, problems);
    shipped::check(config, &flat, problems);
    resources::check(config, &flat, problems);
    place::check(config, &flat, options.files, problems);
    ranks::check(config, &flat, problems);
    may_fail::check(config, &flat, problems);
    scales::check(config, &flat, problems);
    times::check(config, problems);
    let mut resolved = None;
    if structure_fits {
        startup::check(&flat, options, problems);
        startup::start_and_steps(config, &flat, problems);
        timelines::check(config, &flat, problems);
        self_conduits::check(config, &flat, problems);
        deadlocks::check(config, &flat, options, problems);
        match config.expand_flat(&flat) {
            Ok(mut expanded) => {
                scales::give_to_the_code(&mut expanded);
                times::give_to_the_code(&mut expanded);
                notyet::leave_out(&options.ignore, &mut expanded);
                resolved = Some(expanded);
            }
            Err(more) => problems.extend(more.0),
        }
    }
    let flat = resolved.is_some().then_some(flat);
    ExaminedModel { notes, flat, resolved }
}
