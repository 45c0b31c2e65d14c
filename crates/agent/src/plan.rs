//! What an agent is told of a run: instances, their ports, and the channels between them. The number of an
//! instance is its endpoint, the number of a channel is its place in `channels`.

use ligament_model::{ExecutionModel, Operator, Reference, Resolved, NO_SLOT, SETTINGS_PORT};
use ligament_wire::control::{ChannelInfo, PortInfo};
use ligament_wire::{Encoder, SettingValue, Value, ValueRef};
use std::collections::HashMap;

/// Bytes that may be under way on a channel whose model says nothing.
pub const DEFAULT_BUDGET: u64 = 64 << 20;

/// A run, as its agent sees it.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The run's name.
    pub run: String,
    pub instances: Vec<PlannedInstance>,
    pub channels: Vec<PlannedChannel>,
    /// The body of a message that holds all settings.
    pub settings: Vec<u8>,
    /// Most bytes of memory for messages; none: what the machine can spare.
    pub memory: Option<u64>,
    /// Most bytes that one reader's views may hold before `receive` copies.
    pub pinned_limit: Option<u64>,
    /// Whether instances keep a timeline.
    pub timeline: bool,
}

/// An instance.
#[derive(Debug, Clone, Default)]
pub struct PlannedInstance {
    /// Such as `micro[3]`.
    pub name: String,
    pub ports: Vec<PlannedPort>,
    /// Whether a person starts it.
    pub by_hand: bool,
    /// The lowest level of its lines that the run's log takes.
    pub log_level: u8,
}

/// A port as the model has it.
#[derive(Debug, Clone)]
pub struct PlannedPort {
    pub name: String,
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
pub struct End {
    pub instance: u32,
    /// Index among the instance's ports.
    pub port: u32,
    /// Which slot, for a vector port.
    pub slot: Option<u32>,
}

/// The way from one slot of a sending port to one slot of a receiving port.
#[derive(Debug, Clone, Copy)]
pub struct PlannedChannel {
    pub from: End,
    pub to: End,
    /// Bytes that may be under way.
    pub budget: u64,
    /// The most bytes that a message may have; none means: as many as memory allows.
    pub limit: Option<u64>,
}

/// Who is joined to whom: follows from the channels.
#[derive(Debug, Default)]
pub struct Wiring {
    /// For each instance the channels that it sends on and receives on.
    sends: Vec<Vec<u32>>,
    receives: Vec<Vec<u32>>,
    /// For each instance those that send to it; a place here is an inbox of its area.
    senders: Vec<Vec<u32>>,
    /// For each instance those that it sends to.
    receivers: Vec<Vec<u32>>,
    /// (reader, sender) → inbox.
    inboxes: HashMap<(u32, u32), u32>,
    /// For each channel its place among its receiver's.
    credits: Vec<u32>,
}

impl Wiring {
    /// Works out who is joined to whom.
    pub fn new(plan: &Plan) -> Wiring {
        let n = plan.instances.len();
        let empty = || vec![Vec::new(); n];
        let mut wiring = Wiring {
            sends: empty(),
            receives: empty(),
            senders: empty(),
            receivers: empty(),
            ..Wiring::default()
        };
        for (id, channel) in plan.channels.iter().enumerate() {
            let (from, to) = (channel.from.instance, channel.to.instance);
            wiring.sends[from as usize].push(id as u32);
            wiring.credits.push(wiring.receives[to as usize].len() as u32);
            wiring.receives[to as usize].push(id as u32);
            let senders = &mut wiring.senders[to as usize];
            wiring.inboxes.entry((to, from)).or_insert_with(|| {
                senders.push(from);
                wiring.receivers[from as usize].push(to);
                senders.len() as u32 - 1
            });
        }
        wiring
    }

    /// How many channels end at an instance.
    pub fn incoming(&self, instance: u32) -> u32 {
        self.receives[instance as usize].len() as u32
    }

    /// Those that send to an instance, in the order of its inboxes.
    pub fn senders(&self, instance: u32) -> &[u32] {
        &self.senders[instance as usize]
    }

    /// Those that an instance sends to.
    pub fn receivers(&self, instance: u32) -> &[u32] {
        &self.receivers[instance as usize]
    }

    /// Which inbox of `reader` is `sender`'s, if they are joined.
    pub fn inbox(&self, reader: u32, sender: u32) -> Option<u32> {
        self.inboxes.get(&(reader, sender)).copied()
    }

    /// The channels that an instance sends on, as it is told of them.
    pub fn sends(&self, plan: &Plan, instance: u32) -> Vec<ChannelInfo> {
        let ids = &self.sends[instance as usize];
        ids.iter().map(|&id| self.info(plan, id, |channel| (channel.from, channel.to))).collect()
    }

