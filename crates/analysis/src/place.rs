//! Whether what the model places in domains is there.

use ligament_model::{nearest, Configuration, FlatModel, Problem, Reference};

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    for (name, place) in &config.ligament.place {
        let (parts, indices) = name.split_indices();
        let Some(component) = flat.components.iter().find(|one| one.name.parts() == parts) else {
            problems.push(unknown(flat, name, &place.at));
            continue;
        };
        let shape = &component.multiplicity;
        let within =
            indices.len() == shape.len() && indices.iter().zip(shape).all(|(index, length)| index < length);
        if !indices.is_empty() && !within {
            problems.push(Problem::error(
                "place-for-nobody",
                &place.at,
                format!("\"{name}\" is placed, and \"{}\" has {}", component.name, instances(shape)),
                "place the component, or one of its instances",
            ));
        }
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

fn unknown(flat: &FlatModel, name: &Reference, at: &ligament_model::At) -> Problem {
    let known: Vec<String> = flat.components.iter().map(|component| component.name.to_string()).collect();
    let advice = match nearest(&name.to_string(), known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("name a component or an instance; there is {}", known.join(", ")),
    };
    Problem::error(
        "place-for-nobody",
        at,
        format!("\"{name}\" is placed in a domain, and there is no such component"),
        advice,
    )
}
