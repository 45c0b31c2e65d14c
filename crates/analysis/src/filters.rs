//! A check of the filters under `ligament:`: formulas and ranges must be readable, units must exist and fit
//! the units before them, and functions of users must exist. Also checks that the units that ports declare
//! fit together.

use crate::Files;
use ligament_catalogue::Code;
use ligament_filters::{Chain, Unit};
use ligament_model::{
    nearest, Configuration, Filter, FlatModel, ForConduits, Problem, Reference, LIBRARY, PYTHON,
};
use std::collections::{HashMap, HashSet};

pub(crate) fn check(config: &Configuration, files: Files, problems: &mut Vec<Problem>) {
    for conduit in config.ligament.filters.values() {
        let filters = &conduit.value;
        for fault in Chain::faults(filters) {
            problems.push(Problem::error(
                Code::BAD_FILTER,
                &filters[fault.place].at,
                format!("the filter \"{}\" cannot be: {}", fault.name, fault.cause),
                "change it; the page of filters (docs/reference/filters.md) has all parameters",
            ));
        }
        filters.iter().for_each(|filter| check_own(filter, files, problems));
        check_units(filters, None, problems);
    }
}

/// Reports a user's filter if the name of its function is malformed or its library is missing.
fn check_own(filter: &Filter, files: Files, problems: &mut Vec<Problem>) {
    let function = filter.text("function").unwrap_or_default();
    if filter.name == PYTHON {
        let named = function.split_once(':').is_some_and(|(module, name)| {
            let names =
                |text: &str| text.split('.').all(|part| !part.is_empty() && !part.contains(['/', ' ', ':']));
            names(module) && names(name)
        });
        if !named {
            let message = format!("\"{function}\" names no function of Python's");
            let advice = "write \"module:function\", such as \"my_filters:halve\" for halve in my_filters.py";
            problems.push(Problem::error(Code::BAD_FILTER, &filter.at, message, advice));
        }
    }
    if filter.name == LIBRARY && files == Files::MustExist {
        let file = filter.text("file").unwrap_or_default();
        let path = filter.at.beside(file);
        if file.contains('/') && !path.is_file() {
            let message = format!("there is no library {}", path.display());
            let advice = "build it, or correct the path, which is relative to this file";
            problems.push(Problem::error(Code::BAD_FILTER, &filter.at, message, advice));
        }
    }
}

/// Reports declared units that belong to no port of this model, and units that do not fit together along a
/// conduit.
pub(crate) fn check_ports(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    if config.ligament.units.is_empty() {
        return;
    }
    let mut unused: HashSet<&Reference> = config.ligament.units.keys().collect();
    let mut units: HashMap<&Reference, (&str, Unit)> = HashMap::new();
    for (port, (text, at)) in &config.ligament.units {
        match Unit::parse(text) {
            Ok(unit) => {
                units.insert(port, (text, unit));
            }
            Err(cause) => {
                let message = format!("\"{text}\" is no unit: {cause}");
                let advice = "the page of filters (docs/reference/filters.md) says what a unit is made of";
                problems.push(Problem::error(Code::BAD_UNIT, at, message, advice));
            }
        }
    }
    let mut filters = ForConduits::new(&config.ligament.filters);
    for conduit in &flat.conduits {
        let (from, to) = (flat.port_of(&conduit.from), flat.port_of(&conduit.to));
        unused.remove(&from);
        unused.remove(&to);
        let between = filters.of(flat, conduit).map_or(&[][..], |filters| filters);
        let declared = units.get(&from);
        // Problems between the filters themselves have been reported already.
        let mut found = Vec::new();
        if declared.is_some() {
            let mut known = Vec::new();
            check_units(between, None, &mut known);
            check_units(between, declared.cloned(), &mut found);
            found.retain(|problem| !known.contains(problem));
        }
        let comes = check_units(between, declared.cloned(), &mut Vec::new());
        if let (Some((sent, comes)), Some((wanted, unit))) = (comes, units.get(&to)) {
            if found.is_empty() && !comes.is_the_same_as(unit) {
                let advice = if comes.converts_to(unit) {
                    format!("put a filter into the conduit: unit: {{from: {sent}, to: {wanted}}}")
                } else {
                    "they measure different things; correct one of them, or the conduit".to_owned()
                };
                let message =
                    format!("\"{to}\" takes \"{wanted}\", and what comes from \"{from}\" is in \"{sent}\"");
                found.push(Problem::error(Code::UNITS_DIFFER, &conduit.at, message, advice));
            }
        }
        problems.extend(found);
    }
    let ports: Vec<String> =
        flat.conduits.iter().flat_map(|c| [&c.from, &c.to]).map(|end| flat.port_of(end).to_string()).collect();
    for (port, (_, at)) in &config.ligament.units {
        if unused.contains(port) {
            let advice = match nearest(&port.to_string(), ports.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "write component.port".to_owned(),
            };
            let message =
                format!("a unit is given for \"{port}\", to which no conduit leads and from which none comes");
            problems.push(Problem::error(Code::UNKNOWN_PORT, at, message, advice));
        }
    }
}

/// Reports each filter whose declared unit differs from the unit of the values that reach the filter. `made` is
/// the unit before the first filter. Returns the unit after the last filter, if known.
fn check_units<'a>(
    filters: &'a [Filter],
    mut made: Option<(&'a str, Unit)>,
    problems: &mut Vec<Problem>,
) -> Option<(&'a str, Unit)> {
    let mut reduced = false;
    for filter in filters {
        match filter.name {
            "unit" => {}
            // Without an axis the result is a single number, which has no unit of its own.
            "reduce" => {
                reduced |= filter.count("axis").is_none();
                continue;
            }
            // The results of these filters have a unit that is not declared.
            "expression" | "multiply" | PYTHON | LIBRARY => {
                made = None;
                continue;
            }
            _ => continue,
        }
        let unit = |name| filter.text(name).and_then(|text| Some((text, Unit::parse(text).ok()?)));
        let (from, to) = (unit("from"), unit("to"));
        if reduced && filter.text("from").is_none() {
            let before = made.as_ref().map_or("…", |(before, _)| before);
            problems.push(Problem::error(
                Code::BAD_FILTER,
                &filter.at,
                "this filter lacks \"from\": \"reduce\" before it makes a number, which says no unit",
                format!("write \"from: {before}\", or convert before \"reduce\""),
            ));
        } else if let (Some((before, made)), Some((text, from))) = (&made, &from) {
            if !made.is_the_same_as(from) {
                problems.push(Problem::error(
                    Code::UNITS_DIFFER,
                    &filter.at,
                    format!("this filter converts from \"{text}\", and what comes to it is in \"{before}\""),
                    format!("write \"from: {before}\", or leave \"from\" out"),
                ));
            }
        } else if let (Some((before, made)), None, Some((text, to))) = (&made, &from, &to) {
            if !made.converts_to(to) {
                problems.push(Problem::error(
                    Code::UNITS_DIFFER,
                    &filter.at,
                    format!("\"{before}\", in which it comes, does not convert to \"{text}\""),
                    "they measure different things; change one of them",
                ));
            }
        }
        made = to;
    }
    made
}
