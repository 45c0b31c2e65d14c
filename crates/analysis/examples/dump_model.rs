//! Prints the meaning of a model file as JSON, for comparison with the reference implementation of yMMSL.
//! Usage: dump_model [--read | --resolve | --flat | --channels] FILE [MODULE_DIRECTORY]

use ligament_model::*;
use serde_json::{json, Map, Value};
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mode, rest) = match args.split_first() {
        Some((mode, rest)) if mode.starts_with("--") => (mode.as_str(), rest),
        _ => ("--read", args.as_slice()),
    };
    let Some(file) = rest.first() else {
        eprintln!("usage: dump_model [--read|--resolve|--flat|--channels] FILE [MODULE_DIRECTORY]");
        std::process::exit(2);
    };
    let modules =
        FileModules { path: rest.get(1).map(Into::into).into_iter().collect(), ..FileModules::default() };
    match dump(mode, Path::new(file), &modules) {
        Ok(value) => println!("{value:#}"),
        Err(problems) => {
            eprintln!("{problems}");
            std::process::exit(2);
        }
    }
}

fn dump(mode: &str, file: &Path, modules: &FileModules) -> Result<Value, Problems> {
    let mut config = read_file(file).into_result()?;
    if mode == "--read" {
        return Ok(configuration(&config));
    }
    let problems = config.resolve_imports(modules);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    match mode {
        "--flat" => {
            let flat = config.flatten(None).map_err(|p| Problems(vec![p]))?;
            Ok(flat_model(&flat))
        }
        "--channels" => {
            let resolved = config.expand()?;
            let mut all: Vec<_> = resolved
                .channels
                .iter()
                .map(|c| [resolved.end_name(c.from), resolved.end_name(c.to)])
                .collect();
            all.sort();
            Ok(json!(all))
        }
        _ => Ok(configuration(&config)),
    }
}

fn flat_model(flat: &FlatModel) -> Value {
    let components: Map<String, Value> = flat
        .components
        .iter()
        .map(|c| {
            let implementation = c.implementation.as_ref().map(Reference::to_string);
            (
                c.name.to_string(),
                json!({"implementation": implementation, "multiplicity": c.multiplicity,
                    "ports": ports(&c.ports)}),
            )
        })
        .collect();
    let end = |e: &FlatEnd| format!("{}.{}", flat.components[e.component].name, e.port);
    let mut conduits: Vec<(String, String, &[ConduitFilter])> =
        flat.conduits.iter().map(|c| (end(&c.from), end(&c.to), c.filters.as_slice())).collect();
    conduits.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    json!({"name": flat.name.to_string(), "components": components, "conduits": conduits})
}

fn map<'a, K: ToString, V: 'a>(
    items: impl IntoIterator<Item = (K, &'a V)>,
    value: impl Fn(&'a V) -> Value,
) -> Value {
    Value::Object(items.into_iter().map(|(k, v)| (k.to_string(), value(v))).collect())
}

fn ports(ports: &Ports) -> Value {
    map(ports, |p| json!([p.operator.name(), p.timeline.to_string()]))
}

fn configuration(config: &Configuration) -> Value {
    let settings: Map<String, Value> = config
        .settings
        .iter()
        .map(|(name, value)| {
            let kind = value.setting_type().name();
            // JSON has no infinities, so such numbers are written as texts.
            let value = match value {
                SettingValue::Float(x) if !x.is_finite() => json!(x.to_string()),
                SettingValue::FloatList(l) => {
                    json!(l.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>())
                }
                value => json!(value),
            };
            (name.to_string(), json!([kind, value]))
        })
        .collect();
    let import = |one: &ligament_model::Import| json!([one.module.to_string(), one.name.to_string()]);
    let imports: Vec<Value> = config.imports.iter().map(import).collect();
    json!({
        "description": config.description,
        "imports": imports,
        "models": map(&config.models, |m| model(config, m)),
        "custom_implementations":
            map(&config.custom_implementations, |(i, _)| json!(i.as_ref().map(Reference::to_string))),
        "settings": settings,
        "programs": map(&config.programs, program),
        "resources": map(&config.resources, |r| resources(r.resources)),
        "checkpoints": {
            "at_end": config.checkpoints.at_end,
            "wallclock_time": config.checkpoints.wallclock_time.iter().map(rule).collect::<Vec<_>>(),
            "simulation_time": config.checkpoints.simulation_time.iter().map(rule).collect::<Vec<_>>(),
        },
        "resume": map(&config.resume, |resume| json!(resume.file)),
    })
}

fn rule(rule: &CheckpointRule) -> Value {
    match rule {
        CheckpointRule::At(at) => json!({"at": at}),
        CheckpointRule::Range { start, stop, every } => {
            json!({"start": start, "stop": stop, "every": every})
        }
    }
}

fn resources(resources: Resources) -> Value {
    match resources {
        Resources::Threads { threads } => json!({"threads": threads}),
        Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => json!({
            "mpi_processes": mpi_processes, "threads_per_mpi_process": threads_per_mpi_process
        }),
        Resources::MpiNodes { nodes, mpi_processes_per_node, threads_per_mpi_process } => json!({
            "nodes": nodes,
            "mpi_processes_per_node": mpi_processes_per_node,
            "threads_per_mpi_process": threads_per_mpi_process,
        }),
    }
}

fn supported<'a>(settings: impl IntoIterator<Item = (&'a Identifier, &'a SupportedSetting)>) -> Value {
    map(settings, |s| json!([s.setting_type.name(), s.description]))
}

fn model(config: &Configuration, model: &Model) -> Value {
    let all_ports = component_ports(config, model);
    let components: Map<String, Value> = model
        .components
        .values()
        .zip(&all_ports)
        .map(|(c, p)| {
            (
                c.name.to_string(),
                json!({
                    "description": c.description,
                    "ports": ports(p),
                    "implementation": c.implementation.as_ref().map(Reference::to_string),
                    "optional": c.optional,
                    "multiplicity": c.multiplicity,
                }),
            )
        })
        .collect();
    let conduits: Vec<Value> = model
        .conduits
        .iter()
        .map(|c| json!([c.sender.to_string(), c.receiver.to_string(), c.filters]))
        .collect();
    let matching: Vec<Value> = model
        .matching_timelines
        .iter()
        .map(|m| {
            let mut all: Vec<String> = m.matches.iter().map(Timeline::to_string).collect();
            all.push(m.head.to_string());
            all.sort();
            json!([m.head.to_string(), all])
        })
        .collect();
    json!({
        "description": model.description,
        "ports": ports(&model.ports),
        "supported_settings": supported(&model.supported_settings),
        "components": components,
        "conduits": conduits,
        "matching_timelines": matching,
    })
}

fn program(program: &Program) -> Value {
    json!({
        "description": program.description,
        "ports": ports(&program.ports),
        "supported_settings": supported(&program.supported_settings),
        "base_env": program.base_env.name(),
        "modules": program.modules,
        "virtual_env": program.virtual_env,
        "env": map(&program.env, |v| json!(v)),
        "execution_model": program.execution_model.name(),
        "executable": program.executable,
        "args": program.args,
        "script": program.script,
        "can_share_resources": program.can_share_resources,
        "keeps_state_for_next_use": program.keeps_state_for_next_use.name(),
    })
}
