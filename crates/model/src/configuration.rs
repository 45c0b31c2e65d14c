//! The contents of one or several model files together.

use crate::checkpoints::{Checkpoints, Resume};
use crate::flatten::FlatComponent;
use crate::graph::{Model, SETTINGS_PORT};
use crate::identity::{Identifier, Reference};
use crate::options::LigamentOptions;
use crate::problem::{At, Problem};
use crate::program::{ExecutionModel, Program, ResourceRequirements, Resources};
use crate::settings::Settings;
use indexmap::IndexMap;
use ligament_catalogue::Code;

/// The version of yMMSL that a file is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `v0.1`
    V01,
    /// `v0.2`
    #[default]
    V02,
}

impl Version {
    /// Returns the version's name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Version::V01 => "v0.1",
            Version::V02 => "v0.2",
        }
    }
}

/// `from a.b import implementation c`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The module, whose file is `a/b.ymmsl`.
    pub module: Reference,
    /// The model or program.
    pub name: Identifier,
    /// The place in the file.
    pub at: At,
}

/// The contents of one or several model files together, in terms of yMMSL v0.2; v0.1 is converted on
/// reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// A description.
    pub description: String,
    /// Imports that are still to be followed.
    pub imports: Vec<Import>,
    /// Models by name.
    pub models: IndexMap<Reference, Model>,
    /// Implementations that replace those that components name, by the path of the component, which begins
    /// with its model's name. `None` removes the implementation.
    pub custom_implementations: IndexMap<Reference, (Option<Reference>, At)>,
    /// Settings.
    pub settings: Settings,
    /// Programs by name.
    pub programs: IndexMap<Reference, Program>,
    /// Resources by the path of the component, beginning with the model's name.
    pub resources: IndexMap<Reference, ResourceRequirements>,
    /// The times at which checkpoints are saved.
    pub checkpoints: Checkpoints,
    /// The checkpoints to resume from: files by instance.
    pub resume: IndexMap<Reference, Resume>,
    /// The section `ligament:`.
    pub ligament: LigamentOptions,
}

