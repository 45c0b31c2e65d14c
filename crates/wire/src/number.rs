//! Numbers by which the parts of a run are known, each of a type of its own, so that none is taken for another.
//! On rings, sockets and in files they are plain numbers of 32 bits.

use minicbor::{Decode, Encode};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
        #[cbor(transparent)]
        pub struct $name(#[n(0)] u32);

        impl $name {
            /// The one of this number.
            #[inline(always)]
            pub const fn new(number: u32) -> $name {
                $name(number)
            }

            /// The one at this place of a table.
            #[inline(always)]
            pub const fn at(place: usize) -> $name {
                $name(place as u32)
            }

            /// Its number, as it is written.
            #[inline(always)]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Its place in a table.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The first so many.
            pub fn first(many: usize) -> impl DoubleEndedIterator<Item = $name> + ExactSizeIterator + Clone {
                (0..many).map($name::at)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<$name, ParseIntError> {
                text.parse().map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numbers! {
    /// An endpoint: a process, as others reach it. Its number is that of the first rank that it serves, and of
    /// its line on the board.
    EndpointId
    /// An instance, by its number in the run.
    InstanceId
    /// A rank of an instance, by its number in the run: first all ranks of the first instance, then those of
    /// the second. An instance without ranks counts as one.
    RankId
    /// A domain, by its number in the run; the head's is 0.
    DomainId
}

impl EndpointId {
    /// The first rank that it serves.
    pub const fn leader(self) -> RankId {
        RankId(self.0)
    }

    /// The endpoint whose first rank this is.
    pub const fn led_by(rank: RankId) -> EndpointId {
        EndpointId(rank.0)
    }
}

impl DomainId {
    /// The domain of `ligament run`.
    pub const HEAD: DomainId = DomainId(0);
}

/// Which ranks belong to which instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranks {
    /// The instance of each rank.
    instances: Vec<InstanceId>,
    /// The first rank of each instance.
    firsts: Vec<RankId>,
}

impl Ranks {
    /// Of instances that have so many ranks each.
    pub fn new(counts: impl IntoIterator<Item = u32>) -> Ranks {
        let mut ranks = Ranks::default();
        for (instance, count) in counts.into_iter().enumerate() {
            ranks.firsts.push(RankId::at(ranks.instances.len()));
            ranks.instances.extend((0..count).map(|_| InstanceId::at(instance)));
        }
        ranks
    }

    /// Their number in all.
    pub fn count(&self) -> usize {
        self.instances.len()
    }

    /// All of them.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = RankId> + ExactSizeIterator + Clone {
        RankId::first(self.instances.len())
    }

    /// The instance that a rank belongs to.
    pub fn instance(&self, rank: RankId) -> InstanceId {
        self.instances[rank.index()]
    }

    /// The same; none if there is no such rank.
    pub fn try_instance(&self, rank: RankId) -> Option<InstanceId> {
        self.instances.get(rank.index()).copied()
    }

    /// The first rank of an instance.
    pub fn leader(&self, instance: InstanceId) -> RankId {
        self.firsts[instance.index()]
    }

    /// The ranks of an instance.
    pub fn of(&self, instance: InstanceId) -> impl DoubleEndedIterator<Item = RankId> + Clone {
        let end = self.firsts.get(instance.index() + 1).map_or(self.instances.len(), |next| next.index());
        (self.leader(instance).index()..end).map(RankId::at)
    }

    /// Returns true if it is the only one of its instance.
    pub fn speaks_for_all(&self, rank: RankId) -> bool {
        self.of(self.instance(rank)).nth(1).is_none()
    }

    /// Which of its instance's ranks it is, from 0 on.
    pub fn place(&self, rank: RankId) -> u32 {
        rank.number() - self.leader(self.instance(rank)).number()
    }
}

/// The name of a rank: its instance's name, and `flow:2` where ranks speak each for itself.
pub fn rank_name(instance: &str, place: Option<u32>) -> String {
    match place {
        Some(place) => format!("{instance}:{place}"),
        None => instance.to_owned(),
    }
}

/// The instance of what may be a rank's name, and which of its ranks that is.
pub fn rank_parts(name: &str) -> (&str, Option<u32>) {
    let parts = name.rsplit_once(':').and_then(|(instance, place)| Some((instance, place.parse().ok()?)));
    parts.map_or((name, None), |(instance, place)| (instance, Some(place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{from_bytes, to_bytes};

    #[test]
    fn a_number_is_written_as_it_always_was() {
        assert_eq!(to_bytes(&InstanceId::new(70_000)), to_bytes(&70_000u32));
        assert_eq!(to_bytes(&Some(EndpointId::new(3))), to_bytes(&Some(3u32)));
        assert_eq!(from_bytes::<DomainId>(&to_bytes(&7u32)), Ok(DomainId::new(7)));
        assert_eq!(format!("{} {:?}", RankId::new(5), RankId::new(5)), "5 5");
    }

    #[test]
    fn a_ranks_name_has_its_number() {
        assert_eq!(rank_parts(&rank_name("flow[1]", Some(12))), ("flow[1]", Some(12)));
        assert_eq!(rank_parts("flow[1]"), ("flow[1]", None));
    }

    #[test]
    fn ranks_are_numbered_instance_by_instance() {
        let ranks = Ranks::new([1, 3, 0, 2]);
        assert_eq!(ranks.count(), 6);
        let of = |instance| ranks.of(InstanceId::new(instance)).map(RankId::number).collect::<Vec<u32>>();
        assert_eq!([of(0), of(1), of(2), of(3)], [vec![0], vec![1, 2, 3], vec![], vec![4, 5]]);
        let back = |rank| (ranks.instance(RankId::new(rank)).number(), ranks.place(RankId::new(rank)));
        assert_eq!([back(0), back(1), back(3), back(5)], [(0, 0), (1, 0), (1, 2), (3, 1)]);
        assert_eq!(ranks.try_instance(RankId::new(6)), None);
    }
}
