//! A check of `may_fail`, which lists components that may fail without ending the run. Each of them must exist,
//! and must be able to fail without other components or ranks.

use crate::place::{whose, NameOwner};
use ligament_catalogue::Code;
use ligament_model::{Configuration, FlatModel, Problem, Reference};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    for (name, at) in &config.ligament.may_fail {
        let Some(component) = flat.components.iter().find(|component| component.name == *name) else {
            let advice = match whose(flat, name) {
                NameOwner::NoComponents(advice) => advice,
                NameOwner::Somebodys | NameOwner::NoInstances(_) => {
                    "name the component, without an index".to_owned()
                }
            };
            let message = format!("\"{name}\" stands under \"may_fail:\", and there is no such component");
            problems.push(Problem::error(Code::MAY_FAIL_FOR_NOBODY, at, message, advice));
            continue;
        };
        let listed = |under: &str| match under {
            "ranks" => config.ligament.ranks.contains_key(name),
            _ => {
                let is_light = |program: &Reference| {
                    config.ligament.light.contains_key(program)
                        || config.programs.get(program).is_some_and(|one| one.shipped().is_some())
                };
                config.ligament.light.contains_key(name) || component.implementation.iter().any(is_light)
            }
        };
        if let Some(under) = ["light", "ranks"].into_iter().find(|under| listed(under)) {
            let why = if under == "light" {
                "its program is light: others share its process"
            } else {
                "its ranks need each other"
            };
            problems.push(Problem::error(
                Code::MAY_FAIL_TOGETHER,
                at,
                format!("\"{name}\" cannot fail without others, because {why}"),
                format!("take it out of \"may_fail:\" or out of \"{under}:\""),
            ));
        }
    }
}
