//! The plan of a run, for its agents: instances, their ports, and the channels between the ports. The
//! number of a channel is its index in `channels`. An instance has one or more ranks, and an endpoint
//! serves each rank. The number of an endpoint is the number of the first rank that the endpoint serves.
//! Most endpoints serve one rank. The endpoint of a light program serves all instances that share its
//! process, and the carrier serves all instances of other domains.

use crate::wiring::Wiring;
use ligament_catalogue::Fault;
use ligament_model::{
    log_level, Blocks, Edges, ExecutionModel, Filter, Grid, Interpolation, Nanoseconds, Operator,
    ResolvedModel, NO_SLOT, REMOTE_LOG_LEVEL, SETTINGS_PORT,
};
use ligament_wire::control::{
    ChannelSteps, CheckpointPlan, ClockInfo, GridEdges, GridInfo, PortClockInfo, PortInfo,
};
pub use ligament_wire::domains::{PlannedChannel, PlannedEnd};
use ligament_wire::steering::ScheduledChange;
use ligament_wire::{DomainId, Encoder, InstanceId, RankId, Ranks, SettingValue, Value, ValueRef};
use std::collections::HashMap;
use std::sync::Arc;

/// Budget of a channel, in bytes, if the model does not set one.
pub const DEFAULT_BUDGET_BYTES: u64 = 64 << 20;

/// The plan of a run.
#[derive(Debug, Clone, Default)]
pub struct RunPlan {
    /// The run's name.
    pub run: String,
    pub instances: Vec<PlannedInstance>,
    pub channels: Vec<PlannedChannel>,
    /// The different lists of filters of conduits, each in the form of a model file. A channel refers to
    /// its list by index.
    pub filters: Vec<String>,
    /// The body of a message that holds all settings.
    pub settings: Vec<u8>,
    /// Limit of the memory for messages, in bytes. If `None`, the limit follows from the memory that the
    /// machine can spare.
    pub memory: Option<u64>,
    /// Maximum number of bytes that the views of one reader may hold. Beyond, `receive` copies.
    pub pinned_limit: Option<u64>,
    /// True if instances keep a timeline.
    pub timeline: bool,
    /// Changes whose model times are known before the run, each with the ranks to which the change applies.
    pub schedule: Vec<(ScheduledChange, Vec<RankId>)>,
}

/// An instance of the plan.
#[derive(Debug, Clone, Default)]
pub struct PlannedInstance {
    /// The instance's name. Example: `micro[3]`.
    pub name: String,
    /// The instance's ports. All instances of a component share one list.
    pub ports: Arc<[PlannedPort]>,
    /// True if a person starts the instance, so that the agent does not.
    pub by_hand: bool,
    /// The first of the instances that share one process with this instance; `None` if the program of this
    /// instance is not light.
    pub shares: Option<InstanceId>,
    /// True if the instance is in another domain, so that the carrier's endpoint serves it.
    pub elsewhere: bool,
    /// The lowest level of the instance's log lines that go to the run's log.
    pub log_level: u8,
    /// Number of cores that the instance keeps busy on a node while it computes.
    pub cores: u32,
    /// Number of ranks, if each rank takes part by itself. If `None`, the instance has one rank, and the
    /// name of this rank has no number.
    pub ranks: Option<u32>,
    /// True if one command, such as `mpirun`, starts all ranks of the instance.
    pub together: bool,
    /// True if the run goes on after the instance has ended before it was done.
    pub may_fail: bool,
    /// The clock of the instance, if it has one.
    pub clock: Option<ClockInfo>,
    /// The grid of which the instance is a block, or of which its ranks are the blocks.
    pub grid: Option<GridInfo>,
    /// The checkpoints that the instance saves, and the one from which it resumes.
    pub checkpoints: Option<CheckpointPlan>,
    /// The directory of recordings, if the calls of the instance are recorded.
    pub recording: Option<String>,
    /// True if the instance had ended at the checkpoint from which the run resumes. A process of Ligament takes
    /// its place, which knows the model's ports only.
    pub had_ended: bool,
}

/// A port of an instance, as the model describes the port.
#[derive(Debug, Clone)]
pub struct PlannedPort {
    pub name: Arc<str>,
    /// The port's operator; `Operator::None` if the code decides on the operator.
    pub operator: Operator,
    /// True if the port sends.
    pub sends: bool,
    pub vector: bool,
    /// Number of slots of a vector port, if known.
    pub length: Option<u64>,
    /// True if a conduit is connected to the port.
    pub connected: bool,
    /// True if the code may make the port a vector port whose length the sender sets. This is so if the
    /// port's conduits do not determine slots.
    pub resizable: bool,
    /// True if the code need not declare the port although the port is connected. This is so for the port
    /// of settings, because settings arrive without help of the code.
    pub implicit: bool,
    /// Shape of the whole array, if the port takes part in the exchange of a distributed array.
    pub array: Option<Arc<[u64]>>,
    /// Events or samples of the port, if the port goes by the clock of its instance.
    pub clock: Option<PortClockInfo>,
}

