//! Taps: a client views the values that a port sends. The agent makes the box of a tap and gives it to the
//! client and to the endpoint; the agent does not see the values. A tap ends when its client disconnects,
//! or when the endpoint is done. If the instance is in another domain, the agent of that domain views the
//! port for the head (`driver/remote_taps.rs`).

use super::{answer, AgentCore};
use crate::action::{Action, ConnectionId, InstancePhase, TapViewer};
use ligament_catalogue::{fault, said, Fault};
use ligament_model::GHOSTS_OUT;
use ligament_shm::tap::MAX_VALUE_BYTES;
use ligament_wire::control::{Notice, Tap};
use ligament_wire::domains::{TapPort, MAX_TEXT};
use ligament_wire::tap::{TapSelection, MAX_HISTOGRAM_BARS, MAX_LEVELS};
use ligament_wire::{EndpointId, InstanceId, RankId};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of taps of this agent, and maximum number of taps of one endpoint's process.
const MAX_TAPS: usize = 4096;
const MAX_TAPS_PER_PROCESS: usize = 64;
/// Maximum number of sending ports of a rank, with the fields that it publishes.
const MAX_SENDING_PORTS: usize = 4096;

/// A client's request to view a port.
pub(super) struct TapRequest {
    pub instance: String,
    /// The number of the rank in its instance.
    pub rank: u32,
    pub port: String,
    pub slot: Option<u32>,
    pub wanted: TapSelection,
    pub room: u64,
}

/// The endpoint that serves a tap, and its connection.
struct TapTarget {
    endpoint: EndpointId,
    to: ConnectionId,
    tap: Tap,
}

/// All taps of this agent.
#[derive(Default)]
pub(super) struct TapRegistry {
    next: u32,
    /// For each tap, by number: its viewer, and the endpoint of its port.
    all: BTreeMap<u32, (TapViewer, EndpointId)>,
    /// Connections of clients that view ports of other domains.
    elsewhere: BTreeSet<ConnectionId>,
}

fn refused(viewer: TapViewer, why: &Fault) -> Action {
    match viewer {
        TapViewer::Client(link) => answer(link, Notice::Refused { why: why.with_code() }),
        TapViewer::Head(ticket) => Action::EndTap { ticket, why: why.with_code() },
    }
}

impl AgentCore {
    /// Handles a client's request to view a port.
    pub(super) fn tap(&mut self, link: ConnectionId, asked: TapRequest, out: &mut Vec<Action>) {
        let viewer = TapViewer::Client(link);
        let Some(instance) = self.instance_named(&asked.instance) else {
            let why = fault!(INSTANCE_UNKNOWN, "this run has no instance \"{}\"", asked.instance);
            return out.push(refused(viewer, &why));
        };
        let TapRequest { rank, port, slot, wanted, room, .. } = asked;
        let port = TapPort { instance, port, slot, wanted, room, rank };
        if self.plan.instances[instance.index()].elsewhere {
            match self.may_tap_elsewhere(link, &port) {
                Ok(()) => {
                    self.taps.elsewhere.insert(link);
                    out.push(Action::TapElsewhere { link, port: Box::new(port) });
                }
                Err(why) => out.push(refused(viewer, &why)),
            }
        } else {
            self.tap_here(viewer, port, out)
        }
    }

    /// Handles the head's request to view a port of this domain.
    pub fn tap_for_head(&mut self, ticket: u64, port: TapPort) -> Vec<Action> {
        let viewer = TapViewer::Head(ticket);
        let known = self.plan.instances.get(port.instance.index());
        if known.is_none_or(|instance| instance.elsewhere) {
            let why = fault!(TAP_REFUSED, "instance {} does not run here", port.instance);
            return vec![refused(viewer, &why)];
        }
        let mut out = Vec::new();
        self.tap_here(viewer, port, &mut out);
        out
    }

    fn tap_here(&mut self, viewer: TapViewer, port: TapPort, out: &mut Vec<Action>) {
        match self.may_tap(viewer, port) {
            Ok(TapTarget { endpoint, to, tap }) => {
                self.taps.next = self.taps.next.wrapping_add(1);
                self.taps.all.insert(tap.tap, (viewer, endpoint));
                out.push(Action::MakeTap { viewer, to, endpoint, tap: Box::new(tap) });
            }
            Err(why) => out.push(refused(viewer, &why)),
        }
    }

