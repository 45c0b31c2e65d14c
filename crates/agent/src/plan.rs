//! What an agent is told of a run: instances, their ports, and the channels between them. The number of a
//! channel is its place in `channels`. An instance has one rank or several, and each rank an endpoint that
//! serves it. An endpoint has the number of the first of the ranks that it serves; that is the only one, but
//! for those of a light program, whose instances share a process, and for those of other domains, for all of
//! which one endpoint stands: the carrier.

use crate::wiring::Wiring;
use ligament_catalogue::Fault;
use ligament_model::{
    log_level, ExecutionModel, Filter, Operator, ResolvedModel, NO_SLOT, REMOTE_LOG_LEVEL, SETTINGS_PORT,
};
use ligament_wire::control::{ChannelSteps, PortInfo};
use ligament_wire::steering::ScheduledChange;
use ligament_wire::{DomainId, Encoder, InstanceId, RankId, Ranks, SettingValue, Value, ValueRef};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes that may be under way on a channel whose model says nothing.
pub const DEFAULT_BUDGET_BYTES: u64 = 64 << 20;

/// A run, as its agent sees it.
#[derive(Debug, Clone, Default)]
pub struct RunPlan {
    /// The run's name.
    pub run: String,
    pub instances: Vec<PlannedInstance>,
    pub channels: Vec<PlannedChannel>,
    /// The filters of conduits, as a model file has them, each list once.
    pub filters: Vec<String>,
    /// The body of a message that holds all settings.
    pub settings: Vec<u8>,
    /// Most bytes of memory for messages; none: what the machine can spare.
    pub memory: Option<u64>,
    /// Most bytes that one reader's views may hold before `receive` copies.
    pub pinned_limit: Option<u64>,
    /// Whether instances keep a timeline.
    pub timeline: bool,
    /// What happens at model times that are known already, and to which ranks.
    pub schedule: Vec<(ScheduledChange, Vec<RankId>)>,
}

/// An instance.
#[derive(Debug, Clone, Default)]
pub struct PlannedInstance {
    /// Such as `micro[3]`.
    pub name: String,
    /// The same list for all instances of a component.
    pub ports: Arc<[PlannedPort]>,
    /// Whether a person starts it.
    pub by_hand: bool,
    /// The first of the instances that it shares a process with, if its program is light.
    pub shares: Option<InstanceId>,
    /// Whether it is in another domain, so that the carrier's endpoint serves it.
    pub elsewhere: bool,
    /// The lowest level of its lines that the run's log takes.
    pub log_level: u8,
    /// How many cores it keeps busy on a node while it computes.
    pub cores: u32,
    /// How many ranks it has, if these speak each for itself; none: it has one, of which nobody speaks.
    pub ranks: Option<u32>,
    /// Whether one command, such as `mpirun`, starts all of these.
    pub together: bool,
    /// Whether the run goes on if it ends before it is done.
    pub may_fail: bool,
}

/// A port as the model has it.
#[derive(Debug, Clone)]
pub struct PlannedPort {
    pub name: Arc<str>,
    /// When it is used; `None` if the code decides.
    pub operator: Operator,
    /// Whether it sends.
    pub sends: bool,
    pub vector: bool,
    /// Slots, for a vector port whose length is known.
    pub length: Option<u64>,
    /// Whether a conduit ends here.
    pub connected: bool,
    /// Whether the code may make a vector port of it, of a length that the sender sets: its conduits give no slots.
    pub resizable: bool,
    /// Whether the code may leave it out although it is connected (settings arrive without the code's doing).
    pub implicit: bool,
}

/// One end of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedEnd {
    pub rank: RankId,
    /// Index among its instance's ports.
    pub port: u32,
    /// Which slot, for a vector port.
    pub slot: Option<u32>,
}

/// The way from one slot of a sending port to one slot of a receiving port.
#[derive(Debug, Clone, Copy)]
pub struct PlannedChannel {
    pub from: PlannedEnd,
    pub to: PlannedEnd,
    /// Bytes that may be under way.
    pub budget: u64,
    /// The most bytes that a message may have; none means: as many as memory allows.
    pub limit: Option<u64>,
    /// What happens between its messages and iterations.
    pub steps: Option<ChannelSteps>,
    /// Which of the plan's filters its messages pass through.
    pub filters: Option<u32>,
}

impl RunPlan {
    /// The plan of a model as it is run.
    ///
    /// # Errors
    /// The settings cannot be put into a message, which says why.
    pub fn of(model: &ResolvedModel, run: &str) -> Result<RunPlan, Fault> {
        let port = |port: &ligament_model::ResolvedPort, resizable: bool| PlannedPort {
            name: port.name.shared(),
            operator: port.operator,
            sends: port.sends,
            vector: port.vector,
            length: port.length.map(|length| length as u64),
            connected: port.connected,
            resizable: resizable && port.name.as_str() != SETTINGS_PORT,
            implicit: port.name.as_str() == SETTINGS_PORT,
        };
        // What conduits make of a port they make of it for all instances of its component.
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
        });
        let channels = channels.collect();
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

    /// Which ranks the instances have.
    pub fn ranks(&self) -> Ranks {
        Ranks::new(self.instances.iter().map(|instance| instance.ranks.unwrap_or(1)))
    }

    /// The first of the instances that share an instance's process; itself, if none do.
    pub fn process_of(&self, instance: InstanceId) -> InstanceId {
        self.instances[instance.index()].shares.unwrap_or(instance)
    }

    /// The same run as the agent of domain `me` sees it. `domain_of` has the domain of each instance; those of a light
    /// program have the same.
    pub fn in_domain(mut self, domain_of: &[DomainId], me: DomainId) -> RunPlan {
        for (instance, _) in self.instances.iter_mut().zip(domain_of).filter(|(_, &domain)| domain != me) {
            instance.elsewhere = true;
        }
        self
    }

    /// Who is joined to whom.
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
            vector: port.vector,
            length: port.length,
        }
    }
}

fn tell_steps(steps: ligament_model::ConduitSteps) -> ChannelSteps {
    let ligament_model::ConduitSteps { depth, last, repeats, pads, milestones } = steps;
    ChannelSteps { depth, last, repeats, pads, milestones }
}

/// The level of what goes to the run's log where the model says none.
const LEVEL_INFO: u8 = 1;

/// The body of a message that holds these settings.
///
/// # Errors
/// They are too large for one.
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
