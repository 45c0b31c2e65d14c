//! Imports: finds the files, reads them, and gives each imported thing its full name.

use crate::configuration::{Configuration, Version};
use crate::identity::{Reference, ReferencePart};
use crate::packages::{PackagedModule, Packages};
use crate::problem::{nearest, At, Problem};
use crate::read::{read, ReadResult};
use indexmap::IndexMap;
use ligament_catalogue::Code;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Maximum depth of modules that import each other.
const MAX_DEPTH: usize = 64;
/// Maximum number of components, conduits and programs that are copied from module to module.
const MAX_COPIED: usize = 1 << 20;

/// The text of a module, and the name to show with its problems.
#[derive(Clone, Debug)]
pub struct ModuleText {
    /// The text.
    pub text: String,
    /// The file's name.
    pub file: String,
    /// A remark for people, if there is any.
    pub remark: Option<String>,
}

/// The reason why there is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoModule {
    /// The module is in none of these places.
    Nowhere(Vec<String>),
    /// The module exists, and cannot be read.
    Broken(String),
}

/// The source of modules.
pub trait Modules {
    /// Finds a module. `importing` is the file that imports it, if the import is in a file.
    ///
    /// # Errors
    /// The module does not exist, or cannot be read.
    fn find(&self, module: &Reference, importing: Option<&Path>) -> Result<ModuleText, NoModule>;
}

/// A source without modules.
pub struct NoModules;

impl Modules for NoModules {
    fn find(&self, _: &Reference, _: Option<&Path>) -> Result<ModuleText, NoModule> {
        Err(NoModule::Nowhere(Vec::new()))
    }
}

/// The beginning of the names that modules of packages have, where modules of files have a path.
const ENTRY_POINT: &str = "entry point ";

/// Modules that Python packages bring, and modules in files: `a.b` is `a/b.ymmsl` in a directory of a
/// search path, or else beside the file that imports it.
#[derive(Clone, Debug, Default)]
pub struct FileModules {
    /// The directories, in order.
    pub path: Vec<PathBuf>,
    /// The Python packages, which are searched first.
    pub packages: Packages,
}

impl FileModules {
    /// Makes the source from the environment: the search path in the variable `YMMSL_PATH`, with colons
    /// between directories, and the packages of the environment's Python.
    pub fn from_env() -> FileModules {
        let path = std::env::var_os("YMMSL_PATH");
        let path = path.map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
        FileModules { path, packages: Packages::of_environment() }
    }
}

impl Modules for FileModules {
    fn find(&self, module: &Reference, importing: Option<&Path>) -> Result<ModuleText, NoModule> {
        let mut relative = PathBuf::new();
        for part in module.parts() {
            match part {
                ReferencePart::Name(name) => relative.push(name.as_str()),
                ReferencePart::Index(_) => return Err(NoModule::Nowhere(Vec::new())),
            }
        }
        let packaged = self.packages.find(&module.to_string());
        if let Some(PackagedModule { text, from, others }) = packaged.map_err(|why| NoModule::Broken(why.0))? {
            let remark = (!others.is_empty()).then(|| {
                format!(
                    "several Python packages bring the module \"{module}\": {from} is taken, and not {others}"
                )
            });
            return Ok(ModuleText { text, file: format!("{ENTRY_POINT}{from}"), remark });
        }
        relative.set_extension("ymmsl");
        // A module of a package has no directory in which other modules could be.
        let importing = importing.filter(|file| !file.to_string_lossy().starts_with(ENTRY_POINT));
        let beside = importing.map(|file| file.parent().unwrap_or(Path::new("")).to_path_buf());
        let mut looked = Vec::new();
        for directory in self.path.iter().cloned().chain(beside) {
            let file = directory.join(&relative);
            let text = crate::read::read_whole(&file).and_then(|bytes| {
                String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not valid UTF-8 text"))
            });
            match text {
                Ok(text) => return Ok(ModuleText { text, file: file.display().to_string(), remark: None }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    looked.push(file.display().to_string());
                }
                Err(error) => looked.push(format!("{} ({error})", file.display())),
            }
        }
        Err(NoModule::Nowhere(looked))
    }
}

impl Configuration {
    /// Follows all imports and applies custom implementations, so that the configuration needs no other
    /// file. A thing that is imported from a module `a.b` is then called `a.b.name`. Shipped components
    /// that are used become programs. Returns all problems, those of the modules included. Everything that
    /// could be resolved is then in place, even if there are problems.
    pub fn resolve_imports(&mut self, modules: &dyn Modules) -> Vec<Problem> {
        let mut resolver = Resolver {
            modules,
            done: HashMap::new(),
            failed: HashSet::new(),
            under_way: Vec::new(),
            copied: 0,
            problems: Vec::new(),
        };
        let overwritten = resolver.resolve(self, &Reference::empty());
        crate::customise::remove_overwritten(self, &overwritten);
        self.add_shipped();
        resolver.problems
    }
}