    /// The channels that an instance receives on, as it is told of them.
    pub fn receives(&self, plan: &Plan, instance: u32) -> Vec<ChannelInfo> {
        let ids = &self.receives[instance as usize];
        ids.iter().map(|&id| self.info(plan, id, |channel| (channel.to, channel.from))).collect()
    }

    /// The ends of the channels of an instance: its own and its peer's.
    pub fn ends<'a>(&'a self, plan: &'a Plan, instance: u32) -> impl Iterator<Item = (End, End)> + 'a {
        let channel = |&id: &u32| &plan.channels[id as usize];
        let sends = self.sends[instance as usize].iter().map(channel).map(|channel| (channel.from, channel.to));
        let receives = self.receives[instance as usize].iter().map(channel);
        sends.chain(receives.map(|channel| (channel.to, channel.from)))
    }

    fn info(&self, plan: &Plan, id: u32, ends: impl Fn(&PlannedChannel) -> (End, End)) -> ChannelInfo {
        let channel = &plan.channels[id as usize];
        let (own, peer) = ends(channel);
        ChannelInfo {
            id,
            port: own.port,
            slot: own.slot,
            peer: peer.instance,
            credit: self.credits[id as usize],
            budget: channel.budget,
            limit: channel.limit,
            peer_port: plan.end_name(peer),
        }
    }
}

impl Plan {
    /// The plan of a model as it is run.
    ///
    /// # Errors
    /// The settings cannot be put into a message, which says why.
    pub fn of(model: &Resolved, run: &str) -> Result<Plan, String> {
        let port = |port: &ligament_model::ResolvedPort| PlannedPort {
            name: port.name.to_string(),
            operator: port.operator,
            sends: port.sends,
            vector: port.vector,
            length: port.length.map(|length| length as u64),
            connected: port.connected,
            resizable: port.name.as_str() != SETTINGS_PORT,
            implicit: port.name.as_str() == SETTINGS_PORT,
        };
        let instances = model.instances.iter().enumerate().map(|(i, instance)| PlannedInstance {
            name: instance.name.to_string(),
            ports: instance.ports.iter().map(port).collect(),
            by_hand: model.program(i as u32).is_some_and(|p| p.execution_model == ExecutionModel::Manual),
            log_level: log_level(model, &instance.name),
        });
        let mut instances: Vec<PlannedInstance> = instances.collect();
        for channel in &model.channels {
            if channel.from.slot == NO_SLOT && channel.to.slot == NO_SLOT {
                continue;
            }
            for end in [channel.from, channel.to] {
                instances[end.instance as usize].ports[end.port as usize].resizable = false;
            }
        }
        let end = |end: ligament_model::Endpoint| End {
            instance: end.instance,
            port: end.port,
            slot: (end.slot != NO_SLOT).then_some(end.slot),
        };
        let budget = model.ligament.budget.unwrap_or(DEFAULT_BUDGET);
        let channels = model.channels.iter().map(|channel| PlannedChannel {
            from: end(channel.from),
            to: end(channel.to),
            budget: channel.budget.unwrap_or(budget),
            limit: channel.message_size,
        });
        Ok(Plan {
            run: run.to_owned(),
            instances,
            channels: channels.collect(),
            settings: settings_body(&model.settings)?,
            memory: model.ligament.memory,
            pinned_limit: model.ligament.reader_pinned,
            timeline: model.ligament.timeline != Some(0),
        })
    }

    /// An end as people call it: `micro[3].init`, `macro.out[2]`.
    pub fn end_name(&self, end: End) -> String {
        let instance = &self.instances[end.instance as usize];
        let port = instance.ports.get(end.port as usize).map_or("?", |port| &port.name);
        match end.slot {
            Some(slot) => format!("{}.{port}[{slot}]", instance.name),
            None => format!("{}.{port}", instance.name),
        }
    }
}

impl From<&PlannedPort> for PortInfo {
    fn from(port: &PlannedPort) -> PortInfo {
        PortInfo {
            name: port.name.clone(),
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

/// The setting by which MUSCLE 3 chooses what of an instance's log goes to the manager; INFO without it.
fn log_level(model: &Resolved, instance: &Reference) -> u8 {
    const INFO: u8 = 1;
    let name = Reference::new("muscle_remote_log_level");
    let value = name.ok().and_then(|name| Some(model.settings.get(instance, &name)?.1.clone()));
    match value {
        Some(ligament_model::SettingValue::Str(level)) => match level.to_ascii_uppercase().as_str() {
            "DEBUG" | "LOCAL" => 0,
            "WARNING" => 2,
            "ERROR" => 3,
            "CRITICAL" => 4,
            _ => INFO,
        },
        _ => INFO,
    }
}

fn settings_body(settings: &ligament_model::Settings) -> Result<Vec<u8>, String> {
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
    let plan = encoder.plan(&ValueRef::Owned(&all)).map_err(|error| format!("the settings: {error}"))?;
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    Ok(body)
}
