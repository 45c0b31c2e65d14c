//! A check of the names under which a model places components in domains or gives them inputs: each component,
//! instance and input must exist.

use crate::executables::similar;
use crate::Files;
use ligament_catalogue::Code;
use ligament_model::{nearest, Configuration, FlatModel, Problem, Reference};
use std::path::Path;

pub(crate) fn check(config: &Configuration, flat: &FlatModel, files: Files, problems: &mut Vec<Problem>) {
    for (name, place) in &config.ligament.place {
        let (message, advice) = match whose(flat, name) {
            NameOwner::Somebodys => continue,
            NameOwner::NoComponents(advice) => {
                (format!("\"{name}\" is placed in a domain, and there is no such component"), advice)
            }
            NameOwner::NoInstances(there_are) => (
                format!("\"{name}\" is placed, and {there_are}"),
                "place the component, or one of its instances".to_owned(),
            ),
        };
        problems.push(Problem::error(Code::PLACE_FOR_NOBODY, &place.at, message, advice));
    }
    stage(config, flat, files, problems);
}

fn stage(config: &Configuration, flat: &FlatModel, files: Files, problems: &mut Vec<Problem>) {
    for (name, inputs) in &config.ligament.stage {
        let Some(first) = inputs.first() else { continue };
        let nobodys = match whose(flat, name) {
            NameOwner::Somebodys => None,
            NameOwner::NoComponents(advice) => {
                Some((format!("\"{name}\" gets inputs, and there is no such component"), advice))
            }
            NameOwner::NoInstances(there_are) => Some((
                format!("\"{name}\" gets inputs, and {there_are}"),
                "name the component, or one of its instances".to_owned(),
            )),
        };
        if let Some((message, advice)) = nobodys {
            problems.push(Problem::error(Code::STAGE_FOR_NOBODY, &first.at, message, advice));
        }
        for input in inputs.iter().filter(|_| files == Files::MustExist) {
            let path = input.at.beside(&input.source);
            let why = match std::fs::metadata(&path) {
                Ok(found) if found.is_file() || found.is_dir() => continue,
                Ok(_) => "is neither a file nor a directory".to_owned(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is not there".to_owned(),
                Err(error) => format!("cannot be read: {error}"),
            };
            let looked_for = if path == Path::new(&input.source) {
                String::new()
            } else {
                format!(" (looked for at {})", path.display())
            };
            let advice = match similar(&path, |other| other.is_file() || other.is_dir()) {
                Some(like) => {
                    format!("did you mean \"{}\"?", Path::new(&input.source).with_file_name(like).display())
                }
                None => {
                    "put it there, or correct the path; a path is relative to the file that names it".to_owned()
                }
            };
            problems.push(Problem::error(
                Code::MISSING_INPUT,
                &input.at,
                format!(
                    "the input \"{}\", which \"stage:\" is to put into the working directory of \"{name}\", \
                     {why}{looked_for}",
                    input.source
                ),
                advice,
            ));
        }
    }
}

/// The component or instance that has a name, if there is one.
pub(crate) enum NameOwner {
    /// A component, or an instance of a component, has the name.
    Somebodys,
    /// No component has the name. The text is advice.
    NoComponents(String),
    /// The component exists, and has no instance with these indices. The text lists its instances: "… has the
    /// instances …".
    NoInstances(String),
}

pub(crate) fn whose(flat: &FlatModel, name: &Reference) -> NameOwner {
    let (parts, indices) = name.split_indices();
    let Some(component) = flat.components.iter().find(|one| one.name.parts() == parts) else {
        let known: Vec<String> = flat.components.iter().map(|component| component.name.to_string()).collect();
        return NameOwner::NoComponents(match nearest(&name.to_string(), known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("name a component or an instance; there is {}", known.join(", ")),
        });
    };
    let shape = &component.multiplicity;
    let within =
        indices.len() == shape.len() && indices.iter().zip(shape).all(|(index, length)| index < length);
    if indices.is_empty() || within {
        NameOwner::Somebodys
    } else {
        NameOwner::NoInstances(format!("\"{}\" has {}", component.name, instances(shape)))
    }
}

fn instances(shape: &[usize]) -> String {
    match shape {
        [] => "one instance, without an index".into(),
        shape => {
            let last: String = shape.iter().map(|length| format!("[{}]", length.saturating_sub(1))).collect();
            let first = "[0]".repeat(shape.len());
            format!("the instances {first} to {last}")
        }
    }
}
