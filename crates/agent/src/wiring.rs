//! The connections between ranks, and between the endpoints that serve the ranks. The connections follow
//! from the instances and channels of a plan.

use crate::plan::{PlannedChannel, PlannedEnd, PlannedInstance, RunPlan};
use ligament_wire::control::{ChannelInfo, InnerChannel, InnerEnd};
use ligament_wire::{rank_name, EndpointId, InstanceId, RankId, Ranks};
use std::collections::HashMap;

/// The connections between ranks and between endpoints. Tables by endpoint have an entry for every rank,
/// because the number of an endpoint is the number of the first rank that the endpoint serves.
#[derive(Debug, Default)]
pub struct Wiring {
    ranks: Ranks,
    /// For each rank, the endpoint that serves it.
    endpoints: Vec<EndpointId>,
    /// The carrier's endpoint, if any instance is in another domain.
    carrier: Option<EndpointId>,
    /// For each endpoint, the ranks that the endpoint serves. The list is empty for a number that belongs
    /// to no endpoint.
    members: Vec<Vec<RankId>>,
    /// For each rank, its index among the ranks of its endpoint.
    places: Vec<u32>,
    /// For each rank, the channels on which the rank sends, and the channels on which the rank receives.
    sends: Vec<Vec<u32>>,
    receives: Vec<Vec<u32>>,
    /// For each endpoint, the number of channels from other endpoints.
    incoming: Vec<u32>,
    /// For each receiving endpoint, the endpoints that send to it. The index of a sender in this list is
    /// the number of the sender's inbox in the receiver's area.
    senders: Vec<Vec<EndpointId>>,
    /// For each sending endpoint, the endpoints that receive from it.
    receivers: Vec<Vec<EndpointId>>,
    /// For each pair (reader, sender) of endpoints, the number of the sender's inbox in the reader's area.
    inboxes: HashMap<(EndpointId, EndpointId), u32>,
    /// For each channel, its index among the channels from other endpoints to the receiving endpoint;
    /// `None` for a channel within an endpoint.
    credits: Vec<Option<u32>>,
}

/// The numbers of an endpoint's channels. Each list has the order in which the agent sends the channels to
/// the endpoint.
#[derive(Debug, Clone)]
pub struct ChannelLists {
    /// Channels on which the endpoint sends to other endpoints.
    pub sends: Vec<u32>,
    /// Channels on which the endpoint receives from other endpoints. The index of a channel in this list is
    /// the place where the endpoint returns the channel's credit.
    pub receives: Vec<u32>,
    /// Channels between the endpoint's own instances.
    pub inner: Vec<u32>,
}

impl Wiring {
    /// Determines the connections of a plan.
    pub fn new(plan: &RunPlan) -> Wiring {
        let ranks = plan.ranks();
        let n = ranks.count();
        let carrier = ranks.all().find(|&rank| plan.instances[ranks.instance(rank).index()].elsewhere);
        let carrier = carrier.map(EndpointId::led_by);
        let mut wiring = Wiring {
            carrier,
            members: vec![Vec::new(); n],
            sends: vec![Vec::new(); n],
            receives: vec![Vec::new(); n],
            incoming: vec![0; n],
            senders: vec![Vec::new(); n],
            receivers: vec![Vec::new(); n],
            ..Wiring::default()
        };
        for rank in ranks.all() {
            let PlannedInstance { elsewhere, shares, .. } = &plan.instances[ranks.instance(rank).index()];
            let endpoint = match (carrier, shares) {
                (Some(carrier), _) if *elsewhere => carrier,
                (_, Some(first)) => EndpointId::led_by(ranks.leader(*first)),
                _ => EndpointId::led_by(rank),
            };
            let members = &mut wiring.members[endpoint.index()];
            wiring.endpoints.push(endpoint);
            wiring.places.push(members.len() as u32);
            members.push(rank);
        }
        wiring.ranks = ranks;
        for (id, channel) in plan.channels.iter().enumerate() {
            wiring.sends[channel.from.rank.index()].push(id as u32);
            wiring.receives[channel.to.rank.index()].push(id as u32);
            let (from, to) = (wiring.endpoint_of(channel.from.rank), wiring.endpoint_of(channel.to.rank));
            if from == to && (Some(from) == carrier || wiring.is_light(plan, from)) {
                wiring.credits.push(None);
                continue;
            }
            let incoming = &mut wiring.incoming[to.index()];
            wiring.credits.push(Some(*incoming));
            *incoming += 1;
            let senders = &mut wiring.senders[to.index()];
            wiring.inboxes.entry((to, from)).or_insert_with(|| {
                senders.push(from);
                wiring.receivers[from.index()].push(to);
                senders.len() as u32 - 1
            });
        }
        wiring
    }

