//! Makes the parts of a run from a configuration: instances with ports, and one channel for each pair of
//! ends that exchange messages. The time is linear in the size of the result.

mod exchanges;
mod grids;

use self::exchanges::{filters_on_exchange, Content};
use self::grids::GridConduit;
use crate::checkpoints::Checkpoints;
use crate::clocks::{clocks_of, PortClock};
use crate::configuration::Configuration;
use crate::exchange::Exchange;
use crate::filters::Filter;
use crate::flatten::{
    too_large, FlatComponent, FlatConduit, FlatEnd, FlatModel, ADVICE_FEWER, ADVICE_FEWER_OR_ALLOWED,
};
use crate::graph::{ConduitFilter, Operator};
use crate::grid::{Grid, SUMS_IN, SUMS_OUT};
use crate::identity::{Identifier, Reference};
use crate::options::{ForConduit, LigamentOptions, DEFAULT_INSTANCES};
use crate::problem::{At, Problem, Problems};
use crate::program::{Program, Resources};
use crate::settings::{SettingValue, Settings};
use crate::shipped::IMPLEMENTATION_SETTING;
use crate::steps::{steps_of, ConduitSteps};
use crate::structure::check_structure;
use crate::ticks::Nanoseconds;
use indexmap::IndexMap;
use ligament_catalogue::Code;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

/// Value of `Endpoint::slot` for an end without a slot.
pub const NO_SLOT: u32 = u32::MAX;
/// Maximum number of instances, whatever the model allows.
const MAX_INSTANCES: usize = 4 << 20;
/// Default budget in bytes of a conduit that carries events or samples by a clock. It lets a sender run ahead,
/// and keeps what is under way in the caches of processors.
const CLOCKED_BUDGET_BYTES: u64 = 1 << 20;
/// Maximum number of channels.
const MAX_CHANNELS: usize = 64 << 20;

/// The options for expanding a model.
#[derive(Clone, Debug, Default)]
pub struct ExpandOptions {
    /// The model to run; if `None`, the only model that is not used as an implementation.
    pub model: Option<Reference>,
}

/// A model as it is run.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    /// The model's name.
    pub name: String,
    /// The components, without multiplicity.
    pub components: Vec<ResolvedComponent>,
    /// The programs that the components use.
    pub programs: Vec<Program>,
    /// All instances. The instances of a component are neighbours, and their last index grows fastest.
    pub instances: Vec<ResolvedInstance>,
    /// All channels; `channels[i].id` is `i`.
    pub channels: Vec<Channel>,
    /// The settings.
    pub settings: Settings,
    /// The options under `ligament:`.
    pub ligament: LigamentOptions,
    /// The times at which the run saves its state.
    pub checkpoints: Checkpoints,
    /// The files from which the instances resume, by instance.
    pub resume: BTreeMap<String, String>,
}

/// A component without its instances. The ports are found in its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedComponent {
    /// Its path from the root model.
    pub name: Reference,
    /// The shape of its set of instances.
    pub multiplicity: Vec<usize>,
    /// The name of its implementation.
    pub implementation: Option<Reference>,
}

/// A running copy of a component.
#[derive(Clone, Debug)]
pub struct ResolvedInstance {
    /// Such as `macro` or `city.micro[2][0]`.
    pub name: Reference,
    /// Its component, as a position in `ResolvedModel::components`.
    pub component: u32,
    /// Position of the instance in its component's multiplicity: one number for each dimension.
    pub index: Vec<usize>,
    /// Its program, as a position in `ResolvedModel::programs`; `None` if there is no such program.
    pub program: Option<u32>,
    /// The resources that the instance needs to run. If it has ranks, the resources of all of them
    /// together.
    pub resources: Resources,
    /// Number of ranks, if each rank of the instance speaks for itself.
    pub ranks: Option<u32>,
    /// The tick of its clock, if it has one.
    pub tick: Option<Nanoseconds>,
    /// The grid of which the instance is a block, or of which its ranks are the blocks.
    pub grid: Option<Arc<Grid>>,
    /// The block that the instance is; 0 if its ranks are the blocks.
    pub block: u32,
    /// Its ports, the same for all instances of a component.
    pub ports: Arc<[ResolvedPort]>,
}

