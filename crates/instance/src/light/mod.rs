//! Light components: many instances in one process, run by the library. A function of an instance is called
//! when all messages that it receives have arrived. So no function waits, and all instances share one
//! thread.
//!
//! `schedule` calls the functions. `hub` holds the state that the instances share, with the `queue`s
//! between them; its part `outside` deals with other processes. `share` carries out the calls of one
//! instance. `needs` finds the messages that must have arrived before a function is called.
//!
//! The process has one endpoint, whose number is that of the first instance, so other processes see no
//! difference. The endpoint's `Welcome` names all instances, their ports, and the channels between them.
//! Channels within the process have no ring and no credit word: their messages wait in queues of a few
//! words each, in one common pool. A send always succeeds, whatever the budget. An instance that has
//! overdrawn a conduit is not called again before its receiver has taken enough messages. When no function
//! can be called, the endpoint waits for all instances at once.
//!
//! Each instance has a row, which is a status page of its own, behind the inboxes of the endpoint's area.
//! Rows show waits only when the process becomes idle, and all of them confirm together when the agent asks
//! for another look. So the search for deadlocks treats a light component like an instance that waits for
//! one channel after the other.
//!
//! The model names light programs under `ligament: {light: [...]}` and not next to the program, because
//! everything beyond yMMSL is in one place, which may be a file of its own. The processes work in
//! `light/<program>/`, because a directory for each of thousands of instances would cost more than the
//! instances do.

mod hub;
mod needs;
mod queue;
mod schedule;
mod share;

pub(crate) use share::Share;

use crate::chains::{ByChannel, FilterAnnouncement, Lists};
use crate::error::{AgentError, Error, ErrorKind};
use crate::flags::Flags;
use crate::identity::from_environment;
use crate::instance::{Common, Instance};
use crate::ports::{JoinedChannel, PortTable, Ports};
use crate::record::{replay_directory, CodeDeclarations};
use crate::submodel::{run_submodel, Submodel};
use crate::sys;
use crate::timing::TimelineState;
use crate::transport::Transport;
use hub::Hub;
use ligament_shm::line::{AgentLine, Registration};
use ligament_shm::Endpoint;
use ligament_wire::control::{ChannelSteps, Light, PortInfo};
use schedule::Scheduler;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Runs all instances of this program, and returns when all of them are over. `make` makes the submodel of
/// each instance. If the model does not say that the program is light, the process is one instance, which
/// is run alone.
///
/// A function is called when each connected port of its operator, and each slot, has a message or the
/// conduit's end: `F_INIT` for `initialise`, and `S` before `solve`. So a function can receive once from
/// each port. A submodel whose messages are not taken is not called again until they are taken.
///
/// # Errors
/// `Registration` as `Instance::new`. The first error of a function, which ends the run with its text.
pub fn run_light<S: Submodel>(make: impl FnMut(&mut Instance) -> Result<S, Error>) -> Result<(), Error> {
    run_light_with(None, Flags::default(), "rust", make)
}

/// Does the same as `run_light`, with the ports of every instance, with flags, and with the language of the
/// caller.
///
/// # Errors
/// As `run_light`.
pub fn run_light_with<S: Submodel>(
    ports: Option<&Ports>,
    flags: Flags,
    language: &str,
    mut make: impl FnMut(&mut Instance) -> Result<S, Error>,
) -> Result<(), Error> {
    let identity = from_environment()?;
    let code = CodeDeclarations { ports: ports.map(Ports::declarations), language };
    if let Some(directory) = replay_directory(&identity) {
        let instance = Instance::replayed(&identity, &directory, &code, flags)?;
        return run_alone(instance, make);
    }
    let mut registered = AgentLine::register(&identity, code.ports.clone(), language, true)
        .map_err(|fault| Error::other(ErrorKind::Registration, fault))?;
    let Some(light) = registered.welcome.light.take() else {
        let instance = Instance::alone(identity, registered, &code, flags)?;
        return run_alone(instance, make);
    };
    let common = Common::new(&registered.welcome, flags)?;
    let (hub, tables) = shared(registered, &light)?;
    let members = light.members;
    drop((light.ports, light.channels));
    let mut scheduler = Scheduler::new(hub.clone(), common.asked.clone());
    for (i, (member, (table, timing))) in members.into_iter().zip(tables).enumerate() {
        let transport = Transport::Shared(Share::new(hub.clone(), i as u32));
        let instance = Instance::made_of(transport, table, member.name, member.log_level, &common, timing)?;
        scheduler.add(instance, &mut make)?;
    }
    // The agent's answer to the registration was large, and is no longer needed.
    sys::return_freed_memory();
    scheduler.run()
}