    /// Returns the numbering of the ranks of all instances.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Returns the instance to which a rank belongs.
    pub fn instance<'p>(&self, plan: &'p RunPlan, rank: RankId) -> &'p PlannedInstance {
        &plan.instances[self.ranks.instance(rank).index()]
    }

    /// Returns the instance of the first rank that an endpoint serves.
    pub fn first_instance(&self, endpoint: EndpointId) -> InstanceId {
        self.ranks.instance(endpoint.leader())
    }

    /// Returns the endpoint that serves a rank.
    pub fn endpoint_of(&self, rank: RankId) -> EndpointId {
        self.endpoints[rank.index()]
    }

    /// Returns true if an endpoint serves a rank. Returns false if the rank does not exist.
    pub fn serves(&self, endpoint: EndpointId, rank: RankId) -> bool {
        self.endpoints.get(rank.index()) == Some(&endpoint)
    }

    /// Returns all endpoints, the carrier included.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointId> + '_ {
        self.ranks.all().map(EndpointId::led_by).filter(|&one| self.endpoint_of(one.leader()) == one)
    }

    /// Returns the carrier's endpoint, if any instance is in another domain.
    pub fn carrier(&self) -> Option<EndpointId> {
        self.carrier
    }

    /// Returns the endpoints of this domain's processes: all endpoints except the carrier.
    pub fn own_endpoints(&self) -> impl Iterator<Item = EndpointId> + '_ {
        self.endpoints().filter(|&one| self.carrier != Some(one))
    }

    /// Returns true if an endpoint serves the instances of a light program.
    pub fn is_light(&self, plan: &RunPlan, endpoint: EndpointId) -> bool {
        let instance = self.instance(plan, endpoint.leader());
        instance.shares.is_some() && !instance.elsewhere
    }

    /// Returns the ranks that an endpoint serves. The list is empty for a number that belongs to no
    /// endpoint.
    pub fn members(&self, endpoint: EndpointId) -> &[RankId] {
        &self.members[endpoint.index()]
    }

    /// Returns the index of a rank among the ranks of its endpoint.
    pub fn place(&self, rank: RankId) -> u32 {
        self.places[rank.index()]
    }

    /// Returns the number of channels to an endpoint from other endpoints.
    pub fn incoming(&self, endpoint: EndpointId) -> u32 {
        self.incoming[endpoint.index()]
    }

    /// Returns the numbers of an endpoint's channels.
    pub fn channels(&self, endpoint: EndpointId) -> ChannelLists {
        let of = |lists: &[Vec<u32>]| -> Vec<u32> {
            self.members(endpoint).iter().flat_map(|&member| lists[member.index()].iter().copied()).collect()
        };
        let is_between = |id: &u32| self.credits[*id as usize].is_some();
        let (sends, inner): (Vec<u32>, Vec<u32>) = of(&self.sends).into_iter().partition(is_between);
        let mut receives: Vec<u32> = of(&self.receives).into_iter().filter(is_between).collect();
        // `new` assigns places of credit in the order of channel numbers, so the list has the same order.
        receives.sort_unstable();
        ChannelLists { sends, receives, inner }
    }

    /// Returns the endpoints that send to an endpoint, in the order of the receiver's inboxes.
    pub fn senders(&self, endpoint: EndpointId) -> &[EndpointId] {
        &self.senders[endpoint.index()]
    }

    /// Returns the endpoints to which an endpoint sends.
    pub fn receivers(&self, endpoint: EndpointId) -> &[EndpointId] {
        &self.receivers[endpoint.index()]
    }

    /// Returns the number of the inbox of `reader` that belongs to `sender`, or `None` if `sender` does not
    /// send to `reader`.
    pub fn inbox(&self, reader: EndpointId, sender: EndpointId) -> Option<u32> {
        self.inboxes.get(&(reader, sender)).copied()
    }

    /// Returns the channels on which an endpoint sends to other endpoints, in the form in which the agent
    /// sends this list to the endpoint.
    pub fn sends(&self, plan: &RunPlan, endpoint: EndpointId) -> Vec<ChannelInfo> {
        self.channels(endpoint)
            .sends
            .into_iter()
            .filter_map(|id| self.info(plan, id, |channel| (channel.from, channel.to)))
            .collect()
    }

    /// Returns the channels on which an endpoint receives from other endpoints, in the same form as
    /// `sends`.
    pub fn receives(&self, plan: &RunPlan, endpoint: EndpointId) -> Vec<ChannelInfo> {
        self.channels(endpoint)
            .receives
            .into_iter()
            .filter_map(|id| self.info(plan, id, |channel| (channel.to, channel.from)))
            .collect()
    }

    /// Returns the channels between the instances of an endpoint.
    pub fn inner(&self, plan: &RunPlan, endpoint: EndpointId) -> Vec<InnerChannel> {
        let ids = self.channels(endpoint).inner;
        let end = |end: PlannedEnd| InnerEnd { member: self.place(end.rank), port: end.port, slot: end.slot };
        ids.into_iter()
            .map(|id| {
                let channel = &plan.channels[id as usize];
                InnerChannel {
                    id,
                    from: end(channel.from),
                    to: end(channel.to),
                    budget: channel.budget,
                    limit: channel.limit,
                    steps: channel.steps,
                    filters: channel.filters,
                }
            })
            .collect()
    }

    /// Returns both ends of each channel of a rank: first the rank's own end, then the end of its peer.
    pub fn ends<'a>(
        &'a self,
        plan: &'a RunPlan,
        rank: RankId,
    ) -> impl Iterator<Item = (PlannedEnd, PlannedEnd)> + 'a {
        let sends = planned(plan, &self.sends[rank.index()]).map(|channel| (channel.from, channel.to));
        sends.chain(self.receiving_ends(plan, rank))
    }

    /// Returns both ends of each channel on which a rank receives: first the rank's own end, then the end of
    /// the sender.
    pub fn receiving_ends<'a>(
        &'a self,
        plan: &'a RunPlan,
        rank: RankId,
    ) -> impl Iterator<Item = (PlannedEnd, PlannedEnd)> + 'a {
        planned(plan, &self.receives[rank.index()]).map(|channel| (channel.to, channel.from))
    }

    /// Returns the name of a rank for people: `micro[3]`, or `flow:2` if ranks take part by themselves.
    pub fn name(&self, plan: &RunPlan, rank: RankId) -> String {
        let instance = self.instance(plan, rank);
        rank_name(&instance.name, instance.ranks.map(|_| self.ranks.place(rank)))
    }

    /// Returns the name of a channel's end for people: `micro[3].init`, `macro.out[2]`, `flow:2.out`.
    pub fn end_name(&self, plan: &RunPlan, end: PlannedEnd) -> String {
        let name = self.name(plan, end.rank);
        let ports = &self.instance(plan, end.rank).ports;
        let port = ports.get(end.port as usize).map_or("?", |port| &*port.name);
        match end.slot {
            Some(slot) => format!("{name}.{port}[{slot}]"),
            None => format!("{name}.{port}"),
        }
    }

    /// Returns true if a port sends or receives by the clock of its instance.
    fn goes_by_clock(&self, plan: &RunPlan, end: PlannedEnd) -> bool {
        let ports = &self.instance(plan, end.rank).ports;
        ports.get(end.port as usize).is_some_and(|port| port.clock.is_some())
    }

    /// Returns the description of a channel for an endpoint, or `None` for a channel within an endpoint.
    /// `ends` returns the endpoint's own end of the channel, and the end of its peer.
    fn info(
        &self,
        plan: &RunPlan,
        id: u32,
        ends: impl Fn(&PlannedChannel) -> (PlannedEnd, PlannedEnd),
    ) -> Option<ChannelInfo> {
        let channel = &plan.channels[id as usize];
        let (own, peer) = ends(channel);
        Some(ChannelInfo {
            id,
            port: own.port,
            slot: own.slot,
            peer: self.endpoint_of(peer.rank),
            credit: self.credits[id as usize]?,
            budget: channel.budget,
            limit: channel.limit,
            steps: channel.steps,
            filters: channel.filters,
            peer_port: self.end_name(plan, peer),
            member: self.place(own.rank),
            may_fail: self.instance(plan, peer.rank).may_fail.then_some(true),
            marks: self.goes_by_clock(plan, channel.to).then_some(true),
            wants_of: channel.wants_of,
        })
    }
}

