//! The numbers of instances, ranks, endpoints and domains. Each kind of number has a type of its own, so the
//! compiler does not accept, for example, a number of a rank as that of an endpoint. In rings, on sockets and
//! in files, they are plain 32-bit numbers.

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
            /// Makes the identifier with this number.
            #[inline(always)]
            pub const fn new(number: u32) -> $name {
                $name(number)
            }

            /// Makes the identifier of the entry at this index of a table.
            #[inline(always)]
            pub const fn at(place: usize) -> $name {
                $name(place as u32)
            }

            /// Returns the number.
            #[inline(always)]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Returns the number as an index of a table.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the identifiers with the numbers from 0 to `many` - 1.
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
    /// An endpoint: a process as the transport sees it. Its number is the number of the first rank that it
    /// serves, and of its line on the board.
    EndpointId
    /// The number of an instance in the run.
    InstanceId
    /// The number of a rank in the run. All ranks of the first instance come first, then those of the second.
    /// An instance without ranks counts as one rank.
    RankId
    /// The number of a domain in the run. The domain of the head has the number 0.
    DomainId
}

impl EndpointId {
    /// Returns the first rank that the endpoint serves.
    pub const fn leader(self) -> RankId {
        RankId(self.0)
    }

    /// Returns the endpoint that serves this rank as its first one.
    pub const fn led_by(rank: RankId) -> EndpointId {
        EndpointId(rank.0)
    }
}

impl DomainId {
    /// The domain of `ligament run`.
    pub const HEAD: DomainId = DomainId(0);
}

/// The ranks of all instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranks {
    /// The instance of each rank.
    instances: Vec<InstanceId>,
    /// The first rank of each instance.
    firsts: Vec<RankId>,
}

impl Ranks {
    /// Makes the table for instances with these numbers of ranks.
    pub fn new(counts: impl IntoIterator<Item = u32>) -> Ranks {
        let mut ranks = Ranks::default();
        for (instance, count) in counts.into_iter().enumerate() {
            ranks.firsts.push(RankId::at(ranks.instances.len()));
            ranks.instances.extend((0..count).map(|_| InstanceId::at(instance)));
        }
        ranks
    }

    /// Returns the number of all ranks of the run.
    pub fn count(&self) -> usize {
        self.instances.len()
    }

    /// Returns all ranks of the run.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = RankId> + ExactSizeIterator + Clone {
        RankId::first(self.instances.len())
    }

    /// Returns the instance of a rank.
    pub fn instance(&self, rank: RankId) -> InstanceId {
        self.instances[rank.index()]
    }

    /// Returns the instance of a rank, or `None` if there is no such rank.
    pub fn try_instance(&self, rank: RankId) -> Option<InstanceId> {
        self.instances.get(rank.index()).copied()
    }

    /// Returns the first rank of an instance.
    pub fn leader(&self, instance: InstanceId) -> RankId {
        self.firsts[instance.index()]
    }

    /// Returns the ranks of an instance.
    pub fn of(&self, instance: InstanceId) -> impl DoubleEndedIterator<Item = RankId> + Clone {
        let end = self.firsts.get(instance.index() + 1).map_or(self.instances.len(), |next| next.index());
        (self.leader(instance).index()..end).map(RankId::at)
    }

    /// Returns true if the rank is the only one of its instance.
    pub fn speaks_for_all(&self, rank: RankId) -> bool {
        self.of(self.instance(rank)).nth(1).is_none()
    }

    /// Returns the number of a rank within its instance, from 0 on.
    pub fn place(&self, rank: RankId) -> u32 {
        rank.number() - self.leader(self.instance(rank)).number()
    }
}

/// Returns the name of a rank. If each rank speaks for itself, this is the instance's name and the rank's
/// number, such as `flow:2`; else it is the instance's name.
pub fn rank_name(instance: &str, place: Option<u32>) -> String {
    match place {
        Some(place) => format!("{instance}:{place}"),
        None => instance.to_owned(),
    }
}

/// Splits the name of a rank into the name of its instance and the number of the rank. There is no number if
/// `name` is the name of an instance.
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