/// Runs the submodel of a process that has only one instance.
fn run_alone<S: Submodel>(
    mut instance: Instance,
    mut make: impl FnMut(&mut Instance) -> Result<S, Error>,
) -> Result<(), Error> {
    let mut submodel = match make(&mut instance) {
        Ok(submodel) => submodel,
        Err(error) => {
            // The error itself matters more than a failure to report it.
            let _ = instance.error_shutdown(&error.to_string());
            return Err(error);
        }
    };
    run_submodel(&mut instance, &mut submodel)
}

/// Makes the shared state of the instances, and the table of ports and the timelines of each instance.
#[allow(clippy::type_complexity)]
fn shared(
    registered: Registration,
    light: &Light,
) -> Result<(Arc<Mutex<Hub>>, Vec<(PortTable, Option<Box<TimelineState>>)>), Error> {
    let Registration { line, welcome, foundation } = registered;
    let names = names_of(&light.ports);
    let mut joined: Vec<[Vec<JoinedChannel>; 2]> = light.members.iter().map(|_| Default::default()).collect();
    // For each member: the steps of the channels on which it sends, and those of the channels on which it
    // receives.
    let mut steps: HashMap<u32, [HashMap<usize, ChannelSteps>; 2]> = HashMap::new();
    let mut note = |member: u32, which: usize, channel: usize, of: Option<ChannelSteps>| {
        if let Some(of) = of {
            steps.entry(member).or_default()[which].insert(channel, of);
        }
    };
    let lists = Lists::told(welcome.filters.as_deref())?;
    let mut filters: HashMap<u32, [ByChannel; 2]> = HashMap::new();
    let mut note_filters = |member: u32,
                            which: usize,
                            channel: usize,
                            list: Option<u32>,
                            peer: Option<&String>,
                            limit: Option<u64>| {
        if let Some(list) = list {
            let told = FilterAnnouncement { list, peer: peer.cloned(), message_size: limit };
            filters.entry(member).or_default()[which].insert(channel, told);
        }
    };
    for (which, channels) in [&welcome.sends, &welcome.receives].into_iter().enumerate() {
        for (index, channel) in channels.iter().enumerate() {
            let Some(member) = joined.get_mut(channel.member as usize) else {
                return Err(AgentError::ChannelOfMember { member: channel.member }.into());
            };
            member[which].push(JoinedChannel::of(channel, index));
            note(channel.member, which, index, channel.steps);
            note_filters(
                channel.member,
                which,
                index,
                channel.filters,
                Some(&channel.peer_port),
                channel.limit,
            );
        }
    }
    for (i, channel) in light.channels.iter().enumerate() {
        let ends = [(channel.from, welcome.sends.len()), (channel.to, welcome.receives.len())];
        for (which, (end, before)) in ends.into_iter().enumerate() {
            let Some(member) = joined.get_mut(end.member as usize) else {
                return Err(AgentError::ChannelOfMember { member: end.member }.into());
            };
            member[which].push(JoinedChannel { port: end.port, slot: end.slot, index: before + i, peer: None });
            note(end.member, which, before + i, channel.steps);
            note_filters(end.member, which, before + i, channel.filters, None, channel.limit);
        }
    }
    let receivers = welcome.receives.iter().map(|channel| channel.member).collect();
    let mut endpoint = Endpoint::new(foundation, &welcome.sends, &welcome.receives, line)
        .and_then(|mut endpoint| endpoint.serve_many().map(|()| endpoint))
        .map_err(Error::while_registering)?;
    endpoint.show_on(None);
    endpoint.steering().begin(welcome.schedule.as_deref().unwrap_or_default());
    let tables = light.members.iter().zip(&mut joined).zip(0..).map(|((member, [sends, receives]), i)| {
        let list = member.ports as usize;
        let (Some(ports), Some(names)) = (light.ports.get(list), names.get(list)) else {
            return Err(AgentError::ListOfPorts { list }.into());
        };
        let mut table = PortTable::new(ports, names, std::mem::take(sends), std::mem::take(receives))?;
        let [sends, receives] = steps.remove(&i).unwrap_or_default();
        let [sending, receiving] = filters.remove(&i).unwrap_or_default();
        lists.join(&member.name, &mut table, &sending, &receiving)?;
        let timing = TimelineState::of(&mut table, sends, receives)?;
        Ok((table, timing))
    });
    let tables = tables.collect::<Result<Vec<_>, Error>>()?;
    let hub = Hub::new(endpoint, welcome.sends.len(), receivers, light, names);
    Ok((Arc::new(Mutex::new(hub)), tables))
}

/// Returns the names of the ports. Equal names share one text.
fn names_of(lists: &[Vec<PortInfo>]) -> Vec<Vec<Arc<str>>> {
    let mut known: HashMap<&str, Arc<str>> = HashMap::new();
    let mut all = Vec::with_capacity(lists.len());
    for ports in lists {
        let mut names = Vec::with_capacity(ports.len());
        for PortInfo { name, .. } in ports {
            names.push(known.entry(name).or_insert_with(|| name.as_str().into()).clone());
        }
        all.push(names);
    }
    all
}