struct Resolver<'a> {
    modules: &'a dyn Modules,
    done: HashMap<Reference, Configuration>,
    /// Modules that exist and cannot be read.
    failed: HashSet<Reference>,
    under_way: Vec<Reference>,
    /// Number of components, conduits and programs that imports have brought. One that went through several
    /// modules counts once for each of them.
    copied: usize,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    /// Resolves one module in place. Returns the models whose uses were replaced.
    fn resolve(&mut self, config: &mut Configuration, module: &Reference) -> HashSet<Reference> {
        let mut local: IndexMap<Reference, Reference> = IndexMap::new();
        let mut models = IndexMap::new();
        for (name, mut model) in std::mem::take(&mut config.models) {
            model.name = module.join(&name);
            local.insert(name, model.name.clone());
            models.insert(model.name.clone(), model);
        }
        config.models = models;
        let mut programs = IndexMap::new();
        for (name, mut program) in std::mem::take(&mut config.programs) {
            program.name = module.join(&name);
            local.insert(name, program.name.clone());
            programs.insert(program.name.clone(), program);
        }
        config.programs = programs;
        let own: Vec<Reference> = config.models.keys().cloned().collect();
        for import in std::mem::take(&mut config.imports) {
            let name = Reference::from(import.name.clone());
            if local.contains_key(&name) {
                self.problems.push(Problem::error(
                    Code::IMPORT_CLASH,
                    &import.at,
                    format!("\"{name}\" is imported, but this file has something of that name already"),
                    "remove or rename one of the two",
                ));
                continue;
            }
            if self.load(&import.module, &import.at) && self.take(config, &import.module, &name, &import.at) {
                local.insert(name.clone(), import.module.join(&name));
            }
        }
        for name in own {
            let Some(model) = config.models.get_mut(&name) else { continue };
            for component in model.components.values_mut() {
                if let Some(full) = component.implementation.as_ref().and_then(|i| local.get(i)) {
                    component.implementation = Some(full.clone());
                }
            }
        }
        crate::customise::apply(config, module, &mut local, &mut self.problems)
    }

    /// Reads and resolves a module unless that has been done. Returns true if the module is available.
    fn load(&mut self, module: &Reference, at: &At) -> bool {
        if self.done.contains_key(module) {
            return true;
        }
        if self.under_way.contains(module) {
            let circle: Vec<String> = self.under_way.iter().chain([module]).map(Reference::to_string).collect();
            self.problems.push(Problem::error(
                Code::IMPORT_CYCLE,
                at,
                format!("modules import each other in a circle: {}", circle.join(" -> ")),
                "move what both need into a module of its own",
            ));
            return false;
        }
        if self.failed.contains(module) {
            return false;
        }
        if self.under_way.len() >= MAX_DEPTH {
            self.problems.push(Problem::error(
                Code::NESTED_TOO_DEEP,
                at,
                format!("modules import each other more than {MAX_DEPTH} deep here, at \"{module}\""),
                "import what is needed from where it is, instead of through one module after the other",
            ));
            return false;
        }
        let importing = at.file.as_deref().map(Path::new);
        let found = match self.modules.find(module, importing) {
            Ok(found) => found,
            Err(NoModule::Broken(why)) => {
                self.failed.insert(module.clone());
                self.problems.push(Problem::error(
                    Code::IMPORT_BROKEN,
                    at,
                    format!(
                        "a Python package brings the module \"{module}\", which cannot be had from it: {why}"
                    ),
                    "see to it that Python can import what the entry point names, and that it is a text",
                ));
                return false;
            }
            Err(NoModule::Nowhere(looked)) => {
                let places = match looked.as_slice() {
                    [] => "set YMMSL_PATH to the directory that contains it".to_owned(),
                    some => format!(
                        "put it in one of these places, or set YMMSL_PATH to its directory: {}",
                        some.join(", ")
                    ),
                };
                self.problems.push(Problem::error(
                    Code::IMPORT_NOT_FOUND,
                    at,
                    format!("there is no file for the module \"{module}\", and no Python package brings it"),
                    places,
                ));
                return false;
            }
        };
        if let Some(remark) = found.remark {
            let advice = "remove one of the packages, or its entry point";
            self.problems.push(Problem::warning(Code::IMPORT_CLASH, at, remark, advice));
        }
        let ReadResult { mut configuration, version, problems } = read(&found.text, &found.file);
        let failed = problems.iter().any(Problem::is_error);
        self.problems.extend(problems);
        if version == Version::V01 {
            // Resources of v0.1 belong to its only model and are useless to the importing file.
            configuration.resources.clear();
        }
        if failed {
            self.failed.insert(module.clone());
            return false;
        }
        self.under_way.push(module.clone());
        self.resolve(&mut configuration, module);
        self.under_way.pop();
        self.done.insert(module.clone(), configuration);
        true
    }

    /// Copies an implementation of a module and all that it needs. Returns true if the implementation
    /// exists.
    fn take(&mut self, config: &mut Configuration, module: &Reference, name: &Reference, at: &At) -> bool {
        let Some(from) = self.done.get(module) else { return false };
        let full = module.join(name);
        if !from.models.contains_key(&full) && !from.programs.contains_key(&full) {
            let names: Vec<String> = from
                .models
                .keys()
                .chain(from.programs.keys())
                .filter_map(|n| n.parts().strip_prefix(module.parts()))
                .map(crate::identity::parts_to_string)
                .collect();
            let advice = match nearest(&name.to_string(), names.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None if names.is_empty() => "it has no models and no programs".to_owned(),
                None => format!("it has: {}", crate::structure::listed(&names)),
            };
            self.problems.push(Problem::error(
                Code::IMPORT_NOT_FOUND,
                at,
                format!("the module \"{module}\" has no program or model \"{name}\""),
                advice,
            ));
            return false;
        }
        let mut wanted = vec![full];
        while let Some(next) = wanted.pop() {
            if let Some(model) = from.models.get(&next) {
                if config.models.contains_key(&next) {
                    continue;
                }
                self.copied += 1 + model.components.len() + model.conduits.len();
                if self.copied > MAX_COPIED {
                    self.problems.push(crate::flatten::too_large(
                        at,
                        MAX_COPIED,
                        "components and conduits that imports bring",
                        "import fewer models through one module after the other",
                    ));
                    return false;
                }
                wanted.extend(model.components.values().filter_map(|c| c.implementation.clone()));
                config.models.insert(next, model.clone());
            } else if let Some(program) = from.programs.get(&next) {
                config.programs.insert(next, program.clone());
            }
        }
        true
    }
}