impl PlannedPort {
    /// Returns true if the code sees slots on this port. In an exchange, the channels from the sender's ranks
    /// are slots of the receiving port, but the code does not see them.
    pub fn has_visible_slots(&self) -> bool {
        self.vector && self.array.is_none() && self.clock.is_none()
    }
}

impl RunPlan {
    /// Makes the plan of a resolved model for the run named `run`.
    ///
    /// # Errors
    /// The settings cannot be put into a message. The error has the reason.
    pub fn of(model: &ResolvedModel, run: &str) -> Result<RunPlan, Fault> {
        let port = |port: &ligament_model::ResolvedPort, resizable: bool| PlannedPort {
            name: port.name.shared(),
            operator: port.operator,
            sends: port.sends,
            vector: port.vector,
            length: port.length.map(|length| length as u64),
            connected: port.connected,
            resizable: resizable && port.name.as_str() != SETTINGS_PORT,
            implicit: port.name.as_str() == SETTINGS_PORT || port.of_grid,
            array: port.array.clone(),
            clock: port.clock.as_ref().map(|clock| PortClockInfo {
                ids: clock.ids,
                interval: clock.interval.0,
                latency: clock.latency.0,
                nearest: clock.interpolation == Interpolation::Nearest,
            }),
        };
        let named_unit = model.ligament.time_unit.as_ref();
        let unit = named_unit.and_then(|(unit, _)| Nanoseconds::of_unit(unit));
        let unit = unit.map_or(NANOSECONDS_PER_SECOND, |unit| unit.0);
        // The conduits of one instance determine a port's shape for all instances of the component.
        let mut slotted = vec![Vec::new(); model.components.len()];
        for channel in &model.channels {
            if channel.from.slot == NO_SLOT && channel.to.slot == NO_SLOT {
                continue;
            }
            for end in [channel.from, channel.to] {
                let instance = &model.instances[end.instance as usize];
                let of_component: &mut Vec<bool> = &mut slotted[instance.component as usize];
                of_component.resize(instance.ports.len(), false);
                of_component[end.port as usize] = true;
            }
        }
        let mut ports: Vec<Option<Arc<[PlannedPort]>>> = vec![None; model.components.len()];
        let mut first_of = HashMap::new();
        let mut instances = Vec::with_capacity(model.instances.len());
        for (i, instance) in model.instances.iter().enumerate() {
            let component = instance.component as usize;
            let ports = ports[component].get_or_insert_with(|| {
                let slotted = |at: usize| slotted[component].get(at) == Some(&true);
                instance.ports.iter().enumerate().map(|(at, one)| port(one, !slotted(at))).collect()
            });
            let i = i as u32;
            instances.push(PlannedInstance {
                name: instance.name.to_string(),
                ports: ports.clone(),
                by_hand: model.program(i).is_some_and(|p| p.execution_model == ExecutionModel::Manual),
                shares: model
                    .light_program(i)
                    .map(|program| *first_of.entry(program).or_insert(InstanceId::new(i))),
                elsewhere: false,
                log_level: log_level(&model.settings, &instance.name, REMOTE_LOG_LEVEL).unwrap_or(LEVEL_INFO),
                ranks: instance.ranks,
                together: instance.ranks.is_some() && model.separate_ranks(i).is_none(),
                cores: instance.resources.cores_on_node(),
                may_fail: model.may_fail(i),
                clock: instance.tick.map(|tick| ClockInfo { tick: tick.0, unit }),
                grid: instance.grid.as_deref().map(|grid| tell_grid(grid, instance.block)),
                checkpoints: None,
                recording: None,
                had_ended: false,
            });
        }
        let ranks = Ranks::new(instances.iter().map(|instance| instance.ranks.unwrap_or(1)));
        let end = |end: ligament_model::Endpoint| PlannedEnd {
            rank: RankId::new(ranks.leader(InstanceId::new(end.instance)).number() + end.rank),
            port: end.port,
            slot: (end.slot != NO_SLOT).then_some(end.slot),
        };
        let budget = model.ligament.budget.unwrap_or(DEFAULT_BUDGET_BYTES);
        let mut filters = Vec::new();
        let mut known: HashMap<*const Filter, u32> = HashMap::new();
        let mut number_of = |own: &Arc<[Filter]>| {
            *known.entry(own.as_ptr()).or_insert_with(|| {
                filters.push(Filter::write(&Filter::for_instances(own)));
                filters.len() as u32 - 1
            })
        };
        let channels = model.channels.iter().map(|channel| PlannedChannel {
            from: end(channel.from),
            to: end(channel.to),
            budget: channel.budget.unwrap_or(budget),
            limit: channel.message_size,
            steps: channel.steps.map(tell_steps),
            filters: channel.own_filters.as_ref().map(&mut number_of),
            wants_of: None,
        });
        let wants = model.pairwise_channels().map(|channel| PlannedChannel {
            from: end(channel.to),
            to: end(channel.from),
            budget,
            wants_of: Some(channel.id),
            ..PlannedChannel::default()
        });
        let channels = channels.chain(wants).collect();
        Ok(RunPlan {
            run: run.to_owned(),
            instances,
            channels,
            filters,
            schedule: Vec::new(),
            settings: settings_body(&model.settings)?,
            memory: model.ligament.memory,
            pinned_limit: model.ligament.reader_pinned,
            timeline: model.ligament.timeline != Some(0),
        })
    }