/// A port of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPort {
    /// Its name.
    pub name: Identifier,
    /// The operator of the port; `Operator::None` if the file does not give one, so that the code decides.
    pub operator: Operator,
    /// True if the port sends; false if it receives.
    pub sends: bool,
    /// True if the port has slots, because its peers have one dimension more or because conduits name
    /// slots. The code may also make a vector port of a port whose peers have the same dimensions.
    pub vector: bool,
    /// The number of slots of a vector port.
    pub length: Option<usize>,
    /// True if any conduit is attached to it.
    pub connected: bool,
    /// The shape of the whole array, if the port takes part in an exchange of one.
    pub array: Option<Arc<[u64]>>,
    /// True if the port is one of the two that a grid brings.
    pub of_grid: bool,
    /// How the port goes with the clock of its component, if it carries events or samples by the clock.
    pub clock: Option<PortClock>,
}

impl ResolvedPort {
    /// Returns true if the code sees slots on this port. The ranks of the sender of an exchange are slots that
    /// it does not see.
    pub fn has_visible_slots(&self) -> bool {
        self.vector && self.array.is_none() && self.clock.is_none()
    }
}

/// One end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Position in `ResolvedModel::instances`.
    pub instance: u32,
    /// Number of the rank within the instance; 0 if the instance has no ranks.
    pub rank: u32,
    /// Position in that instance's ports.
    pub port: u32,
    /// The slot, or `NO_SLOT`.
    pub slot: u32,
}

/// A channel carries messages from one end to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Position in `ResolvedModel::channels`.
    pub id: u32,
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
    /// Number of bytes that may be under way at once; `None` for the run's own default.
    pub budget: Option<u64>,
    /// Maximum size of a message (bytes); `None` if only memory limits it.
    pub message_size: Option<u64>,
    /// yMMSL's own filters, in order.
    pub filters: Arc<[ConduitFilter]>,
    /// The filters under `ligament:`, in order.
    pub own_filters: Option<Arc<[Filter]>>,
    /// The effects of the filters on messages and iterations, if there are any.
    pub steps: Option<ConduitSteps>,
    /// True if the sender sorts its events by receiver. It then has to know the ids that the receiver wants.
    pub pairwise: bool,
}

impl From<&FlatComponent> for ResolvedComponent {
    fn from(component: &FlatComponent) -> ResolvedComponent {
        ResolvedComponent {
            name: component.name.clone(),
            multiplicity: component.multiplicity.clone(),
            implementation: component.implementation.clone(),
        }
    }
}

impl ResolvedModel {
    /// Returns the sender and the receiver of a channel of the run. The channels of the model come first, then
    /// those on which the receivers of pairwise channels send back the ids that they want.
    pub fn channel_ends(&self, id: u32) -> Option<(Endpoint, Endpoint)> {
        match (id as usize).checked_sub(self.channels.len()) {
            None => self.channels.get(id as usize).map(|channel| (channel.from, channel.to)),
            Some(place) => self.pairwise_channels().nth(place).map(|channel| (channel.to, channel.from)),
        }
    }

