//! Whether the components and instances are there that the model places in domains, or gives inputs; and the inputs.

use crate::Files;
use ligament_model::{nearest, At, Configuration, FlatModel, Problem, Reference};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, files: Files, problems: &mut Vec<Problem>) {
    for (name, place) in &config.ligament.place {
        let is_placed = Use { code: "place-for-nobody", is: "is placed in a domain", verb: "place" };
        problems.extend(is_placed.of(flat, name, &place.at));
    }
    for (name, inputs) in &config.ligament.stage {
        let gets = Use { code: "stage-for-nobody", is: "gets inputs", verb: "name" };
        let Some(first) = inputs.first() else { continue };
        problems.extend(gets.of(flat, name, &first.at));
        for input in inputs.iter().filter(|_| files == Files::MustExist) {
            let path = input.at.beside(&input.source);
            let why = match std::fs::metadata(&path) {
                Ok(found) if found.is_file() || found.is_dir() => continue,
                Ok(_) => "is neither a file nor a directory".to_owned(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is not there".to_owned(),
                Err(error) => format!("cannot be read: {error}"),
            };
            problems.push(Problem::error(
                "missing-input",
                &input.at,
                format!(
                    "the input \"{}\" of \"{name}\" {why}{}",
                    input.source,
                    looked_for(&path, &input.source)
                ),
                "put it there, or correct the path; a path is relative to the file that names it",
            ));
        }
    }
}

fn looked_for(path: &std::path::Path, source: &str) -> String {
    match path == std::path::Path::new(source) {
        true => String::new(),
        false => format!(" (looked for at {})", path.display()),
    }
}

/// What names of components and instances are used for.
struct Use {
    code: &'static str,
    is: &'static str,
    verb: &'static str,
}

impl Use {
    fn of(&self, flat: &FlatModel, name: &Reference, at: &At) -> Option<Problem> {
        let (parts, indices) = name.split_indices();
        let Some(component) = flat.components.iter().find(|one| one.name.parts() == parts) else {
            return Some(self.unknown(flat, name, at));
        };
        let shape = &component.multiplicity;
        let within =
            indices.len() == shape.len() && indices.iter().zip(shape).all(|(index, length)| index < length);
        if indices.is_empty() || within {
            return None;
        }
        let is = self.is.trim_end_matches(" in a domain");
        Some(Problem::error(
            self.code,
            at,
            format!("\"{name}\" {is}, and \"{}\" has {}", component.name, instances(shape)),
            format!("{} the component, or one of its instances", self.verb),
        ))
    }

    fn unknown(&self, flat: &FlatModel, name: &Reference, at: &At) -> Problem {
        let known: Vec<String> = flat.components.iter().map(|component| component.name.to_string()).collect();
        let advice = match nearest(&name.to_string(), known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("name a component or an instance; there is {}", known.join(", ")),
        };
        Problem::error(self.code, at, format!("\"{name}\" {}, and there is no such component", self.is), advice)
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