impl Configuration {
    /// Adds a later file. The rules of both versions hold: models with different names are errors, unless
    /// one of them has only a name, or both are of v0.1, in which case the later model replaces parts of
    /// the earlier one.
    pub fn update(&mut self, overlay: Configuration, version: Version) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.description.trim().is_empty() {
            self.description = overlay.description;
        } else if !overlay.description.trim().is_empty() {
            if !self.description.ends_with('\n') {
                self.description.push('\n');
            }
            self.description.push('\n');
            self.description.push_str(&overlay.description);
        }
        self.imports.extend(overlay.imports);
        self.update_models(overlay.models, version, &mut problems);
        self.custom_implementations.extend(overlay.custom_implementations);
        self.settings.update(&overlay.settings);
        for (name, program) in overlay.programs {
            match self.programs.get(&name) {
                Some(earlier) if version == Version::V02 => problems.push(Problem::error(
                    Code::DUPLICATE_PROGRAM,
                    &program.at,
                    format!(
                        "the program \"{name}\" is defined here a second time; the first is in {}",
                        earlier.at
                    ),
                    "remove one of them, or rename it",
                )),
                _ => {
                    self.programs.insert(name, program);
                }
            }
        }
        self.resources.extend(overlay.resources);
        self.checkpoints.update(overlay.checkpoints);
        self.resume.extend(overlay.resume);
        self.ligament.update(overlay.ligament);
        problems
    }

    fn update_models(
        &mut self,
        models: IndexMap<Reference, Model>,
        version: Version,
        problems: &mut Vec<Problem>,
    ) {
        if models.is_empty() || self.models.is_empty() {
            self.models.extend(models);
            return;
        }
        let only_name = |m: &IndexMap<Reference, Model>| m.len() == 1 && m[0].name_only;
        if only_name(&models) {
            return;
        }
        if only_name(&self.models) {
            self.models = models;
        } else if version == Version::V01 && models.len() == 1 && self.models.len() == 1 {
            if let (Some((_, base)), Some((_, over))) = (self.models.pop(), models.into_iter().next()) {
                let merged = overlay_model(base, over);
                self.models.insert(merged.name.clone(), merged);
            }
        } else if let Some(model) = models.values().next() {
            problems.push(Problem::error(
                Code::SEVERAL_MODEL_FILES,
                &model.at,
                format!(
                    "a model \"{}\" is defined here, but an earlier file has models already ({})",
                    model.name,
                    self.models.values().map(|m| m.name.to_string()).collect::<Vec<_>>().join(", ")
                ),
                "put models that belong together into one file, or import one from the other with \
                 \"from module import implementation name\"",
            ));
        }
    }

    /// Returns the way in which a program is started: the program's own, or MPICH, which only `mpich:`
    /// under `ligament:` can set.
    pub fn execution_model_of(&self, program: &Program) -> ExecutionModel {
        if self.ligament.mpich.contains_key(&program.name) {
            ExecutionModel::Mpich
        } else {
            program.execution_model
        }
    }

    /// Returns the models that are not used as implementations, in order.
    pub fn root_models(&self) -> Vec<&Model> {
        let used: std::collections::HashSet<&Reference> = self
            .models
            .values()
            .flat_map(|m| m.components.values().filter_map(|c| c.implementation.as_ref()))
            .chain(self.custom_implementations.values().filter_map(|(i, _)| i.as_ref()))
            // If a program and a model share a name, that is reported, and not a model that contains
            // itself.
            .filter(|name| !self.programs.contains_key(*name))
            .collect();
        self.models.values().filter(|m| !used.contains(&m.name)).collect()
    }

    /// Returns the model to run: the named one, or the only one that is not used as an implementation.
    pub fn root_model(&self, selected: Option<&Reference>) -> Result<&Model, Problem> {
        let roots = self.root_models();
        let names = || roots.iter().map(|m| m.name.to_string()).collect::<Vec<_>>().join(", ");
        let nowhere = At::default();
        if let Some(wanted) = selected {
            return roots.iter().find(|m| m.name == *wanted).copied().ok_or_else(|| {
                Problem::error(
                    Code::UNKNOWN_MODEL,
                    roots.first().map_or(&nowhere, |m| &m.at),
                    format!("there is no model \"{wanted}\" that could be run"),
                    format!("choose one of: {}", names()),
                )
            });
        }
        match roots.as_slice() {
            [one] => Ok(one),
            [] if self.models.is_empty() => Err(Problem::error(
                Code::NO_MODEL,
                &nowhere,
                "there is no model in this configuration",
                "add a \"models:\" section, or give the file that has the model as well",
            )),
            [] => Err(Problem::error(
                Code::MODEL_CYCLE,
                &self.models[0].at,
                "every model is used as the implementation of a component, so none is the outermost",
                "remove the component that makes a model contain itself",
            )),
            several => Err(Problem::error(
                Code::SEVERAL_MODELS,
                &several[1].at,
                format!("there are several models that could be run: {}", names()),
                "choose one by its name, or use the others as implementations",
            )),
        }
    }

    /// Returns the resources of a component of the root model `model`, and true if the file has them. If
    /// the file has none, the resources are one thread.
    pub fn resources_of(&self, model: &Reference, component: &Reference) -> (Resources, bool) {
        let found = self.resources.get(&model.join(component)).or_else(|| self.resources.get(component));
        (found.map_or_else(Resources::default, |r| r.resources), found.is_some())
    }

    /// Returns true if a component runs in one process with others: its program is light, or comes with
    /// Ligament.
    pub(crate) fn shares_process(&self, component: &FlatComponent) -> bool {
        let program = component.implementation.as_ref().and_then(|name| self.programs.get(name));
        let mut names = component.implementation.iter().chain([&component.name]);
        program.and_then(Program::shipped).is_some() || names.any(|name| self.ligament.light.contains_key(name))
    }

    /// Returns the number of ranks of each instance of a component, if its ranks speak for themselves.
    pub fn ranks_of(&self, component: &Reference) -> Option<usize> {
        self.ligament.ranks.get(component).map(|(count, _)| *count)
    }
}

/// v0.1: components of the overlay replace those of the same name; conduits are added, and those to a
/// receiver that the overlay connects are removed.
fn overlay_model(mut base: Model, over: Model) -> Model {
    base.name = over.name;
    base.at = over.at;
    base.components.extend(over.components);
    let taken: std::collections::HashSet<&Reference> = over.conduits.iter().map(|c| &c.receiver).collect();
    base.conduits.retain(|c| !taken.contains(&c.receiver));
    base.conduits.extend(over.conduits);
    base
}

/// Returns true if a port exists on every component without being declared.
pub(crate) fn is_implicit_port(name: &Identifier) -> bool {
    name.as_str() == SETTINGS_PORT
}
