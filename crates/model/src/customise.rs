//! Custom implementations: a component, at any depth, gets another program or model. Other uses of the same
//! nested model stay as they are.

use crate::configuration::Configuration;
use crate::identity::{Identifier, Reference, ReferencePart};
use crate::problem::{nearest, At, Problem};
use indexmap::IndexMap;
use ligament_catalogue::Code;
use std::collections::{HashMap, HashSet};

/// Applies and removes the custom implementations of a module. `local` gives the full name for each local
/// one. Returns the models that lost a use.
pub(crate) fn apply(
    config: &mut Configuration,
    module: &Reference,
    local: &mut IndexMap<Reference, Reference>,
    problems: &mut Vec<Problem>,
) -> HashSet<Reference> {
    let customs = std::mem::take(&mut config.custom_implementations);
    let mut customise =
        Customise { config, module, local, problems, overwritten: HashSet::new(), copied: HashMap::new() };
    for (path, (implementation, at)) in customs {
        customise.one(&path, implementation, &at);
    }
    customise.overwritten
}

struct Customise<'a> {
    config: &'a mut Configuration,
    module: &'a Reference,
    local: &'a mut IndexMap<Reference, Reference>,
    problems: &'a mut Vec<Problem>,
    overwritten: HashSet<Reference>,
    /// The copies of models along paths, so that each copy is made only once.
    copied: HashMap<Reference, Reference>,
}

impl Customise<'_> {
    fn error(&mut self, at: &At, message: String, advice: String) {
        self.problems.push(Problem::error(Code::BAD_CUSTOM_IMPLEMENTATION, at, message, advice));
    }

    fn one(&mut self, path: &Reference, implementation: Option<Reference>, at: &At) {
        let Some((ReferencePart::Name(base), rest)) = path.parts().split_first() else { return };
        let implementation = match implementation {
            None => None,
            Some(name) => match self.local.get(&name) {
                Some(full) => Some(full.clone()),
                None => {
                    let names: Vec<String> = self.local.keys().map(Reference::to_string).collect();
                    self.error(
                        at,
                        format!("there is no program or model \"{name}\""),
                        suggestion(&name.to_string(), &names),
                    );
                    return;
                }
            },
        };
        let base = Reference::from(base.clone());
        let Some(mut model) = self.base_model(&base, at) else { return };
        let mut done = base;
        for (i, part) in rest.iter().enumerate() {
            let ReferencePart::Name(name) = part else { return };
            let component = Reference::from(name.clone());
            if !self.config.models[&model].components.contains_key(&component) {
                let names: Vec<String> =
                    self.config.models[&model].components.keys().map(Reference::to_string).collect();
                self.error(
                    at,
                    format!("\"{done}\" has no component \"{name}\""),
                    suggestion(name.as_str(), &names),
                );
                return;
            }
            done = done.child(name);
            if i + 1 < rest.len() {
                match self.enter(&model, &component, &done, at) {
                    Some(inner) => model = inner,
                    None => return,
                }
            } else {
                self.replace(&model, &component, implementation.clone());
            }
        }
    }

    /// Returns the model with which a path begins. An imported model is copied, so that its other uses stay
    /// as they are.
    fn base_model(&mut self, base: &Reference, at: &At) -> Option<Reference> {
        let full = self.local.get(base).filter(|full| self.config.models.contains_key(*full)).cloned();
        let Some(full) = full else {
            let names: Vec<String> = self
                .local
                .iter()
                .filter(|(_, full)| self.config.models.contains_key(*full))
                .map(|(name, _)| name.to_string())
                .collect();
            self.error(
                at,
                format!("there is no model \"{base}\""),
                format!("begin the path with the name of a model; {}", suggestion(&base.to_string(), &names)),
            );
            return None;
        };
        let own = self.module.join(base);
        if full != own {
            let mut copy = self.config.models[&full].clone();
            copy.name = own.clone();
            self.config.models.insert(own.clone(), copy);
            self.local.insert(base.clone(), own.clone());
            self.overwrite(&full);
        }
        Some(own)
    }

    /// Returns the model that implements a component, which is copied for this path.
    fn enter(
        &mut self,
        model: &Reference,
        component: &Reference,
        path: &Reference,
        at: &At,
    ) -> Option<Reference> {
        if let Some(copy) = self.copied.get(path) {
            return Some(copy.clone());
        }
        let implementation = self.config.models[model].components[component].implementation.clone();
        let Some(inner) = implementation.filter(|name| self.config.models.contains_key(name)) else {
            self.error(
                at,
                format!("\"{path}\" is not implemented by a model, so it contains no components"),
                "end the path there, or correct it".to_owned(),
            );
            return None;
        };
        let readable = format!("{inner}__customised_for__{}", self.module.join(path)).replace('.', "_");
        let name = self.module.child(&Identifier::new(&readable).ok()?);
        let mut copy = self.config.models[&inner].clone();
        copy.name = name.clone();
        self.config.models.insert(name.clone(), copy);
        self.config.models[model].components[component].implementation = Some(name.clone());
        self.overwrite(&inner);
        self.copied.insert(path.clone(), name.clone());
        Some(name)
    }

    fn replace(&mut self, model: &Reference, component: &Reference, implementation: Option<Reference>) {
        let component = &mut self.config.models[model].components[component];
        let before = std::mem::replace(&mut component.implementation, implementation);
        if let Some(before) = before.filter(|name| self.config.models.contains_key(name)) {
            self.overwrite(&before);
        }
    }

    /// Notes that a model and all models in it lost a use.
    fn overwrite(&mut self, model: &Reference) {
        let mut queue = vec![model.clone()];
        let mut seen = HashSet::new();
        while let Some(name) = queue.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some(model) = self.config.models.get(&name) {
                queue.extend(model.components.values().filter_map(|c| c.implementation.clone()));
            }
            self.overwritten.insert(name);
        }
    }
}

fn suggestion(wrong: &str, names: &[String]) -> String {
    match nearest(wrong, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if names.is_empty() => "there are none in this file".to_owned(),
        None => format!("there are: {}", crate::structure::listed(names)),
    }
}

/// Removes models that lost their uses and are not used elsewhere, so that they are not taken for root
/// models.
pub(crate) fn remove_overwritten(config: &mut Configuration, overwritten: &HashSet<Reference>) {
    if overwritten.is_empty() {
        return;
    }
    let referred: HashSet<Reference> = config
        .models
        .values()
        .flat_map(|m| m.components.values().filter_map(|c| c.implementation.clone()))
        .collect();
    let mut used = HashSet::new();
    let mut queue: Vec<Reference> = config
        .models
        .keys()
        .filter(|name| !referred.contains(*name) && !overwritten.contains(*name))
        .cloned()
        .collect();
    while let Some(name) = queue.pop() {
        let Some(model) = config.models.get(&name) else { continue };
        if used.insert(name) {
            queue.extend(model.components.values().filter_map(|c| c.implementation.clone()));
        }
    }
    config.models.retain(|name, _| used.contains(name) || !overwritten.contains(name));
}