/// Returns the channels with these numbers.
fn planned<'a>(plan: &'a RunPlan, ids: &'a [u32]) -> impl Iterator<Item = &'a PlannedChannel> {
    ids.iter().map(|&id| &plan.channels[id as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlannedPort;

    /// Instance 0 sends on each of its two ports to each of the instances 1 to 3, which share a process.
    #[test]
    fn an_endpoint_returns_the_credit_of_a_channel_where_its_sender_looks_for_it() {
        let one = |shares| PlannedInstance { shares, ..PlannedInstance::default() };
        let first = InstanceId::new(1);
        let end = |rank, port, slot| PlannedEnd { rank: RankId::new(rank), port, slot };
        let channel = |port, to| PlannedChannel {
            from: end(0, port, Some(to - 1)),
            to: end(to, port, None),
            budget: 1,
            ..PlannedChannel::default()
        };
        let port = |name: &str, sends| PlannedPort {
            name: name.into(),
            operator: ligament_model::Operator::S,
            sends,
            vector: sends,
            length: None,
            connected: true,
            resizable: false,
            implicit: false,
            array: None,
            clock: None,
        };
        let ports = |sends| std::sync::Arc::from([port("a", sends), port("b", sends)]);
        let mut plan = RunPlan {
            instances: vec![one(None), one(Some(first)), one(Some(first)), one(Some(first))],
            channels: (0..2)
                .flat_map(|port| (1..4).map(move |to| (port, to)))
                .map(|(p, to)| channel(p, to))
                .collect(),
            ..RunPlan::default()
        };
        for (i, instance) in plan.instances.iter_mut().enumerate() {
            instance.ports = ports(i == 0);
        }
        let wiring = Wiring::new(&plan);
        let of = EndpointId::led_by(RankId::new(1));
        let received = wiring.receives(&plan, of);
        let sent = wiring.sends(&plan, EndpointId::led_by(RankId::new(0)));
        assert_eq!(received.len(), 6);
        for (place, channel) in (0..).zip(&received) {
            let at_the_sender = sent.iter().find(|one| one.id == channel.id).map(|one| one.credit);
            assert_eq!((channel.credit, at_the_sender), (place, Some(place)), "channel {}", channel.id);
        }
    }
}
