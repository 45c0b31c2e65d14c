//! The names of a run's parts, for all texts of the manager.

use ligament_model::{Endpoint, Filter, ResolvedInstance, ResolvedModel};
use ligament_wire::{rank_name, InstanceId, RankId, Ranks};

/// Names of instances, ranks, and ends of channels.
pub trait Names {
    /// The instance that a rank belongs to.
    fn instance(&self, rank: RankId) -> String;
    /// A rank; its instance if the instance has no other ranks.
    fn rank(&self, rank: RankId) -> String;
    /// The number of the rank's component.
    fn component(&self, rank: RankId) -> u32;
    /// The sending and the receiving end of a channel: the rank, and the port as people write it.
    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))>;
    /// The filters under `ligament:` that the messages of a channel pass through.
    fn filters(&self, _channel: u32) -> &[Filter] {
        &[]
    }
    /// The conduit of a channel: component and port number of its sending end, then of its receiving end.
    fn conduit(&self, channel: u32) -> Option<[u32; 4]>;
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
}

/// The names of the parts of a resolved model.
#[derive(Debug)]
pub struct ModelNames<'a> {
    model: &'a ResolvedModel,
    ranks: Ranks,
}

impl<'a> ModelNames<'a> {
    /// The names in this model.
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
        let channel = self.model.channels.get(channel as usize)?;
        let end = |end: Endpoint| {
            let leader = self.ranks.leader(InstanceId::new(end.instance));
            (RankId::new(leader.number() + end.rank), self.model.end_name(end))
        };
        Some((end(channel.from), end(channel.to)))
    }

    fn filters(&self, channel: u32) -> &[Filter] {
        let channel = self.model.channels.get(channel as usize);
        channel.and_then(|channel| channel.own_filters.as_deref()).unwrap_or_default()
    }

    fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
        let channel = self.model.channels.get(channel as usize)?;
        let component =
            |end: Endpoint| self.model.instances.get(end.instance as usize).map(|one| one.component);
        Some([component(channel.from)?, channel.from.port, component(channel.to)?, channel.to.port])
    }
}