    /// Returns the channels on which the sender sorts its events by receiver.
    pub fn pairwise_channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().filter(|channel| channel.pairwise)
    }

    /// Returns the port at an end of a channel.
    pub fn port(&self, end: Endpoint) -> &ResolvedPort {
        &self.instances[end.instance as usize].ports[end.port as usize]
    }

    /// Returns the name of the port at an end of a channel, as records and costs have it: `sums_out` and
    /// `sums_in` for the reductions of a grid.
    pub fn shown_port(&self, end: Endpoint) -> &str {
        let port = self.port(end);
        let grid = self.instances[end.instance as usize].grid.as_ref().filter(|_| port.of_grid);
        match grid.filter(|grid| grid.blocks.is_for_reductions(end.slot as usize)) {
            Some(_) if port.sends => SUMS_OUT,
            Some(_) => SUMS_IN,
            None => port.name.as_str(),
        }
    }

    /// Returns the program of an instance.
    pub fn program(&self, instance: u32) -> Option<&Program> {
        self.instances[instance as usize].program.map(|p| &self.programs[p as usize])
    }

    /// Returns the number of processes of an instance that are started one by one, one for each rank.
    /// Returns `None` if one command starts the whole instance.
    pub fn separate_ranks(&self, instance: u32) -> Option<u32> {
        let with_mpi = self.program(instance).is_some_and(|program| program.execution_model.is_mpi());
        self.instances[instance as usize].ranks.filter(|_| !with_mpi)
    }

    /// Returns the name of the light program that runs this instance and all others of its kind in one
    /// process, if the model says so. All shipped components share one such program; those written in
    /// Python share another. In a run with checkpoints, each instance has a process of its own.
    pub fn light_program(&self, instance: u32) -> Option<&Reference> {
        // The marks of a checkpoint belong to processes, and each instance saves at a moment of its own.
        if self.uses_checkpoints() {
            return None;
        }
        if let Some(shipped) = self.program(instance).and_then(Program::shipped) {
            return Some(shipped.shared_process());
        }
        let component = &self.components[self.instances[instance as usize].component as usize];
        // A function in a script is found by the name of the implementation or of the component.
        let names = component.implementation.iter().chain([&component.name]);
        names.into_iter().find(|name| self.ligament.light.contains_key(*name))
    }

    /// Returns true if the model saves checkpoints by rules, or resumes from one.
    pub fn uses_checkpoints(&self) -> bool {
        !self.checkpoints.is_empty() || !self.resume.is_empty()
    }

    /// Returns true if the run continues when this instance ends too early. Never true for an instance with
    /// ranks, which need each other, or for one in a light program, which ends with its process.
    pub fn may_fail(&self, instance: u32) -> bool {
        let component = &self.components[self.instances[instance as usize].component as usize].name;
        self.ligament.may_fail.contains_key(component)
            && self.instances[instance as usize].ranks.is_none()
            && self.light_program(instance).is_none()
    }

    /// Returns the name of an end, such as `micro[2].in`, `macro.out[3]` or `flow:1.out`.
    pub fn end_name(&self, end: Endpoint) -> String {
        let instance = &self.instances[end.instance as usize];
        let rank = instance.ranks.map_or(String::new(), |_| format!(":{}", end.rank));
        let name = format!("{}{rank}.{}", instance.name, self.port(end).name);
        match end.slot {
            NO_SLOT => name,
            slot => format!("{name}[{slot}]"),
        }
    }
}

impl Configuration {
    /// Returns the maximum number of instances of a run.
    pub(crate) fn instance_limit(&self) -> usize {
        let wanted = self.ligament.instances.unwrap_or(DEFAULT_INSTANCES);
        usize::try_from(wanted).map_or(MAX_INSTANCES, |wanted| wanted.min(MAX_INSTANCES))
    }

    /// Expands the only root model. See `expand_with`.
    pub fn expand(&self) -> Result<ResolvedModel, Problems> {
        self.expand_with(&ExpandOptions::default())
    }

    /// Checks the structure, flattens the model, and makes the instances and channels of a run. Imports
    /// must have been resolved. Components without a program are kept, because the caller may have code for
    /// them.
    pub fn expand_with(&self, options: &ExpandOptions) -> Result<ResolvedModel, Problems> {
        let mut problems = check_structure(self);
        if let Some(import) = self.imports.first() {
            problems.push(Problem::error(
                Code::UNRESOLVED_IMPORT,
                &import.at,
                format!("\"{}\" has not been imported", import.name),
                "resolve the imports before the model is expanded",
            ));
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let flat = self.flatten(options.model.as_ref()).map_err(|p| Problems(vec![p]))?;
        self.expand_flat(&flat)
    }

    /// Does the same as `expand_with` for a flattened model. The caller must have checked the structure and
    /// resolved the imports.
    pub fn expand_flat(&self, flat: &FlatModel) -> Result<ResolvedModel, Problems> {
        Expander::new(self, flat).expand()
    }
}

/// The setting that names the shipped component that an instance is.
static IMPLEMENTATION: LazyLock<Reference> =
    LazyLock::new(|| Reference::new(IMPLEMENTATION_SETTING).unwrap_or_default());

/// The number of dimensions at the sender's end of a conduit, compared with the receiver's end.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Same,
    SenderHasMore,
    ReceiverHasMore,
    /// An exchange: from all ranks to all ranks.
    AllToAll,
}

/// The known properties of a port while conduits are processed.
struct PortPlan<'a> {
    port: ResolvedPort,
    /// The contents of the first conduit that leads to the port, with the conduit's place in the file.
    content: Option<(Content, &'a At)>,
    /// True if conduits name slots of this port. The port's length is then one more than the highest slot.
    explicit: bool,
    /// Number of the first conduit of this port, which decided the port's form, and the shape of the peer.
    decided_by: Option<(usize, Vec<usize>)>,
}

