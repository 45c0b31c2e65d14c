//! The names of a run's instances, ranks and ports, for all texts of the manager.

use crate::conduits::without_indices;
use ligament_model::{Endpoint, Filter, ResolvedInstance, ResolvedModel, SUMS_OUT};
use ligament_wire::{rank_name, InstanceId, RankId, Ranks};

/// A bit in the key of a conduit that marks the port of a grid's sums.
const SUM_PORT: u32 = 1 << 31;

/// The source of the names of instances, ranks, and ends of channels.
pub trait Names {
    /// Returns the name of the instance to which a rank belongs.
    fn instance(&self, rank: RankId) -> String;
    /// Returns the name of a rank. If the instance has only one rank, this is the name of the instance.
    fn rank(&self, rank: RankId) -> String;
    /// Returns the number of the component to which a rank belongs.
    fn component(&self, rank: RankId) -> u32;
    /// Returns the sending end and the receiving end of a channel. An end is a rank, and the name of the
    /// port for people.
    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))>;
    /// Returns the filters under `ligament:` through which the messages of a channel pass.
    fn filters(&self, _channel: u32) -> &[Filter] {
        &[]
    }
    /// Returns the key of a channel's conduit: the component and port number of the sending end, then of
    /// the receiving end.
    fn conduit(&self, channel: u32) -> Option<[u32; 4]>;
    /// Returns the two ports of a channel's conduit, without indices, slots and ranks.
    fn conduit_ports(&self, channel: u32) -> Option<(String, String)> {
        self.ends(channel).map(|((_, from), (_, to))| (without_indices(&from), without_indices(&to)))
    }
}

impl<N: Names + ?Sized> Names for &N {
    fn instance(&self, rank: RankId) -> String {
        (**self).instance(rank)
    }

    fn rank(&self, rank: RankId) -> String {
        (**self).rank(rank)
    }

    fn component(&self, rank: RankId) -> u32 {
        (**self).component(rank)
    }

    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
        (**self).ends(channel)
    }

    fn filters(&self, channel: u32) -> &[Filter] {
        (**self).filters(channel)
    }

    fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
        (**self).conduit(channel)
    }

    fn conduit_ports(&self, channel: u32) -> Option<(String, String)> {
        (**self).conduit_ports(channel)
    }
}

/// The names in a resolved model.
#[derive(Debug)]
pub struct ModelNames<'a> {
    model: &'a ResolvedModel,
    ranks: Ranks,
}

impl<'a> ModelNames<'a> {
    /// Returns the names in this model.
    pub fn new(model: &'a ResolvedModel) -> ModelNames<'a> {
        let ranks = Ranks::new(model.instances.iter().map(|instance| instance.ranks.unwrap_or(1)));
        ModelNames { model, ranks }
    }

    fn of(&self, rank: RankId) -> Option<&'a ResolvedInstance> {
        self.model.instances.get(self.ranks.try_instance(rank)?.index())
    }
}

impl Names for ModelNames<'_> {
    fn instance(&self, rank: RankId) -> String {
        self.of(rank).map_or_else(|| "?".to_owned(), |one| one.name.to_string())
    }

    fn rank(&self, rank: RankId) -> String {
        let place = self.of(rank).and_then(|one| one.ranks).map(|_| self.ranks.place(rank));
        rank_name(&self.instance(rank), place)
    }

    fn component(&self, rank: RankId) -> u32 {
        self.of(rank).map_or(0, |one| one.component)
    }

    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
        let (from, to) = self.model.channel_ends(channel)?;
        let end = |end: Endpoint| {
            let leader = self.ranks.leader(InstanceId::new(end.instance));
            (RankId::new(leader.number() + end.rank), self.model.end_name(end))
        };
        Some((end(from), end(to)))
    }

    fn filters(&self, channel: u32) -> &[Filter] {
        let channel = self.model.channels.get(channel as usize);
        channel.and_then(|channel| channel.own_filters.as_deref()).unwrap_or_default()
    }

    fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
        let channel = self.model.channels.get(channel as usize)?;
        let component =
            |end: Endpoint| self.model.instances.get(end.instance as usize).map(|one| one.component);
        // Sums and ghosts go between the same two ports, and count as two conduits.
        let is_sum = self.model.shown_port(channel.from) == SUMS_OUT;
        let sum = if is_sum { SUM_PORT } else { 0 };
        Some([component(channel.from)?, channel.from.port | sum, component(channel.to)?, channel.to.port])
    }

    fn conduit_ports(&self, channel: u32) -> Option<(String, String)> {
        let (from, to) = self.model.channel_ends(channel)?;
        let name = |end: Endpoint| {
            let instance = self.model.instances.get(end.instance as usize)?;
            let component = self.model.components.get(instance.component as usize)?;
            Some(format!("{}.{}", component.name, self.model.shown_port(end)))
        };
        Some((name(from)?, name(to)?))
    }
}