    /// Returns the numbering of the ranks of all instances.
    pub fn ranks(&self) -> Ranks {
        Ranks::new(self.instances.iter().map(|instance| instance.ranks.unwrap_or(1)))
    }

    /// Returns the first of the instances that share a process with `instance`. Returns `instance` itself
    /// if no other instance shares its process.
    pub fn process_of(&self, instance: InstanceId) -> InstanceId {
        self.instances[instance.index()].shares.unwrap_or(instance)
    }

    /// Returns the plan of the same run for the agent of domain `me`. `domain_of` has the domain of each
    /// instance. All instances of one light program have the same domain.
    pub fn in_domain(mut self, domain_of: &[DomainId], me: DomainId) -> RunPlan {
        for (instance, _) in self.instances.iter_mut().zip(domain_of).filter(|(_, &domain)| domain != me) {
            instance.elsewhere = true;
        }
        self
    }

    /// Determines the connections between ranks and between endpoints.
    pub fn wiring(&self) -> Wiring {
        Wiring::new(self)
    }
}

impl From<&PlannedPort> for PortInfo {
    fn from(port: &PlannedPort) -> PortInfo {
        PortInfo {
            name: port.name.to_string(),
            operator: match port.operator {
                Operator::None if port.sends => Operator::OI.name().into(),
                Operator::None => Operator::S.name().into(),
                known => known.name().into(),
            },
            vector: port.has_visible_slots(),
            length: port.length,
            array: port.array.as_deref().map(<[u64]>::to_vec),
            clock: port.clock,
        }
    }
}

fn tell_grid(grid: &Grid, block: u32) -> GridInfo {
    let Blocks { counts, edges } = &grid.blocks;
    let edges = edges.iter().map(|edges| match edges {
        Edges::Open => GridEdges::Open,
        Edges::Periodic => GridEdges::Periodic,
        Edges::Mirrored => GridEdges::Mirrored,
    });
    GridInfo {
        shape: grid.shape.clone(),
        blocks: counts.iter().map(|count| *count as u32).collect(),
        edges: edges.collect(),
        block,
    }
}

fn tell_steps(steps: ligament_model::ConduitSteps) -> ChannelSteps {
    let ligament_model::ConduitSteps { depth, last, repeats, pads, milestones } = steps;
    ChannelSteps { depth, last, repeats, pads, milestones }
}

/// Length of the unit of model times, in ns, if the model names no unit: one second.
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The lowest level of an instance's lines that go to the run's log, if the model sets no level.
const LEVEL_INFO: u8 = 1;

/// Returns the body of a message that holds these settings.
///
/// # Errors
/// The settings are too large for a message.
pub fn settings_body(settings: &ligament_model::Settings) -> Result<Vec<u8>, Fault> {
    use ligament_model::SettingValue as Setting;
    let value = |value: &Setting| match value {
        Setting::Str(text) => SettingValue::String(text.clone()),
        Setting::Int(i) => SettingValue::Int(*i),
        Setting::Float(x) => SettingValue::Float(*x),
        Setting::Bool(b) => SettingValue::Bool(*b),
        Setting::IntList(list) => SettingValue::IntList(list.clone()),
        Setting::FloatList(list) => SettingValue::FloatList(list.clone()),
        Setting::FloatListList(rows) => SettingValue::FloatGrid(rows.clone()),
    };
    let all = settings.iter().map(|(name, setting)| (name.to_string(), value(setting))).collect();
    let all = Value::Settings(all);
    let mut encoder = Encoder::new();
    let plan = encoder.plan(&ValueRef::Owned(&all));
    let plan = plan.map_err(|error| Fault::from(error).told(|error| format!("the settings: {error}")))?;
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    Ok(body)
}