struct Expander<'a> {
    config: &'a Configuration,
    flat: &'a FlatModel,
    problems: Vec<Problem>,
    ports: Vec<Vec<PortPlan<'a>>>,
    /// Shape of each component's set of endpoints: the multiplicity, and the number of ranks as one more
    /// dimension.
    shapes: Vec<Rc<[usize]>>,
    /// For each conduit, the exchange that it is, if it is one.
    exchanges: Vec<Option<&'a Exchange>>,
}

impl<'a> Expander<'a> {
    fn new(config: &'a Configuration, flat: &'a FlatModel) -> Expander<'a> {
        // Thousands of components have ports of the same names, so all share one text.
        let mut names: HashSet<&Identifier> = HashSet::new();
        let mut once = |name: &'a Identifier| match names.get(name) {
            Some(&known) => known,
            None => {
                names.insert(name);
                name
            }
        };
        let ports: Vec<Vec<PortPlan<'a>>> = flat
            .components
            .iter()
            .map(|c| c.ports.values().map(|p| PortPlan::new(once(&p.name), p.operator, p.inferred)).collect())
            .collect();
        let shape =
            |c: &FlatComponent| c.multiplicity.iter().copied().chain(config.ranks_of(&c.name)).collect();
        let shapes = flat.components.iter().map(shape).collect();
        let mut exchanges = ForConduits::new(&config.ligament.exchange);
        let of_conduits = flat.conduits.iter().map(|conduit| exchanges.of(flat, conduit)).collect();
        let problems = exchanges.unused("an exchange is given");
        Expander { config, flat, problems, ports, shapes, exchanges: of_conduits }
    }

    fn expand(mut self) -> Result<ResolvedModel, Problems> {
        let counts = self.endpoint_counts()?;
        let ends: Vec<Option<(u32, u32, Shape)>> =
            self.flat.conduits.iter().enumerate().map(|(i, c)| self.plan(i, c)).collect();
        self.check_slots();
        self.give_contents();
        let grids = self.plan_grids();
        let (clocks, problems) = clocks_of(self.config, self.flat, &self.exchanges);
        self.problems.extend(problems);
        for ((component, place), clock) in clocks {
            if let Some(plan) = self.ports[component].get_mut(place) {
                plan.port.clock = Some(clock);
            }
        }
        if !self.problems.is_empty() {
            return Err(Problems(self.problems));
        }
        let mut first = Vec::with_capacity(counts.len());
        let mut total = 0u32;
        for (count, component) in counts.iter().zip(&self.flat.components) {
            first.push(total);
            total += (count / self.config.ranks_of(&component.name).unwrap_or(1)) as u32;
        }
        let channels = self.channels(&ends, &grids, &counts, &first)?;
        let (config, flat) = (self.config, self.flat);
        let (programs, instances) = self.instances(total as usize, &grids);
        let mut settings = config.settings.clone();
        for component in &flat.components {
            let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
            if let Some(shipped) = program.and_then(Program::shipped) {
                let name = component.name.join(&IMPLEMENTATION);
                settings.set(name, SettingValue::Str(shipped.name.to_owned()));
            }
        }
        Ok(ResolvedModel {
            name: flat.name.to_string(),
            components: flat.components.iter().map(ResolvedComponent::from).collect(),
            programs,
            instances,
            channels,
            settings,
            ligament: config.ligament.clone(),
            checkpoints: config.checkpoints.clone(),
            resume: config
                .resume
                .iter()
                .map(|(name, resume)| (name.to_string(), resume.file.clone()))
                .collect(),
        })
    }

    /// Returns the number of endpoints of each component: its instances, or their ranks if they have any.
    fn endpoint_counts(&self) -> Result<Vec<usize>, Problems> {
        let limit = self.config.instance_limit();
        let mut total = 0usize;
        let mut counts = Vec::with_capacity(self.flat.components.len());
        for (component, shape) in self.flat.components.iter().zip(&self.shapes) {
            let count = shape.iter().try_fold(1usize, |n, m| n.checked_mul(*m));
            match count.and_then(|c| c.checked_add(total)) {
                Some(sum) if sum <= limit => {
                    counts.push(sum - total);
                    total = sum;
                }
                _ => {
                    return Err(Problems(vec![too_large(
                        &component.at,
                        limit,
                        "instances",
                        ADVICE_FEWER_OR_ALLOWED,
                    )]))
                }
            }
        }
        Ok(counts)
    }

    /// Returns the position of the port at a conduit's end. The settings port is added when a conduit leads
    /// to it.
    fn port_index(&mut self, end: &FlatEnd) -> u32 {
        let ports = &mut self.ports[end.component];
        if ports.len() == end.place {
            ports.push(PortPlan::new(&end.port, Operator::FInit, false));
        }
        end.place as u32
    }

    /// Works out how a conduit determines the two ports that it joins.
    fn plan(&mut self, index: usize, conduit: &FlatConduit) -> Option<(u32, u32, Shape)> {
        let from = self.port_index(&conduit.from);
        let to = self.port_index(&conduit.to);
        if let Some(exchange) = self.exchanges[index] {
            return self.plan_exchange(index, conduit, exchange, [from, to]);
        }
        let [more, less] = [&conduit.from, &conduit.to].map(|end| Rc::clone(&self.shapes[end.component]));
        let shape = match more.len() as isize - less.len() as isize {
            0 => Shape::Same,
            1 => Shape::SenderHasMore,
            -1 => Shape::ReceiverHasMore,
            _ => {
                let advice = self.advice_for_dimensions(conduit);
                self.problem(Code::MULTIPLICITY_MISMATCH, &conduit.at, conduit, &advice);
                return None;
            }
        };
        if more.iter().zip(&*less).any(|(a, b)| a != b) {
            if self.differ_in_ranks(conduit) {
                return None;
            }
            self.problem(
                Code::MULTIPLICITY_MISMATCH,
                &conduit.at,
                conduit,
                "the dimensions that both have must be equal; correct the multiplicities",
            );
            return None;
        }
        if (conduit.from.slot.is_some() || conduit.to.slot.is_some()) && shape != Shape::Same {
            self.problem(
                Code::SLOT_AND_MULTIPLICITY,
                &conduit.at,
                conduit,
                "where multiplicities differ, the slots follow from them; remove the slot",
            );
            return None;
        }
        let last = |m: &Rc<[usize]>| m.last().copied().unwrap_or(1);
        let (from_length, to_length) = match shape {
            Shape::Same | Shape::AllToAll => (None, None),
            Shape::SenderHasMore => (None, Some(last(&more))),
            Shape::ReceiverHasMore => (Some(last(&less)), None),
        };
        self.decide(conduit.from.component, from, index, &less, from_length, conduit.from.slot);
        self.decide(conduit.to.component, to, index, &more, to_length, conduit.to.slot);
        Some((from, to, shape))
    }

    /// Returns true if both ends of a conduit have ranks, and only the numbers of ranks differ. Adds the
    /// problem then.
    fn differ_in_ranks(&mut self, conduit: &FlatConduit) -> bool {
        let [from, to] = [&conduit.from, &conduit.to].map(|end| &self.flat.components[end.component]);
        let (Some(here), Some(there)) = (self.config.ranks_of(&from.name), self.config.ranks_of(&to.name))
        else {
            return false;
        };
        if from.multiplicity != to.multiplicity {
            return false;
        }
        self.problems.push(Problem::error(
            Code::RANKS_DIFFER,
            &conduit.at,
            format!(
                "this conduit joins rank to rank, and \"{}\" has {here} ranks and \"{}\" \
                     {there}",
                from.name, to.name
            ),
            "give both the same number in \"ranks:\" under \"ligament:\", or write the conduit under \
             \"exchange:\": then all ranks of one are joined to all ranks of the other",
        ));
        true
    }

    /// Returns the advice about a conduit between sets of instances that differ by two dimensions or more.
    fn advice_for_dimensions(&self, conduit: &FlatConduit) -> String {
        const RULE: &str = "a conduit can join sets of instances that differ by one dimension at most";
        let ends = [&conduit.from, &conduit.to].map(|end| &self.flat.components[end.component].name);
        let is_grid = |name: &&&Reference| self.config.ranks_of(name).is_none();
        let grids = &self.config.ligament.grids;
        let found = ends.iter().filter(is_grid).find_map(|name| Some((name, grids.get(*name)?)));
        match found {
            Some((name, grid)) => format!(
                "{RULE}; make the blocks of the grid of \"{name}\" the ranks of one instance: \
                 \"ranks: {{{name}: {}}}\" under \"ligament:\"",
                grid.blocks.number()
            ),
            None => format!("{RULE}; put a component between them, or change the multiplicities"),
        }
    }

    /// Decides the form of a port by one conduit, and checks it against earlier conduits.
    fn decide(
        &mut self,
        component: usize,
        port: u32,
        conduit: usize,
        peer: &[usize],
        length: Option<usize>,
        slot: Option<usize>,
    ) {
        let plan = &mut self.ports[component][port as usize];
        plan.port.connected = true;
        let explicit = slot.is_some();
        let clash = match &plan.decided_by {
            None => None,
            Some((first, earlier)) if plan.explicit != explicit || earlier != peer => Some(*first),
            Some(_) => None,
        };
        if let Some(first) = clash {
            let flat = self.flat;
            let end = flat.components[component].name.child(&self.ports[component][port as usize].port.name);
            let other = flat.conduits[first].at.line;
            let message = if self.ports[component][port as usize].explicit != explicit {
                format!("\"{end}\" has a slot in one conduit and none in another (line {other})")
            } else {
                format!(
                    "\"{end}\" is joined to components of different multiplicities (the other one in line \
                         {other})"
                )
            };
            self.problems.push(Problem::error(
                Code::MULTIPLICITY_MISMATCH,
                &flat.conduits[conduit].at,
                message,
                "join the port to components of the same multiplicity, or use a port for each",
            ));
            return;
        }
        plan.decided_by.get_or_insert_with(|| (conduit, peer.to_vec()));
        plan.explicit = explicit;
        if let Some(slot) = slot {
            plan.port.vector = true;
            plan.port.length = Some(plan.port.length.unwrap_or(0).max(slot.saturating_add(1)));
        } else if length.is_some() {
            plan.port.vector = true;
            plan.port.length = length;
        }
    }

    fn problem(&mut self, code: Code, at: &At, conduit: &FlatConduit, advice: &str) {
        let name = |c: usize| {
            let component = &self.flat.components[c];
            let shape: Vec<String> = component.multiplicity.iter().map(|n| n.to_string()).collect();
            let ranks =
                self.config.ranks_of(&component.name).map_or(String::new(), |n| format!(", ranks: {n}"));
            if shape.is_empty() {
                format!("\"{}\" (a single instance{ranks})", component.name)
            } else {
                format!("\"{}\" (instances: {}{ranks})", component.name, shape.join(" × "))
            }
        };
        let message = format!(
            "the conduit from {} to {} does not fit",
            name(conduit.from.component),
            name(conduit.to.component)
        );
        self.problems.push(Problem::error(code, at, message, advice));
    }

    /// Reports slots beyond the maximum number of instances: such a slot is a mistake, and must not set a
    /// port's length.
    fn check_slots(&mut self) {
        for (component, ports) in self.flat.components.iter().zip(&self.ports) {
            for plan in ports.iter().filter(|p| p.explicit) {
                if plan.port.length.is_some_and(|n| n > MAX_INSTANCES) {
                    self.problems.push(Problem::error(
                        Code::SLOT_TOO_LARGE,
                        &component.at,
                        format!(
                            "\"{}.{}\" is given a slot beyond {MAX_INSTANCES}",
                            component.name, plan.port.name
                        ),
                        "number the slots from 0",
                    ));
                }
            }
        }
    }

    fn channels(
        &mut self,
        ends: &[Option<(u32, u32, Shape)>],
        grids: &[GridConduit<'_>],
        counts: &[usize],
        first: &[u32],
    ) -> Result<Vec<Channel>, Problems> {
        let options = &self.config.ligament;
        let mut budgets = ForConduits::new(&options.budgets);
        let mut message_sizes = ForConduits::new(&options.message_sizes);
        let mut own_filters = ForConduits::new(&options.filters);
        let none: Arc<[ConduitFilter]> = Arc::from([]);
        let mut channels = Vec::with_capacity(ends.len());
        let steps = steps_of(self.flat);
        let ranks = |c: usize| self.config.ranks_of(&self.flat.components[c].name).unwrap_or(1) as u32;
        for (((conduit, end), steps), exchange) in
            self.flat.conduits.iter().zip(ends).zip(steps).zip(&self.exchanges)
        {
            let Some((from, to, shape)) = *end else { continue };
            let (sender, receiver) = (conduit.from.component, conduit.to.component);
            let (s_ranks, r_ranks) = (ranks(sender), ranks(receiver));
            let many = match shape {
                Shape::AllToAll => counts[sender].saturating_mul(r_ranks as usize),
                _ => counts[sender].max(counts[receiver]),
            };
            if channels.len().saturating_add(many) > MAX_CHANNELS {
                return Err(Problems(vec![too_large(&conduit.at, MAX_CHANNELS, "channels", ADVICE_FEWER)]));
            }
            let filters = match conduit.filters.as_slice() {
                [] => Arc::clone(&none),
                some => Arc::from(some),
            };
            let clocked = self.ports[sender][from as usize].port.clock.as_ref();
            let usual = clocked.map(|_| CLOCKED_BUDGET_BYTES);
            let budget = budgets.of(self.flat, conduit).copied().or(options.budget).or(usual);
            let message_size = message_sizes.of(self.flat, conduit).copied().or(options.message_size);
            let own_filters = own_filters.of(self.flat, conduit).filter(|filters| !filters.is_empty());
            let pairwise = exchange.is_some_and(Exchange::is_pairwise);
            if own_filters.is_some() && exchange.is_some_and(|exchange| !exchange.takes_filters()) {
                let [from, to] = [self.flat.port_of(&conduit.from), self.flat.port_of(&conduit.to)];
                self.problems.push(filters_on_exchange(&conduit.at, &from, &to));
            }
            let slot_of = |slot: Option<usize>| slot.map_or(NO_SLOT, |s| s as u32);
            let fewer = counts[sender].min(counts[receiver]).max(1);
            let inner = (many / fewer) as u32;
            for i in 0..many as u32 {
                let (s, s_slot, r, r_slot) = match shape {
                    Shape::Same => (i, slot_of(conduit.from.slot), i, slot_of(conduit.to.slot)),
                    Shape::ReceiverHasMore => (i / inner, i % inner, i, NO_SLOT),
                    Shape::SenderHasMore => (i, NO_SLOT, i / inner, i % inner),
                    Shape::AllToAll => {
                        // The ranks of the receiver run fastest, within each rank of the sender.
                        let (s, r) = (i / r_ranks, i % r_ranks);
                        let slots = self.ports[receiver][to as usize].port.vector;
                        let slot = if slots { s % s_ranks } else { NO_SLOT };
                        (s, NO_SLOT, s / s_ranks * r_ranks + r, slot)
                    }
                };
                channels.push(Channel {
                    id: channels.len() as u32,
                    from: Endpoint {
                        instance: first[sender] + s / s_ranks,
                        rank: s % s_ranks,
                        port: from,
                        slot: s_slot,
                    },
                    to: Endpoint {
                        instance: first[receiver] + r / r_ranks,
                        rank: r % r_ranks,
                        port: to,
                        slot: r_slot,
                    },
                    budget,
                    message_size,
                    filters: Arc::clone(&filters),
                    own_filters: own_filters.cloned(),
                    steps,
                    pairwise,
                });
            }
        }
        for joined in grids {
            let (component, conduit) = (joined.conduit.from.component, &joined.conduit);
            let many = joined.grid.blocks.channels_of_block().saturating_mul(counts[component]);
            if channels.len().saturating_add(many) > MAX_CHANNELS {
                return Err(Problems(vec![too_large(&conduit.at, MAX_CHANNELS, "channels", ADVICE_FEWER)]));
            }
            let own_filters = own_filters.of(self.flat, conduit).filter(|filters| !filters.is_empty());
            let nowhere = Endpoint { instance: 0, rank: 0, port: 0, slot: NO_SLOT };
            let channel = Channel {
                id: 0,
                from: nowhere,
                to: nowhere,
                budget: budgets.of(self.flat, conduit).copied().or(options.budget),
                message_size: message_sizes.of(self.flat, conduit).copied().or(options.message_size),
                filters: Arc::clone(&none),
                own_filters: own_filters.cloned(),
                steps: None,
                pairwise: false,
            };
            self.grid_channels(joined, counts[component], first[component], &channel, &mut channels);
        }
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(budgets.unused("a budget is given"));
        problems.extend(message_sizes.unused("a message size is given"));
        problems.extend(own_filters.unused("filters are given"));
        if problems.is_empty() {
            Ok(channels)
        } else {
            Err(Problems(problems))
        }
    }

    fn instances(self, total: usize, grids: &[GridConduit<'_>]) -> (Vec<Program>, Vec<ResolvedInstance>) {
        let grids = self.grids_of_components(grids);
        let mut programs: Vec<Program> = Vec::new();
        let mut known: HashMap<&Reference, u32> = HashMap::new();
        let mut instances = Vec::with_capacity(total);
        for (c, (component, plans)) in self.flat.components.iter().zip(self.ports).enumerate() {
            let ports: Arc<[ResolvedPort]> = plans.into_iter().map(|p| p.port).collect();
            let program = component.implementation.as_ref().and_then(|name| {
                let program = self.config.programs.get(name)?;
                Some(*known.entry(name).or_insert_with(|| {
                    let mut program = program.clone();
                    program.execution_model = self.config.execution_model_of(&program);
                    program.mpirun = self.config.ligament.mpirun.get(name).map(|(command, _)| command.clone());
                    programs.push(program);
                    programs.len() as u32 - 1
                }))
            });
            let (resources, _) = self.config.resources_of(&self.flat.name, &component.name);
            let ranks = self.config.ranks_of(&component.name);
            let resources = resources.of_all(ranks.unwrap_or(1));
            let mut index = vec![0; component.multiplicity.len()];
            // The blocks of a grid are instances, and run fastest, or ranks of an instance.
            let blocks = grids[c].as_ref().filter(|_| ranks.is_none()).map_or(1, |grid| grid.blocks.number());
            for number in 0.. {
                instances.push(ResolvedInstance {
                    name: component.name.indexed(&index),
                    component: c as u32,
                    index: index.clone(),
                    program,
                    resources,
                    ranks: ranks.map(|ranks| ranks as u32),
                    tick: self.config.ligament.ticks.get(&component.name).map(|(tick, _)| *tick),
                    grid: grids[c].clone(),
                    block: (number % blocks) as u32,
                    ports: Arc::clone(&ports),
                });
                if !advance(&mut index, &component.multiplicity) {
                    break;
                }
            }
        }
        (programs, instances)
    }
}

impl PortPlan<'_> {
    fn new(name: &Identifier, operator: Operator, inferred: bool) -> Self {
        PortPlan {
            port: ResolvedPort {
                name: name.clone(),
                operator: if inferred { Operator::None } else { operator },
                sends: operator.sends(),
                vector: false,
                length: None,
                connected: false,
                array: None,
                of_grid: false,
                clock: None,
            },
            content: None,
            explicit: false,
            decided_by: None,
        }
    }
}

