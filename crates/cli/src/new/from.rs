//! A starter from a model file, or from a file that can be converted to one: one code for each program of the
//! model, and the model with these codes as its programs.

use super::check_name;
use super::contents::{files_of_model, File};
use super::languages::{Code, Language, Role};
use super::skeletons::{Skeleton, SkeletonPort};
use crate::config::rust_crate;
use crate::convert::{converted_cxa, in_lines, read_text, Converted};
use crate::precice;
use ligament_analysis::{check_configuration, CheckOptions, Files, GivenCode};
use ligament_catalogue::{fault, Fault};
use ligament_model::{
    read, read_file, At, Configuration, ExecutionModel, Filter, FlatComponent, FlatEnd, Operator, Problem,
    Program, Reference, ResolvedModel, SettingValue,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Number of steps that a skeleton makes.
const STEPS: i64 = 3;
/// Names that a code must not have, because they have a meaning in one of the languages or in the starter's
/// directory.
const RESERVED_NAMES: [&str; 24] = [
    "all",
    "build",
    "clean",
    "deps",
    "examples",
    "incremental",
    "instance",
    "ligament",
    "ligament_exception",
    "list",
    "map",
    "message",
    "numpy",
    "object",
    "operator",
    "override",
    "random",
    "runs",
    "signal",
    "string",
    "system",
    "target",
    "test",
    "times",
];
/// Filters after which there are fewer messages.
const THINNING_FILTERS: [&str; 5] = ["block_after", "block_until", "chunk", "discard", "every"];
/// Maximum number of ports of one code.
const MAX_PORTS: usize = 1000;

/// Returns all files of the starter.
///
/// # Errors Fails if the model has errors, which are printed, or if no code can be made for one of its
/// programs.
pub(super) fn files(name: &str, from: &Path, given: Option<Language>) -> Result<Vec<File>, Fault> {
    let (mut config, said) = source(from)?;
    if let Some(import) = config.imports.first() {
        return Err(fault!(
            STARTER_NOT_MADE,
            "{} imports {} from {}; a starter is made of a file that has all of its model",
            from.display(),
            import.name,
            import.module
        ));
    }
    let options =
        CheckOptions { files: Files::Elsewhere, given: GivenCode::Everything, ..CheckOptions::default() };
    let report = check_configuration(config.clone(), &options);
    let model = match (report.resolved, report.problems) {
        (Some(model), problems) if !problems.iter().any(Problem::is_error) => model,
        (_, problems) => return Err(has_errors(from, &problems)),
    };
    let mut codes: Vec<(Code, Skeleton)> = Vec::new();
    let mut without = Vec::new();
    let mut stepping = HashSet::new();
    for (program, skeleton) in skeletons(&config, &model, &said)? {
        let own = config.programs.get(&program);
        let language = said.get(&program.to_string()).and_then(|said| Language::by_name(said));
        let language = language.or_else(|| own.and_then(started_by)).or(given);
        let Some(language) = language else {
            without.push(program.to_string());
            continue;
        };
        let code = Code::new(&program.to_string().to_lowercase().replace('.', "_"), Role::Submodel, language);
        check_name(&code.name)?;
        if RESERVED_NAMES.contains(&code.name.as_str()) {
            return Err(fault!(
                STARTER_NOT_MADE,
                "a code cannot be called {}, which means something else there; give the program another name",
                code.name
            ));
        }
        if codes.iter().any(|(other, _)| other.name == code.name || other.source() == code.source()) {
            return Err(fault!(STARTER_NOT_MADE, "two programs of the model would be called {}", code.name));
        }
        put_in(&mut config, &program, &code);
        if skeleton.has(Operator::OI) {
            stepping.insert(program);
        }
        codes.push((code, skeleton));
    }
    if !without.is_empty() {
        return Err(fault!(
            STARTER_NOT_MADE,
            "the model does not say in which language there are starters for {}; give one with --language",
            without.join(", ")
        ));
    }
    if codes.is_empty() {
        return Err(fault!(
            STARTER_NOT_MADE,
            "{} has no program that a code could be made for",
            from.display()
        ));
    }
    leave_out_settings(&mut config)?;
    leave_out_filters(&mut config, &stepping)?;
    let steps = Reference::new("steps").map_err(|why| fault!(STARTER_NOT_MADE, "{why}"))?;
    config.settings.set(steps, SettingValue::Int(STEPS));
    let options = &mut config.ligament;
    (options.light, options.mpich, options.mpirun) = Default::default();
    if !std::mem::take(&mut options.stage).is_empty() {
        crate::say(
            "ligament: files that the model stages are not copied: add them, and \"stage:\", where a \
                    code needs them",
        );
    }
    // Skeletons do not use MPI, so requests for MPI resources are removed.
    config.resources.retain(|_, asked| !asked.resources.is_mpi());
    let in_rust = codes.iter().any(|(code, _)| code.language == Language::Rust);
    let krate = in_rust.then(rust_crate).transpose()?;
    Ok(files_of_model(name, from, config.to_yaml(), &codes, krate.as_deref()))
}

/// Returns the model, and the languages of its programs as far as the file gives them.
fn source(from: &Path) -> Result<(Configuration, HashMap<String, String>), Fault> {
    let is_cxa = ligament_cxa::is_cxa(from);
    let is_xml = from.extension().is_some_and(|one| one == "xmml" || one == "xml");
    if !is_cxa && !is_xml {
        let read = read_file(from).into_result();
        return read.map(|config| (config, HashMap::new())).map_err(|problems| has_errors(from, &problems.0));
    }
    let text = read_text(from)?;
    if precice::is_configuration(&text) {
        return Err(fault!(
            STARTER_NOT_MADE,
            "{0} is a configuration of preCICE, whose codes are there already; convert it by \"ligament \
             convert {0}\"",
            from.display()
        ));
    }
    let converted = if is_cxa {
        converted_cxa(&text, from).map(|made| (made, HashMap::new()))
    } else {
        ligament_xmml::convert(&text, &from.display().to_string()).map(|made| {
            (Converted { text: made.text, warnings: made.warnings }, made.languages.into_iter().collect())
        })
    };
    let (converted, languages) = converted.map_err(|problems| has_errors(from, &problems))?;
    ligament_runtime::say_lines(&in_lines(&converted.warnings));
    let config = read(&converted.text, "model.ymmsl").into_result();
    Ok((config.map_err(|problems| has_errors(from, &problems.0))?, languages))
}

fn has_errors(from: &Path, problems: &[Problem]) -> Fault {
    ligament_runtime::say_lines(&in_lines(problems));
    let count = problems.iter().filter(|problem| problem.is_error()).count();
    fault!(STARTER_NOT_MADE, "{} has {}; nothing is made", from.display(), crate::check::count(count, "error"))
}

/// Returns true for a program that is part of Ligament, such as `ligament study`. It stays in the model
/// unchanged.
fn is_of_ligament(program: &Program) -> bool {
    let executable = program.executable.as_deref().map(Path::new);
    executable.and_then(Path::file_name).is_some_and(|name| name == "ligament")
}

/// Removes the conduits to settings ports, because skeletons only send arrays.
fn leave_out_settings(config: &mut Configuration) -> Result<(), Fault> {
    let flat = config.flatten(None).map_err(|problem| Fault::new(problem.code, problem.to_string()))?;
    let sends_arrays = |component: &FlatComponent| {
        let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
        program.is_none_or(|program| program.shipped().is_none() && !is_of_ligament(program))
    };
    let wrong = (flat.conduits.iter())
        .filter(|conduit| conduit.to.port.as_str() == ligament_model::SETTINGS_PORT)
        .filter(|conduit| sends_arrays(&flat.components[conduit.from.component]));
    let place = |at: &At| (at.file.clone(), at.line, at.column);
    let wrong: HashSet<_> = wrong.map(|conduit| place(&conduit.at)).collect();
    for model in config.models.values_mut() {
        model.conduits.retain(|conduit| {
            let stays = !wrong.contains(&place(&conduit.at));
            if !stays {
                crate::say(&format!(
                    "ligament: \"{conduit}\" is left out of the model, since the skeletons send arrays and no \
                     settings; add it when {} sends them",
                    conduit.sender
                ));
            }
            stays
        });
    }
    Ok(())
}

/// Removes the filters that leave messages out on the way to one of the programs in `stepping`. Their
/// skeletons receive a message in each step, and fail in a step that has none.
fn leave_out_filters(config: &mut Configuration, stepping: &HashSet<Reference>) -> Result<(), Fault> {
    let flat = config.flatten(None).map_err(|problem| Fault::new(problem.code, problem.to_string()))?;
    let receives_in_steps = |end: &FlatEnd| {
        let program = flat.components[end.component].implementation.as_ref();
        program.is_some_and(|program| stepping.contains(program))
            && flat.declared(end).is_none_or(|port| port.operator != Operator::FInit)
    };
    let mut entries = HashSet::new();
    for conduit in flat.conduits.iter().filter(|conduit| receives_in_steps(&conduit.to)) {
        let (from, to) = (flat.port_of(&conduit.from), flat.port_of(&conduit.to));
        entries.extend([(from.clone(), Some(to.clone())), (from, None), (to, None)]);
    }
    config.ligament.filters.retain(|name, entry| {
        if !entries.contains(&(entry.port.clone(), entry.receiver.clone())) {
            return true;
        }
        let thins = |filter: &&Filter| THINNING_FILTERS.contains(&filter.name);
        for filter in entry.value.iter().filter(thins) {
            crate::say(&format!(
                "ligament: the filter \"{}\" of \"{name}\" is left out of the model, since the skeletons \
                 receive a message in each step; add it when the codes know which steps have none",
                filter.name
            ));
        }
        entry.value = entry.value.iter().filter(|filter| !thins(filter)).cloned().collect();
        !entry.value.is_empty()
    });
    Ok(())
}

/// Returns a skeleton for each program that components use, by the name of the program.
fn skeletons(
    config: &Configuration,
    model: &ResolvedModel,
    said: &HashMap<String, String>,
) -> Result<BTreeMap<Reference, Skeleton>, Fault> {
    let mut found: BTreeMap<Reference, Skeleton> = BTreeMap::new();
    let mut seen = vec![false; model.components.len()];
    for instance in &model.instances {
        let component = &model.components[instance.component as usize];
        let program = instance.program.map(|program| &model.programs[program as usize]);
        let is_shipped = program.is_some_and(|program| program.shipped().is_some());
        let is_own = is_shipped || program.is_some_and(is_of_ligament);
        let Some(name) = component.implementation.as_ref().filter(|_| !is_own) else { continue };
        if std::mem::replace(&mut seen[instance.component as usize], true) {
            continue;
        }
        let ports: Vec<SkeletonPort> = (instance.ports.iter())
            .filter(|port| {
                port.name.as_str() != ligament_model::SETTINGS_PORT && (port.connected || port.sends)
            })
            .map(|port| SkeletonPort {
                name: port.name.to_string(),
                operator: match port.operator {
                    Operator::None if port.sends => Operator::OI,
                    Operator::None => Operator::S,
                    known => known,
                },
                vector: port.vector,
            })
            .collect();
        if ports.len() > MAX_PORTS {
            return Err(fault!(
                STARTER_NOT_MADE,
                "{name} has {} ports, and {MAX_PORTS} are the most",
                ports.len()
            ));
        }
        let Some(known) = found.get_mut(name) else {
            let about = config.programs.get(name).map_or("", |program| program.description.as_str());
            // The converter from xMML adds the language to the description. A reader of the source sees the
            // language anyway.
            let language = said.get(&name.to_string()).map(|language| format!("in {language}"));
            let about = language
                .and_then(|language| about.strip_suffix(&language))
                .map_or(about, |rest| rest.trim_end_matches("; "));
            found.insert(name.clone(), Skeleton { about: in_a_line(name, about), ports });
            continue;
        };
        for port in ports {
            match known.ports.iter().find(|other| other.name == port.name) {
                None => known.ports.push(port),
                Some(other) if *other == port => {}
                Some(other) => {
                    let differs = if other.vector == port.vector {
                        format!("is {} in some of them and {} in others", other.operator, port.operator)
                    } else {
                        "has slots in some of them only".to_owned()
                    };
                    return Err(fault!(
                        STARTER_NOT_MADE,
                        "the program {name} is used by several components, and its port {} {differs}; give \
                         them programs of their own",
                        port.name
                    ));
                }
            }
        }
    }
    Ok(found)
}

/// Returns a description in one line, without characters that would end a comment in one of the languages.
fn in_a_line(name: &Reference, about: &str) -> String {
    let words: Vec<String> = (about.split_whitespace())
        .map(|word| word.chars().filter(|c| !matches!(c, '"' | '\\' | '*' | '/')).collect())
        .collect();
    match words.join(" ") {
        text if text.is_empty() => format!("{name}."),
        text => format!("{name}: {}.", text.trim_end_matches('.')),
    }
}

/// Returns the language of a program, if its command shows it, as in `python3 macro.py`.
fn started_by(program: &Program) -> Option<Language> {
    let executable = Path::new(program.executable.as_deref()?).file_name()?.to_str()?;
    let first = program.args.as_ref().and_then(|args| args.first()).map_or("", String::as_str);
    match executable {
        "java" => Some(Language::Java),
        _ if executable.starts_with("python") || executable.ends_with(".py") || first.ends_with(".py") => {
            Some(Language::Python)
        }
        _ => None,
    }
}

/// Replaces the program `name` of the model by the code.
fn put_in(config: &mut Configuration, name: &Reference, code: &Code) {
    let program = config.programs.entry(name.clone()).or_insert_with(|| Program::new(name.clone()));
    let mut started = Program::new(name.clone());
    started.description = std::mem::take(&mut program.description);
    started.ports = std::mem::take(&mut program.ports);
    started.supported_settings = std::mem::take(&mut program.supported_settings);
    started.execution_model = ExecutionModel::Direct;
    match code.language {
        Language::Python => {
            started.executable = Some("python3".to_owned());
            started.args = Some(vec![code.source()]);
        }
        _ => started.executable = Some(code.command()),
    }
    *program = started;
}
