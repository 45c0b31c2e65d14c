//! The filters of conduits at a checkpoint: what they remember, and the messages that have passed them and
//! were not received yet.

use super::{Chains, SlotChain};
use crate::checkpoint::values::{
    arrival_of_state, arrival_state, overlay_of_state, overlay_state, settings_state,
};
use crate::error::{Error, FilterError};
use crate::instance::Instance;
use crate::overlay::from_value;
use ligament_catalogue::{fault, Fault};
use ligament_filters::FilterFailure;
use ligament_wire::fields::{counted, entries, optional, Fields};
use ligament_wire::{HeaderWords, Value};

impl Chains {
    /// Returns the conduit and the filter that cannot say what it remembers, if there is one.
    pub fn hidden(&mut self) -> Option<String> {
        let sending = self.sending;
        let known = |conduit: &super::ConduitChains| {
            let failure = conduit.hidden.as_ref()?;
            Some(format!("conduit {}: {failure}", conduit.name(sending)))
        };
        self.conduits.values().find_map(known)
    }

    /// Returns the port at the other end of a channel; an empty text if nobody has named it.
    fn peer(&self, channel: usize) -> &str {
        self.conduits.get(&channel).and_then(|conduit| conduit.peer.as_deref()).unwrap_or_default()
    }

    /// Returns the channel of a slot that leads to a port. `channels` are those of the slot.
    fn channel_to(&self, channels: &[usize], peer: &str) -> Option<usize> {
        match channels {
            [only] => Some(*only),
            several => several.iter().copied().find(|&channel| self.peer(channel) == peer),
        }
    }
}

impl Instance {
    /// Returns the states of all filters at the ports of this instance.
    ///
    /// # Errors
    /// `Filter` if a filter cannot say what it remembers.
    pub(crate) fn filters_state(&mut self) -> Result<Value, Error> {
        let mut states = Vec::new();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].chains.is_none() {
                continue;
            }
            self.with_chains(port, |instance, chains| {
                let mut places: Vec<_> = chains.lines.keys().copied().collect();
                places.sort_unstable();
                for place in places {
                    states.push(instance.slot_state(port, chains, place)?);
                }
                Ok(())
            })?;
        }
        Ok(Value::List(states))
    }

    fn slot_state(
        &self,
        port: usize,
        chains: &mut Chains,
        (channel, slot): (usize, usize),
    ) -> Result<Value, Error> {
        let peer = chains.peer(channel).to_owned();
        let Some(line) = chains.lines.get_mut(&(channel, slot)) else { return Ok(Value::None) };
        let filters = match line.chain.as_mut().map(ligament_filters::Chain::state) {
            None => Value::None,
            Some(Ok(state)) => state,
            Some(Err(failure)) => {
                let (conduit, failure) = (self.conduit_at(chains, (port, slot, channel)), failure.to_string());
                return Err(FilterError::Failed { conduit, failure }.into());
            }
        };
        let header = line.header.map_or(Value::None, |header| {
            let overlay = match header.overlay() {
                0 => Value::None,
                number => settings_state(self.overlays.known(number)),
            };
            entries([
                ("timestamp", Value::Float(header.timestamp())),
                ("next_timestamp", optional(header.next_timestamp())),
                ("overlay", overlay),
            ])
        });
        let come = line.come.iter().filter_map(|(arrival, message)| arrival_state(arrival, message));
        Ok(entries([
            ("port", Value::String(self.table.ports[port].name.to_string())),
            ("slot", counted(slot as u64)),
            ("peer", Value::String(peer)),
            ("filters", filters),
            ("header", header),
            ("overlay", overlay_state(&line.overlay)),
            ("fed", Value::Bool(line.fed)),
            ("come", Value::List(come.collect())),
        ]))
    }

    /// Gives the filters at the ports their states back. Returns `None` if something is missing, or has another
    /// type.
    pub(crate) fn restore_filters(&mut self, states: &[Value]) -> Option<Result<(), Fault>> {
        for state in states {
            let fields = Fields::of(state)?;
            let port = fields.text("port")?;
            let Some(mut chains) =
                self.table.find(port).ok().and_then(|port| self.table.ports[port].chains.take())
            else {
                return Some(Err(fault!(
                    CHECKPOINT_UNREADABLE,
                    "it has filters at port \"{port}\", and the model has none there"
                )));
            };
            let restored = self.restore_slot(&mut chains, &fields);
            let port = self.table.find(port).ok()?;
            self.table.ports[port].chains = Some(chains);
            if let Err(failure) = restored? {
                let port = &self.table.ports[port].name;
                return Some(Err(fault!(
                    CHECKPOINT_UNREADABLE,
                    "the filters at port \"{port}\" are others than at the save: {failure}"
                )));
            }
        }
        Some(Ok(()))
    }

    fn restore_slot(&mut self, chains: &mut Chains, fields: &Fields<'_>) -> Option<Result<(), FilterFailure>> {
        let (port, slot) = (self.table.find(fields.text("port")?).ok()?, fields.index("slot")?);
        let channels = self.table.ports[port].channels_at(slot);
        let channel = chains.channel_to(channels, fields.text("peer")?)?;
        let header = match fields.present("header")? {
            None => None,
            Some(header) => {
                let fields = Fields::of(header)?;
                let (at, next) = (fields.number("timestamp")?, fields.optional("next_timestamp")?);
                let mut header = HeaderWords::data(at, next);
                if let Some(overlay) = fields.present("overlay")? {
                    header.set_overlay(self.overlays.number_of(&from_value(overlay)?));
                }
                Some(header)
            }
        };
        let line = match chains.line(channel, slot) {
            Ok(line) => line,
            Err(failure) => return Some(Err(failure)),
        };
        let SlotChain { chain, .. } = line;
        if let (Some(chain), Some(state)) = (chain, fields.present("filters")?) {
            if let Err(failure) = chain.restore(state) {
                return Some(Err(failure));
            }
        }
        line.header = header;
        line.overlay = overlay_of_state(fields.get("overlay")?);
        line.fed = fields.truth("fed")?;
        line.come = fields.list("come")?.iter().map(arrival_of_state).collect::<Option<_>>()?;
        Some(Ok(()))
    }
}