/// Increments an index; the last place grows fastest. Returns false if the index was the last one.
fn advance(index: &mut [usize], shape: &[usize]) -> bool {
    for place in (0..index.len()).rev() {
        index[place] += 1;
        if index[place] < shape[place] {
            return true;
        }
        index[place] = 0;
    }
    false
}

/// Entries for single conduits, by the text that names the conduit, and marks at the entries that were
/// used.
pub struct ForConduits<'a, T> {
    said: &'a IndexMap<String, ForConduit<T>>,
    used: Vec<bool>,
    by_port: HashMap<(&'a Reference, Option<&'a Reference>), usize>,
}

impl<'a, T> ForConduits<'a, T> {
    /// Takes all entries of one kind that a model has, before any conduit is looked up.
    pub fn new(said: &'a IndexMap<String, ForConduit<T>>) -> ForConduits<'a, T> {
        let by_port = said.values().enumerate().map(|(i, b)| ((&b.port, b.receiver.as_ref()), i)).collect();
        ForConduits { said, used: vec![false; said.len()], by_port }
    }

    /// Returns the entry for a conduit: the one for this conduit, otherwise that of its receiver, otherwise
    /// that of its sender.
    pub fn of(&mut self, flat: &FlatModel, conduit: &FlatConduit) -> Option<&'a T> {
        if self.by_port.is_empty() {
            return None;
        }
        let (from, to) = (flat.port_of(&conduit.from), flat.port_of(&conduit.to));
        let mut found = None;
        for key in [(&from, Some(&to)), (&to, None), (&from, None)] {
            if let Some(index) = self.by_port.get(&key) {
                self.used[*index] = true;
                found = found.or(Some(&self.said[*index].value));
            }
        }
        found
    }

    /// Returns a problem for each entry that no conduit has used. `what` says what the entry gives.
    fn unused(&self, what: &str) -> Vec<Problem> {
        let unused = self.said.iter().zip(&self.used).filter(|(_, used)| !**used);
        unused
            .map(|((name, said), _)| {
                Problem::error(
                    Code::UNKNOWN_CONDUIT,
                    &said.at,
                    format!("{what} for \"{name}\", but no conduit of the model has this name"),
                    "write a port as component.port, or a conduit as \"sender.port -> receiver.port\"",
                )
            })
            .collect()
    }
}
