//! Endpoints that serve many instances: all instances of a light program share one process and one
//! endpoint.

use super::AgentCore;
use crate::action::{Action, AgentReport};
use crate::plan::{PlannedInstance, PlannedPort};
use crate::ports;
use ligament_catalogue::{fault, Fault};
use ligament_model::Operator;
use ligament_wire::control::{Light, LightMember, PortDeclaration, PortInfo};
use ligament_wire::{EndpointId, RankId};
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::Arc;

impl AgentCore {
    /// Returns the rank that a request of an endpoint is about: `of` if the endpoint serves that rank, or
    /// else its first rank.
    pub(super) fn resolve_rank(&self, me: EndpointId, of: Option<RankId>) -> RankId {
        of.filter(|&one| self.wiring.serves(me, one)).unwrap_or(me.leader())
    }

    /// Returns a note on how many other instances a light program's process ran. The note is added to the
    /// cause of the process's end.
    pub(super) fn together_with(&self, me: EndpointId) -> String {
        match self.wiring.members(me).len() {
            1 => String::new(),
            2 => "; its process ran another instance too".into(),
            n => format!("; its process ran {} other instances too", n - 1),
        }
    }

    /// Returns the reason why an instance of a light program cannot take part in a process of its own.
    pub(super) fn runs_with_others(&self, rank: RankId) -> Fault {
        let names = |rank: RankId| &self.wiring.instance(&self.plan, rank).name;
        fault!(
            RUNS_WITH_OTHERS,
            "\"{}\" is run by the process of its light program, together with \"{}\"",
            names(rank),
            names(self.wiring.endpoint_of(rank).leader())
        )
    }

    /// Checks for all instances of an endpoint that the code declares the ports of the model. Returns the ports
    /// of the instances, or the reason why code and model do not fit.
    pub(super) fn agree_on_ports(
        &self,
        endpoint: EndpointId,
        declared: Option<&[PortDeclaration]>,
    ) -> Result<AgreedPorts, Fault> {
        let mut agreed = AgreedPorts::default();
        // Instances of one component share one list of ports.
        let mut known: HashMap<*const PlannedPort, u32> = HashMap::new();
        for &member in self.wiring.members(endpoint) {
            let planned = self.wiring.instance(&self.plan, member);
            let list = match known.entry(planned.ports.as_ptr()) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let ports = ports::agree(planned, declared)?;
                    agreed.slotted.push(ports.iter().map(|port| port.vector).collect());
                    let sends =
                        |port: &&PortInfo| Operator::from_name(&port.operator).is_some_and(Operator::sends);
                    agreed.senders.push(ports.iter().filter(sends).map(|port| port.name.clone()).collect());
                    agreed.ports.push(ports);
                    // The log gets one remark for all instances of a component.
                    if planned.name.split('[').skip(1).all(|index| index == "0]") {
                        let told = ports::other_operators(planned, declared);
                        agreed.remarks.extend(told.into_iter().map(|text| (member, text)));
                    }
                    *new.insert(agreed.ports.len() as u32 - 1)
                }
            };
            agreed.lists.push(list);
        }
        let here = |member: RankId| Some(&agreed.slotted[agreed.list_of(self.wiring.place(member))][..]);
        for &member in self.wiring.members(endpoint) {
            let slotted = |peer: RankId| {
                if self.wiring.endpoint_of(peer) == endpoint {
                    here(peer)
                } else {
                    self.slotted[peer.index()].as_deref()
                }
            };
            ports::agree_with_peers(&self.plan, &self.wiring, member, slotted)?;
        }
        Ok(agreed)
    }

    /// Reports the operators that the code declares and the model does not, once for each list of ports.
    pub(super) fn tell_operators(&self, endpoint: EndpointId, agreed: &AgreedPorts, out: &mut Vec<Action>) {
        if self.is_carrier(endpoint) {
            return;
        }
        let members = self.wiring.members(endpoint);
        for (list, agreed_ports) in (0u32..).zip(&agreed.ports) {
            let first = members.iter().zip(&agreed.lists).find(|(_, &own)| own == list);
            let Some((&rank, _)) = first else { continue };
            let ports = only_declared(&self.wiring.instance(&self.plan, rank).ports, agreed_ports);
            if !ports.is_empty() {
                out.push(Action::Report(AgentReport::Declares { rank, ports }));
            }
        }
    }

    /// Returns the part of a welcome that only a process with many instances needs.
    pub(super) fn of_light(&self, endpoint: EndpointId, agreed: AgreedPorts) -> Light {
        let member = |(&number, ports): (&RankId, u32)| {
            let PlannedInstance { name, log_level, .. } = self.wiring.instance(&self.plan, number);
            LightMember { number, name: name.clone(), ports, log_level: *log_level }
        };
        Light {
            members: self.wiring.members(endpoint).iter().zip(agreed.lists).map(member).collect(),
            ports: agreed.ports,
            channels: self.wiring.inner(&self.plan, endpoint),
        }
    }
}

/// Returns name and operator of each port that has a conduit and whose operator only the code declares.
fn only_declared(planned: &[PlannedPort], agreed: &[PortInfo]) -> Vec<(String, String)> {
    let open = |(known, _): &(&PlannedPort, &PortInfo)| known.operator == Operator::None && !known.implicit;
    let both = planned.iter().zip(agreed).filter(open);
    both.filter(|(_, port)| Operator::from_name(&port.operator).is_some_and(|one| one != Operator::None))
        .map(|(_, port)| (port.name.to_string(), port.operator.clone()))
        .collect()
}

/// The ports of an endpoint's instances, after code and model were compared.
#[derive(Default)]
pub(super) struct AgreedPorts {
    /// All different lists of ports. Instances of one component share a list.
    pub ports: Vec<Vec<PortInfo>>,
    /// For each list: which of its ports have slots.
    pub slotted: Vec<Arc<[bool]>>,
    /// For each list: the names of its sending ports.
    pub senders: Vec<Arc<[String]>>,
    /// Remarks for the log, each with the rank that it is about.
    pub remarks: Vec<(RankId, String)>,
    /// For each instance, in the order of the endpoint's instances: the index of its list.
    pub lists: Vec<u32>,
}

impl AgreedPorts {
    /// Returns the index of the list of ports of the instance with this place in the endpoint.
    pub fn list_of(&self, place: u32) -> usize {
        self.lists[place as usize] as usize
    }
}
