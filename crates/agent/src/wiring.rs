//! Who is joined to whom, of instances and of the endpoints that serve them: follows from a plan's channels.

use crate::plan::{End, Plan, PlannedChannel};
use ligament_wire::control::{ChannelInfo, InnerChannel, InnerEnd};
use std::collections::HashMap;

/// Who is joined to whom.
#[derive(Debug, Default)]
pub struct Wiring {
    /// For each endpoint the instances that it serves; none for numbers that are no endpoint's.
    members: Vec<Vec<u32>>,
    /// For each instance its place among those of its endpoint.
    places: Vec<u32>,
    /// For each instance the channels that it sends on and receives on.
    sends: Vec<Vec<u32>>,
    receives: Vec<Vec<u32>>,
    /// For each endpoint how many channels come from others.
    incoming: Vec<u32>,
    /// For each endpoint those that send to it; a place here is an inbox of its area.
    senders: Vec<Vec<u32>>,
    /// For each endpoint those that it sends to.
    receivers: Vec<Vec<u32>>,
    /// (reader, sender) → inbox.
    inboxes: HashMap<(u32, u32), u32>,
    /// For each channel its place among those of its receiver's endpoint; none for one within an endpoint.
    credits: Vec<Option<u32>>,
}

impl Wiring {
    /// Works out who is joined to whom.
    pub fn new(plan: &Plan) -> Wiring {
        let n = plan.instances.len();
        let empty = || vec![Vec::new(); n];
        let mut wiring = Wiring {
            members: empty(),
            sends: empty(),
            receives: empty(),
            incoming: vec![0; n],
            senders: empty(),
            receivers: empty(),
            ..Wiring::default()
        };
        for instance in 0..n as u32 {
            let members = &mut wiring.members[plan.endpoint_of(instance) as usize];
            wiring.places.push(members.len() as u32);
            members.push(instance);
        }
        for (id, channel) in plan.channels.iter().enumerate() {
            wiring.sends[channel.from.instance as usize].push(id as u32);
            wiring.receives[channel.to.instance as usize].push(id as u32);
            let (from, to) = (plan.endpoint_of(channel.from.instance), plan.endpoint_of(channel.to.instance));
            if from == to && plan.instances[from as usize].shares.is_some() {
                wiring.credits.push(None);
                continue;
            }
            let incoming = &mut wiring.incoming[to as usize];
            wiring.credits.push(Some(*incoming));
            *incoming += 1;
            let senders = &mut wiring.senders[to as usize];
            wiring.inboxes.entry((to, from)).or_insert_with(|| {
                senders.push(from);
                wiring.receivers[from as usize].push(to);
                senders.len() as u32 - 1
            });
        }
        wiring
    }

    /// The instances that an endpoint serves; none for a number that is no endpoint's.
    pub fn members(&self, endpoint: u32) -> &[u32] {
        &self.members[endpoint as usize]
    }

    /// The place of an instance among those of its endpoint.
    pub fn place(&self, instance: u32) -> u32 {
        self.places[instance as usize]
    }

    /// How many channels come to an endpoint from others.
    pub fn incoming(&self, endpoint: u32) -> u32 {
        self.incoming[endpoint as usize]
    }

    /// Those that send to an endpoint, in the order of its inboxes.
    pub fn senders(&self, endpoint: u32) -> &[u32] {
        &self.senders[endpoint as usize]
    }

    /// Those that an endpoint sends to.
    pub fn receivers(&self, endpoint: u32) -> &[u32] {
        &self.receivers[endpoint as usize]
    }

    /// Which inbox of `reader` is `sender`'s, if they are joined.
    pub fn inbox(&self, reader: u32, sender: u32) -> Option<u32> {
        self.inboxes.get(&(reader, sender)).copied()
    }

    /// The channels that an endpoint sends on to others, as it is told of them.
    pub fn sends(&self, plan: &Plan, endpoint: u32) -> Vec<ChannelInfo> {
        let ids = self.members(endpoint).iter().flat_map(|&member| &self.sends[member as usize]);
        ids.filter_map(|&id| self.info(plan, id, |channel| (channel.from, channel.to))).collect()
    }

    /// The channels that an endpoint receives on from others, as it is told of them.
    pub fn receives(&self, plan: &Plan, endpoint: u32) -> Vec<ChannelInfo> {
        let ids = self.members(endpoint).iter().flat_map(|&member| &self.receives[member as usize]);
        ids.filter_map(|&id| self.info(plan, id, |channel| (channel.to, channel.from))).collect()
    }

    /// The channels between the instances of an endpoint.
    pub fn inner(&self, plan: &Plan, endpoint: u32) -> Vec<InnerChannel> {
        let ids = self.members(endpoint).iter().flat_map(|&member| &self.sends[member as usize]);
        let end = |end: End| InnerEnd { member: self.place(end.instance), port: end.port, slot: end.slot };
        ids.filter(|&&id| self.credits[id as usize].is_none())
            .map(|&id| {
                let channel = &plan.channels[id as usize];
                InnerChannel {
                    id,
                    from: end(channel.from),
                    to: end(channel.to),
                    budget: channel.budget,
                    limit: channel.limit,
                }
            })
            .collect()
    }

    /// The ends of the channels of an instance: its own and its peer's.
    pub fn ends<'a>(&'a self, plan: &'a Plan, instance: u32) -> impl Iterator<Item = (End, End)> + 'a {
        let channel = |&id: &u32| &plan.channels[id as usize];
        let sends = self.sends[instance as usize].iter().map(channel).map(|channel| (channel.from, channel.to));
        let receives = self.receives[instance as usize].iter().map(channel);
        sends.chain(receives.map(|channel| (channel.to, channel.from)))
    }

    /// None for a channel within an endpoint.
    fn info(&self, plan: &Plan, id: u32, ends: impl Fn(&PlannedChannel) -> (End, End)) -> Option<ChannelInfo> {
        let channel = &plan.channels[id as usize];
        let (own, peer) = ends(channel);
        Some(ChannelInfo {
            id,
            port: own.port,
            slot: own.slot,
            peer: plan.endpoint_of(peer.instance),
            credit: self.credits[id as usize]?,
            budget: channel.budget,
            limit: channel.limit,
            peer_port: plan.end_name(peer),
            member: self.place(own.instance),
        })
    }
}