    fn may_tap_elsewhere(&self, link: ConnectionId, port: &TapPort) -> Result<(), Fault> {
        if self.ending.is_some() {
            return Err(self.is_over(port.instance));
        }
        self.has_room(TapViewer::Client(link), port)
    }

    fn may_tap(&self, viewer: TapViewer, asked: TapPort) -> Result<TapTarget, Fault> {
        let rank = self.tapped_rank(&asked)?;
        let name = self.wiring.name(&self.plan, rank);
        let endpoint = self.wiring.endpoint_of(rank);
        let own = &self.endpoints[endpoint.index()];
        let (to, ports) = match (own.phase, own.link(), self.sending_ports(rank)) {
            (InstancePhase::Waiting | InstancePhase::Started, ..) if self.ending.is_none() => {
                return Err(fault!(TAP_TOO_EARLY, "\"{name}\" does not take part yet; ask again when it does"))
            }
            (InstancePhase::Running, Some(to), Some(ports)) if self.ending.is_none() => (to, ports),
            _ => return Err(self.is_over(asked.instance)),
        };
        let is_block = self.plan.instances[asked.instance.index()].grid.is_some();
        if is_block && asked.port == GHOSTS_OUT {
            return Err(fault!(
                TAP_REFUSED,
                "\"{GHOSTS_OUT}\" has the ghosts of all fields, packed for the neighbours of \"{name}\"; to \
                 see a field, let the code publish the field, and look at the port with its name"
            ));
        }
        if !ports.contains(&asked.port) {
            if is_block && !self.published.contains_key(&rank) {
                return Err(fault!(
                    TAP_TOO_EARLY,
                    "\"{name}\" has published no field yet; ask again when it has"
                ));
            }
            let known = if ports.is_empty() { "none".to_owned() } else { ports.join(", ") };
            return Err(fault!(
                TAP_REFUSED,
                "\"{name}\" has no port \"{}\" on which it sends; there are: {known}",
                asked.port
            ));
        }
        if let Some(slot) = asked.slot {
            self.has_slot(rank, &asked, slot)?;
        }
        self.has_room(viewer, &asked)?;
        if self.taps.all.values().filter(|(_, other)| *other == endpoint).count() >= MAX_TAPS_PER_PROCESS {
            return Err(too_many());
        }
        let member = if self.wiring.is_light(&self.plan, endpoint) { self.wiring.place(rank) } else { 0 };
        let TapPort { port, slot, wanted, room, .. } = asked;
        let tap = Tap { tap: self.taps.next, member, port, slot, wanted, room };
        Ok(TapTarget { endpoint, to, tap })
    }

    /// Returns the rank of an instance whose port is wanted.
    fn tapped_rank(&self, asked: &TapPort) -> Result<RankId, Fault> {
        let mut ranks = self.wiring.ranks().of(asked.instance);
        let count = ranks.clone().count();
        ranks.nth(asked.rank as usize).ok_or_else(|| {
            let (name, rank) = (&self.plan.instances[asked.instance.index()].name, asked.rank);
            fault!(TAP_REFUSED, "\"{name}\" has no rank {rank}; the last one is {}", count.saturating_sub(1))
        })
    }

    /// Notes that a rank sends values on a port that it did not declare: a field of a grid.
    pub(super) fn publishes(&mut self, rank: RankId, port: String, out: &mut Vec<Action>) {
        let Some(ports) = &mut self.senders[rank.index()] else { return };
        if self.plan.instances[self.wiring.ranks().instance(rank).index()].grid.is_none() {
            return;
        }
        let fields = self.published.entry(rank).or_default();
        if ports.contains(&port) || ports.len() >= MAX_SENDING_PORTS || port.len() > MAX_TEXT {
            return;
        }
        *ports = ports.iter().cloned().chain([port.clone()]).collect();
        fields.push(port);
        self.tell_senders(self.wiring.endpoint_of(rank), out);
    }

