//! What a model may ask for and a run cannot do yet. It is refused by name, because a run that leaves it out would give
//! other results than the model says. What changes no message can be ignored, if the user says so.

use crate::{CheckOptions, Given};
use ligament_catalogue::Code;
use ligament_model::{
    At, Configuration, ExecutionModel, FlatComponent, FlatModel, Problem, Reference, Resources, WaitMode,
};
use std::collections::HashSet;

/// What a run may leave out although the model asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ignorable {
    /// When to save: nothing is saved.
    Checkpoints,
    /// What to go on from: the run begins at the beginning.
    Resume,
    /// The timelines of ports, and which of them match. Every message goes from port to port as without them; that those
    /// of both ends fit is not checked.
    Timelines,
    /// How instances wait: only the speed depends on it.
    Wait,
}

impl Ignorable {
    /// All names.
    pub const NAMES: &'static [&'static str] = &["checkpoints", "resume", "timelines", "wait"];

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<Ignorable> {
        Some(match name {
            "checkpoints" => Ignorable::Checkpoints,
            "resume" => Ignorable::Resume,
            "timelines" => Ignorable::Timelines,
            "wait" => Ignorable::Wait,
            _ => return None,
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Ignorable::Checkpoints => "checkpoints",
            Ignorable::Resume => "resume",
            Ignorable::Timelines => "timelines",
            Ignorable::Wait => "wait",
        }
    }
}

/// What the configuration asks for, whatever model is run.
pub(crate) fn check_configuration(config: &Configuration, options: &CheckOptions, problems: &mut Vec<Problem>) {
    let mut found = Found { options, problems };
    if !config.checkpoints.is_empty() {
        found.ignorable(
            Ignorable::Checkpoints,
            Code::CHECKPOINTS_NOT_YET,
            &config.checkpoints.at,
            "the model asks for checkpoints, and this version cannot save the state of a run yet".to_owned(),
            "remove the section",
        );
    }
    if let Some((name, resume)) = config.resume.first() {
        found.ignorable(
            Ignorable::Resume,
            Code::RESUME_NOT_YET,
            &resume.at,
            format!(
                "\"{name}\" is to resume from \"{}\", and this version cannot resume a run yet",
                resume.file
            ),
            "remove the section to begin at the beginning",
        );
    }
    let ligament = &config.ligament;
    if let Some(mode) = ligament.wait.filter(|mode| *mode != WaitMode::Auto) {
        found.ignorable(
            Ignorable::Wait,
            Code::WAIT_NOT_YET,
            &ligament.wait_at,
            format!("instances are to wait by \"{}\", and this version knows only \"auto\" yet", mode.name()),
            "write \"wait: auto\", or leave it out; only the speed depends on it",
        );
    }
}

/// What the model that is run asks for.
pub(crate) fn check_model(
    config: &Configuration,
    flat: &FlatModel,
    options: &CheckOptions,
    problems: &mut Vec<Problem>,
) {
    filters(flat, problems);
    mpi(config, flat, options, problems);
    timelines(config, flat, &mut Found { options, problems });
}

struct Found<'a> {
    options: &'a CheckOptions,
    problems: &'a mut Vec<Problem>,
}

impl Found<'_> {
    /// Notes what may be ignored: an error, or a warning if it is to be.
    fn ignorable(&mut self, what: Ignorable, code: Code, at: &At, message: String, remedy: &str) {
        self.problems.push(match self.options.ignore.contains(&what) {
            true => Problem::warning(code, at, message, "it is ignored, as you have asked"),
            false => {
                let advice = format!("{remedy}, or ignore it with \"--ignore {}\"", what.name());
                Problem::error(code, at, message, advice)
            }
        });
    }
}

fn filters(flat: &FlatModel, problems: &mut Vec<Problem>) {
    for conduit in &flat.conduits {
        let Some(filter) = conduit.filters.first() else { continue };
        let end =
            |end: &ligament_model::FlatEnd| format!("{}.{}", flat.components[end.component].name, end.port);
        let at = conduit.filters_at.as_deref().unwrap_or(&conduit.at);
        problems.push(Problem::error(
            Code::FILTER_NOT_YET,
            at,
            format!(
                "the conduit from \"{}\" to \"{}\" has the filter \"{}\", which this version cannot apply yet",
                end(&conduit.from),
                end(&conduit.to),
                filter.name()
            ),
            "remove it, and let the code at one of the ends, or a component between them, send what the receiver needs",
        ));
    }
}

