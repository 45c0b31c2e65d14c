//! What the parts of a run are called, wherever the manager speaks of them.

use ligament_model::{Endpoint, Resolved};
use ligament_wire::RankId;

/// What instances, their ranks and the ends of channels are called.
pub trait Names {
    /// The instance that a rank belongs to.
    fn instance(&self, rank: RankId) -> String;
    /// A rank: its instance, where that has no others.
    fn rank(&self, rank: RankId) -> String;
    /// The number of the component that it is a copy of.
    fn component(&self, rank: RankId) -> u32;
    /// The sending and the receiving end of a channel: number of the rank, and the port as people write it.
    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))>;
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
}

/// A model has no word for ranks: each instance has one.
impl Names for Resolved {
    fn instance(&self, rank: RankId) -> String {
        self.instances.get(rank.index()).map_or_else(|| "?".to_owned(), |one| one.name.to_string())
    }

    fn rank(&self, rank: RankId) -> String {
        self.instance(rank)
    }

    fn component(&self, rank: RankId) -> u32 {
        self.instances.get(rank.index()).map_or(0, |one| one.component)
    }

    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
        let channel = self.channels.get(channel as usize)?;
        let end = |end: Endpoint| (RankId::new(end.instance), self.end_name(end));
        Some((end(channel.from), end(channel.to)))
    }
}