    /// Returns an error if the port is known to have no such slot. A tap of a missing slot would never show
    /// anything.
    fn has_slot(&self, rank: RankId, asked: &TapPort, slot: u32) -> Result<(), Fault> {
        let instance = &self.plan.instances[asked.instance.index()];
        let (name, port) = (&instance.name, &asked.port);
        let Some(at) = instance.ports.iter().position(|own| *own.name == **port) else { return Ok(()) };
        let slotted = self.slotted[rank.index()].as_deref().and_then(|slotted| slotted.get(at).copied());
        match instance.ports[at].length {
            _ if slotted == Some(false) => {
                Err(fault!(TAP_REFUSED, "port \"{port}\" of \"{name}\" has no slots; leave \"[{slot}]\" out"))
            }
            Some(slots) if u64::from(slot) >= slots => {
                Err(fault!(TAP_REFUSED, "port \"{port}\" of \"{name}\" has {slots} slots, counted from 0 on"))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if one more tap would exceed the limits on the number or the size of taps.
    fn has_room(&self, viewer: TapViewer, port: &TapPort) -> Result<(), Fault> {
        let elsewhere = match viewer {
            TapViewer::Client(link) => self.taps.elsewhere.contains(&link),
            TapViewer::Head(_) => false,
        };
        if self.taps.all.values().any(|(other, _)| *other == viewer) || elsewhere {
            return Err(fault!(TAP_REFUSED, "a connection shows one port; make another for the next"));
        }
        if self.taps.all.len() + self.taps.elsewhere.len() >= MAX_TAPS {
            return Err(too_many());
        }
        if port.wanted.levels.len() > MAX_LEVELS {
            return Err(fault!(TAP_REFUSED, "a tap shows surfaces at {MAX_LEVELS} levels at the most"));
        }
        if port.room > MAX_VALUE_BYTES || port.wanted.bars > MAX_HISTOGRAM_BARS {
            return Err(fault!(
                TAP_REFUSED,
                "a tap has room for {MAX_VALUE_BYTES} bytes, and a histogram {MAX_HISTOGRAM_BARS} bars, at the \
                most; ask for less"
            ));
        }
        Ok(())
    }

    fn is_over(&self, instance: InstanceId) -> Fault {
        let name = &self.plan.instances[instance.index()].name;
        fault!(TAP_REFUSED, "\"{name}\" is over: it sends nothing any more")
    }

    /// Reports that the box of a tap could not be made.
    pub fn tap_refused(&mut self, viewer: TapViewer, tap: u32, why: &Fault) -> Vec<Action> {
        self.taps.all.remove(&tap);
        vec![refused(viewer, why)]
    }

    /// Reports that a tap of a port in another domain has ended.
    pub fn tap_elsewhere_is_over(&mut self, link: ConnectionId) {
        self.taps.elsewhere.remove(&link);
    }

    /// Ends the tap of a viewer that has disconnected.
    pub fn untap(&mut self, viewer: TapViewer) -> Vec<Action> {
        let mut out = Vec::new();
        if let TapViewer::Client(link) = viewer {
            if self.taps.elsewhere.remove(&link) {
                out.push(Action::UntapElsewhere { link });
            }
        }
        let of_this = self.taps.all.iter().filter(|(_, (of, _))| *of == viewer);
        let gone: Vec<(u32, EndpointId)> = of_this.map(|(&tap, &(_, from))| (tap, from)).collect();
        for (tap, endpoint) in gone {
            self.taps.all.remove(&tap);
            if self.endpoints[endpoint.index()].link().is_some() {
                self.tell(endpoint, Notice::Untap { tap }, Vec::new(), &mut out);
            }
        }
        out
    }

    /// Ends the taps of an endpoint that is done, and sends a notice to their viewers.
    pub(super) fn end_taps_of(&mut self, endpoint: EndpointId, out: &mut Vec<Action>) {
        let name = self.wiring.name(&self.plan, endpoint.leader());
        let why = said!(TAP_REFUSED, "\"{name}\" is over: it sends nothing any more");
        self.taps.all.retain(|_, (viewer, of)| {
            if *of == endpoint {
                let why = why.clone();
                out.push(match *viewer {
                    TapViewer::Client(link) => answer(link, Notice::TapOver { why }),
                    TapViewer::Head(ticket) => Action::EndTap { ticket, why },
                });
            }
            *of != endpoint
        });
    }
}

fn too_many() -> Fault {
    fault!(
        TAP_REFUSED,
        "{MAX_TAPS_PER_PROCESS} taps of a process and {MAX_TAPS} of a run are the most; end one that nobody \
        needs"
    )
}