/// Several nodes for one instance, which only `srun` gives.
fn mpi(config: &Configuration, flat: &FlatModel, options: &CheckOptions, problems: &mut Vec<Problem>) {
    let mut reported = HashSet::new();
    for component in &flat.components {
        let Some(program) = component.implementation.as_ref().and_then(|name| config.programs.get(name)) else {
            continue;
        };
        let model = config.execution_model_of(program);
        let (resources, _) = config.resources_of(&flat.name, &component.name);
        let nodes = match resources {
            Resources::MpiNodes { nodes, .. } if model.is_mpi() && model != ExecutionModel::SrunMpi => nodes,
            _ => 1,
        };
        let given = match &options.given {
            Given::Names(_) => options.given.covers(&component.name, Some(&program.name)),
            Given::Nothing | Given::Everything => false,
        };
        if nodes < 2 || given || all_by_hand(component, options) || !reported.insert(&program.name) {
            continue;
        }
        problems.push(Problem::error(
            Code::MPI_NODES_NOT_YET,
            &program.at,
            format!(
                "the program \"{}\" is to run on {nodes} nodes, started by {}, which starts all processes of an instance on one \
                 node here",
                program.name,
                model.name()
            ),
            "use \"execution_model: srunmpi\" in a job of Slurm, or ask for \"mpi_processes\"",
        ));
    }
}

/// Whether every instance of a component is started by hand.
fn all_by_hand(component: &FlatComponent, options: &CheckOptions) -> bool {
    if options.by_hand.is_empty() {
        return false;
    }
    let mut index = vec![0; component.multiplicity.len()];
    loop {
        if !options.by_hand.contains(&component.name.indexed(&index).to_string()) {
            return false;
        }
        // Counts up, the last place fastest.
        let Some(place) = (0..index.len()).rev().find(|&i| index[i] + 1 < component.multiplicity[i]) else {
            return true;
        };
        index[place] += 1;
        index[place + 1..].fill(0);
    }
}

fn timelines(config: &Configuration, flat: &FlatModel, found: &mut Found<'_>) {
    let remedy = "put the ports under o_i and s of the component itself";
    let cannot = "and this version knows no timelines yet";
    // A port that nothing is joined to has no messages, whatever its timeline.
    let ends = flat.conduits.iter().flat_map(|conduit| [&conduit.from, &conduit.to]);
    let mut reported = HashSet::new();
    for end in ends {
        let component = &flat.components[end.component];
        let Some(port) = component.ports.get(&end.port).filter(|port| !port.timeline.is_empty()) else {
            continue;
        };
        let place = match port.at.line {
            0 => format!("{}.{}", component.name, port.name),
            _ => port.at.to_string(),
        };
        if reported.insert(place) {
            let message = format!(
                "the port \"{}.{}\" is on the timeline {}, {cannot}",
                component.name, port.name, port.timeline
            );
            found.ignorable(Ignorable::Timelines, Code::TIMELINE_NOT_YET, &port.at, message, remedy);
        }
    }
    let mut used: HashSet<&Reference> = HashSet::new();
    let mut open = vec![&flat.name];
    while let Some(name) = open.pop() {
        let Some(model) = config.models.get(name) else { continue };
        if !used.insert(name) {
            continue;
        }
        open.extend(model.components.values().filter_map(|component| component.implementation.as_ref()));
        // The ports of the outermost model lead nowhere.
        for port in model.ports.values().filter(|port| !port.timeline.is_empty() && *name != flat.name) {
            let message = format!(
                "the port \"{}\" of the model \"{name}\" is on the timeline {}, {cannot}",
                port.name, port.timeline
            );
            found.ignorable(Ignorable::Timelines, Code::TIMELINE_NOT_YET, &port.at, message, remedy);
        }
        if let Some(matching) = model.matching_timelines.first() {
            let message = format!("the model \"{name}\" says which timelines match, {cannot}");
            found.ignorable(
                Ignorable::Timelines,
                Code::TIMELINE_NOT_YET,
                &matching.at,
                message,
                "remove the section",
            );
        }
    }
}
